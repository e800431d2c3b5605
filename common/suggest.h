/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * "Did you mean": the nearest of several words.  In: a word and candidates.  Out: words for a message.
 */
#ifndef XF_COMMON_SUGGEST_H
#define XF_COMMON_SUGGEST_H

struct xf_suggest {
	const char *word;
	int distance; /* of the best so far */
	char best[64], text[96];
};

/* A search for the word nearest to word, which must live as long as it. */
struct xf_suggest xf_suggest_for(const char *word);

/* Considers a candidate; it is copied. */
void xf_suggest_offer(struct xf_suggest *suggest, const char *candidate);

/* " (did you mean X?)", or "" where nothing is near; valid until the next call on it. */
const char *xf_suggest_text(struct xf_suggest *suggest);

#endif
