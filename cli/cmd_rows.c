// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault forks, pages, spurious, processes, walks, and flushes by fork: the rows of a view.
 * In: DB, filters.  Out: a table on stdout.
 * Text shows what fits in 80 columns; CSV and JSON all columns of the view in order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/columns.h"
#include "schemas/db.h"

struct text_column {
	const char *sql; /* START, DURATION: times, in the unit that is known */
	struct xf_column column;
};

struct listing {
	const char *view;
	const char *time; /* column that --from and --to look at */
	const char *last; /* column that --from looks at, NULL = the same */
	const char *order;
	const char *us; /* the view's us in cycles, for --cpu-hz */
	const struct text_column *text;
	size_t ntext;
	bool by_fork;	 /* it has no domain and no time but those of its forks */
	bool by_process; /* it has no vCPU */
};

/* an mmuext_op may be a flush or anything else */
#define FLUSHES_SQL(n)	     "CASE reach WHEN 'unknown' THEN '<= ' ELSE '' END || " n
#define PER_PTE_SQL(n, ptes) "CASE WHEN " ptes " THEN printf('%.3f', " n " * 1.0 / " ptes ") END"
#define FORKS_ONLY	     " AND fork_id IS NOT NULL"
#define MARK_SQL	     "CASE complete WHEN 0 THEN 'cut' ELSE '' END"
#define HEX_WIDTH	     18
#define OTHER_WIDTH	     8
#define WHO_SQL		     "comm || ' ' || pid || ' > ' || child_pid"

static const struct text_column fork_text[] = {
	{"fork_id", {"fork", NULL, 5, XF_CELL_INT}}, {XF_VCPU_SQL, {"vcpu", NULL, 5, XF_CELL_TEXT}},
	{"START", {"start", NULL, 13, XF_CELL_REAL}},
	{"DURATION", {"time", NULL, 11, XF_CELL_REAL}},
	{"mechanism", {"by", NULL, 7, XF_CELL_TEXT}}, {"pt_pages", {"pages", NULL, 5, XF_CELL_INT}},
	{"ptes", {"ptes", NULL, 6, XF_CELL_INT}}, {"faults", {"faults", NULL, 6, XF_CELL_INT}},
	{"cow_faults", {"cow", NULL, 5, XF_CELL_INT}},
	{"CASE WHEN doubt IS NOT NULL THEN '?' ELSE '' END || " MARK_SQL,
		{"mark", "", 4, XF_CELL_TEXT}},
	{WHO_SQL, {"who", NULL, 0, XF_CELL_TEXT}}, /* where a log names forks */
};

static const struct text_column process_text[] = {
	{"coalesce(domain, 'd' || domid, '?')", {"dom", NULL, 5, XF_CELL_TEXT}},
	{"pid", {"pid", NULL, 7, XF_CELL_INT}},
	{"comm", {"comm", NULL, 15, XF_CELL_TEXT}},
	{"forks", {"forks", NULL, 5, XF_CELL_INT}},
	{"DURATION", {"time", NULL, 13, XF_CELL_REAL}},
	{"ptes", {"ptes", NULL, 8, XF_CELL_INT}},
	{"cow_faults", {"cow", NULL, 7, XF_CELL_INT}},
	{"silent", {"silent", NULL, 6, XF_CELL_INT}},
	{"threads", {"threads", NULL, 7, XF_CELL_INT}},
};

static const struct text_column page_text[] = {
	{"sequence_id", {"seq", NULL, 6, XF_CELL_INT}},
	{"fork_id", {"fork", NULL, 5, XF_CELL_INT}},
	{XF_VCPU_SQL, {"vcpu", NULL, 5, XF_CELL_TEXT}},
	{"ifnull(pt_page, frame)", {"page", "page or frame", 18, XF_CELL_HEX}},
	{"mechanism", {"by", NULL, 7, XF_CELL_TEXT}},
	{"ptes", {"ptes", NULL, 4, XF_CELL_INT}},
	{"faults", {"faults", NULL, 6, XF_CELL_INT}},
	{"DURATION", {"time", NULL, 11, XF_CELL_REAL}},
	{"ended_by || CASE complete WHEN 0 THEN ' cut' ELSE '' END",
		{"ended", NULL, 8, XF_CELL_TEXT}},
};

static const struct text_column spurious_text[] = {
	{"event_id", {"event", NULL, 8, XF_CELL_INT}},
	{"START", {"start", NULL, 13, XF_CELL_REAL}},
	{XF_VCPU_SQL, {"vcpu", NULL, 5, XF_CELL_TEXT}},
	{"va", {"va", NULL, 14, XF_CELL_HEX}},
	{"error_code", {"code", NULL, 4, XF_CELL_TEXTHEX}},
	{"cause", {"cause", NULL, 8, XF_CELL_TEXT}},
	{"ifnull('v' || other_vcpu, '-')", {"lost to", NULL, 7, XF_CELL_TEXT}},
	{"confidence", {"conf", NULL, 7, XF_CELL_TEXT}},
};

/* Of a fork: how often for each of its entries, which is what tells good from bad. */
static const struct text_column flush_text[] = {
	{"fork_id", {"fork", NULL, 6, XF_CELL_INT}}, {"mechanism", {"by", NULL, 9, XF_CELL_TEXT}},
	{"cause", {"cause", NULL, 9, XF_CELL_TEXT}}, {"reach", {"reach", NULL, 7, XF_CELL_TEXT}},
	{FLUSHES_SQL("flushes"), {"flushes", NULL, 9, XF_CELL_INT}},
	{"cpus", {"CPUs hit", NULL, 9, XF_CELL_INT}}, {"ptes", {"PTEs", NULL, 8, XF_CELL_INT}},
	{PER_PTE_SQL("flushes", "ptes"), {"per PTE", NULL, 9, XF_CELL_INT}},
	{"avoided", {"avoided", NULL, 7, XF_CELL_INT}}, /* where Xen records them */
};

static const struct text_column walk_text[] = {
	{XF_VCPU_SQL, {"vcpu", NULL, 5, XF_CELL_TEXT}},
	{"START", {"start", NULL, 13, XF_CELL_REAL}},
	{"DURATION", {"time", NULL, 11, XF_CELL_REAL}},
	{"kind", {"kind", NULL, 6, XF_CELL_TEXT}},
	{"pt_pages", {"pages", NULL, 5, XF_CELL_INT}},
	{"ptes", {"ptes", NULL, 5, XF_CELL_INT}},
	{XF_INSTRUCTION_SQL, {"instruction", NULL, 26, XF_CELL_TEXT}},
};

#define CAUSE_WIDTH 17

static const struct listing listings[] = {
	{.view = "forks",
		.time = "tsc_start",
		.order = "fork_id",
		.us = "(tsc_end - tsc_start)",
		.text = fork_text,
		.ntext = sizeof(fork_text) / sizeof(fork_text[0])},
	{.view = "pt_sequences",
		.time = "tsc_start",
		.order = "tsc_start, sequence_id",
		.us = "(tsc_end - tsc_start)",
		.text = page_text,
		.ntext = sizeof(page_text) / sizeof(page_text[0])},
	{.view = "spurious_faults",
		.time = "tsc",
		.order = "event_id",
		.us = "(tsc - (SELECT tsc_first FROM trace))",
		.text = spurious_text,
		.ntext = sizeof(spurious_text) / sizeof(spurious_text[0])},
	{.view = "flushes",
		.time = "tsc_start",
		.order = "fork_id, domid, cause, reach",
		.us = "cycles",
		.text = flush_text,
		.ntext = sizeof(flush_text) / sizeof(flush_text[0]),
		.by_fork = true},
	{.view = "processes",
		.time = "first_tsc",
		.last = "last_tsc",
		.order = "cycles DESC, domid, pid, comm",
		.us = "cycles",
		.text = process_text,
		.ntext = sizeof(process_text) / sizeof(process_text[0]),
		.by_process = true},
	{.view = "walks",
		.time = "tsc_start",
		.order = "walk_id",
		.us = "(tsc_end - tsc_start)",
		.text = walk_text,
		.ntext = sizeof(walk_text) / sizeof(walk_text[0])},
};

/* SELECT list of the text form, times in us where the frequency is known, else in cycles. */
static char *text_select(const struct listing *l, size_t n, uint64_t hz, struct xf_column *columns)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);
	unsigned long long rate = hz;

	sqlite3_str_appendall(sql, "SELECT ");
	for (size_t i = 0; i < n; i++) {
		const struct text_column *t = &l->text[i];

		columns[i] = t->column;
		if (i)
			sqlite3_str_appendall(sql, ", ");
		if (!strcmp(t->sql, "START")) {
			columns[i].title = hz ? "start/s" : "start/cycles";
			columns[i].type = hz ? XF_CELL_TEXT : XF_CELL_INT;
			sqlite3_str_appendf(sql,
				hz ? "printf('%%13.6f', (%s - (SELECT tsc_first FROM trace)) * 1.0 / %llu)"
				   : "%s - (SELECT tsc_first FROM trace)",
				l->time, rate);
		} else if (!strcmp(t->sql, "DURATION")) {
			columns[i].title = hz ? "us" : "cycles";
			sqlite3_str_appendf(sql, hz ? "%s * 1e6 / %llu" : "%s", l->us, rate);
		} else {
			sqlite3_str_appendall(sql, t->sql);
		}
	}
	return sqlite3_str_finish(sql);
}

/* A column of the view; us again where --cpu-hz was given. */
static void append_column(
	sqlite3_str *sql, const struct listing *l, uint64_t hz, const char *column)
{
	if (hz && l->us && !strcmp(column, "us"))
		sqlite3_str_appendf(sql, "(%s * 1e6 / %llu)", l->us, (unsigned long long)hz);
	else
		sqlite3_str_appendall(sql, column);
}

/* SELECT list of columns of the view. */
static char *full_select(const struct listing *l, uint64_t hz, const struct xf_columns *picked,
	struct xf_column *columns)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);

	sqlite3_str_appendall(sql, "SELECT ");
	for (size_t i = 0; i < picked->n; i++) {
		const char *name = picked->name[i];
		enum xf_cell_type type = xf_cell_type_of(name);

		columns[i] = (struct xf_column){
			name, NULL, type == XF_CELL_HEX ? HEX_WIDTH : OTHER_WIDTH, type};
		if (strlen(name) > (size_t)columns[i].width)
			columns[i].width = (int)strlen(name);
		sqlite3_str_appendall(sql, i ? ", " : "");
		append_column(sql, l, hz, name);
	}
	return sqlite3_str_finish(sql);
}

/* WHERE clause for the options that leave rows out. */
static char *filters(
	const struct listing *l, const struct xf_options *o, const struct xf_range *range)
{
	bool any = o->domid >= 0 || o->fork >= 0 || range->has_from || range->has_to;
	sqlite3_str *sql = sqlite3_str_new(NULL);

	sqlite3_str_appendall(sql, " WHERE 1");
	/* what Xen records names its domain outside of forks as well */
	if (l->by_fork && any)
		sqlite3_str_appendf(sql,
			" AND (fork_id IS NULL AND domid = %d OR fork_id IN"
			" (SELECT fork_id FROM forks WHERE 1",
			o->vcpu < 0 && o->fork < 0 && !range->has_from && !range->has_to ? o->domid
											 : -1);
	xf_append_filters(sql, o, range, l->last ? l->last : l->time, l->time);
	if (l->by_fork && any)
		sqlite3_str_appendall(sql, "))");
	return sqlite3_str_finish(sql);
}

/* Adds --min COLUMN=N to *where. */
static int at_least(char **where, const struct listing *l, const struct xf_options *o, uint64_t hz,
	const struct xf_columns *all, struct xf_error *err)
{
	sqlite3_str *sql;
	const char *equals = strchr(o->min, '='), *column;
	char *end;
	double n;
	int code;

	if (!equals)
		return xf_fail(err, XF_USAGE, "--min %s: it is COLUMN=N, such as ptes=100", o->min);
	code = xf_columns_find(all, o->min, (size_t)(equals - o->min), "min", &column, err);
	if (code)
		return code;
	n = strtod(equals + 1, &end);
	if (end == equals + 1 || *end || !isfinite(n))
		return xf_fail(err, XF_USAGE, "--min %s: %s is not a number", o->min, equals + 1);
	if (!hz && !strcmp(column, "us"))
		return xf_fail(err, XF_USAGE,
			"--min %s: us need the TSC frequency, which the capture does not tell: give --cpu-hz",
			o->min);
	sql = sqlite3_str_new(NULL);
	sqlite3_str_appendall(sql, *where);
	sqlite3_str_appendall(sql, " AND ");
	append_column(sql, l, o->cpu_hz, column);
	sqlite3_str_appendf(sql, " >= %!.17g", n);
	sqlite3_free(*where);
	*where = sqlite3_str_finish(sql);
	return *where ? 0 : xf_fail_nomem(err);
}

/* ORDER BY of --sort and --reverse; rows without a value come last. */
static int order_of(const struct listing *l, const struct xf_options *o,
	const struct xf_columns *all, char **order, struct xf_error *err)
{
	const char *column = NULL;
	int code =
		o->sort ? xf_columns_find(all, o->sort, strlen(o->sort), "sort", &column, err) : 0;
	sqlite3_str *sql;

	if (code)
		return code;
	sql = sqlite3_str_new(NULL);
	if (column) {
		/* cycles do where the frequency is not known */
		sqlite3_str_appendall(sql, l->us && !strcmp(column, "us") ? l->us : column);
		sqlite3_str_appendf(sql, "%s NULLS LAST, ",
			xf_column_goes_up(column) == o->reverse ? " DESC" : "");
	}
	xf_append_order(sql, l->order, o->reverse && !column);
	*order = sqlite3_str_finish(sql);
	return *order ? 0 : xf_fail_nomem(err);
}

/* Before the rows of forks: all flushes by mechanism, cause and reach. */
static int print_flush_totals(sqlite3 *db, const char *where, bool recorded, struct xf_error *err)
{
	const struct xf_column columns[] = {
		{"by", NULL, 9, XF_CELL_TEXT},
		{"cause", NULL, recorded ? CAUSE_WIDTH : 9, XF_CELL_TEXT},
		{"reach", NULL, 7, XF_CELL_TEXT},
		{"flushes", NULL, 9, XF_CELL_INT},
		{"CPUs hit", NULL, 9, XF_CELL_INT},
		{"PTEs", NULL, 9, XF_CELL_INT},
		{"per PTE", NULL, 9, XF_CELL_INT},
		{"avoided", NULL, 7, XF_CELL_INT},
	};
	size_t n = sizeof(columns) / sizeof(columns[0]) - !recorded;
	char *sql = sqlite3_mprintf(
		"SELECT ifnull(mechanism, 'no fork') AS mechanism, cause, reach,"
		" %s, sum(cpus), sum(ptes), %s%s FROM flushes%s GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
		FLUSHES_SQL("sum(flushes)"), PER_PTE_SQL("sum(flushes)", "sum(ptes)"),
		recorded ? ", sum(avoided)" : "", where);
	int code = xf_print_query(db, sql, columns, n, XF_FORMAT_TEXT, err);

	if (!code && recorded)
		puts("\nRecorded by Xen itself; avoided: its filter by timestamps left no CPU to flush.  Each one:\n"
		     "--each; sums: --by.  Fork by fork:\n");
	else if (!code)
		puts("\nNot in the records: the commands of mmuext_op (<=: any of them may be a flush),\n"
		     "flushes by Xen itself, and those it puts off.  Fork by fork:\n");
	return code;
}

/* Before the rows of walks: what each instruction did. */
static int print_walk_totals(sqlite3 *db, const char *where, struct xf_error *err)
{
	static const struct xf_column columns[] = {
		{"dom", NULL, 5, XF_CELL_TEXT},
		{"kind", NULL, 6, XF_CELL_TEXT},
		{"walks", NULL, 8, XF_CELL_INT},
		{"pages", NULL, 8, XF_CELL_INT},
		{"ptes", NULL, 8, XF_CELL_INT},
		{"instruction", NULL, 36, XF_CELL_TEXT},
	};
	char *sql = sqlite3_mprintf(
		"SELECT ifnull('d' || domid, '?'), kind, count(*), sum(pt_pages), sum(ptes),"
		" %s FROM walks%s GROUP BY domid, kind, rip ORDER BY 5 DESC",
		XF_INSTRUCTION_SQL, where);
	int code = xf_print_query(
		db, sql, columns, sizeof(columns) / sizeof(columns[0]), XF_FORMAT_TEXT, err);

	if (!code)
		puts("\nWalk by walk:\n");
	return code;
}

/* No fork at all: why that may be, on stderr. */
static int tell_no_forks(sqlite3 *db, struct xf_error *err)
{
	int64_t forks = 0, writes = 0;
	int code = xf_db_int(db, "SELECT count(*) FROM fork", &forks, err);

	if (!code && !forks)
		code = xf_db_int(db,
			"SELECT count(*) FROM (SELECT 1 FROM events WHERE kind IN"
			" ('emulate', 'unhook', 'batch') LIMIT 1)",
			&writes, err);
	if (code || forks)
		return code ? code : xf_tell_hap(db, XF_HAP_SOME_FORKS, err);
	if (writes)
		fputs("no fork was found: none ran while this was recorded, or only of processes so small\n"
		      "that they leave no run of writes; xenfault pages lists what was written\n",
			stderr);
	else
		fputs("no fork was found: the capture has no writes to page tables at all; record the classes\n"
		      "pv, shadow and sched (xenfault record does, xentrace -e all does)\n",
			stderr);
	return xf_tell_hap(db, XF_HAP_FORKS, err);
}

static int tell_no_pages(sqlite3 *db, struct xf_error *err)
{
	int64_t sequences = 0;
	int code = xf_db_int(db, "SELECT EXISTS (SELECT 1 FROM sequence)", &sequences, err);

	return code ? code : xf_tell_hap(db, sequences ? XF_HAP_SOME_FORKS : XF_HAP_FORKS, err);
}

/* Is there something in the last column, which names forks, or counts what Xen avoided? */
static int leave_out_last(sqlite3 *db, const struct listing *l, size_t *n, struct xf_error *err)
{
	const char *any = "SELECT EXISTS (SELECT 1 FROM guest_forks WHERE fork_id IS NOT NULL)";
	int64_t found = 0;
	int code = 0;

	if (l->text == flush_text)
		any = "SELECT EXISTS (SELECT 1 FROM tlb_flushes)";
	else if (l->text != fork_text)
		return 0;
	code = xf_db_int(db, any, &found, err);
	*n -= !found;
	return code;
}

/* Processes without a name: why. */
static int tell_no_names(sqlite3 *db, struct xf_error *err)
{
	int64_t logs = 0;
	int code = xf_db_int(db, "SELECT count(*) FROM guest_logs", &logs, err);

	if (!code && !logs)
		fputs("who forked is not known: only a guest's own kernel tells; give its ftrace log: xenfault\n"
		      "analyze --guest d0=FILE (man xenfault-processes shows how to take one)\n",
			stderr);
	return code;
}

/* What the options say of columns: which ones, which rows by them, in which order. */
static int choose(sqlite3 *db, const struct listing *l, const struct xf_options *o, uint64_t hz,
	struct xf_columns *picked, char **where, char **order, struct xf_error *err)
{
	struct xf_columns all;
	int code = xf_columns_of(db, l->view, &all, err);

	if (!code && o->min)
		code = at_least(where, l, o, hz, &all, err);
	if (!code)
		code = order_of(l, o, &all, order, err);
	if (!code && o->columns)
		code = xf_columns_pick(&all, o->columns, "columns", picked, err);
	if (!code && !o->columns && o->format != XF_FORMAT_TEXT) {
		*picked = all;
		return 0;
	}
	xf_columns_free(&all);
	return code;
}

static int tell_why(sqlite3 *db, const struct listing *l, struct xf_error *err)
{
	int code = 0;

	if (!strcmp(l->view, "forks"))
		code = tell_no_forks(db, err);
	if (l->by_process)
		code = tell_no_names(db, err);
	if (!strcmp(l->view, "pt_sequences"))
		code = tell_no_pages(db, err);
	return code ? code : xf_print_doubts(db, err);
}

static int print_list(sqlite3 *db, const struct listing *l, struct xf_options *o, uint64_t hz,
	char **where, struct xf_error *err)
{
	struct xf_columns picked = {NULL, 0};
	struct xf_column text_columns[16], *columns = text_columns;
	size_t n = l->ntext;
	char *select = NULL, *order = NULL;
	bool text = o->format == XF_FORMAT_TEXT;
	int code = leave_out_last(db, l, &n, err);
	bool whole = n == l->ntext;

	if (!code)
		code = choose(db, l, o, hz, &picked, where, &order, err);
	if (!code && picked.n) {
		n = picked.n;
		columns = calloc(n, sizeof(*columns));
		select = columns ? full_select(l, o->cpu_hz, &picked, columns) : NULL;
	} else if (!code) {
		select = text_select(l, n, hz, text_columns);
	}
	if (!code && !select)
		code = xf_fail_nomem(err);
	/* Xen's own causes have longer names */
	if (columns == text_columns && l->text == flush_text && whole)
		text_columns[2].width = CAUSE_WIDTH;
	if (!code && l->by_fork && text && !picked.n)
		code = print_flush_totals(db, *where, whole, err);
	if (!code && !strcmp(l->view, "walks") && text && !picked.n)
		code = print_walk_totals(db, *where, err);
	if (!code)
		code = xf_print_query(db,
			sqlite3_mprintf("%s FROM %s%s%s ORDER BY %s LIMIT %lld", select, l->view,
				*where, l->by_fork && text && !picked.n ? FORKS_ONLY : "", order,
				(long long)o->limit),
			columns, n, o->format, err);
	if (!code && text)
		code = tell_why(db, l, err);
	if (columns != text_columns)
		free(columns);
	xf_columns_free(&picked);
	sqlite3_free(select);
	sqlite3_free(order);
	return code;
}

static int list(const struct listing *l, struct xf_options *o, struct xf_error *err)
{
	struct xf_range range;
	char *where = NULL;
	uint64_t hz = 0;
	sqlite3 *db = NULL;
	int code = xf_need_args(o, 1, err);

	if (!code && l->by_process && o->vcpu >= 0)
		code = xf_fail(err, XF_USAGE, "--domain: a process is of a whole domain dN");
	if (!code)
		code = xf_open_for(&db, o, err);
	if (!code)
		code = xf_capture_hz(db, o, &hz, err);
	if (!code)
		code = xf_time_range_of(db, o, hz, &range, NULL, err);
	if (!code)
		code = xf_need_fork(db, o, err);
	if (!code) {
		where = filters(l, o, &range);
		code = where ? print_list(db, l, o, hz, &where, err) : xf_fail_nomem(err);
	}
	sqlite3_free(where);
	sqlite3_close(db);
	return code;
}

static int run_forks(struct xf_options *options, struct xf_error *err)
{
	return list(&listings[0], options, err);
}

static int run_pages(struct xf_options *options, struct xf_error *err)
{
	return list(&listings[1], options, err);
}

static int run_spurious(struct xf_options *options, struct xf_error *err)
{
	return list(&listings[2], options, err);
}

int xf_list_flushes(struct xf_options *options, struct xf_error *err)
{
	return list(&listings[3], options, err);
}

static int run_processes(struct xf_options *options, struct xf_error *err)
{
	return list(&listings[4], options, err);
}

static int run_walks(struct xf_options *options, struct xf_error *err)
{
	return list(&listings[5], options, err);
}

static const struct xf_option list_options[] = {
	XF_OPTS_ROWS,
	XF_OPTS_COLUMNS,
	XF_OPT_CPU_HZ,
	{0},
};

const struct xf_command xf_cmd_forks = {
	"forks", "DB", "one row per fork", list_options, 0, run_forks};

static const struct xf_option list_of_fork_options[] = {
	XF_OPTS_ROWS,
	XF_OPTS_COLUMNS,
	XF_OPT_FORK,
	XF_OPT_CPU_HZ,
	{0},
};

const struct xf_command xf_cmd_pages = {"pages", "DB",
	"one row per fault sequence of a page-table page", list_of_fork_options, 0, run_pages};

const struct xf_command xf_cmd_spurious = {"spurious", "DB",
	"faults that another vCPU's work made needless", list_options, 0, run_spurious};

const struct xf_command xf_cmd_processes = {
	"processes", "DB", "who forked, by guests' own logs", list_options, 0, run_processes};

const struct xf_command xf_cmd_walks = {"walks", "DB",
	"walks through page tables that are no forks: page aging", list_options, 0, run_walks};
