// SPDX-License-Identifier: GPL-2.0-or-later
/* A fleet of hosts.  In: databases of one capture each.  Out: one database, and views of one host. */
#include "schemas/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/db.h"
#include "schemas/sql.h"

static const struct xf_table tables[] = {
	{"capture",
		"source format records events lost_records unknown_records tsc_first+ tsc_last+ cpu_hz"
		" complete tool_version tsc_base+"},
	{"event_kind", "kind name what"},
	{"event_place", "place pcpu domid vcpu events"},
	{"event_type", "type kind name raw_id pte_shift events"},
	{"event", "event_id tsc+ place type va+ rip+ error_code pte+ frame+ count+ arg1+ arg2+"},
	{"event_late", "event_id tsc_late+"},
	{"loss", "loss_id pcpu tsc_first+ tsc_last+ lost domid vcpu"},
	{"pcpu",
		"pcpu tsc_first+ tsc_last+ records lost clock_offset clock_drift clock_origin+ clock_low"
		" clock_high clock_tight clock_wrong corrected"},
	{"gap", "gap_id pcpu tsc_first+ tsc_last+ why"},
	{"record_count", "raw_id words name fits records"},
	{"doubt", "code count tsc+ offset text"},
	{"symbol", "domid rip+ name"},
	{"fork",
		"fork_id domid vcpu tsc_start+ tsc_end+ tsc_pin+ copied preempted mechanism pt_pages ptes"
		" faults unhooks rehooks emulations flushes spurious cow_faults complete rip+ ended_by doubt"
		" first_event last_event"},
	{"sequence",
		"sequence_id fork_id domid vcpu pt_page+ frame+ va_base+ mechanism tsc_start+ tsc_end+"
		" tsc_slack faults ptes unhooks rehooks emulations flushes spurious ended_by complete"
		" cow_faults first_event last_event"},
	{"walk",
		"walk_id domid vcpu rip+ kind tsc_start+ tsc_end+ pt_pages ptes complete first_event"
		" last_event"},
	{"spurious_fault", "event_id cause other_vcpu other_event gap confidence"},
	{"flush", "fork_id mechanism cause reach flushes cpus"},
	{"tlb_flush",
		"event_id fork_id domid vcpu cause detail reach done cpus remote spared frame+ ipis cycles"},
	{"tlb_interrupt", "event_id flush cycles"},
	{"episode",
		"episode_id domid tsc_start+ tsc_end+ fixups pages dirtied round_pages rounds faults"
		" complete ended_by first_event last_event mechanism sure unread"},
	{"episode_round",
		"episode_id round tsc_start+ tsc_end+ fixups pages dirtied ended_by sure"},
	{"episode_page", "page_id episode_id round frame+ rip+ event_id split"},
	{"episode_vcpu", "episode_id vcpu fixups cycles recalcs recalc_cycles paused"},
	{"finding", "code count text"},
	{"domain_name", "domid name"},
	{"guest_log",
		"log_id domid source clock events bad_lines disordered lost overwritten tsc_first+"
		" tsc_last+ rate faults matched residual slack switches pins flags"},
	{"guest_fork",
		"guest_fork_id log_id tsc+ vcpu pid comm child_pid clone_flags tsc_begin+ begin_known"
		" tsc_pin+ pin_vcpu"},
	{"guest_task", "guest_task_id log_id tsc+ vcpu pid comm what file"},
	{"guest_run", "log_id vcpu tsc_start+ tsc_end+ pid comm"},
	{"fork_name", "fork_id guest_fork_id named_by"},
	{"guest_fork_found", "guest_fork_id what fork_id found"},
};

const struct xf_table *xf_fleet_table(size_t i)
{
	return i < sizeof(tables) / sizeof(tables[0]) ? &tables[i] : NULL;
}

bool xf_fleet_column(const char **columns, char *name, size_t size, bool *is_unsigned)
{
	size_t length;

	*columns += strspn(*columns, " ");
	length = strcspn(*columns, " ");
	if (!length)
		return false;
	*is_unsigned = (*columns)[length - 1] == '+';
	snprintf(name, size, "%.*s", (int)(length - *is_unsigned), *columns);
	*columns += length;
	return true;
}

/* "a, b, c" */
static void append_columns(sqlite3_str *sql, const struct xf_table *table)
{
	const char *rest = table->columns, *comma = "";
	bool is_unsigned;
	char name[32];

	while (xf_fleet_column(&rest, name, sizeof(name), &is_unsigned)) {
		sqlite3_str_appendf(sql, "%s%s", comma, name);
		comma = ", ";
	}
}

/* Runs a statement that was put together, and frees it. */
static int exec(sqlite3 *db, sqlite3_str *str, struct xf_error *err)
{
	char *sql = sqlite3_str_finish(str);
	int code = sql ? xf_db_exec(db, sql, err) : xf_fail_nomem(err);

	sqlite3_free(sql);
	return code;
}

int xf_fleet_is(sqlite3 *db, bool *is_fleet, struct xf_error *err)
{
	int64_t id = 0;
	int code = xf_db_int(db, "PRAGMA main.application_id", &id, err);

	*is_fleet = id == XF_FLEET_ID;
	return code;
}

int xf_fleet_create(sqlite3 *db, struct xf_error *err)
{
	sqlite3_str *ids = sqlite3_str_new(db);
	int code = xf_db_exec(db, "BEGIN IMMEDIATE", err);

	if (!code)
		code = xf_db_exec(db, xf_sql_fleet, err);
	sqlite3_str_appendf(ids, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
		XF_FLEET_ID, XF_SCHEMA_VERSION);
	if (code)
		sqlite3_free(sqlite3_str_finish(ids));
	else
		code = exec(db, ids, err);
	if (code)
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return code;
}

/* The number of a host; made: it may be new. */
static int host_id(sqlite3 *db, const char *host, bool make, int64_t *id, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int code = 0;

	if (make) {
		code = xf_db_prepare(db, &stmt,
			"INSERT INTO main.host (host) VALUES (?) ON CONFLICT DO NOTHING", err);
		if (!code) {
			sqlite3_bind_text(stmt, 1, host, -1, SQLITE_STATIC);
			code = xf_db_step(stmt, err);
		}
		sqlite3_finalize(stmt);
	}
	if (!code)
		code = xf_db_prepare(
			db, &stmt, "SELECT host_id FROM main.host WHERE host = ?", err);
	if (code)
		return code;
	sqlite3_bind_text(stmt, 1, host, -1, SQLITE_STATIC);
	code = xf_db_step(stmt, err);
	*id = code == 1 ? sqlite3_column_int64(stmt, 0) : 0;
	sqlite3_finalize(stmt);
	if (!code)
		return xf_fail(
			err, XF_USAGE, "the fleet has no host %s; its table host lists them", host);
	return code == 1 ? 0 : code;
}

static int copy_table(sqlite3 *db, const struct xf_table *table, int64_t id, struct xf_error *err)
{
	sqlite3_str *sql = sqlite3_str_new(db);

	sqlite3_str_appendf(sql,
		"DELETE FROM main.%s WHERE host_id = %lld; INSERT INTO main.%s (host_id, ",
		table->name, (long long)id, table->name);
	append_columns(sql, table);
	sqlite3_str_appendf(sql, ") SELECT %lld, ", (long long)id);
	append_columns(sql, table);
	/* in the order of the key: rows are appended, not sorted in */
	sqlite3_str_appendf(sql, " FROM source.%s ORDER BY 2", table->name);
	return exec(db, sql, err);
}

static int copy(sqlite3 *db, const char *host, struct xf_error *err)
{
	int64_t id = 0;
	/* BEGIN IMMEDIATE would want to write the capture too, which others may be reading */
	int code = xf_db_exec(db, "BEGIN; DELETE FROM main.host WHERE 0", err);

	if (!code)
		code = host_id(db, host, true, &id, err);
	for (size_t i = 0; xf_fleet_table(i) && !code; i++)
		code = copy_table(db, xf_fleet_table(i), id, err);
	if (!code)
		code = xf_db_exec(db, "COMMIT", err);
	if (code)
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return code;
}

int xf_fleet_load(sqlite3 *db, const char *host, const char *path, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int code = xf_db_prepare(db, &stmt, "ATTACH ? AS source", err);

	if (code)
		return code;
	sqlite3_bind_text(stmt, 1, path, -1, SQLITE_STATIC);
	code = xf_db_step(stmt, err);
	sqlite3_finalize(stmt);
	if (code)
		return code;
	code = copy(db, host, err);
	sqlite3_exec(db, "DETACH source", NULL, NULL, NULL);
	return code;
}

/* The views of a capture once more, as temporary ones: those look at temporary names first. */
static int show_views(sqlite3 *db, struct xf_error *err)
{
	static const char create[] = "CREATE VIEW ";
	sqlite3_str *sql = sqlite3_str_new(db);
	const char *at = xf_sql_views, *next;

	while ((next = strstr(at, create))) {
		const char *name = next + sizeof(create) - 1;

		sqlite3_str_append(sql, at, (int)(next - at));
		sqlite3_str_appendf(sql, "DROP VIEW IF EXISTS temp.%.*s; CREATE TEMP VIEW ",
			(int)strcspn(name, " "), name);
		at = name;
	}
	sqlite3_str_appendall(sql, at);
	return exec(db, sql, err);
}

int xf_fleet_show(sqlite3 *db, const char *host, struct xf_error *err)
{
	const struct xf_table *table;
	int64_t id;
	int code = host_id(db, host, false, &id, err);

	for (size_t i = 0; (table = xf_fleet_table(i)) && !code; i++) {
		sqlite3_str *sql = sqlite3_str_new(db);

		sqlite3_str_appendf(sql,
			"DROP VIEW IF EXISTS temp.%s; CREATE TEMP VIEW %s AS SELECT ", table->name,
			table->name);
		append_columns(sql, table);
		sqlite3_str_appendf(
			sql, " FROM main.%s WHERE host_id = %lld", table->name, (long long)id);
		code = exec(db, sql, err);
	}
	return code ? code : show_views(db, err);
}
