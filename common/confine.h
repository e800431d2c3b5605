/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rights that this process gives up, for good.
 * In: who it shall be, the system calls that it needs.  Out: a process without the rest.
 *
 * Each step that the kernel lacks (or the sanitizers forbid) is left out and told as text: it is no
 * reason not to run.  All are to be called while there is one thread.
 */
#ifndef XF_COMMON_CONFINE_H
#define XF_COMMON_CONFINE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What was done, and what could not be: lists for people, empty = nothing. */
struct xf_confined {
	char done[300], missing[300];
};

/* Whose rights the process keeps. */
struct xf_confine_who {
	uid_t uid;
	gid_t gid;
};

/* The user for what needs no rights: xenfault where there is one, else nobody. */
void xf_confine_nobody(struct xf_confine_who *who);

/*
 * Becomes that user, if it is root, and gives up all capabilities and the way to get new ones (setuid
 * programs).
 */
void xf_confine_rights(struct xf_confined *confined, const struct xf_confine_who *who);

/* A system call that is allowed; where mask is not 0 only if (its argument & mask) == value. */
struct xf_confine_call {
	int number; /* negative: this architecture has none such */
	uint32_t argument, mask, value;
};

/*
 * From now on all others fail with ENOSYS, which the C library takes for an old kernel (seccomp).  At
 * most XF_CONFINE_CALLS.
 */
#define XF_CONFINE_CALLS 200
void xf_confine_calls(
	struct xf_confined *confined, const struct xf_confine_call *calls, size_t count);

/*
 * From now on each of the calls trapped waits until whoever holds the returned descriptor has answered it
 * (seccomp_unotify(2)), and those that no analysis needs fail with EPERM.  Returns a negative errno where that cannot be had;
 * nothing has changed then but that there are no new privileges.
 */
#define XF_CONFINE_TRAPS 40
int xf_confine_trap(const int *trapped, size_t count);

/* Files are only read from now on, but for those below folders and what is open (Landlock). */
void xf_confine_files(struct xf_confined *confined, const char *const folders[], size_t count);

#endif
