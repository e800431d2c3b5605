/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the host of a live capture tells beside the trace: dom0's own log, which names its forks, and the names of
 * its domains.  In: tracefs, xl list, options.  Out: rows of the database, once the capture is over.
 */
#ifndef XF_CLI_HOST_NAMES_H
#define XF_CLI_HOST_NAMES_H

#include <sqlite3.h>

#include "cli/kernel_log.h"
#include "cli/options.h"

struct xf_host_names {
	struct xf_kernel_log log;
	bool far;      /* the capture is of another host */
	char *domains; /* what xl list said at the beginning, NULL = nothing */
	int refused;   /* logs of --guest that do not fit */
};

/* Before the capture.  What cannot be had is a warning: the capture goes on without it. */
void xf_host_names_begin(
	struct xf_host_names *names, const struct xf_options *options, bool far, bool no_guest_log);

/* After it, in a transaction of its own: names of domains, dom0's log, those of --guest; names of forks. */
int xf_host_names_load(struct xf_host_names *names, sqlite3 *db, const struct xf_options *options,
	struct xf_error *err);

void xf_host_names_close(struct xf_host_names *names);

#endif
