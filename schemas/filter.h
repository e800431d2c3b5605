/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filter expressions such as `vcpu = d0v1 and ptes > 8`, for the rows of a view.
 * In: the text and the columns it may name.  Out: an SQL condition whose values are all bound, never
 * pasted in; or an error and the byte in the text where it is.
 *
 *	expression := term { or term }          or, ||
 *	term       := factor { and factor }     and, &&
 *	factor     := not factor | ( expression ) | column [ operator value ]     not, !
 *	operator   := = == != <> < <= > >= ~ !~
 *	value      := number [k|M|G] | 0xHEX | word | 'text' | "text" | null | dN | dNvM
 *
 * A column alone is true when it is known and not 0.  Unknown (NULL) values pass != and `= null` and
 * nothing else.  Addresses compare unsigned.  ~ is an extended regular expression, without regard to
 * case unless it has a capital.  A symbol equals its function's name, with or without the offset.
 */
#ifndef XF_SCHEMAS_FILTER_H
#define XF_SCHEMAS_FILTER_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

enum xf_filter_type {
	XF_FILTER_INT,
	XF_FILTER_HEX, /* 64 bits, compared unsigned */
	XF_FILTER_REAL,
	XF_FILTER_TEXT,
	XF_FILTER_SYMBOL, /* function+0xoffset */
	XF_FILTER_VCPU,	  /* domid << 16 | vcpu */
};

struct xf_filter_column {
	const char *name;
	const char *sql; /* what computes it */
	enum xf_filter_type type;
};

struct xf_filter_value {
	enum { XF_FILTER_IS_INT, XF_FILTER_IS_REAL, XF_FILTER_IS_TEXT } type;
	int64_t integer;
	double real;
	char *text;
};

struct xf_filter {
	char *sql; /* a condition, in parentheses */
	struct xf_filter_value *values;
	int nvalues;
	int first; /* number of the first parameter */
};

/*
 * Compiles text; parameters are ?first and up.  An empty text gives a condition that is always true.
 * On failure *where is the offset of the error in text, and *filter is empty.
 */
int xf_filter_compile(struct xf_filter *filter, const char *text,
	const struct xf_filter_column *columns, size_t ncolumns, int first, size_t *where,
	struct xf_error *err);

/* Binds the values to a statement that contains filter->sql. */
int xf_filter_bind(const struct xf_filter *filter, sqlite3_stmt *stmt, struct xf_error *err);

/* Frees what compile allocated; the object is empty again. */
void xf_filter_free(struct xf_filter *filter);

/* Gives db the SQL function xf_match(text, pattern) that `~` needs. */
int xf_filter_functions(sqlite3 *db, struct xf_error *err);

/* Flags for regcomp() of a pattern the user typed: extended, smart about case. */
int xf_filter_regex_flags(const char *pattern);

#endif
