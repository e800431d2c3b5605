// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests of collector/store/bulk.c: the bulk loader against INSERT.
 * In: rows made here.  Out: "ok NAME" or "FAIL NAME: why"; status 1 if one failed.
 */
#include "collector/store/bulk.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLUMNS 4 /* a, b, c and the rowid */

static int failed;
static char folder[] = "/tmp/xenfault-bulk.XXXXXX";
static char bulk_path[64], insert_path[64];

static void report(const char *name, bool good, const char *why)
{
	failed += !good;
	if (good)
		printf("ok bulk: %s\n", name);
	else
		printf("FAIL bulk: %s: %s\n", name, why);
}

/* Row number i of a set: values, and which are not NULL.  Returns the rowid. */
typedef int64_t rows(int64_t i, int64_t *values, uint64_t *present);

static sqlite3 *make(const char *path, int page_size, const char *more)
{
	sqlite3 *db;
	char sql[300];

	unlink(path);
	snprintf(sql, sizeof(sql),
		"PRAGMA page_size = %d; %s CREATE TABLE t (a INTEGER, b, c, id INTEGER PRIMARY KEY);"
		"CREATE TABLE u (id INTEGER PRIMARY KEY, a INTEGER);",
		page_size, more);
	if (sqlite3_open(path, &db) != SQLITE_OK ||
		sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
		printf("FAIL bulk: %s\n", sqlite3_errmsg(db));
		exit(1);
	}
	return db;
}

/* First column of the first row as text, or the message of the failure. */
static const char *ask(sqlite3 *db, const char *sql)
{
	static char text[200];
	sqlite3_stmt *stmt = NULL;

	snprintf(text, sizeof(text), "(none)");
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
		sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
		snprintf(text, sizeof(text), "%s", (const char *)sqlite3_column_text(stmt, 0));
	else if (sqlite3_errcode(db) != SQLITE_OK && sqlite3_errcode(db) != SQLITE_ROW &&
		 sqlite3_errcode(db) != SQLITE_DONE)
		snprintf(text, sizeof(text), "%s", sqlite3_errmsg(db));
	sqlite3_finalize(stmt);
	return text;
}

static uint32_t root_of(sqlite3 *db, const char *table)
{
	char sql[80];

	snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", table);
	return (uint32_t)atoi(ask(db, sql));
}

static int load(sqlite3 *db, const char *path, rows *row, int64_t n, struct xf_error *err)
{
	int64_t values[COLUMNS] = {0};
	struct xf_bulk_table *table;
	struct xf_bulk *bulk;
	const char *why;
	uint64_t present;
	int code = xf_bulk_open(&bulk, path, &why, err);

	if (!code && (code = xf_bulk_table(bulk, &table, root_of(db, "t"), COLUMNS, &why, err)))
		xf_bulk_abort(bulk);
	if (code > 0)
		return xf_fail(err, XF_DB, "refused: %s", why);
	if (code)
		return code;
	for (int64_t i = 0; i < n; i++) {
		int64_t id = row(i, values, &present);

		code = xf_bulk_row(table, id, values, present, err);
		if (code) {
			xf_bulk_abort(bulk);
			return code;
		}
	}
	return xf_bulk_finish(bulk, err);
}

static void insert(sqlite3 *db, rows *row, int64_t n)
{
	int64_t values[COLUMNS];
	sqlite3_stmt *stmt;
	uint64_t present;

	sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	sqlite3_prepare_v2(db, "INSERT INTO t VALUES (?, ?, ?, ?)", -1, &stmt, NULL);
	for (int64_t i = 0; i < n; i++) {
		sqlite3_bind_int64(stmt, 4, row(i, values, &present));
		for (int k = 0; k < 3; k++)
			if (present & 1u << k)
				sqlite3_bind_int64(stmt, k + 1, values[k]);
			else
				sqlite3_bind_null(stmt, k + 1);
		sqlite3_step(stmt);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
}

/* What differs between the two tables, row by row, types too; NULL = nothing. */
static const char *difference(sqlite3 *db)
{
	static char text[200];
	const char *answer;

	answer = ask(db, "SELECT count(*) || ' rows, not ' || (SELECT count(*) FROM o.t) FROM t"
			 " WHERE (SELECT count(*) FROM t) <> (SELECT count(*) FROM o.t)"
			 " HAVING count(*)");
	if (!strcmp(answer, "(none)"))
		answer = ask(db,
			"SELECT 'row ' || x.id FROM t x LEFT JOIN o.t y ON y.id = x.id WHERE"
			" x.a IS NOT y.a OR x.b IS NOT y.b OR x.c IS NOT y.c OR typeof(x.a) <> typeof(y.a)"
			" OR typeof(x.b) <> typeof(y.b) OR typeof(x.c) <> typeof(y.c) OR y.id IS NULL");
	snprintf(text, sizeof(text), "%s", answer);
	return strcmp(text, "(none)") ? text : NULL;
}

/* The same pages as VACUUM would make, whatever was written before. */
static const char *sound(sqlite3 *db)
{
	static char text[200];

	snprintf(text, sizeof(text), "%s", ask(db, "PRAGMA integrity_check"));
	return strcmp(text, "ok") ? text : NULL;
}

static void same(const char *name, int page_size, rows *row, int64_t n)
{
	sqlite3 *db = make(bulk_path, page_size, ""), *other = make(insert_path, page_size, "");
	struct xf_error err = {0};
	const char *why = NULL;
	char sql[120];

	if (load(db, bulk_path, row, n, &err))
		why = err.text;
	insert(other, row, n);
	sqlite3_close(other);
	snprintf(sql, sizeof(sql), "ATTACH '%s' AS o", insert_path);
	if (!why && sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		why = sqlite3_errmsg(db);
	if (!why)
		why = sound(db);
	if (!why)
		why = difference(db);
	report(name, !why, why);
	sqlite3_close(db);
}

static int64_t edges(int64_t i, int64_t *values, uint64_t *present)
{
	/* 2^k - 1, 2^k, 2^k + 1, and the same below zero: each width, each sign */
	uint64_t power = 1ull << (i / 3 % 64);

	values[0] = (int64_t)(power + (uint64_t)(i % 3) - 1);
	values[1] = (int64_t)(0 - (uint64_t)values[0]);
	values[2] = i - 100;
	*present = i % 11 ? 7 : i / 11 % 8;
	return i + 1;
}

static int64_t small(int64_t i, int64_t *values, uint64_t *present)
{
	values[0] = i;
	values[1] = i % 2;
	values[2] = -i;
	*present = 7;
	return i + 1;
}

/* Rowids whose varints have 1 to 9 bytes, and those below zero. */
static int64_t ids(int64_t i, int64_t *values, uint64_t *present)
{
	values[0] = i;
	*present = 1;
	if (i < 2)
		return i ? -1 : INT64_MIN;
	if (i == 2)
		return 0;
	/* 2^k and 2^(k + 1) - 1 */
	i -= 3;
	return (int64_t)((1ull << (i / 2 + 1)) + (i % 2 ? (1ull << (i / 2 + 1)) - 1 : 0));
}

static int64_t wide(int64_t i, int64_t *values, uint64_t *present)
{
	values[0] = INT64_MIN + i;
	values[1] = INT64_MAX - i;
	values[2] = (int64_t)(0x0123456789abcdefull * (uint64_t)(i + 1));
	*present = 7;
	return 1000 * i;
}

/* A file that is nearly 1 GiB long already, most of it a hole. */
static void past_lock_page(void)
{
	sqlite3 *db = make(bulk_path, 65536, "");
	const char *why = NULL;
	struct xf_error err = {0};
	uint8_t pages[4] = {0, 0, 0x3f, 0xf8}, version[4];
	int fd = open(bulk_path, O_RDWR);

	/* the pages of the hole belong to a table of which nobody asks: only t is looked at */
	if (fd < 0 || ftruncate(fd, 0x3ff8ll << 16) || pwrite(fd, pages, 4, 28) != 4 ||
		pread(fd, version, 4, 24) != 4 || pwrite(fd, version, 4, 92) != 4)
		why = "cannot make the file";
	close(fd);
	if (!why && load(db, bulk_path, wide, 60000, &err))
		why = err.text;
	if (!why &&
		strcmp(ask(db, "SELECT count(*) || ' ' || sum(id) || ' ' || sum(c IS NOT NULL) FROM t"),
			"60000 1799970000000 60000"))
		why = "not the rows that went in";
	fd = open(bulk_path, O_RDONLY);
	if (!why &&
		(lseek(fd, 0, SEEK_END) <= 0x40010000 || pread(fd, version, 4, 0x40000000) != 4 ||
			memcmp(version, "\0\0\0\0", 4)))
		why = "the lock page is used, or was not reached";
	close(fd);
	/* a tree that uses the lock page is reported by number; unused pages of the hole are as well */
	if (!why &&
		strstr(ask(db, "SELECT group_concat(integrity_check) FROM pragma_integrity_check(100)"
			       " WHERE integrity_check NOT LIKE '%never used%'"),
			"age"))
		why = "integrity_check complains of the tree";
	report("a file past the lock page at 1 GiB", !why, why);
	sqlite3_close(db);
}

/* What people do with a database afterwards. */
static void afterwards(void)
{
	static const struct {
		const char *sql, *answer;
	} steps[] = {
		{"ANALYZE", "(none)"},
		{"INSERT INTO t (a) VALUES (5)", "(none)"},
		{"SELECT max(id) FROM t", "5001"},
		{"DELETE FROM t WHERE id % 3 = 0", "(none)"},
		{"INSERT INTO t VALUES (1, 2, 3, 300)", "(none)"},
		{"UPDATE t SET b = 'a longer text than there was' WHERE id < 100", "(none)"},
		{"CREATE INDEX i ON t (a)", "(none)"},
		{"SELECT id FROM t WHERE a = 4000", "4001"},
		{"PRAGMA integrity_check", "ok"},
		{"VACUUM", "(none)"},
		{"PRAGMA integrity_check", "ok"},
		{"PRAGMA journal_mode = WAL", "wal"},
		{"DELETE FROM t WHERE id > 4000", "(none)"},
		{"PRAGMA wal_checkpoint", "0"},
		{"PRAGMA integrity_check", "ok"},
		{"PRAGMA journal_mode = DELETE", "delete"},
		{"PRAGMA auto_vacuum = 1", "(none)"},
		{"VACUUM", "(none)"},
		{"SELECT count(*) FROM t", "2668"},
		{"PRAGMA integrity_check", "ok"},
	};
	sqlite3 *db = make(bulk_path, 1024, "");
	struct xf_error err = {0};
	const char *why = load(db, bulk_path, small, 5000, &err) ? err.text : NULL;
	static char text[300];

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !why; i++) {
		const char *answer = ask(db, steps[i].sql);

		if (strcmp(answer, steps[i].answer)) {
			snprintf(text, sizeof(text), "%s: %s", steps[i].sql, answer);
			why = text;
		}
	}
	report("INSERT, DELETE, UPDATE, an index, ANALYZE, VACUUM, WAL afterwards", !why, why);
	sqlite3_close(db);
}

/* Two tables fill side by side; a connection that looked before sees them. */
static void two_tables(void)
{
	sqlite3 *db = make(bulk_path, 512, "");
	struct xf_bulk_table *t, *u;
	struct xf_error err = {0};
	struct xf_bulk *bulk;
	const char *why = NULL, *objection;
	int64_t values[4] = {0};
	uint64_t present;
	uint32_t roots[2] = {root_of(db, "t"), root_of(db, "u")};
	int code = xf_bulk_open(&bulk, bulk_path, &objection, &err);

	if (code || xf_bulk_table(bulk, &t, roots[0], 4, &objection, &err) ||
		xf_bulk_table(bulk, &u, roots[1], 2, &objection, &err)) {
		report("two tables side by side", false, "refused");
		return;
	}
	for (int64_t i = 0; i < 3000 && !code; i++) {
		int64_t id = small(i, values, &present);

		code = xf_bulk_row(t, id, values, present, &err);
		if (!code && i % 3 == 0)
			code = xf_bulk_row(u, id, (int64_t[2]){0, 7 * i}, 2, &err);
	}
	if (code || xf_bulk_finish(bulk, &err))
		why = err.text;
	if (!why)
		why = sound(db);
	if (!why &&
		strcmp(ask(db, "SELECT count(*) || ' ' || sum(u.a = 7 * t.a) FROM u JOIN t USING (id)"),
			"1000 1000"))
		why = "not the rows that went in";
	report("two tables side by side", !why, why);
	sqlite3_close(db);
}

/* The .dump of the shell, where there is one, gives the same text. */
static void dump(void)
{
	sqlite3 *db = make(bulk_path, 4096, ""), *other = make(insert_path, 4096, "");
	struct xf_error err = {0};
	const char *why = load(db, bulk_path, edges, 4000, &err) ? err.text : NULL;
	char command[600];

	insert(other, edges, 4000);
	sqlite3_close(db);
	sqlite3_close(other);
	snprintf(command, sizeof(command),
		"command -v sqlite3 >/dev/null || exit 0; sqlite3 %s .dump >%s/a;"
		" sqlite3 %s .dump >%s/b; cmp %s/a %s/b",
		bulk_path, folder, insert_path, folder, folder, folder);
	if (!why && system(command))
		why = "it differs";
	report(".dump", !why, why);
}

static void refuses(const char *name, const char *more, const char *why)
{
	sqlite3 *db = make(bulk_path, 4096, more);
	struct xf_error err = {0};
	int code = load(db, bulk_path, small, 1, &err);

	report(name, code < 0 && strstr(err.text, why), code ? err.text : "not refused");
	sqlite3_close(db);
}

static void refusals(void)
{
	sqlite3 *db;
	struct xf_error err = {0};
	int code;

	refuses("auto_vacuum is refused", "PRAGMA auto_vacuum = 1;", "auto_vacuum");
	refuses("WAL is refused", "PRAGMA journal_mode = WAL;", "WAL");
	db = make(bulk_path, 4096, "");
	insert(db, small, 1);
	code = load(db, bulk_path, small, 1, &err);
	report("a table with a row is refused", code < 0 && strstr(err.text, "not empty"),
		err.text);
	sqlite3_close(db);
	db = make(bulk_path, 4096, "");
	xf_error_clear(&err);
	/* a rowid column's own values would be all the same */
	code = load(db, bulk_path, (rows *)ids, 200, &err);
	report("rows that do not ascend are refused", code < 0 && strstr(err.text, "ascend"),
		code ? err.text : "not refused");
	sqlite3_close(db);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	snprintf(bulk_path, sizeof(bulk_path), "%s/bulk.db", folder);
	snprintf(insert_path, sizeof(insert_path), "%s/insert.db", folder);
	same("no rows", 4096, small, 0);
	same("one row", 4096, small, 1);
	same("one leaf", 4096, small, 100);
	same("two leaves", 4096, small, 400);
	same("three levels, pages of 512", 512, small, 60000);
	same("four levels, pages of 512", 512, wide, 300000);
	same("three levels, pages of 8192", 8192, wide, 400000);
	same("pages of 65536", 65536, small, 100000);
	same("every width and sign, 0, 1 and NULL", 4096, edges, 4000);
	same("rowids of 1 to 9 bytes, and below zero", 512, ids, 127);
	for (int64_t n = 1; n < 60; n++) {
		char name[60];

		/* every way in which the last pages can be full */
		snprintf(name, sizeof(name), "%" PRId64 " rows on pages of 512", n * 37);
		same(name, 512, small, n * 37);
	}
	two_tables();
	past_lock_page();
	afterwards();
	dump();
	refusals();
	unlink(bulk_path);
	unlink(insert_path);
	for (int i = 0; i < 2; i++) {
		char path[80];

		snprintf(path, sizeof(path), "%s/%c", folder, "ab"[i]);
		unlink(path);
	}
	rmdir(folder);
	return failed > 0;
}
