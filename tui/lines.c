// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists of a name, a value and a note.  In: texts.  Out: rows of a temporary table. */
#include "tui/lines.h"

#include "schemas/db.h"

const struct xf_tui_column xf_tui_line_columns[XF_TUI_LINE_COLUMNS] = {
	{"name", "what", "r.name", XF_SHOW_TEXT, 22, UP | ALWAYS, "what"},
	{"value", "value", "r.value", XF_SHOW_TEXT, 24, UP | ALWAYS, "how much"},
	{"note", "", "r.note", XF_SHOW_TEXT, 30, UP | ALWAYS | FLEX, "remarks"},
};

int xf_tui_lines_start(sqlite3 *db, const char *table, struct xf_error *err)
{
	char *sql =
		sqlite3_mprintf("DROP TABLE IF EXISTS temp.%s; CREATE TEMP TABLE %s (id INTEGER "
				"PRIMARY KEY, name TEXT, value TEXT, note TEXT, flag INTEGER)",
			table, table);
	int code = sql ? xf_db_exec(db, sql, err) : xf_fail_nomem(err);

	sqlite3_free(sql);
	return code;
}

int xf_tui_line(sqlite3 *db, const char *table, const char *name, const char *value,
	const char *note, bool flag, struct xf_error *err)
{
	char *sql = sqlite3_mprintf("INSERT INTO temp.%s (name, value, note, flag) VALUES "
				    "(%Q, %Q, %Q, %d)",
		table, name, value, note ? note : "", flag);
	int code = sql ? xf_db_exec(db, sql, err) : xf_fail_nomem(err);

	sqlite3_free(sql);
	return code;
}

int xf_tui_number_line(sqlite3 *db, const char *table, const char *name, int64_t value,
	const char *note, bool flag, struct xf_error *err)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	return xf_tui_line(db, table, name, text, note, flag, err);
}
