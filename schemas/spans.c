// SPDX-License-Identifier: GPL-2.0-or-later
/* Times without records.  In: rows.  Out: spans apart from each other. */
#include "schemas/spans.h"

#include <stdlib.h>

#include "schemas/db.h"

static int add(
	struct xf_spans *s, size_t *room, uint64_t first, uint64_t last, struct xf_error *err)
{
	if (s->n && first <= s->at[s->n - 1].last) {
		if (last > s->at[s->n - 1].last)
			s->at[s->n - 1].last = last;
		return 0;
	}
	if (s->n == *room) {
		size_t more = *room ? 2 * *room : 64;
		void *at = realloc(s->at, more * sizeof(*s->at));

		if (!at)
			return xf_fail_nomem(err);
		s->at = at;
		*room = more;
	}
	s->at[s->n].first = first;
	s->at[s->n++].last = last;
	return 0;
}

int xf_spans_load(struct xf_spans *spans, sqlite3 *db, const char *sql, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	size_t room = 0;
	int code = xf_db_prepare(db, &stmt, sql, err);

	while (!code && (code = xf_db_step(stmt, err)) == 1)
		code = add(spans, &room, (uint64_t)sqlite3_column_int64(stmt, 0),
			(uint64_t)sqlite3_column_int64(stmt, 1), err);
	sqlite3_finalize(stmt);
	return code;
}

bool xf_spans_hold(const struct xf_spans *spans, uint64_t tsc)
{
	size_t low = 0, high = spans->n;

	/* they are apart: the last one that begins before decides */
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (spans->at[middle].first <= tsc)
			low = middle + 1;
		else
			high = middle;
	}
	return low && spans->at[low - 1].last >= tsc;
}
