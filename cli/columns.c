// SPDX-License-Identifier: GPL-2.0-or-later
/* Columns by name.  In: a view, a list of names.  Out: its columns, terms of an ORDER BY. */
#include "cli/columns.h"

#include <stdlib.h>
#include <string.h>

#include "common/suggest.h"
#include "schemas/db.h"

void xf_columns_free(struct xf_columns *columns)
{
	for (size_t i = 0; i < columns->n; i++)
		free(columns->name[i]);
	free(columns->name);
	*columns = (struct xf_columns){NULL, 0};
}

static int add(struct xf_columns *columns, const char *name, struct xf_error *err)
{
	char **more = realloc(columns->name, (columns->n + 1) * sizeof(*more));

	if (!more)
		return xf_fail_nomem(err);
	columns->name = more;
	more[columns->n] = strdup(name);
	if (!more[columns->n])
		return xf_fail_nomem(err);
	columns->n++;
	return 0;
}

int xf_columns_of(sqlite3 *db, const char *view, struct xf_columns *all, struct xf_error *err)
{
	char *sql = sqlite3_mprintf("SELECT * FROM %s", view);
	sqlite3_stmt *stmt = NULL;
	int code = sql ? xf_db_prepare(db, &stmt, sql, err) : xf_fail_nomem(err);

	*all = (struct xf_columns){NULL, 0};
	for (int i = 0; !code && i < sqlite3_column_count(stmt); i++)
		code = add(all, sqlite3_column_name(stmt, i), err);
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return code;
}

static int no_such_column(const struct xf_columns *all, const char *name, size_t length,
	const char *option, struct xf_error *err)
{
	char *word = strndup(name, length);
	struct xf_suggest suggest = xf_suggest_for(word ? word : "");
	sqlite3_str *names = sqlite3_str_new(NULL);
	char *text;
	int code;

	for (size_t i = 0; i < all->n; i++) {
		xf_suggest_offer(&suggest, all->name[i]);
		sqlite3_str_appendf(names, "%s%s", i ? ", " : "", all->name[i]);
	}
	text = sqlite3_str_finish(names);
	if (word && text)
		code = xf_fail(err, XF_USAGE, "--%s: there is no column %s%s; there are %s", option,
			*word ? word : "without a name", xf_suggest_text(&suggest), text);
	else
		code = xf_fail_nomem(err);
	sqlite3_free(text);
	free(word);
	return code;
}

int xf_columns_find(const struct xf_columns *all, const char *name, size_t length,
	const char *option, const char **column, struct xf_error *err)
{
	for (size_t i = 0; i < all->n; i++) {
		*column = all->name[i];
		if (strlen(*column) == length && !memcmp(*column, name, length))
			return 0;
	}
	return no_such_column(all, name, length, option, err);
}

int xf_columns_pick(const struct xf_columns *all, const char *list, const char *option,
	struct xf_columns *picked, struct xf_error *err)
{
	const char *column;
	int code;

	*picked = (struct xf_columns){NULL, 0};
	for (;; list++) {
		size_t length = strcspn(list, ",");

		code = xf_columns_find(all, list, length, option, &column, err);
		if (!code)
			code = add(picked, column, err);
		list += length;
		if (code || !*list)
			return code;
	}
}

bool xf_column_goes_up(const char *column)
{
	static const char *const up[] = {"tsc_start", "tsc_end", "tsc_pin", "tsc", "first_tsc",
		"last_tsc", "domid", "domain", "vcpu", "pcpu", "other_vcpu", "pid", "child_pid",
		"comm", "child_comm", "symbol", "kind", "mechanism", "cause", "reach", "confidence",
		"ended_by", "basis", "doubt", "complete", "va", "va_base", "pt_page", "frame",
		"slot", "rip", "gpa", "first_event", "last_event"};
	size_t length = strlen(column);

	if (length > 3 && !strcmp(column + length - 3, "_id"))
		return true;
	for (size_t i = 0; i < sizeof(up) / sizeof(up[0]); i++)
		if (!strcmp(column, up[i]))
			return true;
	return false;
}

void xf_append_order(sqlite3_str *sql, const char *order, bool reverse)
{
	static const char down[] = " DESC";

	for (;; order++) {
		size_t length = strcspn(order, ","), bare = length;
		bool is_down = length > strlen(down) &&
			       !memcmp(order + length - strlen(down), down, strlen(down));

		if (is_down)
			bare -= strlen(down);
		sqlite3_str_append(sql, order, (int)bare);
		sqlite3_str_appendf(
			sql, "%s%s", is_down != reverse ? down : "", order[length] ? "," : "");
		order += length;
		if (!*order)
			return;
	}
}
