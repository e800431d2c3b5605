/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which events need not be looked at in a search: nothing that they show can hold the pattern's word.
 * In: a list of events, a pattern.  Out: for an event, no or maybe.
 *
 * To format a row and hold a pattern against it takes microseconds, of millions of rows half a minute.
 * A word of the pattern without spaces stands within one cell, and most columns show few different
 * values, or numbers in which it can be looked for as a number.
 */
#ifndef XF_TUI_SIEVE_H
#define XF_TUI_SIEVE_H

#include "tui/model.h"

struct xf_tui_sieve;

/*
 * For the pattern (as regcomp() takes it, flags as xf_filter_regex_flags() gives them) and the columns that
 * the model shows now.  *sieve is NULL where it cannot help: no events, or a pattern without a plain word.
 * Freed by xf_tui_sieve_free().
 */
int xf_tui_sieve_new(struct xf_tui_sieve **sieve, const struct xf_tui_model *model,
	const char *pattern, struct xf_error *err);

/*
 * May the event match?  1 yes, 0 no, XF_AGAIN: events around it were looked at first, which took some
 * milliseconds: ask again; or a negative code.
 */
int xf_tui_sieve_may(struct xf_tui_sieve *sieve, int64_t event_id, struct xf_error *err);

void xf_tui_sieve_free(struct xf_tui_sieve *sieve);

#endif
