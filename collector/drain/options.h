/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command line of xenfault-drain, kept apart from the privileged part.
 * In: argv.  Out: struct xf_drain_options, help text.
 *
 * Lines on --status-fd, each "key=value\n", shorter than PIPE_BUF, never a control character in it:
 *   version xen xen_tools          of this program, the hypervisor, the libraries it was built with
 *   cpu_hz pcpus pcpus_online      TSC frequency; highest CPU number plus one; CPUs online
 *   pages_asked pages              buffer of each CPU as asked for with -S, and as it is
 *   rings cpus_without_ring        how many CPUs have one; list of those that have none (1,3-5)
 *   tracing_found events_found     on or off; the event mask (0x%08x) before us
 *   events discarded               mask now; bytes of earlier sessions thrown away
 *   confined unconfined            "process: what it gave up", for each of the two; what the kernel lacks for that
 *   state=running                  tracing is on; what went before was preparation
 *   lost                           sum of the counts in lost records so far; may be repeated
 *   ring_ended                     "CPU reason": that ring is absurd and not read any more
 *   warning                        a sentence, may be repeated
 *   error                          "class sentence"; the program ends with another status than 0
 *   events_left cpus_left tracing_left   what we left in Xen
 *   lost windows bytes             totals; bytes without the window headers
 *   end                            last: signal time parent reader error off (not after error=usage)
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
