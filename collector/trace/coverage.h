/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a stream does not cover.  In: its pCPUs at its end.  Out: gaps, models of the clocks, doubts. */
#ifndef XF_COLLECTOR_TRACE_COVERAGE_H
#define XF_COLLECTOR_TRACE_COVERAGE_H

#include "collector/trace/pcpu.h"

/*
 * Notes the gaps of the stream that only all of it shows (those that its events tell of are noted already), and
 * what is wrong with the clocks.  Returns 0 or a negative code.
 */
int xf_coverage_finish(
	struct xf_stream *stream, struct xf_pcpu **pcpus, size_t n, struct xf_error *err);

#endif
