// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows to a stream.  In: cells.  Out: text in columns, CSV (RFC 4180) or JSON lines.
 * Numbers are formatted by hand: `events` prints millions of rows.
 */
#include "common/output.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "common/escape.h"

#define BUFFER	(64 * 1024)
#define LONGEST 512 /* an item that is not text fits in this */

struct xf_out {
	FILE *file;
	enum xf_format format;
	const struct xf_column *columns;
	size_t ncolumns;
	/* of JSON: what stands before the values, {"key": and ,"key": one behind the other */
	char *keys;
	size_t *key_at, keys_size;
	size_t column; /* next cell */
	size_t line;   /* characters written of this text line, to align after an overlong cell */
	size_t due;    /* where the next cell should start */
	bool header_done;
	int sys; /* errno of the first failed write */
	size_t used;
	char buffer[BUFFER];
};

/* A row is mostly keys: they are made once. */
static int make_keys(struct xf_out *o, struct xf_error *err)
{
	FILE *file = open_memstream(&o->keys, &o->keys_size);

	o->key_at = calloc(o->ncolumns + 1, sizeof(*o->key_at));
	if (!file || !o->key_at) {
		if (file)
			fclose(file);
		return xf_fail_nomem(err);
	}
	for (size_t i = 0; i < o->ncolumns; i++) {
		putc(i ? ',' : '{', file);
		xf_escape_to(file, XF_ESCAPE_JSON, o->columns[i].name);
		putc(':', file);
		o->key_at[i + 1] = (size_t)ftell(file);
	}
	return fclose(file) ? xf_fail_nomem(err) : 0;
}

static void free_out(struct xf_out *o)
{
	free(o->keys);
	free(o->key_at);
	free(o);
}

int xf_out_new(struct xf_out **out, FILE *file, enum xf_format format,
	const struct xf_column *columns, size_t ncolumns, struct xf_error *err)
{
	struct xf_out *o = malloc(sizeof(*o));

	if (!o)
		return xf_fail_nomem(err);
	memset(o, 0, offsetof(struct xf_out, buffer));
	o->file = file;
	o->format = format;
	o->columns = columns;
	o->ncolumns = ncolumns;
	if (format == XF_FORMAT_JSONL && make_keys(o, err)) {
		free_out(o);
		return -XF_INTERNAL;
	}
	*out = o;
	return 0;
}

static void flush(struct xf_out *o)
{
	if (o->used && !o->sys && fwrite(o->buffer, 1, o->used, o->file) != o->used)
		o->sys = errno ? errno : EIO;
	o->used = 0;
}

static void put(struct xf_out *o, const char *text, size_t length)
{
	if (length < BUFFER - o->used) {
		memcpy(o->buffer + o->used, text, length);
		o->used += length;
		return;
	}
	while (length) {
		size_t part = BUFFER - o->used < length ? BUFFER - o->used : length;

		memcpy(o->buffer + o->used, text, part);
		o->used += part;
		text += part;
		length -= part;
		if (o->used == BUFFER)
			flush(o);
	}
}

static inline void put_char(struct xf_out *o, char c)
{
	o->buffer[o->used++] = c;
	if (o->used == BUFFER)
		flush(o);
}

static void put_string(struct xf_out *o, const char *text)
{
	put(o, text, strlen(text));
}

static void pad(struct xf_out *o, size_t n)
{
	static const char blanks[] = "                                ";

	/* so many at once that the length is known: what is too much is written over */
	if (n < sizeof(blanks) && sizeof(blanks) < BUFFER - o->used) {
		memcpy(o->buffer + o->used, blanks, sizeof(blanks) - 1);
		o->used += n;
		return;
	}
	for (; n; n -= n < sizeof(blanks) - 1 ? n : sizeof(blanks) - 1)
		put(o, blanks, n < sizeof(blanks) - 1 ? n : sizeof(blanks) - 1);
}

/* Writes the digits so that they end at end; returns their start. */
static char *decimal(char *end, uint64_t value)
{
	static const char pairs[] = "0001020304050607080910111213141516171819"
				    "2021222324252627282930313233343536373839"
				    "4041424344454647484950515253545556575859"
				    "6061626364656667686970717273747576777879"
				    "8081828384858687888990919293949596979899";

	for (; value >= 100; value /= 100)
		memcpy(end -= 2, pairs + 2 * (value % 100), 2);
	if (value >= 10)
		return memcpy(end - 2, pairs + 2 * value, 2);
	*--end = (char)('0' + value);
	return end;
}

static char *hexadecimal(char *end, uint64_t value)
{
	do
		*--end = "0123456789abcdef"[value & 15];
	while (value >>= 4);
	*--end = 'x';
	*--end = '0';
	return end;
}

/* Characters, not bytes: UTF-8 continuation bytes take no room. */
static size_t characters(const char *text, size_t length)
{
	size_t n = 0;

	for (size_t i = 0; i < length; i++)
		n += (text[i] & 0xc0) != 0x80;
	return n;
}

/*
 * One cell of a text table, so many characters wide: aligned, and an overlong one pushes only as far
 * as it must.
 */
static void text_cell(struct xf_out *o, const char *cell, size_t length, size_t shown, bool left)
{
	const struct xf_column *column = &o->columns[o->column];
	size_t width = column->width > 0 ? (size_t)column->width : length;
	bool last = o->column + 1 == o->ncolumns;

	if (o->column) {
		put_char(o, ' ');
		o->line++;
		o->due++;
	}
	o->due += width;
	if (!left && o->line + shown < o->due) {
		pad(o, o->due - o->line - shown);
		o->line = o->due - shown;
	}
	put(o, cell, length);
	o->line += shown;
	if (left && !last && o->line < o->due) {
		pad(o, o->due - o->line);
		o->line = o->due;
	}
}

static void put_piece(void *o, const char *bytes, size_t length)
{
	put(o, bytes, length);
}

static void csv_text(struct xf_out *o, const char *text)
{
	xf_escape(XF_ESCAPE_CSV, text, put_piece, o);
}

static void json_text(struct xf_out *o, const char *text)
{
	xf_escape(XF_ESCAPE_JSON, text, put_piece, o);
}

struct measure {
	size_t bytes, characters;
};

static void measure_piece(void *to, const char *bytes, size_t length)
{
	struct measure *m = to;

	m->bytes += length;
	m->characters += characters(bytes, length);
}

static bool printable(const char *text, size_t length)
{
	unsigned other = 0;

	for (size_t i = 0; i < length; i++)
		other |= (unsigned char)(text[i] - 0x20) >= 0x5f;
	return !other;
}

/* A cell of a text table: what a terminal would act on is shown. */
static void text_as_it_may(struct xf_out *o, const char *text, bool left)
{
	size_t length = strlen(text);
	struct measure m = {0, 0};
	char *shown, small[LONGEST];

	if (printable(text, length)) {
		text_cell(o, text, length, length, left);
		return;
	}
	xf_escape(XF_ESCAPE_TEXT, text, measure_piece, &m);
	if (m.bytes == length) {
		text_cell(o, text, length, m.characters, left);
		return;
	}
	shown = m.bytes < sizeof(small) ? small : malloc(m.bytes + 1);
	if (!shown) {
		o->sys = ENOMEM;
		return;
	}
	xf_escape_in(shown, m.bytes + 1, XF_ESCAPE_TEXT, text);
	text_cell(o, shown, m.bytes, m.characters, left);
	if (shown != small)
		free(shown);
}

void xf_out_header(struct xf_out *o)
{
	if (o->header_done)
		return;
	o->header_done = true;
	if (o->format == XF_FORMAT_JSONL)
		return;
	for (o->column = 0; o->column < o->ncolumns; o->column++) {
		const struct xf_column *column = &o->columns[o->column];

		if (o->format == XF_FORMAT_CSV) {
			if (o->column)
				put(o, ",", 1);
			csv_text(o, column->name);
		} else {
			const char *title = column->title ? column->title : column->name;

			text_as_it_may(o, title, column->type == XF_CELL_TEXT);
		}
	}
	o->column = o->line = o->due = 0;
	put(o, "\n", 1);
}

/* What stands before a cell: comma, key. */
static void open_cell(struct xf_out *o)
{
	if (!o->header_done)
		xf_out_header(o);
	if (o->format == XF_FORMAT_TEXT)
		return;
	if (o->format == XF_FORMAT_JSONL) {
		put(o, o->keys + o->key_at[o->column],
			o->key_at[o->column + 1] - o->key_at[o->column]);
	} else if (o->column) {
		put_char(o, ',');
	}
}

static void close_cell(struct xf_out *o)
{
	if (++o->column < o->ncolumns)
		return;
	o->column = o->line = o->due = 0;
	if (o->format == XF_FORMAT_JSONL)
		put_char(o, '}');
	put_char(o, '\n');
	if (o->used > BUFFER - LONGEST)
		flush(o);
}

static void number_cell(struct xf_out *o, const char *text, size_t length, bool quoted)
{
	open_cell(o);
	if (o->format == XF_FORMAT_TEXT) {
		text_cell(o, text, length, length, false);
	} else {
		if (quoted)
			put_char(o, '"');
		put(o, text, length);
		if (quoted)
			put_char(o, '"');
	}
	close_cell(o);
}

void xf_out_int(struct xf_out *o, int64_t value)
{
	enum xf_cell_type type = o->columns[o->column].type;
	char digits[32], *end = digits + sizeof(digits), *start;
	bool hex = type == XF_CELL_HEX || (type == XF_CELL_TEXTHEX && o->format == XF_FORMAT_TEXT);

	if (hex) {
		start = hexadecimal(end, (uint64_t)value);
	} else {
		start = decimal(end, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
		if (value < 0)
			*--start = '-';
	}
	number_cell(o, start, (size_t)(end - start),
		type == XF_CELL_HEX && o->format == XF_FORMAT_JSONL);
}

void xf_out_real(struct xf_out *o, double value)
{
	bool text = o->format == XF_FORMAT_TEXT;
	double scaled = value * (text ? 10 : 1000);
	char digits[LONGEST], *end = digits + sizeof(digits), *start;
	uint64_t whole;
	int n;

	if (!isfinite(value) && o->format == XF_FORMAT_JSONL) {
		xf_out_null(o); /* JSON has no such number */
		return;
	}
	if (!(fabs(scaled) < 1e18)) {
		n = snprintf(digits, sizeof(digits), "%.3f", value);
		number_cell(o, digits, (size_t)n, false);
		return;
	}
	whole = (uint64_t)(fabs(scaled) + 0.5);
	start = end;
	for (n = 0; n < (text ? 1 : 3); n++, whole /= 10)
		*--start = (char)('0' + whole % 10);
	*--start = '.';
	start = decimal(start, whole);
	if (value < 0)
		*--start = '-';
	number_cell(o, start, (size_t)(end - start), false);
}

void xf_out_text(struct xf_out *o, const char *text)
{
	open_cell(o);
	if (o->format == XF_FORMAT_TEXT)
		text_as_it_may(o, text, o->columns[o->column].type == XF_CELL_TEXT);
	else if (o->format == XF_FORMAT_CSV)
		csv_text(o, text);
	else
		json_text(o, text);
	close_cell(o);
}

void xf_out_null(struct xf_out *o)
{
	open_cell(o);
	if (o->format == XF_FORMAT_TEXT)
		text_cell(o, "-", 1, 1, o->columns[o->column].type == XF_CELL_TEXT);
	else if (o->format == XF_FORMAT_JSONL)
		put_string(o, "null");
	close_cell(o);
}

void xf_out_value(struct xf_out *o, struct sqlite3_value *value)
{
	switch (sqlite3_value_type(value)) {
	case SQLITE_NULL:
		xf_out_null(o);
		break;
	case SQLITE_INTEGER:
		xf_out_int(o, sqlite3_value_int64(value));
		break;
	case SQLITE_FLOAT:
		xf_out_real(o, sqlite3_value_double(value));
		break;
	default:
		xf_out_text(o,
			sqlite3_value_text(value) ? (const char *)sqlite3_value_text(value) : "");
	}
}

void xf_out_row(struct xf_out *o, struct sqlite3_stmt *stmt)
{
	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		switch (sqlite3_column_type(stmt, i)) {
		case SQLITE_NULL:
			xf_out_null(o);
			break;
		case SQLITE_INTEGER:
			xf_out_int(o, sqlite3_column_int64(stmt, i));
			break;
		case SQLITE_FLOAT:
			xf_out_real(o, sqlite3_column_double(stmt, i));
			break;
		default:
			xf_out_text(o, sqlite3_column_text(stmt, i)
					       ? (const char *)sqlite3_column_text(stmt, i)
					       : "");
		}
	}
}

bool xf_out_failed(const struct xf_out *o)
{
	return o->sys != 0;
}

int xf_out_close(struct xf_out *o, struct xf_error *err)
{
	int sys;

	if (!o)
		return 0;
	flush(o);
	if (!o->sys && fflush(o->file))
		o->sys = errno;
	sys = o->sys;
	free_out(o);
	if (!sys)
		return 0;
	errno = sys;
	return xf_fail_errno(err, XF_IO, "cannot write the output");
}

int xf_format_by_name(const char *name)
{
	static const char *const names[] = {"text", "csv", "jsonl"};

	for (int i = 0; i < 3; i++)
		if (!strcmp(name, names[i]))
			return i;
	return -1;
}

enum xf_cell_type xf_cell_type_of(const char *column)
{
	static const char *const hex[] = {"va", "pt_page", "rip", "pte", "va_base", "gpa"};

	for (size_t i = 0; i < sizeof(hex) / sizeof(hex[0]); i++)
		if (!strcmp(column, hex[i]))
			return XF_CELL_HEX;
	return !strcmp(column, "us") ? XF_CELL_REAL : XF_CELL_INT;
}
