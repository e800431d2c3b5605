// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fit of a pCPU's clock to those of the others.  In: two lists of steps in time order, of which one is
 * to be shifted.  Out: the line of shifts under which the steps of each vCPU follow each other.
 *
 * Merged in the right order, each step of a vCPU begins in the state that the one before it ended in.  Where two
 * such steps are of different sides, they bound the shift.  Where the order is wrong the states do
 * not fit: a few steps held back until they do show what the order is, and so a bound that is broken.
 */
#include "collector/trace/clock_align.h"

#include <stdlib.h>
#include <string.h>

#define PASSES 3 /* after so many passes a record is surely later */

#define FARTHEST (1ll << 60)

int64_t xf_clock_time(uint64_t tsc, uint64_t origin)
{
	int64_t t = (int64_t)(tsc - origin);

	return t > FARTHEST ? FARTHEST : t < -FARTHEST ? -FARTHEST : t;
}

int64_t xf_clock_shift_at(const struct xf_clock_line *line, int64_t t)
{
	return line->a + (int64_t)(line->b * (double)t);
}

static void add_bound(struct xf_clock_bounds *b, int64_t t, int64_t bound, bool upper)
{
	if (!b || b->failed)
		return;
	if (b->n == b->room) {
		size_t room = b->room ? 2 * b->room : 256;
		struct xf_clock_bound *more = realloc(b->bounds, room * sizeof(*more));

		if (!more) {
			b->failed = true;
			return;
		}
		b->bounds = more;
		b->room = room;
	}
	b->bounds[b->n++] = (struct xf_clock_bound){t, bound, upper};
}

static bool fits(const struct xf_clock_chain *c, const struct xf_clock_merged *s)
{
	if (!c->known || c->state == s->from)
		return true;
	/* a switch only says running or not */
	return (c->state == XF_VCPU_STOPPED && s->from != XF_VCPU_RUNNING) ||
	       (s->from == XF_VCPU_STOPPED && c->state != XF_VCPU_RUNNING);
}

/* A step of one pCPU and the next of that vCPU, on another: both clocks are bounded. */
static void bound(struct xf_clock_fit *f, const struct xf_clock_chain *c,
	const struct xf_clock_merged *s, int64_t merged)
{
	struct xf_clock_against *x, *y;

	if (s->list == f->list)
		add_bound(f->bounds, s->t, s->t - c->t, true);
	else if (c->list == f->list)
		add_bound(f->bounds, c->t, c->t - s->t, false);
	if (!f->against)
		return;
	x = &f->against[c->list];
	y = &f->against[s->list];
	if (merged - c->merged < y->high)
		y->high = merged - c->merged;
	if (c->merged - merged > x->low)
		x->low = c->merged - merged;
}

/* The step comes next in its chain. */
static void take(struct xf_clock_fit *f, struct xf_clock_chain *c, const struct xf_clock_merged *s)
{
	int64_t merged = s->t - (s->list == f->list ? xf_clock_shift_at(f->line, s->t) : 0);

	if (c->known && c->list != s->list && fits(c, s)) {
		f->crossings++;
		bound(f, c, s, merged);
	}
	c->known = true;
	c->state = s->to;
	c->list = s->list;
	c->t = s->t;
	c->merged = merged;
}

static void note_break(struct xf_clock_fit *f, int64_t first, int64_t last)
{
	struct xf_clock_breaks *b = f->found;

	if (!b || b->failed)
		return;
	if (b->n == b->room) {
		size_t room = b->room ? 2 * b->room : 64;
		struct xf_clock_break *more = realloc(b->breaks, room * sizeof(*more));

		if (!more) {
			b->failed = true;
			return;
		}
		b->breaks = more;
		b->room = room;
	}
	b->breaks[b->n++] =
		(struct xf_clock_break){first < last ? first : last, last + (last <= first)};
}

/* A step is missing before this one. */
static void broken(
	struct xf_clock_fit *f, const struct xf_clock_chain *c, const struct xf_clock_merged *s)
{
	f->breaks++;
	if (f->against) {
		f->against[s->list].blame++;
		f->against[c->list].blame += c->list != s->list;
	}
	note_break(f, c->merged, s->t);
}

/* What is held back follows as it came, fitting or not. */
static void give_up(struct xf_clock_fit *f, struct xf_clock_chain *c)
{
	for (unsigned i = 0; i < c->nheld; i++) {
		if (!fits(c, c->held[i]))
			broken(f, c, c->held[i]);
		take(f, c, c->held[i]);
	}
	c->nheld = 0;
}

static void next_step(struct xf_clock_fit *f, const struct xf_clock_merged *s)
{
	struct xf_clock_chain *c = &f->chains[s->vcpu];
	const struct xf_clock_merged *last = c->nheld ? c->held[c->nheld - 1] : NULL;

	/* where steps are missing, another order would only put the breaks elsewhere */
	if (f->found) {
		if (!fits(c, s))
			broken(f, c, s);
		take(f, c, s);
		return;
	}

	if (last && s->list == last->list && c->nheld < XF_CLOCK_HELD && last->to == s->from) {
		c->held[c->nheld++] = s;
		return;
	}
	if (last && s->list != last->list && fits(c, s)) {
		take(f, c, s);
		if (fits(c, c->held[0])) {
			f->breaks++;
			if (f->against) {
				f->against[s->list].blame++;
				f->against[c->held[0]->list].blame++;
			}
			for (unsigned i = 0; i < c->nheld; i++)
				take(f, c, c->held[i]);
			c->nheld = 0;
		}
		return;
	}
	if (last)
		give_up(f, c);
	if (fits(c, s)) {
		take(f, c, s);
		return;
	}
	if (c->state == XF_VCPU_RUNNING && s->to == XF_VCPU_RUNNING && c->list != s->list) {
		f->overlaps++;
		if (f->against) {
			f->against[c->list].overlaps++;
			f->against[s->list].overlaps++;
		}
	}
	c->held[c->nheld++] = s;
}

static void forget(struct xf_clock_fit *f)
{
	memset(f->chains, 0, f->nvcpus * sizeof(*f->chains));
}

/* Merges n steps of the shifted side with those of the fixed one of the same time. */
void xf_clock_merge(struct xf_clock_fit *f, const struct xf_clock_line *line, size_t n,
	struct xf_clock_bounds *bounds)
{
	/* a side without steps has no array either */
	const struct xf_clock_merged *x = f->fixed.steps, *x_end = x ? x + f->fixed.n : x;
	const struct xf_clock_merged *y = f->shifted.steps, *y_end = y ? y + n : y;
	int64_t begin = n ? y->t - xf_clock_shift_at(line, y->t) : INT64_MIN;
	unsigned blind = 0;

	f->overlaps = f->breaks = f->crossings = 0;
	if (f->found)
		f->found->n = 0;
	f->line = line;
	f->work += n + f->fixed.n / (n == f->shifted.n ? 1 : 8);
	f->bounds = bounds;
	if (bounds)
		bounds->n = 0;
	forget(f);
	/* of a part nothing is known before it begins */
	while (n < f->shifted.n && x < x_end && x->t < begin)
		x++;
	while (y < y_end || (x < x_end && n == f->shifted.n)) {
		bool shifted =
			x == x_end || (y < y_end && y->t - xf_clock_shift_at(line, y->t) < x->t);
		const struct xf_clock_merged *s = shifted ? y++ : x++;

		if (s->fresh)
			forget(f);
		if (s->vcpu == XF_CLOCK_LOSS) {
			forget(f);
			blind += s->to ? (blind ? -1u : 0) : 1;
		} else if (!blind) {
			next_step(f, s);
		}
	}
	for (size_t i = 0; i < f->nvcpus; i++)
		give_up(f, &f->chains[i]);
	f->bounds = NULL;
}

/* Bounds of a at a given b; false where they contradict each other. */
bool xf_clock_range(const struct xf_clock_bounds *b, double slope, int64_t *low, int64_t *high)
{
	*low = XF_CLOCK_NONE;
	*high = INT64_MAX;
	for (size_t i = 0; i < b->n; i++) {
		int64_t a = b->bounds[i].bound - (int64_t)(slope * (double)b->bounds[i].t);

		if (b->bounds[i].upper && a < *high)
			*high = a;
		else if (!b->bounds[i].upper && a > *low)
			*low = a;
	}
	return *low == XF_CLOCK_NONE || *high == INT64_MAX || *low <= *high;
}

static double room(const struct xf_clock_bounds *b, double slope)
{
	int64_t low, high;

	xf_clock_range(b, slope, &low, &high);
	return (double)high - (double)low;
}

/*
 * The line that lies best between all bounds.  A constant shift, if one will do; none, if none is needed.
 */
struct xf_clock_line xf_clock_best_line(
	const struct xf_clock_bounds *b, int64_t *low, int64_t *high)
{
	double from = -XF_CLOCK_STEEPEST, to = XF_CLOCK_STEEPEST;
	struct xf_clock_line line = {0, 0};

	if (!xf_clock_range(b, 0, low, high)) {
		/* the room between the bounds is a concave function of the slope */
		for (int i = 0; i < 80; i++) {
			double left = from + (to - from) / 3, right = to - (to - from) / 3;

			if (room(b, left) < room(b, right))
				from = left;
			else
				to = right;
		}
		line.b = (from + to) / 2;
		xf_clock_range(b, line.b, low, high);
	}
	if (line.b == 0 && (*low == XF_CLOCK_NONE || *low <= 0) && *high >= 0)
		return line;
	if (*low != XF_CLOCK_NONE && *high != INT64_MAX)
		line.a = *low + (*high - *low) / 2;
	else if (*low != XF_CLOCK_NONE)
		line.a = *low + 1;
	else
		line.a = *high - 1;
	return line;
}

/* Earliest time of each pass and all after it, latest of each and all before. */
static bool pass_times(
	const struct xf_clock_side *s, uint32_t passes, int64_t *first, int64_t *last)
{
	bool any = false;

	for (uint32_t p = 0; p < passes; p++) {
		first[p] = INT64_MAX;
		last[p] = INT64_MIN;
	}
	for (size_t i = 0; i < s->n; i++) {
		const struct xf_clock_merged *x = &s->steps[i];

		if (x->vcpu == XF_CLOCK_LOSS)
			continue;
		any = true;
		first[x->pass] = x->t < first[x->pass] ? x->t : first[x->pass];
		last[x->pass] = x->t > last[x->pass] ? x->t : last[x->pass];
	}
	for (uint32_t p = passes; p-- > 1;)
		first[p - 1] = first[p] < first[p - 1] ? first[p] : first[p - 1];
	for (uint32_t p = 1; p < passes; p++)
		last[p] = last[p - 1] > last[p] ? last[p - 1] : last[p];
	return any;
}

/* What was read some passes later was written later. */
bool xf_clock_bound_by_passes(const struct xf_clock_fit *f, struct xf_clock_bounds *b)
{
	uint32_t passes = 0;
	int64_t *times;

	for (size_t i = 0; i < f->fixed.n; i++)
		passes = f->fixed.steps[i].pass >= passes ? f->fixed.steps[i].pass + 1 : passes;
	for (size_t i = 0; i < f->shifted.n; i++)
		passes = f->shifted.steps[i].pass >= passes ? f->shifted.steps[i].pass + 1 : passes;
	times = malloc(4 * (size_t)(passes + 1) * sizeof(*times));
	if (!times)
		return false;
	if (pass_times(&f->fixed, passes, times, times + passes) &&
		pass_times(&f->shifted, passes, times + 2 * (size_t)passes,
			times + 3 * (size_t)passes)) {
		const int64_t *fixed = times, *shifted = times + 2 * (size_t)passes;

		for (uint32_t p = 0; p + PASSES < passes; p++) {
			if (shifted[p + PASSES] != INT64_MAX && fixed[passes + p] != INT64_MIN)
				add_bound(b, shifted[p + PASSES],
					shifted[p + PASSES] - fixed[passes + p], true);
			if (fixed[p + PASSES] != INT64_MAX && shifted[passes + p] != INT64_MIN)
				add_bound(b, shifted[passes + p],
					shifted[passes + p] - fixed[p + PASSES], false);
		}
	}
	free(times);
	return !b->failed;
}

uint64_t xf_clock_badness(const struct xf_clock_fit *f)
{
	return f->overlaps * 1000 + f->breaks;
}

bool xf_clock_allows_zero(const struct xf_clock_bounds *b)
{
	int64_t low, high;

	xf_clock_range(b, 0, &low, &high);
	return (low == XF_CLOCK_NONE || low <= 0) && high >= 0;
}
