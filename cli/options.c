// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses the options of a command.  In: argv, the command's table.  Out: its struct of options. */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/suggest.h"

int xf_set_flag(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	(void)option, (void)value, (void)err;
	*(bool *)field = true;
	return 0;
}

int xf_set_text(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	(void)option, (void)err;
	*(const char **)field = value;
	return 0;
}

int xf_set_texts(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	struct xf_texts *texts = field;

	if (texts->n == XF_MAX_TEXTS)
		return xf_fail(err, XF_USAGE, "more than %d --%s", XF_MAX_TEXTS, option->name);
	texts->text[texts->n++] = value;
	return 0;
}

/* "a b c" as "a, b or c". */
static void list_values(const char *values, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	while (*values && used < size) {
		size_t n = strcspn(values, " ");
		const char *rest = values + n + (values[n] == ' ');
		const char *end = !*rest ? "" : strchr(rest, ' ') ? ", " : " or ";

		used += (size_t)snprintf(text + used, size - used, "%.*s%s", (int)n, values, end);
		values = rest;
	}
}

int xf_set_choice(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	size_t length = strlen(value);
	char all[160];

	for (const char *v = option->values; *v; v += strcspn(v, " "), v += *v == ' ')
		if (strcspn(v, " ") == length && !strncmp(v, value, length)) {
			*(const char **)field = value;
			return 0;
		}
	list_values(option->values, all, sizeof(all));
	return xf_fail(err, XF_USAGE, "--%s %s: it is %s", option->name, value, all);
}

int xf_set_format(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	const char *name;
	int code = xf_set_choice(option, &name, value, err);

	if (!code)
		*(enum xf_format *)field = (enum xf_format)xf_format_by_name(name);
	return code;
}

int64_t xf_whole_number(const char *text, int64_t limit)
{
	char *end;
	long long value;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	value = strtoll(text, &end, 10);
	return *end || errno || value > limit ? -1 : value;
}

int xf_set_domain(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	struct xf_options *o = field;
	char text[32], *v;

	(void)option;
	if (*value == 'd' && strlen(value) < sizeof(text)) {
		strcpy(text, value + 1);
		v = strchr(text, 'v');
		if (v)
			*v++ = '\0';
		o->domid = (int)xf_whole_number(text, 0x7fff);
		o->vcpu = v ? (int)xf_whole_number(v, 0xffff) : -1;
		o->domain = NULL;
		if (o->domid >= 0 && (!v || o->vcpu >= 0))
			return 0;
	}
	if (!*value || (*value == '-' && !value[1]))
		return xf_fail(err, XF_USAGE,
			"--domain %s: it is dN or dNvM, such as d0 or d3v1, or a name", value);
	/* nobody's number, until it is found */
	o->domid = INT_MAX;
	o->vcpu = -1;
	o->domain = value;
	return 0;
}

int xf_set_when(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"min", 60}};
	struct xf_when *when = field;
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
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && end != value; i++) {
			if (strcmp(end, units[i].name) || !(when->seconds >= 0))
				continue;
			when->seconds *= units[i].seconds;
			if (isfinite(when->seconds))
				return 0;
		}
	}
	return xf_fail(err, XF_USAGE,
		"--%s %s: a time from the first record, such as 1.5 (seconds), 12ms, 350us or 2min,"
		" or a TSC in cycles with a c behind",
		option->name, value);
}

int xf_set_limit(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	int64_t *limit = field;

	(void)option;
	*limit = xf_whole_number(value, INT64_MAX);
	return *limit < 0 ? xf_fail(err, XF_USAGE, "--limit %s: not a number of rows", value) : 0;
}

int xf_set_fork(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	int64_t *fork = field;

	(void)option;
	*fork = xf_whole_number(value, INT64_MAX);
	return *fork < 0 ? xf_fail(err, XF_USAGE,
				   "--fork %s: not a fork number; xenfault forks lists them", value)
			 : 0;
}

int xf_set_cpu_hz(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	char *end;
	double hz;

	(void)option;
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
		if (!strcasecmp(end, "hz"))
			end += 2;
		if (!*end && hz >= 1e6 && hz <= 1e12) {
			*(uint64_t *)field = (uint64_t)(hz + 0.5);
			return 0;
		}
		/* as Xen and xl info print it */
		if (!*end && hz >= 1 && hz < 1e6)
			return xf_fail(err, XF_USAGE,
				"--cpu-hz %s: no TSC is so slow; %.10g MHz? Then it is --cpu-hz %.10gM",
				value, hz >= 100 ? hz : hz * 1e3, hz >= 100 ? hz : hz * 1e3);
	}
	return xf_fail(err, XF_USAGE,
		"--cpu-hz %s: cycles per second, such as 2445400000 or 2.4454G", value);
}

int xf_set_symbols(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	struct xf_options *o = field;

	(void)option;
	if (o->nsymbols == XF_MAX_SYMBOL_FILES)
		return xf_fail(err, XF_USAGE, "more than %d --symbols files", XF_MAX_SYMBOL_FILES);
	o->symbols[o->nsymbols++] = (struct xf_symbol_file){.path = value, .domid = -1};
	return 0;
}

int xf_set_xen_symbols(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	struct xf_options *o = field;
	int code = xf_set_symbols(option, field, value, err);

	if (!code)
		o->symbols[o->nsymbols - 1].domid = XF_SYMBOLS_XEN;
	return code;
}

int xf_set_symbols_domain(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	struct xf_options *o = field;
	int domid = *value == 'd' ? (int)xf_whole_number(value + 1, 0x7fff) : -1;

	(void)option;
	if (domid < 0)
		return xf_fail(err, XF_USAGE, "--symbols-domain %s: it is dN, such as d0", value);
	if (!o->nsymbols || o->symbols[o->nsymbols - 1].domid == XF_SYMBOLS_XEN)
		return xf_fail(err, XF_USAGE,
			"--symbols-domain stands behind the --symbols file that it is about");
	o->symbols[o->nsymbols - 1].domid = domid;
	return 0;
}

int xf_set_kaslr_offset(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	struct xf_options *o = field;
	char *end;

	(void)option;
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

int xf_set_guest(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	const char *equals = strchr(value, '=');
	struct xf_options *o = field;
	char text[32];
	int domid = -1;

	(void)option;
	snprintf(text, sizeof(text), "%.*s", equals ? (int)(equals - value) : 0, value);
	if (*text == 'd')
		domid = (int)xf_whole_number(text + 1, 0x7fff);
	if (domid < 0 || !equals[1])
		return xf_fail(err, XF_USAGE,
			"--guest %s: it is dN=FILE, such as d0=dom0.ftrace; - is standard input",
			value);
	for (int i = 0; i < o->nguests; i++)
		if (o->guests[i].domid == domid)
			return xf_fail(
				err, XF_USAGE, "--guest %s: d%d has a log already", value, domid);
	if (o->nguests == XF_MAX_TEXTS)
		return xf_fail(err, XF_USAGE, "more than %d --guest logs", XF_MAX_TEXTS);
	o->guests[o->nguests++] = (struct xf_guest_file){domid, equals + 1};
	return 0;
}

static const struct xf_option option_help = {
	"help", 'h', NULL, "this text", XF_FLAG(struct xf_options, help), NULL};

const struct xf_command *xf_command_by_name(const char *name)
{
	for (const struct xf_command *const *c = xf_commands; *c; c++)
		if (!strcmp(name, (*c)->name))
			return *c;
	return NULL;
}

const struct xf_option *xf_command_option(const struct xf_command *command, size_t n)
{
	for (size_t i = 0; command->options && command->options[i].name; i++, n--)
		if (!n)
			return &command->options[i];
	return n ? NULL : &option_help;
}

static const struct xf_option *option_by_name(const struct xf_command *command, const char *name)
{
	const struct xf_option *option;

	for (size_t i = 0; (option = xf_command_option(command, i)); i++)
		if (!strcmp(option->name, name))
			break;
	return option;
}

/* An option that no option of this command is like: perhaps it is one of other commands. */
static const char *elsewhere(const char *name, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (const struct xf_command *const *c = xf_commands; *c; c++)
		if (option_by_name(*c, name) && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s",
				used ? ", " : "; it is one of ", (*c)->name);
	return text;
}

static int unknown_option(const char *name, const struct xf_command *command, struct xf_error *err)
{
	char word[64], others[160];
	const struct xf_option *option;
	struct xf_suggest suggest;

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(name + 2, "="), name + 2);
	suggest = xf_suggest_for(word);
	for (size_t i = 0; (option = xf_command_option(command, i)); i++)
		xf_suggest_offer(&suggest, option->name);
	elsewhere(word, others, sizeof(others));
	return xf_fail(err, XF_USAGE, "xenfault %s has no option %s%s; see: xenfault %s --help",
		command->name, name, *others ? others : xf_suggest_text(&suggest), command->name);
}

static int parse_error(
	int argc, char **argv, int key, const struct xf_command *command, struct xf_error *err)
{
	const char *name = optind > 0 && optind <= argc ? argv[optind - 1] : "?";

	if (key == ':')
		return xf_fail(err, XF_USAGE, "%s needs a value; see: xenfault %s --help", name,
			command->name);
	if (optopt > 0 && optopt < 256 && name[1] != '-')
		return xf_fail(err, XF_USAGE,
			"xenfault %s has no option -%c; see: xenfault %s --help", command->name,
			optopt, command->name);
	if (optopt >= 256)
		return xf_fail(err, XF_USAGE, "%s takes no value", name);
	return unknown_option(name, command, err);
}

#define MOST_OPTIONS 64 /* of one command */

/* The table in getopt's form: an option's code is 256 and its place in the table. */
static void for_getopt(
	const struct xf_command *command, struct option longs[MOST_OPTIONS + 1], char *shorts)
{
	const struct xf_option *option;

	*shorts++ = ':';
	for (int i = 0; i < MOST_OPTIONS && (option = xf_command_option(command, (size_t)i)); i++) {
		longs[i] = (struct option){option->name,
			option->argument ? required_argument : no_argument, NULL, 256 + i};
		if (option->key) {
			*shorts++ = option->key;
			if (option->argument)
				*shorts++ = ':';
		}
	}
	*shorts = '\0';
}

static const struct xf_option *option_by_key(const struct xf_command *command, int key)
{
	const struct xf_option *option;

	if (key >= 256)
		return xf_command_option(command, (size_t)key - 256);
	for (size_t i = 0; (option = xf_command_option(command, i)); i++)
		if (option->key == key)
			break;
	return option;
}

int xf_options_parse(struct xf_options **options, const struct xf_command *command, int argc,
	char **argv, struct xf_error *err)
{
	struct option longs[MOST_OPTIONS + 1] = {{0}};
	char shorts[2 * MOST_OPTIONS + 2];
	struct xf_options *o = calloc(1, command->size ? command->size : sizeof(*o));
	int key, code = 0, dashes = 1;

	*options = o;
	if (!o)
		return xf_fail_nomem(err);
	/* getopt moves it */
	while (dashes < argc && strcmp(argv[dashes], "--") != 0)
		dashes++;
	*o = (struct xf_options){
		.command = command, .domid = -1, .vcpu = -1, .limit = -1, .fork = -1};
	for_getopt(command, longs, shorts);
	opterr = 0;
	optind = 0;
	while (!code && (key = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct xf_option *option;

		if (key == '?' || key == ':')
			return parse_error(argc, argv, key, command, err);
		option = option_by_key(command, key);
		code = option->set(option, (char *)o + option->offset, optarg, err);
	}
	o->nargs = argc - optind;
	o->behind = dashes < argc ? argc - dashes - 1 : -1;
	o->args = argv + optind;
	return code;
}
