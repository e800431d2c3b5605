// SPDX-License-Identifier: GPL-2.0-or-later
/* Two sides against each other.  In: databases.  Out: rows of measures, crossings, verdicts. */
#include "analyzer/diff/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/diff/compare_state.h"
#include "schemas/db.h"
#include "schemas/mechanism.h"

/* A count that has a name: of a kind of event, of a cause. */
struct named {
	enum xf_section section;
	char *name;
	double *values; /* by capture */
};

struct xf_compare {
	struct xf_compare_capture *captures;
	size_t ncaptures;
	struct named *named;
	size_t nnamed;
	struct xf_matching matching;
	struct xf_compare_row *rows;
	size_t nrows, rows_room;
	struct xf_crossing *crossings;
	size_t ncrossings;
	size_t unmatched[XF_SIDES];
	bool us;
};

const char *xf_section_name(enum xf_section section)
{
	static const char *const names[] = {
#define X(id, name) name,
		XF_SECTIONS(X)
#undef X
	};

	return names[section];
}

const char *xf_measure_name(enum xf_measure measure)
{
	static const char *const names[] = {
#define X(id, name) name,
		XF_MEASURES(X)
#undef X
	};

	return names[measure];
}

const char *xf_verdict_name(enum xf_verdict verdict)
{
	static const char *const names[] = {
#define X(id, name) name,
		XF_VERDICTS(X)
#undef X
	};

	return names[verdict];
}

int xf_compare_new(struct xf_compare **compare, struct xf_error *err)
{
	*compare = calloc(1, sizeof(**compare));
	return *compare ? 0 : xf_fail_nomem(err);
}

/* The counter of that name, made if it is new, with room for the capture that is being read. */
static double *count_of(
	struct xf_compare *c, enum xf_section section, const char *name, struct xf_error *err)
{
	struct named *n = NULL;
	double *values;

	for (size_t i = 0; i < c->nnamed && !n; i++)
		if (c->named[i].section == section && !strcmp(c->named[i].name, name))
			n = &c->named[i];
	if (!n) {
		struct named *more = realloc(c->named, (c->nnamed + 1) * sizeof(*more));

		if (!more) {
			xf_fail_nomem(err);
			return NULL;
		}
		c->named = more;
		n = &more[c->nnamed];
		*n = (struct named){section, strdup(name), NULL};
		if (!n->name) {
			xf_fail_nomem(err);
			return NULL;
		}
		c->nnamed++;
	}
	if (!n->values) {
		/* captures beyond the one that has it first count as 0 */
		values = calloc(XF_COMPARE_CAPTURES, sizeof(*values));
		if (!values) {
			xf_fail_nomem(err);
			return NULL;
		}
		n->values = values;
	}
	return &n->values[c->ncaptures];
}

static int read_counts(struct xf_compare *c, enum xf_section section, sqlite3 *db, const char *sql,
	int domid, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int code = xf_db_prepare(db, &stmt, sql, err);

	if (!code)
		sqlite3_bind_int(stmt, 1, domid);
	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		double *count = count_of(c, section, xf_db_text_or(stmt, 0, "unknown"), err);

		code = count ? 0 : -XF_INTERNAL;
		if (count)
			*count += sqlite3_column_double(stmt, 1);
	}
	sqlite3_finalize(stmt);
	return code;
}

static void read_fork(sqlite3_stmt *stmt, struct xf_compare_fork *fork)
{
	static const uint8_t measures[] = {XF_MEASURE_PAGES, XF_MEASURE_PTES, XF_MEASURE_FAULTS,
		XF_MEASURE_UNHOOKS, XF_MEASURE_EMULATIONS, XF_MEASURE_FLUSHES, XF_MEASURE_SPURIOUS,
		XF_MEASURE_COW};
	const char *mechanism = xf_db_text(stmt, 0);

	*fork = (struct xf_compare_fork){.cycles = sqlite3_column_double(stmt, 1),
		.complete = sqlite3_column_int(stmt, 2),
		.mechanism = xf_mechanism_by_name(mechanism)};
	if (fork->mechanism == XF_MECHANISM_COUNT)
		fork->mechanism = XF_BY_MIXED;
	fork->of[XF_MEASURE_NUMBER] = 1;
	for (size_t i = 0; i < sizeof(measures); i++)
		fork->of[measures[i]] = (uint64_t)sqlite3_column_int64(stmt, 3 + (int)i);
	fork->log_pages = log((double)fork->of[XF_MEASURE_PAGES] + 0.5);
	fork->log_ptes = log((double)fork->of[XF_MEASURE_PTES] + 0.5);
}

static int read_forks(
	struct xf_compare_capture *capture, sqlite3 *db, int domid, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	size_t room = 0;
	int code = xf_db_prepare(db, &stmt,
		"SELECT mechanism, tsc_end - tsc_start, complete, pt_pages, ptes, faults, unhooks, emulations,"
		" flushes, spurious, cow_faults FROM forks WHERE ?1 < 0 OR domid = ?1"
		" ORDER BY tsc_start, fork_id",
		err);

	if (!code)
		sqlite3_bind_int(stmt, 1, domid);
	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		if (capture->nforks == room) {
			struct xf_compare_fork *more;

			room = room ? 2 * room : 64;
			more = realloc(capture->forks, room * sizeof(*more));
			if (!more) {
				code = xf_fail_nomem(err);
				break;
			}
			capture->forks = more;
		}
		read_fork(stmt, &capture->forks[capture->nforks++]);
		code = 0;
	}
	sqlite3_finalize(stmt);
	return code;
}

/*
 * Events, and of hypercalls the calls: whether like ones share a row depends on what stands between.
 */
#define COUNT_KINDS                                                                              \
	"SELECT k.name, sum(n) FROM (SELECT type, place, sum(CASE WHEN type IN (SELECT type"     \
	" FROM event_type WHERE name IN ('batch', 'task_switch', 'multicall', 'mmuext', 'iret'," \
	" 'hypercall')) THEN ifnull(arg2, 1) ELSE 1 END) AS n FROM event GROUP BY 1, 2)"         \
	" JOIN event_type t USING (type) JOIN event_kind k USING (kind)"                         \
	" JOIN event_place p USING (place) WHERE ?1 < 0 OR p.domid = ?1 GROUP BY k.kind"

int xf_compare_add(struct xf_compare *c, enum xf_side side, sqlite3 *db, int domid, uint64_t cpu_hz,
	struct xf_error *err)
{
	struct xf_compare_capture *more = realloc(c->captures, (c->ncaptures + 1) * sizeof(*more));
	struct xf_compare_capture *capture;
	int64_t hz = 0;
	int code;

	if (!more)
		return xf_fail_nomem(err);
	c->captures = more;
	if (c->ncaptures == XF_COMPARE_CAPTURES)
		return xf_fail(err, XF_USAGE, "more than %d captures", XF_COMPARE_CAPTURES);
	capture = &more[c->ncaptures];
	*capture = (struct xf_compare_capture){.side = side, .hz = cpu_hz};
	code = xf_db_int(db, "SELECT ifnull((SELECT cpu_hz FROM trace), 0)", &hz, err);
	if (!cpu_hz)
		capture->hz = (uint64_t)hz;
	if (code || (code = read_counts(c, XF_SECTION_KIND, db, COUNT_KINDS, domid, err)) ||
		(code = read_counts(c, XF_SECTION_FLUSH, db,
			 "SELECT cause, sum(flushes) FROM flushes"
			 " WHERE ?1 < 0 OR domid = ?1 GROUP BY 1",
			 domid, err)) ||
		(code = read_counts(c, XF_SECTION_SPURIOUS, db,
			 "SELECT cause, count(*) FROM spurious_faults WHERE ?1 < 0 OR domid = ?1 GROUP BY 1",
			 domid, err)) ||
		(code = read_forks(capture, db, domid, err))) {
		free(capture->forks);
		return code;
	}
	c->ncaptures++;
	return 0;
}

static struct xf_compare_row *new_row(struct xf_compare *c, struct xf_error *err)
{
	if (c->nrows == c->rows_room) {
		size_t room = c->rows_room ? 2 * c->rows_room : 64;
		struct xf_compare_row *more = realloc(c->rows, room * sizeof(*more));

		if (!more) {
			xf_fail_nomem(err);
			return NULL;
		}
		c->rows = more;
		c->rows_room = room;
	}
	c->rows[c->nrows] = (struct xf_compare_row){0};
	return &c->rows[c->nrows++];
}

/* One more capture's value; deviation holds the sum of squares meanwhile (Welford). */
static void add_value(struct xf_spread *s, double value)
{
	double before = value - s->mean;

	s->mean += before / ++s->runs;
	s->deviation += before * (value - s->mean);
}

/* Student's t, two-sided, 95 %. */
static double student(double df)
{
	static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
		2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
		2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

	if (!(df < 30))
		return 1.960;
	return table[df < 1 ? 0 : (int)df - 1];
}

static enum xf_verdict judge(const struct xf_spread *a, const struct xf_spread *b)
{
	double na = a->runs, nb = b->runs, apart = fabs(a->mean - b->mean), error, df, va, vb;

	if (!a->runs && !b->runs)
		return XF_VERDICT_NONE;
	if (!a->runs || !b->runs)
		return XF_VERDICT_ALONE;
	if (apart == 0)
		return XF_VERDICT_EQUAL;
	if (a->runs == 1 && b->runs == 1)
		return XF_VERDICT_NO_SPREAD;
	va = a->deviation * a->deviation;
	vb = b->deviation * b->deviation;
	if (a->runs == 1 || b->runs == 1) {
		/* does the single one lie where one more of the others would? */
		double n = a->runs == 1 ? nb : na;

		error = sqrt((va + vb) * (1 + 1 / n));
		df = n - 1;
	} else {
		va /= na;
		vb /= nb;
		error = sqrt(va + vb);
		df = error > 0 ? (va + vb) * (va + vb) / (va * va / (na - 1) + vb * vb / (nb - 1))
			       : 1;
	}
	return apart > student(df) * error ? XF_VERDICT_BEYOND : XF_VERDICT_WITHIN;
}

static void close_row(struct xf_compare_row *row)
{
	for (int m = 0; m < XF_MEASURE_COUNT; m++) {
		for (int side = 0; side < XF_SIDES; side++) {
			struct xf_spread *s = &row->of[m][side];

			s->deviation = s->runs > 1 ? sqrt(s->deviation / (s->runs - 1)) : 0;
		}
		row->verdict[m] = judge(&row->of[m][XF_SIDE_A], &row->of[m][XF_SIDE_B]);
	}
}

static int named_rows(struct xf_compare *c, enum xf_section section, struct xf_error *err)
{
	for (size_t i = 0; i < c->nnamed; i++) {
		const struct named *n = &c->named[i];
		struct xf_compare_row *row;

		if (n->section != section)
			continue;
		row = new_row(c, err);
		if (!row)
			return -XF_INTERNAL;
		row->section = section;
		row->name[XF_SIDE_A] = row->name[XF_SIDE_B] = n->name;
		for (size_t k = 0; k < c->ncaptures; k++)
			add_value(&row->of[XF_MEASURE_NUMBER][c->captures[k].side], n->values[k]);
		close_row(row);
	}
	return 0;
}

/* Sums over some forks of one capture. */
struct sums {
	double of[XF_MEASURE_COUNT];
};

static void add_fork(const struct xf_compare *c, const struct xf_compare_capture *capture,
	const struct xf_compare_fork *fork, struct sums *sums)
{
	for (int m = 0; m < XF_MEASURE_COUNT; m++)
		sums->of[m] += (double)fork->of[m];
	sums->of[XF_MEASURE_TIME] +=
		c->us ? fork->cycles * 1e6 / (double)capture->hz : fork->cycles;
}

/* One capture's sums become its values in the row; mean: of its forks. */
static void add_sums(
	struct xf_compare_row *row, enum xf_side side, const struct sums *sums, bool mean)
{
	double n = sums->of[XF_MEASURE_NUMBER];

	for (int m = 0; m < XF_MEASURE_COUNT; m++) {
		bool divide = mean && m != XF_MEASURE_NUMBER;

		if (m != XF_MEASURE_PER_PAGE)
			add_value(&row->of[m][side], divide ? sums->of[m] / n : sums->of[m]);
		else if (sums->of[XF_MEASURE_PAGES] > 0)
			add_value(&row->of[m][side],
				sums->of[XF_MEASURE_PTES] / sums->of[XF_MEASURE_PAGES]);
	}
}

/* mechanism == XF_MECHANISM_COUNT: all of them. */
static int mechanism_row(struct xf_compare *c, unsigned mechanism, struct xf_error *err)
{
	struct xf_compare_row *row = new_row(c, err);
	double forks = 0;

	if (!row)
		return -XF_INTERNAL;
	row->section = XF_SECTION_MECHANISM;
	row->name[0] = row->name[1] =
		mechanism < XF_MECHANISM_COUNT ? xf_mechanism_name(mechanism) : "all";
	for (size_t k = 0; k < c->ncaptures; k++) {
		const struct xf_compare_capture *capture = &c->captures[k];
		struct sums sums = {{0}};

		for (size_t i = 0; i < capture->nforks; i++)
			if (mechanism == XF_MECHANISM_COUNT ||
				capture->forks[i].mechanism == mechanism)
				add_fork(c, capture, &capture->forks[i], &sums);
		add_sums(row, capture->side, &sums, false);
		forks += sums.of[XF_MEASURE_NUMBER];
	}
	close_row(row);
	if (forks == 0 && mechanism < XF_MECHANISM_COUNT)
		c->nrows--;
	return 0;
}

static const struct xf_compare_fork *fork_at(const struct xf_compare *c, size_t i, size_t k)
{
	int32_t j = c->matching.at[i * c->ncaptures + k];

	return j < 0 ? NULL : &c->captures[k].forks[j];
}

/* Rows that follow each other and are alike in every capture: shown as one. */
static bool alike(const struct xf_compare *c, size_t i, size_t j)
{
	for (size_t k = 0; k < c->ncaptures; k++) {
		const struct xf_compare_fork *a = fork_at(c, i, k), *b = fork_at(c, j, k);

		if (!a != !b)
			return false;
		if (a && (a->of[XF_MEASURE_PAGES] != b->of[XF_MEASURE_PAGES] ||
				 a->of[XF_MEASURE_PTES] != b->of[XF_MEASURE_PTES] ||
				 a->mechanism != b->mechanism))
			return false;
	}
	return true;
}

static int fork_row(
	struct xf_compare *c, size_t first, size_t last, size_t position, struct xf_error *err)
{
	struct xf_compare_row *row = new_row(c, err);

	if (!row)
		return -XF_INTERNAL;
	row->section = XF_SECTION_FORK;
	row->position = position;
	for (size_t k = 0; k < c->ncaptures; k++) {
		const struct xf_compare_capture *capture = &c->captures[k];
		const struct xf_compare_fork *fork = fork_at(c, first, k);
		struct sums sums = {{0}};

		if (!fork)
			continue;
		if (!row->name[capture->side])
			row->name[capture->side] = xf_mechanism_name(fork->mechanism);
		for (size_t i = first; i <= last; i++)
			add_fork(c, capture, fork_at(c, i, k), &sums);
		add_sums(row, capture->side, &sums, true);
	}
	for (int side = 0; side < XF_SIDES; side++)
		if (!row->name[!side])
			c->unmatched[side] += last - first + 1;
	close_row(row);
	return 0;
}

static int fork_rows(struct xf_compare *c, struct xf_error *err)
{
	int code = xf_compare_match(c->captures, c->ncaptures, &c->matching, err);
	size_t position = 0;

	for (size_t first = 0, last; first < c->matching.nrows && !code; first = last + 1) {
		last = first;
		while (last + 1 < c->matching.nrows && alike(c, first, last + 1))
			last++;
		code = fork_row(c, first, last, ++position, err);
	}
	return code;
}

/* A shape that both sides have by different mechanisms, and the fastest fork of it on either. */
struct contest {
	double pages, per_page, best[XF_SIDES];
	const char *name[XF_SIDES];
};

static int by_shape(const void *a, const void *b)
{
	const struct contest *x = a, *y = b;

	if (x->pages != y->pages)
		return x->pages < y->pages ? -1 : 1;
	return (x->per_page > y->per_page) - (x->per_page < y->per_page);
}

/* How the mechanisms go by name: "mixed" is a hooked fork that was emulated in part. */
static bool rivals(const struct xf_compare_row *row)
{
	return row->section == XF_SECTION_FORK && row->name[0] && row->name[1] &&
	       strcmp(row->name[0], row->name[1]) &&
	       row->of[XF_MEASURE_PAGES][0].mean == row->of[XF_MEASURE_PAGES][1].mean &&
	       row->of[XF_MEASURE_PTES][0].mean == row->of[XF_MEASURE_PTES][1].mean;
}

static size_t contests(const struct xf_compare *c, struct contest *list)
{
	size_t n = 0;

	for (size_t i = 0; i < c->nrows; i++) {
		const struct xf_compare_row *row = &c->rows[i];
		struct contest one = {row->of[XF_MEASURE_PAGES][0].mean,
			row->of[XF_MEASURE_PER_PAGE][0].mean,
			{row->of[XF_MEASURE_TIME][0].mean, row->of[XF_MEASURE_TIME][1].mean},
			{row->name[0], row->name[1]}};
		size_t at = 0;

		if (!rivals(row))
			continue;
		while (at < n && by_shape(&list[at], &one))
			at++;
		if (at == n)
			list[n++] = one;
		for (int side = 0; side < XF_SIDES; side++)
			if (one.best[side] < list[at].best[side])
				list[at].best[side] = one.best[side];
	}
	return n;
}

/* Between neighbouring shapes of the same number of pages one side stops being the cheaper one. */
static int find_crossings(struct xf_compare *c, struct xf_error *err)
{
	struct contest *list = calloc(c->nrows + 1, sizeof(*list));
	size_t n;

	c->crossings = calloc(c->nrows + 1, sizeof(*c->crossings));
	if (!list || !c->crossings) {
		free(list);
		return xf_fail_nomem(err);
	}
	n = contests(c, list);
	qsort(list, n, sizeof(*list), by_shape);
	for (size_t i = 1; i < n; i++) {
		const struct contest *x = &list[i - 1], *y = &list[i];
		double before = x->best[0] - x->best[1], after = y->best[0] - y->best[1];

		if (x->pages != y->pages ||
			!((before < 0 && after > 0) || (before > 0 && after < 0)))
			continue;
		c->crossings[c->ncrossings++] = (struct xf_crossing){(uint64_t)x->pages,
			{y->name[0], y->name[1]}, x->per_page, y->per_page,
			x->per_page + (y->per_page - x->per_page) * before / (before - after),
			before < 0 ? XF_SIDE_A : XF_SIDE_B};
	}
	free(list);
	return 0;
}

int xf_compare_finish(struct xf_compare *c, struct xf_error *err)
{
	int code = 0;

	c->us = true;
	for (size_t k = 0; k < c->ncaptures; k++)
		c->us &= c->captures[k].hz != 0;
	for (int section = XF_SECTION_KIND; section <= XF_SECTION_SPURIOUS && !code; section++)
		code = named_rows(c, (enum xf_section)section, err);
	for (unsigned mechanism = 0; mechanism <= XF_MECHANISM_COUNT && !code; mechanism++)
		code = mechanism_row(c, mechanism, err);
	if (!code)
		code = fork_rows(c, err);
	return code ? code : find_crossings(c, err);
}

const struct xf_compare_row *xf_compare_row(const struct xf_compare *c, size_t i)
{
	return i < c->nrows ? &c->rows[i] : NULL;
}

const struct xf_crossing *xf_compare_crossing(const struct xf_compare *c, size_t i)
{
	return i < c->ncrossings ? &c->crossings[i] : NULL;
}

bool xf_compare_has_us(const struct xf_compare *c)
{
	return c->us;
}

struct xf_compare_total xf_compare_total(const struct xf_compare *c, enum xf_side side)
{
	struct xf_compare_total total = {.unmatched = c->unmatched[side]};

	for (size_t k = 0; k < c->ncaptures; k++) {
		const struct xf_compare_capture *capture = &c->captures[k];

		if (capture->side != side)
			continue;
		total.captures++;
		total.forks += capture->nforks;
		for (size_t i = 0; i < capture->nforks; i++)
			total.cut += !capture->forks[i].complete;
	}
	return total;
}

bool xf_compare_ordered(const struct xf_compare *c)
{
	return c->matching.ordered;
}

void xf_compare_free(struct xf_compare *c)
{
	if (!c)
		return;
	for (size_t k = 0; k < c->ncaptures; k++)
		free(c->captures[k].forks);
	for (size_t i = 0; i < c->nnamed; i++) {
		free(c->named[i].name);
		free(c->named[i].values);
	}
	free(c->captures);
	free(c->named);
	free(c->matching.at);
	free(c->rows);
	free(c->crossings);
	free(c);
}
