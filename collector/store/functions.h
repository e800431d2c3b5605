/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SQL functions that show numbers as people read them.
 * hex64(x): "0x..." of an address; pte_flags(x): "P RW US A D"; error_code_text(x): "write, user,
 * not present".  In: a connection.  Out: the functions, NULL for NULL.
 */
#ifndef XF_COLLECTOR_STORE_FUNCTIONS_H
#define XF_COLLECTOR_STORE_FUNCTIONS_H

#include <sqlite3.h>

/* Registers them.  Returns a code of SQLite. */
int xf_functions_register(sqlite3 *db);

#endif
