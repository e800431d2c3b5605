// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One fork: its page-table pages in order, what was written in each, what other vCPUs did meanwhile,
 * and a timeline of the vCPUs.
 * In: views forks, pt_sequences, events.  Out: rows, strips, a panel; computed in slices.
 */
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "schemas/event.h"
#include "tui/format.h"
#include "tui/columns.h"
#include "common/clock.h"
#include "tui/ui.h"

static const struct xf_tui_column columns[] = {
	{"page", "page-table page", PAGE, XF_SHOW_TEXT, 18, UP | ALWAYS,
		"its address in the guest, or its frame"},
	{"ptes", "PTEs", "r.ptes", XF_SHOW_INT, 4, ALWAYS, "distinct entries changed"},
	{"strip", "entries written", NULL, XF_SHOW_EXTRA, 16, FLEX,
		"the 512 entries: which were written"},
	{"faults", "faults", "r.faults", XF_SHOW_INT, 6, ALWAYS, "hardware faults it cost"},
	{"cycles", "lasts", SPAN, XF_SHOW_SPAN, 8, ALWAYS,
		"first to last record; for unhook and oos: unhook to rehook"},
	{"ended_by", "end", "r.ended_by", XF_SHOW_TEXT, 6, UP | ALWAYS,
		"rehook, next (page), fault, pin, unshadow, loss, end"},
	{"others", "other vCPUs", NULL, XF_SHOW_EXTRA, 22, 0, "what other vCPUs did meanwhile"},
	{"va_base", "maps", "r.va_base", XF_SHOW_HEX, 14, UP | ALWAYS,
		"first address that the page maps, where known"},
	{"spurious", "spur", "r.spurious", XF_SHOW_INT, 4, ALWAYS, "faults for nothing"},
	{"tsc_start", "start", "r.tsc_start", XF_SHOW_TIME, 10, UP | ALWAYS, "its first record"},
	{"mechanism", "how", "r.mechanism", XF_SHOW_KIND, 7, HIDE | UP | ALWAYS,
		"emulate, unhook, oos (out of sync), batch, mixed"},
	{"sequence_id", "seq", "r.sequence_id", XF_SHOW_INT, 5, ORDERED | HIDE | ALWAYS,
		"number of the sequence"},
	{"vcpu", "vCPU", VCPU, XF_SHOW_VCPU, 4, UP | HIDE | ALWAYS, "domain and vCPU"},
	COUNTS,
	SEQUENCE_NAMES,
};

static const struct xf_tui_source source = {
	.name = "pt_sequences",
	.from = "pt_sequences r",
	.key = "r.sequence_id",
	.where = "r.fork_id = ?1",
	.bounds =
		"SELECT (SELECT min(sequence_id) FROM sequence WHERE fork_id = ?1), (SELECT max(sequence_id) FROM sequence WHERE fork_id = ?1)",
	.flag = "NOT r.complete",
	.columns = columns,
	.ncolumns = COUNT(columns),
};

#define SLICE	20000 /* events per step */
#define BUCKETS 256   /* of the timeline */
#define VCPUS	8
#define KEPT	2000 /* sequences whose details are kept */

/* What the events of a sequence tell beyond its row. */
struct detail {
	uint64_t slots[8]; /* entries that a record names */
	int known;
	int64_t next, last; /* events still to be read */
	int64_t pt_page, frame;
	int64_t owner; /* -1 = unknown */
	uint32_t others[XF_KIND_COUNT];
};

/* Classes of the timeline, the more telling one wins a tie. */
enum class {
	OTHER,
	SWITCH,
	HYPERCALL,
	FLUSH,
	FAULT,
	EMULATED,
	REHOOKED,
	UNHOOKED,
	LOST,
	SPURIOUSLY,
	CLASSES
};

struct lane {
	int64_t owner;
	uint32_t buckets[BUCKETS][CLASSES];
};

struct fork_data {
	int64_t first_event, last_event, tsc_start, tsc_end, owner;
	int64_t ptes, pages, faults;
	char mechanism[16], symbol[80], ended_by[16];
	struct xf_map details; /* sequence_id -> struct detail */
	struct lane lanes[VCPUS];
	int nlanes;
	struct xf_map hidden; /* owners of events without a lane */
	bool open[BUCKETS];   /* a page of it is unhooked then */
	int nopen, open_from;
	int64_t next; /* event of the timeline */
	int64_t previous;
	int64_t spent[CLASSES]; /* cycles of the fork's vCPU up to a record, by its class */
};

static enum class class_of(unsigned kind) {
	static const uint8_t classes[XF_KIND_COUNT] = {[XF_PAGE_FAULT] = FAULT,
		[XF_EMULATE] = EMULATED,
		[XF_UNHOOK] = UNHOOKED,
		[XF_REHOOK] = REHOOKED,
		[XF_FLUSH] = FLUSH,
		[XF_SPURIOUS] = SPURIOUSLY,
		[XF_BATCH] = HYPERCALL,
		[XF_FIXUP] = FAULT,
		[XF_NOT_SHADOW] = FAULT,
		[XF_MULTICALL] = HYPERCALL,
		[XF_MMUEXT] = HYPERCALL,
		[XF_IRET] = HYPERCALL,
		[XF_HYPERCALL] = HYPERCALL,
		[XF_TASK_SWITCH] = SWITCH,
		[XF_LOST] = LOST};

	return kind < XF_KIND_COUNT ? (enum class)classes[kind] : OTHER;
}

static const struct {
	char letter;
	enum xf_tui_role role;
	const char *name;
} classes[CLASSES] = {
	[OTHER] = {'o', XF_TUI_DIM, "other"},
	[SWITCH] = {'s', XF_TUI_BATCH, "task switch"},
	[HYPERCALL] = {'H', XF_TUI_BATCH, "hypercall"},
	[FLUSH] = {'X', XF_TUI_FLUSH, "flush"},
	[FAULT] = {'F', XF_TUI_FAULT, "page fault"},
	[EMULATED] = {'E', XF_TUI_EMULATE, "emulated write"},
	[REHOOKED] = {'R', XF_TUI_REHOOK, "rehook"},
	[UNHOOKED] = {'U', XF_TUI_UNHOOK, "unhook"},
	[LOST] = {'!', XF_TUI_ERROR, "loss"},
	[SPURIOUSLY] = {'S', XF_TUI_ERROR, "spurious fault"},
};

/* domid and vcpu of two result columns, -1 = unknown. */
static int64_t owner_of(sqlite3_stmt *stmt, int column)
{
	if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
		return -1;
	return sqlite3_column_int64(stmt, column) << 16 | sqlite3_column_int64(stmt, column + 1);
}

/* The kind that a result column names. */
static enum xf_kind kind_of(sqlite3_stmt *stmt, int column)
{
	return xf_kind_by_name(xf_db_text(stmt, column));
}

static void copy_text(char *text, size_t size, sqlite3_stmt *stmt, int column)
{
	snprintf(text, size, "%s", xf_db_text_or(stmt, column, "-"));
}

static int read_fork(struct xf_tui_view *view, struct xf_error *err)
{
	struct fork_data *d = view->data;
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(view->ui->db, &stmt,
		"SELECT domid, vcpu, first_event, last_event, tsc_start, tsc_end, ptes, pt_pages, faults, "
		"mechanism, coalesce(symbol, printf('0x%llx', rip)), ended_by FROM forks WHERE fork_id = ?1",
		err);

	if (code)
		return code;
	sqlite3_bind_int64(stmt, 1, view->key);
	code = xf_db_step(stmt, err);
	if (code == 1) {
		d->owner = owner_of(stmt, 0);
		d->first_event = sqlite3_column_int64(stmt, 2);
		d->last_event = sqlite3_column_int64(stmt, 3);
		d->tsc_start = sqlite3_column_int64(stmt, 4);
		d->tsc_end = sqlite3_column_int64(stmt, 5);
		d->ptes = sqlite3_column_int64(stmt, 6);
		d->pages = sqlite3_column_int64(stmt, 7);
		d->faults = sqlite3_column_int64(stmt, 8);
		copy_text(d->mechanism, sizeof(d->mechanism), stmt, 9);
		copy_text(d->symbol, sizeof(d->symbol), stmt, 10);
		copy_text(d->ended_by, sizeof(d->ended_by), stmt, 11);
	}
	sqlite3_finalize(stmt);
	return code < 0 ? code : 0;
}

/* "; 8 of 128 vCPUs" where there are more than lanes. */
static const char *lanes_shown(const struct fork_data *d, char *text, size_t size)
{
	*text = '\0';
	if (d->hidden.count)
		snprintf(text, size, "; %d of %zu vCPUs", d->nlanes, d->nlanes + d->hidden.count);
	return text;
}

static void forget(struct fork_data *d)
{
	size_t cursor = 0;
	uint64_t key, value;

	while (xf_map_next(&d->details, &cursor, &key, &value))
		free((void *)(uintptr_t)value);
	xf_map_free(&d->details);
}

static int fork_open(struct xf_tui_view *view, struct xf_error *err)
{
	struct fork_data *d = calloc(1, sizeof(*d));
	char vcpu[24] = "";
	int code;

	if (!d)
		return xf_fail_nomem(err);
	view->data = d;
	code = read_fork(view, err);
	view->model.params[0] = view->key;
	/* the order in which the kernel walked them; numbers are given as sequences end */
	view->model.sort = xf_tui_column_by_name(view->model.source, "tsc_start");
	view->model.origin = d->tsc_start;
	view->model.inner = true;
	d->next = d->first_event;
	d->previous = d->tsc_start;
	if (d->owner >= 0)
		xf_tui_format_vcpu(vcpu, sizeof(vcpu), d->owner);
	snprintf(view->title, sizeof(view->title), "fork %lld %s", (long long)view->key, vcpu);
	return code;
}

static void fork_close(struct xf_tui_view *view)
{
	if (view->data) {
		forget(view->data);
		xf_map_free(&((struct fork_data *)view->data)->hidden);
	}
	free(view->data);
}

/* The fork may have grown: strips and timeline are made anew. */
static int fork_refresh(struct xf_tui_view *view, struct xf_error *err)
{
	struct fork_data *d = view->data;
	int64_t last = d->last_event;
	int code = read_fork(view, err);

	if (code || last == d->last_event)
		return code;
	forget(d);
	d->next = d->first_event;
	d->previous = d->tsc_start;
	d->nlanes = d->nopen = d->open_from = 0;
	xf_map_free(&d->hidden);
	memset(d->open, 0, sizeof(d->open));
	memset(d->spent, 0, sizeof(d->spent));
	return 0;
}

/* --- details of sequences --- */

static void set_slot(struct detail *t, int64_t slot)
{
	uint64_t bit = 1ull << (slot & 63);

	if (slot < 0 || slot > 511 || (t->slots[slot >> 6] & bit))
		return;
	t->slots[slot >> 6] |= bit;
	t->known++;
}

/* One event within the sequence's range. */
static void add_event(struct detail *t, sqlite3_stmt *stmt)
{
	bool has_page = sqlite3_column_type(stmt, 3) != SQLITE_NULL;
	bool same_page = has_page && sqlite3_column_int64(stmt, 3) == t->pt_page;
	bool same_frame = t->pt_page == -1 && t->frame != -1 &&
			  sqlite3_column_type(stmt, 5) != SQLITE_NULL &&
			  sqlite3_column_int64(stmt, 5) == t->frame;

	if (owner_of(stmt, 0) != t->owner)
		t->others[kind_of(stmt, 2)]++;
	else if (has_page && (same_page || same_frame))
		set_slot(t, sqlite3_column_int64(stmt, 4));
}

/* The next slice of the events next .. last: however few of these numbers there are. */
#define SLICE_OF " WHERE event_id BETWEEN ?1 AND ?2 ORDER BY event_id LIMIT ?3"

static int next_events(sqlite3 *db, sqlite3_stmt **stmt, const char *sql, int64_t next,
	int64_t last, struct xf_error *err)
{
	int code = xf_db_prepare(db, stmt, sql, err);

	if (code)
		return code;
	sqlite3_bind_int64(*stmt, 1, next);
	sqlite3_bind_int64(*stmt, 2, last);
	sqlite3_bind_int(*stmt, 3, SLICE);
	return 0;
}

/* n events were read, *next is the number of the last one: where does the next slice begin? */
static void after_slice(int64_t *next, int64_t last, int n)
{
	if (n < SLICE)
		*next = last;
	if (*next < INT64_MAX)
		++*next;
}

static int read_details(sqlite3 *db, struct detail *t, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int code = next_events(db, &stmt,
		"SELECT domid, vcpu, kind, pt_page, slot, frame, event_id FROM events" SLICE_OF,
		t->next, t->last, err);
	int n = 0;

	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		add_event(t, stmt);
		t->next = sqlite3_column_int64(stmt, 6);
		n++;
		code = 0;
	}
	sqlite3_finalize(stmt);
	after_slice(&t->next, t->last, n);
	return code;
}

static struct detail *new_detail(
	struct xf_tui_view *view, const struct xf_tui_row *row, struct xf_error *err)
{
	struct fork_data *d = view->data;
	struct detail *t = calloc(1, sizeof(*t));
	uint64_t *place;

	if (d->details.count >= KEPT)
		forget(d);
	place = t ? xf_map_put(&d->details, (uint64_t)row->id) : NULL;
	if (!place) {
		free(t);
		xf_fail_nomem(err);
		return NULL;
	}
	*place = (uintptr_t)t;
	t->next = xf_tui_integer(view, row, "first_event", 1);
	t->last = xf_tui_integer(view, row, "last_event", 0);
	t->pt_page = xf_tui_integer(view, row, "pt_page", -1);
	t->frame = xf_tui_integer(view, row, "frame", -1);
	t->owner = xf_tui_integer(view, row, "vcpu", -1);
	return t;
}

static struct detail *find_detail(const struct fork_data *d, int64_t id)
{
	uint64_t *place = xf_map_get(&d->details, (uint64_t)id);

	return place ? (struct detail *)(uintptr_t)*place : NULL;
}

/* Details of the rows on screen. */
static int work_details(struct xf_tui_view *view, int64_t end, struct xf_error *err)
{
	int code = 0;

	for (int i = 0; !code && i < view->window.nrows; i++) {
		const struct xf_tui_row *row = &view->window.rows[i];
		struct detail *t = find_detail(view->data, row->id);

		if (!t && !(t = new_detail(view, row, err)))
			return -XF_INTERNAL;
		while (!code && t->next <= t->last && t->next < INT64_MAX) {
			if (xf_clock_ns() > end)
				return 1;
			code = read_details(view->ui->db, t, err);
		}
	}
	return code;
}

/* --- timeline --- */

static struct lane *find_lane(struct fork_data *d, int64_t owner)
{
	for (int i = 0; i < d->nlanes; i++)
		if (d->lanes[i].owner == owner)
			return &d->lanes[i];
	if (d->nlanes == VCPUS) {
		xf_map_put(&d->hidden, (uint64_t)owner);
		return NULL;
	}
	memset(&d->lanes[d->nlanes], 0, sizeof(d->lanes[0]));
	d->lanes[d->nlanes].owner = owner;
	return &d->lanes[d->nlanes++];
}

static void add_to_timeline(struct fork_data *d, int64_t owner, unsigned kind, int64_t tsc)
{
	struct lane *lane = find_lane(d, owner);
	enum class class = class_of(kind);
	double span = (double)(d->tsc_end - d->tsc_start);
	double at = span > 0 ? (double)(tsc - d->tsc_start) / span : 0;
	int bucket = at < 0 ? 0 : at >= 1 ? BUCKETS - 1 : (int)(at * BUCKETS);

	if (lane)
		lane->buckets[bucket][class]++;
	/* a rehook by another vCPU ends it as well */
	for (int b = d->open_from; d->nopen && b < bucket; b++)
		d->open[b] = true;
	d->open_from = bucket;
	if (class == UNHOOKED && owner == d->owner)
		d->nopen++;
	else if (class == REHOOKED && d->nopen)
		d->nopen--;
	if (owner != d->owner || tsc < d->previous)
		return;
	d->spent[class] += tsc - d->previous;
	d->previous = tsc;
}

static int work_timeline(struct xf_tui_view *view, struct xf_error *err)
{
	struct fork_data *d = view->data;
	sqlite3_stmt *stmt = NULL;
	int code = next_events(view->ui->db, &stmt,
		"SELECT domid, vcpu, kind, tsc, event_id FROM events" SLICE_OF, d->next,
		d->last_event, err);
	int n = 0;

	if (!d->nlanes)
		find_lane(d, d->owner); /* the fork's own comes first */
	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		if (sqlite3_column_type(stmt, 3) != SQLITE_NULL)
			add_to_timeline(d, owner_of(stmt, 0), kind_of(stmt, 2),
				sqlite3_column_int64(stmt, 3));
		d->next = sqlite3_column_int64(stmt, 4);
		n++;
		code = 0;
	}
	sqlite3_finalize(stmt);
	after_slice(&d->next, d->last_event, n);
	return code;
}

static int fork_work(struct xf_tui_view *view, int64_t nanoseconds, struct xf_error *err)
{
	struct fork_data *d = view->data;
	int64_t end = xf_clock_ns() + nanoseconds;
	int code = work_details(view, end, err);

	while (!code && d->next <= d->last_event && d->next < INT64_MAX) {
		if (xf_clock_ns() > end)
			return 1;
		code = work_timeline(view, err);
	}
	return code;
}

/* --- as text --- */

/* Entries first .. first+n-1 of a page in one character. */
static int slots_level(const struct detail *t, int first, int n)
{
	int set = 0;

	for (int i = first; i < first + n; i++)
		set += (t->slots[i >> 6] >> (i & 63)) & 1;
	return set ? (set * 8 + n - 1) / n : 0;
}

/* The strip of a page in at most width characters (a power of two). */
static void strip(const struct xf_tui_view *view, const struct detail *t, int64_t ptes, int width,
	char *text, size_t size)
{
	const struct xf_tui_grid *grid = &view->ui->grid;
	int cells = 8;
	size_t used = 0;

	*text = '\0';
	while (cells * 2 <= width && cells < 512)
		cells *= 2;
	for (int i = 0; i < cells && used + 5 < size; i++) {
		int level = ptes >= 512 ? 8 : slots_level(t, i * (512 / cells), 512 / cells);
		uint32_t ch = level || ptes <= t->known
				      ? xf_tui_glyph(grid, XF_GLYPH_LEVEL0 + level)
				      : '?';

		used += (size_t)xf_tui_utf8(text + used, ch);
	}
}

/* "3 page_fault, 1 rehook", the kinds that concern page tables first. */
static void others(const struct detail *t, char *text, size_t size)
{
	static const uint8_t order[] = {XF_REHOOK, XF_SPURIOUS, XF_UNHOOK, XF_FLUSH, XF_PAGE_FAULT,
		XF_FIXUP, XF_EMULATE, XF_NOT_SHADOW, XF_BATCH, XF_MMUEXT, XF_MULTICALL,
		XF_TASK_SWITCH, XF_LOST};
	uint64_t left = 0;
	size_t used = 0;

	*text = '\0';
	for (unsigned kind = 0; kind < XF_KIND_COUNT; kind++)
		left += t->others[kind];
	for (size_t i = 0; i < sizeof(order) && used < size; i++) {
		if (!t->others[order[i]])
			continue;
		left -= t->others[order[i]];
		used += (size_t)snprintf(text + used, size - used, "%s%u %s", used ? ", " : "",
			t->others[order[i]], xf_kind_name(order[i]));
	}
	if (left && used < size)
		snprintf(text + used, size - used, "%s%llu other", used ? ", " : "",
			(unsigned long long)left);
}

static void fork_extra(void *data, const struct xf_tui_row *row, int column, int width, char *text,
	size_t size, enum xf_tui_role *role)
{
	struct xf_tui_view *view = data;
	struct detail *t = find_detail(view->data, row->id);

	if (!t || t->next <= t->last) {
		snprintf(text, size, "...");
		*role = XF_TUI_DIM;
	} else if (!strcmp(view->model.source->columns[column].name, "strip")) {
		strip(view, t, xf_tui_integer(view, row, "ptes", 0), width, text, size);
		*role = XF_TUI_BAR;
	} else {
		others(t, text, size);
	}
}

static void fork_totals(struct xf_tui_view *view, char *text, size_t size)
{
	const struct fork_data *d = view->data;
	char span[32];

	xf_tui_units_span(&view->ui->units, d->tsc_end - d->tsc_start, span, sizeof(span));
	snprintf(text, size,
		"%s in %s: PTEs %lld in %lld PT pages, faults %lld, %s %s, ended by %s",
		d->mechanism, d->symbol, (long long)d->ptes, (long long)d->pages,
		(long long)d->faults, span, xf_tui_units_span_name(&view->ui->units), d->ended_by);
}

/* --- the panel --- */

static int fork_panel_rows(struct xf_tui_view *view, int height)
{
	const struct fork_data *d = view->data;

	(void)height;
	return 4 + (d->nlanes ? d->nlanes : 1);
}

/* The class that stands for buckets first .. last-1. */
static enum class telling(const struct lane *lane, int first, int last, bool *any) {
	uint64_t sums[CLASSES] = {0}; enum class best = OTHER;

	*any = false; for (int b = first; b < last; b++) for (int c = 0; c < CLASSES; c++)
			      sums[c] += lane->buckets[b][c];
	for (int c = 0; c < CLASSES;
		c++){ *any |= sums[c] > 0;
		      if (sums[c] && sums[c] >= sums[best]) best = (enum class)c;}
return sums[SPURIOUSLY] ? SPURIOUSLY : sums[LOST] ? LOST : best;
}

static const char *lane_name(const struct lane *lane, char *name, size_t size)
{
	snprintf(name, size, "unknown");
	if (lane->owner >= 0)
		xf_tui_format_vcpu(name, size, lane->owner);
	return name;
}

/* Where the lanes begin: behind the longest name. */
static int lanes_from(const struct xf_tui_grid *grid, const struct fork_data *d)
{
	int most = 7;

	for (int i = 0; i < d->nlanes; i++) {
		char name[24];
		int width = xf_tui_width(grid, lane_name(&d->lanes[i], name, sizeof(name)));

		most = width > most ? width : most;
	}
	return most + 2;
}

/* open: when a page was unhooked; NULL = not to be shown here. */
static void draw_lane(
	struct xf_tui_grid *grid, const struct lane *lane, const bool *open, int x, int y)
{
	int width = grid->width - x;
	char name[24];

	xf_tui_put(grid, 1, y, x - 2, XF_TUI_LABEL, lane_name(lane, name, sizeof(name)));
	width = width > BUCKETS ? BUCKETS : width;
	for (int i = 0; i < width; i++) {
		int first = i * BUCKETS / width, last = (i + 1) * BUCKETS / width;
		bool any;
		enum class c = telling(lane, first, last, &any);

		if (any)
			xf_tui_set(grid, x + i, y, classes[c].role, (uint32_t)classes[c].letter);
		else if (open && open[first])
			xf_tui_set(
				grid, x + i, y, XF_TUI_UNHOOK, xf_tui_glyph(grid, XF_GLYPH_LINE));
		else
			xf_tui_set(grid, x + i, y, XF_TUI_DIM, xf_tui_glyph(grid, XF_GLYPH_LEVEL0));
	}
}

/* "time up to each: E emulated write 83%, H hypercall 9%" */
static void draw_spent(const struct xf_tui_view *view, struct xf_tui_grid *grid, int y)
{
	const struct fork_data *d = view->data;
	int64_t whole = 0, left;
	bool done[CLASSES] = {false};
	int x;

	for (int c = 0; c < CLASSES; c++)
		whole += d->spent[c];
	x = xf_tui_put(grid, 1, y, grid->width - 1, XF_TUI_LABEL, "time up to each:");
	left = whole;
	for (int n = 0; n < 5 && left > 0; n++) {
		int most = -1;

		for (int c = 0; c < CLASSES; c++)
			if (!done[c] && d->spent[c] && (most < 0 || d->spent[c] > d->spent[most]))
				most = c;
		if (most < 0)
			break;
		done[most] = true;
		left -= d->spent[most];
		x += xf_tui_putf(grid, x + 1, y, grid->width - x - 1, XF_TUI_NORMAL,
			"%s %c %s %.1f%%", n ? "," : "", classes[most].letter, classes[most].name,
			(double)d->spent[most] * 100 / (double)whole);
	}
}

static void fork_panel(struct xf_tui_view *view, struct xf_tui_grid *grid, int y, int rows)
{
	const struct fork_data *d = view->data;
	const struct xf_tui_row *row = xf_tui_selected(view);
	struct detail *t = row ? find_detail(d, row->id) : NULL;
	char text[800], span[32];

	if (t && t->next > t->last) {
		int64_t ptes = xf_tui_integer(view, row, "ptes", 0);

		xf_tui_put(grid, 1, y, 8, XF_TUI_LABEL, "entries");
		strip(view, t, ptes, grid->width - 9, text, sizeof(text));
		xf_tui_put(grid, 9, y, grid->width - 9, XF_TUI_BAR, text);
		others(t, text, sizeof(text));
		xf_tui_putf(grid, 1, y + 1, grid->width - 1, XF_TUI_NORMAL,
			"other vCPUs meanwhile: %s%s", *text ? text : "nothing",
			ptes > t->known && ptes < 512 ? "; ? = entries no record names" : "");
	}
	xf_tui_units_span(&view->ui->units, d->tsc_end - d->tsc_start, span, sizeof(span));
	if (rows > 2)
		xf_tui_putf(grid, 1, y + 2, grid->width - 1, XF_TUI_LABEL,
			"timeline, %s %s from left to right%s%s", span,
			xf_tui_units_span_name(&view->ui->units),
			lanes_shown(d, text, sizeof(text)),
			d->next <= d->last_event ? " (reading ...)" : "");
	for (int i = 0; i < d->nlanes && 3 + i < rows; i++)
		draw_lane(grid, &d->lanes[i], i ? NULL : d->open, lanes_from(grid, d), y + 3 + i);
	if (rows > 3 + d->nlanes)
		draw_spent(view, grid, y + 3 + d->nlanes);
}

static const struct xf_tui_view_ops *fork_enter(struct xf_tui_view *view, int64_t *key)
{
	*key = xf_tui_selected(view)->id;
	return &xf_tui_view_page;
}

static int64_t fork_event(struct xf_tui_view *view)
{
	return xf_tui_integer(view, xf_tui_selected(view), "first_event", -1);
}

const struct xf_tui_view_ops xf_tui_view_fork = {
	.title = "fork",
	.source = &source,
	.open = fork_open,
	.close = fork_close,
	.totals = fork_totals,
	.panel_rows = fork_panel_rows,
	.panel = fork_panel,
	.enter = fork_enter,
	.event = fork_event,
	.work = fork_work,
	.refresh = fork_refresh,
	.extra = fork_extra,
};
