// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages that log-dirty mode found dirtied, and a heat map of the selected one's episode: rounds x gfn.
 * In: the views dirty, dirty_rounds, episodes.  Out: rows of a temporary table, a panel.
 */
#include <stdlib.h>

#include "schemas/db.h"
#include "schemas/hap.h"
#include "schemas/heat.h"
#include "tui/columns.h"
#include "tui/ui.h"

#define MASK_ROUNDS 60 /* rounds that the column "in rounds" can show */
#define LEFT	    14 /* columns before the map: round, pages */

static const struct xf_tui_column columns[] = {
	{"episode_id", "episode", "r.episode_id", XF_SHOW_INT, 7, UP | ALWAYS,
		"one stay of a domain in log-dirty mode"},
	{"domid", "dom", "r.domid", XF_SHOW_INT, 5, UP | ALWAYS, "domain"},
	{"gfn", "gfn", "r.gfn", XF_SHOW_HEX, 10, UP | ALWAYS,
		"guest frame; of a PV guest the machine frame"},
	{"rounds", "rounds", "r.rounds", XF_SHOW_INT, 6, ALWAYS,
		"in how many rounds it was dirtied"},
	{"mask", "in rounds", NULL, XF_SHOW_EXTRA, 12, ALWAYS,
		"# = dirtied in this round, from the first one on"},
	{"first_round", "first", "r.first_round", XF_SHOW_INT, 5, UP | ALWAYS,
		"round in which it was dirtied first"},
	{"last_round", "last", "r.last_round", XF_SHOW_INT, 5, ALWAYS, "... and last"},
	{"user", "user", "r.user", XF_SHOW_INT, 4, ALWAYS,
		"1: the first write came from user mode"},
	{"symbol", "first written by", "r.symbol", XF_SHOW_SYMBOL, 28, UP | ALWAYS | FLEX,
		"of the instruction"},
	{"rip", "rip", "r.rip", XF_SHOW_HEX, 18, UP | HIDE | ALWAYS, "instruction"},
	{"in_rounds", NULL, "r.mask", XF_SHOW_INT, 0, FILTER | ALWAYS, NULL},
};

static const struct xf_tui_source source = {
	.name = "dirty",
	.from = "temp.xf_dirty r",
	.key = "r.id",
	.bounds = "SELECT (SELECT min(id) FROM temp.xf_dirty), (SELECT max(id) FROM temp.xf_dirty)",
	.dense = true,
	.columns = columns,
	.ncolumns = COUNT(columns),
};

struct dirty_data {
	struct xf_heat heat;
	int64_t episode; /* that heat is of, 0 = none yet */
	int width, rows; /* that it was made for */
};

static int dirty_fill(struct xf_tui_view *view, struct xf_error *err)
{
	struct dirty_data *d = view->data;

	if (!d)
		view->data = d = calloc(1, sizeof(*d));
	if (!d)
		return xf_fail_nomem(err);
	d->episode = 0;
	return xf_db_exec(view->ui->db,
		"DROP TABLE IF EXISTS temp.xf_dirty;"
		"CREATE TEMP TABLE xf_dirty (id INTEGER PRIMARY KEY, episode_id INTEGER, domid INTEGER,"
		" gfn INTEGER, rounds INTEGER, first_round INTEGER, last_round INTEGER, rip INTEGER,"
		" symbol TEXT, user INTEGER, mask INTEGER);"
		"INSERT INTO temp.xf_dirty (episode_id, domid, gfn, rounds, first_round, last_round, rip,"
		" symbol, user, mask) SELECT d.episode_id, d.domid, d.gfn, d.rounds, d.first_round,"
		" d.last_round, d.rip, d.symbol, d.user, (SELECT sum(DISTINCT 1 << (p.round - 1))"
		" FROM dirty_rounds p WHERE p.episode_id = d.episode_id AND p.gfn = d.gfn"
		" AND p.round BETWEEN 1 AND 60) FROM dirty d"
		" ORDER BY d.episode_id, d.rounds DESC, d.gfn",
		err);
}

static void dirty_close(struct xf_tui_view *view)
{
	struct dirty_data *d = view->data;

	if (d)
		xf_heat_free(&d->heat);
	free(d);
}

static void dirty_totals(struct xf_tui_view *view, char *text, size_t size)
{
	int64_t n[4];

	*text = '\0';
	if (xf_tui_query(view->ui->db,
		    "SELECT count(*), count(DISTINCT episode_id), (SELECT sum(d.rounds = e.rounds)"
		    " FROM temp.xf_dirty d JOIN episodes e ON e.episode_id = d.episode_id), sum(user)"
		    " FROM temp.xf_dirty",
		    0, 0, n, 4, NULL))
		return;
	if (n[1])
		snprintf(text, size,
			"%lld pages dirtied in %lld stay%s in log-dirty mode, %lld of them in every round,"
			" %lld first from user mode",
			(long long)n[0], (long long)n[1], n[1] == 1 ? "" : "s", (long long)n[2],
			(long long)n[3]);
	else
		snprintf(text, size, "No domain was seen in log-dirty mode");
}

static void in_rounds(void *data, const struct xf_tui_row *row, int column, int width, char *text,
	size_t size, enum xf_tui_role *role)
{
	uint64_t mask = (uint64_t)xf_tui_integer(data, row, "in_rounds", 0);
	int64_t last = xf_tui_integer(data, row, "last_round", 0);
	int i = 0;

	(void)column;
	*role = XF_TUI_BAR;
	for (; i < width && i < last && i < MASK_ROUNDS && (size_t)i + 1 < size; i++)
		text[i] = mask >> i & 1 ? '#' : '.';
	text[i] = '\0';
}

static int dirty_panel_rows(struct xf_tui_view *view, int height)
{
	int64_t most = 0;

	if (height < 14 ||
		xf_tui_query(
			view->ui->db, "SELECT max(rounds) FROM episodes", 0, 0, &most, 1, NULL) ||
		most < 1)
		return 0;
	return (int)(most < height / 2 - 4 ? most : height / 2 - 4) + 3;
}

/* The map of the selected page's episode, made anew when that or the size has changed. */
static const struct xf_heat *heat_of(struct xf_tui_view *view, int64_t episode, int width, int rows)
{
	struct dirty_data *d = view->data;

	if (d->episode == episode && d->width == width && d->rows == rows)
		return &d->heat;
	xf_heat_free(&d->heat);
	d->episode = episode;
	d->width = width;
	d->rows = rows;
	if (xf_heat_load(view->ui->db, episode, width, rows, &d->heat, NULL))
		xf_heat_free(&d->heat);
	return &d->heat;
}

static void draw_row(struct xf_tui_grid *grid, const struct xf_heat *heat, int row, int y)
{
	int64_t first = xf_heat_first_round(heat, row), last = xf_heat_last_round(heat, row);

	if (first == last)
		xf_tui_putf(grid, 0, y, 5, XF_TUI_LABEL, "%5lld", (long long)first);
	else
		xf_tui_putf(grid, 0, y, 5, XF_TUI_LABEL, "%lld-%lld", (long long)first,
			(long long)last);
	xf_tui_putf(grid, 6, y, 7, XF_TUI_NORMAL, "%7lld", (long long)heat->of_row[row]);
	for (int x = 0; x < heat->columns; x++) {
		double share = xf_heat_share(heat, row, x);
		int level = share > 0 ? (int)(1 + share * 7.999) : 0;

		xf_tui_set(grid, LEFT + x, y, level ? XF_TUI_BAR : XF_TUI_DIM,
			level ? xf_tui_glyph(grid, XF_GLYPH_LEVEL0 + level) : '.');
	}
}

static void dirty_panel(struct xf_tui_view *view, struct xf_tui_grid *grid, int y, int rows)
{
	const struct xf_tui_row *row = xf_tui_selected(view);
	const struct xf_heat *heat;
	int64_t gfn;
	int width = grid->width - LEFT - 1, column;

	for (int i = 0; i < grid->width; i++)
		xf_tui_set(grid, i, y, XF_TUI_DIM, xf_tui_glyph(grid, XF_GLYPH_LINE));
	if (!row || rows < 4 || width < 8)
		return;
	gfn = xf_tui_integer(view, row, "gfn", 0);
	heat = heat_of(view, xf_tui_integer(view, row, "episode_id", 0), width, rows - 3);
	if (!heat->rows)
		return;
	xf_tui_put(grid, 0, y + 1, LEFT, XF_TUI_HEADER, "round   pages");
	xf_tui_putf(grid, LEFT, y + 1, width, XF_TUI_LABEL,
		"gfn 0x%llx on; the fuller, the more of the pages there were dirtied",
		(long long)xf_heat_frame(heat, 0));
	for (int i = 0; i < heat->rows; i++)
		draw_row(grid, heat, i, y + 2 + i);
	column = xf_heat_column(heat, gfn);
	if (column >= 0) {
		char text[40];
		int at;

		snprintf(text, sizeof(text), "^ 0x%llx", (long long)gfn);
		at = column + xf_tui_width(grid, text) < width ? column : -1;
		if (at < 0) {
			snprintf(text, sizeof(text), "0x%llx ^", (long long)gfn);
			at = column + 1 - xf_tui_width(grid, text);
		}
		xf_tui_put(grid, LEFT + (at > 0 ? at : 0), y + 2 + heat->rows, width, XF_TUI_KEY,
			text);
	}
}

const struct xf_tui_view_ops xf_tui_view_dirty = {
	.title = "Dirty pages",
	.source = &source,
	.open = dirty_fill,
	.close = dirty_close,
	.totals = dirty_totals,
	.panel_rows = dirty_panel_rows,
	.panel = dirty_panel,
	.refresh = dirty_fill,
	.extra = in_rounds,
	.missing = XF_HAP_EPISODES,
};
