/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that outlives this one, however it dies, and does then what is left to do.
 * In: notes of what that is.  Out: one call of a function, in the other process, unless it was not needed.
 *
 * Nothing else can undo things after SIGKILL, SIGSEGV or abort().
 */
#ifndef XF_COLLECTOR_DRAIN_GUARD_H
#define XF_COLLECTOR_DRAIN_GUARD_H

#include <stddef.h>
#include <sys/types.h>

struct xf_guard {
	int fd; /* notes to it; -1 = there is none */
	pid_t pid;
};

/*
 * Starts it; to be called while there is one thread, and nothing to undo yet.  keep_fd (-1 = none) stays open
 * in it beside stderr, all else is closed.  Where this process ends without xf_guard_release(), undo(data, note,
 * size) runs there with the last note; without any note nothing does.  Returns 0, or -1 with errno.
 */
int xf_guard_start(struct xf_guard *guard, int keep_fd,
	void (*undo)(void *data, const void *note, size_t size), void *data);

/* What is to be undone from now on; size is at most XF_GUARD_NOTE. */
#define XF_GUARD_NOTE 64
void xf_guard_note(const struct xf_guard *guard, const void *note, size_t size);

/* Nothing is left to undo: ends it, and waits until it has ended. */
void xf_guard_release(struct xf_guard *guard);

#endif
