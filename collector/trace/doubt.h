/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the collector cannot vouch for: counted by cause, with the place of the first one.
 * In: a cause.  Out: rows of the table `doubt`.
 */
#ifndef XF_COLLECTOR_TRACE_DOUBT_H
#define XF_COLLECTOR_TRACE_DOUBT_H

#include <stdbool.h>
#include <stdint.h>

/* X(enum, code in the database, text, 1 = the stream is not complete) */
#define XF_DOUBTS(X)                                                                               \
	X(CUT, "cut", "the stream ends inside a window or record", 1)                              \
	X(INTERRUPTED, "interrupted", "reading was interrupted, the rest is missing", 1)           \
	X(STRAY, "stray_bytes", "bytes outside of any window, skipped", 1)                         \
	X(WINDOW, "bad_window", "window headers with an impossible pCPU or size", 1)               \
	X(SHORT_WINDOW, "short_window", "windows that end before the size in their header", 1)     \
	X(PAST_WINDOW, "record_past_window", "records that run past the end of their window", 1)   \
	X(DAMAGED, "damaged",                                                                      \
		"windows with bytes that are no records, rest of the window skipped", 1)           \
	X(TSC_BACKWARDS, "tsc_backwards", "records with a TSC before that of their predecessor",   \
		0)                                                                                 \
	X(TSC_JUMP, "tsc_jump", "jumps of the TSC by 2^36 cycles or more", 0)                      \
	X(LATE, "late", "events that came too late to be put in order", 0)                         \
	X(UNTIMED, "untimed_start", "records without a TSC before the first TSC of their pCPU", 0) \
	X(SCHED_CONFLICT, "sched_conflict", "scheduler records that contradict each other", 0)     \
	X(BAD_DOMAIN, "bad_domain", "scheduler records of a reserved domain id (0x7ff0..0x7ffe)",  \
		0)                                                                                 \
	X(NO_SCHED, "no_scheduler",                                                                \
		"no scheduler records, so domain and vCPU are unknown (class sched)", 0)           \
	X(NO_OWNER, "no_owner", "events whose domain and vCPU are unknown", 0)                     \
	X(LOSS_EMPTY, "loss_empty", "lost-records records that report 0 lost", 0)                  \
	X(LOSS_TIME, "loss_time", "lost-records records whose first TSC is not before their own",  \
		0)                                                                                 \
	X(PCPU_UNSEEN, "pcpu_missing",                                                             \
		"steps of vCPUs that do not fit: pCPUs left out, or clocks that jump", 0)          \
	X(GAP, "gap", "spans without records in which something ran (view gaps)", 1)               \
	X(CLOCK_CORRECTED, "clock_corrected", "pCPUs whose clock differed, corrected", 0)          \
	X(CLOCK, "clock", "pCPUs whose clock differs (analyze --clocks)", 0)                       \
	X(OTHER_BUILD, "symbols_other_build",                                                      \
		"forks in a function that copies no page tables: symbols of another kernel build", \
		0)

enum xf_doubt_code {
#define X(id, code, text, incomplete) XF_DOUBT_##id,
	XF_DOUBTS(X)
#undef X
		XF_DOUBT_COUNT
};

struct xf_doubt {
	uint64_t count;
	uint64_t tsc;	 /* of the first, 0 = unknown */
	uint64_t offset; /* of the first, bytes into the stream */
};

/* Code, text and whether one of these makes a capture incomplete. */
const char *xf_doubt_code(enum xf_doubt_code code);
const char *xf_doubt_text(enum xf_doubt_code code);
bool xf_doubt_incomplete(enum xf_doubt_code code);

/* Counts n more. */
void xf_doubt_add(struct xf_doubt *doubts, enum xf_doubt_code code, uint64_t n, uint64_t tsc,
	uint64_t offset);

#endif
