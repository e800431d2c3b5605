// SPDX-License-Identifier: GPL-2.0-or-later
/* xenfault import: a trace file or stream becomes a database.  In: FILE or -.  Out: DB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/analyzer.h"
#include "cli/cli.h"
#include "cli/guests.h"
#include "cli/symbolize.h"
#include "collector/store/store.h"
#include "schemas/db.h"

struct import {
	struct xf_options *options;
	struct xf_store *store;
	struct xf_reader *reader;
	struct xf_analyzer *analyzer;
	struct xf_cli_progress progress;
	struct xf_vtab vtab;
	const char *source; /* as the capture row names it */
	char *doubts;	    /* what its doubts say, a line each */
	int64_t forks;
	int refused; /* logs of guests */
	bool refused_names;
};

static int tap(void *data, int64_t event_id, const struct xf_event *event, struct xf_error *err)
{
	return xf_analyzer_event(data, event_id, event, err);
}

static int should_stop(void *data)
{
	struct import *import = data;
	uint64_t offset = xf_pump_offset(import->vtab.pump);

	xf_progress_add(&import->progress.step, offset - import->progress.step.done);
	return xf_stop_requested();
}

/* Where the records prove that clocks differ, all times go to one clock, and the analysis is made again. */
static int one_clock(struct import *import, struct xf_error *err)
{
	sqlite3 *db = xf_store_db(import->store);
	int64_t corrected;
	int code = xf_one_clock(db, import->options, &corrected, err);

	if (code || import->options->no_analyze)
		return code;
	if (!corrected)
		return xf_analyze_mark(db, err);
	code = xf_db_exec(db, "COMMIT", err);
	if (!code)
		code = xf_analyze(db, NULL, err);
	return code ? code : xf_db_exec(db, "BEGIN", err);
}

/* Names of domains, logs of guests, once the events stand where they stay. */
static int guests(struct import *import, struct xf_error *err)
{
	sqlite3 *db = xf_store_db(import->store);
	int code = xf_name_domains(db, import->options, err);

	/* after all that work the trace is not thrown away for it */
	if (code == -XF_FORMAT) {
		xf_warn("%s", err->text);
		xf_error_clear(err);
		import->refused_names = true;
		code = 0;
	}
	if (code || !import->options->nguests)
		return code;
	code = xf_db_exec(db, "COMMIT; BEGIN", err);
	return code ? code : xf_guests_load(db, import->options, &import->refused, err);
}

/* Doubts and forks as the database has them, for report() and summary(): it is closed then. */
static int keep_results(struct import *import, struct xf_error *err)
{
	size_t size = 0;
	sqlite3_stmt *stmt;
	FILE *text = open_memstream(&import->doubts, &size);
	int code;

	if (!text)
		return xf_fail_nomem(err);
	code = xf_db_prepare(xf_store_db(import->store), &stmt,
		"SELECT count, text FROM doubt ORDER BY code", err);
	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		fprintf(text, "%lld %s\n", sqlite3_column_int64(stmt, 0), xf_db_text(stmt, 1));
		code = 0;
	}
	sqlite3_finalize(stmt);
	fclose(text);
	if (!code)
		code = xf_db_int(xf_store_db(import->store), "SELECT count(*) FROM fork",
			&import->forks, err);
	return code;
}

static int fill(struct import *import, struct xf_error *err)
{
	int code;

	if (!import->options->no_analyze) {
		code = xf_analyzer_new(&import->analyzer, xf_store_db(import->store), err);
		if (code)
			return code;
		import->vtab.tap = tap;
		import->vtab.tap_data = import->analyzer;
	}
	import->vtab.reader = import->reader;
	import->vtab.stop = should_stop;
	import->vtab.stop_data = import;
	xf_progress_start(&import->progress, import->source);
	import->progress.step.total = xf_reader_size(import->reader);
	code = xf_pump_start(&import->vtab.pump, import->reader, err);
	if (!code)
		code = xf_store_ingest(import->store, &import->vtab, err);
	xf_pump_stop(import->vtab.pump);
	xf_progress_end(&import->progress);
	if (!code && import->analyzer)
		code = xf_analyzer_finish(import->analyzer, err);
	xf_analyzer_free(import->analyzer);
	import->analyzer = NULL;
	if (!code)
		code = xf_store_summary(import->store, import->reader, import->source,
			import->options->cpu_hz, err);
	if (!code)
		code = one_clock(import, err);
	if (!code)
		code = guests(import, err);
	if (!code)
		code = keep_results(import, err);
	if (!code && import->options->nsymbols && xf_stop_requested())
		xf_warn("interrupted: the addresses have no names");
	else if (!code && import->options->nsymbols)
		code = xf_symbolize(xf_store_db(import->store), import->options, err);
	if (!code && xf_store_why_insert(import->store))
		xf_warn("the rows were stored by INSERT, which takes longer: %s",
			xf_store_why_insert(import->store));
	return code;
}

/* What the user should know about the result, on stderr. */
static void report(const struct import *import, const char *path)
{
	struct xf_reader_stats stats;
	char *rest = import->doubts, *line;

	xf_reader_stats(import->reader, &stats);
	while (rest && (line = strsep(&rest, "\n")) && *line)
		xf_warn("%s: %s", import->source, line);
	if (stats.lost_records)
		xf_warn("%s: %llu records were lost (larger trace buffers or fewer classes lose less)",
			import->source, (unsigned long long)stats.lost_records);
	if (stats.unknown_records)
		xf_warn("%s: %llu records that no decoder fits, see: xenfault info %s",
			import->source, (unsigned long long)stats.unknown_records, path);
}

/* What there is now, and the command that shows it. */
static void summary(const struct import *import, const char *path)
{
	struct xf_reader_stats stats;

	xf_reader_stats(import->reader, &stats);
	xf_print(stderr, "%s: %llu events of %llu records", path, (unsigned long long)stats.events,
		(unsigned long long)stats.records);
	if (import->options->no_analyze)
		xf_print(stderr, ", not analyzed; next: xenfault analyze %s\n", path);
	else
		xf_print(stderr, ", %lld fork%s, %s; next: xenfault %s %s\n",
			(long long)import->forks, import->forks == 1 ? "" : "s",
			stats.lost_records ? "with losses" : "no record lost",
			import->forks ? "forks" : "info", path);
}

static int outcome(const struct import *import, struct xf_error *err)
{
	struct xf_reader_stats stats;

	xf_reader_stats(import->reader, &stats);
	if (xf_stop_requested())
		return xf_fail(err, XF_INTERRUPTED,
			"interrupted: the database holds what was read so far");
	if (import->options->fail_on_loss && stats.lost_records)
		return xf_fail(err, XF_LOSS, "%llu records were lost",
			(unsigned long long)stats.lost_records);
	if (import->refused_names)
		return xf_fail(
			err, XF_FORMAT, "the database is there, but not all names of domains");
	return xf_guests_outcome(import->refused, err);
}

static int run_import(struct xf_options *options, struct xf_error *err)
{
	struct import import = {.options = options};
	struct xf_source *source;
	char *path = NULL;
	int code = xf_need_args(options, 1, err);

	if (code)
		return code;
	import.source = options->args[0];
	if (!options->output && !strcmp(import.source, "-"))
		return xf_fail(
			err, XF_USAGE, "-o DB is needed where the trace comes from standard input");
	if (options->output ? !(path = strdup(options->output))
			    : asprintf(&path, "%s.db", import.source) < 0)
		return xf_fail_nomem(err);
	code = xf_guests_check(options, err);
	if (!code)
		code = xf_source_open(&source, import.source, err);
	if (!code)
		code = xf_reader_open(&import.reader, source, err);
	if (!code)
		code = xf_store_create(
			&import.store, path, options->force ? XF_NEWFILE_FORCE : 0, err);
	if (!code) {
		xf_tell_newfile(xf_store_file(import.store));
		code = fill(&import, err);
		if (code)
			xf_store_abort(import.store);
		else
			code = xf_store_commit(import.store, err);
	}
	if (!code) {
		report(&import, path);
		summary(&import, path);
		code = outcome(&import, err);
	}
	xf_reader_close(import.reader);
	free(import.doubts);
	free(path);
	return code;
}

static const struct xf_option import_options[] = {
	XF_OPT_OUTPUT("DB", "the database; default: FILE.db; record: a name with the date"),
	XF_OPT_FORCE("DB"),
	XF_OPT_NO_ANALYZE,
	XF_OPT_FAIL_ON_LOSS,
	XF_OPTS_SYMBOLS,
	XF_OPT_CPU_HZ,
	XF_OPT_CLOCKS("correct pCPUs' clocks"),
	XF_OPT_GUEST,
	XF_OPT_DOMAIN_NAMES,
	{0},
};

const struct xf_command xf_cmd_import = {"import", "FILE|-",
	"turn a trace file or stream into a database", import_options, 0, run_import};
