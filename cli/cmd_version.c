// SPDX-License-Identifier: GPL-2.0-or-later
/* xenfault version: versions, and which parts are there.  Out: text on stdout. */
#include <elfutils/version.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "schemas/db.h"
#include "common/version.h"

#ifndef XF_NCURSES
#define XF_NCURSES "unknown"
#endif

/* The extension stands beside xenfault in the build, or in lib once installed. */
static const char *extension_path(char *path, size_t size)
{
	static const char *const places[] = {"", "/../lib/xenfault"};
	char self[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return NULL;
	self[n] = '\0';
	slash = strrchr(self, '/');
	*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if ((size_t)snprintf(path, size, "%s%s/xenfault.so", self, places[i]) < size &&
			!access(path, R_OK))
			return path;
	return NULL;
}

static int run_version(struct xf_options *options, struct xf_error *err)
{
	char path[PATH_MAX + 64], *drain;
	const char *extension = extension_path(path, sizeof(path));
	int code = xf_need_args(options, 0, err);

	if (code)
		return code;
	drain = xf_drain_path();
	printf("xenfault %s\nSQLite %s\n", XF_VERSION, sqlite3_libversion());
	printf("libelf 0.%d\nncurses %s\n", _ELFUTILS_VERSION, XF_NCURSES);
	printf("database schema %d\n", XF_SCHEMA_VERSION);
	printf("curses interface: %s\n",
		xf_command_by_name("tui") ? "yes, xenfault tui" : "no, this build has none");
	printf("live capture: %s\n",
		drain ? drain
		      : "no xenfault-drain is there (Debian: package xenfault-record); --via works");
	printf("SQLite extension: %s\n", extension ? extension : "no xenfault.so is there");
	free(drain);
	return 0;
}

const struct xf_command xf_cmd_version = {
	"version", "", "version and features", NULL, 0, run_version};
