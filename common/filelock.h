/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who writes a file, so that others keep away from it.
 * In: an open file.  Out: a lock that tells what its holder does and which process it is.
 *
 * The lock belongs to the open file (F_OFD_SETLK): it ends with its descriptor, so with a killed process
 * too, and lies far behind the bytes that SQLite locks.  Where it begins says what the holder does,
 * its length who it is: no second file, and readers need no right to write.
 */
#ifndef XF_COMMON_FILELOCK_H
#define XF_COMMON_FILELOCK_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"

enum xf_writer { XF_WRITER_NONE, XF_WRITER_MAKE, XF_WRITER_RECORD, XF_WRITER_ANALYZE };

struct xf_holder {
	enum xf_writer what;
	pid_t pid; /* in the holder's PID namespace */
};

/*
 * Locks the file, which must be open for writing.  Returns 0, or -1 with errno: EAGAIN, another
 * holds it; what else there is (a file system without locks) means that nobody can be kept away.
 */
int xf_filelock_take(int fd, enum xf_writer what);

/*
 * Opens the existing file at path to write it, and locks it; *fd is closed when the writing is done, and
 * a database's connection closed before it.  Another writer than a capture has ten seconds
 * to end.  Returns 0, -XF_BUSY, or -XF_IO: it may not be written.
 */
int xf_filelock_claim(const char *path, enum xf_writer what, int *fd, struct xf_error *err);

/* Waits for it, however short or long the other takes. */
int xf_filelock_wait(int fd, enum xf_writer what);

/* Who holds the file open at fd, through another descriptor than this; false = nobody. */
bool xf_filelock_held(int fd, struct xf_holder *holder);

/* The same of the file at path; false also for what cannot be opened. */
bool xf_filelock_held_at(const char *path, struct xf_holder *holder);

/* Refuses to touch path: who writes it, and how that is ended.  Returns -XF_BUSY. */
int xf_filelock_refuse(const char *path, const struct xf_holder *holder, struct xf_error *err);

#endif
