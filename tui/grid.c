// SPDX-License-Identifier: GPL-2.0-or-later
/* Cells of {character, role}.  In: text.  Out: cells; no terminal is needed. */
#include "tui/grid.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

int xf_tui_grid_resize(struct xf_tui_grid *grid, int width, int height, struct xf_error *err)
{
	width = width < 1 ? 1 : width > 4096 ? 4096 : width;
	height = height < 1 ? 1 : height > 4096 ? 4096 : height;
	if (width != grid->width || height != grid->height || !grid->cells) {
		struct xf_tui_cell *cells =
			calloc((size_t)width * (size_t)height, sizeof(*grid->cells));

		if (!cells)
			return xf_fail_nomem(err);
		free(grid->cells);
		grid->cells = cells;
		grid->width = width;
		grid->height = height;
	}
	xf_tui_grid_clear(grid);
	return 0;
}

void xf_tui_grid_clear(struct xf_tui_grid *grid)
{
	for (int y = 0; y < grid->height; y++)
		xf_tui_fill(grid, 0, y, grid->width, XF_TUI_NORMAL);
	grid->cursor_x = grid->cursor_y = -1;
}

void xf_tui_grid_free(struct xf_tui_grid *grid)
{
	free(grid->cells);
	*grid = (struct xf_tui_grid){0};
}

void xf_tui_set(struct xf_tui_grid *grid, int x, int y, enum xf_tui_role role, uint32_t ch)
{
	if (x < 0 || y < 0 || x >= grid->width || y >= grid->height)
		return;
	grid->cells[(size_t)y * (size_t)grid->width + (size_t)x] =
		(struct xf_tui_cell){ch, (uint8_t)role};
}

void xf_tui_fill(struct xf_tui_grid *grid, int x, int y, int width, enum xf_tui_role role)
{
	for (int i = 0; i < width; i++)
		xf_tui_set(grid, x + i, y, role, ' ');
}

void xf_tui_paint(struct xf_tui_grid *grid, int x, int y, int width, enum xf_tui_role role)
{
	if (y < 0 || y >= grid->height)
		return;
	for (int i = x < 0 ? -x : 0; i < width && x + i < grid->width; i++)
		grid->cells[(size_t)y * (size_t)grid->width + (size_t)(x + i)].role = (uint8_t)role;
}

/* Decodes one character, moves *text behind it; 0xfffd for bytes that are none. */
static uint32_t decode(const char **text)
{
	const unsigned char *s = (const unsigned char *)*text;
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	int n = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 : *s >> 3 == 30 ? 4 : 0;
	uint32_t ch = n == 1 ? *s : n ? *s & (0x7fu >> n) : 0;

	for (int i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80) {
			n = 0;
			break;
		}
		ch = ch << 6 | (s[i] & 0x3f);
	}
	if (!n || ch < smallest[n] || ch > 0x10ffff || (ch >= 0xd800 && ch < 0xe000)) {
		*text += 1;
		return 0xfffd;
	}
	*text += n;
	return ch;
}

/* The next character as it can be shown, and the columns it takes (0 = leave it out). */
static uint32_t shown(const struct xf_tui_grid *grid, const char **text, int *columns)
{
	uint32_t ch = decode(text);

	*columns = 1;
	if (ch < 0x20 || ch == 0x7f)
		return '?';
	if (ch < 0x7f)
		return ch;
	if (!grid->utf8)
		return '?';
	*columns = wcwidth((wchar_t)ch);
	if (*columns < 0) {
		*columns = 1;
		return '?';
	}
	return ch;
}

int xf_tui_put(
	struct xf_tui_grid *grid, int x, int y, int limit, enum xf_tui_role role, const char *text)
{
	int used = 0, columns;

	while (*text) {
		uint32_t ch = shown(grid, &text, &columns);

		if (used + columns > limit || x + used + columns > grid->width) {
			/* what is cut says so */
			if (used)
				xf_tui_set(grid, x + used - 1, y, role,
					xf_tui_glyph(grid, XF_GLYPH_MORE));
			break;
		}
		if (columns)
			xf_tui_set(grid, x + used, y, role, ch);
		if (columns == 2)
			xf_tui_set(grid, x + used + 1, y, role, 0);
		used += columns;
	}
	return used;
}

int xf_tui_putf(struct xf_tui_grid *grid, int x, int y, int limit, enum xf_tui_role role,
	const char *format, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return xf_tui_put(grid, x, y, limit, role, text);
}

int xf_tui_width(const struct xf_tui_grid *grid, const char *text)
{
	int used = 0, columns;

	while (*text) {
		shown(grid, &text, &columns);
		used += columns;
	}
	return used;
}

uint32_t xf_tui_glyph(const struct xf_tui_grid *grid, int glyph)
{
	static const struct {
		uint32_t utf8;
		char ascii;
	} glyphs[XF_GLYPH_COUNT] = {
		[XF_GLYPH_LEVEL0] = {0xb7, '.'},
		[XF_GLYPH_LEVEL0 + 1] = {0x2581, '1'},
		[XF_GLYPH_LEVEL0 + 2] = {0x2582, '2'},
		[XF_GLYPH_LEVEL0 + 3] = {0x2583, '3'},
		[XF_GLYPH_LEVEL0 + 4] = {0x2584, '4'},
		[XF_GLYPH_LEVEL0 + 5] = {0x2585, '5'},
		[XF_GLYPH_LEVEL0 + 6] = {0x2586, '6'},
		[XF_GLYPH_LEVEL0 + 7] = {0x2587, '7'},
		[XF_GLYPH_LEVEL8] = {0x2588, '#'},
		[XF_GLYPH_PART0] = {' ', ' '},
		[XF_GLYPH_PART0 + 1] = {0x258f, '.'},
		[XF_GLYPH_PART0 + 2] = {0x258e, '.'},
		[XF_GLYPH_PART0 + 3] = {0x258d, '-'},
		[XF_GLYPH_PART0 + 4] = {0x258c, '-'},
		[XF_GLYPH_PART0 + 5] = {0x258b, '='},
		[XF_GLYPH_PART0 + 6] = {0x258a, '='},
		[XF_GLYPH_PART0 + 7] = {0x2589, '#'},
		[XF_GLYPH_PART8] = {0x2588, '#'},
		[XF_GLYPH_MORE] = {0x2026, '~'},
		[XF_GLYPH_PATH] = {0x203a, '>'},
		[XF_GLYPH_UP] = {0x25b2, '^'},
		[XF_GLYPH_DOWN] = {0x25bc, 'v'},
		[XF_GLYPH_LINE] = {0x2500, '-'},
		[XF_GLYPH_VLINE] = {0x2502, '|'},
	};

	return grid->utf8 ? glyphs[glyph].utf8 : (uint32_t)glyphs[glyph].ascii;
}

void xf_tui_bar(
	struct xf_tui_grid *grid, int x, int y, int width, double share, enum xf_tui_role role)
{
	int eighths = share <= 0 ? 0 : share >= 1 ? width * 8 : (int)(share * width * 8 + 0.5);

	if (share > 0 && !eighths)
		eighths = 1;
	for (int i = 0; i < width; i++) {
		int part = eighths - i * 8;

		part = part < 0 ? 0 : part > 8 ? 8 : part;
		xf_tui_set(grid, x + i, y, role, xf_tui_glyph(grid, XF_GLYPH_PART0 + part));
	}
}

int xf_tui_utf8(char *text, uint32_t ch)
{
	int n = ch < 0x80 ? 1 : ch < 0x800 ? 2 : ch < 0x10000 ? 3 : 4;

	if (n == 1) {
		text[0] = (char)ch;
	} else {
		for (int i = n - 1; i > 0; i--, ch >>= 6)
			text[i] = (char)(0x80 | (ch & 0x3f));
		text[0] = (char)(0xf00u >> n | ch);
	}
	text[n] = '\0';
	return n;
}

void xf_tui_grid_print(const struct xf_tui_grid *grid, FILE *file, bool roles)
{
	static const char marks[] = {
#define X(name, mark, attributes, of8, of256, meaning) mark,
		XF_TUI_ROLES(X)
#undef X
	};

	for (int y = 0; y < grid->height; y++) {
		const struct xf_tui_cell *row = &grid->cells[(size_t)y * (size_t)grid->width];
		int last = grid->width;

		while (last > 0 && row[last - 1].ch == ' ')
			last--;
		for (int x = 0; x < last; x++) {
			char text[5];

			if (row[x].ch && xf_tui_utf8(text, row[x].ch))
				fputs(text, file);
		}
		fputc('\n', file);
	}
	for (int y = 0; roles && y < grid->height; y++) {
		const struct xf_tui_cell *row = &grid->cells[(size_t)y * (size_t)grid->width];

		for (int x = 0, n; x < grid->width; x += n) {
			for (n = 1; x + n < grid->width && row[x + n].role == row[x].role;)
				n++;
			fprintf(file, "%d%c", n, marks[row[x].role]);
		}
		fputc('\n', file);
	}
}
