// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TLB flushes.  In: flush records, INVLPG, CR3 loads, mmuext_op.  Out: rows by fork, cause, reach.
 * Today's traces show neither the commands of mmuext_op nor what Xen flushes by itself.
 */
#include "analyzer/state.h"

static void add(struct xf_flushes *to, const struct xf_flushes *from)
{
	to->n += from->n;
	to->cpus += from->cpus;
	to->has_cpus |= from->has_cpus;
}

/* A flush for a hook is recorded just before the hook's own record, and belongs to whom that does. */
void xf_flush_hook(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	/* all ones, of 32 or 64 bits, stands for everything */
	bool all = event->va == UINT64_MAX || event->va == UINT32_MAX;
	unsigned reason = event->arg1 & 1;
	struct xf_flushes *f = &v->flushes[reason][all ? XF_REACH_ALL : XF_REACH_ADDRESS];

	if (!f->n)
		v->flush_event[reason] = a->event_id;
	f->n++;
	f->has_cpus = true;
	f->cpus += (unsigned)__builtin_popcountll(event->arg2);
}

unsigned xf_flush_take(
	struct xf_analyzer *a, struct xf_vcpu *v, struct xf_fork *fork, unsigned reason)
{
	struct xf_flushes(*to)[XF_REACHES] = fork ? fork->flushes : a->flushes;
	unsigned n = 0;

	for (int reach = 0; reach < XF_REACHES; reach++) {
		struct xf_flushes *f = &v->flushes[reason][reach];

		n += (unsigned)f->n;
		add(&to[reason ? XF_CAUSE_REHOOK : XF_CAUSE_UNHOOK][reach], f);
		*f = (struct xf_flushes){0};
	}
	return n;
}

void xf_flush_other(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	enum xf_reach reach = event->kind == XF_INVLPG	    ? XF_REACH_ADDRESS
			      : event->kind == XF_CR3_WRITE ? XF_REACH_ALL
							    : XF_REACH_UNKNOWN;
	enum xf_cause cause = event->kind == XF_INVLPG	    ? XF_CAUSE_INVLPG
			      : event->kind == XF_CR3_WRITE ? XF_CAUSE_CR3
							    : XF_CAUSE_HYPERCALL;
	bool inside = v->fork && !v->fork->suspended && v->fork->vcpu == v;

	(inside ? v->fork->flushes : a->flushes)[cause][reach].n +=
		event->kind == XF_MMUEXT && event->has & XF_HAS_COUNT ? event->count : 1;
}

int xf_flush_write(struct xf_analyzer *a, const struct xf_fork *fork)
{
	int code = 0;

	for (int cause = 0; cause < XF_CAUSES; cause++) {
		for (int reach = 0; reach < XF_REACHES && !code; reach++) {
			const struct xf_flushes *f =
				fork ? &fork->flushes[cause][reach] : &a->flushes[cause][reach];

			if (f->n)
				code = xf_rows_flush(a, fork ? fork->id : 0,
					fork ? xf_rows_mechanism(fork) : NULL, (enum xf_cause)cause,
					(enum xf_reach)reach, f);
		}
	}
	return code;
}

void xf_flush_add(struct xf_flushes (*to)[XF_REACHES], struct xf_flushes (*from)[XF_REACHES])
{
	for (int cause = 0; cause < XF_CAUSES; cause++) {
		for (int reach = 0; reach < XF_REACHES; reach++) {
			add(&to[cause][reach], &from[cause][reach]);
		}
	}
}
