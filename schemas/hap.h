/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a capture of guests with nested paging (HAP) cannot show.  In: DB.  Out: text. */
#ifndef XF_SCHEMAS_HAP_H
#define XF_SCHEMAS_HAP_H

#include <sqlite3.h>

#include "common/error.h"

enum xf_hap_list {
	XF_HAP_NO_LIST,
	XF_HAP_FORKS,	   /* or pages, empty */
	XF_HAP_SOME_FORKS, /* not empty, but without those guests' */
	XF_HAP_EPISODES	   /* or dirty pages, empty */
};

/*
 * Where a list is empty, or incomplete, and the capture has exits of guests with nested paging: whose, what is missing
 * and why, and what can be shown instead, in lines that end in \n.  *text is NULL for other captures; else
 * the caller frees it with sqlite3_free().
 */
int xf_hap_missing(sqlite3 *db, enum xf_hap_list list, char **text, struct xf_error *err);

#endif
