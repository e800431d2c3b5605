/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Error codes and page-table entries in words.  In: numbers.  Out: text in the caller's buffer.
 */
#ifndef XF_COMMON_WORDS_H
#define XF_COMMON_WORDS_H

#include <stddef.h>
#include <stdint.h>

#define XF_WORDS 160 /* a buffer of this size holds the longest text */

/* "write, user, protection": the bits of a page fault's error code. */
const char *xf_error_code_text(uint64_t error_code, char *text, size_t size);

/* "P RW US A D NX": the flags of an x86 page-table entry, "-" = none. */
const char *xf_pte_flags(uint64_t pte, char *text, size_t size);

#endif
