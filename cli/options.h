/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command is, and the options that several of them share.  Each command stands with its own
 * options in its file, cli/cmd_*.c; main.c lists them all.  Parsing, --help, the manual pages and the
 * completions come from what stands here and there.
 * In: argv.  Out: struct xf_options, or the command's own struct that begins with one.
 */
#ifndef XF_CLI_OPTIONS_H
#define XF_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/output.h"

/* A point in time as the user gave it: seconds from the first record, or TSC cycles. */
struct xf_when {
	enum { XF_WHEN_UNSET, XF_WHEN_SECONDS, XF_WHEN_CYCLES } unit;
	double seconds;
	uint64_t cycles;
};

#define XF_MAX_SYMBOL_FILES 16
#define XF_MAX_TEXTS	    16

#define XF_SYMBOLS_XEN (-2)

struct xf_symbol_file {
	const char *path;
	int domid;	 /* -1 = every domain; XF_SYMBOLS_XEN */
	uint64_t offset; /* added to each address of the file */
};

/* An option that may be repeated. */
struct xf_texts {
	const char *text[XF_MAX_TEXTS];
	int n;
};

/* The log of a guest's own kernel. */
struct xf_guest_file {
	int domid;
	const char *path;
};

/* What several commands share; a command has only those fields whose options it lists. */
struct xf_options {
	const struct xf_command *command;
	int nargs; /* positional arguments */
	char **args;
	int behind; /* of these, so many stand behind "--"; -1 = there is none */
	bool help;
	const char *output;
	bool force, no_analyze, fail_on_loss;
	enum xf_format format;
	int domid, vcpu; /* -1 = all */
	const char
		*domain; /* the name of one, which xf_find_domain() turns into domid; NULL = none */
	const char *domain_names; /* a file, NULL = not given */
	struct xf_when from, to;
	int64_t limit; /* -1 = none */
	const char *sort, *min,
		*columns; /* names of columns, see cli/columns.h; NULL = not given */
	bool reverse;
	int64_t fork;	    /* -1 = none */
	uint64_t cpu_hz;    /* 0 = not given */
	const char *clocks; /* auto, always, never; NULL = not given */
	struct xf_symbol_file symbols[XF_MAX_SYMBOL_FILES];
	int nsymbols;
	struct xf_guest_file guests[XF_MAX_TEXTS];
	int nguests;
};

/* Instead of values: the views that export writes; see cli/export.h. */
#define XF_VIEWS "@views"

/*
 * One option.  set() reads value (NULL where the option takes none) into the field of the options
 * struct that begins offset bytes in; it returns 0, or -XF_USAGE with a text that names the option.
 */
struct xf_option {
	const char *name;
	char key;	      /* short form, 0 = none */
	const char *argument; /* what stands for its value in the help, NULL = it takes none */
	const char *help;
	int (*set)(const struct xf_option *option, void *field, const char *value,
		struct xf_error *err);
	size_t offset;
	const char
		*values; /* all that it may be, with spaces between; NULL = anything; or XF_VIEWS */
};

typedef int xf_option_fn(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err);

/*
 * A field of a struct of options, for the two last members of struct xf_option: what reads it, and
 * where it is.  The compiler refuses a field of another type.
 */
#define XF_FIELD(set, strukt, field, type) \
	set, _Generic(((strukt *)0)->field, type : offsetof(strukt, field))
#define XF_FLAG(strukt, field)	 XF_FIELD(xf_set_flag, strukt, field, bool)
#define XF_TEXT(strukt, field)	 XF_FIELD(xf_set_text, strukt, field, const char *)
#define XF_CHOICE(strukt, field) XF_FIELD(xf_set_choice, strukt, field, const char *)
#define XF_TEXTS(strukt, field)	 XF_FIELD(xf_set_texts, strukt, field, struct xf_texts)

xf_option_fn xf_set_flag, xf_set_text, xf_set_texts;
xf_option_fn xf_set_choice; /* one of option->values */
xf_option_fn xf_set_format, xf_set_when, xf_set_limit, xf_set_fork, xf_set_cpu_hz;
/* These fill more than one field: theirs is the whole struct xf_options. */
xf_option_fn xf_set_domain, xf_set_symbols, xf_set_xen_symbols, xf_set_symbols_domain,
	xf_set_kaslr_offset, xf_set_guest;

/* A whole number from 0 to limit, all of the text; negative if it is none. */
int64_t xf_whole_number(const char *text, int64_t limit);

/* The options that several commands take: lines for their tables. */
#define XF_OPT(set, field, type) XF_FIELD(set, struct xf_options, field, type)
#define XF_OPT_OUTPUT(argument, help)                                                   \
	{                                                                               \
		"output", 'o', argument, help, XF_TEXT(struct xf_options, output), NULL \
	}
#define XF_OPT_FORCE(what)                                             \
	{                                                              \
		"force", 'f', NULL, "replace " what " if it is there", \
			XF_FLAG(struct xf_options, force), NULL        \
	}
#define XF_OPT_NO_ANALYZE                                                                 \
	{                                                                                 \
		"no-analyze", 0, NULL, "only the events; xenfault analyze does the rest", \
			XF_FLAG(struct xf_options, no_analyze), NULL                      \
	}
#define XF_OPT_FAIL_ON_LOSS                                                    \
	{                                                                      \
		"fail-on-loss", 0, NULL, "exit status 7 if records were lost", \
			XF_FLAG(struct xf_options, fail_on_loss), NULL         \
	}
#define XF_OPT_FORMAT                                                                   \
	{                                                                               \
		"format", 0, "FORMAT", "text, csv or jsonl",                            \
			XF_OPT(xf_set_format, format, enum xf_format), "text csv jsonl" \
	}
#define XF_OPT_DOMAIN                                                                        \
	{                                                                                    \
		"domain", 0, "DOM", "only domain dN or NAME, or a vCPU of it: dNvM, NAMEvM", \
			xf_set_domain, 0, NULL                                               \
	}
#define XF_OPT_FROM                                                                             \
	{                                                                                       \
		"from", 0, "TIME",                                                              \
			"from the first record: 1.5 or 1.5s, 12ms, 350us; or TSC cycles: 123c", \
			XF_OPT(xf_set_when, from, struct xf_when), NULL                         \
	}
#define XF_OPT_TO                                                     \
	{                                                             \
		"to", 0, "TIME", "likewise; both ends are included",  \
			XF_OPT(xf_set_when, to, struct xf_when), NULL \
	}
#define XF_OPT_UNTIL                                                                            \
	{                                                                                       \
		"until", 0, "TIME",                                                             \
			"the end in time of every command, export too; both ends are included", \
			XF_OPT(xf_set_when, to, struct xf_when), NULL                           \
	}
#define XF_OPT_LIMIT                                                                          \
	{                                                                                     \
		"limit", 0, "N", "at most N rows", XF_OPT(xf_set_limit, limit, int64_t), NULL \
	}
#define XF_OPTS_COLUMNS                                                                          \
	{"sort", 0, "COLUMN",                                                                    \
		"by a column: counts and durations largest first, all else smallest first",      \
		XF_TEXT(struct xf_options, sort), NULL},                                         \
		{"reverse", 0, NULL, "the other way round", XF_FLAG(struct xf_options, reverse), \
			NULL},                                                                   \
		{"min", 0, "COLUMN=N", "only rows with at least N in a column",                  \
			XF_TEXT(struct xf_options, min), NULL},                                  \
	{                                                                                        \
		"columns", 0, "A,B", "these columns of the view, in this order",                 \
			XF_TEXT(struct xf_options, columns), NULL                                \
	}
#define XF_OPT_FORK                                                                                \
	{                                                                                          \
		"fork", 0, "N", "only what belongs to fork N", XF_OPT(xf_set_fork, fork, int64_t), \
			NULL                                                                       \
	}
#define XF_OPT_CPU_HZ                                                                               \
	{                                                                                           \
		"cpu-hz", 0, "HZ",                                                                  \
			"TSC cycles per second: plain, or with M, G, MHz; trace files do not tell", \
			XF_OPT(xf_set_cpu_hz, cpu_hz, uint64_t), NULL                               \
	}
/* text: what is corrected, up to the colon. */
#define XF_OPT_CLOCKS(text)                                                                 \
	{                                                                                   \
		"clocks", 0, "MODE",                                                        \
			text ": auto (default: where the records bound the error tightly)," \
			     " always, never",                                              \
			XF_CHOICE(struct xf_options, clocks), "auto always never"           \
	}
#define XF_OPT_DOMAIN_NAMES                                                           \
	{                                                                             \
		"domain-names", 0, "FILE",                                            \
			"names of domains: lines of dN NAME, or what xl list prints", \
			XF_TEXT(struct xf_options, domain_names), NULL                \
	}
#define XF_OPT_GUEST                                                                          \
	{                                                                                     \
		"guest", 0, "dN=FILE",                                                        \
			"the ftrace log of domain dN's kernel: names forks; may be repeated", \
			xf_set_guest, 0, NULL                                                 \
	}
/* What a list of rows takes. */
#define XF_OPTS_ROWS \
	XF_OPT_FORMAT, XF_OPT_DOMAIN, XF_OPT_FROM, XF_OPT_TO, XF_OPT_UNTIL, XF_OPT_LIMIT
#define XF_OPTS_SYMBOLS                                                                            \
	{"symbols", 0, "FILE", "ELF, System.map or kallsyms of the guest kernel; may be repeated", \
		xf_set_symbols, 0, NULL},                                                          \
		{"symbols-domain", 0, "dN", "the --symbols before it is only for domain dN",       \
			xf_set_symbols_domain, 0, NULL},                                           \
		{"xen-symbols", 0, "FILE", "the hypervisor's: xen-syms, or what nm prints of it",  \
			xf_set_xen_symbols, 0, NULL},                                              \
	{                                                                                          \
		"kaslr-offset", 0, "N", "added to the addresses of the --symbols before it",       \
			xf_set_kaslr_offset, 0, NULL                                               \
	}

struct xf_command {
	const char *name, *arguments, *summary;
	const struct xf_option *options; /* ends with one without a name; NULL = only --help */
	/* Of the struct that run() gets, which begins with a struct xf_options; 0 = it is one. */
	size_t size;
	int (*run)(struct xf_options *options, struct xf_error *err);
};

/* All commands in the order of the help, NULL behind them; main.c has them. */
extern const struct xf_command *const xf_commands[];

/* The command of that name, NULL = none. */
const struct xf_command *xf_command_by_name(const char *name);

/* The n-th option of a command: its own ones, then --help; NULL behind them. */
const struct xf_option *xf_command_option(const struct xf_command *command, size_t n);

/*
 * Parses argv (argv[0] is the command's name); options and arguments may stand in any order.  *options,
 * to be freed, is the struct that the command's run() gets.  The strings of argv are kept, not copied;
 * argv is reordered.  Returns 0, -XF_USAGE or -XF_INTERNAL (no memory).
 */
int xf_options_parse(struct xf_options **options, const struct xf_command *command, int argc,
	char **argv, struct xf_error *err);

#endif
