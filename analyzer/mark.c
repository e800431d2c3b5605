// SPDX-License-Identifier: GPL-2.0-or-later
/* What the capture as a whole makes doubtful.  In: facts, derived rows.  Out: complete, doubt. */
#include "analyzer/analyzer.h"
#include "schemas/db.h"

/* A vCPU that was on a pCPU whose clock is wrong, and on another: its records may be in a wrong order. */
static const char clocks[] =
	"UPDATE fork SET doubt = ifnull(doubt || '; ', '') ||"
	" 'the clocks of the pCPUs that its vCPU ran on differ' WHERE EXISTS (SELECT 1 FROM event_place p"
	" WHERE p.domid IS fork.domid AND p.vcpu IS fork.vcpu AND p.pcpu IN (SELECT pcpu FROM pcpu"
	" WHERE corrected = 0 AND (clock_wrong OR clock_offset <> 0 OR clock_drift <> 0)))"
	" AND (SELECT count(DISTINCT p.pcpu) FROM event_place p WHERE p.domid IS fork.domid"
	" AND p.vcpu IS fork.vcpu) > 1";

/* Times that some pCPU does not cover, apart from each other, so that one look finds the last before a time. */
static const char uncovered[] =
	"CREATE TEMP TABLE uncovered (tsc_first INTEGER PRIMARY KEY, tsc_last INTEGER);"
	"INSERT INTO uncovered SELECT min(tsc_first), max(tsc_last) FROM (SELECT *, sum(apart) OVER"
	" (ORDER BY tsc_first, tsc_last, gap_id) AS part FROM (SELECT *, tsc_first > ifnull(max(tsc_last)"
	" OVER (ORDER BY tsc_first, tsc_last, gap_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),"
	" tsc_first - 1) AS apart FROM gap WHERE tsc_last > tsc_first)) GROUP BY part;";

#define TOUCHES                                                           \
	"(SELECT u.tsc_last FROM uncovered u WHERE u.tsc_first < tsc_end" \
	" ORDER BY u.tsc_first DESC LIMIT 1) > tsc_start;"

/* What they touch can have records there that are missing. */
static const char touched[] =
	"UPDATE fork SET complete = 0, doubt = ifnull(doubt || '; ', '') ||"
	" 'a pCPU has no records for part of the time (view gaps)' WHERE " TOUCHES
	"UPDATE sequence SET complete = 0 WHERE " TOUCHES
	"UPDATE episode SET complete = 0 WHERE " TOUCHES "DROP TABLE temp.uncovered;";

int xf_analyze_mark(sqlite3 *db, struct xf_error *err)
{
	int64_t wrong = 0, gaps = 0;
	int code = xf_db_int(db, "SELECT count(*) FROM doubt WHERE code = 'clock'", &wrong, err);

	if (!code && wrong)
		code = xf_db_exec(db, clocks, err);
	if (!code)
		code = xf_db_int(db, "SELECT count(*) FROM gap", &gaps, err);
	if (!code && gaps)
		code = xf_db_exec(db, uncovered, err);
	if (!code && gaps)
		code = xf_db_exec(db, touched, err);
	return code;
}
