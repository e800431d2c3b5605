// SPDX-License-Identifier: GPL-2.0-or-later
/* SQLite with this project's errors.  In: SQL.  Out: rows, struct xf_error. */
#include "schemas/db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/fleet.h"

int xf_db_fail(sqlite3 *db, const char *what, struct xf_error *err)
{
	int code = sqlite3_extended_errcode(db), sys = sqlite3_system_errno(db);

	if ((code & 0xff) == SQLITE_INTERRUPT)
		return xf_fail(err, XF_INTERRUPTED, "interrupted");
	if ((code & 0xff) == SQLITE_FULL)
		return xf_fail(
			err, XF_IO, "no space is left on the disk of the database (%s)", what);
	if ((code & 0xff) == SQLITE_IOERR) {
		errno = sys;
		if (sys)
			return xf_fail_errno(err, XF_IO, "%s: %s", what, sqlite3_errmsg(db));
		return xf_fail(err, XF_IO,
			"%s: %s; is the disk full, or the file over a limit (ulimit -f)?", what,
			sqlite3_errmsg(db));
	}
	if ((code & 0xff) == SQLITE_NOTADB)
		return xf_fail(err, XF_FORMAT, "%s: not a SQLite database", what);
	if ((code & 0xff) == SQLITE_NOMEM)
		return xf_fail_nomem(err);
	return xf_fail(err, XF_DB, "%s: %s", what, sqlite3_errmsg(db));
}

/* The first words of a statement, enough to find it. */
static const char *brief(const char *sql, char *text, size_t size)
{
	size_t n = 0;

	while (*sql == ' ' || *sql == '\n' || *sql == '\t')
		sql++;
	for (; sql[n] && sql[n] != '\n' && n < size - 1; n++)
		text[n] = sql[n];
	text[n] = '\0';
	return text;
}

int xf_db_exec(sqlite3 *db, const char *sql, struct xf_error *err)
{
	char text[60];

	if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return xf_db_fail(db, brief(sql, text, sizeof(text)), err);
}

int xf_db_prepare(sqlite3 *db, sqlite3_stmt **stmt, const char *sql, struct xf_error *err)
{
	char text[60];

	if (sqlite3_prepare_v2(db, sql, -1, stmt, NULL) == SQLITE_OK)
		return 0;
	return xf_db_fail(db, brief(sql, text, sizeof(text)), err);
}

int xf_db_step(sqlite3_stmt *stmt, struct xf_error *err)
{
	int code = sqlite3_step(stmt);
	char text[60];

	if (code == SQLITE_ROW)
		return 1;
	if (code == SQLITE_DONE)
		return 0;
	return xf_db_fail(
		sqlite3_db_handle(stmt), brief(sqlite3_sql(stmt), text, sizeof(text)), err);
}

int xf_db_int(sqlite3 *db, const char *sql, int64_t *value, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(db, &stmt, sql, err);

	if (code)
		return code;
	code = xf_db_step(stmt, err);
	if (code == 1) {
		*value = sqlite3_column_int64(stmt, 0);
		code = 0;
	} else if (code == 0) {
		code = xf_fail(err, XF_DB, "no row from: %s", sql);
	}
	sqlite3_finalize(stmt);
	return code;
}

static int check_id(int64_t id, bool fleet, const char *path, int64_t tables, struct xf_error *err)
{
	if (id == (fleet ? XF_FLEET_ID : XF_APPLICATION_ID))
		return 0;
	if (id == XF_FLEET_ID)
		return xf_fail(err, XF_FORMAT,
			"%s: a fleet of several hosts; name one as '%s#HOST', or ask all by xenfault sql",
			path, path);
	return xf_fail(err, XF_FORMAT, "%s: %s; xenfault %s", path,
		id == XF_APPLICATION_ID ? "a single capture, not a fleet"
		: tables		? "a SQLite database of another program"
					: "an empty database",
		fleet ? "merge makes a fleet of captures" : "import makes one from a trace file");
}

static int check_version(sqlite3 *db, const char *path, bool fleet, struct xf_error *err)
{
	int64_t id, version, tables;
	int code;

	if ((code = xf_db_int(db, "PRAGMA application_id", &id, err)) ||
		(code = xf_db_int(db, "PRAGMA user_version", &version, err)) ||
		(code = xf_db_int(db, "SELECT count(*) FROM sqlite_schema", &tables, err)) ||
		(code = check_id(id, fleet, path, tables, err)))
		return code;
	if (version > XF_SCHEMA_VERSION)
		return xf_fail(err, XF_FORMAT,
			"%s: written by a newer xenfault (schema %lld, this one knows %d); upgrade xenfault",
			path, (long long)version, XF_SCHEMA_VERSION);
	if (version < XF_SCHEMA_VERSION)
		return xf_fail(err, XF_FORMAT,
			"%s: written by an older xenfault (schema %lld, this one needs %d); "
			"import the trace again",
			path, (long long)version, XF_SCHEMA_VERSION);
	return 0;
}

static int open_as(sqlite3 **db, const char *path, int read_only, bool fleet, struct xf_error *err)
{
	int code;

	*db = NULL;
	if (access(path, R_OK) && errno == EACCES)
		return xf_fail(err, XF_IO,
			"cannot read %s: Permission denied; its owner can, or root: sudo cat it into a file of yours",
			path);
	if (access(path, R_OK))
		return xf_fail_errno(err, XF_IO, "cannot read %s", path);
	if (sqlite3_open_v2(path, db, read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE,
		    NULL) != SQLITE_OK) {
		code = *db ? xf_db_fail(*db, path, err) : xf_fail_nomem(err);
		goto fail;
	}
	sqlite3_busy_timeout(*db, 10000);
	code = check_version(*db, path, fleet, err);
	if (!code)
		return 0;
	if (err && err->code == XF_FORMAT && strstr(err->text, "not a SQLite")) {
		xf_error_clear(err);
		code = xf_fail(err, XF_FORMAT,
			"%s: not a xenfault database; if it is a trace, make one with: xenfault import %s",
			path, path);
	}
fail:
	sqlite3_close(*db);
	*db = NULL;
	return code;
}

int xf_db_open_fleet(sqlite3 **db, const char *path, int read_only, struct xf_error *err)
{
	return open_as(db, path, read_only, true, err);
}

static int open_host(
	sqlite3 **db, const char *path, const char *mark, int read_only, struct xf_error *err)
{
	char *fleet = strndup(path, (size_t)(mark - path));
	int code;

	if (!fleet)
		return xf_fail_nomem(err);
	if (!read_only)
		code = xf_fail(err, XF_USAGE,
			"%s: a host of a fleet is only read; change its own database and merge again",
			path);
	else
		code = open_as(db, fleet, 1, true, err);
	if (!code && (code = xf_fleet_show(*db, mark + 1, err))) {
		sqlite3_close(*db);
		*db = NULL;
	}
	free(fleet);
	return code;
}

int xf_db_open(sqlite3 **db, const char *path, int read_only, struct xf_error *err)
{
	const char *mark = strrchr(path, '#');

	*db = NULL;
	if (mark && access(path, F_OK))
		return open_host(db, path, mark, read_only, err);
	return open_as(db, path, read_only, false, err);
}

bool xf_db_is_fleet(const char *path)
{
	unsigned char head[72];
	struct stat st;
	FILE *file;
	size_t n;

	/* do not take bytes out of a pipe */
	if (stat(path, &st) || !S_ISREG(st.st_mode) || !(file = fopen(path, "rb")))
		return false;
	n = fread(head, 1, sizeof(head), file);
	fclose(file);
	/* application_id stands at 68, most significant byte first */
	return n == sizeof(head) && !memcmp(head, "SQLite format 3", 16) &&
	       ((unsigned)head[68] << 24 | head[69] << 16 | head[70] << 8 | head[71]) ==
		       XF_FLEET_ID;
}
