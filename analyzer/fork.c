// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Forks.  In: page-table writes of a vCPU, its faults, task switches, pins.  Out: rows when they end.
 *
 * A fork is a walk: it write-protects entries in ascending order, page-table page by page-table page,
 * visiting each once, without a fault at a user address on its vCPU in between.  It ends when the
 * child's tables are pinned, with the next such fault, or when another walk begins.  A task switch
 * suspends it.
 */
#include <stdlib.h>

#include "analyzer/state.h"
#include "schemas/xen.h"

#define MAX_SUSPENDED 16

static struct xf_lane *lane_of(struct xf_fork *fork, const struct xf_write *w)
{
	for (unsigned i = 0; i < fork->nlanes; i++)
		if (!w->has_rip || fork->lanes[i].rip == w->rip)
			return &fork->lanes[i];
	return NULL;
}

/* Can the write be the next step of the walk? */
static bool fits(struct xf_fork *fork, const struct xf_write *w)
{
	struct xf_lane *lane = lane_of(fork, w);

	/* out-of-sync pages may be written again after an eviction */
	if (w->shadow)
		return lane != NULL;
	/* the same entry again: its page was hooked again before the write got through */
	if (lane && lane->page == w->page)
		return w->va >= lane->va;
	if (!lane && fork->nlanes == XF_LANES)
		return false;
	return !xf_map_get(&fork->pages, w->page);
}

/* Certain: the same page-table page, further on. */
static bool continues(struct xf_fork *fork, const struct xf_write *w)
{
	struct xf_lane *lane = lane_of(fork, w);

	return lane && lane->page == w->page && w->va > lane->va;
}

static void take_out(struct xf_domain *d, struct xf_fork *fork)
{
	if (fork->prev)
		fork->prev->next = fork->next;
	else
		*(fork->ended ? &d->ended : &d->forks) = fork->next;
	if (fork->next)
		fork->next->prev = fork->prev;
}

static void put_in(struct xf_domain *d, struct xf_fork *fork)
{
	struct xf_fork **head = fork->ended ? &d->ended : &d->forks;

	fork->prev = NULL;
	fork->next = *head;
	if (*head)
		(*head)->prev = fork;
	*head = fork;
}

static void set_maybe(struct xf_fork *fork, struct xf_fork *maybe)
{
	if (fork->maybe)
		fork->maybe->awaited--;
	fork->maybe = maybe;
	if (maybe)
		maybe->awaited++;
}

/* The next fork that waits for this one's fate, of those behind `after` (NULL = from the first on). */
static struct xf_fork *waiting_for(
	const struct xf_domain *d, const struct xf_fork *fork, const struct xf_fork *after)
{
	struct xf_fork *f = after ? after->next : d->forks;

	if (!fork->awaited)
		return NULL;
	for (bool last = after && after->ended;; last = true, f = d->ended) {
		for (; f; f = f->next)
			if (f->maybe == fork)
				return f;
		if (last)
			return NULL;
	}
}

static void unlink_fork(struct xf_analyzer *a, struct xf_domain *d, struct xf_fork *fork)
{
	struct xf_fork *f;

	xf_map_remove(&a->forks, (uint64_t)fork->id);
	take_out(d, fork);
	while ((f = waiting_for(d, fork, NULL)))
		set_maybe(f, NULL);
	set_maybe(fork, NULL);
}

/* Writes the row and frees, or forgets a walk that changed nothing. */
static int write_fork(struct xf_analyzer *a, struct xf_fork *fork)
{
	struct xf_domain *d = fork->first_vcpu->domain;
	bool lone_shadow = fork->has_shadow && fork->npages < 2;
	int code;

	unlink_fork(a, d, fork);
	/* of a shadow guest one page alone says nothing: anything may write to it */
	if ((!fork->costs.ptes && !fork->has_shadow && !fork->cut) || lone_shadow) {
		xf_flush_add(a->flushes, fork->flushes);
		code = xf_rows_forget_fork(a, fork->id);
	} else {
		a->findings[XF_FINDING_SHADOW_FORKS] += fork->has_shadow;
		code = xf_rows_fork(a, fork);
		if (!code)
			code = xf_flush_write(a, fork);
	}
	xf_map_free(&fork->pages);
	free(fork);
	return code;
}

static bool same_walk_waits(struct xf_fork *fork)
{
	return fork->maybe != NULL;
}

/* An ended fork is written once nothing of it is open and nothing is undecided. */
int xf_fork_settle(struct xf_analyzer *a, struct xf_fork *fork)
{
	if (!fork->ended || fork->open || same_walk_waits(fork))
		return 0;
	for (struct xf_fork *f = NULL; (f = waiting_for(fork->first_vcpu->domain, fork, f));)
		a->findings[XF_FINDING_FORK_UNDECIDED] += f->doubt == NULL;
	return write_fork(a, fork);
}

/* Closes what runs of the fork are open, on whichever vCPU, and keeps the fork meanwhile. */
static int end_runs(struct xf_analyzer *a, struct xf_fork *fork, enum xf_end why)
{
	uint64_t number, value;
	size_t cursor = 0;
	int code = 0;

	fork->open++;
	while (!code && xf_map_next(&fork->first_vcpu->domain->vcpus, &cursor, &number, &value)) {
		struct xf_vcpu *v = (struct xf_vcpu *)(uintptr_t)value;

		if (v->run && v->run->fork == fork)
			code = xf_sequence_end_run(a, v, why);
	}
	fork->open--;
	return code;
}

static int end_fork(struct xf_analyzer *a, struct xf_fork *fork, enum xf_end why)
{
	struct xf_domain *d = fork->first_vcpu->domain;
	struct xf_vcpu *v = fork->vcpu;
	struct xf_fork *f;
	int code;

	if (fork->ended)
		return 0;
	take_out(d, fork);
	fork->ended = true;
	put_in(d, fork);
	fork->ended_by = why;
	if (fork->maybe_pinned && !fork->doubt)
		fork->doubt = "ends with a pin after another task ran, by order";
	if (v->fork == fork)
		v->fork = NULL;
	code = end_runs(a, fork, why);
	/* those that waited for this one's fate are on their own now */
	while (!code && (f = waiting_for(d, fork, NULL))) {
		set_maybe(f, NULL);
		code = xf_fork_settle(a, f);
	}
	return code ? code : xf_fork_settle(a, fork);
}

static struct xf_fork *new_fork(
	struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	struct xf_fork *fork = calloc(1, sizeof(*fork));
	uint64_t *slot = fork ? xf_map_put(&a->forks, (uint64_t)a->next_fork + 1) : NULL;

	if (!slot) {
		free(fork);
		xf_fail_nomem(a->err);
		return NULL;
	}
	*slot = (uintptr_t)fork;
	fork->id = ++a->next_fork;
	fork->first_vcpu = fork->vcpu = v;
	fork->tsc_start = fork->tsc_end = event->tsc;
	fork->first_event = a->event_id;
	if (v->flushes[0][XF_REACH_ALL].n && v->flush_event[0] < fork->first_event)
		fork->first_event = v->flush_event[0];
	fork->cut = v->cut;
	put_in(v->domain, fork);
	v->fork = fork;
	a->findings[XF_FINDING_UNOWNED] += !v->known;
	/* no guest runs there: the records of who runs are wrong or missing */
	if (v->known && v->domain->id == XF_DOMID_IDLE) {
		fork->doubt = "written while no guest ran: whose it is is not known";
		a->findings[XF_FINDING_IDLE_FORKS]++;
	}
	return fork;
}

/* Adds the write to the walk. */
static int walk(struct xf_analyzer *a, struct xf_fork *fork, struct xf_vcpu *v,
	const struct xf_write *w, const struct xf_event *event)
{
	struct xf_lane *lane = lane_of(fork, w);
	uint64_t *slot = xf_map_get(&fork->pages, w->page), *mm;

	if (!lane) {
		lane = &fork->lanes[fork->nlanes++];
		lane->rip = w->rip;
	}
	lane->page = w->page;
	lane->va = w->va;
	if (!slot) {
		if (!xf_map_put(&fork->pages, w->page))
			return xf_fail_nomem(a->err);
		fork->npages++;
		mm = xf_map_put(&v->domain->page_mm, w->page);
		if (!mm)
			return xf_fail_nomem(a->err);
		if (!fork->mm)
			fork->mm = *mm ? *mm : (uint64_t)fork->id;
		*mm = fork->mm;
	}
	if (w->shadow)
		fork->has_shadow = true;
	else if (event->kind == XF_UNHOOK)
		fork->has_unhooked = true;
	else
		fork->has_emulated = true;
	fork->tsc_end = event->tsc;
	fork->last_event = a->event_id;
	fork->suspended = false;
	fork->maybe_pinned = false;
	fork->vcpu = v;
	fork->spaces = v->spaces;
	fork->cr3 = v->cr3;
	v->fork = fork;
	return 0;
}

/* Do the pages say that the walk copies the address space that this page belongs to? 1, 0, -1 unknown */
static int same_space(struct xf_domain *d, const struct xf_fork *fork, uint64_t page)
{
	uint64_t *mm = xf_map_get(&d->page_mm, page);

	if (!mm || fork->mm == (uint64_t)fork->id)
		return -1;
	return *mm == fork->mm;
}

/* The one fork that ended in a pin and may be the rest of this one; NULL = none, or several. */
static struct xf_fork *only_rest(const struct xf_domain *d, const struct xf_fork *fork)
{
	struct xf_fork *rest = NULL;

	for (struct xf_fork *r = NULL; (r = waiting_for(d, fork, r));) {
		if (!r->ended || r->ended_by != XF_END_PIN || r->open)
			continue;
		if (rest)
			return NULL;
		rest = r;
	}
	return rest;
}

/*
 * The address space that is loaded was loaded since the fork was suspended, and whoever it belongs to has
 * been in user mode: not the forking process, unless another thread of it ran.
 */
static bool in_user_mode(const struct xf_vcpu *v, const struct xf_fork *suspended)
{
	if (suspended->vcpu == v ? v->spaces == suspended->spaces : !v->spaces)
		return false;
	return v->user_space == v->spaces + 1;
}

/*
 * After a task switch: which suspended fork goes on with this write?  NULL = none, a new one begins;
 * *maybe is a suspended fork of another vCPU that it may all the same be the rest of.
 */
static struct xf_fork *resumed(
	struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_write *w, struct xf_fork **maybe)
{
	struct xf_fork *here = NULL, *elsewhere = NULL;
	unsigned nhere = 0, nelsewhere = 0;

	*maybe = NULL;
	if (v->not_suspended)
		return NULL;
	for (struct xf_fork *f = v->domain->forks; f; f = f->next)
		if (f->suspended && continues(f, w))
			return f;
	/* only kernel threads ran in between, which borrow the address space */
	for (struct xf_fork *f = v->domain->forks; f; f = f->next)
		if (f->suspended && f->vcpu == v && f->spaces == v->spaces && !w->shadow &&
			fits(f, w))
			return f;
	for (struct xf_fork *f = v->domain->forks; f; f = f->next) {
		int same = same_space(v->domain, f, w->page);

		if (!f->suspended || f->maybe_pinned || !fits(f, w) || same == 0 || w->shadow)
			continue;
		/* what went on elsewhere, and to its end, does not go on here */
		if (same < 0 && (in_user_mode(v, f) || only_rest(v->domain, f)))
			continue;
		if (f->vcpu == v) {
			/* it was switched away from here, and a switch back is needed */
			if (v->switches == f->switches)
				continue;
			/* going away and coming back loads two: one means that another process runs */
			if (v->spaces - f->spaces == 1)
				continue;
			here = f;
			nhere++;
		} else if (same == 1) {
			return f;
		} else {
			elsewhere = f;
			nelsewhere++;
		}
	}
	if (nhere) {
		a->findings[XF_FINDING_FORK_RESUMED]++;
		here->doubt =
			nhere > 1 ? "goes on after another task ran; which of several is a guess"
				  : "goes on after another task ran, by order";
		return here;
	}
	if (nelsewhere == 1)
		*maybe = elsewhere;
	return NULL;
}

/* Suspended forks that never go on must not pile up. */
static int limit_suspended(struct xf_analyzer *a, struct xf_domain *d)
{
	struct xf_fork *oldest = NULL;
	unsigned n = 0;

	for (struct xf_fork *f = d->forks; f; f = f->next) {
		if (!f->suspended)
			continue;
		n++;
		if (!oldest || f->suspended_at < oldest->suspended_at)
			oldest = f;
	}
	if (n <= MAX_SUSPENDED)
		return 0;
	return end_fork(a, oldest, oldest->maybe_pinned ? XF_END_PIN : XF_END_NEXT);
}

int xf_fork_write(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_write *w,
	const struct xf_event *event, struct xf_fork **out)
{
	struct xf_fork *fork = v->fork, *maybe = NULL;
	int code;

	if (fork && (fork->suspended || fork->vcpu != v))
		fork = NULL;
	/* another instruction in the middle of a shadow guest's walk is not part of it */
	if (fork && w->shadow && fork->npages > 1 && !lane_of(fork, w))
		return 0;
	if (fork && !fits(fork, w)) {
		code = end_fork(a, fork, XF_END_NEXT);
		if (code)
			return code;
		fork = NULL;
	}
	if (!fork)
		fork = resumed(a, v, w, &maybe);
	if (!fork) {
		code = limit_suspended(a, v->domain);
		if (code)
			return code;
		fork = new_fork(a, v, event);
		if (!fork)
			return -XF_INTERNAL;
		set_maybe(fork, maybe);
	}
	*out = fork;
	return walk(a, fork, v, w, event);
}

int xf_fork_user_fault(struct xf_analyzer *a, struct xf_vcpu *v)
{
	struct xf_fork *fork = v->fork;

	v->not_suspended = true;
	v->user_space = v->spaces + 1;
	v->cut = false;
	if (fork && !fork->suspended && fork->vcpu == v)
		return end_fork(a, fork, XF_END_FAULT);
	/* where CR3 is recorded, a fault in the address space of a suspended fork shows that it is over */
	for (fork = v->cr3 ? v->domain->forks : NULL; fork; fork = fork->next)
		if (fork->suspended && fork->cr3 == v->cr3)
			return end_fork(a, fork, XF_END_FAULT);
	return 0;
}

void xf_fork_task_switch(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	struct xf_fork *fork = v->fork;

	(void)a;
	v->switches++;
	v->not_suspended = false;
	if (!fork || fork->suspended || fork->vcpu != v)
		return;
	fork->suspended = fork->preempted = true;
	fork->switches = v->switches;
	fork->suspended_at = event->tsc;
	v->fork = NULL;
}

void xf_fork_batch(struct xf_vcpu *v, const struct xf_event *event)
{
	struct xf_fork *fork = v->fork;

	if (fork && !fork->suspended && fork->vcpu == v)
		fork->copied += event->count;
}

int xf_fork_pin(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	struct xf_fork *fork = v->fork;

	v->cut = false;
	if (fork && !fork->suspended && fork->vcpu == v) {
		fork->tsc_pin = event->tsc;
		v->pinning = fork->id;
		v->pins = 0;
		v->not_suspended = true; /* large tables are pinned in several multicalls */
		return end_fork(a, fork, XF_END_PIN);
	}
	/* a suspended fork that had nothing left to write-protect also ends with a pin, as exec does */
	for (struct xf_fork *f = v->domain->forks; f; f = f->next) {
		if (!f->suspended || f->vcpu != v || v->not_suspended ||
			f->switches == v->switches || f->maybe_pinned ||
			v->spaces - f->spaces == 1 || in_user_mode(v, f) || only_rest(v->domain, f))
			continue;
		f->maybe_pinned = true;
		f->tsc_pin = event->tsc;
		v->maybe_pinned = (uint64_t)f->id;
		break;
	}
	return 0;
}

bool xf_is_mmuext_of_two(const struct xf_event *event)
{
	return event->kind == XF_MMUEXT && event->count == 2 && !(event->has & XF_HAS_ARG2);
}

bool xf_loads_space(const struct xf_event *event)
{
	return xf_is_mmuext_of_two(event) && event->raw_id != XF_RECORD_SUBCALL;
}

/* The pin was an exec's. */
static void take_back_pin(struct xf_analyzer *a, struct xf_vcpu *v)
{
	uint64_t *slot = xf_map_get(&a->forks, v->maybe_pinned);
	struct xf_fork *fork = slot ? (struct xf_fork *)(uintptr_t)*slot : NULL;

	if (!fork || !fork->maybe_pinned)
		return;
	fork->maybe_pinned = false;
	fork->tsc_pin = 0;
}

/*
 * A task switch loads the new address space and switches stacks at once.  An exec loads the one that
 * it has pinned and goes on in it; a fork never loads its child's.
 */
void xf_fork_event(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	if (event->kind == XF_HYPERCALL || event->kind == XF_PRIVOP || event->kind == XF_IRET)
		return;
	if (v->maybe_pinned && v->loading && event->kind != XF_TASK_SWITCH)
		take_back_pin(a, v);
	if (v->loading || event->kind == XF_TASK_SWITCH)
		v->maybe_pinned = 0;
	v->loading = xf_loads_space(event);
	/* tables of any size are unpinned without anything else between the multicalls */
	if (event->kind == XF_TASK_SWITCH || event->kind == XF_EMULATE ||
		(event->kind == XF_MMUEXT && event->raw_id != XF_RECORD_SUBCALL))
		v->unpinning = false;
}

int xf_fork_break(struct xf_analyzer *a, struct xf_vcpu *v, enum xf_end why)
{
	struct xf_fork *f, *next;
	int code = 0;

	/* whatever a suspended fork did meanwhile may be lost as well, on this vCPU or another */
	for (f = v->domain->forks; f && !code; f = next) {
		next = f->next;
		if (f->vcpu != v && !f->suspended)
			continue;
		f->cut = true;
		code = end_fork(a, f, why);
		next = v->domain->forks; /* what ends takes itself out */
	}
	return code;
}

/*
 * At the end of the capture: a fork that was suspended and never seen again, and one that began on
 * another vCPU right after a switch, in pages that no other fork had: one fork, by elimination.
 */
static int join_moved(struct xf_analyzer *a, struct xf_fork *first, struct xf_fork *rest)
{
	struct xf_costs *to = &first->costs, *from = &rest->costs;
	int code = end_runs(a, first, XF_END_NEXT);

	if (!code)
		code = xf_rows_move_fork(a, rest->id, first->id);
	to->ptes += from->ptes;
	to->faults += from->faults;
	to->unhooks += from->unhooks;
	to->rehooks += from->rehooks;
	to->emulations += from->emulations;
	to->flushes += from->flushes;
	to->spurious += from->spurious;
	xf_flush_add(first->flushes, rest->flushes);
	first->npages += rest->npages;
	first->tsc_end = rest->tsc_end;
	first->tsc_pin = rest->tsc_pin;
	first->last_event = rest->last_event;
	first->has_emulated |= rest->has_emulated;
	first->ended_by = rest->ended_by;
	take_out(rest->first_vcpu->domain, first);
	first->ended = true;
	put_in(rest->first_vcpu->domain, first);
	first->doubt = "goes on on another vCPU, by elimination";
	a->findings[XF_FINDING_FORK_MOVED]++;
	unlink_fork(a, rest->first_vcpu->domain, rest);
	xf_map_free(&rest->pages);
	free(rest);
	return code;
}

int xf_fork_finish(struct xf_analyzer *a, struct xf_domain *d)
{
	struct xf_fork *f, *next;
	int code = 0;

	for (f = d->forks; f && !code; f = next) {
		struct xf_fork *rest = f->suspended && !f->maybe_pinned ? only_rest(d, f) : NULL;

		next = f->next; /* the rest has ended: it is in the other list */
		if (rest)
			code = join_moved(a, f, rest);
	}
	while (!code && (f = d->forks)) {
		set_maybe(f, NULL);
		code = end_fork(a, f, f->maybe_pinned ? XF_END_PIN : XF_END_END);
	}
	while (!code && (f = d->ended)) {
		set_maybe(f, NULL);
		code = end_runs(a, f, f->ended_by);
		if (!code)
			code = write_fork(a, f);
	}
	return code;
}
