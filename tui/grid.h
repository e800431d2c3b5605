/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A screen as cells of {character, role}; what views draw on.
 * In: text with a role.  Out: cells, for the terminal (term.c) or for a file (script.c).
 */
#ifndef XF_TUI_GRID_H
#define XF_TUI_GRID_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

/*
 * X(enum, mark, attributes, colour of 8, colour of 256, meaning).  Attributes hold in mono and in
 * colour: N none, B bold, R reverse, U underline, D dim.  Colours: -1 = the terminal's own.
 * The mark names the role in screens printed by a script.
 */
#define XF_TUI_ROLES(X)                                                     \
	X(NORMAL, '.', N, -1, -1, "text")                                   \
	X(TITLE, 'T', R, -1, -1, "top line")                                \
	X(TRUST, '!', R | B, 1, 160, "top line: loss, cut capture, doubts") \
	X(HEADER, 'H', U, 6, 37, "column titles")                           \
	X(SORTED, 'h', U | B, 6, 44, "title of the sorted column")          \
	X(CURSOR, '>', R, -1, -1, "selected row")                           \
	X(MATCH, 'm', B | U, 3, 220, "matches the search")                  \
	X(KEY, 'K', B, -1, -1, "a key")                                     \
	X(LABEL, 'L', N, 6, 37, "what a key does, names of values")         \
	X(DIM, 'd', D, -1, 245, "unknown, frames, less important")          \
	X(GOOD, 'g', N, 2, 71, "nothing wrong")                             \
	X(WARN, 'w', B, 3, 214, "incomplete or doubtful")                   \
	X(ERROR, 'E', B | R, 1, 203, "failure, spurious work")              \
	X(BAR, 'b', N, 4, 68, "bars and strips")                            \
	X(EMULATE, 'e', N, 4, 68, "emulated write")                         \
	X(UNHOOK, 'u', B, 5, 170, "unhook")                                 \
	X(REHOOK, 'r', B, 2, 71, "rehook")                                  \
	X(FAULT, 'f', N, 3, 214, "page fault, fixup")                       \
	X(FLUSH, 'x', N, 6, 37, "TLB flush")                                \
	X(BATCH, 'c', N, -1, 245, "hypercalls")                             \
	X(PROMPT, 'P', B, -1, -1, "input line")

enum xf_tui_role {
#define X(name, mark, attributes, of8, of256, meaning) XF_TUI_##name,
	XF_TUI_ROLES(X)
#undef X
		XF_TUI_ROLE_COUNT
};

/* Shapes that exist in Unicode and in ASCII. */
enum xf_tui_glyph {
	XF_GLYPH_LEVEL0, /* none ... LEVEL0 + 8 all, in eighths */
	XF_GLYPH_LEVEL8 = XF_GLYPH_LEVEL0 + 8,
	XF_GLYPH_PART0, /* of a bar that grows to the right, in eighths */
	XF_GLYPH_PART8 = XF_GLYPH_PART0 + 8,
	XF_GLYPH_MORE, /* text goes on */
	XF_GLYPH_PATH, /* between the steps of a path */
	XF_GLYPH_UP,
	XF_GLYPH_DOWN,
	XF_GLYPH_LINE,	/* horizontal */
	XF_GLYPH_VLINE, /* vertical */
	XF_GLYPH_COUNT
};

struct xf_tui_cell {
	uint32_t ch; /* 0 = right half of a wide character */
	uint8_t role;
};

struct xf_tui_grid {
	int width, height;
	int cursor_x, cursor_y; /* of a prompt; -1 = none */
	bool utf8;		/* may hold more than ASCII */
	struct xf_tui_cell *cells;
};

/* Sets the size and clears; may allocate. */
int xf_tui_grid_resize(struct xf_tui_grid *grid, int width, int height, struct xf_error *err);
void xf_tui_grid_clear(struct xf_tui_grid *grid);
void xf_tui_grid_free(struct xf_tui_grid *grid);

/*
 * Writes UTF-8 text at x, y in at most limit columns, clipped to the grid; returns the columns used.
 * What is not text (control characters, broken UTF-8, non-ASCII where it cannot be shown) becomes ?.
 */
int xf_tui_put(
	struct xf_tui_grid *grid, int x, int y, int limit, enum xf_tui_role role, const char *text);
int xf_tui_putf(struct xf_tui_grid *grid, int x, int y, int limit, enum xf_tui_role role,
	const char *format, ...) __attribute__((format(printf, 6, 7)));

/* One character; outside the grid: nothing. */
void xf_tui_set(struct xf_tui_grid *grid, int x, int y, enum xf_tui_role role, uint32_t ch);

/* Blank cells of a role. */
void xf_tui_fill(struct xf_tui_grid *grid, int x, int y, int width, enum xf_tui_role role);

/* Changes the role only. */
void xf_tui_paint(struct xf_tui_grid *grid, int x, int y, int width, enum xf_tui_role role);

/* Columns that text takes. */
int xf_tui_width(const struct xf_tui_grid *grid, const char *text);

/* The character of a shape. */
uint32_t xf_tui_glyph(const struct xf_tui_grid *grid, int glyph);

/* A bar of at most width columns, part/whole of it filled. */
void xf_tui_bar(
	struct xf_tui_grid *grid, int x, int y, int width, double share, enum xf_tui_role role);

/* One character as UTF-8 into text (5 bytes); returns its length. */
int xf_tui_utf8(char *text, uint32_t ch);

/* Prints the screen as text; with roles, then a line per line of it: counts and marks of roles. */
void xf_tui_grid_print(const struct xf_tui_grid *grid, FILE *file, bool roles);

#endif
