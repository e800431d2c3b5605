// SPDX-License-Identifier: GPL-2.0-or-later
/* Escapes of JSON, CSV, HTML and SQL.  In: text.  Out: pieces of it, with what stands for the rest. */
#include "common/escape.h"

#include <stdbool.h>
#include <string.h>

/* What stands for a character; NULL = itself.  code is room for a text that is made. */
typedef const char *replace_fn(unsigned char c, char code[8]);

static const char *replace_json(unsigned char c, char code[8])
{
	if (c == '"' || c == '\\')
		snprintf(code, 8, "\\%c", c);
	else if (c < 0x20)
		snprintf(code, 8, "\\u%04x", c);
	else
		return NULL;
	return code;
}

static const char *replace_csv(unsigned char c, char code[8])
{
	(void)code;
	return c == '"' ? "\"\"" : NULL;
}

static const char *replace_html(unsigned char c, char code[8])
{
	(void)code;
	switch (c) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	default:
		return c < 0x20 ? " " : NULL; /* HTML has no control characters */
	}
}

static const char *replace_sql(unsigned char c, char code[8])
{
	(void)code;
	return c == '\'' ? "''" : NULL;
}

static const struct form {
	replace_fn *replace;
	const char *quote;
} forms[] = {
	[XF_ESCAPE_JSON] = {replace_json, "\""},
	[XF_ESCAPE_CSV] = {replace_csv, "\""},
	[XF_ESCAPE_HTML] = {replace_html, NULL},
	[XF_ESCAPE_SQL] = {replace_sql, "'"},
};

void xf_escape(enum xf_escape how, const char *text, xf_put_fn *put, void *to)
{
	const struct form *form = &forms[how];
	const char *plain = text;
	bool quoted = form->quote && (how != XF_ESCAPE_CSV || text[strcspn(text, ",\"\r\n")]);

	if (quoted)
		put(to, form->quote, 1);
	for (; *text; text++) {
		char code[8];
		const char *instead = form->replace((unsigned char)*text, code);

		if (!instead)
			continue;
		put(to, plain, (size_t)(text - plain));
		put(to, instead, strlen(instead));
		plain = text + 1;
	}
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
