/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xenfault export: what its formats share.  In: a database and filters.  Out: bytes on a FILE, row
 * after row, in constant memory.
 */
#ifndef XF_CLI_EXPORT_H
#define XF_CLI_EXPORT_H

#include <sqlite3.h>
#include <stdio.h>

#include "cli/cli.h"

struct xf_export_options {
	struct xf_options common;
	const char *to_format, *view, *host; /* NULL = not given */
	bool schema, detail;
};

struct xf_export {
	const struct xf_export_options *own;
	const struct xf_options *options; /* &own->common */
	sqlite3 *db;
	FILE *file;
	struct xf_range range;
	uint64_t tsc_first, hz; /* hz 0 = unknown */
};

typedef int xf_exporter(struct xf_export *x, struct xf_error *err);

xf_exporter xf_export_csv, xf_export_jsonl, xf_export_perfetto, xf_export_folded;

/*
 * SELECT of one view with the filters of the options, in the view's order: columns is its list, NULL
 * = all of them, with us by --cpu-hz where that is given; and (may be NULL) is one more condition;
 * order NULL = the view's own.  Fails for a name that is no view.
 */
int xf_export_select(struct xf_export *x, sqlite3_stmt **stmt, const char *view,
	const char *columns, const char *and, const char *order, struct xf_error *err);

/* Name of the n-th view that can be exported; NULL behind the last. */
const char *xf_export_view(size_t n);

#endif
