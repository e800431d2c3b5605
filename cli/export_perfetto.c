// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault export --to perfetto: the trace-event form of JSON.
 * In: the views, each in order of time.  Out: one array of events, in order of time.
 *
 * A domain is a process and a vCPU a thread; what lies over each other without one holding the other
 * goes on further threads of the same vCPU ("lanes"), because slices of one thread must nest.
 * Losses stand on the pCPU they happened on, with the events whose vCPU is unknown.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/export.h"
#include "common/escape.h"
#include "common/map.h"
#include "schemas/db.h"
#include "schemas/xen.h"

#define PHYSICAL  100000 /* process id of the pCPUs; a domain's is its number + 1 */
#define MAX_LANES 16
#define MAX_DEPTH 32

/* An open slice of a lane. */
struct slice {
	uint64_t end;
	int64_t fork; /* -1 = of none */
};

struct lane {
	int tid, depth;
	struct slice open[MAX_DEPTH];
};

struct track {
	int pid, number, lanes;
	struct lane *lane[MAX_LANES];
};

enum source { FORK, SEQUENCE, LOSS, EVENT, SOURCES };

struct perfetto {
	struct xf_export *x;
	struct xf_map tracks;	 /* pid << 32 | vCPU or pCPU -> struct track * */
	struct xf_map processes; /* pid -> 1 when it was named */
	sqlite3_stmt *stmt[SOURCES];
	bool waiting[SOURCES]; /* the statement stands on a row */
	int next_tid;
	bool any;
};

/* Nanoseconds since the first record; without a frequency a cycle counts as one. */
static uint64_t ns(const struct perfetto *p, int64_t tsc)
{
	uint64_t t = (uint64_t)tsc - p->x->tsc_first, hz = p->x->hz;

	if (tsc < (int64_t)p->x->tsc_first)
		return 0;
	if (!hz)
		return t;
	return t / hz * 1000000000 + (uint64_t)((long double)(t % hz) * 1e9L / (long double)hz);
}

/* Opens an event: {"ph":"X","pid":1,"tid":2,"ts":3.456,  (time NULL = none) */
static void begin(struct perfetto *p, const char *phase, int pid, int tid, const uint64_t *time)
{
	FILE *file = p->x->file;

	fputs(p->any ? ",\n" : "\n", file);
	p->any = true;
	fprintf(file, "{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d", phase, pid, tid);
	if (time)
		fprintf(file, ",\"ts\":%llu.%03llu", (unsigned long long)(*time / 1000),
			(unsigned long long)(*time % 1000));
}

/* Names a process or a thread, and says where it stands. */
static void name_it(
	struct perfetto *p, const char *what, int pid, int tid, const char *name, int rank)
{
	FILE *file = p->x->file;

	begin(p, "M", pid, tid, NULL);
	fprintf(file, ",\"name\":\"%s_name\",\"args\":{\"name\":", what);
	xf_escape_to(file, XF_ESCAPE_JSON, name);
	fputs("}}", file);
	begin(p, "M", pid, tid, NULL);
	fprintf(file, ",\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%d}}", what, rank);
}

static struct lane *add_lane(struct perfetto *p, struct track *t)
{
	struct lane *lane;
	char name[64];

	if (t->lanes == MAX_LANES)
		return t->lane[MAX_LANES - 1];
	lane = calloc(1, sizeof(*lane));
	if (!lane)
		return NULL;
	lane->tid = p->next_tid++;
	if (t->pid == PHYSICAL)
		snprintf(name, sizeof(name), "pCPU %d", t->number);
	else
		snprintf(name, sizeof(name), "d%dv%d", t->pid - 1, t->number);
	if (t->lanes)
		snprintf(name + strlen(name), sizeof(name) - strlen(name), " (also %d)", t->lanes);
	name_it(p, "thread", t->pid, lane->tid, name, t->number * MAX_LANES + t->lanes);
	return t->lane[t->lanes++] = lane;
}

/* The track of a vCPU, or of a pCPU where the vCPU is unknown; NULL = no memory. */
static struct track *track_of(struct perfetto *p, int pid, int number)
{
	uint64_t *slot = xf_map_put(&p->tracks, (uint64_t)pid << 32 | (uint32_t)number);
	uint64_t *known;
	struct track *t;
	char name[64];

	if (!slot)
		return NULL;
	if (*slot)
		return (struct track *)(uintptr_t)*slot;
	known = xf_map_put(&p->processes, (uint64_t)pid);
	t = calloc(1, sizeof(*t));
	if (!known || !t) {
		free(t);
		return NULL;
	}
	*slot = (uintptr_t)t;
	*t = (struct track){.pid = pid, .number = number};
	if (!*known) {
		snprintf(name, sizeof(name), "domain %d", pid - 1);
		name_it(p, "process", pid, 0, pid == PHYSICAL ? "physical CPUs" : name, pid);
		*known = 1;
	}
	return add_lane(p, t) ? t : NULL;
}

/* Columns 1 to 3 of every statement: domid, vcpu, pcpu. */
static struct track *track_of_row(struct perfetto *p, sqlite3_stmt *stmt)
{
	if (sqlite3_column_type(stmt, 1) != SQLITE_NULL)
		return track_of(p, sqlite3_column_int(stmt, 1) + 1, sqlite3_column_int(stmt, 2));
	return track_of(p, PHYSICAL, sqlite3_column_int(stmt, 3));
}

/* Events by the million make a file that no viewer opens: they come on request, or for a part. */
static bool detailed(const struct xf_export *x)
{
	return x->own->detail || x->options->fork >= 0 || x->range.has_from || x->range.has_to;
}

/* May a slice lie on this lane: inside what is open there, and in no other fork than its own? */
static bool fits(struct lane *lane, uint64_t start, uint64_t end, int64_t fork, bool inside)
{
	const struct slice *top;

	while (lane->depth && lane->open[lane->depth - 1].end <= start &&
		(lane->open[lane->depth - 1].end < end || !inside ||
			lane->open[lane->depth - 1].fork != fork))
		lane->depth--;
	if (!lane->depth)
		return true;
	top = &lane->open[lane->depth - 1];
	return lane->depth < MAX_DEPTH && inside && end <= top->end && top->fork == fork;
}

/*
 * Puts a slice on the first lane of the track that takes it, and opens its event.  fork: the one that
 * it is or belongs to, -1 = none; inside: it may lie inside another slice of that fork.
 */
static int put_slice(struct perfetto *p, struct track *track, const uint64_t *span, int64_t fork,
	bool inside, struct xf_error *err)
{
	struct lane *lane = NULL;

	for (int i = 0; i < track->lanes && !lane; i++)
		if (fits(track->lane[i], span[0], span[1], fork, inside))
			lane = track->lane[i];
	if (!lane)
		lane = add_lane(p, track);
	if (!lane)
		return xf_fail_nomem(err);
	if (lane->depth < MAX_DEPTH)
		lane->open[lane->depth++] = (struct slice){span[1], fork};
	begin(p, "X", track->pid, lane->tid, span);
	fprintf(p->x->file, ",\"dur\":%llu.%03llu",
		(unsigned long long)((span[1] - span[0]) / 1000),
		(unsigned long long)((span[1] - span[0]) % 1000));
	return 0;
}

/* "args" from the columns that hold something, from the given one on, and the end of the event. */
static void args(struct perfetto *p, sqlite3_stmt *stmt, int first)
{
	FILE *file = p->x->file;
	bool any = false;

	fputs(",\"args\":{", file);
	for (int i = first; i < sqlite3_column_count(stmt); i++) {
		const char *name = sqlite3_column_name(stmt, i);
		char words[XF_WORDS];

		if (sqlite3_column_type(stmt, i) == SQLITE_NULL)
			continue;
		fprintf(file, "%s\"%s\":", any ? "," : "", name);
		any = true;
		if (sqlite3_column_type(stmt, i) == SQLITE_TEXT)
			xf_escape_to(file, XF_ESCAPE_JSON, xf_db_text(stmt, i));
		else if (xf_cell_type_of(name) == XF_CELL_HEX || !strcmp(name, "frame") ||
			 !strcmp(name, "raw_id"))
			fprintf(file, "\"0x%llx\"",
				(unsigned long long)sqlite3_column_int64(stmt, i));
		else
			fprintf(file, "%lld", sqlite3_column_int64(stmt, i));
		if (!strcmp(name, "error_code"))
			fprintf(file, ",\"error\":\"%s\"",
				xf_error_code_text((uint64_t)sqlite3_column_int64(stmt, i), words,
					sizeof(words)));
		if (!strcmp(name, "pte"))
			fprintf(file, ",\"pte_flags\":\"%s\"",
				xf_pte_flags((uint64_t)sqlite3_column_int64(stmt, i), words,
					sizeof(words)));
	}
	fputs("}}", file);
}

/* Column 4: the end; 5: the fork; 6: the name. */
static int write_slice(struct perfetto *p, enum source source, struct xf_error *err)
{
	sqlite3_stmt *stmt = p->stmt[source];
	uint64_t span[2] = {
		ns(p, sqlite3_column_int64(stmt, 0)), ns(p, sqlite3_column_int64(stmt, 4))};
	int64_t fork =
		sqlite3_column_type(stmt, 5) == SQLITE_NULL ? -1 : sqlite3_column_int64(stmt, 5);
	static const char *const categories[] = {"fork", "page", "loss"};
	struct track *track = track_of_row(p, stmt);
	int code;

	if (!track)
		return xf_fail_nomem(err);
	code = put_slice(p, track, span, fork, source == SEQUENCE, err);
	if (code)
		return code;
	fprintf(p->x->file, ",\"cat\":\"%s\",\"name\":", categories[source]);
	xf_escape_to(p->x->file, XF_ESCAPE_JSON, xf_db_text(stmt, 6));
	args(p, stmt, 7);
	return 0;
}

/* Column 4: the kind, which is the name. */
static int write_instant(struct perfetto *p, sqlite3_stmt *stmt, struct xf_error *err)
{
	uint64_t time = ns(p, sqlite3_column_int64(stmt, 0));
	struct track *track = track_of_row(p, stmt);

	if (!track)
		return xf_fail_nomem(err);
	begin(p, "i", track->pid, track->lane[0]->tid, &time);
	fputs(",\"s\":\"t\",\"cat\":\"event\",\"name\":", p->x->file);
	xf_escape_to(p->x->file, XF_ESCAPE_JSON, xf_db_text(stmt, 4));
	args(p, stmt, 5);
	return 0;
}

#define TIMED "tsc IS NOT NULL AND "
/* the loss is a slice of its own; hypercalls without PTEs and traps say nothing about page tables */
#define KINDS                                                                                       \
	"kind NOT IN ('loss', 'task_switch', 'multicall', 'mmuext', 'iret', 'hypercall', 'privop'," \
	" 'trap', 'invalid_op', 'ldt_fault', 'fpu', 'cr_write', 'domain_add', 'domain_remove')"
#define PCPU(view) "(SELECT pcpu FROM events WHERE event_id = " view ".first_event)"
#define CUT	   "CASE complete WHEN 0 THEN ' (cut)' ELSE '' END"

static int open_sources(struct perfetto *p, struct xf_error *err)
{
	static const struct {
		const char *view, *columns, *and, *order;
	} sources[SOURCES] = {
		[FORK] = {"forks",
			"tsc_start, domid, vcpu, " PCPU(
				"forks") ", tsc_end, fork_id,"
					 " ifnull(comm || ': ', '') || 'fork ' || fork_id || " CUT
					 ", fork_id, mechanism, pt_pages, ptes, faults,"
					 " unhooks, rehooks, emulations, flushes, spurious, cow_faults, complete, symbol,"
					 " doubt, pid, comm, child_pid, domain",
			NULL, "tsc_start, tsc_end DESC"},
		[SEQUENCE] = {"pt_sequences",
			"tsc_start, domid, vcpu, " PCPU(
				"pt_sequences") ", tsc_end, fork_id,"
						" printf(CASE WHEN pt_page IS NULL THEN 'frame 0x%llx' ELSE 'page 0x%llx' END,"
						" ifnull(pt_page, frame)) || " CUT
						", sequence_id, fork_id, pt_page, frame,"
						" va_base, mechanism, ptes, faults, unhooks, rehooks, emulations, flushes,"
						" spurious, ended_by, complete",
			NULL, "tsc_start, tsc_end DESC, sequence_id"},
		[LOSS] = {"losses",
			"ifnull(tsc_first, tsc_last), NULL, NULL, pcpu, ifnull(tsc_last, tsc_first),"
			" NULL, 'LOST ' || lost || ' records', lost, domid, vcpu",
			"ifnull(tsc_first, tsc_last) IS NOT NULL", "ifnull(tsc_first, tsc_last)"},
		[EVENT] = {"events",
			"tsc, domid, vcpu, pcpu, kind, event_id, va, pt_page, slot, rip, symbol,"
			" error_code, pte, frame, count, tsc_late, pcpu,"
			" (SELECT cause || ', ' || confidence FROM spurious_faults s"
			" WHERE s.event_id = events.event_id) AS spurious",
			TIMED KINDS, NULL},
	};
	int code = 0;

	for (int i = 0; i < SOURCES && !code; i++)
		if (i != EVENT || detailed(p->x))
			code = xf_export_select(p->x, &p->stmt[i], sources[i].view,
				sources[i].columns, sources[i].and, sources[i].order, err);
	return code;
}

/* The next row of a source; what cannot be told apart by time comes in the order of enum source. */
static int advance(struct perfetto *p, enum source source, struct xf_error *err)
{
	int code = p->stmt[source] ? xf_db_step(p->stmt[source], err) : 0;

	p->waiting[source] = code == 1;
	return code < 0 ? code : 0;
}

static int merge(struct perfetto *p, struct xf_error *err)
{
	int code = 0;

	for (int i = 0; i < SOURCES && !code; i++)
		code = advance(p, (enum source)i, err);
	while (!code) {
		int first = -1;
		int64_t tsc = 0;

		for (int i = 0; i < SOURCES; i++) {
			int64_t t = p->waiting[i] ? sqlite3_column_int64(p->stmt[i], 0) : 0;

			if (p->waiting[i] && (first < 0 || t < tsc)) {
				first = i;
				tsc = t;
			}
		}
		if (first < 0 || ferror(p->x->file))
			break;
		code = first == EVENT ? write_instant(p, p->stmt[first], err)
				      : write_slice(p, (enum source)first, err);
		if (!code)
			code = advance(p, (enum source)first, err);
		if (!code && xf_stop_requested())
			code = xf_fail(err, XF_INTERRUPTED, "interrupted");
	}
	return code;
}

/* What the capture is and what it cannot vouch for, where the viewer shows the metadata. */
static int header(struct perfetto *p, struct xf_error *err)
{
	FILE *file = p->x->file;
	sqlite3_stmt *stmt;
	int n = 0,
	    code = xf_db_prepare(p->x->db, &stmt,
		    "SELECT source, format, tool_version, records, lost_records, complete FROM trace",
		    err);

	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":\"xenfault\"", file);
	if (!code && (code = xf_db_step(stmt, err)) == 1)
		for (int i = 0; i < sqlite3_column_count(stmt); i++) {
			fprintf(file, ",\"%s\":", sqlite3_column_name(stmt, i));
			xf_escape_to(file, XF_ESCAPE_JSON, xf_db_text(stmt, i));
		}
	if (!detailed(p->x))
		fputs(",\"events\":\"left out: --detail, or a part by --fork, --from, --until\"",
			file);
	fprintf(file, ",\"time_unit\":\"%s\",\"tsc_first\":\"%llu\",\"cpu_hz\":\"%llu\"",
		p->x->hz ? "us" : "1000 cycles: the frequency is unknown",
		(unsigned long long)p->x->tsc_first, (unsigned long long)p->x->hz);
	sqlite3_finalize(stmt);
	if (code < 0)
		return code;
	code = xf_db_prepare(p->x->db, &stmt,
		"SELECT count || ' ' || text FROM doubt UNION ALL"
		" SELECT count || ' ' || text FROM finding",
		err);
	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		fprintf(file, ",\"doubt %d\":", ++n);
		xf_escape_to(file, XF_ESCAPE_JSON, xf_db_text(stmt, 0));
		code = 0;
	}
	sqlite3_finalize(stmt);
	fputs("},\n\"traceEvents\":[", file);
	return code;
}

/* Events without a time have no place on a time line. */
static int untimed(struct perfetto *p, struct xf_error *err)
{
	int64_t n = 0;
	int code = xf_db_int(p->x->db, "SELECT count(*) FROM event WHERE tsc IS NULL", &n, err);

	if (n)
		xf_warn("%lld events carry no time and are not in the time line", (long long)n);
	return code;
}

static void free_tracks(struct perfetto *p)
{
	size_t cursor = 0;
	uint64_t key, value;

	while (xf_map_next(&p->tracks, &cursor, &key, &value)) {
		struct track *t = (struct track *)(uintptr_t)value;

		for (int i = 0; t && i < t->lanes; i++)
			free(t->lane[i]);
		free(t);
	}
	xf_map_free(&p->tracks);
	xf_map_free(&p->processes);
}

int xf_export_perfetto(struct xf_export *x, struct xf_error *err)
{
	struct perfetto p = {.x = x, .next_tid = 1};
	int code;

	if (x->own->view)
		return xf_fail(
			err, XF_USAGE, "--view is for csv and jsonl; perfetto takes them all");
	if (!x->hz)
		xf_warn("the TSC frequency is unknown: one cycle is shown as 1 ns; --cpu-hz gives it");
	code = open_sources(&p, err);
	if (!code)
		code = header(&p, err);
	if (!code)
		code = merge(&p, err);
	fputs("\n]}\n", x->file);
	if (!code && detailed(x))
		code = untimed(&p, err);
	for (int i = 0; i < SOURCES; i++)
		sqlite3_finalize(p.stmt[i]);
	free_tracks(&p);
	return code;
}
