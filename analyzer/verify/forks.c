// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Forks as a whole, where the log has no probes.  In: forks of the capture, sched_process_fork lines.
 * Out: which have no partner.  A fork's own line stands behind its end, and its task was on the fork's
 * vCPU when it began; each line serves one fork.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/verify/state.h"

#define WINDOW 64 /* lines behind a fork's end that may be its own */

/* The vCPU of the forking task at a time before its line. */
static uint32_t place(const struct xf_verify *v, const struct xf_truth *truth, uint64_t tsc)
{
	unsigned first = truth->nmoves > XF_MOVES ? truth->nmoves - XF_MOVES : 0;

	/* the kernel may move it between the copy of its tables and the line */
	if (!v->survey.migrations)
		return truth->pinned >= 0 ? (uint32_t)truth->pinned : truth->vcpu;
	for (unsigned i = first; i < truth->nmoves; i++)
		if (truth->moves[i % XF_MOVES].tsc > tsc &&
			truth->moves[i % XF_MOVES].tsc < truth->tsc)
			return truth->moves[i % XF_MOVES].from;
	return truth->vcpu;
}

/* The first line behind a time. */
static size_t behind(const struct xf_verify *v, uint64_t tsc)
{
	size_t low = 0, high = v->ntruths;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (v->truths[middle].tsc <= tsc)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Finds a line for fork i (from 1); others may have to take another one.  root: on whose behalf. */
static bool match(struct xf_verify *v, uint32_t i, uint32_t root, unsigned depth)
{
	const struct xf_found *fork = &v->forks[i - 1];
	size_t first = behind(v, fork->end);

	for (size_t k = first; k < v->ntruths && k < first + WINDOW; k++) {
		struct xf_truth *truth = &v->truths[k];

		if (truth->asked == root || truth->thread ||
			place(v, truth, fork->start) != fork->vcpu)
			continue;
		truth->asked = root;
		if (!truth->matched || (depth && match(v, truth->matched, root, depth - 1))) {
			truth->matched = i;
			return true;
		}
	}
	return false;
}

static int by_tsc(const void *a, const void *b)
{
	const struct xf_truth *x = a, *y = b;

	return x->tsc < y->tsc ? -1 : x->tsc > y->tsc;
}

static int match_fork(struct xf_verify *v, uint32_t i)
{
	struct xf_verify_count *count = &v->result->counts[XF_VERIFY_FORKS];
	const struct xf_found *fork = &v->forks[i - 1];

	if (fork->end < v->survey.first || fork->end > v->survey.last) {
		count->unjudged++;
		return 0;
	}
	count->capture++;
	if (match(v, i, i, WINDOW)) {
		count->agree++;
		return 0;
	}
	return xf_verify_differ(v, &(struct xf_verify_difference){.subject = XF_VERIFY_FORKS,
					   .what = "no sched_process_fork of its own",
					   .vcpu = fork->vcpu,
					   .pid = -1,
					   .tsc = fork->start,
					   .first_event = fork->first_event,
					   .last_event = -1,
					   .fork_id = fork->id,
					   .n = 1,
					   .detail = ""});
}

int xf_verify_match(struct xf_verify *v)
{
	struct xf_verify_count *count = &v->result->counts[XF_VERIFY_FORKS];
	int code = 0;

	if (v->ntruths)
		qsort(v->truths, v->ntruths, sizeof(*v->truths), by_tsc);
	for (uint32_t i = 1; i <= v->nforks && !code; i++)
		code = match_fork(v, i);
	for (size_t i = 0; i < v->ntruths && !code; i++) {
		const struct xf_truth *truth = &v->truths[i];

		if (truth->thread)
			continue;
		if (!truth->matched && !xf_verify_covered(v, truth->tsc)) {
			count->unjudged++;
			continue;
		}
		count->log++;
		count->found += truth->matched > 0;
		if (!truth->matched)
			code = xf_verify_differ(v,
				&(struct xf_verify_difference){.subject = XF_VERIFY_FORKS,
					.what = "not in the capture",
					.vcpu = truth->vcpu,
					.pid = truth->pid,
					.tsc = truth->tsc,
					.first_event = -1,
					.last_event = -1,
					.fork_id = -1,
					.n = 1,
					.detail =
						v->survey.threads
							? ""
							: "or a thread: the log has no task_newtask"});
	}
	return code;
}
