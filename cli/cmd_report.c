// SPDX-License-Identifier: GPL-2.0-or-later
/* xenfault report: one self-contained page about a capture.  In: DB.  Out: HTML. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/outfile.h"
#include "cli/report.h"
#include "schemas/db.h"
#include "common/version.h"

#define COSTLIEST  10 /* forks in the table */
#define WITH_PAGES 5  /* of them with their pages */
#define PAGES	   24 /* rows of each */
#define ALL_FORKS  1000

static const char style[] =
	":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#57606a;--line:#d0d7de;"
	"--panel:#f6f8fa;--c0:#0072b2;--c1:#b34700;--c2:#007a5a;--c3:#9a4d7e;--c4:#6b5900;--bad:#b00020}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#0f1318;--fg:#e6e9ed;--soft:#9aa5b1;--line:#38424d;"
	"--panel:#181e25;--c0:#56b4e9;--c1:#f0883e;--c2:#2fc79a;--c3:#d99ac0;--c4:#e3d34a;--bad:#ff7b86}}\n"
	"@media print{:root{color-scheme:light;--bg:#fff;--fg:#000;--soft:#333;--line:#999;--panel:#fff;"
	"--c0:#0072b2;--c1:#b34700;--c2:#007a5a;--c3:#9a4d7e;--c4:#6b5900;--bad:#b00020}"
	"figure,tr,dl{break-inside:avoid}h2,h3,caption{break-after:avoid}.scroll{overflow:visible!important}"
	"nav{display:none}body{max-width:none;font-size:10pt}}\n"
	"*{box-sizing:border-box}body{margin:0 auto;max-width:62rem;padding:1.5rem 1.25rem 3rem;"
	"background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif}\n"
	"h1{font-size:1.6rem;line-height:1.25;margin:0 0 .25rem;overflow-wrap:anywhere}"
	"h2{font-size:1.25rem;margin:2.5rem 0 .5rem;padding-top:.75rem;border-top:1px solid var(--line)}"
	"h3{font-size:1.05rem;margin:1.75rem 0 .25rem}p{max-width:46rem}.note,.sub,summary{color:var(--soft)}"
	".sub{margin:0}nav a{margin-right:1rem}a{color:var(--c0)}\n"
	"dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr));gap:.75rem;margin:1rem 0}"
	"dl div{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:.5rem .75rem}"
	"dt{color:var(--soft);font-size:.85rem}dd{margin:0;font-size:1.15rem;font-weight:600;"
	"overflow-wrap:anywhere}\n"
	".bad{border-left:4px solid var(--bad);padding:.25rem .9rem;background:var(--panel)}"
	".good{border-left:4px solid var(--c2);padding:.25rem .9rem;background:var(--panel)}"
	".bad ul{margin:.25rem 0;padding-left:1.1rem}\n"
	".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;margin:.75rem 0;"
	"font-variant-numeric:tabular-nums}caption{text-align:left;font-weight:600;padding:.25rem 0}"
	"th,td{padding:.25rem .7rem .25rem 0;text-align:left;border-bottom:1px solid var(--line);"
	"vertical-align:top}td{white-space:nowrap}th{color:var(--soft);font-weight:600;vertical-align:bottom}"
	".n{text-align:right;padding-left:.7rem}td:first-child,th:first-child{padding-left:0}"
	"code{font:.95em ui-monospace,monospace}\n"
	"figure{margin:1.25rem 0 .5rem}figcaption{font-weight:600;margin-bottom:1.6rem}"
	".plot{display:block;overflow:visible;margin:0 1.5rem 0 4.6rem;width:calc(100% - 6.1rem)}"
	"svg text{font-size:13px;fill:var(--fg)}@media(max-width:30rem){svg text{font-size:11px}}.soft{fill:var(--soft)!important}.end{text-anchor:end}.middle{text-anchor:middle}"
	".grid{stroke:var(--line);stroke-width:1}.bar{fill:url(#hatch0);stroke:var(--c0);stroke-width:1.5}"
	".heat{fill:var(--c0)}.even{stroke:var(--fg);stroke-width:2;stroke-dasharray:6 4}.loss{fill:url(#lost)}.c0{color:var(--c0)}.c1{color:var(--c1)}.c2{color:var(--c2)}"
	".c3{color:var(--c3)}.c4{color:var(--c4)}"
	".p0{fill:url(#hatch0)}.p1{fill:url(#hatch1)}.p2{fill:url(#hatch2)}.p3{fill:url(#hatch3)}"
	".p4{fill:url(#hatch4)}[class*=\" p\"]{stroke:currentColor;stroke-width:1.5}\n"
	".legend{list-style:none;padding:0;margin:.75rem 0;display:flex;flex-wrap:wrap;gap:.15rem 1.5rem;"
	"font-size:.9rem}.legend svg{vertical-align:-2px}.defs{position:absolute;width:0;height:0}\n";

/* Marks m0.. by mechanism, and a hatching for each. */
static const char defs[] =
	"<svg class=\"defs\" aria-hidden=\"true\"><defs>"
	"<g id=\"m0\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"><circle r=\"4\"/></g>"
	"<g id=\"m1\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"><path d=\"M-4-4H4V4H-4Z\"/></g>"
	"<g id=\"m2\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"><path d=\"M0-5L5 4H-5Z\"/></g>"
	"<g id=\"m3\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"><path d=\"M0-6L5 0L0 6L-5 0Z\"/>"
	"</g><g id=\"m4\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"><path d=\"M-4-4L4 4M4-4L-4 4\"/>"
	"</g>"
	"<pattern id=\"hatch0\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path class=\"c0\" "
	"d=\"M-1 7L7-1M-1 1L1-1M5 7L7 5\" stroke=\"currentColor\"/></pattern>"
	"<pattern id=\"hatch1\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path class=\"c1\" "
	"d=\"M0 3H6\" stroke=\"currentColor\" stroke-width=\"2\"/></pattern>"
	"<pattern id=\"hatch2\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path class=\"c2\" "
	"d=\"M3 0V6\" stroke=\"currentColor\" stroke-width=\"2\"/></pattern>"
	"<pattern id=\"hatch3\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><circle class=\"c3\" "
	"cx=\"3\" cy=\"3\" r=\"1.5\" fill=\"currentColor\"/></pattern>"
	"<pattern id=\"hatch4\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><path class=\"c4\" "
	"d=\"M0 0L8 8M8 0L0 8\" stroke=\"currentColor\"/></pattern>"
	"<pattern id=\"lost\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\"><rect width=\"2\" "
	"height=\"4\" fill=\"var(--bad)\" opacity=\".45\"/></pattern>"
	"</defs></svg>\n";

static void fact(struct xf_report *r, const char *name, const char *value)
{
	fputs("<div><dt>", r->file);
	xf_html_text(r->file, name);
	fputs("</dt><dd>", r->file);
	xf_html_text(r->file, value);
	fputs("</dd></div>", r->file);
}

static int number_fact(struct xf_report *r, const char *name, const char *sql, struct xf_error *err)
{
	int64_t value = 0;
	char text[32];
	int code = xf_db_int(r->db, sql, &value, err);

	if (!code)
		fact(r, name, xf_html_number(value, text, sizeof(text)));
	return code;
}

static int capture(struct xf_report *r, struct xf_error *err)
{
	static const struct {
		const char *name, *sql;
	} facts[] = {
		{"forks", "SELECT count(*) FROM forks"},
		{"page faults",
			"SELECT ifnull(sum(events), 0) FROM event_type WHERE name = 'page_fault'"},
		{"writes emulated",
			"SELECT ifnull(sum(events), 0) FROM event_type WHERE name = 'emulate'"},
		{"pages unhooked",
			"SELECT ifnull(sum(events), 0) FROM event_type WHERE name = 'unhook'"},
		{"spurious faults", "SELECT count(*) FROM spurious_faults"},
		{"events", "SELECT ifnull((SELECT events FROM trace), 0)"},
		{"records", "SELECT ifnull((SELECT records FROM trace), 0)"},
		{"records lost", "SELECT ifnull((SELECT lost_records FROM trace), 0)"},
	};
	char text[64];
	int code = 0;

	fputs("<dl>", r->file);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]) && !code; i++)
		code = number_fact(r, facts[i].name, facts[i].sql, err);
	fact(r, "time covered", xf_html_time(r, (double)(r->last - r->first), text, sizeof(text)));
	snprintf(text, sizeof(text), r->hz ? "%.1f MHz" : "unknown", (double)r->hz / 1e6);
	fact(r, "TSC frequency", text);
	fputs("</dl>\n", r->file);
	return code;
}

#define DOUBTS                                                                                         \
	"SELECT lost_records || ' records were lost: the trace buffers were too small for this load.'" \
	" FROM trace WHERE lost_records UNION ALL"                                                     \
	" SELECT 'The capture is cut short or damaged.' FROM trace WHERE NOT complete UNION ALL"       \
	" SELECT unknown_records || ' records are of no kind that this version knows.' FROM trace"     \
	" WHERE unknown_records UNION ALL SELECT count || ' ' || text FROM doubt UNION ALL"            \
	" SELECT count || ' ' || text FROM finding UNION ALL"                                          \
	" SELECT 'The TSC frequency is unknown: times are in cycles (xenfault report --cpu-hz).'"      \
	" FROM trace WHERE ?"

static int doubts(struct xf_report *r, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	bool any = false;
	int code = xf_db_prepare(r->db, &stmt, DOUBTS, err);

	if (!code)
		sqlite3_bind_int(stmt, 1, !r->hz);
	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		if (!any)
			fputs("<div class=\"bad\"><p><strong>To be read with care:</strong></p><ul>",
				r->file);
		any = true;
		fputs("<li>", r->file);
		xf_html_text(r->file, xf_db_text(stmt, 0));
		fputs("</li>", r->file);
		code = 0;
	}
	sqlite3_finalize(stmt);
	fputs(any ? "</ul></div>\n"
		  : "<p class=\"good\">Nothing was lost, and nothing in the capture is in doubt.</p>\n",
		r->file);
	if (code)
		return code;
	return xf_report_table(r, "Domains and vCPUs",
		"SELECT ifnull('d' || domid || 'v' || vcpu, 'unknown') AS vCPU, sum(events) AS \"events#\","
		" group_concat(pcpu, ', ') AS \"on pCPU\" FROM event_place GROUP BY domid, vcpu ORDER BY domid, vcpu",
		NULL, err);
}

static int pages_of_fork(
	struct xf_report *r, int64_t fork, const char *caption, struct xf_error *err)
{
	char sql[640];
	int64_t n = 0;
	int code;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM pt_sequences WHERE fork_id = %lld",
		(long long)fork);
	code = xf_db_int(r->db, sql, &n, err);
	fprintf(r->file, "<h3>Fork %lld</h3>\n", (long long)fork);
	snprintf(sql, sizeof(sql),
		"SELECT ifnull(pt_page, frame) AS \"page or frame$\", mechanism, ptes AS \"entries#\","
		" faults AS \"faults#\", tsc_end - tsc_start AS \"time@\", flushes AS \"flushes#\","
		" cow_faults AS \"later COW#\", ended_by || CASE complete WHEN 0 THEN ', cut' ELSE '' END"
		" AS \"ended by\" FROM pt_sequences WHERE fork_id = %lld ORDER BY tsc_start LIMIT %d",
		(long long)fork, PAGES);
	if (!code)
		code = xf_report_table(r, caption, sql, "No page of it is known.", err);
	if (!code && n > PAGES)
		fprintf(r->file,
			"<p class=\"note\">%lld more: <code>xenfault pages --fork %lld</code></p>\n",
			(long long)(n - PAGES), (long long)fork);
	return code;
}

#define FORK_ROWS                                                                                        \
	"SELECT '#' || fork_id AS fork, ifnull('d' || domid || 'v' || vcpu, '?') AS vCPU,"               \
	" tsc_start - %lld AS \"began@\", tsc_end - tsc_start AS \"took@\", mechanism AS \"by\","        \
	" pt_pages AS \"pages#\", ptes AS \"entries#\", faults AS \"faults#\", flushes AS \"flushes#\"," \
	" cow_faults AS \"later COW#\", CASE complete WHEN 0 THEN 'cut ' ELSE '' END ||"                 \
	" ifnull(doubt, '') AS doubt FROM forks"

/* Where a guest's log names forks. */
static int processes(struct xf_report *r, struct xf_error *err)
{
	int64_t named = 0;
	int code = xf_db_int(r->db,
		"SELECT EXISTS (SELECT 1 FROM guest_forks WHERE fork_id IS NOT NULL)", &named, err);

	if (code || !named)
		return code;
	return xf_report_table(r, "Who forked, by the log of the guest's own kernel",
		"SELECT coalesce(domain, 'd' || domid, '?') AS domain, ifnull(comm, 'not known') AS process,"
		" pid AS \"pid#\", forks AS \"forks#\", cycles AS \"took@\", ptes AS \"entries#\","
		" cow_faults AS \"later COW#\", silent AS \"silent forks#\", threads AS \"threads#\""
		" FROM processes ORDER BY cycles DESC, pid LIMIT 40",
		NULL, err);
}

static int costliest(struct xf_report *r, struct xf_error *err)
{
	char sql[640], sql_all[640], caption[80];
	int64_t n = 0;
	int code = xf_db_int(r->db, "SELECT count(*) FROM forks", &n, err);

	snprintf(caption, sizeof(caption),
		n > COSTLIEST ? "The %d costliest of %lld forks" : "All forks, the costliest first",
		COSTLIEST, (long long)n);
	snprintf(sql, sizeof(sql), FORK_ROWS " ORDER BY tsc_end - tsc_start DESC LIMIT %d",
		(long long)r->first, COSTLIEST);
	snprintf(sql_all, sizeof(sql_all), FORK_ROWS " ORDER BY fork_id LIMIT %d",
		(long long)r->first, ALL_FORKS);
	if (!code)
		code = xf_report_table(r, caption, sql,
			"No fork was found. A fork shows as a run of writes to page tables that take away "
			"write access; the classes pv or shadow, and the scheduler's, must be in the capture.",
			err);
	if (!code && n > COSTLIEST) {
		fprintf(r->file, "<details><summary>All forks as a table%s</summary>\n",
			n > ALL_FORKS ? " (the first of them)" : "");
		code = xf_report_table(r, "Forks in order of time", sql_all, NULL, err);
		fputs("</details>\n", r->file);
	}
	return code ? code : processes(r, err);
}

static int walks(struct xf_report *r, struct xf_error *err)
{
	return xf_report_table(r, "Walks through page tables that are no forks, by instruction",
		"SELECT ifnull('d' || domid, '?') AS domain, ifnull(symbol, printf('0x%llx', rip)) AS"
		" instruction, kind, count(*) AS \"walks#\", sum(pt_pages) AS \"pages#\","
		" sum(ptes) AS \"entries#\", sum(tsc_end - tsc_start) AS \"took@\" FROM walks"
		" GROUP BY domid, rip, kind ORDER BY sum(ptes) DESC LIMIT 20",
		NULL, err);
}

static int page_by_page(struct xf_report *r, struct xf_error *err)
{
	char sql[160];
	sqlite3_stmt *stmt = NULL;
	int code;

	snprintf(sql, sizeof(sql),
		"SELECT fork_id FROM forks ORDER BY tsc_end - tsc_start DESC LIMIT %d", WITH_PAGES);
	code = xf_db_prepare(r->db, &stmt, sql, err);
	while (!code && (code = xf_db_step(stmt, err)) == 1)
		code = pages_of_fork(
			r, sqlite3_column_int64(stmt, 0), "Its page-table pages, in order", err);
	sqlite3_finalize(stmt);
	return code;
}

static int spurious(struct xf_report *r, struct xf_error *err)
{
	int code = xf_report_table(r, "Spurious faults, by cause",
		"SELECT CASE cause WHEN 'reported' THEN 'reported: Xen itself found nothing to do'"
		" WHEN 'rehooked' THEN 'rehooked: under a page that another vCPU had unhooked'"
		" WHEN 'raced' THEN 'raced: the fault of another vCPU did the work' ELSE cause END AS cause,"
		" confidence, count(*) AS \"faults#\", count(DISTINCT va) AS \"addresses#\""
		" FROM spurious_faults GROUP BY 1, 2 ORDER BY 3 DESC",
		"None was found.", err);

	if (!code)
		code = xf_report_table(r, "Where they happened most",
			"SELECT ifnull(symbol, printf('0x%llx', rip)) AS instruction, count(*) AS \"faults#\""
			" FROM spurious_faults WHERE rip IS NOT NULL GROUP BY 1 ORDER BY 2 DESC LIMIT 10",
			NULL, err);
	return code;
}

static int flushes(struct xf_report *r, struct xf_error *err)
{
	return xf_report_table(r, "TLB flushes that the trace shows",
		"SELECT cause, reach, sum(flushes) AS \"flushes#\", sum(cpus) AS \"CPUs hit#\","
		" sum(CASE WHEN fork_id IS NULL THEN 0 ELSE flushes END) AS \"in forks#\","
		" sum(CASE WHEN fork_id IS NULL THEN 0 ELSE flushes END) * 1.0 /"
		" nullif((SELECT sum(ptes) FROM forks), 0) AS \"per entry of a fork#\""
		" FROM flushes GROUP BY 1, 2 ORDER BY 3 DESC",
		"The trace shows none (a PV guest of a Xen since 2007 flushes inside hypercalls whose content is "
		"not recorded).",
		err);
}

static int sections(struct xf_report *r, struct xf_error *err)
{
	static int (*const parts[])(struct xf_report *, struct xf_error *) = {capture, doubts,
		xf_report_timeline, costliest, walks, xf_report_histogram, xf_report_mechanisms,
		spurious, flushes, xf_report_dirty, page_by_page};
	static const char *const headings[] = {NULL, "<h2 id=\"trust\">Can it be trusted?</h2>",
		"<h2 id=\"forks\">Forks</h2>", NULL, NULL, "<h2 id=\"pages\">Page-table pages</h2>",
		"<h2 id=\"cost\">Cost by mechanism</h2>",
		"<h2 id=\"spurious\">Spurious faults</h2>", "<h2 id=\"flushes\">TLB flushes</h2>",
		"<h2 id=\"dirty\">Log-dirty mode</h2>",
		"<h2 id=\"detail\">The costliest forks, page by page</h2>"};
	int code = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !code; i++) {
		if (headings[i])
			fprintf(r->file, "%s\n", headings[i]);
		code = parts[i](r, err);
	}
	return code;
}

static int page(struct xf_report *r, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(r->db, &stmt,
		"SELECT source, format, tool_version, tsc_first, tsc_last FROM trace", err);

	if (code)
		return code;
	code = xf_db_step(stmt, err);
	if (!code)
		code = xf_fail(err, XF_FORMAT,
			"%s holds no finished capture; import the trace again", r->path);
	if (code < 0) {
		sqlite3_finalize(stmt);
		return code;
	}
	r->first = sqlite3_column_int64(stmt, 3);
	r->last = sqlite3_column_int64(stmt, 4);
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/>\n"
	      "<meta name=\"generator\" content=\"xenfault " XF_VERSION
	      "\"/>\n<title>What page tables cost: ",
		r->file);
	xf_html_text(r->file, xf_db_text(stmt, 0));
	fprintf(r->file, "</title>\n<style>\n%s</style>\n</head>\n<body>\n%s", style, defs);
	fputs("<header><h1>What page tables cost: ", r->file);
	xf_html_text(r->file, xf_db_text(stmt, 0));
	fputs("</h1>\n<p class=\"sub\">A Xen trace of format ", r->file);
	xf_html_text(r->file, xf_db_text(stmt, 1));
	fputs(", read by ", r->file);
	xf_html_text(r->file, xf_db_text(stmt, 2));
	fputs("</p>\n<nav aria-label=\"Sections\"><a href=\"#trust\">Trust</a> <a href=\"#forks\">Forks</a> "
	      "<a href=\"#pages\">Pages</a> <a href=\"#cost\">Cost</a> <a href=\"#spurious\">Spurious "
	      "faults</a> <a href=\"#flushes\">Flushes</a> <a href=\"#dirty\">Log-dirty mode</a> <a href=\"#detail\">Page by page</a></nav></header>\n<main>\n",
		r->file);
	sqlite3_finalize(stmt);
	code = sections(r, err);
	fputs("</main>\n<footer><p class=\"note\">Made by xenfault " XF_VERSION
	      " report. A time of a traced "
	      "guest includes the cost of tracing.</p></footer>\n</body>\n</html>\n",
		r->file);
	return code;
}

static int run_report(struct xf_options *options, struct xf_error *err)
{
	struct xf_report r = {0};
	struct xf_outfile out = {0};
	int code = xf_need_args(options, 1, err);

	if (code)
		return code;
	r.path = options->args[0];
	code = xf_open(&r.db, r.path, err);
	if (!code)
		code = xf_capture_hz(r.db, options, &r.hz, err);
	if (!code)
		code = xf_db_exec(r.db, "BEGIN", err);
	if (!code)
		code = xf_outfile_open(&out, options->output, options->force, err);
	r.file = out.file;
	if (!code)
		code = page(&r, err);
	code = xf_outfile_close(&out, code, err);
	sqlite3_close(r.db);
	return code;
}

static const struct xf_option report_options[] = {
	XF_OPT_OUTPUT("FILE", "the file to write; default: standard output"),
	XF_OPT_FORCE("FILE"),
	XF_OPT_CPU_HZ,
	{0},
};

const struct xf_command xf_cmd_report = {"report", "DB",
	"one self-contained HTML page about a capture", report_options, 0, run_report};
