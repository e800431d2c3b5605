/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for instruction addresses.  In: --symbols files.  Out: the table `symbol`, or single names.
 */
#ifndef XF_CLI_SYMBOLIZE_H
#define XF_CLI_SYMBOLIZE_H

#include <sqlite3.h>

#include "cli/options.h"

/* Replaces the table `symbol`: a name for each instruction address of the events that has one. */
int xf_symbolize(sqlite3 *db, const struct xf_options *options, struct xf_error *err);

/* The --symbols files of a command line in memory. */
struct xf_namer;

int xf_namer_new(struct xf_namer **namer, const struct xf_options *options, struct xf_error *err);
void xf_namer_free(struct xf_namer *namer);

/* "function+0x12" in text, or NULL; domid -1 = unknown.  Fits xf_vtab.symbol. */
const char *xf_namer_find(void *namer, int domid, uint64_t rip, char *text, size_t size);

#endif
