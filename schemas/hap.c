// SPDX-License-Identifier: GPL-2.0-or-later
/* Says plainly what no trace of a guest with nested paging holds.  In: DB.  Out: text. */
#include "schemas/hap.h"

#include <stddef.h>

#include "schemas/db.h"

/* Exits there are, and no record of the fault handler of shadow paging. */
#define EXITS                                                                            \
	"SELECT CASE WHEN EXISTS (SELECT 1 FROM record_count WHERE records > 0 AND ("    \
	"name LIKE 'SHADOW%' OR name LIKE 'HVM_PF_XEN%')) AND NOT EXISTS (SELECT 1 FROM" \
	" record_count WHERE records > 0 AND name = 'HVM_NPF') THEN 0 ELSE"              \
	" (SELECT ifnull(sum(records), 0) FROM record_count WHERE name LIKE 'HVM_%EXIT') END"

/* Domains whose exits left an event. */
#define DOMAINS                                                                            \
	"SELECT group_concat('d' || domid, ', ') FROM (SELECT DISTINCT domid FROM"         \
	" (SELECT DISTINCT place FROM event WHERE type IN (SELECT type FROM event_type"    \
	" WHERE name IN ('npf', 'recalc', 'cr_write', 'cr3_write', 'mmio'))) NATURAL JOIN" \
	" event_place WHERE domid IS NOT NULL AND domid < 32752 ORDER BY domid)"

static const char *const missing[] = {
	[XF_HAP_FORKS] =
		"such a guest changes its page tables and takes its page faults without Xen, so no\n"
		"trace has its forks, PTE writes and page faults.  Shown are: what is dirtied while it\n"
		"migrates (xenfault episodes, dirty), accesses to devices (the view mmio), nested page\n"
		"faults (the view npfs)\n",
	[XF_HAP_SOME_FORKS] =
		"no trace has the forks, PTE writes and page faults of such a guest: none is in this list\n",
	[XF_HAP_EPISODES] =
		"none of them was seen in log-dirty mode.  There Xen records each first write to a page\n"
		"on AMD, and on Intel without PML; with PML (page-modification logging, Intel since\n"
		"2014) the processor notes the pages and no record is made.  The views npfs and mmio\n"
		"show what else there was\n",
};

int xf_hap_missing(sqlite3 *db, enum xf_hap_list list, char **text, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int64_t exits = 0;
	int code = xf_db_int(db, EXITS, &exits, err);

	*text = NULL;
	if (code || !exits || list == XF_HAP_NO_LIST)
		return code;
	code = xf_db_prepare(db, &stmt, DOMAINS, err);
	if (!code && (code = xf_db_step(stmt, err)) == 1) {
		const char *domains = xf_db_text_or(stmt, 0, NULL);

		*text = sqlite3_mprintf(
			"the capture has %lld exits of guests with nested paging (HAP): %s\n%s",
			(long long)exits, domains ? domains : "of which domain it does not say",
			missing[list]);
		code = *text ? 0 : xf_fail_nomem(err);
	}
	sqlite3_finalize(stmt);
	return code;
}
