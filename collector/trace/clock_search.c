// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The search for the line of one pCPU's clock.  In: its steps, and those of all others.  Out: the line under
 * which their states follow each other.
 *
 * While a vCPU runs on one pCPU it takes no step on another; and where a pCPU's own steps of a vCPU do not
 * follow each other, the others have one between them.  Each such pair of steps forbids, or wants, a
 * range of shifts; where least is forbidden and most is wanted, the shift is looked for.
 */
#include "collector/trace/clock_align.h"

#include <stdlib.h>
#include <string.h>

#ifndef XF_EDGES	   /* a test makes it small */
#define XF_EDGES (1 << 20) /* edges of ranges */
#endif
#define WINDOW	   256	     /* steps by which the shift is looked for at first */
#define CANDIDATES 32	     /* shifts that are tried */
#define SMALLEST   (1 << 10) /* cycles: steps of the search for fewer contradictions */
#define WIDEST	   (1 << 20) /* the largest step of an end of a line */
#define LARGEST	   (1 << 26)
#define OVERLAP	   4 /* so much more than a state that does not fit counts one of these */
#define FAR	   (INT64_MAX / 4) /* any shift */

struct edge {
	int64_t at; /* from this shift on */
	int weight; /* so many contradictions more */
};

struct place {
	int64_t from, to; /* shifts */
	int64_t weight;
};

struct sweep {
	int64_t low, high; /* shifts that are possible */
	struct edge *edges;
	size_t n;
	struct xf_clock_merged *fixed, *shifted; /* by vCPU, then time */
};

static int by_vcpu(const void *a, const void *b)
{
	const struct xf_clock_merged *x = a, *y = b;

	if (x->vcpu != y->vcpu)
		return x->vcpu < y->vcpu ? -1 : 1;
	return x->t < y->t ? -1 : x->t > y->t;
}

static int by_shift(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void add_range(struct sweep *s, int64_t from, int64_t to, int weight)
{
	from = from < s->low ? s->low : from;
	to = to > s->high ? s->high : to;
	if (from >= to || s->n + 2 > XF_EDGES)
		return;
	s->edges[s->n++] = (struct edge){from, weight};
	s->edges[s->n++] = (struct edge){to, -weight};
}

/* Copies of n steps of the shifted side, and of those of the fixed one that can be near them.  How many of those. */
static size_t near(const struct xf_clock_fit *f, size_t n, struct sweep *s)
{
	int64_t first = f->shifted.steps[0].t, last = f->shifted.steps[n - 1].t;
	const struct xf_clock_merged *x = f->fixed.steps, *end = x + f->fixed.n;
	size_t nfixed = 0;

	while (x < end && x->t < first - s->high)
		x++;
	while (end > x && end[-1].t > last - s->low)
		end--;
	nfixed = (size_t)(end - x);
	s->fixed = malloc((nfixed + 1) * sizeof(*s->fixed));
	s->shifted = malloc((n + 1) * sizeof(*s->shifted));
	if (!s->fixed || !s->shifted)
		return 0;
	memcpy(s->fixed, x, nfixed * sizeof(*x));
	memcpy(s->shifted, f->shifted.steps, n * sizeof(*x));
	/* steps of one pCPU at the same time keep their order: times are made distinct by the sort's key only */
	qsort(s->fixed, nfixed, sizeof(*x), by_vcpu);
	qsort(s->shifted, n, sizeof(*x), by_vcpu);
	return nfixed;
}

/*
 * What the time between two steps p of a vCPU says of its steps q on the other side; turned: p is of the
 * shifted side.
 */
static void compare(struct sweep *s, const struct xf_clock_merged *p,
	const struct xf_clock_merged *q, size_t nq, bool turned)
{
	bool runs = p[0].to == XF_VCPU_RUNNING && p[1].from == XF_VCPU_RUNNING &&
		    p[0].list == p[1].list;
	bool broken =
		p[0].to != p[1].from && p[0].to != XF_VCPU_STOPPED && p[1].from != XF_VCPU_STOPPED;
	int64_t from = 0, to = INT64_MIN;

	if (!runs && !broken)
		return;
	for (size_t i = 0; i < nq; i++) {
		int64_t t = q[turned ? nq - 1 - i : i].t;
		int64_t first = turned ? p[0].t - t : t - p[1].t;
		int64_t last = turned ? p[1].t - t : t - p[0].t;

		if (runs) {
			add_range(s, first, last, OVERLAP);
			continue;
		}
		/* one step is enough: ranges that overlap count once */
		if (first > to) {
			if (to != INT64_MIN)
				add_range(s, from, to, -1);
			from = first;
		}
		to = last;
	}
	if (broken && to != INT64_MIN)
		add_range(s, from, to, -1);
}

static void compare_all(struct sweep *s, size_t nfixed, size_t nshifted)
{
	const struct xf_clock_merged *x = s->fixed, *y = s->shifted;

	while (nfixed && nshifted) {
		size_t nx = 1, ny = 1;

		while (nx < nfixed && x[nx].vcpu == x[0].vcpu)
			nx++;
		while (ny < nshifted && y[ny].vcpu == y[0].vcpu)
			ny++;
		if (x[0].vcpu == y[0].vcpu && x[0].vcpu != XF_CLOCK_LOSS) {
			for (size_t i = 0; i + 1 < nx; i++)
				compare(s, x + i, y, ny, false);
			for (size_t i = 0; i + 1 < ny; i++)
				compare(s, y + i, x, nx, true);
		}
		if (x[0].vcpu <= y[0].vcpu) {
			bool same = x[0].vcpu == y[0].vcpu;

			x += nx;
			nfixed -= nx;
			y += same ? ny : 0;
			nshifted -= same ? ny : 0;
		} else {
			y += ny;
			nshifted -= ny;
		}
	}
}

/* The ranges of shifts with the least weight, best first.  How many. */
static size_t best_places(struct sweep *s, struct place *best)
{
	int64_t weight = 0;
	size_t n = 0;

	qsort(s->edges, s->n, sizeof(*s->edges), by_shift);
	for (size_t i = 0; i < s->n; i++) {
		struct place place;
		size_t at;

		weight += s->edges[i].weight;
		if (i + 1 == s->n || s->edges[i + 1].at == s->edges[i].at)
			continue;
		place = (struct place){s->edges[i].at, s->edges[i + 1].at, weight};
		for (at = n; at && (best[at - 1].weight > weight ||
					   (best[at - 1].weight == weight &&
						   best[at - 1].to - best[at - 1].from <
							   place.to - place.from));
			at--)
			if (at < CANDIDATES)
				best[at] = best[at - 1];
		if (at < CANDIDATES)
			best[at] = place;
		n += n < CANDIDATES;
	}
	return n;
}

/* The same for a part, whose time may have few steps of the others: by how many fit. */
static double unlikely(const struct xf_clock_fit *f)
{
	return (double)(xf_clock_badness(f) + 1) / (double)(f->crossings + 1);
}

/* Takes a shift if it is better than the best so far. */
static bool try_shift(
	struct xf_clock_fit *f, size_t n, int64_t shift, double *least, struct xf_clock_line *best)
{
	struct xf_clock_line line = {shift, 0};

	xf_clock_merge(f, &line, n, NULL);
	if (unlikely(f) >= *least)
		return false;
	*least = unlikely(f);
	*best = line;
	return true;
}

/* The nearer to the truth, the fewer contradictions: first by powers of two, then by smaller steps. */
static void climb(struct xf_clock_fit *f, size_t n, int64_t low, int64_t high, double *least,
	struct xf_clock_line *best)
{
	for (int64_t shift = SMALLEST; shift <= LARGEST; shift *= 2) {
		if (shift <= high)
			try_shift(f, n, shift, least, best);
		if (-shift >= low)
			try_shift(f, n, -shift, least, best);
	}
	for (int64_t step = LARGEST / 2; step >= SMALLEST; step /= 2) {
		struct xf_clock_line from = *best;

		if (!try_shift(f, n, from.a + step, least, best))
			try_shift(f, n, from.a - step, least, best);
	}
}

/*
 * Looks for a shift in the first n steps of the shifted side: tries those under which fewest of its states
 * contradict those of the others.
 */
static bool search(
	struct xf_clock_fit *f, size_t n, int64_t low, int64_t high, struct xf_clock_line *best)
{
	struct sweep s = {.low = low, .high = high, .edges = malloc(XF_EDGES * sizeof(*s.edges))};
	size_t few = n < WINDOW ? n : WINDOW, nfixed = near(f, few, &s), nplaces = 0;
	struct place places[CANDIDATES];
	bool ok = s.edges && s.fixed && s.shifted;
	double least;

	*best = (struct xf_clock_line){0, 0};
	xf_clock_merge(f, best, n, NULL);
	least = unlikely(f);
	if (ok) {
		compare_all(&s, nfixed, few);
		f->work += s.n / 8;
		nplaces = best_places(&s, places);
	}
	for (size_t i = 0; i < nplaces && least > 0; i++)
		for (int64_t part = 1; part < 4; part++)
			try_shift(f, n, places[i].from + (places[i].to - places[i].from) / 4 * part,
				&least, best);
	climb(f, n, low, high, &least, best);
	free(s.edges);
	free(s.fixed);
	free(s.shifted);
	return ok;
}

static uint64_t badness_of(struct xf_clock_fit *f, size_t n, const struct xf_clock_line *line)
{
	xf_clock_merge(f, line, n, NULL);
	return xf_clock_badness(f);
}

/* The line through two shifts, at the times of the first and of the last of n steps. */
static struct xf_clock_line through(
	const struct xf_clock_fit *f, size_t n, int64_t first, int64_t last)
{
	int64_t t = f->shifted.steps[0].t, span = f->shifted.steps[n - 1].t - t;
	struct xf_clock_line line = {first, 0};

	if (span > 0 && first != last) {
		line.b = (double)(last - first) / (double)span;
		line.a = first - (int64_t)(line.b * (double)t);
	}
	return line;
}

/* Moves both ends of the line, by smaller and smaller steps, as long as contradictions become fewer. */
static uint64_t straighten(struct xf_clock_fit *f, size_t n, struct xf_clock_line *line)
{
	static const int moves[][2] = {
		{0, 1}, {0, -1}, {1, 1}, {-1, -1}, {1, 0}, {-1, 0}, {1, -1}, {-1, 1}};
	int64_t end[2] = {xf_clock_shift_at(line, f->shifted.steps[0].t),
		xf_clock_shift_at(line, f->shifted.steps[n - 1].t)};
	uint64_t least = badness_of(f, n, line);

	for (int64_t step = WIDEST; least && step >= SMALLEST; step /= 2) {
		for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]) && least; i++) {
			int64_t first = end[0] + moves[i][0] * step;
			int64_t last = end[1] + moves[i][1] * step;
			struct xf_clock_line moved = through(f, n, first, last);
			uint64_t bad = badness_of(f, n, &moved);

			if (bad >= least || moved.b > XF_CLOCK_STEEPEST ||
				moved.b < -XF_CLOCK_STEEPEST)
				continue;
			least = bad;
			end[0] = first;
			end[1] = last;
			*line = moved;
			i = (size_t)-1;
		}
	}
	return least;
}

/*
 * Goes on from a first shift over more and more of the steps.  Bounds are believed only where nothing contradicts
 * them: then the line goes to their middle.
 */
static bool follow(
	struct xf_clock_fit *f, size_t n, struct xf_clock_line *line, struct xf_clock_bounds *b)
{
	for (;;) {
		if (!straighten(f, n, line)) {
			struct xf_clock_line middle;
			int64_t low, high;

			xf_clock_merge(f, line, n, b);
			if (b->failed)
				return false;
			middle = xf_clock_best_line(b, &low, &high);
			if (!badness_of(f, n, &middle))
				*line = middle;
		}
		if (n == f->shifted.n || f->work > XF_CLOCK_WORK)
			return true;
		n = n + n / 4 < f->shifted.n ? n + n / 4 : f->shifted.n;
	}
}

/* A first shift, where the passes allow it. */
bool xf_clock_first_shift(struct xf_clock_fit *f, size_t n, struct xf_clock_line *line)
{
	struct xf_clock_bounds passes = {0};
	int64_t low, high;
	bool ok = xf_clock_bound_by_passes(f, &passes);

	xf_clock_range(&passes, 0, &low, &high);
	/* a drift would make them contradict each other */
	if (low > high)
		low = -FAR, high = FAR;
	low = low < -FAR ? -FAR : low;
	high = high > FAR ? FAR : high;
	ok = ok && search(f, n < f->shifted.n ? n : f->shifted.n, low, high, line);
	free(passes.bounds);
	return ok;
}

/* The line of the shifted side that makes the others fit best. */
bool xf_clock_fit_one(struct xf_clock_fit *f, struct xf_clock_line *line)
{
	size_t n = f->shifted.n < WINDOW ? f->shifted.n : WINDOW;
	struct xf_clock_bounds bounds = {0};
	bool ok;

	*line = (struct xf_clock_line){0, 0};
	if (!n)
		return true;
	ok = xf_clock_first_shift(f, n, line) && follow(f, n, line, &bounds);
	free(bounds.bounds);
	return ok;
}
