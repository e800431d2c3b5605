// SPDX-License-Identifier: GPL-2.0-or-later
/* The analyzer's course.  In: events.  Out: calls of sequence.c, fork.c, shadow.c, cow.c. */
#include "analyzer/analyzer.h"

#include <stdlib.h>

#include "analyzer/state.h"
#include "schemas/db.h"
#include "schemas/scan.h"
#include "schemas/sql.h"
#include "schemas/xen.h"

int xf_analyzer_new(struct xf_analyzer **analyzer, sqlite3 *db, struct xf_error *err)
{
	struct xf_analyzer *a = calloc(1, sizeof(*a));
	int code;

	if (!a)
		return xf_fail_nomem(err);
	a->db = db;
	a->err = err;
	code = xf_rows_prepare(a);
	if (code) {
		xf_analyzer_free(a);
		return code;
	}
	*analyzer = a;
	return 0;
}

struct xf_domain *xf_domain_of(struct xf_analyzer *a, bool known, uint32_t id)
{
	/* the unknown owner of a pCPU's events is a domain of its own */
	struct xf_domain *d = xf_map_object(&a->domains, known ? id : 1ull << 32 | id, sizeof(*d));

	if (!d) {
		xf_fail_nomem(a->err);
		return NULL;
	}
	d->id = id;
	d->known = known;
	return d;
}

static struct xf_vcpu *vcpu_of(struct xf_analyzer *a, const struct xf_event *event)
{
	bool known = event->has & XF_HAS_OWNER;
	uint32_t id = known ? event->domid : event->pcpu, number = known ? event->vcpu : 0;
	struct xf_vcpu *v = a->last;
	struct xf_domain *d;

	/* most events are of the vCPU of the one before */
	if (v && v->number == number && v->known == known && v->domain->id == id)
		return v;
	d = xf_domain_of(a, known, id);
	if (!d)
		return NULL;
	v = xf_map_object(&d->vcpus, number, sizeof(*v));
	if (!v) {
		xf_fail_nomem(a->err);
		return NULL;
	}
	if (!v->domain) {
		v->domain = d;
		v->known = known;
		v->cut = true; /* it may be inside a fork already */
		v->number = number;
		v->pcpu = event->pcpu;
	}
	a->last = v;
	return v;
}

/*
 * Nothing of a vCPU is carried over a loss on a pCPU where it ran or may have run, or over the end of
 * its domain.
 */
static int break_vcpu(struct xf_analyzer *a, struct xf_vcpu *v, enum xf_end why)
{
	int code = xf_fork_break(a, v, why);

	if (!code)
		code = xf_walk_end(a, v, false);
	if (!code)
		code = xf_sequence_end_run(a, v, why);
	v->cut = why == XF_END_LOSS;
	v->fork = NULL;
	v->not_suspended = false;
	v->fault_open = v->handler.open = false;
	v->change = 0;
	v->spaces++; /* it may have loaded another one */
	v->multicall_updates = 0;
	v->loading = false;
	v->pinning = 0;
	v->maybe_pinned = 0;
	xf_flush_take(a, v, NULL, 0);
	xf_flush_take(a, v, NULL, 1);
	return code;
}

/* Of a loss only those that were last on that pCPU; of the end of a domain all. */
static int break_vcpus(struct xf_analyzer *a, struct xf_domain *d, enum xf_end why, uint32_t pcpu)
{
	uint64_t number, value;
	size_t cursor = 0;
	int code = 0;

	while (!code && xf_map_next(&d->vcpus, &cursor, &number, &value)) {
		struct xf_vcpu *v = (struct xf_vcpu *)(uintptr_t)value;

		if (why != XF_END_LOSS || v->pcpu == pcpu)
			code = break_vcpu(a, v, why);
	}
	return code;
}

/* The domain has an event: it comes before those that have had none since. */
static void make_newest(struct xf_analyzer *a, struct xf_domain *d)
{
	d->last_event = a->event_id;
	if (d == a->newest)
		return;
	if (d->newer)
		d->newer->older = d->older;
	if (d->older)
		d->older->newer = d->newer;
	d->newer = NULL;
	d->older = a->newest;
	if (a->newest)
		a->newest->newer = d;
	a->newest = d;
}

/* Records of one pCPU were lost: up to event->tsc anything may have happened there. */
static int lost(struct xf_analyzer *a, const struct xf_event *event)
{
	uint64_t *ended = xf_map_put(&a->losses, event->pcpu);
	uint64_t *before = xf_map_put(&a->loss_events, event->pcpu);
	int64_t last;
	int code = 0;

	if (!ended || !before)
		return xf_fail_nomem(a->err);
	*ended = event->tsc;
	last = (int64_t)*before;
	*before = (uint64_t)a->event_id;
	/* to those without an event since the loss before there, nothing new can have happened */
	for (struct xf_domain *d = a->newest; d && !code && d->last_event >= last; d = d->older) {
		if (!d->known && d->id != event->pcpu)
			continue;
		xf_episode_lost(d);
		xf_hap_lost(d);
		code = xf_shadow_finish(a, d);
		if (!code)
			code = xf_sequence_end_all_hooked(a, d, XF_END_LOSS);
		if (!code)
			code = break_vcpus(a, d, XF_END_LOSS, event->pcpu);
	}
	return code;
}

/* A vCPU that comes to a pCPU may have been there already while records were lost. */
static int follow(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	int code = 0;

	if (v->pcpu != event->pcpu) {
		uint64_t *ended = xf_map_get(&a->losses, event->pcpu);

		if (ended && *ended >= v->tsc)
			code = break_vcpu(a, v, XF_END_LOSS);
		v->pcpu = event->pcpu;
	}
	if (!code && (v->change || v->handler.returned))
		code = xf_spurious_next(a, v, event);
	v->previous = v->tsc;
	v->tsc = event->tsc;
	return code;
}

static bool user_address(const struct xf_event *event)
{
	/* the kernel's half begins at 3 GiB where addresses have 32 bits */
	if (event->error_code & 4)
		return true;
	if (event->va >> 32 || event->rip >> 32)
		return !(event->va >> 47);
	return event->va < 0xc0000000u;
}

/*
 * Does the PTE write belong to the fault that was delivered to this vCPU last?  Only the first write
 * after a fault can, and only before the handler returns.
 */
static bool handles_fault(struct xf_vcpu *v, const struct xf_event *event)
{
	unsigned shift = xf_pte_shift(event->raw_id);
	uint64_t last_slot = (4096u >> shift) - 1;
	bool open = v->fault_open;

	v->fault_open = false;
	if (!open || (v->fault_va >> 12 & last_slot) != (event->va & 4095) >> shift)
		return false;
	/* a 2006 unhook says which 2 MiB the page maps */
	return event->kind != XF_UNHOOK || event->raw_id >> 16 == 0x040 ||
	       event->arg2 == v->fault_va >> 21;
}

static int page_fault(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	int code;

	v->fault_open = true;
	v->fault_va = event->va;
	v->fault_error = event->error_code;
	v->fault_event = a->event_id;
	if (!(event->has & XF_HAS_VA))
		return 0;
	xf_spurious_repeated(a, v, event);
	if (!user_address(event))
		return 0;
	code = xf_spurious_fault(a, v, event);
	if (!code)
		code = xf_walk_end(a, v, true);
	return code ? code : xf_fork_user_fault(a, v);
}

/* That is all a set of instructions holds; without memory for one more it stays unknown. */
static void remember(struct xf_map *set, uint64_t rip)
{
	uint64_t *slot = xf_map_put(set, rip);

	if (slot)
		*slot = 1;
}

/* Is it of the kind that page aging makes: present, with the accessed bit clear, by no fork's instruction? */
static bool ages(const struct xf_vcpu *v, const struct xf_event *event)
{
	return event->has & XF_HAS_PTE && event->pte & XF_PTE_PRESENT &&
	       !(event->pte & XF_PTE_ACCESSED) && event->raw_id >> 16 == 0x020 &&
	       event->has & XF_HAS_RIP && !xf_map_get(&v->domain->keepers, event->rip);
}

/*
 * Is the emulated write of the kind that a fork makes: present, and no longer writable?
 * Page aging and clear_refs write-protect nothing: they write an entry that was read-only, with its
 * accessed bit cleared.  Fork leaves that bit as it is, and nearly all of its entries were accessed: an
 * instruction is taken for fork's once it has left the bit set in such an entry.
 */
static bool protects(struct xf_vcpu *v, const struct xf_event *event)
{
	struct xf_domain *d = v->domain;

	if (!(event->has & XF_HAS_PTE) || !(event->pte & XF_PTE_PRESENT) ||
		event->raw_id >> 16 != 0x020)
		return false;
	if (event->pte & XF_PTE_WRITE) {
		remember(&d->writers, event->rip);
		return false;
	}
	/* an instruction that leaves entries writable elsewhere is not fork's */
	if (xf_map_get(&d->writers, event->rip))
		return false;
	return event->pte & XF_PTE_ACCESSED || xf_map_get(&d->keepers, event->rip);
}

/* Notes a fork's instruction. */
static int keeps_accessed(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	struct xf_domain *d = v->domain;

	if (!(event->pte & XF_PTE_ACCESSED) || xf_map_get(&d->keepers, event->rip))
		return 0;
	remember(&d->keepers, event->rip);
	return xf_walk_was_fork(a, d, event->rip);
}

static int emulate(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	unsigned slot = (unsigned)(event->va & 4095) >> xf_pte_shift(event->raw_id);
	struct xf_write write = {
		event->va & ~4095ull, event->va, event->rip, event->has & XF_HAS_RIP, false};
	struct xf_fork *fork = NULL;
	int code = 0;

	if (handles_fault(v, event)) {
		code = xf_cow_break(a, v, write.page, slot, xf_pte_shift(event->raw_id));
	} else if (protects(v, event)) {
		code = keeps_accessed(a, v, event);
		if (!code)
			code = xf_fork_write(a, v, &write, event, &fork);
	} else if (ages(v, event)) {
		code = xf_walk_write(a, v, event);
	}
	if (!code)
		code = xf_spurious_change(a, v, event);
	if (!code)
		code = xf_sequence_emulated(a, v, fork, event);
	if (!code && fork)
		code = xf_cow_protected(a, fork, write.page, slot, v->run->id);
	return code;
}

static int unhook(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	unsigned slot = (unsigned)(event->va & 4095) >> xf_pte_shift(event->raw_id);
	bool shadow = event->raw_id >> 16 == 0x040;
	struct xf_write write = {
		event->va & ~4095ull, event->va, event->rip, event->has & XF_HAS_RIP, shadow};
	struct xf_fork *fork = NULL;
	int code;

	code = xf_sequence_end_run(a, v, XF_END_NEXT);
	if (!code)
		code = xf_spurious_change(a, v, event);
	if (code)
		return code;
	if (handles_fault(v, event)) {
		code = xf_cow_break(a, v, write.page, slot, xf_pte_shift(event->raw_id));
	} else if (!xf_map_get(&v->domain->writers, event->rip)) {
		code = xf_fork_write(a, v, &write, event, &fork);
	}
	if (code)
		return code;
	if (shadow)
		return xf_shadow_add(a, v, fork, event, a->event_id);
	code = xf_sequence_unhooked(a, v, fork, event, a->event_id, false);
	if (!code && fork)
		code = xf_cow_protected(a, fork, write.page, XF_ALL_SLOTS, a->next_sequence);
	return code;
}

/*
 * The pin of new page tables is a multicall of update_va_mapping calls and an mmuext_op: each table is
 * made read-only, then pinned.  Unpinning goes the other way round, the kernel's and the user's top first.
 */
static int subcall(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	if (event->arg1 == 14)
		v->multicall_updates += event->has & XF_HAS_ARG2 ? (unsigned)event->arg2 : 1;
	if (event->arg1 != 26)
		return 0;
	if (!v->multicall_updates && xf_is_mmuext_of_two(event))
		v->unpinning = true;
	if (v->unpinning || v->multicall_updates < 3)
		return 0;
	v->multicall_updates = 0;
	return xf_fork_pin(a, v, event);
}

static int cr3(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	if (v->cr3 != event->frame)
		xf_fork_task_switch(a, v, event);
	v->cr3 = event->frame;
	xf_flush_other(a, v, event);
	return 0;
}

static int domain_removed(struct xf_analyzer *a, uint64_t id)
{
	uint64_t *slot = xf_map_get(&a->domains, id);
	struct xf_domain *d = slot ? (struct xf_domain *)(uintptr_t)*slot : NULL;
	int code = 0;

	/* its id may come again and be another domain */
	if (d)
		code = xf_episode_removed(a, d);
	if (d && !code)
		code = xf_hap_end(a, d, "removed");
	if (d && !code)
		code = xf_shadow_finish(a, d);
	if (d && !code)
		code = xf_sequence_end_all_hooked(a, d, XF_END_UNSHADOW);
	if (d && !code)
		code = break_vcpus(a, d, XF_END_END, 0);
	if (d) {
		xf_cow_free(d);
		xf_spurious_free(d);
		xf_map_free(&d->writers);
		xf_map_free(&d->keepers);
		xf_map_free(&d->page_mm);
	}
	return code;
}

static int dispatch(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	int code;

	switch (event->kind) {
	case XF_PAGE_FAULT:
		return page_fault(a, v, event);
	case XF_EMULATE:
		return emulate(a, v, event);
	case XF_UNHOOK:
		return unhook(a, v, event);
	case XF_REHOOK:
		if (event->raw_id >> 16 == 0x040)
			return xf_shadow_add(a, v, NULL, event, a->event_id);
		return xf_sequence_rehooked(a, v, event, a->event_id);
	case XF_UNSHADOW:
		return xf_shadow_add(a, v, NULL, event, a->event_id);
	case XF_FLUSH:
		xf_flush_hook(a, v, event);
		return 0;
	case XF_SPURIOUS:
		return xf_spurious_reported(a, v, event);
	case XF_IRET:
		if (!v->handler.interrupted)
			v->fault_open = false;
		xf_spurious_other(v, event);
		return 0;
	case XF_TASK_SWITCH:
		v->fault_open = false;
		xf_fork_task_switch(a, v, event);
		xf_spurious_other(v, event);
		return xf_walk_end(a, v, true);
	case XF_HYPERCALL:
		xf_spurious_other(v, event);
		return 0;
	case XF_MULTICALL:
		/* count 0: a preempted one goes on */
		if (event->count)
			v->multicall_updates = 0;
		return 0;
	case XF_BATCH:
		xf_fork_batch(v, event);
		code = xf_spurious_change(a, v, event);
		if (!code && v->fault_open && (v->fault_error & 3) == 3)
			code = xf_cow_reuse(a, v);
		v->fault_open = false;
		if (code)
			return code;
		return event->raw_id == XF_RECORD_SUBCALL ? subcall(a, v, event) : 0;
	case XF_MMUEXT:
		v->spaces += xf_loads_space(event);
		xf_flush_other(a, v, event);
		return event->raw_id == XF_RECORD_SUBCALL ? subcall(a, v, event) : 0;
	case XF_CR3_WRITE:
		return cr3(a, v, event);
	case XF_INVLPG:
		xf_flush_other(a, v, event);
		return 0;
	case XF_DOMAIN_REMOVE:
		return domain_removed(a, event->arg1);
	default:
		return 0;
	}
}

#define BIT(kind) (1ull << XF_##kind)

/* What is asked about each event: pauses and log-dirty mode.  Most kinds mean nothing to them. */
static int ask_episodes(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	static const uint64_t pauses = BIT(PAUSE) | BIT(UNPAUSE) | BIT(P2M) | BIT(HYPERCALL),
			      shadow = BIT(FIXUP) | BIT(UNHOOK) | BIT(PAGE_FAULT) | BIT(HYPERCALL),
			      hap = BIT(PAUSE) | BIT(UNPAUSE) | BIT(P2M) | BIT(NPF) | BIT(RECALC);
	uint64_t kind = event->kind < XF_KIND_COUNT ? 1ull << event->kind : 0;
	int code = 0;

	if (kind & pauses)
		code = xf_pause_event(a, v, event);
	else
		v->domctl = 0;
	if (!code && (kind & shadow || !v->domain->pv))
		code = xf_episode_event(a, v->domain, event);
	if (!code && kind & hap)
		code = xf_hap_event(a, v, event);
	return code;
}

int xf_analyzer_event(
	struct xf_analyzer *a, int64_t event_id, const struct xf_event *event, struct xf_error *err)
{
	struct xf_vcpu *v;
	int code;

	a->err = err;
	a->event_id = event_id;
	if (event->kind == XF_LOST) {
		code = a->tlbs.count ? xf_tlb_other(a, NULL, event) : 0;
		return code ? code : lost(a, event);
	}
	/* what is concluded from stock Xen's records is concluded from these alone */
	if (xf_record_is_point(event->raw_id))
		return xf_tlb_event(a, event);
	v = vcpu_of(a, event);
	if (!v)
		return -XF_INTERNAL;
	make_newest(a, v->domain);
	code = a->tlbs.count ? xf_tlb_other(a, v, event) : 0;
	if (!code)
		code = ask_episodes(a, v, event);
	if (!code)
		code = follow(a, v, event);
	xf_fork_event(a, v, event);
	if (!code && v->domain->nfloating)
		code = xf_shadow_advance(a, v->domain, event->tsc);
	return code ? code : dispatch(a, v, event);
}

static int finish_domain(struct xf_analyzer *a, struct xf_domain *d)
{
	uint64_t number, value;
	size_t cursor = 0;
	int code = xf_episode_finish(a, d);

	if (!code)
		code = xf_hap_end(a, d, "end");
	if (!code)
		code = xf_shadow_finish(a, d);
	if (!code)
		code = xf_sequence_end_all_hooked(a, d, XF_END_END);
	if (!code)
		code = xf_fork_finish(a, d);
	while (!code && xf_map_next(&d->vcpus, &cursor, &number, &value)) {
		code = xf_sequence_end_run(a, (struct xf_vcpu *)(uintptr_t)value, XF_END_END);
		if (!code)
			code = xf_walk_end(a, (struct xf_vcpu *)(uintptr_t)value, false);
		if (!code)
			code = xf_spurious_finish(a, (struct xf_vcpu *)(uintptr_t)value);
	}
	return code;
}

int xf_analyzer_flush(struct xf_analyzer *a, struct xf_error *err)
{
	int code;

	a->err = err;
	code = xf_cow_finish(a);
	if (!code)
		code = xf_episode_flush(a);
	return code ? code : xf_rows_findings(a);
}

int xf_analyzer_finish(struct xf_analyzer *a, struct xf_error *err)
{
	uint64_t id, value;
	size_t cursor = 0;
	int code = 0;

	a->err = err;
	while (!code && xf_map_next(&a->domains, &cursor, &id, &value))
		code = finish_domain(a, (struct xf_domain *)(uintptr_t)value);
	if (!code)
		code = xf_flush_write(a, NULL);
	if (!code)
		code = xf_tlb_finish(a);
	return code ? code : xf_analyzer_flush(a, err);
}

static void free_forks(struct xf_fork *fork)
{
	while (fork) {
		struct xf_fork *next = fork->next;

		xf_map_free(&fork->pages);
		free(fork);
		fork = next;
	}
}

static void free_domain(struct xf_analyzer *a, struct xf_domain *d)
{
	uint64_t key, value;
	size_t cursor = 0;

	while (xf_map_next(&d->vcpus, &cursor, &key, &value)) {
		free(((struct xf_vcpu *)(uintptr_t)value)->run);
		xf_walk_free((struct xf_vcpu *)(uintptr_t)value);
		free((void *)(uintptr_t)value);
	}
	cursor = 0;
	while (xf_map_next(&d->hooked, &cursor, &key, &value))
		free((void *)(uintptr_t)value);
	free_forks(d->forks);
	free_forks(d->ended);
	xf_shadow_free(d);
	xf_cow_free(d);
	xf_spurious_free(d);
	xf_episode_free(a, d);
	xf_hap_free(a, d);
	xf_map_free(&d->vcpus);
	xf_map_free(&d->hooked);
	xf_map_free(&d->writers);
	xf_map_free(&d->keepers);
	xf_map_free(&d->page_mm);
	xf_map_free(&d->by_l2);
	free(d);
}

void xf_analyzer_free(struct xf_analyzer *a)
{
	uint64_t id, value;
	size_t cursor = 0;

	if (!a)
		return;
	xf_rows_finalize(a);
	while (xf_map_next(&a->domains, &cursor, &id, &value))
		free_domain(a, (struct xf_domain *)(uintptr_t)value);
	xf_map_free(&a->domains);
	xf_map_free(&a->losses);
	xf_map_free(&a->loss_events);
	xf_map_free(&a->forks);
	xf_map_free(&a->superpages);
	xf_map_free(&a->cow);
	xf_map_free(&a->cow_new);
	xf_tlb_free(a);
	free(a);
}

static int feed(
	struct xf_analyzer *a, sqlite3 *db, struct xf_progress *progress, struct xf_error *err)
{
	struct xf_event_scan scan;
	struct xf_event event;
	int64_t id;
	/* the transaction has changed derived tables only */
	int code = xf_event_scan_open(&scan, db, 1, INT64_MAX, true, err);

	while (!code && (code = xf_event_scan_next(&scan, &id, &event, err)) == 1) {
		code = xf_analyzer_event(a, id, &event, err);
		if (!code && xf_progress_add(progress, 1))
			code = xf_fail(err, XF_INTERRUPTED, "interrupted: nothing was changed");
	}
	xf_event_scan_close(&scan);
	return code;
}

int xf_analyze_clear(sqlite3 *db, struct xf_error *err)
{
	int code = xf_db_exec(db,
		"DROP TABLE IF EXISTS fork; DROP TABLE IF EXISTS sequence;"
		"DROP TABLE IF EXISTS spurious_fault; DROP TABLE IF EXISTS finding;"
		"DROP TABLE IF EXISTS flush; DROP TABLE IF EXISTS tlb_flush;"
		"DROP TABLE IF EXISTS tlb_interrupt; DROP TABLE IF EXISTS episode;"
		"DROP TABLE IF EXISTS episode_round; DROP TABLE IF EXISTS episode_page;"
		"DROP TABLE IF EXISTS episode_vcpu; DROP TABLE IF EXISTS fork_name;"
		"DROP TABLE IF EXISTS guest_fork_found; DROP TABLE IF EXISTS walk",
		err);

	return code ? code : xf_db_exec(db, xf_sql_derived, err);
}

int xf_analyze(sqlite3 *db, struct xf_progress *progress, struct xf_error *err)
{
	struct xf_analyzer *a = NULL;
	int code = xf_db_exec(db, "BEGIN IMMEDIATE", err);

	if (code)
		return code;
	code = xf_analyze_clear(db, err);
	if (!code)
		code = xf_analyzer_new(&a, db, err);
	if (!code)
		code = feed(a, db, progress, err);
	if (!code)
		code = xf_analyzer_finish(a, err);
	if (!code)
		code = xf_analyze_mark(db, err);
	if (!code)
		code = xf_analyze_names(db, err);
	xf_analyzer_free(a);
	if (!code)
		code = xf_db_exec(db, "COMMIT", err);
	if (code)
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return code;
}
