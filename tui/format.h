/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values in words.  In: integers of the database.  Out: short text. */
#ifndef XF_TUI_FORMAT_H
#define XF_TUI_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* "d0v1", or "idle"; owner is domid << 16 | vcpu. */
void xf_tui_format_vcpu(char *text, size_t size, int64_t owner);

/* "P-U--AD--N 1c4a2": flags and frame of an entry; "0 (cleared)" for 0. */
void xf_tui_format_pte(char *text, size_t size, uint64_t pte);

/* 1234567 -> "1,234,567". */
void xf_tui_format_grouped(char *text, size_t size, int64_t value);

/* One decimal, rounded as the program's text tables do. */
void xf_tui_format_real(char *text, size_t size, double value);

#endif
