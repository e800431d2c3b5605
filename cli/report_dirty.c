// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The report's part on log-dirty mode and on guests with nested paging.
 * In: the views of episodes and of nested page faults.  Out: tables, and a heat map (round x gfn).
 */
#include <string.h>

#include "cli/report.h"
#include "schemas/db.h"
#include "schemas/hap.h"
#include "schemas/heat.h"

#define PICTURES 3   /* episodes that are drawn, those with the most pages */
#define COLUMNS	 128 /* of a heat map */
#define ROWS	 40
#define ROW	 16 /* pixels */
#define LEVELS	 5  /* of darkness */

static int level(double share)
{
	return share > 0 ? 1 + (int)(share * (LEVELS - 0.001)) : 0;
}

/* Neighbours of one darkness are one rectangle. */
static void draw_row(struct xf_report *r, const struct xf_heat *heat, int row)
{
	int begun = 0;

	for (int x = 1; x <= heat->columns; x++) {
		int dark = level(xf_heat_share(heat, row, begun));

		if (x < heat->columns && level(xf_heat_share(heat, row, x)) == dark)
			continue;
		if (dark)
			fprintf(r->file,
				"<rect class=\"heat\" x=\"%.2f%%\" width=\"%.2f%%\" y=\"%d\" height=\"%d\""
				" fill-opacity=\"%.1f\"/>",
				100.0 * begun / heat->columns, 100.0 * (x - begun) / heat->columns,
				row * ROW + 1, ROW - 2, (double)dark / LEVELS);
		begun = x;
	}
}

static void row_name(struct xf_report *r, const struct xf_heat *heat, int row)
{
	long long first = (long long)xf_heat_first_round(heat, row);
	long long last = (long long)xf_heat_last_round(heat, row);

	fprintf(r->file, "<text class=\"end\" x=\"-8\" y=\"%d\">", row * ROW + ROW - 4);
	if (first == last)
		fprintf(r->file, "%lld</text>\n", first);
	else
		fprintf(r->file, "%lld&#8211;%lld</text>\n", first, last);
}

static void draw(struct xf_report *r, const struct xf_heat *heat, int64_t episode)
{
	char title[96];

	snprintf(title, sizeof(title), "Episode %lld: pages dirtied, by round and guest frame",
		(long long)episode);
	xf_report_open_plot(r, title,
		"A row for each round, from above; across, the guest frames in order, without the regions"
		" of 2 MiB in which no page was dirtied. The darker, the more of the pages there were"
		" dirtied in that round. The numbers are in the tables that follow.",
		heat->rows * ROW + 26);
	for (int row = 0; row < heat->rows; row++) {
		row_name(r, heat, row);
		draw_row(r, heat, row);
	}
	for (int i = 0; i < 4; i++)
		fprintf(r->file,
			"<line class=\"grid\" x1=\"%d%%\" x2=\"%d%%\" y1=\"0\" y2=\"%d\"/><text x=\"%d%%\""
			" y=\"%d\">0x%llx</text>\n",
			i * 25, i * 25, heat->rows * ROW, i * 25, heat->rows * ROW + 18,
			(long long)xf_heat_frame(heat, i * heat->columns / 4));
	xf_report_close_plot(r);
	fputs("<p class=\"note\">A row is a round. Darkest: all pages there were dirtied; blank: none.</p>\n",
		r->file);
}

static int picture(struct xf_report *r, int64_t episode, struct xf_error *err)
{
	struct xf_heat heat;
	char sql[400];
	int code = xf_heat_load(r->db, episode, COLUMNS, ROWS, &heat, err);

	if (!code && heat.rows)
		draw(r, &heat, episode);
	xf_heat_free(&heat);
	snprintf(sql, sizeof(sql),
		"SELECT rounds AS \"in so many rounds\", count(*) AS \"pages#\","
		" round(count(*) / 256.0, 1) AS \"MiB#\", sum(user) AS \"first from user mode#\""
		" FROM dirty WHERE episode_id = %lld GROUP BY rounds ORDER BY rounds DESC LIMIT %d",
		(long long)episode, ROWS);
	if (!code)
		code = xf_report_table(r,
			"The working set: pages by the number of rounds that dirtied them", sql,
			NULL, err);
	snprintf(sql, sizeof(sql),
		"SELECT round AS \"round\", tsc_start - %lld AS \"began@\", tsc_end - tsc_start AS"
		" \"took@\", dirtied AS \"pages#\", ended_by AS \"ended by\", sure AS \"found by\""
		" FROM rounds WHERE episode_id = %lld ORDER BY round LIMIT %d",
		(long long)r->first, (long long)episode, ROWS);
	if (!code)
		code = xf_report_table(r, "Rounds", sql, NULL, err);
	snprintf(sql, sizeof(sql),
		"SELECT ifnull(symbol, printf('0x%%llx', rip)) AS instruction, CASE user WHEN 1 THEN"
		" 'user' WHEN 0 THEN 'kernel' END AS mode, count(*) AS \"pages#\" FROM dirty WHERE"
		" episode_id = %lld AND rip IS NOT NULL GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 10",
		(long long)episode);
	return code ? code
		    : xf_report_table(
			      r, "Who wrote first to a page, most pages first", sql, NULL, err);
}

static int pictures(struct xf_report *r, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	char sql[120];
	int code;

	snprintf(sql, sizeof(sql),
		"SELECT episode_id FROM episodes ORDER BY pages DESC, episode_id LIMIT %d",
		PICTURES);
	code = xf_db_prepare(r->db, &stmt, sql, err);
	while (!code && (code = xf_db_step(stmt, err)) == 1)
		code = picture(r, sqlite3_column_int64(stmt, 0), err);
	sqlite3_finalize(stmt);
	return code;
}

#define EPISODES                                                                                 \
	"SELECT '#' || episode_id AS episode, ifnull('d' || domid, '?') AS domain, mechanism AS" \
	" \"by\", tsc_start - %lld AS \"began@\", tsc_end - tsc_start AS \"took@\","             \
	" rounds AS \"rounds#\", pages AS \"pages#\", round_pages AS \"pages to send#\","        \
	" fixups AS \"faults#\", CASE complete WHEN 0 THEN 'cut' ELSE '' END AS doubt"           \
	" FROM episodes ORDER BY episode_id LIMIT 40"

#define VCPUS                                                                                    \
	"SELECT '#' || episode_id AS episode, 'd' || domid || 'v' || vcpu AS vCPU, fixups AS"    \
	" \"pages#\", cycles AS \"for them@\", recalcs AS \"recalculations#\", recalc_cycles AS" \
	" \"for those@\", paused AS \"kept from running@\" FROM episode_vcpus ORDER BY 1, vcpu LIMIT 40"

#define NPFS                                                                           \
	"SELECT what, 'd' || domid AS domain, count(*) AS \"faults#\", sum(cycles) AS" \
	" \"exit to entry@\", avg(cycles) AS \"of one@\" FROM npfs GROUP BY 1, 2 ORDER BY 3 DESC"

#define MMIO                                                                                        \
	"SELECT 'd' || domid AS domain, gpa AS \"address$\", ifnull(symbol, printf('0x%llx', rip))" \
	" AS instruction, npfs AS \"faults#\", reads AS \"reads#\", writes AS \"writes#\","         \
	" cycles AS \"time@\" FROM mmio ORDER BY npfs + reads + writes DESC LIMIT 10"

/* Both views read all events: only where there are such. */
static int nested_faults(struct xf_report *r, struct xf_error *err)
{
	int64_t npfs = 0;
	int code = xf_db_int(r->db,
		"SELECT EXISTS (SELECT 1 FROM event_type WHERE name = 'npf' AND events > 0)", &npfs,
		err);

	if (code || !npfs)
		return code;
	code = xf_report_table(r, "Nested page faults", NPFS, NULL, err);
	return code ? code
		    : xf_report_table(r, "Devices reached through memory: where most", MMIO,
			      "None was reached so.", err);
}

/* What cannot be shown of guests with nested paging. */
static int missing(struct xf_report *r, enum xf_hap_list list, struct xf_error *err)
{
	char *text;
	int code = xf_hap_missing(r->db, list, &text, err);

	/* the first line is a sentence of its own */
	if (text) {
		char *rest = text + strcspn(text, "\n");

		*rest = '\0';
		fputs("<p class=\"note\">", r->file);
		xf_html_text(r->file, text);
		fputs(".<br/>", r->file);
		xf_html_text(r->file, rest + 1);
		fputs("</p>\n", r->file);
	}
	sqlite3_free(text);
	return code;
}

int xf_report_dirty(struct xf_report *r, struct xf_error *err)
{
	int64_t episodes = 0;
	char sql[sizeof(EPISODES) + 24];
	int code = xf_db_int(r->db, "SELECT count(*) FROM episodes", &episodes, err);

	if (!code)
		code = missing(r, episodes ? XF_HAP_SOME_FORKS : XF_HAP_EPISODES, err);
	snprintf(sql, sizeof(sql), EPISODES, (long long)r->first);
	if (!code)
		code = xf_report_table(r, "Domains in log-dirty mode", sql,
			"No domain was seen in log-dirty mode.", err);
	if (!code)
		code = pictures(r, err);
	if (!code && episodes)
		code = xf_report_table(r, "What log-dirty mode took from each vCPU", VCPUS,
			"Of a PV domain: see the forks inside an episode (xenfault episodes).",
			err);
	return code ? code : nested_faults(r, err);
}
