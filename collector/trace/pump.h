/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reader in a thread of its own, so that decoding goes on while events are stored or printed.
 * In: a reader, which only the pump may use meanwhile.  Out: its events in the same order.
 */
#ifndef XF_COLLECTOR_TRACE_PUMP_H
#define XF_COLLECTOR_TRACE_PUMP_H

#include "collector/trace/reader.h"

struct xf_pump;

/* Starts the thread.  The reader stays the caller's. */
int xf_pump_start(struct xf_pump **pump, struct xf_reader *reader, struct xf_error *err);

/*
 * The next event: 1, 0 = end, XF_AGAIN = the source is quiet, ask again (or interrupt), negative = the
 * reader's failure.
 */
int xf_pump_next(struct xf_pump *pump, struct xf_event *event, struct xf_error *err);

/*
 * The same for many: *events are the next *n ones (at least one), which stay until the next call.
 */
int xf_pump_batch(
	struct xf_pump *pump, const struct xf_event **events, size_t *n, struct xf_error *err);

/*
 * Between these two the thread leaves the reader alone: the caller may ask it, or settle it.  It may be
 * ahead of the events handed over by a few thousand.
 */
void xf_pump_hold(struct xf_pump *pump);
void xf_pump_release(struct xf_pump *pump);

/* The reader ends where it is (xf_reader_interrupt()); what it has read still comes out. */
void xf_pump_interrupt(struct xf_pump *pump);

/* TSC of the first record (xf_reader_stats); after the first xf_pump_next(). */
uint64_t xf_pump_tsc_first(struct xf_pump *pump);

/* Bytes read so far. */
uint64_t xf_pump_offset(struct xf_pump *pump);

/* Ends the thread and frees; the reader can be used again.  NULL is fine. */
void xf_pump_stop(struct xf_pump *pump);

#endif
