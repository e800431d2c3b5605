/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Progress of a long step.  In: amounts done.  Out: now and then a call of show().
 * A comparison per call while nothing is due, so it can stand in a loop over records.
 */
#ifndef XF_COMMON_PROGRESS_H
#define XF_COMMON_PROGRESS_H

#include <stdint.h>

struct xf_progress {
	uint64_t done, total; /* any unit; total 0 = unknown */
	uint64_t next, step;  /* when show() is due again */
	/* Returns non-zero to stop the step (cancelled). */
	int (*show)(struct xf_progress *progress);
	void *data;
};

/* Adds n; progress may be NULL.  Non-zero: the step should stop. */
static inline int xf_progress_add(struct xf_progress *progress, uint64_t n)
{
	if (!progress || (progress->done += n) < progress->next || !progress->show)
		return 0;
	progress->next = progress->done + progress->step;
	return progress->show(progress);
}

#endif
