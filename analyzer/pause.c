// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pauses of a whole domain inside a domctl hypercall of another, as reading the dirty bitmap makes them.
 * In: pause, unpause and hypercall events.  Out: the latest pause, once what was under way at it is over.
 *
 * Xen puts each vCPU to sleep and waits for it.  Until the domain may run again (or the hypercall is over)
 * an event of the domain still lies before the pause.
 */
#include "analyzer/state.h"
#include "schemas/xen.h"

static bool covers_all(const struct xf_domain *d)
{
	uint64_t number, value;
	size_t cursor = 0;

	while (xf_map_next(&d->vcpus, &cursor, &number, &value)) {
		bool known = number < 64 * XF_PAUSE_WORDS;

		if (known && !(d->pause.asleep[number / 64] >> number % 64 & 1))
			return false;
	}
	return true;
}

/* Whose domctl is under way and may be what puts a vCPU of d to sleep; NULL = none. */
static const struct xf_vcpu *asker(const struct xf_analyzer *a, const struct xf_vcpu *v,
	const struct xf_domain *d, bool asked_here)
{
	if (v->domctl && v->domain != d)
		return v;
	/* a vCPU that runs elsewhere goes offline there, and its record says nothing of who asked */
	if (!asked_here && a->domctl_vcpu && a->domctl_vcpu->domctl && a->domctl_vcpu->domain != d)
		return a->domctl_vcpu;
	return NULL;
}

static void to_sleep(struct xf_analyzer *a, const struct xf_vcpu *v, struct xf_domain *d,
	const struct xf_event *event)
{
	const struct xf_vcpu *by =
		asker(a, v, d, XF_RECORD_SUBCLASS(event->raw_id) != XF_SUBCLASS_SCHED);
	struct xf_pause *p = &d->pause;

	if (!by)
		return;
	if (p->by != by || p->domctl != by->domctl) {
		p->by = by;
		p->domctl = by->domctl;
		p->whole = false;
		p->resumed |= p->ready;
		for (unsigned i = 0; i < XF_PAUSE_WORDS; i++)
			p->asleep[i] = 0;
	}
	if (event->arg2 < 64 * XF_PAUSE_WORDS)
		p->asleep[event->arg2 / 64] |= 1ull << event->arg2 % 64;
	if (!p->whole && !covers_all(d))
		return;
	p->count += !p->whole;
	p->whole = p->ready = true;
	p->resumed = false;
	/* of several without anything between them the first one counts */
	if (p->count == 1)
		p->tsc = event->tsc;
}

int xf_pause_event(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	struct xf_domain *d;

	switch (event->kind) {
	case XF_PAUSE:
	case XF_UNPAUSE:
		/* a domain that was idle so far has no event of its own yet */
		d = xf_domain_of(a, true, (uint32_t)event->arg1);
		if (!d)
			return -XF_INTERNAL;
		if (event->kind == XF_PAUSE)
			to_sleep(a, v, d, event);
		else
			d->pause.resumed |= d->pause.ready;
		return 0;
	case XF_P2M:
		return 0; /* Xen's own work inside the hypercall */
	case XF_HYPERCALL:
		if (event->arg1 == XF_CALL_domctl) {
			v->domctl = event->tsc;
			a->domctl_vcpu = v;
			return 0;
		}
		break;
	default:
		break;
	}
	v->domctl = 0;
	return 0;
}

bool xf_pause_take(struct xf_domain *d, bool at_end, struct xf_pause_taken *taken)
{
	struct xf_pause *p = &d->pause;

	if (!p->ready || !(at_end || p->resumed || p->by->domctl != p->domctl))
		return false;
	*taken = (struct xf_pause_taken){p->tsc, p->count};
	p->ready = p->resumed = p->whole = false;
	p->by = NULL;
	p->count = 0;
	return true;
}
