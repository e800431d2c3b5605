// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nested page faults by the exits around them.  In: records between VMEXIT and VMENTRY.  Out: events.
 * Facts of the layouts and of what is recorded when: docs/trace-records.md.
 */
#include "collector/trace/nested.h"

/* Exit reasons.  SVM's begin far above the few dozen of VMX, which shares the id up to Xen 4.18. */
#define SVM_NPF	      0x400
#define SVM_INTR      0x60
#define VMX_REASON    0xffff
#define VMX_MISCONFIG 49
#define SVM_EXIT_ID   0x81003 /* since 4.19; 0x100 more for 64-bit guests */
#define SVM_EXIT64_ID 0x81103

/* p2m types, as Xen numbers them for its records */
enum {
	RAM_RW = 0,
	LOGDIRTY = 2,
	MMIO_DM = 4,
	MMIO_DIRECT = 5,
	POPULATE_ON_DEMAND = 6,
	IOREQ_SERVER = 15,
};

#define TYPE_MASK 0xffu

void xf_nested_exit(struct xf_pcpu *pcpu, struct xf_stream *stream, const struct xf_record *record,
	const struct xf_event *decoded)
{
	uint32_t reason = (uint32_t)decoded->arg1;
	bool recalc;

	stream->svm |=
		reason >= SVM_INTR || record->id == SVM_EXIT_ID || record->id == SVM_EXIT64_ID;
	recalc = stream->svm ? reason == SVM_NPF : (reason & VMX_REASON) == VMX_MISCONFIG;
	pcpu->exit = (struct xf_exit){.open = true,
		.timed = record->timed,
		.p2m = recalc && decoded->has & XF_HAS_ARG1,
		.raw_id = record->id,
		.tsc = record->tsc,
		.key = pcpu->key};
}

void xf_nested_over(struct xf_pcpu *pcpu)
{
	pcpu->exit.open = false;
}

/* VMX records a fault before it is handled, with the access in the qualification; SVM after, with none. */
static enum xf_npf name_before(unsigned type, uint32_t qualification)
{
	switch (type) {
	case LOGDIRTY:
		return XF_NPF_DIRTY;
	case RAM_RW:
		/* the access against what the entry allows; allowed: another vCPU was here first */
		return qualification & 7 & ~(qualification >> 3) ? XF_NPF_ACCESS : XF_NPF_OTHER;
	default:
		return XF_NPF_OTHER;
	}
}

static enum xf_npf name_after(const struct xf_exit *exit, bool has_p2m, unsigned type, uint64_t gfn)
{
	if (exit->open && exit->populated)
		return XF_NPF_POPULATE;
	/* the entry was set in this very exit; without records of the class mem that cannot be seen */
	if (type == RAM_RW && (!has_p2m || (exit->open && exit->set && exit->set_gfn == gfn)))
		return XF_NPF_DIRTY;
	return XF_NPF_OTHER;
}

void xf_nested_fault(struct xf_pcpu *pcpu, const struct xf_stream *stream, struct xf_event *event)
{
	unsigned type = (unsigned)event->arg1 & TYPE_MASK;
	enum xf_npf name;

	if (type == MMIO_DM || type == MMIO_DIRECT || type == IOREQ_SERVER)
		name = XF_NPF_MMIO;
	else if (type == POPULATE_ON_DEMAND)
		name = XF_NPF_POPULATE;
	else if (event->error_code)
		name = name_before(type, event->error_code);
	else
		name = name_after(&pcpu->exit, stream->has_p2m, type, event->frame);
	event->arg1 = type | (uint64_t)name << 8;
	if (pcpu->exit.open && pcpu->exit.timed) {
		event->tsc = pcpu->exit.tsc;
		event->has &= (uint16_t)~XF_HAS_LATE;
	}
	pcpu->exit.faulted = true;
}

void xf_nested_p2m(struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_event *event)
{
	struct xf_exit *exit = &pcpu->exit;

	stream->has_p2m = true;
	if (!exit->open)
		return;
	if (event->has & XF_HAS_ARG1) {
		exit->set = event->arg1 == RAM_RW;
		exit->set_gfn = event->frame;
	} else {
		exit->populated = true;
	}
	if (exit->timed) {
		event->tsc = exit->tsc;
		event->has &= (uint16_t)~XF_HAS_LATE;
	}
}

static bool sched_role(enum xf_role role)
{
	return role == XF_ROLE_WAS || role == XF_ROLE_WAS_IS || role == XF_ROLE_SWITCH ||
	       role == XF_ROLE_SCHED;
}

bool xf_nested_waits(const struct xf_pcpu *pcpu, const struct xf_layout *layout)
{
	return pcpu->pending.kind == XF_NPF && pcpu->exit.open &&
	       (!layout || (!layout->kind && layout->role == XF_ROLE_NONE));
}

struct xf_event xf_nested_entered(struct xf_pcpu *pcpu, const struct xf_record *entry)
{
	struct xf_event event = pcpu->pending;

	if (pcpu->exit.open && pcpu->exit.timed && entry->timed && entry->tsc >= pcpu->exit.tsc) {
		event.count = entry->tsc - pcpu->exit.tsc;
		event.has |= XF_HAS_COUNT;
	}
	pcpu->has_pending = false;
	return event;
}

bool xf_nested_recalc(const struct xf_pcpu *pcpu, const struct xf_layout *layout)
{
	return pcpu->exit.open && pcpu->exit.p2m && !pcpu->exit.faulted && layout &&
	       !layout->kind &&
	       (layout->role == XF_ROLE_VMENTRY || sched_role((enum xf_role)layout->role));
}

void xf_nested_fill_recalc(const struct xf_pcpu *pcpu, const struct xf_record *entry, bool entered,
	struct xf_event *event)
{
	event->kind = XF_RECALC;
	event->raw_id = pcpu->exit.raw_id;
	if (!pcpu->exit.timed)
		return;
	if (entered && entry->timed && entry->tsc >= pcpu->exit.tsc) {
		event->count = entry->tsc - pcpu->exit.tsc;
		event->has |= XF_HAS_COUNT;
	}
	event->tsc = pcpu->exit.tsc;
	event->has = (uint16_t)((event->has | XF_HAS_TSC) & ~XF_HAS_LATE);
}
