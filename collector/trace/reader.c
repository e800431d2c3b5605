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

#include "collector/trace/pcpu.h"

struct xf_reader {
	struct xf_stream stream;
	struct xf_pcpu *pcpus[XF_MAX_PCPUS]; /* by number, NULL = not seen */
	struct xf_pcpu **active;	     /* those that were seen */
	size_t nactive, active_room;
	struct xf_pcpu *current; /* whose events come out just now */
	uint64_t bound;		 /* as long as they are not later than this */
	uint64_t before, latest; /* latest key of the passes before the current one; of it too */
	uint64_t final;		 /* keys up to here can come out */
	uint64_t emitted;	 /* key of the last event */
	uint64_t events;
	bool done;
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
	pcpu = calloc(1, sizeof(*pcpu));
	if (!pcpu) {
		xf_fail_nomem(err);
		return NULL;
	}
	pcpu->id = id;
	pcpu->unsettled = true;
	r->pcpus[id] = pcpu;
	r->active[r->nactive++] = pcpu;
	return pcpu;
}

/* Reads one more chunk: 1, 0 = there is none, XF_AGAIN, negative. */
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
	pcpu = pcpu_of(r, chunk->pcpu, err);
	if (!pcpu) {
		xf_chunk_free(r->stream.framer, chunk);
		return -XF_INTERNAL;
	}
	if (chunk->pass != r->stream.pass) {
		r->stream.pass = chunk->pass;
		if (r->before > r->final)
			r->final = r->before;
		r->before = r->latest;
	}
	xf_pcpu_add(pcpu, chunk);
	if (chunk->tsc > r->latest)
		r->latest = chunk->tsc;
	code = 0;
	if (pcpu->state != XF_PCPU_READY)
		code = xf_pcpu_advance(pcpu, &r->stream, err);
	return code ? code : 1;
}

static bool earlier(const struct xf_pcpu *a, const struct xf_pcpu *b)
{
	return a->event_key < b->event_key || (a->event_key == b->event_key && a->id < b->id);
}

/*
 * Chooses the pCPU with the earliest event and how far it may go before the choice must be made
 * again.  False: no event is final yet.
 */
static bool choose(struct xf_reader *r)
{
	struct xf_pcpu *first = NULL;
	uint64_t others = UINT64_MAX;

	r->current = NULL;
	for (size_t i = 0; i < r->nactive; i++) {
		struct xf_pcpu *pcpu = r->active[i];

		if (pcpu->state == XF_PCPU_EMPTY)
			continue;
		if (!first || earlier(pcpu, first)) {
			if (first && first->event_key < others)
				others = first->event_key;
			first = pcpu;
		} else if (pcpu->event_key < others) {
			others = pcpu->event_key;
		}
	}
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
			code = xf_pcpu_advance(r->active[i], &r->stream, err);
		if (code)
			return code;
	}
	return 0;
}

/* Doubts that only the whole stream shows. */
static void finish(struct xf_reader *r)
{
	r->done = true;
	if (r->stream.records && !r->stream.scheduled)
		xf_doubt_add(r->stream.doubts, XF_DOUBT_NO_SCHED, 1, 0, 0);
}

int xf_reader_next(struct xf_reader *r, struct xf_event *event, struct xf_error *err)
{
	int code;

	while (!r->current && !choose(r)) {
		if (r->done)
			return 0;
		if (r->stream.end) {
			finish(r);
			return 0;
		}
		code = read_chunk(r, err);
		if (code < 0)
			return code;
		if (!code && (code = end_stream(r, err)))
			return code;
	}
	*event = r->current->event;
	if (r->current->event_key < r->emitted)
		xf_doubt_add(r->stream.doubts, XF_DOUBT_LATE, 1, event->tsc, 0);
	else
		r->emitted = r->current->event_key;
	if (!(event->has & XF_HAS_OWNER) && event->kind != XF_LOST)
		xf_doubt_add(r->stream.doubts, XF_DOUBT_NO_OWNER, 1, event->tsc, 0);
	r->events++;
	code = xf_pcpu_advance(r->current, &r->stream, err);
	if (code < 0)
		return code;
	if (r->current->state != XF_PCPU_READY || r->current->event_key > r->bound)
		r->current = NULL;
	return 1;
}

void xf_reader_settle(struct xf_reader *r)
{
	r->final = r->before = r->latest;
	r->current = NULL;
}

void xf_reader_interrupt(struct xf_reader *r)
{
	if (r->stream.end)
		return;
	xf_doubt_add(
		r->stream.doubts, XF_DOUBT_INTERRUPTED, 1, 0, xf_framer_offset(r->stream.framer));
	end_stream(r, NULL);
	r->current = NULL;
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
		.tsc_first = r->stream.tsc_first,
		.tsc_last = r->stream.tsc_last,
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

const struct xf_doubt *xf_reader_doubts(const struct xf_reader *r)
{
	return r->stream.doubts;
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
	free(r->active);
	free(r->stream.losses);
	xf_record_table_free(r->stream.table);
	xf_framer_free(r->stream.framer);
	free(r);
}
