/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xenfault export --to postgresql.  In: a database.  Out: a stream for psql. */
#ifndef XF_CLI_EXPORT_POSTGRESQL_H
#define XF_CLI_EXPORT_POSTGRESQL_H

#include <sqlite3.h>
#include <stdio.h>

#include "common/error.h"

/*
 * Writes the capture, or each host of a fleet, as one transaction per host: what the host had goes, its
 * rows follow by COPY.  The host's name is host (may be NULL), else that in the fleet, else that of the file path without
 * ".db".  With a fleet, host chooses one.  Memory does not grow with the rows.
 */
int xf_export_postgresql(
	sqlite3 *db, const char *path, const char *host, FILE *file, struct xf_error *err);

#endif
