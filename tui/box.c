// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The input line, and the boxes over the list: help, sort, columns.
 * In: keys.  Out: a search, a filter, an order, the choice of columns.
 */
#include <string.h>

#include "tui/ui.h"

/* --- input line --- */

void xf_tui_prompt_open(struct xf_tui *ui, enum xf_tui_command command)
{
	const struct xf_tui_view *view = xf_tui_current(ui);
	const char *text = command == XF_DO_FILTER ? view->model.filter_text : NULL;
	struct xf_tui_prompt *p = &ui->prompt;

	*p = (struct xf_tui_prompt){.command = command, .error_at = -1};
	snprintf(p->text, sizeof(p->text), "%s", text ? text : "");
	p->length = p->at = (int)strlen(p->text);
}

static void set_error(struct xf_tui_prompt *p, size_t at, const struct xf_error *err)
{
	p->error_at = at > (size_t)p->length ? p->length : (int)at;
	p->at = p->error_at;
	snprintf(p->error, sizeof(p->error), "%.300s", err->text);
}

/* Enter: an error keeps the line open, with the cursor where it is. */
static void take(struct xf_tui *ui)
{
	struct xf_tui_prompt *p = &ui->prompt;
	struct xf_tui_view *view = xf_tui_current(ui);
	struct xf_error err = {0};
	size_t where = 0;

	if (p->command == XF_DO_FILTER) {
		if (!xf_tui_do_filter(ui, p->text, &where, &err)) {
			set_error(p, where, &err);
			return;
		}
		snprintf(ui->last_filter, sizeof(ui->last_filter), "%s", p->text);
	} else if (!p->length) {
		xf_tui_search_stop(view);
	} else {
		if (xf_tui_search_start(view, p->text, &err)) {
			set_error(p, 0, &err);
			return;
		}
		snprintf(ui->last_search, sizeof(ui->last_search), "%s", p->text);
	}
	p->command = XF_DO_NONE;
}

/* Steps over one UTF-8 character. */
static int step(const struct xf_tui_prompt *p, int at, int direction)
{
	do
		at += direction;
	while (at > 0 && at < p->length && (p->text[at] & 0xc0) == 0x80);
	return at < 0 ? 0 : at > p->length ? p->length : at;
}

static void erase(struct xf_tui_prompt *p, int from, int to)
{
	memmove(p->text + from, p->text + to, (size_t)(p->length - to) + 1);
	p->length -= to - from;
	p->at = from;
}

static void insert(struct xf_tui_prompt *p, int key)
{
	char text[5];
	int n;

	if (key < 32 || key == 127 || key >= XF_KEY_UP)
		return;
	n = xf_tui_utf8(text, (uint32_t)key);
	if (p->length + n >= (int)sizeof(p->text))
		return;
	memmove(p->text + p->at + n, p->text + p->at, (size_t)(p->length - p->at) + 1);
	memcpy(p->text + p->at, text, (size_t)n);
	p->length += n;
	p->at += n;
}

void xf_tui_prompt_key(struct xf_tui *ui, int key, enum xf_tui_command command)
{
	struct xf_tui_prompt *p = &ui->prompt;

	p->error_at = -1;
	switch (command) {
	case XF_DO_DONE:
		take(ui);
		break;
	case XF_DO_CANCEL:
		p->command = XF_DO_NONE;
		break;
	case XF_DO_ERASE:
		erase(p, step(p, p->at, -1), p->at);
		break;
	case XF_DO_DELETE:
		erase(p, p->at, step(p, p->at, 1));
		break;
	case XF_DO_TEXT_LEFT:
		p->at = step(p, p->at, -1);
		break;
	case XF_DO_TEXT_RIGHT:
		p->at = step(p, p->at, 1);
		break;
	case XF_DO_TEXT_START:
		p->at = 0;
		break;
	case XF_DO_TEXT_END:
		p->at = p->length;
		break;
	case XF_DO_CLEAR:
		erase(p, 0, p->length);
		break;
	case XF_DO_RECALL:
		snprintf(p->text, sizeof(p->text), "%s",
			p->command == XF_DO_FILTER ? ui->last_filter : ui->last_search);
		p->length = p->at = (int)strlen(p->text);
		break;
	default:
		insert(p, key);
	}
}

/* --- boxes --- */

/* The columns a menu offers: all that can be shown, for sorting all that SQL computes. */
static int choices(const struct xf_tui *ui, int *columns)
{
	const struct xf_tui_source *source = xf_tui_current(ui)->model.source;
	int n = 0;

	for (int i = 0; i < source->ncolumns; i++) {
		const struct xf_tui_column *c = &source->columns[i];

		if (c->flags & XF_COL_FILTER)
			continue;
		if (ui->box == XF_BOX_SORT && (!c->sql || c->show == XF_SHOW_SINCE))
			continue;
		columns[n++] = i;
	}
	return n;
}

/* Lines of help that are not keys. */
static const char *const notes[] = {
	"",
	"Marks left of a row: > selected, ! a loss or the end of the capture cuts it,",
	"? the analysis doubts it, / matches the search, * is printed on exit.",
	"",
	"PTE flags: P present, W writable, U user, T write-through, C uncached, A",
	"accessed, D dirty, L large page or PAT, G global, N no execute; - where",
	"clear. The frame follows.",
	"",
	"Faults: user or kernel; read, write or fetch; absent = entry not present,",
	"protected = present but not allowed.",
	"",
	"Strip: the 512 entries of a page-table page, left to right. Each character",
	"stands for several, its height (in ASCII 1 to 7 eighths, # all) says how many",
	"were written; . none, ? written, but no record says which.",
	"",
	"Timeline: E emulated write, U unhook, R rehook, F page fault or fixup, X TLB",
	"flush, H hypercall, S spurious fault, s task switch, ! loss, o other; .",
	"nothing recorded, - or a line: a page is unhooked. Below it the time up to",
	"each kind of record.",
	"",
	"Filters: COLUMN = != < <= > >= ~ VALUE, joined by and, or, not, ( ). ~ is a",
	"regular expression. Column names stand in the box of C. Examples: vcpu =",
	"d0v1, vcpu = d0, kind ~ 'hook|flush', symbol = copy_page_range, va >=",
	"0xffff888000000000, fork_id != null, ptes > 8, not complete.",
};

#define NNOTES ((int)(sizeof(notes) / sizeof(notes[0])))

/* Commands that help lists, then the notes. */
static int help_lines(void)
{
	return XF_DO_COUNT - 1 + NNOTES;
}

void xf_tui_box_open(struct xf_tui *ui, enum xf_tui_box box)
{
	int columns[XF_TUI_MAX_COLUMNS], n, sort = xf_tui_current(ui)->model.sort;

	ui->box = box;
	ui->box_row = ui->box_top = 0;
	n = choices(ui, columns);
	for (int i = 0; box == XF_BOX_SORT && i < n; i++)
		if (columns[i] == sort)
			ui->box_row = i;
}

/* Enter in the sort box: by that column; once more on the same: the other way round. */
static void choose_sort(struct xf_tui *ui, int column)
{
	const struct xf_tui_model *m = &xf_tui_current(ui)->model;

	ui->box = XF_BOX_NONE;
	xf_tui_do_sort(ui, column, m->sort == column && !m->backwards);
}

static void tick(struct xf_tui *ui, int column)
{
	struct xf_tui_view *view = xf_tui_current(ui);
	uint64_t shown = view->model.shown ^ 1ull << column;

	if (shown)
		view->model.shown = shown;
	else
		xf_tui_say(ui, true, "one column must stay");
}

/* Any other letter goes to the next column whose name begins with it. */
static void jump(struct xf_tui *ui, int key, const int *columns, int n)
{
	const struct xf_tui_source *source = xf_tui_current(ui)->model.source;

	for (int i = 1; i <= n; i++) {
		int at = (ui->box_row + i) % n;

		if (source->columns[columns[at]].name[0] == key) {
			ui->box_row = at;
			return;
		}
	}
}

void xf_tui_box_key(struct xf_tui *ui, int key, enum xf_tui_command command)
{
	int columns[XF_TUI_MAX_COLUMNS], n = choices(ui, columns), page = ui->box_rows - 1;
	int *row = &ui->box_row;

	if (ui->box == XF_BOX_HELP)
		n = help_lines() - ui->box_rows + 1; /* the top line moves */
	switch (command) {
	case XF_DO_DOWN:
		++*row;
		break;
	case XF_DO_UP:
		--*row;
		break;
	case XF_DO_PAGE_DOWN:
		*row += page > 0 ? page : 1;
		break;
	case XF_DO_PAGE_UP:
		*row -= page > 0 ? page : 1;
		break;
	case XF_DO_FIRST:
		*row = 0;
		break;
	case XF_DO_LAST:
		*row = n - 1;
		break;
	case XF_DO_TICK:
		tick(ui, columns[*row]);
		break;
	case XF_DO_CHOOSE:
		if (ui->box == XF_BOX_SORT)
			choose_sort(ui, columns[*row]);
		else
			tick(ui, columns[*row]);
		break;
	case XF_DO_CLOSE:
		ui->box = XF_BOX_NONE;
		break;
	default:
		if (ui->box != XF_BOX_HELP)
			jump(ui, key, columns, n);
	}
	*row = *row >= n ? n - 1 : *row;
	*row = *row < 0 ? 0 : *row;
}

/* Blank area with a title line; returns its first line of content. */
static void frame(struct xf_tui_grid *grid, int rows, const char *title)
{
	for (int y = 0; y < rows; y++)
		xf_tui_fill(grid, 0, y, grid->width, XF_TUI_NORMAL);
	xf_tui_fill(grid, 0, 0, grid->width, XF_TUI_TITLE);
	xf_tui_put(grid, 1, 0, grid->width - 1, XF_TUI_TITLE, title);
}

static void key_line(struct xf_tui_grid *grid, int y, int command)
{
	const struct xf_tui_key_info *key = &xf_tui_keys[command];
	const char *where = key->where & XF_IN_LIST	? ""
			    : key->where & XF_IN_PROMPT ? "in an input line: "
			    : key->where & XF_IN_BOX	? "in a box: "
							: "";
	char names[64] = "", buffer[16];
	int x = 20;

	for (int i = 0; i < 3; i++) {
		const char *name;

		if (!key->keys[i] || key->keys[i] == '\n' || key->keys[i] == 8)
			continue;
		name = xf_tui_key_name(key->keys[i], buffer, sizeof(buffer));
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			*names ? " " : "", name);
	}
	xf_tui_put(grid, 1, y, grid->width - 1, XF_TUI_KEY, names);
	if (grid->width < 40)
		x = 10;
	x += xf_tui_put(grid, x, y, grid->width - x, XF_TUI_LABEL, where);
	xf_tui_put(grid, x, y, grid->width - x, XF_TUI_NORMAL, key->help);
}

static void draw_help(struct xf_tui *ui, int rows)
{
	frame(&ui->grid, rows, "Help: all keys, from the table that obeys them");
	ui->box_rows = rows - 1;
	if (ui->box_row > help_lines() - ui->box_rows)
		ui->box_row = help_lines() - ui->box_rows;
	if (ui->box_row < 0)
		ui->box_row = 0;
	for (int y = 1; y < rows; y++) {
		int line = ui->box_row + y - 1;

		if (line < XF_DO_COUNT - 1)
			key_line(&ui->grid, y, line + 1);
		else if (line - (XF_DO_COUNT - 1) < NNOTES)
			xf_tui_put(&ui->grid, 1, y, ui->grid.width - 1, XF_TUI_NORMAL,
				notes[line - (XF_DO_COUNT - 1)]);
	}
}

static void draw_menu(struct xf_tui *ui, int rows)
{
	const struct xf_tui_view *view = xf_tui_current(ui);
	struct xf_tui_grid *grid = &ui->grid;
	int columns[XF_TUI_MAX_COLUMNS], n = choices(ui, columns);

	frame(grid, rows,
		ui->box == XF_BOX_SORT
			? "Sort by (a letter goes to the next column of that initial)"
			: "Columns of this view (names are those of filters; a letter goes to one)");
	ui->box_rows = rows - 1 > 0 ? rows - 1 : 1;
	if (ui->box_top > ui->box_row)
		ui->box_top = ui->box_row;
	if (ui->box_top < ui->box_row - ui->box_rows + 1)
		ui->box_top = ui->box_row - ui->box_rows + 1;
	for (int y = rows > 1; y < rows; y++) {
		int i = ui->box_top + y - (rows > 1);
		const struct xf_tui_column *c;
		const char *mark = "   ";

		if (i >= n)
			break;
		c = &view->model.source->columns[columns[i]];
		if (ui->box == XF_BOX_COLUMNS)
			mark = view->model.shown & 1ull << columns[i] ? "[x]" : "[ ]";
		else if (view->model.sort == columns[i])
			mark = " * ";
		xf_tui_putf(grid, 0, y, grid->width, XF_TUI_NORMAL, "%c %s %-12s %s",
			i == ui->box_row ? '>' : ' ', mark, c->name, c->help ? c->help : "");
		if (i == ui->box_row)
			xf_tui_paint(grid, 0, y, grid->width, XF_TUI_CURSOR);
	}
}

void xf_tui_box_draw(struct xf_tui *ui)
{
	int rows = ui->grid.height >= 5 ? ui->grid.height - 2 : ui->grid.height;

	if (ui->box == XF_BOX_HELP)
		draw_help(ui, rows);
	else if (ui->box)
		draw_menu(ui, rows);
}
