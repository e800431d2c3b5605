// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Entry of the screen interface: opens the database, chooses the outside, runs the loop.
 * In: struct xf_tui_options.  Out: a session; errors as values.
 */
#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <strings.h>

#include "common/output.h"
#include "common/clock.h"
#include "tui/ui.h"

#define FOLLOW_MS 250 /* between two looks for news */
#define FRAME_NS  INT64_C(40000000)
#define WORK_NS	  INT64_C(15000000)

int xf_tui_color_by_name(const char *name)
{
	static const char *const names[] = {"auto", "never", "8", "256", "always"};

	for (int i = 0; i < 5; i++)
		if (!strcmp(names[i], name))
			return i;
	return -1;
}

/* Keys typed during a long statement come first. */
static struct xf_tui_event next_key(struct xf_tui *ui, int timeout)
{
	struct xf_tui_event event = {0};

	if (!ui->queued)
		return ui->screen->key(ui->screen->data, timeout);
	event.key = ui->queue[0];
	memmove(ui->queue, ui->queue + 1, (size_t)--ui->queued * sizeof(ui->queue[0]));
	return event;
}

static void loop(struct xf_tui *ui)
{
	int64_t drawn = 0;

	while (!ui->quit) {
		struct xf_tui_event event;

		/* while there is work, draw only so often; a key is always answered at once */
		if (ui->dirty && (!ui->pending || xf_clock_ns() - drawn > FRAME_NS)) {
			xf_tui_draw(ui);
			drawn = xf_clock_ns();
		}
		event = next_key(ui, ui->pending ? 0 : ui->options->follow ? FOLLOW_MS : -1);
		if (event.key) {
			xf_tui_key(ui, &event);
			drawn = 0;
			continue;
		}
		if (ui->pending)
			xf_tui_work(ui, WORK_NS);
		if (ui->options->follow &&
			xf_clock_ns() - ui->polled > FOLLOW_MS * INT64_C(1000000)) {
			xf_tui_poll(ui);
			ui->polled = xf_clock_ns();
		}
	}
}

/* Rows first .. end-1 of `y`, all of one source, with every column of its view, as the commands do. */
static int print_group(struct xf_tui *ui, int first, int end, struct xf_error *err)
{
	const struct xf_tui_source *source = ui->yanks[first].source;
	struct xf_column columns[64];
	struct xf_out *out = NULL;
	sqlite3_stmt *stmt;
	char *sql = sqlite3_mprintf("SELECT * FROM %s WHERE %s = ?1", source->from, source->key);
	int code = sql ? xf_db_prepare(ui->db, &stmt, sql, err) : xf_fail_nomem(err), n, closed;

	sqlite3_free(sql);
	if (code)
		return code;
	n = sqlite3_column_count(stmt) < 64 ? sqlite3_column_count(stmt) : 64;
	for (int i = 0; i < n; i++)
		columns[i] = (struct xf_column){.name = sqlite3_column_name(stmt, i),
			.type = xf_cell_type_of(sqlite3_column_name(stmt, i))};
	code = xf_out_new(&out, ui->options->output, XF_FORMAT_CSV, columns, (size_t)n, err);
	for (int i = first; code >= 0 && i < end; i++) {
		sqlite3_bind_int64(stmt, 1, ui->yanks[i].id);
		code = xf_db_step(stmt, err);
		if (code == 1)
			xf_out_row(out, stmt);
		sqlite3_reset(stmt);
	}
	closed = xf_out_close(out, err);
	sqlite3_finalize(stmt);
	return code < 0 ? code : closed;
}

int xf_tui_print_yanks(struct xf_tui *ui, struct xf_error *err)
{
	int code = 0, end;

	for (int i = 0; !code && i < ui->nyanks; i = end) {
		for (end = i + 1; end < ui->nyanks; end++)
			if (strcmp(ui->yanks[end].source->from, ui->yanks[i].source->from))
				break;
		code = print_group(ui, i, end, err);
	}
	return code;
}

static int run_terminal(
	sqlite3 *db, const struct xf_tui_options *options, bool utf8, struct xf_error *err)
{
	struct xf_tui_screen screen = {0};
	struct xf_tui ui;
	int code = xf_tui_term_open(&screen, options, err);

	if (code)
		return code;
	code = xf_tui_open(&ui, db, options, &screen, utf8, err);
	if (code) {
		xf_tui_term_close(&screen);
		return code;
	}
	loop(&ui);
	xf_tui_term_close(&screen);
	code = xf_tui_print_yanks(&ui, err);
	if (!code)
		code = xf_tui_result(&ui, err);
	xf_tui_close(&ui);
	if (!code && xf_tui_term_signal())
		code = xf_fail(err, XF_INTERRUPTED, "stopped by signal %d", xf_tui_term_signal());
	return code;
}

int xf_tui_run(const struct xf_tui_options *options, struct xf_error *err)
{
	sqlite3 *db;
	bool utf8;
	int code = xf_db_open(&db, options->path, 1, err);

	if (code)
		return code;
	setlocale(LC_CTYPE, "");
	utf8 = !options->ascii && !strcasecmp(nl_langinfo(CODESET), "UTF-8");
	code = options->script ? xf_tui_script_run(db, options, utf8, err)
			       : run_terminal(db, options, utf8, err);
	sqlite3_close(db);
	return code;
}
