/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What pcpu.c and owner.c, the two halves of one pCPU's stream, have of each other.
 * Private to them.
 */
#ifndef XF_COLLECTOR_TRACE_OWNER_H
#define XF_COLLECTOR_TRACE_OWNER_H

#include "collector/trace/pcpu.h"

#define XF_JUMP (1ull << 36) /* cycles; half a minute */

/* pcpu.c: the record at a place: 1, 0 = none there (yet), negative. */
int xf_pcpu_read_at(struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_place *place,
	struct xf_record *record, size_t *length, struct xf_error *err);

/* Goes on where an earlier look ahead ended, or else begins in the first chunk. */
void xf_pcpu_look_ahead(struct xf_pcpu *pcpu, struct xf_place *ahead, size_t at);

/* May it still help to wait for more of this pCPU's stream? */
bool xf_pcpu_may_wait(struct xf_pcpu *pcpu, const struct xf_stream *stream);

/* The TSC of the next timed record from a place on: 1, 0 = none in sight, negative. */
int xf_pcpu_next_timed(struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_place *place,
	uint64_t *tsc, struct xf_error *err);

/* owner.c: settles who owns the records from here on: 1, 0 = more must be seen, negative. */
int xf_owner_settle(struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_error *err);

/* Follows a scheduler record. */
void xf_owner_schedule(struct xf_pcpu *pcpu, struct xf_stream *stream,
	const struct xf_layout *layout, const struct xf_record *record);

bool xf_owner_same(struct xf_owner a, struct xf_owner b);

/* Nothing is carried over missing records; fallback: who runs then, if no record will say it. */
void xf_owner_forget(struct xf_pcpu *pcpu, struct xf_owner fallback);

/* Records are missing from first to last: what was before tells nothing of what is behind. */
void xf_owner_missing(
	struct xf_pcpu *pcpu, struct xf_stream *stream, uint64_t first, uint64_t last);

/* Is there a long silence before the record that was not looked at yet? */
bool xf_owner_pauses(const struct xf_pcpu *pcpu, const struct xf_record *record);

/* Begins to look at it: who runs is settled anew. */
int xf_owner_pause(struct xf_pcpu *pcpu, struct xf_stream *stream, const struct xf_record *record,
	size_t length, struct xf_error *err);

/* Who ran at its end: 1 = another than at its beginning, pcpu->event says so. */
int xf_owner_end_pause(
	struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_owner ran, struct xf_error *err);

/* The same, by a scheduler record that says who ran before it. */
int xf_owner_scheduled(struct xf_pcpu *pcpu, struct xf_stream *stream,
	const struct xf_layout *layout, const struct xf_record *record, struct xf_error *err);

#endif
