/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text log of a Linux kernel's ftrace (tracefs: trace, trace_pipe; trace-cmd report).  On the clock
 * x86-tsc its times are TSC cycles as Xen's records have them; on others they are seconds.
 * In: a file, or standard input.  Out: one line after the other; memory does not grow with the log.
 */
#ifndef XF_COMMON_FTRACE_H
#define XF_COMMON_FTRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

#define XF_FTRACE_CPUS 16384   /* a CPU number is below this */
#define XF_FTRACE_PIDS 4194304 /* the kernel's own limit of process ids */

/* One event.  The strings are the reader's, valid until the next call. */
struct xf_ftrace_line {
	uint64_t tsc; /* cycles; nanoseconds of a log in seconds */
	uint32_t cpu; /* of the guest: a vCPU */
	uint32_t pid; /* of the task that ran there */
	const char *comm, *event;
	const char *text;     /* what stands behind the event's name */
	unsigned long number; /* of the line, from 1 */
	unsigned long lost;   /* events of this CPU that the kernel lost before this one */
};

/* What the reader saw so far that a user of the log has to know. */
struct xf_ftrace_state {
	unsigned long events;
	unsigned long bad, first_bad; /* lines that are no event; number of the first one */
	unsigned long back;	      /* events that stand behind one of a later time */
	unsigned long long lost;      /* events that the kernel says it lost */
	bool overwritten;	      /* the header says that the oldest events are gone */
	bool seconds;		      /* its times are seconds */
};

struct xf_ftrace;

/*
 * "-" is standard input.  What cannot be read twice is kept in a temporary file without a name, so that
 * xf_ftrace_rewind() works.  Returns 0, -XF_IO, or -XF_FORMAT for trace-cmd's binary file.
 */
int xf_ftrace_open(struct xf_ftrace **log, const char *path, struct xf_error *err);

/* Takes logs in seconds too (their times have a decimal point), which xf_ftrace_next() else refuses. */
void xf_ftrace_any_clock(struct xf_ftrace *log);

/*
 * The next event: 1, 0 at the end, or -XF_FORMAT with the reason: no ftrace log at all, or one of
 * another clock.
 */
int xf_ftrace_next(struct xf_ftrace *log, struct xf_ftrace_line *line, struct xf_error *err);

/* Begins again; the state too. */
int xf_ftrace_rewind(struct xf_ftrace *log, struct xf_error *err);

void xf_ftrace_state(const struct xf_ftrace *log, struct xf_ftrace_state *state);

/* NULL is fine. */
void xf_ftrace_close(struct xf_ftrace *log);

/*
 * The number behind the last "key=" in an event's text, hexadecimal if it begins with 0x or base is 16.
 * False: it is not there, or is no number (the kernel prints some addresses as names).  The last, as
 * a task's name may hold anything, and numbers stand behind it; xf_ftrace_first() is for those before it.
 */
bool xf_ftrace_number(const char *text, const char *key, int base, uint64_t *value);
bool xf_ftrace_first(const char *text, const char *key, int base, uint64_t *value);

/* The word behind the first "key=", up to the next blank, at most size - 1 bytes; false: none. */
bool xf_ftrace_word(const char *text, const char *key, char *word, unsigned long size);

#endif
