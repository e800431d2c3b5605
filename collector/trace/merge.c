// SPDX-License-Identifier: GPL-2.0-or-later
/* A binary heap of pCPUs.  In: pCPUs that change.  Out: the earliest. */
#include "collector/trace/merge.h"

#include <stdlib.h>

int xf_merge_reserve(struct xf_merge *merge, size_t npcpus, struct xf_error *err)
{
	size_t room = merge->room ? 2 * merge->room : 16;
	struct xf_pcpu **more;

	if (npcpus <= merge->room)
		return 0;
	more = realloc(merge->heap, room * sizeof(struct xf_pcpu *));
	if (!more)
		return xf_fail_nomem(err);
	merge->heap = more;
	merge->room = room;
	return 0;
}

static bool earlier(const struct xf_pcpu *a, const struct xf_pcpu *b)
{
	return a->event_key < b->event_key || (a->event_key == b->event_key && a->id < b->id);
}

static void put(struct xf_merge *merge, size_t at, struct xf_pcpu *pcpu)
{
	merge->heap[at] = pcpu;
	pcpu->merge_at = at + 1;
}

static size_t up(struct xf_merge *merge, size_t at, const struct xf_pcpu *pcpu)
{
	while (at && earlier(pcpu, merge->heap[(at - 1) / 2])) {
		put(merge, at, merge->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	return at;
}

static size_t down(struct xf_merge *merge, size_t at, const struct xf_pcpu *pcpu)
{
	for (size_t child; (child = 2 * at + 1) < merge->n; at = child) {
		if (child + 1 < merge->n && earlier(merge->heap[child + 1], merge->heap[child]))
			child++;
		if (!earlier(merge->heap[child], pcpu))
			break;
		put(merge, at, merge->heap[child]);
	}
	return at;
}

void xf_merge_place(struct xf_merge *merge, struct xf_pcpu *pcpu)
{
	size_t at = pcpu->merge_at ? pcpu->merge_at - 1 : merge->n;

	if (pcpu->state != XF_PCPU_EMPTY) {
		merge->n += !pcpu->merge_at;
	} else if (!pcpu->merge_at) {
		return;
	} else {
		pcpu->merge_at = 0;
		/* the last one takes its place */
		pcpu = merge->heap[--merge->n];
		if (at == merge->n)
			return;
	}
	put(merge, down(merge, up(merge, at, pcpu), pcpu), pcpu);
}

struct xf_pcpu *xf_merge_first(const struct xf_merge *merge, uint64_t *others)
{
	*others = UINT64_MAX;
	for (size_t i = 1; i < 3 && i < merge->n; i++)
		if (merge->heap[i]->event_key < *others)
			*others = merge->heap[i]->event_key;
	return merge->n ? merge->heap[0] : NULL;
}

void xf_merge_free(struct xf_merge *merge)
{
	free(merge->heap);
}
