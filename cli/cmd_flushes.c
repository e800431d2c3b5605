// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault flushes: by fork, cause and reach; with trace points each flush (--each), or summed (--by).
 * In: DB, filters.  Out: a table on stdout.
 */
#include <string.h>

#include "cli/cli.h"
#include "schemas/db.h"

struct flush_options {
	struct xf_options common;
	bool each;
	const char *by; /* name of a table, NULL = none */
};

#define MAX_COLUMNS 16

struct column {
	const char *sql;
	struct xf_column column;
};

struct table {
	const char *name; /* of --by */
	const char *from;
	const char *group; /* what --by groups by, and orders by; NULL = each row, by event */
	const struct column *columns;
	size_t n;
};

#define TIME(title)                                   \
	{                                             \
		"TIME",                               \
		{                                     \
			title, NULL, 11, XF_CELL_REAL \
		}                                     \
	}
#define COUNT(sql, title, width)                        \
	{                                               \
		sql,                                    \
		{                                       \
			title, NULL, width, XF_CELL_INT \
		}                                       \
	}
#define TEXT(sql, title, width)                          \
	{                                                \
		sql,                                     \
		{                                        \
			title, NULL, width, XF_CELL_TEXT \
		}                                        \
	}
#define HEX(sql, title, width)                          \
	{                                               \
		sql,                                    \
		{                                       \
			title, NULL, width, XF_CELL_HEX \
		}                                       \
	}
#define VCPU_SQL "ifnull('d' || domid || 'v' || vcpu, '?')"
#define CALLER	 "ifnull(symbol, printf('0x%llx', rip))"

static const struct column each[] = {
	COUNT("event_id", "event", 8),
	TEXT(VCPU_SQL, "vcpu", 5),
	COUNT("fork_id", "fork", 5),
	TEXT("cause", "cause", 17),
	TEXT("detail", "detail", 15),
	TEXT("reach", "reach", 7),
	TEXT("CASE done WHEN 1 THEN '' ELSE 'avoided' END", "", 7),
	COUNT("cpus", "CPUs hit", 8),
	COUNT("ipis", "IPIs", 4),
	TIME("time"),
	HEX("ifnull(frame, CASE reach WHEN 'address' THEN va WHEN 'range' THEN va END)",
		"frame or va", 14),
	TEXT(CALLER, "caller", 0),
};

#define SUMS                                                                    \
	COUNT("sum(done)", "flushes", 8), COUNT("sum(1 - done)", "avoided", 8), \
		COUNT("sum(cpus)", "CPUs hit", 8), COUNT("sum(ipis)", "IPIs", 8), TIME("time")

static const struct column by_cause[] = {
	TEXT("cause", "cause", 17), TEXT("detail", "detail", 18), TEXT("reach", "reach", 7), SUMS};
static const struct column by_caller[] = {TEXT(CALLER, "caller", 40), SUMS};
static const struct column by_page[] = {
	HEX("frame", "frame", 12), TEXT("cause", "cause", 17), TEXT("detail", "detail", 18), SUMS};
static const struct column by_domain[] = {TEXT("ifnull('d' || domid, '?')", "domain", 7), SUMS};
static const struct column by_fork[] = {COUNT("fork_id", "fork", 6), SUMS};
static const struct column by_interrupted[] = {
	TEXT(VCPU_SQL, "vcpu", 8),
	TEXT("ifnull('d' || by_domid || 'v' || by_vcpu, '?')", "by", 8),
	TEXT("ifnull(cause, '?')", "cause", 17),
	COUNT("count(*)", "IPIs", 8),
	COUNT("count(fork_id)", "in forks", 8),
};

#define TABLE(name, from, group, columns)                                          \
	{                                                                          \
		name, from, group, columns, sizeof(columns) / sizeof((columns)[0]) \
	}
static const struct table each_flush = TABLE("", "tlb_flushes", NULL, each);
static const struct table tables[] = {
	TABLE("cause", "tlb_flushes", "cause, detail, reach", by_cause),
	TABLE("caller", "tlb_flushes", CALLER, by_caller),
	TABLE("page", "tlb_flushes", "frame, cause, detail", by_page),
	TABLE("domain", "tlb_flushes", "domid", by_domain),
	TABLE("fork", "tlb_flushes", "fork_id", by_fork),
	TABLE("interrupted", "flush_ipis", "domid, vcpu, by_domid, by_vcpu, cause", by_interrupted),
};

static const struct table *table_of(const struct flush_options *f)
{
	for (size_t i = 0; f->by && i < sizeof(tables) / sizeof(tables[0]); i++)
		if (!strcmp(tables[i].name, f->by))
			return &tables[i];
	return &each_flush;
}

/* SELECT list; times in us where the frequency is known, else in cycles. */
static void select_list(
	sqlite3_str *sql, const struct table *t, uint64_t hz, struct xf_column *columns)
{
	for (size_t i = 0; i < t->n; i++) {
		bool time = !strcmp(t->columns[i].sql, "TIME");
		const char *cycles = t->group ? "sum(cycles)" : "cycles";

		columns[i] = t->columns[i].column;
		if (i)
			sqlite3_str_appendall(sql, ", ");
		if (!time) {
			sqlite3_str_appendall(sql, t->columns[i].sql);
		} else if (hz) {
			columns[i].title = "us";
			sqlite3_str_appendf(sql, "%s * 1e6 / %llu", cycles, (unsigned long long)hz);
		} else {
			columns[i].title = "cycles";
			columns[i].type = XF_CELL_INT;
			sqlite3_str_appendall(sql, cycles);
		}
	}
}

static void where(sqlite3_str *sql, const struct xf_options *o, const struct xf_range *range)
{
	sqlite3_str_appendall(sql, " WHERE 1");
	if (o->domid >= 0)
		sqlite3_str_appendf(sql, " AND domid = %d", o->domid);
	if (o->vcpu >= 0)
		sqlite3_str_appendf(sql, " AND vcpu = %d", o->vcpu);
	if (o->fork >= 0)
		sqlite3_str_appendf(sql, " AND fork_id = %lld", (long long)o->fork);
	if (range->has_from)
		sqlite3_str_appendf(sql, " AND tsc >= %lld", (long long)range->from);
	if (range->has_to)
		sqlite3_str_appendf(sql, " AND tsc <= %lld", (long long)range->to);
}

static int print(sqlite3 *db, char *sql, const struct xf_column *columns, size_t n,
	enum xf_format format, struct xf_error *err)
{
	struct xf_out *out = NULL;
	sqlite3_stmt *stmt = NULL;
	int code = sql ? xf_db_prepare(db, &stmt, sql, err) : xf_fail_nomem(err), closed;

	if (!code)
		code = xf_out_new(&out, stdout, format, columns, n, err);
	if (!code)
		xf_out_header(out);
	while (!code && !xf_out_failed(out) && (code = xf_db_step(stmt, err)) == 1) {
		xf_out_row(out, stmt);
		code = 0;
	}
	closed = xf_out_close(out, err);
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return code ? code : closed;
}

/* None of these records: why that may be. */
static int tell_none(sqlite3 *db, struct xf_error *err)
{
	int64_t any = 0;
	int code = xf_db_int(db, "SELECT EXISTS (SELECT 1 FROM tlb_flushes)", &any, err);

	if (!code && !any)
		fputs("no flush is recorded: stock Xen records none; with the trace points of hypervisor/\n"
		      "in it, record the class pv with all its subclasses (-e pt,pv)\n",
			stderr);
	return code;
}

static int list(struct flush_options *f, struct xf_error *err)
{
	const struct table *t = table_of(f);
	const struct xf_options *o = &f->common;
	struct xf_column columns[MAX_COLUMNS];
	sqlite3_str *sql = sqlite3_str_new(NULL);
	struct xf_range range;
	uint64_t hz = 0;
	sqlite3 *db = NULL;
	int code = xf_open_for(&db, &f->common, err);

	if (!code)
		code = xf_capture_hz(db, o, &hz, err);
	if (!code)
		code = xf_time_range_of(db, o, hz, &range, NULL, err);
	if (!code) {
		sqlite3_str_appendall(sql, "SELECT ");
		select_list(sql, t, hz, columns);
		sqlite3_str_appendf(sql, " FROM %s", t->from);
		where(sql, o, &range);
		if (t->group)
			sqlite3_str_appendf(sql, " GROUP BY %s ORDER BY %s", t->group, t->group);
		else
			sqlite3_str_appendall(sql, " ORDER BY event_id");
		sqlite3_str_appendf(sql, " LIMIT %lld", (long long)o->limit);
	}
	if (code)
		sqlite3_free(sqlite3_str_finish(sql));
	else
		code = print(db, sqlite3_str_finish(sql), columns, t->n, o->format, err);
	if (!code && o->format == XF_FORMAT_TEXT)
		code = tell_none(db, err);
	sqlite3_close(db);
	return code;
}

static int run_flushes(struct xf_options *options, struct xf_error *err)
{
	struct flush_options *f = (struct flush_options *)options;
	int code = xf_need_args(options, 1, err);

	if (!code && (f->each || f->by) &&
		(options->sort || options->reverse || options->columns || options->min))
		code = xf_fail(err, XF_USAGE,
			"--sort, --reverse, --columns and --min are for the table by fork; xenfault sql has "
			"the view tlb_flushes");
	if (!code && f->each && f->by)
		code = xf_fail(err, XF_USAGE, "--each and --by: one of them");
	if (code)
		return code;
	return f->each || f->by ? list(f, err) : xf_list_flushes(options, err);
}

static const struct xf_option flush_options[] = {
	{"each", 0, NULL, "each flush, done or avoided, with its caller (needs trace points)",
		XF_FLAG(struct flush_options, each), NULL},
	{"by", 0, "WHAT", "sums of them by cause, caller, page, domain, fork, interrupted (vCPU)",
		XF_CHOICE(struct flush_options, by), "cause caller page domain fork interrupted"},
	XF_OPTS_ROWS,
	XF_OPTS_COLUMNS,
	XF_OPT_FORK,
	XF_OPT_CPU_HZ,
	{0},
};

const struct xf_command xf_cmd_flushes = {"flushes", "DB",
	"TLB flushes by mechanism, cause, reach and fork", flush_options,
	sizeof(struct flush_options), run_flushes};
