// SPDX-License-Identifier: GPL-2.0-or-later
/* The key table.  In: keys.  Out: commands, names. */
#include "tui/keys.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const struct xf_tui_key_info xf_tui_keys[XF_DO_COUNT] = {
#define X(command, where, key1, key2, key3, label, help) \
	[XF_DO_##command] = {where, {key1, key2, key3}, label, help},
	XF_TUI_KEYS(X)
#undef X
};

enum xf_tui_command xf_tui_command(int key, unsigned where)
{
	/* the special places first: a menu's Space is not the list's */
	static const unsigned order[] = {XF_IN_TICKS, ~0u};

	for (unsigned pass = 0; key && pass < 2; pass++)
		for (int c = 1; c < XF_DO_COUNT; c++)
			for (int i = 0; i < 3; i++)
				if (xf_tui_keys[c].keys[i] == key &&
					(xf_tui_keys[c].where & where & order[pass]))
					return (enum xf_tui_command)c;
	return XF_DO_NONE;
}

static const struct {
	int key;
	const char *name;
} names[] = {
	{XF_KEY_TAB, "Tab"}, {XF_KEY_ENTER, "Enter"}, {XF_KEY_ESC, "Esc"},
	{XF_KEY_BACKSPACE, "Backspace"}, {XF_KEY_UP, "Up"}, {XF_KEY_DOWN, "Down"},
	{XF_KEY_LEFT, "Left"}, {XF_KEY_RIGHT, "Right"}, {XF_KEY_HOME, "Home"}, {XF_KEY_END, "End"},
	{XF_KEY_PGUP, "PgUp"}, {XF_KEY_PGDN, "PgDn"}, {XF_KEY_DELETE, "Del"},
	{XF_KEY_BACKTAB, "Shift-Tab"}, {XF_KEY_F1, "F1"}, {' ', "Space"},
	{'<', "lt"}, /* scripts only */
};

#define NNAMES (sizeof(names) / sizeof(names[0]))

const char *xf_tui_key_name(int key, char *text, int size)
{
	for (size_t i = 0; i < NNAMES - 1; i++)
		if (names[i].key == key)
			return names[i].name;
	if (key > 0 && key < 32)
		snprintf(text, (size_t)size, "^%c", key + 64);
	else
		snprintf(text, (size_t)size, "%c", key > 32 && key < 127 ? key : '?');
	return text;
}

int xf_tui_key_parse(const char **script)
{
	const char *s = *script, *end = *s == '<' ? strchr(s, '>') : NULL;
	size_t length = end ? (size_t)(end - s - 1) : 0;

	if (!*s)
		return 0;
	if (!end) {
		const unsigned char *u = (const unsigned char *)s;
		int n = *u < 0xc0   ? 1
			: *u < 0xe0 ? 2
			: *u < 0xf0 ? 3
				    : 4,
		    key = *u & (n == 1 ? 0xff : 0x7f >> n);

		*script = s + 1;
		for (int i = 1; i < n && (u[i] & 0xc0) == 0x80; i++) {
			key = key << 6 | (u[i] & 0x3f);
			*script = s + i + 1;
		}
		return key;
	}
	*script = end + 1;
	if (length == 3 && !strncasecmp(s + 1, "C-", 2))
		return XF_CTRL((unsigned char)s[3]);
	for (size_t i = 0; i < NNAMES; i++)
		if (strlen(names[i].name) == length && !strncasecmp(names[i].name, s + 1, length))
			return names[i].key;
	return -1;
}
