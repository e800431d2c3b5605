// SPDX-License-Identifier: GPL-2.0-or-later
/* The capture itself: what it holds, by record.  In: views of the database.  Out: lines. */
#include "schemas/db.h"
#include "tui/lines.h"
#include "tui/ui.h"

static const struct xf_tui_source source = XF_TUI_LINES("trace", "xf_info", "r.flag");

static int info_numbers(struct xf_tui_view *view, struct xf_error *err)
{
	const struct xf_tui_capture *c = &view->ui->capture;
	sqlite3 *db = view->ui->db;
	char text[64], span[40];
	int code = 0;

	snprintf(span, sizeof(span), "%lld", (long long)(c->last - c->first));
	snprintf(text, sizeof(text), "cycles%s", c->hz ? "" : "; seconds need --cpu-hz");
	if (c->hz)
		snprintf(text, sizeof(text), "cycles = %.6f s",
			(double)(c->last - c->first) / (double)c->hz);
	code |= xf_tui_number_line(
		db, "xf_info", "records", c->records, "in the stream", false, err);
	code |= xf_tui_number_line(
		db, "xf_info", "events", c->events, "that they tell of", false, err);
	code |= xf_tui_number_line(db, "xf_info", "lost records", c->lost,
		c->lost ? "see 5, Losses and doubts" : "", c->lost > 0, err);
	code |= xf_tui_number_line(db, "xf_info", "unknown records", c->unknown,
		c->unknown ? "of an id or length that no decoder fits" : "", c->unknown > 0, err);
	code |= xf_tui_line(db, "xf_info", "complete", c->complete ? "yes" : "no",
		c->complete ? "" : "cut short, damaged or interrupted", !c->complete, err);
	if (c->has_time) {
		code |= xf_tui_number_line(
			db, "xf_info", "first TSC", c->first, "cycles", false, err);
		code |= xf_tui_number_line(
			db, "xf_info", "last TSC", c->last, "cycles", false, err);
		code |= xf_tui_line(db, "xf_info", "span", span, text, false, err);
	}
	if (c->hz)
		code |= xf_tui_number_line(db, "xf_info", "TSC frequency", c->hz, "Hz", false, err);
	else
		code |= xf_tui_line(db, "xf_info", "TSC frequency", "unknown",
			"times are in cycles; --cpu-hz gives it", false, err);
	return code;
}

static int info_fill(struct xf_tui_view *view, struct xf_error *err)
{
	sqlite3 *db = view->ui->db;
	int code = xf_tui_lines_start(db, "xf_info", err);

	if (!code)
		code = xf_db_exec(db,
			"INSERT INTO temp.xf_info (name, value, note, flag) "
			"SELECT 'source', source, '', 0 FROM trace UNION ALL "
			"SELECT 'format', format, '', 0 FROM trace UNION ALL "
			"SELECT 'made by', tool_version, '', 0 FROM trace",
			err);
	if (!code)
		code = info_numbers(view, err);
	if (!code)
		code = xf_db_exec(db,
			"INSERT INTO temp.xf_info (name, value, note, flag) "
			"SELECT coalesce(name, 'unknown'), records, printf('records of id 0x%08x, %d "
			"words', raw_id, words) || CASE WHEN fits THEN '' ELSE '; no decoder' END, "
			"NOT fits FROM record_count ORDER BY records DESC",
			err);
	return code;
}

static void info_totals(struct xf_tui_view *view, char *text, size_t size)
{
	snprintf(text, size, "%s", view->ui->capture.source);
}

const struct xf_tui_view_ops xf_tui_view_info = {
	.title = "Info",
	.source = &source,
	.open = info_fill,
	.totals = info_totals,
	.refresh = info_fill,
};
