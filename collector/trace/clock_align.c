// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fit of many pCPUs' clocks.  In: the steps of each.  Out: a line for each clock that is wrong, so that
 * the states of all vCPUs follow each other.
 */
#include "collector/trace/clock_align.h"

#include <stdlib.h>
#include <string.h>

#include "common/map.h"

#define GUESS 1024 /* steps by which a first guess is made */
#define MANY  8	   /* of more pCPUs only those that most contradicts are tried */
#define FEW   3
#define TIGHT (1 << 24) /* cycles between bounds that are tight */

/* A list's steps on the common origin, their vCPUs by number. */
static bool load(struct xf_clock_side *side, uint32_t number_of_list,
	const struct xf_clock_list *list, const struct xf_clocks *clocks, uint64_t origin,
	struct xf_map *numbers)
{
	int64_t latest = INT64_MIN;

	side->steps = malloc((list->n + 1) * sizeof(*side->steps));
	side->n = list->n;
	if (!side->steps)
		return false;
	for (size_t i = 0; i < list->n; i++) {
		const struct xf_clock_step *s = &list->steps[i];
		struct xf_clock_merged *to = &side->steps[i];
		uint64_t *number = NULL;

		*to = (struct xf_clock_merged){xf_clock_time(s->tsc, origin), s->vcpu, s->pass,
			number_of_list, (uint8_t)s->from, (uint8_t)s->to,
			i && xf_clock_left_out(clocks, list->steps[i - 1].pass, s->pass)};
		/* the order of a pCPU is the truth, also where its TSC steps back */
		latest = to->t = to->t < latest ? latest : to->t;
		if (s->vcpu == XF_CLOCK_LOSS)
			continue;
		number = xf_map_put(numbers, s->vcpu);
		if (!number)
			return false;
		*number = *number ? *number : numbers->count;
		to->vcpu = (uint32_t)*number - 1;
	}
	return true;
}

/* Two sides into one; frees both. */
static bool join(struct xf_clock_side *a, struct xf_clock_side *b)
{
	struct xf_clock_merged *all = malloc((a->n + b->n + 1) * sizeof(*all));
	size_t i = 0, k = 0, n = 0;

	while (all && (i < a->n || k < b->n)) {
		if (k == b->n || (i < a->n && a->steps[i].t <= b->steps[k].t))
			all[n++] = a->steps[i++];
		else
			all[n++] = b->steps[k++];
	}
	free(a->steps);
	free(b->steps);
	*a = (struct xf_clock_side){all, n};
	*b = (struct xf_clock_side){0};
	return all != NULL;
}

/* Those of n lists but one (except; none: SIZE_MAX), each with its line. */
static bool join_lists(struct xf_clock_side *all, const struct xf_clock_side *sides, size_t n,
	size_t except, const struct xf_clock_line *lines)
{
	struct xf_clock_side more = {0};
	size_t half = n / 2;

	*all = (struct xf_clock_side){0};
	if (n > 1) {
		bool ok = join_lists(all, sides, half, except, lines) &&
			  join_lists(&more, sides + half, n - half,
				  except == SIZE_MAX || except < half ? SIZE_MAX : except - half,
				  lines + half);

		if (ok)
			return join(all, &more);
		free(more.steps);
		return false;
	}
	if (!n || except == 0)
		return true;
	all->steps = malloc((sides->n + 1) * sizeof(*all->steps));
	if (!all->steps)
		return false;
	for (; all->n < sides->n; all->n++) {
		all->steps[all->n] = sides->steps[all->n];
		all->steps[all->n].t -= xf_clock_shift_at(lines, all->steps[all->n].t);
	}
	return true;
}

/* All lists, or all but one (except; n = all), each with its line. */
static bool join_all(struct xf_clock_side *all, const struct xf_clock_side *sides, size_t n,
	size_t except, const struct xf_clock_line *lines)
{
	free(all->steps);
	return join_lists(all, sides, n, except == n ? SIZE_MAX : except, lines);
}

/* Merges all with their lines; bounds and contradictions by list. */
static bool judge(struct xf_clock_group *g)
{
	static const struct xf_clock_line none = {0, 0};

	if (!join_all(&g->f.fixed, g->sides, g->n, g->n, g->lines))
		return false;
	for (size_t i = 0; i < g->n; i++) {
		g->against[i] = (struct xf_clock_against){.low = XF_CLOCK_NONE, .high = INT64_MAX};
	}
	g->f.nagainst = g->n;
	g->f.shifted = (struct xf_clock_side){0};
	g->f.list = UINT32_MAX;
	g->f.against = g->against;
	xf_clock_merge(&g->f, &none, 0, NULL);
	g->f.against = NULL;
	return true;
}

/* Looks for gaps with the lines as they are; *left: breaks that they do not explain. */
static bool find_gaps(struct xf_clock_group *g, size_t *left)
{
	static const struct xf_clock_line none = {0, 0};
	uint64_t overlaps = g->f.overlaps, breaks = g->f.breaks;

	*left = breaks;
	/* switches alone do not come in the order of what they tell, where a vCPU is moved by force */
	if (!breaks || !g->runstates)
		return true;
	if (!join_all(&g->f.fixed, g->sides, g->n, g->n, g->lines))
		return false;
	g->f.shifted = (struct xf_clock_side){0};
	g->f.list = UINT32_MAX;
	g->f.found = &g->breaks;
	xf_clock_merge(&g->f, &none, 0, NULL);
	g->f.found = NULL;
	g->f.overlaps = overlaps;
	g->f.breaks = breaks;
	return !g->breaks.failed && xf_clock_find_gaps(g, &g->breaks, left);
}

/* Do passes say that zero is impossible for this pCPU against the reference? */
static bool read_later(struct xf_clock_group *g, size_t reference, size_t i, bool *ok)
{
	struct xf_clock_bounds passes = {0};
	bool later;

	g->f.fixed = g->sides[reference];
	g->f.shifted = g->sides[i];
	*ok = xf_clock_bound_by_passes(&g->f, &passes);
	later = *ok && !xf_clock_allows_zero(&passes);
	g->f.fixed = (struct xf_clock_side){0};
	free(passes.bounds);
	return later;
}

/*
 * Where more than one clock is wrong, none fits to all others: a first guess of each against the reference
 * alone.
 */
static bool guess(struct xf_clock_group *g, size_t reference)
{
	bool ok = true;

	memset(g->lines, 0, g->n * sizeof(*g->lines));
	for (size_t i = 0; i < g->n && ok; i++) {
		if (i == reference || !g->sides[i].n || g->f.work > XF_CLOCK_WORK)
			continue;
		ok = join_all(&g->f.fixed, g->sides + reference, 1, 1, g->lines + reference);
		g->f.shifted = g->sides[i];
		g->f.list = (uint32_t)i;
		ok = ok && xf_clock_first_shift(&g->f, GUESS, &g->lines[i]);
	}
	return ok && judge(g);
}

static bool same_line(const struct xf_clock_line *x, const struct xf_clock_line *y)
{
	return x->a == y->a && x->b == y->b;
}

/* All lines against that of one clock: its time is that of all. */
static bool shift_all(struct xf_clock_group *g, size_t reference)
{
	struct xf_clock_line base = g->lines[reference];

	for (size_t i = 0; i < g->n; i++) {
		/* the time of the reference, by the common time that its line gives */
		double a = (double)(g->lines[i].a - base.a);

		g->lines[i].a += (int64_t)(a * (base.b / (1 - base.b))) - base.a;
		g->lines[i].b = (g->lines[i].b - base.b) / (1 - base.b);
	}
	return judge(g);
}

/* The same, unless one clock is right already. */
static bool rebase(struct xf_clock_group *g, size_t reference)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->sides[i].n && !g->lines[i].a && g->lines[i].b == 0)
			return true;
	return shift_all(g, reference);
}

/*
 * The next list to be tried: that with the most contradictions; of many only a few are.  At equal ones the
 * higher pCPU, so that the lowest stays the reference.  n = no more.
 */
static size_t most_blamed(const struct xf_clock_group *g, size_t fixed, bool *tried)
{
	size_t best = g->n, count = 0;
	uint64_t most = 0;

	/* with very many steps the doubt must do */
	if (g->f.work > XF_CLOCK_WORK)
		return g->n;
	for (size_t i = g->n; i-- > 0;) {
		uint64_t blame = 1 + 1000 * g->against[i].overlaps + g->against[i].blame;

		count += tried[i];
		if (tried[i] || i == fixed || !g->sides[i].n || blame <= most)
			continue;
		most = blame;
		best = i;
	}
	if (best == g->n || (g->n > MANY && count >= FEW))
		return g->n;
	tried[best] = true;
	return best;
}

/*
 * Fits one pCPU after the other to all others, each time the one by which most is won; of two that disagree
 * the lower one is the reference.  fixed: this one is not to be touched (n = none).
 */
static bool descend(struct xf_clock_group *g, size_t fixed)
{
	bool *tried = malloc(g->n), ok = tried != NULL;
	uint64_t least = 1;

	for (size_t round = 1; round < 2 * g->n && ok && least; round++) {
		struct xf_clock_line best_line_of = {0, 0}, line;
		size_t best = g->n, i;

		ok = judge(g);
		/* where only the passes contradict each other there is something to be won as well */
		least = xf_clock_badness(&g->f) + (round == 1 && !xf_clock_badness(&g->f));
		memset(tried, 0, g->n);
		while (ok && (i = most_blamed(g, fixed, tried)) < g->n) {
			ok = join_all(&g->f.fixed, g->sides, g->n, i, g->lines);
			g->f.shifted = g->sides[i];
			g->f.list = (uint32_t)i;
			if (!ok || !(ok = xf_clock_fit_one(&g->f, &line)))
				break;
			xf_clock_merge(&g->f, &line, g->sides[i].n, NULL);
			if (xf_clock_badness(&g->f) >= least)
				continue;
			least = xf_clock_badness(&g->f);
			best = i;
			best_line_of = line;
		}
		if (best == g->n)
			break;
		g->lines[best] = best_line_of;
	}
	free(tried);
	return ok;
}

/* Is the order with the lines so much better than without that it cannot be chance? */
static bool convincing(
	const struct xf_clock_group *g, uint64_t overlaps, uint64_t breaks, bool later)
{
	/* of many clocks one may stay wrong here and there */
	if (g->f.overlaps > (g->n > MANY ? overlaps / 100 : 0))
		return false;
	if (overlaps || later)
		return g->f.breaks <= breaks;
	return breaks > 1 && g->f.breaks * 10 <= breaks;
}

static void set_model(
	const struct xf_clock_group *g, size_t i, size_t reference, size_t unexplained)
{
	const struct xf_clock_against *a = &g->against[i];
	struct xf_clock_model *m = &g->lists[i]->model;
	int64_t offset = g->lines[i].a;

	m->origin = g->origin;
	m->reference = i == reference;
	m->offset = offset;
	m->drift = g->lines[i].b;
	m->proven = offset || m->drift != 0;
	m->wrong = unexplained ? a->overlaps : 0;
	if (i == reference) {
		m->low = m->high = 0;
		return;
	}
	m->low = a->low == XF_CLOCK_NONE ? a->low : a->low + offset;
	m->high = a->high == INT64_MAX ? XF_CLOCK_NONE : a->high + offset;
	/* where steps are missing some follow each other only in appearance */
	if (m->low != XF_CLOCK_NONE && m->high != XF_CLOCK_NONE && m->low > m->high)
		m->low = m->high = XF_CLOCK_NONE;
	m->tight = m->proven && (m->low == XF_CLOCK_NONE || m->high == XF_CLOCK_NONE ||
					m->high - m->low <= TIGHT);
}

/* Only the passes tell, and only roughly; or only contradictions. */
static void set_doubtful(struct xf_clock_group *g, size_t reference)
{
	uint64_t most = 0;
	bool ok;

	for (size_t i = 0; i < g->n; i++)
		if (i != reference && g->lists[i]->model.wrong > most)
			most = g->lists[i]->model.wrong;
	for (size_t i = 0; i < g->n; i++) {
		struct xf_clock_model *m = &g->lists[i]->model;

		/* each contradiction is one of two pCPUs */
		if (i != reference &&
			((m->wrong && 2 * m->wrong >= most) || read_later(g, reference, i, &ok)))
			m->proven = true, m->wrong += !m->wrong;
	}
}

/* May the shifted side have this line, by the passes in which its records were read? */
static bool allowed(const struct xf_clock_fit *f, const struct xf_clock_bounds *passes,
	const struct xf_clock_line *line)
{
	int64_t shift = xf_clock_shift_at(line, f->shifted.steps[0].t), low, high;

	return !xf_clock_range(passes, 0, &low, &high) || (shift >= low && shift <= high);
}

/*
 * The best of the lines that stand already: clocks differ by socket.  *overlaps: the contradictions that are
 * left with it.  False: out of memory.
 */
static bool borrow(
	struct xf_clock_group *g, const size_t *placed, size_t n, size_t i, uint64_t *overlaps)
{
	struct xf_clock_bounds passes = {0};
	uint64_t least = UINT64_MAX;
	size_t tried = 0;
	bool ok = xf_clock_bound_by_passes(&g->f, &passes);

	*overlaps = n > 0;
	for (size_t k = 0; k < n && ok && tried < MANY; k++) {
		const struct xf_clock_line *line = &g->lines[placed[k]];
		bool again = !allowed(&g->f, &passes, line);

		for (size_t j = 0; j < k && !again; j++)
			again = same_line(&g->lines[placed[j]], line);
		if (again)
			continue;
		tried++;
		xf_clock_merge(&g->f, line, g->sides[i].n, NULL);
		if (xf_clock_badness(&g->f) >= least)
			continue;
		least = xf_clock_badness(&g->f);
		*overlaps = g->f.overlaps;
		g->lines[i] = *line;
	}
	free(passes.bounds);
	return ok;
}

static uint64_t blame(const struct xf_clock_group *g, size_t i)
{
	return 1000 * g->against[i].overlaps + g->against[i].blame;
}

/* Those with steps, those with by far the most contradictions last: few wrong clocks then meet many right ones. */
static size_t most_blamed_last(const struct xf_clock_group *g, size_t *order)
{
	uint64_t all = 0;
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++)
		all += blame(g, i);
	for (int last = 0; last < 2; last++)
		for (size_t i = 0; i < g->n; i++)
			if (g->sides[i].n && (blame(g, i) > 2 * all / g->n) == last)
				order[n++] = i;
	return n;
}

/*
 * One pCPU after the other is put to those before it: by a line that one of them has, or, where a vCPU would run
 * on two at once, by one of its own.
 */
static bool grow(struct xf_clock_group *g)
{
	size_t *order = malloc(g->n * sizeof(*order)), n;
	bool ok;

	memset(g->lines, 0, g->n * sizeof(*g->lines));
	ok = order && judge(g);
	n = ok ? most_blamed_last(g, order) : 0;
	free(g->f.fixed.steps);
	g->f.fixed = (struct xf_clock_side){0};
	for (size_t k = 0; k < n && ok; k++) {
		struct xf_clock_line own = {0, 0};
		struct xf_clock_side one;
		uint64_t overlaps = 0;
		size_t i = order[k];

		g->f.shifted = g->sides[i];
		g->f.list = (uint32_t)i;
		ok = borrow(g, order, k, i, &overlaps);
		if (ok && overlaps && g->f.work <= XF_CLOCK_WORK) {
			ok = xf_clock_fit_one(&g->f, &own);
			xf_clock_merge(&g->f, &own, g->sides[i].n, NULL);
			if (g->f.overlaps < overlaps)
				g->lines[i] = own;
		}
		ok = ok && join_lists(&one, g->sides + i, 1, SIZE_MAX, g->lines + i) &&
		     join(&g->f.fixed, &one);
	}
	free(order);
	return ok && judge(g);
}

/* The line that most have is that of the reference. */
static bool majority(struct xf_clock_group *g, size_t reference)
{
	size_t most = 0, best = reference;

	for (size_t i = 0; i < g->n; i++) {
		size_t n = 0;

		for (size_t k = 0; k < g->n; k++)
			n += g->sides[k].n && same_line(&g->lines[i], &g->lines[k]);
		if (g->sides[i].n && n > most) {
			most = n;
			best = i;
		}
	}
	return shift_all(g, best);
}

/* Looks for lines under which everything fits; leaves none if there are no convincing ones. */
static bool solve(struct xf_clock_group *g, size_t reference, bool later)
{
	uint64_t overlaps = g->f.overlaps, breaks = g->f.breaks;
	bool ok = true;

	/* to try each of many against all others takes long */
	if (g->n <= MANY)
		ok = descend(g, g->n > 2 ? g->n : reference) && judge(g);
	if (ok && !convincing(g, overlaps, breaks, later) && g->n > 2 && g->n <= MANY)
		ok = guess(g, reference) && descend(g, reference) && judge(g);
	if (ok && !convincing(g, overlaps, breaks, later) && g->n > 2)
		ok = grow(g) && majority(g, reference) && descend(g, reference) && judge(g);
	if (ok && convincing(g, overlaps, breaks, later))
		return rebase(g, reference);
	memset(g->lines, 0, g->n * sizeof(*g->lines));
	return ok && judge(g);
}

/* Are there contradictions that no gap explains, so that a clock may be wrong? */
static bool unexplained(const struct xf_clock_group *g, size_t left, bool later)
{
	/* with many pCPUs breaks alone come from pCPUs that are missing, as a rule */
	return g->n > 1 && (later || (left && (g->f.overlaps || g->n <= MANY)));
}

static bool align(struct xf_clock_group *g, size_t reference, uint64_t *breaks)
{
	bool later = false, ok = judge(g);
	struct xf_clock_side all = g->f.fixed;
	uint64_t overlaps = g->f.overlaps, broken = g->f.breaks;
	size_t left = broken;

	for (size_t i = 0; i < g->n && ok; i++)
		later |= i != reference && read_later(g, reference, i, &ok);
	g->f.fixed = all;
	g->f.overlaps = overlaps;
	g->f.breaks = broken;
	if (ok && !later)
		ok = find_gaps(g, &left);
	if (ok && unexplained(g, left, later))
		ok = solve(g, reference, later) && find_gaps(g, &left);
	if (!ok)
		return false;
	*breaks = left;
	for (reference = 0; reference + 1 < g->n; reference++)
		if (g->sides[reference].n && !g->lines[reference].a && g->lines[reference].b == 0)
			break;
	for (size_t i = 0; i < g->n; i++)
		set_model(g, i, reference, left);
	free(g->f.fixed.steps);
	g->f.fixed = (struct xf_clock_side){0};
	set_doubtful(g, reference);
	return true;
}

bool xf_clock_align(struct xf_clocks *clocks)
{
	size_t n = clocks->nlists, first = 0;
	struct xf_clock_group g = {.lists = clocks->lists,
		.runstates = clocks->runstates,
		.n = n,
		.sides = calloc(n, sizeof(*g.sides)),
		.lines = calloc(n, sizeof(*g.lines)),
		.against = calloc(n, sizeof(*g.against))};
	bool ok = g.sides && g.lines && g.against;
	struct xf_map numbers = {0};

	while (first + 1 < n && !g.lists[first]->n)
		first++;
	if (g.lists[first]->n)
		g.origin = g.lists[first]->steps[0].tsc;
	for (size_t i = 0; i < n && ok; i++)
		ok = load(&g.sides[i], (uint32_t)i, g.lists[i], clocks, g.origin, &numbers);
	g.f.nvcpus = numbers.count;
	g.f.chains = ok ? malloc((g.f.nvcpus + 1) * sizeof(*g.f.chains)) : NULL;
	ok = ok && g.f.chains && align(&g, first, &clocks->breaks);
	for (size_t i = 0; i < n && g.sides; i++)
		free(g.sides[i].steps);
	free(g.f.fixed.steps);
	free(g.f.chains);
	free(g.breaks.breaks);
	free(g.sides);
	free(g.lines);
	free(g.against);
	xf_map_free(&numbers);
	return ok;
}
