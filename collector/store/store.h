/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store: one capture becomes one database.
 * In: a reader.  Out: the facts tables; a file that appears under its name only when it is whole.
 */
#ifndef XF_COLLECTOR_STORE_STORE_H
#define XF_COLLECTOR_STORE_STORE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "collector/trace/reader.h"
#include "common/newfile.h"
#include "collector/store/vtab.h"

struct xf_store;

/* Starts a database that will be called path.  flags: XF_NEWFILE_FORCE, XF_NEWFILE_PRIVATE. */
int xf_store_create(
	struct xf_store **store, const char *path, unsigned flags, struct xf_error *err);

/* The file that it becomes; it belongs to the store. */
const struct xf_newfile *xf_store_file(struct xf_store *store);

/*
 * The connection, for the analyzer's tables; it belongs to the store.  Until xf_store_summary() the
 * tables other than event are stand-ins (load.h): they go by their plain names, views do not see them.
 */
sqlite3 *xf_store_db(struct xf_store *store);

/*
 * All events of vtab->pump become rows through the bulk loader; where that cannot be, or without a
 * pump, those of vtab->reader by INSERT ... SELECT from xentrace.  vtab->tap sees them on their way.
 * Returns 0 or a negative code.
 */
int xf_store_ingest(struct xf_store *store, struct xf_vtab *vtab, struct xf_error *err);

/* Why the rows were stored by INSERT (static text); NULL = they were not. */
const char *xf_store_why_insert(const struct xf_store *store);

/*
 * Writes what only the whole stream shows: capture, losses, counts, doubts.  The analyzer has finished
 * and is freed.  source: how the capture
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

/*
 * A database that grows while others read it (WAL), marked as cut short until
 * xf_store_live_finish().  Made first under a temporary name, so that a capture that never begins
 * leaves nothing; xf_store_live_place() gives it its name and opens it.
 */
int xf_store_live(struct xf_store **store, const char *path, unsigned flags, const char *source,
	uint64_t cpu_hz, struct xf_error *err);
int xf_store_live_place(struct xf_store *store, struct xf_error *err);

/*
 * Takes at most budget events of vtab->reader into one transaction, with the counts so far.  before
 * (may be NULL) runs inside it, at its end.  Returns 1 = there may be more at once, 0 = the reader
 * has nothing final now, or negative; *ended is set when the stream has ended.
 */
int xf_store_live_step(struct xf_store *store, struct xf_vtab *vtab, int64_t budget,
	int (*before)(void *data, struct xf_error *err), void *data, bool *ended,
	struct xf_error *err);

/*
 * True after a transaction of a live capture failed: the database stays as it was before it, with the
 * counts of that time, and nothing that the analyzer has seen since may be written.
 */
bool xf_store_torn(const struct xf_store *store);

/* Bytes of the WAL; above XF_WAL_LIMIT a reader that holds an old state keeps it from shrinking. */
#define XF_WAL_LIMIT (64 << 20)
int64_t xf_store_wal_size(struct xf_store *store);

/* Tries to start the WAL anew: true = a reader prevents it.  Never waits. */
bool xf_store_wal_busy(struct xf_store *store);

/* The frequency, where it became known only now. */
void xf_store_set_hz(struct xf_store *store, uint64_t cpu_hz);

/*
 * The last counts; complete: the stream came to its own end.  Frees the store, also on failure.
 * *kept, to be freed, is the name under which the database was kept because its own no longer leads
 * to it; else NULL.
 */
int xf_store_live_finish(struct xf_store *store, struct xf_vtab *vtab, bool complete, char **kept,
	struct xf_error *err);

/* Makes the database durable and gives it its name.  Frees the store, also on failure. */
int xf_store_commit(struct xf_store *store, struct xf_error *err);

/* Throws the unfinished database away; NULL is fine. */
void xf_store_abort(struct xf_store *store);

#endif
