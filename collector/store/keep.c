// SPDX-License-Identifier: GPL-2.0-or-later
/* Captures that lost their name.  In: a connection.  Out: a copy. */
#include "collector/store/keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "schemas/db.h"

static char *name_beside(const struct xf_newfile *file, int i)
{
	char *name;

	return asprintf(&name, "%s%s", file->path, i ? "-shm" : "-wal") < 0 ? NULL : name;
}

void xf_keep_remember(struct xf_keep_wal *wal, const struct xf_newfile *file)
{
	for (int i = 0; i < 2 && !wal->file[i].st_ino; i++) {
		char *name = name_beside(file, i);

		if (!name || lstat(name, &wal->file[i]))
			wal->file[i].st_ino = 0;
		free(name);
	}
}

void xf_keep_forget(const struct xf_keep_wal *wal, const struct xf_newfile *file)
{
	for (int i = 0; i < 2; i++) {
		char *name = name_beside(file, i);
		struct stat st;

		if (name && wal->file[i].st_ino && !lstat(name, &st) &&
			st.st_ino == wal->file[i].st_ino && st.st_dev == wal->file[i].st_dev)
			unlink(name);
		free(name);
	}
}

/* Through the connection: the file may have no name any more. */
static int copy_to(sqlite3 *db, struct xf_newfile *file, struct xf_error *err)
{
	sqlite3_backup *backup = NULL;
	sqlite3 *other = NULL;
	int code = 0;

	if (sqlite3_open_v2(file->working, &other, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK)
		backup = sqlite3_backup_init(other, "main", db, "main");
	if (backup)
		sqlite3_backup_step(backup, -1);
	if (!backup || sqlite3_backup_finish(backup) != SQLITE_OK)
		code = other ? xf_db_fail(other, file->path, err) : xf_fail_nomem(err);
	if (!code)
		code = xf_db_exec(other, "PRAGMA journal_mode = DELETE", err);
	sqlite3_close(other);
	return code ? code : xf_newfile_place(file, err);
}

int xf_keep(sqlite3 *db, const struct xf_newfile *file, char **kept, struct xf_error *err)
{
	struct xf_newfile *copy = NULL;
	int code;

	*kept = xf_newfile_kept_name(file->path);
	if (!*kept)
		return xf_fail_nomem(err);
	code = xf_newfile_open(
		&copy, *kept, XF_NEWFILE_DATABASE | (file->flags & XF_NEWFILE_PRIVATE), err);
	if (!code)
		code = copy_to(db, copy, err);
	xf_newfile_close(copy);
	if (code) {
		free(*kept);
		*kept = NULL;
	}
	return code;
}
