// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TLB flushes.  In: flush records, INVLPG, CR3 loads, mmuext_op.  Out: rows by fork, cause, reach.
 * Today's traces show neither the commands of mmuext_op nor what Xen flushes by itself.
 */
#include "analyzer/state.h"

int xf_flush_event(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	enum xf_reach reach = XF_REACH_UNKNOWN;
	enum xf_cause cause = XF_CAUSE_HYPERCALL;
	struct xf_fork *fork = v->fork;
	struct xf_flushes *f;

	switch (event->kind) {
	case XF_FLUSH:
		cause = event->arg1 & 1 ? XF_CAUSE_REHOOK : XF_CAUSE_UNHOOK;
		/* all ones, of 32 or 64 bits, stands for everything */
		reach = event->va == UINT64_MAX || event->va == UINT32_MAX ? XF_REACH_ALL
									   : XF_REACH_ADDRESS;
		break;
	case XF_INVLPG:
		cause = XF_CAUSE_INVLPG;
		reach = XF_REACH_ADDRESS;
		break;
	case XF_CR3_WRITE:
		cause = XF_CAUSE_CR3;
		reach = XF_REACH_ALL;
		break;
	default:
		break;
	}
	f = fork && !fork->suspended && fork->vcpu == v ? &fork->flushes[cause][reach]
							: &a->flushes[cause][reach];
	f->n += event->kind == XF_MMUEXT && event->has & XF_HAS_COUNT ? event->count : 1;
	if (event->kind == XF_FLUSH) {
		f->has_cpus = true;
		f->cpus += (unsigned)__builtin_popcountll(event->arg2);
	}
	return 0;
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
			to[cause][reach].n += from[cause][reach].n;
			to[cause][reach].cpus += from[cause][reach].cpus;
			to[cause][reach].has_cpus |= from[cause][reach].has_cpus;
		}
	}
}
