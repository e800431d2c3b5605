/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The screen interface: `xenfault tui`.
 * In: a database and how to show it.  Out: a terminal session, or the screens of a script as text.
 */
#ifndef XF_TUI_TUI_H
#define XF_TUI_TUI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

enum xf_tui_color { XF_COLOR_AUTO, XF_COLOR_NEVER, XF_COLOR_8, XF_COLOR_256, XF_COLOR_ALWAYS };

struct sqlite3;

struct xf_tui_options {
	const char *path; /* the database */
	bool follow;	  /* it is being written: show what comes */
	bool ascii;	  /* no Unicode, whatever the locale says */
	bool mouse;
	enum xf_tui_color color;
	uint64_t cpu_hz;   /* 0 = what the database says */
	double break_even; /* PTEs per page at which unhooking begins to pay, 0 = unknown */
	/*
	 * How to find it in the capture, NULL = not at all: fills *value (0 = unknown) and *bound (a
	 * string that lives on: "", ">=", "<=", "~").  Stops with -XF_INTERRUPTED when the database is.
	 */
	int (*find_break_even)(struct sqlite3 *db, double *value, const char **bound);
	bool (*stop)(void); /* true: a signal asks for the end; NULL = only the terminal's own */
	const char *script; /* keys instead of a terminal, NULL = none; @FILE = one script a line */
	int width, height;  /* of the script's screen */
	FILE *output;	    /* for the script's screens and the rows of `y` */
};

/* "auto", "never", "always", "8", "256" -> color; -1 for anything else. */
int xf_tui_color_by_name(const char *name);

/*
 * Shows the database until the user leaves.  The locale is set (LC_CTYPE).  Fails with -XF_USAGE where
 * there is no terminal to use (the text names what to run instead), -XF_MISSING where this build has
 * no curses and there is no script.
 */
int xf_tui_run(const struct xf_tui_options *options, struct xf_error *err);

#endif
