/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows to a stream as text, CSV or JSON lines.
 * In: cells, one after the other, or a whole SQLite statement.  Out: bytes on a FILE.
 */
#ifndef XF_COMMON_OUTPUT_H
#define XF_COMMON_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

struct sqlite3_stmt;

enum xf_format { XF_FORMAT_TEXT, XF_FORMAT_CSV, XF_FORMAT_JSONL };

enum xf_cell_type {
	XF_CELL_INT,	 /* decimal */
	XF_CELL_HEX,	 /* address or PTE: 0x..., in every format */
	XF_CELL_TEXTHEX, /* hexadecimal in text, decimal in CSV and JSON (frames, ids, error codes) */
	XF_CELL_REAL,	 /* microseconds: one decimal in text, three in CSV and JSON */
	XF_CELL_TEXT,
};

/* The type of a view's column by its name; text shows by what the cell holds. */
enum xf_cell_type xf_cell_type_of(const char *column);

struct xf_column {
	const char *name;  /* in the view, in CSV and in JSON */
	const char *title; /* in text; NULL = name */
	int width;	   /* in text, characters; text columns are aligned left, others right */
	enum xf_cell_type type;
};

struct xf_out;

/*
 * Starts a table on file; nothing is written before the first row or xf_out_header().
 * columns must live as long as the object.  Returns 0 or a negative code.
 */
int xf_out_new(struct xf_out **out, FILE *file, enum xf_format format,
	const struct xf_column *columns, size_t ncolumns, struct xf_error *err);

/* Header row (text and CSV), once; called by the first cell if it was not called before. */
void xf_out_header(struct xf_out *out);

/* The next cell of the row; a row is full after ncolumns cells. */
void xf_out_int(struct xf_out *out, int64_t value);
void xf_out_real(struct xf_out *out, double value);
void xf_out_text(struct xf_out *out, const char *text);
void xf_out_null(struct xf_out *out);

/* The statement's current row, cell by cell from where the row stands, by the table's types. */
void xf_out_row(struct xf_out *out, struct sqlite3_stmt *stmt);

/*
 * Flushes and frees.  Returns 0, or -XF_IO when a write failed (EPIPE included: err->sys tells), once
 * for the whole table.  out may be NULL.
 */
int xf_out_close(struct xf_out *out, struct xf_error *err);

/* True after a failed write: the producer can stop. */
bool xf_out_failed(const struct xf_out *out);

/* "text", "csv", "jsonl" -> format; -1 for anything else. */
int xf_format_by_name(const char *name);

#endif
