// SPDX-License-Identifier: GPL-2.0-or-later
/* xenfault policy: its parts as tables.  In: priced forks.  Out: rows, one table for each part. */
#include <math.h>
#include <string.h>

#include "cli/policy.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A number, or nothing where it is not known. */
static void real(struct xf_out *out, bool known, double value)
{
	if (known && isfinite(value))
		xf_out_real(out, value);
	else
		xf_out_null(out);
}

static void text(struct xf_out *out, const char *value)
{
	if (*value)
		xf_out_text(out, value);
	else
		xf_out_null(out);
}

/* A table being written, and how many rows --limit leaves. */
struct table {
	struct xf_out *out;
	const struct xf_policy *p;
	int64_t left; /* negative = all */
};

static bool more(struct table *t)
{
	if (!t->left || xf_out_failed(t->out))
		return false;
	if (t->left > 0)
		t->left--;
	return true;
}

static const struct xf_column cost_columns[] = {
	{"mechanism", NULL, 10, XF_CELL_TEXT},
	{"n", NULL, 4, XF_CELL_INT},
	{"total", NULL, 12, XF_CELL_REAL},
	{"per_fork", NULL, 11, XF_CELL_REAL},
	{"per_page", NULL, 10, XF_CELL_REAL},
	{"relative", NULL, 9, XF_CELL_REAL},
	{"break_even", NULL, 10, XF_CELL_REAL},
	{"bound", NULL, 5, XF_CELL_TEXT},
	{"unit", NULL, 6, XF_CELL_TEXT},
	{"reason", NULL, 0, XF_CELL_TEXT},
};

static void cost_row(struct table *t, const char *name, int n, const struct xf_price *price,
	const struct xf_price *even)
{
	const struct xf_policy *p = t->p;
	struct xf_out *out = t->out;
	struct xf_price emulate =
		xf_policy_price(&p->units, &p->forks, NULL, XF_POLICY_EMULATE, 0, p->cpus);

	if (!more(t))
		return;
	xf_out_text(out, name);
	if (n)
		xf_out_int(out, n);
	else
		xf_out_null(out);
	real(out, price->known, price->value);
	real(out, price->known && p->nforks, price->value / (double)p->nforks);
	real(out, price->known && p->pages, price->value / (double)p->pages);
	real(out, price->known && emulate.known && emulate.value > 0, price->value / emulate.value);
	real(out, even && even->known, even ? even->value : 0);
	text(out, price->known ? xf_policy_bound(price->bound) : "");
	xf_out_text(out, p->unit);
	text(out, !price->known ? price->why : even && !even->known ? even->why : "");
}

static void costs(struct table *t)
{
	const struct xf_policy *p = t->p;
	double unhooks = p->units.cost[XF_UNIT_UNHOOKS].value;
	struct xf_price price = {.known = p->scale > 0, .value = p->cycles * p->scale};

	if (!price.known)
		snprintf(price.why, sizeof(price.why), "the TSC frequency is unknown: --cpu-hz");
	cost_row(t, "recorded", 0, &price, NULL);
	price = xf_policy_predict(&p->units, &p->forks, NULL);
	cost_row(t, "predicted", 0, &price, NULL);
	for (int m = 0; m < XF_POLICY_COUNT; m++) {
		struct xf_price even = xf_policy_break_even(&p->units, m, unhooks, p->cpus);

		for (unsigned n = 1; m == XF_POLICY_HYBRID && n <= p->most; n++) {
			price = xf_policy_price(&p->units, &p->forks, NULL, m, n, p->cpus);
			cost_row(t, xf_policy_name(m), (int)n, &price, NULL);
		}
		if (m == XF_POLICY_HYBRID)
			continue;
		price = xf_policy_price(&p->units, &p->forks, NULL, m, 0, p->cpus);
		cost_row(t, xf_policy_name(m), 0, &price, m == XF_POLICY_EMULATE ? NULL : &even);
	}
}

static const struct xf_column unit_columns[] = {
	{"name", NULL, 8, XF_CELL_TEXT},
	{"value", NULL, 12, XF_CELL_REAL},
	{"spread", NULL, 11, XF_CELL_REAL},
	{"samples", NULL, 8, XF_CELL_INT},
	{"bound", NULL, 5, XF_CELL_TEXT},
	{"unit", NULL, 6, XF_CELL_TEXT},
	{"source", NULL, 0, XF_CELL_TEXT},
};

static void units(struct table *t)
{
	const struct xf_policy *p = t->p;
	struct xf_out *out = t->out;

	for (int i = 0; i < XF_UNITS && more(t); i++) {
		const struct xf_unit_cost *c = &p->units.cost[i];

		xf_out_text(out, xf_unit_info[i].name);
		real(out, c->known, c->value);
		real(out, c->known && c->spread > 0, c->spread);
		if (c->known && c->samples)
			xf_out_int(out, (int64_t)c->samples);
		else
			xf_out_null(out);
		text(out, c->known ? xf_policy_bound(c->bound) : "");
		text(out, xf_unit_info[i].time ? p->unit : "");
		xf_out_text(out, c->how);
	}
}

static const struct xf_column histogram_columns[] = {
	{"ptes", NULL, 6, XF_CELL_INT},
	{"pages", NULL, 9, XF_CELL_INT},
};

static void histogram(struct table *t)
{
	const struct xf_policy *p = t->p;
	struct xf_out *out = t->out;

	for (unsigned n = 0; n <= p->most; n++) {
		uint64_t pages = xf_policy_pages(p, n, n);

		if (!pages || !more(t))
			continue;
		xf_out_int(out, n);
		xf_out_int(out, (int64_t)pages);
	}
}

static const struct xf_column fork_columns[] = {
	{"fork_id", "fork", 5, XF_CELL_INT},
	{"pt_pages", "pages", 5, XF_CELL_INT},
	{"ptes", NULL, 6, XF_CELL_INT},
	{"recorded", NULL, 10, XF_CELL_REAL},
	{"predicted", NULL, 10, XF_CELL_REAL},
	{"unhook", NULL, 10, XF_CELL_REAL},
	{"emulate", NULL, 10, XF_CELL_REAL},
	{"batch_page", "batch", 9, XF_CELL_REAL},
	{"break_even", "even", 5, XF_CELL_REAL},
	{"batch_32", NULL, 10, XF_CELL_REAL},
	{"readonly", NULL, 10, XF_CELL_REAL},
	{"unhooks_per_page", NULL, 10, XF_CELL_REAL},
	{"own_emulate", NULL, 10, XF_CELL_REAL},
	{"own_page", NULL, 10, XF_CELL_REAL},
};

/* One fork with the unit costs of all; its break-even with its own where it shows them. */
static void fork_row(
	struct xf_out *out, const struct xf_policy *p, const struct xf_policy_fork *f, bool all)
{
	static const enum xf_policy_id order[] = {XF_POLICY_UNHOOK, XF_POLICY_EMULATE,
		XF_POLICY_BATCH_PAGE, XF_POLICY_BATCH_32, XF_POLICY_READONLY};
	double unhooks = f->unhooked_pages ? (double)f->unhooks / (double)f->unhooked_pages
					   : p->units.cost[XF_UNIT_UNHOOKS].value;
	struct xf_units own = p->units;
	struct xf_price price[COUNT(order)], predicted, even;

	if (p->units.cost[XF_UNIT_UNHOOKS].given)
		unhooks = p->units.cost[XF_UNIT_UNHOOKS].value;
	/* a profile's machine is another one */
	if (!p->profile)
		xf_policy_fork_units(&own, f, p->scale);
	even = xf_policy_break_even(&own, XF_POLICY_UNHOOK, unhooks, p->cpus);
	predicted = xf_policy_predict(&p->units, &p->forks, f);
	for (size_t i = 0; i < COUNT(order); i++)
		price[i] = xf_policy_price(&p->units, &p->forks, f, order[i], 0, p->cpus);
	xf_out_int(out, f->id);
	xf_out_int(out, (int64_t)f->pages);
	xf_out_int(out, (int64_t)f->ptes);
	real(out, p->scale > 0, f->cycles * p->scale);
	real(out, predicted.known, predicted.value);
	for (size_t i = 0; i < 3; i++)
		real(out, price[i].known, price[i].value);
	real(out, even.known, even.value);
	if (!all)
		return;
	for (size_t i = 3; i < COUNT(order); i++)
		real(out, price[i].known, price[i].value);
	real(out, f->unhooked_pages || p->units.cost[XF_UNIT_UNHOOKS].known, unhooks);
	real(out, !p->profile && f->nemulate, f->emulate * p->scale);
	real(out,
		own.cost[XF_UNIT_PAGE].known && own.cost[XF_UNIT_PAGE].samples == f->unhooks &&
			f->unhooks && !f->left_out && !p->profile,
		own.cost[XF_UNIT_PAGE].value);
}

static void forks(struct table *t, bool all)
{
	const struct xf_policy_forks *forks_of = &t->p->forks;

	for (size_t i = 0; i < forks_of->nforks; i++)
		if (forks_of->forks[i].priced && more(t))
			fork_row(t->out, t->p, &forks_of->forks[i], all);
}

static const struct xf_column fit_columns[] = {
	{"series", NULL, 8, XF_CELL_TEXT},
	{"mechanism", NULL, 9, XF_CELL_TEXT},
	{"pages", NULL, 7, XF_CELL_REAL},
	{"ptes", NULL, 5, XF_CELL_REAL},
	{"published", NULL, 10, XF_CELL_REAL},
	{"fitted", NULL, 10, XF_CELL_REAL},
	{"error_percent", "off %", 6, XF_CELL_REAL},
	{"straight", "lines", 10, XF_CELL_REAL},
	{"straight_error_percent", "off %", 6, XF_CELL_REAL},
};

static void fit(struct table *t)
{
	const struct xf_policy *p = t->p;
	struct xf_out *out = t->out;

	const struct xf_profile *profile = p->profile;

	for (size_t i = 0; i < profile->npoints && more(t); i++) {
		const struct xf_point *point = &profile->points[i];

		xf_out_text(out, profile->series[point->series]);
		xf_out_text(out, xf_policy_name(point->mechanism));
		real(out, point->pages > 0, point->pages);
		xf_out_real(out, point->ptes);
		xf_out_real(out, point->time);
		xf_out_real(out, point->fitted);
		xf_out_real(out, 100 * (point->fitted / point->time - 1));
		real(out, profile->has_straight, point->straight);
		real(out, profile->has_straight, 100 * (point->straight / point->time - 1));
	}
}

int xf_policy_rows(const struct xf_policy *p, const char *part, struct xf_error *err)
{
	enum xf_format format = p->options->format;
	const struct xf_column *columns = cost_columns;
	size_t n = COUNT(cost_columns);
	struct table table = {.p = p, .left = p->options->limit};
	struct xf_out *out;
	bool all = format != XF_FORMAT_TEXT;
	int code;

	if (!strcmp(part, "units")) {
		columns = unit_columns;
		n = COUNT(unit_columns);
	} else if (!strcmp(part, "histogram")) {
		columns = histogram_columns;
		n = COUNT(histogram_columns);
	} else if (!strcmp(part, "forks")) {
		columns = fork_columns;
		n = all ? COUNT(fork_columns) : 9;
	} else if (!strcmp(part, "fit")) {
		columns = fit_columns;
		n = COUNT(fit_columns);
	} else if (!all) {
		xf_policy_text(p);
		return 0;
	}
	code = xf_out_new(&out, stdout, format, columns, n, err);
	if (code)
		return code;
	table.out = out;
	xf_out_header(out);
	if (columns == unit_columns)
		units(&table);
	else if (columns == histogram_columns)
		histogram(&table);
	else if (columns == fork_columns)
		forks(&table, all);
	else if (columns == fit_columns)
		fit(&table);
	else
		costs(&table);
	return xf_out_close(out, err);
}
