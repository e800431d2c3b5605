// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sequences of forks.  In: the table's rows beside the events, VMA bounds and faults of the log.
 * Out: addresses that are outside of what was copied; COW faults that are charged wrongly.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/verify/state.h"
#include "schemas/db.h"

#define PAGE_SHIFT 12

int xf_verify_pages_open(struct xf_verify *v)
{
	int code = xf_db_prepare(v->db, &v->sequences,
		"SELECT sequence_id, fork_id, vcpu, first_event, last_event, va_base, cow_faults, tsc_start"
		" FROM sequence WHERE fork_id IS NOT NULL AND domid = ? ORDER BY first_event",
		v->err);

	if (!code)
		sqlite3_bind_int(v->sequences, 1, v->result->domid);
	v->more_sequences = true;
	return code;
}

static int read_ahead(struct xf_verify *v)
{
	int code = xf_db_step(v->sequences, v->err);

	v->more_sequences = code == 1;
	if (code != 1)
		return code;
	v->ahead = calloc(1, sizeof(*v->ahead));
	if (!v->ahead)
		return xf_fail_nomem(v->err);
	*v->ahead = (struct xf_page){.id = sqlite3_column_int64(v->sequences, 0),
		.fork_id = sqlite3_column_int64(v->sequences, 1),
		.vcpu = (uint32_t)sqlite3_column_int64(v->sequences, 2),
		.first_event = sqlite3_column_int64(v->sequences, 3),
		.last_event = sqlite3_column_int64(v->sequences, 4),
		.has_base = sqlite3_column_type(v->sequences, 5) != SQLITE_NULL,
		.base = (uint64_t)sqlite3_column_int64(v->sequences, 5),
		.charged = sqlite3_column_int64(v->sequences, 6),
		.tsc = (uint64_t)sqlite3_column_int64(v->sequences, 7),
		.open = true};
	return 0;
}

static int differ(struct xf_verify *v, const struct xf_page *page, enum xf_verify_subject subject,
	const char *what, int64_t n, const char *detail)
{
	return xf_verify_differ(v, &(struct xf_verify_difference){.subject = subject,
					   .what = what,
					   .vcpu = page->vcpu,
					   .pid = -1,
					   .tsc = page->tsc,
					   .first_event = page->first_event,
					   .last_event = page->last_event,
					   .fork_id = page->fork_id,
					   .n = n,
					   .detail = detail});
}

/* Nothing more can come of it: judges and frees. */
static int close_page(struct xf_verify *v, struct xf_page *page)
{
	struct xf_verify_count *bases = &v->result->counts[XF_VERIFY_VA_BASES];
	struct xf_verify_count *cow = &v->result->counts[XF_VERIFY_COW];
	uint64_t charged = page->charged > 0 ? (uint64_t)page->charged : 0;
	char detail[160];
	int code = 0;

	if (page->judged && page->has_base) {
		bases->capture++;
		bases->agree += !page->wrong;
		bases->found += !page->wrong;
	}
	bases->log += page->judged > 0;
	if (page->wrong) {
		snprintf(detail, sizeof(detail), "va_base 0x%llx, but 0x%llx to 0x%llx is copied",
			(unsigned long long)page->base, (unsigned long long)page->start,
			(unsigned long long)page->end);
		code = differ(v, page, XF_VERIFY_VA_BASES, "outside of what is copied",
			(int64_t)page->wrong, detail);
	}
	if (page->judged && page->has_base) {
		uint64_t both = charged < page->breaks ? charged : page->breaks;

		cow->capture += charged;
		cow->log += page->breaks;
		cow->agree += both;
		cow->found += both;
	}
	if (!code && page->judged && page->has_base && charged != page->breaks) {
		snprintf(detail, sizeof(detail), "%llu counted, %llu in the log, va_base 0x%llx",
			(unsigned long long)charged, (unsigned long long)page->breaks,
			(unsigned long long)page->base);
		code = differ(v, page, XF_VERIFY_COW,
			charged > page->breaks ? "more than the log has" : "fewer than the log has",
			(int64_t)(charged > page->breaks ? charged - page->breaks
							 : page->breaks - charged),
			detail);
	}
	free(page);
	return code;
}

static int leave(struct xf_verify *v, struct xf_page *page)
{
	page->open = false;
	return page->held ? 0 : close_page(v, page);
}

static int enter(struct xf_verify *v)
{
	if (v->nopen == v->open_room) {
		size_t room = v->open_room ? 2 * v->open_room : 16;
		struct xf_page **more = realloc(v->open, room * sizeof(struct xf_page *));

		if (!more)
			return xf_fail_nomem(v->err);
		v->open = more;
		v->open_room = room;
	}
	v->open[v->nopen++] = v->ahead;
	v->ahead = NULL;
	return 0;
}

/* The sequence that the write of this vCPU is in, NULL = none of a fork's. */
int xf_verify_page_of(struct xf_verify *v, int64_t id, uint32_t vcpu, struct xf_page **page)
{
	int code = 0;

	*page = NULL;
	for (;;) {
		if (!v->ahead && v->more_sequences)
			code = read_ahead(v);
		if (code || !v->ahead || v->ahead->first_event > id)
			break;
		code = enter(v);
	}
	for (size_t i = 0; i < v->nopen && !code;) {
		struct xf_page *p = v->open[i];

		if (p->last_event < id) {
			v->open[i] = v->open[--v->nopen];
			code = leave(v, p);
			continue;
		}
		if (p->vcpu == vcpu)
			*page = p;
		i++;
	}
	return code;
}

/* Addresses have 48 bits; a page of an address space is one number. */
static uint64_t key_of(uint64_t mm, uint64_t va)
{
	return mm << 36 ^ (va >> PAGE_SHIFT & ((1ull << 36) - 1));
}

static int release(struct xf_verify *v, uint64_t key)
{
	uint64_t *slot = xf_map_get(&v->protected, key);
	struct xf_page *page;

	if (!slot)
		return 0;
	page = (struct xf_page *)(uintptr_t)*slot;
	xf_map_remove(&v->protected, key);
	return --page->held || page->open ? 0 : close_page(v, page);
}

int xf_verify_page_write(struct xf_verify *v, struct xf_page *page,
	const struct xf_verify_task *task, const struct xf_event *event)
{
	unsigned shift = xf_pte_shift(event->raw_id);
	uint64_t va = page->base + ((event->va & 4095) >> shift << PAGE_SHIFT), key, *slot;
	int code;

	if (!task->end)
		return 0;
	page->judged++;
	if (!page->has_base)
		return 0;
	if (va < task->start || va >= task->end) {
		page->wrong++;
		page->start = task->start;
		page->end = task->end;
		return 0;
	}
	key = key_of(task->mm, va);
	code = release(v, key);
	if (code)
		return code;
	slot = xf_map_put(&v->protected, key);
	if (!slot)
		return xf_fail_nomem(v->err);
	*slot = (uintptr_t)page;
	page->held++;
	return 0;
}

/* A fault at an address by the log: a write to a present entry breaks what a fork protected. */
int xf_verify_touched(struct xf_verify *v, uint64_t mm, uint64_t va, uint64_t error_code)
{
	uint64_t key = key_of(mm, va), *slot = xf_map_get(&v->protected, key);

	if (!slot || (error_code & 3) == 1)
		return 0;
	if ((error_code & 3) == 3)
		((struct xf_page *)(uintptr_t)*slot)->breaks++;
	return release(v, key);
}

int xf_verify_pages_finish(struct xf_verify *v)
{
	uint64_t key, value;
	size_t cursor = 0;
	int code = 0;

	for (size_t i = 0; i < v->nopen && !code; i++)
		code = leave(v, v->open[i]);
	v->nopen = 0;
	while (!code && xf_map_next(&v->protected, &cursor, &key, &value)) {
		struct xf_page *page = (struct xf_page *)(uintptr_t)value;

		if (!--page->held)
			code = close_page(v, page);
	}
	xf_map_free(&v->protected);
	return code;
}
