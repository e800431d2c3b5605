/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands and options: one table gives parsing and --help (and what is generated from them).
 * In: argv.  Out: struct xf_options, help text.
 */
#ifndef XF_CLI_OPTIONS_H
#define XF_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "common/output.h"

/* X(enum, name, arguments, summary) */
#define XF_COMMANDS(X)                                                                            \
	X(IMPORT, "import", "FILE|-", "turn a trace file or stream into a database")              \
	X(RECORD, "record", "[-- COMMAND ...]", "capture on a running Xen host into a database")  \
	X(ANALYZE, "analyze", "DB", "rebuild the derived tables from the events")                 \
	X(INFO, "info", "DB|FILE", "what the capture holds, its losses and doubts")               \
	X(FORKS, "forks", "DB", "one row per fork")                                               \
	X(PAGES, "pages", "DB", "one row per fault sequence of a page-table page")                \
	X(EVENTS, "events", "DB|FILE|-", "one row per event, in time order")                      \
	X(SPURIOUS, "spurious", "DB", "faults that another vCPU's work made needless")            \
	X(FLUSHES, "flushes", "DB", "TLB flushes by mechanism, cause, reach and fork")            \
	X(POLICY, "policy", "DB", "each mechanism's cost, and the break-even")                    \
	X(DIFF, "diff", "DB1 DB2 | A.. -- B..", "two captures, or two sides, against each other") \
	X(EPISODES, "episodes", "DB", "PV guests in log-dirty mode, and the cost")                \
	X(SQL, "sql", "DB|FILE 'SELECT ...'", "SQL over a database or a trace file")              \
	X(MERGE, "merge", "HOST=DB ...", "many hosts' captures in one database")                  \
	X(EXPORT, "export", "DB", "CSV, JSON lines, Perfetto, PostgreSQL")                        \
	X(REPORT, "report", "DB", "one self-contained HTML page about a capture")                 \
	X(TUI, "tui", "DB", "the forks and their faults on a screen")                             \
	X(HELP, "help", "[COMMAND|exit-codes]", "this text, or that of one command")              \
	X(VERSION, "version", "", "version and features")

enum xf_command {
#define X(id, name, args, summary) XF_CMD_##id,
	XF_COMMANDS(X)
#undef X
		XF_CMD_COUNT
};

struct xf_command_info {
	const char *name, *arguments, *summary;
};

extern const struct xf_command_info xf_commands[XF_CMD_COUNT];

/* A point in time as the user gave it: seconds from the first record, or TSC cycles. */
struct xf_when {
	enum { XF_WHEN_UNSET, XF_WHEN_SECONDS, XF_WHEN_CYCLES } unit;
	double seconds;
	uint64_t cycles;
};

#define XF_MAX_SYMBOL_FILES 16
#define XF_MAX_UNITS	    16

struct xf_symbol_file {
	const char *path;
	int domid;	 /* -1 = every domain */
	uint64_t offset; /* added to each address of the file */
};

struct xf_options {
	enum xf_command command;
	bool help, table; /* table: of help, the options for a program to read */
	const char *output;
	bool force, no_analyze, fail_on_loss;
	enum xf_format format;
	int domid, vcpu; /* -1 = all */
	struct xf_when from, to;
	int64_t limit;			       /* -1 = none */
	int64_t fork;			       /* -1 = none */
	uint64_t cpu_hz;		       /* 0 = not given */
	const char *to_format, *view;	       /* of export, NULL = not given */
	const char *raw, *via, *events, *cpus; /* of record, NULL = not given */
	int64_t pages;			       /* trace buffer of each CPU, 0 = not given */
	double seconds;			       /* 0 = not given */
	struct xf_symbol_file symbols[XF_MAX_SYMBOL_FILES];
	int nsymbols;
	const char *profile, *train, *part; /* of policy, NULL = not given */
	const char *units_of[XF_MAX_UNITS];
	int nunits_of;
	const char *units[XF_MAX_UNITS]; /* NAME=VALUE */
	int nunits;
	int ncpus;			 /* that a flush hits, 0 = not given */
	bool follow, ascii, mouse;	 /* tui */
	const char *color, *script;	 /* NULL = not given */
	int screen_width, screen_height; /* of the script's screen */
	double break_even;		 /* PTEs per page, 0 = not given */
	int nargs;			 /* positional arguments */
	char **args;
	const char *host; /* of export, NULL = not given */
	bool schema;	  /* of export */
	bool rounds;	  /* of episodes */
	int behind; /* of the positional arguments: so many stand behind "--"; -1 = there is none */
};

/*
 * Parses argv (argv[1] is the command); options and arguments may stand in any order.  The strings
 * of argv are kept, not copied; argv is reordered.  Returns 0 or -XF_USAGE.
 */
int xf_options_parse(struct xf_options *options, int argc, char **argv, struct xf_error *err);

/* Help of the whole program, or of one command. */
void xf_options_help(FILE *file);
void xf_options_help_command(FILE *file, enum xf_command command);

/*
 * All commands, options and exit statuses, one a line with tabs between; manual pages and completions
 * are made of it.  C name arguments summary; O command key name argument help; E status text;
 * "-" stands for none.
 */
void xf_options_table(FILE *file);

/* The command of that name, -1 = none. */
int xf_command_by_name(const char *name);

#endif
