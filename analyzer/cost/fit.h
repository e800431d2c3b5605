/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Least squares for a handful of unknowns, and what else describes samples.
 * In: equations, samples.  Out: coefficients with their standard errors; mean, median, deviation.
 */
#ifndef XF_ANALYZER_COST_FIT_H
#define XF_ANALYZER_COST_FIT_H

#include <stdbool.h>
#include <stddef.h>

#define XF_FIT_MAX 8

/* Sums of the equations a[0] * c[0] + ... + a[n - 1] * c[n - 1] = y, each with a weight. */
struct xf_fit {
	int unknowns;
	size_t equations;
	double matrix[XF_FIT_MAX][XF_FIT_MAX], right[XF_FIT_MAX], squares;
};

/* Adds one equation; fit starts as {.unknowns = n}. */
void xf_fit_add(struct xf_fit *fit, const double *a, double y, double weight);

/*
 * Solves into c; errors (may be NULL) gets the standard error of each coefficient.  False if the
 * equations do not determine them.
 */
bool xf_fit_solve(const struct xf_fit *fit, double *c, double *errors);

/* A growing list of samples; zeroed = empty. */
struct xf_samples {
	double *values;
	size_t n, room;
};

/* Appends; false when memory is short. */
bool xf_samples_add(struct xf_samples *samples, double value);
void xf_samples_free(struct xf_samples *samples);

struct xf_summary {
	double median, mean, deviation;
	size_t n, left_out;
};

/*
 * Sorts the samples and describes those up to cut times their median (0 = all): what is longer did
 * not happen in one go.  With no samples everything is 0.
 */
struct xf_summary xf_samples_describe(struct xf_samples *samples, double cut);

#endif
