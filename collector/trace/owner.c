// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who runs on a pCPU.  In: its scheduler records.  Out: the owner of its events; where records are
 * missing; the steps of vCPUs by which clocks are compared.
 */
#include "collector/trace/nested.h"
#include "collector/trace/owner.h"

#include <stdlib.h>

#define LOST_RECORDS 0x1f001
#define JUMP	     XF_JUMP

static struct xf_owner packed_owner(const struct xf_record *record)
{
	return (struct xf_owner){
		true, (uint16_t)(record->words[0] >> 16), (uint16_t)record->words[0]};
}

/* Domain and vCPU in payload words at and at + 1. */
static struct xf_owner word_owner(
	const struct xf_record *record, enum xf_stream_format format, int at)
{
	if (format == XF_STREAM_VARIABLE)
		return (struct xf_owner){
			true, (uint16_t)record->words[at], (uint16_t)record->words[at + 1]};
	return (struct xf_owner){
		true, (uint16_t)record->items[at], (uint16_t)record->items[at + 1]};
}

/*
 * Who ran here before a scheduler record: 1 = *owner, 0 = it does not say, -1 = it says that what
 * was before cannot be known.
 */
static int ran_before(const struct xf_stream *stream, const struct xf_layout *layout,
	const struct xf_record *record, struct xf_owner *owner)
{
	switch (layout->role) {
	case XF_ROLE_RUNSTATE:
		if (!(record->id >> 8 & 3)) {
			*owner = packed_owner(record);
			return 1;
		}
		return record->id >> 4 & 3 ? 0 : -1;
	case XF_ROLE_CONTINUE:
		*owner = packed_owner(record);
		return 1;
	case XF_ROLE_WAS_IS:
	case XF_ROLE_WAS:
	case XF_ROLE_SWITCH:
		*owner = word_owner(record, stream->format, 0);
		return 1;
	case XF_ROLE_LOST:
		return -1;
	default:
		return 0;
	}
}

/*
 * Settles who owns the records from here to the next scheduler record.
 * 1 = settled (owner set or unknown for good), 0 = more must be seen, negative = failure.
 */
int xf_owner_settle(struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_error *err)
{
	struct xf_place *place = &pcpu->owner_ahead;
	struct xf_record record;
	struct xf_owner owner = {0};
	size_t length;
	int code, said = 0;

	xf_pcpu_look_ahead(pcpu, place, pcpu->at);
	while (!said && (code = xf_pcpu_read_at(pcpu, stream, place, &record, &length, err)) == 1) {
		const struct xf_record_slot *slot =
			xf_record_slot(stream->table, record.id, record.nwords);

		if (slot->layout)
			said = ran_before(stream, slot->layout, &record, &owner);
		place->at += length;
	}
	if (!said && code < 0)
		return code;
	if (!said && !(stream->give_up && !stream->scheduled)) {
		if (xf_pcpu_may_wait(pcpu, stream))
			return 0;
		stream->give_up = true;
	}
	if (said != 1 && stream->scheduled)
		owner = pcpu->after_loss;
	pcpu->owner = owner;
	pcpu->unsettled = false;
	pcpu->holding = false;
	return 1;
}

static void set_owner(struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_owner owner)
{
	if (owner.domid >= 0x7ff0 && owner.domid != XF_DOMID_IDLE)
		xf_doubt_add(stream->doubts, XF_DOUBT_BAD_DOMAIN, 1, pcpu->tsc, 0);
	pcpu->owner = owner;
	pcpu->unsettled = false;
}

bool xf_owner_same(struct xf_owner a, struct xf_owner b)
{
	return a.known && b.known && a.domid == b.domid && a.vcpu == b.vcpu;
}

/* Counts a scheduler record that says that another vCPU ran here than the ones before it said. */
static void check_owner(struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_owner ran)
{
	if (pcpu->owner.known && !pcpu->unsettled && !xf_owner_same(pcpu->owner, ran))
		xf_doubt_add(stream->doubts, XF_DOUBT_SCHED_CONFLICT, 1, pcpu->tsc, 0);
}

/* What a scheduler record says of a vCPU's states, for the clocks.  No guest runs in the idle domain. */
static void note_step(struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_owner v,
	unsigned from, unsigned to, bool switched)
{
	if (pcpu->clock && v.domid < 0x7ff0)
		xf_clock_add(&stream->clocks, pcpu->clock,
			&(struct xf_clock_step){.tsc = pcpu->key,
				.vcpu = (uint32_t)v.domid << 16 | v.vcpu,
				.pass = pcpu->head->round & 0xffffff,
				.from = from,
				.to = to,
				.switched = switched});
}

/* Records are missing from first to last: states before tell nothing of those behind. */
void xf_owner_missing(struct xf_pcpu *pcpu, struct xf_stream *stream, uint64_t first, uint64_t last)
{
	struct xf_clock_step step = {.tsc = first < pcpu->key ? first : pcpu->key,
		.vcpu = XF_CLOCK_LOSS,
		.pass = pcpu->head->round & 0xffffff};

	if (!pcpu->clock)
		return;
	xf_clock_add(&stream->clocks, pcpu->clock, &step);
	step.tsc = last;
	step.to = 1;
	xf_clock_add(&stream->clocks, pcpu->clock, &step);
}

static void runstate(struct xf_pcpu *pcpu, struct xf_stream *stream, const struct xf_record *record)
{
	struct xf_owner v = packed_owner(record);
	bool was_running = !(record->id >> 8 & 3), is_running = !(record->id >> 4 & 3);

	note_step(pcpu, stream, v, record->id >> 8 & 3, record->id >> 4 & 3, false);
	if (was_running) {
		/* up to 4.0 SWITCH comes behind the runstates, since then before them */
		if (xf_owner_same(pcpu->switched_from, v)) {
			pcpu->switched_from.known = false;
			return;
		}
		check_owner(pcpu, stream, v);
		set_owner(pcpu, stream, (struct xf_owner){0});
	} else if (is_running) {
		if (pcpu->owner.known && !pcpu->unsettled && !xf_owner_same(pcpu->owner, v))
			xf_doubt_add(stream->doubts, XF_DOUBT_SCHED_CONFLICT, 1, pcpu->tsc, 0);
		set_owner(pcpu, stream, v);
	}
}

/* Follows a scheduler record. */
void xf_owner_schedule(struct xf_pcpu *pcpu, struct xf_stream *stream,
	const struct xf_layout *layout, const struct xf_record *record)
{
	struct xf_owner v;

	if (!pcpu->scheduled && layout->role != XF_ROLE_SCHED &&
		ran_before(stream, layout, record, &v) == 1) {
		pcpu->scheduled = true;
		pcpu->began_idle = v.domid == XF_DOMID_IDLE;
	}
	switch (layout->role) {
	case XF_ROLE_RUNSTATE:
		runstate(pcpu, stream, record);
		break;
	case XF_ROLE_CONTINUE:
	case XF_ROLE_WAS_IS:
		v = layout->role == XF_ROLE_CONTINUE ? packed_owner(record)
						     : word_owner(record, stream->format, 0);
		check_owner(pcpu, stream, v);
		set_owner(pcpu, stream, v);
		break;
	case XF_ROLE_WAS:
		check_owner(pcpu, stream, word_owner(record, stream->format, 0));
		break;
	case XF_ROLE_SWITCH:
		v = word_owner(record, stream->format, 0);
		note_step(pcpu, stream, v, XF_VCPU_RUNNING, XF_VCPU_STOPPED, true);
		v = word_owner(record, stream->format, 2);
		note_step(pcpu, stream, v, XF_VCPU_STOPPED, XF_VCPU_RUNNING, true);
		pcpu->outgoing = word_owner(record, stream->format, 0);
		/* behind the runstates it says nothing new */
		if (!xf_owner_same(pcpu->owner, v)) {
			pcpu->switched_from = word_owner(record, stream->format, 0);
			check_owner(pcpu, stream, pcpu->switched_from);
			set_owner(pcpu, stream, v);
		}
		break;
	default:
		return;
	}
	stream->scheduled = true;
	pcpu->has_rip = false;
	xf_nested_over(pcpu);
	pcpu->multicall_done = 0;
}

int xf_pcpu_gap(struct xf_stream *stream, const struct xf_pcpu *pcpu, uint64_t first, uint64_t last,
	const char *why, struct xf_error *err)
{
	if (stream->ngaps == stream->gaps_room) {
		size_t room = stream->gaps_room ? 2 * stream->gaps_room : 16;
		struct xf_gap *more = realloc(stream->gaps, room * sizeof(*more));

		if (!more)
			return xf_fail_nomem(err);
		stream->gaps = more;
		stream->gaps_room = room;
	}
	xf_doubt_add(stream->doubts, XF_DOUBT_GAP, 1, first, 0);
	stream->gaps[stream->ngaps++] =
		(struct xf_gap){pcpu->id, first - stream->tsc_base, last - stream->tsc_base, why};
	return 0;
}

void xf_pcpu_gap_event(
	const struct xf_pcpu *pcpu, uint64_t first, uint64_t last, struct xf_event *event)
{
	*event = (struct xf_event){.kind = XF_LOST,
		.pcpu = pcpu->id,
		.tsc = last,
		.arg1 = first,
		.has = XF_HAS_TSC | XF_HAS_ARG1};
}

/* Nothing is carried over missing records; fallback: who runs then, if no record will say it. */
void xf_owner_forget(struct xf_pcpu *pcpu, struct xf_owner fallback)
{
	pcpu->after_loss = fallback;
	pcpu->owner = (struct xf_owner){0};
	pcpu->switched_from.known = false;
	pcpu->unsettled = true;
	pcpu->owner_ahead.chunk = NULL;
	pcpu->holding = false;
	pcpu->has_rip = false;
	pcpu->multicall_done = 0;
}

/*
 * A long silence before the record at hand.  It is no proof that records are missing; but if another
 * vCPU runs afterwards than before, some are.  So what follows is settled anew.
 */
int xf_owner_pause(struct xf_pcpu *pcpu, struct xf_stream *stream, const struct xf_record *record,
	size_t length, struct xf_error *err)
{
	struct xf_place place = {pcpu->head, pcpu->at + length};
	uint64_t first = pcpu->tsc, after = 0;
	int code;

	if (record->tsc < pcpu->tsc || record->tsc - pcpu->tsc >= JUMP) {
		/* one record with a wrong time is no silence */
		code = xf_pcpu_next_timed(pcpu, stream, &place, &after, err);
		if (code < 0)
			return code;
		if (code && (after > first ? after - first : first - after) < JUMP)
			return 0;
	}
	pcpu->pause = (struct xf_silence){.first = first,
		.last = record->tsc,
		.before = pcpu->owner,
		.open = stream->clocks.runstates && pcpu->owner.known && !pcpu->unsettled};
	if (pcpu->pause.open)
		xf_owner_forget(pcpu, pcpu->owner);
	return 0;
}

/* Who ran at the end of the silence: 1 = another than at its beginning, pcpu->event says so. */
int xf_owner_end_pause(
	struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_owner ran, struct xf_error *err)
{
	struct xf_silence *pause = &pcpu->pause;
	int code;

	if (!pause->open)
		return 0;
	pause->open = false;
	if (!ran.known || xf_owner_same(ran, pause->before))
		return 0;
	pause->told = true;
	xf_owner_missing(pcpu, stream, pause->first, pause->last);
	code = xf_pcpu_gap(stream, pcpu, pause->first, pause->last, "middle", err);
	if (code)
		return code;
	xf_pcpu_gap_event(pcpu, pause->first, pause->last, &pcpu->event);
	pcpu->event_key = pause->last > pcpu->key ? pause->last : pcpu->key;
	return 1;
}

/* A record that says who ran before it ends the silence. */
int xf_owner_scheduled(struct xf_pcpu *pcpu, struct xf_stream *stream,
	const struct xf_layout *layout, const struct xf_record *record, struct xf_error *err)
{
	struct xf_owner ran = {0};

	if (!pcpu->pause.open || !layout || pcpu->has_pending)
		return 0;
	return ran_before(stream, layout, record, &ran) == 1
		       ? xf_owner_end_pause(pcpu, stream, ran, err)
		       : 0;
}

/* Is there one that was not looked at yet? */
bool xf_owner_pauses(const struct xf_pcpu *pcpu, const struct xf_record *record)
{
	if (!record->timed || !pcpu->timed || pcpu->has_pending || record->id == LOST_RECORDS ||
		pcpu->pause.last == record->tsc)
		return false;
	return record->tsc >= pcpu->tsc ? record->tsc - pcpu->tsc >= XF_SILENCE
					: pcpu->tsc - record->tsc >= JUMP;
}
