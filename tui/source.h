/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which view of the database each list shows, and its columns.  In, out: constants. */
#ifndef XF_TUI_SOURCE_H
#define XF_TUI_SOURCE_H

#include "tui/model.h"

extern const struct xf_tui_source xf_tui_source_forks, xf_tui_source_pages, xf_tui_source_fork,
	xf_tui_source_events, xf_tui_source_page, xf_tui_source_page_all, xf_tui_source_spurious,
	xf_tui_source_trust, xf_tui_source_info, xf_tui_source_event;

#endif
