// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The one place that lays the screen out.
 * In: the state.  Out: a full grid, for any size from 1x1 up.
 */
#include <string.h>

#include "tui/format.h"
#include "common/clock.h"
#include "tui/ui.h"

/* Lines of each part; -1 = there is no room for it. */
struct layout {
	int title, totals, header, list, rows, panel, panel_rows, status, keys;
};

/* The list comes first; the other parts come with height. */
static struct layout lay_out(const struct xf_tui *ui)
{
	struct xf_tui_view *view = xf_tui_current(ui);
	struct layout l = {-1, -1, -1, 0, 0, -1, 0, -1, -1};
	int height = ui->grid.height, y = 0, bottom = height;

	if (height >= 5)
		l.keys = --bottom;
	if (height >= 2)
		l.status = --bottom;
	if (height >= 3)
		l.title = y++;
	if (height >= 8)
		l.totals = y++;
	if (height >= 4)
		l.header = y++;
	l.list = y;
	l.rows = bottom - y;
	if (view->ops->panel && l.rows >= 8) {
		int most = l.rows - 5, want = view->ops->panel_rows(view, l.rows);

		l.panel_rows = want < most ? want : most;
		l.rows -= l.panel_rows;
		l.panel = l.list + l.rows;
	}
	return l;
}

/* Text that ends at the right edge; returns where it begins. */
static int put_right(struct xf_tui_grid *grid, int right, int y, int left, enum xf_tui_role role,
	const char *text)
{
	int x = right - xf_tui_width(grid, text);

	if (x < left)
		return right;
	xf_tui_put(grid, x, y, right - x, role, text);
	return x;
}

/* What must be known before a figure is believed. */
static void trust_text(const struct xf_tui *ui, char *text, size_t size)
{
	const struct xf_tui_capture *c = &ui->capture;
	char lost[32], rate[40] = "";

	*text = '\0';
	xf_tui_format_grouped(lost, sizeof(lost), c->lost);
	if (ui->options->follow)
		snprintf(rate, sizeof(rate), " %.0f/s", ui->lost_rate);
	if (c->lost || ui->options->follow)
		snprintf(text, size, "%s%s lost%s ", c->lost ? "!" : "", lost, rate);
	if (!c->complete && !ui->options->follow)
		snprintf(text + strlen(text), size - strlen(text), "!cut short ");
	if (c->doubts + c->findings)
		snprintf(text + strlen(text), size - strlen(text), "!%d doubt%s ",
			(int)(c->doubts + c->findings), c->doubts + c->findings == 1 ? "" : "s");
	if (c->unknown)
		snprintf(text + strlen(text), size - strlen(text), "!%lld unknown ",
			(long long)c->unknown);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Path of views, on the right what is wrong with the capture.  What is deepest stays in sight. */
static void draw_title(struct xf_tui *ui, int y)
{
	struct xf_tui_grid *grid = &ui->grid;
	char text[600], glyph[5];
	const char *path = text;
	int right = grid->width;
	size_t used;

	xf_tui_fill(grid, 0, y, right, XF_TUI_TITLE);
	xf_tui_utf8(glyph, xf_tui_glyph(grid, XF_GLYPH_PATH));
	trust_text(ui, text, sizeof(text));
	if (*text)
		right = put_right(grid, right, y, right / 3, XF_TUI_TRUST, text);
	if (ui->options->follow)
		right = put_right(grid, right, y, right / 3, XF_TUI_TITLE,
			ui->paused ? "PAUSED " : "following ");
	used = (size_t)snprintf(text, 300, " %.200s %s %d %s", base_name(ui->options->path), glyph,
		ui->top + 1, ui->tops[ui->top]->title);
	for (int i = 0; i < ui->depth && used < sizeof(text); i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, " %s %s", glyph, ui->stack[i]->title);
	while (xf_tui_width(grid, path) > right && strstr(path + 1, glyph))
		path = strstr(path + 1, glyph);
	xf_tui_put(grid, 0, y, right, XF_TUI_TITLE, path);
}

/* --- the table --- */

struct place {
	int column, x, width;
};

static void column_title(const struct xf_tui_view *view, int column, char *text, size_t size)
{
	const struct xf_tui_model *m = &view->model;
	const struct xf_tui_column *c = &m->source->columns[column];

	if (c->show == XF_SHOW_TIME)
		snprintf(text, size, "%s/%s", c->title, xf_tui_units_time_name(m->units, m->inner));
	else if (c->show == XF_SHOW_SPAN || c->show == XF_SHOW_SINCE)
		snprintf(text, size, "%s/%s", c->title, xf_tui_units_span_name(m->units));
	else
		snprintf(text, size, "%s", c->title);
}

/* Is the list in the order of this column, and which way up? */
static bool sorted_by(const struct xf_tui_model *m, int column, bool *up)
{
	const struct xf_tui_column *c = &m->source->columns[column];

	if (m->sort != column && !(m->sort < 0 && column == 0 && (c->flags & XF_COL_ORDER)))
		return false;
	*up = (c->flags & (XF_COL_UP | XF_COL_ORDER)) ? !m->backwards : m->backwards;
	return true;
}

/* Widest cell of the rows on screen: columns grow so that no figure is cut. */
static void grow_widths(struct xf_tui_view *view)
{
	const struct xf_tui_source *source = view->model.source;
	enum xf_tui_role role;
	char text[512];
	int fits;
	bool up;

	for (int i = 0; i < source->ncolumns; i++) {
		const struct xf_tui_column *c = &source->columns[i];

		if (view->widths[i] < c->width)
			view->widths[i] = c->width;
		if (!(view->model.shown & 1ull << i) || c->flags & XF_COL_FLEX)
			continue;
		column_title(view, i, text, sizeof(text));
		fits = (int)strlen(text) + sorted_by(&view->model, i, &up);
		if (view->widths[i] < fits)
			view->widths[i] = fits;
		for (int r = 0; r < view->rows; r++) {
			int width;

			xf_tui_model_cell(&view->model, &view->window, view->top + r, i,
				view->widths[i], text, sizeof(text), &role);
			width = xf_tui_width(&view->ui->grid, text);
			if (width > view->widths[i])
				view->widths[i] = width < 48 ? width : 48;
		}
	}
}

/* Which columns stand where; returns how many. */
static int place_columns(struct xf_tui_view *view, int width, struct place *places)
{
	const struct xf_tui_source *source = view->model.source;
	int n = 0, x = 2, skip, room = width - 2, flex = 0, visible = 0;

	for (int i = 0; i < source->ncolumns; i++)
		visible += (view->model.shown & 1ull << i) != 0;
	if (view->left >= visible)
		view->left = visible ? visible - 1 : 0;
	skip = view->left;
	for (int i = 0; i < source->ncolumns; i++) {
		if (!(view->model.shown & 1ull << i) || skip-- > 0)
			continue;
		places[n++] = (struct place){i, 0, view->widths[i]};
		room -= view->widths[i] + 1;
		flex += (source->columns[i].flags & XF_COL_FLEX) != 0;
	}
	for (int i = 0; i < n; i++) {
		/* the room that is left goes to the first flexible column */
		if (flex && room > 0 && (source->columns[places[i].column].flags & XF_COL_FLEX)) {
			places[i].width += room + 1;
			room = 0;
		}
		/* ... and at the right edge it is content with less */
		if (source->columns[places[i].column].flags & XF_COL_FLEX &&
			x + places[i].width > width && width - x >= 6)
			places[i].width = width - x;
		places[i].x = x;
		x += places[i].width + 1;
	}
	return n;
}

/* A cell's text, cut with a mark where it does not fit. */
static void put_cell(struct xf_tui_grid *grid, const struct place *place, int y, bool left,
	enum xf_tui_role role, const char *text)
{
	int room = grid->width - place->x < place->width ? grid->width - place->x : place->width;
	int width = xf_tui_width(grid, text), x = place->x;

	if (room <= 0)
		return;
	if (!left && width < room && room == place->width)
		x += room - width;
	xf_tui_put(grid, x, y, place->x + room - x, role, text);
	if (width > room)
		xf_tui_set(grid, place->x + room - 1, y, role, xf_tui_glyph(grid, XF_GLYPH_MORE));
}

static void draw_header(
	struct xf_tui *ui, struct xf_tui_view *view, const struct place *places, int n, int y)
{
	struct xf_tui_grid *grid = &ui->grid;

	xf_tui_fill(grid, 0, y, grid->width, XF_TUI_HEADER);
	for (int i = 0; i < n; i++) {
		const struct xf_tui_column *c = &view->model.source->columns[places[i].column];
		enum xf_tui_role role = XF_TUI_HEADER;
		char text[64];
		bool up;

		column_title(view, places[i].column, text, sizeof(text) - 6);
		if (sorted_by(&view->model, places[i].column, &up)) {
			role = XF_TUI_SORTED;
			xf_tui_utf8(text + strlen(text),
				xf_tui_glyph(grid, up ? XF_GLYPH_UP : XF_GLYPH_DOWN));
		}
		put_cell(grid, &places[i], y, xf_tui_column_is_text(c), role, text);
	}
}

static void draw_row(struct xf_tui *ui, struct xf_tui_view *view, const struct place *places, int n,
	int y, int64_t position)
{
	const struct xf_tui_row *row = xf_tui_window_row(&view->window, position);
	struct xf_tui_grid *grid = &ui->grid;
	bool cursor = position == view->position;
	enum xf_tui_role role;
	char text[512];

	if (!row)
		return;
	for (int i = 0; i < n && places[i].x < grid->width; i++) {
		const struct xf_tui_column *c = &view->model.source->columns[places[i].column];

		xf_tui_model_cell(&view->model, &view->window, position, places[i].column,
			places[i].width, text, sizeof(text), &role);
		if (xf_tui_search_hit(view, text))
			role = XF_TUI_MATCH;
		put_cell(grid, &places[i], y, xf_tui_column_is_text(c), role, text);
	}
	xf_tui_set(grid, 1, y, XF_TUI_WARN,
		row->flag == 1			    ? '!'
		: row->flag			    ? '?'
		: xf_tui_search_row(view, position) ? '/'
						    : ' ');
	for (int i = 0; i < ui->nyanks; i++)
		if (ui->yanks[i].source == view->model.source && ui->yanks[i].id == row->id)
			xf_tui_set(grid, 1, y, XF_TUI_KEY, '*');
	if (cursor) {
		xf_tui_set(grid, 0, y, XF_TUI_CURSOR, '>');
		xf_tui_paint(grid, 0, y, grid->width, XF_TUI_CURSOR);
	}
}

/* Length of the words of text that fit into width columns. */
static size_t fitting(const char *text, size_t width)
{
	size_t length = strcspn(text, "\n"), at;

	if (length <= width)
		return length;
	for (at = width; at > 0 && text[at] != ' ';)
		at--;
	return at ? at : width;
}

/* Why the list is empty, where the capture itself tells. */
static void draw_missing(struct xf_tui_view *view, const struct layout *l)
{
	struct xf_tui_grid *grid = &view->ui->grid;
	const char *text;

	if (!view->asked && view->ops->missing)
		xf_hap_missing(view->ui->db, view->ops->missing, &view->missing, NULL);
	view->asked = true;
	text = view->missing;
	for (int y = 1; text && *text && y < l->rows && grid->width > 4; y++) {
		size_t length = fitting(text, (size_t)grid->width - 3);

		xf_tui_putf(grid, 2, l->list + y, grid->width - 2, XF_TUI_NORMAL, "%.*s",
			(int)length, text);
		text += length + (text[length] != '\0');
	}
}

static void draw_list(struct xf_tui *ui, struct xf_tui_view *view, const struct layout *l)
{
	struct place places[XF_TUI_MAX_COLUMNS];
	int n;

	grow_widths(view);
	n = place_columns(view, ui->grid.width, places);
	if (l->header >= 0)
		draw_header(ui, view, places, n, l->header);
	for (int r = 0; r < l->rows; r++)
		draw_row(ui, view, places, n, l->list + r, view->top + r);
	if (xf_tui_model_count(&view->model) || l->rows < 1)
		return;
	xf_tui_put(&ui->grid, 2, l->list, ui->grid.width - 2, XF_TUI_DIM,
		xf_tui_model_progress(&view->model) < 1 ? "looking ..."
		: view->model.filter_text		? "no row passes the filter"
							: "nothing here");
	if (xf_tui_model_progress(&view->model) >= 1 && !view->model.filter_text)
		draw_missing(view, l);
}

/* --- the two lines at the bottom --- */

/* "3 of 33", sort, filter, search. */
static void draw_status(struct xf_tui *ui, struct xf_tui_view *view, int y)
{
	struct xf_tui_grid *grid = &ui->grid;
	const struct xf_tui_model *m = &view->model;
	char count[32], at[32], text[400];
	int x;

	if (ui->message[0]) {
		xf_tui_put(grid, 0, y, grid->width, ui->message_bad ? XF_TUI_WARN : XF_TUI_NORMAL,
			ui->message);
		return;
	}
	xf_tui_format_grouped(count, sizeof(count), xf_tui_model_count(m));
	xf_tui_format_grouped(at, sizeof(at), view->position + 1);
	x = xf_tui_putf(grid, 0, y, grid->width, XF_TUI_NORMAL, "%s of %s", at, count);
	if (xf_tui_model_progress(m) < 1)
		x += xf_tui_putf(grid, x, y, grid->width - x, XF_TUI_WARN,
			" so far (%d%% looked at)", (int)(xf_tui_model_progress(m) * 100));
	if (m->filter_text)
		x += xf_tui_putf(
			grid, x, y, grid->width - x, XF_TUI_WARN, "  filter: %s", m->filter_text);
	if (view->search.on) {
		xf_tui_search_status(view, text, sizeof(text));
		x += xf_tui_putf(grid, x, y, grid->width - x, XF_TUI_MATCH, "  %s", text);
	}
	if (ui->nyanks)
		x += xf_tui_putf(
			grid, x, y, grid->width - x, XF_TUI_NORMAL, "  %d to print", ui->nyanks);
}

/* The keys valid now, as many as fit; help and quit always first in line. */
static void draw_keys(struct xf_tui *ui, int y)
{
	unsigned where = xf_tui_where(ui);
	int x = 0, width = ui->grid.width;

	for (int pass = 0; pass < 2; pass++)
		for (int c = 1; c < XF_DO_COUNT; c++) {
			const struct xf_tui_key_info *key = &xf_tui_keys[c];
			bool first = c == XF_DO_HELP || c == XF_DO_QUIT;
			char buffer[16];
			const char *name;

			if (!key->label || !(key->where & where) || first == (pass > 0))
				continue;
			name = xf_tui_key_name(key->keys[0], buffer, sizeof(buffer));
			if (x + (int)(strlen(name) + strlen(key->label)) + 1 > width)
				continue;
			x += xf_tui_put(&ui->grid, x, y, width - x, XF_TUI_KEY, name);
			x += xf_tui_put(
				&ui->grid, x + 1, y, width - x - 1, XF_TUI_LABEL, key->label);
			x += 3;
		}
}

/* Columns of the first n bytes of the input line. */
static int prompt_width(struct xf_tui *ui, int n)
{
	char text[sizeof(ui->prompt.text)];

	memcpy(text, ui->prompt.text, (size_t)n);
	text[n] = '\0';
	return xf_tui_width(&ui->grid, text);
}

/* The error of a prompt: over its place, with the text beside or above the arrow. */
static void draw_prompt_error(struct xf_tui *ui, int x, int y)
{
	struct xf_tui_grid *grid = &ui->grid;
	struct xf_tui_prompt *p = &ui->prompt;

	xf_tui_paint(grid, x, y, p->error_at < p->length ? 1 : 0, XF_TUI_ERROR);
	if (y < 1)
		return;
	xf_tui_fill(grid, 0, y - 1, grid->width, XF_TUI_WARN);
	if (x + 2 + (int)strlen(p->error) <= grid->width) {
		xf_tui_putf(grid, x, y - 1, grid->width - x, XF_TUI_WARN, "v %s", p->error);
		return;
	}
	xf_tui_set(grid, x, y - 1, XF_TUI_WARN, 'v');
	if (y >= 2) {
		xf_tui_fill(grid, 0, y - 2, grid->width, XF_TUI_WARN);
		xf_tui_put(grid, 0, y - 2, grid->width, XF_TUI_WARN, p->error);
	}
}

/* The input line, scrolled so that the cursor is in sight. */
static void draw_prompt(struct xf_tui *ui, int y)
{
	struct xf_tui_grid *grid = &ui->grid;
	struct xf_tui_prompt *p = &ui->prompt;
	const char *label = p->command == XF_DO_SEARCH ? "search: " : "filter: ";
	int lead = grid->width >= 24 ? (int)strlen(label) : 0, room = grid->width - lead - 1;
	int from = 0, skipped = 0;

	while (from < p->at && prompt_width(ui, p->at) - skipped > room) {
		do
			from++;
		while ((p->text[from] & 0xc0) == 0x80);
		skipped = prompt_width(ui, from);
	}
	xf_tui_fill(grid, 0, y, grid->width, XF_TUI_NORMAL);
	xf_tui_put(grid, 0, y, lead, XF_TUI_LABEL, label);
	xf_tui_put(grid, lead, y, grid->width - lead, XF_TUI_PROMPT, p->text + from);
	grid->cursor_x = lead + prompt_width(ui, p->at) - skipped;
	grid->cursor_x = grid->cursor_x < grid->width ? grid->cursor_x : grid->width - 1;
	grid->cursor_y = y;
	if (p->error_at >= 0)
		draw_prompt_error(ui, lead + prompt_width(ui, p->error_at) - skipped, y);
}

void xf_tui_draw(struct xf_tui *ui)
{
	struct xf_tui_grid *grid = &ui->grid;
	struct xf_tui_view *view = xf_tui_current(ui);
	struct xf_error err = {0};
	struct layout l;
	char text[400];
	int width, height;

	ui->screen->size(ui->screen->data, &width, &height);
	if (xf_tui_grid_resize(grid, width, height, &err))
		return;
	l = lay_out(ui);
	ui->list_y = l.list;
	ui->list_rows = l.rows;
	if (xf_tui_settle(view, l.rows, &err) && err.code != XF_INTERRUPTED)
		xf_tui_say(ui, true, "%s", err.text);
	draw_list(ui, view, &l);
	if (l.title >= 0)
		draw_title(ui, l.title);
	if (l.totals >= 0 && view->ops->totals) {
		view->ops->totals(view, text, sizeof(text));
		xf_tui_put(grid, 1, l.totals, grid->width - 1, XF_TUI_NORMAL, text);
	}
	if (l.panel_rows > 0)
		view->ops->panel(view, grid, l.panel, l.panel_rows);
	if (l.status >= 0)
		draw_status(ui, view, l.status);
	if (l.keys >= 0)
		draw_keys(ui, l.keys);
	xf_tui_box_draw(ui);
	if (ui->prompt.command)
		draw_prompt(ui, l.status >= 0 ? l.status : 0);
	ui->screen->draw(ui->screen->data, grid, ui->redraw);
	ui->dirty = ui->redraw = false;
}

void xf_tui_draw_waiting(struct xf_tui *ui)
{
	struct xf_tui_grid *grid = &ui->grid;
	int y = grid->height > 1 ? grid->height - (grid->height >= 5 ? 2 : 1) : 0;
	double share = 1, seconds = (double)(xf_clock_ns() - ui->wait_since) / 1e9;

	if (!grid->cells)
		return;
	if (ui->seen_high > ui->seen_low)
		share = (double)(ui->seen - ui->seen_low) / (double)(ui->seen_high - ui->seen_low);
	xf_tui_fill(grid, 0, y, grid->width, XF_TUI_WARN);
	if (share < 0.999)
		xf_tui_putf(grid, 0, y, grid->width, XF_TUI_WARN,
			"%s: %d%% looked at, %.1f s; Esc stops", ui->waiting, (int)(share * 100),
			seconds);
	else
		xf_tui_putf(grid, 0, y, grid->width, XF_TUI_WARN,
			"%s: putting in order, %.1f s; Esc stops", ui->waiting, seconds);
	grid->cursor_x = grid->cursor_y = -1;
	ui->screen->draw(ui->screen->data, grid, false);
}
