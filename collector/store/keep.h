/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A capture whose file was removed or replaced while it was being recorded.
 * In: its connection, which still reaches it.  Out: a copy under another name.
 */
#ifndef XF_COLLECTOR_STORE_KEEP_H
#define XF_COLLECTOR_STORE_KEEP_H

#include <sqlite3.h>
#include <sys/stat.h>

#include "common/newfile.h"

/* The files beside a database in WAL mode, so that they are known again. */
struct xf_keep_wal {
	struct stat file[2]; /* -wal and -shm; st_ino 0 = not seen yet */
};

void xf_keep_remember(struct xf_keep_wal *wal, const struct xf_newfile *file);

/* Those that are still ours lie beside a file that is not, and would be taken for its: removes them. */
void xf_keep_forget(const struct xf_keep_wal *wal, const struct xf_newfile *file);

/*
 * Copies the database to a new file whose name is that of file with .kept, .kept-2 ... behind it.  *kept
 * is that name, to be freed; NULL on failure.
 */
int xf_keep(sqlite3 *db, const struct xf_newfile *file, char **kept, struct xf_error *err);

#endif
