// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bulk loader.  In: rows.  Out: leaf pages one behind the other at the end of the file, interior
 * pages between them as they become full.  What is on top of a table goes to its root page.
 */
#include "collector/store/bulk.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER	  100u	      /* bytes of the file header */
#define LOCK_BYTE 0x40000000u /* the page with this byte is never used */
#define BUFFER	  (1u << 20)
#define LEVELS	  20 /* of interior pages: more than 2^32 pages can need */
#define LEAF	  0x0d
#define INTERIOR  0x05
#define CELL_MAX  (1 + XF_BULK_COLUMNS * 9 + 1 + 18) /* record, its two varints */
#define SLACK	  16

/* Offsets in the file header. */
enum {
	AT_PAGE_SIZE = 16,
	AT_WRITE_FORMAT = 18,
	AT_READ_FORMAT = 19,
	AT_RESERVED = 20,
	AT_CHANGES = 24,
	AT_PAGES = 28,
	AT_FREE_PAGES = 36,
	AT_SCHEMA_FORMAT = 44,
	AT_AUTO_VACUUM = 52,
	AT_ENCODING = 56,
	AT_VALID_FOR = 92,
};

/* A child page and the largest rowid below it. */
struct child {
	uint32_t page;
	int64_t key;
};

/* An interior page that is being filled. */
struct level {
	struct child *children;
	size_t n;
	size_t used; /* bytes that the cells of all children would take */
};

struct xf_bulk_table {
	struct xf_bulk_table *next;
	struct xf_bulk *bulk;
	uint32_t root;
	int columns;
	bool any; /* it has a row */
	int64_t last;
	size_t cells;	   /* in the leaf */
	size_t used;	   /* bytes of them */
	uint16_t *offsets; /* of each cell in content */
	uint8_t *content;  /* cells in their order */
	struct level levels[LEVELS];
	int nlevels;
};

struct xf_bulk {
	int fd;
	uint32_t page_size, pages; /* pages: of the file, with those in the buffer */
	struct xf_bulk_table *tables;
	size_t fill; /* bytes in buffer, which stand at the end of the file */
	uint8_t header[HEADER];
	uint8_t *buffer;
	/* a thread writes the other buffer meanwhile */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool started, quit;
	uint8_t *other;
	size_t waiting; /* bytes of it to write, 0 = it is free */
	off_t waiting_at;
	int sys; /* errno of the first write that failed */
	uint8_t buffers[2][BUFFER];
};

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put16(uint8_t *p, size_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static void put32(uint8_t *p, uint32_t value)
{
	put16(p, value >> 16);
	put16(p + 2, value & 0xffff);
}

/* Seven bits a byte, the highest first; the ninth byte has eight. */
static size_t put_varint(uint8_t *p, uint64_t value)
{
	size_t n = value < 1u << 7    ? 1
		   : value < 1u << 14 ? 2
		   : value < 1u << 21 ? 3
		   : value < 1u << 28 ? 4
				      : (70u - (unsigned)__builtin_clzll(value)) / 7;

	if (value >> 56) {
		n = 9;
		p[8] = (uint8_t)value;
		value >>= 8;
	} else {
		p[n - 1] = (uint8_t)(value & 0x7f);
		value >>= 7;
	}
	for (size_t i = n - 1; i--; value >>= 7)
		p[i] = (uint8_t)(value | 0x80);
	return n;
}

/* 0, or an errno. */
static int write_all(int fd, const uint8_t *p, size_t n, off_t at)
{
	while (n) {
		ssize_t part = pwrite(fd, p, n, at);

		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0)
			return part ? errno : EIO;
		p += part;
		at += part;
		n -= (size_t)part;
	}
	return 0;
}

static int failed(int sys, struct xf_error *err)
{
	errno = sys;
	return xf_fail_errno(err, XF_IO, "cannot write the database");
}

static int write_at(struct xf_bulk *b, const void *data, size_t n, off_t at, struct xf_error *err)
{
	int sys = write_all(b->fd, data, n, at);

	return sys ? failed(sys, err) : 0;
}

static void *work(void *data)
{
	struct xf_bulk *b = data;

	pthread_mutex_lock(&b->lock);
	while (!b->quit || b->waiting) {
		int sys;

		if (!b->waiting) {
			pthread_cond_wait(&b->changed, &b->lock);
			continue;
		}
		pthread_mutex_unlock(&b->lock);
		sys = write_all(b->fd, b->other, b->waiting, b->waiting_at);
		/* the disk begins now, not when fsync() waits for it; where this cannot be, it waits longer */
		sync_file_range(b->fd, b->waiting_at, (off_t)b->waiting, SYNC_FILE_RANGE_WRITE);
		pthread_mutex_lock(&b->lock);
		b->sys = b->sys ? b->sys : sys;
		b->waiting = 0;
		pthread_cond_signal(&b->changed);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

/* Waits until the thread has nothing to do; errno of its failure. */
static int wait_for_thread(struct xf_bulk *b)
{
	while (b->waiting)
		pthread_cond_wait(&b->changed, &b->lock);
	return b->sys;
}

static void end_thread(struct xf_bulk *b)
{
	if (!b->started)
		return;
	pthread_mutex_lock(&b->lock);
	b->quit = true;
	pthread_cond_signal(&b->changed);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->thread, NULL);
	b->started = false;
}

/* Hands the buffer to the thread and takes the other one. */
static int flush(struct xf_bulk *b, struct xf_error *err)
{
	off_t at = (off_t)b->pages * b->page_size - (off_t)b->fill;
	uint8_t *full = b->buffer;
	int sys;

	if (!b->started && !b->quit)
		b->started = !pthread_create(&b->thread, NULL, work, b);
	if (!b->started) {
		sys = write_all(b->fd, full, b->fill, at);
		b->fill = 0;
		return sys ? failed(sys, err) : 0;
	}
	pthread_mutex_lock(&b->lock);
	sys = wait_for_thread(b);
	b->buffer = b->other;
	b->other = full;
	b->waiting = b->fill;
	b->waiting_at = at;
	b->fill = 0;
	pthread_cond_signal(&b->changed);
	pthread_mutex_unlock(&b->lock);
	return sys ? failed(sys, err) : 0;
}

/* Room for one more page at the end of the file; NULL on failure. */
static uint8_t *append_page(struct xf_bulk *b, struct xf_error *err)
{
	uint8_t *page;

	if (b->fill + b->page_size > BUFFER && flush(b, err))
		return NULL;
	if (b->pages == UINT32_MAX - 2) {
		xf_fail(err, XF_DB, "the database has as many pages as SQLite can count");
		return NULL;
	}
	page = b->buffer + b->fill;
	b->fill += b->page_size;
	b->pages++;
	return page;
}

/* The number of a new page and its bytes; 0 on failure. */
static uint32_t new_page(struct xf_bulk *b, uint8_t **page, struct xf_error *err)
{
	if (b->pages == LOCK_BYTE / b->page_size) {
		*page = append_page(b, err);
		if (!*page)
			return 0;
		memset(*page, 0, b->page_size);
	}
	*page = append_page(b, err);
	return *page ? b->pages : 0;
}

/* Bytes of a child's cell and of the pointer to it. */
static size_t cell_size(int64_t key)
{
	uint8_t varint[9];

	return 2 + 4 + put_varint(varint, (uint64_t)key);
}

static size_t most_children(const struct xf_bulk *b)
{
	return (b->page_size - 12) / 7 + 2;
}

/* Children as an interior page: the last one is the right-most pointer, without a key. */
static void encode_interior(
	const struct xf_bulk *b, uint8_t *page, const struct child *children, size_t n)
{
	size_t at = b->page_size;

	memset(page, 0, b->page_size);
	for (size_t i = n - 1; i-- > 0;) {
		uint8_t varint[9];
		size_t length = put_varint(varint, (uint64_t)children[i].key);

		at -= 4 + length;
		put32(page + at, children[i].page);
		memcpy(page + at + 4, varint, length);
		put16(page + 12 + 2 * i, at);
	}
	page[0] = INTERIOR;
	put16(page + 3, n - 1);
	put16(page + 5, at); /* 65,536 is written as 0 */
	put32(page + 8, children[n - 1].page);
}

static void encode_leaf(const struct xf_bulk_table *t, uint8_t *page)
{
	size_t size = t->bulk->page_size, start = size - t->used;

	memset(page, 0, 8);
	page[0] = LEAF;
	put16(page + 3, t->cells);
	put16(page + 5, start);
	for (size_t i = 0; i < t->cells; i++)
		put16(page + 8 + 2 * i, start + t->offsets[i]);
	memset(page + 8 + 2 * t->cells, 0, start - 8 - 2 * t->cells);
	memcpy(page + start, t->content, t->used);
}

/*
 * Enters a finished page into the level above it.  A full interior page is closed without its last
 * child, which begins the next one: so none is left with a single child.
 */
static int add_child(struct xf_bulk_table *t, int at, struct child child, struct xf_error *err)
{
	struct xf_bulk *b = t->bulk;
	struct level *level = &t->levels[at];
	size_t size = cell_size(child.key);
	uint8_t *page;

	if (!level->children) {
		level->children = malloc(most_children(b) * sizeof(*level->children));
		if (!level->children)
			return xf_fail_nomem(err);
		t->nlevels = at + 1;
	}
	if (level->used + size > b->page_size - 12) {
		struct child last = level->children[level->n - 1], closed = {0, 0};
		int code;

		closed.key = level->children[level->n - 2].key;
		closed.page = new_page(b, &page, err);
		if (!closed.page)
			return -XF_IO;
		encode_interior(b, page, level->children, level->n - 1);
		code = add_child(t, at + 1, closed, err);
		if (code)
			return code;
		level->children[0] = last;
		level->n = 1;
		level->used = cell_size(last.key);
	}
	level->children[level->n++] = child;
	level->used += size;
	return 0;
}

static int close_leaf(struct xf_bulk_table *t, struct xf_error *err)
{
	struct child leaf = {0, t->last};
	uint8_t *page;

	leaf.page = new_page(t->bulk, &page, err);
	if (!leaf.page)
		return -XF_IO;
	encode_leaf(t, page);
	t->cells = t->used = 0;
	return add_child(t, 0, leaf, err);
}

/*
 * Serial type and bytes of a number by its significant bits, without the sign and from 1.  Two
 * numbers take no bytes: 0 and 1 have types of their own.
 */
#define UP_TO(a) a, a, a, a, a, a, a, a
static const uint8_t types[65] = {1, 1, 1, 1, 1, 1, 1, 1, UP_TO(2), UP_TO(3), UP_TO(4), UP_TO(5),
	UP_TO(5), UP_TO(6), UP_TO(6), 6};
static const uint8_t widths[7] = {0, 1, 2, 3, 4, 6, 8};

/*
 * One value: its serial type to *type; returns where the next value begins.  Without branches:
 * which width comes next cannot be foretold, and a wrong guess costs more than all of this.
 */
static inline uint8_t *put_value(uint8_t *to, uint8_t *type, int64_t value)
{
	uint64_t bits = (uint64_t)(value ^ value >> 63), big;
	unsigned of_width = types[64 - __builtin_clzll(bits | 1)];
	bool none = (uint64_t)value < 2;
	unsigned width = none ? 0 : widths[of_width];

	*type = (uint8_t)(none ? 8 + (unsigned)value : of_width);
	big = htobe64((uint64_t)value << (64 - 8 * width) % 64);
	memcpy(to, &big, 8); /* what is too much is written over */
	return to + width;
}

/*
 * A cell: length of the record, rowid, record (types, then values).  Returns its size.  Up to SLACK
 * bytes behind it are written as well.
 */
static size_t put_cell(
	uint8_t *cell, int columns, int64_t rowid, const int64_t *values, uint64_t present)
{
	/* the length takes one byte nearly always */
	size_t nid = put_varint(cell + 1, (uint64_t)rowid), length;
	uint8_t *types_at = cell + 1 + nid, *end;

	*types_at++ = (uint8_t)(columns + 1);
	/* a length that is known takes no call; the values go over what is too much */
	memset(types_at, 0, 16);
	if (columns > 16)
		memset(types_at + 16, 0, (size_t)columns - 16);
	end = types_at + columns;
	for (; present; present &= present - 1) {
		int i = __builtin_ctzll(present);

		end = put_value(end, types_at + i, values[i]);
	}
	length = (size_t)(end - (cell + 1 + nid));
	if (length < 128) {
		*cell = (uint8_t)length;
	} else {
		memmove(cell + 2, cell + 1, nid + length);
		put_varint(cell, length);
		end++;
	}
	return (size_t)(end - cell);
}

int xf_bulk_row(struct xf_bulk_table *t, int64_t rowid, const int64_t *values, uint64_t present,
	struct xf_error *err)
{
	size_t room = t->bulk->page_size - 8, size;
	int code;

	if (t->any && rowid <= t->last)
		return xf_fail(err, XF_INTERNAL, "rows for the bulk loader do not ascend");
	/* written behind the others, where there is room for one too many */
	size = put_cell(t->content + t->used, t->columns, rowid, values, present);
	if (t->used + size + 2 * (t->cells + 1) > room) {
		size_t used = t->used;

		if ((code = close_leaf(t, err)))
			return code;
		memmove(t->content, t->content + used, size);
	}
	t->offsets[t->cells++] = (uint16_t)t->used;
	t->used += size;
	t->last = rowid;
	t->any = true;
	return 0;
}

/* What stands against the file, NULL = nothing.  pages: as many as its size gives. */
static const char *objection(const uint8_t *header, uint32_t page_size, uint64_t pages)
{
	if (memcmp(header, "SQLite format 3", 16) || page_size < 512 || page_size & (page_size - 1))
		return "it is no SQLite database";
	if (header[AT_WRITE_FORMAT] != 1 || header[AT_READ_FORMAT] != 1)
		return "it is in WAL mode";
	if (header[AT_RESERVED])
		return "its pages have reserved bytes";
	if (get32(header + AT_AUTO_VACUUM))
		return "it has auto_vacuum";
	if (get32(header + AT_SCHEMA_FORMAT) != 4)
		return "its schema has an old format";
	if (get32(header + AT_PAGES) != pages ||
		get32(header + AT_CHANGES) != get32(header + AT_VALID_FOR))
		return "its header does not tell its size";
	return NULL;
}

int xf_bulk_open(struct xf_bulk **bulk, const char *path, const char **why, struct xf_error *err)
{
	struct xf_bulk *b = malloc(sizeof(*b));
	off_t size;
	ssize_t n;

	if (!b)
		return xf_fail_nomem(err);
	memset(b, 0, offsetof(struct xf_bulk, buffers));
	b->buffer = b->buffers[0];
	b->other = b->buffers[1];
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	b->fd = open(path, O_RDWR | O_CLOEXEC);
	n = b->fd < 0 ? -1 : pread(b->fd, b->header, HEADER, 0);
	size = n < 0 ? -1 : lseek(b->fd, 0, SEEK_END);
	if (size < 0) {
		xf_fail_errno(err, XF_IO, "cannot write %s", path);
		xf_bulk_abort(b);
		return -XF_IO;
	}
	b->page_size = (uint32_t)b->header[AT_PAGE_SIZE] << 8 | b->header[AT_PAGE_SIZE + 1];
	b->page_size = b->page_size == 1 ? 65536 : b->page_size;
	b->pages = b->page_size ? (uint32_t)(size / b->page_size) : 0;
	*why = n < (ssize_t)HEADER ? "it is empty" : objection(b->header, b->page_size, b->pages);
	if (*why) {
		xf_bulk_abort(b);
		return 1;
	}
	*bulk = b;
	return 0;
}

/* Is page number root a leaf without a cell? */
static bool empty_leaf(const struct xf_bulk *b, uint32_t root)
{
	uint8_t head[5];

	return root > 1 && root <= b->pages &&
	       pread(b->fd, head, sizeof(head), (off_t)(root - 1) * b->page_size) ==
		       (ssize_t)sizeof(head) &&
	       head[0] == LEAF && !head[3] && !head[4];
}

int xf_bulk_table(struct xf_bulk *b, struct xf_bulk_table **table, uint32_t root, int columns,
	const char **why, struct xf_error *err)
{
	struct xf_bulk_table *t;

	/* a longer record would go on in overflow pages */
	if (columns > XF_BULK_COLUMNS || (uint32_t)columns * 9 + 1 > b->page_size - 35)
		*why = "it has too many columns for its page size";
	else
		*why = empty_leaf(b, root) ? NULL : "its table is not empty";
	if (*why)
		return 1;
	t = calloc(1, sizeof(*t));
	if (t) {
		t->offsets = malloc(b->page_size / 2);
		t->content = malloc(b->page_size + CELL_MAX + SLACK);
	}
	if (!t || !t->offsets || !t->content) {
		free(t ? t->offsets : NULL);
		free(t ? t->content : NULL);
		free(t);
		return xf_fail_nomem(err);
	}
	t->bulk = b;
	t->root = root;
	t->columns = columns;
	t->next = b->tables;
	b->tables = t;
	*table = t;
	return 0;
}

/* Closes the pages that are open, from below; the one on top is the root. */
static int finish_table(struct xf_bulk_table *t, uint8_t *root, struct xf_error *err)
{
	struct xf_bulk *b = t->bulk;
	int code = t->nlevels ? close_leaf(t, err) : 0;

	if (!t->nlevels)
		encode_leaf(t, root);
	for (int i = 0; i < t->nlevels && !code; i++) {
		struct level *level = &t->levels[i];
		struct child child = {0, level->children[level->n - 1].key};
		uint8_t *page = root;

		if (i + 1 < t->nlevels && !(child.page = new_page(b, &page, err)))
			return -XF_IO;
		encode_interior(b, page, level->children, level->n);
		if (child.page)
			code = add_child(t, i + 1, child, err);
	}
	return code ? code
		    : write_at(b, root, b->page_size, (off_t)(t->root - 1) * b->page_size, err);
}

int xf_bulk_finish(struct xf_bulk *b, struct xf_error *err)
{
	uint8_t *root = malloc(b->page_size);
	uint32_t changes = get32(b->header + AT_CHANGES) + 1;
	int code = root ? 0 : xf_fail_nomem(err);

	for (struct xf_bulk_table *t = b->tables; t && !code; t = t->next)
		if (t->any)
			code = finish_table(t, root, err);
	if (!code)
		code = flush(b, err);
	end_thread(b);
	if (!code && b->sys)
		code = failed(b->sys, err);
	put32(b->header + AT_CHANGES, changes);
	put32(b->header + AT_PAGES, b->pages);
	put32(b->header + AT_VALID_FOR, changes);
	if (!code)
		code = write_at(b, b->header, HEADER, 0, err);
	if (close(b->fd) && !code)
		code = xf_fail_errno(err, XF_IO, "cannot write the database");
	b->fd = -1;
	free(root);
	xf_bulk_abort(b);
	return code;
}

void xf_bulk_abort(struct xf_bulk *b)
{
	if (!b)
		return;
	end_thread(b);
	pthread_mutex_destroy(&b->lock);
	pthread_cond_destroy(&b->changed);
	while (b->tables) {
		struct xf_bulk_table *next = b->tables->next;

		for (int i = 0; i < b->tables->nlevels; i++)
			free(b->tables->levels[i].children);
		free(b->tables->offsets);
		free(b->tables->content);
		free(b->tables);
		b->tables = next;
	}
	if (b->fd >= 0)
		close(b->fd);
	free(b);
}
