/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of frames for log-dirty episodes: two bits for each, seen and dirtied.
 * In: frame numbers.  Out: how many distinct ones, and which.
 */
#ifndef XF_ANALYZER_FRAMES_H
#define XF_ANALYZER_FRAMES_H

#include "analyzer/state.h"

struct xf_frames {
	struct xf_map words;
	uint64_t seen, dirtied; /* distinct frames */
};

void xf_frames_free(struct xf_analyzer *a, struct xf_frames *f);

/* Is the frame in the set? */
bool xf_frames_have(const struct xf_frames *f, uint64_t frame);

/* Adds a frame.  What is beyond the memory for all sets is counted as a finding.  0 or negative. */
int xf_frames_add(struct xf_analyzer *a, struct xf_frames *f, uint64_t frame, bool dirtied);

/* Adds what is in from, and not in to yet. */
int xf_frames_join(struct xf_analyzer *a, struct xf_frames *to, const struct xf_frames *from);

#endif
