// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault.so: xentrace(path) and the helper functions for any SQLite client.
 * In: a connection that loads it.  Out: a table-valued function and three functions.
 */
#include <sqlite3ext.h>

#include "collector/store/functions.h"
#include "collector/store/vtab.h"

SQLITE_EXTENSION_INIT1

int sqlite3_xenfault_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);

/* The name that SQLite derives from xenfault.so. */
__attribute__((visibility("default"))) int sqlite3_xenfault_init(
	sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
	int code;

	(void)message;
	SQLITE_EXTENSION_INIT2(api);
	code = xf_vtab_register_own(db);
	return code == SQLITE_OK ? xf_functions_register(db) : code;
}
