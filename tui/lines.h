/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of a name, a value and a note, in a temporary table.  In: texts.  Out: rows for a view. */
#ifndef XF_TUI_LINES_H
#define XF_TUI_LINES_H

#include "tui/columns.h"

#define XF_TUI_LINE_COLUMNS 3
extern const struct xf_tui_column xf_tui_line_columns[XF_TUI_LINE_COLUMNS];

/* A source of such a list: the view of the database it tells of, the temporary table, the flag. */
#define XF_TUI_LINES(view, table, flag_sql)                                      \
	{                                                                        \
		.name = view, .from = "temp." table " r", .key = "r.id",         \
		.bounds = "SELECT (SELECT min(id) FROM temp." table              \
			  "), (SELECT max(id) FROM temp." table ")",             \
		.flag = flag_sql, .dense = true, .columns = xf_tui_line_columns, \
		.ncolumns = XF_TUI_LINE_COLUMNS                                  \
	}

/* Makes the temporary table, empty. */
int xf_tui_lines_start(sqlite3 *db, const char *table, struct xf_error *err);

/* Appends a line; note may be NULL; flag: it is shown as something to look at. */
int xf_tui_line(sqlite3 *db, const char *table, const char *name, const char *value,
	const char *note, bool flag, struct xf_error *err);
int xf_tui_number_line(sqlite3 *db, const char *table, const char *name, int64_t value,
	const char *note, bool flag, struct xf_error *err);

#endif
