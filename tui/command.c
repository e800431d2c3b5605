// SPDX-License-Identifier: GPL-2.0-or-later
/* What the commands of the key table do.  In: keys.  Out: another cursor, view, order, unit. */
#include <string.h>

#include "tui/ui.h"

static bool move_command(struct xf_tui_view *view, enum xf_tui_command command)
{
	int64_t at = view->position, page = view->rows > 1 ? view->rows - 1 : 1;

	switch (command) {
	case XF_DO_DOWN:
		xf_tui_move(view, at + 1);
		return true;
	case XF_DO_UP:
		xf_tui_move(view, at - 1);
		return true;
	case XF_DO_PAGE_DOWN:
		view->top += page;
		xf_tui_move(view, at + page);
		return true;
	case XF_DO_PAGE_UP:
		view->top -= view->top < page ? view->top : page;
		xf_tui_move(view, at - page);
		return true;
	case XF_DO_FIRST:
		xf_tui_move(view, 0);
		view->chosen = false;
		return true;
	case XF_DO_LAST:
		xf_tui_move(view, xf_tui_model_count(&view->model) - 1);
		view->stick = true;
		return true;
	case XF_DO_LEFT:
		view->left -= view->left > 0;
		return true;
	case XF_DO_RIGHT:
		view->left++; /* draw() knows the last one */
		return true;
	default:
		return false;
	}
}

static int go_back(struct xf_tui *ui, struct xf_error *err)
{
	struct xf_tui_view *view = xf_tui_current(ui);
	size_t where;

	if (view->search.on) {
		xf_tui_search_stop(view);
		return 0;
	}
	if (ui->depth) {
		xf_tui_leave(ui);
		return 0;
	}
	return view->model.filter_text ? !xf_tui_do_filter(ui, NULL, &where, err) : 0;
}

static void next_unit(struct xf_tui *ui)
{
	ui->units.mode = (ui->units.mode + 1) % XF_TIME_MODES;
	if (!ui->units.hz && ui->units.mode == XF_TIME_US)
		ui->units.mode = XF_TIME_CYCLES;
	for (int i = 0; i < XF_TUI_TOPS; i++)
		if (ui->tops[i])
			memset(ui->tops[i]->widths, 0, sizeof(ui->tops[i]->widths));
	for (int i = 0; i < ui->depth; i++)
		memset(ui->stack[i]->widths, 0, sizeof(ui->stack[i]->widths));
	if (ui->units.mode == XF_TIME_CYCLES)
		xf_tui_say(ui, false, "times in TSC cycles");
	else
		xf_tui_say(ui, false, "times in %s%s%s",
			ui->units.mode == XF_TIME_US ? "microseconds since the first record"
			: ui->units.hz ? "seconds since the first record, inside a fork "
					 "microseconds since its start"
				       : "cycles since the first record or the fork's start",
			ui->units.hz ? "" : "; without a frequency there are no seconds: --cpu-hz",
			"");
}

static void yank(struct xf_tui *ui)
{
	const struct xf_tui_view *view = xf_tui_current(ui);
	const struct xf_tui_row *row = xf_tui_selected(view);

	if (!row)
		return;
	for (int i = 0; i < ui->nyanks; i++) {
		if (ui->yanks[i].source != view->model.source || ui->yanks[i].id != row->id)
			continue;
		ui->yanks[i] = ui->yanks[--ui->nyanks];
		xf_tui_say(ui, false, "not printed on exit; %d others are", ui->nyanks);
		return;
	}
	if (ui->nyanks == XF_TUI_YANKS) {
		xf_tui_say(ui, true, "no more than %d rows", XF_TUI_YANKS);
		return;
	}
	ui->yanks[ui->nyanks].source = view->model.source;
	ui->yanks[ui->nyanks++].id = row->id;
	xf_tui_say(ui, false, "will be printed on exit (rows so far: %d)", ui->nyanks);
}

static void next_match(struct xf_tui_view *view, int direction)
{
	if (view->search.on)
		xf_tui_search_next(view, direction);
	else
		xf_tui_say(view->ui, true, "no search yet: / starts one");
}

static void toggle_mouse(struct xf_tui *ui)
{
	bool ok = ui->screen->mouse && ui->screen->mouse(ui->screen->data, !ui->mouse);

	if (ok)
		ui->mouse = !ui->mouse;
	xf_tui_say(ui, !ok, "%s",
		!ok	    ? "this terminal has no mouse"
		: ui->mouse ? "mouse on: click selects, twice opens; to select text hold Shift"
			    : "mouse off");
}

static int command_view(struct xf_tui *ui, enum xf_tui_command command, struct xf_error *err)
{
	struct xf_tui_view *view = xf_tui_current(ui);

	if (command >= XF_DO_VIEW_FIRST && command < XF_DO_VIEW_FIRST + XF_TUI_TOPS)
		return xf_tui_show_top(ui, (int)(command - XF_DO_VIEW_FIRST), err);
	switch (command) {
	case XF_DO_OPEN:
		return xf_tui_open_row(ui, err);
	case XF_DO_BACK:
		return go_back(ui, err);
	case XF_DO_NEXT_VIEW:
		return xf_tui_show_top(ui, (ui->top + 1) % XF_TUI_TOPS, err);
	case XF_DO_PREVIOUS_VIEW:
		return xf_tui_show_top(ui, (ui->top + XF_TUI_TOPS - 1) % XF_TUI_TOPS, err);
	case XF_DO_EVENTS:
		return xf_tui_selected(view) ? xf_tui_goto_event(ui, view->ops->event(view), err)
					     : 0;
	default:
		return view->ops->command ? view->ops->command(view, command, err) : 0;
	}
}

static int command_list(struct xf_tui *ui, enum xf_tui_command command, struct xf_error *err)
{
	struct xf_tui_view *view = xf_tui_current(ui);

	switch (command) {
	case XF_DO_SORT:
		xf_tui_box_open(ui, XF_BOX_SORT);
		return 0;
	case XF_DO_COLUMNS:
		xf_tui_box_open(ui, XF_BOX_COLUMNS);
		return 0;
	case XF_DO_HELP:
		xf_tui_box_open(ui, XF_BOX_HELP);
		return 0;
	case XF_DO_REVERSE:
		xf_tui_do_sort(ui, view->model.sort, !view->model.backwards);
		return 0;
	case XF_DO_SEARCH:
	case XF_DO_FILTER:
		xf_tui_prompt_open(ui, command);
		return 0;
	case XF_DO_NEXT_MATCH:
	case XF_DO_PREVIOUS_MATCH:
		next_match(view, command == XF_DO_NEXT_MATCH ? 1 : -1);
		return 0;
	case XF_DO_TIME:
		next_unit(ui);
		return 0;
	case XF_DO_YANK:
		yank(ui);
		return 0;
	case XF_DO_PAUSE:
		ui->paused = !ui->paused;
		return 0;
	case XF_DO_MOUSE:
		toggle_mouse(ui);
		return 0;
	case XF_DO_REDRAW:
		ui->redraw = true;
		return 0;
	case XF_DO_QUIT:
		ui->quit = true;
		return 0;
	default:
		return command_view(ui, command, err);
	}
}

/* A mouse event; the list knows which row lies where. */
static void mouse_key(struct xf_tui *ui, const struct xf_tui_event *event, struct xf_error *err)
{
	struct xf_tui_view *view = xf_tui_current(ui);

	if (ui->prompt.command || ui->box)
		return;
	if (event->key == XF_KEY_WHEEL_UP || event->key == XF_KEY_WHEEL_DOWN) {
		xf_tui_move(view, view->position + (event->key == XF_KEY_WHEEL_UP ? -3 : 3));
		return;
	}
	if (event->y < ui->list_y || event->y >= ui->list_y + view->rows)
		return;
	xf_tui_move(view, view->top + event->y - ui->list_y);
	if (event->key == XF_KEY_DOUBLE && view->ops->enter &&
		!xf_tui_settle(view, view->rows, err))
		xf_tui_open_row(ui, err);
}

void xf_tui_key(struct xf_tui *ui, const struct xf_tui_event *event)
{
	unsigned where = xf_tui_where(ui);
	enum xf_tui_command command = xf_tui_command(event->key, where);
	struct xf_error err = {0};
	int code = 0;

	ui->dirty = true;
	if (event->key == XF_KEY_RESIZE) {
		ui->redraw = true;
		return;
	}
	if (event->key == XF_KEY_STOP || event->key == XF_KEY_LOST) {
		ui->quit = true;
		return;
	}
	ui->message[0] = '\0';
	if (command == XF_DO_REDRAW)
		ui->redraw = true;
	else if (where & XF_IN_PROMPT)
		xf_tui_prompt_key(ui, event->key, command);
	else if (where & XF_IN_BOX)
		xf_tui_box_key(ui, event->key, command);
	else if (event->key >= XF_KEY_CLICK && event->key <= XF_KEY_WHEEL_DOWN)
		mouse_key(ui, event, &err);
	else if (command && !move_command(xf_tui_current(ui), command))
		code = command_list(ui, command, &err);
	else if (!command)
		xf_tui_say(ui, true, "no such key here; ? lists them");
	if (!code && !ui->quit)
		code = xf_tui_settle(xf_tui_current(ui), ui->list_rows, &err);
	if (code || err.code)
		xf_tui_say(ui, true, "%s", err.text);
	ui->pending = true;
}
