/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events into a new database by the bulk loader, while the analyzer's rows wait in temporary tables.
 * In: a reader's thread, a database that nobody else sees yet.  Out: its tables, filled.
 */
#ifndef XF_COLLECTOR_STORE_LOAD_H
#define XF_COLLECTOR_STORE_LOAD_H

#include <sqlite3.h>

#include "collector/store/vtab.h"

/*
 * Tables that stand in for those of db, of the same names and in the connection's temporary database,
 * so that they can grow while the loader writes to the file.  Not for the tables that it fills.
 * Outside of a transaction.
 */
int xf_load_stand_ins(sqlite3 *db, struct xf_error *err);

/* Moves the rows of the stand-ins to the tables that they stood in for, and drops them. */
int xf_load_settle(sqlite3 *db, struct xf_error *err);

/*
 * All events of vtab->pump into the tables event and event_late of the file at path, of which db (in
 * no transaction) is the connection; dictionary counts them.  vtab->tap and vtab->stop are called as
 * for xentrace().  Returns 0; 1 = it cannot be done (*why, static text), INSERT has to; or negative.
 */
int xf_load_events(sqlite3 *db, const char *path, struct xf_dictionary *dictionary,
	struct xf_vtab *vtab, const char **why, struct xf_error *err);

#endif
