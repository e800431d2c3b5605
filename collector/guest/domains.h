/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of domains.  In: what xl list prints, or lines of "dN NAME".  Out: the table domain_name. */
#ifndef XF_COLLECTOR_GUEST_DOMAINS_H
#define XF_COLLECTOR_GUEST_DOMAINS_H

#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

/*
 * Reads lines to the end of the file: "dN NAME" or "N NAME", or xl list's "NAME ID MEM ..." with its
 * heading; # begins a comment.  A later name of a domain replaces an earlier one.  path is for messages.
 * Returns 0 (*names: how many lines named one), -XF_FORMAT with the line, -XF_IO or -XF_DB.
 */
int xf_domains_read(
	sqlite3 *db, FILE *file, const char *path, uint64_t *names, struct xf_error *err);

#endif
