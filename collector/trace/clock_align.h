/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fit of pCPUs' clocks to each other.  Private to clock*.c. */
#ifndef XF_COLLECTOR_TRACE_CLOCK_ALIGN_H
#define XF_COLLECTOR_TRACE_CLOCK_ALIGN_H

#include "collector/trace/clock.h"

#define XF_CLOCK_WORK (1u << 28) /* steps that may be looked at for all of it: a few seconds */
#define XF_CLOCK_HELD 8		 /* steps of a vCPU that are held back at the most */

struct xf_clock_merged {
	int64_t t; /* cycles since a common origin */
	uint32_t vcpu, pass, list;
	uint8_t from, to;
	bool fresh; /* of a stream of which parts were kept: steps are left out before it */
};

/* A state that does not follow from the one before it: a step between these times is missing, or in a wrong place. */
struct xf_clock_break {
	int64_t first, last; /* on the common clock */
};

struct xf_clock_breaks {
	struct xf_clock_break *breaks;
	size_t n, room;
	bool failed;
};

struct xf_clock_side {
	struct xf_clock_merged *steps;
	size_t n;
};

/* shift <= bound (upper) or >= bound, at time t of the shifted side */
struct xf_clock_bound {
	int64_t t, bound;
	bool upper;
};

struct xf_clock_bounds {
	struct xf_clock_bound *bounds;
	size_t n, room;
	bool failed;
};

/* What a vCPU did last, in the merged order. */
struct xf_clock_chain {
	bool known;
	uint8_t state;
	unsigned nheld;
	uint32_t list;
	int64_t t, merged; /* as recorded by its pCPU; on the common clock */
	const struct xf_clock_merged *held[XF_CLOCK_HELD];
};

struct xf_clock_line {
	int64_t a; /* shift at time 0 */
	double b;  /* per cycle */
};

/* What the merged order says of one pCPU against all others. */
struct xf_clock_against {
	int64_t low, high; /* bounds of a further shift; NONE, INT64_MAX = none */
	uint64_t overlaps; /* a vCPU runs here and elsewhere at once */
	uint64_t blame;	   /* contradictions that one of its steps has a part in */
};

struct xf_clock_fit {
	struct xf_clock_side fixed, shifted;
	uint32_t list; /* that is shifted */
	const struct xf_clock_line *line;
	struct xf_clock_chain *chains;
	size_t nvcpus;
	struct xf_clock_bounds *bounds;	  /* of the current merge, NULL = not wanted */
	struct xf_clock_against *against; /* likewise, by list */
	size_t nagainst;
	struct xf_clock_breaks *found; /* breaks of the current merge, NULL = only counted */
	uint64_t overlaps, breaks;     /* a vCPU runs on two pCPUs; states that do not fit */
	uint64_t crossings;	       /* steps that fit, from one pCPU to another */
	uint64_t work;		       /* steps looked at so far */
};

/* The course of a fit of many. */
struct xf_clock_group {
	struct xf_clock_list **lists;
	size_t n;
	bool runstates;
	uint64_t origin; /* TSC that is time 0 */
	struct xf_clock_side *sides;
	struct xf_clock_line *lines;
	struct xf_clock_against *against;
	struct xf_clock_breaks breaks; /* by the lines as they are */
	struct xf_clock_fit f;
};

/*
 * Cycles from a common origin to a TSC.  Damage can make up any: beyond 2^60, which takes a machine years,
 * one is as good as another, and differences and shifts of what is nearer fit into 64 bits.
 */
int64_t xf_clock_time(uint64_t tsc, uint64_t origin);

/* The shift of a line at a time. */
int64_t xf_clock_shift_at(const struct xf_clock_line *line, int64_t t);

/* Merges n steps of the shifted side with those of the fixed one of the same time. */
void xf_clock_merge(struct xf_clock_fit *f, const struct xf_clock_line *line, size_t n,
	struct xf_clock_bounds *bounds);

/* How wrong the last merge was. */
uint64_t xf_clock_badness(const struct xf_clock_fit *f);

#define XF_CLOCK_STEEPEST 1e-3 /* the most that clocks drift */

/* Bounds of a line's shift at time 0, for its slope; false where they contradict each other. */
bool xf_clock_range(
	const struct xf_clock_bounds *bounds, double slope, int64_t *low, int64_t *high);

/* The line that lies best between all bounds: a constant shift if one will do, none if none is needed. */
struct xf_clock_line xf_clock_best_line(
	const struct xf_clock_bounds *bounds, int64_t *low, int64_t *high);

/* A first shift, by n steps; the line that fits best.  False: out of memory. */
bool xf_clock_first_shift(struct xf_clock_fit *f, size_t n, struct xf_clock_line *line);
bool xf_clock_fit_one(struct xf_clock_fit *f, struct xf_clock_line *line);

/* Bounds by passes: what was read some passes later was written later.  Do they allow no shift? */
bool xf_clock_bound_by_passes(const struct xf_clock_fit *f, struct xf_clock_bounds *b);
bool xf_clock_allows_zero(const struct xf_clock_bounds *b);

/* Are steps between those of two passes left out, because the stream is long? */
bool xf_clock_left_out(const struct xf_clocks *clocks, uint32_t pass, uint32_t next);

/*
 * Finds gaps, fits each clock to the others where they do not explain everything, fills the models and the
 * count of breaks.  False: out of memory.
 */
bool xf_clock_align(struct xf_clocks *clocks);

/*
 * Marks the silences in which records are missing (and in the models those at begin and end), if few of them
 * explain nearly all breaks.  *unexplained: breaks that are left.  False: out of memory.
 */
bool xf_clock_find_gaps(
	struct xf_clock_group *g, const struct xf_clock_breaks *breaks, size_t *unexplained);

#endif
