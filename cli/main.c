// SPDX-License-Identifier: GPL-2.0-or-later
/* xenfault: what page tables cost a Xen guest.  In: argv.  Out: an exit status. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/outfile.h"

/* In the order of the help; each is xf_cmd_NAME in cli/cmd_*.c. */
#define COMMANDS(X)  \
	X(import)    \
	X(record)    \
	X(analyze)   \
	X(info)      \
	X(forks)     \
	X(pages)     \
	X(events)    \
	X(spurious)  \
	X(walks)     \
	X(flushes)   \
	X(policy)    \
	X(diff)      \
	X(episodes)  \
	X(dirty)     \
	X(verify)    \
	X(processes) \
	X(sql)       \
	X(merge)     \
	X(export)    \
	X(report)    \
	X(tui)       \
	X(help)      \
	X(version)

#define X(name) extern const struct xf_command xf_cmd_##name;
COMMANDS(X)
#undef X

const struct xf_command *const xf_commands[] = {
#define X(name) &xf_cmd_##name,
	COMMANDS(X)
#undef X
		NULL};

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

static int run(int argc, char **argv, struct xf_error *err)
{
	const struct xf_command *command;
	struct xf_options *options = NULL;
	int code;

	if (argc < 2) {
		xf_help(stderr);
		return xf_fail(err, XF_USAGE, "a command is missing");
	}
	command = xf_command_by_name(argv[1]);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		command = &xf_cmd_help;
	if (!strcmp(argv[1], "--version"))
		command = &xf_cmd_version;
	if (!command)
		return xf_no_command(argv[1], err);
	code = xf_options_parse(&options, command, argc - 1, argv + 1, err);
	if (!code && options->help)
		xf_help_command(stdout, command);
	else if (!code && !(code = xf_outfile_check(options, err)))
		code = command->run(options, err);
	free(options);
	return code;
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
