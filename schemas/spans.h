/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times without records.  In: rows of losses and gaps.  Out: spans that do not overlap, and whether a time
 * lies in one.
 */
#ifndef XF_SCHEMAS_SPANS_H
#define XF_SCHEMAS_SPANS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct xf_spans {
	struct {
		uint64_t first, last; /* TSC, both inside */
	} * at;			      /* in order, free it with free() */
	size_t n;
};

/*
 * Spans of a query of two columns, first and last TSC, in order of the first: those of several pCPUs
 * overlap, and are joined.  spans must be empty, and is to be freed after an error too.
 */
int xf_spans_load(struct xf_spans *spans, sqlite3 *db, const char *sql, struct xf_error *err);

/* Does a time lie in one of them? */
bool xf_spans_hold(const struct xf_spans *spans, uint64_t tsc);

#endif
