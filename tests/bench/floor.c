// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The insertion floor: what SQLite alone needs for the rows that import stores.
 * In: a trace, a database to make.  Out: "SECONDS ROWS" on stdout.
 *
 * The rows are made first and kept in memory.  The time is that of one INSERT ... SELECT from a virtual
 * table which hands them out, into the tables and with the settings of import, commit included.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/store/store.h"

#define COLUMNS 11

struct row {
	int64_t values[COLUMNS];
	uint64_t has; /* one bit for each column that is not NULL */
};

static struct {
	struct row *rows;
	size_t n, room;
} kept;

static void set(struct row *row, int column, bool has, uint64_t value)
{
	row->values[column] = (int64_t)value;
	row->has |= (uint64_t)has << column;
}

static void add(const struct xf_event *e, struct xf_dictionary *d)
{
	struct row row = {0};

	if (kept.n == kept.room) {
		kept.room = kept.room ? 2 * kept.room : 1 << 20;
		kept.rows = realloc(kept.rows, kept.room * sizeof(*kept.rows));
		if (!kept.rows) {
			fprintf(stderr, "floor: out of memory\n");
			exit(1);
		}
	}
	set(&row, 0, e->has & XF_HAS_TSC, e->tsc);
	set(&row, 1, true, (uint64_t)xf_dictionary_place(d, e));
	set(&row, 2, true, (uint64_t)xf_dictionary_type(d, e));
	set(&row, 3, e->has & XF_HAS_VA, e->va);
	set(&row, 4, e->has & XF_HAS_RIP, e->rip);
	set(&row, 5, e->has & XF_HAS_ERROR, e->error_code);
	set(&row, 6, e->has & XF_HAS_PTE, e->pte);
	set(&row, 7, e->has & XF_HAS_FRAME, e->frame);
	set(&row, 8, e->has & XF_HAS_COUNT, e->count);
	set(&row, 9, e->has & XF_HAS_ARG1, e->arg1);
	set(&row, 10, e->has & XF_HAS_ARG2, e->arg2);
	kept.rows[kept.n++] = row;
}

static int read_rows(const char *path, struct xf_error *err)
{
	struct xf_dictionary dictionary = {0};
	struct xf_reader *reader = NULL;
	struct xf_source *source;
	struct xf_event event;
	int code = xf_source_open(&source, path, err);

	if (!code)
		code = xf_reader_open(&reader, source, err);
	while (!code && (code = xf_reader_next(reader, &event, err)) == 1) {
		add(&event, &dictionary);
		code = 0;
	}
	xf_reader_close(reader);
	xf_dictionary_free(&dictionary);
	return code;
}

/* The virtual table: as little as SQLite allows. */

struct cursor {
	sqlite3_vtab_cursor base;
	const struct row *row;
};

static int connect_table(sqlite3 *db, void *data, int argc, const char *const *argv,
	sqlite3_vtab **vtab, char **message)
{
	(void)data, (void)argc, (void)argv, (void)message;
	*vtab = calloc(1, sizeof(**vtab));
	return *vtab ? sqlite3_declare_vtab(
			       db, "CREATE TABLE kept(a, b, c, d, e, f, g, h, i, j, k)")
		     : SQLITE_NOMEM;
}

static int disconnect_table(sqlite3_vtab *vtab)
{
	free(vtab);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	(void)vtab, (void)info;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
	(void)vtab;
	*cursor = calloc(1, sizeof(struct cursor));
	return *cursor ? SQLITE_OK : SQLITE_NOMEM;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
	free(cursor);
	return SQLITE_OK;
}

static int filter(
	sqlite3_vtab_cursor *cursor, int number, const char *text, int argc, sqlite3_value **argv)
{
	(void)number, (void)text, (void)argc, (void)argv;
	((struct cursor *)cursor)->row = kept.rows;
	return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *cursor)
{
	((struct cursor *)cursor)->row++;
	return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *cursor)
{
	return ((struct cursor *)cursor)->row == kept.rows + kept.n;
}

static int column_value(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
	const struct row *row = ((struct cursor *)cursor)->row;

	if (row->has >> column & 1)
		sqlite3_result_int64(context, row->values[column]);
	return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
	*id = ((struct cursor *)cursor)->row - kept.rows + 1;
	return SQLITE_OK;
}

static const sqlite3_module module = {
	.xConnect = connect_table,
	.xBestIndex = best_index,
	.xDisconnect = disconnect_table,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next_row,
	.xEof = at_end,
	.xColumn = column_value,
	.xRowid = row_id,
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct xf_error err = {0};
	struct xf_store *store;
	double begin;
	int code;

	if (argc != 3) {
		fprintf(stderr, "usage: floor TRACE DB\n");
		return 2;
	}
	code = read_rows(argv[1], &err);
	begin = now();
	if (!code)
		code = xf_store_create(&store, argv[2], true, &err);
	if (code) {
		fprintf(stderr, "floor: %s\n", err.text);
		return 1;
	}
	if (sqlite3_create_module(xf_store_db(store), "kept", &module, NULL) != SQLITE_OK ||
		sqlite3_exec(xf_store_db(store),
			"INSERT INTO event (tsc, place, type, va, rip, error_code, pte, frame, count,"
			" arg1, arg2) SELECT * FROM kept",
			NULL, NULL, NULL) != SQLITE_OK) {
		fprintf(stderr, "floor: %s\n", sqlite3_errmsg(xf_store_db(store)));
		xf_store_abort(store);
		return 1;
	}
	if (xf_store_commit(store, &err)) {
		fprintf(stderr, "floor: %s\n", err.text);
		return 1;
	}
	printf("%.3f %zu\n", now() - begin, kept.n);
	free(kept.rows);
	return 0;
}
