/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text of a trace or a database on its way out: the one place that knows what may not stand as it is.
 * In: any text.  Out: the same in JSON, CSV, HTML or SQL.
 */
#ifndef XF_COMMON_ESCAPE_H
#define XF_COMMON_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

enum xf_escape {
	XF_ESCAPE_JSON, /* with the quotes around it */
	XF_ESCAPE_CSV,	/* RFC 4180; in quotes where it has to be */
	XF_ESCAPE_HTML, /* for text and for attributes in double quotes */
	XF_ESCAPE_SQL,	/* a literal, with the quotes around it */
};

typedef void xf_put_fn(void *to, const char *bytes, size_t length);

/* Calls put() with one piece after the other. */
void xf_escape(enum xf_escape how, const char *text, xf_put_fn *put, void *to);

/* The same to a file; errors stay in the file's error flag. */
void xf_escape_to(FILE *file, enum xf_escape how, const char *text);

#endif
