// SPDX-License-Identifier: GPL-2.0-or-later
/* A file that appears when it is whole.  In: a path.  Out: a FILE. */
#include "cli/outfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int xf_outfile_open(struct xf_outfile *out, const char *path, bool force, struct xf_error *err)
{
	struct stat st;
	bool there;

	*out = (struct xf_outfile){.file = stdout};
	if (!path || !strcmp(path, "-"))
		return 0;
	out->path = path;
	there = !stat(path, &st);
	if (there && S_ISREG(st.st_mode) && !force)
		return xf_fail(err, XF_USAGE, "%s is there already; --force replaces it", path);
	/* a device or a pipe has no name to change */
	if ((!there || S_ISREG(st.st_mode)) && asprintf(&out->part, "%s.part", path) < 0)
		return xf_fail_nomem(err);
	out->file = fopen(out->part ? out->part : path, "w");
	if (out->file)
		return 0;
	xf_fail_errno(err, XF_IO, "cannot write %s", path);
	free(out->part);
	out->part = NULL;
	return -XF_IO;
}

int xf_outfile_close(struct xf_outfile *out, int code, struct xf_error *err)
{
	bool failed;

	if (!out->file)
		return code;
	failed = ferror(out->file);
	failed |= out->path ? fclose(out->file) : fflush(out->file);
	out->file = NULL;
	if (!code && failed)
		code = xf_fail_errno(
			err, XF_IO, "cannot write %s", out->path ? out->path : "the output");
	if (!code && out->part && rename(out->part, out->path))
		code = xf_fail_errno(err, XF_IO, "cannot write %s", out->path);
	if (code && out->part)
		unlink(out->part);
	free(out->part);
	out->part = NULL;
	return code;
}
