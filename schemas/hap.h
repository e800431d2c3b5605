/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a capture of guests with nested paging (HAP) cannot show.  In: DB.  Out: text on stderr. */
#ifndef XF_CLI_HAP_H
#define XF_CLI_HAP_H

#include <sqlite3.h>

#include "common/error.h"

enum xf_hap_list { XF_HAP_FORKS, XF_HAP_EPISODES };

/*
 * Where a list is empty and the capture has exits of guests with nested paging: whose, what is missing
 * and why, and what can be shown instead.  Silent for other captures.  0 or a negative code.
 */
int xf_tell_hap(sqlite3 *db, enum xf_hap_list list, struct xf_error *err);

#endif
