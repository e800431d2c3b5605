// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader.  In: a byte source.  Out: events in time order.
 *
 * pCPUs are merged by TSC.  xentrace drains them in passes; once pass k has been read whole, every
 * event not later than the latest of the passes before k is final, because it was made before pass
 * k began and so was drained by its end.
 */
#include "collector/trace/reader.h"

#include <stdlib.h>
#include <string.h>

#include "collector/trace/coverage.h"
#include "collector/trace/merge.h"
#include "collector/trace/pcpu.h"

struct xf_reader {
	struct xf_stream stream;
	struct xf_pcpu *pcpus[XF_MAX_PCPUS]; /* by number, NULL = not seen */
	struct xf_pcpu **active;	     /* those that were seen */
	size_t nactive, active_room;
	struct xf_merge merge;
	struct xf_pcpu *current; /* whose events come out just now */
	uint64_t bound;		 /* as long as they are not later than this */
	uint64_t before, latest; /* latest key of the passes before the current one; of it too */
	uint64_t final;		 /* keys up to here can come out */
	uint64_t emitted;	 /* key of the last event */
	uint64_t events;
	uint32_t round, previous; /* of the last chunk, and its pCPU */
	bool done;
	struct xf_chunk *next_part;   /* first of another capture behind this one, NULL = none */
	uint64_t part_first;	      /* its first TSC, while the end of the one before is told */
	size_t next_ended;	      /* of which pCPU next */
	const struct xf_pcpu *paused; /* whose gap the others may share, NULL = none */
	size_t next_paused;	      /* of these, which is to be looked at next */
	struct xf_doubt doubts[XF_DOUBT_COUNT];
};

int xf_reader_open(struct xf_reader **reader, struct xf_source *source, struct xf_error *err)
{
	struct xf_reader *r = calloc(1, sizeof(*r));
	int code;

	if (!r) {
		xf_source_close(source);
		return xf_fail_nomem(err);
	}
	code = xf_framer_new(&r->stream.framer, source, r->stream.doubts, err);
	if (code && code != XF_AGAIN) {
		xf_framer_free(r->stream.framer);
		free(r);
		return code;
	}
	*reader = r;
	return 0;
}

/* The first chunk shows the format, on which the record table depends. */
static int start(struct xf_reader *r, struct xf_error *err)
{
	int code = xf_framer_detect(r->stream.framer, err);

	if (code)
		return code;
	r->stream.format = xf_framer_format(r->stream.framer);
	r->stream.table = xf_record_table_new(r->stream.format);
	return r->stream.table ? 0 : xf_fail_nomem(err);
}

static struct xf_pcpu *pcpu_of(struct xf_reader *r, uint32_t id, struct xf_error *err)
{
	struct xf_pcpu *pcpu = r->pcpus[id];

	if (pcpu)
		return pcpu;
	if (r->nactive == r->active_room) {
		size_t room = r->active_room ? 2 * r->active_room : 16;
		struct xf_pcpu **more = realloc(r->active, room * sizeof(struct xf_pcpu *));

		if (!more) {
			xf_fail_nomem(err);
			return NULL;
		}
		r->active = more;
		r->active_room = room;
	}
	if (xf_merge_reserve(&r->merge, r->nactive + 1, err))
		return NULL;
	pcpu = calloc(1, sizeof(*pcpu));
	if (!pcpu) {
		xf_fail_nomem(err);
		return NULL;
	}
	pcpu->id = id;
	pcpu->unsettled = true;
	pcpu->clock = xf_clock_list(&r->stream.clocks, id);
	r->stream.clocks.failed |= !pcpu->clock;
	r->pcpus[id] = pcpu;
	r->active[r->nactive++] = pcpu;
	return pcpu;
}

/* TSC of the first timed record of a chunk that is in memory; 0 = none. */
static uint64_t chunk_first(const struct xf_reader *r, const struct xf_chunk *chunk)
{
	struct xf_record record = {0};
	size_t at = 0;

	while (chunk->data && at < chunk->length && !record.timed)
		at += xf_framer_record(r->stream.format, chunk->data + at, &record);
	return record.timed ? record.tsc : 0;
}

/* Is the chunk of another capture than what its pCPU had before, put behind it?  Then time starts anew. */
static bool starts_anew(
	const struct xf_reader *r, const struct xf_pcpu *pcpu, const struct xf_chunk *chunk)
{
	uint64_t first;

	if (!chunk->tsc || chunk->tsc >= pcpu->read_tsc)
		return false;
	first = chunk_first(r, chunk);
	return first && first < pcpu->read_tsc && pcpu->read_tsc - first >= XF_SILENCE;
}

/* Goes on with a pCPU that is not the current one. */
static int advance(struct xf_reader *r, struct xf_pcpu *pcpu, struct xf_error *err)
{
	int code = xf_pcpu_advance(pcpu, &r->stream, err);

	xf_merge_place(&r->merge, pcpu);
	return code;
}

/* The choice has to be made again. */
static void leave(struct xf_reader *r)
{
	if (r->current)
		xf_merge_place(&r->merge, r->current);
	r->current = NULL;
}

static int take_chunk(
	struct xf_reader *r, struct xf_pcpu *pcpu, struct xf_chunk *chunk, struct xf_error *err)
{
	int code = 0;

	if (chunk->pass != r->stream.pass) {
		r->stream.pass = chunk->pass;
		if (r->before > r->final)
			r->final = r->before;
		r->before = r->latest;
	}
	xf_pcpu_add(pcpu, chunk);
	if (chunk->tsc > r->latest)
		r->latest = chunk->tsc;
	if (chunk->tsc)
		pcpu->read_tsc = chunk->tsc;
	if (pcpu->state != XF_PCPU_READY)
		code = advance(r, pcpu, err);
	return code ? code : 1;
}

/* Reads one more chunk: 1, 0 = there is none (or only of another capture), XF_AGAIN, negative. */
static int read_chunk(struct xf_reader *r, struct xf_error *err)
{
	struct xf_chunk *chunk;
	struct xf_pcpu *pcpu;
	int code;

	if (!r->stream.table && (code = start(r, err)))
		return code;
	code = xf_framer_next(r->stream.framer, &chunk, err);
	if (code <= 0)
		return code;
	r->round += chunk->pcpu < r->previous;
	r->previous = chunk->pcpu;
	pcpu = pcpu_of(r, chunk->pcpu, err);
	if (!pcpu) {
		xf_chunk_free(r->stream.framer, chunk);
		return -XF_INTERNAL;
	}
	chunk->round = r->round;
	if (starts_anew(r, pcpu, chunk)) {
		r->next_part = chunk;
		return 0;
	}
	return take_chunk(r, pcpu, chunk, err);
}

/*
 * Chooses the pCPU with the earliest event and how far it may go before the choice must be made
 * again.  False: no event is final yet.
 */
static bool choose(struct xf_reader *r)
{
	uint64_t others;
	struct xf_pcpu *first;

	leave(r);
	first = xf_merge_first(&r->merge, &others);
	if (!first || first->state == XF_PCPU_BLOCKED ||
		(first->event_key > r->final && !r->stream.end))
		return false;
	r->current = first;
	/* at equal times the lower pCPU comes first: choose again */
	r->bound = others ? others - 1 : 0;
	if (!r->stream.end && r->final < r->bound)
		r->bound = r->final;
	return true;
}

/* After the last chunk nothing is waited for any more. */
static int end_stream(struct xf_reader *r, struct xf_error *err)
{
	r->stream.end = true;
	for (size_t i = 0; i < r->nactive; i++) {
		int code = 0;

		if (r->active[i]->state != XF_PCPU_READY)
			code = advance(r, r->active[i], err);
		if (code)
			return code;
	}
	return 0;
}

/* Doubts that only the whole stream shows. */
static int finish(struct xf_reader *r, struct xf_error *err)
{
	r->done = true;
	if (r->stream.records && !r->stream.scheduled)
		xf_doubt_add(r->stream.doubts, XF_DOUBT_NO_SCHED, 1, 0, 0);
	return xf_coverage_finish(&r->stream, r->active, r->nactive, err);
}

/* What is left of the others, after a gap on one pCPU: those that were silent then too. */
static bool seam(struct xf_reader *r, struct xf_event *event, int *code, struct xf_error *err)
{
	const struct xf_silence *p = &r->paused->pause;

	while (r->next_paused < r->nactive) {
		struct xf_pcpu *other = r->active[r->next_paused++];
		struct xf_silence *q = &other->pause;

		if (q->told || !q->first)
			continue;
		q->told = true;
		*code = xf_pcpu_gap(&r->stream, other, q->first, q->last, "seam", err);
		xf_pcpu_gap_event(other, q->first, p->last, event);
		return true;
	}
	r->paused = NULL;
	return false;
}

/* Was every pCPU silent at the same time?  Then the capture itself stopped, or another was put behind it. */
static bool all_silent(const struct xf_reader *r, const struct xf_pcpu *pcpu)
{
	const struct xf_silence *p = &pcpu->pause;

	for (size_t i = 0; i < r->nactive; i++) {
		const struct xf_silence *q = &r->active[i]->pause;
		uint64_t first = q->first > p->first ? q->first : p->first;
		uint64_t last = q->last < p->last ? q->last : p->last;

		/* not seen before, or not any more */
		if (r->active[i]->tsc_first >= p->last || r->active[i]->key <= p->first)
			continue;
		if (!q->first || last <= first || last - first < (p->last - p->first) / 2)
			return false;
	}
	return r->nactive > 1;
}

/* Times as they go out. */
static void rebase(const struct xf_reader *r, struct xf_event *event)
{
	uint64_t base = r->stream.tsc_base;

	event->tsc -= event->has & XF_HAS_TSC ? base : 0;
	event->tsc_late -= event->has & XF_HAS_LATE ? base : 0;
	if (event->kind == XF_LOST && event->has & XF_HAS_ARG1)
		event->arg1 -= base;
}

static bool is_gap(const struct xf_event *event)
{
	return event->kind == XF_LOST && !(event->has & XF_HAS_COUNT);
}

static int emit(struct xf_reader *r, struct xf_event *event, struct xf_error *err)
{
	struct xf_pcpu *pcpu = r->current;
	int code = 0;

	if (r->paused && seam(r, event, &code, err)) {
		rebase(r, event);
		r->events += !code;
		return code ? code : 1;
	}
	*event = pcpu->event;
	if (is_gap(event) && all_silent(r, pcpu)) {
		r->paused = pcpu;
		r->next_paused = 0;
		r->stream.gaps[r->stream.ngaps - 1].why = "seam";
	}
	if (pcpu->event_key < r->emitted)
		xf_doubt_add(r->stream.doubts, XF_DOUBT_LATE, 1, event->tsc, 0);
	else
		r->emitted = pcpu->event_key;
	if (!(event->has & XF_HAS_OWNER) && event->kind != XF_LOST)
		xf_doubt_add(r->stream.doubts, XF_DOUBT_NO_OWNER, 1, event->tsc, 0);
	if (r->stream.tsc_base || event->kind == XF_LOST)
		rebase(r, event);
	r->events++;
	code = xf_pcpu_advance(pcpu, &r->stream, err);
	if (code < 0)
		return code;
	if (pcpu->state != XF_PCPU_READY || pcpu->event_key > r->bound)
		leave(r);
	return 1;
}

/* All that came before another capture is out: each pCPU begins anew. */
static void end_part(struct xf_reader *r)
{
	r->part_first = chunk_first(r, r->next_part);
	r->next_ended = 0;
	r->paused = NULL;
	r->before = r->latest = r->final = r->emitted = 0;
	r->stream.end = false;
	r->stream.parts++;
	/* steps of several captures do not follow each other */
	r->stream.clocks.failed = true;
}

/* The end of a capture on one pCPU after the other; 0 = it is told of all. */
static int tell_end(struct xf_reader *r, struct xf_event *event, struct xf_error *err)
{
	struct xf_pcpu *pcpu;
	uint64_t last;
	int code;

	if (r->next_ended == r->nactive) {
		struct xf_chunk *chunk = r->next_part;

		r->next_part = NULL;
		r->part_first = 0;
		code = take_chunk(r, r->pcpus[chunk->pcpu], chunk, err);
		return code < 0 ? code : 0;
	}
	pcpu = r->active[r->next_ended++];
	last = xf_pcpu_end_part(pcpu);
	xf_pcpu_gap_event(pcpu, last, r->part_first, event);
	rebase(r, event);
	code = xf_pcpu_gap(&r->stream, pcpu, last, last, "seam", err);
	r->events += !code;
	return code ? code : 1;
}

int xf_reader_next(struct xf_reader *r, struct xf_event *event, struct xf_error *err)
{
	int code;

	while (!r->current && (r->part_first || !choose(r))) {
		if (r->done)
			return 0;
		if (r->next_part && r->stream.end)
			end_part(r);
		if (r->part_first) {
			code = tell_end(r, event, err);
			if (code)
				return code;
			continue;
		}
		if (r->stream.end)
			return finish(r, err);
		code = read_chunk(r, err);
		if (code < 0)
			return code;
		if (!code && (code = end_stream(r, err)))
			return code;
	}
	return emit(r, event, err);
}

void xf_reader_settle(struct xf_reader *r)
{
	r->final = r->before = r->latest;
	leave(r);
}

void xf_reader_interrupt(struct xf_reader *r)
{
	if (r->stream.end)
		return;
	xf_doubt_add(
		r->stream.doubts, XF_DOUBT_INTERRUPTED, 1, 0, xf_framer_offset(r->stream.framer));
	leave(r);
	end_stream(r, NULL);
}

void xf_reader_stats(const struct xf_reader *r, struct xf_reader_stats *stats)
{
	const struct xf_record_slot *slot;
	size_t cursor = 0;

	*stats = (struct xf_reader_stats){
		.format = r->stream.format,
		.records = r->stream.records,
		.events = r->events,
		.lost_records = r->stream.lost_records,
		.tsc_first = r->stream.tsc_first ? r->stream.tsc_first - r->stream.tsc_base : 0,
		.tsc_last = r->stream.tsc_last ? r->stream.tsc_last - r->stream.tsc_base : 0,
		.tsc_base = r->stream.tsc_base,
		.complete = r->done,
	};
	for (int i = 0; i < XF_DOUBT_COUNT; i++)
		if (r->stream.doubts[i].count && xf_doubt_incomplete((enum xf_doubt_code)i))
			stats->complete = false;
	while (r->stream.table && (slot = xf_record_next(r->stream.table, &cursor)))
		if (!slot->fits)
			stats->unknown_records += slot->records;
}

const struct xf_loss *xf_reader_loss(const struct xf_reader *r, size_t i)
{
	return i < r->stream.nlosses ? &r->stream.losses[i] : NULL;
}

const struct xf_gap *xf_reader_gap(const struct xf_reader *r, size_t i)
{
	return i < r->stream.ngaps ? &r->stream.gaps[i] : NULL;
}

bool xf_reader_pcpu(const struct xf_reader *r, size_t i, struct xf_reader_pcpu *pcpu)
{
	const struct xf_pcpu *p = i < r->nactive ? r->active[i] : NULL;
	uint64_t base = r->stream.tsc_base;

	if (!p)
		return false;
	*pcpu = (struct xf_reader_pcpu){.pcpu = p->id,
		.tsc_first = p->tsc_first ? p->tsc_first - base : 0,
		.tsc_last = p->timed || p->last_part ? xf_pcpu_last(p) - base : 0,
		.records = p->records,
		.lost_records = p->lost_records,
		.clock = {.low = XF_CLOCK_NONE, .high = XF_CLOCK_NONE}};
	if (r->done && p->clock) {
		pcpu->clock = p->clock->model;
		pcpu->clock.origin -= pcpu->clock.origin ? base : 0;
	}
	return true;
}

const struct xf_doubt *xf_reader_doubts(struct xf_reader *r)
{
	for (int i = 0; i < XF_DOUBT_COUNT; i++) {
		r->doubts[i] = r->stream.doubts[i];
		r->doubts[i].tsc -= r->doubts[i].tsc ? r->stream.tsc_base : 0;
	}
	return r->doubts;
}

const struct xf_record_table *xf_reader_records(const struct xf_reader *r)
{
	return r->stream.table;
}

uint64_t xf_reader_offset(const struct xf_reader *r)
{
	return xf_framer_offset(r->stream.framer);
}

uint64_t xf_reader_size(const struct xf_reader *r)
{
	return xf_framer_size(r->stream.framer);
}

bool xf_reader_live(const struct xf_reader *r)
{
	return xf_framer_live(r->stream.framer);
}

void xf_reader_close(struct xf_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nactive; i++)
		xf_pcpu_free(r->active[i], &r->stream);
	if (r->next_part)
		xf_chunk_free(r->stream.framer, r->next_part);
	free(r->active);
	xf_merge_free(&r->merge);
	free(r->stream.losses);
	free(r->stream.gaps);
	xf_clock_free(&r->stream.clocks);
	xf_record_table_free(r->stream.table);
	xf_framer_free(r->stream.framer);
	free(r);
}
