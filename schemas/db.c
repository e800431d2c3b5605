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

/* The file of a connection, for a message. */
static const char *name_of(sqlite3 *db)
{
	const char *path = sqlite3_db_filename(db, NULL);

	return path && *path ? path : "the database";
}

/* Failures whose cause lies outside the statement, and what helps. */
static const struct cause {
	int code; /* of SQLite: an extended one, or a plain one that stands for all its kinds */
	enum xf_code ours;
	const char *text;
} causes[] = {
	{SQLITE_READONLY_ROLLBACK, XF_DB,
		"a change of it was interrupted and must be taken back first (its -journal): "
		"xenfault analyze does that"},
	{SQLITE_READONLY_DBMOVED, XF_GONE, "it was removed or replaced"},
	{SQLITE_READONLY_CANTINIT, XF_IO,
		"it is in use, or was when its writer was killed (its -wal), and that needs the "
		"right to write in its folder: copy it with its -wal to a folder of yours"},
	{SQLITE_READONLY_RECOVERY, XF_IO,
		"its writer was killed (its -wal), and that needs the right to write it: copy it "
		"with its -wal to a folder of yours"},
	{SQLITE_READONLY_DIRECTORY, XF_IO, "its folder may not be written"},
	{SQLITE_READONLY, XF_IO,
		"it may not be written: see its permissions, and those of its folder"},
	{SQLITE_BUSY_RECOVERY, XF_BUSY, "another process repairs it just now: try again"},
	{SQLITE_BUSY, XF_BUSY,
		"another process writes it, or has been reading it for long, and holds it: try "
		"again when that has ended"},
	{SQLITE_LOCKED, XF_BUSY, "it is in use by this process already: name it once"},
	{SQLITE_PROTOCOL, XF_BUSY, "other processes hold it all the time: try again"},
	{SQLITE_CORRUPT, XF_DB, "it is damaged, or its disk has errors: import the trace again"},
	{SQLITE_AUTH, XF_USAGE, "the statement does more than it may: it reaches other files"},
	{SQLITE_PERM, XF_IO, "it may not be accessed"},
	{SQLITE_TOOBIG, XF_DB, "it holds a text or a statement that is too large for xenfault"},
	{SQLITE_SCHEMA, XF_DB, "its tables were changed meanwhile: try again"},
};

/* What SQLite says, without the names of tables: "integer overflow", "UNIQUE constraint failed". */
static const char *cause_of(const char *message, char *text, size_t size)
{
	snprintf(text, size, "%.*s", (int)strcspn(message, ":"), message);
	return text;
}

int xf_db_fail(sqlite3 *db, const char *what, struct xf_error *err)
{
	int code = sqlite3_extended_errcode(db), sys = sqlite3_system_errno(db);
	char text[60];

	if ((code & 0xff) == SQLITE_INTERRUPT)
		return xf_fail(err, XF_INTERRUPTED, "interrupted");
	if ((code & 0xff) == SQLITE_FULL)
		return xf_fail(err, XF_IO, "%s: no space is left on its disk", name_of(db));
	if ((code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN) {
		errno = sys;
		if (sys)
			return xf_fail_errno(
				err, XF_IO, "%s cannot be read or written", name_of(db));
		return xf_fail(err, XF_IO,
			"%s cannot be read or written (%s); is the disk full, the file over a limit "
			"(ulimit -f), or its folder closed to you?",
			name_of(db), sqlite3_errmsg(db));
	}
	if ((code & 0xff) == SQLITE_NOTADB)
		return xf_fail(err, XF_FORMAT, "%s: not a SQLite database", name_of(db));
	if ((code & 0xff) == SQLITE_NOMEM)
		return xf_fail_nomem(err);
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (code == causes[i].code || (code & 0xff) == causes[i].code)
			return xf_fail(err, causes[i].ours, "%s: %s", name_of(db), causes[i].text);
	/* of our statements on our tables: a sum that overflows, rows that exclude each other */
	if ((code & 0xff) == SQLITE_ERROR || (code & 0xff) == SQLITE_CONSTRAINT ||
		(code & 0xff) == SQLITE_MISMATCH)
		return xf_fail(err, XF_DB,
			"%s: it holds values that no capture has (%s): another program has changed it, or "
			"it is damaged; import the trace again",
			name_of(db), cause_of(sqlite3_errmsg(db), text, sizeof(text)));
	return xf_fail(err, XF_DB, "%s: %s (%s)", name_of(db), sqlite3_errmsg(db), what);
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

const char *xf_db_text_or(sqlite3_stmt *stmt, int column, const char *instead)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? text : instead;
}

const char *xf_db_text(sqlite3_stmt *stmt, int column)
{
	return xf_db_text_or(stmt, column, "");
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
