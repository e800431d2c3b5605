/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Xen's trace event mask by number and by name.
 * In: "0x0021f000", "pv,shadow", "pt".  Out: the 32-bit mask that Xen compares each event with.
 */
#ifndef XF_COMMON_EVENTMASK_H
#define XF_COMMON_EVENTMASK_H

#include <stdint.h>

#include "common/error.h"

/*
 * X(name, mask, what).  Bits 27..16 of a mask are classes, bits 15..12 subclasses, and Xen records
 * an event if it meets one bit of each: subclasses cannot be chosen per class.  So "pt" has the
 * three subclasses that PV records need (1; 2 for the calls inside a multicall; 4 for the records of
 * writable page tables), which in the scheduler class are the runstate changes and the records
 * private to a scheduler, but not its verbose subclass 8.
 */
#define XF_EVENT_CLASSES(X)                                                            \
	X("gen", 0x0001f000, "general")                                                \
	X("sched", 0x0002f000, "scheduler, verbose")                                   \
	X("dom0op", 0x0004f000, "domains created and destroyed")                       \
	X("hvm", 0x0008f000, "HVM and PVH guests: exits, entries, handlers")           \
	X("mem", 0x0010f000, "grants, physical-to-machine changes")                    \
	X("pv", 0x0020f000, "PV guests: page faults, hypercalls, emulated PTE writes") \
	X("shadow", 0x0040f000, "shadow paging")                                       \
	X("hw", 0x0080f000, "power management, interrupts")                            \
	X("guest", 0x0800f000, "written by guests")                                    \
	X("all", 0x0ffff000, "every class")                                            \
	X("pt", 0x00767000, "what page tables need: pv, shadow, mem, dom0op, runstates")

/* Xen's own mask after boot. */
#define XF_EVENTS_ALL 0x0ffff000u

/* Every bit that means something in a mask. */
#define XF_EVENTS_VALID 0xfffff000u

/*
 * Parses a comma-separated list of names and numbers (decimal or 0x...), joined by OR.  A mask
 * that can select nothing is refused.  Returns 0 or -XF_USAGE; allocates nothing.
 */
int xf_eventmask_parse(uint32_t *mask, const char *text, struct xf_error *err);

#endif
