// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The course of a comparison.  In: a database and a log, both in order of time.
 * Out: calls of faults.c, writes.c, pages.c; forks.c where the log has no probes.
 */
#include "analyzer/verify/verify.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/verify/state.h"
#include "schemas/db.h"

#define SAMPLE 64	    /* faults of the log by which the domain is found */
#define REACH  (1ull << 32) /* cycles that a fault may lie before its line, at the most */

const char *xf_verify_subject_name(enum xf_verify_subject subject)
{
	static const char *const names[] = {
#define X(id, name, what) name,
		XF_VERIFY_SUBJECTS(X)
#undef X
	};

	return names[subject];
}

const char *xf_verify_subject_what(enum xf_verify_subject subject)
{
	static const char *const texts[] = {
#define X(id, name, what) what,
		XF_VERIFY_SUBJECTS(X)
#undef X
	};

	return texts[subject];
}

int xf_verify_differ(struct xf_verify *v, const struct xf_verify_difference *difference)
{
	v->result->differences++;
	return v->options->difference ? v->options->difference(difference, v->options->data, v->err)
				      : 0;
}

bool xf_verify_covered(const struct xf_verify *v, uint64_t tsc)
{
	return tsc >= v->capture_first && tsc <= v->capture_last && !xf_spans_hold(&v->losses, tsc);
}

bool xf_verify_logged(const struct xf_verify *v, const struct xf_verify_cpu *cpu, uint64_t tsc)
{
	return cpu->first && tsc >= cpu->first && tsc <= v->survey.last;
}

static int load_forks(struct xf_verify *v)
{
	sqlite3_stmt *stmt;
	size_t room = 0;
	int code = xf_db_prepare(v->db, &stmt,
		"SELECT fork_id, first_event, tsc_start, tsc_end, vcpu FROM fork WHERE domid = ?"
		" ORDER BY fork_id",
		v->err);

	if (!code)
		sqlite3_bind_int(stmt, 1, v->result->domid);
	while (!code && (code = xf_db_step(stmt, v->err)) == 1) {
		code = 0;
		if (v->nforks == room) {
			struct xf_found *more;

			room = room ? 2 * room : 64;
			more = realloc(v->forks, room * sizeof(*more));
			if (!more) {
				code = xf_fail_nomem(v->err);
				break;
			}
			v->forks = more;
		}
		v->forks[v->nforks++] = (struct xf_found){.id = sqlite3_column_int64(stmt, 0),
			.first_event = sqlite3_column_int64(stmt, 1),
			.start = (uint64_t)sqlite3_column_int64(stmt, 2),
			.end = (uint64_t)sqlite3_column_int64(stmt, 3),
			.vcpu = (uint32_t)sqlite3_column_int64(stmt, 4)};
	}
	sqlite3_finalize(stmt);
	return code;
}

/* Do the two tell of one time at all? */
static int check_times(struct xf_verify *v)
{
	int64_t first = 0, last = 0;
	int code = xf_db_int(
		v->db, "SELECT ifnull((SELECT tsc_first FROM capture), 0)", &first, v->err);

	if (!code)
		code = xf_db_int(
			v->db, "SELECT ifnull((SELECT tsc_last FROM capture), 0)", &last, v->err);
	v->capture_first = (uint64_t)first;
	v->capture_last = (uint64_t)last;
	if (code || (v->survey.first <= v->capture_last && v->survey.last >= v->capture_first))
		return code;
	return xf_fail(v->err, XF_FORMAT,
		"the log and the capture have no time in common: TSC %llu to %llu in the log, %llu to"
		" %llu in the capture; the log is of another boot, or its clock is not x86-tsc",
		(unsigned long long)v->survey.first, (unsigned long long)v->survey.last,
		(unsigned long long)v->capture_first, (unsigned long long)v->capture_last);
}

/* Addresses of the log's first user faults in the capture's time, each with its line's time. */
static int sample_faults(struct xf_verify *v, struct xf_map *sample, uint64_t *last)
{
	struct xf_ftrace_line line;
	uint64_t va, *slot;
	int code = 0;

	while (sample->count < SAMPLE && (code = xf_ftrace_next(v->log, &line, v->err)) == 1) {
		if (strcmp(line.event, "page_fault_user") || line.tsc < v->capture_first ||
			!xf_ftrace_number(line.text, "address", 16, &va))
			continue;
		slot = xf_map_put(sample, va);
		if (!slot)
			return xf_fail_nomem(v->err);
		*slot = line.tsc;
		*last = line.tsc;
	}
	return code < 0 ? code : xf_ftrace_rewind(v->log, v->err);
}

/* The domain that has the most of the log's faults at their time. */
static int find_domain(struct xf_verify *v)
{
	struct xf_map sample = {0}, votes = {0};
	sqlite3_stmt *stmt = NULL;
	uint64_t last = 0, best = 0, domid, n, *slot;
	size_t cursor = 0;
	int code = sample_faults(v, &sample, &last);

	if (!code)
		code = xf_db_prepare(v->db, &stmt,
			"SELECT p.domid, e.va, e.tsc FROM event e JOIN event_place p USING (place)"
			" WHERE e.type IN (SELECT type FROM event_type WHERE name = 'page_fault')"
			" AND p.domid IS NOT NULL AND e.va IS NOT NULL ORDER BY e.event_id",
			v->err);
	while (!code && (code = xf_db_step(stmt, v->err)) == 1) {
		uint64_t tsc = (uint64_t)sqlite3_column_int64(stmt, 2);

		code = 0;
		if (tsc > last)
			break;
		slot = xf_map_get(&sample, (uint64_t)sqlite3_column_int64(stmt, 1));
		if (!slot || tsc > *slot || *slot - tsc > REACH)
			continue;
		slot = xf_map_put(&votes, (uint64_t)sqlite3_column_int64(stmt, 0));
		if (!slot)
			code = xf_fail_nomem(v->err);
		else
			++*slot;
	}
	while (!code && xf_map_next(&votes, &cursor, &domid, &n)) {
		if (n <= best)
			continue;
		best = n;
		v->result->domid = (int)domid;
	}
	sqlite3_finalize(stmt);
	xf_map_free(&sample);
	xf_map_free(&votes);
	if (!code && v->result->domid < 0)
		code = xf_fail(v->err, XF_FORMAT,
			"no domain of the capture has the page faults of the log: it is of another guest,"
			" host or boot; give --domain dN to compare all the same");
	return code;
}

/* Both in order of time: a line before the records that are later. */
static int lines_until(struct xf_verify *v, uint64_t tsc, struct xf_ftrace_line *line, int *more)
{
	int code = 0;

	while (!code && *more == 1 && line->tsc <= tsc) {
		code = xf_verify_line(v, line);
		if (!code)
			*more = xf_ftrace_next(v->log, line, v->err);
	}
	return *more < 0 ? *more : code;
}

static int walk(struct xf_verify *v, struct xf_event_scan *scan)
{
	struct xf_ftrace_line line;
	struct xf_event event;
	int64_t id, n = 0;
	int more = xf_ftrace_next(v->log, &line, v->err), code = more < 0 ? more : 0;

	while (!code && (code = xf_event_scan_next(scan, &id, &event, v->err)) == 1) {
		code = 0;
		if (!(event.has & XF_HAS_OWNER) || event.domid != v->result->domid ||
			(event.kind != XF_PAGE_FAULT && event.kind != XF_EMULATE))
			continue;
		code = lines_until(v, event.tsc, &line, &more);
		if (!code && event.kind == XF_PAGE_FAULT && v->survey.faults)
			code = xf_verify_fault(v, id, &event);
		if (!code && event.kind == XF_EMULATE && v->result->by_write)
			code = xf_verify_write(v, id, &event);
		if (!code && v->options->stop && !(++n & 0xffff) && v->options->stop())
			code = xf_fail(v->err, XF_INTERRUPTED, "interrupted");
	}
	return code ? code : lines_until(v, UINT64_MAX, &line, &more);
}

static int compare(struct xf_verify *v)
{
	struct xf_event_scan scan;
	int code = xf_event_scan_open(&scan, v->db, 1, INT64_MAX, false, v->err);

	if (!code)
		code = walk(v, &scan);
	xf_event_scan_close(&scan);
	if (!code)
		code = xf_verify_faults_finish(v);
	if (!code && v->result->by_write)
		code = xf_verify_writes_finish(v);
	if (!code)
		code = v->result->by_write ? xf_verify_forks_finish(v)
		       : v->survey.forks   ? xf_verify_match(v)
					   : 0;
	if (!code && v->result->by_write)
		code = xf_verify_pages_finish(v);
	return code;
}

static void judged(struct xf_verify *v)
{
	struct xf_verify_count *counts = v->result->counts;

	v->result->by_write = v->survey.copies && v->survey.switches;
	v->result->threads_known = v->survey.threads;
	counts[XF_VERIFY_FAULTS].judged = v->survey.faults;
	counts[XF_VERIFY_FORKS].judged = v->result->by_write || v->survey.forks;
	counts[XF_VERIFY_WRITES].judged = v->result->by_write;
	counts[XF_VERIFY_VA_BASES].judged = v->result->by_write;
	counts[XF_VERIFY_COW].judged = v->result->by_write && v->survey.faults;
}

static int open_both(struct xf_verify *v, const char *path)
{
	int code = xf_ftrace_open(&v->log, path, v->err);

	if (!code)
		code = xf_verify_survey(v);
	if (!code)
		code = check_times(v);
	if (!code && v->result->domid < 0)
		code = find_domain(v);
	if (!code)
		code = xf_spans_load(&v->losses, v->db,
			"SELECT ifnull(tsc_first, 0), ifnull(tsc_last, 0) FROM loss ORDER BY 1",
			v->err);
	if (!code)
		code = load_forks(v);
	if (!code)
		code = xf_verify_pages_open(v);
	return code;
}

static void free_all(struct xf_verify *v)
{
	uint64_t key, value;
	size_t cursor = 0;

	while (xf_map_next(&v->cpus, &cursor, &key, &value))
		free((void *)(uintptr_t)value);
	cursor = 0;
	while (xf_map_next(&v->tasks, &cursor, &key, &value))
		free((void *)(uintptr_t)value);
	cursor = 0;
	/* left over only after a failure; a page may stand there more than once */
	while (xf_map_next(&v->protected, &cursor, &key, &value))
		if (!--((struct xf_page *)(uintptr_t)value)->held &&
			!((struct xf_page *)(uintptr_t)value)->open)
			free((void *)(uintptr_t)value);
	for (size_t i = 0; i < v->nopen; i++)
		free(v->open[i]);
	free(v->ahead);
	free(v->open);
	xf_map_free(&v->cpus);
	xf_map_free(&v->tasks);
	xf_map_free(&v->protected);
	free(v->truths);
	free(v->forks);
	free(v->losses.at);
	sqlite3_finalize(v->sequences);
	xf_ftrace_close(v->log);
}

int xf_verify(sqlite3 *db, const char *log, const struct xf_verify_options *options,
	struct xf_verify_result *result, struct xf_error *err)
{
	struct xf_verify v = {.db = db, .options = options, .result = result, .err = err};
	int code;

	*result = (struct xf_verify_result){.domid = options->domid};
	code = open_both(&v, log);
	if (!code) {
		judged(&v);
		code = compare(&v);
	}
	free_all(&v);
	return code;
}
