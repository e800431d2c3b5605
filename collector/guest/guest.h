/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of a guest's own kernel beside a capture: who forked, who ran where.
 * In: a database with its events, an ftrace text log.  Out: the tables guest_*, on the capture's clock.
 *
 * Xen's records and the kernel's log tell of the same page faults, each with its address, error code,
 * instruction and vCPU.  They show that the log belongs to the capture, and how its clock runs.
 */
#ifndef XF_COLLECTOR_GUEST_GUEST_H
#define XF_COLLECTOR_GUEST_GUEST_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/ftrace.h"

/* What a log gave, for those who gave it. */
struct xf_guest_result {
	struct xf_ftrace_state log;
	uint64_t forks;		  /* lines of sched_process_fork */
	uint64_t faults, matched; /* user page faults in the capture's time; those that both have */
	uint64_t residual;	  /* largest distance of the two times of a fault, cycles */
	double rate;		  /* cycles per unit of the log's time (ns or cycles) */
	bool fitted;		  /* its clock is another one, and was fitted */
};

/*
 * Reads the log of domain domid at path ("-": standard input) into the tables guest_*, whose rows of that
 * domain it replaces.  The events are committed, a transaction is open; after a failure the caller rolls back.
 * stop (may be NULL) is asked now and then.  Returns 0, -XF_FORMAT for what is no log, or one that does not
 * belong to the capture, -XF_IO, -XF_INTERRUPTED or another code.
 */
int xf_guest_load(sqlite3 *db, int domid, const char *path, bool (*stop)(void),
	struct xf_guest_result *result, struct xf_error *err);

#endif
