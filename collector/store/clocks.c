// SPDX-License-Identifier: GPL-2.0-or-later
/* Times on one clock.  In: table pcpu.  Out: corrected facts, in their new order. */
#include "collector/store/clocks.h"

#include <stdlib.h>

#include "collector/trace/clock.h"
#include "collector/trace/doubt.h"
#include "schemas/db.h"

#define WANTED \
	" WHERE corrected = 0 AND (clock_offset <> 0 OR clock_drift <> 0) AND (clock_tight OR :always)"

struct models {
	struct model {
		int64_t pcpu;
		struct xf_clock_model clock;
	} * models;
	size_t n;
};

static int by_pcpu(const void *a, const void *b)
{
	const struct model *x = a, *y = b;

	return x->pcpu < y->pcpu ? -1 : x->pcpu > y->pcpu;
}

/* xf_clock(pcpu, tsc): the time on the common clock. */
static void correct(sqlite3_context *context, int n, sqlite3_value **values)
{
	const struct models *m = sqlite3_user_data(context);
	struct model key = {.pcpu = sqlite3_value_int64(values[0])};
	const struct model *found = bsearch(&key, m->models, m->n, sizeof(key), by_pcpu);

	(void)n;
	if (!found || sqlite3_value_type(values[1]) == SQLITE_NULL)
		sqlite3_result_value(context, values[1]);
	else
		sqlite3_result_int64(context, (int64_t)xf_clock_correct(&found->clock,
						      (uint64_t)sqlite3_value_int64(values[1])));
}

static int load(sqlite3 *db, bool always, struct models *m, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	size_t room = 0;
	int code = xf_db_prepare(db, &stmt,
		"SELECT pcpu, clock_offset, clock_drift, clock_origin FROM pcpu" WANTED
		" ORDER BY pcpu",
		err);

	if (!code)
		sqlite3_bind_int(stmt, 1, always);
	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		code = 0;
		if (m->n == room) {
			struct model *more;

			room = room ? 2 * room : 16;
			more = realloc(m->models, room * sizeof(*more));
			if (!more) {
				code = xf_fail_nomem(err);
				break;
			}
			m->models = more;
		}
		m->models[m->n++] = (struct model){sqlite3_column_int64(stmt, 0),
			{.offset = sqlite3_column_int64(stmt, 1),
				.drift = sqlite3_column_double(stmt, 2),
				.origin = (uint64_t)sqlite3_column_int64(stmt, 3)}};
	}
	sqlite3_finalize(stmt);
	return code;
}

/*
 * The order of a pCPU is the truth, also where its TSC steps back; so its events are merged with the
 * others' by the latest time so far.
 */
static const char reorder[] =
	"CREATE TEMP TABLE clock_event AS SELECT e.event_id AS old, row_number() OVER (ORDER BY e.key,"
	" e.pcpu, e.event_id) AS new, xf_clock(e.pcpu, e.tsc) AS tsc, e.place, e.type, e.va, e.rip,"
	" e.error_code, e.pte, e.frame, e.count, CASE WHEN e.loss THEN xf_clock(e.pcpu, e.arg1) ELSE e.arg1"
	" END AS arg1, e.arg2, e.pcpu FROM (SELECT e.*, p.pcpu, max(xf_clock(p.pcpu, e.tsc)) OVER (PARTITION"
	" BY p.pcpu ORDER BY e.event_id) AS key, e.type IN (SELECT type FROM event_type WHERE name = 'loss')"
	" AS loss FROM main.event e JOIN main.event_place p USING (place)) e;"
	"CREATE TEMP TABLE clock_late AS SELECT c.new, xf_clock(c.pcpu, l.tsc_late) AS tsc_late"
	" FROM main.event_late l JOIN clock_event c ON c.old = l.event_id;"
	"DELETE FROM main.event;"
	"INSERT INTO main.event (tsc, place, type, va, rip, error_code, pte, frame, count, arg1, arg2, event_id)"
	" SELECT tsc, place, type, va, rip, error_code, pte, frame, count, arg1, arg2, new FROM clock_event"
	" ORDER BY new;"
	"DELETE FROM main.event_late;"
	"INSERT INTO main.event_late (event_id, tsc_late) SELECT new, tsc_late FROM clock_late ORDER BY new;"
	"DROP TABLE temp.clock_event; DROP TABLE temp.clock_late;"
	"UPDATE loss SET tsc_first = xf_clock(pcpu, tsc_first), tsc_last = xf_clock(pcpu, tsc_last);"
	"UPDATE gap SET tsc_first = xf_clock(pcpu, tsc_first), tsc_last = xf_clock(pcpu, tsc_last)"
	" WHERE why <> 'start' AND why <> 'end';";

#define DIFFERS "(clock_wrong OR clock_offset <> 0 OR clock_drift <> 0)"

static int name(sqlite3 *db, enum xf_doubt_code code, bool corrected, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int result = xf_db_prepare(db, &stmt,
		"UPDATE doubt SET text = ?1 || (SELECT ': ' || group_concat('pCPU ' || pcpu || CASE WHEN"
		" clock_offset <> 0 THEN printf(' by %+d cycles', clock_offset) ELSE '' END || CASE WHEN"
		" clock_drift <> 0 THEN printf(' and %+.1f ppm', clock_drift * 1e6) ELSE '' END, ', ')"
		" FROM (SELECT * FROM pcpu WHERE corrected = ?3 AND " DIFFERS
		" ORDER BY pcpu LIMIT 4))"
		" || CASE WHEN count > 4 THEN ' ...' ELSE '' END WHERE code = ?2",
		err);

	if (result)
		return result;
	sqlite3_bind_text(stmt, 1, xf_doubt_text(code), -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, xf_doubt_code(code), -1, SQLITE_STATIC);
	sqlite3_bind_int(stmt, 3, corrected);
	result = xf_db_step(stmt, err);
	sqlite3_finalize(stmt);
	return result;
}

int xf_clocks_name(sqlite3 *db, struct xf_error *err)
{
	int code = name(db, XF_DOUBT_CLOCK, false, err);

	return code ? code : name(db, XF_DOUBT_CLOCK_CORRECTED, true, err);
}

/* The rows that say that it was done. */
static int note(sqlite3 *db, bool always, const struct models *m, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int code = xf_db_prepare(db, &stmt, "UPDATE pcpu SET corrected = 1" WANTED, err);

	if (!code) {
		sqlite3_bind_int(stmt, 1, always);
		code = xf_db_step(stmt, err);
	}
	sqlite3_finalize(stmt);
	stmt = NULL;
	if (!code)
		code = xf_db_exec(db,
			"UPDATE capture SET tsc_first = (SELECT min(tsc_first) FROM pcpus),"
			" tsc_last = (SELECT max(tsc_last) FROM pcpus)",
			err);
	if (!code)
		code = xf_db_prepare(db, &stmt,
			"INSERT INTO doubt (code, count, text) VALUES (?, ?, ?)"
			" ON CONFLICT DO UPDATE SET count = count + excluded.count",
			err);
	if (code)
		return code;
	sqlite3_bind_text(stmt, 1, xf_doubt_code(XF_DOUBT_CLOCK_CORRECTED), -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, (int64_t)m->n);
	sqlite3_bind_text(stmt, 3, xf_doubt_text(XF_DOUBT_CLOCK_CORRECTED), -1, SQLITE_STATIC);
	code = xf_db_step(stmt, err);
	sqlite3_finalize(stmt);
	if (code)
		return code;
	code = xf_db_exec(db,
		"UPDATE doubt SET count = (SELECT count(*) FROM pcpu WHERE corrected = 0 AND " DIFFERS
		") WHERE code = 'clock';"
		/* these were put in order with the times */
		"DELETE FROM doubt WHERE (code = 'clock' AND count = 0) OR code = 'late'",
		err);
	return code ? code : xf_clocks_name(db, err);
}

int xf_clocks_apply(sqlite3 *db, bool always, int64_t *pcpus, struct xf_error *err)
{
	struct models m = {0};
	int code = load(db, always, &m, err);

	*pcpus = (int64_t)m.n;
	if (!code && m.n &&
		sqlite3_create_function(db, "xf_clock", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC, &m,
			correct, NULL, NULL) != SQLITE_OK)
		code = xf_db_fail(db, "xf_clock()", err);
	if (!code && m.n)
		code = xf_db_exec(db, reorder, err);
	if (!code && m.n)
		code = note(db, always, &m, err);
	sqlite3_create_function(db, "xf_clock", 2, SQLITE_UTF8, NULL, NULL, NULL, NULL);
	free(m.models);
	return code;
}
