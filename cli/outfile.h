/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that a command writes: it appears under its name only when it is whole.
 * In: the options -o and --force.  Out: a FILE to write to.
 */
#ifndef XF_CLI_OUTFILE_H
#define XF_CLI_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

#include "common/error.h"
#include "common/newfile.h"

struct xf_options;

/* Refuses an output that would take the place of what the command reads. */
int xf_outfile_check(const struct xf_options *options, struct xf_error *err);

struct xf_outfile {
	FILE *file;
	const char *path;	/* NULL = standard output */
	struct xf_newfile *new; /* NULL = written in place */
};

/*
 * Opens path, or standard output where path is NULL or "-".  A regular file is written beside its
 * name; one that is there already is refused unless force is given.
 */
int xf_outfile_open(struct xf_outfile *out, const char *path, bool force, struct xf_error *err);

/*
 * Closes it; with code 0 it gets its name, otherwise it is removed.  Returns code, or a failure of
 * the last writes.
 */
int xf_outfile_close(struct xf_outfile *out, int code, struct xf_error *err);

#endif
