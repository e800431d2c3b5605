// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of a table of integers.  In: pages of a SQLite file, or a SELECT.  Out: values. */
#include "schemas/scan.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/db.h"

#define LEAF	 0x0d
#define INTERIOR 0x05
#define LEVELS	 20
#define AHEAD	 (256u * 1024) /* bytes read at once where leaves follow each other */
#define SLACK	 1024	       /* behind a page: a damaged cell is noticed after it was read */

/* An interior page on the way to the current leaf. */
struct level {
	uint8_t *page;
	unsigned cells, at; /* at == cells: the right-most child */
};

struct xf_scan {
	sqlite3_stmt *stmt; /* the rows, or the lock under which the file is read */
	sqlite3_file *file; /* NULL = by SELECT */
	int columns;
	int64_t from, to, last;
	bool any;
	uint32_t page_size, pages;
	struct level levels[LEVELS];
	int depth;
	uint8_t *leaves; /* nleaves pages in a row, the current one first */
	size_t nleaves, leaf;
	unsigned cells, cell; /* of the current leaf */
};

static unsigned get16(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static const uint8_t *get_varint(const uint8_t *p, uint64_t *value)
{
	uint64_t v = 0;

	for (int i = 0; i < 8; i++) {
		v = v << 7 | (*p & 0x7f);
		if (!(*p++ & 0x80)) {
			*value = v;
			return p;
		}
	}
	*value = v << 8 | *p++;
	return p;
}

static int damaged(struct xf_error *err)
{
	return xf_fail(err, XF_DB,
		"a table of the database is damaged, or was changed by another program");
}

static int read_pages(struct xf_scan *s, uint8_t *to, uint32_t page, size_t n, struct xf_error *err)
{
	if (!page || page > s->pages || n > s->pages - page + 1)
		return damaged(err);
	if (s->file->pMethods->xRead(s->file, to, (int)(n * s->page_size),
		    (sqlite3_int64)(page - 1) * s->page_size) != SQLITE_OK)
		return xf_fail(err, XF_IO, "cannot read the database");
	return 0;
}

static uint32_t child(const struct level *l, unsigned i)
{
	return get32(i == l->cells ? l->page + 8 : l->page + get16(l->page + 12 + 2 * i));
}

/* Key of a cell: the largest rowid below its child. */
static int64_t key_of(const struct level *l, unsigned i)
{
	uint64_t key;

	get_varint(l->page + get16(l->page + 12 + 2 * i) + 4, &key);
	return (int64_t)key;
}

static bool cells_in_page(const struct xf_scan *s, const uint8_t *page, unsigned n, unsigned head)
{
	if (head + 2 * n > s->page_size)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (get16(page + head + 2 * i) > s->page_size - 4)
			return false;
	return true;
}

/* To the first child that can hold rowids from s->from on. */
static void skip_children(const struct xf_scan *s, struct level *l)
{
	while (l->at < l->cells && key_of(l, l->at) < s->from)
		l->at++;
}

/* Goes down from a page to a leaf, to the first child that can hold rowids from s->from on. */
static int descend(struct xf_scan *s, uint32_t page, struct xf_error *err)
{
	for (;;) {
		struct level *l = &s->levels[s->depth];
		int code = s->depth == LEVELS ? damaged(err) : 0;

		if (!code && !l->page && !(l->page = calloc(1, s->page_size + SLACK)))
			code = xf_fail_nomem(err);
		if (!code)
			code = read_pages(s, l->page, page, 1, err);
		if (code)
			return code;
		if (l->page[0] == LEAF) {
			memcpy(s->leaves, l->page, s->page_size);
			s->nleaves = 1;
			return 0;
		}
		l->cells = get16(l->page + 3);
		if (l->page[0] != INTERIOR || !cells_in_page(s, l->page, l->cells, 12))
			return damaged(err);
		l->at = 0;
		skip_children(s, l);
		s->depth++;
		page = child(l, l->at);
	}
}

/* Leaves that stand behind each other in the file are read at once. */
static int read_ahead(struct xf_scan *s, struct level *l, struct xf_error *err)
{
	uint32_t first = child(l, l->at);
	size_t n = 1, most = s->page_size < AHEAD ? AHEAD / s->page_size : 1;

	while (n < most && l->at + n <= l->cells && child(l, l->at + (unsigned)n) == first + n)
		n++;
	s->nleaves = n;
	return read_pages(s, s->leaves, first, n, err);
}

static int enter_leaf(struct xf_scan *s, struct xf_error *err)
{
	const uint8_t *page = s->leaves + s->leaf * s->page_size;

	s->cells = get16(page + 3);
	s->cell = 0;
	if (page[0] != LEAF || !cells_in_page(s, page, s->cells, 8))
		return damaged(err);
	return 0;
}

/* 1 = the next leaf is there, 0 = there is none. */
static int next_leaf(struct xf_scan *s, struct xf_error *err)
{
	struct level *l;
	int code;

	if (s->depth) {
		unsigned before;

		l = &s->levels[s->depth - 1];
		before = l->at++;
		skip_children(s, l);
		s->leaf += l->at - before;
		if (s->leaf < s->nleaves) {
			code = enter_leaf(s, err);
			return code ? code : 1;
		}
	}
	while (s->depth && s->levels[s->depth - 1].at > s->levels[s->depth - 1].cells) {
		if (--s->depth) {
			s->levels[s->depth - 1].at++;
			skip_children(s, &s->levels[s->depth - 1]);
		}
	}
	if (!s->depth)
		return 0;
	l = &s->levels[s->depth - 1];
	s->leaf = 0;
	/* all leaves are at the same depth: below the deepest level that was met are leaves */
	code = s->levels[s->depth].page && s->levels[s->depth].page[0] == INTERIOR
		       ? descend(s, child(l, l->at), err)
		       : read_ahead(s, l, err);
	if (!code)
		code = enter_leaf(s, err);
	return code ? code : 1;
}

/* Decodes one cell; false where it is not what a table of integers holds. */
static bool decode(const struct xf_scan *s, const uint8_t *page, int64_t *rowid, int64_t *values,
	uint64_t *present)
{
	static const uint8_t widths[10] = {0, 1, 2, 3, 4, 6, 8, 0xff, 0, 0};
	const uint8_t *p = page + get16(page + 8 + 2 * s->cell), *body;
	uint64_t length, id, has = 0;
	int n;

	p = get_varint(p, &length);
	p = get_varint(p, &id);
	if (!*p || *p >= 0x80 || *p > length || length > 600)
		return false;
	n = *p - 1 < s->columns ? *p - 1 : s->columns;
	body = p + *p;
	for (int i = 0; i < n; i++) {
		unsigned type = p[1 + i], width = type < 10 ? widths[type] : 0xff;
		uint64_t big;

		if (width) {
			if (width == 0xff)
				return false;
			memcpy(&big, body, 8);
			values[i] = (int64_t)be64toh(big) >> (64 - 8 * width);
			body += width;
		} else {
			values[i] = type == 9;
		}
		has |= (uint64_t)(type != 0) << i;
	}
	for (int i = n; i < s->columns; i++)
		values[i] = 0;
	*present = has;
	*rowid = (int64_t)id;
	return body <= page + s->page_size;
}

static int next_raw(
	struct xf_scan *s, int64_t *rowid, int64_t *values, uint64_t *present, struct xf_error *err)
{
	for (;;) {
		const uint8_t *page = s->leaves + s->leaf * s->page_size;
		int code;

		if (s->cell == s->cells) {
			code = next_leaf(s, err);
			if (code <= 0)
				return code;
			continue;
		}
		if (!decode(s, page, rowid, values, present) || (s->any && *rowid <= s->last))
			return damaged(err);
		s->cell++;
		if (*rowid < s->from)
			continue;
		s->last = *rowid;
		s->any = true;
		return *rowid <= s->to;
	}
}

static int next_selected(
	struct xf_scan *s, int64_t *rowid, int64_t *values, uint64_t *present, struct xf_error *err)
{
	int code = xf_db_step(s->stmt, err);

	if (code != 1)
		return code;
	*rowid = sqlite3_column_int64(s->stmt, 0);
	*present = 0;
	for (int i = 0; i < s->columns; i++) {
		values[i] = sqlite3_column_int64(s->stmt, i + 1);
		*present |= (uint64_t)(sqlite3_column_type(s->stmt, i + 1) != SQLITE_NULL) << i;
	}
	return 1;
}

int xf_scan_next(
	struct xf_scan *s, int64_t *rowid, int64_t *values, uint64_t *present, struct xf_error *err)
{
	return s->file ? next_raw(s, rowid, values, present, err)
		       : next_selected(s, rowid, values, present, err);
}

/* The root page of a rowid table of the main database that can be read directly, 0 = none is. */
static uint32_t root_of(sqlite3 *db, const char *table, bool clean)
{
	sqlite3_stmt *stmt;
	uint32_t root = 0;

	if (!clean && sqlite3_txn_state(db, "main") == SQLITE_TXN_WRITE)
		return 0;
	if (sqlite3_prepare_v2(db,
		    "SELECT rootpage FROM main.sqlite_schema WHERE type = 'table' AND name = ?1"
		    " AND sql NOT LIKE '%WITHOUT ROWID%'"
		    " AND NOT EXISTS (SELECT 1 FROM temp.sqlite_schema WHERE name = ?1)"
		    " AND (SELECT journal_mode <> 'wal' FROM pragma_journal_mode('main'))",
		    -1, &stmt, NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		root = (uint32_t)sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return root;
}

/* Opens the file below the connection; false: it cannot be read directly. */
static bool open_file(struct xf_scan *s, sqlite3 *db)
{
	sqlite3_file *file = NULL;
	uint8_t header[100];

	if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
		!file || !file->pMethods ||
		file->pMethods->xRead(file, header, sizeof(header), 0) != SQLITE_OK)
		return false;
	s->page_size = get16(header + 16) == 1 ? 65536 : get16(header + 16);
	s->pages = get32(header + 28);
	if (memcmp(header, "SQLite format 3", 16) || header[20] || s->page_size < 512)
		return false;
	s->leaves = calloc(1, (s->page_size < AHEAD ? AHEAD : s->page_size) + SLACK);
	s->file = s->leaves ? file : NULL;
	return s->file;
}

static int select_rows(struct xf_scan *s, sqlite3 *db, const char *table, const char *columns,
	bool all, struct xf_error *err)
{
	/* by its name: in a fleet the table is a view, whose rowid is NULL */
	char *sql = sqlite3_mprintf(
		"SELECT event_id, %s FROM %s WHERE event_id BETWEEN ?1 AND ?2 ORDER BY event_id",
		columns, table);
	int code = sql ? xf_db_prepare(db, &s->stmt, sql, err) : xf_fail_nomem(err);

	sqlite3_free(sql);
	if (code)
		return code;
	sqlite3_bind_int64(s->stmt, 1, all ? INT64_MIN : s->from);
	sqlite3_bind_int64(s->stmt, 2, all ? INT64_MAX : s->to);
	return 0;
}

int xf_scan_open(struct xf_scan **scan, sqlite3 *db, const char *table, const char *columns, int n,
	int64_t from, int64_t to, bool clean, struct xf_error *err)
{
	struct xf_scan *s = calloc(1, sizeof(*s));
	uint32_t root;
	int code;

	if (!s)
		return xf_fail_nomem(err);
	s->columns = n;
	s->from = from;
	s->to = to;
	root = root_of(db, table, clean);
	code = select_rows(s, db, table, columns, root > 0, err);
	/* a statement that stands on a row keeps the lock */
	if (!code && root && xf_db_step(s->stmt, NULL) == 1 && open_file(s, db)) {
		code = descend(s, root, err);
		if (!code)
			code = enter_leaf(s, err);
	} else if (!code && root) {
		sqlite3_reset(s->stmt);
		sqlite3_bind_int64(s->stmt, 1, from);
		sqlite3_bind_int64(s->stmt, 2, to);
	}
	if (code) {
		xf_scan_close(s);
		return code;
	}
	*scan = s;
	return 0;
}

void xf_scan_skip(struct xf_scan *s, int64_t from)
{
	if (from <= s->from)
		return;
	s->from = from;
	if (s->file)
		return;
	sqlite3_reset(s->stmt);
	sqlite3_bind_int64(s->stmt, 1, from);
}

void xf_scan_close(struct xf_scan *s)
{
	if (!s)
		return;
	sqlite3_finalize(s->stmt);
	for (int i = 0; i < LEVELS; i++)
		free(s->levels[i].page);
	free(s->leaves);
	free(s);
}

static int next_late(struct xf_event_scan *s, struct xf_error *err)
{
	int64_t values[2];
	uint64_t present;
	int code = xf_scan_next(s->late, &s->late_id, values, &present, err);

	s->late_tsc = code == 1 ? values[1] : 0;
	if (code != 1)
		s->late_id = 0;
	return code < 0 ? code : 0;
}

int xf_event_scan_open(struct xf_event_scan *s, sqlite3 *db, int64_t from, int64_t to, bool clean,
	struct xf_error *err)
{
	int code;

	*s = (struct xf_event_scan){0};
	code = xf_dictionary_load(&s->dictionary, db, err);
	if (!code)
		code = xf_scan_open(&s->events, db, "event", XF_EVENT_COLUMN_NAMES,
			XF_EVENT_COLUMNS, from, to, clean, err);
	if (!code)
		code = xf_scan_open(
			&s->late, db, "event_late", "event_id, tsc_late", 2, from, to, clean, err);
	return code ? code : next_late(s, err);
}

int xf_event_scan_next(
	struct xf_event_scan *s, int64_t *event_id, struct xf_event *event, struct xf_error *err)
{
	int64_t values[XF_EVENT_COLUMNS];
	uint64_t present;
	int code = xf_scan_next(s->events, event_id, values, &present, err);

	if (code != 1)
		return code;
	xf_event_of_values(&s->dictionary, values, present, event);
	if (*event_id == s->late_id) {
		event->tsc_late = (uint64_t)s->late_tsc;
		event->has |= XF_HAS_LATE;
		code = next_late(s, err);
	}
	return code < 0 ? code : 1;
}

int xf_event_scan_skip(struct xf_event_scan *s, int64_t from, struct xf_error *err)
{
	int code = 0;

	xf_scan_skip(s->events, from);
	xf_scan_skip(s->late, from);
	while (!code && s->late_id && s->late_id < from)
		code = next_late(s, err);
	return code;
}

void xf_event_scan_close(struct xf_event_scan *s)
{
	xf_scan_close(s->events);
	xf_scan_close(s->late);
	xf_dictionary_free(&s->dictionary);
}
