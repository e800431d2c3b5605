/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The analyzer: events become fault sequences of page-table pages, and the forks behind them.
 * In: events in the order of event_id, as they are read or from the table `event`.
 * Out: rows of the derived tables.  docs/analysis.md tells how, and the limits of it.
 */
#ifndef XF_ANALYZER_ANALYZER_H
#define XF_ANALYZER_ANALYZER_H

#include <sqlite3.h>

#include "common/error.h"
#include "common/progress.h"
#include "schemas/event.h"

struct xf_analyzer;

/* Writes to the derived tables of db, which exist and are empty.  db must outlive the analyzer. */
int xf_analyzer_new(struct xf_analyzer **analyzer, sqlite3 *db, struct xf_error *err);

/* The next event.  Returns 0 or a negative code. */
int xf_analyzer_event(struct xf_analyzer *analyzer, int64_t event_id, const struct xf_event *event,
	struct xf_error *err);

/* Brings rows up to date that later events have changed, while the capture goes on. */
int xf_analyzer_flush(struct xf_analyzer *analyzer, struct xf_error *err);

/* The capture ends here: closes what is open and writes the last rows. */
int xf_analyzer_finish(struct xf_analyzer *analyzer, struct xf_error *err);

/* Frees; NULL is fine.  Before the database is closed. */
void xf_analyzer_free(struct xf_analyzer *analyzer);

/*
 * Drops the derived tables of a database and builds them again from its events, in one transaction.
 * progress (may be NULL) counts events and can stop the work (-XF_INTERRUPTED, nothing changed).
 */
int xf_analyze(sqlite3 *db, struct xf_progress *progress, struct xf_error *err);

/*
 * Marks the forks whose records' order is not sure, because the clocks of pCPUs differ and were not
 * corrected.  Once, after the table pcpu was written and the forks were; xf_analyze() does it itself.
 */
int xf_analyze_mark(sqlite3 *db, struct xf_error *err);

/*
 * Names forks by the logs of guests that the database holds (tables guest_*); without one it does nothing.
 * May be called again.  After the forks were written; xf_analyze() does it itself.
 */
int xf_analyze_names(sqlite3 *db, struct xf_error *err);

/* Empties the derived tables, for instance because the events were put in another order. */
int xf_analyze_clear(sqlite3 *db, struct xf_error *err);

#endif
