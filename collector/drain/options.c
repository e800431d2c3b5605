// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Command line of xenfault-drain.  In: argv.  Out: checked options, or an error that names the one
 * that is wrong.
 */
#include "collector/drain/options.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/eventmask.h"

enum { OPT_POLL = 256, OPT_STATUS, OPT_OFF, OPT_HELP, OPT_VERSION };

static const struct option longs[] = {{"poll", required_argument, NULL, OPT_POLL},
	{"status-fd", required_argument, NULL, OPT_STATUS}, {"off", no_argument, NULL, OPT_OFF},
	{"help", no_argument, NULL, OPT_HELP}, {"version", no_argument, NULL, OPT_VERSION}, {0}};

void xf_drain_options_help(FILE *file)
{
	fprintf(file,
		"usage: xenfault-drain [OPTION ...] >FILE\n"
		"Drains Xen's trace buffers to standard output, in xentrace's format.  Needs root in "
		"dom0.\n\n"
		"  -e EVENTS       a mask such as 0x0021f000, or names with commas; default: pt\n"
		"  -c CPUS         physical CPUs: 0-3,8 or 0x0f or all; default: all\n"
		"  -S PAGES        buffer of each CPU in pages of 4 KiB; default: %d.  Xen keeps the\n"
		"                  first size it is given until the next boot\n"
		"  -T SECONDS      stop after that time\n"
		"  --poll MS       look at the rings at least that often; default: %d\n"
		"  --status-fd N   write key=value lines about the capture to descriptor N; the capture\n"
		"                  ends when its reader, or a pipe on standard input, is closed\n"
		"  --off           turn tracing off, open both masks and leave: for after a kill -9\n"
		"  --help, --version\n\n"
		"At the end, tracing and the event mask are left as found, the CPU mask open for all\n"
		"CPUs (Xen does not tell what it was).\n"
		"Exit status: 0 done, 2 usage, 3 output, 6 Xen cannot be traced here.\n\nEVENTS:\n",
		XF_DRAIN_PAGES, XF_DRAIN_POLL_MS);
#define X(name, mask, what) fprintf(file, "  %-8s 0x%08x  %s\n", name, mask, what);
	XF_EVENT_CLASSES(X)
#undef X
}

/* A number between least and most; false if the text is not one. */
static bool number(const char *text, double least, double most, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && !*end && *value >= least && *value <= most;
}

static int set_option(
	struct xf_drain_options *options, int key, const char *value, struct xf_error *err)
{
	double n = 0;

	switch (key) {
	case 'e':
		return xf_eventmask_parse(&options->events, value, err);
	case 'c':
		return xf_cpulist_parse(&options->cpus, value, err);
	case 'S':
		if (!number(value, 1, 65535, &n) || n != (unsigned long)n)
			return xf_fail(
				err, XF_USAGE, "-S %s: a number of pages, 1 to 65535", value);
		options->pages = (unsigned long)n;
		return 0;
	case 'T':
		if (!number(value, 0.001, 1e9, &options->seconds))
			return xf_fail(err, XF_USAGE, "-T %s: seconds, such as 10 or 0.5", value);
		return 0;
	case OPT_POLL:
		if (!number(value, 1, 60000, &n))
			return xf_fail(err, XF_USAGE, "--poll %s: milliseconds, 1 to 60000", value);
		options->poll_ms = (unsigned long)n;
		return 0;
	case OPT_STATUS:
		if (!number(value, 0, 65535, &n) || (int)n == STDOUT_FILENO ||
			fcntl((int)n, F_GETFD) < 0)
			return xf_fail(err, XF_USAGE,
				"--status-fd %s: an open descriptor other than standard output",
				value);
		options->status_fd = (int)n;
		return 0;
	case OPT_OFF:
		options->action = XF_DRAIN_OFF;
		return 0;
	}
	return xf_fail(
		err, XF_USAGE, "unknown option, or a value is missing; see: xenfault-drain --help");
}

int xf_drain_options_parse(
	struct xf_drain_options *options, int argc, char **argv, struct xf_error *err)
{
	int key;

	*options = (struct xf_drain_options){.cpus = {.all = true, .last = -1},
		.pages = XF_DRAIN_PAGES,
		.poll_ms = XF_DRAIN_POLL_MS,
		.status_fd = -1};
	xf_eventmask_parse(&options->events, "pt", NULL);
	opterr = 0;
	while ((key = getopt_long(argc, argv, "e:c:S:T:h", longs, NULL)) != -1) {
		if (key == OPT_HELP || key == OPT_VERSION || key == 'h') {
			options->action = key == OPT_VERSION ? XF_DRAIN_VERSION : XF_DRAIN_HELP;
			return 0;
		}
		if (set_option(options, key, optarg, err))
			return -XF_USAGE;
	}
	if (optind < argc)
		return xf_fail(err, XF_USAGE,
			"%s: there are no arguments, the stream goes to standard output",
			argv[optind]);
	if (options->action == XF_DRAIN_RUN && isatty(STDOUT_FILENO))
		return xf_fail(err, XF_USAGE, "the stream is binary: send it to a file or a pipe");
	return 0;
}
