/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lists of events share: the panel that spells one out, and the way to it. */
#ifndef XF_TUI_EVENT_PANEL_H
#define XF_TUI_EVENT_PANEL_H

#include "tui/ui.h"

int xf_tui_event_panel_rows(struct xf_tui_view *view, int height);

/* was: what the entry written held before, in words; NULL = this list does not say. */
void xf_tui_event_panel(
	struct xf_tui_view *view, struct xf_tui_grid *grid, int y, int rows, const char *was);

/* Members of struct xf_tui_view_ops where the row's id is that of an event. */
const struct xf_tui_view_ops *xf_tui_to_event(struct xf_tui_view *view, int64_t *key);
int64_t xf_tui_same_event(struct xf_tui_view *view);

#endif
