// SPDX-License-Identifier: GPL-2.0-or-later
/* A file that appears when it is whole.  In: a path.  Out: a FILE. */
#include "cli/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

static int check_input(const struct xf_options *o, const char *input, struct xf_error *err)
{
	char *path = strdup(input), *mark;
	int code = 0;

	if (!path)
		return xf_fail_nomem(err);
	/* a host of a fleet */
	if ((mark = strrchr(path, '#')) && access(path, F_OK))
		*mark = '\0';
	if (!access(path, F_OK) && xf_newfile_takes(o->output, path))
		code = xf_fail(err, XF_USAGE,
			"%s is what the command reads: -o has to name another file", o->output);
	free(path);
	return code;
}

int xf_outfile_check(const struct xf_options *o, struct xf_error *err)
{
	/* those of record are a command */
	int nargs = *o->command->arguments == '[' ? 0 : o->nargs, code = 0;

	/* without it nothing that is there is replaced */
	if (!o->output || !o->force)
		return 0;
	for (int i = 0; i < nargs && !code; i++)
		code = check_input(o, o->args[i], err);
	for (int i = 0; i < o->nsymbols && !code; i++)
		code = check_input(o, o->symbols[i].path, err);
	for (int i = 0; i < o->nguests && !code; i++)
		code = check_input(o, o->guests[i].path, err);
	if (o->domain_names && !code)
		code = check_input(o, o->domain_names, err);
	return code;
}

/* A stream of its own for a descriptor that stays open. */
static FILE *stream(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *file = copy < 0 ? NULL : fdopen(copy, "w");

	if (!file && copy >= 0)
		close(copy);
	return file;
}

int xf_outfile_open(struct xf_outfile *out, const char *path, bool force, struct xf_error *err)
{
	struct stat st;
	int code;

	*out = (struct xf_outfile){.file = stdout};
	if (!path || !strcmp(path, "-"))
		return 0;
	out->path = path;
	out->file = NULL;
	/* a device or a pipe has no name to change */
	if (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		out->file = fopen(path, "we");
	} else {
		if (!lstat(path, &st) && !S_ISDIR(st.st_mode) && !force)
			return xf_fail(
				err, XF_USAGE, "%s is there already; --force replaces it", path);
		code = xf_newfile_open(&out->new, path, force ? XF_NEWFILE_FORCE : 0, err);
		if (code)
			return code;
		xf_tell_newfile(out->new);
		out->file = stream(out->new->fd);
	}
	if (out->file)
		return 0;
	code = xf_fail_errno(err, XF_IO, "cannot write %s", path);
	xf_newfile_close(out->new);
	out->new = NULL;
	return code;
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
	if (!code && out->new)
		code = xf_newfile_place(out->new, err);
	xf_newfile_close(out->new);
	out->new = NULL;
	return code;
}
