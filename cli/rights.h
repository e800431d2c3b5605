/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record as root: reading, analysis and SQLite get on without root's rights.
 * In: the options, what is to be made.  Out: a process that has only what the capture needs.
 */
#ifndef XF_CLI_RIGHTS_H
#define XF_CLI_RIGHTS_H

#include <sys/types.h>

#include "cli/options.h"

struct xf_rights {
	const struct xf_options *options;
	const char *database, *raw; /* files that are being made; raw: NULL = none */
	pid_t producer;		    /* may be told to end */
	const char *log;	    /* dom0's, as /proc/self/fd/N, NULL = none */
	int log_file;		    /* N */
};

/*
 * Gives up root's rights, where there are such, and becomes the user behind sudo or else an unprivileged one.
 * What is not to be had here is told, and the capture goes on; the error is one after which it cannot.  To be
 * called while there is one thread, and before a byte of the stream is read.  *broker is for xf_broker_release()
 * at the end, -1 = there is none.
 */
int xf_rights_give_up(const struct xf_rights *rights, int *broker, struct xf_error *err);

#endif
