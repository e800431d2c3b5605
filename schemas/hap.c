// SPDX-License-Identifier: GPL-2.0-or-later
/* Says plainly what no trace of a guest with nested paging holds.  In: DB.  Out: text on stderr. */
#include "cli/hap.h"

#include <stdio.h>

#include "schemas/db.h"

/* Exits there are, and no record of the fault handler of shadow paging. */
#define EXITS                                                                            \
	"SELECT CASE WHEN EXISTS (SELECT 1 FROM record_count WHERE records > 0 AND ("    \
	"name LIKE 'SHADOW%' OR name LIKE 'HVM_PF_XEN%')) AND NOT EXISTS (SELECT 1 FROM" \
	" record_count WHERE records > 0 AND name = 'HVM_NPF') THEN 0 ELSE"              \
	" (SELECT ifnull(sum(records), 0) FROM record_count WHERE name LIKE 'HVM_%EXIT') END"

/* Domains whose exits left an event. */
#define DOMAINS                                                                    \
	"SELECT group_concat('d' || domid, ', ') FROM (SELECT DISTINCT domid FROM" \
	" events WHERE domid IS NOT NULL AND domid < 32752 AND kind IN"            \
	" ('npf', 'recalc', 'cr_write', 'cr3_write', 'mmio') ORDER BY domid)"

static int print_whose(sqlite3 *db, int64_t exits, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int code = xf_db_prepare(db, &stmt, DOMAINS, err);

	if (!code && (code = xf_db_step(stmt, err)) == 1) {
		const char *domains = (const char *)sqlite3_column_text(stmt, 0);

		fprintf(stderr,
			"the capture has %lld exits of guests with nested paging (HAP): %s\n",
			(long long)exits, domains ? domains : "of which domain it does not say");
		code = 0;
	}
	sqlite3_finalize(stmt);
	return code;
}

int xf_tell_hap(sqlite3 *db, enum xf_hap_list list, struct xf_error *err)
{
	int64_t exits = 0;
	int code = xf_db_int(db, EXITS, &exits, err);

	if (!code && exits)
		code = print_whose(db, exits, err);
	if (code || !exits)
		return code;
	if (list == XF_HAP_FORKS)
		fputs("such a guest changes its page tables and takes its page faults without Xen, so no\n"
		      "trace has its forks, PTE writes and page faults.  Shown are: what is dirtied while it\n"
		      "migrates (xenfault episodes, dirty), accesses to devices (the view mmio), nested page\n"
		      "faults (the view npfs)\n",
			stderr);
	else
		fputs("none of them was seen in log-dirty mode.  There Xen records each first write to a page\n"
		      "on AMD, and on Intel without PML; with PML (page-modification logging, Intel since\n"
		      "2014) the processor notes the pages and no record is made.  The views npfs and mmio\n"
		      "show what else there was\n",
			stderr);
	return 0;
}
