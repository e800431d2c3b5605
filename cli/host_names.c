// SPDX-License-Identifier: GPL-2.0-or-later
/* Names that the host knows.  In: tracefs, xl list.  Out: domain_name, guest_*, fork_name. */
#include "cli/host_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/guests.h"
#include "collector/guest/domains.h"
#include "collector/guest/guest.h"
#include "collector/guest/tracefs.h"
#include "schemas/db.h"

/* What xl list prints, to be freed; NULL = it is not here, or does not answer. */
static char *list_domains(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *xl = popen("timeout 5 xl list 2>/dev/null", "r");

	if (!xl)
		return NULL;
	if (getdelim(&text, &size, '\0', xl) < 0) {
		free(text);
		text = NULL;
	}
	pclose(xl);
	return text;
}

/* Names of this host's domains, from before and from now; what cannot be read is left out. */
static int name_domains(struct xf_host_names *names, sqlite3 *db, const struct xf_options *options,
	struct xf_error *err)
{
	char *texts[] = {names->domains, names->far ? NULL : list_domains()};
	int code = 0;

	for (int i = 0; i < 2 && !code; i++) {
		FILE *file = texts[i] ? fmemopen(texts[i], strlen(texts[i]), "r") : NULL;
		uint64_t n;

		if (file)
			code = xf_domains_read(db, file, "xl list", &n, err);
		if (file)
			fclose(file);
		if (code == -XF_FORMAT) {
			xf_error_clear(err);
			code = 0;
		}
	}
	free(texts[1]);
	return code ? code : xf_name_domains(db, options, err);
}

/* The log that we took ourselves. */
static int load_own_log(struct xf_host_names *names, sqlite3 *db, struct xf_error *err)
{
	/* a signal has ended the capture; a second one does not wait for us */
	bool (*stop)(void) = xf_stop_requested() ? NULL : xf_stop_requested;
	struct xf_guest_result result;
	struct stat st;
	int code;

	if (names->log.file < 0 || fstat(names->log.file, &st) || !st.st_size)
		return 0;
	code = xf_guest_load(db, 0, names->log.path, stop, &result, err);
	if (!code)
		return xf_db_exec(db,
			"UPDATE guest_log SET source = '" XF_TRACEFS_SOURCE "' WHERE domid = 0",
			err);
	if (code != -XF_FORMAT && code != -XF_INTERRUPTED)
		return code;
	xf_warn("forks of d0 get no names: %s", err->text);
	xf_error_clear(err);
	return 0;
}

void xf_host_names_begin(
	struct xf_host_names *names, const struct xf_options *options, bool far, bool no_guest_log)
{
	bool wanted = !no_guest_log && !far && !geteuid();
	struct xf_error err = {0};

	names->far = far;
	for (int i = 0; i < options->nguests; i++)
		wanted &= options->guests[i].domid != 0;
	/* what is no Xen host the drain will say */
	if (far || access("/sys/hypervisor/type", F_OK))
		return;
	names->domains = list_domains();
	if (wanted && xf_kernel_log_start(&names->log, &err))
		xf_warn("forks of d0 get no names: %s", err.text);
}

int xf_host_names_load(struct xf_host_names *names, sqlite3 *db, const struct xf_options *options,
	struct xf_error *err)
{
	int code;

	xf_kernel_log_stop(&names->log);
	code = xf_db_exec(db, "BEGIN IMMEDIATE", err);
	if (!code)
		code = name_domains(names, db, options, err);
	if (!code)
		code = load_own_log(names, db, err);
	if (!code)
		code = xf_guests_load(db, options, &names->refused, err);
	if (!code)
		code = xf_db_exec(db, "COMMIT", err);
	if (code)
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return code;
}

void xf_host_names_close(struct xf_host_names *names)
{
	xf_kernel_log_close(&names->log);
	free(names->domains);
	names->domains = NULL;
}
