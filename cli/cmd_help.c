// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault help: of the program, of a command, and for programs.
 * In: the table of commands.  Out: text on stdout.
 */
#include "cli/help.h"

#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/export.h"
#include "common/suggest.h"

struct help_options {
	struct xf_options common;
	bool table;
};

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

void xf_help(FILE *file)
{
	fputs("xenfault shows what page tables cost a Xen guest.\n\nusage: xenfault COMMAND [OPTION ...]"
	      " ARGUMENT ...\n\n",
		file);
	for (const struct xf_command *const *c = xf_commands; *c; c++) {
		fprintf(file, "  %-8s %-21s ", (*c)->name, (*c)->arguments);
		wrap(file, (*c)->summary, 33, 80);
	}
	fputs("\nxenfault COMMAND --help lists the options of one command,\n"
	      "xenfault help exit-codes the exit statuses.\n",
		file);
}

void xf_help_command(FILE *file, const struct xf_command *command)
{
	const struct xf_option *option;

	fprintf(file, "usage: xenfault %s [OPTION ...] %s\n\n%s\n\n", command->name,
		command->arguments, command->summary);
	for (size_t i = 0; (option = xf_command_option(command, i)); i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s%c%s--%s%s%s", option->key ? "-" : "",
			option->key ? option->key : ' ', option->key ? ", " : "   ", option->name,
			option->argument ? " " : "", option->argument ? option->argument : "");
		fprintf(file, "  %-25s ", name);
		wrap(file, option->help, 28, 80);
	}
}

int xf_no_command(const char *name, struct xf_error *err)
{
	struct xf_suggest suggest = xf_suggest_for(name);
	struct stat st;

	for (const struct xf_command *const *c = xf_commands; *c; c++)
		xf_suggest_offer(&suggest, (*c)->name);
	if (!stat(name, &st))
		return xf_fail(err, XF_USAGE,
			"%s is a file: a command has to stand before it, such as: xenfault %s %s",
			name, xf_is_database(name) ? "forks" : "import", name);
	return xf_fail(err, XF_USAGE, "no command %s%s; xenfault help lists them", name,
		xf_suggest_text(&suggest));
}

static void print_values(FILE *file, const struct xf_option *option)
{
	const char *view;

	if (!option->values || strcmp(option->values, XF_VIEWS) != 0)
		fputs(option->values ? option->values : "-", file);
	else
		for (size_t i = 0; (view = xf_export_view(i)); i++)
			fprintf(file, "%s%s", i ? " " : "", view);
}

/*
 * All commands, options and exit statuses, one a line with tabs between; manual pages and completions
 * are made of it.  C name arguments summary; O command key name argument help values; E status text;
 * "-" stands for none.
 */
static void print_table(FILE *file)
{
	const struct xf_option *option;

	for (const struct xf_command *const *c = xf_commands; *c; c++)
		fprintf(file, "C\t%s\t%s\t%s\n", (*c)->name,
			*(*c)->arguments ? (*c)->arguments : "-", (*c)->summary);
	for (const struct xf_command *const *c = xf_commands; *c; c++)
		for (size_t i = 0; (option = xf_command_option(*c, i)); i++) {
			fprintf(file, "O\t%s\t%c\t%s\t%s\t%s\t", (*c)->name,
				option->key ? option->key : '-', option->name,
				option->argument ? option->argument : "-", option->help);
			print_values(file, option);
			putc('\n', file);
		}
	fprintf(file, "E\t0\t%s\n", xf_code_text(XF_OK));
	for (int code = 1; code < XF_CODES; code++)
		fprintf(file, "E\t%d\t%s\n", xf_exit_status((enum xf_code)code),
			xf_code_text((enum xf_code)code));
}

static void print_exit_codes(FILE *file)
{
	fprintf(file, "%4d  %s\n", 0, xf_code_text(XF_OK));
	for (int code = 1; code < XF_CODES; code++)
		fprintf(file, "%4d  %s\n", xf_exit_status((enum xf_code)code),
			xf_code_text((enum xf_code)code));
}

static int run_help(struct xf_options *options, struct xf_error *err)
{
	const struct xf_command *command = NULL;
	int code = 0;

	if (((const struct help_options *)options)->table)
		print_table(stdout);
	else if (!options->nargs)
		xf_help(stdout);
	else if (!strcmp(options->args[0], "exit-codes"))
		print_exit_codes(stdout);
	else if ((command = xf_command_by_name(options->args[0])))
		xf_help_command(stdout, command);
	else
		code = xf_no_command(options->args[0], err);
	return code;
}

static const struct xf_option options_of_help[] = {
	{"table", 0, NULL, "commands, options and exit statuses for a program to read",
		XF_FLAG(struct help_options, table), NULL},
	{0},
};

const struct xf_command xf_cmd_help = {"help", "[COMMAND|exit-codes]",
	"this text, or that of one command", options_of_help, sizeof(struct help_options),
	run_help};
