// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The smaller views: all page sequences, spurious faults, losses and doubts, the capture, one event.
 * In: views and tables of the database.  Out: rows; the last three through temporary tables.
 */
#include <stdlib.h>
#include <string.h>

#include "schemas/event.h"
#include "schemas/xen.h"
#include "tui/format.h"
#include "tui/source.h"
#include "tui/ui.h"

/* --- pages --- */

static void pages_totals(struct xf_tui_view *view, char *text, size_t size)
{
	char count[32];

	xf_tui_format_grouped(count, sizeof(count), view->model.high - view->model.low + 1);
	snprintf(text, size, "%s fault sequences of page-table pages, in forks and outside", count);
}

static const struct xf_tui_view_ops *pages_enter(struct xf_tui_view *view, int64_t *key)
{
	*key = xf_tui_selected(view)->id;
	return &xf_tui_view_page;
}

static int64_t first_event(struct xf_tui_view *view)
{
	return xf_tui_integer(view, xf_tui_selected(view), "first_event", -1);
}

const struct xf_tui_view_ops xf_tui_view_pages = {
	.title = "Pages",
	.source = &xf_tui_source_pages,
	.totals = pages_totals,
	.enter = pages_enter,
	.event = first_event,
};

/* --- spurious faults --- */

static void spurious_totals(struct xf_tui_view *view, char *text, size_t size)
{
	int64_t n[4];

	*text = '\0';
	if (!xf_tui_query(view->ui->db,
		    "SELECT count(*), sum(cause = 'reported'), sum(cause = 'rehooked'), "
		    "sum(cause = 'raced') FROM spurious_fault",
		    0, 0, n, 4, NULL))
		snprintf(text, size,
			"%lld spurious faults: %lld reported by Xen, %lld rehooked, %lld raced",
			(long long)n[0], (long long)n[1], (long long)n[2], (long long)n[3]);
}

static int spurious_panel_rows(struct xf_tui_view *view, int height)
{
	(void)view, (void)height;
	return 5;
}

/* One event in a line, with its distance from the fault. */
static void event_line(struct xf_tui_view *view, struct xf_tui_grid *grid, int y, const char *label,
	int64_t event, int64_t tsc)
{
	sqlite3_stmt *stmt;
	char span[32], vcpu[24] = "-";
	int x = xf_tui_put(grid, 1, y, 22, XF_TUI_LABEL, label);

	if (event <= 0) {
		xf_tui_put(grid, 22, y, grid->width - 22, XF_TUI_DIM, "none on record near it");
		return;
	}
	if (xf_db_prepare(view->ui->db, &stmt,
		    "SELECT tsc, domid << 16 | vcpu, kind, va, symbol FROM events WHERE event_id = ?1",
		    NULL))
		return;
	sqlite3_bind_int64(stmt, 1, event);
	if (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *symbol = (const char *)sqlite3_column_text(stmt, 4);

		xf_tui_units_span(
			&view->ui->units, sqlite3_column_int64(stmt, 0) - tsc, span, sizeof(span));
		if (sqlite3_column_type(stmt, 1) != SQLITE_NULL)
			xf_tui_format_vcpu(vcpu, sizeof(vcpu), sqlite3_column_int64(stmt, 1));
		x = x < 21 ? 21 : x;
		xf_tui_putf(grid, x + 1, y, grid->width - x - 1, XF_TUI_NORMAL,
			"event %lld, %s %s: %s %s 0x%llx %s", (long long)event, span,
			xf_tui_units_span_name(&view->ui->units), vcpu,
			(const char *)sqlite3_column_text(stmt, 2),
			(unsigned long long)sqlite3_column_int64(stmt, 3), symbol ? symbol : "");
	}
	sqlite3_finalize(stmt);
}

/*
 * The nearest unhook or rehook to a fault, by the vCPU it lost to; where that is unknown, by any other
 * vCPU that hooked the same L2 entry (2 MiB of addresses).  0 = none.
 */
static int64_t nearest(struct xf_tui_view *view, const struct xf_tui_row *row, const char *kind)
{
	sqlite3_stmt *stmt;
	int64_t found = 0;

	/* the unhook came before; the rehook too, as a rule, which is what makes it spurious */
	if (xf_db_prepare(view->ui->db, &stmt,
		    "SELECT event_id FROM events WHERE event_id BETWEEN ?1 - 20000 AND ?1 + 2000 "
		    "AND kind = ?2 AND domid = ?3 AND vcpu IS NOT ?4 AND "
		    "(vcpu = ?5 OR (?5 < 0 AND arg2 = ?6)) AND (?2 <> 'unhook' OR event_id < ?1) "
		    "ORDER BY abs(event_id - ?1) LIMIT 1",
		    NULL))
		return 0;
	sqlite3_bind_int64(stmt, 1, row->id);
	sqlite3_bind_text(stmt, 2, kind, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 3, xf_tui_integer(view, row, "domid", -1));
	sqlite3_bind_int64(stmt, 4, xf_tui_integer(view, row, "vcpu", -1) & 0xffff);
	sqlite3_bind_int64(stmt, 5, xf_tui_integer(view, row, "other_vcpu", -1));
	sqlite3_bind_int64(stmt, 6, (int64_t)((uint64_t)xf_tui_integer(view, row, "va", 0) >> 21));
	if (sqlite3_step(stmt) == SQLITE_ROW)
		found = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return found;
}

static void spurious_panel(struct xf_tui_view *view, struct xf_tui_grid *grid, int y, int rows)
{
	const struct xf_tui_row *row = xf_tui_selected(view);
	int64_t tsc = xf_tui_integer(view, row, "tsc", 0);

	for (int i = 0; i < grid->width; i++)
		xf_tui_set(grid, i, y, XF_TUI_DIM, xf_tui_glyph(grid, XF_GLYPH_LINE));
	if (!row || rows < 5)
		return;
	event_line(view, grid, y + 1, "the fault", row->id, tsc);
	event_line(view, grid, y + 2, "lost to", xf_tui_integer(view, row, "other_event", -1), tsc);
	event_line(view, grid, y + 3, "the other's unhook", nearest(view, row, "unhook"), tsc);
	event_line(view, grid, y + 4, "the other's rehook", nearest(view, row, "rehook"), tsc);
}

static const struct xf_tui_view_ops *to_event(struct xf_tui_view *view, int64_t *key)
{
	*key = xf_tui_selected(view)->id;
	return &xf_tui_view_event;
}

static int64_t same_event(struct xf_tui_view *view)
{
	return xf_tui_selected(view)->id;
}

const struct xf_tui_view_ops xf_tui_view_spurious = {
	.title = "Spurious faults",
	.source = &xf_tui_source_spurious,
	.totals = spurious_totals,
	.panel_rows = spurious_panel_rows,
	.panel = spurious_panel,
	.enter = to_event,
	.event = same_event,
};

/* --- losses and doubts --- */

static int trust_fill(struct xf_tui_view *view, struct xf_error *err)
{
	return xf_db_exec(view->ui->db,
		"DROP TABLE IF EXISTS temp.xf_trust;"
		"CREATE TEMP TABLE xf_trust (id INTEGER PRIMARY KEY, what TEXT, code TEXT, count INTEGER,"
		" pcpu INTEGER, tsc INTEGER, tsc_last INTEGER, domid INTEGER, vcpu INTEGER, text TEXT);"
		"INSERT INTO temp.xf_trust (what, code, count, tsc, text)"
		" SELECT 'doubt', code, count, tsc, text FROM doubt ORDER BY code;"
		"INSERT INTO temp.xf_trust (what, code, count, text)"
		" SELECT 'finding', code, count, text FROM finding ORDER BY code;"
		"INSERT INTO temp.xf_trust (what, count, pcpu, tsc, tsc_last, domid, vcpu, text)"
		" SELECT 'loss', lost, pcpu, tsc_first, tsc_last, domid, vcpu,"
		" lost || ' records lost here' FROM loss ORDER BY loss_id",
		err);
}

static void trust_totals(struct xf_tui_view *view, char *text, size_t size)
{
	const struct xf_tui_capture *c = &view->ui->capture;
	char lost[32];

	xf_tui_format_grouped(lost, sizeof(lost), c->lost);
	snprintf(text, size, "%s records lost, %lld doubts, %lld findings%s", lost,
		(long long)c->doubts, (long long)c->findings,
		c->complete ? "" : "; the capture is cut short");
	if (!c->lost && !c->doubts && !c->findings && c->complete)
		snprintf(text, size, "No loss, no doubt: every record of the capture was read");
}

/* The first event not before a time: they are in time order. */
static int64_t event_at(struct xf_tui *ui, int64_t tsc)
{
	int64_t range[2], there[2];

	if (xf_tui_query(ui->db,
		    "SELECT (SELECT min(event_id) FROM event), (SELECT max(event_id) FROM event)",
		    0, 0, range, 2, NULL))
		return -1;
	while (range[0] < range[1]) {
		int64_t middle = range[0] + (range[1] - range[0]) / 2;

		if (xf_tui_query(ui->db, "SELECT tsc FROM event WHERE event_id = ?1", middle, 0,
			    there, 1, NULL))
			return -1;
		if (there[0] < tsc)
			range[0] = middle + 1;
		else
			range[1] = middle;
	}
	return range[0];
}

static int64_t trust_event(struct xf_tui_view *view)
{
	const struct xf_tui_value *tsc = xf_tui_value(view, xf_tui_selected(view), "tsc");

	return tsc ? event_at(view->ui, tsc->integer) : -1;
}

const struct xf_tui_view_ops xf_tui_view_trust = {
	.title = "Losses and doubts",
	.source = &xf_tui_source_trust,
	.open = trust_fill,
	.totals = trust_totals,
	.event = trust_event,
	.refresh = trust_fill,
};

/* --- name and value lists --- */

static int start_lines(sqlite3 *db, const char *table, struct xf_error *err)
{
	char *sql =
		sqlite3_mprintf("DROP TABLE IF EXISTS temp.%s; CREATE TEMP TABLE %s (id INTEGER "
				"PRIMARY KEY, name TEXT, value TEXT, note TEXT, flag INTEGER)",
			table, table);
	int code = sql ? xf_db_exec(db, sql, err) : xf_fail_nomem(err);

	sqlite3_free(sql);
	return code;
}

static int line(sqlite3 *db, const char *table, const char *name, const char *value,
	const char *note, bool flag, struct xf_error *err)
{
	char *sql = sqlite3_mprintf("INSERT INTO temp.%s (name, value, note, flag) VALUES "
				    "(%Q, %Q, %Q, %d)",
		table, name, value, note ? note : "", flag);
	int code = sql ? xf_db_exec(db, sql, err) : xf_fail_nomem(err);

	sqlite3_free(sql);
	return code;
}

static int number_line(sqlite3 *db, const char *table, const char *name, int64_t value,
	const char *note, bool flag, struct xf_error *err)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	return line(db, table, name, text, note, flag, err);
}

static int info_numbers(struct xf_tui_view *view, struct xf_error *err)
{
	const struct xf_tui_capture *c = &view->ui->capture;
	sqlite3 *db = view->ui->db;
	char text[64], span[40];
	int code = 0;

	snprintf(span, sizeof(span), "%lld", (long long)(c->last - c->first));
	snprintf(text, sizeof(text), "cycles%s", c->hz ? "" : "; seconds need --cpu-hz");
	if (c->hz)
		snprintf(text, sizeof(text), "cycles = %.6f s",
			(double)(c->last - c->first) / (double)c->hz);
	code |= number_line(db, "xf_info", "records", c->records, "in the stream", false, err);
	code |= number_line(db, "xf_info", "events", c->events, "that they tell of", false, err);
	code |= number_line(db, "xf_info", "lost records", c->lost,
		c->lost ? "see 5, Losses and doubts" : "", c->lost > 0, err);
	code |= number_line(db, "xf_info", "unknown records", c->unknown,
		c->unknown ? "of an id or length that no decoder fits" : "", c->unknown > 0, err);
	code |= line(db, "xf_info", "complete", c->complete ? "yes" : "no",
		c->complete ? "" : "cut short, damaged or interrupted", !c->complete, err);
	if (c->has_time) {
		code |= number_line(db, "xf_info", "first TSC", c->first, "cycles", false, err);
		code |= number_line(db, "xf_info", "last TSC", c->last, "cycles", false, err);
		code |= line(db, "xf_info", "span", span, text, false, err);
	}
	if (c->hz)
		code |= number_line(db, "xf_info", "TSC frequency", c->hz, "Hz", false, err);
	else
		code |= line(db, "xf_info", "TSC frequency", "unknown",
			"times are in cycles; --cpu-hz gives it", false, err);
	return code;
}

static int info_fill(struct xf_tui_view *view, struct xf_error *err)
{
	sqlite3 *db = view->ui->db;
	int code = start_lines(db, "xf_info", err);

	if (!code)
		code = xf_db_exec(db,
			"INSERT INTO temp.xf_info (name, value, note, flag) "
			"SELECT 'source', source, '', 0 FROM trace UNION ALL "
			"SELECT 'format', format, '', 0 FROM trace UNION ALL "
			"SELECT 'made by', tool_version, '', 0 FROM trace",
			err);
	if (!code)
		code = info_numbers(view, err);
	if (!code)
		code = xf_db_exec(db,
			"INSERT INTO temp.xf_info (name, value, note, flag) "
			"SELECT coalesce(name, 'unknown'), records, printf('records of id 0x%08x, %d "
			"words', raw_id, words) || CASE WHEN fits THEN '' ELSE '; no decoder' END, "
			"NOT fits FROM record_count ORDER BY records DESC",
			err);
	return code;
}

static void info_totals(struct xf_tui_view *view, char *text, size_t size)
{
	snprintf(text, size, "%s", view->ui->capture.source);
}

const struct xf_tui_view_ops xf_tui_view_info = {
	.title = "Info",
	.source = &xf_tui_source_info,
	.open = info_fill,
	.totals = info_totals,
	.refresh = info_fill,
};

/* --- one event --- */

/* A column of the events view as a line: its value, and what it means. */
static int event_column(
	struct xf_tui_view *view, sqlite3_stmt *stmt, int column, struct xf_error *err)
{
	const char *name = sqlite3_column_name(stmt, column);
	static const char *const hex[] = {"va", "pt_page", "rip", "pte", "frame", "raw_id"};
	int64_t value = sqlite3_column_int64(stmt, column);
	char text[128], note[128] = "";

	if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
		return line(view->ui->db, "xf_event", name, "-", "not in the record", false, err);
	if (sqlite3_column_type(stmt, column) == SQLITE_FLOAT)
		xf_tui_format_real(text, sizeof(text), sqlite3_column_double(stmt, column));
	else
		snprintf(text, sizeof(text), "%s", sqlite3_column_text(stmt, column));
	for (size_t i = 0; i < sizeof(hex) / sizeof(hex[0]); i++)
		if (!strcmp(hex[i], name))
			snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	if (!strcmp(name, "error_code"))
		xf_error_code_text((uint64_t)value, note, sizeof(note));
	else if (!strcmp(name, "pte"))
		xf_tui_format_pte(note, sizeof(note), (uint64_t)value);
	else if (!strcmp(name, "kind"))
		snprintf(note, sizeof(note), "%s",
			xf_kind_what(xf_kind_by_name(text)) ? xf_kind_what(xf_kind_by_name(text))
							    : "");
	else if (!strcmp(name, "arg1") && xf_hypercall_name((uint64_t)value))
		snprintf(note, sizeof(note), "of a hypercall: %s",
			xf_hypercall_name((uint64_t)value));
	else if (!strcmp(name, "us"))
		snprintf(note, sizeof(note), "since the first record");
	return line(view->ui->db, "xf_event", name, text, note, false, err);
}

static int event_fill(struct xf_tui_view *view, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = start_lines(view->ui->db, "xf_event", err);

	snprintf(view->title, sizeof(view->title), "event %lld", (long long)view->key);
	if (!code)
		code = xf_db_prepare(
			view->ui->db, &stmt, "SELECT * FROM events WHERE event_id = ?1", err);
	if (code)
		return code;
	sqlite3_bind_int64(stmt, 1, view->key);
	code = xf_db_step(stmt, err);
	for (int i = 0; code == 1 && i < sqlite3_column_count(stmt); i++)
		if (event_column(view, stmt, i, err))
			code = -XF_DB;
	sqlite3_finalize(stmt);
	return code < 0 ? code : 0;
}

static void event_totals(struct xf_tui_view *view, char *text, size_t size)
{
	(void)view;
	snprintf(text, size, "one event, every column of the view events");
}

const struct xf_tui_view_ops xf_tui_view_event = {
	.title = "event",
	.source = &xf_tui_source_event,
	.open = event_fill,
	.totals = event_totals,
};
