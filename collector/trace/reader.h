/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader: a trace in any format becomes events in time order, each with its domain and vCPU.
 * In: a byte source.  Out: events one by one, then losses, doubts and counts.
 * Memory is bounded whatever the size of the trace; a pipe gives the same events as a file.
 */
#ifndef XF_COLLECTOR_TRACE_READER_H
#define XF_COLLECTOR_TRACE_READER_H

#include "collector/trace/clock.h"
#include "collector/trace/doubt.h"
#include "collector/trace/record.h"
#include "collector/trace/source.h"

struct xf_reader;

/* What a record of lost records says (LOST_RECORDS; Xen 3.4 on knows the first TSC and the vCPU). */
struct xf_loss {
	uint32_t pcpu;
	uint64_t tsc_first, tsc_last; /* cycles; 0 = unknown */
	uint64_t lost;		      /* records */
	bool has_owner;
	uint16_t domid, vcpu;
};

/* A span without records on a pCPU, of which the records around it say that there should be some. */
struct xf_gap {
	uint32_t pcpu;
	uint64_t tsc_first, tsc_last; /* cycles */
	const char *why;	      /* start, middle, end, seam */
};

/* A pCPU that has records. */
struct xf_reader_pcpu {
	uint32_t pcpu;
	uint64_t tsc_first, tsc_last; /* cycles, 0 = no timed record */
	uint64_t records, lost_records;
	struct xf_clock_model clock; /* known at the end of the stream; origin as TSCs here */
};

struct xf_reader_stats {
	enum xf_stream_format format;
	uint64_t records; /* without window headers */
	uint64_t events;
	uint64_t lost_records;
	uint64_t unknown_records;
	uint64_t tsc_first, tsc_last; /* cycles, 0 = no timed record */
	uint64_t tsc_base; /* was taken off every TSC: one past 2^63 would be negative in SQL */
	bool complete;
};

/* Takes the source over, also when it fails.  Returns 0, or -XF_FORMAT with the reason. */
int xf_reader_open(struct xf_reader **reader, struct xf_source *source, struct xf_error *err);

/*
 * The next event, in the order of the merged pCPUs.  Returns 1, 0 at the end, XF_AGAIN when a live
 * source has nothing that is final yet (or a signal arrived), or a negative code.
 */
int xf_reader_next(struct xf_reader *reader, struct xf_event *event, struct xf_error *err);

/*
 * For a live source that has been quiet for several polls: what was read is final, although no later
 * pass has proved it.  Events that arrive before these in time are counted as late.
 */
void xf_reader_settle(struct xf_reader *reader);

/* Ends the stream here: what was read comes out, the capture is marked as interrupted. */
void xf_reader_interrupt(struct xf_reader *reader);

/* Counts so far; whole after xf_reader_next() returned 0. */
void xf_reader_stats(const struct xf_reader *reader, struct xf_reader_stats *stats);

/* Loss number i, oldest first; NULL = no more. */
const struct xf_loss *xf_reader_loss(const struct xf_reader *reader, size_t i);

/* Gap number i; NULL = no more. */
const struct xf_gap *xf_reader_gap(const struct xf_reader *reader, size_t i);

/* pCPU number i, in the order in which they were seen; false = no more. */
bool xf_reader_pcpu(const struct xf_reader *reader, size_t i, struct xf_reader_pcpu *pcpu);

/* XF_DOUBT_COUNT counters. */
const struct xf_doubt *xf_reader_doubts(struct xf_reader *reader);

/* Records by id. */
const struct xf_record_table *xf_reader_records(const struct xf_reader *reader);

/* Progress: bytes read, and of how many (0 = unknown). */
uint64_t xf_reader_offset(const struct xf_reader *reader);
uint64_t xf_reader_size(const struct xf_reader *reader);

/* True where XF_AGAIN means that the source may stay quiet for long. */
bool xf_reader_live(const struct xf_reader *reader);

void xf_reader_close(struct xf_reader *reader);

#endif
