/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store: one capture becomes one database.
 * In: a reader.  Out: the facts tables; a file that appears under its name only when it is whole.
 */
#ifndef XF_COLLECTOR_STORE_H
#define XF_COLLECTOR_STORE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "collector/reader.h"
#include "collector/vtab.h"

struct xf_store;

/*
 * Starts a database that will be called path: it is written beside it under a temporary name.
 * Fails when path exists, unless force is given.
 */
int xf_store_create(struct xf_store **store, const char *path, bool force, struct xf_error *err);

/* The connection, for the analyzer's tables; it belongs to the store. */
sqlite3 *xf_store_db(struct xf_store *store);

/*
 * All events of vtab->reader become rows (INSERT ... SELECT from xentrace).  vtab->tap sees them on
 * their way.  Returns 0 or a negative code.
 */
int xf_store_ingest(struct xf_store *store, struct xf_vtab *vtab, struct xf_error *err);

/*
 * Writes what only the whole stream shows: capture, losses, counts, doubts.  source: how the capture
 * row names it; cpu_hz 0 = unknown.
 */
int xf_store_summary(struct xf_store *store, struct xf_reader *reader, const char *source,
	uint64_t cpu_hz, struct xf_error *err);

/*
 * For a look at a trace without a database to keep: the same tables in a temporary database,
 * which SQLite keeps in a file without a name once it grows.  The caller closes *db.
 */
int xf_store_scan(sqlite3 **db, struct xf_vtab *vtab, const char *source, uint64_t cpu_hz,
	struct xf_error *err);

/* Makes the database durable and gives it its name.  Frees the store, also on failure. */
int xf_store_commit(struct xf_store *store, struct xf_error *err);

/* Throws the unfinished database away; NULL is fine. */
void xf_store_abort(struct xf_store *store);

#endif
