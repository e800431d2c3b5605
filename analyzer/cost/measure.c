// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unit costs as a capture shows them.  In: its forks and the records behind them.
 * Out: cycles, with spread and number of samples; or why it does not show them.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/cost/fit.h"
#include "analyzer/cost/policy.h"
#include "common/map.h"
#include "schemas/db.h"
#include "schemas/event.h"
#include "schemas/scan.h"
#include "schemas/xen.h"

#define FEW    8  /* fewer samples than that show nothing */
#define CUT    20 /* what takes so many times the median was interrupted: the vCPU did not run */
#define SLOW   3  /* a fork that took so many times what the others let expect slept */
#define PREFIX 500000 /* events that are searched for hypercalls of one entry */

struct measure {
	struct xf_policy_forks *forks;
	struct xf_units *units;
	struct xf_samples emulate, step, batch, single;
	double batch_entries;	    /* of all samples of batch */
	uint64_t emulations, pages; /* of forks that only emulate */
	double emulate_cycles;	    /* their time */
	struct xf_error *err;
};

static void set(struct xf_units *u, enum xf_unit unit, double value, double spread,
	uint64_t samples, enum xf_bound bound, const char *format, ...)
	__attribute__((format(printf, 7, 8)));

static void set(struct xf_units *u, enum xf_unit unit, double value, double spread,
	uint64_t samples, enum xf_bound bound, const char *format, ...)
{
	struct xf_unit_cost *c = &u->cost[unit];
	va_list ap;

	*c = (struct xf_unit_cost){.known = true,
		.value = value,
		.spread = spread,
		.samples = samples,
		.bound = bound};
	va_start(ap, format);
	vsnprintf(c->how, sizeof(c->how), format, ap);
	va_end(ap);
}

static void unknown(struct xf_units *u, enum xf_unit unit, const char *why)
{
	u->cost[unit] = (struct xf_unit_cost){.known = false};
	snprintf(u->cost[unit].how, sizeof(u->cost[unit].how), "%s", why);
}

static int sample(struct measure *m, struct xf_samples *to, double cycles)
{
	return xf_samples_add(to, cycles) ? 0 : xf_fail_nomem(m->err);
}

/* What lies between two emulated writes of one vCPU. */
struct between {
	bool open; /* there was a write */
	int64_t tsc;
	uint64_t page;
	unsigned batches, others;
	uint64_t entries;
};

/* A fork while its records go by. */
struct passing {
	struct xf_policy_fork *fork;
	struct between between;
	struct xf_samples own; /* emulated writes */
};

/* An emulated write: the time since the one before says what that cost, or the step, or a batch. */
static int emulated(struct measure *m, struct passing *p, int64_t tsc, uint64_t page)
{
	struct between *b = &p->between;
	double cycles = (double)(tsc - b->tsc);
	int code = 0;

	if (b->open && !b->others && cycles > 0) {
		if (page == b->page && !b->batches) {
			code = sample(m, &p->own, cycles);
		} else if (!p->fork->train) {
			/* only its own mean is asked for */
		} else if (page != b->page) {
			code = sample(m, &m->step, cycles);
		} else if (b->batches == 1 && b->entries > 1) {
			m->batch_entries += (double)b->entries;
			code = sample(m, &m->batch, cycles);
		}
	}
	*b = (struct between){.open = true, .tsc = tsc, .page = page};
	return code;
}

/* The forks in the order in which they begin, and those of them that are under way. */
struct walk {
	struct xf_policy_fork **order;
	size_t next, n;
	struct passing *passing;
	size_t npassing, room;
};

static int look_at(struct measure *m, struct passing *p, const struct xf_event *event)
{
	struct between *b = &p->between;

	if (xf_record_is_point(event->raw_id))
		return 0;
	if (event->kind == XF_EMULATE)
		return emulated(m, p, (int64_t)event->tsc, event->va >> 12);
	if (event->kind == XF_BATCH) {
		b->batches++;
		b->entries += event->count;
	} else {
		b->others++;
	}
	return 0;
}

/* All of a fork was seen. */
static int passed(struct measure *m, struct passing *p)
{
	struct xf_policy_fork *f = p->fork;
	struct xf_summary own;
	int code = 0;

	if (f->train)
		for (size_t k = 0; k < p->own.n && !code; k++)
			code = sample(m, &m->emulate, p->own.values[k]);
	own = xf_samples_describe(&p->own, CUT);
	xf_samples_free(&p->own);
	f->nemulate = own.n >= FEW ? own.n : 0;
	f->emulate = own.mean;
	if (!f->train || f->unhooks)
		return code;
	m->emulations += f->emulations;
	m->pages += f->pages;
	m->emulate_cycles += f->cycles;
	return code;
}

static int begin(struct measure *m, struct walk *w)
{
	if (w->npassing == w->room) {
		size_t room = w->room ? 2 * w->room : 16;
		struct passing *more = realloc(w->passing, room * sizeof(*more));

		if (!more)
			return xf_fail_nomem(m->err);
		w->passing = more;
		w->room = room;
	}
	w->passing[w->npassing++] = (struct passing){.fork = w->order[w->next++]};
	return 0;
}

/* One event, for the forks that are under way; begins and ends them. */
static int event_of_walk(
	struct measure *m, struct walk *w, int64_t id, const struct xf_event *event)
{
	int code = 0;

	while (!code && w->next < w->n && w->order[w->next]->first_event <= id)
		code = begin(m, w);
	for (size_t i = 0; i < w->npassing && !code;) {
		struct passing *p = &w->passing[i];
		const struct xf_policy_fork *f = p->fork;

		if (event->has & XF_HAS_OWNER && event->domid == f->domid &&
			event->vcpu == f->vcpu && id <= f->last_event)
			code = look_at(m, p, event);
		if (code || id < f->last_event) {
			i++;
			continue;
		}
		code = passed(m, p);
		*p = w->passing[--w->npassing];
	}
	return code;
}

static int by_first_event(const void *a, const void *b)
{
	const struct xf_policy_fork *x = *(struct xf_policy_fork *const *)a;
	const struct xf_policy_fork *y = *(struct xf_policy_fork *const *)b;

	if (x->first_event != y->first_event)
		return x->first_event < y->first_event ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int scan_forks(
	struct measure *m, struct walk *w, struct xf_event_scan *scan, struct xf_error *err)
{
	struct xf_event event;
	int64_t id;
	int code = 0;

	while (!code && (w->npassing || w->next < w->n)) {
		/* between two forks nothing is looked at */
		if (!w->npassing)
			code = xf_event_scan_skip(scan, w->order[w->next]->first_event, err);
		if (!code)
			code = xf_event_scan_next(scan, &id, &event, err);
		if (code != 1)
			break;
		code = event_of_walk(m, w, id, &event);
	}
	while (!code && w->npassing)
		code = passed(m, &w->passing[--w->npassing]);
	return code;
}

/* The forks that are measured, in one pass over their events. */
static int walk(struct measure *m, sqlite3 *db)
{
	struct walk w = {.n = m->forks->nforks};
	struct xf_event_scan scan = {0};
	int code;

	if (!w.n)
		return 0;
	w.order = malloc(w.n * sizeof(struct xf_policy_fork *));
	if (!w.order)
		return xf_fail_nomem(m->err);
	for (size_t i = 0; i < w.n; i++)
		w.order[i] = &m->forks->forks[i];
	qsort(w.order, w.n, sizeof(struct xf_policy_fork *), by_first_event);
	code = xf_event_scan_open(&scan, db, w.order[0]->first_event, INT64_MAX, true, m->err);
	if (!code)
		code = scan_forks(m, &w, &scan, m->err);
	xf_event_scan_close(&scan);
	while (w.npassing)
		xf_samples_free(&w.passing[--w.npassing].own);
	free(w.passing);
	free(w.order);
	return code;
}

static void emulation(struct measure *m)
{
	struct xf_summary s = xf_samples_describe(&m->emulate, CUT);
	struct xf_summary step = xf_samples_describe(&m->step, 0);
	const struct xf_unit_cost *e = &m->units->cost[XF_UNIT_EMULATE];
	struct xf_units *u = m->units;
	double rest;

	if (s.n < FEW) {
		unknown(u, XF_UNIT_EMULATE, "no runs of emulated writes in the forks here");
		unknown(u, XF_UNIT_STEP, "no forks by emulation here");
		unknown(u, XF_UNIT_OTHER, "no forks by emulation here");
		return;
	}
	set(u, XF_UNIT_EMULATE, s.mean, s.deviation, s.n, XF_EXACT,
		"mean, write to write in a page; %zu over %d medians left out", s.left_out, CUT);
	if (step.n >= FEW)
		set(u, XF_UNIT_STEP, step.mean - e->value, step.deviation, step.n, XF_EXACT,
			"mean, page to page, less one emulated write");
	else
		unknown(u, XF_UNIT_STEP, "no forks of several pages by emulation here");
	if (!m->emulations || step.n < FEW) {
		unknown(u, XF_UNIT_OTHER, "no forks of several pages by emulation here");
		return;
	}
	rest = m->emulate_cycles - (double)m->emulations * e->value -
	       (double)m->pages * u->cost[XF_UNIT_STEP].value;
	set(u, XF_UNIT_OTHER, rest / (double)m->emulations, 0, m->emulations, XF_EXACT,
		"rest of the forks' time: interrupts, the child's tables, waiting");
}

/*
 * Unhook to rehook over forks: time = unhooks * page + PTEs * entry, errors relative to the time, so
 * that a fork that took too long weighs little.  Such forks are then left out.
 */
static bool fit_hooks(struct measure *m, double *c, double *errors, size_t *equations)
{
	bool fits = false;

	for (int round = 0; round < 3; round++) {
		struct xf_fit fit = {.unknowns = 2};

		for (size_t i = 0; i < m->forks->nforks; i++) {
			struct xf_policy_fork *f = &m->forks->forks[i];
			double a[] = {(double)f->unhooks, (double)f->ptes};

			f->left_out = f->unhooks && (f->emulations || f->cycles <= 0);
			if (fits && f->unhooks && f->cycles > SLOW * (a[0] * c[0] + a[1] * c[1]))
				f->left_out = true;
			if (f->train && f->unhooks && !f->left_out)
				xf_fit_add(&fit, a, f->cycles, 1 / (f->cycles * f->cycles));
		}
		*equations = fit.equations;
		fits = fit.equations >= FEW && xf_fit_solve(&fit, c, errors) && c[0] > 0 &&
		       c[1] > 0;
		if (!fits)
			break;
	}
	return fits;
}

static void hooks(struct measure *m)
{
	double c[XF_FIT_MAX], errors[XF_FIT_MAX];
	uint64_t unhooks = 0, pages = 0, left_out = 0;
	size_t equations;
	bool fits = fit_hooks(m, c, errors, &equations);

	for (size_t i = 0; i < m->forks->nforks; i++) {
		const struct xf_policy_fork *f = &m->forks->forks[i];

		if (!f->train)
			continue;
		unhooks += f->unhooks;
		pages += f->unhooked_pages;
		left_out += f->left_out;
	}
	if (pages)
		set(m->units, XF_UNIT_UNHOOKS, (double)unhooks / (double)pages, 0, pages, XF_EXACT,
			"mean over the pages unhooked here; each fork has its own");
	if (!fits) {
		const char *why = unhooks ? "too few unlike forks that only unhook"
					  : "nothing unhooks in the forks here";

		unknown(m->units, XF_UNIT_PAGE, why);
		unknown(m->units, XF_UNIT_ENTRY, why);
		return;
	}
	set(m->units, XF_UNIT_PAGE, c[0], errors[0], equations, XF_EXACT,
		"least squares over forks, %llu left out: emulate too, or slept",
		(unsigned long long)left_out);
	set(m->units, XF_UNIT_ENTRY, c[1], errors[1], equations, XF_EXACT, "from the same fit");
}

/* CPUs that a flush for a hook hits. */
static int flushes(struct measure *m, sqlite3 *db)
{
	int64_t cpus = 0, n = 0;
	int code =
		xf_db_int(db, "SELECT ifnull(sum(cpus), 0) FROM flush WHERE cpus", &cpus, m->err);

	if (!code)
		code = xf_db_int(
			db, "SELECT ifnull(sum(flushes), 0) FROM flush WHERE cpus", &n, m->err);
	m->units->cpus = n ? (unsigned)lround((double)cpus / (double)n) : 0;
	unknown(m->units, XF_UNIT_FLUSH,
		n ? "--units-of a capture with other CPUs can tell" : "no flush for a hook here");
	return code;
}

/* Where an event was, as one number. */
static uint64_t place_of(const struct xf_event *e)
{
	uint64_t owner = (uint64_t)e->domid << 48 | (uint64_t)e->vcpu << 32 | 1u << 31;

	return e->has & XF_HAS_OWNER ? owner | e->pcpu : e->pcpu;
}

/* Hypercalls of one entry that a fault's handler makes last: until it returns. */
static int singles(struct measure *m, sqlite3 *db)
{
	struct xf_event_scan scan;
	struct xf_map last = {0}; /* place -> TSC of a hypercall of one entry */
	struct xf_event e;
	int64_t id;
	int code = xf_event_scan_open(&scan, db, INT64_MIN, INT64_MAX, true, m->err);

	for (int i = 0; i < PREFIX && !code; i++) {
		uint64_t *tsc;

		code = xf_event_scan_next(&scan, &id, &e, m->err);
		if (code != 1)
			break;
		code = 0;
		if (xf_record_is_point(e.raw_id))
			continue;
		tsc = xf_map_put(&last, place_of(&e));
		code = tsc ? 0 : xf_fail_nomem(m->err);
		if (!code && e.kind == XF_IRET && *tsc)
			code = sample(m, &m->single, (double)(int64_t)e.tsc - (double)*tsc);
		/* not those inside of a multicall */
		if (!code)
			*tsc = e.kind == XF_BATCH && e.count == 1 && e.raw_id != XF_RECORD_SUBCALL
				       ? e.tsc
				       : 0;
	}
	xf_event_scan_close(&scan);
	xf_map_free(&last);
	return code;
}

/* A hypercall of many entries in a run of emulated writes, and one of one: a straight line. */
static int batches(struct measure *m, sqlite3 *db)
{
	static const char none[] = "no batch amid emulated writes to a page here";
	struct xf_units *u = m->units;
	struct xf_summary many, one;
	double entries, call, batched;
	int code = 0;

	many = xf_samples_describe(&m->batch, CUT);
	entries = m->batch.n ? m->batch_entries / (double)m->batch.n : 0;
	if (many.n >= FEW && u->cost[XF_UNIT_EMULATE].known)
		code = singles(m, db);
	one = xf_samples_describe(&m->single, CUT);
	many.mean -= u->cost[XF_UNIT_EMULATE].value;
	batched = entries > 1 ? (many.mean - one.mean) / (entries - 1) : 0;
	call = one.mean - batched;
	if (code || many.n < FEW || one.n < FEW || !(batched > 0 && call > 0)) {
		const char *why = many.n < FEW || one.n < FEW
					  ? none
					  : "batches of many cost no more than one entry here";

		unknown(u, XF_UNIT_CALL, why);
		unknown(u, XF_UNIT_BATCHED, why);
		unknown(u, XF_UNIT_READONLY, why);
		return code;
	}
	/* the way back to the next record is in it */
	set(u, XF_UNIT_CALL, call, one.deviation, one.n, XF_AT_MOST,
		"a hypercall of one entry to the handler's return, less the entry");
	set(u, XF_UNIT_BATCHED, batched, many.deviation / entries, many.n, XF_AT_MOST,
		"%.0f entries between two emulated writes, less those and call", entries);
	set(u, XF_UNIT_READONLY, call, one.deviation, one.n, XF_ABOUT,
		"as call; what Xen would do in it is not known");
	return 0;
}

int xf_policy_measure(
	sqlite3 *db, struct xf_policy_forks *forks, struct xf_units *units, struct xf_error *err)
{
	struct measure m = {.forks = forks, .units = units, .err = err};
	int code;

	xf_policy_units_init(units);
	code = walk(&m, db);
	if (!code) {
		emulation(&m);
		hooks(&m);
		code = flushes(&m, db);
	}
	if (!code)
		code = batches(&m, db);
	xf_samples_free(&m.emulate);
	xf_samples_free(&m.step);
	xf_samples_free(&m.batch);
	xf_samples_free(&m.single);
	return code;
}
