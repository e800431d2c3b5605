/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What compare.c and compare_match.c share.  Private to this folder. */
#ifndef XF_ANALYZER_DIFF_COMPARE_STATE_H
#define XF_ANALYZER_DIFF_COMPARE_STATE_H

#include "analyzer/diff/compare.h"

struct xf_compare_fork {
	double cycles, log_pages, log_ptes;
	uint64_t of[XF_MEASURE_COUNT]; /* what is counted; TIME and PER_PAGE stay 0 */
	unsigned mechanism;	       /* index into the names that compare.c knows */
	bool complete;
};

struct xf_compare_capture {
	enum xf_side side;
	uint64_t hz; /* 0 = unknown */
	struct xf_compare_fork *forks;
	size_t nforks;
};

/* Matched forks: row i has fork at[i * captures + c] of capture c, -1 = none. */
struct xf_matching {
	int32_t *at;
	size_t nrows, captures;
	bool ordered;
};

/* Matches the forks of all captures.  On failure nothing needs to be freed. */
int xf_compare_match(const struct xf_compare_capture *captures, size_t n, struct xf_matching *m,
	struct xf_error *err);

#endif
