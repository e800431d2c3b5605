// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fault sequences of page-table pages.  In: emulated writes, unhooks, rehooks.
 * Out: a row when a sequence ends.
 */
#include <stdlib.h>

#include "analyzer/state.h"

static struct xf_sequence *begin(struct xf_analyzer *a, struct xf_vcpu *v, struct xf_fork *fork,
	const struct xf_event *event)
{
	struct xf_sequence *s = calloc(1, sizeof(*s));

	if (!s) {
		xf_fail_nomem(a->err);
		return NULL;
	}
	s->id = ++a->next_sequence;
	s->vcpu = v;
	s->fork = fork;
	if (fork)
		fork->open++;
	s->cut = v->cut;
	if (event->has & XF_HAS_VA) {
		s->has_page = true;
		s->page = event->va & ~4095ull;
	}
	s->has_frame = event->has & XF_HAS_FRAME;
	s->frame = event->frame;
	s->tsc_start = s->tsc_end = event->tsc;
	s->first_event = s->last_event = a->event_id;
	return s;
}

/* Writes the row, adds to the fork, frees. */
static int end(struct xf_analyzer *a, struct xf_sequence *s, enum xf_end reason)
{
	struct xf_fork *fork = s->fork;
	int code;

	for (int i = 0; i < XF_SLOT_WORDS; i++)
		s->costs.ptes += (unsigned)__builtin_popcountll(s->slots[i]);
	s->costs.faults = s->costs.unhooks + s->costs.emulations + s->costs.spurious;
	if (!s->has_base)
		xf_cow_base(s->vcpu->domain, s);
	code = xf_rows_sequence(a, s, reason);
	if (fork) {
		fork->open--;
		fork->costs.ptes += s->costs.ptes;
		fork->costs.faults += s->costs.faults;
		fork->costs.unhooks += s->costs.unhooks;
		fork->costs.rehooks += s->costs.rehooks;
		fork->costs.emulations += s->costs.emulations;
		fork->costs.flushes += s->costs.flushes;
		fork->costs.spurious += s->costs.spurious;
		fork->cut |= reason == XF_END_LOSS;
		if (!s->shadow) {
			if (s->tsc_end > fork->tsc_end)
				fork->tsc_end = s->tsc_end;
			if (s->last_event > fork->last_event)
				fork->last_event = s->last_event;
		}
	}
	free(s);
	if (fork && !code)
		code = xf_fork_settle(a, fork);
	return code;
}

int xf_sequence_end_run(struct xf_analyzer *a, struct xf_vcpu *v, enum xf_end reason)
{
	struct xf_sequence *run = v->run;

	if (!run)
		return 0;
	v->run = NULL;
	return end(a, run, reason);
}

int xf_sequence_emulated(struct xf_analyzer *a, struct xf_vcpu *v, struct xf_fork *fork,
	const struct xf_event *event)
{
	uint64_t page = event->va & ~4095ull;
	unsigned slot = (unsigned)(event->va & 4095) >> xf_pte_shift(event->raw_id);
	int code;

	if (v->run && (v->run->page != page || v->run->fork != fork)) {
		code = xf_sequence_end_run(a, v, XF_END_NEXT);
		if (code)
			return code;
	}
	if (!v->run && !(v->run = begin(a, v, fork, event)))
		return -XF_INTERNAL;
	v->run->tsc_end = event->tsc;
	v->run->last_event = a->event_id;
	v->run->costs.emulations++;
	v->run->slots[slot / 64] |= 1ull << slot % 64;
	return 0;
}

/* The flush that Xen records just before the unhook or rehook that it is made for. */
static void take_flushes(
	struct xf_analyzer *a, struct xf_vcpu *v, struct xf_sequence *s, unsigned reason)
{
	unsigned n = xf_flush_take(a, v, s->fork, reason);

	s->costs.flushes += n;
	if (n && !reason && v->flush_event[0] < s->first_event)
		s->first_event = v->flush_event[0];
}

int xf_sequence_end_hooked(
	struct xf_analyzer *a, struct xf_domain *d, uint64_t frame, enum xf_end reason)
{
	uint64_t *slot = xf_map_get(&d->hooked, frame), *last;
	struct xf_sequence *s;

	if (!slot)
		return 0;
	s = (struct xf_sequence *)(uintptr_t)*slot;
	xf_map_remove(&d->hooked, frame);
	last = s->has_base ? xf_map_get(&d->by_l2, s->va_base >> 21) : NULL;
	if (last && *last == (uintptr_t)s)
		xf_map_remove(&d->by_l2, s->va_base >> 21);
	return end(a, s, reason);
}

int xf_sequence_end_all_hooked(struct xf_analyzer *a, struct xf_domain *d, enum xf_end reason)
{
	uint64_t frame, value;
	size_t cursor = 0;
	int code = 0;

	while (!code && xf_map_next(&d->hooked, &cursor, &frame, &value))
		code = xf_sequence_end_hooked(a, d, frame, reason);
	return code;
}

int xf_sequence_unhooked(struct xf_analyzer *a, struct xf_vcpu *v, struct xf_fork *fork,
	const struct xf_event *event, int64_t event_id, bool cut)
{
	struct xf_domain *d = v->domain;
	bool shadow = event->raw_id >> 16 == 0x040;
	struct xf_sequence *s;
	uint64_t *slot;
	int code;

	if (xf_map_get(&d->hooked, event->frame)) {
		/* the record of its end is missing; a shadow that is thrown away writes none */
		a->findings[XF_FINDING_DOUBLE_UNHOOK] += !shadow;
		code = xf_sequence_end_hooked(
			a, d, event->frame, shadow ? XF_END_UNSHADOW : XF_END_LOSS);
		if (code)
			return code;
	}
	s = begin(a, v, fork, event);
	slot = s ? xf_map_put(&d->hooked, event->frame) : NULL;
	if (!slot) {
		free(s);
		return xf_fail_nomem(a->err);
	}
	*slot = (uintptr_t)s;
	s->first_event = s->last_event = event_id;
	s->shadow = shadow;
	s->cut |= cut;
	s->costs.unhooks = 1;
	/* the write that faulted; what follows while the page is out of sync is not seen */
	s->costs.ptes = shadow;
	if (event->has & XF_HAS_LATE)
		s->slack = event->tsc_late - event->tsc;
	if (!shadow) {
		take_flushes(a, v, s, 0);
		s->has_base = true;
		s->va_base = event->arg2 << 21;
		slot = xf_map_put(&d->by_l2, event->arg2);
		if (!slot)
			return xf_fail_nomem(a->err);
		*slot = (uintptr_t)s;
	}
	return 0;
}

int xf_sequence_rehooked(
	struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event, int64_t event_id)
{
	uint64_t *slot = xf_map_get(&v->domain->hooked, event->frame);
	struct xf_sequence *s;
	int code;

	if (!slot) {
		a->findings[XF_FINDING_UNMATCHED_REHOOK]++;
		xf_flush_take(a, v, NULL, 1);
		return 0;
	}
	s = (struct xf_sequence *)(uintptr_t)*slot;
	/* of records that float, both times are the earliest possible: the end comes after the start */
	s->tsc_end = event->tsc > s->tsc_start ? event->tsc : s->tsc_start;
	s->last_event = event_id;
	s->costs.rehooks = 1;
	if (event->has & XF_HAS_COUNT)
		s->costs.ptes = event->count;
	if (event->has & XF_HAS_LATE && event->tsc_late - event->tsc > s->slack)
		s->slack = event->tsc_late - event->tsc;
	take_flushes(a, v, s, 1);
	code = xf_spurious_rehooked(a, v, s, event, event_id);
	if (code)
		return code;
	return xf_sequence_end_hooked(a, v->domain, event->frame, XF_END_REHOOK);
}
