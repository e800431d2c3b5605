/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of dom0's own kernel while xenfault record runs.
 * In: tracefs.  Out: the log in a file without a name.
 *
 * A child process holds the tracefs instance and removes it when it is told to, and when we are gone, however
 * we went.  Only when it is killed itself the instance stays, until the next run.
 */
#ifndef XF_CLI_KERNEL_LOG_H
#define XF_CLI_KERNEL_LOG_H

#include <sys/types.h>

#include "common/error.h"

struct xf_kernel_log {
	pid_t pid;     /* 0 = there is none */
	int stop;      /* closing it ends the child */
	int file;      /* the log, -1 = none */
	char path[32]; /* of that */
};

/* Starts it; -XF_LIVE with the reason where it cannot be, -XF_IO or -XF_INTERNAL. */
int xf_kernel_log_start(struct xf_kernel_log *log, struct xf_error *err);

/* Ends it: the log is whole then.  May be called again. */
void xf_kernel_log_stop(struct xf_kernel_log *log);

/* Ends it, and the log goes. */
void xf_kernel_log_close(struct xf_kernel_log *log);

#endif
