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
#include "schemas/xen.h"

#define FEW    8  /* fewer samples than that show nothing */
#define CUT    20 /* what takes so many times the median was interrupted: the vCPU did not run */
#define SLOW   3  /* a fork that took so many times what the others let expect slept */
#define PREFIX 500000 /* events that are searched for hypercalls of one entry */

struct measure {
	struct xf_policy_forks *forks;
	struct xf_units *units;
	struct xf_samples emulate, step, batch, single;
	bool train;		    /* the fork at hand is one to measure on */
	struct xf_samples own;	    /* of one fork */
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

/* An emulated write: the time since the one before says what that cost, or the step, or a batch. */
static int emulated(struct measure *m, struct between *b, int64_t tsc, uint64_t page)
{
	double cycles = (double)(tsc - b->tsc);
	int code = 0;

	if (b->open && !b->others && cycles > 0) {
		if (page == b->page && !b->batches) {
			code = sample(m, &m->own, cycles);
		} else if (!m->train) {
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

static int look_at(struct measure *m, sqlite3_stmt *stmt, const struct xf_policy_fork *f)
{
	struct between b = {0};
	int code = 0;

	sqlite3_bind_int64(stmt, 1, f->first_event);
	sqlite3_bind_int64(stmt, 2, f->last_event);
	sqlite3_bind_int64(stmt, 3, f->domid);
	sqlite3_bind_int64(stmt, 4, f->vcpu);
	while (!code && (code = xf_db_step(stmt, m->err)) == 1) {
		int kind = sqlite3_column_int(stmt, 1);

		code = 0;
		if (kind == XF_EMULATE) {
			code = emulated(m, &b, sqlite3_column_int64(stmt, 0),
				(uint64_t)sqlite3_column_int64(stmt, 2) >> 12);
		} else if (kind == XF_BATCH) {
			b.batches++;
			b.entries += (uint64_t)sqlite3_column_int64(stmt, 3);
		} else {
			b.others++;
		}
	}
	sqlite3_reset(stmt);
	return code;
}

/* The forks that are measured, one by one. */
static int walk(struct measure *m, sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	int code = xf_db_prepare(db, &stmt,
		"SELECT e.tsc, t.kind, e.va, e.count FROM event e JOIN event_type t ON t.type = e.type"
		" JOIN event_place p ON p.place = e.place WHERE e.event_id BETWEEN ?1 AND ?2"
		" AND p.domid = ?3 AND p.vcpu = ?4 ORDER BY e.event_id",
		m->err);

	for (size_t i = 0; i < m->forks->nforks && !code; i++) {
		struct xf_policy_fork *f = &m->forks->forks[i];
		struct xf_summary own;

		m->train = f->train;
		code = look_at(m, stmt, f);
		if (!code && f->train)
			for (size_t k = 0; k < m->own.n && !code; k++)
				code = sample(m, &m->emulate, m->own.values[k]);
		own = xf_samples_describe(&m->own, CUT);
		m->own.n = 0;
		f->nemulate = own.n >= FEW ? own.n : 0;
		f->emulate = own.mean;
		if (!f->train || f->unhooks)
			continue;
		m->emulations += f->emulations;
		m->pages += f->pages;
		m->emulate_cycles += f->cycles;
	}
	sqlite3_finalize(stmt);
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

/* Hypercalls of one entry that a fault's handler makes last: until it returns. */
static int singles(struct measure *m, sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	struct xf_map last = {0}; /* place -> TSC of a hypercall of one entry */
	int code = xf_db_prepare(db, &stmt,
		"SELECT e.tsc, t.kind, e.place, e.count, t.raw_id FROM event e JOIN event_type t"
		" ON t.type = e.type ORDER BY e.event_id LIMIT ?",
		m->err);

	if (!code)
		sqlite3_bind_int64(stmt, 1, PREFIX);
	while (!code && (code = xf_db_step(stmt, m->err)) == 1) {
		int kind = sqlite3_column_int(stmt, 1);
		uint64_t *tsc = xf_map_put(&last, (uint64_t)sqlite3_column_int64(stmt, 2));

		code = tsc ? 0 : xf_fail_nomem(m->err);
		if (!code && kind == XF_IRET && *tsc)
			code = sample(m, &m->single,
				(double)sqlite3_column_int64(stmt, 0) - (double)*tsc);
		/* not those inside of a multicall */
		if (!code)
			*tsc = kind == XF_BATCH && sqlite3_column_int64(stmt, 3) == 1 &&
					       sqlite3_column_int64(stmt, 4) != XF_RECORD_SUBCALL
				       ? (uint64_t)sqlite3_column_int64(stmt, 0)
				       : 0;
	}
	sqlite3_finalize(stmt);
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
	xf_samples_free(&m.own);
	return code;
}
