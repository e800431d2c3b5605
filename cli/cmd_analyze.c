// SPDX-License-Identifier: GPL-2.0-or-later
/* xenfault analyze: rebuilds the derived tables.  In: DB.  Out: the same DB. */
#include <unistd.h>

#include "analyzer/analyzer.h"
#include "cli/cli.h"
#include "cli/guests.h"
#include "cli/symbolize.h"
#include "common/filelock.h"
#include "schemas/db.h"

/* What import could not do, as for a live capture: all times to one clock. */
static int one_clock(sqlite3 *db, const struct xf_options *options, struct xf_error *err)
{
	int64_t pcpus = 0;
	int code = xf_db_exec(db, "BEGIN IMMEDIATE", err);

	if (code)
		return code;
	code = xf_one_clock(db, options, &pcpus, err);
	if (!code && pcpus)
		code = xf_analyze_clear(db, err);
	if (!code)
		code = xf_db_exec(db, "COMMIT", err);
	if (code)
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return code;
}

static int store_hz(sqlite3 *db, uint64_t hz, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(db, &stmt, "UPDATE capture SET cpu_hz = ?", err);

	if (!code) {
		sqlite3_bind_int64(stmt, 1, (int64_t)hz);
		code = xf_db_step(stmt, err);
	}
	sqlite3_finalize(stmt);
	return code;
}

static int show_events(struct xf_progress *progress)
{
	(void)progress;
	return xf_stop_requested();
}

/* Names of domains and of forks. */
static int names(sqlite3 *db, const struct xf_options *options, int *refused, struct xf_error *err)
{
	int code;

	if (!options->nguests && !options->domain_names)
		return 0;
	code = xf_db_exec(db, "BEGIN IMMEDIATE", err);
	if (!code)
		code = xf_name_domains(db, options, err);
	if (!code)
		code = xf_guests_load(db, options, refused, err);
	if (!code)
		code = xf_db_exec(db, "COMMIT", err);
	if (code)
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return code;
}

static int run_analyze(struct xf_options *options, struct xf_error *err)
{
	struct xf_progress progress = {.step = 65536, .show = show_events};
	sqlite3 *db = NULL;
	int lock = -1, refused = 0, code = xf_need_args(options, 1, err);

	if (!code)
		code = xf_guests_check(options, err);
	if (!code)
		code = xf_db_open(&db, options->args[0], 0, err);
	if (!code)
		code = xf_filelock_claim(options->args[0], XF_WRITER_ANALYZE, &lock, err);
	if (!code)
		code = one_clock(db, options, err);
	if (!code)
		xf_interruptible(db);
	if (!code)
		code = xf_analyze(db, &progress, err);
	if (!code)
		code = names(db, options, &refused, err);
	if (!code && options->cpu_hz)
		code = store_hz(db, options->cpu_hz, err);
	if (!code && options->nsymbols) {
		code = xf_db_exec(db, "BEGIN IMMEDIATE", err);
		if (!code)
			code = xf_symbolize(db, options, err);
		if (!code)
			code = xf_db_exec(db, "COMMIT", err);
	}
	sqlite3_close(db);
	if (lock >= 0)
		close(lock);
	return code ? code : xf_guests_outcome(refused, err);
}

static const struct xf_option analyze_options[] = {
	XF_OPTS_SYMBOLS,
	XF_OPT_CPU_HZ,
	XF_OPT_CLOCKS("correct pCPUs' clocks first"),
	XF_OPT_GUEST,
	XF_OPT_DOMAIN_NAMES,
	{0},
};

const struct xf_command xf_cmd_analyze = {"analyze", "DB",
	"rebuild the derived tables from the events", analyze_options, 0, run_analyze};
