/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one way to make a file: it appears under its name when it is whole, or not at all.
 * In: a path.  Out: a new file beside it under a name that nobody can foresee, which gets its own
 * name when it is on the disk.
 *
 * The file is held by a lock (common/filelock.h) for as long as it is open.  A file with such a name
 * that nobody holds was left by a run that was killed: the next run in that folder removes it.
 */
#ifndef XF_COMMON_NEWFILE_H
#define XF_COMMON_NEWFILE_H

#include <stdbool.h>

#include "common/error.h"

enum {
	XF_NEWFILE_FORCE = 1,	 /* what has the name already is replaced */
	XF_NEWFILE_PRIVATE = 2,	 /* mode 0600 instead of what the umask leaves of 0666 */
	XF_NEWFILE_DATABASE = 4, /* what SQLite would take for its changes must not lie beside it */
	XF_NEWFILE_RECORD = 8,	 /* a capture under way: the lock tells it */
};

struct xf_newfile {
	char *path, *working; /* the name it will get; the one that it has, NULL = its own */
	int fd;		      /* open for reading and writing */
	unsigned flags;
	unsigned dead;	/* files of killed runs that were removed from the folder */
	bool leftovers; /* -wal, -shm or -journal lie beside path; they go when the file is placed */
};

/*
 * Starts a file that will be called path (copied).  Refused: what exists already, without
 * XF_NEWFILE_FORCE; what is no ordinary file; what is being written by somebody; for a database,
 * leftovers that are not SQLite's.  Returns 0 or a negative code.
 */
int xf_newfile_open(
	struct xf_newfile **file, const char *path, unsigned flags, struct xf_error *err);

/* Puts it on the disk and gives it its name.  It stays open, and locked. */
int xf_newfile_place(struct xf_newfile *file, struct xf_error *err);

/* Would a new file called path take the name of other, which may be there or still to come? */
bool xf_newfile_takes(const char *path, const char *other);

/*
 * The first of NAME.kept, NAME.kept-2 ... that is free, for what has lost its name; to be freed,
 * NULL = no memory.
 */
char *xf_newfile_kept_name(const char *path);

/*
 * Is name that of a file which the making of one called made (both without folders) may leave or need: itself,
 * its temporary and kept names, and what SQLite puts beside each?
 */
bool xf_newfile_belongs(const char *made, const char *name);

/*
 * Copies the bytes of a file that was removed or replaced to a new one.  *kept is its name, to be
 * freed; NULL on failure.
 */
int xf_newfile_keep(const struct xf_newfile *file, char **kept, struct xf_error *err);

/* Does the name still lead to this file?  Nobody has removed or replaced it since it was placed. */
bool xf_newfile_is_there(const struct xf_newfile *file);

/*
 * Closes it; what was not placed is removed.  A database's connection is closed before: the
 * descriptor takes all locks of the process on the file with it.  NULL is fine.
 */
void xf_newfile_close(struct xf_newfile *file);

/*
 * A file without a name in the folder of path (NULL: of temporary files), gone with its descriptor.
 * Returns the descriptor or a negative code.
 */
int xf_newfile_unnamed(const char *path, struct xf_error *err);

#endif
