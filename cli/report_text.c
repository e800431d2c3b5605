// SPDX-License-Identifier: GPL-2.0-or-later
/* Text, numbers and tables of the report.  In: rows.  Out: HTML. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "cli/report.h"
#include "common/escape.h"
#include "schemas/db.h"

void xf_html_text(FILE *file, const char *text)
{
	xf_escape_to(file, XF_ESCAPE_HTML, text ? text : "");
}

const char *xf_html_number(int64_t value, char *text, size_t size)
{
	char digits[24];
	size_t n, used = 0;

	snprintf(digits, sizeof(digits), "%llu",
		value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value);
	n = strlen(digits);
	if (value < 0 && used + 1 < size)
		text[used++] = '-';
	for (size_t i = 0; i < n && used + 2 < size; i++) {
		if (i && (n - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	text[used] = '\0';
	return text;
}

const char *xf_html_time(const struct xf_report *r, double cycles, char *text, size_t size)
{
	static const struct {
		double factor;
		const char *seconds, *cycles;
	} units[] = {{1e9, NULL, "G cycles"}, {1e6, "s", "M cycles"}, {1e3, "ms", "k cycles"},
		{1, "µs", "cycles"}};
	int decimals;
	double value = r->hz ? cycles * 1e6 / (double)r->hz : cycles;

	if (value == 0) /* of one record only */
		return "0";
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const char *unit = r->hz ? units[i].seconds : units[i].cycles;

		if (!unit || (fabs(value) < units[i].factor && units[i].factor > 1))
			continue;
		value /= units[i].factor;
		decimals = !r->hz && i == 3 ? 0 : fabs(value) < 10 ? 2 : fabs(value) < 100 ? 1 : 0;
		snprintf(text, size, "%.*f %s", decimals, value, unit);
		return text;
	}
	return "";
}

static char kind_of(const char *name)
{
	size_t n = strlen(name);

	return n && strchr("#@$", name[n - 1]) ? name[n - 1] : '\0';
}

static void cell(struct xf_report *r, sqlite3_stmt *stmt, int i)
{
	char kind = kind_of(sqlite3_column_name(stmt, i)), text[64];
	FILE *file = r->file;

	fputs(kind == '#' || kind == '@' ? "<td class=\"n\">" : "<td>", file);
	if (sqlite3_column_type(stmt, i) == SQLITE_NULL)
		fputs("–", file);
	else if (kind == '#' && sqlite3_column_type(stmt, i) == SQLITE_INTEGER)
		fputs(xf_html_number(sqlite3_column_int64(stmt, i), text, sizeof(text)), file);
	else if (kind == '#')
		fprintf(file, "%.2f", sqlite3_column_double(stmt, i));
	else if (kind == '@')
		fputs(xf_html_time(r, sqlite3_column_double(stmt, i), text, sizeof(text)), file);
	else if (kind == '$')
		fprintf(file, "<code>0x%llx</code>",
			(unsigned long long)sqlite3_column_int64(stmt, i));
	else
		xf_html_text(file, xf_db_text(stmt, i));
	fputs("</td>", file);
}

static void head(struct xf_report *r, sqlite3_stmt *stmt, const char *caption)
{
	fputs("<div class=\"scroll\" tabindex=\"0\"><table><caption>", r->file);
	xf_html_text(r->file, caption);
	fputs("</caption><thead><tr>", r->file);
	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		const char *name = sqlite3_column_name(stmt, i);
		char kind = kind_of(name), text[64];

		snprintf(text, sizeof(text), "%.*s", (int)strlen(name) - (kind != '\0'), name);
		fprintf(r->file, "<th scope=\"col\"%s>",
			kind == '#' || kind == '@' ? " class=\"n\"" : "");
		xf_html_text(r->file, text);
		fputs("</th>", r->file);
	}
	fputs("</tr></thead><tbody>\n", r->file);
}

int xf_report_table(struct xf_report *r, const char *caption, const char *sql, const char *note,
	struct xf_error *err)
{
	sqlite3_stmt *stmt;
	bool any = false;
	int code = xf_db_prepare(r->db, &stmt, sql, err);

	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		if (!any)
			head(r, stmt, caption);
		any = true;
		fputs("<tr>", r->file);
		for (int i = 0; i < sqlite3_column_count(stmt); i++)
			cell(r, stmt, i);
		fputs("</tr>\n", r->file);
		code = 0;
	}
	sqlite3_finalize(stmt);
	if (any)
		fputs("</tbody></table></div>\n", r->file);
	else if (note)
		fprintf(r->file, "<p>%s</p>\n", note);
	return code;
}
