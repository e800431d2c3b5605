// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Episodes in which a PV domain runs in shadow mode, as log-dirty mode makes it for a live migration.
 * In: fixups, delivered faults, domctl hypercalls of other domains.  Out: rows of episode, episode_round.
 *
 * Rounds are bounded by pauses of the domain (pause.c); where there are none, by any domctl.
 * A fixup of a PV domain begins one.  It is over when the domain takes faults that no shadow handler
 * saw: in shadow mode Xen writes a NOT_SHADOW record before each fault that it delivers.  Frames are
 * kept as bits, and no more of them than MAX_FRAME_WORDS.
 */
#include <stdlib.h>

#include "analyzer/frames.h"
#include "analyzer/state.h"
#include "schemas/xen.h"

#define WRITTEN (XF_PTE_WRITE | XF_PTE_DIRTY)
/* Delivered faults in a row that show the end: where SHADOW records are there, and where they are not. */
#define FAULTS_OUTSIDE	   8
#define FAULTS_WITHOUT_FIX 1024

struct round {
	uint64_t tsc_start, tsc_end, fixups;
	struct xf_frames frames;
};

struct xf_episode {
	int64_t id;
	uint64_t tsc_start, tsc_end; /* first and last fixup */
	int64_t first_event, last_event;
	uint64_t fixups, faults, rounds, round_pages;
	struct xf_frames frames;
	struct round current,
		before;		   /* before: over, but what comes after its end may belong to it */
	bool has_frames, shadowed; /* frames, SHADOW records are in the trace */
	bool cut;
	bool by_pause;	      /* its rounds are bounded by pauses, not by any domctl */
	uint64_t first_round; /* TSC */
	int64_t first_page;   /* its first row of episode_page */
	uint64_t outside;     /* faults in a row that no shadow handler saw */
};

static const char *sure(const struct xf_episode *e)
{
	return e->by_pause ? "pause" : "domctl";
}

/* Writes the round that is over, if there is one. */
static int write_before(struct xf_analyzer *a, struct xf_episode *e, const char *ended_by)
{
	struct round *r = &e->before;
	sqlite3_stmt *stmt = xf_rows_statement(a, XF_INSERT_ROUND, e->id);
	int code;

	if (!r->fixups)
		return 0;
	e->round_pages += r->frames.dirtied;
	sqlite3_bind_int64(stmt, 2, (int64_t)++e->rounds);
	sqlite3_bind_int64(stmt, 3, (int64_t)r->tsc_start);
	sqlite3_bind_int64(stmt, 4, (int64_t)r->tsc_end);
	sqlite3_bind_int64(stmt, 5, (int64_t)r->fixups);
	if (e->has_frames) {
		sqlite3_bind_int64(stmt, 6, (int64_t)r->frames.seen);
		sqlite3_bind_int64(stmt, 7, (int64_t)r->frames.dirtied);
	}
	sqlite3_bind_text(stmt, 8, ended_by, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 9, sure(e), -1, SQLITE_STATIC);
	code = xf_rows_run(a, stmt);
	xf_frames_free(a, &r->frames);
	*r = (struct round){0};
	return code;
}

/* The bitmap may be read and cleaned here. */
static int next_round(struct xf_analyzer *a, struct xf_episode *e, uint64_t tsc)
{
	int code = 0;

	if (e->current.fixups) {
		code = write_before(a, e, "domctl");
		e->before = e->current;
		e->before.tsc_end = tsc;
		e->current = (struct round){0};
	}
	e->current.tsc_start = tsc;
	return code;
}

/* Rounds were told by domctls so far: they are one round, which the first pause ends. */
static int join_rounds(struct xf_analyzer *a, struct xf_episode *e)
{
	int code = xf_rows_run(a, xf_rows_statement(a, XF_DELETE_ROUNDS, e->id));

	if (!code)
		code = xf_rows_move_pages(a, e->id, 1, e->first_page);
	xf_frames_free(a, &e->before.frames);
	xf_frames_free(a, &e->current.frames);
	e->before = (struct round){0};
	e->current = (struct round){.tsc_start = e->first_round, .fixups = e->fixups};
	e->rounds = e->round_pages = 0;
	return code ? code : xf_frames_join(a, &e->current.frames, &e->frames);
}

/* Takes a pause that came since the last fixup. */
static int take_pause(struct xf_analyzer *a, struct xf_domain *d, bool at_end)
{
	struct xf_pause_taken taken;
	struct xf_episode *e = d->episode;
	int code = 0;

	if (!xf_pause_take(d, at_end, &taken))
		return 0;
	if (!e->by_pause)
		code = join_rounds(a, e);
	e->by_pause = true;
	return code ? code : next_round(a, e, taken.tsc);
}

static int write_episode(
	struct xf_analyzer *a, const struct xf_domain *d, bool complete, const char *ended_by)
{
	const struct xf_episode *e = d->episode;
	sqlite3_stmt *stmt = xf_rows_statement(a, XF_INSERT_EPISODE, e->id);

	if (d->known)
		sqlite3_bind_int64(stmt, 2, d->id);
	sqlite3_bind_int64(stmt, 3, (int64_t)e->tsc_start);
	sqlite3_bind_int64(stmt, 4, (int64_t)e->tsc_end);
	sqlite3_bind_int64(stmt, 5, (int64_t)e->fixups);
	if (e->has_frames) {
		sqlite3_bind_int64(stmt, 6, (int64_t)e->frames.seen);
		sqlite3_bind_int64(stmt, 7, (int64_t)e->frames.dirtied);
		sqlite3_bind_int64(stmt, 8, (int64_t)e->round_pages);
	}
	sqlite3_bind_int64(stmt, 9, (int64_t)e->rounds);
	sqlite3_bind_int64(stmt, 10, (int64_t)e->faults);
	sqlite3_bind_int(stmt, 11, complete);
	sqlite3_bind_text(stmt, 12, ended_by, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 13, e->first_event);
	sqlite3_bind_int64(stmt, 14, e->last_event);
	sqlite3_bind_text(stmt, 15, "shadow", -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 16, sure(e), -1, SQLITE_STATIC);
	return xf_rows_run(a, stmt);
}

static void drop(struct xf_analyzer *a, struct xf_domain *d)
{
	struct xf_episode *e = d->episode;

	if (!e)
		return;
	xf_frames_free(a, &e->frames);
	xf_frames_free(a, &e->current.frames);
	xf_frames_free(a, &e->before.frames);
	free(e);
	d->episode = NULL;
	a->nepisodes--;
}

/* over: the mode was left, by the last domctl; what came after it was still under way. */
static int end_episode(struct xf_analyzer *a, struct xf_domain *d, bool over, const char *ended_by)
{
	struct xf_episode *e = d->episode;
	int code = 0;

	if (!e)
		return 0;
	code = take_pause(a, d, true);
	if (code)
		return code;
	if (over && e->before.fixups && e->current.fixups) {
		e->before.fixups += e->current.fixups;
		e->before.tsc_end = e->tsc_end;
		code = xf_frames_join(a, &e->before.frames, &e->current.frames);
	} else if (e->current.fixups) {
		code = write_before(a, e, "domctl");
		e->before = e->current;
		e->before.tsc_end = e->tsc_end;
		e->current = (struct round){0};
	} else if (!over) {
		ended_by = "domctl";
	}
	if (!code)
		code = write_before(a, e, ended_by);
	if (!code)
		code = write_episode(a, d, over && !e->cut, over ? ended_by : "end");
	drop(a, d);
	return code;
}

static struct xf_episode *begin(
	struct xf_analyzer *a, struct xf_domain *d, const struct xf_event *event)
{
	struct xf_episode *e = calloc(1, sizeof(*e));
	struct xf_pause_taken taken;

	if (!e) {
		xf_fail_nomem(a->err);
		return NULL;
	}
	e->id = ++a->next_episode;
	e->tsc_start = event->tsc;
	e->first_event = a->event_id;
	e->by_pause = xf_pause_take(d, false, &taken);
	e->current.tsc_start = e->by_pause		      ? taken.tsc
			       : a->domctl && d->seen_outside ? a->domctl
							      : event->tsc;
	e->first_round = e->current.tsc_start;
	e->first_page = a->page_row + 1;
	/* without an ordinary fault before it, it may have begun before the capture */
	e->cut = !d->seen_outside;
	d->episode = e;
	a->nepisodes++;
	return e;
}

static int fixup(struct xf_analyzer *a, struct xf_domain *d, const struct xf_event *event)
{
	bool open = d->episode != NULL;
	struct xf_episode *e = open ? d->episode : begin(a, d, event);
	uint64_t before;
	bool dirtied = event->has & XF_HAS_PTE && (event->pte & WRITTEN) == WRITTEN;
	int code = 0;

	if (!e)
		return -XF_INTERNAL;
	if (open)
		code = take_pause(a, d, false);
	if (code)
		return code;
	e->tsc_end = event->tsc;
	e->last_event = a->event_id;
	e->fixups++;
	e->current.fixups++;
	e->outside = 0;
	e->shadowed |= (event->has & XF_HAS_ARG1) != 0;
	if (!(event->has & XF_HAS_FRAME))
		return 0;
	e->has_frames = true;
	code = xf_frames_add(a, &e->frames, event->frame, dirtied);
	before = e->current.frames.dirtied;
	if (!code)
		code = xf_frames_add(a, &e->current.frames, event->frame, dirtied);
	if (code || e->current.frames.dirtied == before)
		return code;
	return xf_rows_episode_page(
		a, e->id, e->rounds + (e->before.fixups != 0) + 1, event, false);
}

static int fault(struct xf_analyzer *a, struct xf_domain *d, const struct xf_event *event)
{
	struct xf_episode *e = d->episode;

	if (event->has & XF_HAS_ARG1) {
		if (e) {
			e->shadowed = true;
			e->outside = 0;
			e->faults++;
		}
		return 0;
	}
	if (!e) {
		d->seen_outside = true;
		return 0;
	}
	/* a record of the shadow handler may be missing once */
	if (++e->outside < (e->shadowed ? FAULTS_OUTSIDE : FAULTS_WITHOUT_FIX))
		return 0;
	d->seen_outside = true;
	return end_episode(a, d, true, "off");
}

static int domctl(struct xf_analyzer *a, const struct xf_domain *by, const struct xf_event *event)
{
	uint64_t id, value;
	size_t cursor = 0;
	int code = 0;

	a->domctl = event->tsc;
	while (!code && a->nepisodes && xf_map_next(&a->domains, &cursor, &id, &value)) {
		struct xf_domain *d = (struct xf_domain *)(uintptr_t)value;

		if (d->episode && d != by && !d->episode->by_pause)
			code = next_round(a, d->episode, event->tsc);
	}
	return code;
}

int xf_episode_event(struct xf_analyzer *a, struct xf_domain *d, const struct xf_event *event)
{
	unsigned subclass = XF_RECORD_SUBCLASS(event->raw_id);

	/* HVM guests have none of these records */
	d->pv |= subclass == XF_SUBCLASS_PV || subclass == XF_SUBCLASS_PV_OLD;
	if (!d->pv)
		return 0;
	switch (event->kind) {
	case XF_FIXUP:
	case XF_UNHOOK:
		/* the unhook of writable page tables is none of the shadow's */
		return subclass == XF_SUBCLASS_PTWR ? 0 : fixup(a, d, event);
	case XF_PAGE_FAULT:
		return fault(a, d, event);
	case XF_HYPERCALL:
		return event->arg1 == XF_CALL_domctl ? domctl(a, d, event) : 0;
	default:
		return 0;
	}
}

int xf_episode_removed(struct xf_analyzer *a, struct xf_domain *d)
{
	int code = end_episode(a, d, true, "removed");

	d->pv = d->seen_outside = false;
	return code;
}

void xf_episode_lost(struct xf_domain *d)
{
	if (d->episode)
		d->episode->cut = true;
}

int xf_episode_flush(struct xf_analyzer *a)
{
	uint64_t id, value;
	size_t cursor = 0;
	int code = 0;

	while (!code && a->nepisodes && xf_map_next(&a->domains, &cursor, &id, &value)) {
		const struct xf_domain *d = (const struct xf_domain *)(uintptr_t)value;

		if (d->episode)
			code = write_episode(a, d, false, "end");
	}
	return code;
}

int xf_episode_finish(struct xf_analyzer *a, struct xf_domain *d)
{
	return end_episode(a, d, false, "end");
}

void xf_episode_free(struct xf_analyzer *a, struct xf_domain *d)
{
	drop(a, d);
}
