// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does the log belong to the capture, and how does its clock run?  In: the page faults of both.
 * Out: the clock, how many faults agree, how far their times are apart; or a refusal.
 *
 * Xen's record stands a little before the kernel's line.  How little the handler's way takes at the least is
 * the same everywhere, so the smallest distances in each part of the time show the clock's course.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/guest/state.h"
#include "schemas/db.h"
#include "schemas/scan.h"

#define PENDING 16	     /* faults of a vCPU that wait for their line */
#define PARTS	32	     /* of the time */
#define NEAR	500000	     /* cycles: a clock that is less sure gives no names */
#define FAR	1e15	     /* cycles, days: no correction of a clock */
#define FEW	16	     /* faults that make a fitted clock sure */
#define AGREE	0.9	     /* part of the log's faults that the capture must have */
#define REACH	(1ull << 32) /* cycles that a record may lie before its line, at the most */
#define AHEAD	1000000	     /* cycles that the first guess may be wrong by */

struct vcpu {
	struct xf_guest_fault pending[PENDING];
	unsigned n;
};

struct pass {
	struct xf_guest *g;
	const struct xf_guest_clock *clock;
	struct xf_map vcpus; /* number -> struct vcpu */
	uint64_t faults, matched, largest;
	struct part {
		bool known;
		int64_t least; /* cycles from the record to the line */
		double time;   /* of that */
	} parts[PARTS];
	uint64_t first, last; /* of the common time */
};

static bool covered(const struct xf_guest *g, uint64_t tsc)
{
	return tsc >= g->first && tsc <= g->last && !xf_spans_hold(&g->holes, tsc);
}

static int keep(struct pass *p, const struct xf_event *event)
{
	struct vcpu *vcpu = xf_map_object(&p->vcpus, event->vcpu, sizeof(*vcpu));

	if (!vcpu)
		return xf_fail_nomem(p->g->err);
	if (vcpu->n == PENDING)
		memmove(vcpu->pending, vcpu->pending + 1, --vcpu->n * sizeof(*vcpu->pending));
	vcpu->pending[vcpu->n++] = (struct xf_guest_fault){
		event->tsc, event->va, event->rip, event->vcpu, event->error_code};
	return 0;
}

static void agree(struct pass *p, const struct xf_guest_fault *fault, uint64_t tsc, uint64_t record)
{
	int64_t distance = (int64_t)(tsc - record);
	uint64_t far = distance < 0 ? 0 - (uint64_t)distance : (uint64_t)distance;
	uint64_t span = (p->last - p->first) / PARTS + 1;
	size_t i = tsc > p->first ? (tsc - p->first) / span : 0;
	struct part *part = &p->parts[i < PARTS ? i : PARTS - 1];

	p->matched++;
	p->largest = far > p->largest ? far : p->largest;
	if (part->known && part->least <= distance)
		return;
	*part = (struct part){true, distance, (double)(int64_t)(fault->time - p->clock->zero)};
}

static void look_for(struct pass *p, const struct xf_guest_fault *fault)
{
	uint64_t *slot = xf_map_get(&p->vcpus, fault->vcpu);
	struct vcpu *vcpu = slot ? (struct vcpu *)(uintptr_t)*slot : NULL;
	uint64_t tsc = xf_guest_tsc(p->clock, fault->time);

	/* what the capture could not have */
	if (!covered(p->g, tsc))
		return;
	for (unsigned i = vcpu ? vcpu->n : 0; i--;) {
		const struct xf_guest_fault *pending = &vcpu->pending[i];

		if (pending->va != fault->va || pending->error_code != fault->error_code ||
			pending->rip != fault->rip || pending->time + REACH < tsc)
			continue;
		p->faults++;
		agree(p, fault, tsc, pending->time);
		memmove(&vcpu->pending[i], &vcpu->pending[i + 1],
			(--vcpu->n - i) * sizeof(*vcpu->pending));
		return;
	}
	/* the record of a fault just behind a hole may lie in it */
	p->faults += covered(p->g, tsc > NEAR ? tsc - NEAR : 0);
}

static int walk(struct pass *p, struct xf_event_scan *scan)
{
	struct xf_guest *g = p->g;
	struct xf_guest_fault fault;
	struct xf_event event;
	int64_t id;
	int code = xf_ftrace_rewind(g->log, g->err), more = 0;

	if (!code)
		more = xf_guest_logged_fault(g, &fault);
	while (!code && (code = xf_event_scan_next(scan, &id, &event, g->err)) == 1) {
		code = xf_guest_check_stop(g, (unsigned long)id);
		if (code || !xf_guest_faulted(g, &event))
			continue;
		/* a line that its clock puts too early must not come before its record */
		while (more == 1 &&
			xf_guest_tsc(p->clock, fault.time) + p->clock->slack <= event.tsc) {
			look_for(p, &fault);
			more = xf_guest_logged_fault(g, &fault);
		}
		code = more < 0 ? more : keep(p, &event);
	}
	while (!code && more == 1) {
		look_for(p, &fault);
		more = xf_guest_logged_fault(g, &fault);
	}
	return code ? code : more;
}

/* Compares the faults of both with this clock. */
static int compare(struct xf_guest *g, const struct xf_guest_clock *clock, struct pass *p)
{
	uint64_t first = xf_guest_tsc(clock, g->survey.first), key, value;
	uint64_t last = xf_guest_tsc(clock, g->survey.last);
	struct xf_event_scan scan;
	size_t cursor = 0;
	int code;

	*p = (struct pass){.g = g, .clock = clock};
	p->first = first > g->first ? first : g->first;
	p->last = last < g->last ? last : g->last;
	if (p->first > p->last)
		return 0;
	code = xf_event_scan_open(&scan, g->db, 1, INT64_MAX, true, g->err);
	if (!code)
		code = walk(p, &scan);
	xf_event_scan_close(&scan);
	while (xf_map_next(&p->vcpus, &cursor, &key, &value))
		free((void *)(uintptr_t)value);
	xf_map_free(&p->vcpus);
	return code;
}

static bool agrees(const struct pass *p)
{
	return (double)p->matched >= AGREE * (double)p->faults;
}

/* Lays the clock through the smallest distances, so that a line is never before its record. */
static void settle(struct xf_guest_clock *clock, const struct pass *p)
{
	double n = 0, x = 0, y = 0, xx = 0, xy = 0, rate = 0;

	for (int i = 0; i < PARTS; i++) {
		n += p->parts[i].known;
		x += p->parts[i].known ? p->parts[i].time : 0;
		y += p->parts[i].known ? (double)p->parts[i].least : 0;
	}
	if (!n)
		return;
	x /= n;
	y /= n;
	for (int i = 0; i < PARTS; i++) {
		double dx = p->parts[i].time - x;

		if (!p->parts[i].known)
			continue;
		xx += dx * dx;
		xy += dx * ((double)p->parts[i].least - y);
	}
	if (n > 2 && xx > 0)
		rate = xy / xx;
	/* what is so far off is none, and is refused */
	if (fabs(y - rate * x) > FAR)
		return;
	clock->tsc -= (uint64_t)(int64_t)(y - rate * x);
	clock->rate -= rate;
}

/* How far the smallest distances lie apart. */
static uint64_t spread(const struct pass *p)
{
	int64_t low = INT64_MAX, high = INT64_MIN;

	for (int i = 0; i < PARTS; i++) {
		if (!p->parts[i].known)
			continue;
		low = p->parts[i].least < low ? p->parts[i].least : low;
		high = p->parts[i].least > high ? p->parts[i].least : high;
	}
	return high < low ? UINT64_MAX : (uint64_t)high - (uint64_t)low;
}

static void take(struct xf_guest *g, const struct xf_guest_clock *clock, const struct pass *p)
{
	g->clock = *clock;
	g->result->faults = p->faults;
	g->result->matched = p->matched;
	g->result->residual = p->largest;
	g->result->rate = clock->rate;
}

static int refuse(struct xf_guest *g, const char *why)
{
	return xf_fail(g->err, XF_FORMAT,
		"the log does not fit domain d%d of this capture: %s; it is of another boot, guest or time,"
		" or its clock jumps",
		g->domid, why);
}

/* Another clock than Xen's, or Xen's with an offset. */
static int fit_other(struct xf_guest *g, struct pass *p)
{
	struct xf_guest_clock clock = {0};
	char why[160];
	int code = xf_guest_anchor(g, &clock);

	if (code < 0)
		return code;
	if (!code)
		return refuse(g, "too few of its user page faults, in their order, stand in both");
	for (int round = 0; round < 3 && code >= 0; round++) {
		clock.slack = AHEAD;
		code = compare(g, &clock, p);
		if (round < 2)
			settle(&clock, p);
	}
	if (code < 0)
		return code;
	snprintf(why, sizeof(why), "%llu of its %llu user page faults stand in both",
		(unsigned long long)p->matched, (unsigned long long)p->faults);
	if (p->matched < FEW || !agrees(p))
		return refuse(g, why);
	clock.slack = spread(p);
	snprintf(why, sizeof(why),
		"with the best clock the times of the same page faults are up to %llu cycles apart",
		(unsigned long long)clock.slack);
	if (clock.slack > NEAR)
		return refuse(g, why);
	g->result->fitted = true;
	take(g, &clock, p);
	return 0;
}

int xf_guest_fit(struct xf_guest *g)
{
	struct xf_guest_clock xen = {g->survey.first, g->survey.first, 1, 0};
	struct pass p = {0};
	int64_t base = 0;
	int code =
		xf_db_int(g->db, "SELECT ifnull((SELECT tsc_base FROM capture), 0)", &base, g->err);

	if (code)
		return code;
	xen.tsc -= (uint64_t)base;
	if (g->result->log.seconds)
		return g->survey.faults
			       ? fit_other(g, &p)
			       : refuse(g, "its clock is not Xen's, and it has no"
					   " page_fault_user by which to find out how it runs");
	code = compare(g, &xen, &p);
	if (code)
		return code;
	if (p.first <= p.last && agrees(&p)) {
		take(g, &xen, &p);
		return 0;
	}
	if (g->survey.faults)
		return fit_other(g, &p);
	return refuse(g, "the two have no time in common");
}
