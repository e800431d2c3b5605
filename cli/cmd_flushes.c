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

static const struct column each[] = {
	COUNT("event_id", "event", 8),
	TEXT(XF_VCPU_SQL, "vcpu", 5),
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
	TEXT(XF_INSTRUCTION_SQL, "caller", 0),
};

#define SUMS                                                                    \
	COUNT("sum(done)", "flushes", 8), COUNT("sum(1 - done)", "avoided", 8), \
		COUNT("sum(cpus)", "CPUs hit", 8), COUNT("sum(ipis)", "IPIs", 8), TIME("time")

static const struct column by_cause[] = {
	TEXT("cause", "cause", 17), TEXT("detail", "detail", 18), TEXT("reach", "reach", 7), SUMS};
static const struct column by_caller[] = {TEXT(XF_INSTRUCTION_SQL, "caller", 40), SUMS};
static const struct column by_page[] = {
	HEX("frame", "frame", 12), TEXT("cause", "cause", 17), TEXT("detail", "detail", 18), SUMS};
static const struct column by_domain[] = {TEXT("ifnull('d' || domid, '?')", "domain", 7), SUMS};
static const struct column by_fork[] = {COUNT("fork_id", "fork", 6), SUMS};
static const struct column by_interrupted[] = {
	TEXT(XF_VCPU_SQL, "vcpu", 8),
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
	TABLE("caller", "tlb_flushes", XF_INSTRUCTION_SQL, by_caller),
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
		sqlite3_str_appendall(sql, " WHERE 1");
		xf_append_filters(sql, o, &range, "tsc", "tsc");
		if (t->group)
			sqlite3_str_appendf(sql, " GROUP BY %s ORDER BY %s", t->group, t->group);
		else
			sqlite3_str_appendall(sql, " ORDER BY event_id");
		sqlite3_str_appendf(sql, " LIMIT %lld", (long long)o->limit);
	}
	if (code)
		sqlite3_free(sqlite3_str_finish(sql));
	else
		code = xf_print_query(db, sqlite3_str_finish(sql), columns, t->n, o->format, err);
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
