// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profiles.  In: their text.  Out: unit costs, fitted by least squares of relative errors.
 *
 * A point's time is base + pages * (page + entry * ptes ^ exponent) where pages are unhooked, and
 * base + pages * ptes * emulate where writes are emulated.  With exponent and unsaid pages fixed that
 * is linear; those two are searched for around it.
 */
#include "analyzer/cost/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/cost/fit.h"

struct xf_profile_text {
	const char *name, *text;
};

/* made from examples/profiles/ */
extern const struct xf_profile_text xf_profile_texts[];

const char *xf_profile_builtin(const char *name)
{
	for (const struct xf_profile_text *t = xf_profile_texts; t->name; t++)
		if (!strcmp(t->name, name))
			return t->text;
	return NULL;
}

const char *xf_profile_name(size_t i)
{
	return xf_profile_texts[i].name;
}

/* Few entries: the points that straight lines are drawn through. */
static bool is_few(const struct xf_profile *p, const struct xf_point *point)
{
	return point->mechanism == XF_POLICY_EMULATE || point->series == p->points[0].series;
}

static double value_at(const struct xf_model *m, const struct xf_point *point)
{
	double pages = point->pages > 0 ? point->pages : m->pages;

	if (point->mechanism == XF_POLICY_EMULATE)
		return m->base[point->series] + pages * point->ptes * m->emulate;
	return m->base[point->series] +
	       pages * (m->page + m->entry * pow(point->ptes, m->exponent));
}

/* The linear part for given m->exponent and m->pages; returns the sum of squared relative errors. */
static double solve(const struct xf_profile *p, struct xf_model *m, bool few)
{
	struct xf_fit fit = {.unknowns = p->nseries + 3};
	double c[XF_FIT_MAX], sum = 0;
	int page = p->nseries, entry = page + 1, emulate = page + 2;

	for (size_t i = 0; i < p->npoints; i++) {
		const struct xf_point *point = &p->points[i];
		double pages = point->pages > 0 ? point->pages : m->pages, a[XF_FIT_MAX] = {0};

		if (few && !is_few(p, point))
			continue;
		a[point->series] = 1;
		if (point->mechanism == XF_POLICY_EMULATE) {
			a[emulate] = pages * point->ptes;
		} else {
			a[page] = pages;
			a[entry] = pages * pow(point->ptes, m->exponent);
		}
		xf_fit_add(&fit, a, point->time, 1 / (point->time * point->time));
	}
	if (!xf_fit_solve(&fit, c, NULL))
		return INFINITY;
	for (int i = 0; i < p->nseries; i++)
		m->base[i] = c[i];
	m->page = c[page];
	m->entry = c[entry];
	m->emulate = c[emulate];
	m->worst = 0;
	for (size_t i = 0; i < p->npoints; i++) {
		double error = value_at(m, &p->points[i]) / p->points[i].time - 1;

		if (few && !is_few(p, &p->points[i]))
			continue;
		sum += error * error;
		if (fabs(error) > m->worst)
			m->worst = fabs(error);
	}
	return sum;
}

#define GOLDEN 0.6180339887498949
#define ROUNDS 60

/* What a search varies: sets the unknown to x, and returns by how much the points are missed then. */
struct search {
	const struct xf_profile *p;
	struct xf_model *m;
	bool few, unsaid;
	double (*at)(const struct search *s, double x);
};

/* Golden section: leaves the model at the x between low and high where the points are missed least. */
static double golden(const struct search *s, double low, double high)
{
	double a = high - GOLDEN * (high - low), b = low + GOLDEN * (high - low);
	double at_a = s->at(s, a), at_b = s->at(s, b);

	for (int i = 0; i < ROUNDS; i++) {
		if (at_a <= at_b) {
			high = b;
			b = a;
			at_b = at_a;
			a = high - GOLDEN * (high - low);
			at_a = s->at(s, a);
		} else {
			low = a;
			a = b;
			at_a = at_b;
			b = low + GOLDEN * (high - low);
			at_b = s->at(s, b);
		}
	}
	return s->at(s, (low + high) / 2);
}

static double at_pages(const struct search *s, double x)
{
	s->m->pages = exp(x);
	return solve(s->p, s->m, s->few);
}

/* Best pages for the model's exponent, where they are not said; sought by their logarithm. */
static double search_pages(const struct xf_profile *p, struct xf_model *m, bool few, bool unsaid)
{
	struct search s = {p, m, few, unsaid, at_pages};

	return unsaid ? golden(&s, log(1), log(1e5)) : solve(p, m, few);
}

static double at_exponent(const struct search *s, double x)
{
	s->m->exponent = x;
	return search_pages(s->p, s->m, s->few, s->unsaid);
}

static void search_exponent(const struct xf_profile *p, struct xf_model *m, bool unsaid)
{
	struct search s = {p, m, false, unsaid, at_exponent};

	golden(&s, 0.2, 1.5);
}

static void set(struct xf_profile *p, enum xf_unit unit, double value)
{
	struct xf_unit_cost *c = &p->units.cost[unit];

	/* what the file gives stands */
	if (c->given)
		return;
	c->known = true;
	c->bound = XF_EXACT;
	c->value = value;
	c->samples = p->npoints;
	snprintf(c->how, sizeof(c->how), "fitted to %zu published points, worst one %.1f %% off",
		p->npoints, 100 * p->model.worst);
}

static int fit(struct xf_profile *p, const char *what, struct xf_error *err)
{
	bool unsaid = false, said = false;
	struct xf_model *m = &p->model;

	for (size_t i = 0; i < p->npoints; i++) {
		unsaid |= p->points[i].pages <= 0;
		said |= p->points[i].pages > 0;
	}
	if (!said)
		return xf_fail(err, XF_FORMAT, "%s: no point says of how many pages it is", what);
	search_exponent(p, m, unsaid);
	if (!(m->page > 0 && m->entry > 0 && m->emulate > 0))
		return xf_fail(err, XF_FORMAT,
			"%s: its points do not determine the costs of pages, entries and emulated writes",
			what);
	p->straight = (struct xf_model){.exponent = 1};
	p->has_straight = isfinite(search_pages(p, &p->straight, true, unsaid));
	for (size_t i = 0; i < p->npoints; i++) {
		p->points[i].fitted = value_at(m, &p->points[i]);
		p->points[i].straight =
			p->has_straight ? value_at(&p->straight, &p->points[i]) : NAN;
	}
	set(p, XF_UNIT_PAGE, m->page);
	set(p, XF_UNIT_ENTRY, m->entry);
	set(p, XF_UNIT_EXPONENT, m->exponent);
	set(p, XF_UNIT_EMULATE, m->emulate);
	return 0;
}

static int series_of(struct xf_profile *p, const char *name)
{
	for (int i = 0; i < p->nseries; i++)
		if (!strcmp(p->series[i], name))
			return i;
	if (p->nseries == XF_PROFILE_SERIES)
		return -1;
	snprintf(p->series[p->nseries], sizeof(p->series[0]), "%s", name);
	return p->nseries++;
}

static bool parse_point(struct xf_profile *p, const char *line)
{
	struct xf_point point = {0};
	char series[32], mechanism[16], pages[32], *end;

	if (p->npoints == XF_PROFILE_POINTS ||
		sscanf(line, "point %31s %15s %31s %lf %lf", series, mechanism, pages, &point.ptes,
			&point.time) != 5)
		return false;
	point.series = series_of(p, series);
	point.mechanism = !strcmp(mechanism, "unhook")	  ? XF_POLICY_UNHOOK
			  : !strcmp(mechanism, "emulate") ? XF_POLICY_EMULATE
							  : XF_POLICY_COUNT;
	if (strcmp(pages, "?")) {
		point.pages = strtod(pages, &end);
		if (*end || !(point.pages > 0) || !isfinite(point.pages))
			return false;
	}
	if (point.series < 0 || point.mechanism == XF_POLICY_COUNT || !(point.ptes > 0) ||
		!(point.time > 0) || !isfinite(point.ptes) || !isfinite(point.time))
		return false;
	p->points[p->npoints++] = point;
	return true;
}

static bool parse_unit(struct xf_profile *p, const char *line)
{
	char name[32];
	double value;

	if (sscanf(line, "unit %31s %lf", name, &value) != 2 || !isfinite(value) || value < 0)
		return false;
	for (int i = 0; i < XF_UNITS; i++) {
		if (strcmp(name, xf_unit_info[i].name))
			continue;
		p->units.cost[i] = (struct xf_unit_cost){.known = true,
			.given = true,
			.value = value,
			.how = "given by the profile"};
		return true;
	}
	return false;
}

static bool parse_line(struct xf_profile *p, const char *line)
{
	char time[8];

	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return true;
	if (!strncmp(line, "point ", 6))
		return parse_point(p, line);
	if (!strncmp(line, "unit ", 5))
		return parse_unit(p, line);
	if (sscanf(line, "time %7s", time) == 1)
		return !strcmp(time, "us");
	if (!strncmp(line, "cpus ", 5))
		return sscanf(line, "cpus %u", &p->units.cpus) == 1 && p->units.cpus > 0;
	return sscanf(line, "name %63s", p->name) == 1;
}

int xf_profile_parse(struct xf_profile *p, const char *text, const char *what, struct xf_error *err)
{
	int number = 0;

	*p = (struct xf_profile){0};
	xf_policy_units_init(&p->units);
	for (int i = 0; i < XF_UNITS; i++)
		if (!p->units.cost[i].known)
			snprintf(p->units.cost[i].how, sizeof(p->units.cost[i].how),
				"the profile does not tell");
	while (*text) {
		size_t length = strcspn(text, "\n");
		char line[256];

		number++;
		if (length >= sizeof(line))
			return xf_fail(err, XF_FORMAT, "%s: line %d is too long", what, number);
		memcpy(line, text, length);
		line[length] = '\0';
		if (!parse_line(p, line))
			return xf_fail(err, XF_FORMAT,
				"%s: line %d is not understood: %.80s (examples/profiles/ shows the form)",
				what, number, line);
		text += length + (text[length] == '\n');
	}
	return p->npoints ? fit(p, what, err) : 0;
}
