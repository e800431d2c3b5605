// SPDX-License-Identifier: GPL-2.0-or-later
/* Sets of frames as bits.  In: frame numbers.  Out: counts; a finding where memory has its bound. */
#include "analyzer/frames.h"

#define MAX_FRAME_WORDS (1 << 19) /* in all sets; 32 frames each: 64 GiB of memory without holes */

bool xf_frames_have(const struct xf_frames *f, uint64_t frame)
{
	const uint64_t *word = xf_map_get(&f->words, frame >> 5);

	return word && *word >> (frame & 31) & 1;
}

void xf_frames_free(struct xf_analyzer *a, struct xf_frames *f)
{
	a->frame_words -= f->words.count;
	xf_map_free(&f->words);
	*f = (struct xf_frames){0};
}

int xf_frames_add(struct xf_analyzer *a, struct xf_frames *f, uint64_t frame, bool dirtied)
{
	uint64_t bit = 1ull << (frame & 31), *word = xf_map_get(&f->words, frame >> 5);

	if (!word) {
		if (a->frame_words >= MAX_FRAME_WORDS) {
			a->findings[XF_FINDING_FRAMES]++;
			return 0;
		}
		word = xf_map_put(&f->words, frame >> 5);
		if (!word)
			return xf_fail_nomem(a->err);
		a->frame_words++;
	}
	f->seen += !(*word & bit);
	*word |= bit;
	if (dirtied) {
		f->dirtied += !(*word & bit << 32);
		*word |= bit << 32;
	}
	return 0;
}

int xf_frames_join(struct xf_analyzer *a, struct xf_frames *to, const struct xf_frames *from)
{
	uint64_t key, word;
	size_t cursor = 0;
	int code = 0;

	while (!code && xf_map_next(&from->words, &cursor, &key, &word))
		for (unsigned i = 0; i < 32 && !code; i++)
			if (word >> i & 1)
				code = xf_frames_add(a, to, key << 5 | i, word >> (32 + i) & 1);
	return code;
}
