/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xenfault policy between its parts: the forks of a capture and the unit costs they are priced with.
 * In: what cmd_policy.c has put together.  Out: tables on stdout.
 */
#ifndef XF_CLI_POLICY_H
#define XF_CLI_POLICY_H

#include "analyzer/cost/policy.h"
#include "analyzer/cost/profile.h"
#include "cli/cli.h"

struct xf_policy_options {
	struct xf_options common;
	const char *profile, *train, *part; /* NULL = not given */
	struct xf_texts units_of;	    /* databases */
	struct xf_texts units;		    /* NAME=COST */
	int ncpus;			    /* that a flush hits, 0 = not given */
};

struct xf_policy {
	const struct xf_policy_options *own;
	const struct xf_options *options; /* &own->common */
	struct xf_policy_forks forks;
	struct xf_units units;	    /* in the unit of the output */
	double scale;		    /* cycles to the unit of the output; 0 = cannot be told */
	const char *unit;	    /* "us" or "cycles" */
	const char *source;	    /* where the unit costs come from, in words */
	struct xf_profile *profile; /* NULL = none */
	unsigned cpus;		    /* that a flush hits, 0 = as measured */
	/* of the forks that are priced */
	uint64_t nforks, pages, ptes;
	unsigned most; /* entries of the fullest page */
	double cycles; /* as recorded */
};

/* The parts as one table each, in --format csv and jsonl, and those that are plain tables in text. */
int xf_policy_rows(const struct xf_policy *p, const char *part, struct xf_error *err);

/* The whole story. */
void xf_policy_text(const struct xf_policy *p);

/* Pages of the priced forks with so many entries changed, low to high. */
uint64_t xf_policy_pages(const struct xf_policy *p, unsigned low, unsigned high);

/* "<=", ">=", "~" or "" before a number. */
const char *xf_policy_bound(enum xf_bound bound);

#endif
