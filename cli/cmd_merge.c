// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault merge: the captures of many hosts become one database.
 * In: HOST=DB, any number.  Out: FLEET, in which each of these hosts has the rows of its DB.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
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
		sqlite3 *db = NULL;

		code = check_host(argument, length, err);
		for (int j = 0; j < i && !code; j++)
			if (!strncmp(o->args[j], argument, length + 1))
				code = xf_fail(err, XF_USAGE, "the host %.*s is named twice",
					(int)length, argument);
		/* a host of another fleet would have to be looked at through its views */
		if (!code && access(mark + 1, F_OK))
			code = xf_fail_errno(err, XF_IO, "cannot read %s", mark + 1);
		if (!code)
			code = xf_db_open(&db, mark + 1, 1, err);
		sqlite3_close(db);
	}
	return code;
}

static int open_fleet(sqlite3 **db, const char *path, bool *made, struct xf_error *err)
{
	int code;

	*made = access(path, F_OK) != 0;
	if (!*made)
		return xf_db_open_fleet(db, path, 0, err);
	if (sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
		SQLITE_OK)
		return *db ? xf_fail(err, XF_IO, "cannot write %s: %s", path, sqlite3_errmsg(*db))
			   : xf_fail_nomem(err);
	code = xf_db_exec(*db, "PRAGMA page_size = 8192", err);
	return code ? code : xf_fleet_create(*db, err);
}

static int stop(void *data)
{
	(void)data;
	return xf_stop_requested();
}

static int run_merge(struct xf_options *options, struct xf_error *err)
{
	sqlite3 *db = NULL;
	bool made = false;
	int done = 0, code = check(options, err);

	if (!code)
		code = open_fleet(&db, options->output, &made, err);
	if (db)
		sqlite3_progress_handler(db, 100000, stop, NULL);
	for (; !code && done < options->nargs; done += !code) {
		const char *mark = strchr(options->args[done], '=');
		char *host = strndup(options->args[done], (size_t)(mark - options->args[done]));

		code = host ? xf_fleet_load(db, host, mark + 1, err) : xf_fail_nomem(err);
		free(host);
	}
	sqlite3_close(db);
	if (code && made && !done)
		unlink(options->output);
	else if (code && done)
		xf_warn("%d of %d hosts are loaded; those after them are as they were", done,
			options->nargs);
	return code;
}

static const struct xf_option merge_options[] = {
	XF_OPT_OUTPUT("FLEET", "the fleet, made if it is not there"),
	{0},
};

const struct xf_command xf_cmd_merge = {"merge", "HOST=DB ...",
	"many hosts' captures in one database", merge_options, 0, run_merge};
