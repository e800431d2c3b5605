/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How page tables were written: the column `mechanism` of forks and fault sequences.
 * In: number or name.  Out: the other one.
 */
#ifndef XF_SCHEMAS_MECHANISM_H
#define XF_SCHEMAS_MECHANISM_H

/* X(enum, name in the database, what it is) */
#define XF_MECHANISMS(X)                                                               \
	X(EMULATE, "emulate", "each entry's write is a fault that Xen emulates")       \
	X(UNHOOK, "unhook", "the page is made writable and checked afterwards (2006)") \
	X(OOS, "oos", "the page goes out of sync with its shadow")                     \
	X(MIXED, "mixed", "more than one of these")

enum xf_mechanism {
#define X(id, name, what) XF_BY_##id,
	XF_MECHANISMS(X)
#undef X
		XF_MECHANISM_COUNT
};

/* NULL for a number out of range. */
const char *xf_mechanism_name(unsigned mechanism);
const char *xf_mechanism_what(unsigned mechanism);

/* XF_MECHANISM_COUNT for a name that is none, and for NULL. */
enum xf_mechanism xf_mechanism_by_name(const char *name);

#endif
