/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The keys, once: dispatch, help and the bottom line are made from this table.
 * In: a key and where it was pressed.  Out: a command.
 */
#ifndef XF_TUI_KEYS_H
#define XF_TUI_KEYS_H

#include <stdint.h>

/* Keys are Unicode characters, control characters, or these. */
enum xf_tui_key {
	XF_KEY_NONE = 0,
	XF_KEY_TAB = 9,
	XF_KEY_ENTER = 13,
	XF_KEY_ESC = 27,
	XF_KEY_BACKSPACE = 127,
	XF_KEY_UP = 0x200000,
	XF_KEY_DOWN,
	XF_KEY_LEFT,
	XF_KEY_RIGHT,
	XF_KEY_HOME,
	XF_KEY_END,
	XF_KEY_PGUP,
	XF_KEY_PGDN,
	XF_KEY_DELETE,
	XF_KEY_BACKTAB,
	XF_KEY_F1,
	XF_KEY_CLICK, /* mouse: see xf_tui_event */
	XF_KEY_DOUBLE,
	XF_KEY_WHEEL_UP,
	XF_KEY_WHEEL_DOWN,
	XF_KEY_RESIZE, /* the size changed */
	XF_KEY_STOP,   /* a signal asks to end */
	XF_KEY_LOST,   /* the terminal is gone */
};

#define XF_CTRL(c) ((c)&31)

/* Where a key is valid. */
#define XF_IN_LIST   (1u << 0) /* any view */
#define XF_IN_TOP    (1u << 1) /* a view that Tab reaches */
#define XF_IN_SUB    (1u << 2) /* a view that Enter opened */
#define XF_IN_DOWN   (1u << 3) /* rows open with Enter */
#define XF_IN_EVENTS (1u << 4) /* rows lie at some time */
#define XF_IN_OTHERS (1u << 5) /* shows one vCPU, or all */
#define XF_IN_FORKS  (1u << 6)
#define XF_IN_FOLLOW (1u << 7)
#define XF_IN_PROMPT (1u << 8)
#define XF_IN_MENU   (1u << 9)	/* a box to choose from */
#define XF_IN_TICKS  (1u << 10) /* ... in which rows are ticked */
#define XF_IN_HELP   (1u << 11)
#define XF_IN_FOUND  (1u << 12) /* a search is on */
#define XF_IN_BOX    (XF_IN_MENU | XF_IN_HELP)

/*
 * The views that Tab reaches, in its order: the struct xf_tui_view_ops xf_tui_view_NAME of
 * tui/view_NAME.c, its key, its line in the help.  F(X, name, key, help): X is handed on.
 */
#define XF_TUI_TOP_VIEWS(F, X)                                         \
	F(X, forks, '1', "forks")                                      \
	F(X, pages, '2', "pages: fault sequences, also outside forks") \
	F(X, events, '3', "events")                                    \
	F(X, spurious, '4', "spurious faults")                         \
	F(X, trust, '5', "losses and doubts")                          \
	F(X, info, '6', "info: the capture itself")                    \
	F(X, dirty, '7', "pages dirtied in log-dirty mode")

enum {
#define X(ignored, name, key, help) XF_TUI_TOP_##name,
	XF_TUI_TOP_VIEWS(X, )
#undef X
		XF_TUI_TOPS
};

#define XF_TUI_VIEW_KEY(X, name, key, help) X(VIEW_##name, XF_IN_LIST, key, 0, 0, NULL, help)

/*
 * X(command, where, key, key, key, label in the bottom line or NULL, help).
 * Every bit of `where` that a key needs is named; a key is valid where one of them is given.
 * The order is that of the help and of the bottom line.
 */
#define XF_TUI_KEYS(X)                                                                             \
	X(DOWN, XF_IN_LIST | XF_IN_BOX, XF_KEY_DOWN, 'j', 0, NULL, "next row")                     \
	X(UP, XF_IN_LIST | XF_IN_BOX, XF_KEY_UP, 'k', 0, NULL, "row before")                       \
	X(PAGE_DOWN, XF_IN_LIST | XF_IN_BOX, XF_KEY_PGDN, XF_CTRL('f'), ' ', NULL, "a screen on")  \
	X(PAGE_UP, XF_IN_LIST | XF_IN_BOX, XF_KEY_PGUP, XF_CTRL('b'), 0, NULL, "a screen back")    \
	X(FIRST, XF_IN_LIST | XF_IN_BOX, XF_KEY_HOME, 'g', 0, NULL, "first row")                   \
	X(LAST, XF_IN_LIST | XF_IN_BOX, XF_KEY_END, 'G', 0, NULL,                                  \
		"last row; with --follow stays on the newest")                                     \
	X(RIGHT, XF_IN_LIST, XF_KEY_RIGHT, 'l', 0, NULL, "columns further right")                  \
	X(LEFT, XF_IN_LIST, XF_KEY_LEFT, 'h', 0, NULL, "columns further left")                     \
	X(OPEN, XF_IN_DOWN, XF_KEY_ENTER, '\n', 0, "open", "open the row")                         \
	X(BACK, XF_IN_SUB | XF_IN_FOUND, XF_KEY_ESC, XF_KEY_BACKSPACE, 8, "back",                  \
		"back up; in a list: drop the search, then the filter")                            \
	X(NEXT_VIEW, XF_IN_LIST, XF_KEY_TAB, 0, 0, "views", "next view; a digit goes to one")      \
	X(PREVIOUS_VIEW, XF_IN_LIST, XF_KEY_BACKTAB, 0, 0, NULL, "view before")                    \
	XF_TUI_TOP_VIEWS(XF_TUI_VIEW_KEY, X)                                                       \
	X(SORT, XF_IN_LIST, 's', 0, 0, "sort", "sort by a column")                                 \
	X(REVERSE, XF_IN_LIST, 'r', 0, 0, NULL, "the other way round")                             \
	X(SEARCH, XF_IN_LIST, '/', 0, 0, "search",                                                 \
		"search what the rows show (regular expression)")                                  \
	X(NEXT_MATCH, XF_IN_LIST, 'n', 0, 0, NULL, "next match")                                   \
	X(PREVIOUS_MATCH, XF_IN_LIST, 'N', 0, 0, NULL, "match before")                             \
	X(FILTER, XF_IN_LIST, 'f', 0, 0, "filter", "only some rows: vcpu = d0v1 and ptes > 8")     \
	X(TIME, XF_IN_LIST, 't', 0, 0, "time", "microseconds, TSC cycles, since the start")        \
	X(COLUMNS, XF_IN_LIST, 'C', 0, 0, "columns", "choose columns; says what each means")       \
	X(OTHERS, XF_IN_OTHERS, 'o', 0, 0, "others", "the other vCPUs' events as well, or not")    \
	X(EVENTS, XF_IN_EVENTS, 'e', 0, 0, "events", "all events, from this row's first one on")   \
	X(ONE_FORK, XF_IN_FORKS, 'i', 0, 0, "histogram", "histogram of all forks or the selected") \
	X(YANK, XF_IN_LIST, 'y', 0, 0, NULL, "print the row on exit, as CSV; again: do not")       \
	X(PAUSE, XF_IN_FOLLOW, 'p', 0, 0, "pause", "hold the screen; again: follow")               \
	X(MOUSE, XF_IN_LIST, 'm', 0, 0, NULL, "mouse on or off")                                   \
	X(REDRAW, XF_IN_LIST | XF_IN_BOX | XF_IN_PROMPT, XF_CTRL('l'), 0, 0, NULL, "draw anew")    \
	X(HELP, XF_IN_LIST, '?', XF_KEY_F1, 0, "help", "this text")                                \
	X(QUIT, XF_IN_LIST, 'q', 'Q', 0, "quit", "leave")                                          \
	X(TICK, XF_IN_TICKS, ' ', 'x', 0, "show or hide", "shows or hides the column")             \
	X(CHOOSE, XF_IN_MENU, XF_KEY_ENTER, '\n', 0, "choose", "takes the row")                    \
	X(CLOSE, XF_IN_BOX, XF_KEY_ESC, 'q', XF_KEY_BACKSPACE, "close", "closes the box")          \
	X(DONE, XF_IN_PROMPT, XF_KEY_ENTER, '\n', 0, "go", "takes the text; empty: none")          \
	X(CANCEL, XF_IN_PROMPT, XF_KEY_ESC, XF_CTRL('g'), 0, "cancel", "leaves all as it was")     \
	X(ERASE, XF_IN_PROMPT, XF_KEY_BACKSPACE, 8, 0, NULL, "deletes the character before")       \
	X(DELETE, XF_IN_PROMPT, XF_KEY_DELETE, XF_CTRL('d'), 0, NULL, "deletes the one under it")  \
	X(TEXT_LEFT, XF_IN_PROMPT, XF_KEY_LEFT, XF_CTRL('b'), 0, NULL, "a character left")         \
	X(TEXT_RIGHT, XF_IN_PROMPT, XF_KEY_RIGHT, XF_CTRL('f'), 0, NULL, "a character right")      \
	X(TEXT_START, XF_IN_PROMPT, XF_KEY_HOME, XF_CTRL('a'), 0, NULL, "to the start")            \
	X(TEXT_END, XF_IN_PROMPT, XF_KEY_END, XF_CTRL('e'), 0, NULL, "to the end")                 \
	X(CLEAR, XF_IN_PROMPT, XF_CTRL('u'), 0, 0, "clear", "empties the line")                    \
	X(RECALL, XF_IN_PROMPT, XF_KEY_UP, XF_CTRL('p'), 0, NULL, "the text used last")

enum xf_tui_command {
	XF_DO_NONE,
#define X(command, where, key1, key2, key3, label, help) XF_DO_##command,
	XF_TUI_KEYS(X)
#undef X
		XF_DO_COUNT,
	XF_DO_VIEW_FIRST = XF_DO_VIEW_forks
};

struct xf_tui_key_info {
	unsigned where;
	int keys[3];
	const char *label, *help;
};

/* Indexed by command. */
extern const struct xf_tui_key_info xf_tui_keys[XF_DO_COUNT];

/* The command of a key in a place (bits XF_IN_...), XF_DO_NONE = none. */
enum xf_tui_command xf_tui_command(int key, unsigned where);

/* Name of a key as help shows it, such as "Enter" or "^L"; text has at least 16 bytes. */
const char *xf_tui_key_name(int key, char *text, int size);

/*
 * Reads the next key of a script: a character, or <Name> (<Enter>, <lt>, <C-u>, ...).  Moves *script.
 * Returns the key, 0 at the end, -1 for an unknown name.
 */
int xf_tui_key_parse(const char **script);

#endif
