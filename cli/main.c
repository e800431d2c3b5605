// SPDX-License-Identifier: GPL-2.0-or-later
/* xenfault: what page tables cost a Xen guest.  In: argv.  Out: an exit status. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "schemas/db.h"
#include "common/suggest.h"
#include "common/version.h"

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	/* the second one does not wait for what the first one asked for */
	if (stop)
		_exit(128 + number);
	stop = 1;
}

bool xf_stop_requested(void)
{
	return stop;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* nohup: goes on without its terminal */
	if (signal(SIGHUP, SIG_IGN) != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
	/* a file over the limit is a failed write like any other */
	action.sa_handler = SIG_IGN;
	sigaction(SIGXFSZ, &action, NULL);
}

void xf_warn(const char *format, ...)
{
	va_list ap;

	fputs("xenfault: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int xf_need_args(const struct xf_options *options, int n, struct xf_error *err)
{
	const struct xf_command_info *info = &xf_commands[options->command];

	if (options->nargs == n)
		return 0;
	return xf_fail(err, XF_USAGE, "%s: xenfault %s [OPTION ...] %s",
		options->nargs < n ? "an argument is missing" : "too many arguments", info->name,
		info->arguments);
}

bool xf_is_database(const char *path)
{
	const char *mark = strrchr(path, '#');
	char head[16] = "";
	struct stat st;
	FILE *file;

	/* a host of a fleet */
	if (mark && stat(path, &st)) {
		char *fleet = strndup(path, (size_t)(mark - path));
		bool is = fleet && xf_db_is_fleet(fleet);

		free(fleet);
		return is;
	}

	/* do not take bytes out of a pipe */
	if (stat(path, &st) || !S_ISREG(st.st_mode) || !(file = fopen(path, "rb")))
		return false;
	if (fread(head, 1, sizeof(head), file) != sizeof(head))
		head[0] = '\0';
	fclose(file);
	return !memcmp(head, "SQLite format 3", 16);
}

int xf_capture_hz(sqlite3 *db, const struct xf_options *options, uint64_t *hz, struct xf_error *err)
{
	int64_t value = 0;
	int code = 0;

	*hz = options->cpu_hz;
	if (!*hz) {
		code = xf_db_int(db, "SELECT ifnull((SELECT cpu_hz FROM capture), 0)", &value, err);
		*hz = (uint64_t)value;
	}
	return code;
}

static int point(const struct xf_when *when, const char *name, uint64_t tsc_first, uint64_t hz,
	uint64_t *tsc, struct xf_error *err)
{
	if (when->unit == XF_WHEN_CYCLES) {
		*tsc = when->cycles;
		return 0;
	}
	if (!hz)
		return xf_fail(err, XF_USAGE,
			"%s %g: seconds need the TSC frequency, which the capture does not tell: "
			"give --cpu-hz, or a TSC in cycles as %s 123456c",
			name, when->seconds, name);
	*tsc = tsc_first + (uint64_t)(when->seconds * (double)hz);
	return 0;
}

int xf_time_range(const struct xf_options *o, uint64_t tsc_first, uint64_t hz,
	struct xf_range *range, struct xf_error *err)
{
	int code = 0;

	*range = (struct xf_range){.from = 0, .to = UINT64_MAX};
	range->has_from = o->from.unit != XF_WHEN_UNSET;
	range->has_to = o->to.unit != XF_WHEN_UNSET;
	if (range->has_from)
		code = point(&o->from, "--from", tsc_first, hz, &range->from, err);
	if (range->has_to && !code)
		code = point(&o->to, "--to", tsc_first, hz, &range->to, err);
	return code;
}

int xf_print_doubts(sqlite3 *db, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(db, &stmt,
		"SELECT 'lost: ' || lost_records || ' records, see: xenfault info' FROM capture"
		" WHERE lost_records"
		" UNION ALL SELECT 'the capture still goes on, is cut short or damaged, see: xenfault info' FROM capture"
		" WHERE NOT complete"
		" UNION ALL SELECT 'doubt: ' || count || ' ' || text FROM doubt"
		" UNION ALL SELECT 'doubt: ' || count || ' ' || text FROM finding",
		err);

	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		fprintf(stderr, "%s\n", (const char *)sqlite3_column_text(stmt, 0));
		code = 0;
	}
	sqlite3_finalize(stmt);
	return code;
}

/* Wall clock in seconds. */
static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double progress_began, progress_shown;
static bool progress_visible;

static int show_progress(struct xf_progress *p)
{
	double t = now();

	/* nothing for what is over in a moment */
	if (t - progress_began < 1 || t - progress_shown < 0.2)
		return stop;
	progress_shown = t;
	progress_visible = true;
	fprintf(stderr, "\r\033[K%s: %.1f MB", (const char *)p->data, (double)p->done / 1e6);
	if (p->total)
		fprintf(stderr, " of %.1f (%.0f %%)", (double)p->total / 1e6,
			100.0 * (double)p->done / (double)p->total);
	fprintf(stderr, ", %.1f MB/s", (double)p->done / 1e6 / (t - progress_began));
	return stop;
}

void xf_progress_start(struct xf_progress *p, const char *what)
{
	progress_began = now();
	progress_visible = false;
	*p = (struct xf_progress){.step = 1 << 20, .data = (void *)(uintptr_t)what};
	if (isatty(STDERR_FILENO))
		p->show = show_progress;
}

void xf_progress_end(struct xf_progress *p)
{
	(void)p;
	if (progress_visible)
		fputs("\r\033[K", stderr);
}

static int no_command(const char *name, struct xf_error *err)
{
	struct xf_suggest suggest = xf_suggest_for(name);
	struct stat st;

	for (int i = 0; i < XF_CMD_COUNT; i++)
		xf_suggest_offer(&suggest, xf_commands[i].name);
	if (!stat(name, &st))
		return xf_fail(err, XF_USAGE,
			"%s is a file: a command has to stand before it, such as: xenfault %s %s",
			name, xf_is_database(name) ? "forks" : "import", name);
	return xf_fail(err, XF_USAGE, "no command %s%s; xenfault help lists them", name,
		xf_suggest_text(&suggest));
}

int xf_cmd_help(struct xf_options *options, struct xf_error *err)
{
	int command;

	if (options->table) {
		xf_options_table(stdout);
		return 0;
	}
	if (!options->nargs) {
		xf_options_help(stdout);
		return 0;
	}
	if (!strcmp(options->args[0], "exit-codes")) {
		printf("%4d  %s\n", 0, xf_code_text(XF_OK));
		for (int code = 1; code < XF_CODES; code++)
			printf("%4d  %s\n", xf_exit_status((enum xf_code)code),
				xf_code_text((enum xf_code)code));
		return 0;
	}
	command = xf_command_by_name(options->args[0]);
	if (command < 0)
		return no_command(options->args[0], err);
	xf_options_help_command(stdout, (enum xf_command)command);
	return 0;
}

static xf_command_fn *const functions[XF_CMD_COUNT] = {
	[XF_CMD_IMPORT] = xf_cmd_import,
	[XF_CMD_RECORD] = xf_cmd_record,
	[XF_CMD_ANALYZE] = xf_cmd_analyze,
	[XF_CMD_INFO] = xf_cmd_info,
	[XF_CMD_FORKS] = xf_cmd_forks,
	[XF_CMD_PAGES] = xf_cmd_pages,
	[XF_CMD_EVENTS] = xf_cmd_events,
	[XF_CMD_SPURIOUS] = xf_cmd_spurious,
	[XF_CMD_FLUSHES] = xf_cmd_flushes,
	[XF_CMD_POLICY] = xf_cmd_policy,
	[XF_CMD_SQL] = xf_cmd_sql,
	[XF_CMD_DIFF] = xf_cmd_diff,
	[XF_CMD_MERGE] = xf_cmd_merge,
	[XF_CMD_EXPORT] = xf_cmd_export,
	[XF_CMD_REPORT] = xf_cmd_report,
	[XF_CMD_EPISODES] = xf_cmd_episodes,
	[XF_CMD_TUI] = xf_cmd_tui,
	[XF_CMD_HELP] = xf_cmd_help,
	[XF_CMD_VERSION] = xf_cmd_version,
};

static int run(int argc, char **argv, struct xf_error *err)
{
	struct xf_options options = {0};
	int command, code;

	if (argc < 2) {
		xf_options_help(stderr);
		return xf_fail(err, XF_USAGE, "a command is missing");
	}
	command = xf_command_by_name(argv[1]);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		command = XF_CMD_HELP;
	if (!strcmp(argv[1], "--version"))
		command = XF_CMD_VERSION;
	if (command < 0)
		return no_command(argv[1], err);
	options.command = (enum xf_command)command;
	code = xf_options_parse(&options, argc - 1, argv + 1, err);
	if (code)
		return code;
	if (options.help) {
		xf_options_help_command(stdout, options.command);
		return 0;
	}
	return functions[command](&options, err);
}

int main(int argc, char **argv)
{
	struct xf_error err = {0};
	int code;

	catch_signals();
	code = run(argc, argv, &err);
	/* data that never reached the disk is an error, whatever the command thought */
	if (fflush(stdout) && !code)
		code = xf_fail_errno(&err, XF_IO, "cannot write the output");
	if (!code)
		return 0;
	if (err.code != XF_OK && err.text[0])
		xf_warn("%s", err.text);
	return xf_exit_status(err.code == XF_OK ? XF_INTERNAL : err.code);
}
