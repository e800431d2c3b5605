// SPDX-License-Identifier: GPL-2.0-or-later
/* The nearest word.  In: a word and candidates.  Out: " (did you mean X?)". */
#include "common/suggest.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 32

/* Letters to add, take away, change or swap with their neighbour. */
static int distance(const char *a, const char *b)
{
	int row[3][LONGEST + 1] = {{0}}, n = (int)strlen(a), m = (int)strlen(b);

	if (n > LONGEST || m > LONGEST)
		return LONGEST;
	for (int j = 0; j <= m; j++)
		row[0][j] = j;
	for (int i = 1; i <= n; i++) {
		int *now = row[i % 3], *before = row[(i + 2) % 3], *two = row[(i + 1) % 3];

		now[0] = i;
		for (int j = 1; j <= m; j++) {
			int best = before[j - 1] + (a[i - 1] != b[j - 1]);

			if (before[j] + 1 < best)
				best = before[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				two[j - 2] + 1 < best)
				best = two[j - 2] + 1;
			now[j] = best;
		}
	}
	return row[n % 3][m];
}

struct xf_suggest xf_suggest_for(const char *word)
{
	return (struct xf_suggest){.word = word, .distance = LONGEST};
}

void xf_suggest_offer(struct xf_suggest *s, const char *candidate)
{
	size_t length = strlen(s->word);
	int d = distance(s->word, candidate);

	/* the beginning of a longer word is a likely slip too */
	if (length >= 3 && !strncmp(s->word, candidate, length) && d > 1)
		d = 1;
	if (d >= s->distance || strlen(candidate) >= sizeof(s->best))
		return;
	s->distance = d;
	strcpy(s->best, candidate);
}

const char *xf_suggest_text(struct xf_suggest *s)
{
	size_t length = strlen(s->word);

	s->text[0] = '\0';
	if (*s->best && s->distance <= (length < 4 ? 1 : length < 8 ? 2 : 3))
		snprintf(s->text, sizeof(s->text), " (did you mean %s?)", s->best);
	return s->text;
}
