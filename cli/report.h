/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xenfault report: what its parts share.  In: a database.  Out: HTML on a FILE.
 * The page needs neither network nor script.  Plots are inline SVG whose horizontal places are
 * percentages, so that they fit any width with text of the same size.
 */
#ifndef XF_CLI_REPORT_H
#define XF_CLI_REPORT_H

#include <sqlite3.h>
#include <stdio.h>

#include "common/error.h"

struct xf_report {
	sqlite3 *db;
	FILE *file;
	const char *path;    /* of the database, as the user gave it */
	uint64_t hz;	     /* 0 = unknown: times are cycles */
	int64_t first, last; /* TSC of the capture */
	int plots;	     /* drawn so far, for ids */
};

/* Text with <, >, &, " replaced. */
void xf_html_text(FILE *file, const char *text);

/* A whole number with commas: 1,234,567. */
const char *xf_html_number(int64_t value, char *text, size_t size);

/* A time in cycles as people read it: "12.3 ms", or "1.2 M cycles" without a frequency. */
const char *xf_html_time(const struct xf_report *r, double cycles, char *text, size_t size);

/*
 * A table of a statement's rows under a caption; columns whose name ends in "#" are numbers, in "@"
 * times in cycles, in "$" hexadecimal; others are text.  note (may be NULL) stands in place of a
 * table without rows.
 */
int xf_report_table(struct xf_report *r, const char *caption, const char *sql, const char *note,
	struct xf_error *err);

/*
 * Opens a figure and its drawing (height in pixels); what it shows is told to those who do not see it.
 * Horizontal places are percentages.
 */
void xf_report_open_plot(
	struct xf_report *r, const char *title, const char *description, int height);
void xf_report_close_plot(struct xf_report *r);

/* The plots, each a figure with its data as a table. */
int xf_report_timeline(struct xf_report *r, struct xf_error *err);
int xf_report_histogram(struct xf_report *r, struct xf_error *err);
int xf_report_mechanisms(struct xf_report *r, struct xf_error *err);

/* Log-dirty mode, nested page faults. */
int xf_report_dirty(struct xf_report *r, struct xf_error *err);

#endif
