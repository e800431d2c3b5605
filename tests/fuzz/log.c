// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzz target: any bytes as the log of a guest's kernel.  In: bytes; the capture that belongs to the
 * seeds.  Out: a trap if something is wrong: counts that do not add up, a second reading that differs.
 */
#include <string.h>

#include "analyzer/verify/verify.h"
#include "collector/guest/guest.h"
#include "collector/store/store.h"
#include "analyzer/analyzer.h"
#include "schemas/db.h"
#include "tests/fuzz/fuzz.h"

#define CAPTURE "tests/fuzz/seeds/trace/dom0-crowd"

static sqlite3 *capture;

static int no_difference(const struct xf_verify_difference *d, void *data, struct xf_error *err)
{
	(void)err;
	must(d->what && d->detail && d->subject < XF_VERIFY_SUBJECTS_COUNT);
	++*(uint64_t *)data;
	return 0;
}

/* All lines of the log, as one number. */
static uint64_t read_log(struct xf_ftrace *log)
{
	struct xf_ftrace_line line;
	uint64_t hash = FUZZ_HASH, value;
	char word[16];

	while (xf_ftrace_next(log, &line, NULL) == 1) {
		must(line.cpu < XF_FTRACE_CPUS && line.pid <= XF_FTRACE_PIDS);
		hash = fuzz_mix(hash, &line.tsc, sizeof(line.tsc));
		hash = fuzz_mix(hash, line.event, strlen(line.event));
		hash = fuzz_mix(hash, line.text, strlen(line.text));
		hash += xf_ftrace_number(line.text, "address", 16, &value);
		hash += xf_ftrace_word(line.text, "prev_state", word, sizeof(word));
	}
	return hash;
}

/* The same log as what names forks: each name is a fork of the log, and none outlives a rollback. */
static void name_forks(const char *path)
{
	struct xf_guest_result result;
	struct xf_error err = {0};
	int64_t wrong = 0;
	int code;

	must(!xf_db_exec(capture, "BEGIN", NULL));
	code = xf_guest_load(capture, 0, path, NULL, &result, &err);
	must(!code || err.text[0]);
	must(code || result.matched <= result.faults);
	must(code || !xf_analyze_names(capture, NULL));
	must(!xf_db_int(capture,
		"SELECT (SELECT count(*) FROM fork_name WHERE guest_fork_id NOT IN"
		" (SELECT guest_fork_id FROM guest_fork)) + (SELECT count(*) FROM guest_run"
		" WHERE tsc_end <= tsc_start)",
		&wrong, NULL));
	must(!wrong);
	must(!xf_db_exec(capture, "ROLLBACK", NULL));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct xf_vtab vtab = {0};
	struct xf_source *source;

	(void)argc, (void)argv;
	must(!xf_source_open(&source, CAPTURE, NULL));
	must(!xf_reader_open(&vtab.reader, source, NULL));
	must(!xf_store_scan(&capture, &vtab, "fuzz", 0, NULL));
	must(!xf_analyze(capture, NULL, NULL));
	xf_reader_close(vtab.reader);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t differences = 0, first;
	struct xf_verify_options options = {
		.domid = size % 3 ? -1 : 0, .difference = no_difference, .data = &differences};
	struct xf_verify_result result = {0};
	struct xf_error err = {0};
	struct xf_ftrace *log;
	char path[40];
	int code;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fuzz_file(data, size));
	if (!xf_ftrace_open(&log, path, NULL)) {
		first = read_log(log);
		must(!xf_ftrace_rewind(log, NULL) && read_log(log) == first);
		xf_ftrace_close(log);
	}
	name_forks(path);
	code = xf_verify(capture, path, &options, &result, &err);
	must(!code || err.text[0]);
	for (int i = 0; !code && i < XF_VERIFY_SUBJECTS_COUNT; i++)
		must(result.counts[i].agree <= result.counts[i].capture &&
			result.counts[i].found <= result.counts[i].log);
	return 0;
}
