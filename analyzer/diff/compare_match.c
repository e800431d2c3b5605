// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which fork of one capture is which of another.  In: forks in time order.  Out: rows of forks.
 *
 * The captures are taken one after the other.  Each is aligned with the rows so far: in order, so that
 * the sum of the differences in shape and of what stays alone is least.  Twice: as the forks are, and as
 * if a change had touched the entries of all of them by the same factor; what costs less holds.  What
 * the order leaves over (two vCPUs that fork at once need not do so in the same order again) is matched
 * where the shape is the same, first with first.  What is left then makes rows of its own, at its place.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/diff/compare_state.h"
#include "common/map.h"

#define MAX_CELLS (64u << 20) /* bytes of the alignment's table; 8,000 forks on either side */
#define FARTHEST \
	0.85	   /* sum of the logarithms of the ratios: two shapes farther apart never match */
#define ALONE 0.45 /* what it costs to leave a fork without a counterpart */

struct work {
	const struct xf_compare_capture *captures, *capture;
	struct xf_matching *m;
	size_t index;		   /* of capture */
	int32_t *row_of, *fork_of; /* by fork; by row: -1 = none */
};

static const struct xf_compare_fork *model(const struct work *w, size_t row)
{
	const int32_t *at = w->m->at + row * w->m->captures;

	for (size_t c = 0; c < w->m->captures; c++)
		if (at[c] >= 0)
			return &w->captures[c].forks[at[c]];
	return NULL;
}

/* scale: logarithm of the factor that is taken out of b's entries. */
static double distance(
	const struct xf_compare_fork *a, const struct xf_compare_fork *b, double scale)
{
	return fabs(a->log_pages - b->log_pages) + fabs(a->log_ptes + scale - b->log_ptes);
}

enum step { BOTH, ROW_ALONE, FORK_ALONE };

/*
 * Fills the table of steps, row by row of it; costs are only needed of the line before.  Returns what
 * the best alignment costs.
 */
static double fill(const struct work *w, double scale, unsigned char *steps, double *line)
{
	size_t rows = w->m->nrows, forks = w->capture->nforks;

	for (size_t j = 0; j <= forks; j++) {
		line[j] = (double)j * ALONE;
		steps[j] = FORK_ALONE;
	}
	for (size_t i = 1; i <= rows; i++) {
		const struct xf_compare_fork *other = model(w, i - 1);
		double diagonal = line[0];

		steps += forks + 1;
		line[0] = (double)i * ALONE;
		steps[0] = ROW_ALONE;
		for (size_t j = 1; j <= forks; j++) {
			double apart = distance(other, &w->capture->forks[j - 1], scale);
			double both = apart > FARTHEST ? INFINITY : diagonal + apart;
			double row_alone = line[j] + ALONE, fork_alone = line[j - 1] + ALONE;

			diagonal = line[j];
			steps[j] = BOTH;
			line[j] = both;
			if (row_alone < line[j]) {
				steps[j] = ROW_ALONE;
				line[j] = row_alone;
			}
			if (fork_alone < line[j]) {
				steps[j] = FORK_ALONE;
				line[j] = fork_alone;
			}
		}
	}
	return line[forks];
}

/* How much more entries the forks of the capture have than those of the rows, as a logarithm. */
static double scale_of(const struct work *w)
{
	double rows = 0, forks = 0;

	for (size_t i = 0; i < w->m->nrows; i++)
		rows += (double)model(w, i)->of[XF_MEASURE_PTES];
	for (size_t j = 0; j < w->capture->nforks; j++)
		forks += (double)w->capture->forks[j].of[XF_MEASURE_PTES];
	if (rows <= 0 || forks <= 0)
		return 0;
	return log(forks / (double)w->capture->nforks / (rows / (double)w->m->nrows));
}

static void walk_back(struct work *w, const unsigned char *steps)
{
	size_t i = w->m->nrows, j = w->capture->nforks, width = j + 1;

	while (i || j) {
		enum step step = steps[i * width + j];

		i -= step != FORK_ALONE;
		j -= step != ROW_ALONE;
		if (step == BOTH) {
			w->row_of[j] = (int32_t)i;
			w->fork_of[i] = (int32_t)j;
		}
	}
}

static int align(struct work *w, struct xf_error *err)
{
	size_t rows = w->m->nrows, forks = w->capture->nforks;
	double *line, scale = scale_of(w), as_is;
	unsigned char *steps;
	int code = 0;

	if (rows + 1 > MAX_CELLS / (forks + 1)) {
		w->m->ordered = false;
		return 0;
	}
	steps = malloc((rows + 1) * (forks + 1));
	line = malloc((forks + 1) * sizeof(*line));
	if (steps && line) {
		as_is = fill(w, 0, steps, line);
		if (scale != 0 && as_is > 0 && fill(w, scale, steps, line) >= as_is)
			fill(w, 0, steps, line);
		walk_back(w, steps);
	} else {
		code = xf_fail_nomem(err);
	}
	free(steps);
	free(line);
	return code;
}

static uint64_t shape(const struct xf_compare_fork *fork)
{
	return fork->of[XF_MEASURE_PAGES] << 32 ^ fork->of[XF_MEASURE_PTES];
}

/* The same shape, first with first, of what the order left over. */
static int match_shapes(struct work *w, int32_t *late_row, struct xf_error *err)
{
	struct xf_map first = {0}; /* shape -> row + 1 */
	int32_t *next = calloc(w->m->nrows + 1, sizeof(*next));
	int code = next ? 0 : xf_fail_nomem(err);

	for (size_t i = w->m->nrows; i-- && !code;) {
		uint64_t *slot;

		if (w->fork_of[i] >= 0)
			continue;
		slot = xf_map_put(&first, shape(model(w, i)));
		if (!slot) {
			code = xf_fail_nomem(err);
			break;
		}
		next[i] = (int32_t)*slot;
		*slot = i + 1;
	}
	for (size_t j = 0; j < w->capture->nforks && !code; j++) {
		uint64_t *slot =
			w->row_of[j] < 0 ? xf_map_get(&first, shape(&w->capture->forks[j])) : NULL;

		if (!slot || !*slot)
			continue;
		late_row[j] = (int32_t)(*slot - 1);
		w->fork_of[*slot - 1] = (int32_t)j;
		*slot = (uint64_t)next[*slot - 1];
	}
	xf_map_free(&first);
	free(next);
	return code;
}

/* New rows where this capture has forks that no other has: before the row of its next aligned fork. */
static int merge(struct work *w, const int32_t *late_row, struct xf_error *err)
{
	struct xf_matching *m = w->m;
	size_t captures = m->captures, forks = w->capture->nforks, n = 0, j = 0;
	int32_t *at = malloc((m->nrows + forks + 1) * captures * sizeof(*at));

	if (!at)
		return xf_fail_nomem(err);
	for (size_t i = 0; i <= m->nrows; i++) {
		/* an aligned fork of this row, or all the rest at the end */
		int32_t own = i < m->nrows ? w->fork_of[i] : -1;
		bool aligned = own >= 0 && w->row_of[own] == (int32_t)i;

		for (; (aligned && j < (size_t)own) || (i == m->nrows && j < forks); j++) {
			if (w->row_of[j] >= 0 || late_row[j] >= 0)
				continue;
			memset(at + n * captures, 0xff, captures * sizeof(*at));
			at[n++ * captures + w->index] = (int32_t)j;
		}
		if (i == m->nrows)
			break;
		memcpy(at + n * captures, m->at + i * captures, captures * sizeof(*at));
		at[n++ * captures + w->index] = own;
	}
	free(m->at);
	m->at = at;
	m->nrows = n;
	return 0;
}

static int take(struct work *w, struct xf_error *err)
{
	size_t forks = w->capture->nforks;
	int32_t *late_row = malloc((forks + 1) * sizeof(*late_row));
	int code;

	w->row_of = malloc((forks + 1) * sizeof(*w->row_of));
	w->fork_of = malloc((w->m->nrows + 1) * sizeof(*w->fork_of));
	if (late_row && w->row_of && w->fork_of) {
		memset(late_row, 0xff, (forks + 1) * sizeof(*late_row));
		memset(w->row_of, 0xff, (forks + 1) * sizeof(*w->row_of));
		memset(w->fork_of, 0xff, (w->m->nrows + 1) * sizeof(*w->fork_of));
		code = align(w, err);
		if (!code)
			code = match_shapes(w, late_row, err);
		if (!code)
			code = merge(w, late_row, err);
	} else {
		code = xf_fail_nomem(err);
	}
	free(late_row);
	free(w->row_of);
	free(w->fork_of);
	return code;
}

int xf_compare_match(const struct xf_compare_capture *captures, size_t n, struct xf_matching *m,
	struct xf_error *err)
{
	struct work w = {.captures = captures, .m = m};
	int code = 0;

	*m = (struct xf_matching){.captures = n, .ordered = true};
	for (w.index = 0; w.index < n && !code; w.index++) {
		w.capture = &captures[w.index];
		code = take(&w, err);
	}
	if (code) {
		free(m->at);
		m->at = NULL;
	}
	return code;
}
