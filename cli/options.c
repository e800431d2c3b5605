// SPDX-License-Identifier: GPL-2.0-or-later
/* Commands and options from one table.  In: argv.  Out: struct xf_options, help text. */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/suggest.h"

const struct xf_command_info xf_commands[XF_CMD_COUNT] = {
#define X(id, name, args, summary) [XF_CMD_##id] = {name, args, summary},
	XF_COMMANDS(X)
#undef X
};

#define C(id) (1u << XF_CMD_##id)
#define ROWS                                                                                    \
	(C(FORKS) | C(PAGES) | C(EVENTS) | C(SPURIOUS) | C(FLUSHES) | C(POLICY) | C(EPISODES) | \
		C(SQL))
#define FILES	(C(EXPORT) | C(REPORT)) /* what writes a file that is no database */
#define SYMBOLS (C(IMPORT) | C(RECORD) | C(ANALYZE) | C(EVENTS) | C(SQL))
#define ALL	((1u << XF_CMD_COUNT) - 1)

typedef int setter(struct xf_options *options, const char *value, struct xf_error *err);

static int set_output(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)err;
	o->output = value;
	return 0;
}

static int set_force(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)value, (void)err;
	o->force = true;
	return 0;
}

static int set_no_analyze(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)value, (void)err;
	o->no_analyze = true;
	return 0;
}

static int set_fail_on_loss(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)value, (void)err;
	o->fail_on_loss = true;
	return 0;
}

static int set_help(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)value, (void)err;
	o->help = true;
	return 0;
}

static int set_host(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)err;
	o->host = value;
	return 0;
}

static int set_schema(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)value, (void)err;
	o->schema = true;
	return 0;
}

static int set_rounds(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)value, (void)err;
	o->rounds = true;
	return 0;
}

static int set_table(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)value, (void)err;
	o->table = true;
	return 0;
}

static int set_format(struct xf_options *o, const char *value, struct xf_error *err)
{
	int format = xf_format_by_name(value);

	if (format < 0)
		return xf_fail(err, XF_USAGE, "--format %s: it is text, csv or jsonl", value);
	o->format = (enum xf_format)format;
	return 0;
}

/* A whole number from 0 to limit, all of the text; negative on failure. */
static int64_t number(const char *text, int64_t limit)
{
	char *end;
	long long value;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	value = strtoll(text, &end, 10);
	return *end || errno || value > limit ? -1 : value;
}

static int set_domain(struct xf_options *o, const char *value, struct xf_error *err)
{
	char text[32], *v;

	if (*value == 'd' && strlen(value) < sizeof(text)) {
		strcpy(text, value + 1);
		v = strchr(text, 'v');
		if (v)
			*v++ = '\0';
		o->domid = (int)number(text, 0x7fff);
		o->vcpu = v ? (int)number(v, 0xffff) : -1;
		if (o->domid >= 0 && (!v || o->vcpu >= 0))
			return 0;
	}
	return xf_fail(err, XF_USAGE, "--domain %s: it is dN or dNvM, such as d0 or d3v1", value);
}

static int set_when(struct xf_when *when, const char *name, const char *value, struct xf_error *err)
{
	size_t length = strlen(value);
	char *end;

	errno = 0;
	if (length > 1 && value[length - 1] == 'c') {
		when->unit = XF_WHEN_CYCLES;
		when->cycles = strtoull(value, &end, 0);
		if (end == value + length - 1 && *value >= '0' && *value <= '9' && !errno)
			return 0;
	} else {
		when->unit = XF_WHEN_SECONDS;
		when->seconds = strtod(value, &end);
		if (length && !*end && isfinite(when->seconds) && when->seconds >= 0)
			return 0;
	}
	return xf_fail(err, XF_USAGE,
		"%s %s: seconds from the first record, such as 1.5, or a TSC in cycles with a c behind",
		name, value);
}

static int set_from(struct xf_options *o, const char *value, struct xf_error *err)
{
	return set_when(&o->from, "--from", value, err);
}

static int set_to(struct xf_options *o, const char *value, struct xf_error *err)
{
	return set_when(&o->to, "--to", value, err);
}

static int set_until(struct xf_options *o, const char *value, struct xf_error *err)
{
	return set_when(&o->to, "--until", value, err);
}

static int set_to_format(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)err;
	o->to_format = value;
	return 0;
}

static int set_view(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)err;
	o->view = value;
	return 0;
}

static int set_limit(struct xf_options *o, const char *value, struct xf_error *err)
{
	o->limit = number(value, INT64_MAX);
	return o->limit < 0 ? xf_fail(err, XF_USAGE, "--limit %s: not a number of rows", value) : 0;
}

static int set_fork(struct xf_options *o, const char *value, struct xf_error *err)
{
	o->fork = number(value, INT64_MAX);
	return o->fork < 0
		       ? xf_fail(err, XF_USAGE,
				 "--fork %s: not a fork number; xenfault forks lists them", value)
		       : 0;
}

static int set_cpu_hz(struct xf_options *o, const char *value, struct xf_error *err)
{
	char *end;
	double hz;

	hz = strtod(value, &end);
	if (end != value) {
		static const struct {
			const char *suffixes;
			double factor;
		} units[] = {{"kK", 1e3}, {"mM", 1e6}, {"gG", 1e9}};

		for (int i = 0; i < 3 && *end; i++) {
			if (strchr(units[i].suffixes, *end)) {
				hz *= units[i].factor;
				end++;
				break;
			}
		}
		if (!*end && hz >= 1e3 && hz <= 1e12) {
			o->cpu_hz = (uint64_t)(hz + 0.5);
			return 0;
		}
	}
	return xf_fail(err, XF_USAGE,
		"--cpu-hz %s: cycles per second, such as 2445400000 or 2.4454G", value);
}

static int set_follow(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)value, (void)err;
	o->follow = true;
	return 0;
}

static int set_ascii(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)value, (void)err;
	o->ascii = true;
	return 0;
}

static int set_mouse(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)value, (void)err;
	o->mouse = true;
	return 0;
}

static int set_color(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)err;
	o->color = value;
	return 0;
}

static int set_script(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)err;
	o->script = value;
	return 0;
}

static int set_size(struct xf_options *o, const char *value, struct xf_error *err)
{
	char rest;

	if (sscanf(value, "%dx%d%c", &o->screen_width, &o->screen_height, &rest) == 2 &&
		o->screen_width >= 1 && o->screen_width <= 1000 && o->screen_height >= 1 &&
		o->screen_height <= 1000)
		return 0;
	return xf_fail(err, XF_USAGE, "--size %s: columns x lines, such as 80x24", value);
}

static int set_break_even(struct xf_options *o, const char *value, struct xf_error *err)
{
	char *end;

	o->break_even = strtod(value, &end);
	if (end != value && !*end && o->break_even > 0 && o->break_even <= 512)
		return 0;
	return xf_fail(err, XF_USAGE, "--break-even %s: PTEs per page, such as 8", value);
}

static int set_symbols(struct xf_options *o, const char *value, struct xf_error *err)
{
	if (o->nsymbols == XF_MAX_SYMBOL_FILES)
		return xf_fail(err, XF_USAGE, "more than %d --symbols files", XF_MAX_SYMBOL_FILES);
	o->symbols[o->nsymbols++] = (struct xf_symbol_file){.path = value, .domid = -1};
	return 0;
}

static int set_symbols_domain(struct xf_options *o, const char *value, struct xf_error *err)
{
	int domid = *value == 'd' ? (int)number(value + 1, 0x7fff) : -1;

	if (domid < 0)
		return xf_fail(err, XF_USAGE, "--symbols-domain %s: it is dN, such as d0", value);
	if (!o->nsymbols)
		return xf_fail(err, XF_USAGE,
			"--symbols-domain stands behind the --symbols file that it is about");
	o->symbols[o->nsymbols - 1].domid = domid;
	return 0;
}

static int set_kaslr_offset(struct xf_options *o, const char *value, struct xf_error *err)
{
	char *end;

	if (!o->nsymbols)
		return xf_fail(err, XF_USAGE,
			"--kaslr-offset stands behind the --symbols file that it is about");
	errno = 0;
	o->symbols[o->nsymbols - 1].offset = strtoull(value, &end, 0);
	if (end == value || *end || errno)
		return xf_fail(
			err, XF_USAGE, "--kaslr-offset %s: a number, such as 0x1e000000", value);
	return 0;
}

static int set_raw(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)err;
	o->raw = value;
	return 0;
}

static int set_via(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)err;
	o->via = value;
	return 0;
}

static int set_events(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)err;
	o->events = value;
	return 0;
}

static int set_cpus(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)err;
	o->cpus = value;
	return 0;
}

static int set_profile(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)err;
	o->profile = value;
	return 0;
}

static int set_units_of(struct xf_options *o, const char *value, struct xf_error *err)
{
	if (o->nunits_of == XF_MAX_UNITS)
		return xf_fail(err, XF_USAGE, "more than %d --units-of", XF_MAX_UNITS);
	o->units_of[o->nunits_of++] = value;
	return 0;
}

static int set_unit(struct xf_options *o, const char *value, struct xf_error *err)
{
	if (o->nunits == XF_MAX_UNITS)
		return xf_fail(err, XF_USAGE, "more than %d --unit", XF_MAX_UNITS);
	o->units[o->nunits++] = value;
	return 0;
}

static int set_train(struct xf_options *o, const char *value, struct xf_error *err)
{
	(void)err;
	o->train = value;
	return 0;
}

static int set_part(struct xf_options *o, const char *value, struct xf_error *err)
{
	static const char *const parts[] = {"costs", "units", "histogram", "forks", "fit"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strcmp(value, parts[i]))
			o->part = value;
	return o->part ? 0
		       : xf_fail(err, XF_USAGE,
				 "--part %s: it is costs, units, histogram, forks or fit", value);
}

static int set_ncpus(struct xf_options *o, const char *value, struct xf_error *err)
{
	o->ncpus = (int)number(value, 16383);
	return o->ncpus < 1
		       ? xf_fail(err, XF_USAGE, "--cpus %s: a number of CPUs, 1 to 16383", value)
		       : 0;
}

static int set_pages(struct xf_options *o, const char *value, struct xf_error *err)
{
	o->pages = number(value, 65535);
	return o->pages < 1 ? xf_fail(err, XF_USAGE, "-S %s: pages for each CPU, 1 to 65535", value)
			    : 0;
}

static int set_seconds(struct xf_options *o, const char *value, struct xf_error *err)
{
	char *end;

	o->seconds = strtod(value, &end);
	if (end == value || *end || !isfinite(o->seconds) || o->seconds <= 0)
		return xf_fail(err, XF_USAGE, "-T %s: not a number of seconds", value);
	return 0;
}

static const struct option_info {
	unsigned commands;
	const char *name;
	char key; /* short form, 0 = none */
	const char *argument;
	setter *set;
	const char *help;
} table[] = {
	{C(IMPORT) | C(RECORD), "output", 'o', "DB", set_output,
		"the database; default: FILE.db; record: a name with the date"},
	{FILES, "output", 'o', "FILE", set_output, "the file to write; default: standard output"},
	{FILES, "force", 'f', NULL, set_force, "replace FILE if it is there"},
	{C(EXPORT), "to", 0, "FORMAT", set_to_format,
		"perfetto, csv, jsonl or postgresql (not a time here)"},
	{C(EXPORT), "view", 0, "NAME", set_view, "the view to write as csv or jsonl"},
	{C(IMPORT) | C(RECORD), "force", 'f', NULL, set_force, "replace DB if it is there"},
	{C(IMPORT) | C(RECORD), "no-analyze", 0, NULL, set_no_analyze,
		"only the events; xenfault analyze does the rest"},
	{C(IMPORT) | C(RECORD) | C(INFO), "fail-on-loss", 0, NULL, set_fail_on_loss,
		"exit status 7 if records were lost"},
	{C(RECORD), "raw", 0, "FILE", set_raw, "keep the stream too, as xentrace would write it"},
	{C(RECORD), "via", 0, "COMMAND", set_via,
		"take the stream of COMMAND, such as 'ssh HOST xentrace /dev/stdout'"},
	{C(RECORD), "events", 'e', "EVENTS", set_events,
		"pt (default), all, class names or xentrace's numbers, with commas"},
	{C(RECORD), "cpus", 'c', "CPUS", set_cpus, "physical CPUs: 0-3,8 or 0x0f or all (default)"},
	{C(RECORD), "pages", 'S', "PAGES", set_pages,
		"trace buffer of each CPU; the first size of a boot stays"},
	{C(RECORD), "seconds", 'T', "SECONDS", set_seconds, "end after so many seconds"},
	{ROWS | C(DIFF), "format", 0, "FORMAT", set_format, "text, csv or jsonl"},
	{(ROWS & ~C(SQL)) | C(DIFF) | C(EXPORT), "domain", 0, "DOM", set_domain,
		"only domain dN, or its vCPU dNvM"},
	{(ROWS & ~C(SQL)) | C(EXPORT), "from", 0, "TIME", set_from,
		"seconds from the first record, or TSC cycles with a c behind"},
	{ROWS & ~C(SQL), "to", 0, "TIME", set_to, "likewise; both ends are included"},
	{(ROWS & ~C(SQL)) | C(EXPORT), "until", 0, "TIME", set_until,
		"the end in time of every command, export too; both ends are included"},
	{ROWS | C(DIFF), "limit", 0, "N", set_limit, "at most N rows"},
	{C(PAGES) | C(EVENTS) | C(FLUSHES) | C(POLICY) | C(EXPORT), "fork", 0, "N", set_fork,
		"only what belongs to fork N"},
	{C(POLICY), "profile", 0, "FILE|NAME", set_profile,
		"unit costs of another machine, such as xeon-mp-2006"},
	{C(POLICY), "units-of", 0, "DB", set_units_of,
		"take what is still unknown from a capture of the same machine; may be repeated"},
	{C(POLICY), "unit", 0, "NAME=COST", set_unit,
		"a unit cost, with us or c (cycles) behind; may be repeated"},
	{C(POLICY), "cpus", 0, "N", set_ncpus, "CPUs that a flush hits; default: as measured"},
	{C(POLICY), "train", 0, "FORKS", set_train,
		"measure on these forks, such as 1-16,20, and price the others"},
	{C(POLICY), "part", 0, "PART", set_part,
		"costs, units, histogram, forks or fit; csv and jsonl: costs"},
	{SYMBOLS, "symbols", 0, "FILE", set_symbols,
		"ELF, System.map or kallsyms of the guest kernel; may be repeated"},
	{SYMBOLS, "symbols-domain", 0, "dN", set_symbols_domain,
		"the --symbols before it is only for domain dN"},
	{SYMBOLS, "kaslr-offset", 0, "N", set_kaslr_offset,
		"added to the addresses of the --symbols before it"},
	{C(TUI), "follow", 0, NULL, set_follow, "the database is being written: show what comes"},
	{C(TUI), "ascii", 0, NULL, set_ascii, "no character beyond ASCII"},
	{C(TUI), "color", 0, "WHEN", set_color,
		"auto, never, always, 8 or 256 (NO_COLOR is obeyed)"},
	{C(TUI), "mouse", 0, NULL, set_mouse, "mouse on; otherwise the m key does it"},
	{C(TUI), "break-even", 0, "PTES", set_break_even, "PTEs per page, drawn in the histogram"},
	{C(TUI), "script", 0, "KEYS", set_script,
		"no terminal: press KEYS and print the screen; <Enter>, <Down>, <Screen> ..."},
	{C(TUI), "size", 0, "WxH", set_size, "of the script's screen; default 80x24"},
	{C(IMPORT) | C(RECORD) | C(ANALYZE) | C(INFO) | C(TUI) | ROWS | C(DIFF) | FILES, "cpu-hz",
		0, "HZ", set_cpu_hz,
		"TSC cycles per second: plain, or with k, M, G; trace files do not tell"},
	{C(MERGE), "output", 'o', "FLEET", set_output, "the fleet, made if it is not there"},
	{C(EXPORT), "host", 0, "NAME", set_host,
		"the host's name there; of a fleet: only this one"},
	{C(EXPORT), "schema", 0, NULL, set_schema, "the tables and views for it, instead of a DB"},
	{C(EPISODES), "rounds", 0, NULL, set_rounds,
		"one row per round of reading the dirty bitmap"},
	{C(HELP), "table", 0, NULL, set_table,
		"commands, options and exit statuses for a program to read"},
	{ALL, "help", 'h', NULL, set_help, "this text"},
};

#define NOPTIONS (sizeof(table) / sizeof(table[0]))

int xf_command_by_name(const char *name)
{
	for (int i = 0; i < XF_CMD_COUNT; i++)
		if (!strcmp(name, xf_commands[i].name))
			return i;
	return -1;
}

/* An option that no option of this command is like: perhaps it is one of other commands. */
static const char *elsewhere(const char *name, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < NOPTIONS; i++)
		for (int c = 0; c < XF_CMD_COUNT; c++)
			if (!strcmp(table[i].name, name) && table[i].commands & 1u << c &&
				used < size)
				used += (size_t)snprintf(text + used, size - used, "%s%s",
					used ? ", " : "; it is one of ", xf_commands[c].name);
	return text;
}

static int unknown_option(const char *name, const char *command, struct xf_error *err)
{
	char word[64], others[160];
	struct xf_suggest suggest;
	int bit = xf_command_by_name(command);

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(name + 2, "="), name + 2);
	suggest = xf_suggest_for(word);
	for (size_t i = 0; i < NOPTIONS; i++)
		if (table[i].commands & 1u << bit)
			xf_suggest_offer(&suggest, table[i].name);
	elsewhere(word, others, sizeof(others));
	return xf_fail(err, XF_USAGE, "xenfault %s has no option %s%s; see: xenfault %s --help",
		command, name, *others ? others : xf_suggest_text(&suggest), command);
}

static int parse_error(int argc, char **argv, int key, const char *command, struct xf_error *err)
{
	const char *name = optind > 0 && optind <= argc ? argv[optind - 1] : "?";

	if (key == ':')
		return xf_fail(
			err, XF_USAGE, "%s needs a value; see: xenfault %s --help", name, command);
	if (optopt > 0 && optopt < 256 && name[1] != '-')
		return xf_fail(err, XF_USAGE,
			"xenfault %s has no option -%c; see: xenfault %s --help", command, optopt,
			command);
	if (optopt >= 256)
		return xf_fail(err, XF_USAGE, "%s takes no value", name);
	return unknown_option(name, command, err);
}

int xf_options_parse(struct xf_options *o, int argc, char **argv, struct xf_error *err)
{
	struct option longs[NOPTIONS + 1] = {{0}};
	char shorts[2 * NOPTIONS + 3] = ":", *s = shorts + 1;
	unsigned bit = 1u << o->command;
	int n = 0, key, code, dashes = 1;

	/* getopt moves it */
	while (dashes < argc && strcmp(argv[dashes], "--") != 0)
		dashes++;
	*o = (struct xf_options){
		.command = o->command, .domid = -1, .vcpu = -1, .limit = -1, .fork = -1};
	for (size_t i = 0; i < NOPTIONS; i++) {
		if (!(table[i].commands & bit))
			continue;
		longs[n++] = (struct option){table[i].name,
			table[i].argument ? required_argument : no_argument, NULL, 256 + (int)i};
		if (table[i].key) {
			*s++ = table[i].key;
			if (table[i].argument)
				*s++ = ':';
		}
	}
	opterr = 0;
	optind = 0;
	while ((key = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct option_info *option = NULL;

		if (key == '?' || key == ':')
			return parse_error(argc, argv, key, xf_commands[o->command].name, err);
		if (key >= 256)
			option = &table[key - 256];
		for (size_t i = 0; i < NOPTIONS && !option; i++)
			if (table[i].key == key && (table[i].commands & bit))
				option = &table[i];
		code = option->set(o, optarg, err);
		if (code)
			return code;
	}
	o->nargs = argc - optind;
	o->behind = dashes < argc ? argc - dashes - 1 : -1;
	o->args = argv + optind;
	return 0;
}

/* Writes text that begins in a column, and goes on there where a line would be too long. */
static void wrap(FILE *file, const char *text, size_t column, size_t width)
{
	while (strlen(text) > width - column) {
		size_t n = width - column;

		while (n && text[n] != ' ')
			n--;
		if (!n)
			break;
		fprintf(file, "%.*s\n%*s", (int)n, text, (int)column, "");
		text += n + 1;
	}
	fprintf(file, "%s\n", text);
}

void xf_options_help(FILE *file)
{
	fputs("xenfault shows what page tables cost a Xen guest.\n\nusage: xenfault COMMAND [OPTION ...]"
	      " ARGUMENT ...\n\n",
		file);
	for (int i = 0; i < XF_CMD_COUNT; i++) {
		fprintf(file, "  %-8s %-21s ", xf_commands[i].name, xf_commands[i].arguments);
		wrap(file, xf_commands[i].summary, 33, 80);
	}
	fputs("\nxenfault COMMAND --help lists the options of one command,\n"
	      "xenfault help exit-codes the exit statuses.\n",
		file);
}

void xf_options_help_command(FILE *file, enum xf_command command)
{
	const struct xf_command_info *info = &xf_commands[command];

	fprintf(file, "usage: xenfault %s [OPTION ...] %s\n\n%s\n\n", info->name, info->arguments,
		info->summary);
	for (size_t i = 0; i < NOPTIONS; i++) {
		char name[64];

		if (!(table[i].commands & 1u << command))
			continue;
		snprintf(name, sizeof(name), "%s%c%s--%s%s%s", table[i].key ? "-" : "",
			table[i].key ? table[i].key : ' ', table[i].key ? ", " : "   ",
			table[i].name, table[i].argument ? " " : "",
			table[i].argument ? table[i].argument : "");
		fprintf(file, "  %-25s ", name);
		wrap(file, table[i].help, 28, 80);
	}
}

void xf_options_table(FILE *file)
{
	for (int c = 0; c < XF_CMD_COUNT; c++)
		fprintf(file, "C\t%s\t%s\t%s\n", xf_commands[c].name,
			*xf_commands[c].arguments ? xf_commands[c].arguments : "-",
			xf_commands[c].summary);
	for (int c = 0; c < XF_CMD_COUNT; c++)
		for (size_t i = 0; i < NOPTIONS; i++)
			if (table[i].commands & 1u << c)
				fprintf(file, "O\t%s\t%c\t%s\t%s\t%s\n", xf_commands[c].name,
					table[i].key ? table[i].key : '-', table[i].name,
					table[i].argument ? table[i].argument : "-", table[i].help);
	fprintf(file, "E\t0\t%s\n", xf_code_text(XF_OK));
	for (int code = 1; code < XF_CODES; code++)
		fprintf(file, "E\t%d\t%s\n", xf_exit_status((enum xf_code)code),
			xf_code_text((enum xf_code)code));
}
