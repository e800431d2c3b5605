/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two sides, each of one capture or several, against each other: what differs, and whether by more
 * than the captures of a side differ among themselves.
 * In: databases.  Out: rows of measures.  docs/diff.md tells how forks are matched.
 */
#ifndef XF_ANALYZER_DIFF_COMPARE_H
#define XF_ANALYZER_DIFF_COMPARE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

enum xf_side { XF_SIDE_A, XF_SIDE_B, XF_SIDES };

/* X(enum, name): what the rows are about */
#define XF_SECTIONS(X)            \
	X(KIND, "kind")           \
	X(FLUSH, "flush")         \
	X(SPURIOUS, "spurious")   \
	X(MECHANISM, "mechanism") \
	X(FORK, "fork")

enum xf_section {
#define X(id, name) XF_SECTION_##id,
	XF_SECTIONS(X)
#undef X
		XF_SECTION_COUNT
};

/*
 * X(enum, name).  NUMBER: events, flushes, faults or forks.  The others of forks: the sum in a row of
 * a mechanism, the mean in a row of forks.
 */
#define XF_MEASURES(X)               \
	X(NUMBER, "count")           \
	X(TIME, "time")              \
	X(PAGES, "pt_pages")         \
	X(PTES, "ptes")              \
	X(PER_PAGE, "ptes_per_page") \
	X(FAULTS, "faults")          \
	X(UNHOOKS, "unhooks")        \
	X(EMULATIONS, "emulations")  \
	X(FLUSHES, "flushes")        \
	X(SPURIOUS, "spurious")      \
	X(COW, "cow_faults")

enum xf_measure {
#define X(id, name) XF_MEASURE_##id,
	XF_MEASURES(X)
#undef X
		XF_MEASURE_COUNT
};

/* X(enum, name): what a difference says */
#define XF_VERDICTS(X)            \
	X(NONE, "none")           \
	X(EQUAL, "equal")         \
	X(ALONE, "alone")         \
	X(NO_SPREAD, "no_spread") \
	X(WITHIN, "within")       \
	X(BEYOND, "beyond")

/*
 * NONE: the measure is not of this row.  ALONE: only one side has the row.  NO_SPREAD: they differ,
 * and with one capture per side there is no spread to judge it by.  WITHIN, BEYOND: of what captures
 * of one side differ by (Welch's t at 95 %).
 */
enum xf_verdict {
#define X(id, name) XF_VERDICT_##id,
	XF_VERDICTS(X)
#undef X
		XF_VERDICT_COUNT
};

const char *xf_section_name(enum xf_section section);
const char *xf_measure_name(enum xf_measure measure);
const char *xf_verdict_name(enum xf_verdict verdict);

/* Over the captures of one side.  deviation: standard, of the sample; 0 for less than two. */
struct xf_spread {
	double mean, deviation;
	unsigned runs;
};

struct xf_compare_row {
	enum xf_section section;
	const char *name[XF_SIDES]; /* kind, cause, mechanism; NULL = the side lacks the row */
	size_t position;	    /* of forks: in the order of the captures, from 1 */
	struct xf_spread of[XF_MEASURE_COUNT][XF_SIDES];
	enum xf_verdict verdict[XF_MEASURE_COUNT];
};

/* Where two mechanisms cross: the fastest fork of each shape on either side. */
struct xf_crossing {
	uint64_t pt_pages;
	const char *name[XF_SIDES]; /* mechanism */
	double below, above;	    /* PTEs per page of the shapes around it */
	double even;		    /* between them, by a straight line */
	enum xf_side cheaper_below;
};

struct xf_compare;

#define XF_COMPARE_CAPTURES 256 /* at most, both sides together */

/* Returns 0 or a negative code; free with xf_compare_free(). */
int xf_compare_new(struct xf_compare **compare, struct xf_error *err);

/*
 * Adds a capture to a side and reads what is needed of it; the database may be closed afterwards.
 * domid -1 = all domains.  cpu_hz 0 = what the capture says.
 */
int xf_compare_add(struct xf_compare *compare, enum xf_side side, sqlite3 *db, int domid,
	uint64_t cpu_hz, struct xf_error *err);

/* Matches and counts.  Each side must have a capture. */
int xf_compare_finish(struct xf_compare *compare, struct xf_error *err);

/* The i-th row, section by section; NULL at the end. */
const struct xf_compare_row *xf_compare_row(const struct xf_compare *compare, size_t i);

/* The i-th crossing, by pt_pages; NULL at the end. */
const struct xf_crossing *xf_compare_crossing(const struct xf_compare *compare, size_t i);

/* Times are in microseconds: every capture tells its frequency; else in cycles. */
bool xf_compare_has_us(const struct xf_compare *compare);

/* Captures and forks of a side; forks of it that are cut; forks that no other capture has. */
struct xf_compare_total {
	size_t captures, forks, cut, unmatched;
};

struct xf_compare_total xf_compare_total(const struct xf_compare *compare, enum xf_side side);

/* False if there were too many forks to take their order into account: equal shapes only. */
bool xf_compare_ordered(const struct xf_compare *compare);

void xf_compare_free(struct xf_compare *compare);

#endif
