// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault events: one row per event, from a database or straight from a trace.
 * In: DB, FILE or -.  Out: a table on stdout.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/symbolize.h"
#include "collector/trace/pump.h"
#include "collector/trace/reader.h"
#include "common/map.h"
#include "schemas/db.h"
#include "schemas/scan.h"
#include "schemas/xen.h"

/* The columns of the view `events`, in its order. */
static const struct xf_column full[] = {
	{"event_id", NULL, 0, XF_CELL_INT},
	{"tsc", NULL, 0, XF_CELL_INT},
	{"us", NULL, 0, XF_CELL_REAL},
	{"pcpu", NULL, 0, XF_CELL_INT},
	{"domid", NULL, 0, XF_CELL_INT},
	{"vcpu", NULL, 0, XF_CELL_INT},
	{"kind", NULL, 0, XF_CELL_TEXT},
	{"va", NULL, 0, XF_CELL_HEX},
	{"pt_page", NULL, 0, XF_CELL_HEX},
	{"slot", NULL, 0, XF_CELL_INT},
	{"rip", NULL, 0, XF_CELL_HEX},
	{"symbol", NULL, 0, XF_CELL_TEXT},
	{"error_code", NULL, 0, XF_CELL_INT},
	{"pte", NULL, 0, XF_CELL_HEX},
	{"frame", NULL, 0, XF_CELL_INT},
	{"count", NULL, 0, XF_CELL_INT},
	{"raw_id", NULL, 0, XF_CELL_INT},
	{"tsc_late", NULL, 0, XF_CELL_INT},
	{"arg1", NULL, 0, XF_CELL_INT},
	{"arg2", NULL, 0, XF_CELL_INT},
};

static const struct xf_column text_us[] = {
	{"us", NULL, 12, XF_CELL_REAL},
	{"vcpu", NULL, 5, XF_CELL_TEXT},
	{"kind", NULL, 10, XF_CELL_TEXT},
	{"va", NULL, 18, XF_CELL_HEX},
	{"n", NULL, 4, XF_CELL_INT}, /* slot, or count */
	{"detail", "error or PTE, where", 23, XF_CELL_TEXT},
};

static const struct xf_column text_cycles[] = {
	{"cycles", NULL, 12, XF_CELL_INT},
	{"vcpu", NULL, 5, XF_CELL_TEXT},
	{"kind", NULL, 10, XF_CELL_TEXT},
	{"va", NULL, 18, XF_CELL_HEX},
	{"n", NULL, 4, XF_CELL_INT}, /* slot, or count */
	{"detail", "error or PTE, where", 23, XF_CELL_TEXT},
};

struct events {
	const struct xf_options *options;
	/* one of the two is the source */
	sqlite3 *db;
	struct xf_event_scan scan;
	sqlite3_stmt *ends; /* with --fork: last events of its sequences, on the next one */
	int64_t next_end;
	struct xf_event of; /* and domain and vCPU of the fork */
	struct xf_reader *reader;
	struct xf_pump *pump;
	int64_t last_id;
	uint64_t hz, tsc_first;
	struct xf_range range;
	struct xf_namer *namer;
	struct xf_map names; /* rip -> char *, of the database or as they are looked up */
	struct xf_out *out;
};

static const char *lookup(struct events *e, const struct xf_event *event)
{
	uint64_t key = event->rip * 0x9e3779b97f4a7c15u +
		       (event->has & XF_HAS_OWNER ? event->domid : 0xffff);
	uint64_t *slot = xf_map_put(&e->names, key);
	char text[256];
	const char *name;

	if (!slot)
		return NULL;
	if (!*slot) {
		name = e->namer ? xf_namer_find(e->namer,
					  event->has & XF_HAS_OWNER ? event->domid : -1, event->rip,
					  text, sizeof(text))
				: NULL;
		/* "" stands for: looked up, none */
		*slot = (uintptr_t)strdup(name ? name : "");
	}
	name = (const char *)(uintptr_t)*slot;
	return name && *name ? name : NULL;
}

/* Names that the database holds. */
static int load_names(struct events *e, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(e->db, &stmt, "SELECT domid, rip, name FROM symbol", err);

	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		int domid = sqlite3_column_int(stmt, 0);
		uint64_t rip = (uint64_t)sqlite3_column_int64(stmt, 1);
		uint64_t *slot = xf_map_put(&e->names,
			rip * 0x9e3779b97f4a7c15u + (domid < 0 ? 0xffff : (unsigned)domid));

		code = 0;
		if (!slot)
			code = xf_fail_nomem(err);
		else if (!*slot)
			*slot = (uintptr_t)strdup(xf_db_text(stmt, 2));
	}
	sqlite3_finalize(stmt);
	return code;
}

static void cell(struct xf_out *out, const struct xf_event *event, unsigned has, uint64_t value)
{
	if ((event->has & has) == has)
		xf_out_int(out, (int64_t)value);
	else
		xf_out_null(out);
}

static void full_row(struct events *e, int64_t id, const struct xf_event *event)
{
	struct xf_out *out = e->out;
	const char *name = event->has & XF_HAS_RIP ? lookup(e, event) : NULL;
	bool pte = xf_kind_writes_pte(event->kind) && event->has & XF_HAS_VA;

	xf_out_int(out, id);
	cell(out, event, XF_HAS_TSC, event->tsc);
	if (e->hz && event->has & XF_HAS_TSC)
		xf_out_real(
			out, (double)(int64_t)(event->tsc - e->tsc_first) * 1e6 / (double)e->hz);
	else
		xf_out_null(out);
	xf_out_int(out, event->pcpu);
	cell(out, event, XF_HAS_OWNER, event->domid);
	cell(out, event, XF_HAS_OWNER, event->vcpu);
	xf_out_text(out, xf_kind_name(event->kind));
	cell(out, event, XF_HAS_VA, event->va);
	cell(out, event, pte ? 0 : UINT32_MAX, event->va & ~4095ull);
	cell(out, event, pte ? 0 : UINT32_MAX, (event->va & 4095) >> xf_pte_shift(event->raw_id));
	cell(out, event, XF_HAS_RIP, event->rip);
	if (name)
		xf_out_text(out, name);
	else
		xf_out_null(out);
	cell(out, event, XF_HAS_ERROR, event->error_code);
	cell(out, event, XF_HAS_PTE, event->pte);
	cell(out, event, XF_HAS_FRAME, event->frame);
	cell(out, event, XF_HAS_COUNT, event->count);
	xf_out_int(out, event->raw_id);
	cell(out, event, XF_HAS_LATE, event->tsc_late);
	cell(out, event, XF_HAS_ARG1, event->arg1);
	cell(out, event, XF_HAS_ARG2, event->arg2);
}

/* Appends at most room characters; returns the new end. */
static char *append(char *to, const char *end, const char *text)
{
	while (*text && to < end)
		*to++ = *text++;
	*to = '\0';
	return to;
}

static char *append_hex(char *to, const char *end, uint64_t value)
{
	char digits[20], *d = digits + sizeof(digits) - 1;

	*d = '\0';
	do
		*--d = "0123456789abcdef"[value & 15];
	while (value >>= 4);
	to = append(to, end, "0x");
	return append(to, end, d);
}

/* Error code, or flags of the PTE in letters, then the function or address. */
static void detail(struct events *e, const struct xf_event *event, char *text, size_t size)
{
	const char *end = text + size - 1,
		   *name = event->has & XF_HAS_RIP ? lookup(e, event) : NULL;
	char *to = text;

	*to = '\0';
	if (event->has & XF_HAS_ERROR) {
		to = append_hex(to, end, event->error_code);
		to = append(to, end, " ");
	} else if (event->kind == XF_EMULATE && event->has & XF_HAS_PTE) {
		char flags[16];

		to = append(to, end, xf_pte_letters(event->pte, "PWUAD", flags, sizeof(flags)));
		to = append(to, end, " ");
	} else if (event->kind == XF_HYPERCALL && event->has & XF_HAS_ARG1) {
		to = append(to, end, "op ");
		to = append_hex(to, end, event->arg1);
		to = append(to, end, " ");
	}
	if (name)
		append(to, end, name);
	else if (event->has & XF_HAS_RIP)
		append_hex(to, end, event->rip);
	else if (event->has & XF_HAS_FRAME) {
		to = append(to, end, "frame ");
		append_hex(to, end, event->frame);
	}
}

static void text_row(struct events *e, const struct xf_event *event)
{
	struct xf_out *out = e->out;
	char text[1024];

	if (!(event->has & XF_HAS_TSC))
		xf_out_null(out);
	else if (e->hz)
		xf_out_real(
			out, (double)(int64_t)(event->tsc - e->tsc_first) * 1e6 / (double)e->hz);
	else
		xf_out_int(out, (int64_t)(event->tsc - e->tsc_first));
	if (event->has & XF_HAS_OWNER) {
		char *to = text, digits[8], *d;

		for (int i = 0; i < 2; i++) {
			unsigned value = i ? event->vcpu : event->domid;

			*to++ = i ? 'v' : 'd';
			d = digits + sizeof(digits);
			do
				*--d = (char)('0' + value % 10);
			while (value /= 10);
			while (d < digits + sizeof(digits))
				*to++ = *d++;
		}
		*to = '\0';
		xf_out_text(out, text);
	} else {
		xf_out_text(out, "?");
	}
	xf_out_text(out, xf_kind_name(event->kind));
	cell(out, event, XF_HAS_VA, event->va);
	if (event->has & XF_HAS_COUNT)
		xf_out_int(out, (int64_t)event->count);
	else if (xf_kind_writes_pte(event->kind) && event->has & XF_HAS_VA)
		xf_out_int(out, (int64_t)((event->va & 4095) >> xf_pte_shift(event->raw_id)));
	else
		xf_out_null(out);
	detail(e, event, text, sizeof(text));
	xf_out_text(out, text);
}

/* The next event of either source: 1, 0 = end, negative. */
static int next(struct events *e, int64_t *id, struct xf_event *event, struct xf_error *err)
{
	int code;

	if (e->db)
		return xf_event_scan_next(&e->scan, id, event, err);
	do {
		code = xf_pump_next(e->pump, event, err);
	} while (code == XF_AGAIN && !xf_stop_requested());
	if (code == XF_AGAIN)
		return xf_fail(err, XF_INTERRUPTED, "interrupted");
	*id = ++e->last_id;
	return code;
}

/* Of a fork: what its vCPU did, and whoever ended a sequence of it. */
static bool of_fork(struct events *e, int64_t id, const struct xf_event *event)
{
	while (e->next_end && e->next_end < id)
		e->next_end = xf_db_step(e->ends, NULL) == 1 ? sqlite3_column_int64(e->ends, 0) : 0;
	if (event->kind == XF_LOST || id == e->next_end)
		return true;
	return (event->has & XF_HAS_OWNER) == (e->of.has & XF_HAS_OWNER) &&
	       event->domid == e->of.domid && event->vcpu == e->of.vcpu;
}

static bool wanted(struct events *e, int64_t id, const struct xf_event *event)
{
	const struct xf_options *o = e->options;

	if (e->ends && !of_fork(e, id, event))
		return false;
	if (o->domid >= 0 && !(event->has & XF_HAS_OWNER && event->domid == o->domid &&
				     (o->vcpu < 0 || event->vcpu == o->vcpu)))
		return false;
	if (event->has & XF_HAS_TSC)
		return event->tsc >= e->range.from && event->tsc <= e->range.to;
	return !e->range.has_from && !e->range.has_to;
}

static int print(struct events *e, struct xf_error *err)
{
	const struct xf_options *o = e->options;
	int64_t left = o->limit, id;
	struct xf_event event;
	bool first = true;
	int code = 0;

	while (left && !xf_out_failed(e->out) && (code = next(e, &id, &event, err)) == 1) {
		if (first && e->reader) {
			e->tsc_first = xf_pump_tsc_first(e->pump);
			code = xf_time_range(o, e->tsc_first, e->hz, &e->range, err);
			if (code)
				return code;
		}
		first = false;
		if (!wanted(e, id, &event))
			continue;
		if (o->format == XF_FORMAT_TEXT)
			text_row(e, &event);
		else
			full_row(e, id, &event);
		left -= left > 0;
		if (xf_stop_requested())
			return xf_fail(err, XF_INTERRUPTED, "interrupted");
	}
	return code < 0 ? code : 0;
}

/* The events of a fork's time, from and to; what of_fork() needs. */
static int find_fork(struct events *e, int64_t *from, int64_t *to, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(e->db, &stmt,
		"SELECT domid, vcpu, first_event, last_event FROM fork WHERE fork_id = ?", err);

	if (code)
		return code;
	sqlite3_bind_int64(stmt, 1, e->options->fork);
	code = xf_db_step(stmt, err);
	if (code == 1) {
		e->of.domid = (uint16_t)sqlite3_column_int(stmt, 0);
		e->of.vcpu = (uint16_t)sqlite3_column_int(stmt, 1);
		e->of.has = sqlite3_column_type(stmt, 0) == SQLITE_NULL ? 0 : XF_HAS_OWNER;
		*from = sqlite3_column_int64(stmt, 2);
		*to = sqlite3_column_int64(stmt, 3);
	}
	sqlite3_finalize(stmt);
	if (!code)
		return xf_fail(err, XF_USAGE, "there is no fork %lld; xenfault forks lists them",
			(long long)e->options->fork);
	if (code == 1)
		code = xf_db_prepare(e->db, &e->ends,
			"SELECT last_event FROM sequence WHERE fork_id = ? ORDER BY 1", err);
	if (code)
		return code;
	sqlite3_bind_int64(e->ends, 1, e->options->fork);
	e->next_end = 1;
	return 0;
}

static int open_db(struct events *e, struct xf_options *o, struct xf_error *err)
{
	int64_t from = 1, to = INT64_MAX;
	int code = xf_open_for(&e->db, o, err);

	if (!code)
		code = xf_capture_hz(e->db, o, &e->hz, err);
	if (!code)
		code = xf_time_range_of(e->db, o, e->hz, &e->range, &e->tsc_first, err);
	if (!code)
		code = load_names(e, err);
	if (!code && o->fork >= 0)
		code = find_fork(e, &from, &to, err);
	return code ? code : xf_event_scan_open(&e->scan, e->db, from, to, false, err);
}

static int open_trace(struct events *e, const char *path, struct xf_error *err)
{
	struct xf_source *source;
	int code;

	if (e->options->fork >= 0)
		return xf_fail(err, XF_USAGE,
			"--fork needs a database: forks are found by xenfault import %s", path);
	if (e->options->domain)
		return xf_fail(err, XF_USAGE,
			"--domain %s: a trace has no names of domains: dN, or import it with --domain-names",
			e->options->domain);
	/* a wrong option is told before anything is read */
	e->hz = e->options->cpu_hz;
	code = xf_time_range(e->options, 0, e->hz, &e->range, err);
	if (!code)
		code = xf_source_open(&source, path, err);
	if (!code)
		code = xf_reader_open(&e->reader, source, err);
	if (!code)
		code = xf_pump_start(&e->pump, e->reader, err);
	return code;
}

/* What the end of a trace tells, on stderr. */
static void trace_doubts(struct events *e)
{
	const struct xf_doubt *doubts = xf_reader_doubts(e->reader);
	struct xf_reader_stats stats;

	xf_reader_stats(e->reader, &stats);
	if (stats.lost_records)
		fprintf(stderr, "lost: %llu records\n", (unsigned long long)stats.lost_records);
	for (int i = 0; i < XF_DOUBT_COUNT; i++)
		if (doubts[i].count)
			fprintf(stderr, "doubt: %llu %s\n", (unsigned long long)doubts[i].count,
				xf_doubt_text((enum xf_doubt_code)i));
}

static int run_events(struct xf_options *options, struct xf_error *err)
{
	struct events e = {.options = options};
	const struct xf_column *columns = full;
	size_t n = sizeof(full) / sizeof(full[0]), cursor = 0;
	uint64_t key, name;
	int code = xf_need_args(options, 1, err), closed;

	if (!code)
		code = xf_is_database(options->args[0]) ? open_db(&e, options, err)
							: open_trace(&e, options->args[0], err);
	if (!code && options->nsymbols)
		code = xf_namer_new(&e.namer, options, err);
	if (options->format == XF_FORMAT_TEXT) {
		columns = e.hz ? text_us : text_cycles;
		n = sizeof(text_us) / sizeof(text_us[0]);
	}
	if (!code)
		code = xf_out_new(&e.out, stdout, options->format, columns, n, err);
	if (!code) {
		xf_out_header(e.out);
		code = print(&e, err);
	}
	closed = xf_out_close(e.out, err);
	code = code ? code : closed;
	xf_pump_stop(e.pump);
	if (!code && e.reader)
		trace_doubts(&e);
	if (!code && e.db && options->format == XF_FORMAT_TEXT)
		code = xf_print_doubts(e.db, err);
	while (xf_map_next(&e.names, &cursor, &key, &name))
		free((void *)(uintptr_t)name);
	xf_map_free(&e.names);
	xf_namer_free(e.namer);
	xf_reader_close(e.reader);
	xf_event_scan_close(&e.scan);
	sqlite3_finalize(e.ends);
	sqlite3_close(e.db);
	return code;
}

static const struct xf_option events_options[] = {
	XF_OPTS_ROWS,
	XF_OPT_FORK,
	XF_OPTS_SYMBOLS,
	XF_OPT_CPU_HZ,
	{0},
};

const struct xf_command xf_cmd_events = {
	"events", "DB|FILE|-", "one row per event, in time order", events_options, 0, run_events};
