// SPDX-License-Identifier: GPL-2.0-or-later
/* Least squares by normal equations.  In: equations, samples.  Out: coefficients, summaries. */
#include "analyzer/cost/fit.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MANY 128 /* so many samples are not sorted by comparing */

void xf_fit_add(struct xf_fit *fit, const double *a, double y, double weight)
{
	for (int i = 0; i < fit->unknowns; i++) {
		for (int k = 0; k < fit->unknowns; k++)
			fit->matrix[i][k] += weight * a[i] * a[k];
		fit->right[i] += weight * a[i] * y;
	}
	fit->squares += weight * y * y;
	fit->equations++;
}

/* Inverts an n x n matrix by elimination, rows and columns scaled to a unit diagonal before. */
static bool invert(int n, double m[XF_FIT_MAX][XF_FIT_MAX], double inverse[XF_FIT_MAX][XF_FIT_MAX])
{
	double scale[XF_FIT_MAX];

	for (int i = 0; i < n; i++) {
		if (!(m[i][i] > 0))
			return false;
		scale[i] = 1 / sqrt(m[i][i]);
	}
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < n; k++) {
			m[i][k] *= scale[i] * scale[k];
			inverse[i][k] = i == k;
		}
	}
	/* the matrix is positive definite: no rows need to change places */
	for (int p = 0; p < n; p++) {
		double pivot = m[p][p];

		if (!(pivot > 1e-9))
			return false;
		for (int k = 0; k < n; k++) {
			m[p][k] /= pivot;
			inverse[p][k] /= pivot;
		}
		for (int i = 0; i < n; i++) {
			double factor = m[i][p];

			for (int k = 0; k < n && i != p; k++) {
				m[i][k] -= factor * m[p][k];
				inverse[i][k] -= factor * inverse[p][k];
			}
		}
	}
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
			inverse[i][k] *= scale[i] * scale[k];
	return true;
}

bool xf_fit_solve(const struct xf_fit *fit, double *c, double *errors)
{
	double m[XF_FIT_MAX][XF_FIT_MAX], inverse[XF_FIT_MAX][XF_FIT_MAX];
	double rest = fit->squares;
	int n = fit->unknowns;

	memcpy(m, fit->matrix, sizeof(m));
	if (fit->equations < (size_t)n || !invert(n, m, inverse))
		return false;
	for (int i = 0; i < n; i++) {
		c[i] = 0;
		for (int k = 0; k < n; k++)
			c[i] += inverse[i][k] * fit->right[k];
	}
	for (int i = 0; i < n; i++)
		rest -= c[i] * fit->right[i];
	if (rest < 0)
		rest = 0;
	for (int i = 0; errors && i < n; i++)
		errors[i] =
			fit->equations > (size_t)n
				? sqrt(rest / (double)(fit->equations - (size_t)n) * inverse[i][i])
				: 0;
	return true;
}

bool xf_samples_add(struct xf_samples *s, double value)
{
	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 256;
		double *values = realloc(s->values, room * sizeof(*values));

		if (!values)
			return false;
		s->values = values;
		s->room = room;
	}
	s->values[s->n++] = value;
	return true;
}

void xf_samples_free(struct xf_samples *s)
{
	free(s->values);
	*s = (struct xf_samples){0};
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Ascending, byte by byte of the numbers' bits, the lowest first: a tenth of the time of comparisons.
 * False without memory.
 */
static bool sort_by_bytes(double *values, size_t n)
{
	const uint64_t sign = 1ull << 63;
	uint64_t *keys = malloc(2 * n * sizeof(*keys)), *from = keys, *to = keys ? keys + n : NULL;
	size_t counts[8][256] = {{0}};

	if (!keys)
		return false;
	memcpy(keys, values, n * sizeof(*keys));
	for (size_t i = 0; i < n; i++) {
		keys[i] ^= keys[i] & sign ? ~0ull : sign;
		for (int byte = 0; byte < 8; byte++)
			counts[byte][keys[i] >> 8 * byte & 255]++;
	}
	for (int byte = 0; byte < 8; byte++) {
		size_t *count = counts[byte], before = 0;
		uint64_t *swap = from;

		if (count[from[0] >> 8 * byte & 255] == n)
			continue; /* it is the same in all */
		for (int i = 0; i < 256; i++) {
			size_t here = count[i];

			count[i] = before;
			before += here;
		}
		for (size_t i = 0; i < n; i++)
			to[count[from[i] >> 8 * byte & 255]++] = from[i];
		from = to;
		to = swap;
	}
	for (size_t i = 0; i < n; i++)
		from[i] ^= from[i] & sign ? sign : ~0ull;
	memcpy(values, from, n * sizeof(*values));
	free(keys);
	return true;
}

struct xf_summary xf_samples_describe(struct xf_samples *s, double cut)
{
	struct xf_summary r = {0};
	double sum = 0, squares = 0;

	if (!s->n)
		return r;
	if (s->n < MANY || !sort_by_bytes(s->values, s->n))
		qsort(s->values, s->n, sizeof(*s->values), compare);
	r.median = s->values[s->n / 2];
	for (size_t i = 0; i < s->n && (cut <= 0 || s->values[i] <= cut * r.median); i++) {
		sum += s->values[i];
		r.n++;
	}
	r.left_out = s->n - r.n;
	if (!r.n)
		return r;
	r.mean = sum / (double)r.n;
	for (size_t i = 0; i < r.n; i++)
		squares += (s->values[i] - r.mean) * (s->values[i] - r.mean);
	r.deviation = r.n > 1 ? sqrt(squares / (double)(r.n - 1)) : 0;
	return r;
}
