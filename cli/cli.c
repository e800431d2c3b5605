// SPDX-License-Identifier: GPL-2.0-or-later
/* What several commands need.  In: options, a database.  Out: values; talk on stderr. */
#include "cli/cli.h"

#include <stdarg.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/guest/domains.h"
#include "collector/store/clocks.h"
#include "common/clock.h"
#include "common/escape.h"
#include "common/suggest.h"
#include "schemas/db.h"

#define STEPS 10000 /* of a statement, between two looks for Ctrl-C: some 100 us */

void xf_print(FILE *file, const char *format, ...)
{
	char *text, *line, *rest;
	va_list ap;
	int length;

	va_start(ap, format);
	length = vasprintf(&text, format, ap);
	va_end(ap);
	if (length < 0)
		return;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		xf_escape_to(file, XF_ESCAPE_TEXT, line);
		if (rest)
			putc('\n', file);
	}
	free(text);
}

void xf_warn(const char *format, ...)
{
	char text[2048], line[3 * sizeof(text)];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	/* one write: a line of a child of ours does not come between */
	fprintf(stderr, "xenfault: %s\n", xf_escape_in(line, sizeof(line), XF_ESCAPE_TEXT, text));
}

void xf_tell_newfile(const struct xf_newfile *file)
{
	if (file->dead)
		xf_warn("%u unfinished file%s of runs that were killed %s removed from the folder "
			"of %s",
			file->dead, file->dead == 1 ? "" : "s", file->dead == 1 ? "was" : "were",
			file->path);
	if (file->leftovers)
		xf_warn("%s-wal, -shm or -journal were left by a run that was killed: they do not "
			"belong to the new database and are removed",
			file->path);
}

int xf_need_args(const struct xf_options *options, int n, struct xf_error *err)
{
	if (options->nargs == n)
		return 0;
	return xf_fail(err, XF_USAGE, "%s: xenfault %s [OPTION ...] %s",
		options->nargs < n ? "an argument is missing" : "too many arguments",
		options->command->name, options->command->arguments);
}

static int should_stop(void *data)
{
	(void)data;
	return xf_stop_requested();
}

void xf_interruptible(sqlite3 *db)
{
	sqlite3_progress_handler(db, STEPS, should_stop, NULL);
}

int xf_open(sqlite3 **db, const char *path, struct xf_error *err)
{
	int code = xf_db_open(db, path, 1, err);

	if (!code)
		xf_interruptible(*db);
	return code;
}

/* The one domain of that name: 1, or 0 = there is none, or more than one. */
static int domain_called(
	sqlite3 *db, const char *name, size_t length, int *domid, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int found = 0,
	    code = xf_db_prepare(db, &stmt, "SELECT domid FROM domains WHERE name = ?", err);

	if (!code)
		sqlite3_bind_text(stmt, 1, name, (int)length, SQLITE_STATIC);
	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		*domid = sqlite3_column_int(stmt, 0);
		code = found++ ? xf_fail(err, XF_USAGE,
					 "--domain %.*s: more than one domain has that name; give dN (xenfault info)",
					 (int)length, name)
			       : 0;
	}
	sqlite3_finalize(stmt);
	return code ? code : found;
}

static int no_such_domain(sqlite3 *db, const char *name, struct xf_error *err)
{
	struct xf_suggest suggest = xf_suggest_for(name);
	sqlite3_stmt *stmt = NULL;
	int names = 0,
	    code = xf_db_prepare(db, &stmt,
		    "SELECT name FROM domains WHERE name IS NOT NULL ORDER BY domid", err);

	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		xf_suggest_offer(&suggest, xf_db_text(stmt, 0));
		names++;
		code = 0;
	}
	if (!code)
		code = xf_fail(err, XF_USAGE,
			names ? "--domain %s: no domain has that name%s; it is dN or dNvM, such as d0, or"
				" a name of the view domains"
			      : "--domain %s: it is dN or dNvM, such as d0; the database has no names of"
				" domains (--domain-names)%s",
			name, names ? xf_suggest_text(&suggest) : "");
	sqlite3_finalize(stmt);
	return code;
}

int xf_find_domain(sqlite3 *db, struct xf_options *o, struct xf_error *err)
{
	size_t length = o->domain ? strlen(o->domain) : 0;
	const char *v = o->domain ? strrchr(o->domain, 'v') : NULL;
	int code;

	if (!o->domain)
		return 0;
	code = domain_called(db, o->domain, length, &o->domid, err);
	if (!code && v && v > o->domain && xf_whole_number(v + 1, 0xffff) >= 0) {
		code = domain_called(db, o->domain, (size_t)(v - o->domain), &o->domid, err);
		if (code == 1)
			o->vcpu = (int)xf_whole_number(v + 1, 0xffff);
	}
	if (code < 0)
		return code;
	return code ? 0 : no_such_domain(db, o->domain, err);
}

/* A list of nobody's rows is empty for a reason. */
static int tell_nobody(sqlite3 *db, const struct xf_options *o, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int code;

	if (o->domid < 0)
		return 0;
	code = xf_db_prepare(db, &stmt,
		"SELECT group_concat('d' || domid, ', ') FROM (SELECT domid FROM domains ORDER BY domid LIMIT 20)"
		" WHERE NOT EXISTS (SELECT 1 FROM event_place WHERE domid = ?1 AND (?2 < 0 OR vcpu = ?2))",
		err);
	if (!code) {
		sqlite3_bind_int(stmt, 1, o->domid);
		sqlite3_bind_int(stmt, 2, o->vcpu);
		code = xf_db_step(stmt, err);
	}
	if (code == 1 && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		fprintf(stderr, "no event is of that %s: the capture has events of %s\n",
			o->vcpu < 0 ? "domain" : "vCPU", xf_db_text(stmt, 0));
	sqlite3_finalize(stmt);
	return code < 0 ? code : 0;
}

int xf_open_for(sqlite3 **db, struct xf_options *options, struct xf_error *err)
{
	int code = xf_open(db, options->args[0], err);

	if (!code)
		code = xf_find_domain(*db, options, err);
	return code ? code : tell_nobody(*db, options, err);
}

int xf_name_domains(sqlite3 *db, const struct xf_options *options, struct xf_error *err)
{
	const char *path = options->domain_names;
	FILE *file = path ? fopen(path, "r") : NULL;
	uint64_t names;
	int code;

	if (!path)
		return 0;
	if (!file)
		return xf_fail_errno(err, XF_IO, "cannot read %s", path);
	code = xf_domains_read(db, file, path, &names, err);
	fclose(file);
	if (!code && !names)
		xf_warn("%s: it names no domain", path);
	return code;
}

bool xf_is_database(const char *path)
{
	const char *mark = strrchr(path, '#');
	char head[16] = "";
	struct stat st;
	FILE *file;

	/* a host of a fleet */
	if (mark && stat(path, &st)) {
		char *fleet = strndup(path, (size_t)(mark - path));
		bool is = fleet && xf_db_is_fleet(fleet);

		free(fleet);
		return is;
	}

	/* do not take bytes out of a pipe */
	if (stat(path, &st) || !S_ISREG(st.st_mode) || !(file = fopen(path, "rb")))
		return false;
	if (fread(head, 1, sizeof(head), file) != sizeof(head))
		head[0] = '\0';
	fclose(file);
	return !memcmp(head, "SQLite format 3", 16);
}

int xf_capture_hz(sqlite3 *db, const struct xf_options *options, uint64_t *hz, struct xf_error *err)
{
	int64_t value = 0;
	int code = 0;

	*hz = options->cpu_hz;
	if (!*hz) {
		code = xf_db_int(db, "SELECT ifnull((SELECT cpu_hz FROM capture), 0)", &value, err);
		*hz = (uint64_t)value;
	}
	return code;
}

static int point(const struct xf_when *when, const char *name, uint64_t tsc_first, uint64_t hz,
	uint64_t *tsc, struct xf_error *err)
{
	if (when->unit == XF_WHEN_CYCLES) {
		*tsc = when->cycles;
		return 0;
	}
	if (!hz)
		return xf_fail(err, XF_USAGE,
			"%s %g: seconds need the TSC frequency, which the capture does not tell: "
			"give --cpu-hz, or a TSC in cycles as %s 123456c",
			name, when->seconds, name);
	*tsc = tsc_first + (uint64_t)(when->seconds * (double)hz);
	return 0;
}

int xf_time_range(const struct xf_options *o, uint64_t tsc_first, uint64_t hz,
	struct xf_range *range, struct xf_error *err)
{
	int code = 0;

	*range = (struct xf_range){.from = 0, .to = UINT64_MAX};
	range->has_from = o->from.unit != XF_WHEN_UNSET;
	range->has_to = o->to.unit != XF_WHEN_UNSET;
	if (range->has_from)
		code = point(&o->from, "--from", tsc_first, hz, &range->from, err);
	if (range->has_to && !code)
		code = point(&o->to, "--to", tsc_first, hz, &range->to, err);
	return code;
}

/* A time of the capture as --from and --to take it. */
static void print_time(uint64_t tsc, uint64_t first, uint64_t hz)
{
	if (hz)
		fprintf(stderr, "%.6fs", (double)(tsc - first) / (double)hz);
	else
		fprintf(stderr, "%" PRIu64 "c", tsc);
}

static void tell_outside(const struct xf_range *range, uint64_t first, uint64_t last, uint64_t hz)
{
	if (range->to < range->from)
		fputs("nothing is in that range: --from is later than the end given\n", stderr);
	else if (range->from > last || range->to < first) {
		fputs("nothing is in that range: the capture goes from ", stderr);
		print_time(first, first, hz);
		fputs(" to ", stderr);
		print_time(last, first, hz);
		putc('\n', stderr);
	}
}

int xf_time_range_of(sqlite3 *db, const struct xf_options *options, uint64_t hz,
	struct xf_range *range, uint64_t *tsc_first, struct xf_error *err)
{
	int64_t first = 0, last = 0;
	int code = xf_db_int(db, "SELECT ifnull((SELECT tsc_first FROM trace), 0)", &first, err);

	if (!code)
		code = xf_db_int(db, "SELECT ifnull((SELECT tsc_last FROM trace), 0)", &last, err);
	if (!code)
		code = xf_time_range(options, (uint64_t)first, hz, range, err);
	if (!code && (range->has_from || range->has_to))
		tell_outside(range, (uint64_t)first, (uint64_t)last, hz);
	if (tsc_first)
		*tsc_first = (uint64_t)first;
	return code;
}

int xf_one_clock(
	sqlite3 *db, const struct xf_options *options, int64_t *pcpus, struct xf_error *err)
{
	const char *mode = options->clocks ? options->clocks : "auto";

	*pcpus = 0;
	if (!strcmp(mode, "never"))
		return 0;
	return xf_clocks_apply(db, !strcmp(mode, "always"), pcpus, err);
}

void xf_append_filters(sqlite3_str *sql, const struct xf_options *o, const struct xf_range *range,
	const char *last, const char *time)
{
	if (o->domid >= 0)
		sqlite3_str_appendf(sql, " AND domid = %d", o->domid);
	if (o->vcpu >= 0)
		sqlite3_str_appendf(sql, " AND vcpu = %d", o->vcpu);
	if (o->fork >= 0)
		sqlite3_str_appendf(sql, " AND fork_id = %lld", (long long)o->fork);
	if (range->has_from)
		sqlite3_str_appendf(sql, " AND %s >= %lld", last, (long long)range->from);
	if (range->has_to)
		sqlite3_str_appendf(sql, " AND %s <= %lld", time, (long long)range->to);
}

int xf_print_rows(sqlite3_stmt *stmt, const struct xf_column *columns, size_t n,
	enum xf_format format, const char *title, size_t *rows, struct xf_error *err)
{
	struct xf_out *out = NULL;
	size_t count = 0;
	int code = xf_out_new(&out, stdout, format, columns, n, err), closed;

	if (!code && !title)
		xf_out_header(out);
	while (!code && !xf_out_failed(out) && (code = xf_db_step(stmt, err)) == 1) {
		if (!count++ && title)
			puts(title);
		xf_out_row(out, stmt);
		code = 0;
	}
	closed = xf_out_close(out, err);
	sqlite3_finalize(stmt);
	if (rows)
		*rows = count;
	return code ? code : closed;
}

int xf_print_query(sqlite3 *db, char *sql, const struct xf_column *columns, size_t n,
	enum xf_format format, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = sql ? xf_db_prepare(db, &stmt, sql, err) : xf_fail_nomem(err);

	sqlite3_free(sql);
	return code ? code : xf_print_rows(stmt, columns, n, format, NULL, NULL, err);
}

int xf_need_fork(sqlite3 *db, const struct xf_options *o, struct xf_error *err)
{
	char sql[80];
	int64_t n;
	int code;

	if (o->fork < 0)
		return 0;
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM forks WHERE fork_id = %lld",
		(long long)o->fork);
	code = xf_db_int(db, sql, &n, err);
	if (!code && !n)
		code = xf_fail(err, XF_USAGE, "there is no fork %lld; xenfault forks lists them",
			(long long)o->fork);
	return code;
}

int xf_print_doubts(sqlite3 *db, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(db, &stmt,
		"SELECT 'lost: ' || lost_records || ' records, see: xenfault info' FROM capture"
		" WHERE lost_records"
		" UNION ALL SELECT 'the capture still goes on, is cut short or damaged, see: xenfault info' FROM capture"
		" WHERE NOT complete"
		" UNION ALL SELECT 'doubt: ' || count || ' ' || text FROM doubt"
		" UNION ALL SELECT 'doubt: ' || count || ' ' || text FROM finding",
		err);

	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		xf_escape_to(stderr, XF_ESCAPE_TEXT, xf_db_text(stmt, 0));
		putc('\n', stderr);
		code = 0;
	}
	sqlite3_finalize(stmt);
	return code;
}

int xf_tell_hap(sqlite3 *db, enum xf_hap_list list, struct xf_error *err)
{
	char *text;
	int code = xf_hap_missing(db, list, &text, err);

	if (text)
		xf_print(stderr, "%s", text);
	sqlite3_free(text);
	return code;
}

static int show_progress(struct xf_progress *p)
{
	struct xf_cli_progress *shown = p->data;
	double t = xf_clock_seconds();

	/* nothing for what is over in a moment */
	if (t - shown->began < 1 || t - shown->last < 0.2)
		return xf_stop_requested();
	shown->last = t;
	shown->visible = true;
	fputs("\r\033[K", stderr);
	xf_print(stderr, "%s: %.1f MB", shown->what, (double)p->done / 1e6);
	if (p->total)
		fprintf(stderr, " of %.1f (%.0f %%)", (double)p->total / 1e6,
			100.0 * (double)p->done / (double)p->total);
	fprintf(stderr, ", %.1f MB/s", (double)p->done / 1e6 / (t - shown->began));
	return xf_stop_requested();
}

void xf_progress_start(struct xf_cli_progress *progress, const char *what)
{
	*progress = (struct xf_cli_progress){.what = what, .began = xf_clock_seconds()};
	progress->step.step = 1 << 20;
	progress->step.data = progress;
	if (isatty(STDERR_FILENO))
		progress->step.show = show_progress;
}

void xf_progress_end(const struct xf_cli_progress *progress)
{
	if (progress->visible)
		fputs("\r\033[K", stderr);
}
