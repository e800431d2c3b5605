/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Columns of a view by name, as --sort, --min and --columns take them.
 * In: a database, names from the command line.  Out: columns that the view has, SQL that orders by them.
 */
#ifndef XF_CLI_COLUMNS_H
#define XF_CLI_COLUMNS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

struct xf_columns {
	char **name;
	size_t n;
};

/* All columns of a view, in its order.  Free with xf_columns_free(), after an error too. */
int xf_columns_of(sqlite3 *db, const char *view, struct xf_columns *all, struct xf_error *err);
void xf_columns_free(struct xf_columns *columns);

/*
 * The columns of a list "a,b,c", in the list's order, each taken from all by its name.  option is what
 * a usage error names, with what the view has.
 */
int xf_columns_pick(const struct xf_columns *all, const char *list, const char *option,
	struct xf_columns *picked, struct xf_error *err);

/* The column of that name, *length characters of it counting; a usage error where there is none. */
int xf_columns_find(const struct xf_columns *all, const char *name, size_t length,
	const char *option, const char **column, struct xf_error *err);

/*
 * Does a list sorted by the column begin with its smallest value?  So do names, numbers of things and
 * times; of what is counted or measured the largest one comes first.
 */
bool xf_column_goes_up(const char *column);

/* Appends the terms of an ORDER BY, "a, b DESC", each turned round where reverse. */
void xf_append_order(sqlite3_str *sql, const char *order, bool reverse);

#endif
