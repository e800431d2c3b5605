// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault diff: two captures, or two sides of several, against each other.
 * In: databases.  Out: tables on stdout; CSV and JSON have one row per measure.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/diff/compare.h"
#include "cli/cli.h"
#include "schemas/db.h"

#define CELL 48

static const struct xf_column full_columns[] = {
	{"section", NULL, 0, XF_CELL_TEXT},
	{"position", NULL, 0, XF_CELL_INT},
	{"name_a", NULL, 0, XF_CELL_TEXT},
	{"name_b", NULL, 0, XF_CELL_TEXT},
	{"pt_pages_a", NULL, 0, XF_CELL_REAL},
	{"pt_pages_b", NULL, 0, XF_CELL_REAL},
	{"ptes_per_page_a", NULL, 0, XF_CELL_REAL},
	{"ptes_per_page_b", NULL, 0, XF_CELL_REAL},
	{"measure", NULL, 0, XF_CELL_TEXT},
	{"unit", NULL, 0, XF_CELL_TEXT},
	{"captures_a", NULL, 0, XF_CELL_INT},
	{"captures_b", NULL, 0, XF_CELL_INT},
	{"mean_a", NULL, 0, XF_CELL_REAL},
	{"mean_b", NULL, 0, XF_CELL_REAL},
	{"deviation_a", NULL, 0, XF_CELL_REAL},
	{"deviation_b", NULL, 0, XF_CELL_REAL},
	{"difference", NULL, 0, XF_CELL_REAL},
	{"percent", NULL, 0, XF_CELL_REAL},
	{"verdict", NULL, 0, XF_CELL_TEXT},
};

/* Text cells of a number's type stand at the right. */
static const struct xf_column count_columns[] = {
	{"what", NULL, 20, XF_CELL_TEXT},
	{"a", "A", 14, XF_CELL_INT},
	{"b", "B", 14, XF_CELL_INT},
	{"difference", NULL, 12, XF_CELL_INT},
	{"percent", "%", 8, XF_CELL_INT},
	{"spread", NULL, 6, XF_CELL_TEXT},
};

static struct xf_column fork_columns[] = {
	{"forks", NULL, 5, XF_CELL_INT},
	{"pages", NULL, 5, XF_CELL_INT},
	{"ptes/page", NULL, 11, XF_CELL_INT},
	{"by", NULL, 14, XF_CELL_TEXT},
	{"a", "A", 12, XF_CELL_INT},
	{"b", "B", 12, XF_CELL_INT},
	{"percent", "%", 8, XF_CELL_INT},
	{"spread", NULL, 6, XF_CELL_TEXT},
};

#define COLUMNS(table) table, sizeof(table) / sizeof((table)[0])

static const struct xf_spread *spread(
	const struct xf_compare_row *row, int measure, enum xf_side side)
{
	return &row->of[measure][side];
}

static double difference(const struct xf_compare_row *row, int measure)
{
	return spread(row, measure, XF_SIDE_B)->mean - spread(row, measure, XF_SIDE_A)->mean;
}

static bool both(const struct xf_compare_row *row, int measure)
{
	return spread(row, measure, XF_SIDE_A)->runs && spread(row, measure, XF_SIDE_B)->runs;
}

static void real_or_null(struct xf_out *out, bool known, double value)
{
	if (known)
		xf_out_real(out, value);
	else
		xf_out_null(out);
}

static void text_or_null(struct xf_out *out, const char *text)
{
	if (text)
		xf_out_text(out, text);
	else
		xf_out_null(out);
}

static const char *unit_of(int measure, bool us)
{
	if (measure == XF_MEASURE_TIME)
		return us ? "us" : "cycles";
	return "1";
}

static void full_row(struct xf_out *out, const struct xf_compare_row *row, int m, bool us)
{
	const struct xf_spread *a = spread(row, m, XF_SIDE_A), *b = spread(row, m, XF_SIDE_B);
	bool fork = row->section == XF_SECTION_FORK;

	xf_out_text(out, xf_section_name(row->section));
	if (fork)
		xf_out_int(out, (int64_t)row->position);
	else
		xf_out_null(out);
	text_or_null(out, row->name[XF_SIDE_A]);
	text_or_null(out, row->name[XF_SIDE_B]);
	for (int shape = XF_MEASURE_PAGES; shape <= XF_MEASURE_PER_PAGE; shape++) {
		if (shape == XF_MEASURE_PTES)
			continue;
		for (int side = 0; side < XF_SIDES; side++)
			real_or_null(
				out, fork && row->of[shape][side].runs, row->of[shape][side].mean);
	}
	xf_out_text(out, xf_measure_name((enum xf_measure)m));
	xf_out_text(out, unit_of(m, us));
	xf_out_int(out, a->runs);
	xf_out_int(out, b->runs);
	real_or_null(out, a->runs, a->mean);
	real_or_null(out, b->runs, b->mean);
	real_or_null(out, a->runs > 1, a->deviation);
	real_or_null(out, b->runs > 1, b->deviation);
	real_or_null(out, both(row, m), difference(row, m));
	real_or_null(out, both(row, m) && a->mean != 0, 100 * difference(row, m) / a->mean);
	xf_out_text(out, xf_verdict_name(row->verdict[m]));
}

static int print_full(
	const struct xf_compare *compare, const struct xf_options *o, struct xf_error *err)
{
	const struct xf_compare_row *row;
	struct xf_out *out;
	int code = xf_out_new(&out, stdout, o->format, COLUMNS(full_columns), err);
	int64_t left = o->limit;

	if (code)
		return code;
	xf_out_header(out);
	for (size_t i = 0; (row = xf_compare_row(compare, i)) && left && !xf_out_failed(out); i++)
		for (int m = 0; m < XF_MEASURE_COUNT && left; m++)
			if (row->verdict[m] != XF_VERDICT_NONE) {
				full_row(out, row, m, xf_compare_has_us(compare));
				left -= left > 0;
			}
	return xf_out_close(out, err);
}

/* Mean, and behind it the deviation in percent where there are several captures. */
static const char *mean_text(const struct xf_spread *s, int decimals, char *text)
{
	int n;

	if (!s->runs)
		return "-";
	/* the deviation says how much of it is to be taken seriously */
	n = snprintf(
		text, CELL, "%.*f", s->deviation > 0 && s->mean >= 1000 ? 0 : decimals, s->mean);
	if (s->runs > 1 && s->deviation > 0 && s->mean != 0)
		snprintf(text + n, CELL - (size_t)n, "+-%.*f%%",
			s->deviation / s->mean < 0.0995 ? 1 : 0, 100 * s->deviation / s->mean);
	return text;
}

static const char *percent_text(const struct xf_compare_row *row, int m, char *text)
{
	double a = spread(row, m, XF_SIDE_A)->mean;

	if (!both(row, m) || a == 0)
		return row->verdict[m] == XF_VERDICT_EQUAL ? "0.0" : "-";
	snprintf(text, CELL, "%+.1f", 100 * difference(row, m) / a);
	return row->verdict[m] == XF_VERDICT_EQUAL ? "0.0" : text;
}

static const char *verdict_text(const struct xf_compare_row *row, int m)
{
	switch (row->verdict[m]) {
	case XF_VERDICT_EQUAL:
		return "=";
	case XF_VERDICT_ALONE:
		return spread(row, m, XF_SIDE_A)->runs ? "only A" : "only B";
	case XF_VERDICT_WITHIN:
		return "within";
	case XF_VERDICT_BEYOND:
		return "beyond";
	default:
		return "?";
	}
}

static void count_row(
	struct xf_out *out, const struct xf_compare_row *row, int m, bool us, const char *what)
{
	char text[CELL];
	int decimals = (m == XF_MEASURE_TIME && us) || m == XF_MEASURE_PER_PAGE;

	if (m != XF_MEASURE_TIME &&
		(spread(row, m, XF_SIDE_A)->runs > 1 || spread(row, m, XF_SIDE_B)->runs > 1))
		decimals = difference(row, m) != floor(difference(row, m));
	xf_out_text(out, what);
	xf_out_text(out, mean_text(spread(row, m, XF_SIDE_A), decimals, text));
	xf_out_text(out, mean_text(spread(row, m, XF_SIDE_B), decimals, text));
	snprintf(text, sizeof(text), "%+.*f", decimals, difference(row, m));
	xf_out_text(out, !both(row, m) ? "-" : row->verdict[m] == XF_VERDICT_EQUAL ? "0" : text);
	xf_out_text(out, percent_text(row, m, text));
	xf_out_text(out, verdict_text(row, m));
}

/* Sections of one measure: a line each. */
static int print_counts(const struct xf_compare *compare, enum xf_section section,
	const char *title, struct xf_error *err)
{
	const struct xf_compare_row *row;
	struct xf_column columns[sizeof(count_columns) / sizeof(count_columns[0])];
	struct xf_out *out;
	bool any = false;
	int code;

	for (size_t i = 0; (row = xf_compare_row(compare, i)); i++)
		any |= row->section == section;
	if (!any)
		return 0;
	memcpy(columns, count_columns, sizeof(columns));
	columns[0].title = title;
	putchar('\n');
	code = xf_out_new(&out, stdout, XF_FORMAT_TEXT, COLUMNS(columns), err);
	for (size_t i = 0; !code && (row = xf_compare_row(compare, i)); i++)
		if (row->section == section)
			count_row(out, row, XF_MEASURE_NUMBER, false, row->name[XF_SIDE_A]);
	return code ? code : xf_out_close(out, err);
}

static bool shown(const struct xf_compare_row *row, int m)
{
	return spread(row, m, XF_SIDE_A)->mean || spread(row, m, XF_SIDE_B)->mean;
}

/* The row of all mechanisms tells nothing new where there is one. */
static bool redundant(const struct xf_compare *compare, const struct xf_compare_row *row)
{
	const struct xf_compare_row *other;
	size_t n = 0;

	for (size_t i = 0; (other = xf_compare_row(compare, i)); i++)
		n += other->section == XF_SECTION_MECHANISM;
	return n == 2 && !strcmp(row->name[XF_SIDE_A], "all");
}

/* Each mechanism, and all together: the measures that are not 0 everywhere. */
static int print_mechanisms(const struct xf_compare *compare, struct xf_error *err)
{
	const struct xf_compare_row *row;
	struct xf_column columns[sizeof(count_columns) / sizeof(count_columns[0])];
	bool us = xf_compare_has_us(compare);
	struct xf_out *out;
	char what[CELL];
	int code;

	memcpy(columns, count_columns, sizeof(columns));
	columns[0].title = "forks by mechanism";
	putchar('\n');
	code = xf_out_new(&out, stdout, XF_FORMAT_TEXT, COLUMNS(columns), err);
	if (!code)
		xf_out_header(out);
	for (size_t i = 0; !code && (row = xf_compare_row(compare, i)); i++) {
		if (row->section != XF_SECTION_MECHANISM || redundant(compare, row))
			continue;
		for (int m = 0; m < XF_MEASURE_COUNT; m++) {
			if (!shown(row, m))
				continue;
			snprintf(what, sizeof(what), "%s %s", row->name[XF_SIDE_A],
				m == XF_MEASURE_NUMBER ? "forks"
				: m == XF_MEASURE_TIME ? unit_of(m, us)
						       : xf_measure_name((enum xf_measure)m));
			count_row(out, row, m, us, what);
		}
	}
	return code ? code : xf_out_close(out, err);
}

/* "16", or where the sides differ "16>12". */
static const char *two(const struct xf_compare_row *row, int m, int decimals, char *text)
{
	const struct xf_spread *a = spread(row, m, XF_SIDE_A), *b = spread(row, m, XF_SIDE_B);

	if (a->runs && b->runs && a->mean != b->mean)
		snprintf(text, CELL, "%.*f>%.*f", decimals, a->mean, decimals, b->mean);
	else
		snprintf(text, CELL, "%.*f", decimals, a->runs ? a->mean : b->mean);
	return text;
}

static void fork_line(struct xf_out *out, const struct xf_compare_row *row, bool us)
{
	const char *a = row->name[XF_SIDE_A], *b = row->name[XF_SIDE_B];
	char text[CELL];

	xf_out_text(out, two(row, XF_MEASURE_NUMBER, 0, text));
	xf_out_text(out, two(row, XF_MEASURE_PAGES, 0, text));
	xf_out_text(out, two(row, XF_MEASURE_PER_PAGE, 1, text));
	if (a && b && strcmp(a, b))
		snprintf(text, sizeof(text), "%s>%s", a, b);
	else
		snprintf(text, sizeof(text), "%s", a ? a : b);
	xf_out_text(out, text);
	xf_out_text(out, mean_text(spread(row, XF_MEASURE_TIME, XF_SIDE_A), us, text));
	xf_out_text(out, mean_text(spread(row, XF_MEASURE_TIME, XF_SIDE_B), us, text));
	xf_out_text(out, percent_text(row, XF_MEASURE_TIME, text));
	xf_out_text(out, verdict_text(row, XF_MEASURE_TIME));
}

static int print_forks(
	const struct xf_compare *compare, const struct xf_options *o, struct xf_error *err)
{
	struct xf_column columns[sizeof(fork_columns) / sizeof(fork_columns[0])];
	const struct xf_compare_row *row;
	struct xf_out *out;
	int64_t left = o->limit;
	int code;

	memcpy(columns, fork_columns, sizeof(columns));
	columns[4].title = xf_compare_has_us(compare) ? "A: us" : "A: cycles";
	columns[5].title = xf_compare_has_us(compare) ? "B: us" : "B: cycles";
	puts("\nforks in their order, those of one shape in a row together; time: of one fork");
	code = xf_out_new(&out, stdout, XF_FORMAT_TEXT, COLUMNS(columns), err);
	if (!code)
		xf_out_header(out);
	for (size_t i = 0; !code && left && (row = xf_compare_row(compare, i)); i++) {
		if (row->section != XF_SECTION_FORK)
			continue;
		fork_line(out, row, xf_compare_has_us(compare));
		left -= left > 0;
	}
	return code ? code : xf_out_close(out, err);
}

static void print_crossings(const struct xf_compare *compare)
{
	const struct xf_crossing *x;

	for (size_t i = 0; (x = xf_compare_crossing(compare, i)); i++) {
		enum xf_side side = x->cheaper_below;

		if (!i)
			puts("\ncrossings: what is cheaper, by the fastest fork of each shape");
		xf_print(stdout,
			"%4llu pages: %s (%c) up to %g PTEs per page, %s (%c) from %g; even at %.1f\n",
			(unsigned long long)x->pt_pages, x->name[side],
			side == XF_SIDE_A ? 'A' : 'B', x->below, x->name[!side],
			side == XF_SIDE_A ? 'B' : 'A', x->above, x->even);
	}
}

static void print_end(const struct xf_compare *compare)
{
	const struct xf_compare_row *row;
	struct xf_compare_total total[XF_SIDES];
	bool differ = false, judged = false;

	for (size_t i = 0; (row = xf_compare_row(compare, i)); i++) {
		for (int m = 0; m < XF_MEASURE_COUNT; m++) {
			differ |= row->verdict[m] > XF_VERDICT_EQUAL;
			judged |= row->verdict[m] >= XF_VERDICT_WITHIN;
		}
	}
	putchar('\n');
	for (int side = 0; side < XF_SIDES; side++) {
		total[side] = xf_compare_total(compare, (enum xf_side)side);
		if (total[side].unmatched)
			xf_print(stdout, "%zu forks of %c have no counterpart\n",
				total[side].unmatched, "AB"[side]);
		if (total[side].cut)
			xf_print(stdout,
				"%zu forks of %c are cut by a loss or by the end of the capture\n",
				total[side].cut, "AB"[side]);
	}
	if (!xf_compare_ordered(compare))
		puts("too many forks to match them by order: only equal shapes are matched");
	if (!differ)
		puts("no difference");
	else if (!judged && total[0].captures + total[1].captures == 2)
		puts("?: one capture on each side, so there is no spread to judge a difference by");
}

static int print_text(
	const struct xf_compare *compare, const struct xf_options *o, int na, struct xf_error *err)
{
	int code;

	for (int i = 0; i < o->nargs; i++)
		xf_print(stdout, "%c  %s\n", i < na ? 'A' : 'B', o->args[i]);
	if ((code = print_counts(compare, XF_SECTION_KIND, "events", err)) ||
		(code = print_counts(compare, XF_SECTION_FLUSH, "TLB flushes by cause", err)) ||
		(code = print_counts(compare, XF_SECTION_SPURIOUS, "spurious faults", err)) ||
		(code = print_mechanisms(compare, err)) || (code = print_forks(compare, o, err)))
		return code;
	print_crossings(compare);
	print_end(compare);
	return 0;
}

/* A difference may be that of what was lost. */
static int warn_of_loss(sqlite3 *db, const char *path, struct xf_error *err)
{
	int64_t lost = 0;
	int code = xf_db_int(db, "SELECT ifnull((SELECT lost_records FROM trace), 0)", &lost, err);

	if (!code && lost)
		xf_warn("%s: %lld records were lost; see: xenfault info", path, (long long)lost);
	return code;
}

static int add(
	struct xf_compare *compare, const struct xf_options *o, int i, int na, struct xf_error *err)
{
	struct xf_options own = *o; /* a name may be another domain in each */
	sqlite3 *db = NULL;
	int code = xf_open(&db, o->args[i], err);

	if (!code)
		code = xf_find_domain(db, &own, err);
	if (!code)
		code = warn_of_loss(db, o->args[i], err);
	if (!code)
		code = xf_compare_add(
			compare, i < na ? XF_SIDE_A : XF_SIDE_B, db, own.domid, o->cpu_hz, err);
	sqlite3_close(db);
	return code;
}

static int run_diff(struct xf_options *options, struct xf_error *err)
{
	int na = options->behind >= 0 ? options->nargs - options->behind : 1, code = 0;
	struct xf_compare *compare = NULL;

	if (options->behind < 0 || options->nargs == 2)
		code = xf_need_args(options, 2, err);
	if (!code && options->vcpu >= 0)
		code = xf_fail(err, XF_USAGE, "--domain: a vCPU is not compared, only a domain dN");
	if (!code && (na < 1 || na >= options->nargs))
		code = xf_fail(err, XF_USAGE,
			"each side needs a database: xenfault diff A1 A2 ... -- B1 B2 ...");
	if (!code)
		code = xf_compare_new(&compare, err);
	for (int i = 0; i < options->nargs && !code; i++)
		code = add(compare, options, i, na, err);
	if (!code)
		code = xf_compare_finish(compare, err);
	if (!code && options->format == XF_FORMAT_TEXT)
		code = print_text(compare, options, na, err);
	else if (!code)
		code = print_full(compare, options, err);
	xf_compare_free(compare);
	return code;
}

static const struct xf_option diff_options[] = {
	XF_OPT_FORMAT,
	XF_OPT_DOMAIN,
	XF_OPT_LIMIT,
	XF_OPT_CPU_HZ,
	{0},
};

const struct xf_command xf_cmd_diff = {"diff", "DB1 DB2 | A.. -- B..",
	"two captures, or two sides, against each other", diff_options, 0, run_diff};
