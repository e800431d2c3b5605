// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first guess of a clock.  In: page faults of the log and of the capture, times of two clocks.
 * Out: how the one runs against the other.
 *
 * ROW faults of a vCPU in a row, that stand once in the log and once in the capture, are the same ones. The
 * line through such pairs is found by medians, which a minority of wrong ones does not move.  Of long logs
 * a part is taken, chosen by the rows' hashes, so that it is the same part on both sides.
 */
#include <math.h>
#include <stdlib.h>

#include "collector/guest/state.h"
#include "schemas/scan.h"

#define ROW	 4
#define MOST	 65536 /* rows of each side that are kept */
#define FEWEST	 8     /* pairs that make a clock */
#define ROUNDS	 8
#define REPEATED (1ull << 63)

/* The last faults of each vCPU, and where which row stood. */
struct side {
	struct xf_map vcpus; /* number -> struct tail */
	struct xf_map rows;  /* hash -> time, REPEATED */
	uint64_t mask;	     /* rows whose hash has none of these bits are kept */
};

struct tail {
	uint64_t hashes[ROW];
	unsigned n;
};

struct pair {
	double time, tsc, residual;
	bool in;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	/* the finalizer of MurmurHash3: the two sides only have to agree with each other */
	hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
	hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
	return hash ^ hash >> 33;
}

/* Keeps half as many. */
static void thin(struct side *s)
{
	size_t cursor = 0;
	uint64_t hash, time;

	s->mask = 2 * s->mask + 1;
	while (xf_map_next(&s->rows, &cursor, &hash, &time))
		if (hash & s->mask)
			xf_map_remove(&s->rows, hash);
}

static int add(struct side *s, const struct xf_guest_fault *fault, struct xf_error *err)
{
	struct tail *tail = xf_map_object(&s->vcpus, fault->vcpu, sizeof(*tail));
	uint64_t hash = 0, *slot;

	if (!tail)
		return xf_fail_nomem(err);
	tail->hashes[tail->n++ % ROW] = mix(mix(fault->error_code, fault->va), fault->rip);
	if (tail->n < ROW)
		return 0;
	for (unsigned i = 0; i < ROW; i++)
		hash = mix(hash, tail->hashes[(tail->n + i) % ROW]);
	hash = mix(hash, fault->vcpu);
	if (hash & s->mask)
		return 0;
	slot = xf_map_put(&s->rows, hash);
	if (!slot)
		return xf_fail_nomem(err);
	*slot = *slot ? *slot | REPEATED : fault->time;
	while (s->rows.count > MOST)
		thin(s);
	return 0;
}

static void free_side(struct side *s)
{
	size_t cursor = 0;
	uint64_t key, value;

	while (xf_map_next(&s->vcpus, &cursor, &key, &value))
		free((void *)(uintptr_t)value);
	xf_map_free(&s->vcpus);
	xf_map_free(&s->rows);
}

static int read_capture(struct xf_guest *g, struct side *s)
{
	struct xf_event_scan scan;
	struct xf_event event;
	int64_t id;
	int code = xf_event_scan_open(&scan, g->db, 1, INT64_MAX, true, g->err);

	while (!code && (code = xf_event_scan_next(&scan, &id, &event, g->err)) == 1) {
		struct xf_guest_fault fault = {
			event.tsc, event.va, event.rip, event.vcpu, event.error_code};

		code = xf_guest_check_stop(g, (unsigned long)id);
		if (!code && xf_guest_faulted(g, &event))
			code = add(s, &fault, g->err);
	}
	xf_event_scan_close(&scan);
	return code;
}

static int read_log(struct xf_guest *g, struct side *s)
{
	struct xf_guest_fault fault;
	int code = xf_ftrace_rewind(g->log, g->err);

	while (!code && (code = xf_guest_logged_fault(g, &fault)) == 1)
		code = add(s, &fault, g->err);
	return code;
}

static int by_time(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), by_value);
	return values[n / 2];
}

/* Rows that stand once on each side; times count from those of the first pair. */
static size_t pair_up(
	struct side *log, struct side *capture, struct pair *pairs, struct xf_guest_clock *clock)
{
	size_t cursor = 0, n = 0;
	uint64_t hash, time, *slot;

	while (xf_map_next(&log->rows, &cursor, &hash, &time)) {
		slot = xf_map_get(&capture->rows, hash);
		if (!slot || (*slot | time) & REPEATED)
			continue;
		if (!n) {
			clock->zero = time;
			clock->tsc = *slot;
		}
		pairs[n].time = (double)(int64_t)(time - clock->zero);
		pairs[n++].tsc = (double)(int64_t)(*slot - clock->tsc);
	}
	qsort(pairs, n, sizeof(*pairs), by_time);
	return n;
}

/* The median of slopes over half of the time; 0 = none. */
static double slope_of(const struct pair *pairs, size_t n, double *values)
{
	size_t half = n / 2, found = 0;

	for (size_t i = 0; i + half < n; i++) {
		double span = pairs[i + half].time - pairs[i].time;

		if (span > 0)
			values[found++] = (pairs[i + half].tsc - pairs[i].tsc) / span;
	}
	return found ? median(values, found) : 0;
}

/* The straight line of least squares through those that are in. */
static bool regress(const struct pair *pairs, size_t n, double *offset, double *rate)
{
	double x = 0, y = 0, xx = 0, xy = 0, m = 0;

	for (size_t i = 0; i < n; i++) {
		if (!pairs[i].in)
			continue;
		m++;
		x += pairs[i].time;
		y += pairs[i].tsc;
	}
	if (m < FEWEST)
		return false;
	x /= m;
	y /= m;
	for (size_t i = 0; i < n; i++) {
		if (!pairs[i].in)
			continue;
		xx += (pairs[i].time - x) * (pairs[i].time - x);
		xy += (pairs[i].time - x) * (pairs[i].tsc - y);
	}
	if (xx <= 0)
		return false;
	*rate = xy / xx;
	*offset = y - *rate * x;
	return true;
}

/* The line that most pairs lie near to; values: room for n. */
static bool line_through(struct pair *pairs, size_t n, double *values, double *offset, double *rate)
{
	*rate = slope_of(pairs, n, values);
	if (*rate <= 0)
		return false;
	for (size_t i = 0; i < n; i++)
		values[i] = pairs[i].tsc - *rate * pairs[i].time;
	*offset = median(values, n);
	for (int round = 0; round < ROUNDS; round++) {
		double near;
		size_t in = 0;

		for (size_t i = 0; i < n; i++) {
			pairs[i].residual = fabs(pairs[i].tsc - *offset - *rate * pairs[i].time);
			values[i] = pairs[i].residual;
		}
		near = 4 * median(values, n) + 1;
		for (size_t i = 0; i < n; i++)
			in += pairs[i].in = pairs[i].residual <= near;
		if (in < n / 2 || !regress(pairs, n, offset, rate))
			return false;
	}
	return true;
}

int xf_guest_anchor(struct xf_guest *g, struct xf_guest_clock *clock)
{
	struct side log = {0}, capture = {0};
	struct pair *pairs = NULL;
	double *values = NULL, offset, rate;
	size_t n = 0;
	int code = read_capture(g, &capture);

	log.mask = capture.mask;
	if (!code)
		code = read_log(g, &log);
	if (!code) {
		pairs = calloc(log.rows.count + 1, sizeof(*pairs));
		values = calloc(log.rows.count + 1, sizeof(*values));
		if (!pairs || !values)
			code = xf_fail_nomem(g->err);
		else
			n = pair_up(&log, &capture, pairs, clock);
	}
	if (!code && n >= FEWEST && line_through(pairs, n, values, &offset, &rate) &&
		fabs(offset) < 9e18) {
		clock->tsc += (uint64_t)(int64_t)offset;
		clock->rate = rate;
		code = 1;
	}
	free(pairs);
	free(values);
	free_side(&log);
	free_side(&capture);
	return code;
}
