// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Plots of the report.  In: the views.  Out: figures of inline SVG, each with its data as a table.
 * A mechanism is told by shape and pattern as well as by colour.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analyzer/cost/policy.h"
#include "cli/report.h"
#include "common/escape.h"
#include "schemas/db.h"
#include "schemas/mechanism.h"

#define HEIGHT	   220	/* of the plot area, pixels */
#define MAX_POINTS 2000 /* of the time line: the costliest forks */

/* One that this program does not know counts as mixed. */
static unsigned mechanism_index(const char *name)
{
	unsigned i = xf_mechanism_by_name(name);

	return i < XF_MECHANISM_COUNT ? i : XF_BY_MIXED;
}

void xf_report_open_plot(
	struct xf_report *r, const char *title, const char *description, int height)
{
	int id = ++r->plots;

	fputs("<figure><figcaption>", r->file);
	xf_html_text(r->file, title);
	fprintf(r->file,
		"</figcaption>\n<svg class=\"plot\" role=\"img\" height=\"%d\" aria-labelledby=\"t%d d%d\">"
		"<title id=\"t%d\">",
		height, id, id, id);
	xf_html_text(r->file, title);
	fprintf(r->file, "</title><desc id=\"d%d\">", id);
	xf_html_text(r->file, description);
	fputs("</desc>\n", r->file);
}

void xf_report_close_plot(struct xf_report *r)
{
	fputs("</svg></figure>\n", r->file);
}

static void legend(struct xf_report *r, const bool *used, bool lost)
{
	fputs("<ul class=\"legend\">", r->file);
	for (unsigned i = 0; i < XF_MECHANISM_COUNT; i++) {
		if (!used[i])
			continue;
		fprintf(r->file,
			"<li><svg width=\"14\" height=\"14\" aria-hidden=\"true\"><use href=\"#m%d\" x=\"7\""
			" y=\"7\" class=\"c%d\"/></svg> <b>%s</b>: %s</li>",
			i, i, xf_mechanism_name(i), xf_mechanism_what(i));
	}
	if (lost)
		fputs("<li><svg width=\"14\" height=\"14\" aria-hidden=\"true\"><rect class=\"loss\" width=\"14\" "
		      "height=\"14\"/></svg> <b>lost</b>: records of this time are missing</li>",
			r->file);
	fputs("</ul>\n", r->file);
}

/* Horizontal lines at the powers of ten between the ends. */
static void log_axis(struct xf_report *r, double low, double high)
{
	for (int e = (int)low; e <= (int)high; e++) {
		double y = HEIGHT - (e - low) / (high - low) * HEIGHT;
		char text[32];
		double cycles = r->hz ? pow(10, e) * (double)r->hz / 1e6 : pow(10, e);

		/* the scale's numbers are whole, whatever the frequency */
		xf_html_time(r, cycles * (1 + 1e-9), text, sizeof(text));
		for (char *c = strchr(text, '.'); c && (*c == '.' || *c == '0');)
			memmove(c, c + 1, strlen(c));
		fprintf(r->file,
			"<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.1f\" y2=\"%.1f\"/>"
			"<text class=\"end\" x=\"-8\" y=\"%.1f\">%s</text>\n",
			y, y, y + 4, text);
	}
}

/* A round step that gives at most four marks. */
static double round_step(double span)
{
	double step = pow(10, floor(log10(span > 0 ? span : 1))), n = span / step;

	return n < 1.5 ? step / 2 : n < 3 ? step : n < 7 ? 2 * step : 4 * step;
}

static void time_axis(struct xf_report *r, double span)
{
	double unit = r->hz ? (double)r->hz : 1, total = span / unit, step = round_step(total);
	const char *name = r->hz ? " s" : " cycles";

	for (double t = 0; t <= total * 1.0001; t += step) {
		double x = total > 0 ? t / total * 100 : 0;

		fprintf(r->file,
			"<line class=\"grid\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"%d\"/>"
			"<text class=\"middle\" x=\"%.2f%%\" y=\"%d\">%g%s</text>\n",
			x, x, HEIGHT, x, HEIGHT + 18, t, t > 0 ? name : "");
	}
}

static int draw_losses(struct xf_report *r, double span, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(r->db, &stmt,
		"SELECT ifnull(tsc_first, tsc_last), ifnull(tsc_last, tsc_first), lost, pcpu FROM losses"
		" WHERE ifnull(tsc_first, tsc_last) IS NOT NULL LIMIT 1000",
		err);

	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		double x = (double)(sqlite3_column_int64(stmt, 0) - r->first) / span * 100;
		double end = (double)(sqlite3_column_int64(stmt, 1) - r->first) / span * 100;

		fprintf(r->file,
			"<rect class=\"loss\" x=\"%.3f%%\" width=\"%.3f%%\" y=\"0\" height=\"%d\"><title>%lld "
			"records lost on pCPU %lld</title></rect>\n",
			x, fmax(end - x, 0.15), HEIGHT, sqlite3_column_int64(stmt, 2),
			sqlite3_column_int64(stmt, 3));
		code = 0;
	}
	sqlite3_finalize(stmt);
	return code;
}

static int draw_forks(struct xf_report *r, const double *scale, bool *used, struct xf_error *err)
{
	double span = scale[2];
	char text[64], sql[256];
	sqlite3_stmt *stmt;
	int code;

	snprintf(sql, sizeof(sql),
		"SELECT fork_id, tsc_start, tsc_end - tsc_start, mechanism, pt_pages, ptes FROM forks"
		" ORDER BY tsc_end - tsc_start DESC LIMIT %d",
		MAX_POINTS);
	code = xf_db_prepare(r->db, &stmt, sql, err);
	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		double cycles = fmax(sqlite3_column_double(stmt, 2), 1);
		double units = r->hz ? cycles * 1e6 / (double)r->hz : cycles;
		unsigned m = mechanism_index(xf_db_text(stmt, 3));
		double y = HEIGHT - (log10(units) - scale[0]) / (scale[1] - scale[0]) * HEIGHT;

		used[m] = true;
		fprintf(r->file,
			"<use href=\"#m%d\" class=\"c%d\" x=\"%.3f%%\" y=\"%.1f\"><title>fork %lld: %s, %lld "
			"page-table pages, %lld entries, %s</title></use>\n",
			m, m, (double)(sqlite3_column_int64(stmt, 1) - r->first) / span * 100,
			fmin(fmax(y, 0), HEIGHT), sqlite3_column_int64(stmt, 0),
			xf_mechanism_name(m), sqlite3_column_int64(stmt, 4),
			sqlite3_column_int64(stmt, 5), xf_html_time(r, cycles, text, sizeof(text)));
		code = 0;
	}
	sqlite3_finalize(stmt);
	return code;
}

int xf_report_timeline(struct xf_report *r, struct xf_error *err)
{
	double scale[3] = {0, 1, fmax((double)(r->last - r->first), 1)};
	int64_t low = 1, high = 1, n = 0, lost = 0;
	bool used[XF_MECHANISM_COUNT] = {false};
	double unit = r->hz ? (double)r->hz / 1e6 : 1;
	char text[200];
	int code;

	if ((code = xf_db_int(r->db, "SELECT count(*) FROM forks", &n, err)) || !n)
		return code;
	if ((code = xf_db_int(r->db, "SELECT min(tsc_end - tsc_start) FROM forks", &low, err)) ||
		(code = xf_db_int(r->db, "SELECT count(*) FROM losses", &lost, err)) ||
		(code = xf_db_int(r->db, "SELECT max(tsc_end - tsc_start) FROM forks", &high, err)))
		return code;
	scale[0] = floor(log10(fmax((double)low / unit, 1)));
	scale[1] = fmax(ceil(log10(fmax((double)high / unit, 1))), scale[0] + 1);
	snprintf(text, sizeof(text),
		"Each mark is one of %lld forks: across, when it began; up, how long it took, on a scale of "
		"powers of ten. The costliest are in the table of forks.",
		(long long)n);
	xf_report_open_plot(r, "Forks over time, by how long each took", text, HEIGHT + 26);
	log_axis(r, scale[0], scale[1]);
	time_axis(r, scale[2]);
	code = draw_losses(r, scale[2], err);
	if (!code)
		code = draw_forks(r, scale, used, err);
	xf_report_close_plot(r);
	legend(r, used, lost > 0);
	if (n > MAX_POINTS)
		fprintf(r->file,
			"<p class=\"note\">The %d costliest of %lld forks are drawn.</p>\n",
			MAX_POINTS, (long long)n);
	return code;
}

#define BIN                                                                                               \
	"CASE WHEN p <= 2 THEN p WHEN p <= 4 THEN 4 WHEN p <= 8 THEN 8 WHEN p <= 16 THEN 16 WHEN p <= 32" \
	" THEN 32 WHEN p <= 64 THEN 64 WHEN p <= 128 THEN 128 WHEN p <= 256 THEN 256 ELSE 512 END"
/* entries changed of one page-table page in one fork, however many sequences it took */
#define PER_PAGE                                                                                          \
	"(SELECT sum(ptes) AS p, sum(faults) AS f, sum(tsc_end - tsc_start) AS t FROM pt_sequences WHERE" \
	" fork_id IS NOT NULL GROUP BY fork_id, ifnull(pt_page, frame) HAVING p > 0)"

/* From how many entries on a page a mechanism costs less than emulating each, by this capture. */
static int break_even(struct xf_report *r, struct xf_price *even, struct xf_error *err)
{
	static const struct xf_policy_filter all = {
		.domid = -1, .vcpu = -1, .fork = -1, .to = UINT64_MAX};
	struct xf_policy_forks forks = {0};
	struct xf_units units;
	int code = xf_policy_load(r->db, &all, &forks, err);

	if (!code)
		code = xf_policy_measure(r->db, &forks, &units, err);
	for (int i = 0; i < 2 && !code; i++)
		even[i] = xf_policy_break_even(&units, i ? XF_POLICY_BATCH_PAGE : XF_POLICY_UNHOOK,
			units.cost[XF_UNIT_UNHOOKS].value, 0);
	xf_policy_free(&forks);
	return code;
}

/* A line at each break-even that is known and within the plot. */
static void draw_break_even(struct xf_report *r, const struct xf_price *even)
{
	for (int i = 0; i < 2; i++) {
		double x = even[i].known ? 10 * (log2(fmax(even[i].value, 0.5)) + 1) : -1;

		if (x < 0 || x > 100)
			continue;
		fprintf(r->file,
			"<line class=\"even\" x1=\"%.1f%%\" x2=\"%.1f%%\" y1=\"-4\" y2=\"%d\"/><text x=\"%.1f%%\" "
			"dx=\"%d\" y=\"%d\"%s>%s pays from %.1f</text>\n",
			x, x, HEIGHT, x, x < 60 ? 5 : -5, i * 16 - 8,
			x < 60 ? "" : " class=\"end\"", i ? "batching" : "unhooking",
			even[i].value);
	}
}

static void tell_break_even(struct xf_report *r, const struct xf_price *even)
{
	static const char *const bounds[] = {"", "at least ", "at most ", "about "};

	for (int i = 0; i < 2; i++) {
		const char *name =
			i ? "Batching a page's entries in one hypercall" : "Unhooking a page";

		fprintf(r->file, "<p class=\"note\">%s ", name);
		if (even[i].known)
			fprintf(r->file,
				"costs less than emulating each write from %s%.1f entries on, by the costs "
				"measured on this capture.",
				bounds[even[i].bound], even[i].value);
		else
			fputs("against emulating each write: the break-even is unknown (", r->file);
		if (!even[i].known) {
			xf_html_text(r->file, even[i].why);
			fputs(").", r->file);
		}
		fputs("</p>\n", r->file);
	}
}

int xf_report_histogram(struct xf_report *r, struct xf_error *err)
{
	static const int bins[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
	int64_t count[10] = {0}, most = 0;
	struct xf_price even[2] = {{0}};
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(r->db, &stmt,
		"SELECT " BIN " AS bin, count(*) FROM " PER_PAGE " GROUP BY bin", err);

	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		for (int i = 0; i < 10; i++)
			if (sqlite3_column_int(stmt, 0) == bins[i])
				count[i] = sqlite3_column_int64(stmt, 1);
		code = 0;
	}
	sqlite3_finalize(stmt);
	for (int i = 0; i < 10; i++)
		most = count[i] > most ? count[i] : most;
	if (code || !most || (code = break_even(r, even, err)))
		return code;
	xf_report_open_plot(r, "Entries changed in a page-table page by one fork",
		"A bar for each range of entries per page; its height is the number of page-table pages. The "
		"numbers are in the table that follows.",
		HEIGHT + 44);
	fprintf(r->file, "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%d\" y2=\"%d\"/>\n",
		HEIGHT, HEIGHT);
	for (int i = 0; i < 10; i++) {
		double h = (double)count[i] / (double)most * (HEIGHT - 56);
		char number[32], range[32];

		snprintf(range, sizeof(range), "%d", bins[i]);
		if (count[i])
			fprintf(r->file,
				"<rect class=\"bar\" x=\"%.1f%%\" width=\"8.4%%\" y=\"%.1f\" height=\"%.1f\"/>",
				i * 10 + 0.8, HEIGHT - h, h);
		fprintf(r->file,
			"<text class=\"middle\" x=\"%d%%\" y=\"%.1f\">%s</text><text class=\"middle\" "
			"x=\"%d%%\" y=\"%d\">%s</text>\n",
			i * 10 + 5, HEIGHT - h - 5,
			xf_html_number(count[i], number, sizeof(number)), i * 10 + 5, HEIGHT + 18,
			range);
	}
	fprintf(r->file,
		"<text class=\"middle soft\" x=\"50%%\" y=\"%d\">entries per page, up to</text>\n",
		HEIGHT + 38);
	draw_break_even(r, even);
	xf_report_close_plot(r);
	tell_break_even(r, even);
	return xf_report_table(r, "Entries changed in a page-table page by one fork",
		"SELECT CASE bin WHEN 1 THEN '1' WHEN 2 THEN '2' ELSE (bin / 2 + 1) || ' to ' || bin END"
		" AS \"entries per page\", n AS \"pages#\", f AS \"hardware faults#\","
		" t / n AS \"time per page@\" FROM (SELECT " BIN
		" AS bin, count(*) AS n, sum(f) AS f,"
		" sum(t) AS t FROM " PER_PAGE " GROUP BY bin) ORDER BY bin",
		NULL, err);
}

int xf_report_mechanisms(struct xf_report *r, struct xf_error *err)
{
	int64_t groups = 0, most = 1;
	sqlite3_stmt *stmt;
	int code, row = 0;

	if ((code = xf_db_int(
		     r->db, "SELECT count(DISTINCT mechanism) FROM forks", &groups, err)) ||
		!groups ||
		(code = xf_db_int(r->db,
			 "SELECT max(t) FROM (SELECT sum(tsc_end - tsc_start) AS t FROM forks"
			 " GROUP BY mechanism)",
			 &most, err)))
		return code;
	xf_report_open_plot(r, "Time spent in forks, by mechanism",
		"A bar for each mechanism; its length is the time of all its forks. The numbers are in the "
		"table that follows.",
		(int)groups * 34);
	code = xf_db_prepare(r->db, &stmt,
		"SELECT mechanism, sum(tsc_end - tsc_start) AS t FROM forks GROUP BY 1 ORDER BY t DESC",
		err);
	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		double t = sqlite3_column_double(stmt, 1), width = t / fmax((double)most, 1) * 82;
		const char *name = xf_db_text(stmt, 0);
		char text[64], shown[256];

		fprintf(r->file,
			"<text class=\"end\" x=\"-8\" y=\"%d\">%s</text><rect class=\"c%d p%d\" x=\"0\" y=\"%d\" "
			"width=\"%.2f%%\" height=\"24\"/><text x=\"%.2f%%\" dx=\"6\" y=\"%d\">%s</text>\n",
			row * 34 + 21, xf_escape_in(shown, sizeof(shown), XF_ESCAPE_HTML, name),
			mechanism_index(name), mechanism_index(name), row * 34 + 4,
			fmax(width, 0.3), fmax(width, 0.3), row * 34 + 21,
			xf_html_time(r, t, text, sizeof(text)));
		row++;
		code = 0;
	}
	sqlite3_finalize(stmt);
	xf_report_close_plot(r);
	if (code)
		return code;
	return xf_report_table(r, "Cost of the forks, by mechanism",
		"SELECT mechanism, count(*) AS \"forks#\", sum(pt_pages) AS \"pages#\", sum(ptes) AS"
		" \"entries#\", sum(faults) AS \"hardware faults#\", sum(tsc_end - tsc_start) AS \"time@\","
		" sum(tsc_end - tsc_start) / nullif(sum(pt_pages), 0) AS \"per page@\","
		" sum(tsc_end - tsc_start) / nullif(sum(ptes), 0) AS \"per entry@\","
		" sum(cow_faults) AS \"later COW faults#\" FROM forks GROUP BY 1 ORDER BY 6 DESC",
		NULL, err);
}
