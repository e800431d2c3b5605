// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TLB flushes as Xen itself records them (schemas/trace-points.md).  In: the trace points' events.  Out: a
 * row for each flush that was done or avoided, and for each CPU that one interrupted.
 *
 * A flush is open from its record to the next one of its pCPU: the other CPUs answer meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/state.h"
#include "schemas/xen.h"

#define FLAGS(arg1)	 ((unsigned)(arg1))
#define FLUSH_ORDER	 0xffu	/* 0, or 1 + order of the pages */
#define FLUSH_TLB	 0x100u /* entries that are not global */
#define FLUSH_GLOBAL	 0x200u
#define FILTER_WAS(arg1) ((unsigned)((arg1)&0xffff))
#define FILTER_IS(arg1)	 ((unsigned)((arg1) >> 16 & 0xffff))
#define TOPS		 2 /* L4s of a process */
#define PIN_L3		 2
#define PIN_L4		 3

/* A flush that is under way, or was avoided; one for each pCPU, made when it is needed first. */
struct xf_tlb {
	uint32_t pcpu;
	bool open;
	bool awaits_type; /* the page whose type changes is named by what follows */
	struct xf_event event;
	int64_t id, fork_id; /* 0 = no fork */
	unsigned spared; /* CPUs that the filter left out; of the next flush while none is open */
	bool filtered;
	uint64_t left; /* CPUs 0 to 63 that have not answered */
	unsigned ipis;
	uint64_t done; /* TSC of the last answer, or of the end; 0 = none */
};

static const char *cause_name(unsigned cause)
{
	static const char *const names[] = {
#define X(number, name, text) [number] = text,
		XF_FLUSH_CAUSES(X)
#undef X
	};

	return cause < sizeof(names) / sizeof(names[0]) ? names[cause] : names[0];
}

static const char *reach_name(unsigned flags)
{
	if (!(flags & (FLUSH_TLB | FLUSH_GLOBAL)))
		return "none";
	if (flags & FLUSH_ORDER)
		return (flags & FLUSH_ORDER) == 1 ? "address" : "range";
	return flags & FLUSH_GLOBAL ? "global" : "all";
}

static const char *type_name(unsigned type)
{
	static const char *const names[16] = {"none", "L1", "L2", "L3", "L4", "segments", "6",
		"writable", "8", "9", "10", "11", "12", "13", "14", "15"};

	return names[type & 15];
}

/* What of the cause it was, NULL = nothing to say. */
static const char *detail_text(uint64_t arg1, char *text, size_t size)
{
	static const char *const va_flushes[] = {"none", "tlb", "address", "3"};
	unsigned detail = XF_FLUSH_DETAIL(arg1);

	switch (XF_FLUSH_CAUSE(arg1)) {
	case XF_FOR_TYPE_CHANGE:
		snprintf(text, size, "%s to %s", type_name(detail >> 4), type_name(detail));
		return text;
	case XF_FOR_MMUEXT:
		return xf_mmuext_name(detail);
	case XF_FOR_UPDATE_VA_MAPPING:
		snprintf(
			text, size, "%s%s", va_flushes[detail & 3], detail & 4 ? ", all CPUs" : "");
		return text;
	default:
		return NULL;
	}
}

static struct xf_tlb *tlb_of(struct xf_analyzer *a, uint32_t pcpu)
{
	struct xf_tlb *t = xf_map_object(&a->tlbs, pcpu, sizeof(*t));

	if (!t)
		xf_fail_nomem(a->err);
	else
		t->pcpu = pcpu;
	return t;
}

/* The vCPU that the record names, as far as other records have shown it. */
static struct xf_vcpu *known_vcpu(struct xf_analyzer *a, const struct xf_event *event)
{
	uint64_t *d = event->has & XF_HAS_OWNER ? xf_map_get(&a->domains, event->domid) : NULL;
	uint64_t *v =
		d ? xf_map_get(&((struct xf_domain *)(uintptr_t)*d)->vcpus, event->vcpu) : NULL;

	return v ? (struct xf_vcpu *)(uintptr_t)*v : NULL;
}

/* Whose fork it is made for, 0 = none: the one that runs, or that pins its child's tables. */
static int64_t fork_of(struct xf_analyzer *a, const struct xf_event *event)
{
	struct xf_vcpu *v = known_vcpu(a, event);

	if (!v)
		return 0;
	if (v->fork && !v->fork->suspended && v->fork->vcpu == v)
		return v->fork->id;
	return v->pinning;
}

/* Its row; counted where its fork's are. */
static int write_flush(struct xf_analyzer *a, struct xf_tlb *t)
{
	const struct xf_event *e = &t->event;
	bool done = e->kind == XF_FLUSH;
	unsigned remote = done ? XF_FLUSH_REMOTE(e->arg1) : 0;
	uint64_t *fork = t->fork_id ? xf_map_get(&a->forks, (uint64_t)t->fork_id) : NULL;
	char detail[40];
	int code = 0;
	struct xf_rows_tlb row = {.event_id = t->id,
		.fork_id = t->fork_id,
		.has_owner = e->has & XF_HAS_OWNER,
		.domid = e->domid,
		.vcpu = e->vcpu,
		.cause = cause_name(XF_FLUSH_CAUSE(e->arg1)),
		.detail = detail_text(e->arg1, detail, sizeof(detail)),
		.reach = done ? reach_name(FLAGS(e->arg1)) : "all",
		.done = done,
		.cpus = done ? remote + XF_FLUSH_LOCAL(e->arg1) : 0,
		.remote = remote,
		.filtered = t->filtered,
		.spared = t->spared,
		.has_frame = e->has & XF_HAS_FRAME,
		.frame = e->frame,
		.ipis = t->ipis,
		.has_cycles = t->done > e->tsc,
		.cycles = t->done - e->tsc};

	t->open = t->filtered = t->awaits_type = false;
	t->spared = 0;
	if (done && fork)
		((struct xf_fork *)(uintptr_t)*fork)->costs.flushes++;
	else if (done && t->fork_id)
		code = xf_rows_add_fork_flush(a, t->fork_id);
	return code ? code : xf_rows_tlb(a, &row);
}

static void open_flush(struct xf_analyzer *a, struct xf_tlb *t, const struct xf_event *event)
{
	t->open = true;
	t->awaits_type = XF_FLUSH_CAUSE(event->arg1) == XF_FOR_TYPE_CHANGE;
	t->event = *event;
	t->id = a->event_id;
	t->fork_id = fork_of(a, event);
	t->ipis = 0;
	t->done = 0;
}

static int flush(struct xf_analyzer *a, struct xf_tlb *t, const struct xf_event *event)
{
	open_flush(a, t, event);
	t->left = event->arg2 | ~(uint64_t)UINT32_MAX;
	/* the words of the address are the frame's where there is none */
	if (!(FLAGS(event->arg1) & FLUSH_ORDER) && event->va && t->awaits_type) {
		t->event.frame = event->va;
		t->event.has |= XF_HAS_FRAME;
		t->awaits_type = false;
	}
	return 0;
}

static int filter(struct xf_analyzer *a, struct xf_tlb *t, const struct xf_event *event)
{
	unsigned was = FILTER_WAS(event->arg1), is = FILTER_IS(event->arg1);

	if (!was)
		return 0;
	t->filtered = true;
	t->spared = was - is;
	if (is) /* the flush itself follows */
		return 0;
	open_flush(a, t, event);
	t->awaits_type = t->awaits_type && !(event->has & XF_HAS_FRAME);
	return 0;
}

/* The flush that interrupted this CPU: the oldest one that awaits it and is of this kind. */
static int interrupt(struct xf_analyzer *a, const struct xf_event *event)
{
	struct xf_tlb *by = NULL;
	uint64_t pcpu, value;
	size_t cursor = 0;

	while (xf_map_next(&a->tlbs, &cursor, &pcpu, &value)) {
		struct xf_tlb *t = (struct xf_tlb *)(uintptr_t)value;
		const struct xf_event *e = &t->event;

		if (!t->open || e->kind != XF_FLUSH || t->pcpu == event->pcpu ||
			t->ipis == XF_FLUSH_REMOTE(e->arg1) ||
			FLAGS(event->arg1) & ~FLAGS(e->arg1) || e->va != event->va ||
			(event->pcpu < 64 && !(t->left >> event->pcpu & 1)))
			continue;
		if (!by || t->id < by->id)
			by = t;
	}
	if (!by) {
		a->findings[XF_FINDING_FLUSH_IPI]++;
		return xf_rows_interrupt(a, a->event_id, 0, 0);
	}
	if (event->pcpu < 64)
		by->left &= ~((uint64_t)1 << event->pcpu);
	by->ipis++;
	by->done = event->tsc;
	return xf_rows_interrupt(a, a->event_id, by->id, (int64_t)(event->tsc - by->event.tsc));
}

/* The page that is validated as what the flush was for. */
static void name_page(struct xf_tlb *t, const struct xf_event *event)
{
	if (!t->open || !t->awaits_type || event->kind != XF_VALIDATE || event->has & XF_HAS_ARG2 ||
		event->domid != t->event.domid || event->vcpu != t->event.vcpu ||
		(event->arg1 & 15) != (XF_FLUSH_DETAIL(t->event.arg1) & 15))
		return;
	t->event.frame = event->frame;
	t->event.has |= XF_HAS_FRAME;
}

/*
 * A fork's child is pinned by one operation for each of its top-level tables: the kernel's and the
 * user's L4, or one L3.  With the last of them the fork is over.
 */
static void count_pin(struct xf_analyzer *a, const struct xf_event *event)
{
	unsigned command = (unsigned)event->arg1 & 0xffff;
	struct xf_vcpu *v = known_vcpu(a, event);

	if (!v || !v->pinning)
		return;
	v->pins += command == PIN_L4 ? 1 : command == PIN_L3 ? TOPS : 0;
	if (v->pins >= TOPS)
		v->pinning = 0;
}

int xf_tlb_event(struct xf_analyzer *a, const struct xf_event *event)
{
	struct xf_tlb *t;
	int code = 0;

	if (event->kind == XF_FLUSH_IPI)
		return interrupt(a, event);
	t = tlb_of(a, event->pcpu);
	if (!t)
		return -XF_INTERNAL;
	if (event->kind == XF_FLUSH_CPUS)
		return 0;
	if (event->kind == XF_FLUSH_END && t->open)
		t->done = event->tsc;
	else
		name_page(t, event);
	if (event->kind == XF_FLUSH_END && t->awaits_type)
		return 0;
	if (t->open)
		code = write_flush(a, t);
	if (code)
		return code;
	switch (event->kind) {
	case XF_FLUSH:
		return flush(a, t, event);
	case XF_FLUSH_FILTER:
		return filter(a, t, event);
	case XF_MMUEXT:
		count_pin(a, event);
		return 0;
	default:
		return 0;
	}
}

int xf_tlb_other(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	uint64_t *slot = xf_map_get(&a->tlbs, event->pcpu);
	struct xf_tlb *t = slot ? (struct xf_tlb *)(uintptr_t)*slot : NULL;

	/* the child's tables are pinned inside of multicalls */
	if (v && event->raw_id != XF_RECORD_SUBCALL && event->kind != XF_MULTICALL &&
		event->kind != XF_BATCH)
		v->pinning = 0;
	if (!t)
		return 0;
	if (!t->open) {
		t->filtered = false;
		t->spared = 0;
		return 0;
	}
	return write_flush(a, t);
}

int xf_tlb_finish(struct xf_analyzer *a)
{
	uint64_t pcpu, value;
	size_t cursor = 0;
	int code = 0;

	while (!code && xf_map_next(&a->tlbs, &cursor, &pcpu, &value))
		if (((struct xf_tlb *)(uintptr_t)value)->open)
			code = write_flush(a, (struct xf_tlb *)(uintptr_t)value);
	return code;
}

void xf_tlb_free(struct xf_analyzer *a)
{
	uint64_t pcpu, value;
	size_t cursor = 0;

	while (xf_map_next(&a->tlbs, &cursor, &pcpu, &value))
		free((void *)(uintptr_t)value);
	xf_map_free(&a->tlbs);
}
