/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program xenfault: what several of its commands need.
 * In: parsed options.  Out: data on stdout, talk on stderr, errors as values for main().
 */
#ifndef XF_CLI_CLI_H
#define XF_CLI_CLI_H

#include <sqlite3.h>
#include <stdbool.h>

#include "schemas/hap.h"
#include "common/error.h"
#include "common/newfile.h"
#include "cli/options.h"
#include "common/progress.h"
#include "collector/trace/reader.h"

/* True after SIGINT, SIGTERM or SIGHUP (main.c catches them for the commands that write). */
bool xf_stop_requested(void);

/* Where xenfault-drain is, to be freed; NULL = nowhere. */
char *xf_drain_path(void);

/*
 * printf() for what holds text of a trace, a database or the command line: everything but its line
 * breaks goes through XF_ESCAPE_TEXT.
 */
void xf_print(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A warning on stderr, one line. */
void xf_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What making the file showed: leftovers of runs that were killed, and that they go. */
void xf_tell_newfile(const struct xf_newfile *file);

/* Exactly n positional arguments, or a usage error that shows the command's form. */
int xf_need_args(const struct xf_options *options, int n, struct xf_error *err);

/* Opens a database to read it (xf_db_open()), so that the first Ctrl-C ends what runs on it. */
int xf_open(sqlite3 **db, const char *path, struct xf_error *err);

/* Opens the database that the options name as their first argument, and finds the domain of --domain. */
int xf_open_for(sqlite3 **db, struct xf_options *options, struct xf_error *err);

/* xenfault flushes without its own options: by fork, cause and reach. */
int xf_list_flushes(struct xf_options *options, struct xf_error *err);

/* The number of a domain that --domain names, into domid and vcpu; or a usage error. */
int xf_find_domain(sqlite3 *db, struct xf_options *options, struct xf_error *err);

/* --domain-names FILE into the database, in a transaction of the caller's. */
int xf_name_domains(sqlite3 *db, const struct xf_options *options, struct xf_error *err);

/* The same of a connection that was opened otherwise. */
void xf_interruptible(sqlite3 *db);

/* Is the file a SQLite database (else it is taken for a trace)? */
bool xf_is_database(const char *path);

/* The capture's frequency: --cpu-hz, else what the database says; 0 = unknown. */
int xf_capture_hz(
	sqlite3 *db, const struct xf_options *options, uint64_t *hz, struct xf_error *err);

/* --from and --to as TSC values; a usage error names --cpu-hz where seconds need it. */
struct xf_range {
	uint64_t from, to; /* inclusive */
	bool has_from, has_to;
};

int xf_time_range(const struct xf_options *options, uint64_t tsc_first, uint64_t hz,
	struct xf_range *range, struct xf_error *err);

/*
 * The same for a database, whose first TSC goes to *tsc_first, unless that is NULL.  A range that the
 * capture has nothing in is told on stderr: the empty list that follows has a reason.
 */
int xf_time_range_of(sqlite3 *db, const struct xf_options *options, uint64_t hz,
	struct xf_range *range, uint64_t *tsc_first, struct xf_error *err);

/*
 * Brings the times of a database to one clock as --clocks says, see xf_clocks_apply().  *pcpus: how many
 * pCPUs' were corrected.
 */
int xf_one_clock(
	sqlite3 *db, const struct xf_options *options, int64_t *pcpus, struct xf_error *err);

/* Words of a list: whose row it is, the instruction behind it. */
#define XF_VCPU_SQL	   "ifnull('d' || domid || 'v' || vcpu, '?')"
#define XF_INSTRUCTION_SQL "ifnull(symbol, printf('0x%llx', rip))"

/*
 * Appends what --domain, --fork, --from and --to ask for, each as " AND ...".  last: the column that --from
 * looks at, time: the one of --to.
 */
void xf_append_filters(sqlite3_str *sql, const struct xf_options *options,
	const struct xf_range *range, const char *last, const char *time);

/*
 * Prints all rows of a statement, whose parameters are bound, as a table on stdout, and finalizes it.
 * title: stands before the first row, and then without a row there is nothing at all; NULL = none.
 * *rows counts them, unless that is NULL.
 */
int xf_print_rows(sqlite3_stmt *stmt, const struct xf_column *columns, size_t n,
	enum xf_format format, const char *title, size_t *rows, struct xf_error *err);

/* The same of a query, which may be NULL for want of memory, and is freed. */
int xf_print_query(sqlite3 *db, char *sql, const struct xf_column *columns, size_t n,
	enum xf_format format, struct xf_error *err);

/* A fork that --fork names and the database does not have is a mistake, not an empty table. */
int xf_need_fork(sqlite3 *db, const struct xf_options *options, struct xf_error *err);

/* After a text table: losses and doubts of the database, if there are any, on stderr. */
int xf_print_doubts(sqlite3 *db, struct xf_error *err);

/* Where a list is empty or incomplete: what a capture of guests with nested paging cannot show, on stderr. */
int xf_tell_hap(sqlite3 *db, enum xf_hap_list list, struct xf_error *err);

/* Progress of a step in bytes, on stderr where that is a terminal and the work takes long. */
struct xf_cli_progress {
	struct xf_progress step;
	const char *what;
	double began, last; /* seconds */
	bool visible;
};

/* what lives on; progress stays where it is.  The end erases the line. */
void xf_progress_start(struct xf_cli_progress *progress, const char *what);
void xf_progress_end(const struct xf_cli_progress *progress);

#endif
