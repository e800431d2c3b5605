// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Out-of-sync episodes of shadow paging.  In: unsyncs and resyncs.  Out: sequences.
 *
 * These records carry no TSC: each lies somewhere between the timed records around it on its pCPU.
 * On one pCPU their order is known; between pCPUs it is open where the intervals overlap.  Of the
 * events that may come next (none of another pCPU must lie wholly before), one is preferred that
 * fits: an unsync of a page that is in sync, a resync of one that is not.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/state.h"

int xf_shadow_add(struct xf_analyzer *a, struct xf_vcpu *v, struct xf_fork *fork,
	const struct xf_event *event, int64_t event_id)
{
	struct xf_queue *q = xf_map_object(&v->domain->floating, event->pcpu, sizeof(*q));

	if (!q)
		return xf_fail_nomem(a->err);
	if (q->head && q->head == q->count)
		q->head = q->count = 0;
	if (q->count == q->room) {
		size_t room = q->room ? 2 * q->room : 16;
		struct xf_floating *more = realloc(q->items, room * sizeof(*more));

		if (!more)
			return xf_fail_nomem(a->err);
		q->items = more;
		q->room = room;
	}
	q->items[q->count++] = (struct xf_floating){*event, event_id, v, fork, v->cut};
	v->domain->nfloating++;
	/* its sequence is still to come: the fork must wait for it */
	if (fork)
		fork->open++;
	if (event->has & XF_HAS_LATE)
		a->findings[XF_FINDING_FLOATING]++;
	return 0;
}

static uint64_t latest(const struct xf_floating *f)
{
	return f->event.has & XF_HAS_LATE ? f->event.tsc_late : f->event.tsc;
}

static bool fits(const struct xf_domain *d, const struct xf_floating *f)
{
	bool open = xf_map_get(&d->hooked, f->event.frame) != NULL;

	return (f->event.kind == XF_UNHOOK) != open;
}

/* The queue whose first event comes next; NULL = all are empty. */
static struct xf_queue *choose(const struct xf_domain *d)
{
	struct xf_queue *best = NULL;
	uint64_t pcpu, value, bound = UINT64_MAX;
	bool best_fits = false;
	size_t cursor = 0;

	while (xf_map_next(&d->floating, &cursor, &pcpu, &value)) {
		const struct xf_queue *q = (struct xf_queue *)(uintptr_t)value;

		if (q->head < q->count && latest(&q->items[q->head]) < bound)
			bound = latest(&q->items[q->head]);
	}
	cursor = 0;
	while (xf_map_next(&d->floating, &cursor, &pcpu, &value)) {
		struct xf_queue *q = (struct xf_queue *)(uintptr_t)value;
		const struct xf_floating *f = &q->items[q->head], *b;
		bool fit;

		if (q->head == q->count || f->event.tsc > bound)
			continue;
		fit = fits(d, f);
		b = best ? &best->items[best->head] : NULL;
		if (!b || (fit && !best_fits) ||
			(fit == best_fits &&
				(f->event.tsc < b->event.tsc ||
					(f->event.tsc == b->event.tsc && f->id < b->id)))) {
			best = q;
			best_fits = fit;
		}
	}
	return best;
}

static int take(struct xf_analyzer *a, struct xf_domain *d, struct xf_queue *q)
{
	struct xf_floating f = q->items[q->head++];
	int code;

	d->nfloating--;
	if (f.event.kind == XF_REHOOK)
		return xf_sequence_rehooked(a, f.vcpu, &f.event, f.id);
	if (f.event.kind == XF_UNSHADOW)
		return xf_sequence_end_hooked(a, d, f.event.frame, XF_END_UNSHADOW);
	code = xf_sequence_unhooked(a, f.vcpu, f.fork, &f.event, f.id, f.cut);
	if (f.fork)
		f.fork->open--;
	return code;
}

int xf_shadow_advance(struct xf_analyzer *a, struct xf_domain *d, uint64_t tsc)
{
	struct xf_queue *q;
	int code = 0;

	while (!code && d->nfloating && (q = choose(d)) && latest(&q->items[q->head]) < tsc) {
		/* all that may come before it is here: events arrive by their earliest time */
		code = take(a, d, q);
	}
	return code;
}

int xf_shadow_finish(struct xf_analyzer *a, struct xf_domain *d)
{
	struct xf_queue *q;
	int code = 0;

	while (!code && d->nfloating && (q = choose(d)))
		code = take(a, d, q);
	return code;
}

void xf_shadow_free(struct xf_domain *d)
{
	uint64_t pcpu, value;
	size_t cursor = 0;

	while (xf_map_next(&d->floating, &cursor, &pcpu, &value)) {
		free(((struct xf_queue *)(uintptr_t)value)->items);
		free((void *)(uintptr_t)value);
	}
	xf_map_free(&d->floating);
}
