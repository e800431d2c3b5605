// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Walks that are no forks.  In: entries that were left present with the accessed bit clear.
 * Out: a row for each walk, with the instruction that made it.
 *
 * Linux clears accessed bits when it looks for memory to reclaim, and for those who ask what a process
 * touches (clear_refs).  Each such entry costs a fault and an emulated write, as one of a fork's does.
 */
#include <stdlib.h>

#include "analyzer/state.h"
#include "schemas/xen.h"

/* Where it is, and what its row will say.  A vCPU makes one at a time. */
struct xf_walk {
	bool open, cut;
	uint64_t rip, page, va; /* last entry written */
	struct xf_map pages;	/* page-table pages that it has been in */
	uint64_t npages, nptes;
	uint64_t tsc_start, tsc_end;
	int64_t first_event, last_event;
};

static int write_row(
	struct xf_analyzer *a, const struct xf_vcpu *v, const struct xf_walk *w, bool whole)
{
	sqlite3_stmt *stmt = xf_rows_statement(a, XF_INSERT_WALK, ++a->next_walk);

	a->findings[XF_FINDING_AGING]++;
	if (v->known) {
		sqlite3_bind_int64(stmt, 2, v->domain->id);
		sqlite3_bind_int64(stmt, 3, v->number);
	}
	sqlite3_bind_int64(stmt, 4, (int64_t)w->rip);
	sqlite3_bind_text(stmt, 5, "aging", -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 6, (int64_t)w->tsc_start);
	sqlite3_bind_int64(stmt, 7, (int64_t)w->tsc_end);
	sqlite3_bind_int64(stmt, 8, (int64_t)w->npages);
	sqlite3_bind_int64(stmt, 9, (int64_t)w->nptes);
	sqlite3_bind_int64(stmt, 10, whole && !w->cut);
	sqlite3_bind_int64(stmt, 11, w->first_event);
	sqlite3_bind_int64(stmt, 12, w->last_event);
	return xf_rows_run(a, stmt);
}

int xf_walk_end(struct xf_analyzer *a, struct xf_vcpu *v, bool whole)
{
	struct xf_walk *w = v->walk;
	int code = 0;

	if (!w || !w->open)
		return 0;
	/* it has turned out to be the instruction that forks use */
	if (!xf_map_get(&v->domain->keepers, w->rip))
		code = write_row(a, v, w, whole);
	xf_map_free(&w->pages);
	*w = (struct xf_walk){0};
	return code;
}

/* In ascending order, page-table page by page-table page, each of them once, by one instruction. */
static bool fits(struct xf_walk *w, const struct xf_event *event)
{
	uint64_t page = event->va & ~4095ull;

	if (w->rip != event->rip)
		return false;
	return page == w->page ? event->va > w->va : !xf_map_get(&w->pages, page);
}

static int begin(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	if (!v->walk)
		v->walk = calloc(1, sizeof(*v->walk));
	if (!v->walk)
		return xf_fail_nomem(a->err);
	*v->walk = (struct xf_walk){.open = true,
		.cut = v->cut,
		.rip = event->rip,
		.tsc_start = event->tsc,
		.first_event = a->event_id};
	return 0;
}

int xf_walk_write(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	struct xf_walk *w = v->walk;
	int code = 0;

	if (w && w->open && !fits(w, event))
		code = xf_walk_end(a, v, true);
	if (!code && (!w || !w->open))
		code = begin(a, v, event);
	if (code)
		return code;
	w = v->walk;
	if (!w->npages || w->page != (event->va & ~4095ull)) {
		w->page = event->va & ~4095ull;
		w->npages++;
		if (!xf_map_put(&w->pages, w->page))
			return xf_fail_nomem(a->err);
	}
	w->va = event->va;
	w->nptes++;
	w->tsc_end = event->tsc;
	w->last_event = a->event_id;
	return 0;
}

int xf_walk_was_fork(struct xf_analyzer *a, const struct xf_domain *d, uint64_t rip)
{
	sqlite3_stmt *stmt;
	int code;

	if (!a->findings[XF_FINDING_AGING])
		return 0;
	stmt = xf_rows_statement(a, XF_DELETE_WALKS, (int64_t)rip);
	if (d->known)
		sqlite3_bind_int64(stmt, 2, d->id);
	code = xf_rows_run(a, stmt);
	if (!code)
		a->findings[XF_FINDING_AGING] -= (uint64_t)sqlite3_changes(a->db);
	return code;
}

void xf_walk_free(struct xf_vcpu *v)
{
	if (v->walk)
		xf_map_free(&v->walk->pages);
	free(v->walk);
	v->walk = NULL;
}
