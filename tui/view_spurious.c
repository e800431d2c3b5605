// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Faults that were not needed, and what stood around the selected one.
 * In: the views spurious_faults and events.  Out: rows, a panel.
 */
#include "schemas/db.h"
#include "tui/columns.h"
#include "tui/event_panel.h"
#include "tui/format.h"
#include "tui/ui.h"

static const struct xf_tui_column columns[] = {
	{"event_id", "event", "r.event_id", XF_SHOW_INT, 7, ORDERED | ALWAYS, "the fault"},
	{"tsc", "time", "r.tsc", XF_SHOW_TIME, 10, ORDERED | ALWAYS, "when"},
	{"vcpu", "vCPU", VCPU, XF_SHOW_VCPU, 4, UP | ALWAYS, "who faulted for nothing"},
	{"cause", "cause", "r.cause", XF_SHOW_KIND, 8, UP | ALWAYS,
		"reported (by Xen), rehooked, raced"},
	{"other_vcpu", "by vCPU", "r.other_vcpu", XF_SHOW_INT, 7, UP | ALWAYS,
		"the vCPU it lost to"},
	{"gap", "gap", "r.gap", XF_SHOW_SPAN, 8, UP | ALWAYS, "time between the two"},
	{"confidence", "sure?", "r.confidence", XF_SHOW_TEXT, 7, UP | ALWAYS, "certain, likely"},
	{"va", "address", "r.va", XF_SHOW_HEX, 18, UP | ALWAYS, "faulting address"},
	{"error_code", "fault", "r.error_code", XF_SHOW_ERROR, 22, UP | ALWAYS,
		"the error code in words"},
	{"symbol", "kernel function", "r.symbol", XF_SHOW_SYMBOL, 28, UP | ALWAYS,
		"of the instruction"},
	{"rip", "rip", "r.rip", XF_SHOW_HEX, 18, UP | HIDE | ALWAYS, "instruction"},
	{"other_event", "other", "r.other_event", XF_SHOW_INT, 7, HIDE | ALWAYS,
		"the event it lost to"},
	{"domid", NULL, "r.domid", XF_SHOW_INT, 0, FILTER | ALWAYS, NULL},
	{"us", NULL, "r.us", XF_SHOW_REAL, 0, FILTER, NULL},
};

static const struct xf_tui_source source = {
	.name = "spurious_faults",
	.from = "spurious_faults r",
	.key = "r.event_id",
	.bounds =
		"SELECT (SELECT min(event_id) FROM spurious_fault), (SELECT max(event_id) FROM spurious_fault)",
	.flag = "CASE WHEN r.confidence = 'certain' THEN 0 ELSE 2 END",
	.columns = columns,
	.ncolumns = COUNT(columns),
};

static void spurious_totals(struct xf_tui_view *view, char *text, size_t size)
{
	int64_t n[4];

	*text = '\0';
	if (!xf_tui_query(view->ui->db,
		    "SELECT count(*), sum(cause = 'reported'), sum(cause = 'rehooked'), "
		    "sum(cause = 'raced') FROM spurious_fault",
		    0, 0, n, 4, NULL))
		snprintf(text, size,
			"%lld spurious faults: %lld reported by Xen, %lld rehooked, %lld raced",
			(long long)n[0], (long long)n[1], (long long)n[2], (long long)n[3]);
}

static int spurious_panel_rows(struct xf_tui_view *view, int height)
{
	(void)view, (void)height;
	return 5;
}

/* One event in a line, with its distance from the fault. */
static void event_line(struct xf_tui_view *view, struct xf_tui_grid *grid, int y, const char *label,
	int64_t event, int64_t tsc)
{
	sqlite3_stmt *stmt;
	char span[32], vcpu[24] = "-";
	int x = xf_tui_put(grid, 1, y, 22, XF_TUI_LABEL, label);

	if (event <= 0) {
		xf_tui_put(grid, 22, y, grid->width - 22, XF_TUI_DIM, "none on record near it");
		return;
	}
	if (xf_db_prepare(view->ui->db, &stmt,
		    "SELECT tsc, domid << 16 | vcpu, kind, va, symbol FROM events WHERE event_id = ?1",
		    NULL))
		return;
	sqlite3_bind_int64(stmt, 1, event);
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *symbol = xf_db_text(stmt, 4);

		xf_tui_units_span(
			&view->ui->units, sqlite3_column_int64(stmt, 0) - tsc, span, sizeof(span));
		if (sqlite3_column_type(stmt, 1) != SQLITE_NULL)
			xf_tui_format_vcpu(vcpu, sizeof(vcpu), sqlite3_column_int64(stmt, 1));
		x = x < 21 ? 21 : x;
		xf_tui_putf(grid, x + 1, y, grid->width - x - 1, XF_TUI_NORMAL,
			"event %lld, %s %s: %s %s 0x%llx %s", (long long)event, span,
			xf_tui_units_span_name(&view->ui->units), vcpu, xf_db_text(stmt, 2),
			(unsigned long long)sqlite3_column_int64(stmt, 3), symbol);
	}
	sqlite3_finalize(stmt);
}

/*
 * The nearest unhook or rehook to a fault, by the vCPU it lost to; where that is unknown, by any other
 * vCPU that hooked the same L2 entry (2 MiB of addresses).  0 = none.
 */
static int64_t nearest(struct xf_tui_view *view, const struct xf_tui_row *row, const char *kind)
{
	sqlite3_stmt *stmt;
	int64_t found = 0;

	/* the unhook came before; the rehook too, as a rule, which is what makes it spurious */
	if (xf_db_prepare(view->ui->db, &stmt,
		    "SELECT event_id FROM events WHERE event_id BETWEEN ?1 - 20000 AND ?1 + 2000 "
		    "AND kind = ?2 AND domid = ?3 AND vcpu IS NOT ?4 AND "
		    "(vcpu = ?5 OR (?5 < 0 AND arg2 = ?6)) AND (?2 <> 'unhook' OR event_id < ?1) "
		    "ORDER BY abs(event_id - ?1) LIMIT 1",
		    NULL))
		return 0;
	sqlite3_bind_int64(stmt, 1, row->id);
	sqlite3_bind_text(stmt, 2, kind, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, xf_tui_integer(view, row, "domid", -1));
	sqlite3_bind_int64(stmt, 4, xf_tui_integer(view, row, "vcpu", -1) & 0xffff);
	sqlite3_bind_int64(stmt, 5, xf_tui_integer(view, row, "other_vcpu", -1));
	sqlite3_bind_int64(stmt, 6, (int64_t)((uint64_t)xf_tui_integer(view, row, "va", 0) >> 21));
	if (sqlite3_step(stmt) == SQLITE_ROW)
		found = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return found;
}

static void spurious_panel(struct xf_tui_view *view, struct xf_tui_grid *grid, int y, int rows)
{
	const struct xf_tui_row *row = xf_tui_selected(view);
	int64_t tsc = xf_tui_integer(view, row, "tsc", 0);

	for (int i = 0; i < grid->width; i++)
		xf_tui_set(grid, i, y, XF_TUI_DIM, xf_tui_glyph(grid, XF_GLYPH_LINE));
	if (!row || rows < 5)
		return;
	event_line(view, grid, y + 1, "the fault", row->id, tsc);
	event_line(view, grid, y + 2, "lost to", xf_tui_integer(view, row, "other_event", -1), tsc);
	event_line(view, grid, y + 3, "the other's unhook", nearest(view, row, "unhook"), tsc);
	event_line(view, grid, y + 4, "the other's rehook", nearest(view, row, "rehook"), tsc);
}

const struct xf_tui_view_ops xf_tui_view_spurious = {
	.title = "Spurious faults",
	.source = &source,
	.totals = spurious_totals,
	.panel_rows = spurious_panel_rows,
	.panel = spurious_panel,
	.enter = xf_tui_to_event,
	.event = xf_tui_same_event,
};
