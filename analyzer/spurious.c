// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Faults that need not have been.  In: delivered faults, PTE changes, hooks.  Out: rows with a cause.
 *
 * raced: while vCPU A's fault was on its way, vCPU B changed the entry of the same page; A's handler
 * finds the work done and returns without a change.  B's change lies after the last thing that A's
 * kernel did before the fault (else A would not have faulted) and before A's handler returned.  That
 * takes one address space, which no record names: vCPUs that each resolved a fault at the same page
 * since they loaded their page tables, one after the other, have two.
 * rehooked: the same with the page-table page, which B had unhooked and Xen hooked again.
 */
#include <stdlib.h>

#include "analyzer/state.h"

#define LOOP 16 /* the same fault so many times in a row, without a change, is a loop */

/* Was the later change made for a fault that one address space would not have had after the first? */
static bool both_needed(const struct xf_change *a, const struct xf_change *b)
{
	const struct xf_change *first = a->tsc < b->tsc ? a : b, *later = first == a ? b : a;

	if (a->va >> 12 != b->va >> 12 || later->fault < first->until)
		return false;
	/* after a write fault the entry is writable; else it is at least present */
	return (first->error_code & 2) || !((a->error_code | b->error_code) & 1);
}

/* Do the changes of two vCPUs, since they loaded their page tables, tell that those are not the same? */
static bool strangers(
	const struct xf_domain *d, const struct xf_vcpu *v, const struct xf_vcpu *other)
{
	uint64_t n = d->nchanges < XF_CHANGES ? d->nchanges : XF_CHANGES;

	for (uint64_t i = 0; i < n; i++) {
		const struct xf_change *mine = &d->changes[i];

		if (mine->vcpu != v || mine->space != v->spaces)
			continue;
		for (uint64_t k = 0; k < n; k++) {
			const struct xf_change *its = &d->changes[k];

			if (its->vcpu == other && its->space == other->spaces &&
				both_needed(mine, its))
				return true;
		}
	}
	return false;
}

/* A change to the page that another vCPU made between two times, or that was under way; NULL = none. */
static const struct xf_change *find_change(const struct xf_domain *d, const struct xf_vcpu *v,
	uint64_t va, uint64_t after, uint64_t before)
{
	for (unsigned i = 1; i <= XF_CHANGES && i <= d->nchanges; i++) {
		const struct xf_change *c = &d->changes[(d->nchanges - i) % XF_CHANGES];

		if (c->vcpu != v && c->va >> 12 == va >> 12 && c->tsc < before &&
			c->until > after && !strangers(d, v, c->vcpu))
			return c;
	}
	return NULL;
}

/* They raced: have they done so before, with the page tables that they have now? */
static bool again(struct xf_vcpu *v, struct xf_vcpu *other)
{
	bool before = v->raced == other && v->raced_space[0] == v->spaces &&
		      v->raced_space[1] == other->spaces;

	v->raced = other;
	v->raced_space[0] = other->raced_space[1] = v->spaces;
	v->raced_space[1] = other->raced_space[0] = other->spaces;
	other->raced = v;
	return before;
}

/* The handler of the vCPU's open fault has returned: was there a need for it? */
static int returned(struct xf_analyzer *a, struct xf_vcpu *v, uint64_t tsc)
{
	struct xf_handler *h = &v->handler;
	const struct xf_change *c;
	bool plain;

	h->open = false;
	if (h->changed || !v->known)
		return 0;
	c = find_change(v->domain, v, h->va, h->before, tsc);
	if (!c)
		return 0;
	/* nothing but the return, and not for the first time: no chance meeting of two processes */
	plain = again(v, c->vcpu);
	plain = plain && !h->interrupted && (c->error_code & 1) == (h->error_code & 1);
	return xf_rows_spurious(a, h->event, "raced", (int)c->vcpu->number, c->event,
		(int64_t)(h->tsc - c->tsc), plain ? "certain" : "likely");
}

/*
 * Xen found nothing to do: the page is still unhooked for another vCPU, or was hooked again, by
 * another vCPU or for one.
 */
/* The hook is closed already, its row is written; its fork may still be open. */
static int charge(struct xf_analyzer *a, const struct xf_hook_history *last)
{
	int code = xf_rows_add_sequence_spurious(a, last->sequence_id);
	uint64_t *slot;
	struct xf_fork *f;

	if (code || !last->fork_id)
		return code;
	slot = xf_map_get(&a->forks, (uint64_t)last->fork_id);
	if (!slot)
		return xf_rows_add_fork_spurious(a, last->fork_id);
	f = (struct xf_fork *)(uintptr_t)*slot;
	f->costs.spurious++;
	f->costs.faults++;
	return 0;
}

int xf_spurious_reported(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	uint64_t *slot = xf_map_get(&v->domain->by_l2, event->va >> 21);
	struct xf_sequence *s = slot ? (struct xf_sequence *)(uintptr_t)*slot : NULL;
	const struct xf_hook_history *last;
	const struct xf_vcpu *owner = NULL;
	uint64_t since = event->tsc;
	int64_t other = 0;
	int code;

	slot = xf_map_get(&v->domain->last_hook, event->va >> 21);
	last = slot ? (struct xf_hook_history *)(uintptr_t)*slot : NULL;
	if (s) {
		s->costs.spurious++;
		owner = s->vcpu;
		other = s->first_event;
		since = s->tsc_start;
	} else if (last) {
		owner = last->rehooker != v ? last->rehooker : last->owner;
		other = last->event;
		since = last->rehooked;
		code = charge(a, last);
		if (code)
			return code;
	}
	return xf_rows_spurious(a, a->event_id, "reported",
		owner && owner != v && owner->known ? (int)owner->number : -1, other,
		(int64_t)(event->tsc - since), "certain");
}

void xf_spurious_repeated(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	struct xf_repeats *r = &v->repeats, now = {.page = event->va >> 12,
						    .rip = event->has & XF_HAS_RIP ? event->rip : 0,
						    .error_code = event->error_code};

	if (r->changed || r->page != now.page || r->error_code != now.error_code ||
		r->rip != now.rip)
		*r = now;
	else if (++r->n == LOOP)
		a->findings[XF_FINDING_LOOP]++;
}

int xf_spurious_fault(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	struct xf_handler *h = &v->handler;
	struct xf_hook_history *last;
	uint64_t *slot, *word, bit;
	int code = 0;

	/* a fault in the handler of another one: the first one's end cannot be told any more */
	h->open = true;
	h->changed = h->interrupted = false;
	h->returned = 0;
	h->va = event->va;
	h->error_code = event->error_code;
	h->tsc = event->tsc;
	h->event = a->event_id;
	h->before = v->previous;
	/* P clear although the entry is there: its page-table page was unhooked when the MMU looked */
	slot = xf_map_get(&v->domain->last_hook, event->va >> 21);
	last = slot ? (struct xf_hook_history *)(uintptr_t)*slot : NULL;
	if (!last)
		return 0;
	word = &last->present[event->va >> 18 & 7];
	bit = 1ull << (event->va >> 12 & 63);
	if (event->error_code & 1) {
		*word |= bit;
	} else if (last->owner != v && last->rehooked > v->previous && v->known) {
		h->open = false;
		code = xf_rows_spurious(a, a->event_id, "rehooked", (int)last->owner->number,
			last->event, (int64_t)(event->tsc - last->rehooked),
			*word & bit ? "certain" : "likely");
		if (!code)
			code = charge(a, last);
	}
	return code;
}

/*
 * Before each event of a vCPU: the change that it was making is made by now, and if this is no
 * change, a return since the fault was the handler's own.
 */
int xf_spurious_next(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	struct xf_domain *d = v->domain;
	struct xf_handler *h = &v->handler;

	if (v->change && d->nchanges - v->change < XF_CHANGES && d->changes)
		d->changes[(v->change - 1) % XF_CHANGES].until = event->tsc;
	v->change = 0;
	if (!h->open || !h->returned)
		return 0;
	if (event->kind != XF_BATCH && event->kind != XF_EMULATE && event->kind != XF_UNHOOK)
		return returned(a, v, h->returned);
	h->returned = 0;
	return 0;
}

int xf_spurious_change(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	struct xf_handler *h = &v->handler;
	struct xf_domain *d = v->domain;

	v->repeats.changed = true;
	if (!h->open)
		return 0;
	if (!h->changed) {
		if (!d->changes && !(d->changes = calloc(XF_CHANGES, sizeof(*d->changes))))
			return xf_fail_nomem(a->err);
		d->changes[d->nchanges++ % XF_CHANGES] = (struct xf_change){v, h->va, h->tsc,
			event->tsc, UINT64_MAX, v->spaces, h->event, h->error_code};
		h->change = d->nchanges;
	} else if (d->nchanges - h->change < XF_CHANGES) {
		/* a table first, then the entry: the last one is it */
		d->changes[(h->change - 1) % XF_CHANGES].until = UINT64_MAX;
	}
	v->change = h->change;
	h->changed = true;
	return 0;
}

void xf_spurious_other(struct xf_vcpu *v, const struct xf_event *event)
{
	struct xf_handler *h = &v->handler;

	if (!h->open)
		return;
	if (event->kind == XF_IRET) {
		/* from the handler, or from an interrupt that left no record: what comes next tells */
		h->returned = event->tsc;
	} else if (event->kind == XF_TASK_SWITCH) {
		/* it sleeps: whatever is changed now is another task's */
		h->open = false;
	} else {
		h->interrupted = true;
	}
}

int xf_spurious_finish(struct xf_analyzer *a, struct xf_vcpu *v)
{
	struct xf_handler *h = &v->handler;

	return h->open && h->returned ? returned(a, v, h->returned) : 0;
}

int xf_spurious_rehooked(struct xf_analyzer *a, const struct xf_vcpu *v,
	const struct xf_sequence *s, const struct xf_event *event, int64_t event_id)
{
	struct xf_hook_history *last;

	if (!s->has_base || s->shadow)
		return 0;
	last = xf_map_object(&s->vcpu->domain->last_hook, s->va_base >> 21, sizeof(*last));
	if (!last)
		return xf_fail_nomem(a->err);
	last->owner = s->vcpu;
	last->rehooker = v;
	last->unhooked = s->tsc_start;
	last->rehooked = event->tsc;
	last->event = event_id;
	last->sequence_id = s->id;
	last->fork_id = s->fork ? s->fork->id : 0;
	return 0;
}

void xf_spurious_free(struct xf_domain *d)
{
	uint64_t key, value;
	size_t cursor = 0;

	while (xf_map_next(&d->last_hook, &cursor, &key, &value))
		free((void *)(uintptr_t)value);
	xf_map_free(&d->last_hook);
	free(d->changes);
	d->changes = NULL;
	d->nchanges = 0;
}
