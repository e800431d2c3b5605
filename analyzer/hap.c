// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Log-dirty mode of a domain with nested paging (HAP).  In: nested page faults, recalculation exits, pauses.
 * Out: rows of episode, episode_round, episode_page, episode_vcpu.
 *
 * A page faults once between two readings of the dirty bitmap: the set of a round is Xen's bitmap.  A page
 * that faults again proves that the bitmap was cleaned since its last fault.  It was so at the last pause
 * before the repeated fault: reading and cleaning pause the domain.  Only reading (PEEK) does too, but then
 * nothing faults again behind it, and the round goes on.
 *
 * `since` is what faulted since the last pause, `current` what did before it in the same round.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/frames.h"
#include "analyzer/state.h"
#include "schemas/xen.h"

/* A p2m entry of order 9 maps 2 MiB: one region of so many pages. */
#define REGION	     512
#define REGION_ORDER 9
#define MOST_REGIONS (1u << 20) /* that are kept: 2 TiB of guests' memory */

/* So many recalculations behind a pause without one page that is dirtied show that the mode is off. */
#define RECALCS_OFF 16

struct hap_vcpu {
	uint64_t fixups, cycles, recalcs, recalc_cycles, paused;
	uint64_t offline; /* TSC since when, 0 = not */
};

struct part {
	struct xf_frames frames;
	uint64_t tsc_start, fixups;
	int64_t first_page; /* row of episode_page */
};

struct xf_hap {
	int64_t id;
	uint64_t tsc_start, tsc_end; /* first and last page dirtied */
	int64_t first_event, last_event;
	uint64_t fixups, rounds, round_pages;
	struct xf_frames all;
	struct part current, since;
	uint64_t paused_at;	  /* TSC of the last pause, 0 = none since the start of current */
	unsigned pauses;	  /* that came together there */
	bool by_pause, by_repeat; /* how rounds were bounded */
	uint64_t recalcs;	  /* since the last pause */
	bool cut;
	struct xf_map vcpus; /* number -> struct hap_vcpu * */
};

static void free_part(struct xf_analyzer *a, struct part *part)
{
	xf_frames_free(a, &part->frames);
	*part = (struct part){0};
}

/* The round goes on over a pause. */
static int join(struct xf_analyzer *a, struct xf_hap *h)
{
	int code = xf_frames_join(a, &h->current.frames, &h->since.frames);

	if (!h->current.fixups) {
		h->current.tsc_start = h->since.tsc_start;
		h->current.first_page = h->since.first_page;
	}
	h->current.fixups += h->since.fixups;
	free_part(a, &h->since);
	return code;
}

/* Writes current as a round that ended at tsc, and begins the next one there. */
static int write_round(struct xf_analyzer *a, struct xf_hap *h, uint64_t tsc, const char *ended_by,
	const char *sure)
{
	sqlite3_stmt *stmt = xf_rows_statement(a, XF_INSERT_ROUND, h->id);
	const struct part *r = &h->current;
	int code;

	h->round_pages += r->frames.dirtied;
	sqlite3_bind_int64(stmt, 2, (int64_t)++h->rounds);
	sqlite3_bind_int64(stmt, 3, (int64_t)r->tsc_start);
	sqlite3_bind_int64(stmt, 4, (int64_t)tsc);
	sqlite3_bind_int64(stmt, 5, (int64_t)r->fixups);
	sqlite3_bind_int64(stmt, 6, (int64_t)r->frames.seen);
	sqlite3_bind_int64(stmt, 7, (int64_t)r->frames.dirtied);
	sqlite3_bind_text(stmt, 8, ended_by, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 9, sure, -1, SQLITE_STATIC);
	code = xf_rows_run(a, stmt);
	free_part(a, &h->current);
	return code;
}

static int write_vcpus(struct xf_analyzer *a, const struct xf_hap *h)
{
	uint64_t number, value;
	size_t cursor = 0;
	int code = 0;

	while (!code && xf_map_next(&h->vcpus, &cursor, &number, &value)) {
		const struct hap_vcpu *c = (const struct hap_vcpu *)(uintptr_t)value;
		sqlite3_stmt *stmt = xf_rows_statement(a, XF_INSERT_EPISODE_VCPU, h->id);

		sqlite3_bind_int64(stmt, 2, (int64_t)number);
		sqlite3_bind_int64(stmt, 3, (int64_t)c->fixups);
		sqlite3_bind_int64(stmt, 4, (int64_t)c->cycles);
		sqlite3_bind_int64(stmt, 5, (int64_t)c->recalcs);
		sqlite3_bind_int64(stmt, 6, (int64_t)c->recalc_cycles);
		sqlite3_bind_int64(stmt, 7, (int64_t)c->paused);
		code = xf_rows_run(a, stmt);
	}
	return code;
}

/* unread < 0: it is not over. */
static int write_episode(struct xf_analyzer *a, const struct xf_domain *d, bool complete,
	const char *ended_by, int64_t unread)
{
	const struct xf_hap *h = d->hap;
	sqlite3_stmt *stmt = xf_rows_statement(a, XF_INSERT_EPISODE, h->id);
	int code;

	if (d->known)
		sqlite3_bind_int64(stmt, 2, d->id);
	sqlite3_bind_int64(stmt, 3, (int64_t)h->tsc_start);
	sqlite3_bind_int64(stmt, 4, (int64_t)h->tsc_end);
	sqlite3_bind_int64(stmt, 5, (int64_t)h->fixups);
	sqlite3_bind_int64(stmt, 6, (int64_t)h->all.seen);
	sqlite3_bind_int64(stmt, 7, (int64_t)h->all.dirtied);
	sqlite3_bind_int64(stmt, 8, (int64_t)h->round_pages);
	sqlite3_bind_int64(stmt, 9, (int64_t)h->rounds);
	sqlite3_bind_int64(stmt, 10, 0);
	sqlite3_bind_int(stmt, 11, complete);
	sqlite3_bind_text(stmt, 12, ended_by, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 13, h->first_event);
	sqlite3_bind_int64(stmt, 14, h->last_event);
	sqlite3_bind_text(stmt, 15, "hap", -1, SQLITE_STATIC);
	sqlite3_bind_text(
		stmt, 16, h->by_repeat || !h->by_pause ? "repeat" : "pause", -1, SQLITE_STATIC);
	if (unread >= 0)
		sqlite3_bind_int64(stmt, 17, unread);
	code = xf_rows_run(a, stmt);
	return code ? code : write_vcpus(a, h);
}

void xf_hap_free(struct xf_analyzer *a, struct xf_domain *d)
{
	struct xf_hap *h = d->hap;
	uint64_t number, value;
	size_t cursor = 0;

	if (!h)
		return;
	while (xf_map_next(&h->vcpus, &cursor, &number, &value))
		free((void *)(uintptr_t)value);
	xf_map_free(&h->vcpus);
	xf_frames_free(a, &h->all);
	free_part(a, &h->current);
	free_part(a, &h->since);
	free(h);
	d->hap = NULL;
}

static struct hap_vcpu *vcpu_of(struct xf_analyzer *a, struct xf_hap *h, uint64_t number)
{
	struct hap_vcpu *c = xf_map_object(&h->vcpus, number, sizeof(*c));

	if (!c)
		xf_fail_nomem(a->err);
	return c;
}

static void take(struct xf_hap *h, const struct xf_pause_taken *taken)
{
	h->paused_at = taken->tsc;
	h->pauses = taken->count;
	h->recalcs = 0;
}

static int begin(struct xf_analyzer *a, struct xf_domain *d, const struct xf_event *event)
{
	struct xf_hap *h = calloc(1, sizeof(*h));
	struct xf_pause_taken taken;

	if (!h)
		return xf_fail_nomem(a->err);
	h->id = ++a->next_episode;
	h->tsc_start = event->tsc;
	h->first_event = a->event_id;
	d->hap = h;
	/* the mode is switched on in a pause; without one it may have been on before the capture */
	h->cut = !xf_pause_take(d, false, &taken);
	h->since.tsc_start = h->cut ? event->tsc : taken.tsc;
	h->since.first_page = a->page_row + 1;
	return 0;
}

/* A page that faults again: the round before is over. */
static int repeated(struct xf_analyzer *a, struct xf_hap *h, const struct xf_event *event)
{
	int64_t first_page = h->since.first_page;
	int code;

	if (!xf_frames_have(&h->since.frames, event->frame)) {
		/* since the last pause it had not: it was cleaned there */
		h->since.tsc_start = h->paused_at;
		h->by_pause = true;
		code = write_round(a, h, h->paused_at, "domctl", "pause");
		return code || !h->since.fixups
			       ? code
			       : xf_rows_move_pages(a, h->id, h->rounds + 1, first_page);
	}
	/* no pause is in the trace: what else is known is that it was cleaned in between */
	code = join(a, h);
	h->by_repeat = true;
	h->since.tsc_start = event->tsc;
	return code ? code : write_round(a, h, event->tsc, "domctl", "repeat");
}

/* After a pause: what came before it and what comes behind it are held apart until a page decides. */
static int after_pause(struct xf_analyzer *a, struct xf_domain *d)
{
	struct xf_pause_taken taken;
	int code = 0;

	if (!xf_pause_take(d, false, &taken))
		return 0;
	if (d->hap->since.fixups)
		code = join(a, d->hap);
	take(d->hap, &taken);
	return code;
}

static int dirtied(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	struct xf_domain *d = v->domain;
	int code = d->hap ? after_pause(a, d) : begin(a, d, event);
	struct xf_hap *h = d->hap;
	struct hap_vcpu *c;

	if (code)
		return code;
	if (xf_frames_have(&h->since.frames, event->frame) ||
		xf_frames_have(&h->current.frames, event->frame))
		code = repeated(a, h, event);
	c = vcpu_of(a, h, v->number);
	if (code || !c)
		return code ? code : -XF_INTERNAL;
	h->tsc_end = event->tsc;
	h->last_event = a->event_id;
	h->fixups++;
	c->fixups++;
	c->cycles += event->count;
	if (!h->since.fixups++) {
		h->since.first_page = a->page_row + 1;
		if (!h->since.tsc_start)
			h->since.tsc_start = h->paused_at ? h->paused_at : event->tsc;
	}
	code = xf_frames_add(a, &h->all, event->frame, true);
	if (!code)
		code = xf_frames_add(a, &h->since.frames, event->frame, true);
	return code ? code
		    : xf_rows_episode_page(a, h->id, h->rounds + 1, event,
			      v->split == event->frame / REGION + 1);
}

/* The mode was switched off, or the domain is gone: is what current holds a round, or the unread rest? */
static int finish(struct xf_analyzer *a, struct xf_domain *d, const char *ended_by, bool read)
{
	struct xf_hap *h = d->hap;
	bool over = strcmp(ended_by, "end") != 0;
	int64_t unread = 0;
	int code = h->since.fixups ? join(a, h) : 0;

	if (!code && h->current.fixups && (read || !over)) {
		h->by_pause |= read;
		code = write_round(a, h, read ? h->paused_at : h->tsc_end,
			read ? "domctl" : ended_by, read ? "pause" : "repeat");
	} else if (!code && h->current.fixups) {
		unread = (int64_t)h->current.frames.seen;
		code = xf_rows_move_pages(a, h->id, 0, h->current.first_page);
	}
	if (!code)
		code = write_episode(a, d, over && !h->cut, ended_by, unread);
	xf_hap_free(a, d);
	return code;
}

int xf_hap_end(struct xf_analyzer *a, struct xf_domain *d, const char *ended_by)
{
	struct xf_hap *h = d->hap;
	struct xf_pause_taken taken;
	bool read = false;
	int code = 0;

	if (!h)
		return 0;
	if (xf_pause_take(d, true, &taken)) {
		/* it never ran again: a migration reads the bitmap of a suspended domain last */
		if (h->since.fixups)
			code = join(a, h);
		take(h, &taken);
		read = true;
	}
	return code ? code : finish(a, d, ended_by, read);
}

static int recalculated(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	struct xf_domain *d = v->domain;
	struct xf_hap *h = d->hap;
	int code = after_pause(a, d);
	struct hap_vcpu *c = code ? NULL : vcpu_of(a, h, v->number);

	if (!c)
		return code ? code : -XF_INTERNAL;
	/* a single pause behind the last page is what switched the mode off; with another it was read first */
	if (++h->recalcs > RECALCS_OFF && !h->since.fixups && h->paused_at)
		return finish(a, d, "off", h->pauses > 1);
	c->recalcs++;
	c->recalc_cycles += event->count;
	return 0;
}

/* How long a vCPU that could have run was kept from it. */
static int paused(struct xf_analyzer *a, const struct xf_event *event)
{
	uint64_t *slot = xf_map_get(&a->domains, event->arg1);
	struct xf_hap *h = slot ? ((struct xf_domain *)(uintptr_t)*slot)->hap : NULL;
	struct hap_vcpu *c;

	if (!h || XF_RECORD_SUBCLASS(event->raw_id) != XF_SUBCLASS_SCHED)
		return 0;
	c = vcpu_of(a, h, event->arg2);
	if (!c)
		return -XF_INTERNAL;
	if (event->kind == XF_PAUSE) {
		c->offline = event->tsc;
	} else if (c->offline) {
		c->paused += event->tsc > c->offline ? event->tsc - c->offline : 0;
		c->offline = 0;
	}
	return 0;
}

/* A p2m entry is set: a large one is remembered, a small one in its place has split it. */
static int entry_set(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	unsigned order = (unsigned)(event->arg2 >> 16);
	uint64_t domain = (event->arg2 & 0xffff) << 40, region = event->frame / REGION;

	v->split = 0;
	if (!(event->has & XF_HAS_ARG1) || !(event->has & XF_HAS_ARG2) || order > 2 * REGION_ORDER)
		return 0;
	if (order < REGION_ORDER) {
		if (xf_map_get(&a->superpages, domain | region)) {
			xf_map_remove(&a->superpages, domain | region);
			v->split = region + 1;
		}
		return 0;
	}
	for (uint64_t i = 0; i < UINT64_C(1) << (order - REGION_ORDER); i++)
		if (a->superpages.count < MOST_REGIONS &&
			!xf_map_put(&a->superpages, domain | (region + i)))
			return xf_fail_nomem(a->err);
	return 0;
}

int xf_hap_event(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event)
{
	switch (event->kind) {
	case XF_P2M:
		return entry_set(a, v, event);
	case XF_NPF:
		return XF_NPF_OF(event->arg1) == XF_NPF_DIRTY ? dirtied(a, v, event) : 0;
	case XF_RECALC:
		return v->domain->hap ? recalculated(a, v, event) : 0;
	case XF_PAUSE:
	case XF_UNPAUSE:
		return paused(a, event);
	default:
		return 0;
	}
}

void xf_hap_lost(struct xf_domain *d)
{
	if (d->hap)
		d->hap->cut = true;
}

int xf_hap_flush(struct xf_analyzer *a, struct xf_domain *d)
{
	return d->hap ? write_episode(a, d, false, "end", -1) : 0;
}
