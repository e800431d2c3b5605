// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault sql: one statement over a database, or straight over a trace file.
 * In: DB or FILE, SQL.  Out: a table on stdout.  Nothing is changed without --write.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/symbolize.h"
#include "common/filelock.h"
#include "collector/store/functions.h"
#include "collector/store/vtab.h"
#include "schemas/db.h"
#include "common/suggest.h"

#define MEASURED 200 /* rows looked at to find the widths of a text table */

struct sql_options {
	struct xf_options common;
	bool write;
};

/* Pragmas that only tell; with a value none of them may be set. */
static bool may_tell(const char *pragma, const char *value)
{
	static const char *const plain[] = {"application_id", "cache_size", "data_version",
		"encoding", "freelist_count", "journal_mode", "page_count", "page_size",
		"schema_version", "user_version"},
				 *const of_something[] = {"collation_list", "compile_options",
					 "database_list", "foreign_key_check", "foreign_key_list",
					 "function_list", "index_info", "index_list", "index_xinfo",
					 "integrity_check", "module_list", "pragma_list",
					 "quick_check", "table_info", "table_list", "table_xinfo"};

	for (size_t i = 0; i < sizeof(of_something) / sizeof(of_something[0]); i++)
		if (!strcasecmp(pragma, of_something[i]))
			return true;
	for (size_t i = 0; !value && i < sizeof(plain) / sizeof(plain[0]); i++)
		if (!strcasecmp(pragma, plain[i]))
			return true;
	return false;
}

/* What a statement may do: read; with --write change rows, tables and views.  Never reach other files. */
static int authorize(void *data, int action, const char *one, const char *two, const char *database,
	const char *inner)
{
	const struct sql_options *o = data;

	(void)database, (void)inner;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return two && !strcasecmp(two, "load_extension") ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_PRAGMA:
		return may_tell(one, two) ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_UPDATE:
		/* SQLite asks this when a table-valued function declares its columns; the schema itself
		   cannot be written */
		return o->write || !strcmp(one, "sqlite_master") ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_ATTACH:
	case SQLITE_DETACH:
	case SQLITE_CREATE_VTABLE:
	case SQLITE_DROP_VTABLE:
		return SQLITE_DENY;
	}
	return o->write ? SQLITE_OK : SQLITE_DENY;
}

static int stop(void *data)
{
	(void)data;
	return xf_stop_requested();
}

/* Over a trace: xentrace (a function of the path, or without one this file) and the view events. */
static int open_trace(sqlite3 **db, struct xf_vtab *vtab, const char *path, struct xf_error *err)
{
	int code;

	if (sqlite3_open(":memory:", db) != SQLITE_OK)
		return xf_fail_nomem(err);
	vtab->path = path;
	vtab->in_views = true;
	code = xf_vtab_register(*db, vtab, err);
	if (!code)
		code = xf_db_exec(*db, "CREATE TEMP VIEW events AS SELECT * FROM xentrace", err);
	return code;
}

/* The first rows, kept: a trace in a pipe cannot be asked for them twice. */
struct sample {
	int nrows;
	sqlite3_value **values; /* row by row */
};

/* Reads the first rows and finds the column widths and types from them. */
static int measure(sqlite3_stmt *stmt, struct sample *sample, struct xf_column *columns, int n,
	int64_t limit, struct xf_error *err)
{
	int code = 1, most = limit >= 0 && limit < MEASURED ? (int)limit : MEASURED;

	sample->values = calloc((size_t)most * (size_t)n + 1, sizeof(sqlite3_value *));
	if (!sample->values)
		return xf_fail_nomem(err);
	while (sample->nrows < most && (code = xf_db_step(stmt, err)) == 1) {
		sqlite3_value **row = sample->values + (size_t)sample->nrows++ * (size_t)n;

		for (int i = 0; i < n; i++) {
			int type = sqlite3_column_type(stmt, i), width;

			row[i] = sqlite3_value_dup(sqlite3_column_value(stmt, i));
			if (!row[i])
				return xf_fail_nomem(err);
			width = sqlite3_column_bytes(stmt, i);
			if (type == SQLITE_INTEGER && columns[i].type == XF_CELL_HEX)
				width = 18;
			if (type == SQLITE_TEXT)
				columns[i].type = XF_CELL_TEXT;
			if (width > columns[i].width)
				columns[i].width = width < 40 ? width : 40;
		}
	}
	return code;
}

static void print_sample(struct xf_out *out, const struct sample *sample, int n)
{
	for (int i = 0; i < sample->nrows * n; i++)
		xf_out_value(out, sample->values[i]);
}

static void free_sample(struct sample *sample, int n)
{
	for (int i = 0; sample->values && i < sample->nrows * n; i++)
		sqlite3_value_free(sample->values[i]);
	free(sample->values);
}

static int print(sqlite3_stmt *stmt, const struct xf_options *o, struct xf_error *err)
{
	int n = sqlite3_column_count(stmt), code = 1, closed;
	struct xf_column *columns = calloc((size_t)n + 1, sizeof(*columns));
	struct sample sample = {0};
	struct xf_out *out = NULL;
	int64_t left;

	if (!columns)
		return xf_fail_nomem(err);
	for (int i = 0; i < n; i++) {
		const char *name = sqlite3_column_name(stmt, i);

		columns[i] =
			(struct xf_column){name, NULL, (int)strlen(name), xf_cell_type_of(name)};
	}
	if (o->format == XF_FORMAT_TEXT)
		code = measure(stmt, &sample, columns, n, o->limit, err);
	left = o->limit < 0 ? -1 : o->limit - sample.nrows;
	if (code >= 0 && (closed = xf_out_new(&out, stdout, o->format, columns, (size_t)n, err)))
		code = closed;
	if (code >= 0 && n)
		xf_out_header(out);
	if (code >= 0)
		print_sample(out, &sample, n);
	/* code 1: there may be more rows */
	while (code == 1 && left && !xf_out_failed(out) && (code = xf_db_step(stmt, err)) == 1) {
		xf_out_row(out, stmt);
		left -= left > 0;
	}
	closed = xf_out_close(out, err);
	free_sample(&sample, n);
	free(columns);
	return code < 0 ? code : closed;
}

/* "no such column: x" of SQLite: which of those that there are could be meant? */
static int bad_sql(sqlite3 *db, struct xf_error *err)
{
	static const char tables[] =
		"SELECT name FROM pragma_table_list WHERE type IN ('view', 'virtual')";
	static const char columns[] =
		"SELECT p.name FROM pragma_table_list l JOIN pragma_table_info(l.name) p"
		" WHERE l.type = 'view' AND l.name NOT LIKE 'sqlite%'";
	struct xf_suggest suggest;
	sqlite3_stmt *stmt = NULL;
	char text[512];
	const char *word;

	snprintf(text, sizeof(text), "%s", sqlite3_errmsg(db));
	word = strstr(text, "no such ") ? strrchr(text, ' ') : NULL;
	if (!word)
		return xf_fail(err, XF_USAGE, "SQL: %s", text);
	word = strrchr(word, '.') ? strrchr(word, '.') + 1 : word + 1;
	suggest = xf_suggest_for(word);
	if (sqlite3_prepare_v2(db, strstr(text, "no such table") ? tables : columns, -1, &stmt,
		    NULL) == SQLITE_OK)
		while (sqlite3_step(stmt) == SQLITE_ROW)
			xf_suggest_offer(&suggest, xf_db_text(stmt, 0));
	sqlite3_finalize(stmt);
	return xf_fail(err, XF_USAGE, "SQL: %s%s; xenfault-db(5) tells the views and their columns",
		text, xf_suggest_text(&suggest));
}

/* One statement and nothing behind it. */
static int prepare(
	sqlite3 *db, sqlite3_stmt **stmt, const char *sql, bool write, struct xf_error *err)
{
	sqlite3_stmt *second = NULL;
	const char *rest;
	int code;

	code = sqlite3_prepare_v2(db, sql, -1, stmt, &rest);
	if (code == SQLITE_AUTH)
		return xf_fail(err, XF_USAGE,
			"SQL: the statement does more than it may: xenfault sql reads, changes rows, "
			"tables and views with --write, and never reaches other files (%s)",
			sqlite3_errmsg(db));
	if (code != SQLITE_OK)
		return bad_sql(db, err);
	if (!*stmt)
		return xf_fail(err, XF_USAGE, "SQL: the statement is empty");
	if (!write && !sqlite3_stmt_readonly(*stmt))
		return xf_fail(err, XF_USAGE,
			"SQL: the statement changes the database; xenfault sql only reads without "
			"--write");
	code = sqlite3_prepare_v2(db, rest, -1, &second, NULL);
	sqlite3_finalize(second);
	if (code != SQLITE_OK || second)
		return xf_fail(err, XF_USAGE, "SQL: one statement at a time");
	return 0;
}

static int open_database(
	sqlite3 **db, const char *path, bool write, int *lock, struct xf_error *err)
{
	int code = xf_db_is_fleet(path) ? xf_db_open_fleet(db, path, !write, err)
					: xf_db_open(db, path, !write, err);

	if (!code && write)
		code = xf_filelock_claim(path, XF_WRITER_ANALYZE, lock, err);
	return code;
}

static int run_sql(struct xf_options *options, struct xf_error *err)
{
	const struct sql_options *o = (const struct sql_options *)options;
	struct xf_vtab vtab = {.stop = stop, .cpu_hz = options->cpu_hz};
	struct xf_namer *namer = NULL;
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int lock = -1, code = xf_need_args(options, 2, err);

	if (!code && xf_is_database(options->args[0])) {
		code = open_database(&db, options->args[0], o->write, &lock, err);
		if (!code)
			code = xf_vtab_register(db, &vtab, err);
	} else if (!code) {
		code = open_trace(&db, &vtab, options->args[0], err);
	}
	if (db) {
		xf_interruptible(db);
		sqlite3_set_authorizer(db, authorize, (void *)(uintptr_t)o);
	}
	if (!code && xf_functions_register(db) != SQLITE_OK)
		code = xf_db_fail(db, "functions", err);
	if (!code && options->nsymbols) {
		code = xf_namer_new(&namer, options, err);
		vtab.symbol = xf_namer_find;
		vtab.symbol_data = namer;
	}
	if (!code)
		code = prepare(db, &stmt, options->args[1], o->write, err);
	if (!code)
		code = print(stmt, options, err);
	/* a failure inside xentrace() has its own code */
	if (code && vtab.err.code) {
		*err = vtab.err;
		code = -(int)err->code;
	}
	if (!code && xf_stop_requested())
		code = xf_fail(err, XF_INTERRUPTED, "interrupted");
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	if (lock >= 0)
		close(lock);
	xf_namer_free(namer);
	return code;
}

static const struct xf_option sql_option_list[] = {
	XF_OPT_FORMAT,
	XF_OPT_LIMIT,
	XF_OPTS_SYMBOLS,
	XF_OPT_CPU_HZ,
	{"write", 0, NULL, "the statement may change rows, tables and views",
		XF_FLAG(struct sql_options, write), NULL},
	{0},
};

const struct xf_command xf_cmd_sql = {"sql", "DB|FILE 'SELECT ...'",
	"SQL over a database or a trace file", sql_option_list, sizeof(struct sql_options),
	run_sql};
