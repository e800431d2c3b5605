/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text of a trace or a database on its way out: the one place that knows what may not stand as it is.
 * In: any bytes.  Out: the same for a terminal, in JSON, CSV, HTML, SQL or COPY; always valid UTF-8.
 *
 * Control characters, and those that change the direction of text, come out as \x1b or \u202e; bytes
 * that are no UTF-8 as \xff.
 */
#ifndef XF_COMMON_ESCAPE_H
#define XF_COMMON_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

enum xf_escape {
	XF_ESCAPE_TEXT, /* a line on a terminal */
	XF_ESCAPE_JSON, /* with the quotes around it */
	XF_ESCAPE_CSV, /* RFC 4180; in quotes where it has to be; what a spreadsheet would take for a
			   formula gets a ' in front */
	XF_ESCAPE_HTML, /* for text and for attributes in double quotes */
	XF_ESCAPE_SQL,	/* a literal, with the quotes around it */
	XF_ESCAPE_COPY, /* a value of PostgreSQL's COPY in text format */
};

typedef void xf_put_fn(void *to, const char *bytes, size_t length);

/* Calls put() with one piece after the other. */
void xf_escape(enum xf_escape how, const char *text, xf_put_fn *put, void *to);

/* The same to a file; errors stay in the file's error flag. */
void xf_escape_to(FILE *file, enum xf_escape how, const char *text);

/* The same into size bytes (> 0), cut at the end of a piece where it does not fit; returns buffer. */
const char *xf_escape_in(char *buffer, size_t size, enum xf_escape how, const char *text);

#endif
