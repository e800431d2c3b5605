// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The list of forks, with the histogram of PTEs changed per page-table page below it.
 * In: views forks and pt_sequences.  Out: rows, a panel.
 */
#include <stdlib.h>
#include <string.h>

#include "tui/format.h"
#include "tui/columns.h"
#include "common/clock.h"
#include "tui/ui.h"

static const struct xf_tui_column columns[] = {
	{"fork_id", "fork", "r.fork_id", XF_SHOW_INT, 4, ORDERED | ALWAYS, "number of the fork"},
	{"vcpu", "vCPU", VCPU, XF_SHOW_VCPU, 4, UP | ALWAYS, "domain and vCPU where it began"},
	{"comm", "process", "r.comm", XF_SHOW_TEXT, 15, HIDE | UP | ALWAYS,
		"who forked, by the guest's own log"},
	{"pid", "pid", "r.pid", XF_SHOW_INT, 6, HIDE | UP | ALWAYS, "process id of who forked"},
	{"tsc_start", "start", "r.tsc_start", XF_SHOW_TIME, 10, ORDERED | ALWAYS,
		"its first record"},
	{"cycles", "lasts", SPAN, XF_SHOW_SPAN, 8, ALWAYS, "from its first record to its last"},
	{"mechanism", "how", "r.mechanism", XF_SHOW_KIND, 7, UP | ALWAYS,
		"emulate, unhook, oos (out of sync), batch, mixed"},
	{"pt_pages", "pages", "r.pt_pages", XF_SHOW_INT, 5, ALWAYS, "distinct page-table pages"},
	{"ptes", "PTEs", "r.ptes", XF_SHOW_INT, 5, ALWAYS, "entries changed"},
	{"most", "most", "(SELECT max(q.ptes) FROM pt_sequences q WHERE q.fork_id = r.fork_id)",
		XF_SHOW_INT, 4, 0, "most entries changed in one page-table page"},
	{"faults", "faults", "r.faults", XF_SHOW_INT, 6, ALWAYS, "hardware faults it cost"},
	{"spurious", "spur", "r.spurious", XF_SHOW_INT, 4, ALWAYS, "faults for nothing"},
	{"share", "cost", SPAN, XF_SHOW_SHARE, 10, FLEX,
		"share of the time of all forks; the longest fork fills the bar"},
	{"symbol", "kernel function", "r.symbol", XF_SHOW_SYMBOL, 24, FLEX | ALWAYS,
		"where the kernel write-protects"},
	{"per_page", "/page", "(r.ptes * 1.0 / nullif(r.pt_pages, 0))", XF_SHOW_REAL, 6, HIDE,
		"entries per page, on average"},
	{"cow_faults", "COW", "r.cow_faults", XF_SHOW_INT, 5, HIDE | ALWAYS,
		"later write faults that break what it protected"},
	COUNTS,
	{"ended_by", "ended by", "r.ended_by", XF_SHOW_TEXT, 8, HIDE | UP | ALWAYS,
		"what ended it"},
	{"rip", "rip", "r.rip", XF_SHOW_HEX, 18, HIDE | ALWAYS, "the instruction"},
	{"doubt", "doubt", "r.doubt", XF_SHOW_TEXT, 20, HIDE | UP | ALWAYS,
		"why the row may be wrong"},
	{"tsc_end", "end", "r.tsc_end", XF_SHOW_TIME, 10, HIDE | ALWAYS, "its last record"},
	{"child_pid", "child", "r.child_pid", XF_SHOW_INT, 6, HIDE | UP | ALWAYS,
		"process id of what came of it"},
	{"named_by", "named by", "r.named_by", XF_SHOW_TEXT, 8, HIDE | UP | ALWAYS,
		"how the log's fork was found: log, pin, order"},
	{"domain", "domain", "r.domain", XF_SHOW_TEXT, 15, HIDE | UP | ALWAYS, "the domain's name"},
};

/* comm and pid, shown where a log names forks */
#define NAMES (3ull << 2)

static const struct xf_tui_source source = {
	.name = "forks",
	.from = "forks r",
	.key = "r.fork_id",
	.bounds = "SELECT (SELECT min(fork_id) FROM fork), (SELECT max(fork_id) FROM fork)",
	.flag = "CASE WHEN NOT r.complete THEN 1 WHEN r.doubt IS NOT NULL THEN 2 ELSE 0 END",
	.columns = columns,
	.ncolumns = COUNT(columns),
};

#define BINS  12
#define BATCH 100 /* forks per step of the histogram */
#define TRIES 20  /* keys that may stop the search for the break-even */

/* Upper bounds of the bins. */
static const int bounds[BINS] = {0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 511, 512};

struct histogram {
	int64_t bins[BINS];
	int64_t pages;
};

struct forks_data {
	struct histogram all, one;
	struct histogram fresh; /* of all, while it is being counted */
	int64_t next, last;	/* forks still to be counted */
	bool again;		/* the database changed meanwhile */
	int64_t fork;		/* of `one`, -1 = none yet */
	bool single;		/* show `one` */
	int tries;		/* to find the break-even */
};

static void count_page(struct histogram *h, int64_t ptes)
{
	int bin = 0;

	while (bin < BINS - 1 && ptes > bounds[bin])
		bin++;
	h->bins[bin]++;
	h->pages++;
}

/* Adds the pages of the forks first .. last. */
static int count_forks(
	sqlite3 *db, struct histogram *h, int64_t first, int64_t last, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(db, &stmt,
		"SELECT sum(ptes) FROM pt_sequences WHERE fork_id BETWEEN ?1 AND ?2 "
		"GROUP BY fork_id, pt_page, frame",
		err);

	if (code)
		return code;
	sqlite3_bind_int64(stmt, 1, first);
	sqlite3_bind_int64(stmt, 2, last);
	while ((code = xf_db_step(stmt, err)) == 1)
		count_page(h, sqlite3_column_int64(stmt, 0));
	sqlite3_finalize(stmt);
	return code;
}

static int forks_refresh(struct xf_tui_view *view, struct xf_error *err)
{
	struct forks_data *d = view->data;
	int64_t range[2];
	int code;

	d->fork = -1;
	d->again = d->next <= d->last;
	if (d->again)
		return 0;
	code = xf_tui_query(view->ui->db,
		"SELECT (SELECT min(fork_id) FROM forks), (SELECT max(fork_id) FROM forks)", 0, 0,
		range, 2, err);

	memset(&d->fresh, 0, sizeof(d->fresh));
	d->next = range[0];
	d->last = range[1] < INT64_MAX ? range[1] : INT64_MAX - 1;
	return code;
}

static int forks_open(struct xf_tui_view *view, struct xf_error *err)
{
	int64_t named = 0;

	if (!xf_tui_query(view->ui->db,
		    "SELECT EXISTS (SELECT 1 FROM guest_forks WHERE fork_id IS NOT NULL)", 0, 0,
		    &named, 1, NULL) &&
		named)
		view->model.shown |= NAMES;
	view->data = calloc(1, sizeof(struct forks_data));
	if (!view->data)
		return xf_fail_nomem(err);
	((struct forks_data *)view->data)->last = -1;
	return forks_refresh(view, err);
}

static void forks_close(struct xf_tui_view *view)
{
	free(view->data);
}

/* True where the capture shows both mechanisms: nothing else tells where they meet. */
static bool may_break_even(struct xf_tui *ui)
{
	int64_t n[2];

	return !xf_tui_query(ui->db, "SELECT sum(unhooks), sum(emulations) FROM forks", 0, 0, n, 2,
		       NULL) &&
	       n[0] && n[1];
}

/* The break-even as `xenfault policy` finds it; a key stops the search, which is then begun again. */
static void find_break_even(struct xf_tui *ui, struct forks_data *d)
{
	const char *bound = "";
	double value = 0;
	int code;

	ui->background = true;
	ui->interrupted = false;
	ui->wait_looked = xf_clock_ns();
	code = ui->options->find_break_even(ui->db, &value, &bound);
	ui->background = false;
	if (code == -XF_INTERRUPTED)
		return;
	d->tries = TRIES;
	if (!code && value > 0 && value <= 512) {
		ui->break_even = value;
		ui->break_even_bound = bound;
	}
}

static int forks_work(struct xf_tui_view *view, int64_t nanoseconds, struct xf_error *err)
{
	struct forks_data *d = view->data;
	int64_t start = xf_clock_ns();
	int code = 0;

	while (!code && d->next <= d->last && xf_clock_ns() - start < nanoseconds) {
		int64_t last = d->last;

		/* numbers may be far apart in a database that somebody made */
		code = xf_tui_query(view->ui->db,
			"SELECT max(fork_id) FROM (SELECT fork_id FROM fork WHERE fork_id >= ?1"
			" ORDER BY fork_id LIMIT ?2)",
			d->next, BATCH, &last, 1, err);
		if (!code)
			code = count_forks(view->ui->db, &d->fresh, d->next, last, err);
		d->next = (last < d->next ? d->last : last) + 1;
	}
	if (code || d->next <= d->last)
		return code ? code : 1;
	if (d->last >= 0)
		d->all = d->fresh;
	if (d->again)
		return forks_refresh(view, err) < 0 ? -XF_DB : 1;
	if (d->tries >= TRIES || view->ui->break_even > 0 || view->ui->options->follow ||
		!view->ui->options->find_break_even)
		return 0;
	if (!d->tries++ && !may_break_even(view->ui))
		d->tries = TRIES;
	else
		find_break_even(view->ui, d);
	return d->tries < TRIES;
}

static void forks_totals(struct xf_tui_view *view, char *text, size_t size)
{
	const struct xf_tui_totals *t = &view->ui->totals;
	char pages[32], ptes[32], faults[32], spurious[32], cost[32];

	xf_tui_format_grouped(pages, sizeof(pages), t->pages);
	xf_tui_format_grouped(ptes, sizeof(ptes), t->ptes);
	xf_tui_format_grouped(faults, sizeof(faults), t->faults);
	xf_tui_format_grouped(spurious, sizeof(spurious), t->spurious);
	xf_tui_units_span(&view->ui->units, (int64_t)view->ui->units.whole, cost, sizeof(cost));
	snprintf(text, size, "%lld forks: %s PT pages, %s PTEs, %s faults, %s spurious, %s %s",
		(long long)t->forks, pages, ptes, faults, spurious, cost,
		xf_tui_units_span_name(&view->ui->units));
	if (t->incomplete)
		snprintf(text + strlen(text), size - strlen(text), ", %lld incomplete (!)",
			(long long)t->incomplete);
}

static int forks_panel_rows(struct xf_tui_view *view, int height)
{
	(void)view;
	return height < 20 ? 7 : height / 4 + 4 < 14 ? height / 4 + 4 : 14;
}

static void bin_label(int bin, char *text, size_t size)
{
	if (bin < 3 || bin == BINS - 1)
		snprintf(text, size, "%d", bounds[bin]);
	else
		snprintf(text, size, "..%d", bounds[bin]);
}

/* One column of the histogram, growing upwards from its two lines of text. */
static void draw_bin(struct xf_tui_grid *grid, const struct histogram *h, int bin, int x, int y,
	int rows, int width)
{
	int64_t most = 1;
	int eighths;
	char text[32];

	for (int i = 0; i < BINS; i++)
		most = h->bins[i] > most ? h->bins[i] : most;
	eighths = (int)((double)h->bins[bin] * rows * 8 / (double)most + 0.5);
	if (h->bins[bin] && !eighths)
		eighths = 1;
	for (int i = 0; i < rows; i++) {
		int part = eighths - i * 8;

		part = part > 8 ? 8 : part;
		for (int c = 0; c < width - 1 && part > 0; c++)
			xf_tui_set(grid, x + c, y + rows - 1 - i, XF_TUI_BAR,
				xf_tui_glyph(grid, XF_GLYPH_LEVEL0 + part));
	}
	if (h->bins[bin] > 99999)
		snprintf(text, sizeof(text), "%lldk", (long long)(h->bins[bin] / 1000));
	else
		snprintf(text, sizeof(text), "%lld", (long long)h->bins[bin]);
	xf_tui_put(grid, x, y + rows, width, h->bins[bin] ? XF_TUI_NORMAL : XF_TUI_DIM, text);
	bin_label(bin, text, sizeof(text));
	xf_tui_put(grid, x, y + rows + 1, width, XF_TUI_LABEL, text);
}

/* A line between the bins below and above the break-even. */
static void draw_break_even(
	struct xf_tui_grid *grid, double ptes, int x, int y, int rows, int width)
{
	int bin = 0;

	while (bin < BINS - 1 && bounds[bin] < ptes)
		bin++;
	for (int i = 0; i < rows; i++)
		xf_tui_set(grid, x + (bin + 1) * width - 1, y + i, XF_TUI_WARN,
			xf_tui_glyph(grid, XF_GLYPH_VLINE));
}

/* Where the selected fork was: what the narrow list has no room for. */
static void draw_selected(struct xf_tui_view *view, struct xf_tui_grid *grid, int y)
{
	const struct xf_tui_row *row = xf_tui_selected(view);
	const char *symbol = xf_tui_text(view, row, "symbol", NULL);
	const char *doubt = xf_tui_text(view, row, "doubt", "");
	char where[80] = "unknown";

	if (!row)
		return;
	if (symbol)
		snprintf(where, sizeof(where), "%s", symbol);
	else if (xf_tui_value(view, row, "rip"))
		snprintf(where, sizeof(where), "0x%llx",
			(unsigned long long)xf_tui_integer(view, row, "rip", 0));
	xf_tui_putf(grid, 1, y, grid->width - 1, XF_TUI_NORMAL,
		"fork %lld: in %s, ended by %s, %lld COW faults later%s%s", (long long)row->id,
		where, xf_tui_text(view, row, "ended_by", "-"),
		(long long)xf_tui_integer(view, row, "cow_faults", 0), *doubt ? "; doubt: " : "",
		doubt);
}

static void forks_panel(struct xf_tui_view *view, struct xf_tui_grid *grid, int y, int rows)
{
	struct forks_data *d = view->data;
	const struct xf_tui_row *row = xf_tui_selected(view);
	const struct histogram *h = d->single ? &d->one : &d->all;
	double even = view->ui->break_even;
	int width = (grid->width - 1) / BINS < 8 ? (grid->width - 1) / BINS : 8, x = 1;
	char which[64] = "all forks";

	draw_selected(view, grid, y);
	if (d->single && row && d->fork != row->id) {
		memset(&d->one, 0, sizeof(d->one));
		if (!count_forks(view->ui->db, &d->one, row->id, row->id, NULL))
			d->fork = row->id;
	}
	if (rows < 5 || width < 3)
		return;
	if (d->single)
		snprintf(which, sizeof(which), "fork %lld", row ? (long long)row->id : 0);
	else if (d->next <= d->last && !d->all.pages)
		snprintf(which, sizeof(which), "all forks, counting ...");
	x = xf_tui_putf(grid, 1, y + 1, grid->width - 1, XF_TUI_LABEL,
		"PTEs changed per PT page, %s (%lld pages)", which, (long long)h->pages);
	if (even > 0)
		xf_tui_putf(grid, x + 1, y + 1, grid->width - x - 1, XF_TUI_WARN,
			"; break-even at %s%.1f", view->ui->break_even_bound, even);
	for (int bin = 0; bin < BINS; bin++)
		draw_bin(grid, h, bin, 1 + bin * width, y + 2, rows - 4, width);
	if (even > 0)
		draw_break_even(grid, even, 1, y + 2, rows - 4, width);
}

static const struct xf_tui_view_ops *forks_enter(struct xf_tui_view *view, int64_t *key)
{
	*key = xf_tui_selected(view)->id;
	return &xf_tui_view_fork;
}

static int64_t forks_event(struct xf_tui_view *view)
{
	return xf_tui_integer(view, xf_tui_selected(view), "first_event", -1);
}

static int forks_command(
	struct xf_tui_view *view, enum xf_tui_command command, struct xf_error *err)
{
	struct forks_data *d = view->data;

	(void)err;
	if (command == XF_DO_ONE_FORK)
		d->single = !d->single;
	return 0;
}

const struct xf_tui_view_ops xf_tui_view_forks = {
	.title = "Forks",
	.source = &source,
	.where = XF_IN_FORKS,
	.open = forks_open,
	.close = forks_close,
	.totals = forks_totals,
	.panel_rows = forks_panel_rows,
	.panel = forks_panel,
	.enter = forks_enter,
	.event = forks_event,
	.work = forks_work,
	.refresh = forks_refresh,
	.command = forks_command,
	.missing = XF_HAP_FORKS,
};
