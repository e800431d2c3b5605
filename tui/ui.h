/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of the screen interface: what the files of tui/ share.
 * ui.c holds the state and obeys keys, draw.c lays the screen out, view_*.c say what is in it,
 * term.c and script.c are the two outsides.
 */
#ifndef XF_TUI_UI_H
#define XF_TUI_UI_H

#include <regex.h>
#include <sys/stat.h>

#include "schemas/hap.h"
#include "tui/grid.h"
#include "tui/keys.h"
#include "tui/model.h"
#include "tui/tui.h"

struct xf_tui;
struct xf_tui_view;

/* --- the outside: a terminal or a script --- */

struct xf_tui_event {
	int key;  /* XF_KEY_..., a character, 0 = nothing within the time */
	int x, y; /* of a mouse key */
};

struct xf_tui_screen {
	void *data;
	/* Waits so many milliseconds (-1 = for ever) for a key. */
	struct xf_tui_event (*key)(void *data, int timeout);
	/* Shows the grid; only changed cells are written. */
	void (*draw)(void *data, const struct xf_tui_grid *grid, bool all);
	void (*size)(void *data, int *width, int *height);
	/* False: the terminal has none. */
	bool (*mouse)(void *data, bool on);
};

/* Opens the terminal; close restores it.  See term.c. */
int xf_tui_term_open(
	struct xf_tui_screen *screen, const struct xf_tui_options *options, struct xf_error *err);
void xf_tui_term_close(struct xf_tui_screen *screen);
/* The signal that asked to stop, 0 = none. */
int xf_tui_term_signal(void);

/* Runs options->script; see script.c. */
int xf_tui_script_run(
	sqlite3 *db, const struct xf_tui_options *options, bool utf8, struct xf_error *err);

/* --- search --- */

struct xf_tui_positions {
	int64_t *at;
	size_t n, room;
};

struct xf_tui_search {
	bool on;
	char *text;
	regex_t regex;
	unsigned generation;		       /* of the model */
	int64_t start;			       /* where the search began */
	int64_t ahead, behind;		       /* looked at: start..ahead-1 and 0..behind-1 */
	struct xf_tui_positions after, before; /* matches in the two */
	bool capped;			       /* too many to count them all */
	int wanted;			       /* so many matches on (back) the cursor goes */
	bool stay;			       /* ... unless it is on a match */
	struct xf_tui_window window;
	/* what cannot match, and for which list, columns and unit of time; NULL = nothing is known */
	struct xf_tui_sieve *sieve;
	bool sieved;
	uint64_t shown;
	enum xf_tui_time mode;
	bool direct;
	int64_t low;
};

/* Starts a search from the cursor; bad patterns are refused with their reason. */
int xf_tui_search_start(struct xf_tui_view *view, const char *pattern, struct xf_error *err);
void xf_tui_search_stop(struct xf_tui_view *view);
/* Asks for the next match (1) or the one before (-1). */
void xf_tui_search_next(struct xf_tui_view *view, int direction);
/* Looks further; 1 = there is more to look at. */
int xf_tui_search_work(struct xf_tui_view *view, int64_t nanoseconds, struct xf_error *err);
/* "3 of 40" */
void xf_tui_search_status(const struct xf_tui_view *view, char *text, size_t size);
/* Does a cell match? */
bool xf_tui_search_hit(const struct xf_tui_view *view, const char *text);
/* Does a row match, as far as it is known? */
bool xf_tui_search_row(const struct xf_tui_view *view, int64_t position);

/* --- views --- */

struct xf_tui_view_ops {
	const char *title;
	const struct xf_tui_source *source;
	unsigned where; /* XF_IN_... */
	/* Sets parameters and origin; may fill temporary tables.  The model is made afterwards. */
	int (*open)(struct xf_tui_view *view, struct xf_error *err);
	void (*close)(struct xf_tui_view *view);
	/* One line about the whole. */
	void (*totals)(struct xf_tui_view *view, char *text, size_t size);
	/* Rows wanted below the list, and what is in them; panel may be NULL. */
	int (*panel_rows)(struct xf_tui_view *view, int height);
	void (*panel)(struct xf_tui_view *view, struct xf_tui_grid *grid, int y, int rows);
	/* Enter: the view it opens and its key; NULL = none. */
	const struct xf_tui_view_ops *(*enter)(struct xf_tui_view *view, int64_t *key);
	/* First event of the selected row, -1 = none. */
	int64_t (*event)(struct xf_tui_view *view);
	/* What is computed beside the list; 1 = more to do. */
	int (*work)(struct xf_tui_view *view, int64_t nanoseconds, struct xf_error *err);
	/* The database has changed. */
	int (*refresh)(struct xf_tui_view *view, struct xf_error *err);
	/* Keys of this view alone. */
	int (*command)(struct xf_tui_view *view, enum xf_tui_command command, struct xf_error *err);
	xf_tui_extra *extra;
	/* What a capture of guests with nested paging cannot show here; 0 = it can. */
	enum xf_hap_list missing;
};

struct xf_tui_view {
	const struct xf_tui_view_ops *ops;
	struct xf_tui *ui;
	int64_t key;	/* fork_id, sequence_id ... */
	char title[80]; /* its step in the path */
	struct xf_tui_model model;
	struct xf_tui_window window;
	struct xf_tui_search search;
	int64_t selected; /* id; survives while a filter hides it */
	bool has_selected;
	bool chosen;	       /* the user moved here; else the cursor stays on top */
	int64_t position, top; /* of the cursor; of the first row on screen; -1 = no rows */
	unsigned generation;   /* of the model when position was right */
	bool stick;	       /* stays on the last row */
	int left;	       /* columns scrolled out */
	int rows;	       /* on screen, as last drawn */
	int widths[XF_TUI_MAX_COLUMNS];
	char *missing; /* what an empty list says, of ops->missing; NULL = nothing, or not asked yet */
	bool asked;
	void *data;
};

/* Values of the selected row; NULL = there is none. */
const struct xf_tui_row *xf_tui_selected(const struct xf_tui_view *view);
/* A value of a row by column name; NULL where unknown. */
const struct xf_tui_value *xf_tui_value(
	const struct xf_tui_view *view, const struct xf_tui_row *row, const char *column);
/* The same as an integer, fallback where unknown. */
int64_t xf_tui_integer(const struct xf_tui_view *view, const struct xf_tui_row *row,
	const char *column, int64_t fallback);

/* The same as text: fallback where unknown, or no text. */
const char *xf_tui_text(const struct xf_tui_view *view, const struct xf_tui_row *row,
	const char *column, const char *fallback);

/* Each is the one thing that tui/view_NAME.c shows: those that Tab reaches, and those below them. */
#define X(ignored, name, key, help) extern const struct xf_tui_view_ops xf_tui_view_##name;
XF_TUI_TOP_VIEWS(X, )
#undef X
extern const struct xf_tui_view_ops xf_tui_view_fork, xf_tui_view_page, xf_tui_view_event;

/* --- the whole --- */

struct xf_tui_capture {
	char source[256];
	int64_t records, events, lost, unknown, first, last, hz, doubts, findings;
	bool complete;
	bool has_time;
};

/* Totals over all forks. */
struct xf_tui_totals {
	int64_t forks, pages, ptes, faults, spurious, flushes, cow_faults, incomplete;
};

enum xf_tui_box { XF_BOX_NONE, XF_BOX_HELP, XF_BOX_SORT, XF_BOX_COLUMNS };

struct xf_tui_prompt {
	enum xf_tui_command command; /* SEARCH or FILTER, 0 = no prompt */
	char text[256];
	int length, at; /* bytes */
	int error_at;	/* -1 = no error */
	char error[320];
};

#define XF_TUI_DEPTH 6
#define XF_TUI_YANKS 64

struct xf_tui {
	const struct xf_tui_options *options;
	sqlite3 *db;
	const struct xf_tui_screen *screen;
	struct xf_tui_grid grid;
	struct xf_tui_units units;
	struct xf_tui_capture capture;
	struct xf_tui_totals totals;
	unsigned next_table;

	struct xf_tui_view *tops[XF_TUI_TOPS];
	struct xf_tui_view *stack[XF_TUI_DEPTH]; /* above the top view */
	int top, depth;

	struct xf_tui_prompt prompt;
	char last_search[256], last_filter[256];
	enum xf_tui_box box;
	int box_row, box_top, box_rows;
	int list_y, list_rows; /* where the list was drawn last */
	char message[400];
	bool message_bad;
	bool mouse, paused, quit;
	bool dirty, redraw; /* something changed; draw every cell */
	bool pending;	    /* work is left */

	/* --follow */
	sqlite3_stmt *data_version;
	struct stat
		file; /* the database as it was opened; st_ino 0 = not followed, or part of a fleet */
	bool gone;    /* its name leads somewhere else now */
	int64_t version, polled;
	int64_t rate_lost, rate_time;
	double lost_rate;

	/* a statement that takes long */
	const char *waiting; /* what for; NULL = it may not be stopped by Esc */
	bool background;     /* nobody waits for it: any key stops it and is obeyed */
	int64_t wait_since, wait_looked, wait_shown;
	int64_t seen, seen_low, seen_high; /* ids a sort has looked at */
	bool interrupted;
	int queue[32], queued; /* keys typed meanwhile */

	/* entries per page from which unhooking pays; 0 = unknown */
	double break_even;
	const char *break_even_bound; /* ">=", "~" ... */

	struct {
		const struct xf_tui_source *source;
		int64_t id;
	} yanks[XF_TUI_YANKS];
	int nyanks;
};

/* Opens the forks view on a database; db stays the caller's. */
int xf_tui_open(struct xf_tui *ui, sqlite3 *db, const struct xf_tui_options *options,
	const struct xf_tui_screen *screen, bool utf8, struct xf_error *err);
void xf_tui_close(struct xf_tui *ui);

/* Obeys a key; failures become the message line. */
void xf_tui_key(struct xf_tui *ui, const struct xf_tui_event *event);

/* Does about so many nanoseconds of what is left to compute; true = there is more. */
bool xf_tui_work(struct xf_tui *ui, int64_t nanoseconds);

/* --follow: has the database changed?  Shows it. */
void xf_tui_poll(struct xf_tui *ui);

/* Lays out and fills ui->grid. */
void xf_tui_draw(struct xf_tui *ui);

/* Shows the screen while a statement runs (called from SQLite's progress handler). */
void xf_tui_draw_waiting(struct xf_tui *ui);

/* Prints the rows of `y` as CSV. */
int xf_tui_print_yanks(struct xf_tui *ui, struct xf_error *err);

/* Does a signal ask for the end? */
bool xf_tui_stopped(const struct xf_tui *ui);

/* How the session ended: -XF_GONE where the file that it followed was taken away. */
int xf_tui_result(const struct xf_tui *ui, struct xf_error *err);

/* The view on screen, and where its keys are valid. */
struct xf_tui_view *xf_tui_current(const struct xf_tui *ui);
unsigned xf_tui_where(const struct xf_tui *ui);

/* Moves the cursor to a position (clamped), by the user. */
void xf_tui_move(struct xf_tui_view *view, int64_t position);

/* Reads the rows on screen and puts position, top and selected right. */
int xf_tui_settle(struct xf_tui_view *view, int rows, struct xf_error *err);

/* The message line. */
void xf_tui_say(struct xf_tui *ui, bool bad, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Shows a top view, which is made when it is first asked for. */
int xf_tui_show_top(struct xf_tui *ui, int top, struct xf_error *err);

/* Opens the selected row; leaves the view that was opened last. */
int xf_tui_open_row(struct xf_tui *ui, struct xf_error *err);
void xf_tui_leave(struct xf_tui *ui);

/* Reads the capture's row and the totals of all forks. */
int xf_tui_read_capture(struct xf_tui *ui, struct xf_error *err);

/* Opens all events at one of them, over the view it came from. */
int xf_tui_goto_event(struct xf_tui *ui, int64_t event, struct xf_error *err);

/* Boxes and prompts; see box.c. */
void xf_tui_box_open(struct xf_tui *ui, enum xf_tui_box box);
void xf_tui_box_key(struct xf_tui *ui, int key, enum xf_tui_command command);
void xf_tui_box_draw(struct xf_tui *ui);
void xf_tui_prompt_open(struct xf_tui *ui, enum xf_tui_command command);
void xf_tui_prompt_key(struct xf_tui *ui, int key, enum xf_tui_command command);

/* Obeys a sort or a filter, with Esc to stop it. */
void xf_tui_do_sort(struct xf_tui *ui, int column, bool backwards);
bool xf_tui_do_filter(struct xf_tui *ui, const char *text, size_t *where, struct xf_error *err);

/* Runs a query of one row of integers with two integer parameters; NULL gives 0. */
int xf_tui_query(sqlite3 *db, const char *sql, int64_t a, int64_t b, int64_t *values, int n,
	struct xf_error *err);

#endif
