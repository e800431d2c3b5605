/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list model: rows of a view of the database, filtered, sorted, addressed by position and by id.
 * In: a source (which view, which columns), a filter, an order.  Out: count, ids, cells as text.
 *
 * Positions are 0 .. count-1.  Where ids are dense and nothing is filtered or sorted, a position is an
 * id; else a temporary table maps positions to ids.  It is filled in slices by work(), so that a
 * list can be shown and walked while it is still being made; only sorting is done in one go, through
 * SQLite's progress handler.  No OFFSET anywhere: both tables are read by key range.
 */
#ifndef XF_TUI_MODEL_H
#define XF_TUI_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/db.h"
#include "schemas/filter.h"
#include "tui/grid.h"

/* How a value is shown. */
enum xf_tui_show {
	XF_SHOW_INT,
	XF_SHOW_HEX,
	XF_SHOW_REAL, /* one decimal */
	XF_SHOW_TEXT,
	XF_SHOW_SYMBOL,
	XF_SHOW_VCPU,  /* domid << 16 | vcpu */
	XF_SHOW_TIME,  /* TSC, by the unit in use */
	XF_SHOW_SPAN,  /* cycles, by the unit in use */
	XF_SHOW_SINCE, /* TSC, shown as the span since the row before */
	XF_SHOW_KIND,
	XF_SHOW_PTE,
	XF_SHOW_ERROR, /* page-fault error code in words */
	XF_SHOW_SHARE, /* cycles, shown as share of all with a bar */
	XF_SHOW_EXTRA, /* the view computes it, see xf_tui_extra */
};

#define XF_COL_HIDE   (1u << 0) /* not shown at first */
#define XF_COL_FILTER (1u << 1) /* never shown: for filters only */
#define XF_COL_FLEX   (1u << 2) /* takes the room that is left */
#define XF_COL_ORDER  (1u << 3) /* grows with the id: sorting by it needs no sorting */
#define XF_COL_UP     (1u << 4) /* smallest first is the useful order */
#define XF_COL_ALWAYS (1u << 5) /* read even if hidden */

struct xf_tui_column {
	const char *name; /* in filters; a view's column name where it is one */
	const char *title;
	const char *sql; /* of row r; NULL = XF_SHOW_EXTRA */
	enum xf_tui_show show;
	int width;
	unsigned flags;
	const char *help;
};

#define XF_TUI_MAX_COLUMNS 40
#define XF_TUI_PARAMS	   6 /* ?1 .. ?6; ?7, ?8 are the slice, filters start at ?11 */

struct xf_tui_source {
	const char *name; /* of the view in the database, for messages and `y` */
	const char *from; /* "forks r" */
	const char *key;  /* "r.fork_id" */
	const char *where;
	const char *bounds; /* SELECT smallest, largest key; may use the parameters */
	const char *flag;   /* 0 = fine, 1 = incomplete, 2 = doubtful, of row r */
	bool dense;	    /* every integer between the bounds is a row */
	const struct xf_tui_column *columns;
	int ncolumns;
};

/* How times are shown, and what shares are of. */
enum xf_tui_time { XF_TIME_START, XF_TIME_US, XF_TIME_CYCLES, XF_TIME_MODES };

struct xf_tui_units {
	enum xf_tui_time mode;
	int64_t hz;	/* 0 = unknown */
	int64_t first;	/* TSC of the first record */
	double whole;	/* cycles of all forks */
	double largest; /* cycles of the longest one */
	bool utf8;
};

struct xf_tui_value {
	int type; /* SQLITE_NULL, SQLITE_INTEGER ... */
	int64_t integer;
	double real;
	char *text;
};

struct xf_tui_row {
	int64_t id;
	int flag;
	struct xf_tui_value values[XF_TUI_MAX_COLUMNS];
};

/* Some rows in memory. */
struct xf_tui_window {
	int64_t first;
	int nrows, room;
	struct xf_tui_row *rows;
};

/* Text of an XF_SHOW_EXTRA cell, at most width columns. */
typedef void xf_tui_extra(void *data, const struct xf_tui_row *row, int column, int width,
	char *text, size_t size, enum xf_tui_role *role);

struct xf_tui_model {
	sqlite3 *db;
	const struct xf_tui_source *source;
	const struct xf_tui_units *units;
	int64_t origin;	     /* TSC that "since start" counts from */
	bool inner;	     /* the origin is that of a fork or page, not of the capture */
	uint64_t shown;	     /* columns, by bit */
	xf_tui_extra *extra; /* NULL = none */
	void *extra_data;
	int64_t params[XF_TUI_PARAMS];
	unsigned nulls; /* parameters that are NULL, by bit */

	char *filter_text; /* NULL = none */
	struct xf_filter filter;
	int sort;	/* column, -1 = by id */
	bool backwards; /* largest id first, or against the column's useful order */

	bool direct;
	unsigned table;	      /* number of the temporary table, 0 = none */
	int64_t low, high;    /* ids in the source */
	int64_t scanned;      /* ids up to here are in the table */
	int64_t slice;	      /* ids per step, adapted to its time */
	int64_t rows;	      /* in the table */
	unsigned generation;  /* changes when positions change their meaning */
	unsigned *next_table; /* numbers for temporary tables, shared by all models */
};

/* Prepares an empty model: all by id, no filter.  Reads nothing yet. */
void xf_tui_model_init(struct xf_tui_model *model, sqlite3 *db, const struct xf_tui_source *source,
	const struct xf_tui_units *units, unsigned *next_table);
void xf_tui_model_free(struct xf_tui_model *model);

/* Looks at the source anew and starts the list from nothing.  A sorted one is made at once. */
int xf_tui_model_restart(struct xf_tui_model *model, struct xf_error *err);

/* New rows at the end of the source?  Adds them, or restarts where that is cheap or needed. */
int xf_tui_model_grow(struct xf_tui_model *model, struct xf_error *err);

/* Fills the list for about so many nanoseconds; 1 = there is more to do, 0 = complete. */
int xf_tui_model_work(struct xf_tui_model *model, int64_t nanoseconds, struct xf_error *err);

/* Share of the list that is made, 0 .. 1. */
double xf_tui_model_progress(const struct xf_tui_model *model);

/* Rows so far. */
int64_t xf_tui_model_count(const struct xf_tui_model *model);

/*
 * Sets the filter (NULL or "" = none) and restarts.  A bad one changes nothing; *where is the place
 * of the error in text.
 */
int xf_tui_model_filter(
	struct xf_tui_model *model, const char *text, size_t *where, struct xf_error *err);

/* Sorts; may take long and be interrupted (-XF_INTERRUPTED), then nothing has changed. */
int xf_tui_model_sort(struct xf_tui_model *model, int column, bool backwards, struct xf_error *err);

/* Position of an id, or of the row that stands where it would (-1 = no rows).  *exact: it is there. */
int xf_tui_model_find(struct xf_tui_model *model, int64_t id, int64_t *position, bool *exact,
	struct xf_error *err);

/* Reads rows first .. first+n-1 (fewer at the end) into the window. */
int xf_tui_model_fetch(struct xf_tui_model *model, struct xf_tui_window *window, int64_t first,
	int n, struct xf_error *err);

/* Ids of the rows first .. first+n-1, which exist. */
int xf_tui_model_ids(
	struct xf_tui_model *model, int64_t first, int n, int64_t *ids, struct xf_error *err);

/* A row of the window, NULL = not in it. */
const struct xf_tui_row *xf_tui_window_row(const struct xf_tui_window *window, int64_t position);
void xf_tui_window_free(struct xf_tui_window *window);

/* A cell as text of at most width columns, and its role. */
void xf_tui_model_cell(const struct xf_tui_model *model, const struct xf_tui_window *window,
	int64_t position, int column, int width, char *text, size_t size, enum xf_tui_role *role);

/* Is it a column of text (aligned left)? */
bool xf_tui_column_is_text(const struct xf_tui_column *column);

/* The column of that name, -1 = none. */
int xf_tui_column_by_name(const struct xf_tui_source *source, const char *name);

/* A time (TSC) and a span (cycles) in the unit in use. */
void xf_tui_model_time(const struct xf_tui_model *model, int64_t tsc, char *text, size_t size);
void xf_tui_units_span(const struct xf_tui_units *units, int64_t cycles, char *text, size_t size);

/* "us", "cycles" ...: the unit of times (inner: of those inside a fork) and of spans. */
const char *xf_tui_units_time_name(const struct xf_tui_units *units, bool inner);
const char *xf_tui_units_span_name(const struct xf_tui_units *units);

#endif
