// SPDX-License-Identifier: GPL-2.0-or-later
/* Losses, doubts and findings.  In: their tables, through a temporary one.  Out: rows. */
#include "schemas/db.h"
#include "tui/columns.h"
#include "tui/format.h"
#include "tui/ui.h"

static const struct xf_tui_column columns[] = {
	{"what", "what", "r.what", XF_SHOW_KIND, 7, UP | ALWAYS,
		"loss, doubt (of the reader), finding (of the analysis)"},
	{"count", "count", "r.count", XF_SHOW_INT, 9, ALWAYS, "records lost, or how often"},
	{"pcpu", "pCPU", "r.pcpu", XF_SHOW_INT, 4, UP | ALWAYS, "physical CPU"},
	{"tsc", "from", "r.tsc", XF_SHOW_TIME, 10, UP | ALWAYS,
		"first record lost; the first doubt"},
	{"tsc_last", "until", "r.tsc_last", XF_SHOW_TIME, 10, UP | ALWAYS,
		"the record that reports the loss"},
	{"vcpu", "vCPU", VCPU, XF_SHOW_VCPU, 4, UP | ALWAYS, "current there afterwards"},
	{"text", "text", "r.text", XF_SHOW_TEXT, 24, UP | ALWAYS | FLEX, "in words"},
	{"code", "code", "r.code", XF_SHOW_TEXT, 16, UP | HIDE | ALWAYS, "short name"},
	{"lasts", "lasts", "(r.tsc_last - r.tsc)", XF_SHOW_SPAN, 9, HIDE | ALWAYS,
		"how long nothing was recorded"},
};

static const struct xf_tui_source source = {
	.name = "losses",
	.from = "temp.xf_trust r",
	.key = "r.id",
	.bounds = "SELECT (SELECT min(id) FROM temp.xf_trust), (SELECT max(id) FROM temp.xf_trust)",
	.flag = "1",
	.dense = true,
	.columns = columns,
	.ncolumns = COUNT(columns),
};

static int trust_fill(struct xf_tui_view *view, struct xf_error *err)
{
	return xf_db_exec(view->ui->db,
		"DROP TABLE IF EXISTS temp.xf_trust;"
		"CREATE TEMP TABLE xf_trust (id INTEGER PRIMARY KEY, what TEXT, code TEXT, count INTEGER,"
		" pcpu INTEGER, tsc INTEGER, tsc_last INTEGER, domid INTEGER, vcpu INTEGER, text TEXT);"
		"INSERT INTO temp.xf_trust (what, code, count, tsc, text)"
		" SELECT 'doubt', code, count, tsc, text FROM doubt ORDER BY code;"
		"INSERT INTO temp.xf_trust (what, code, count, text)"
		" SELECT 'finding', code, count, text FROM finding ORDER BY code;"
		"INSERT INTO temp.xf_trust (what, count, pcpu, tsc, tsc_last, domid, vcpu, text)"
		" SELECT 'loss', lost, pcpu, tsc_first, tsc_last, domid, vcpu,"
		" lost || ' records lost here' FROM loss ORDER BY loss_id",
		err);
}

static void trust_totals(struct xf_tui_view *view, char *text, size_t size)
{
	const struct xf_tui_capture *c = &view->ui->capture;
	char lost[32];

	xf_tui_format_grouped(lost, sizeof(lost), c->lost);
	snprintf(text, size, "%s records lost, %lld doubts, %lld findings%s", lost,
		(long long)c->doubts, (long long)c->findings,
		c->complete ? "" : "; the capture is cut short");
	if (!c->lost && !c->doubts && !c->findings && c->complete)
		snprintf(text, size, "No loss, no doubt: every record of the capture was read");
}

/* The first event not before a time: they are in time order. */
static int64_t event_at(struct xf_tui *ui, int64_t tsc)
{
	int64_t range[2], there[2];

	if (xf_tui_query(ui->db,
		    "SELECT (SELECT min(event_id) FROM event), (SELECT max(event_id) FROM event)",
		    0, 0, range, 2, NULL))
		return -1;
	while (range[0] < range[1]) {
		int64_t middle = range[0] + (range[1] - range[0]) / 2;

		if (xf_tui_query(ui->db, "SELECT tsc FROM event WHERE event_id = ?1", middle, 0,
			    there, 1, NULL))
			return -1;
		if (there[0] < tsc)
			range[0] = middle + 1;
		else
			range[1] = middle;
	}
	return range[0];
}

static int64_t trust_event(struct xf_tui_view *view)
{
	const struct xf_tui_value *tsc = xf_tui_value(view, xf_tui_selected(view), "tsc");

	return tsc ? event_at(view->ui, tsc->integer) : -1;
}

const struct xf_tui_view_ops xf_tui_view_trust = {
	.title = "Losses and doubts",
	.source = &source,
	.open = trust_fill,
	.totals = trust_totals,
	.event = trust_event,
	.refresh = trust_fill,
};
