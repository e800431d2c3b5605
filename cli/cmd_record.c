// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault record: live capture into a database that can be looked at while it grows.
 * In: the stream of xenfault-drain, or of any command given with --via.  Out: DB.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/analyzer.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/guests.h"
#include "cli/host_names.h"
#include "cli/rights.h"
#include "cli/symbolize.h"
#include "collector/store/spool.h"
#include "collector/store/store.h"
#include "common/broker.h"
#include "common/clock.h"
#include "common/cpulist.h"
#include "schemas/db.h"
#include "common/eventmask.h"

struct record_options {
	struct xf_options common;
	const char *raw, *via, *events, *cpus; /* NULL = not given */
	int64_t pages;			       /* trace buffer of each CPU, 0 = not given */
	double seconds;			       /* 0 = not given */
	bool no_guest_log;
};

#define STEP_EVENTS 100000 /* in one transaction at the most */
#define STEP_MS	    200	   /* between two transactions while nothing waits */
#define SETTLE_MS   1500   /* without a byte for so long: what was read is final (many polls) */
#define STOP_MS	    3000   /* a producer that was asked to end may take so long */
#define POLITE_MS   400	   /* one that is not ours gets SIGTERM after that, if SIGINT does not do */
#define BACKLOG	    (32u << 20) /* bytes not stored yet at the end that are worth a word */

struct record {
	const struct record_options *own;
	const struct xf_options *options; /* &own->common */
	const char *path;		  /* of the database */
	const char *source;
	struct xf_child producer, command;
	bool drain;   /* the producer is ours and tells what it found */
	bool started; /* the command */
	struct xf_spool *spool;
	struct xf_reader *reader;
	struct xf_reader_stats stats; /* of the reader, at the last look */
	struct xf_store *store;
	struct xf_analyzer *analyzer;
	struct xf_vtab vtab;
	uint64_t cpu_hz;
	double began, ran, fed,
		stopped; /* seconds; ran: tracing is on; ran, stopped: 0 = not yet */
	double asked;	 /* when the producer was told to end, 0 = not yet */
	int sent;	 /* the last signal it got */
	char *kept;	 /* the name of the database, where its own was taken away */
	char *raw_kept;	 /* likewise of the stream */
	bool placed;	 /* the database has its name */
	double shown;
	bool visible;			 /* the status line */
	uint64_t written, shown_records; /* bytes, records at the last look */
	bool stalled;
	bool dry; /* the reader has used all that it was given */
	char *drain_path;
	struct xf_newfile *raw; /* NULL = not wanted */
	unsigned new_flags;	/* of both files */
	int broker;	    /* opens them, where this process has given up its rights; -1 = none */
	bool restored;	    /* the drain, or its guard, left Xen as it found it */
	char failure[1024]; /* what the drain said, class cut off */
	bool failed, usage;
	struct xf_host_names names;
	char news[4096]; /* line of the status channel that is not whole yet */
	size_t nnews;
};

/* xenfault-drain stands beside xenfault in the build, or in libexec once installed. */
char *xf_drain_path(void)
{
	char self[PATH_MAX], *slash, *path = NULL;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		*slash = '\0';
		for (int i = 0; i < 2; i++) {
			if (asprintf(&path, "%s%s/xenfault-drain", self,
				    i ? "/../libexec/xenfault" : "") < 0)
				return NULL;
			if (!access(path, X_OK))
				return path;
			free(path);
		}
	}
	return NULL;
}

static int start_drain(struct record *r, struct xf_error *err)
{
	const struct record_options *o = r->own;
	char pages[24];
	char *argv[12] = {r->drain_path, (char *)"--status-fd", (char *)"3"};
	int n = 3;

	if (!r->drain_path)
		return xf_fail(err, XF_MISSING,
			"there is no xenfault-drain beside this program (Debian: package xenfault-record; a build needs libxen-dev); "
			"--via takes the stream of another program, such as --via 'xentrace /dev/stdout | cat'");
	if (o->events) {
		argv[n++] = (char *)"-e";
		argv[n++] = (char *)(uintptr_t)o->events;
	}
	if (o->cpus) {
		argv[n++] = (char *)"-c";
		argv[n++] = (char *)(uintptr_t)o->cpus;
	}
	if (o->pages) {
		snprintf(pages, sizeof(pages), "%lld", (long long)o->pages);
		argv[n++] = (char *)"-S";
		argv[n++] = pages;
	}
	r->drain = true;
	r->source = "live";
	return xf_child_producer(&r->producer, argv, true, err);
}

static int start_via(struct record *r, struct xf_error *err)
{
	char *argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)(uintptr_t)r->own->via, NULL};

	if (r->own->events || r->own->cpus || r->own->pages)
		return xf_fail(err, XF_USAGE,
			"-e, -c and -S are for the capture on this host; with --via the command chooses");
	r->source = r->own->via;
	return xf_child_producer(&r->producer, argv, false, err);
}

/* Kernel addresses of the whole host are nobody else's business. */
static unsigned file_flags(const struct record *r)
{
	return XF_NEWFILE_RECORD | (r->options->force ? XF_NEWFILE_FORCE : 0) |
	       (geteuid() ? 0 : XF_NEWFILE_PRIVATE);
}

/* The file that keeps the stream; what has its name stays until there is a stream. */
static int open_raw(struct record *r, int *raw, struct xf_error *err)
{
	int code;

	*raw = -1;
	if (!r->own->raw)
		return 0;
	code = xf_newfile_open(&r->raw, r->own->raw, r->new_flags, err);
	if (code)
		return code;
	xf_tell_newfile(r->raw);
	*raw = fcntl(r->raw->fd, F_DUPFD_CLOEXEC, 0);
	return *raw < 0 ? xf_fail_errno(err, XF_IO, "cannot write %s", r->own->raw) : 0;
}

/* Takes the status line off the terminal before something else is written there. */
static void clear_line(struct record *r)
{
	if (r->visible)
		fputs("\r\033[K", stderr);
	r->visible = false;
}

/* One line of the drain: key=value. */
static void hear(struct record *r, char *line)
{
	char *value = strchr(line, '=');

	if (!value)
		return;
	*value++ = '\0';
	if (!strcmp(line, "cpu_hz") && !r->cpu_hz) {
		r->cpu_hz = strtoull(value, NULL, 10);
	} else if (!strcmp(line, "state")) {
		if (!strcmp(value, "running") && !r->ran)
			r->ran = xf_clock_seconds();
	} else if (!strcmp(line, "tracing_left")) {
		r->restored = true;
	} else if (!strcmp(line, "warning")) {
		clear_line(r);
		xf_warn("%s", value);
	} else if (!strcmp(line, "error")) {
		char *text = strchr(value, ' ');

		r->failed = true;
		r->usage = !strncmp(value, "usage ", 6);
		snprintf(r->failure, sizeof(r->failure), "%s", text ? text + 1 : value);
	}
}

static void listen_drain(struct record *r)
{
	ssize_t n;

	while (r->producer.news >= 0 && r->nnews < sizeof(r->news) - 1 &&
		(n = read(r->producer.news, r->news + r->nnews, sizeof(r->news) - 1 - r->nnews)) >
			0) {
		char *end;

		r->nnews += (size_t)n;
		r->news[r->nnews] = '\0';
		while ((end = strchr(r->news, '\n'))) {
			*end++ = '\0';
			hear(r, r->news);
			r->nnews -= (size_t)(end - r->news);
			memmove(r->news, end, r->nnews + 1);
		}
		if (r->nnews == sizeof(r->news) - 1)
			r->nnews = 0; /* no such line is ours */
	}
}

static int tap(void *data, int64_t event_id, const struct xf_event *event, struct xf_error *err)
{
	return xf_analyzer_event(data, event_id, event, err);
}

static int flush_analyzer(void *data, struct xf_error *err)
{
	struct record *r = data;

	return r->analyzer ? xf_analyzer_flush(r->analyzer, err) : 0;
}

/* With the first bytes there is something to store: not before, so that a failure leaves nothing. */
static int open_store(struct record *r, struct xf_error *err)
{
	struct xf_source *source;
	int code = r->raw ? xf_newfile_place(r->raw, err) : 0;

	if (!code)
		code = xf_spool_source(r->spool, &source, err);
	if (!code)
		code = xf_reader_open(&r->reader, source, err);
	if (!code)
		code = xf_store_live_place(r->store, err);
	r->placed = !code;
	if (!code && !r->options->no_analyze) {
		code = xf_analyzer_new(&r->analyzer, xf_store_db(r->store), err);
		r->vtab.tap = tap;
		r->vtab.tap_data = r->analyzer;
	}
	r->vtab.reader = r->reader;
	/* reading and storing have a CPU each */
	return code ? code : xf_pump_start(&r->vtab.pump, r->reader, err);
}

/* How far the reader is. */
static void look(struct record *r)
{
	if (r->vtab.pump)
		xf_pump_hold(r->vtab.pump);
	xf_reader_stats(r->reader, &r->stats);
	if (r->vtab.pump)
		xf_pump_release(r->vtab.pump);
}

static void settle(struct record *r)
{
	xf_pump_hold(r->vtab.pump);
	xf_reader_settle(r->reader);
	xf_pump_release(r->vtab.pump);
}

static int64_t count(struct record *r, const char *sql)
{
	int64_t n = 0;

	xf_db_int(xf_store_db(r->store), sql, &n, NULL);
	return n;
}

static void show(struct record *r)
{
	const struct xf_reader_stats *stats = &r->stats;
	double t = xf_clock_seconds();

	if (!r->reader || t - r->shown < 0.5 || !isatty(STDERR_FILENO))
		return;
	look(r);
	fprintf(stderr,
		"\r\033[K%.0f s  %.0f records/s  %llu events  %lld forks  %llu lost  %.1f MB%s",
		t - r->began, (double)(stats->records - r->shown_records) / (t - r->shown),
		(unsigned long long)stats->events, (long long)count(r, "SELECT count(*) FROM fork"),
		(unsigned long long)stats->lost_records,
		(double)count(r,
			"SELECT page_count * page_size FROM pragma_page_count, pragma_page_size") /
			1e6,
		r->stalled ? "  WAITING: a reader holds the database" : "");
	r->shown = t;
	r->visible = true;
	r->shown_records = stats->records;
}

/*
 * A reader that never lets go keeps the WAL from being reused; then the stream waits in the spool
 * instead of making the WAL grow.
 */
static bool wal_full(struct record *r)
{
	bool full;

	if (!r->stalled && xf_store_wal_size(r->store) < XF_WAL_LIMIT)
		return false;
	full = xf_store_wal_busy(r->store);
	if (full && !r->stalled) {
		clear_line(r);
		xf_warn("a reader has held the database since it was %d MB of changes ago: new events wait "
			"outside until it lets go",
			XF_WAL_LIMIT >> 20);
	}
	r->stalled = full;
	return full;
}

/* Takes in what has come; *ended: the stream is through, *more: there is more already. */
static int take(struct record *r, bool *ended, bool *more, struct xf_error *err)
{
	struct xf_spool_state state;
	double t = xf_clock_seconds();
	int code;

	*more = false;
	xf_spool_state(r->spool, &state);
	if (state.written != r->written) {
		r->written = state.written;
		r->fed = t;
	}
	if (!r->reader && !state.written) {
		*ended = state.ended;
		return 0;
	}
	if (!r->reader && (code = open_store(r, err)))
		return code;
	if (wal_full(r) && !r->stopped)
		return 0;
	if (r->dry && !state.waiting && !state.ended && t - r->fed > SETTLE_MS / 1000.0)
		settle(r);
	xf_store_set_hz(r->store, r->cpu_hz);
	code = xf_store_live_step(r->store, &r->vtab, STEP_EVENTS, flush_analyzer, r, ended, err);
	*more = code == 1;
	r->dry = !code;
	return code < 0 ? code : 0;
}

/* Is the time over, has the command ended, or do we have to stop? */
static bool should_stop(struct record *r)
{
	double from = r->drain ? r->ran : r->began;

	if (xf_stop_requested())
		return true;
	if (r->own->seconds > 0 && from > 0 && xf_clock_seconds() - from >= r->own->seconds)
		return true;
	return r->started && xf_child_ended(&r->command);
}

/* Makes the producer end; called again and again until it has. */
static void end_producer(struct record *r)
{
	double t = xf_clock_seconds();
	int number = 0;

	if (xf_child_ended(&r->producer))
		return;
	if (!r->asked)
		number = r->drain ? SIGTERM : SIGINT;
	else if (t - r->asked > STOP_MS / 1000.0)
		number = SIGKILL;
	else if (t - r->asked > POLITE_MS / 1000.0)
		number = SIGTERM;
	if (!r->asked)
		r->asked = t;
	if (number && number != r->sent)
		xf_child_stop(&r->producer, number);
	r->sent = number ? number : r->sent;
}

static void stop(struct record *r)
{
	struct xf_spool_state state;

	r->stopped = xf_clock_seconds();
	end_producer(r);
	xf_spool_state(r->spool, &state);
	if (state.waiting < BACKLOG)
		return;
	clear_line(r);
	xf_warn("%llu MB of the stream are still to be stored; Ctrl-C leaves them out",
		(unsigned long long)(state.waiting >> 20));
}

static bool raw_gone(const struct record *r)
{
	return r->raw && r->placed && !xf_newfile_is_there(r->raw);
}

/* A capture whose file was removed or replaced would go nowhere: it ends, and is kept. */
static void watch_files(struct record *r)
{
	const char *gone = NULL;

	if (!r->placed || r->stopped)
		return;
	if (!xf_newfile_is_there(xf_store_file(r->store)))
		gone = r->path;
	else if (raw_gone(r))
		gone = r->own->raw;
	if (!gone)
		return;
	clear_line(r);
	xf_warn("%s was removed or replaced while it was being recorded: the capture ends, and what "
		"there is of it is kept under another name",
		gone);
	stop(r);
}

static int keep_raw(struct record *r, struct xf_error *err)
{
	int code;

	if (!raw_gone(r))
		return 0;
	code = xf_newfile_keep(r->raw, &r->raw_kept, err);
	if (!code && !err) /* there is another failure to tell */
		xf_warn("what came of the stream is in %s", r->raw_kept);
	return code ? code
		    : xf_fail(err, XF_GONE,
			      "%s was removed or replaced while it was being recorded; what came "
			      "until then is in %s",
			      r->own->raw, r->raw_kept);
}

static int start_command(struct record *r, struct xf_error *err)
{
	/* with the drain: once tracing is on; else once the stream shows life */
	bool ready = r->drain ? r->ran > 0 : r->written > 0 || xf_clock_seconds() - r->began > 1;

	if (!r->options->nargs || r->started || r->stopped || !ready)
		return 0;
	r->started = true;
	return xf_child_release(&r->command, r->options->args, err);
}

static int capture(struct record *r, struct xf_error *err)
{
	bool ended = false, more = false;
	int code = 0;

	r->began = r->fed = r->shown = xf_clock_seconds();
	while (!code && !ended) {
		listen_drain(r);
		code = start_command(r, err);
		if (!code && !r->stopped && should_stop(r))
			stop(r);
		watch_files(r);
		if (r->stopped)
			end_producer(r);
		if (!code)
			code = take(r, &ended, &more, err);
		show(r);
		if (!code && !ended && !more)
			xf_spool_wait(r->spool, r->stopped || !r->reader ? 20 : STEP_MS);
	}
	listen_drain(r);
	clear_line(r);
	return code;
}

/*
 * How the producer ended: an error where the capture is worth nothing or is cut short by it.  ours:
 * we failed, so that it had no choice.
 */
static int producer_result(struct record *r, bool ours, bool *whole, struct xf_error *err)
{
	double deadline = xf_clock_seconds() + STOP_MS / 1000.0;
	struct pollfd news = {.fd = r->producer.news, .events = POLLIN};
	int status;

	while (!xf_child_ended(&r->producer) && xf_clock_seconds() < deadline) {
		/* after a failure of ours too it must leave Xen as it found it */
		if (ours || r->asked)
			end_producer(r);
		usleep(10000);
	}
	listen_drain(r);
	status = r->producer.wait_status;
	/* its guard tells when it has restored Xen, and is gone then */
	while (r->drain && WIFSIGNALED(status) && xf_clock_seconds() < deadline &&
		!(poll(&news, 1, 10) > 0 && news.revents & (POLLHUP | POLLERR)))
		listen_drain(r);
	listen_drain(r);
	xf_child_close(&r->producer);
	if (ours)
		return 0;
	if (r->failed)
		return xf_fail(err, r->usage ? XF_USAGE : XF_LIVE, "%s", r->failure);
	if (WIFSIGNALED(status) && !r->stopped && r->drain)
		return xf_fail(err, XF_IO,
			"xenfault-drain was killed by signal %d, the capture is marked as cut short.  "
			"%s: %s --off",
			WTERMSIG(status),
			r->restored ? "Xen is as it was found: its guard saw to that.  If in doubt"
				    : "Tracing is still on in Xen; this turns it off",
			r->drain_path);
	*whole = r->stopped || (WIFEXITED(status) && !WEXITSTATUS(status));
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (!r->reader && xf_stop_requested())
		return xf_fail(err, XF_INTERRUPTED, "interrupted before the first record came");
	if (!r->reader)
		return xf_fail(err, XF_IO,
			"%s: it gave no data and ended with status %d; there is no database",
			r->drain ? "xenfault-drain" : r->source, status);
	if (!*whole)
		xf_warn("%s: it ended with status %d; the capture is marked as cut short",
			r->source, status);
	return 0;
}

static int finish(struct record *r, bool whole, struct xf_error *err)
{
	struct xf_store *store = r->store;
	sqlite3 *db;
	bool there;
	int code = 0;

	xf_pump_stop(r->vtab.pump);
	r->vtab.pump = NULL;
	/* nothing came: then nothing stays */
	if (!r->placed || !xf_store_db(store))
		return 0;
	db = xf_store_db(store);
	if (xf_store_torn(store)) {
		xf_analyzer_free(r->analyzer);
		r->analyzer = NULL;
	}
	if (r->analyzer || r->options->nsymbols)
		code = xf_db_exec(db, "BEGIN IMMEDIATE", err);
	if (!code && r->analyzer)
		code = xf_analyzer_finish(r->analyzer, err);
	if (!code && r->analyzer)
		code = xf_analyze_mark(db, err);
	if (!code && r->options->nsymbols)
		code = xf_symbolize(db, r->options, err);
	if (!code && (r->analyzer || r->options->nsymbols))
		code = xf_db_exec(db, "COMMIT", err);
	xf_analyzer_free(r->analyzer);
	r->analyzer = NULL;
	if (!code && !xf_store_torn(store))
		code = xf_host_names_load(&r->names, xf_store_db(store), r->options, err);
	r->store = NULL;
	if (code) {
		xf_store_abort(store);
		return code;
	}
	there = xf_newfile_is_there(xf_store_file(store));
	code = xf_store_live_finish(store, &r->vtab, whole, &r->kept, err);
	r->placed = there || r->kept;
	if (!code && r->kept)
		code = xf_fail(err, XF_GONE,
			"%s was removed or replaced while it was being recorded; what came until "
			"then is in %s",
			r->path, r->kept);
	return code;
}

/* What a database that could not be finished holds: whether a failed commit counts only SQLite knows. */
static int64_t stored(const char *path)
{
	sqlite3 *db = NULL;
	int64_t n = 0;

	if (!xf_open(&db, path, NULL))
		xf_db_int(db, "SELECT count(*) FROM event", &n, NULL);
	sqlite3_close(db);
	return n;
}

/* As the database has them, with the names of pCPUs. */
static void report_doubts(const struct record *r)
{
	const char *path = r->kept ? r->kept : r->path;
	sqlite3 *db = NULL;
	sqlite3_stmt *stmt = NULL;
	int code = xf_open(&db, path, NULL);

	if (!code)
		code = xf_db_prepare(
			db, &stmt, "SELECT count, text FROM doubt ORDER BY code", NULL);
	while (!code && xf_db_step(stmt, NULL) == 1)
		xf_warn("%lld %s", sqlite3_column_int64(stmt, 0), xf_db_text(stmt, 1));
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

static void report(struct record *r, bool failed)
{
	const struct xf_reader_stats *stats = &r->stats;

	if (!r->placed)
		return;
	look(r);
	report_doubts(r);
	if (stats->lost_records && !r->drain)
		xf_warn("%llu records were lost: larger trace buffers or fewer event classes lose less",
			(unsigned long long)stats->lost_records);
	if (failed && !r->kept)
		xf_print(stderr,
			"%s: marked as cut short, holds the first %lld events; xenfault analyze makes "
			"its forks anew\n",
			r->path, (long long)stored(r->path));
	else
		xf_print(stderr, "%s: %llu events of %llu records in %.1f s\n",
			r->kept ? r->kept : r->path, (unsigned long long)stats->events,
			(unsigned long long)stats->records, xf_clock_seconds() - r->began);
}

/* Name of a capture for which none was given. */
static char *default_path(void)
{
	char text[64];
	time_t t = time(NULL);
	struct tm tm;

	strftime(text, sizeof(text), "xenfault-%Y%m%d-%H%M%S.db", localtime_r(&t, &tm));
	return strdup(text);
}

/* What is wrong with the command line is told before anything is started or written. */
static int check(const struct record_options *o, const char *path, struct xf_error *err)
{
	struct xf_cpulist cpus;
	struct stat st;
	uint32_t mask;
	int code = 0;

	for (size_t i = 0; o->raw && !code && i < 4; i++) {
		static const char *const behind[] = {"", "-wal", "-shm", "-journal"};
		char *name;

		if (asprintf(&name, "%s%s", path, behind[i]) < 0)
			return xf_fail_nomem(err);
		if (xf_newfile_takes(o->raw, name))
			code = xf_fail(err, XF_USAGE,
				"--raw %s: that is where the database %s goes; name another file",
				o->raw, path);
		free(name);
	}
	if (code)
		return code;
	if (o->events)
		code = xf_eventmask_parse(&mask, o->events, err);
	if (!code && o->cpus)
		code = xf_cpulist_parse(&cpus, o->cpus, err);
	if (!code && !o->common.force && !stat(path, &st))
		code = xf_fail(err, XF_IO,
			"%s exists already; --force replaces it, -o chooses another name", path);
	return code;
}

/* The stream could not be kept: an error that is ours. */
static int spool_result(struct record *r, struct xf_error *err)
{
	const char *raw = r->own->raw;
	struct xf_spool_state state;

	xf_spool_state(r->spool, &state);
	r->written = state.written;
	/* the spool of the database shares its disk: whichever meets the end first, one message */
	if (state.sys == ENOSPC && !raw)
		return xf_fail(
			err, XF_IO, "no space is left on the disk of the database (%s)", r->path);
	errno = state.sys;
	if (!state.sys && r->raw && fsync(r->raw->fd))
		state.sys = errno;
	return state.sys ? xf_fail_errno(err, XF_IO, "cannot keep the stream%s%s",
				   raw ? " in " : "", raw ? raw : "")
			 : 0;
}

/* What needs the caller's rights; they are given up at the end. */
static int start(struct record *r, int *raw, struct xf_error *err)
{
	struct xf_rights rights = {.options = r->options, .database = r->path, .raw = r->own->raw};
	int code = r->options->nargs ? xf_child_hold(&r->command, r->options->args, err) : 0;

	if (code)
		return code;
	xf_host_names_begin(&r->names, r->options, r->own->via != NULL, r->own->no_guest_log);
	code = open_raw(r, raw, err);
	if (!code)
		code = r->own->via ? start_via(r, err) : start_drain(r, err);
	if (!code)
		code = xf_store_live(&r->store, r->path, r->new_flags, r->source, r->cpu_hz, err);
	if (code)
		return code;
	xf_tell_newfile(xf_store_file(r->store));
	rights.producer = r->producer.pid;
	rights.log = r->names.log.file >= 0 ? r->names.log.path : NULL;
	rights.log_file = r->names.log.file;
	return xf_rights_give_up(&rights, &r->broker, err);
}

static int run(struct record *r, struct xf_error *err)
{
	bool whole = false;
	int raw = -1, code, closing;

	code = start(r, &raw, err);
	if (!code) {
		code = xf_spool_start(&r->spool, r->producer.out, raw, r->path, err);
		r->producer.out = -1;
	}
	if (!code)
		code = capture(r, err);
	if (!code)
		code = spool_result(r, err);
	closing = producer_result(r, code != 0, &whole, code ? NULL : err);
	if (!code)
		code = closing;
	closing = finish(r, whole && !code, code ? NULL : err);
	if (!code)
		code = closing;
	closing = keep_raw(r, code ? NULL : err);
	return code ? code : closing;
}

static int run_record(struct xf_options *options, struct xf_error *err)
{
	const struct record_options *own = (const struct record_options *)options;
	struct record r = {.own = own, .options = options, .cpu_hz = options->cpu_hz};
	char *path = options->output ? strdup(options->output) : default_path();
	int code = path ? check(own, path, err) : xf_fail_nomem(err);

	r.path = path;
	r.drain_path = own->via ? NULL : xf_drain_path();
	r.producer = r.command = XF_NO_CHILD;
	r.new_flags = file_flags(&r);
	r.broker = -1;
	r.names = (struct xf_host_names){.log = {.stop = -1, .file = -1}};
	if (!code)
		code = xf_guests_check(options, err);
	signal(SIGPIPE, SIG_IGN);
	if (!code)
		code = run(&r, err);
	/* what was kept is whole */
	report(&r, code && code != -XF_GONE);
	if (!code && options->fail_on_loss) {
		if (r.stats.lost_records)
			code = xf_fail(err, XF_LOSS, "%llu records were lost",
				(unsigned long long)r.stats.lost_records);
	}
	if (!code)
		code = xf_guests_outcome(r.names.refused, err);
	if (r.started && r.command.pid) {
		/* the capture ended first: the command goes on without it */
		xf_warn("%s still runs (process %d)", options->args[0], (int)r.command.pid);
		r.command.pid = 0;
	} else if (r.started && r.command.wait_status) {
		xf_warn("%s ended with status %d", options->args[0],
			WIFEXITED(r.command.wait_status) ? WEXITSTATUS(r.command.wait_status)
							 : 128 + WTERMSIG(r.command.wait_status));
	}
	xf_child_close(&r.producer);
	xf_child_close(&r.command);
	xf_analyzer_free(r.analyzer);
	xf_store_abort(r.store);
	xf_reader_close(r.reader);
	xf_spool_stop(r.spool);
	xf_newfile_close(r.raw);
	xf_host_names_close(&r.names);
	xf_broker_release(r.broker);
	free(r.drain_path);
	free(r.kept);
	free(r.raw_kept);
	free(path);
	return code;
}

static int set_pages(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	int64_t *pages = field;

	(void)option;
	*pages = xf_whole_number(value, 65535);
	return *pages < 1 ? xf_fail(err, XF_USAGE, "-S %s: pages for each CPU, 1 to 65535", value)
			  : 0;
}

static int set_seconds(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	double *seconds = field;
	char *end;

	(void)option;
	*seconds = strtod(value, &end);
	if (end == value || *end || !isfinite(*seconds) || *seconds <= 0)
		return xf_fail(err, XF_USAGE, "-T %s: not a number of seconds", value);
	return 0;
}

static const struct xf_option record_options[] = {
	XF_OPT_OUTPUT("DB", "the database; default: FILE.db; record: a name with the date"),
	XF_OPT_FORCE("DB"),
	XF_OPT_NO_ANALYZE,
	XF_OPT_FAIL_ON_LOSS,
	{"raw", 0, "FILE", "keep the stream too, as xentrace would write it",
		XF_TEXT(struct record_options, raw), NULL},
	{"via", 0, "COMMAND", "take the stream of COMMAND, such as 'ssh HOST xentrace /dev/stdout'",
		XF_TEXT(struct record_options, via), NULL},
	{"events", 'e', "EVENTS",
		"pt (default), all, class names or xentrace's numbers, with commas",
		XF_TEXT(struct record_options, events), "pt all pv shadow sched hvm mem"},
	{"cpus", 'c', "CPUS", "physical CPUs: 0-3,8 or 0x0f or all (default)",
		XF_TEXT(struct record_options, cpus), NULL},
	{"pages", 'S', "PAGES", "trace buffer of each CPU; the first size of a boot stays",
		XF_FIELD(set_pages, struct record_options, pages, int64_t), NULL},
	{"seconds", 'T', "SECONDS", "end after so many seconds",
		XF_FIELD(set_seconds, struct record_options, seconds, double), NULL},
	XF_OPTS_SYMBOLS,
	XF_OPT_CPU_HZ,
	XF_OPT_GUEST,
	{"no-guest-log", 0, NULL, "no log of dom0's own kernel, which names its forks",
		XF_FLAG(struct record_options, no_guest_log), NULL},
	XF_OPT_DOMAIN_NAMES,
	{0},
};

const struct xf_command xf_cmd_record = {"record", "[-- COMMAND ...]",
	"capture on a running Xen host into a database", record_options,
	sizeof(struct record_options), run_record};
