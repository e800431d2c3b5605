// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault export: a database for other programs.  In: DB, filters.  Out: a file, streamed.
 * Each format is one function in the table at the end.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/export.h"
#include "cli/export_postgresql.h"
#include "cli/outfile.h"
#include "schemas/db.h"
#include "common/suggest.h"
#include "schemas/sql.h"

#define EPISODE_OF(what) "episode_id IN (SELECT episode_id FROM episodes WHERE " what ")"
#define EVENT_OF(what)	 "(SELECT " what " FROM event e WHERE e.event_id = dirty_rounds.event_id)"
#define FORK_OF(column)	 "(SELECT " column " FROM forks WHERE fork_id = :fork)"

/* What the filters mean to a view; NULL = the view is not filtered by it. */
static const struct view {
	const char *name, *order;
	const char *from, *to, *domid, *vcpu, *fork;
	const char *cycles; /* the view's us in cycles, for --cpu-hz */
} views[] = {
	{"trace", "source", NULL, NULL, NULL, NULL, NULL, NULL},
	{"events", "event_id", "tsc >= :from", "tsc <= :to", "domid = :domid", "vcpu = :vcpu",
		"event_id BETWEEN " FORK_OF("first_event") " AND " FORK_OF("last_event") " AND (vcpu IS " FORK_OF(
			"vcpu") " AND domid IS " FORK_OF("domid") " OR kind = 'loss' OR event_id IN"
								  " (SELECT last_event FROM pt_sequences WHERE fork_id = :fork))",
		"(tsc - (SELECT tsc_first FROM trace))"},
	{"forks", "fork_id", "tsc_start >= :from", "tsc_start <= :to", "domid = :domid",
		"vcpu = :vcpu", "fork_id = :fork", "(tsc_end - tsc_start)"},
	{"pt_sequences", "tsc_start, sequence_id", "tsc_start >= :from", "tsc_start <= :to",
		"domid = :domid", "vcpu = :vcpu", "fork_id = :fork", "(tsc_end - tsc_start)"},
	{"spurious_faults", "event_id", "tsc >= :from", "tsc <= :to", "domid = :domid",
		"vcpu = :vcpu",
		"event_id BETWEEN " FORK_OF("first_event") " AND " FORK_OF("last_event"),
		"(tsc - (SELECT tsc_first FROM trace))"},
	{"walks", "walk_id", "tsc_end >= :from", "tsc_start <= :to", "domid = :domid",
		"vcpu = :vcpu", NULL, "(tsc_end - tsc_start)"},
	{"flushes", "fork_id, domid, cause, reach",
		"fork_id IN (SELECT fork_id FROM forks WHERE tsc_start >= :from)",
		"fork_id IN (SELECT fork_id FROM forks WHERE tsc_start <= :to)", "domid = :domid",
		"fork_id IN (SELECT fork_id FROM forks WHERE vcpu = :vcpu)", "fork_id = :fork",
		"cycles"},
	{"tlb_flushes", "event_id", "tsc >= :from", "tsc <= :to", "domid = :domid", "vcpu = :vcpu",
		"fork_id = :fork", "(tsc - (SELECT tsc_first FROM trace))"},
	{"flush_ipis", "event_id", "tsc >= :from", "tsc <= :to", "domid = :domid", "vcpu = :vcpu",
		"fork_id = :fork", "(tsc - (SELECT tsc_first FROM trace))"},
	{"episodes", "episode_id", "tsc_end >= :from", "tsc_start <= :to", "domid = :domid", NULL,
		NULL, "(tsc_end - tsc_start)"},
	{"rounds", "episode_id, round", "tsc_end >= :from", "tsc_start <= :to", "domid = :domid",
		NULL, NULL, "(tsc_end - tsc_start)"},
	{"episode_forks", "episode_id, pt_pages, ptes_per_page", NULL, NULL, "domid = :domid", NULL,
		NULL, NULL},
	{"dirty", "episode_id, gfn", EPISODE_OF("tsc_end >= :from"), EPISODE_OF("tsc_start <= :to"),
		"domid = :domid", NULL, NULL, NULL},
	{"dirty_rounds", "event_id", EVENT_OF("tsc >= :from"), EVENT_OF("tsc <= :to"),
		"domid = :domid", NULL, NULL, NULL},
	{"episode_vcpus", "episode_id, vcpu", EPISODE_OF("tsc_end >= :from"),
		EPISODE_OF("tsc_start <= :to"), "domid = :domid", "vcpu = :vcpu", NULL, NULL},
	{"npfs", "event_id", "tsc >= :from", "tsc <= :to", "domid = :domid", "vcpu = :vcpu", NULL,
		"(tsc - (SELECT tsc_first FROM trace))"},
	{"mmio", "domid, gpa, rip", NULL, NULL, "domid = :domid", NULL, NULL, NULL},
	/* whose records were lost nobody knows, so that no domain's view is without them */
	{"losses", "tsc_last, pcpu", "ifnull(tsc_last >= :from, 1)", "ifnull(tsc_first <= :to, 1)",
		NULL, NULL,
		"ifnull(tsc_last >= " FORK_OF("tsc_start") " AND tsc_first <= " FORK_OF(
			"tsc_end") ", 1)",
		NULL},
	{"gaps", "tsc_first, pcpu", "tsc_last >= :from", "tsc_first <= :to", NULL, NULL,
		"tsc_last >= " FORK_OF("tsc_start") " AND tsc_first <= " FORK_OF("tsc_end"),
		"(tsc_last - tsc_first)"},
	{"pcpus", "pcpu", NULL, NULL, NULL, NULL, NULL, NULL},
	{"processes", "domid, pid, comm", "last_tsc >= :from", "first_tsc <= :to", "domid = :domid",
		NULL, NULL, "cycles"},
	{"domains", "domid", NULL, NULL, "domid = :domid", NULL, NULL, NULL},
	{"guest_logs", "log_id", NULL, NULL, "domid = :domid", NULL, NULL, NULL},
	{"guest_forks", "guest_fork_id", "tsc >= :from", "tsc <= :to", "domid = :domid",
		"vcpu = :vcpu", "fork_id = :fork", "(tsc - (SELECT tsc_first FROM trace))"},
	{"guest_tasks", "guest_task_id", "tsc >= :from", "tsc <= :to", "domid = :domid",
		"vcpu = :vcpu", NULL, "(tsc - (SELECT tsc_first FROM trace))"},
	{"guest_runs", "domid, vcpu, tsc_start", "tsc_end >= :from", "tsc_start <= :to",
		"domid = :domid", "vcpu = :vcpu", NULL, "(tsc_end - tsc_start)"},
};

#define NVIEWS (sizeof(views) / sizeof(views[0]))

const char *xf_export_view(size_t n)
{
	return n < NVIEWS ? views[n].name : NULL;
}

static const struct view *view_by_name(const char *name, struct xf_error *err)
{
	struct xf_suggest suggest = xf_suggest_for(name);
	char all[400] = "";

	for (size_t i = 0; i < NVIEWS; i++) {
		if (!strcmp(views[i].name, name))
			return &views[i];
		xf_suggest_offer(&suggest, views[i].name);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "",
			views[i].name);
	}
	xf_fail(err, XF_USAGE, "there is no view %s%s; the views are %s", name,
		xf_suggest_text(&suggest), all);
	return NULL;
}

/* The view's columns in order, us anew where --cpu-hz was given. */
static int append_columns(
	struct xf_export *x, const struct view *view, sqlite3_str *sql, struct xf_error *err)
{
	char query[64];
	sqlite3_stmt *stmt;
	int code;

	snprintf(query, sizeof(query), "SELECT * FROM %s", view->name);
	code = xf_db_prepare(x->db, &stmt, query, err);
	for (int i = 0; !code && i < sqlite3_column_count(stmt); i++) {
		const char *name = sqlite3_column_name(stmt, i);

		if (i)
			sqlite3_str_appendall(sql, ", ");
		if (x->options->cpu_hz && view->cycles && !strcmp(name, "us"))
			sqlite3_str_appendf(sql, "%s * 1e6 / %llu AS us", view->cycles,
				(unsigned long long)x->options->cpu_hz);
		else if (x->options->cpu_hz && !strcmp(name, "cpu_hz"))
			sqlite3_str_appendf(
				sql, "%llu AS cpu_hz", (unsigned long long)x->options->cpu_hz);
		else
			sqlite3_str_appendf(sql, "\"%w\"", name);
	}
	sqlite3_finalize(stmt);
	return code;
}

static void append_filter(sqlite3_str *sql, bool wanted, const char *condition)
{
	if (wanted && condition)
		sqlite3_str_appendf(sql, " AND (%s)", condition);
}

static void bind(sqlite3_stmt *stmt, const char *name, int64_t value)
{
	int index = sqlite3_bind_parameter_index(stmt, name);

	if (index)
		sqlite3_bind_int64(stmt, index, value);
}

int xf_export_select(struct xf_export *x, sqlite3_stmt **stmt, const char *name,
	const char *columns, const char *and, const char *order, struct xf_error *err)
{
	const struct xf_options *o = x->options;
	const struct view *view = view_by_name(name, err);
	sqlite3_str *sql;
	char *text;
	int code = 0;

	*stmt = NULL;
	if (!view)
		return -XF_USAGE;
	sql = sqlite3_str_new(x->db);
	sqlite3_str_appendall(sql, "SELECT ");
	if (columns)
		sqlite3_str_appendall(sql, columns);
	else
		code = append_columns(x, view, sql, err);
	sqlite3_str_appendf(sql, " FROM %s WHERE 1", view->name);
	append_filter(sql, x->range.has_from, view->from);
	append_filter(sql, x->range.has_to, view->to);
	append_filter(sql, o->domid >= 0, view->domid);
	append_filter(sql, o->vcpu >= 0, view->vcpu);
	append_filter(sql, o->fork >= 0, view->fork);
	append_filter(sql, and != NULL, and);
	sqlite3_str_appendf(sql, " ORDER BY %s", order ? order : view->order);
	text = sqlite3_str_finish(sql);
	if (!code)
		code = text ? xf_db_prepare(x->db, stmt, text, err) : xf_fail_nomem(err);
	sqlite3_free(text);
	if (code)
		return code;
	bind(*stmt, ":from", (int64_t)x->range.from);
	bind(*stmt, ":to", x->range.to > INT64_MAX ? INT64_MAX : (int64_t)x->range.to);
	bind(*stmt, ":domid", o->domid);
	bind(*stmt, ":vcpu", o->vcpu);
	bind(*stmt, ":fork", o->fork);
	return 0;
}

/* One view as a table; named: its name stands in each row, first. */
static int rows(struct xf_export *x, const char *view, enum xf_format format, bool named,
	struct xf_error *err)
{
	struct xf_column columns[64];
	struct xf_out *out = NULL;
	sqlite3_stmt *stmt;
	size_t n = 0;
	int code = xf_export_select(x, &stmt, view, NULL, NULL, NULL, err), closed;

	if (code)
		return code;
	if (named)
		columns[n++] = (struct xf_column){"view", NULL, 0, XF_CELL_TEXT};
	for (int i = 0; i < sqlite3_column_count(stmt) && n < 64; i++) {
		const char *name = sqlite3_column_name(stmt, i);

		columns[n++] = (struct xf_column){name, NULL, 0, xf_cell_type_of(name)};
	}
	code = xf_out_new(&out, x->file, format, columns, n, err);
	if (!code)
		xf_out_header(out);
	while (!code && !xf_out_failed(out) && (code = xf_db_step(stmt, err)) == 1) {
		code = xf_stop_requested() ? xf_fail(err, XF_INTERRUPTED, "interrupted") : 0;
		if (named)
			xf_out_text(out, view);
		xf_out_row(out, stmt);
	}
	closed = xf_out_close(out, err);
	sqlite3_finalize(stmt);
	return code ? code : closed;
}

int xf_export_csv(struct xf_export *x, struct xf_error *err)
{
	if (!x->own->view)
		return xf_fail(err, XF_USAGE,
			"csv holds one view: give --view forks, or another of xenfault-db(5); "
			"jsonl without --view holds all");
	return rows(x, x->own->view, XF_FORMAT_CSV, false, err);
}

int xf_export_jsonl(struct xf_export *x, struct xf_error *err)
{
	int code = 0;

	if (x->own->view)
		return rows(x, x->own->view, XF_FORMAT_JSONL, false, err);
	for (size_t i = 0; i < NVIEWS && !code; i++)
		code = rows(x, views[i].name, XF_FORMAT_JSONL, true, err);
	return code;
}

/* All tables of the capture, or of the hosts of a fleet: a part of one would look like the whole. */
static int to_postgresql(struct xf_export *x, struct xf_error *err)
{
	const struct xf_options *o = x->options;

	if (x->own->view || o->domain || o->domid >= 0 || o->fork >= 0 || x->range.has_from ||
		x->range.has_to || o->cpu_hz)
		return xf_fail(err, XF_USAGE,
			"postgresql takes a whole capture as it is: no --view, --domain, --fork, --from, "
			"--until or --cpu-hz (xenfault analyze --cpu-hz stores a frequency)");
	return xf_export_postgresql(x->db, o->args[0], x->own->host, x->file, err);
}

static const struct format {
	const char *name;
	xf_exporter *function;
	bool fleet;	    /* it takes all hosts of a fleet too */
	const char *schema; /* what --schema writes, NULL = there is none */
} formats[] = {
	{"perfetto", xf_export_perfetto, false, NULL},
	{"csv", xf_export_csv, false, NULL},
	{"jsonl", xf_export_jsonl, false, NULL},
	{"folded", xf_export_folded, false, NULL},
	{"postgresql", to_postgresql, true, xf_sql_postgresql},
};

static const struct format *find_format(const char *name, struct xf_error *err)
{
	struct xf_suggest suggest = xf_suggest_for(name ? name : "");
	char all[128] = "";

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (name && !strcmp(name, formats[i].name))
			return &formats[i];
		xf_suggest_offer(&suggest, formats[i].name);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "",
			formats[i].name);
	}
	if (!name)
		xf_fail(err, XF_USAGE, "--to FORMAT is missing; the formats are %s", all);
	else if ((*name >= '0' && *name <= '9'))
		xf_fail(err, XF_USAGE,
			"--to %s: of export, --to is the format (%s); the end in time is --until %s",
			name, all, name);
	else
		xf_fail(err, XF_USAGE, "--to %s: no such format%s; the formats are %s", name,
			xf_suggest_text(&suggest), all);
	return NULL;
}

static int open_database(
	struct xf_export *x, struct xf_options *options, bool fleet, struct xf_error *err)
{
	int code;

	if (fleet && xf_db_is_fleet(x->options->args[0])) {
		code = xf_db_open_fleet(&x->db, x->options->args[0], 1, err);
		return code ? code : xf_db_exec(x->db, "BEGIN", err);
	}
	code = xf_open_for(&x->db, options, err);
	if (!code)
		code = xf_capture_hz(x->db, x->options, &x->hz, err);
	if (!code)
		code = xf_time_range_of(x->db, x->options, x->hz, &x->range, &x->tsc_first, err);
	if (!code)
		code = xf_need_fork(x->db, x->options, err);
	/* all views are of the same moment, whoever writes meanwhile */
	return code ? code : xf_db_exec(x->db, "BEGIN", err);
}

static int run_export(struct xf_options *options, struct xf_error *err)
{
	const struct xf_export_options *o = (const struct xf_export_options *)options;
	struct xf_export x = {.own = o, .options = options};
	struct xf_outfile out = {0};
	const struct format *format;
	int code = xf_need_args(options, o->schema ? 0 : 1, err);

	if (code)
		return code;
	format = find_format(o->to_format, err);
	if (format && ((o->schema && !format->schema) || (o->host && !format->fleet)))
		return xf_fail(err, XF_USAGE, "--schema and --host are for postgresql, not for %s",
			format->name);
	if (!format || (o->view && !view_by_name(o->view, err)))
		return -XF_USAGE;
	if (!o->schema)
		code = open_database(&x, options, format->fleet, err);
	if (!code)
		code = xf_outfile_open(&out, options->output, options->force, err);
	x.file = out.file;
	if (!code && o->schema)
		fputs(format->schema, x.file);
	else if (!code)
		code = format->function(&x, err);
	code = xf_outfile_close(&out, code, err);
	sqlite3_close(x.db);
	return code;
}

static const struct xf_option export_options[] = {
	XF_OPT_OUTPUT("FILE", "the file to write; default: standard output"),
	XF_OPT_FORCE("FILE"),
	{"to", 0, "FORMAT", "perfetto, csv, jsonl, folded or postgresql (not a time here)",
		XF_TEXT(struct xf_export_options, to_format),
		"perfetto csv jsonl folded postgresql"},
	{"view", 0, "NAME", "the view to write as csv or jsonl",
		XF_TEXT(struct xf_export_options, view), XF_VIEWS},
	XF_OPT_DOMAIN,
	XF_OPT_FROM,
	XF_OPT_UNTIL,
	XF_OPT_FORK,
	XF_OPT_CPU_HZ,
	{"detail", 0, NULL, "perfetto: every event too, not only forks, pages and losses",
		XF_FLAG(struct xf_export_options, detail), NULL},
	{"host", 0, "NAME", "the host's name there; of a fleet: only this one",
		XF_TEXT(struct xf_export_options, host), NULL},
	{"schema", 0, NULL, "the tables and views for it, instead of a DB",
		XF_FLAG(struct xf_export_options, schema), NULL},
	{0},
};

const struct xf_command xf_cmd_export = {"export", "DB",
	"CSV, JSON lines, Perfetto, flame graphs, PostgreSQL", export_options,
	sizeof(struct xf_export_options), run_export};
