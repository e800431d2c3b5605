// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault merge: the captures of many hosts become one database.
 * In: HOST=DB, any number.  Out: FLEET, in which each of these hosts has the rows of its DB.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "common/filelock.h"
#include "schemas/db.h"
#include "schemas/fleet.h"

/* The name of a host: some text, without control characters and without # (FLEET#HOST). */
static int check_host(const char *argument, size_t length, struct xf_error *err)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)argument[i] < ' ' || argument[i] == 0x7f || argument[i] == '#')
			length = 0;
	if (!length)
		return xf_fail(err, XF_USAGE,
			"%s: it is HOST=DB, and a host's name has neither # nor control characters",
			argument);
	return 0;
}

/* All mistakes in the arguments before the first host is loaded. */
static int check(const struct xf_options *o, struct xf_error *err)
{
	int code = 0;

	if (!o->output)
		return xf_fail(
			err, XF_USAGE, "-o FLEET is missing: xenfault merge -o FLEET HOST=DB ...");
	if (!o->nargs)
		return xf_need_args(o, 1, err);
	for (int i = 0; i < o->nargs && !code; i++) {
		const char *argument = o->args[i], *mark = strchr(argument, '=');
		size_t length = mark ? (size_t)(mark - argument) : 0;
		struct xf_holder holder;
		sqlite3 *db = NULL;

		code = check_host(argument, length, err);
		for (int j = 0; j < i && !code; j++)
			if (!strncmp(o->args[j], argument, length + 1))
				code = xf_fail(err, XF_USAGE, "the host %.*s is named twice",
					(int)length, argument);
		/* a host of another fleet would have to be looked at through its views */
		if (!code && access(mark + 1, F_OK))
			code = xf_fail_errno(err, XF_IO, "cannot read %s", mark + 1);
		if (!code && xf_filelock_held_at(mark + 1, &holder))
			code = xf_filelock_refuse(mark + 1, &holder, err);
		if (!code)
			code = xf_open(&db, mark + 1, err);
		sqlite3_close(db);
	}
	return code;
}

/* The fleet while hosts are loaded into it. */
struct fleet {
	sqlite3 *db;
	struct xf_newfile *made; /* NULL: it was there before */
	int lock;
};

static int open_fleet(struct fleet *fleet, const char *path, struct xf_error *err)
{
	struct stat st;
	int code;

	if (!lstat(path, &st)) {
		code = xf_db_open_fleet(&fleet->db, path, 0, err);
		return code ? code : xf_filelock_claim(path, XF_WRITER_MAKE, &fleet->lock, err);
	}
	code = xf_newfile_open(&fleet->made, path, XF_NEWFILE_DATABASE, err);
	if (code)
		return code;
	xf_tell_newfile(fleet->made);
	if (sqlite3_open_v2(fleet->made->working, &fleet->db, SQLITE_OPEN_READWRITE, NULL) !=
		SQLITE_OK)
		return fleet->db ? xf_db_fail(fleet->db, path, err) : xf_fail_nomem(err);
	code = xf_db_exec(fleet->db, "PRAGMA page_size = 8192; PRAGMA synchronous = OFF", err);
	return code ? code : xf_fleet_create(fleet->db, err);
}

/*
 * A new fleet gets its name once there is a host in it, and nothing of another: what a failed load left
 * is taken back by whoever reads next, and its journal would not come along.
 */
static int close_fleet(struct fleet *fleet, int done, struct xf_error *err)
{
	int64_t hosts;
	int code = 0;

	if (fleet->made && done)
		code = xf_db_int(fleet->db, "SELECT count(*) FROM main.host", &hosts, err);
	sqlite3_close(fleet->db);
	if (fleet->made && done && !code)
		code = xf_newfile_place(fleet->made, err);
	xf_newfile_close(fleet->made);
	if (fleet->lock >= 0)
		close(fleet->lock);
	return code;
}

static int run_merge(struct xf_options *options, struct xf_error *err)
{
	struct fleet fleet = {.lock = -1};
	int done = 0, closed, code = check(options, err);

	if (!code)
		code = open_fleet(&fleet, options->output, err);
	if (fleet.db)
		xf_interruptible(fleet.db);
	for (; !code && done < options->nargs; done += !code) {
		const char *mark = strchr(options->args[done], '=');
		char *host = strndup(options->args[done], (size_t)(mark - options->args[done]));

		code = host ? xf_fleet_load(fleet.db, host, mark + 1, err) : xf_fail_nomem(err);
		free(host);
	}
	closed = close_fleet(&fleet, done, code ? NULL : err);
	if (code && done && !closed)
		xf_warn("%d of %d hosts are loaded; those after them are as they were", done,
			options->nargs);
	return code ? code : closed;
}

static const struct xf_option merge_options[] = {
	XF_OPT_OUTPUT("FLEET", "the fleet, made if it is not there"),
	{0},
};

const struct xf_command xf_cmd_merge = {"merge", "HOST=DB ...",
	"many hosts' captures in one database", merge_options, 0, run_merge};
