// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Search in what the rows of a view show.
 * In: a pattern, the list model.  Out: the next match, and how many there are.
 * Rows are looked at in slices: from the cursor to the end, then from the first to the cursor.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tui/sieve.h"
#include "tui/ui.h"

#define CHUNK 200
#define MOST  1000000 /* matches kept */

void xf_tui_search_stop(struct xf_tui_view *view)
{
	struct xf_tui_search *s = &view->search;

	if (s->text)
		regfree(&s->regex);
	free(s->text);
	free(s->after.at);
	free(s->before.at);
	xf_tui_sieve_free(s->sieve);
	xf_tui_window_free(&s->window);
	*s = (struct xf_tui_search){0};
}

/* Begins to look, with the pattern there is. */
static void begin(struct xf_tui_view *view)
{
	struct xf_tui_search *s = &view->search;

	s->generation = view->model.generation;
	s->start = view->position > 0 ? view->position : 0;
	s->ahead = s->start;
	s->behind = 0;
	s->after.n = s->before.n = 0;
	s->capped = false;
}

int xf_tui_search_start(struct xf_tui_view *view, const char *pattern, struct xf_error *err)
{
	struct xf_tui_search *s = &view->search;
	char text[200];
	regex_t regex;
	int code = regcomp(&regex, pattern, xf_filter_regex_flags(pattern) | REG_NOSUB);

	if (code) {
		regerror(code, &regex, text, sizeof(text));
		return xf_fail(err, XF_USAGE, "regular expression: %s", text);
	}
	xf_tui_search_stop(view);
	s->text = strdup(pattern);
	if (!s->text) {
		regfree(&regex);
		return xf_fail_nomem(err);
	}
	s->regex = regex;
	s->on = true;
	s->wanted = 1;
	s->stay = true;
	begin(view);
	return 0;
}

void xf_tui_search_next(struct xf_tui_view *view, int direction)
{
	struct xf_tui_search *s = &view->search;

	/* keys may come faster than matches: each one counts */
	if ((s->wanted > 0) != (direction > 0))
		s->wanted = 0;
	s->stay = s->stay && s->wanted;
	s->wanted += direction;
}

bool xf_tui_search_hit(const struct xf_tui_view *view, const char *text)
{
	return view->search.on && !regexec(&view->search.regex, text, 0, NULL, 0);
}

/* Cells of a row, joined: what the pattern is held against. */
static bool row_matches(
	const struct xf_tui_view *view, const struct xf_tui_window *window, int64_t position)
{
	const struct xf_tui_source *source = view->model.source;
	char line[2048], text[512];
	enum xf_tui_role role;
	size_t used = 0;

	for (int i = 0; i < source->ncolumns; i++) {
		size_t n;

		if (!(view->model.shown & 1ull << i) || source->columns[i].show == XF_SHOW_EXTRA)
			continue;
		xf_tui_model_cell(&view->model, window, position, i, 6, text, sizeof(text), &role);
		n = strlen(text);
		if (used + n + 2 > sizeof(line))
			break;
		memcpy(line + used, text, n);
		used += n;
		line[used++] = ' ';
	}
	line[used ? used - 1 : 0] = '\0';
	return xf_tui_search_hit(view, line);
}

static int add(struct xf_tui_positions *p, int64_t position, struct xf_error *err)
{
	if (p->n == p->room) {
		size_t room = p->room ? p->room * 2 : 64;
		int64_t *at = realloc(p->at, room * sizeof(*at));

		if (!at)
			return xf_fail_nomem(err);
		p->at = at;
		p->room = room;
	}
	p->at[p->n++] = position;
	return 0;
}

/* A new sieve where what is shown has changed, so that what was sieved out may match now. */
static int renew_sieve(struct xf_tui_view *view, struct xf_error *err)
{
	struct xf_tui_search *s = &view->search;

	if (s->sieved && s->shown == view->model.shown && s->mode == view->model.units->mode &&
		s->direct == view->model.direct && s->low == view->model.low)
		return 0;
	xf_tui_sieve_free(s->sieve);
	s->sieved = true;
	s->shown = view->model.shown;
	s->mode = view->model.units->mode;
	s->direct = view->model.direct;
	s->low = view->model.low;
	return xf_tui_sieve_new(&s->sieve, &view->model, s->text, err);
}

/*
 * Which of the rows from a position on may match: bits to *maybe.  1 done, 0 not yet: events around them
 * were sieved first, or a negative code.
 */
static int sieve(
	struct xf_tui_view *view, int64_t position, int n, bool *maybe, struct xf_error *err)
{
	struct xf_tui_search *s = &view->search;
	int64_t ids[CHUNK];
	int code = renew_sieve(view, err);

	if (!code && s->sieve)
		code = xf_tui_model_ids(&view->model, position, n, ids, err);
	for (int i = 0; i < n && !code; i++) {
		int may = s->sieve ? xf_tui_sieve_may(s->sieve, ids[i], err) : 1;

		if (may < 0)
			return may == XF_AGAIN ? 0 : may;
		maybe[i] = may;
	}
	return code ? code : 1;
}

/* The rows of a chunk that match. */
static int look_at_rows(struct xf_tui_view *view, int64_t position, int n, const bool *maybe,
	struct xf_tui_positions *found, struct xf_error *err)
{
	struct xf_tui_search *s = &view->search;
	int64_t from = position > 0 ? position - 1 : 0; /* the row before, for times since it */
	int code;

	if (!memchr(maybe, true, (size_t)n))
		return 0;
	code = xf_tui_model_fetch(&view->model, &s->window, from, n + 2, err);
	for (int i = 0; !code && i < n; i++)
		if (maybe[i] && row_matches(view, &s->window, position + i))
			code = add(found, position + i, err);
	return code;
}

/* Looks at one chunk; 1 = there is more. */
static int look(struct xf_tui_view *view, struct xf_error *err)
{
	struct xf_tui_search *s = &view->search;
	int64_t count = xf_tui_model_count(&view->model);
	bool ahead = s->ahead < count;
	int64_t *next = ahead ? &s->ahead : &s->behind, end = ahead ? count : s->start;
	struct xf_tui_positions *found = ahead ? &s->after : &s->before;
	int n = (int)(end - *next > CHUNK ? CHUNK : end - *next), code;
	bool maybe[CHUNK];

	if (n <= 0 || s->capped)
		return 0;
	code = sieve(view, *next, n, maybe, err);
	if (code <= 0)
		return code ? code : 1;
	code = look_at_rows(view, *next, n, maybe, found, err);
	if (code)
		return code;
	*next += n;
	s->capped = s->after.n + s->before.n >= MOST;
	return 1;
}

/* Index of a position among the matches, or of the first one behind it. */
static size_t rank(const struct xf_tui_positions *p, int64_t position, bool *there)
{
	size_t from = 0, to = p->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (p->at[middle] < position)
			from = middle + 1;
		else
			to = middle;
	}
	*there = from < p->n && p->at[from] == position;
	return from;
}

/* The first match in [from, to), -1 = none, -2 = not known yet. */
static int64_t first_match(const struct xf_tui_search *s, int64_t from, int64_t to)
{
	int64_t unseen = from, found = -1;
	bool there;
	size_t i = rank(&s->before, from, &there), j = rank(&s->after, from, &there);

	if (unseen < s->start && unseen < s->behind)
		unseen = s->behind;
	if (unseen >= s->start && unseen < s->ahead)
		unseen = s->ahead;
	if (i < s->before.n && s->before.at[i] < to)
		found = s->before.at[i];
	else if (j < s->after.n && s->after.at[j] < to)
		found = s->after.at[j];
	if (unseen < to && (found < 0 || unseen < found))
		return s->capped ? -1 : -2;
	return found;
}

/* The last match in [from, to). */
static int64_t last_match(const struct xf_tui_search *s, int64_t from, int64_t to)
{
	int64_t unseen = to - 1, found = -1;
	bool there;
	size_t i = rank(&s->before, to, &there), j = rank(&s->after, to, &there);

	if (unseen >= s->start && unseen < s->ahead)
		unseen = s->start - 1;
	if (unseen < s->start && unseen < s->behind)
		unseen = -1;
	if (j > 0 && s->after.at[j - 1] >= from)
		found = s->after.at[j - 1];
	else if (i > 0 && s->before.at[i - 1] >= from)
		found = s->before.at[i - 1];
	if (unseen >= from && (found < 0 || unseen > found))
		return s->capped ? -1 : -2;
	return found;
}

/* The match that is asked for, -1 = there is none, -2 = not known yet. */
static int64_t next_match(const struct xf_tui_view *view)
{
	const struct xf_tui_search *s = &view->search;
	int64_t count = xf_tui_model_count(&view->model), at = view->position;
	int64_t from = s->stay ? at : at + 1, found;

	if (s->wanted > 0) {
		found = first_match(s, from, count);
		return found == -1 ? first_match(s, 0, from < count ? from : count) : found;
	}
	found = last_match(s, 0, at);
	return found == -1 ? last_match(s, at, count) : found;
}

/* Moves the cursor to the matches that were asked for, as far as they are known. */
static void resolve(struct xf_tui_view *view)
{
	struct xf_tui_search *s = &view->search;

	while (s->wanted && view->position >= 0) {
		int64_t found = next_match(view);

		if (found == -2)
			return;
		if (found < 0)
			xf_tui_say(view->ui, true, "not found: %s", s->text);
		else
			xf_tui_move(view, found);
		s->wanted = found < 0 ? 0 : s->wanted > 0 ? s->wanted - 1 : s->wanted + 1;
		s->stay = false;
		view->ui->dirty = true;
	}
}

int xf_tui_search_work(struct xf_tui_view *view, int64_t nanoseconds, struct xf_error *err)
{
	struct xf_tui_search *s = &view->search;
	int64_t start = xf_clock_ns();
	int more = 1;

	if (!s->on)
		return 0;
	if (s->generation != view->model.generation)
		begin(view);
	while (more > 0) {
		resolve(view);
		if (xf_clock_ns() - start > nanoseconds)
			return 1;
		more = look(view, err);
	}
	if (more == 0)
		resolve(view);
	return more;
}

bool xf_tui_search_row(const struct xf_tui_view *view, int64_t position)
{
	bool there = false;

	if (!view->search.on)
		return false;
	rank(&view->search.after, position, &there);
	if (!there)
		rank(&view->search.before, position, &there);
	return there;
}

void xf_tui_search_status(const struct xf_tui_view *view, char *text, size_t size)
{
	const struct xf_tui_search *s = &view->search;
	int64_t count = xf_tui_model_count(&view->model), seen = s->ahead - s->start + s->behind;
	bool before, after, more = !s->capped && seen < count;
	size_t i = rank(&s->before, view->position, &before);
	size_t j = rank(&s->after, view->position, &after), total = s->before.n + s->after.n;
	char progress[40] = "";

	if (more)
		snprintf(progress, sizeof(progress), " so far (%d%% looked at)",
			(int)(seen * 100 / count));
	else if (s->capped)
		snprintf(progress, sizeof(progress), " or more");
	if (before || after)
		snprintf(text, size, "/%s %zu of %zu%s", s->text,
			before ? i + 1 : s->before.n + j + 1, total, progress);
	else
		snprintf(text, size, "/%s %zu found%s", s->text, total, progress);
}
