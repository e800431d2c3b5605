// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault info: what a capture holds, its losses and doubts.
 * In: DB, or a trace file, which is read once for it.  Out: text on stdout.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "collector/store/store.h"
#include "schemas/db.h"

/* One statement, each row printed by its own format; the first column is the text. */
static int print_rows(sqlite3 *db, const char *title, const char *sql, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	bool first = true;
	int code = xf_db_prepare(db, &stmt, sql, err);

	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		if (first && title)
			xf_print(stdout, "\n%s\n", title);
		first = false;
		xf_print(stdout, "  %s\n", xf_db_text(stmt, 0));
		code = 0;
	}
	sqlite3_finalize(stmt);
	return code;
}

static int capture(sqlite3 *db, uint64_t hz, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(db, &stmt,
		"SELECT source, format, records, events, lost_records, unknown_records, tsc_first, tsc_last,"
		" complete, tool_version FROM trace",
		err);

	if (code)
		return code;
	code = xf_db_step(stmt, err);
	if (code == 1) {
		uint64_t first = (uint64_t)sqlite3_column_int64(stmt, 6);
		uint64_t last = (uint64_t)sqlite3_column_int64(stmt, 7);

		xf_print(stdout, "source           %s\n", xf_db_text(stmt, 0));
		xf_print(stdout, "format           %s\n", xf_db_text(stmt, 1));
		printf("complete         %s\n", sqlite3_column_int(stmt, 8)
							? "yes"
							: "no: cut short or damaged, see doubts");
		printf("records          %lld\n", sqlite3_column_int64(stmt, 2));
		printf("events           %lld\n", sqlite3_column_int64(stmt, 3));
		printf("lost records     %lld\n", sqlite3_column_int64(stmt, 4));
		printf("unknown records  %lld\n", sqlite3_column_int64(stmt, 5));
		printf("first TSC        %llu\n", (unsigned long long)first);
		printf("last TSC         %llu\n", (unsigned long long)last);
		if (hz)
			printf("span             %.6f s\nfrequency        %llu Hz\n",
				(double)(last - first) / (double)hz, (unsigned long long)hz);
		else
			printf("span             %llu cycles\n"
			       "frequency        unknown: give --cpu-hz (Xen prints it at boot)\n",
				(unsigned long long)(last - first));
		xf_print(stdout, "made by          %s\n", xf_db_text(stmt, 9));
		code = 0;
	} else if (!code) {
		printf("the database holds no finished capture\n");
	}
	sqlite3_finalize(stmt);
	return code;
}

static int contents(sqlite3 *db, struct xf_error *err)
{
	int code;

	if ((code = print_rows(db, "domains and vCPUs",
		     "SELECT printf('%-8s %9d events on pCPU %s', ifnull('d' || domid || 'v' || vcpu, '?'),"
		     " sum(events), group_concat(pcpu)) || ifnull('  ' || name, '') FROM event_place"
		     " LEFT JOIN (SELECT domid, name FROM domains) USING (domid) GROUP BY domid, vcpu"
		     " ORDER BY domid, vcpu",
		     err)) ||
		(code = print_rows(db, "events by kind",
			 "SELECT printf('%-14s %9d  %s', k.name, sum(events), k.what)"
			 " FROM event_type JOIN event_kind k USING (kind) GROUP BY kind ORDER BY kind",
			 err)) ||
		(code = print_rows(db, "records by id and length (n = payload words)",
			 "SELECT printf('0x%08x n=%d %9d  %s', raw_id, words, records, CASE"
			 " WHEN name IS NULL THEN 'UNKNOWN' WHEN NOT fits THEN name || ': UNKNOWN LENGTH'"
			 " ELSE name END) FROM record_count ORDER BY raw_id, words",
			 err)))
		return code;
	return 0;
}

/* Times: seconds since the first record where the frequency is known, else cycles. */
static const char coverage[] =
	"WITH t AS (SELECT tsc_first AS began, cpu_hz FROM capture)"
	" SELECT printf('%-4d %14s %14s %9d records%s', pcpu,"
	" CASE WHEN cpu_hz THEN printf('%.6f s', (tsc_first - began) * 1.0 / cpu_hz) ELSE tsc_first - began END,"
	" CASE WHEN cpu_hz THEN printf('%.6f s', (tsc_last - began) * 1.0 / cpu_hz) ELSE tsc_last - began END,"
	" records, CASE WHEN lost OR gaps THEN printf(', %d lost, %d gaps', lost, gaps) ELSE '' END)"
	" FROM pcpus, t ORDER BY pcpu";

static const char clocks[] =
	"SELECT CASE WHEN clock_offset <> 0 OR clock_drift_ppm <> 0 THEN"
	" printf('%-4d off by %+d%s, %s', pcpu, clock_offset, CASE WHEN clock_drift_ppm <> 0"
	" THEN printf(' and %+.2f ppm', clock_drift_ppm) ELSE '' END,"
	" CASE WHEN corrected THEN 'corrected' ELSE 'not corrected' END)"
	" ELSE printf('%-4d not contradicted', pcpu) END"
	" || printf(', bounds %s to %s', ifnull(printf('%+d', clock_low), 'none'),"
	" ifnull(printf('%+d', clock_high), 'none')) FROM pcpus"
	" WHERE (clock_low <> 0 OR clock_high <> 0 OR clock_offset <> 0) ORDER BY pcpu";

static const char gaps[] =
	"WITH t AS (SELECT tsc_first AS began, cpu_hz FROM capture)"
	" SELECT printf('pCPU %-4d %14s to %14s  %s', pcpu,"
	" CASE WHEN cpu_hz THEN printf('%.6f s', (tsc_first - began) * 1.0 / cpu_hz) ELSE tsc_first - began END,"
	" CASE WHEN cpu_hz THEN printf('%.6f s', (tsc_last - began) * 1.0 / cpu_hz) ELSE tsc_last - began END,"
	" CASE why WHEN 'seam' THEN 'all pCPUs stop' WHEN 'start' THEN 'it begins late'"
	" WHEN 'end' THEN 'it ends early' ELSE 'another vCPU runs then' END)"
	" FROM gaps, t ORDER BY tsc_first, pcpu";

static int trust(sqlite3 *db, struct xf_error *err)
{
	int code;

	if ((code = print_rows(db, "pCPUs, from when to when they have records", coverage, err)) ||
		(code = print_rows(
			 db, "clocks against the reference pCPU, in cycles", clocks, err)) ||
		(code = print_rows(db, "gaps: no records where there should be some", gaps, err)) ||
		(code = print_rows(db, "losses by pCPU",
			 "SELECT printf('pCPU %-4d %9d records in %d losses', pcpu, sum(lost), count(*)) FROM loss"
			 " GROUP BY pcpu",
			 err)) ||
		(code = print_rows(db, "doubts of the collector",
			 "SELECT printf('%9d  %s%s%s', count, text,"
			 " CASE WHEN tsc THEN char(10) || printf('%13sfirst at TSC %d', '', tsc) ELSE '' END,"
			 " CASE WHEN offset THEN char(10) || printf('%13sfirst at byte %d', '', offset) ELSE ''"
			 " END)"
			 " FROM doubt ORDER BY code",
			 err)) ||
		(code = print_rows(db, "doubts of the analyzer",
			 "SELECT printf('%9d  %s', count, text) FROM finding ORDER BY code",
			 err)) ||
		(code = print_rows(db, "found",
			 "SELECT printf('%9d  forks', count(*)) FROM fork UNION ALL"
			 " SELECT printf('%9d  fault sequences of page-table pages', count(*)) FROM sequence UNION ALL"
			 " SELECT printf('%9d  walks that are no forks: %d accessed bits cleared by %s',"
			 " count(*), sum(ptes), ifnull(symbol, printf('0x%x', rip))) FROM walks"
			 " GROUP BY domid, kind, rip",
			 err)))
		return code;
	return 0;
}

static int stop(void *data)
{
	(void)data;
	return xf_stop_requested();
}

/* A trace is counted through a database that is thrown away. */
static int of_trace(sqlite3 **db, const struct xf_options *o, struct xf_error *err)
{
	struct xf_vtab vtab = {.stop = stop};
	struct xf_source *source;
	int code = xf_source_open(&source, o->args[0], err);

	if (!code)
		code = xf_reader_open(&vtab.reader, source, err);
	if (!code)
		code = xf_store_scan(db, &vtab, o->args[0], o->cpu_hz, err);
	xf_reader_close(vtab.reader);
	return code;
}

static int run_info(struct xf_options *options, struct xf_error *err)
{
	int64_t lost = 0;
	uint64_t hz = 0;
	sqlite3 *db = NULL;
	int code = xf_need_args(options, 1, err);

	if (!code)
		code = xf_is_database(options->args[0]) ? xf_open(&db, options->args[0], err)
							: of_trace(&db, options, err);
	if (!code)
		code = xf_capture_hz(db, options, &hz, err);
	if (!code)
		code = capture(db, hz, err);
	if (!code)
		code = contents(db, err);
	if (!code)
		code = trust(db, err);
	if (!code && xf_stop_requested())
		code = xf_fail(err, XF_INTERRUPTED, "interrupted: the rest of %s is not counted",
			options->args[0]);
	if (!code)
		code = xf_db_int(
			db, "SELECT ifnull((SELECT lost_records FROM capture), 0)", &lost, err);
	if (!code && options->fail_on_loss && lost)
		code = xf_fail(err, XF_LOSS, "%lld records were lost", (long long)lost);
	sqlite3_close(db);
	return code;
}

static const struct xf_option info_options[] = {
	XF_OPT_FAIL_ON_LOSS,
	XF_OPT_CPU_HZ,
	{0},
};

const struct xf_command xf_cmd_info = {"info", "DB|FILE",
	"what the capture holds, its losses and doubts", info_options, 0, run_info};
