// SPDX-License-Identifier: GPL-2.0-or-later
/* Logs of guests' kernels.  In: --guest options.  Out: names of forks, how well each log fits. */
#include "cli/guests.h"

#include <string.h>
#include <unistd.h>

#include "analyzer/analyzer.h"
#include "cli/cli.h"
#include "collector/guest/guest.h"

int xf_guests_check(const struct xf_options *options, struct xf_error *err)
{
	bool input = options->nargs && !strcmp(options->args[0], "-");

	if (options->domain_names && access(options->domain_names, R_OK))
		return xf_fail_errno(err, XF_IO, "cannot read %s", options->domain_names);
	for (int i = 0; i < options->nguests; i++) {
		const char *path = options->guests[i].path;

		if (strcmp(path, "-")) {
			if (access(path, R_OK))
				return xf_fail_errno(err, XF_IO, "cannot read the log %s", path);
			continue;
		}
		if (input)
			return xf_fail(err, XF_USAGE, "--guest d%d=-: standard input serves once",
				options->guests[i].domid);
		input = true;
	}
	return 0;
}

/* How well it fits, and what it lacks. */
static void tell(const struct xf_guest_file *file, const struct xf_guest_result *r)
{
	const struct xf_ftrace_state *log = &r->log;

	if (!r->matched)
		xf_warn("%s: no page fault shows that it is of d%d and of this time", file->path,
			file->domid);
	else
		xf_print(stderr,
			"%s: %llu of %llu user page faults are d%d's, times at most %llu cycles apart%s\n",
			file->path, (unsigned long long)r->matched, (unsigned long long)r->faults,
			file->domid, (unsigned long long)r->residual,
			r->fitted ? "; its clock was fitted by them" : "");
	if (!r->forks)
		xf_warn("%s: no forks (sched:sched_process_fork)", file->path);
	if (log->lost || log->overwritten)
		xf_warn("%s: the kernel lost events of it (%llu by its own count%s)", file->path,
			log->lost, log->overwritten ? "; the oldest were overwritten" : "");
	if (log->bad)
		xf_warn("%s: %lu lines are no events, the first is line %lu", file->path, log->bad,
			log->first_bad);
}

int xf_guests_load(
	sqlite3 *db, const struct xf_options *options, int *refused, struct xf_error *err)
{
	/* what ended a live capture is not meant for this */
	bool (*stop)(void) = xf_stop_requested() ? NULL : xf_stop_requested;
	int code = 0;

	*refused = 0;
	for (int i = 0; i < options->nguests && !code; i++) {
		const struct xf_guest_file *file = &options->guests[i];
		struct xf_guest_result result;

		code = xf_guest_load(db, file->domid, file->path, stop, &result, err);
		if (!code) {
			tell(file, &result);
		} else if (code == -XF_FORMAT) {
			/* nothing of it was written */
			xf_warn("%s: %s", file->path, err->text);
			xf_error_clear(err);
			++*refused;
			code = 0;
		}
	}
	return code || options->no_analyze ? code : xf_analyze_names(db, err);
}

int xf_guests_outcome(int refused, struct xf_error *err)
{
	return refused ? xf_fail(err, XF_FORMAT,
				 "the database is there without %d log%s of guests (see above)",
				 refused, refused == 1 ? "" : "s")
		       : 0;
}
