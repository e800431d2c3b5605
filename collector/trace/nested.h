/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exits of guests with nested paging (HAP).  In: records of one pCPU between VMEXIT and VMENTRY.
 * Out: time, length and name of nested page faults, and the exits in which Xen recalculated p2m entries,
 * of which no record tells but the exit itself.
 */
#ifndef XF_COLLECTOR_TRACE_NESTED_H
#define XF_COLLECTOR_TRACE_NESTED_H

#include "collector/trace/pcpu.h"

/* A VMEXIT; decoded holds its reason in arg1 and the guest's rip. */
void xf_nested_exit(struct xf_pcpu *pcpu, struct xf_stream *stream, const struct xf_record *record,
	const struct xf_event *decoded);

/* The guest goes on, or another takes its place: what was known of the exit is over. */
void xf_nested_over(struct xf_pcpu *pcpu);

/* Gives a nested page fault the time of its exit, and its name. */
void xf_nested_fault(struct xf_pcpu *pcpu, const struct xf_stream *stream, struct xf_event *event);

/* A p2m record, which names the fault behind it. */
void xf_nested_p2m(struct xf_pcpu *pcpu, struct xf_stream *stream, struct xf_event *event);

/* May the pending fault wait for its VMENTRY over this record (layout NULL: not decoded)? */
bool xf_nested_waits(const struct xf_pcpu *pcpu, const struct xf_layout *layout);

/* The pending fault, complete with the cycles from exit to entry in count. */
struct xf_event xf_nested_entered(struct xf_pcpu *pcpu, const struct xf_record *entry);

/* Does this record end an exit for the p2m that no nested page fault was recorded in? */
bool xf_nested_recalc(const struct xf_pcpu *pcpu, const struct xf_layout *layout);

/* The event of such an exit.  In: event with its owner.  entry: the record that ends it. */
void xf_nested_fill_recalc(const struct xf_pcpu *pcpu, const struct xf_record *entry, bool entered,
	struct xf_event *event);

#endif
