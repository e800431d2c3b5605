/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clocks of the pCPUs.  In: what the scheduler records say of each vCPU, in the order of each pCPU's own
 * stream.  Out: by how much each clock is before or behind the others', as far as the records prove it.
 *
 * A vCPU's states follow each other: it is woken before it runs, it leaves a pCPU before it arrives at
 * another.  Each such step from one pCPU to another bounds the difference of their clocks from one
 * side, those in the other direction from the other.  Passes of the reader of the trace buffers bound
 * it too, more widely.
 */
#ifndef XF_COLLECTOR_TRACE_CLOCK_H
#define XF_COLLECTOR_TRACE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* States of a vCPU, as runstate records number them. */
enum xf_vcpu_state {
	XF_VCPU_RUNNING,
	XF_VCPU_RUNNABLE,
	XF_VCPU_BLOCKED,
	XF_VCPU_OFFLINE,
	XF_VCPU_STOPPED, /* not running: records of a switch do not say more */
};

/* The most that is kept of one stream; of a longer one only parts, spread over it. */
#define XF_CLOCK_STEPS (1u << 18)

struct xf_clock_step {
	uint64_t tsc;	       /* cycles, as recorded */
	uint32_t vcpu;	       /* domid << 16 | vcpu; XF_CLOCK_LOSS: records are missing */
	uint32_t pass : 24;    /* of the reader of the buffers */
	uint32_t from : 3;     /* enum xf_vcpu_state */
	uint32_t to : 3;       /* of a loss: 0 it begins, 1 it ends */
	uint32_t switched : 1; /* from a record of a switch, not of a runstate */
};

#define XF_CLOCK_LOSS UINT32_MAX

/* What is known of one pCPU's clock: its TSC - offset - drift * (TSC - origin) is the others' time. */
struct xf_clock_model {
	int64_t offset;	    /* cycles, at origin */
	double drift;	    /* cycles per cycle */
	uint64_t origin;    /* TSC, as recorded */
	int64_t low, high;  /* bounds of the offset: XF_CLOCK_NONE where there is none */
	bool reference;	    /* the others are compared with it */
	bool proven;	    /* zero is outside of the bounds */
	bool tight;	    /* the bounds say enough to correct it without being asked */
	bool unseen_before; /* vCPUs show that records from before its first one are missing */
	bool unseen_after;  /* or from behind its last one */
	uint64_t wrong;	    /* steps that contradict each other without a correction */
};

#define XF_CLOCK_NONE INT64_MIN

/* A time without records of a pCPU, which may be idle then. */
struct xf_clock_silence {
	uint64_t first, last; /* TSCs of the records around it, as recorded */
	bool missing;	      /* steps of vCPUs are missing just then: so are records */
	bool everywhere;      /* no pCPU has any then */
};

#define XF_CLOCK_SILENCES 64 /* the longest ones are kept */
#define XF_CLOCK_SILENT \
	(1u << 28) /* cycles, a tenth of a second or so: shorter ones do not count */

/* The steps of one pCPU. */
struct xf_clock_list {
	uint32_t pcpu;
	uint64_t first, last; /* TSCs of its first and last record, as recorded; 0 = it has none */
	struct xf_clock_silence silences[XF_CLOCK_SILENCES];
	size_t nsilences;
	struct xf_clock_step *steps;
	size_t n, room;
	struct xf_clock_model model;
};

struct xf_clocks {
	struct xf_clock_list **lists; /* by the caller's order */
	size_t nlists, room;
	size_t steps;
	uint64_t stride; /* keep one pass of so many, 0 = all */
	bool runstates;	 /* there are runstate records: they say more than switches */
	bool failed;	 /* out of memory: nothing is known */
	uint64_t breaks; /* states that do not follow each other, with the models' corrections */
};

/* The list of a pCPU, made when it is new; NULL = out of memory. */
struct xf_clock_list *xf_clock_list(struct xf_clocks *clocks, uint32_t pcpu);

/* One more step of a vCPU, in the order of its pCPU's stream. */
void xf_clock_add(
	struct xf_clocks *clocks, struct xf_clock_list *list, const struct xf_clock_step *step);

/* A time without records between two TSCs of a pCPU. */
void xf_clock_silent(struct xf_clock_list *list, uint64_t first, uint64_t last);

/* Fills the model of each list, and says which silences have missing records. */
void xf_clock_solve(struct xf_clocks *clocks);

/* A pCPU's TSC on the others' clock. */
uint64_t xf_clock_correct(const struct xf_clock_model *model, uint64_t tsc);

void xf_clock_free(struct xf_clocks *clocks);

#endif
