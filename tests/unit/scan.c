// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of schemas/scan.c: rows decoded from the pages against those of a SELECT.
 * In: tables made here.  Out: "ok NAME" or "FAIL NAME: why"; status 1 if one failed.
 */
#include "schemas/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failed;
static char path[] = "/tmp/xenfault-scan.XXXXXX";

static void report(const char *name, const char *why)
{
	failed += why != NULL;
	if (why)
		printf("FAIL scan: %s: %s\n", name, why);
	else
		printf("ok scan: %s\n", name);
}

/* Each width and sign in turn, holes in the ids and NULLs. */
#define ROWS                                                                            \
	"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"  \
	" INSERT INTO t SELECT CASE i %% 5 WHEN 0 THEN NULL ELSE i * 7919 - 40000 END," \
	" (1 << (i %% 63)) - (i %% 3), i %% 2, i * 3 - 1000 FROM n"

static sqlite3 *make(int page_size, int rows, const char *more)
{
	char sql[800];
	sqlite3 *db;

	unlink(path);
	snprintf(sql, sizeof(sql),
		"PRAGMA page_size = %d; CREATE TABLE t (a, b, c, event_id INTEGER PRIMARY KEY);" ROWS
		";%s",
		page_size, rows, more);
	if (sqlite3_open(path, &db) != SQLITE_OK ||
		sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
		printf("FAIL scan: %s\n", sqlite3_errmsg(db));
		exit(1);
	}
	return db;
}

/* The rows of a scan against those of a SELECT; NULL = the same. */
static const char *compare(sqlite3 *db, int64_t from, int64_t to, bool clean)
{
	static struct xf_error err;
	struct xf_scan *scan;
	int64_t id, values[4];
	sqlite3_stmt *stmt;
	uint64_t present;
	const char *why = NULL;
	int code;

	xf_error_clear(&err);
	if (xf_scan_open(&scan, db, "t", "a, b, c, event_id", 4, from, to, clean, &err))
		return err.text;
	sqlite3_prepare_v2(db,
		"SELECT a, b, c, event_id FROM t WHERE event_id BETWEEN ? AND ? ORDER BY event_id",
		-1, &stmt, NULL);
	sqlite3_bind_int64(stmt, 1, from);
	sqlite3_bind_int64(stmt, 2, to);
	while ((code = xf_scan_next(scan, &id, values, &present, &err)) == 1 && !why) {
		if (sqlite3_step(stmt) != SQLITE_ROW || sqlite3_column_int64(stmt, 3) != id)
			why = "a row too many, or another one";
		for (int i = 0; i < 3 && !why; i++)
			if ((sqlite3_column_type(stmt, i) != SQLITE_NULL) != (present >> i & 1) ||
				sqlite3_column_int64(stmt, i) != values[i])
				why = "another value";
	}
	if (!why && code < 0)
		why = err.text;
	if (!why && sqlite3_step(stmt) == SQLITE_ROW)
		why = "a row is missing";
	sqlite3_finalize(stmt);
	xf_scan_close(scan);
	return why;
}

static void sizes(void)
{
	static const int rows[] = {0, 1, 20, 200, 3000, 40000};
	static const int pages[] = {512, 4096, 65536};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t p = 0; p < sizeof(pages) / sizeof(pages[0]); p++) {
			sqlite3 *db = make(pages[p], rows[i], "");
			char name[60];

			snprintf(name, sizeof(name), "%d rows on pages of %d", rows[i] + 1,
				pages[p]);
			report(name, compare(db, INT64_MIN, INT64_MAX, false));
			sqlite3_close(db);
		}
	}
}

static void ranges(void)
{
	sqlite3 *db = make(512, 20000, "DELETE FROM t WHERE event_id BETWEEN 5000 AND 30000");
	const char *why = NULL;

	for (int64_t from = -1100; from < 60000 && !why; from += 433)
		for (int64_t length = 0; length < 40000 && !why; length = length * 5 + 1)
			why = compare(db, from, from + length, false);
	report("ranges, with a hole", why);
	sqlite3_close(db);
}

/* What was changed and not committed is seen where it can be in the table. */
static void transactions(void)
{
	sqlite3 *db = make(1024, 5000, "");
	const char *why;

	sqlite3_exec(db, "BEGIN; UPDATE t SET a = 5 WHERE event_id > 100", NULL, NULL, NULL);
	report("what is not committed", compare(db, INT64_MIN, INT64_MAX, false));
	sqlite3_exec(db, "ROLLBACK; BEGIN; CREATE TABLE other (a)", NULL, NULL, NULL);
	why = compare(db, INT64_MIN, INT64_MAX, true);
	report("beside a change of another table", why);
	sqlite3_exec(db, "COMMIT; PRAGMA journal_mode = WAL; UPDATE t SET a = 6", NULL, NULL, NULL);
	report("WAL", compare(db, INT64_MIN, INT64_MAX, false));
	sqlite3_close(db);
	db = make(1024, 500,
		"CREATE TEMP TABLE t AS SELECT a, b, c, event_id FROM main.t LIMIT 7;"
		"CREATE TEMP VIEW u AS SELECT 1");
	report("a temporary table of that name", compare(db, 1, 0, false));
	sqlite3_close(db);
}

/* No value of another type, and no damage, is taken for an integer. */
static void refusals(void)
{
	static const char *const changes[] = {"UPDATE t SET b = 'text' WHERE event_id = 2000",
		"UPDATE t SET b = 1.5 WHERE event_id = 2000",
		"UPDATE t SET b = zeroblob(3000) WHERE event_id = 2000"};
	sqlite3 *db;

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const char *why;

		db = make(1024, 5000, changes[i]);
		why = compare(db, INT64_MIN, INT64_MAX, false);
		report(changes[i], why && strstr(why, "another program") ? NULL : "it was read");
		sqlite3_close(db);
	}
}

/* Whatever stands in the file, the scan ends and stays in its memory (the sanitizers look). */
static void damage(void)
{
	unsigned seed = 1;

	for (int i = 0; i < 300; i++) {
		sqlite3 *db = make(512, 400, "");
		struct xf_error err = {0};
		struct xf_scan *scan;
		int64_t id, values[4];
		uint64_t present;
		FILE *file = fopen(path, "r+b");

		for (int k = 0; k < 30; k++) {
			seed = seed * 1103515245 + 12345;
			fseek(file, 1024 + (long)(seed >> 8 & 0x3fff), SEEK_SET);
			fputc((int)(seed >> 16), file);
		}
		fclose(file);
		if (!xf_scan_open(&scan, db, "t", "a, b, c, event_id", 4, INT64_MIN, INT64_MAX,
			    false, &err)) {
			while (xf_scan_next(scan, &id, values, &present, &err) == 1)
				;
			xf_scan_close(scan);
		}
		sqlite3_close(db);
	}
	report("300 damaged files", NULL);
}

int main(void)
{
	if (mkstemp(path) < 0)
		return 1;
	sizes();
	ranges();
	transactions();
	refusals();
	damage();
	unlink(path);
	return failed > 0;
}
