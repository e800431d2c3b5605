// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who forked.  In: forks, and what guests' own logs say (tables guest_*).  Out: fork_name, guest_fork_found.
 *
 * A fork of the log lies between the last sign that its task was not forking and the pin of the child's
 * tables, or its line.  A fork of the capture is that one whose time it lies in, on its vCPU, and
 *	log	whose task ran on that vCPU then (sched_switch);
 *	pin	or whose pin is the one that Xen recorded;
 *	order	or no other one comes into question.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/analyzer.h"
#include "common/map.h"
#include "schemas/db.h"

#define WINDOW	     256 /* forks of the log that end behind a fork and may be it */
#define CLONE_VM     0x100u
#define CLONE_THREAD 0x10000u

struct logged {
	int64_t id, pid;
	uint64_t begin, end, tsc; /* end: the pin, or the line */
	int64_t vcpu;		  /* at the end */
	const char *what;	  /* NULL = not known */
	bool pinned;
	int64_t fork_id; /* the first that it names, 0 = none */
	bool claimed;	 /* by a fork as sure as it gets */
};

struct found {
	int64_t id, vcpu, last_vcpu;
	uint64_t start, end, pin; /* TSC; pin 0 = none */
	bool complete;
	const char *named_by; /* NULL = not yet */
};

struct names {
	sqlite3 *db;
	int64_t log_id, domid;
	uint64_t first, last, slack; /* TSC of the log; cycles */
	bool switches, pins;
	uint64_t capture_first, capture_last;
	struct logged *logged;
	struct logged **by_pid; /* the same, by task and end */
	struct found *forks;
	size_t nlogged, nforks;
	sqlite3_stmt *run, *sequences, *insert_name, *insert_found, *hole;
	uint64_t unnamed, mixed;
	struct xf_error *err;
};

static int one_more(void **items, size_t n, size_t size, struct xf_error *err)
{
	void *more;

	/* room for a power of two */
	if (n & (n - 1))
		return 0;
	more = realloc(*items, (n ? 2 * n : 1) * size);
	if (!more)
		return xf_fail_nomem(err);
	*items = more;
	return 0;
}

/* What the clone was, by its flags, or by whether new tables were pinned. */
static const char *what_of(const struct names *n, sqlite3_stmt *stmt)
{
	int64_t flags = sqlite3_column_int64(stmt, 6);

	if (sqlite3_column_type(stmt, 6) != SQLITE_NULL)
		return flags & CLONE_THREAD ? "thread" : flags & CLONE_VM ? "vfork" : "fork";
	if (sqlite3_column_type(stmt, 4) != SQLITE_NULL)
		return "fork";
	return n->pins && sqlite3_column_int(stmt, 7) ? "shared" : NULL;
}

static int by_end(const void *a, const void *b)
{
	const struct logged *x = a, *y = b;

	return x->end != y->end ? (x->end < y->end ? -1 : 1) : x->id < y->id ? -1 : x->id > y->id;
}

static int by_task(const void *a, const void *b)
{
	const struct logged *x = *(struct logged *const *)a, *y = *(struct logged *const *)b;

	return x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : by_end(x, y);
}

static int sort_logged(struct names *n)
{
	n->by_pid = malloc((n->nlogged + 1) * sizeof(struct logged *));
	if (!n->by_pid)
		return xf_fail_nomem(n->err);
	if (n->nlogged)
		qsort(n->logged, n->nlogged, sizeof(*n->logged), by_end);
	for (size_t i = 0; i < n->nlogged; i++)
		n->by_pid[i] = &n->logged[i];
	qsort(n->by_pid, n->nlogged, sizeof(struct logged *), by_task);
	return 0;
}

static int load_logged(struct names *n)
{
	sqlite3_stmt *stmt = NULL;
	void *items = NULL;
	int code = xf_db_prepare(n->db, &stmt,
		"SELECT guest_fork_id, pid, tsc_begin, tsc, tsc_pin, ifnull(pin_vcpu, vcpu), clone_flags,"
		" begin_known FROM guest_fork WHERE log_id = ?",
		n->err);

	if (!code)
		sqlite3_bind_int64(stmt, 1, n->log_id);
	while (!code && (code = xf_db_step(stmt, n->err)) == 1) {
		struct logged l = {.id = sqlite3_column_int64(stmt, 0),
			.pid = sqlite3_column_int64(stmt, 1),
			.begin = (uint64_t)sqlite3_column_int64(stmt, 2),
			.tsc = (uint64_t)sqlite3_column_int64(stmt, 3),
			.pinned = sqlite3_column_type(stmt, 4) != SQLITE_NULL,
			.vcpu = sqlite3_column_int64(stmt, 5),
			.what = what_of(n, stmt)};

		l.end = l.pinned ? (uint64_t)sqlite3_column_int64(stmt, 4) : l.tsc;
		code = one_more(&items, n->nlogged, sizeof(l), n->err);
		n->logged = items;
		if (!code)
			n->logged[n->nlogged++] = l;
	}
	sqlite3_finalize(stmt);
	return code ? code : sort_logged(n);
}

static int load_forks(struct names *n)
{
	sqlite3_stmt *stmt = NULL;
	void *items = NULL;
	int code = xf_db_prepare(n->db, &stmt,
		"SELECT fork_id, vcpu, tsc_start, tsc_end, ifnull(tsc_pin, 0), complete,"
		" ifnull((SELECT q.vcpu FROM sequence q WHERE q.fork_id = f.fork_id"
		" ORDER BY q.last_event DESC LIMIT 1), f.vcpu)"
		" FROM fork f WHERE domid = ? ORDER BY tsc_end, fork_id",
		n->err);

	if (!code)
		sqlite3_bind_int64(stmt, 1, n->domid);
	while (!code && (code = xf_db_step(stmt, n->err)) == 1) {
		code = one_more(&items, n->nforks, sizeof(*n->forks), n->err);
		n->forks = items;
		if (!code)
			n->forks[n->nforks++] = (struct found){.id = sqlite3_column_int64(stmt, 0),
				.vcpu = sqlite3_column_int64(stmt, 1),
				.start = (uint64_t)sqlite3_column_int64(stmt, 2),
				.end = (uint64_t)sqlite3_column_int64(stmt, 3),
				.pin = (uint64_t)sqlite3_column_int64(stmt, 4),
				.complete = sqlite3_column_int(stmt, 5) != 0,
				.last_vcpu = sqlite3_column_int64(stmt, 6)};
	}
	sqlite3_finalize(stmt);
	return code;
}

/* Can the capture's fork be this one of the log? */
static bool fits(const struct names *n, const struct found *f, const struct logged *l)
{
	if (l->what && strcmp(l->what, "fork") != 0)
		return false;
	return l->begin <= f->start + n->slack && f->end <= l->end + n->slack;
}

/* The first of the log's forks that ends behind a time. */
static size_t first_behind(const struct names *n, uint64_t tsc)
{
	size_t low = 0, high = n->nlogged;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (n->logged[middle].end + n->slack < tsc)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first fork of this task that ends behind a time, and the one after it; NULL = none. */
static struct logged *next_of(
	const struct names *n, int64_t pid, uint64_t tsc, struct logged **after)
{
	size_t low = 0, high = n->nlogged;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct logged *l = n->by_pid[middle];

		if (l->pid < pid || (l->pid == pid && l->end + n->slack < tsc))
			low = middle + 1;
		else
			high = middle;
	}
	*after = low + 1 < n->nlogged && n->by_pid[low + 1]->pid == pid ? n->by_pid[low + 1] : NULL;
	return low < n->nlogged && n->by_pid[low]->pid == pid ? n->by_pid[low] : NULL;
}

/* The task on a vCPU at a time: *pid, -1 = the log does not tell. */
static int running(struct names *n, int64_t vcpu, uint64_t tsc, int64_t *pid)
{
	int code;

	*pid = -1;
	sqlite3_bind_int64(n->run, 2, vcpu);
	sqlite3_bind_int64(n->run, 3, (int64_t)tsc);
	code = xf_db_step(n->run, n->err);
	if (code == 1 && tsc >= (uint64_t)sqlite3_column_int64(n->run, 0) + n->slack &&
		tsc + n->slack <= (uint64_t)sqlite3_column_int64(n->run, 1))
		*pid = sqlite3_column_int64(n->run, 2);
	sqlite3_reset(n->run);
	return code < 0 ? code : 0;
}

/* Do all writes of the fork fall to this task, where the log tells? */
static int all_by(struct names *n, const struct found *f, int64_t pid, bool *all)
{
	int64_t other;
	int code;

	*all = true;
	sqlite3_bind_int64(n->sequences, 1, f->id);
	while ((code = xf_db_step(n->sequences, n->err)) == 1) {
		code = running(n, sqlite3_column_int64(n->sequences, 0),
			(uint64_t)sqlite3_column_int64(n->sequences, 1), &other);
		if (code)
			break;
		*all &= other < 0 || other == pid;
	}
	sqlite3_reset(n->sequences);
	return code;
}

static int name(struct names *n, struct found *f, struct logged *l, const char *how)
{
	int code;

	f->named_by = how;
	l->claimed |= strcmp(how, "order") != 0;
	l->fork_id = l->fork_id && l->fork_id < f->id ? l->fork_id : f->id;
	sqlite3_bind_int64(n->insert_name, 1, f->id);
	sqlite3_bind_int64(n->insert_name, 2, l->id);
	sqlite3_bind_text(n->insert_name, 3, how, -1, SQLITE_STATIC);
	code = xf_db_step(n->insert_name, n->err);
	sqlite3_reset(n->insert_name);
	return code;
}

/* By the task that ran there. */
static int name_by_log(struct names *n, struct found *f, bool *known)
{
	struct logged *next, *after;
	int64_t pid = -1;
	bool all = true;
	int code = n->switches ? running(n, f->vcpu, f->start, &pid) : 0;

	*known = pid >= 0;
	if (!code && pid >= 0)
		code = all_by(n, f, pid, &all);
	if (code || pid < 0 || !all) {
		n->mixed += !all;
		return code;
	}
	/* what a task does, it does one after the other; but times may be unsure */
	next = next_of(n, pid, f->end, &after);
	if (!next || !fits(n, f, next) || (after && fits(n, f, after)))
		return 0;
	return name(n, f, next, "log");
}

/* By the pin: the kernel's line stands between the last write and Xen's record. */
static int name_by_pin(struct names *n, struct found *f)
{
	struct logged *only = NULL;

	for (size_t i = first_behind(n, f->end); i < n->nlogged && f->pin; i++) {
		struct logged *l = &n->logged[i];

		if (l->end > f->pin + n->slack)
			break;
		if (!l->pinned || l->vcpu != f->last_vcpu || !fits(n, f, l))
			continue;
		if (only)
			return 0;
		only = l;
	}
	return only ? name(n, f, only, "pin") : 0;
}

/* As the only one that it can be; a fork that a loss cut may be a piece of one that has its name. */
static int name_by_order(struct names *n, struct found *f)
{
	size_t first = first_behind(n, f->end);
	struct logged *only = NULL;

	for (size_t i = first; i < n->nlogged && i < first + WINDOW; i++) {
		struct logged *l = &n->logged[i];

		if (l->vcpu != f->last_vcpu || !fits(n, f, l) ||
			(f->complete && (l->claimed || l->fork_id)))
			continue;
		if (only)
			return 0;
		only = l;
	}
	return only ? name(n, f, only, "order") : 0;
}

static int name_forks(struct names *n)
{
	int code = 0;

	for (size_t i = 0; i < n->nforks && !code; i++) {
		struct found *f = &n->forks[i];
		bool known = false;

		code = name_by_log(n, f, &known);
		if (!code && !known)
			code = name_by_pin(n, f);
		/* the log says who it was, but not that this was a fork */
		if (known && !f->named_by)
			f->named_by = "";
	}
	for (size_t i = 0; i < n->nforks && !code; i++)
		if (!n->forks[i].named_by)
			code = name_by_order(n, &n->forks[i]);
	return code;
}

/* Is a fork without a name there, in this one's time? */
static bool unnamed_within(const struct names *n, const struct logged *l)
{
	size_t low = 0, high = n->nforks;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (n->forks[middle].end < l->begin)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < n->nforks && n->forks[low].end <= l->end + n->slack; low++)
		if (!n->forks[low].named_by && fits(n, &n->forks[low], l))
			return true;
	return false;
}

/* Why the capture has no fork of it. */
static int why_not(struct names *n, const struct logged *l, const char **why)
{
	int code = 0;

	*why = "no";
	if (l->begin < n->capture_first || l->end > n->capture_last)
		*why = "outside";
	else if (unnamed_within(n, l))
		*why = "undecided";
	else {
		sqlite3_bind_int64(n->hole, 1, (int64_t)l->end);
		sqlite3_bind_int64(n->hole, 2, (int64_t)l->begin);
		code = xf_db_step(n->hole, n->err);
		if (code == 1)
			*why = "lost";
		sqlite3_reset(n->hole);
	}
	return code < 0 ? code : 0;
}

static int write_found(struct names *n)
{
	int code = 0;

	for (size_t i = 0; i < n->nlogged && !code; i++) {
		const struct logged *l = &n->logged[i];
		const char *found = "yes";

		if (!l->fork_id)
			code = why_not(n, l, &found);
		if (code)
			break;
		sqlite3_bind_int64(n->insert_found, 1, l->id);
		sqlite3_bind_text(n->insert_found, 2, l->what, -1, SQLITE_STATIC);
		if (l->fork_id)
			sqlite3_bind_int64(n->insert_found, 3, l->fork_id);
		else
			sqlite3_bind_null(n->insert_found, 3);
		sqlite3_bind_text(n->insert_found, 4, found, -1, SQLITE_STATIC);
		code = xf_db_step(n->insert_found, n->err);
		sqlite3_reset(n->insert_found);
	}
	for (size_t i = 0; i < n->nforks; i++)
		n->unnamed += (!n->forks[i].named_by || !*n->forks[i].named_by) &&
			      n->forks[i].start >= n->first && n->forks[i].end <= n->last;
	return code;
}

/* One log: its forks, and those of its domain. */
static int name_by(struct names *n)
{
	int code;

	n->logged = NULL;
	n->by_pid = NULL;
	n->forks = NULL;
	n->nlogged = n->nforks = 0;
	sqlite3_bind_int64(n->run, 1, n->log_id);
	code = load_logged(n);
	if (!code)
		code = load_forks(n);
	if (!code)
		code = name_forks(n);
	if (!code)
		code = write_found(n);
	free(n->logged);
	free(n->by_pid);
	free(n->forks);
	return code;
}

static int prepare(struct names *n)
{
	int code = xf_db_prepare(n->db, &n->run,
		"SELECT tsc_start, tsc_end, pid FROM guest_run WHERE log_id = ? AND vcpu = ?"
		" AND tsc_start <= ? ORDER BY tsc_start DESC LIMIT 1",
		n->err);

	if (!code)
		code = xf_db_prepare(n->db, &n->sequences,
			"SELECT vcpu, tsc_start FROM sequence WHERE fork_id = ?", n->err);
	if (!code)
		code = xf_db_prepare(n->db, &n->insert_name,
			"INSERT INTO fork_name (fork_id, guest_fork_id, named_by) VALUES (?, ?, ?)",
			n->err);
	if (!code)
		code = xf_db_prepare(n->db, &n->insert_found,
			"INSERT INTO guest_fork_found (guest_fork_id, what, fork_id, found)"
			" VALUES (?, ?, ?, ?)",
			n->err);
	if (!code)
		code = xf_db_prepare(n->db, &n->hole,
			"SELECT 1 FROM (SELECT tsc_first, tsc_last FROM loss UNION ALL"
			" SELECT tsc_first, tsc_last FROM gap)"
			" WHERE ifnull(tsc_first, 0) <= ? AND ifnull(tsc_last, tsc_first) >= ? LIMIT 1",
			n->err);
	return code;
}

enum {
	XF_FINDING_UNNAMED,
	XF_FINDING_MIXED,
	XF_FINDING_UNCHECKED,
	XF_FINDING_EVENTS_LOST,
	FINDINGS
};

static const struct {
	const char *code, *text;
} texts[FINDINGS] = {
	[XF_FINDING_UNNAMED] = {"fork_unnamed",
		"forks in the time of their guest's log that it does not name"},
	[XF_FINDING_MIXED] = {"fork_mixed",
		"forks that hold writes of several tasks, says their guest's log"},
	[XF_FINDING_UNCHECKED] = {"guest_unchecked",
		"guests' logs that no page fault shows to belong to the capture"},
	[XF_FINDING_EVENTS_LOST] = {"guest_lost",
		"guests' logs of which the kernel lost events: names may be missing"},
};

static int findings(struct names *n)
{
	int64_t counts[FINDINGS] = {
		[XF_FINDING_UNNAMED] = (int64_t)n->unnamed, [XF_FINDING_MIXED] = (int64_t)n->mixed};
	sqlite3_stmt *stmt = NULL;
	int code = xf_db_int(n->db,
		"SELECT count(*) FROM guest_log WHERE matched = 0 AND source <> 'tracefs'",
		&counts[XF_FINDING_UNCHECKED], n->err);

	if (!code)
		code = xf_db_int(n->db, "SELECT count(*) FROM guest_log WHERE lost OR overwritten",
			&counts[XF_FINDING_EVENTS_LOST], n->err);
	if (!code)
		code = xf_db_prepare(n->db, &stmt,
			"INSERT INTO finding (code, count, text) VALUES (?, ?, ?)", n->err);
	for (int i = 0; i < FINDINGS && !code; i++) {
		if (!counts[i])
			continue;
		sqlite3_bind_text(stmt, 1, texts[i].code, -1, SQLITE_STATIC);
		sqlite3_bind_int64(stmt, 2, counts[i]);
		sqlite3_bind_text(stmt, 3, texts[i].text, -1, SQLITE_STATIC);
		code = xf_db_step(stmt, n->err);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return code;
}

static int each_log(struct names *n)
{
	sqlite3_stmt *stmt = NULL;
	int code = xf_db_prepare(n->db, &stmt,
		"SELECT log_id, domid, tsc_first, tsc_last, slack, switches, pins, c.first, c.last"
		" FROM guest_log, (SELECT max(tsc_first) AS first, max(tsc_last) AS last FROM capture) c"
		" ORDER BY log_id",
		n->err);

	while (!code && (code = xf_db_step(stmt, n->err)) == 1) {
		n->log_id = sqlite3_column_int64(stmt, 0);
		n->domid = sqlite3_column_int64(stmt, 1);
		n->first = (uint64_t)sqlite3_column_int64(stmt, 2);
		n->last = (uint64_t)sqlite3_column_int64(stmt, 3);
		n->slack = (uint64_t)sqlite3_column_int64(stmt, 4);
		n->switches = sqlite3_column_int(stmt, 5) != 0;
		n->pins = sqlite3_column_int(stmt, 6) != 0;
		n->capture_first = (uint64_t)sqlite3_column_int64(stmt, 7);
		n->capture_last = (uint64_t)sqlite3_column_int64(stmt, 8);
		code = name_by(n);
	}
	sqlite3_finalize(stmt);
	return code;
}

int xf_analyze_names(sqlite3 *db, struct xf_error *err)
{
	struct names n = {.db = db, .err = err};
	int64_t logs = 0;
	int code = xf_db_int(db, "SELECT EXISTS (SELECT 1 FROM guest_log)", &logs, err);

	if (code || !logs)
		return code;
	code = xf_db_exec(db,
		"DELETE FROM fork_name; DELETE FROM guest_fork_found; DELETE FROM finding WHERE code IN"
		" ('fork_unnamed', 'fork_mixed', 'guest_unchecked', 'guest_lost')",
		err);
	if (!code)
		code = prepare(&n);
	if (!code)
		code = each_log(&n);
	if (!code)
		code = findings(&n);
	sqlite3_finalize(n.run);
	sqlite3_finalize(n.sequences);
	sqlite3_finalize(n.insert_name);
	sqlite3_finalize(n.insert_found);
	sqlite3_finalize(n.hole);
	return code;
}
