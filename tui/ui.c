// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * State of the screen interface.
 * In: keys.  Out: what is on screen changes; queries that take long show it and stop at Esc.
 */
#include "common/clock.h"
#include "tui/ui.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROGRESS_STEPS 4000 /* of SQLite's machine between two looks at the clock */

static const struct xf_tui_view_ops *const top_views[XF_TUI_TOPS] = {
#define X(ignored, name, key, help) &xf_tui_view_##name,
	XF_TUI_TOP_VIEWS(X, )
#undef X
};

int xf_tui_query(sqlite3 *db, const char *sql, int64_t a, int64_t b, int64_t *values, int n,
	struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(db, &stmt, sql, err);

	memset(values, 0, (size_t)n * sizeof(*values));
	if (code)
		return code;
	if (sqlite3_bind_parameter_count(stmt) > 0)
		sqlite3_bind_int64(stmt, 1, a);
	if (sqlite3_bind_parameter_count(stmt) > 1)
		sqlite3_bind_int64(stmt, 2, b);
	code = xf_db_step(stmt, err);
	for (int i = 0; code == 1 && i < n; i++)
		values[i] = sqlite3_column_int64(stmt, i);
	sqlite3_finalize(stmt);
	return code < 0 ? code : 0;
}

void xf_tui_say(struct xf_tui *ui, bool bad, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(ui->message, sizeof(ui->message), format, ap);
	va_end(ap);
	ui->message_bad = bad;
	ui->dirty = true;
}

/* --- queries that take long --- */

static void look_at_keys(struct xf_tui *ui)
{
	struct xf_tui_event event = ui->screen->key(ui->screen->data, 0);

	if (ui->background && event.key)
		ui->interrupted = true;
	if ((event.key == XF_KEY_ESC && ui->waiting) || event.key == XF_KEY_STOP ||
		event.key == XF_KEY_LOST)
		ui->interrupted = true;
	else if (event.key && ui->queued < (int)(sizeof(ui->queue) / sizeof(ui->queue[0])))
		ui->queue[ui->queued++] = event.key;
	if (event.key == XF_KEY_STOP || event.key == XF_KEY_LOST)
		ui->quit = true;
}

bool xf_tui_stopped(const struct xf_tui *ui)
{
	return ui->options->stop && ui->options->stop();
}

/* Called by SQLite every so many steps; non-zero stops the statement. */
static int on_progress(void *data)
{
	struct xf_tui *ui = data;
	int64_t now;

	if (xf_tui_term_signal() || xf_tui_stopped(ui))
		return 1;
	if (!ui->waiting && !ui->background)
		return 0;
	now = xf_clock_ns();
	if (now - ui->wait_looked < 20000000)
		return ui->interrupted;
	ui->wait_looked = now;
	look_at_keys(ui);
	if (ui->waiting && now - ui->wait_since > 50000000 && now - ui->wait_shown > 100000000) {
		ui->wait_shown = now;
		xf_tui_draw_waiting(ui);
	}
	return ui->interrupted;
}

/* SQL function xf_seen(id): true; tells how far a sort has come. */
static void seen(sqlite3_context *context, int n, sqlite3_value **values)
{
	struct xf_tui *ui = sqlite3_user_data(context);

	(void)n;
	ui->seen = sqlite3_value_int64(values[0]);
	sqlite3_result_int(context, 1);
}

static void wait_begin(struct xf_tui *ui, const char *what)
{
	const struct xf_tui_model *m = &xf_tui_current(ui)->model;

	ui->waiting = what;
	ui->interrupted = false;
	ui->wait_since = ui->wait_looked = xf_clock_ns();
	ui->wait_shown = 0;
	ui->seen = ui->seen_low = m->low;
	ui->seen_high = m->high;
}

/* The outcome of what wait_begin() announced. */
static void wait_end(struct xf_tui *ui, int code, const struct xf_error *err)
{
	ui->waiting = NULL;
	if (code == -XF_INTERRUPTED)
		xf_tui_say(ui, true, "stopped; all is as it was");
	else if (code)
		xf_tui_say(ui, true, "%s", err->text);
}

void xf_tui_do_sort(struct xf_tui *ui, int column, bool backwards)
{
	struct xf_error err = {0};

	wait_begin(ui, "sorting");
	memset(xf_tui_current(ui)->widths, 0, sizeof(xf_tui_current(ui)->widths));
	wait_end(ui, xf_tui_model_sort(&xf_tui_current(ui)->model, column, backwards, &err), &err);
}

bool xf_tui_do_filter(struct xf_tui *ui, const char *text, size_t *where, struct xf_error *err)
{
	int code;

	wait_begin(ui, "filtering");
	code = xf_tui_model_filter(&xf_tui_current(ui)->model, text, where, err);
	ui->waiting = NULL;
	if (code != -XF_INTERRUPTED)
		return !code;
	xf_tui_say(ui, true, "stopped; all is as it was");
	xf_error_clear(err);
	return true;
}

/* --- views --- */

struct xf_tui_view *xf_tui_current(const struct xf_tui *ui)
{
	return ui->depth ? ui->stack[ui->depth - 1] : ui->tops[ui->top];
}

unsigned xf_tui_where(const struct xf_tui *ui)
{
	const struct xf_tui_view *view = xf_tui_current(ui);
	unsigned where = XF_IN_LIST | view->ops->where;

	if (ui->prompt.command)
		return XF_IN_PROMPT;
	if (ui->box)
		return ui->box == XF_BOX_HELP	   ? XF_IN_HELP
		       : ui->box == XF_BOX_COLUMNS ? XF_IN_MENU | XF_IN_TICKS
						   : XF_IN_MENU;
	where |= ui->depth ? XF_IN_SUB : XF_IN_TOP;
	where |= ui->options->follow ? XF_IN_FOLLOW : 0;
	where |= view->ops->enter ? XF_IN_DOWN : 0;
	where |= view->ops->event ? XF_IN_EVENTS : 0;
	where |= view->search.on || view->model.filter_text ? XF_IN_FOUND : 0;
	return where;
}

static void free_view(struct xf_tui_view *view)
{
	if (!view)
		return;
	sqlite3_free(view->missing);
	if (view->ops->close)
		view->ops->close(view);
	xf_tui_search_stop(view);
	xf_tui_window_free(&view->window);
	xf_tui_model_free(&view->model);
	free(view);
}

static int new_view(struct xf_tui *ui, struct xf_tui_view **out, const struct xf_tui_view_ops *ops,
	int64_t key, struct xf_error *err)
{
	struct xf_tui_view *view = calloc(1, sizeof(*view));
	int code;

	if (!view)
		return xf_fail_nomem(err);
	view->ops = ops;
	view->ui = ui;
	view->key = key;
	view->position = -1;
	snprintf(view->title, sizeof(view->title), "%s", ops->title);
	xf_tui_model_init(&view->model, ui->db, ops->source, &ui->units, &ui->next_table);
	view->model.origin = ui->capture.first;
	view->model.extra = ops->extra;
	view->model.extra_data = view;
	code = ops->open ? ops->open(view, err) : 0;
	if (!code)
		code = xf_tui_model_restart(&view->model, err);
	/* short lists are complete at once */
	if (!code && (code = xf_tui_model_work(&view->model, 20000000, err)) > 0)
		code = 0;
	if (code)
		free_view(view);
	else
		*out = view;
	return code;
}

int xf_tui_show_top(struct xf_tui *ui, int top, struct xf_error *err)
{
	int code = 0;

	if (!ui->tops[top])
		code = new_view(ui, &ui->tops[top], top_views[top], 0, err);
	if (code)
		return code;
	while (ui->depth)
		free_view(ui->stack[--ui->depth]);
	ui->top = top;
	return 0;
}

void xf_tui_leave(struct xf_tui *ui)
{
	free_view(ui->stack[--ui->depth]);
}

int xf_tui_open_row(struct xf_tui *ui, struct xf_error *err)
{
	struct xf_tui_view *view = xf_tui_current(ui);
	const struct xf_tui_view_ops *ops;
	int64_t key = 0;
	int code;

	if (!xf_tui_selected(view) || ui->depth == XF_TUI_DEPTH)
		return 0;
	ops = view->ops->enter(view, &key);
	if (!ops)
		return 0;
	code = new_view(ui, &ui->stack[ui->depth], ops, key, err);
	if (!code)
		ui->depth++;
	return code;
}

static int select_id(struct xf_tui_view *view, int64_t id)
{
	view->selected = id;
	view->has_selected = view->chosen = true;
	view->stick = false;
	view->generation = view->model.generation - 1; /* find it anew */
	view->top = -1;				       /* in the middle of the screen */
	return 0;
}

int xf_tui_goto_event(struct xf_tui *ui, int64_t event, struct xf_error *err)
{
	struct xf_tui_view *view = xf_tui_current(ui);
	size_t where;
	int code = 0;

	if (event < 0)
		return 0;
	if (view->ops != &xf_tui_view_events) {
		if (ui->depth == XF_TUI_DEPTH)
			return 0;
		code = new_view(ui, &ui->stack[ui->depth], &xf_tui_view_events, 0, err);
		if (code)
			return code;
		view = ui->stack[ui->depth++];
	}
	if (view->model.filter_text)
		code = xf_tui_model_filter(&view->model, NULL, &where, err);
	if (!code && view->model.sort >= 0)
		code = xf_tui_model_sort(&view->model, -1, false, err);
	return code ? code : select_id(view, event);
}

/* --- the cursor --- */

void xf_tui_move(struct xf_tui_view *view, int64_t position)
{
	int64_t count = xf_tui_model_count(&view->model);

	view->position = position >= count ? count - 1 : position < 0 ? 0 : position;
	if (!count)
		view->position = -1;
	view->stick = false;
	view->chosen = true;
	view->has_selected = false; /* settle() takes the id of the row it lands on */
}

/* Where the selected id is now. */
static int find_selected(struct xf_tui_view *view, struct xf_error *err)
{
	struct xf_tui_model *m = &view->model;
	int64_t old = view->position, found;
	bool exact;
	int code;

	code = xf_tui_model_find(m, view->selected, &found, &exact, err);
	if (code)
		return code;
	if (found < 0) /* not in a sorted list: stay where it was on screen */
		found = old;
	if (old >= 0 && view->top >= 0)
		view->top += found - old; /* the row keeps its place on screen */
	view->position = found;
	/* a list that is still being made may have it later */
	if (exact || xf_tui_model_progress(m) >= 1)
		view->generation = m->generation;
	return 0;
}

int xf_tui_settle(struct xf_tui_view *view, int rows, struct xf_error *err)
{
	struct xf_tui_model *m = &view->model;
	int64_t count = xf_tui_model_count(m);
	const struct xf_tui_row *row;
	int code = 0;

	view->rows = rows;
	if (view->stick)
		view->position = count - 1;
	else if (view->has_selected && view->generation != m->generation)
		code = find_selected(view, err);
	if (code)
		return code;
	if (view->position < 0)
		view->position = 0;
	if (view->position >= count)
		view->position = count - 1;
	if (view->top < 0)
		view->top = view->position - rows / 2;
	if (view->top > view->position)
		view->top = view->position;
	if (view->top < view->position - rows + 1)
		view->top = view->position - rows + 1;
	if (view->top > count - rows)
		view->top = count - rows;
	if (view->top < 0)
		view->top = 0;
	code = xf_tui_model_fetch(
		m, &view->window, view->top > 0 ? view->top - 1 : 0, rows + 2, err);
	row = xf_tui_window_row(&view->window, view->position);
	if (row && (view->stick || !view->has_selected)) {
		view->selected = row->id;
		view->has_selected = view->chosen || view->stick;
		view->generation = m->generation;
	}
	return code;
}

const struct xf_tui_row *xf_tui_selected(const struct xf_tui_view *view)
{
	return xf_tui_window_row(&view->window, view->position);
}

const struct xf_tui_value *xf_tui_value(
	const struct xf_tui_view *view, const struct xf_tui_row *row, const char *column)
{
	int i = xf_tui_column_by_name(view->model.source, column);

	return row && i >= 0 && row->values[i].type != SQLITE_NULL ? &row->values[i] : NULL;
}

int64_t xf_tui_integer(const struct xf_tui_view *view, const struct xf_tui_row *row,
	const char *column, int64_t fallback)
{
	const struct xf_tui_value *value = xf_tui_value(view, row, column);

	return value ? value->integer : fallback;
}

const char *xf_tui_text(const struct xf_tui_view *view, const struct xf_tui_row *row,
	const char *column, const char *fallback)
{
	const struct xf_tui_value *value = xf_tui_value(view, row, column);

	return value && value->text ? value->text : fallback;
}

bool xf_tui_work(struct xf_tui *ui, int64_t nanoseconds)
{
	struct xf_tui_view *view = xf_tui_current(ui);
	int64_t end = xf_clock_ns() + nanoseconds;
	struct xf_error err = {0};
	int code = xf_tui_model_work(&view->model, nanoseconds, &err), more = code;

	if (code >= 0 && view->ops->work && xf_clock_ns() < end)
		more |= code = view->ops->work(view, end - xf_clock_ns(), &err);
	if (code >= 0)
		more |= code = xf_tui_search_work(view, end - xf_clock_ns(), &err);
	if (code < 0) {
		if (code != -XF_INTERRUPTED)
			xf_tui_say(ui, true, "%s", err.text);
		more = 0; /* until the next key */
	}
	ui->pending = more > 0;
	ui->dirty = true;
	return ui->pending;
}

/* --- beginning and end --- */

int xf_tui_open(struct xf_tui *ui, sqlite3 *db, const struct xf_tui_options *options,
	const struct xf_tui_screen *screen, bool utf8, struct xf_error *err)
{
	int code;

	*ui = (struct xf_tui){.options = options,
		.db = db,
		.screen = screen,
		.dirty = true,
		.redraw = true,
		.pending = true,
		.list_rows = 1,
		.break_even = options->break_even,
		.break_even_bound = "",
		.mouse = options->mouse};
	ui->grid.utf8 = ui->units.utf8 = utf8;
	sqlite3_progress_handler(db, PROGRESS_STEPS, on_progress, ui);
	if (sqlite3_create_function(db, "xf_seen", 1, SQLITE_UTF8, ui, seen, NULL, NULL) !=
		SQLITE_OK)
		return xf_db_fail(db, "xf_seen", err);
	code = xf_filter_functions(db, err);
	if (!code)
		code = xf_tui_read_capture(ui, err);
	if (!options->follow || stat(options->path, &ui->file))
		ui->file.st_ino = 0;
	if (!code && options->follow)
		code = xf_db_prepare(db, &ui->data_version, "PRAGMA data_version", err);
	if (!code && options->follow && sqlite3_step(ui->data_version) == SQLITE_ROW)
		ui->version = sqlite3_column_int64(ui->data_version, 0);
	if (ui->data_version)
		sqlite3_reset(ui->data_version);
	if (!code)
		code = xf_tui_show_top(ui, 0, err);
	if (code)
		xf_tui_close(ui);
	return code;
}

void xf_tui_close(struct xf_tui *ui)
{
	while (ui->depth)
		free_view(ui->stack[--ui->depth]);
	for (int i = 0; i < XF_TUI_TOPS; i++)
		free_view(ui->tops[i]);
	sqlite3_finalize(ui->data_version);
	sqlite3_progress_handler(ui->db, 0, NULL, NULL);
	xf_tui_grid_free(&ui->grid);
	memset(ui->tops, 0, sizeof(ui->tops));
	ui->data_version = NULL;
}
