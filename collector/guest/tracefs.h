/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of this host's own kernel, taken for a capture: a tracefs instance of our own, which no other user of
 * ftrace notices, with the few events that name forks, on Xen's clock.
 * In: tracefs.  Out: text, which xf_guest_load() reads.
 */
#ifndef XF_COLLECTOR_GUEST_TRACEFS_H
#define XF_COLLECTOR_GUEST_TRACEFS_H

#include <stdbool.h>

#include "common/error.h"

/* Where logs that were taken so are from, in the column source. */
#define XF_TRACEFS_SOURCE "tracefs"

struct xf_tracefs {
	char path[192]; /* of the instance, "" = none */
	int pipe;	/* its trace_pipe, does not block; -1 = none */
};

/*
 * Makes the instance and turns its events on.  root: where tracefs is, NULL = where it usually is.  Instances
 * whose process is gone are removed first.  -XF_LIVE with the reason where it cannot be; then nothing is left.
 */
int xf_tracefs_start(struct xf_tracefs *t, const char *root, struct xf_error *err);

/* No more events; those that are there can still be read. */
void xf_tracefs_stop(const struct xf_tracefs *t);

/* Removes the instance; may be called for one that was never made.  False: it is still there. */
bool xf_tracefs_remove(struct xf_tracefs *t);

#endif
