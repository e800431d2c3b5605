// SPDX-License-Identifier: GPL-2.0-or-later
/* All fault sequences of page-table pages.  In: the view pt_sequences.  Out: rows. */
#include "tui/columns.h"
#include "tui/format.h"
#include "tui/ui.h"

static const struct xf_tui_column columns[] = {
	{"sequence_id", "seq", "r.sequence_id", XF_SHOW_INT, 5, ORDERED | ALWAYS,
		"number of the sequence"},
	{"fork_id", "fork", "r.fork_id", XF_SHOW_INT, 4, UP | ALWAYS, "its fork, if any"},
	{"vcpu", "vCPU", VCPU, XF_SHOW_VCPU, 4, UP | ALWAYS, "domain and vCPU"},
	{"page", "page-table page", PAGE, XF_SHOW_TEXT, 18, UP | ALWAYS,
		"its address in the guest, or its frame"},
	{"va_base", "maps", "r.va_base", XF_SHOW_HEX, 14, UP | ALWAYS,
		"first address that the page maps, where known"},
	{"ptes", "PTEs", "r.ptes", XF_SHOW_INT, 4, ALWAYS, "distinct entries changed"},
	{"faults", "faults", "r.faults", XF_SHOW_INT, 6, ALWAYS, "hardware faults it cost"},
	{"cycles", "lasts", SPAN, XF_SHOW_SPAN, 8, ALWAYS, "from its first record to its last"},
	{"ended_by", "end", "r.ended_by", XF_SHOW_TEXT, 6, UP | ALWAYS,
		"rehook, next (page), fault, pin, unshadow, loss, end"},
	{"spurious", "spur", "r.spurious", XF_SHOW_INT, 4, ALWAYS, "faults for nothing"},
	{"mechanism", "how", "r.mechanism", XF_SHOW_KIND, 7, UP | ALWAYS,
		"emulate, unhook, oos (out of sync), batch, mixed"},
	{"tsc_start", "start", "r.tsc_start", XF_SHOW_TIME, 10, UP | ALWAYS, "its first record"},
	COUNTS,
	SEQUENCE_NAMES,
};

static const struct xf_tui_source source = {
	.name = "pt_sequences",
	.from = "pt_sequences r",
	.key = "r.sequence_id",
	.bounds =
		"SELECT (SELECT min(sequence_id) FROM sequence), (SELECT max(sequence_id) FROM sequence)",
	.flag = "NOT r.complete",
	.columns = columns,
	.ncolumns = COUNT(columns),
};

static void pages_totals(struct xf_tui_view *view, char *text, size_t size)
{
	char count[32];

	xf_tui_format_grouped(count, sizeof(count), view->model.high - view->model.low + 1);
	snprintf(text, size, "%s fault sequences of page-table pages, in forks and outside", count);
}

static const struct xf_tui_view_ops *pages_enter(struct xf_tui_view *view, int64_t *key)
{
	*key = xf_tui_selected(view)->id;
	return &xf_tui_view_page;
}

static int64_t first_event(struct xf_tui_view *view)
{
	return xf_tui_integer(view, xf_tui_selected(view), "first_event", -1);
}

const struct xf_tui_view_ops xf_tui_view_pages = {
	.title = "Pages",
	.source = &source,
	.totals = pages_totals,
	.enter = pages_enter,
	.event = first_event,
	.missing = XF_HAP_FORKS,
};
