/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bulk loader: rows of integers become B-tree pages of a SQLite file, without SQLite.
 * In: a database file that nobody else uses, empty tables in it, rows by ascending rowid.
 * Out: the same content as by INSERT, for about the cost of writing the bytes.
 * The file format: https://www.sqlite.org/fileformat2.html, sections 1.3 (header), 1.5 and 1.6
 * (B-tree pages), 2.1 (records), 1.4 (lock page).
 */
#ifndef XF_COLLECTOR_STORE_BULK_H
#define XF_COLLECTOR_STORE_BULK_H

#include <stdint.h>

#include "common/error.h"

struct xf_bulk;
struct xf_bulk_table;

#define XF_BULK_COLUMNS 63 /* of a table, at the most */

/*
 * Begins to append to the database at path.  SQLite must have no transaction and no page of it in
 * memory that is not in the file, and must leave it alone until xf_bulk_finish().
 * Returns 0; 1 = the loader cannot do that file, *why says what stands against it (static text):
 * INSERT has to; or a negative code.
 */
int xf_bulk_open(struct xf_bulk **bulk, const char *path, const char **why, struct xf_error *err);

/*
 * A table to fill: root is its root page (sqlite_schema.rootpage), columns their number.  It must be
 * an empty rowid table without index or trigger.  Several can be filled side by side.
 * Returns as xf_bulk_open() does; the table belongs to the bulk.
 */
int xf_bulk_table(struct xf_bulk *bulk, struct xf_bulk_table **table, uint32_t root, int columns,
	const char **why, struct xf_error *err);

/*
 * One row.  values: of the columns in their order; present: bit i set where column i is not NULL.
 * The bit of an INTEGER PRIMARY KEY stays clear, its value is the rowid, larger than of the row before.
 */
int xf_bulk_row(struct xf_bulk_table *table, int64_t rowid, const int64_t *values, uint64_t present,
	struct xf_error *err);

/*
 * Writes what is left, and last the header that makes it part of the database; not fsync.
 * Frees the bulk, also on failure; then the file is to be thrown away.
 */
int xf_bulk_finish(struct xf_bulk *bulk, struct xf_error *err);

/* Frees the bulk of a file that is thrown away; NULL is fine. */
void xf_bulk_abort(struct xf_bulk *bulk);

#endif
