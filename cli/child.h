/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Child processes of xenfault record: the producer of the stream, and the command to be traced.
 * In: argument vectors.  Out: process ids, pipe ends, exit statuses.
 */
#ifndef XF_CLI_CHILD_H
#define XF_CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"

struct xf_child {
	pid_t pid;  /* 0 = not running */
	int out;    /* its standard output, -1 = not ours */
	int in;	    /* its standard input, -1 = not ours; closing it asks xenfault-drain to end */
	int news;   /* its --status-fd, -1 = none */
	int go;	    /* what holds it back, -1 = nothing */
	int report; /* what tells whether it could be run, -1 = told */
	int wait_status;
};

#define XF_CHILD_STATUS_FD 3

/*
 * Starts a producer: stdout is a pipe, and where status is set stdin and descriptor 3 are too.  It
 * leads a process group of its own, so that Ctrl-C reaches it through us, in order.  Without status it
 * starts with SIGINT ignored, as in "xentrace | cat": SIGINT then ends xentrace, which catches it
 * and turns tracing off while cat still takes what it writes.
 */
int xf_child_producer(
	struct xf_child *child, char *const argv[], bool status, struct xf_error *err);

/*
 * A command that keeps our terminal, and has the rights and the descriptors of this moment: a process that waits
 * until it is let go, or is gone with us.
 */
int xf_child_hold(struct xf_child *child, char *const argv[], struct xf_error *err);

/* The command is run. */
int xf_child_release(struct xf_child *child, char *const argv[], struct xf_error *err);

/* No child. */
#define XF_NO_CHILD ((struct xf_child){.out = -1, .in = -1, .news = -1, .go = -1, .report = -1})

/* Has it ended?  wait_status is set then, and pid is 0. */
bool xf_child_ended(struct xf_child *child);

/* Asks it to end: closes its input and sends a signal to its group. */
void xf_child_stop(struct xf_child *child, int signal_number);

/* Closes what is open of it; a process that still runs is killed. */
void xf_child_close(struct xf_child *child);

#endif
