// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One physical CPU's stream.  In: chunks of records.  Out: events with time and owner.
 *
 * Owner: scheduler records say who runs.  Until the first one (at the start, and after a loss) the
 * owner is found by looking ahead: "v was running here" holds for everything before it, because a
 * switch in between would have been recorded.
 */
#include "collector/trace/pcpu.h"
#include "schemas/xen.h"

#include <stdlib.h>
#include <string.h>

#include "collector/trace/nested.h"
#include "collector/trace/owner.h"

#define JUMP	  XF_JUMP
#define XEN_FIRST 0xffff800000000000ull /* Xen's own part of a 64-bit address space (public ABI) */
#define XEN_LAST  0xffff87ffffffffffull
#define HOLD_PASS 64 /* how long to wait for a scheduler record, in passes */

/* Hypercalls whose records carry a count, or mean something here. */
static const struct hypercall {
	uint32_t op;
	uint8_t kind;
	int8_t count_arg; /* which argument is the number of entries; -1 = none, -2 = always one */
} hypercalls[] = {
	{XF_CALL_mmu_update, XF_BATCH, 1},
	{XF_CALL_stack_switch, XF_TASK_SWITCH, -1},
	{XF_CALL_multicall, XF_MULTICALL, 1},
	{XF_CALL_update_va_mapping, XF_BATCH, -2},
	{XF_CALL_grant_table_op, XF_HYPERCALL, 2},
	{XF_CALL_update_va_mapping_otherdomain, XF_BATCH, -2},
	{XF_CALL_iret, XF_IRET, -1},
	{XF_CALL_mmuext_op, XF_MMUEXT, 1},
};

void xf_pcpu_add(struct xf_pcpu *pcpu, struct xf_chunk *chunk)
{
	chunk->next = NULL;
	if (pcpu->tail)
		pcpu->tail->next = chunk;
	else
		pcpu->head = chunk;
	pcpu->tail = chunk;
}

void xf_pcpu_free(struct xf_pcpu *pcpu, struct xf_stream *stream)
{
	while (pcpu->head) {
		struct xf_chunk *next = pcpu->head->next;

		xf_chunk_free(stream->framer, pcpu->head);
		pcpu->head = next;
	}
	free(pcpu);
}

/* Reads the record at a place: 1, 0 = none there (yet), negative. */
int xf_pcpu_read_at(struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_place *place,
	struct xf_record *record, size_t *length, struct xf_error *err)
{
	int code;

	while (place->at >= place->chunk->length) {
		if (!place->chunk->next)
			return 0;
		/* looking ahead must not fill the memory */
		if (place->chunk != pcpu->head)
			xf_chunk_unload(stream->framer, place->chunk);
		place->chunk = place->chunk->next;
		place->at = 0;
	}
	code = xf_chunk_load(stream->framer, place->chunk, err);
	if (code)
		return code;
	*length = xf_framer_record(stream->format, place->chunk->data + place->at, record);
	return 1;
}

/* Goes on where an earlier look ahead ended, or else begins in the first chunk. */
void xf_pcpu_look_ahead(struct xf_pcpu *pcpu, struct xf_place *ahead, size_t at)
{
	if (!ahead->chunk || (ahead->chunk == pcpu->head && ahead->at < at))
		*ahead = (struct xf_place){pcpu->head, at};
}

/* Drops chunks that were used up. */
static void trim(struct xf_pcpu *pcpu, struct xf_stream *stream)
{
	while (pcpu->head && pcpu->at >= pcpu->head->length) {
		struct xf_chunk *used = pcpu->head;

		pcpu->head = used->next;
		if (!pcpu->head)
			pcpu->tail = NULL;
		pcpu->at = 0;
		if (pcpu->owner_ahead.chunk == used)
			pcpu->owner_ahead.chunk = NULL;
		if (pcpu->timed_ahead.chunk == used)
			pcpu->timed_ahead.chunk = NULL;
		xf_chunk_free(stream->framer, used);
	}
}

uint64_t xf_pcpu_last(const struct xf_pcpu *pcpu)
{
	return pcpu->key > pcpu->last_part ? pcpu->key : pcpu->last_part;
}

uint64_t xf_pcpu_end_part(struct xf_pcpu *pcpu)
{
	uint64_t last = xf_pcpu_last(pcpu);

	xf_owner_forget(pcpu, (struct xf_owner){0});
	xf_nested_over(pcpu);
	pcpu->outgoing.known = false;
	pcpu->timed = pcpu->next_known = false;
	pcpu->tsc = pcpu->key = pcpu->read_tsc = 0;
	pcpu->pause = (struct xf_silence){0};
	pcpu->last_part = last;
	return last;
}

/* May it still help to wait for more of this pCPU's stream? */
bool xf_pcpu_may_wait(struct xf_pcpu *pcpu, const struct xf_stream *stream)
{
	if (stream->end)
		return false;
	if (!pcpu->holding) {
		pcpu->holding = true;
		pcpu->hold_pass = stream->pass;
	}
	return stream->pass - pcpu->hold_pass < HOLD_PASS;
}

/* The TSC of the next timed record from a place on: 1, 0 = none in sight, negative. */
int xf_pcpu_next_timed(struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_place *place,
	uint64_t *tsc, struct xf_error *err)
{
	struct xf_record record;
	size_t length;
	int code;

	while ((code = xf_pcpu_read_at(pcpu, stream, place, &record, &length, err)) == 1) {
		if (record.timed) {
			*tsc = record.tsc;
			return 1;
		}
		place->at += length;
	}
	return code;
}

/* The first record with a time, or one after a silence (or a step back). */
static void first_or_late(struct xf_pcpu *pcpu, struct xf_stream *stream, uint64_t before)
{
	if (pcpu->timed) {
		if (pcpu->clock && pcpu->key > before)
			xf_clock_silent(pcpu->clock, before, pcpu->key);
		return;
	}
	if (!pcpu->tsc_first || pcpu->key < pcpu->tsc_first)
		pcpu->tsc_first = pcpu->key;
	if (stream->based)
		return;
	/* so that no TSC of the capture is negative as a signed number, nor becomes it soon */
	stream->based = true;
	if (pcpu->key >> 62)
		stream->tsc_base = (pcpu->key - (1ull << 61)) & ~((1ull << 62) - 1);
}

/*
 * Moves the pCPU's clock on.  The order within a pCPU is the truth: a TSC that steps back, or jumps
 * far ahead for one record only, does not move the key by which pCPUs are merged.
 */
static int clock_record(struct xf_pcpu *pcpu, struct xf_stream *stream, uint64_t tsc, size_t length,
	struct xf_error *err)
{
	uint64_t after = 0, before = pcpu->key;
	uint64_t distance = tsc > pcpu->key ? tsc - pcpu->key : pcpu->key - tsc;
	struct xf_place place = {pcpu->head, pcpu->at + length};
	int code = 0;

	if (pcpu->timed && tsc < pcpu->tsc)
		xf_doubt_add(stream->doubts, XF_DOUBT_TSC_BACKWARDS, 1, tsc,
			pcpu->head->offset + pcpu->at);
	pcpu->tsc = tsc;
	pcpu->next_known = false;
	pcpu->timed_ahead.chunk = NULL;
	if (pcpu->timed && distance >= JUMP) {
		xf_doubt_add(
			stream->doubts, XF_DOUBT_TSC_JUMP, 1, tsc, pcpu->head->offset + pcpu->at);
		code = xf_pcpu_next_timed(pcpu, stream, &place, &after, err);
		if (code < 0)
			return code;
		/* back at once: this one record is wrong, the clock is not */
		if (code && (after > pcpu->key ? after - pcpu->key : pcpu->key - after) < JUMP)
			return 0;
		pcpu->key = tsc;
	} else if (!pcpu->timed || tsc > pcpu->key) {
		pcpu->key = tsc;
	}
	if (!pcpu->timed || pcpu->key - before >= XF_CLOCK_SILENT)
		first_or_late(pcpu, stream, before);
	pcpu->timed = true;
	if (!stream->tsc_first || (pcpu->key < stream->tsc_first && pcpu->key))
		stream->tsc_first = pcpu->key;
	if (pcpu->key > stream->tsc_last)
		stream->tsc_last = pcpu->key;
	return 0;
}

/*
 * Time of a record without a TSC: between its neighbours.  1 = event times set, 0 = more must be
 * seen, negative = failure.
 */
static int time_untimed(struct xf_pcpu *pcpu, struct xf_stream *stream, size_t length,
	struct xf_event *event, struct xf_error *err)
{
	int code;

	if (!pcpu->next_known) {
		xf_pcpu_look_ahead(pcpu, &pcpu->timed_ahead, pcpu->at + length);
		code = xf_pcpu_next_timed(pcpu, stream, &pcpu->timed_ahead, &pcpu->next_tsc, err);
		if (code < 0)
			return code;
		if (!code && xf_pcpu_may_wait(pcpu, stream))
			return 0;
		pcpu->holding = pcpu->holding && pcpu->unsettled;
		pcpu->next_known = code;
	}
	if (pcpu->timed) {
		event->tsc = pcpu->tsc;
		event->has |= XF_HAS_TSC;
		if (pcpu->next_known && pcpu->next_tsc > pcpu->tsc) {
			event->tsc_late = pcpu->next_tsc;
			event->has |= XF_HAS_LATE;
		}
	} else if (pcpu->next_known) {
		xf_doubt_add(
			stream->doubts, XF_DOUBT_UNTIMED, 1, pcpu->next_tsc, pcpu->head->offset);
		event->tsc = pcpu->next_tsc;
		event->has |= XF_HAS_TSC;
		pcpu->key = pcpu->next_tsc;
	}
	return 1;
}

static void pv_domain(struct xf_stream *stream, const struct xf_owner *owner)
{
	if (owner->known && owner->domid < 0x8000)
		stream->pv[owner->domid / 8] |= (uint8_t)(1 << owner->domid % 8);
	else
		stream->pv_unowned = true;
}

static bool is_pv(const struct xf_stream *stream, const struct xf_event *event)
{
	/* no guest runs in the idle domain: what faults there is Xen, in the tables of the last guest */
	if (event->has & XF_HAS_OWNER && event->domid == XF_DOMID_IDLE)
		return true;
	if (event->has & XF_HAS_OWNER && event->domid < 0x8000)
		return stream->pv[event->domid / 8] >> event->domid % 8 & 1;
	return stream->pv_unowned;
}

/* A pending record that no record completed. */
static void finish_pending(struct xf_pcpu *pcpu, struct xf_stream *stream)
{
	pcpu->event = pcpu->pending;
	pcpu->has_pending = false;
	/* the fault of an HVM guest was delivered; of a PV guest's address only Xen knows */
	if (pcpu->event.kind == XF_NOT_SHADOW && !is_pv(stream, &pcpu->event))
		pcpu->event.kind = XF_PAGE_FAULT;
}

/* Argument i of a V2 hypercall or sub-call record; false if it was not recorded. */
static bool argument(const struct xf_record *record, int i, uint64_t *value)
{
	unsigned at = 1;

	for (int k = 0; k <= i; k++) {
		unsigned size = record->words[0] >> (20 + 2 * k) & 3;

		if (size == 3 || at + size > record->nwords)
			return false;
		if (k == i && size) {
			*value = record->words[at];
			if (size == 2)
				*value |= (uint64_t)record->words[at + 1] << 32;
			return true;
		}
		at += size;
	}
	return false;
}

static const struct hypercall *hypercall_info(uint64_t op)
{
	for (size_t i = 0; i < sizeof(hypercalls) / sizeof(hypercalls[0]); i++)
		if (hypercalls[i].op == op)
			return &hypercalls[i];
	return NULL;
}

/*
 * How many records of the same hypercall with the same arguments follow directly in this chunk.
 * They are counted as records here, and skipped.
 */
static unsigned like_calls(struct xf_pcpu *pcpu, struct xf_stream *stream,
	struct xf_record_slot *slot, const struct xf_record *first, struct xf_error *err)
{
	unsigned n = 0;

	while (pcpu->at < pcpu->head->length) {
		struct xf_record record;
		size_t length =
			xf_framer_record(stream->format, pcpu->head->data + pcpu->at, &record);

		if (record.id != first->id || record.nwords != first->nwords || !record.timed ||
			memcmp(record.words, first->words, record.nwords * 4u))
			break;
		if (clock_record(pcpu, stream, record.tsc, length, err))
			break;
		pcpu->at += length;
		slot->records++;
		stream->records++;
		pcpu->records++;
		n++;
	}
	return n;
}

/* A multicall that was preempted is recorded again with the calls left: those count once. */
static bool multicall_again(struct xf_pcpu *pcpu, const struct xf_stream *stream, uint64_t calls)
{
	uint32_t n = pcpu->multicall_calls, done = pcpu->multicall_done;
	struct xf_record record;

	if (!done)
		return false;
	if (done < n && calls == n - done)
		return true;
	/* preempted inside a sub-call, which is recorded twice */
	if (done > n || calls != n - done + 1 || pcpu->at >= pcpu->head->length)
		return false;
	xf_framer_record(stream->format, pcpu->head->data + pcpu->at, &record);
	return record.id == XF_RECORD_SUBCALL;
}

/* A hypercall, or one of a multicall's: kind, count, number of like ones. */
static void hypercall(struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_record_slot *slot,
	const struct xf_record *record, struct xf_event *event, struct xf_error *err)
{
	bool old = slot->layout->role == XF_ROLE_HYPERCALL_OLD;
	uint64_t op = old ? event->arg1 : record->nwords ? record->words[0] & 0xfffff : 0, count;
	const struct hypercall *info = hypercall_info(op);
	bool again = false;
	unsigned more;

	event->arg1 = op;
	event->has |= XF_HAS_ARG1;
	if (info)
		event->kind = info->kind;
	if (info && info->count_arg == -2) {
		event->count = 1;
		event->has |= XF_HAS_COUNT;
	} else if (info && !old && info->count_arg >= 0 &&
		   argument(record, info->count_arg, &count)) {
		event->has |= XF_HAS_COUNT;
		event->count = count;
		/* bit 31: a preempted call goes on; its entries were counted when it began */
		if ((event->kind == XF_BATCH || event->kind == XF_MMUEXT) && count >> 31 & 1) {
			event->count = 0;
			again = true;
		}
	}
	if (event->kind == XF_MULTICALL) {
		if (multicall_again(pcpu, stream, event->count)) {
			event->count = 0;
			again = true;
		} else {
			pcpu->multicall_calls = (uint32_t)event->count;
			pcpu->multicall_done = 0;
		}
	}
	more = again || old ? 0 : like_calls(pcpu, stream, slot, record, err);
	if (more) {
		event->arg2 = more + 1;
		event->has |= XF_HAS_ARG2;
		event->count *= more + 1;
	}
	if (slot->layout->role == XF_ROLE_SUBCALL)
		pcpu->multicall_done += more + 1;
	else if (event->kind != XF_MULTICALL)
		pcpu->multicall_done = 0;
}

static int add_loss(struct xf_pcpu *pcpu, struct xf_stream *stream, const struct xf_record *record,
	struct xf_event *event, struct xf_error *err)
{
	struct xf_loss loss = {.pcpu = pcpu->id, .lost = event->count};

	if (record->timed || pcpu->timed)
		loss.tsc_last = pcpu->tsc;
	pcpu->after_loss = (struct xf_owner){0};
	if (stream->format == XF_STREAM_VARIABLE && record->nwords == 4) {
		loss.tsc_first = record->words[2] | (uint64_t)record->words[3] << 32;
		event->arg1 = loss.tsc_first;
		event->has |= XF_HAS_ARG1;
		loss.has_owner = true;
		loss.domid = (uint16_t)record->words[1];
		loss.vcpu = (uint16_t)(record->words[1] >> 16);
		pcpu->after_loss = (struct xf_owner){true, loss.domid, loss.vcpu};
		if (loss.tsc_first >= loss.tsc_last)
			xf_doubt_add(stream->doubts, XF_DOUBT_LOSS_TIME, 1, pcpu->tsc,
				pcpu->head->offset + pcpu->at);
	}
	if (!loss.lost)
		xf_doubt_add(stream->doubts, XF_DOUBT_LOSS_EMPTY, 1, pcpu->tsc,
			pcpu->head->offset + pcpu->at);
	if (stream->nlosses == stream->losses_room) {
		size_t room = stream->losses_room ? 2 * stream->losses_room : 64;
		struct xf_loss *more = realloc(stream->losses, room * sizeof(*more));

		if (!more)
			return xf_fail_nomem(err);
		stream->losses = more;
		stream->losses_room = room;
	}
	loss.tsc_first -= loss.tsc_first ? stream->tsc_base : 0;
	loss.tsc_last -= loss.tsc_last ? stream->tsc_base : 0;
	stream->losses[stream->nlosses++] = loss;
	stream->lost_records += loss.lost;
	if (loss.has_owner) {
		event->domid = loss.domid;
		event->vcpu = loss.vcpu;
		event->has |= XF_HAS_OWNER;
	}
	pcpu->lost_records += loss.lost;
	xf_owner_missing(pcpu, stream, loss.tsc_first ? loss.tsc_first : pcpu->key, pcpu->key);
	pcpu->outgoing.known = false;
	xf_nested_over(pcpu);
	xf_owner_forget(pcpu, pcpu->after_loss);
	return 0;
}

/* What is recorded late of an exit is merged by the time of the exit. */
static uint64_t key_of(const struct xf_pcpu *pcpu, const struct xf_event *event)
{
	bool exit = event->kind == XF_NPF || event->kind == XF_RECALC;

	return exit && pcpu->exit.open ? pcpu->exit.key : pcpu->key;
}

/* Joins the record with the one before it that told of the same happening. */
static bool complete_pending(struct xf_pcpu *pcpu, const struct xf_record *record,
	enum xf_role role, struct xf_event *event)
{
	struct xf_event *before = &pcpu->pending;
	enum xf_role wanted = before->kind == XF_NOT_SHADOW ? XF_ROLE_INJECT : XF_ROLE_PV_FIXUP;

	if (before->kind == XF_NPF) {
		if (role != XF_ROLE_VMENTRY)
			return false;
		*event = xf_nested_entered(pcpu, record);
		return true;
	}
	if (role != wanted || event->va != before->va)
		return false;
	if (before->has & XF_HAS_PTE && before->pte) {
		event->pte = before->pte;
		event->has |= XF_HAS_PTE;
	}
	if (before->has & XF_HAS_FRAME && before->kind != XF_NOT_SHADOW) {
		event->frame = before->frame;
		event->has |= XF_HAS_FRAME;
	}
	event->arg1 = before->arg1;
	event->has |= before->has & XF_HAS_ARG1;
	if (before->kind == XF_UNHOOK)
		event->kind = XF_UNHOOK;
	pcpu->has_pending = false;
	return true;
}

/*
 * Fills owner and times of an event: 1, 0 = more must be seen, 2 = pcpu->event comes before it, negative.
 */
static int place_event(struct xf_pcpu *pcpu, struct xf_stream *stream,
	const struct xf_record *record, size_t length, struct xf_event *event, struct xf_error *err)
{
	int code;

	event->pcpu = pcpu->id;
	if (pcpu->unsettled && event->kind != XF_LOST) {
		code = xf_owner_settle(pcpu, stream, err);
		if (code != 1)
			return code;
		code = xf_owner_end_pause(pcpu, stream, pcpu->owner, err);
		if (code)
			return code < 0 ? code : 2;
	}
	if (record->timed) {
		event->tsc = record->tsc;
		event->has |= XF_HAS_TSC;
	} else {
		code = time_untimed(pcpu, stream, length, event, err);
		if (code != 1)
			return code;
	}
	if (pcpu->owner.known && !(event->has & XF_HAS_OWNER)) {
		event->domid = pcpu->owner.domid;
		event->vcpu = pcpu->owner.vcpu;
		event->has |= XF_HAS_OWNER;
	}
	if (pcpu->has_rip && !(event->has & XF_HAS_RIP) && event->kind != XF_LOST) {
		event->rip = pcpu->rip;
		event->has |= XF_HAS_RIP;
	}
	return 1;
}

static void note_vmexit(struct xf_pcpu *pcpu, struct xf_stream *stream,
	const struct xf_record *record, const struct xf_layout *layout)
{
	struct xf_event event = {0};

	xf_record_decode(layout, record, &event);
	pcpu->has_rip = true;
	pcpu->rip = event.rip;
	xf_nested_exit(pcpu, stream, record, &event);
}

static bool in_xen(const struct xf_event *event)
{
	return event->has & XF_HAS_RIP && event->rip >= XEN_FIRST && event->rip <= XEN_LAST;
}

static bool shadowed(const struct xf_stream *stream, const struct xf_owner *owner)
{
	return owner->known && owner->domid < 0x8000 &&
	       stream->shadowed[owner->domid / 8] >> owner->domid % 8 & 1;
}

/*
 * In a context switch Xen writes to the memory of the outgoing and of the incoming guest when the incoming
 * vCPU is current already.  Such a fixup is the outgoing one's if only that one is known to run on shadows.
 */
static void whose_fixup(struct xf_pcpu *pcpu, struct xf_stream *stream,
	const struct xf_record *record, enum xf_role role, struct xf_event *event)
{
	if (role != XF_ROLE_SHADOW_FIXUP && role != XF_ROLE_PV_FIXUP && role != XF_ROLE_WRAP &&
		record->id >> 16 != 0x002 && !xf_record_is_point(record->id))
		pcpu->outgoing.known = false;
	if (role != XF_ROLE_PV_FIXUP)
		return;
	if (!in_xen(event)) {
		pcpu->outgoing.known = false;
		if (pcpu->owner.known && pcpu->owner.domid < 0x8000)
			stream->shadowed[pcpu->owner.domid / 8] |=
				(uint8_t)(1 << pcpu->owner.domid % 8);
	} else if (shadowed(stream, &pcpu->outgoing) && !shadowed(stream, &pcpu->owner)) {
		event->domid = pcpu->outgoing.domid;
		event->vcpu = pcpu->outgoing.vcpu;
		event->has |= XF_HAS_OWNER;
	}
}

/* What a fixup's flags make of it. */
static void shadow_fixup(struct xf_event *event)
{
	/* bit 18: the page just written to went out of sync, which is the unhook of today */
	if (event->arg1 >> 18 & 1)
		event->kind = XF_UNHOOK;
}

enum step { STEP_ON, STEP_EVENT, STEP_BLOCKED };

/*
 * One record.  STEP_EVENT: pcpu->event is set (the record may still be there, when an earlier one
 * had to come out first).
 */
static int step(struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_error *err)
{
	struct xf_place place = {pcpu->head, pcpu->at};
	struct xf_event event;
	struct xf_record record;
	struct xf_record_slot *slot;
	const struct xf_layout *layout;
	size_t length;
	bool recalc;
	int code = xf_pcpu_read_at(pcpu, stream, &place, &record, &length, err);

	xf_event_clear(&event);
	if (code < 0)
		return code;
	/* also where it steps back: the difference is without a sign */
	if (record.timed && record.tsc - pcpu->tsc >= XF_SILENCE &&
		xf_owner_pauses(pcpu, &record)) {
		code = xf_owner_pause(pcpu, stream, &record, length, err);
		if (code)
			return code;
	}
	slot = xf_record_slot(stream->table, record.id, record.nwords);
	layout = slot->layout;
	if (pcpu->pause.open) {
		code = xf_owner_scheduled(pcpu, stream, layout, &record, err);
		if (code)
			return code < 0 ? code : STEP_EVENT;
	}
	recalc = xf_nested_recalc(pcpu, layout);
	if (recalc || (layout && layout->kind)) {
		if (!recalc)
			xf_record_decode(layout, &record, &event);
		code = place_event(pcpu, stream, &record, length, &event, err);
		if (code < 0)
			return code;
		if (code != 1)
			return code ? STEP_EVENT : STEP_BLOCKED;
	}
	if (recalc)
		xf_nested_fill_recalc(pcpu, &record, layout->role == XF_ROLE_VMENTRY, &event);
	if (pcpu->has_pending && !(layout && layout->role == XF_ROLE_WRAP) &&
		!xf_nested_waits(pcpu, layout) &&
		!(layout && complete_pending(pcpu, &record, (enum xf_role)layout->role, &event))) {
		pcpu->event_key = key_of(pcpu, &pcpu->pending);
		finish_pending(pcpu, stream);
		return STEP_EVENT;
	}
	slot->records++;
	stream->records++;
	pcpu->records++;
	if (record.timed && (code = clock_record(pcpu, stream, record.tsc, length, err)))
		return code;
	pcpu->event_key = key_of(pcpu, &event);
	whose_fixup(
		pcpu, stream, &record, layout ? (enum xf_role)layout->role : XF_ROLE_NONE, &event);
	if (!layout) {
		pcpu->at += length;
		return STEP_ON;
	}
	/* Xen flushes whoever runs */
	if (record.id >> 16 == XF_CLASS_PV && !xf_record_is_point(record.id))
		pv_domain(stream, &pcpu->owner);
	switch (layout->role) {
	case XF_ROLE_LOST:
		code = add_loss(pcpu, stream, &record, &event, err);
		if (code)
			return code;
		break;
	case XF_ROLE_VMEXIT:
		note_vmexit(pcpu, stream, &record, layout);
		break;
	case XF_ROLE_VMENTRY:
		pcpu->has_rip = false;
		xf_nested_over(pcpu);
		break;
	case XF_ROLE_P2M:
		xf_nested_p2m(pcpu, stream, &event);
		break;
	case XF_ROLE_NPF:
		xf_nested_fault(pcpu, stream, &event);
		pcpu->pending = event;
		pcpu->has_pending = true;
		pcpu->at += length;
		return STEP_ON;
	case XF_ROLE_SHADOW_FIXUP:
		shadow_fixup(&event);
		/* fall through */
	case XF_ROLE_GUEST_FAULT:
		pcpu->pending = event;
		pcpu->has_pending = true;
		pcpu->at += length;
		return STEP_ON;
	case XF_ROLE_HYPERCALL:
	case XF_ROLE_HYPERCALL_OLD:
	case XF_ROLE_SUBCALL:
		pcpu->at += length;
		hypercall(pcpu, stream, slot, &record, &event, err);
		pcpu->event = event;
		return STEP_EVENT;
	case XF_ROLE_NONE:
		break;
	default:
		xf_owner_schedule(pcpu, stream, layout, &record);
	}
	pcpu->at += length;
	if (!event.kind)
		return STEP_ON;
	pcpu->event = event;
	return STEP_EVENT;
}

int xf_pcpu_advance(struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_error *err)
{
	for (;;) {
		int code;

		trim(pcpu, stream);
		if (!pcpu->head) {
			pcpu->state = XF_PCPU_EMPTY;
			if (!pcpu->has_pending)
				return 0;
			pcpu->event_key = key_of(pcpu, &pcpu->pending);
			pcpu->state =
				xf_pcpu_may_wait(pcpu, stream) ? XF_PCPU_BLOCKED : XF_PCPU_READY;
			if (pcpu->state == XF_PCPU_READY) {
				pcpu->holding = false;
				finish_pending(pcpu, stream);
			}
			return 0;
		}
		code = step(pcpu, stream, err);
		if (code < 0)
			return code;
		if (code == STEP_ON)
			continue;
		pcpu->state = code == STEP_EVENT ? XF_PCPU_READY : XF_PCPU_BLOCKED;
		if (code == STEP_BLOCKED)
			pcpu->event_key = pcpu->key;
		return 0;
	}
}
