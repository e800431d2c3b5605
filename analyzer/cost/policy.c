// SPDX-License-Identifier: GPL-2.0-or-later
/* Prices forks.  In: the tables fork and sequence, unit costs.  Out: totals, break-even. */
#include "analyzer/cost/policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/db.h"

#define FULL_PAGE 512

const struct xf_unit_info xf_unit_info[XF_UNITS] = {
#define X(id, name, time, what) [XF_UNIT_##id] = {name, time, what},
	XF_POLICY_UNITS(X)
#undef X
};

const char *xf_policy_name(enum xf_policy_id mechanism)
{
	static const char *const names[XF_POLICY_COUNT] = {
#define X(id, name) [XF_POLICY_##id] = name,
		XF_POLICIES(X)
#undef X
	};

	return names[mechanism];
}

static void *grow(void *array, size_t n, size_t size, struct xf_error *err)
{
	/* by powers of two */
	void *more = n & (n - 1) ? array : realloc(array, (n ? 2 * n : 1) * size);

	if (!more)
		xf_fail_nomem(err);
	return more;
}

static bool passes(
	const struct xf_policy_filter *f, const struct xf_policy_fork *fork, uint64_t tsc_start)
{
	return (f->domid < 0 || fork->domid == f->domid) &&
	       (f->vcpu < 0 || fork->vcpu == f->vcpu) && (f->fork < 0 || fork->id == f->fork) &&
	       tsc_start >= f->from && tsc_start <= f->to;
}

static int load_forks(sqlite3 *db, const struct xf_policy_filter *filter, struct xf_policy_forks *p,
	struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(db, &stmt,
		"SELECT fork_id, ifnull(domid, -1), ifnull(vcpu, -1), tsc_end - tsc_start, first_event,"
		" last_event, unhooks, emulations, complete, mechanism = 'oos', tsc_start"
		" FROM fork ORDER BY fork_id",
		err);

	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		struct xf_policy_fork f = {
			.id = sqlite3_column_int64(stmt, 0),
			.domid = sqlite3_column_int64(stmt, 1),
			.vcpu = sqlite3_column_int64(stmt, 2),
			.cycles = sqlite3_column_double(stmt, 3),
			.first_event = sqlite3_column_int64(stmt, 4),
			.last_event = sqlite3_column_int64(stmt, 5),
			.unhooks = (uint64_t)sqlite3_column_int64(stmt, 6),
			.emulations = (uint64_t)sqlite3_column_int64(stmt, 7),
		};
		struct xf_policy_fork *forks;

		code = 0;
		f.train = f.priced = passes(filter, &f, (uint64_t)sqlite3_column_int64(stmt, 10));
		if (!sqlite3_column_int(stmt, 8) || sqlite3_column_int(stmt, 9)) {
			p->dark += f.priced && sqlite3_column_int(stmt, 9);
			p->incomplete += f.priced && !sqlite3_column_int(stmt, 9);
			continue;
		}
		if (filter->train) {
			f.train = f.id < XF_CPULIST_MAX &&
				  xf_cpulist_has(filter->train, (unsigned)f.id);
			f.priced &= !f.train;
		} else {
			f.train = true;
		}
		forks = grow(p->forks, p->nforks, sizeof(f), err);
		if (!forks) {
			code = -XF_INTERNAL;
			break;
		}
		p->forks = forks;
		p->forks[p->nforks++] = f;
	}
	sqlite3_finalize(stmt);
	return code;
}

/* One page of a fork: to the fork's sums, and to its last bin if that has as many entries. */
static int add_page(struct xf_policy_forks *p, struct xf_policy_fork *f, sqlite3_stmt *row,
	struct xf_error *err)
{
	unsigned ptes = (unsigned)sqlite3_column_int64(row, 1);
	struct xf_bin *bins;

	f->pages++;
	f->ptes += ptes;
	f->unhooked_pages += (uint64_t)sqlite3_column_int64(row, 2);
	if (f->nbins && p->bins[p->nbins - 1].ptes == ptes) {
		p->bins[p->nbins - 1].pages++;
		return 0;
	}
	bins = grow(p->bins, p->nbins, sizeof(*bins), err);
	if (!bins)
		return -XF_INTERNAL;
	p->bins = bins;
	if (!f->nbins)
		f->first_bin = p->nbins;
	f->nbins++;
	p->bins[p->nbins++] = (struct xf_bin){ptes, 1};
	return 0;
}

int xf_policy_load(sqlite3 *db, const struct xf_policy_filter *filter, struct xf_policy_forks *p,
	struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	size_t at = 0;
	int code = load_forks(db, filter, p, err);

	/* a page that was unhooked again in the same fork is one page */
	if (!code)
		code = xf_db_prepare(db, &stmt,
			"SELECT fork_id, sum(ptes) AS n, max(unhooks > 0) FROM sequence"
			" WHERE fork_id IS NOT NULL GROUP BY fork_id, ifnull(pt_page, frame)"
			" ORDER BY fork_id, n",
			err);
	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		int64_t id = sqlite3_column_int64(stmt, 0);

		code = 0;
		while (at < p->nforks && p->forks[at].id < id)
			at++;
		if (at < p->nforks && p->forks[at].id == id)
			code = add_page(p, &p->forks[at], stmt, err);
	}
	sqlite3_finalize(stmt);
	return code;
}

void xf_policy_free(struct xf_policy_forks *p)
{
	free(p->forks);
	free(p->bins);
	*p = (struct xf_policy_forks){0};
}

void xf_policy_units_init(struct xf_units *u)
{
	*u = (struct xf_units){0};
	for (int i = 0; i < XF_UNITS; i++)
		snprintf(u->cost[i].how, sizeof(u->cost[i].how), "not given");
	u->cost[XF_UNIT_EXPONENT] = (struct xf_unit_cost){
		.known = true, .value = 1, .how = "assumed: each entry costs the same"};
	u->cost[XF_UNIT_UNHOOKS] = (struct xf_unit_cost){.known = true,
		.value = 1,
		.bound = XF_AT_LEAST,
		.how = "assumed: nothing here unhooks"};
}

/* CPUs beyond those that the unhook and the rehook were measured on. */
static double further(const struct xf_units *u, unsigned cpus)
{
	return cpus ? (double)cpus - (u->cpus ? u->cpus : 1) : 0;
}

/* A page to be priced. */
struct load {
	const struct xf_unit_cost *cost;
	double ptes, unhooks;
	double cpus; /* beyond those that the units were measured on */
	unsigned n;  /* of the hybrid */
};

typedef double page_cost(const struct load *l);

static double unhook(const struct load *l)
{
	/* each unhook flushes, and so does each rehook */
	return l->unhooks *
		       (l->cost[XF_UNIT_PAGE].value + 2 * l->cost[XF_UNIT_FLUSH].value * l->cpus) +
	       l->cost[XF_UNIT_ENTRY].value * pow(l->ptes, l->cost[XF_UNIT_EXPONENT].value);
}

static double emulate(const struct load *l)
{
	return l->ptes * l->cost[XF_UNIT_EMULATE].value;
}

/* The page is unhooked at the write after the first n. */
static double hybrid(const struct load *l)
{
	if (l->ptes <= l->n)
		return emulate(l);
	return l->n * l->cost[XF_UNIT_EMULATE].value + unhook(l);
}

static double batch_page(const struct load *l)
{
	return l->cost[XF_UNIT_CALL].value + l->cost[XF_UNIT_BATCHED].value * l->ptes;
}

static double batch_32(const struct load *l)
{
	return ceil(l->ptes / 32) * l->cost[XF_UNIT_CALL].value +
	       l->cost[XF_UNIT_BATCHED].value * l->ptes;
}

static double readonly(const struct load *l)
{
	return l->cost[XF_UNIT_READONLY].value;
}

#define BIT(unit) (1u << XF_UNIT_##unit)
#define UNHOOKING (BIT(PAGE) | BIT(ENTRY) | BIT(EXPONENT) | BIT(UNHOOKS))

/* What a page costs by each mechanism, and the units that this takes. */
static const struct {
	page_cost *page;
	unsigned needs;
	bool flushes; /* so that more CPUs cost more */
} policies[XF_POLICY_COUNT] = {
	[XF_POLICY_UNHOOK] = {unhook, UNHOOKING, true},
	[XF_POLICY_EMULATE] = {emulate, BIT(EMULATE), false},
	[XF_POLICY_HYBRID] = {hybrid, UNHOOKING | BIT(EMULATE), true},
	[XF_POLICY_BATCH_PAGE] = {batch_page, BIT(CALL) | BIT(BATCHED), false},
	[XF_POLICY_BATCH_32] = {batch_32, BIT(CALL) | BIT(BATCHED), false},
	[XF_POLICY_READONLY] = {readonly, BIT(READONLY), false},
};

double xf_policy_page(const struct xf_units *u, enum xf_policy_id mechanism, unsigned n,
	double ptes, double unhooks, unsigned cpus)
{
	const struct load load = {u->cost, ptes, unhooks, further(u, cpus), n};

	return policies[mechanism].page(&load);
}

static unsigned needed(enum xf_policy_id mechanism, const struct xf_units *u, unsigned cpus)
{
	bool flush = policies[mechanism].flushes && further(u, cpus) != 0;

	return policies[mechanism].needs | (flush ? BIT(FLUSH) : 0);
}

/* Are the units known?  Else why says which one is missing. */
static struct xf_price start_price(const struct xf_units *u, unsigned need)
{
	struct xf_price price = {.known = true};

	for (int i = 0; i < XF_UNITS; i++) {
		const struct xf_unit_cost *c = &u->cost[i];

		if (!(need >> i & 1))
			continue;
		if (!c->known && price.known) {
			price.known = false;
			snprintf(price.why, sizeof(price.why), "%s: %s", xf_unit_info[i].name,
				c->how);
		}
		if (c->bound != XF_EXACT)
			price.bound = c->bound;
	}
	return price;
}

/* Unhooks of each page: as the fork shows them, unless the user has said otherwise. */
static double unhooks_of(const struct xf_units *u, const struct xf_policy_fork *f)
{
	const struct xf_unit_cost *c = &u->cost[XF_UNIT_UNHOOKS];

	if (c->given || !f->unhooked_pages)
		return c->value;
	return (double)f->unhooks / (double)f->unhooked_pages;
}

static double price_fork(const struct xf_units *u, const struct xf_policy_forks *p,
	const struct xf_policy_fork *f, enum xf_policy_id mechanism, unsigned n, unsigned cpus)
{
	double sum = 0, unhooks = unhooks_of(u, f);

	for (size_t i = 0; i < f->nbins; i++) {
		const struct xf_bin *bin = &p->bins[f->first_bin + i];

		sum += (double)bin->pages *
		       xf_policy_page(u, mechanism, n, bin->ptes, unhooks, cpus);
	}
	return sum;
}

struct xf_price xf_policy_price(const struct xf_units *u, const struct xf_policy_forks *p,
	const struct xf_policy_fork *fork, enum xf_policy_id mechanism, unsigned n, unsigned cpus)
{
	unsigned need = needed(mechanism, u, cpus);
	struct xf_price price;
	size_t priced = 0;
	bool shown = true;

	for (size_t i = 0; i < p->nforks; i++) {
		const struct xf_policy_fork *f = &p->forks[i];

		if (fork ? f != fork : !f->priced)
			continue;
		priced++;
		shown &= f->unhooked_pages > 0;
	}
	/* forks that show their own unhooks need no assumption */
	price = start_price(u, priced && shown ? need & ~BIT(UNHOOKS) : need);
	if (!priced) {
		price = (struct xf_price){.known = false};
		snprintf(price.why, sizeof(price.why), "no fork to price");
	}
	for (size_t i = 0; i < p->nforks && price.known; i++)
		if (fork ? &p->forks[i] == fork : p->forks[i].priced)
			price.value += price_fork(u, p, &p->forks[i], mechanism, n, cpus);
	return price;
}

struct xf_price xf_policy_predict(const struct xf_units *u, const struct xf_policy_forks *p,
	const struct xf_policy_fork *fork)
{
	const struct xf_unit_cost *c = u->cost;
	unsigned need = 0;
	struct xf_price price;
	double sum = 0;

	for (size_t i = 0; i < p->nforks; i++) {
		const struct xf_policy_fork *f = &p->forks[i];
		double hooked =
			(double)(f->ptes - (f->emulations < f->ptes ? f->emulations : f->ptes));

		if (fork ? f != fork : !f->priced)
			continue;
		if (f->unhooks) {
			need |= BIT(PAGE) | BIT(ENTRY);
			sum += (double)f->unhooks * c[XF_UNIT_PAGE].value +
			       hooked * c[XF_UNIT_ENTRY].value;
		}
		if (f->emulations) {
			need |= BIT(EMULATE);
			sum += (double)f->emulations * c[XF_UNIT_EMULATE].value;
		}
		/* of an unhooking fork the fit has it in `page` and `entry` */
		if (!f->unhooks) {
			need |= BIT(STEP) | BIT(OTHER);
			sum += (double)f->pages * c[XF_UNIT_STEP].value +
			       (double)f->emulations * c[XF_UNIT_OTHER].value;
		}
	}
	price = start_price(u, need);
	price.known &= need != 0;
	if (!need)
		snprintf(price.why, sizeof(price.why), "no fork to price");
	price.value = sum;
	return price;
}

struct xf_price xf_policy_break_even(
	const struct xf_units *u, enum xf_policy_id mechanism, double unhooks, unsigned cpus)
{
	struct xf_price price = start_price(u, needed(mechanism, u, cpus) | BIT(EMULATE));
	double below = 0, above = 0.01;

	if (!price.known)
		return price;
#define DEARER(x)                                              \
	(xf_policy_page(u, mechanism, 0, (x), unhooks, cpus) > \
		xf_policy_page(u, XF_POLICY_EMULATE, 0, (x), unhooks, cpus))
	while (above <= FULL_PAGE && DEARER(above)) {
		below = above;
		above *= 1.01;
	}
	if (above > FULL_PAGE) {
		price.known = false;
		snprintf(price.why, sizeof(price.why), "dearer up to a full page of %d entries",
			FULL_PAGE);
		return price;
	}
	for (int i = 0; i < 50; i++) {
		double middle = (below + above) / 2;

		if (DEARER(middle))
			below = middle;
		else
			above = middle;
	}
#undef DEARER
	price.value = above;
	return price;
}

void xf_policy_fork_units(struct xf_units *u, const struct xf_policy_fork *f, double scale)
{
	struct xf_unit_cost *e = &u->cost[XF_UNIT_EMULATE], *page = &u->cost[XF_UNIT_PAGE];
	const struct xf_unit_cost *entry = &u->cost[XF_UNIT_ENTRY];

	if (f->nemulate && !e->given) {
		*e = (struct xf_unit_cost){.known = true,
			.value = f->emulate * scale,
			.samples = f->nemulate,
			.how = "this fork's own"};
	}
	if (f->unhooks && !f->emulations && !f->left_out && entry->known && !page->given) {
		double rest = f->cycles * scale - entry->value * (double)f->ptes;

		if (rest > 0)
			*page = (struct xf_unit_cost){.known = true,
				.value = rest / (double)f->unhooks,
				.samples = f->unhooks,
				.how = "this fork's own"};
	}
}

void xf_policy_borrow(struct xf_units *u, const struct xf_units *other)
{
	const struct xf_unit_cost *mine = &u->cost[XF_UNIT_PAGE];
	const struct xf_unit_cost *theirs = &other->cost[XF_UNIT_PAGE];

	if (mine->known && theirs->known && u->cpus && other->cpus && u->cpus != other->cpus &&
		!u->cost[XF_UNIT_FLUSH].known) {
		double value =
			(mine->value - theirs->value) / 2 / ((double)u->cpus - (double)other->cpus);
		struct xf_unit_cost *flush = &u->cost[XF_UNIT_FLUSH];

		flush->known = value > 0;
		flush->value = value;
		flush->spread = hypot(mine->spread, theirs->spread) / 2;
		flush->samples = 2;
		snprintf(flush->how, sizeof(flush->how),
			value > 0 ? "page on %u CPUs less page on %u, over their flushes"
				  : "page costs no more on %u CPUs than on %u",
			u->cpus, other->cpus);
	}
	if (!mine->known && theirs->known) {
		u->cpus = other->cpus;
		u->cost[XF_UNIT_UNHOOKS] = other->cost[XF_UNIT_UNHOOKS];
		u->cost[XF_UNIT_EXPONENT] = other->cost[XF_UNIT_EXPONENT];
	}
	for (int i = 0; i < XF_UNITS; i++)
		if (!u->cost[i].known && other->cost[i].known)
			u->cost[i] = other->cost[i];
}
