/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One physical CPU's stream: its records in their own order become events with time and owner.
 * In: chunks.  Out: at most one prepared event at a time, for the merge.
 */
#ifndef XF_COLLECTOR_TRACE_PCPU_H
#define XF_COLLECTOR_TRACE_PCPU_H

#include "collector/trace/clock.h"
#include "collector/trace/framer.h"
#include "collector/trace/reader.h"

/* What all pCPUs of a stream share. */
struct xf_stream {
	struct xf_framer *framer;
	enum xf_stream_format format;
	struct xf_record_table *table;
	struct xf_doubt doubts[XF_DOUBT_COUNT];
	struct xf_loss *losses;
	size_t nlosses, losses_room;
	uint64_t records, lost_records;
	uint64_t tsc_first, tsc_last;
	uint64_t pass; /* of the chunk read last */
	struct xf_clocks clocks;
	struct xf_gap *gaps;
	size_t ngaps, gaps_room;
	uint64_t tsc_base;	/* taken off every TSC that goes out */
	bool based;		/* it is decided */
	unsigned parts;		/* captures that were put behind the first one, and started anew */
	bool end;		/* no more chunks will come */
	bool scheduled;		/* a scheduler record was seen */
	bool give_up;		/* waiting for one was in vain once: do not wait again */
	uint8_t pv[0x8000 / 8]; /* domains with PV records, one bit each */
	uint8_t shadowed[0x8000 / 8]; /* PV domains with fixups of their own instructions */
	bool pv_unowned;	      /* PV records whose domain is unknown */
	bool svm;		      /* exit reasons are those of AMD */
	bool has_p2m;		      /* p2m records were seen */
};

enum xf_pcpu_state {
	XF_PCPU_EMPTY,	 /* nothing is waiting */
	XF_PCPU_READY,	 /* event is the next one */
	XF_PCPU_BLOCKED, /* more of this pCPU's stream must be seen to decide about the next event */
};

struct xf_owner {
	bool known;
	uint16_t domid, vcpu;
};

/* A long time in which a pCPU wrote nothing. */
struct xf_silence {
	uint64_t first, last;	/* TSC of the records around it; first 0 = there was none */
	struct xf_owner before; /* who ran there when it began */
	bool open;		/* it is not known yet whether it is that one still */
	bool told;		/* an event says that records are missing */
};

/* A place in the stream of a pCPU. */
struct xf_place {
	struct xf_chunk *chunk;
	size_t at;
};

/* The VMEXIT that a pCPU is in: nested.c. */
struct xf_exit {
	bool open, timed;
	bool p2m;	/* its reason is the p2m: a nested page fault, or a recalculation */
	bool faulted;	/* a nested page fault was recorded in it */
	bool set;	/* an entry was made writable memory: that of set_gfn */
	bool populated; /* memory was given on demand */
	uint32_t raw_id;
	uint64_t tsc, key, set_gfn;
};

struct xf_pcpu {
	uint32_t id;
	struct xf_chunk *head, *tail;
	size_t at; /* in head */
	bool timed;
	uint64_t tsc; /* of the last timed record, as recorded */
	uint64_t key; /* the same with jumps and steps back smoothed: the order of the merge */
	struct xf_owner owner;
	struct xf_owner switched_from; /* by SWITCH, its runstate record still to come */
	bool unsettled;		       /* owner unknown since the start or a loss: look ahead */
	struct xf_owner after_loss;    /* whom the lost-records record names */
	bool holding;
	uint64_t hold_pass; /* when the wait began */
	bool has_rip;
	uint64_t rip; /* of the VMEXIT this pCPU is in */
	struct xf_exit exit;
	struct xf_owner outgoing; /* by SWITCH, until the vCPU that came has a record */
	bool has_pending;
	struct xf_event pending; /* a fault or shadow fixup that the next record may complete */
	uint32_t multicall_calls, multicall_done; /* the last multicall, and its sub-calls so far */
	/* how far ahead was looked already, so that no record is looked at twice; chunk NULL = not */
	struct xf_place owner_ahead; /* for who runs here */
	struct xf_place timed_ahead; /* for the next TSC */
	bool next_known;
	uint64_t next_tsc; /* of the next timed record */
	struct xf_clock_list *clock;
	uint64_t tsc_first; /* cycles, as recorded */
	uint64_t read_tsc;  /* latest of the chunks that were read */
	uint64_t last_part; /* latest TSC of the captures before, 0 = there were none */
	uint64_t records, lost_records;
	bool scheduled;		 /* a scheduler record was seen here */
	bool began_idle;	 /* by the first one, nothing ran here before */
	struct xf_silence pause; /* the last time without records */
	enum xf_pcpu_state state;
	struct xf_event event;
	uint64_t event_key;
	size_t merge_at; /* place in the heap of merge.c, from 1; 0 = not in it */
};

/*
 * Silence of so many cycles, most of a second on any machine, is looked at.  A busy guest can be silent for
 * seconds; that a pCPU begins or ends so much (XF_LATE) before the others though it is busy is none of that.
 */
#define XF_SILENCE (1ull << 28)
#define XF_LATE	   (1ull << 33)

/* Notes a gap of the pCPU; returns 0 or a negative code. */
int xf_pcpu_gap(struct xf_stream *stream, const struct xf_pcpu *pcpu, uint64_t first, uint64_t last,
	const char *why, struct xf_error *err);

/* The event that says that what was before on this pCPU cannot be joined to what follows. */
void xf_pcpu_gap_event(
	const struct xf_pcpu *pcpu, uint64_t first, uint64_t last, struct xf_event *event);

/* The capture ends here, and another follows: nothing is carried over.  Returns its last TSC. */
uint64_t xf_pcpu_end_part(struct xf_pcpu *pcpu);

/* The latest TSC so far. */
uint64_t xf_pcpu_last(const struct xf_pcpu *pcpu);

/* Appends a chunk; the pCPU owns it. */
void xf_pcpu_add(struct xf_pcpu *pcpu, struct xf_chunk *chunk);

/*
 * Goes on to the next event and sets state, event and event_key (a lower bound when blocked).
 * Returns 0 or a negative code.
 */
int xf_pcpu_advance(struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_error *err);

void xf_pcpu_free(struct xf_pcpu *pcpu, struct xf_stream *stream);

#endif
