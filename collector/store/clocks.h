/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times of events on one clock.  In: a database whose table pcpu says by how much each clock differs.
 * Out: the same facts with corrected times, in the order that these give.
 */
#ifndef XF_COLLECTOR_STORE_CLOCKS_H
#define XF_COLLECTOR_STORE_CLOCKS_H

#include <sqlite3.h>
#include <stdbool.h>

#include "common/error.h"

/*
 * Corrects the times of those pCPUs whose clock was not corrected yet: where the bounds are tight, or (always)
 * also where they are not.  In the caller's transaction.  Event numbers change: the derived tables have
 * to be made again.  *pcpus: how many were corrected.
 */
int xf_clocks_apply(sqlite3 *db, bool always, int64_t *pcpus, struct xf_error *err);

/* Which pCPUs' clocks differ, and by how much, into the text of the doubts that say so. */
int xf_clocks_name(sqlite3 *db, struct xf_error *err);

#endif
