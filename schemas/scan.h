/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of a table of integers in the order of their rowid, as fast as the file can be read.
 * In: a connection, a table.  Out: values, row by row.
 * Leaf pages of the table's B-tree are read through SQLite's own file and decoded here, under the lock
 * of a statement of that connection; where that cannot be (WAL, a fleet, a temporary database), rows
 * come by SELECT, with the same result.
 * The file format: https://www.sqlite.org/fileformat2.html, sections 1.6 and 2.1.
 */
#ifndef XF_SCHEMAS_SCAN_H
#define XF_SCHEMAS_SCAN_H

#include <sqlite3.h>
#include <stdbool.h>

#include "common/error.h"
#include "schemas/row.h"

struct xf_scan;

/*
 * Begins with the first rowid >= from and ends behind the last one <= to.  columns: names with commas,
 * all of the table, in its order, the INTEGER PRIMARY KEY (whose value is never present) among them;
 * n: their number.  clean: what the connection has changed and not committed is not in this table.
 * The caller closes the scan before the transaction ends.
 */
int xf_scan_open(struct xf_scan **scan, sqlite3 *db, const char *table, const char *columns, int n,
	int64_t from, int64_t to, bool clean, struct xf_error *err);

/*
 * The next row: values of the columns, bit i of *present set where column i is not NULL.
 * Returns 1, 0 at the end, or a negative code (-XF_DB: damaged, or no integers).
 */
int xf_scan_next(struct xf_scan *scan, int64_t *rowid, int64_t *values, uint64_t *present,
	struct xf_error *err);

/* Leaves out the rows before this rowid: those of whole pages are not looked at. */
void xf_scan_skip(struct xf_scan *scan, int64_t from);

void xf_scan_close(struct xf_scan *scan);

/* Events of the table `event`, whole: with what event_late, event_place and event_type hold. */
struct xf_event_scan {
	struct xf_scan *events, *late;
	struct xf_dictionary dictionary;
	int64_t late_id; /* the next event with a latest time, 0 = none */
	int64_t late_tsc;
};

/* from, to: event_id, both inclusive; clean as for xf_scan_open().  Close it, also after a failure. */
int xf_event_scan_open(struct xf_event_scan *scan, sqlite3 *db, int64_t from, int64_t to,
	bool clean, struct xf_error *err);
int xf_event_scan_next(struct xf_event_scan *scan, int64_t *event_id, struct xf_event *event,
	struct xf_error *err);
/* Leaves out the events before this one. */
int xf_event_scan_skip(struct xf_event_scan *scan, int64_t from, struct xf_error *err);
void xf_event_scan_close(struct xf_event_scan *scan);

#endif
