/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SQLite with this project's errors.
 * In: SQL.  Out: rows through sqlite3_stmt, failures that name the statement.
 */
#ifndef XF_SCHEMAS_DB_H
#define XF_SCHEMAS_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

/* "XFLT": PRAGMA application_id of every database of ours. */
#define XF_APPLICATION_ID 0x58464c54
/* PRAGMA user_version: the schema in schemas/. */
#define XF_SCHEMA_VERSION 3

/* How to open a database: by one thread only, as everything here does, so that no call takes a lock. */
#define XF_DB_READONLY	(SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX)
#define XF_DB_READWRITE (SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX)

/* Runs statements that return nothing. */
int xf_db_exec(sqlite3 *db, const char *sql, struct xf_error *err);

/* Prepares one statement; the caller finalizes it. */
int xf_db_prepare(sqlite3 *db, sqlite3_stmt **stmt, const char *sql, struct xf_error *err);

/* Steps: 1 = a row, 0 = done, negative = failure. */
int xf_db_step(sqlite3_stmt *stmt, struct xf_error *err);

/* Text of the current row: "" where it is NULL or there is no memory; valid until the next step. */
const char *xf_db_text(sqlite3_stmt *stmt, int column);

/* The same with something else in its place. */
const char *xf_db_text_or(sqlite3_stmt *stmt, int column, const char *instead);

/* First column of the first row as an integer; fails if there is no row. */
int xf_db_int(sqlite3 *db, const char *sql, int64_t *value, struct xf_error *err);

/*
 * Opens an existing database of ours.  read_only: no write access is asked for.
 * FLEET#HOST is one host of a fleet, shown as if it were a database of its own.
 * Refused by name: no such file, not SQLite, another program's, an older or newer version.
 */
int xf_db_open(sqlite3 **db, const char *path, int read_only, struct xf_error *err);

/* The same for a fleet: the captures of many hosts in one database. */
int xf_db_open_fleet(sqlite3 **db, const char *path, int read_only, struct xf_error *err);

/* Is the file at path a fleet?  False also for what cannot be read. */
bool xf_db_is_fleet(const char *path);

/* Fills err from the last failure of db. */
int xf_db_fail(sqlite3 *db, const char *what, struct xf_error *err);

#endif
