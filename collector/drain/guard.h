/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that outlives this one, however it dies, and does then what is left to do.
 * In: notes of what that is, questions.  Out: calls of functions, in the other process.
 *
 * It keeps the rights that this one gives up, and nothing but three kinds of message reaches it.  Nothing else
 * can undo things after SIGKILL, SIGSEGV or abort().
 */
#ifndef XF_COLLECTOR_DRAIN_GUARD_H
#define XF_COLLECTOR_DRAIN_GUARD_H

#include <stddef.h>
#include <sys/types.h>

#define XF_GUARD_NOTE 64

struct xf_guard {
	int fd; /* messages to it; -1 = there is none */
	pid_t pid;
};

/* What it does; data is for all three. */
struct xf_guard_work {
	int (*prepare)(void *data); /* at its start; returns 0 or an errno */
	int (*stop)(void *data);    /* whenever xf_guard_stop() is called; returns 0 or an errno */
	/* once, at the end, with the last note (size 0: none came); returns its exit status */
	int (*undo)(void *data, const void *note, size_t size);
	void *data;
};

/*
 * Starts it; to be called while there is one thread, and nothing to undo yet.  keep_fd (-1 = none) stays open
 * in it beside stderr, all else is closed.  When this process ends, however it does, undo() runs there.  Returns 0, or -1 with errno, also where prepare() fails.
 */
int xf_guard_start(struct xf_guard *guard, int keep_fd, const struct xf_guard_work *work);

/* What is to be undone from now on; size is 2 to XF_GUARD_NOTE. */
void xf_guard_note(const struct xf_guard *guard, const void *note, size_t size);

/* Has stop() called; returns what that does, or an errno where the guard is gone. */
int xf_guard_stop(const struct xf_guard *guard);

/*
 * Has undo() called now, and waits for its end.  Returns the exit status, 0 where there is no guard, -1 where it
 * was killed.
 */
int xf_guard_release(struct xf_guard *guard);

#endif
