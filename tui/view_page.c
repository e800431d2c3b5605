// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One fault sequence of a page-table page, event by event.
 * In: views pt_sequences and events.  Out: rows, and a panel that spells the selected event out.
 */
#include <stdlib.h>
#include <string.h>

#include "schemas/event.h"
#include "schemas/xen.h"
#include "tui/columns.h"
#include "tui/event_panel.h"
#include "tui/format.h"
#include "tui/ui.h"

#define EARLIER 64   /* sequences of the same page that are looked at for old values */
#define KNOWN	8192 /* old values kept */

static const struct xf_tui_column columns[] = {
	{"tsc", "time", "r.tsc", XF_SHOW_TIME, 9, ORDERED | ALWAYS, "when"},
	{"since", "since", "r.tsc", XF_SHOW_SINCE, 8, 0, "time since the row before"},
	{"vcpu", "vCPU", VCPU, XF_SHOW_VCPU, 4, UP | ALWAYS, "domain and vCPU"},
	{"kind", "kind", "r.kind", XF_SHOW_KIND, 9, UP | ALWAYS, "what happened"},
	{"slot", "slot", "r.slot", XF_SHOW_INT, 4, UP | ALWAYS, "index of the entry in its page"},
	{"was", "was", NULL, XF_SHOW_EXTRA, 10, 0,
		"what an earlier record says the entry held; - = no record tells"},
	{"pte", "new PTE", "r.pte", XF_SHOW_PTE, 17, ALWAYS, "flags and frame of the new value"},
	{"maps", "address", NULL, XF_SHOW_EXTRA, 14, 0,
		"the address concerned: what the entry maps, or the fault's"},
	{"symbol", "kernel function", "r.symbol", XF_SHOW_SYMBOL, 28, UP | ALWAYS,
		"of the instruction"},
	{"error_code", "fault", "r.error_code", XF_SHOW_ERROR, 22, UP | ALWAYS,
		"the error code in words"},
	{"event_id", "event", "r.event_id", XF_SHOW_INT, 7, ORDERED | HIDE | ALWAYS,
		"number, in time order"},
	{"va", "as recorded", "r.va", XF_SHOW_HEX, 18, UP | HIDE | ALWAYS,
		"faulting address, or the written entry's own"},
	EVENT_REST,
};

/* ?1 ?2: events; ?3 ?4: domain and vCPU; ?5 ?6: page, frame. */
static const struct xf_tui_source source_own = {
	.name = "events",
	.from = "events r",
	.key = "r.event_id",
	.where = "(r.domid IS ?3 AND r.vcpu IS ?4) OR r.pt_page = ?5 OR r.frame = ?6",
	.bounds = "SELECT ?1, ?2",
	.flag = "r.kind = 'loss'",
	.columns = columns,
	.ncolumns = COUNT(columns),
};

static const struct xf_tui_source source_all = {
	.name = "events",
	.from = "events r",
	.key = "r.event_id",
	.bounds = "SELECT ?1, ?2",
	.flag = "r.kind = 'loss'",
	.columns = columns,
	.ncolumns = COUNT(columns),
};

/* A value that a record says an entry was given. */
struct known {
	int64_t va, event, pte;
};

struct page_data {
	int64_t first_event, last_event, domid, vcpu, pt_page, frame, va_base, fork_id;
	bool has_owner, has_page, has_frame, has_base, has_fork;
	char mechanism[16], ended_by[16];
	int64_t ptes, faults, tsc_start, tsc_end;
	bool all; /* every vCPU's events */
	struct known *known;
	int nknown;
	bool looked;
};

static int read_sequence(struct xf_tui_view *view, struct xf_error *err)
{
	struct page_data *d = view->data;
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(view->ui->db, &stmt,
		"SELECT first_event, last_event, domid, vcpu, pt_page, frame, va_base, fork_id, mechanism, "
		"ended_by, ptes, faults, tsc_start, tsc_end FROM pt_sequences WHERE sequence_id = ?1",
		err);

	if (code)
		return code;
	sqlite3_bind_int64(stmt, 1, view->key);
	code = xf_db_step(stmt, err);
	if (code == 1) {
		int64_t *const values[] = {&d->first_event, &d->last_event, &d->domid, &d->vcpu,
			&d->pt_page, &d->frame, &d->va_base, &d->fork_id};

		for (int i = 0; i < 8; i++)
			*values[i] = sqlite3_column_int64(stmt, i);
		d->has_owner = sqlite3_column_type(stmt, 2) != SQLITE_NULL;
		d->has_page = sqlite3_column_type(stmt, 4) != SQLITE_NULL;
		d->has_frame = sqlite3_column_type(stmt, 5) != SQLITE_NULL;
		d->has_base = sqlite3_column_type(stmt, 6) != SQLITE_NULL;
		d->has_fork = sqlite3_column_type(stmt, 7) != SQLITE_NULL;
		snprintf(d->mechanism, sizeof(d->mechanism), "%s", xf_db_text(stmt, 8));
		snprintf(d->ended_by, sizeof(d->ended_by), "%s", xf_db_text(stmt, 9));
		d->ptes = sqlite3_column_int64(stmt, 10);
		d->faults = sqlite3_column_int64(stmt, 11);
		d->tsc_start = sqlite3_column_int64(stmt, 12);
		d->tsc_end = sqlite3_column_int64(stmt, 13);
	}
	sqlite3_finalize(stmt);
	return code < 0 ? code : 0;
}

static void set_params(struct xf_tui_view *view)
{
	const struct page_data *d = view->data;
	struct xf_tui_model *m = &view->model;
	const int64_t values[] = {
		d->first_event, d->last_event, d->domid, d->vcpu, d->pt_page, d->frame};

	memcpy(m->params, values, sizeof(values));
	m->nulls = (d->has_owner ? 0 : 12u) | (d->has_page ? 0 : 16u) | (d->has_frame ? 0 : 32u);
}

static int page_open(struct xf_tui_view *view, struct xf_error *err)
{
	struct page_data *d = calloc(1, sizeof(*d));
	int code;

	if (!d)
		return xf_fail_nomem(err);
	view->data = d;
	code = read_sequence(view, err);
	set_params(view);
	view->model.origin = d->tsc_start;
	view->model.inner = true;
	if (d->has_page)
		snprintf(view->title, sizeof(view->title), "page 0x%llx",
			(unsigned long long)d->pt_page);
	else
		snprintf(view->title, sizeof(view->title), "frame %llx",
			(unsigned long long)d->frame);
	return code;
}

static void page_close(struct xf_tui_view *view)
{
	struct page_data *d = view->data;

	if (d)
		free(d->known);
	free(d);
}

static int page_refresh(struct xf_tui_view *view, struct xf_error *err)
{
	struct page_data *d = view->data;
	int64_t last = d->last_event;
	int code = read_sequence(view, err);

	if (code || last == d->last_event)
		return code;
	set_params(view);
	d->looked = false;
	return xf_tui_model_restart(&view->model, err);
}

/* --- what an entry held before --- */

static int learn_range(struct xf_tui_view *view, int64_t first, int64_t last, struct xf_error *err)
{
	struct page_data *d = view->data;
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(view->ui->db, &stmt,
		"SELECT event_id, va, pte FROM events WHERE event_id BETWEEN ?1 AND ?2 "
		"AND kind = 'emulate' AND pt_page = ?3 AND pte IS NOT NULL",
		err);

	if (code)
		return code;
	sqlite3_bind_int64(stmt, 1, first);
	sqlite3_bind_int64(stmt, 2, last);
	sqlite3_bind_int64(stmt, 3, d->pt_page);
	while ((code = xf_db_step(stmt, err)) == 1 && d->nknown < KNOWN)
		d->known[d->nknown++] = (struct known){sqlite3_column_int64(stmt, 1),
			sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 2)};
	sqlite3_finalize(stmt);
	return code < 0 ? code : 0;
}

/* Writes in this sequence and in the ones of the same page before it. */
static int learn(struct xf_tui_view *view, struct xf_error *err)
{
	struct page_data *d = view->data;
	sqlite3_stmt *stmt;
	int code;

	d->looked = true;
	d->nknown = 0;
	if (!d->has_page)
		return 0;
	if (!d->known && !(d->known = calloc(KNOWN, sizeof(*d->known))))
		return xf_fail_nomem(err);
	code = xf_db_prepare(view->ui->db, &stmt,
		"SELECT first_event, last_event FROM pt_sequences WHERE pt_page = ?1 AND "
		"sequence_id <= ?2 AND last_event - first_event < 100000 "
		"ORDER BY sequence_id DESC LIMIT ?3",
		err);
	if (code)
		return code;
	sqlite3_bind_int64(stmt, 1, d->pt_page);
	sqlite3_bind_int64(stmt, 2, view->key);
	sqlite3_bind_int(stmt, 3, EARLIER);
	while ((code = xf_db_step(stmt, err)) == 1 && d->nknown < KNOWN) {
		code = learn_range(
			view, sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1), err);
		if (code)
			break;
	}
	sqlite3_finalize(stmt);
	return code < 0 ? code : 0;
}

static int page_work(struct xf_tui_view *view, int64_t nanoseconds, struct xf_error *err)
{
	struct page_data *d = view->data;

	(void)nanoseconds;
	return d->looked ? 0 : learn(view, err);
}

/* The newest value that a record before this event gave the entry; NULL = none does. */
static const struct known *old_value(const struct page_data *d, int64_t va, int64_t event)
{
	const struct known *best = NULL;

	for (int i = 0; i < d->nknown; i++)
		if (d->known[i].va == va && d->known[i].event < event &&
			(!best || d->known[i].event > best->event))
			best = &d->known[i];
	return best;
}

static bool writes_pte(const struct xf_tui_view *view, const struct xf_tui_row *row)
{
	return xf_kind_writes_pte(xf_kind_by_name(xf_tui_text(view, row, "kind", "")));
}

/* A write to another page-table page than the one on screen. */
static bool other_page(const struct xf_tui_view *view, const struct xf_tui_row *row)
{
	const struct page_data *d = view->data;
	const struct xf_tui_value *page = xf_tui_value(view, row, "pt_page");

	return page && d->has_page && page->integer != d->pt_page;
}

/* The address an event concerns; false = the records do not tell. */
static bool address_of(
	const struct xf_tui_view *view, const struct xf_tui_row *row, uint64_t *address)
{
	const struct page_data *d = view->data;
	int64_t slot = xf_tui_integer(view, row, "slot", -1);

	*address = (uint64_t)xf_tui_integer(view, row, "va", 0);
	if (!writes_pte(view, row))
		return xf_tui_value(view, row, "va") != NULL;
	if (!d || !d->has_base || slot < 0 || other_page(view, row))
		return false;
	*address = (uint64_t)d->va_base + ((uint64_t)slot << 12);
	return true;
}

static void page_extra(void *data, const struct xf_tui_row *row, int column, int width, char *text,
	size_t size, enum xf_tui_role *role)
{
	struct xf_tui_view *view = data;
	const struct page_data *d = view->data;
	const struct known *old;
	uint64_t address;

	(void)width;
	snprintf(text, size, "-");
	*role = XF_TUI_DIM;
	if (!strcmp(view->model.source->columns[column].name, "maps")) {
		if (other_page(view, row)) {
			snprintf(text, size, "page 0x%llx",
				(unsigned long long)xf_tui_integer(view, row, "pt_page", 0));
			return;
		}
		if (!address_of(view, row, &address))
			return;
		if (address == UINT64_MAX)
			snprintf(text, size, "everything"); /* of a flush */
		else
			snprintf(text, size, "0x%llx", (unsigned long long)address);
	} else {
		old = writes_pte(view, row)
			      ? old_value(d, xf_tui_integer(view, row, "va", 0), row->id)
			      : NULL;
		if (!old)
			return;
		if (old->pte)
			xf_pte_letters((uint64_t)old->pte, NULL, text, size);
		else
			snprintf(text, size, "0");
	}
	*role = XF_TUI_NORMAL;
}

static void page_totals(struct xf_tui_view *view, char *text, size_t size)
{
	const struct page_data *d = view->data;
	char span[32], fork[40] = "no fork", maps[40] = "unknown";

	xf_tui_units_span(&view->ui->units, d->tsc_end - d->tsc_start, span, sizeof(span));
	if (d->has_fork)
		snprintf(fork, sizeof(fork), "fork %lld", (long long)d->fork_id);
	if (d->has_base)
		snprintf(maps, sizeof(maps), "0x%llx", (unsigned long long)d->va_base);
	snprintf(text, size, "%s, %s: PTEs %lld, faults %lld, %s %s, ended by %s; maps %s%s", fork,
		d->mechanism, (long long)d->ptes, (long long)d->faults, span,
		xf_tui_units_span_name(&view->ui->units), d->ended_by, maps,
		d->all ? "; all vCPUs" : "");
}

static void page_panel(struct xf_tui_view *view, struct xf_tui_grid *grid, int y, int rows)
{
	const struct xf_tui_row *row = xf_tui_selected(view);
	const struct known *old =
		row ? old_value(view->data, xf_tui_integer(view, row, "va", 0), row->id) : NULL;
	char was[64] = "no record tells";

	if (old)
		xf_tui_format_pte(was, sizeof(was), (uint64_t)old->pte);
	xf_tui_event_panel(view, grid, y, rows, was);
}

static int page_command(struct xf_tui_view *view, enum xf_tui_command command, struct xf_error *err)
{
	struct page_data *d = view->data;

	if (command != XF_DO_OTHERS)
		return 0;
	d->all = !d->all;
	/* unknown owner, page and frame match nothing, so all is a source of its own */
	view->model.source = d->all ? &source_all : &source_own;
	xf_tui_say(view->ui, false, "%s",
		d->all ? "every vCPU's events meanwhile" : "its own vCPU's events");
	return xf_tui_model_restart(&view->model, err);
}

const struct xf_tui_view_ops xf_tui_view_page = {
	.title = "page",
	.source = &source_own,
	.where = XF_IN_OTHERS,
	.open = page_open,
	.close = page_close,
	.totals = page_totals,
	.panel_rows = xf_tui_event_panel_rows,
	.panel = page_panel,
	.enter = xf_tui_to_event,
	.event = xf_tui_same_event,
	.work = page_work,
	.refresh = page_refresh,
	.command = page_command,
	.extra = page_extra,
};
