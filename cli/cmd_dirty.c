// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault dirty: the pages that log-dirty mode found dirtied, and in how many rounds.
 * In: DB, filters.  Out: the view dirty; in text the working set by number of rounds before it.
 */
#include <stdint.h>
#include <stdio.h>

#include "cli/cli.h"
#include "schemas/db.h"

struct dirty_options {
	struct xf_options common;
	int64_t episode;    /* 0 = all */
	int64_t min_rounds; /* only pages dirtied in so many */
};

#define WHERE                                   \
	" WHERE (:domid < 0 OR domid = :domid)" \
	" AND (:episode = 0 OR episode_id = :episode) AND rounds >= :min"
#define ORDER " ORDER BY episode_id, rounds DESC, gfn LIMIT :limit"

static const struct xf_column full[] = {
	{"episode_id", NULL, 0, XF_CELL_INT},
	{"domid", NULL, 0, XF_CELL_INT},
	{"gfn", NULL, 0, XF_CELL_INT},
	{"rounds", NULL, 0, XF_CELL_INT},
	{"first_round", NULL, 0, XF_CELL_INT},
	{"last_round", NULL, 0, XF_CELL_INT},
	{"rip", NULL, 0, XF_CELL_HEX},
	{"symbol", NULL, 0, XF_CELL_TEXT},
	{"user", NULL, 0, XF_CELL_INT},
	{"split", NULL, 0, XF_CELL_INT},
};

static const struct xf_column set[] = {
	{"episode", NULL, 7, XF_CELL_INT},
	{"dom", NULL, 5, XF_CELL_TEXT},
	{"rounds", NULL, 6, XF_CELL_INT},
	{"pages", NULL, 9, XF_CELL_INT},
	{"MiB", NULL, 9, XF_CELL_REAL},
	{"user", "by user mode", 12, XF_CELL_INT},
};

static const struct xf_column text[] = {
	{"episode", NULL, 7, XF_CELL_INT},
	{"dom", NULL, 5, XF_CELL_TEXT},
	{"gfn", NULL, 10, XF_CELL_HEX},
	{"rounds", NULL, 6, XF_CELL_INT},
	{"first", NULL, 5, XF_CELL_INT},
	{"last", NULL, 5, XF_CELL_INT},
	{"by", "first written by", 32, XF_CELL_TEXT},
};

#define N(columns) (sizeof(columns) / sizeof((columns)[0]))

static void bind(sqlite3_stmt *stmt, const struct dirty_options *o)
{
	const struct {
		const char *name;
		int64_t value;
	} values[] = {{":domid", o->common.domid}, {":episode", o->episode},
		{":min", o->min_rounds}, {":limit", o->common.limit}};

	for (size_t i = 0; i < N(values); i++) {
		int at = sqlite3_bind_parameter_index(stmt, values[i].name);

		if (at)
			sqlite3_bind_int64(stmt, at, values[i].value);
	}
}

static int print(sqlite3 *db, const char *sql, const struct dirty_options *o,
	const struct xf_column *columns, size_t n, size_t *rows, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(db, &stmt, sql, err);

	if (code)
		return code;
	bind(stmt, o);
	return xf_print_rows(stmt, columns, n, o->common.format, NULL, rows, err);
}

static int print_all(sqlite3 *db, const struct dirty_options *o, struct xf_error *err)
{
	size_t rows;
	int code;

	if (o->common.format != XF_FORMAT_TEXT)
		return print(db,
			"SELECT episode_id, domid, gfn, rounds, first_round, last_round, rip, symbol,"
			" user, split FROM dirty" WHERE ORDER,
			o, full, N(full), &rows, err);
	code = print(db,
		"SELECT episode_id, ifnull('d' || domid, '?'), rounds, count(*),"
		" count(*) * 4096 / 1048576.0, sum(user) FROM dirty" WHERE
		" GROUP BY episode_id, domid, rounds ORDER BY episode_id, rounds DESC",
		o, set, N(set), &rows, err);
	if (!code && !rows)
		return xf_tell_hap(db, XF_HAP_EPISODES, err);
	puts("");
	if (!code)
		code = print(db,
			"SELECT episode_id, ifnull('d' || domid, '?'), gfn, rounds, first_round,"
			" last_round, ifnull(symbol, printf('0x%llx', rip))"
			" || CASE user WHEN 1 THEN ' (user)' ELSE '' END FROM dirty" WHERE ORDER,
			o, text, N(text), &rows, err);
	return code ? code : xf_print_doubts(db, err);
}

static int run_dirty(struct xf_options *options, struct xf_error *err)
{
	const struct dirty_options *o = (const struct dirty_options *)options;
	sqlite3 *db = NULL;
	int code = xf_need_args(options, 1, err);

	if (!code && options->vcpu >= 0)
		code = xf_fail(err, XF_USAGE, "--domain: an episode is of a whole domain dN");
	if (!code)
		code = xf_open_for(&db, options, err);
	if (!code)
		code = print_all(db, o, err);
	sqlite3_close(db);
	return code;
}

static int set_count(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	int64_t *count = field;

	*count = xf_whole_number(value, INT32_MAX);
	return *count < 1
		       ? xf_fail(err, XF_USAGE, "--%s %s: not a number from 1", option->name, value)
		       : 0;
}

static const struct xf_option dirty_options[] = {
	XF_OPT_FORMAT,
	XF_OPT_DOMAIN,
	XF_OPT_LIMIT,
	{"episode", 0, "N", "only those of episode N",
		XF_FIELD(set_count, struct dirty_options, episode, int64_t), NULL},
	{"min-rounds", 0, "N", "only pages dirtied in N rounds or more",
		XF_FIELD(set_count, struct dirty_options, min_rounds, int64_t), NULL},
	{0},
};

const struct xf_command xf_cmd_dirty = {"dirty", "DB", "pages dirtied in log-dirty mode, by rounds",
	dirty_options, sizeof(struct dirty_options), run_dirty};
