/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each mechanism would have cost: the forks of a capture, priced with unit costs.
 * In: entries changed per page-table page, fork by fork; unit costs measured on a capture, fitted to
 * a profile's published points, or given.  Out: totals, break-even.  docs/why.md tells the model.
 */
#ifndef XF_ANALYZER_COST_POLICY_H
#define XF_ANALYZER_COST_POLICY_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cpulist.h"
#include "common/error.h"

/* X(enum, name, is it a time, what it is) */
#define XF_POLICY_UNITS(X)                                             \
	X(EMULATE, "emulate", true, "a PTE write, emulated")           \
	X(PAGE, "page", true, "unhook and rehook of a page")           \
	X(ENTRY, "entry", true, "an entry of an unhooked page")        \
	X(EXPONENT, "exponent", false, "entries count to this power")  \
	X(UNHOOKS, "unhooks", false, "unhooks of a page in a fork")    \
	X(FLUSH, "flush", true, "a flush, for each further CPU")       \
	X(CALL, "call", true, "a hypercall that changes PTEs")         \
	X(BATCHED, "batched", true, "an entry in it")                  \
	X(READONLY, "readonly", true, "a hypercall protecting a page") \
	X(STEP, "step", true, "guest's own way to the next page")      \
	X(OTHER, "other", true, "rest of a fork, for each PTE")

enum xf_unit {
#define X(id, name, time, what) XF_UNIT_##id,
	XF_POLICY_UNITS(X)
#undef X
		XF_UNITS
};

struct xf_unit_info {
	const char *name;
	bool time;
	const char *what;
};

extern const struct xf_unit_info xf_unit_info[XF_UNITS];

/* Is a number the thing itself, a limit of it, or that of something like it? */
enum xf_bound { XF_EXACT, XF_AT_LEAST, XF_AT_MOST, XF_ABOUT };

struct xf_unit_cost {
	bool known, given; /* given by the user: stands above what forks show themselves */
	enum xf_bound bound;
	double value, spread; /* standard deviation of the samples, or standard error of a fit */
	uint64_t samples;     /* 0 = none */
	char how[120];	      /* where it comes from, or why it is unknown */
};

/* All times in the same unit: cycles or microseconds. */
struct xf_units {
	struct xf_unit_cost cost[XF_UNITS];
	unsigned cpus; /* that a flush hits where `page` was measured; 0 = not said, taken for 1 */
};

struct xf_bin {
	unsigned ptes; /* changed in one page-table page */
	uint64_t pages;
};

struct xf_policy_fork {
	int64_t id, domid, vcpu, first_event, last_event;
	double cycles; /* first to last record */
	uint64_t pages, ptes, unhooks, unhooked_pages, emulations;
	size_t first_bin, nbins;
	double emulate;	   /* its own mean time of an emulated write, cycles */
	uint64_t nemulate; /* samples of that */
	bool train;	   /* units are measured on it */
	bool priced;	   /* it is priced */
	bool left_out;	   /* from the fit: its vCPU did not run all the time */
};

struct xf_policy_forks {
	struct xf_policy_fork *forks;
	size_t nforks;
	struct xf_bin *bins; /* of all forks, each one's in ascending order */
	size_t nbins;
	uint64_t incomplete; /* forks left out because a loss or the end of the capture cuts them */
	uint64_t dark;	     /* forks left out because no record says how many entries changed */
};

/* Which forks are priced; zeroed members and -1 ids = all. */
struct xf_policy_filter {
	int domid, vcpu;
	int64_t fork;
	uint64_t from, to;
	const struct xf_cpulist *train; /* NULL = measure and price all */
};

/* X(enum, name): the mechanisms that are priced; what one costs stands in policy.c. */
#define XF_POLICIES(X)              \
	X(UNHOOK, "unhook")         \
	X(EMULATE, "emulate")       \
	X(HYBRID, "hybrid")         \
	X(BATCH_PAGE, "batch-page") \
	X(BATCH_32, "batch-32")     \
	X(READONLY, "readonly")

enum xf_policy_id {
#define X(id, name) XF_POLICY_##id,
	XF_POLICIES(X)
#undef X
		XF_POLICY_COUNT
};

struct xf_price {
	bool known;
	enum xf_bound bound;
	double value;
	char why[160]; /* unknown: the reason */
};

/*
 * Loads the complete forks of a capture; forks must be zeroed, and is freed by the caller also on
 * failure.
 */
int xf_policy_load(sqlite3 *db, const struct xf_policy_filter *filter,
	struct xf_policy_forks *forks, struct xf_error *err);
void xf_policy_free(struct xf_policy_forks *forks);

/* Unit costs in cycles, from the forks marked `train` and the records behind them. */
int xf_policy_measure(
	sqlite3 *db, struct xf_policy_forks *forks, struct xf_units *units, struct xf_error *err);

/*
 * Takes from another capture of the same machine what this one does not show, and, where their
 * flushes hit different numbers of CPUs, what a further CPU costs.
 */
void xf_policy_borrow(struct xf_units *units, const struct xf_units *other);

/* Units start like this: nothing known but the two that are plain numbers. */
void xf_policy_units_init(struct xf_units *units);

const char *xf_policy_name(enum xf_policy_id mechanism);

/* One page with that many entries changed; n: of the hybrid; unhooks: of the page. */
double xf_policy_page(const struct xf_units *units, enum xf_policy_id mechanism, unsigned n,
	double ptes, double unhooks, unsigned cpus);

/* All priced forks, or (fork not NULL) that one, on so many CPUs (0 = as measured). */
struct xf_price xf_policy_price(const struct xf_units *units, const struct xf_policy_forks *forks,
	const struct xf_policy_fork *fork, enum xf_policy_id mechanism, unsigned n, unsigned cpus);

/* What the forks' own time should be by these units: the mechanism that they ran under, and the rest. */
struct xf_price xf_policy_predict(const struct xf_units *units, const struct xf_policy_forks *forks,
	const struct xf_policy_fork *fork);

/* Entries per page from which a mechanism costs less than emulating each write. */
struct xf_price xf_policy_break_even(
	const struct xf_units *units, enum xf_policy_id mechanism, double unhooks, unsigned cpus);

/* Unit costs of one fork: its own where it shows them, else the given ones. */
void xf_policy_fork_units(struct xf_units *units, const struct xf_policy_fork *fork, double scale);

#endif
