// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Folded stacks, for flame graphs.  In: the view forks.  Out: a line for each: domain;process;function and
 * its cycles.  What stands twice such programs add up.
 */
#include <string.h>

#include "cli/export.h"
#include "common/escape.h"
#include "schemas/db.h"

/* A frame: no text of a trace may end it, or begin another one. */
static void frame(FILE *file, const char *text, char end)
{
	char escaped[256];

	xf_escape_in(escaped, sizeof(escaped), XF_ESCAPE_TEXT, text);
	for (char *p = escaped; (p = strpbrk(p, ";\n")); p++)
		*p = ':';
	fprintf(file, "%s%c", escaped, end);
}

int xf_export_folded(struct xf_export *x, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_export_select(x, &stmt, "forks",
		"coalesce(domain, 'd' || domid, 'domain not known'), ifnull(comm, 'process not known'),"
		" ifnull(substr(symbol, 1, instr(symbol || '+', '+') - 1), printf('0x%llx', rip)),"
		" tsc_end - tsc_start",
		NULL, NULL, err);

	while (!code && !ferror(x->file) && (code = xf_db_step(stmt, err)) == 1) {
		code = xf_stop_requested() ? xf_fail(err, XF_INTERRUPTED, "interrupted") : 0;
		frame(x->file, xf_db_text(stmt, 0), ';');
		frame(x->file, xf_db_text(stmt, 1), ';');
		frame(x->file, xf_db_text(stmt, 2), ' ');
		fprintf(x->file, "%lld\n", sqlite3_column_int64(stmt, 3));
	}
	sqlite3_finalize(stmt);
	return code;
}
