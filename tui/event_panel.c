// SPDX-License-Identifier: GPL-2.0-or-later
/* The selected event, spelled out below a list of events.  In: its row.  Out: up to four lines. */
#include "tui/event_panel.h"

#include "schemas/event.h"
#include "schemas/xen.h"
#include "tui/format.h"

int xf_tui_event_panel_rows(struct xf_tui_view *view, int height)
{
	(void)view, (void)height;
	return 4;
}

static void draw_write(struct xf_tui_view *view, const struct xf_tui_row *row,
	struct xf_tui_grid *grid, int y, const char *was)
{
	const struct xf_tui_value *pte = xf_tui_value(view, row, "pte");
	char now[64] = "unknown";

	if (pte)
		xf_tui_format_pte(now, sizeof(now), (uint64_t)pte->integer);
	xf_tui_putf(grid, 1, y, grid->width - 1, XF_TUI_NORMAL, "new PTE %s (0x%llx)%s%s", now,
		(unsigned long long)(pte ? pte->integer : 0), was ? "; before: " : "",
		was ? was : "");
}

/* Name of the hypercall that an event is, NULL = it is none. */
static const char *hypercall_of(const struct xf_tui_view *view, const struct xf_tui_row *row)
{
	static const enum xf_kind kinds[] = {
		XF_BATCH, XF_TASK_SWITCH, XF_MULTICALL, XF_MMUEXT, XF_IRET, XF_HYPERCALL};
	enum xf_kind kind = xf_kind_by_name(xf_tui_text(view, row, "kind", ""));

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i] == kind)
			return xf_hypercall_name((uint64_t)xf_tui_integer(view, row, "arg1", -1));
	return NULL;
}

/* What arg1 and arg2 of the records of 2006 say; false = it is none of them. */
static bool hook_text(
	const struct xf_tui_view *view, const struct xf_tui_row *row, char *text, size_t size)
{
	int64_t record = xf_tui_integer(view, row, "raw_id", 0) & ~(int64_t)XF_RECORD_64;
	long long arg1 = xf_tui_integer(view, row, "arg1", 0),
		  arg2 = xf_tui_integer(view, row, "arg2", 0);

	if (record == XF_RECORD_UNHOOK)
		snprintf(text, size, "the %s hook, L2 entry %lld",
			arg1 & XF_HOOK_INACTIVE ? "inactive" : "active", arg2);
	else if (record == XF_RECORD_REHOOK)
		snprintf(text, size, "the %s hook, L2 entry %lld, %lld entries changed%s",
			arg1 & XF_HOOK_INACTIVE ? "inactive" : "active", arg2,
			(long long)xf_tui_integer(view, row, "count", 0),
			arg1 & XF_HOOK_FOREIGN ? ", by a vCPU that does not own it" : "");
	else if (record == XF_RECORD_FLUSH)
		snprintf(text, size, "for %s, CPU mask 0x%llx", arg1 ? "a rehook" : "an unhook",
			arg2);
	else
		return false;
	return true;
}

void xf_tui_event_panel(
	struct xf_tui_view *view, struct xf_tui_grid *grid, int y, int rows, const char *was)
{
	const struct xf_tui_row *row = xf_tui_selected(view);
	const char *kind = xf_tui_text(view, row, "kind", NULL);
	const struct xf_tui_value *error = xf_tui_value(view, row, "error_code");
	const char *hypercall = row && kind ? hypercall_of(view, row) : NULL;
	char text[160] = "";
	int x;

	for (int i = 0; i < grid->width; i++)
		xf_tui_set(grid, i, y, XF_TUI_DIM, xf_tui_glyph(grid, XF_GLYPH_LINE));
	if (!row || !kind || rows < 2)
		return;
	x = xf_tui_putf(grid, 1, y + 1, grid->width - 1, XF_TUI_LABEL, "event %lld: %s",
		(long long)row->id,
		xf_kind_what(xf_kind_by_name(kind)) ? xf_kind_what(xf_kind_by_name(kind)) : kind);
	if (xf_tui_value(view, row, "va"))
		x += xf_tui_putf(grid, x + 1, y + 1, grid->width - x - 1, XF_TUI_NORMAL,
			", at 0x%llx", (unsigned long long)xf_tui_integer(view, row, "va", 0));
	if (rows < 3)
		return;
	if (error) {
		xf_error_code_text((uint64_t)error->integer, text, sizeof(text));
		xf_tui_putf(grid, 1, y + 2, grid->width - 1, XF_TUI_NORMAL, "fault: %s (%llx)",
			text, (unsigned long long)error->integer);
	} else if (xf_tui_value(view, row, "pte")) {
		draw_write(view, row, grid, y + 2, was);
	} else if (hook_text(view, row, text, sizeof(text))) {
		xf_tui_put(grid, 1, y + 2, grid->width - 1, XF_TUI_NORMAL, text);
	} else if (hypercall) {
		xf_tui_putf(grid, 1, y + 2, grid->width - 1, XF_TUI_NORMAL,
			"hypercall %s, count %lld", hypercall,
			(long long)xf_tui_integer(view, row, "count", 1));
	} else if (xf_tui_value(view, row, "count")) {
		xf_tui_putf(grid, 1, y + 2, grid->width - 1, XF_TUI_NORMAL, "count %lld",
			(long long)xf_tui_integer(view, row, "count", 0));
	}
	if (rows > 3 && xf_tui_value(view, row, "rip"))
		xf_tui_putf(grid, 1, y + 3, grid->width - 1, XF_TUI_NORMAL, "by 0x%llx %s",
			(unsigned long long)xf_tui_integer(view, row, "rip", 0),
			xf_tui_text(view, row, "symbol", "(no symbol)"));
}

const struct xf_tui_view_ops *xf_tui_to_event(struct xf_tui_view *view, int64_t *key)
{
	*key = xf_tui_selected(view)->id;
	return &xf_tui_view_event;
}

int64_t xf_tui_same_event(struct xf_tui_view *view)
{
	return xf_tui_selected(view)->id;
}
