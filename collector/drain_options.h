/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command line of xenfault-drain, kept apart from the privileged part.
 * In: argv.  Out: struct xf_drain_options, help text.
 */
#ifndef XF_COLLECTOR_DRAIN_OPTIONS_H
#define XF_COLLECTOR_DRAIN_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "common/cpulist.h"
#include "common/error.h"

#define XF_DRAIN_PAGES	 256 /* default of -S: 1 MiB for each CPU */
#define XF_DRAIN_POLL_MS 100

struct xf_drain_options {
	enum { XF_DRAIN_RUN, XF_DRAIN_OFF, XF_DRAIN_HELP, XF_DRAIN_VERSION } action;
	uint32_t events;
	struct xf_cpulist cpus;
	unsigned long pages; /* buffer of each CPU */
	double seconds;	     /* 0 = no end */
	unsigned long poll_ms;
	int status_fd; /* -1 = none */
};

/* Fills *options, defaults included; nothing is allocated.  Returns 0 or -XF_USAGE. */
int xf_drain_options_parse(
	struct xf_drain_options *options, int argc, char **argv, struct xf_error *err);

/* Text of --help. */
void xf_drain_options_help(FILE *file);

#endif
