// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Missing records by missing steps.  In: where the states of vCPUs do not follow each other, and the times
 * in which pCPUs have no records.  Out: the few of these times, if there are such, in which most of the
 * missing steps can lie.
 */
#include "collector/trace/clock_align.h"

#include <stdlib.h>
#include <string.h>

#define MOST_GAPS 64 /* that are looked for */
#define FEW_GAPS  2  /* so few need no more than one missing step each */
#define EACH \
	4 /* more of them must explain so many each: idle pCPUs are silent wherever a step is missing */

struct span {
	int64_t first, last; /* on the common clock */
	bool *missing;	     /* what is set if it is one */
};

/* Missing steps that no gap explains yet, once by their begin and once by their end. */
struct missing {
	struct xf_clock_break *by_first, *by_last;
	size_t n;
};

static int by_first(const void *a, const void *b)
{
	const struct xf_clock_break *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static int by_last(const void *a, const void *b)
{
	const struct xf_clock_break *x = a, *y = b;

	return x->last < y->last ? -1 : x->last > y->last;
}

static int64_t common(const struct xf_clock_group *g, size_t i, uint64_t tsc)
{
	int64_t t = xf_clock_time(tsc, g->origin);

	return t - xf_clock_shift_at(&g->lines[i], t);
}

static void add_span(struct span *spans, size_t *n, int64_t first, int64_t last, bool *missing)
{
	*missing = false;
	if (last - first >= XF_CLOCK_SILENT)
		spans[(*n)++] = (struct span){first, last, missing};
}

/* All times without records, also before a pCPU's first record and behind its last. */
static size_t find_spans(
	const struct xf_clock_group *g, struct span *spans, int64_t begin, int64_t end)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++) {
		struct xf_clock_list *list = g->lists[i];

		if (!list->last)
			continue;
		add_span(spans, &n, begin, common(g, i, list->first), &list->model.unseen_before);
		add_span(spans, &n, common(g, i, list->last), end, &list->model.unseen_after);
		for (size_t k = 0; k < list->nsilences; k++)
			add_span(spans, &n, common(g, i, list->silences[k].first),
				common(g, i, list->silences[k].last), &list->silences[k].missing);
	}
	return n;
}

/* How many begin before t (or, by_last, end not after it). */
static size_t until(const struct xf_clock_break *b, size_t n, int64_t t, bool ended)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ended ? b[middle].last <= t : b[middle].first < t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t explained_by(const struct missing *m, const struct span *s)
{
	return until(m->by_first, m->n, s->last, false) - until(m->by_last, m->n, s->first, true);
}

static size_t keep_outside(struct xf_clock_break *b, size_t n, const struct span *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (b[i].first >= s->last || b[i].last <= s->first)
			b[kept++] = b[i];
	return kept;
}

/* Takes the spans that explain most, one by one; they come to stand first.  How many. */
static size_t take(struct span *spans, size_t nspans, struct missing *m)
{
	size_t taken = 0;

	while (taken < nspans && taken < MOST_GAPS && m->n) {
		size_t best = nspans, most = 0;
		struct span s;

		for (size_t i = taken; i < nspans; i++) {
			size_t n = explained_by(m, &spans[i]);

			if (n < most || !n ||
				(n == most && spans[i].last - spans[i].first <=
						      spans[best].last - spans[best].first))
				continue;
			most = n;
			best = i;
		}
		if (best == nspans)
			break;
		s = spans[best];
		spans[best] = spans[taken];
		spans[taken++] = s;
		keep_outside(m->by_last, m->n, &s);
		m->n = keep_outside(m->by_first, m->n, &s);
	}
	return taken;
}

bool xf_clock_find_gaps(
	struct xf_clock_group *g, const struct xf_clock_breaks *breaks, size_t *unexplained)
{
	struct span *spans = malloc(g->n * (XF_CLOCK_SILENCES + 2) * sizeof(*spans));
	struct missing m = {malloc((breaks->n + 1) * sizeof(*m.by_first)),
		malloc((breaks->n + 1) * sizeof(*m.by_last)), breaks->n};
	int64_t begin = INT64_MAX, end = INT64_MIN;
	bool ok = spans && m.by_first && m.by_last;
	size_t n, taken;

	*unexplained = breaks->n;
	for (size_t i = 0; i < g->n; i++) {
		const struct xf_clock_list *list = g->lists[i];

		if (!list->last)
			continue;
		begin = common(g, i, list->first) < begin ? common(g, i, list->first) : begin;
		end = common(g, i, list->last) > end ? common(g, i, list->last) : end;
	}
	n = ok ? find_spans(g, spans, begin, end) : 0;
	if (n && m.n) {
		memcpy(m.by_first, breaks->breaks, m.n * sizeof(*m.by_first));
		memcpy(m.by_last, breaks->breaks, m.n * sizeof(*m.by_last));
		qsort(m.by_first, m.n, sizeof(*m.by_first), by_first);
		qsort(m.by_last, m.n, sizeof(*m.by_last), by_last);
		taken = take(spans, n, &m);
		if (m.n * 10 <= breaks->n &&
			(taken <= FEW_GAPS || taken * EACH <= breaks->n - m.n)) {
			*unexplained = m.n;
			for (size_t i = 0; i < taken; i++)
				*spans[i].missing = true;
		}
	}
	free(spans);
	free(m.by_first);
	free(m.by_last);
	return ok;
}
