// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The capture as a whole, and what comes to it while it is being recorded.
 * In: views trace, losses, forks, PRAGMA data_version.  Out: totals, fresh lists, the rate of loss.
 */
#include <string.h>

#include "common/clock.h"
#include "tui/ui.h"

static int read_row(struct xf_tui *ui, struct xf_error *err)
{
	struct xf_tui_capture *c = &ui->capture;
	sqlite3_stmt *stmt;
	int64_t n[1];
	int code = xf_db_prepare(ui->db, &stmt,
		"SELECT source, records, events, lost_records, unknown_records, tsc_first, tsc_last, "
		"cpu_hz, complete FROM trace",
		err);

	*c = (struct xf_tui_capture){.complete = true};
	if (code)
		return code;
	code = xf_db_step(stmt, err);
	if (code == 1) {
		snprintf(c->source, sizeof(c->source), "%s", xf_db_text(stmt, 0));
		c->records = sqlite3_column_int64(stmt, 1);
		c->events = sqlite3_column_int64(stmt, 2);
		c->lost = sqlite3_column_int64(stmt, 3);
		c->unknown = sqlite3_column_int64(stmt, 4);
		c->has_time = sqlite3_column_type(stmt, 5) != SQLITE_NULL;
		c->first = sqlite3_column_int64(stmt, 5);
		c->last = sqlite3_column_int64(stmt, 6);
		c->hz = sqlite3_column_int64(stmt, 7);
		c->complete = sqlite3_column_int(stmt, 8) != 0;
	}
	sqlite3_finalize(stmt);
	if (code < 0)
		return code;
	/* while a capture runs its row may lag behind */
	code = xf_tui_query(ui->db, "SELECT sum(lost) FROM losses", 0, 0, n, 1, err);
	if (!code && n[0] > c->lost)
		c->lost = n[0];
	if (!code)
		code = xf_tui_query(ui->db, "SELECT count(*) FROM doubt", 0, 0, &c->doubts, 1, err);
	if (!code)
		code = xf_tui_query(
			ui->db, "SELECT count(*) FROM finding", 0, 0, &c->findings, 1, err);
	if (ui->options->cpu_hz)
		c->hz = (int64_t)ui->options->cpu_hz;
	ui->units.hz = c->hz;
	ui->units.first = c->first;
	return code;
}

static int read_totals(struct xf_tui *ui, struct xf_error *err)
{
	struct xf_tui_totals *t = &ui->totals;
	int64_t v[10];
	int code = xf_tui_query(ui->db,
		"SELECT count(*), sum(pt_pages), sum(ptes), sum(faults), sum(spurious), sum(flushes), "
		"sum(cow_faults), sum(NOT complete), sum(tsc_end - tsc_start), "
		"max(tsc_end - tsc_start) FROM forks",
		0, 0, v, 10, err);

	*t = (struct xf_tui_totals){v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]};
	ui->units.whole = (double)v[8];
	ui->units.largest = (double)v[9];
	return code;
}

int xf_tui_read_capture(struct xf_tui *ui, struct xf_error *err)
{
	int code = read_row(ui, err);

	return code ? code : read_totals(ui, err);
}

static void measure_loss(struct xf_tui *ui)
{
	int64_t now = xf_clock_ns();
	double seconds = (double)(now - ui->rate_time) / 1e9;

	if (ui->rate_time && seconds < 1)
		return;
	if (ui->rate_time)
		ui->lost_rate = (double)(ui->capture.lost - ui->rate_lost) / seconds;
	ui->rate_lost = ui->capture.lost;
	ui->rate_time = now;
}

static int refresh_view(struct xf_tui_view *view, struct xf_error *err)
{
	int code;

	if (!view)
		return 0;
	code = view->ops->refresh ? view->ops->refresh(view, err) : 0;
	return code ? code : xf_tui_model_grow(&view->model, err);
}

static int refresh(struct xf_tui *ui, struct xf_error *err)
{
	int code = xf_tui_read_capture(ui, err);

	for (int i = 0; !code && i < XF_TUI_TOPS; i++)
		code = refresh_view(ui->tops[i], err);
	for (int i = 0; !code && i < ui->depth; i++)
		code = refresh_view(ui->stack[i], err);
	return code;
}

/* Nothing more will come into a file that was removed or replaced. */
static void watch_file(struct xf_tui *ui)
{
	struct stat st;

	if (ui->gone || !ui->file.st_ino ||
		(!stat(ui->options->path, &st) && st.st_ino == ui->file.st_ino &&
			st.st_dev == ui->file.st_dev))
		return;
	ui->gone = ui->dirty = true;
	xf_tui_say(ui, true,
		"the database was removed or replaced: this is what it held before; q ends");
}

int xf_tui_result(const struct xf_tui *ui, struct xf_error *err)
{
	if (xf_tui_stopped(ui))
		return xf_fail(err, XF_INTERRUPTED, "interrupted");
	if (!ui->gone)
		return 0;
	return xf_fail(err, XF_GONE, "%s was removed or replaced while it was followed",
		ui->options->path);
}

void xf_tui_poll(struct xf_tui *ui)
{
	struct xf_error err = {0};
	int64_t version = ui->version;
	double rate = ui->lost_rate;

	watch_file(ui);
	if (!ui->data_version || ui->paused)
		return;
	if (sqlite3_step(ui->data_version) == SQLITE_ROW)
		version = sqlite3_column_int64(ui->data_version, 0);
	sqlite3_reset(ui->data_version);
	if (version != ui->version) {
		if (refresh(ui, &err))
			xf_tui_say(ui, true, "%s", err.text);
		else
			ui->version = version;
		ui->dirty = ui->pending = true;
	}
	measure_loss(ui);
	if (rate != ui->lost_rate)
		ui->dirty = true;
}
