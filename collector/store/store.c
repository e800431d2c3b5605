// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The store.  In: a reader's events, losses, doubts.  Out: a SQLite file.
 * Until it is whole the file has another name, so that a failure leaves neither half a database nor
 * less than there was before.  That also makes a journal needless while it is written.
 */
#include "collector/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/store/clocks.h"
#include "collector/store/keep.h"
#include "collector/store/load.h"
#include "schemas/db.h"
#include "common/version.h"
#include "schemas/sql.h"

#define BUSY_MS 10000 /* a reader's lock is short */

struct xf_store {
	sqlite3 *db;
	bool live;
	bool torn; /* a transaction failed: what reader and analyzer know is more than what is stored */
	struct xf_newfile *file;
	struct xf_keep_wal wal;
	struct xf_dictionary dictionary;
	size_t losses_written;
	uint64_t cpu_hz;
	int wal_pages;
	bool stand_ins;
	const char *why_insert;
};

/* Nobody sees the file before it is whole, so that it needs no journal; a live one needs WAL. */
#define WHOLE_PRAGMAS "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
#define LIVE_PRAGMAS                                                                             \
	"PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;" \
	"PRAGMA cache_size = -16384;"
#define CHECKPOINT_PAGES 2048 /* in the WAL: each checkpoint waits for the disk twice */

/* Leaves a transaction open. */
static int create_schema(sqlite3 *db, const char *mode, struct xf_error *err)
{
	char pragmas[512];
	sqlite3_stmt *stmt;
	int code;

	snprintf(pragmas, sizeof(pragmas),
		"PRAGMA page_size = 8192; %s PRAGMA cache_size = -16384;"
		"PRAGMA application_id = %d; PRAGMA user_version = %d;",
		mode, XF_APPLICATION_ID, XF_SCHEMA_VERSION);
	if ((code = xf_db_exec(db, pragmas, err)) || (code = xf_db_exec(db, "BEGIN", err)) ||
		(code = xf_db_exec(db, xf_sql_facts, err)) ||
		(code = xf_db_exec(db, xf_sql_derived, err)) ||
		(code = xf_db_exec(db, xf_sql_views, err)) ||
		(code = xf_db_prepare(db, &stmt, "INSERT INTO event_kind VALUES (?, ?, ?)", err)))
		return code;
	for (unsigned kind = 1; kind < XF_KIND_COUNT && !code; kind++) {
		sqlite3_bind_int(stmt, 1, (int)kind);
		sqlite3_bind_text(stmt, 2, xf_kind_name(kind), -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 3, xf_kind_what(kind), -1, SQLITE_STATIC);
		code = xf_db_step(stmt, err);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return code;
}

static int new_store(
	struct xf_store **store, const char *path, unsigned flags, struct xf_error *err)
{
	struct xf_store *s = calloc(1, sizeof(*s));
	int code;

	if (!s)
		return xf_fail_nomem(err);
	code = xf_newfile_open(&s->file, path, flags | XF_NEWFILE_DATABASE, err);
	if (!code && sqlite3_open_v2(s->file->working, &s->db, XF_DB_READWRITE, NULL) != SQLITE_OK)
		code = s->db ? xf_db_fail(s->db, path, err) : xf_fail_nomem(err);
	if (!code)
		code = create_schema(s->db, WHOLE_PRAGMAS, err);
	if (code) {
		xf_store_abort(s);
		return code;
	}
	*store = s;
	return 0;
}

const struct xf_newfile *xf_store_file(struct xf_store *s)
{
	return s->file;
}

int xf_store_create(struct xf_store **store, const char *path, unsigned flags, struct xf_error *err)
{
	int code = new_store(store, path, flags, err);

	if (code)
		return code;
	if ((code = xf_db_exec((*store)->db, "COMMIT", err)) ||
		(code = xf_load_stand_ins((*store)->db, err)) ||
		(code = xf_db_exec((*store)->db, "BEGIN", err)))
		xf_store_abort(*store);
	else
		(*store)->stand_ins = true;
	return code;
}

sqlite3 *xf_store_db(struct xf_store *s)
{
	return s->db;
}

/* Between the reader and the caller's tap: the latest times of events without a TSC. */
struct late {
	sqlite3_stmt *stmt;
	int (*tap)(
		void *data, int64_t event_id, const struct xf_event *event, struct xf_error *err);
	void *data;
};

static int late_tap(
	void *data, int64_t event_id, const struct xf_event *event, struct xf_error *err)
{
	struct late *late = data;
	int code = 0;

	if (event->has & XF_HAS_LATE) {
		sqlite3_bind_int64(late->stmt, 1, event_id);
		sqlite3_bind_int64(late->stmt, 2, (int64_t)event->tsc_late);
		code = xf_db_step(late->stmt, err);
		sqlite3_reset(late->stmt);
	}
	return code || !late->tap ? code : late->tap(late->data, event_id, event, err);
}

static int ingest(
	sqlite3 *db, struct xf_dictionary *dictionary, struct xf_vtab *vtab, struct xf_error *err)
{
	struct late late = {NULL, vtab->tap, vtab->tap_data};
	int code = xf_db_prepare(db, &late.stmt, "INSERT INTO event_late VALUES (?, ?)", err);

	if (code)
		return code;
	vtab->dictionary = dictionary;
	vtab->tap = late_tap;
	vtab->tap_data = &late;
	/* event_id is left to SQLite: it counts from 1 as well, and need not look for duplicates */
	if (sqlite3_exec(db,
		    "INSERT INTO event (tsc, place, type, va, rip, error_code, pte, frame, count, arg1, arg2)"
		    " SELECT tsc, place, type, va, rip, error_code, pte, frame, count, arg1, arg2"
		    " FROM xentrace",
		    NULL, NULL, NULL) == SQLITE_OK) {
		code = xf_dictionary_save(dictionary, db, err);
	} else if (vtab->err.code) {
		*err = vtab->err;
		code = -(int)err->code;
	} else {
		code = xf_db_fail(db, "cannot store the events", err);
	}
	vtab->dictionary = NULL;
	vtab->tap = late.tap;
	vtab->tap_data = late.data;
	sqlite3_finalize(late.stmt);
	return code;
}

/* By the loader: the connection must have no page of the file, which BEGIN alone does not read. */
static int load(struct xf_store *s, struct xf_vtab *vtab, struct xf_error *err)
{
	int code;

	if (!vtab->pump || vtab->by_insert) {
		s->why_insert = "it was asked for";
		return 1;
	}
	code = xf_load_events(s->db, s->file->working, &s->dictionary, vtab, &s->why_insert, err);
	/* what it knows of the file is of before */
	if (!code)
		code = xf_db_exec(s->db, "COMMIT; BEGIN", err);
	return code ? code : xf_dictionary_save(&s->dictionary, s->db, err);
}

int xf_store_ingest(struct xf_store *s, struct xf_vtab *vtab, struct xf_error *err)
{
	int code = load(s, vtab, err);

	if (code <= 0)
		return code;
	code = xf_vtab_register(s->db, vtab, err);
	return code ? code : ingest(s->db, &s->dictionary, vtab, err);
}

const char *xf_store_why_insert(const struct xf_store *s)
{
	return s->why_insert;
}

static void bind_known(sqlite3_stmt *stmt, int at, uint64_t value, bool known)
{
	if (known)
		sqlite3_bind_int64(stmt, at, (int64_t)value);
	else
		sqlite3_bind_null(stmt, at);
}

static int write_capture(sqlite3 *db, const struct xf_reader_stats *stats, const char *source,
	uint64_t cpu_hz, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(db, &stmt,
		"INSERT INTO capture (source, format, records, events, lost_records, unknown_records,"
		" tsc_first, tsc_last, cpu_hz, complete, tool_version, tsc_base)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		err);

	if (code)
		return code;
	sqlite3_bind_text(stmt, 1, source, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, xf_stream_format_name(stats->format), -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, (int64_t)stats->records);
	sqlite3_bind_int64(stmt, 4, (int64_t)stats->events);
	sqlite3_bind_int64(stmt, 5, (int64_t)stats->lost_records);
	sqlite3_bind_int64(stmt, 6, (int64_t)stats->unknown_records);
	bind_known(stmt, 7, stats->tsc_first, stats->tsc_first != 0);
	bind_known(stmt, 8, stats->tsc_last, stats->tsc_last != 0);
	bind_known(stmt, 9, cpu_hz, cpu_hz != 0);
	sqlite3_bind_int(stmt, 10, stats->complete);
	sqlite3_bind_text(stmt, 11, "xenfault " XF_VERSION, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 12, (int64_t)stats->tsc_base);
	code = xf_db_step(stmt, err);
	sqlite3_finalize(stmt);
	return code;
}

static int write_losses(sqlite3 *db, struct xf_reader *reader, size_t *i, struct xf_error *err)
{
	const struct xf_loss *loss;
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(db, &stmt,
		"INSERT INTO loss (pcpu, tsc_first, tsc_last, lost, domid, vcpu) VALUES (?, ?, ?, ?, ?, ?)",
		err);

	for (; !code && (loss = xf_reader_loss(reader, *i)); ++*i) {
		sqlite3_bind_int64(stmt, 1, loss->pcpu);
		bind_known(stmt, 2, loss->tsc_first, loss->tsc_first != 0);
		bind_known(stmt, 3, loss->tsc_last, loss->tsc_last != 0);
		sqlite3_bind_int64(stmt, 4, (int64_t)loss->lost);
		bind_known(stmt, 5, loss->domid, loss->has_owner);
		bind_known(stmt, 6, loss->vcpu, loss->has_owner);
		code = xf_db_step(stmt, err);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return code;
}

static int write_record_counts(sqlite3 *db, struct xf_reader *reader, struct xf_error *err)
{
	const struct xf_record_table *table = xf_reader_records(reader);
	const struct xf_record_slot *slot;
	sqlite3_stmt *stmt;
	size_t cursor = 0;
	int code = xf_db_prepare(db, &stmt,
		"INSERT INTO record_count (raw_id, words, name, fits, records) VALUES (?, ?, ?, ?, ?)"
		" ON CONFLICT DO UPDATE SET records = excluded.records, name = excluded.name,"
		" fits = excluded.fits",
		err);

	while (!code && table && (slot = xf_record_next(table, &cursor))) {
		sqlite3_bind_int64(stmt, 1, slot->id);
		sqlite3_bind_int(stmt, 2, slot->words);
		sqlite3_bind_text(stmt, 3, slot->name, -1, SQLITE_STATIC);
		sqlite3_bind_int(stmt, 4, slot->fits);
		sqlite3_bind_int64(stmt, 5, (int64_t)slot->records);
		code = xf_db_step(stmt, err);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return code;
}

static int write_doubts(sqlite3 *db, struct xf_reader *reader, struct xf_error *err)
{
	const struct xf_doubt *doubts = xf_reader_doubts(reader);
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(db, &stmt,
		"INSERT INTO doubt (code, count, tsc, offset, text) VALUES (?, ?, ?, ?, ?)"
		" ON CONFLICT DO UPDATE SET count = excluded.count",
		err);

	for (int i = 0; i < XF_DOUBT_COUNT && !code; i++) {
		const struct xf_doubt *doubt = &doubts[i];

		if (!doubt->count)
			continue;
		sqlite3_bind_text(stmt, 1, xf_doubt_code((enum xf_doubt_code)i), -1, SQLITE_STATIC);
		sqlite3_bind_int64(stmt, 2, (int64_t)doubt->count);
		bind_known(stmt, 3, doubt->tsc, doubt->tsc != 0);
		bind_known(stmt, 4, doubt->offset, doubt->offset != 0);
		sqlite3_bind_text(stmt, 5, xf_doubt_text((enum xf_doubt_code)i), -1, SQLITE_STATIC);
		code = xf_db_step(stmt, err);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	if (!code && doubts[XF_DOUBT_CLOCK].count)
		code = xf_clocks_name(db, err);
	return code;
}

static int write_gaps(sqlite3 *db, struct xf_reader *reader, struct xf_error *err)
{
	const struct xf_gap *gap;
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(db, &stmt,
		"INSERT INTO gap (gap_id, pcpu, tsc_first, tsc_last, why) VALUES (?, ?, ?, ?, ?)"
		" ON CONFLICT DO UPDATE SET why = excluded.why",
		err);

	for (size_t i = 0; !code && (gap = xf_reader_gap(reader, i)); i++) {
		sqlite3_bind_int64(stmt, 1, (int64_t)i + 1);
		sqlite3_bind_int64(stmt, 2, gap->pcpu);
		sqlite3_bind_int64(stmt, 3, (int64_t)gap->tsc_first);
		sqlite3_bind_int64(stmt, 4, (int64_t)gap->tsc_last);
		sqlite3_bind_text(stmt, 5, gap->why, -1, SQLITE_STATIC);
		code = xf_db_step(stmt, err);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return code;
}

static void bind_clock(sqlite3_stmt *stmt, const struct xf_clock_model *clock)
{
	sqlite3_bind_int64(stmt, 6, clock->proven ? clock->offset : 0);
	sqlite3_bind_double(stmt, 7, clock->proven ? clock->drift : 0);
	sqlite3_bind_int64(stmt, 8, (int64_t)clock->origin);
	bind_known(stmt, 9, (uint64_t)clock->low, clock->low != XF_CLOCK_NONE);
	bind_known(stmt, 10, (uint64_t)clock->high, clock->high != XF_CLOCK_NONE);
	sqlite3_bind_int(stmt, 11, clock->tight);
	sqlite3_bind_int64(stmt, 12, clock->proven ? (int64_t)clock->wrong : 0);
}

static int write_pcpus(sqlite3 *db, struct xf_reader *reader, struct xf_error *err)
{
	struct xf_reader_pcpu pcpu;
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(db, &stmt,
		"INSERT OR REPLACE INTO pcpu (pcpu, tsc_first, tsc_last, records, lost, clock_offset,"
		" clock_drift, clock_origin, clock_low, clock_high, clock_tight, clock_wrong,"
		" corrected)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
		err);

	for (size_t i = 0; !code && xf_reader_pcpu(reader, i, &pcpu); i++) {
		sqlite3_bind_int64(stmt, 1, pcpu.pcpu);
		bind_known(stmt, 2, pcpu.tsc_first, pcpu.tsc_first != 0);
		bind_known(stmt, 3, pcpu.tsc_last, pcpu.tsc_last != 0);
		sqlite3_bind_int64(stmt, 4, (int64_t)pcpu.records);
		sqlite3_bind_int64(stmt, 5, (int64_t)pcpu.lost_records);
		bind_clock(stmt, &pcpu.clock);
		code = xf_db_step(stmt, err);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return code;
}

static int write_summary(sqlite3 *db, struct xf_reader *reader, const char *source, uint64_t cpu_hz,
	struct xf_error *err)
{
	struct xf_reader_stats stats;
	size_t losses = 0;
	int code;

	xf_reader_stats(reader, &stats);
	if ((code = write_capture(db, &stats, source, cpu_hz, err)) ||
		(code = write_losses(db, reader, &losses, err)) ||
		(code = write_gaps(db, reader, err)) || (code = write_pcpus(db, reader, err)) ||
		(code = write_record_counts(db, reader, err)) ||
		(code = write_doubts(db, reader, err)))
		return code;
	return 0;
}

int xf_store_summary(struct xf_store *s, struct xf_reader *reader, const char *source,
	uint64_t cpu_hz, struct xf_error *err)
{
	int code = s->stand_ins ? xf_load_settle(s->db, err) : 0;

	s->stand_ins = s->stand_ins && code;
	return code ? code : write_summary(s->db, reader, source, cpu_hz, err);
}

int xf_store_scan(sqlite3 **db, struct xf_vtab *vtab, const char *source, uint64_t cpu_hz,
	struct xf_error *err)
{
	struct xf_dictionary dictionary = {0};
	int code;

	if (sqlite3_open("", db) != SQLITE_OK)
		return *db ? xf_db_fail(*db, "temporary database", err) : xf_fail_nomem(err);
	code = create_schema(*db, WHOLE_PRAGMAS, err);
	if (!code)
		code = xf_vtab_register(*db, vtab, err);
	if (!code)
		code = ingest(*db, &dictionary, vtab, err);
	xf_dictionary_free(&dictionary);
	if (!code)
		code = write_summary(*db, vtab->reader, source, cpu_hz, err);
	if (!code)
		code = xf_db_exec(*db, "COMMIT", err);
	return code;
}

int xf_store_commit(struct xf_store *s, struct xf_error *err)
{
	int code = xf_db_exec(s->db, "COMMIT", err);

	if (!code && sqlite3_close(s->db) != SQLITE_OK)
		code = xf_db_fail(s->db, "cannot close the database", err);
	if (!code) {
		s->db = NULL;
		code = xf_newfile_place(s->file, err);
	}
	xf_store_abort(s);
	return code;
}

void xf_store_abort(struct xf_store *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	xf_dictionary_free(&s->dictionary);
	xf_newfile_close(s->file);
	free(s);
}

int xf_store_live(struct xf_store **store, const char *path, unsigned flags, const char *source,
	uint64_t cpu_hz, struct xf_error *err)
{
	struct xf_reader_stats none = {0};
	struct xf_store *s;
	int code = new_store(&s, path, flags | XF_NEWFILE_RECORD, err);

	if (code)
		return code;
	s->cpu_hz = cpu_hz;
	code = write_capture(s->db, &none, source, cpu_hz, err);
	if (!code)
		code = xf_db_exec(s->db, "COMMIT", err);
	if (!code && sqlite3_close(s->db) != SQLITE_OK)
		code = xf_db_fail(s->db, "cannot close the database", err);
	if (code) {
		xf_store_abort(s);
		return code;
	}
	s->db = NULL;
	*store = s;
	return 0;
}

static int on_commit(void *data, sqlite3 *db, const char *name, int pages)
{
	struct xf_store *s = data;

	(void)db, (void)name;
	s->wal_pages = pages;
	return SQLITE_OK;
}

int xf_store_live_place(struct xf_store *s, struct xf_error *err)
{
	int code = xf_newfile_place(s->file, err);

	if (code)
		return code;
	if (sqlite3_open_v2(s->file->path, &s->db, XF_DB_READWRITE, NULL) != SQLITE_OK)
		return s->db ? xf_db_fail(s->db, s->file->path, err) : xf_fail_nomem(err);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	code = xf_db_exec(s->db, LIVE_PRAGMAS, err);
	/* takes the place of the automatic checkpoint, which would report a reader as an error */
	sqlite3_wal_hook(s->db, on_commit, s);
	return code;
}

void xf_store_set_hz(struct xf_store *s, uint64_t cpu_hz)
{
	s->cpu_hz = cpu_hz;
}

static int update_capture(struct xf_store *s, const struct xf_reader_stats *stats, bool complete,
	struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(s->db, &stmt,
		"UPDATE capture SET format = ?, records = ?, events = ?, lost_records = ?,"
		" unknown_records = ?, tsc_first = ?, tsc_last = ?, cpu_hz = ?, complete = ?,"
		" tsc_base = ?",
		err);

	if (code)
		return code;
	sqlite3_bind_text(stmt, 1, xf_stream_format_name(stats->format), -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, (int64_t)stats->records);
	sqlite3_bind_int64(stmt, 3, (int64_t)stats->events);
	sqlite3_bind_int64(stmt, 4, (int64_t)stats->lost_records);
	sqlite3_bind_int64(stmt, 5, (int64_t)stats->unknown_records);
	bind_known(stmt, 6, stats->tsc_first, stats->tsc_first != 0);
	bind_known(stmt, 7, stats->tsc_last, stats->tsc_last != 0);
	bind_known(stmt, 8, s->cpu_hz, s->cpu_hz != 0);
	sqlite3_bind_int(stmt, 9, complete);
	sqlite3_bind_int64(stmt, 10, (int64_t)stats->tsc_base);
	code = xf_db_step(stmt, err);
	sqlite3_finalize(stmt);
	return code;
}

/* The counts of a reader that may be a little ahead of what is stored. */
static int live_counts(
	struct xf_store *s, struct xf_vtab *vtab, bool complete, struct xf_error *err)
{
	struct xf_reader *reader = vtab->reader;
	struct xf_reader_stats stats;
	int code;

	if (vtab->pump)
		xf_pump_hold(vtab->pump);
	xf_reader_stats(reader, &stats);
	stats.events = (uint64_t)vtab->last_id;
	code = update_capture(s, &stats, complete && stats.complete, err);
	if (!code)
		code = write_losses(s->db, reader, &s->losses_written, err);
	if (!code)
		code = write_gaps(s->db, reader, err);
	if (!code)
		code = write_pcpus(s->db, reader, err);
	if (!code)
		code = write_record_counts(s->db, reader, err);
	if (!code)
		code = write_doubts(s->db, reader, err);
	if (vtab->pump)
		xf_pump_release(vtab->pump);
	return code;
}

bool xf_store_torn(const struct xf_store *s)
{
	return s->torn;
}

int64_t xf_store_wal_size(struct xf_store *s)
{
	struct stat st;
	char *name;
	int64_t size = 0;

	if (asprintf(&name, "%s-wal", s->file->path) < 0)
		return 0;
	if (!stat(name, &st))
		size = st.st_size;
	free(name);
	return size;
}

bool xf_store_wal_busy(struct xf_store *s)
{
	int code;

	sqlite3_busy_timeout(s->db, 0);
	code = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	return code == SQLITE_BUSY;
}

int xf_store_live_step(struct xf_store *s, struct xf_vtab *vtab, int64_t budget,
	int (*before)(void *data, struct xf_error *err), void *data, bool *ended,
	struct xf_error *err)
{
	int code;

	if (!s->live) {
		code = xf_vtab_register(s->db, vtab, err);
		if (code)
			return code;
		s->live = true;
	}
	vtab->budget = budget;
	code = xf_db_exec(s->db, "BEGIN IMMEDIATE", err);
	if (code)
		return code;
	xf_keep_remember(&s->wal, s->file);
	code = ingest(s->db, &s->dictionary, vtab, err);
	*ended = !code && !vtab->again;
	if (!code && before)
		code = before(data, err);
	if (!code)
		code = live_counts(s, vtab, false, err);
	if (!code)
		code = xf_db_exec(s->db, "COMMIT", err);
	if (code) {
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
		s->torn = true;
		return code;
	}
	if (s->wal_pages >= CHECKPOINT_PAGES) {
		/* a reader that holds an old state makes this do less, it must not make it wait */
		sqlite3_busy_timeout(s->db, 0);
		sqlite3_wal_checkpoint_v2(s->db, NULL,
			xf_store_wal_size(s) > XF_WAL_LIMIT / 2 ? SQLITE_CHECKPOINT_RESTART
								: SQLITE_CHECKPOINT_PASSIVE,
			NULL, NULL);
		sqlite3_busy_timeout(s->db, BUSY_MS);
	}
	return vtab->budget && vtab->again && vtab->exhausted ? 1 : 0;
}

int xf_store_live_finish(
	struct xf_store *s, struct xf_vtab *vtab, bool complete, char **kept, struct xf_error *err)
{
	int tidied, code = s->torn ? 0 : xf_db_exec(s->db, "BEGIN IMMEDIATE", err);

	if (!code && !s->torn)
		code = live_counts(s, vtab, complete, err);
	if (!code && !s->torn)
		code = xf_db_exec(s->db, "COMMIT", err);
	/* one plain file again, unless somebody is reading: then the last one to close tidies up */
	sqlite3_busy_timeout(s->db, 500);
	tidied = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	if (xf_newfile_is_there(s->file)) {
		if (tidied == SQLITE_OK)
			tidied = sqlite3_exec(
				s->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
		if (tidied != SQLITE_OK && tidied != SQLITE_BUSY && !code)
			code = xf_db_fail(s->db, "the -wal stays", err);
	} else {
		if (!code)
			code = xf_keep(s->db, s->file, kept, err);
		xf_keep_forget(&s->wal, s->file);
	}
	xf_store_abort(s);
	return code;
}
