/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Logs of guests' kernels.  In: --guest options.  Out: the tables guest_*, names of forks. */
#ifndef XF_CLI_GUESTS_H
#define XF_CLI_GUESTS_H

#include <sqlite3.h>

#include "cli/options.h"

/* Can the logs, and --domain-names, be read at all?  Before long work is begun; -XF_IO, or -XF_USAGE where stdin is needed twice. */
int xf_guests_check(const struct xf_options *options, struct xf_error *err);

/*
 * Reads the logs, and names forks unless --no-analyze was given.  The events are committed, a transaction
 * is open.  A log that is none, or does not fit, is left out with a warning, and *refused counts it.
 */
int xf_guests_load(
	sqlite3 *db, const struct xf_options *options, int *refused, struct xf_error *err);

/* The error at the end where logs were left out; 0 = none were. */
int xf_guests_outcome(int refused, struct xf_error *err);

#endif
