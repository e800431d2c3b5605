// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault episodes: a guest in log-dirty mode, as a live migration makes it run.
 * In: DB, filters.  Out: the views episodes or rounds; in text also what forks cost inside and outside.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "schemas/db.h"

struct episodes_options {
	struct xf_options common;
	bool rounds;
	int64_t link; /* MB/s, 0 = not asked */
};

#define MOST	     24 /* columns */
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define DOM	     "ifnull('d' || domid, '?')"
#define START	     "printf('%.6f', (tsc_start - :first) * 1.0 / :hz)"
#define CYCLES	     "(tsc_end - tsc_start)"
#define PER_SECOND   "fixups * 1.0 * :hz / nullif(" CYCLES ", 0)"
#define PER_DIRTIED  "fixups * 1.0 / nullif(dirtied, 0)"

/* A column: what it is in SQL, and how it shows.  :hz is NULL while the frequency is unknown. */
struct item {
	const char *sql, *sql_cycles; /* the second one without a frequency, NULL = the same */
	struct xf_column column;
	const char *title_cycles;
};

static const struct item episodes_text[] = {
	{"episode_id", NULL, {"episode", NULL, 7, XF_CELL_INT}, NULL},
	{DOM, NULL, {"dom", NULL, 5, XF_CELL_TEXT}, NULL},
	{"mechanism", NULL, {"by", NULL, 6, XF_CELL_TEXT}, NULL},
	{START, "tsc_start - :first", {"start", "start/s", 12, XF_CELL_INT}, "start/cycles"},
	{CYCLES " * 1e3 / :hz", CYCLES, {"time", "ms", 10, XF_CELL_REAL}, "cycles"},
	{"fixups", NULL, {"fixups", NULL, 7, XF_CELL_INT}, NULL},
	{"dirtied", NULL, {"dirtied", NULL, 7, XF_CELL_INT}, NULL},
	{"rounds", NULL, {"rounds", NULL, 6, XF_CELL_INT}, NULL},
	{PER_SECOND, "fixups * 1e9 / nullif(" CYCLES ", 0)", {"rate", "fixups/s", 9, XF_CELL_REAL},
		"/Gcycle"},
	{"CASE complete WHEN 0 THEN 'cut' ELSE '' END", NULL, {"mark", "", 3, XF_CELL_TEXT}, NULL},
};

static const struct item rounds_text[] = {
	{"episode_id", NULL, {"episode", NULL, 7, XF_CELL_INT}, NULL},
	{"round", NULL, {"round", NULL, 5, XF_CELL_INT}, NULL},
	{START, "tsc_start - :first", {"start", "start/s", 12, XF_CELL_INT}, "start/cycles"},
	{CYCLES " * 1e3 / :hz", CYCLES, {"time", "ms", 11, XF_CELL_REAL}, "cycles"},
	{"fixups", NULL, {"fixups", NULL, 7, XF_CELL_INT}, NULL},
	{"dirtied", NULL, {"dirtied", NULL, 7, XF_CELL_INT}, NULL},
	{PER_SECOND, "fixups * 1e9 / nullif(" CYCLES ", 0)", {"rate", "fixups/s", 9, XF_CELL_REAL},
		"/Gcycle"},
	{"ended_by", NULL, {"ended", NULL, 7, XF_CELL_TEXT}, NULL},
	{"sure", NULL, {"by", NULL, 6, XF_CELL_TEXT}, NULL},
};

static const struct item vcpus_text[] = {
	{"episode_id", NULL, {"episode", NULL, 7, XF_CELL_INT}, NULL},
	{"vcpu", NULL, {"vcpu", NULL, 4, XF_CELL_INT}, NULL},
	{"fixups", NULL, {"pages", NULL, 7, XF_CELL_INT}, NULL},
	{"cycles * 1e3 / :hz", "cycles", {"in", "ms for them", 12, XF_CELL_REAL}, "cycles"},
	{"recalcs", NULL, {"recalcs", NULL, 8, XF_CELL_INT}, NULL},
	{"recalc_cycles * 1e3 / :hz", "recalc_cycles",
		{"recalc_in", "ms for them", 12, XF_CELL_REAL}, "cycles"},
	{"paused * 1e3 / :hz", "paused", {"paused", "ms paused", 12, XF_CELL_REAL},
		"cycles paused"},
};

/* What a link of :link bytes a second makes of each round: what is dirtied while its pages are sent. */
#define RATE "dirtied * 4096.0 * :hz / nullif(" CYCLES ", 0)"
static const struct item link_text[] = {
	{"episode_id", NULL, {"episode", NULL, 7, XF_CELL_INT}, NULL},
	{"round", NULL, {"round", NULL, 5, XF_CELL_INT}, NULL},
	{"dirtied * 4096 / 1e6", NULL, {"size", "MB to send", 10, XF_CELL_REAL}, NULL},
	{"dirtied * 4096 * 1e3 / :link", NULL, {"takes", "takes ms", 10, XF_CELL_REAL}, NULL},
	{RATE " / 1e6", NULL, {"rate", "MB/s dirtied", 12, XF_CELL_REAL}, NULL},
	{"CAST(min(dirtied, dirtied * (" RATE " / :link)) AS INTEGER)", NULL,
		{"then", "pages then", 10, XF_CELL_INT}, NULL},
};

static const struct item forks_text[] = {
	{"episode_id", NULL, {"episode", NULL, 7, XF_CELL_INT}, NULL},
	{"pt_pages", NULL, {"pages", NULL, 6, XF_CELL_INT}, NULL},
	{"ptes_per_page", NULL, {"ptes/page", NULL, 9, XF_CELL_INT}, NULL},
	{"inside", NULL, {"inside", NULL, 7, XF_CELL_INT}, NULL},
	{"outside", NULL, {"outside", NULL, 7, XF_CELL_INT}, NULL},
	{"cycles_inside * 1e6 / :hz", "cycles_inside", {"in", "us inside", 13, XF_CELL_REAL},
		"inside/cycles"},
	{"cycles_outside * 1e6 / :hz", "cycles_outside", {"out", "us outside", 14, XF_CELL_REAL},
		"outside/cycles"},
	{"CASE WHEN inside AND outside THEN printf('%+.1f %%',"
	 " 100.0 * (cycles_inside - cycles_outside) / cycles_outside) END",
		NULL, {"added", NULL, 9, XF_CELL_INT}, NULL},
};

#define FULL(name)                                                \
	{                                                         \
#name, NULL, {#name, NULL, 0, XF_CELL_INT }, NULL \
	}
#define FULL_TIMES                                                               \
	FULL(tsc_start), FULL(tsc_end),                                          \
	{                                                                        \
		CYCLES " * 1e6 / :hz", NULL, {"us", NULL, 0, XF_CELL_REAL}, NULL \
	}
#define FULL_RATES                                                                     \
	{PER_SECOND, NULL, {"fixups_per_second", NULL, 0, XF_CELL_REAL}, NULL},        \
	{                                                                              \
		PER_DIRTIED, NULL, {"fixups_per_dirtied", NULL, 0, XF_CELL_REAL}, NULL \
	}

static const struct item episodes_full[] = {FULL(episode_id), FULL(domid), FULL_TIMES, FULL(fixups),
	FULL(pages), FULL(dirtied), FULL(round_pages), FULL(rounds), FULL(faults), FULL_RATES,
	FULL(complete), FULL(ended_by), FULL(first_event), FULL(last_event), FULL(mechanism),
	FULL(sure), FULL(unread)};

static const struct item rounds_full[] = {FULL(episode_id), FULL(round), FULL(domid), FULL_TIMES,
	FULL(fixups), FULL(pages), FULL(dirtied), FULL_RATES, FULL(ended_by), FULL(mechanism),
	FULL(sure)};

_Static_assert(COUNT(episodes_full) <= MOST && COUNT(rounds_full) <= MOST, "room for all columns");

/* A migration stops the guest when so few pages are left, or after 5 rounds (libxc's defaults). */
#define FEW_PAGES   50
#define MOST_ROUNDS 100

struct query {
	sqlite3 *db;
	const struct xf_options *options;
	struct xf_range range;
	uint64_t first, hz, link; /* link: bytes a second, 0 = not asked */
};

static char *statement(const struct query *q, const char *view, const struct item *items, size_t n,
	struct xf_column *columns)
{
	sqlite3_str *sql = sqlite3_str_new(q->db);
	bool timed = !strcmp(view, "episodes") || !strcmp(view, "rounds");

	sqlite3_str_appendall(sql, "SELECT ");
	for (size_t i = 0; i < n; i++) {
		bool cycles = !q->hz && items[i].sql_cycles;

		columns[i] = items[i].column;
		if (cycles && items[i].title_cycles)
			columns[i].title = items[i].title_cycles;
		sqlite3_str_appendf(
			sql, "%s%s", i ? ", " : "", cycles ? items[i].sql_cycles : items[i].sql);
	}
	sqlite3_str_appendf(sql, " FROM %s WHERE (:domid < 0 OR domid = :domid)", view);
	if (timed && q->range.has_from)
		sqlite3_str_appendall(sql, " AND tsc_start >= :from");
	if (timed && q->range.has_to)
		sqlite3_str_appendall(sql, " AND tsc_start <= :to");
	sqlite3_str_appendall(sql, " ORDER BY 1, 2, 3 LIMIT :limit");
	return sqlite3_str_finish(sql);
}

static void bind(const struct query *q, sqlite3_stmt *stmt)
{
	const struct {
		const char *name;
		uint64_t value;
	} values[] = {{":first", q->first}, {":hz", q->hz},
		{":domid", (uint64_t)(int64_t)q->options->domid}, {":from", q->range.from},
		{":to", q->range.to}, {":link", q->link}, {":limit", (uint64_t)q->options->limit}};

	for (size_t i = 0; i < COUNT(values); i++) {
		int index = sqlite3_bind_parameter_index(stmt, values[i].name);

		if (index && (q->hz || strcmp(values[i].name, ":hz") != 0))
			sqlite3_bind_int64(stmt, index, (int64_t)values[i].value);
	}
}

/* Prints a view; title and rows as xf_print_rows() takes them. */
static int print(const struct query *q, const char *view, const struct item *items, size_t n,
	const char *title, size_t *rows, struct xf_error *err)
{
	struct xf_column columns[MOST];
	sqlite3_stmt *stmt;
	char *sql = statement(q, view, items, n, columns);
	int code = sql ? xf_db_prepare(q->db, &stmt, sql, err) : xf_fail_nomem(err);

	sqlite3_free(sql);
	if (code)
		return code;
	bind(q, stmt);
	return xf_print_rows(stmt, columns, n, q->options->format, title, rows, err);
}

/* How a migration over the link would go, if the guest went on as in the rounds that were recorded. */
static int tell_convergence(const struct query *q, struct xf_error *err)
{
	sqlite3_stmt *stmt = NULL;
	int code = xf_db_prepare(q->db, &stmt,
		"SELECT episode_id, avg(dirtied), sum(dirtied) * 4096.0 * :hz /"
		" nullif(sum(tsc_end - tsc_start), 0) FROM rounds"
		" WHERE (:domid < 0 OR domid = :domid) GROUP BY episode_id",
		err);

	if (!code)
		bind(q, stmt);
	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		double left = sqlite3_column_double(stmt, 1);
		double ratio = sqlite3_column_double(stmt, 2) / (double)q->link;
		unsigned round = 1;

		code = 0;
		for (; left >= FEW_PAGES && ratio < 1 && round < MOST_ROUNDS; round++)
			left *= ratio;
		printf("episode %lld: dirtied at %.0f %% of the link: ",
			(long long)sqlite3_column_int64(stmt, 0), 100 * ratio);
		if (left < FEW_PAGES)
			printf("it converges, round %u is the last (under %d pages left)\n", round,
				FEW_PAGES);
		else
			printf("it does not converge; libxc gives up after round 5 and stops the guest\n");
	}
	sqlite3_finalize(stmt);
	return code;
}

static int print_link(const struct query *q, struct xf_error *err)
{
	size_t rows;
	int code = print(q, "rounds", link_text, COUNT(link_text),
		"\nover the link: each round's pages, how long they take, and how many are dirty then",
		&rows, err);

	puts("");
	fflush(stdout);
	return code ? code : tell_convergence(q, err);
}

static int print_all(const struct query *q, struct xf_error *err)
{
	bool text = q->options->format == XF_FORMAT_TEXT;
	bool rounds = ((const struct episodes_options *)q->options)->rounds;
	size_t rows;
	int code;

	if (rounds && text)
		return print(q, "rounds", rounds_text, COUNT(rounds_text), NULL, &rows, err);
	if (rounds)
		return print(q, "rounds", rounds_full, COUNT(rounds_full), NULL, &rows, err);
	if (!text)
		return print(q, "episodes", episodes_full, COUNT(episodes_full), NULL, &rows, err);
	code = print(q, "episodes", episodes_text, COUNT(episodes_text), NULL, &rows, err);
	if (!code && !rows)
		return xf_tell_hap(q->db, XF_HAP_EPISODES, err);
	if (!code && q->link)
		return print_link(q, err);
	if (!code)
		code = print(q, "episode_vcpus", vcpus_text, COUNT(vcpus_text),
			"\nwhat log-dirty mode took from each vCPU: for its pages, for p2m entries that Xen\n"
			"recalculated, and while it was kept from running",
			&rows, err);
	if (!code)
		code = print(q, "episode_forks", forks_text, COUNT(forks_text),
			"\nforks of the domain by shape, inside the episode and outside of any; time of one",
			&rows, err);
	return code;
}

static int run_episodes(struct xf_options *options, struct xf_error *err)
{
	struct query q = {.options = options};
	int code = xf_need_args(options, 1, err);

	if (!code && options->vcpu >= 0)
		code = xf_fail(err, XF_USAGE, "--domain: an episode is of a whole domain dN");
	if (!code)
		code = xf_open_for(&q.db, options, err);
	if (!code)
		code = xf_capture_hz(q.db, options, &q.hz, err);
	if (!code)
		code = xf_time_range_of(q.db, options, q.hz, &q.range, &q.first, err);
	q.link = 1000000 * (uint64_t)((const struct episodes_options *)options)->link;
	if (!code && q.link && !q.hz)
		code = xf_fail(
			err, XF_USAGE, "--link: the frequency is not known; give it with --cpu-hz");
	if (!code)
		code = print_all(&q, err);
	if (!code && options->format == XF_FORMAT_TEXT)
		code = xf_print_doubts(q.db, err);
	sqlite3_close(q.db);
	return code;
}

static int set_link(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	int64_t *megabytes = field;

	(void)option;
	*megabytes = xf_whole_number(value, 1000000);
	return *megabytes < 1 ? xf_fail(err, XF_USAGE, "--link %s: not a number of MB/s", value)
			      : 0;
}

static const struct xf_option episodes_options[] = {
	XF_OPTS_ROWS,
	XF_OPT_CPU_HZ,
	{"rounds", 0, NULL, "one row per round of reading the dirty bitmap",
		XF_FLAG(struct episodes_options, rounds), NULL},
	{"link", 0, "MB/S", "does it converge over a link of so many megabytes a second",
		XF_FIELD(set_link, struct episodes_options, link, int64_t), NULL},
	{0},
};

const struct xf_command xf_cmd_episodes = {"episodes", "DB",
	"guests in log-dirty mode, and the cost", episodes_options, sizeof(struct episodes_options),
	run_episodes};
