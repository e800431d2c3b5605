// SPDX-License-Identifier: GPL-2.0-or-later
/* Clocks of the pCPUs.  In: steps of vCPUs.  Out: models. */
#include "collector/trace/clock.h"

#include <stdlib.h>
#include <string.h>

#include "collector/trace/clock_align.h"

struct xf_clock_list *xf_clock_list(struct xf_clocks *c, uint32_t pcpu)
{
	struct xf_clock_list *list = calloc(1, sizeof(*list));

	if (list && c->nlists == c->room) {
		size_t room = c->room ? 2 * c->room : 16;
		struct xf_clock_list **more =
			realloc(c->lists, room * sizeof(struct xf_clock_list *));

		if (!more) {
			free(list);
			return NULL;
		}
		c->lists = more;
		c->room = room;
	}
	if (!list)
		return NULL;
	list->pcpu = pcpu;
	c->lists[c->nlists++] = list;
	return list;
}

#define FEW 8 /* breaks that switches alone do not prove */

/* Parts of a long stream are groups of passes: within one nothing is missing. */
#define GROUP 64

static bool kept(const struct xf_clocks *c, uint32_t pass)
{
	return !(pass / GROUP % c->stride);
}

bool xf_clock_left_out(const struct xf_clocks *c, uint32_t pass, uint32_t next)
{
	return c->stride > 1 && pass / GROUP != next / GROUP;
}

/* Leaves out every second part. */
static void thin(struct xf_clocks *c)
{
	c->stride *= 2;
	c->steps = 0;
	for (size_t i = 0; i < c->nlists; i++) {
		struct xf_clock_list *list = c->lists[i];
		size_t n = 0;

		for (size_t k = 0; k < list->n; k++)
			if (kept(c, list->steps[k].pass))
				list->steps[n++] = list->steps[k];
		list->n = n;
		c->steps += n;
	}
}

void xf_clock_add(struct xf_clocks *c, struct xf_clock_list *list, const struct xf_clock_step *step)
{
	c->stride = c->stride ? c->stride : 1;
	c->runstates |= !step->switched && step->vcpu != XF_CLOCK_LOSS;
	if (c->failed || (step->switched && c->runstates) || !kept(c, step->pass))
		return;
	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 256;
		struct xf_clock_step *more = realloc(list->steps, room * sizeof(*more));

		if (!more) {
			c->failed = true;
			return;
		}
		list->steps = more;
		list->room = room;
	}
	list->steps[list->n++] = *step;
	/* a stream of one pass only has no parts: its beginning is kept */
	if (++c->steps >= XF_CLOCK_STEPS && step->pass / GROUP)
		thin(c);
	else if (c->steps >= XF_CLOCK_STEPS)
		c->steps--, list->n--;
}

void xf_clock_silent(struct xf_clock_list *list, uint64_t first, uint64_t last)
{
	struct xf_clock_silence *shortest = list->silences;

	if (list->nsilences < XF_CLOCK_SILENCES) {
		list->silences[list->nsilences++] =
			(struct xf_clock_silence){first, last, false, false};
		return;
	}
	for (size_t i = 1; i < XF_CLOCK_SILENCES; i++)
		if (list->silences[i].last - list->silences[i].first <
			shortest->last - shortest->first)
			shortest = &list->silences[i];
	if (last - first > shortest->last - shortest->first)
		*shortest = (struct xf_clock_silence){first, last, false, false};
}

uint64_t xf_clock_correct(const struct xf_clock_model *m, uint64_t tsc)
{
	int64_t since = (int64_t)(tsc - m->origin);

	return tsc - (uint64_t)m->offset - (uint64_t)(int64_t)(m->drift * (double)since);
}

static void drop_switches(struct xf_clocks *c)
{
	for (size_t i = 0; i < c->nlists && c->runstates; i++) {
		struct xf_clock_list *list = c->lists[i];
		size_t n = 0;

		for (size_t k = 0; k < list->n; k++)
			if (!list->steps[k].switched)
				list->steps[n++] = list->steps[k];
		list->n = n;
	}
}

static int by_id(const void *a, const void *b)
{
	const struct xf_clock_list *const *x = a, *const *y = b;

	return (*x)->pcpu < (*y)->pcpu ? -1 : (*x)->pcpu > (*y)->pcpu;
}

void xf_clock_solve(struct xf_clocks *c)
{
	for (size_t i = 0; i < c->nlists; i++)
		c->lists[i]->model =
			(struct xf_clock_model){.low = XF_CLOCK_NONE, .high = XF_CLOCK_NONE};
	if (c->failed || !c->nlists)
		return;
	drop_switches(c);
	qsort(c->lists, c->nlists, sizeof(c->lists[0]), by_id);
	if (!xf_clock_align(c)) {
		for (size_t i = 0; i < c->nlists; i++)
			c->lists[i]->model = (struct xf_clock_model){
				.low = XF_CLOCK_NONE, .high = XF_CLOCK_NONE};
	}
	/* the records of a switch do not come in the order of what they tell, where a vCPU is moved by force */
	if (!c->runstates && c->breaks < FEW)
		c->breaks = 0;
}

void xf_clock_free(struct xf_clocks *c)
{
	for (size_t i = 0; i < c->nlists; i++) {
		free(c->lists[i]->steps);
		free(c->lists[i]);
	}
	free(c->lists);
	*c = (struct xf_clocks){0};
}
