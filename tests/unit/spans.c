// SPDX-License-Identifier: GPL-2.0-or-later
/* Times without records, joined and searched, against a list of all times.  In: nothing.  Out: cases. */
#include "schemas/spans.h"

#include "tests/unit/unit.h"

#define TIMES  200
#define ROUNDS 500

static bool apart(const struct xf_spans *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->at[i].first > s->at[i].last || (i && s->at[i].first <= s->at[i - 1].last))
			return false;
	return true;
}

/* Random spans, with and without overlap; more than the first room has. */
static bool agrees(sqlite3 *db, unsigned n)
{
	sqlite3_str *sql = sqlite3_str_new(db);
	struct xf_spans spans = {NULL, 0};
	bool inside[TIMES] = {false}, good;
	char *text;

	sqlite3_str_appendall(sql, "SELECT * FROM (SELECT 0 AS a, 0 AS b WHERE 0");
	for (unsigned i = 0; i < n; i++) {
		unsigned first = (unsigned)rand() % TIMES, last = first + (unsigned)rand() % 4;

		sqlite3_str_appendf(sql, " UNION ALL VALUES (%u, %u)", first, last);
		for (unsigned t = first; t <= last && t < TIMES; t++)
			inside[t] = true;
	}
	sqlite3_str_appendall(sql, ") ORDER BY a");
	text = sqlite3_str_finish(sql);
	good = text && !xf_spans_load(&spans, db, text, NULL) && apart(&spans);
	for (unsigned t = 0; t < TIMES; t++)
		good = good && xf_spans_hold(&spans, t) == inside[t];
	sqlite3_free(text);
	free(spans.at);
	return good;
}

int main(void)
{
	struct xf_spans spans = {NULL, 0};
	sqlite3 *db;
	bool good = true;

	sqlite3_open(":memory:", &db);
	report("spans: none hold nothing", !xf_spans_hold(&spans, 0) && agrees(db, 0), "");
	for (int i = 0; i < ROUNDS; i++)
		good = good && agrees(db, (unsigned)rand() % 60);
	report("spans: joined and found as in a list of all times", good, "");
	good = !xf_spans_load(&spans, db,
		       "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 999)"
		       " SELECT 10 * i, 10 * i + 3 FROM n",
		       NULL) &&
	       spans.n == 1000 && xf_spans_hold(&spans, 9993) && !xf_spans_hold(&spans, 9994) &&
	       xf_spans_hold(&spans, 0) && !xf_spans_hold(&spans, UINT64_MAX);
	report("spans: a thousand", good, "");
	free(spans.at);
	spans = (struct xf_spans){NULL, 0};
	good = xf_spans_load(&spans, db,
		       "SELECT 0, -1 UNION ALL SELECT 5, 7 UNION ALL SELECT 9, 9 ORDER BY 1",
		       NULL) == 0 &&
	       spans.n == 1 && xf_spans_hold(&spans, UINT64_MAX);
	report("spans: up to the last time there is", good, "");
	free(spans.at);
	sqlite3_close(db);
	return unit_status();
}
