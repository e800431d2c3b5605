// SPDX-License-Identifier: GPL-2.0-or-later
/* All events in time order.  In: the view events.  Out: rows, a panel. */
#include "tui/columns.h"
#include "tui/event_panel.h"
#include "tui/format.h"

static const struct xf_tui_column columns[] = {
	{"event_id", "event", "r.event_id", XF_SHOW_INT, 7, ORDERED | ALWAYS,
		"number, in time order"},
	{"tsc", "time", "r.tsc", XF_SHOW_TIME, 10, ORDERED | ALWAYS, "when"},
	{"since", "since", "r.tsc", XF_SHOW_SINCE, 8, 0, "time since the row before"},
	{"vcpu", "vCPU", VCPU, XF_SHOW_VCPU, 4, UP | ALWAYS, "domain and vCPU"},
	{"kind", "kind", "r.kind", XF_SHOW_KIND, 10, UP | ALWAYS, "what happened"},
	{"va", "address", "r.va", XF_SHOW_HEX, 18, UP | ALWAYS,
		"faulting address, or the written entry's own"},
	{"slot", "slot", "r.slot", XF_SHOW_INT, 4, UP | ALWAYS, "index of the entry in its page"},
	{"pte", "new PTE", "r.pte", XF_SHOW_PTE, 17, ALWAYS, "flags and frame of the new value"},
	{"symbol", "kernel function", "r.symbol", XF_SHOW_SYMBOL, 28, UP | ALWAYS,
		"of the instruction"},
	{"error_code", "fault", "r.error_code", XF_SHOW_ERROR, 22, UP | ALWAYS,
		"the error code in words"},
	EVENT_REST,
};

static const struct xf_tui_source source = {
	.name = "events",
	.from = "events r",
	.key = "r.event_id",
	.bounds = "SELECT (SELECT min(event_id) FROM event), (SELECT max(event_id) FROM event)",
	.flag = "r.kind = 'loss'",
	.dense = true,
	.columns = columns,
	.ncolumns = COUNT(columns),
};

static void events_totals(struct xf_tui_view *view, char *text, size_t size)
{
	const struct xf_tui_capture *c = &view->ui->capture;
	char events[32], records[32], span[32];

	xf_tui_format_grouped(events, sizeof(events), view->model.high - view->model.low + 1);
	xf_tui_format_grouped(records, sizeof(records), c->records);
	xf_tui_units_span(&view->ui->units, c->last - c->first, span, sizeof(span));
	snprintf(text, size, "%s events from %s records over %s %s", events, records, span,
		xf_tui_units_span_name(&view->ui->units));
}

static void events_panel(struct xf_tui_view *view, struct xf_tui_grid *grid, int y, int rows)
{
	xf_tui_event_panel(view, grid, y, rows, NULL);
}

const struct xf_tui_view_ops xf_tui_view_events = {
	.title = "Events",
	.source = &source,
	.totals = events_totals,
	.panel_rows = xf_tui_event_panel_rows,
	.panel = events_panel,
	.enter = xf_tui_to_event,
	.event = xf_tui_same_event,
};
