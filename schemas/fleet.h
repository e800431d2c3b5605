/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fleet: the captures of many hosts in one database, the same tables with host_id in front.
 * In: the tables of one capture.  Out: what they are called in a fleet, and one host of it as a capture.
 */
#ifndef XF_SCHEMAS_FLEET_H
#define XF_SCHEMAS_FLEET_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

/* "XFLF": PRAGMA application_id of a fleet. */
#define XF_FLEET_ID 0x58464c46

/*
 * The tables of a capture.  columns: their names with a blank between; a + behind a name says that the
 * value is unsigned, 64 bits, stored as two's complement.
 */
struct xf_table {
	const char *name, *columns;
};

/* The i-th table, NULL at the end; referenced ones come first. */
const struct xf_table *xf_fleet_table(size_t i);

/* One column of the list: its name without the mark.  *columns moves on; false at the end. */
bool xf_fleet_column(const char **columns, char *name, size_t size, bool *is_unsigned);

/* Is the open database a fleet? */
int xf_fleet_is(sqlite3 *db, bool *is_fleet, struct xf_error *err);

/* Makes the tables and views of an empty database, its ids included. */
int xf_fleet_create(sqlite3 *db, struct xf_error *err);

/*
 * Loads the capture at path as this host: its rows replace what the host had, in one transaction.
 * The path has been opened as a capture before.
 */
int xf_fleet_load(sqlite3 *db, const char *host, const char *path, struct xf_error *err);

/*
 * From here on the connection shows this host alone: the names of a capture's tables and views are
 * temporary views over its rows.  May be called again for another host.
 */
int xf_fleet_show(sqlite3 *db, const char *host, struct xf_error *err);

#endif
