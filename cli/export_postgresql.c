// SPDX-License-Identifier: GPL-2.0-or-later
/* A stream for psql.  In: a capture or a fleet.  Out: schemas/postgresql.sql's tables by COPY. */
#include "cli/export_postgresql.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "common/escape.h"
#include "schemas/db.h"
#include "schemas/fleet.h"

#define MOST_COLUMNS 32

static void put_value(FILE *file, sqlite3_stmt *stmt, int column, bool is_unsigned)
{
	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_NULL:
		fputs("\\N", file);
		break;
	case SQLITE_INTEGER:
		if (is_unsigned)
			fprintf(file, "%" PRIu64, (uint64_t)sqlite3_column_int64(stmt, column));
		else
			fprintf(file, "%" PRId64, (int64_t)sqlite3_column_int64(stmt, column));
		break;
	default:
		xf_escape_to(file, XF_ESCAPE_COPY, xf_db_text(stmt, column));
	}
}

static int put_rows(FILE *file, sqlite3_stmt *stmt, const bool *is_unsigned, struct xf_error *err)
{
	int n = sqlite3_column_count(stmt), code;

	while ((code = xf_db_step(stmt, err)) == 1) {
		if (xf_stop_requested())
			return xf_fail(err, XF_INTERRUPTED, "interrupted");
		for (int i = 0; i < n; i++) {
			put_value(file, stmt, i, is_unsigned[i]);
			putc(i + 1 < n ? '\t' : '\n', file);
		}
		if (ferror(file))
			return xf_fail_errno(err, XF_IO, "cannot write the stream");
	}
	return code;
}

static int put_table(sqlite3 *db, const struct xf_table *table, FILE *file, struct xf_error *err)
{
	bool is_unsigned[MOST_COLUMNS];
	sqlite3_str *list = sqlite3_str_new(db);
	const char *rest = table->columns;
	sqlite3_stmt *stmt = NULL;
	char name[32], *columns, *sql;
	int n = 0, code;

	while (n < MOST_COLUMNS && xf_fleet_column(&rest, name, sizeof(name), &is_unsigned[n])) {
		sqlite3_str_appendf(list, "%s\"%w\"", n ? ", " : "", name);
		n++;
	}
	columns = sqlite3_str_finish(list);
	sql = columns ? sqlite3_mprintf("SELECT %s FROM %s ORDER BY 1", columns, table->name)
		      : NULL;
	code = sql ? xf_db_prepare(db, &stmt, sql, err) : xf_fail_nomem(err);
	if (!code) {
		fprintf(file, "COPY %s (%s) FROM stdin;\n", table->name, columns);
		code = put_rows(file, stmt, is_unsigned, err);
		fputs("\\.\n", file);
	}
	sqlite3_finalize(stmt);
	sqlite3_free(columns);
	sqlite3_free(sql);
	return code;
}

/* The host that the connection shows.  Without the COMMIT at its end a cut stream changes nothing. */
static int put_host(sqlite3 *db, const char *host, FILE *file, struct xf_error *err)
{
	const struct xf_table *table;
	int code = 0;

	if (!*host || strpbrk(host, "\n\r"))
		return xf_fail(
			err, XF_USAGE, "--host: a name has at least a letter and no line break");
	fputs("BEGIN;\nSET LOCAL standard_conforming_strings = on;\nSELECT xenfault_load(", file);
	xf_escape_to(file, XF_ESCAPE_SQL, host);
	fprintf(file, ", %d) \\g /dev/null\n", XF_SCHEMA_VERSION);
	for (size_t i = 0; (table = xf_fleet_table(i)) && !code; i++)
		code = put_table(db, table, file, err);
	if (!code)
		fputs("COMMIT;\n", file);
	return code;
}

/* "web1" of "/captures/web1.db" and of "/captures/fleet.db#web1". */
static char *name_of(const char *path)
{
	const char *host = strrchr(path, '#'), *base = strrchr(path, '/');
	size_t length;

	if (host && host[1])
		return strdup(host + 1);
	base = base ? base + 1 : path;
	length = strlen(base);
	if (length > 3 && !strcmp(base + length - 3, ".db"))
		length -= 3;
	return strndup(base, length);
}

static int put_fleet(sqlite3 *db, const char *only, FILE *file, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int code = xf_db_prepare(db, &stmt,
		"SELECT host FROM main.host WHERE ?1 IS NULL OR host = ?1 ORDER BY host", err);
	bool any = false;

	if (!code)
		sqlite3_bind_text(stmt, 1, only, -1, SQLITE_STATIC);
	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		char *host = strdup(xf_db_text(stmt, 0));

		any = true;
		code = host ? xf_fleet_show(db, host, err) : xf_fail_nomem(err);
		if (!code)
			code = put_host(db, host, file, err);
		free(host);
	}
	sqlite3_finalize(stmt);
	if (!code && !any && only)
		code = xf_fail(err, XF_USAGE, "the fleet has no host %s", only);
	return code;
}

int xf_export_postgresql(
	sqlite3 *db, const char *path, const char *host, FILE *file, struct xf_error *err)
{
	bool fleet = false, shown = strchr(path, '#') != NULL;
	char *name;
	int code = xf_fleet_is(db, &fleet, err);

	if (code)
		return code;
	fputs("\\set ON_ERROR_STOP on\n\\set QUIET on\nSET client_encoding = 'UTF8';\n", file);
	if (fleet && !shown)
		return put_fleet(db, host, file, err);
	name = host ? strdup(host) : name_of(path);
	code = name ? put_host(db, name, file, err) : xf_fail_nomem(err);
	free(name);
	return code;
}
