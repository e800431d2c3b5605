// SPDX-License-Identifier: GPL-2.0-or-later
/* Escapes of every format.  In: bytes.  Out: pieces of them, with what stands for the rest. */
#include "common/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define NO_CHARACTER UINT32_MAX

/* What stands for a character of ASCII; NULL = the general rule. */
typedef const char *replace_fn(unsigned char c);

static const char *replace_json(unsigned char c)
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	default:
		return NULL;
	}
}

static const char *replace_csv(unsigned char c)
{
	return c == '"' ? "\"\"" : NULL;
}

static const char *replace_html(unsigned char c)
{
	switch (c) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\n':
	case '\t':
		return " ";
	default:
		return NULL;
	}
}

static const char *replace_sql(unsigned char c)
{
	return c == '\'' ? "''" : NULL;
}

static const char *replace_copy(unsigned char c)
{
	switch (c) {
	case '\\':
		return "\\\\";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	default:
		return NULL;
	}
}

static const char *replace_nothing(unsigned char c)
{
	(void)c;
	return NULL;
}

/* slash: how a backslash is written in front of a code; json: codes are JSON's own. */
static const struct form {
	replace_fn *replace;
	const char *quote, *slash;
	bool json;
} forms[] = {
	[XF_ESCAPE_TEXT] = {replace_nothing, NULL, "\\", false},
	[XF_ESCAPE_JSON] = {replace_json, "\"", "\\\\", true},
	[XF_ESCAPE_CSV] = {replace_csv, "\"", "\\", false},
	[XF_ESCAPE_HTML] = {replace_html, NULL, "\\", false},
	[XF_ESCAPE_SQL] = {replace_sql, "'", "\\", false},
	[XF_ESCAPE_COPY] = {replace_copy, NULL, "\\\\", false},
};

/* One character, *bytes long; NO_CHARACTER and 1 for a byte that begins none. */
static uint32_t decode(const unsigned char *s, size_t *bytes)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned n = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 : *s >> 3 == 30 ? 4 : 0;
	uint32_t ch = n == 1 ? *s : n ? *s & (0x7fu >> n) : 0;

	*bytes = 1;
	for (unsigned i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return NO_CHARACTER;
		ch = ch << 6 | (s[i] & 0x3f);
	}
	if (!n || ch < smallest[n] || ch > 0x10ffff || (ch >= 0xd800 && ch < 0xe000))
		return NO_CHARACTER;
	*bytes = n;
	return ch;
}

/* Does a terminal or a viewer act on it instead of showing it? */
static bool acts(uint32_t ch)
{
	return ch < 0x20 || (ch >= 0x7f && ch < 0xa0) || ch == 0x200e || ch == 0x200f ||
	       (ch >= 0x2028 && ch <= 0x202e) || (ch >= 0x2066 && ch <= 0x2069) || ch == 0xfeff;
}

static const char *code_of(const struct form *form, uint32_t ch, unsigned char byte, char code[16])
{
	if (ch != NO_CHARACTER && form->json)
		snprintf(code, 16, "\\u%04x", ch);
	else if (ch == NO_CHARACTER || ch < 0x80)
		snprintf(code, 16, "%sx%02x", form->slash, byte);
	else
		snprintf(code, 16, "%su%04x", form->slash, ch);
	return code;
}

/* Would a spreadsheet compute it?  Numbers are no text here. */
static bool is_formula(const char *text)
{
	return *text && strchr("=+-@\t\r", *text);
}

/* Letters, digits and what else no form replaces. */
static bool is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       c == '_';
}

void xf_escape(enum xf_escape how, const char *text, xf_put_fn *put, void *to)
{
	const struct form *form = &forms[how];
	const char *plain = text;
	bool csv = how == XF_ESCAPE_CSV;
	bool quoted = form->quote && (!csv || text[strcspn(text, ",\"\r\n")]);
	size_t bytes;

	if (quoted)
		put(to, form->quote, 1);
	if (csv && is_formula(text))
		put(to, "'", 1);
	for (; *text; text += bytes) {
		const char *instead;
		uint32_t ch;
		char code[16];

		bytes = 1;
		if (is_plain((unsigned char)*text))
			continue;
		ch = decode((const unsigned char *)text, &bytes);
		instead = ch < 0x80 ? form->replace((unsigned char)ch) : NULL;

		if (!instead && (ch == NO_CHARACTER || acts(ch)))
			instead = code_of(form, ch, (unsigned char)*text, code);
		if (!instead)
			continue;
		if (text > plain)
			put(to, plain, (size_t)(text - plain));
		put(to, instead, strlen(instead));
		plain = text + bytes;
	}
	if (text > plain)
		put(to, plain, (size_t)(text - plain));
	if (quoted)
		put(to, form->quote, 1);
}

static void put_file(void *to, const char *bytes, size_t length)
{
	fwrite(bytes, 1, length, to);
}

void xf_escape_to(FILE *file, enum xf_escape how, const char *text)
{
	xf_escape(how, text, put_file, file);
}

struct room {
	char *at;
	size_t left;
};

static void put_room(void *to, const char *bytes, size_t length)
{
	struct room *room = to;

	if (length >= room->left) {
		length = room->left ? room->left - 1 : 0;
		/* never a part of a character */
		while (length && (bytes[length] & 0xc0) == 0x80)
			length--;
		room->left = length + 1;
	}
	memcpy(room->at, bytes, length);
	room->at += length;
	room->left -= length;
	if (room->left == 1)
		room->left = 0;
}

const char *xf_escape_in(char *buffer, size_t size, enum xf_escape how, const char *text)
{
	struct room room = {buffer, size};

	xf_escape(how, text, put_room, &room);
	*room.at = '\0';
	return buffer;
}
