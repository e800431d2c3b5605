// SPDX-License-Identifier: GPL-2.0-or-later
/* Events into a new database.  In: a pump.  Out: rows through bulk.c, and calls of the tap. */
#include "collector/store/load.h"

#include "collector/store/bulk.h"
#include "schemas/db.h"

/* Statements over the schema that give statements. */
#define LOADED "'event', 'event_late', 'event_kind'"
static const char make_them[] =
	"SELECT CASE type WHEN 'table' THEN 'CREATE TEMP TABLE ' || substr(sql, 14)"
	" ELSE 'CREATE INDEX temp.' || substr(sql, 14) END FROM main.sqlite_schema"
	" WHERE type IN ('table', 'index') AND sql IS NOT NULL AND tbl_name NOT IN (" LOADED ")";
static const char move_them[] =
	"SELECT 'INSERT INTO main.' || name || ' SELECT * FROM temp.' || name || ';"
	" DROP TABLE temp.' || name FROM temp.sqlite_schema WHERE type = 'table'";

/* Runs the statements that a statement gives; they change the schema that it reads. */
static int run_each(sqlite3 *db, const char *sql, struct xf_error *err)
{
	sqlite3_str *all = sqlite3_str_new(db);
	sqlite3_stmt *stmt;
	char *text;
	int code = xf_db_prepare(db, &stmt, sql, err);

	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		const char *statement = (const char *)sqlite3_column_text(stmt, 0);

		code = statement ? 0 : xf_fail_nomem(err);
		sqlite3_str_appendf(all, "%s;", statement);
	}
	sqlite3_finalize(stmt);
	if (!code && sqlite3_str_errcode(all))
		code = xf_fail_nomem(err);
	text = sqlite3_str_finish(all);
	if (!code && text)
		code = xf_db_exec(db, text, err);
	sqlite3_free(text);
	return code;
}

int xf_load_stand_ins(sqlite3 *db, struct xf_error *err)
{
	int code = run_each(db, make_them, err);

	return code ? code
		    : xf_db_exec(db,
			      "PRAGMA temp.journal_mode = OFF; PRAGMA temp.cache_size = -8192",
			      err);
}

int xf_load_settle(sqlite3 *db, struct xf_error *err)
{
	return run_each(db, move_them, err);
}

#define AHEAD 6 /* events */

struct load {
	struct xf_bulk *bulk;
	struct xf_bulk_table *event, *late;
	struct xf_dictionary *dictionary;
	struct xf_vtab *vtab;
};

static int open_table(struct load *l, sqlite3 *db, const char *name, int columns,
	struct xf_bulk_table **table, const char **why, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	uint32_t root = 0;
	bool plain = false;
	int code = xf_db_prepare(db, &stmt,
		"SELECT rootpage, (SELECT count(*) FROM pragma_table_info(?1)) = ?2 AND NOT EXISTS"
		" (SELECT 1 FROM sqlite_schema WHERE tbl_name = ?1 AND type <> 'table')"
		" FROM sqlite_schema WHERE name = ?1",
		err);

	if (code)
		return code;
	sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	sqlite3_bind_int(stmt, 2, columns);
	code = xf_db_step(stmt, err);
	if (code == 1) {
		root = (uint32_t)sqlite3_column_int64(stmt, 0);
		plain = sqlite3_column_int(stmt, 1);
	}
	sqlite3_finalize(stmt);
	if (code < 0)
		return code;
	if (!plain) {
		*why = "a table has other columns, an index or a trigger";
		return 1;
	}
	return xf_bulk_table(l->bulk, table, root, columns, why, err);
}

static int store_event(struct load *l, const struct xf_event *event, struct xf_error *err)
{
	int64_t place = xf_dictionary_place(l->dictionary, event), id = ++l->vtab->last_id;
	int64_t type = xf_dictionary_type(l->dictionary, event), values[XF_EVENT_COLUMNS];
	uint64_t present = xf_event_values(event, place, type, values);
	int code;

	if (!place || !type)
		return xf_fail_nomem(err);
	code = xf_bulk_row(l->event, id, values, present, err);
	if (!code && event->has & XF_HAS_LATE) {
		values[1] = (int64_t)event->tsc_late;
		code = xf_bulk_row(l->late, id, values, 2, err);
	}
	if (!code && l->vtab->tap)
		code = l->vtab->tap(l->vtab->tap_data, id, event, err);
	return code;
}

static int store_events(struct load *l, struct xf_error *err)
{
	struct xf_vtab *vtab = l->vtab;
	const struct xf_event *events;
	size_t n;
	int code;

	for (;;) {
		if (vtab->stop && vtab->stop(vtab->stop_data))
			xf_pump_interrupt(vtab->pump);
		code = xf_pump_batch(vtab->pump, &events, &n, err);
		if (code == XF_AGAIN)
			continue;
		if (code != 1)
			return code;
		for (size_t i = 0; i < n; i++) {
			/* written by another core: what comes soon should be on its way */
			__builtin_prefetch((const char *)(events + i + AHEAD));
			__builtin_prefetch((const char *)(events + i + AHEAD) + 64);
			if ((code = store_event(l, &events[i], err)))
				return code;
		}
	}
}

int xf_load_events(sqlite3 *db, const char *path, struct xf_dictionary *dictionary,
	struct xf_vtab *vtab, const char **why, struct xf_error *err)
{
	struct load l = {.dictionary = dictionary, .vtab = vtab};
	int code = xf_bulk_open(&l.bulk, path, why, err);

	if (code)
		return code;
	code = open_table(&l, db, "event", XF_EVENT_COLUMNS, &l.event, why, err);
	if (!code)
		code = open_table(&l, db, "event_late", 2, &l.late, why, err);
	if (!code)
		code = store_events(&l, err);
	if (code) {
		xf_bulk_abort(l.bulk);
		return code;
	}
	return xf_bulk_finish(l.bulk, err);
}
