/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Included before everything in what becomes xenfault.so: SQLite is called through the host's own
 * copy of it, so that the extension works in programs that bring one along.
 */
#ifndef XF_EXTENSION_H
#define XF_EXTENSION_H

#include <sqlite3ext.h>

#pragma GCC visibility push(hidden)
SQLITE_EXTENSION_INIT3
#pragma GCC visibility pop

#endif
