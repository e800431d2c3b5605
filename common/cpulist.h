/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of physical CPUs as people write them.
 * In: "0-3,8", "0x0f", "all".  Out: one bit per CPU.  What is not understood is refused, never
 * taken as "all".
 */
#ifndef XF_COMMON_CPULIST_H
#define XF_COMMON_CPULIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* More than any Xen is built for (its limit is 16383 CPUs). */
#define XF_CPULIST_MAX 16384

struct xf_cpulist {
	bool all;			  /* every CPU there is; bits is then empty */
	int last;			  /* highest CPU named, -1 with all */
	uint8_t bits[XF_CPULIST_MAX / 8]; /* CPU n is bit n % 8 of byte n / 8 */
};

/*
 * Parses a comma-separated list of N, N-M and hexadecimal masks, or "all" alone.  Spaces are not
 * allowed, a list without a CPU is refused.  Returns 0 or -XF_USAGE; allocates nothing.
 */
int xf_cpulist_parse(struct xf_cpulist *list, const char *text, struct xf_error *err);

/* True if the list has that CPU. */
bool xf_cpulist_has(const struct xf_cpulist *list, unsigned cpu);

/* Adds one CPU, below XF_CPULIST_MAX, to a list (one set to zero with last = -1 is empty). */
void xf_cpulist_add(struct xf_cpulist *list, unsigned cpu);

/* The CPUs of bits as 1,3-5; an empty list is "", one too long for text ends with ",...". */
void xf_cpulist_format(const struct xf_cpulist *list, char *text, size_t size);

#endif
