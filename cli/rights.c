// SPDX-License-Identifier: GPL-2.0-or-later
/* Root's rights given up for a capture.  In: what it needs.  Out: a confined process. */
#include "cli/rights.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "common/broker.h"
#include "common/confine.h"

/* The user who called sudo; else nobody in particular. */
static void choose_user(struct xf_confine_who *who)
{
	const char *text = getenv("SUDO_UID");
	int64_t uid = text ? xf_whole_number(text, UINT32_MAX - 1) : 0;
	const struct passwd *user = uid > 0 ? getpwuid((uid_t)uid) : NULL;

	if (user && user->pw_uid && user->pw_gid)
		*who = (struct xf_confine_who){.uid = user->pw_uid, .gid = user->pw_gid};
	else
		xf_confine_nobody(who);
}

/* The files that the options name, and dom0's log. */
static size_t files_to_read(const struct xf_rights *rights, const char **files)
{
	const struct xf_options *o = rights->options;
	size_t n = 0;

	for (int i = 0; i < o->nsymbols; i++)
		files[n++] = o->symbols[i].path;
	for (int i = 0; i < o->nguests; i++)
		files[n++] = o->guests[i].path;
	if (o->domain_names)
		files[n++] = o->domain_names;
	if (rights->log)
		files[n++] = rights->log;
	return n;
}

int xf_rights_give_up(const struct xf_rights *rights, int *broker, struct xf_error *err)
{
	const char *temporary[] = {"/tmp", "/var/tmp", "/usr/tmp", getenv("TMPDIR")};
	size_t folders = sizeof(temporary) / sizeof(temporary[0]) - !temporary[3];
	const char **files;
	struct xf_broker_grants grants = {
		.made = {rights->database, rights->raw},
		.children = {rights->producer},
		.file = rights->log ? rights->log_file : -1,
	};
	struct xf_confined confined = {0};
	struct xf_confine_who who;
	int code;

	*broker = -1;
	if (geteuid())
		return 0;
	files = calloc((size_t)rights->options->nsymbols + (size_t)rights->options->nguests + 2,
		sizeof(*files));
	if (!files)
		return xf_fail_nomem(err);
	grants.read = files;
	grants.nread = files_to_read(rights, files);
	choose_user(&who);
	code = xf_broker_start(broker, &grants, &who, &confined, err);
	free(files);
	if (code == -XF_LIVE) {
		xf_warn("the capture is read and stored with root's rights: %s", err->text);
		xf_error_clear(err);
		return 0;
	}
	if (code)
		return code;
	xf_confine_files(&confined, temporary, folders);
	if (*confined.missing)
		xf_warn("rights of root that could not be given up here: %s", confined.missing);
	return 0;
}
