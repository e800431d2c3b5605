/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Few files for a process that gives up its rights as root, from a process that keeps them (the broker).
 * In: the names that it needs.  Out: a process that reaches those as before, and nothing else of root's.
 *
 * The kernel hands the system calls that name files to the broker (seccomp_unotify(2)).  What is granted the
 * broker does itself, with names that it has copied; all else the process tries with the rights it has left.
 * So no code needs to know of it: SQLite, C library and our own open files as ever.
 */
#ifndef XF_COMMON_BROKER_H
#define XF_COMMON_BROKER_H

#include <stddef.h>
#include <sys/types.h>

#include "common/confine.h"
#include "common/error.h"

#define XF_BROKER_MADE	   2
#define XF_BROKER_CHILDREN 2

struct xf_broker_grants {
	const char *const *read; /* files that may be read, spelt as they will be */
	size_t nread;
	/* files to be made (common/newfile.h), each with all that may lie beside it; NULL = none */
	const char *made[XF_BROKER_MADE];
	pid_t children[XF_BROKER_CHILDREN]; /* they and their groups may get signals; 0 = none */
	int file; /* a descriptor behind one of read (/proc/self/fd/N); -1 = none */
};

/*
 * Becomes who, for good; only root can.  To be called while there is one thread.  *broker is for
 * xf_broker_release().  -XF_LIVE with the reason where the kernel has not what it takes: the process goes on as it was.
 */
int xf_broker_start(int *broker, const struct xf_broker_grants *grants,
	const struct xf_confine_who *who, struct xf_confined *confined, struct xf_error *err);

/* Nothing is granted any more, and the broker uses no folder.  It ends with this process.  Negative: nothing is done. */
void xf_broker_release(int broker);

#endif
