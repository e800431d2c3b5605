/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pCPU comes next: a heap of those that have something to give, so that many of them cost little.
 * In: pCPUs as they go on.  Out: the one with the earliest event, and how far it may go.
 */
#ifndef XF_COLLECTOR_TRACE_MERGE_H
#define XF_COLLECTOR_TRACE_MERGE_H

#include "collector/trace/pcpu.h"

struct xf_merge {
	struct xf_pcpu **heap; /* the earliest first; by event_key, then by number */
	size_t n, room;
};

/* Makes room for so many pCPUs, one more than at the last call; returns 0 or a negative code. */
int xf_merge_reserve(struct xf_merge *merge, size_t npcpus, struct xf_error *err);

/* The pCPU's state or event_key has changed. */
void xf_merge_place(struct xf_merge *merge, struct xf_pcpu *pcpu);

/* The pCPU with the earliest event, NULL = none has any; *others: the earliest key of the others. */
struct xf_pcpu *xf_merge_first(const struct xf_merge *merge, uint64_t *others);

void xf_merge_free(struct xf_merge *merge);

#endif
