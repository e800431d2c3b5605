// SPDX-License-Identifier: GPL-2.0-or-later
/* One event, every column with what it means.  In: the view events.  Out: lines. */
#include <string.h>

#include "schemas/db.h"
#include "schemas/event.h"
#include "schemas/xen.h"
#include "tui/format.h"
#include "tui/lines.h"
#include "tui/ui.h"

static const struct xf_tui_source source = XF_TUI_LINES("events", "xf_event", NULL);

/* A column of the events view as a line: its value, and what it means. */
static int event_column(
	struct xf_tui_view *view, sqlite3_stmt *stmt, int column, struct xf_error *err)
{
	const char *name = sqlite3_column_name(stmt, column);
	static const char *const hex[] = {"va", "pt_page", "rip", "pte", "frame", "raw_id"};
	int64_t value = sqlite3_column_int64(stmt, column);
	char text[128], note[128] = "";

	if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
		return xf_tui_line(
			view->ui->db, "xf_event", name, "-", "not in the record", false, err);
	if (sqlite3_column_type(stmt, column) == SQLITE_FLOAT)
		xf_tui_format_real(text, sizeof(text), sqlite3_column_double(stmt, column));
	else
		snprintf(text, sizeof(text), "%s", xf_db_text(stmt, column));
	for (size_t i = 0; i < sizeof(hex) / sizeof(hex[0]); i++)
		if (!strcmp(hex[i], name))
			snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	if (!strcmp(name, "error_code"))
		xf_error_code_text((uint64_t)value, note, sizeof(note));
	else if (!strcmp(name, "pte"))
		xf_tui_format_pte(note, sizeof(note), (uint64_t)value);
	else if (!strcmp(name, "kind"))
		snprintf(note, sizeof(note), "%s",
			xf_kind_what(xf_kind_by_name(text)) ? xf_kind_what(xf_kind_by_name(text))
							    : "");
	else if (!strcmp(name, "arg1") && xf_hypercall_name((uint64_t)value))
		snprintf(note, sizeof(note), "of a hypercall: %s",
			xf_hypercall_name((uint64_t)value));
	else if (!strcmp(name, "us"))
		snprintf(note, sizeof(note), "since the first record");
	return xf_tui_line(view->ui->db, "xf_event", name, text, note, false, err);
}

static int event_fill(struct xf_tui_view *view, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_tui_lines_start(view->ui->db, "xf_event", err);

	snprintf(view->title, sizeof(view->title), "event %lld", (long long)view->key);
	if (!code)
		code = xf_db_prepare(
			view->ui->db, &stmt, "SELECT * FROM events WHERE event_id = ?1", err);
	if (code)
		return code;
	sqlite3_bind_int64(stmt, 1, view->key);
	code = xf_db_step(stmt, err);
	for (int i = 0; code == 1 && i < sqlite3_column_count(stmt); i++)
		if (event_column(view, stmt, i, err))
			code = -XF_DB;
	sqlite3_finalize(stmt);
	return code < 0 ? code : 0;
}

static void event_totals(struct xf_tui_view *view, char *text, size_t size)
{
	(void)view;
	snprintf(text, size, "one event, every column of the view events");
}

const struct xf_tui_view_ops xf_tui_view_event = {
	.title = "event",
	.source = &source,
	.open = event_fill,
	.totals = event_totals,
};
