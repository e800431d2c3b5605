// SPDX-License-Identifier: GPL-2.0-or-later
/* A log into the database.  In: a file.  Out: rows of guest_*, or why there are none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/guest/state.h"
#include "schemas/db.h"

uint64_t xf_guest_tsc(const struct xf_guest_clock *clock, uint64_t time)
{
	double tsc;

	if (clock->rate == 1)
		return clock->tsc + (time - clock->zero);
	tsc = (double)(int64_t)(time - clock->zero) * clock->rate;
	if (tsc < -9e18 || tsc > 9e18)
		return tsc < 0 ? 0 : INT64_MAX;
	if (tsc < 0 && (uint64_t)-tsc > clock->tsc)
		return 0;
	return clock->tsc + (uint64_t)(int64_t)tsc;
}

int xf_guest_check_stop(const struct xf_guest *g, unsigned long n)
{
	return g->stop && !(n & 0xffff) && g->stop()
		       ? xf_fail(g->err, XF_INTERRUPTED, "interrupted")
		       : 0;
}

bool xf_guest_faulted(const struct xf_guest *g, const struct xf_event *event)
{
	return event->kind == XF_PAGE_FAULT && event->has & XF_HAS_OWNER &&
	       event->domid == g->domid && event->has & XF_HAS_VA && event->error_code & 4;
}

int xf_guest_logged_fault(struct xf_guest *g, struct xf_guest_fault *fault)
{
	struct xf_ftrace_line line;
	uint64_t error_code;
	int code;

	while ((code = xf_ftrace_next(g->log, &line, g->err)) == 1) {
		code = xf_guest_check_stop(g, line.number);
		if (code)
			return code;
		if (strcmp(line.event, "page_fault_user") != 0 ||
			!xf_ftrace_number(line.text, "address", 16, &fault->va) ||
			!xf_ftrace_number(line.text, "ip", 16, &fault->rip) ||
			!xf_ftrace_number(line.text, "error_code", 16, &error_code))
			continue;
		fault->time = line.tsc;
		fault->vcpu = line.cpu;
		fault->error_code = (uint32_t)error_code;
		return 1;
	}
	return code;
}

/* When a CPU's last line was, and its first. */
struct seen {
	uint64_t first, last;
};

static int survey_line(struct xf_guest *g, struct xf_map *cpus, const struct xf_ftrace_line *line)
{
	struct xf_guest_survey *s = &g->survey;
	struct seen *seen = xf_map_object(cpus, line->cpu, sizeof(*seen));

	if (!seen)
		return xf_fail_nomem(g->err);
	if (!seen->last)
		seen->first = line->tsc;
	if (line->tsc < seen->last)
		return xf_fail(g->err, XF_FORMAT,
			"the log's clock jumps: line %lu of CPU %u is of an earlier time than the one before",
			line->number, line->cpu);
	seen->last = line->tsc;
	s->first = line->tsc < s->first ? line->tsc : s->first;
	s->last = line->tsc > s->last ? line->tsc : s->last;
	s->faults += !strcmp(line->event, "page_fault_user");
	s->forks += !strcmp(line->event, "sched_process_fork");
	s->switches |= !strcmp(line->event, "sched_switch");
	s->pins |= !strcmp(line->event, "xen_mmu_pgd_pin");
	s->flags |= !strcmp(line->event, "task_newtask");
	return xf_guest_check_stop(g, line->number);
}

static int survey(struct xf_guest *g)
{
	struct xf_map cpus = {0};
	struct xf_ftrace_line line;
	uint64_t cpu, value;
	size_t cursor = 0;
	int code;

	g->survey.first = UINT64_MAX;
	while ((code = xf_ftrace_next(g->log, &line, g->err)) == 1) {
		code = survey_line(g, &cpus, &line);
		if (code)
			break;
	}
	xf_ftrace_state(g->log, &g->result->log);
	g->survey.whole = g->survey.first;
	/* each CPU's buffer lost its oldest events on its own */
	while (xf_map_next(&cpus, &cursor, &cpu, &value)) {
		struct seen *seen = (struct seen *)(uintptr_t)value;

		if (g->result->log.overwritten && seen->first > g->survey.whole)
			g->survey.whole = seen->first;
		free(seen);
	}
	xf_map_free(&cpus);
	return code;
}

static int load_times(struct xf_guest *g)
{
	int64_t first = 0, last = 0;
	int code = xf_db_int(
		g->db, "SELECT ifnull((SELECT tsc_first FROM capture), 0)", &first, g->err);

	if (!code)
		code = xf_db_int(
			g->db, "SELECT ifnull((SELECT tsc_last FROM capture), 0)", &last, g->err);
	g->first = (uint64_t)first;
	g->last = (uint64_t)last;
	if (code)
		return code;
	return xf_spans_load(&g->holes, g->db,
		"SELECT ifnull(tsc_first, 0) AS first, ifnull(tsc_last, 0) FROM loss UNION ALL"
		" SELECT tsc_first, tsc_last FROM gap ORDER BY first",
		g->err);
}

/* Another log of the domain gives way. */
static int forget(struct xf_guest *g)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		"DELETE FROM guest_fork WHERE log_id IN (SELECT log_id FROM guest_log WHERE domid = %d);"
		"DELETE FROM guest_task WHERE log_id IN (SELECT log_id FROM guest_log WHERE domid = %d);"
		"DELETE FROM guest_run WHERE log_id IN (SELECT log_id FROM guest_log WHERE domid = %d);"
		"DELETE FROM guest_log WHERE domid = %d",
		g->domid, g->domid, g->domid, g->domid);
	return xf_db_exec(g->db, sql, g->err);
}

static int write_log(struct xf_guest *g, const char *path)
{
	const struct xf_guest_result *r = g->result;
	const struct xf_guest_survey *s = &g->survey;
	sqlite3_stmt *stmt = NULL;
	int at = 0,
	    code = xf_db_prepare(g->db, &stmt,
		    "INSERT INTO guest_log (domid, source, clock, events, bad_lines, disordered, lost,"
		    " overwritten, tsc_first, tsc_last, rate, faults, matched, residual, slack, switches,"
		    " pins, flags) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		    g->err);

	if (code)
		return code;
	sqlite3_bind_int(stmt, ++at, g->domid);
	sqlite3_bind_text(stmt, ++at, path, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, ++at, r->log.seconds ? "seconds" : "cycles", -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, ++at, (int64_t)r->log.events);
	sqlite3_bind_int64(stmt, ++at, (int64_t)r->log.bad);
	sqlite3_bind_int64(stmt, ++at, (int64_t)r->log.back);
	sqlite3_bind_int64(stmt, ++at, (int64_t)r->log.lost);
	sqlite3_bind_int(stmt, ++at, r->log.overwritten);
	sqlite3_bind_int64(stmt, ++at, (int64_t)xf_guest_tsc(&g->clock, s->first));
	sqlite3_bind_int64(stmt, ++at, (int64_t)xf_guest_tsc(&g->clock, s->last));
	sqlite3_bind_double(stmt, ++at, g->clock.rate);
	sqlite3_bind_int64(stmt, ++at, (int64_t)r->faults);
	sqlite3_bind_int64(stmt, ++at, (int64_t)r->matched);
	if (r->matched)
		sqlite3_bind_int64(stmt, ++at, (int64_t)r->residual);
	else
		sqlite3_bind_null(stmt, ++at);
	sqlite3_bind_int64(stmt, ++at, (int64_t)g->clock.slack);
	sqlite3_bind_int(stmt, ++at, s->switches);
	sqlite3_bind_int(stmt, ++at, s->pins);
	sqlite3_bind_int(stmt, ++at, s->flags);
	code = xf_db_step(stmt, g->err);
	sqlite3_finalize(stmt);
	g->log_id = sqlite3_last_insert_rowid(g->db);
	return code;
}

int xf_guest_load(sqlite3 *db, int domid, const char *path, bool (*stop)(void),
	struct xf_guest_result *result, struct xf_error *err)
{
	struct xf_guest g = {.db = db, .domid = domid, .stop = stop, .result = result, .err = err};
	int code;

	*result = (struct xf_guest_result){0};
	code = xf_ftrace_open(&g.log, path, err);
	if (!code) {
		xf_ftrace_any_clock(g.log);
		code = survey(&g);
	}
	result->forks = g.survey.forks;
	if (!code)
		code = load_times(&g);
	if (!code)
		code = xf_guest_fit(&g);
	if (!code)
		code = forget(&g);
	if (!code)
		code = write_log(&g, path);
	if (!code)
		code = xf_guest_tasks(&g);
	free(g.holes.at);
	xf_ftrace_close(g.log);
	return code;
}
