// SPDX-License-Identifier: GPL-2.0-or-later
/* xenfault policy for people.  In: priced forks.  Out: text of 80 columns on stdout. */
#include <stdio.h>
#include <string.h>

#include "cli/policy.h"

/* "<=123.4", or "-". */
static const char *number(char text[32], bool known, enum xf_bound bound, double value, int digits)
{
	if (known)
		snprintf(text, 32, "%s%.*f", xf_policy_bound(bound), digits, value);
	else
		strcpy(text, "-");
	return text;
}

static void head(const struct xf_policy *p)
{
	xf_print(stdout, "%llu forks, %llu page-table pages, %llu PTEs; times in %s.\n",
		(unsigned long long)p->nforks, (unsigned long long)p->pages,
		(unsigned long long)p->ptes, p->unit);
	if (p->forks.incomplete)
		xf_print(stdout,
			"%llu forks that a loss or the end of the capture cuts are left out.\n",
			(unsigned long long)p->forks.incomplete);
	if (p->forks.dark)
		xf_print(stdout,
			"%llu forks by shadow paging are left out: no record says how many entries\n"
			"changed in a page.\n",
			(unsigned long long)p->forks.dark);
}

static void units(const struct xf_policy *p)
{
	char value[32], spread[32], samples[32];

	xf_print(stdout, "\nUnit costs: %s\n", p->source);
	xf_print(stdout, "%-8s %12s %11s %8s  %s\n", "unit", "cost", "spread", "samples", "of");
	for (int i = 0; i < XF_UNITS; i++) {
		const struct xf_unit_cost *c = &p->units.cost[i];
		int digits = xf_unit_info[i].time && strcmp(p->unit, "us") ? 0 : 3;

		snprintf(samples, sizeof(samples), c->known && c->samples ? "%llu" : "-",
			(unsigned long long)c->samples);
		xf_print(stdout, "%-8s %12s %11s %8s  %s\n", xf_unit_info[i].name,
			c->known ? number(value, true, c->bound, c->value, digits) : "unknown",
			number(spread, c->known && c->spread > 0, XF_EXACT, c->spread, digits),
			samples, xf_unit_info[i].what);
		xf_print(stdout, "         %s\n", c->how);
	}
}

static void cost(const struct xf_policy *p, const char *name, const struct xf_price *price,
	const struct xf_price *even)
{
	struct xf_price emulate =
		xf_policy_price(&p->units, &p->forks, NULL, XF_POLICY_EMULATE, 0, p->cpus);
	char total[32], fork[32], page[32], relative[32], at[32];

	if (!price->known) {
		xf_print(stdout, "%-12s unknown (%s)\n", name, price->why);
		return;
	}
	number(total, true, price->bound, price->value, 0);
	number(fork, p->nforks, XF_EXACT, price->value / (double)p->nforks, 1);
	number(page, p->pages, XF_EXACT, price->value / (double)p->pages, 1);
	number(relative, emulate.known && emulate.value > 0, XF_EXACT, price->value / emulate.value,
		3);
	number(at, even && even->known, even ? even->bound : XF_EXACT, even ? even->value : 0, 1);
	xf_print(stdout, "%-12s %14s %12s %12s %10s %12s\n", name, total, fork, page, relative, at);
}

/* Few of the many N: powers of two, and the cheapest. */
static void hybrids(const struct xf_policy *p)
{
	struct xf_price price = {0};
	unsigned best = 0;
	double least = 0;
	char name[32];

	for (unsigned n = 1; n <= p->most; n++) {
		price = xf_policy_price(&p->units, &p->forks, NULL, XF_POLICY_HYBRID, n, p->cpus);
		if (!price.known)
			break;
		if (!best || price.value < least) {
			best = n;
			least = price.value;
		}
	}
	if (!best) {
		if (p->most)
			cost(p, "hybrid N", &price, NULL);
		return;
	}
	for (unsigned n = 1; n <= p->most; n++) {
		if (n & (n - 1) && n != best)
			continue;
		price = xf_policy_price(&p->units, &p->forks, NULL, XF_POLICY_HYBRID, n, p->cpus);
		snprintf(name, sizeof(name), "hybrid %u%s", n, n == best ? " *" : "");
		cost(p, name, &price, NULL);
	}
	xf_print(stdout,
		"hybrid N emulates the first N writes to a page, then unhooks it; * = cheapest N.\n");
}

static void table(const struct xf_policy *p)
{
	double unhooks = p->units.cost[XF_UNIT_UNHOOKS].value, slept = 0;
	unsigned n = 0;
	struct xf_price price = {.known = p->scale > 0, .value = p->cycles * p->scale}, even;

	if (!price.known)
		snprintf(price.why, sizeof(price.why), "the TSC frequency, see --cpu-hz");
	xf_print(stdout, "\n%-12s %14s %12s %12s %10s %12s\n", "mechanism", "total", "per fork",
		"per page", "/ emulate", "even at PTEs");
	for (int m = 0; m < XF_POLICY_COUNT; m++) {
		struct xf_price cost_of;

		if (m == XF_POLICY_HYBRID)
			continue;
		cost_of = xf_policy_price(&p->units, &p->forks, NULL, m, 0, p->cpus);
		even = xf_policy_break_even(&p->units, m, unhooks, p->cpus);
		cost(p, xf_policy_name(m), &cost_of, m == XF_POLICY_EMULATE ? NULL : &even);
	}
	hybrids(p);
	cost(p, "recorded", &price, NULL);
	price = xf_policy_predict(&p->units, &p->forks, NULL);
	cost(p, "predicted", &price, NULL);
	xf_print(stdout,
		"recorded: forks from first to last record; predicted: that, by these unit costs.\n");
	for (size_t i = 0; i < p->forks.nforks; i++) {
		const struct xf_policy_fork *f = &p->forks.forks[i];

		n += f->priced && f->left_out && !f->emulations;
		slept += f->priced && f->left_out && !f->emulations ? f->cycles : 0;
	}
	if (n)
		xf_print(stdout,
			"%u of these forks, recorded as %.0f %s, slept with a page unhooked.\n", n,
			slept * p->scale, p->unit);
}

static void smp(const struct xf_policy *p)
{
	const struct xf_unit_cost *r = &p->units.cost[XF_UNIT_UNHOOKS];
	const struct xf_unit_cost *flush = &p->units.cost[XF_UNIT_FLUSH];

	xf_print(stdout, "\nCPUs: each unhook and each rehook flushes");
	if (p->units.cpus)
		xf_print(stdout, ", on %u CPU%s where that was measured", p->units.cpus,
			p->units.cpus == 1 ? "" : "s");
	xf_print(stdout, "%s\n", p->cpus || flush->known ? "." : ";");
	if (p->cpus)
		xf_print(stdout, "priced for flushes on %u.\n", p->cpus);
	else if (!flush->known)
		xf_print(stdout, "a further CPU's cost is unknown (%s).\n", flush->how);
	xf_print(stdout,
		"One active page per domain: a page was unhooked %s%.2f times in a fork.\n",
		r->bound == XF_EXACT ? "" : "at least ", r->value);
}

static void histogram(const struct xf_policy *p)
{
	static const char bar[] = "########################################";
	struct xf_price even = xf_policy_break_even(
		&p->units, XF_POLICY_UNHOOK, p->units.cost[XF_UNIT_UNHOOKS].value, p->cpus);

	xf_print(stdout, "\n%-12s %9s  %7s\n", "PTEs of page", "pages", "share");
	for (unsigned low = 0, high = 0; low <= p->most;
		low = high + 1, high = low ? 2 * low - 1 : 1) {
		uint64_t n = xf_policy_pages(p, low, high);
		char range[32];

		if (!n)
			continue;
		snprintf(range, sizeof(range), low == high ? "%u" : "%u-%u", low, high);
		xf_print(stdout, "%-12s %9llu  %6.1f%%  %.*s\n", range, (unsigned long long)n,
			100.0 * (double)n / (double)p->pages, (int)(40 * n / p->pages), bar);
	}
	if (even.known) {
		uint64_t n = xf_policy_pages(p, (unsigned)even.value + 1, UINT32_MAX);

		xf_print(stdout,
			"Break-even: unhooking pays from %s%.2f PTEs per page on: %llu of %llu pages.\n",
			xf_policy_bound(even.bound), even.value, (unsigned long long)n,
			(unsigned long long)p->pages);
	} else {
		xf_print(stdout, "Break-even: unknown (%s)\n", even.why);
	}
}

static void fit(const struct xf_profile *profile)
{
	double worst = 0;

	for (size_t i = 0; i < profile->npoints; i++) {
		double error = profile->points[i].straight / profile->points[i].time - 1;

		if (error > worst)
			worst = error;
	}
	xf_print(stdout,
		"\nFit of %zu published points: each within %.1f %%.  A straight line through those of\n"
		"few entries per page fits them to %.1f %%, but is %.0f %% over where pages are full\n"
		"(--part fit shows all points).\n",
		profile->npoints, 100 * profile->model.worst, 100 * profile->straight.worst,
		100 * worst);
}

void xf_policy_text(const struct xf_policy *p)
{
	head(p);
	units(p);
	if (p->profile && p->profile->npoints && p->profile->has_straight)
		fit(p->profile);
	table(p);
	smp(p);
	if (p->pages)
		histogram(p);
}
