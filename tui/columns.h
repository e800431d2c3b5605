/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Columns that several views have: initializers of struct xf_tui_column.  In: rows r of a list. */
#ifndef XF_TUI_COLUMNS_H
#define XF_TUI_COLUMNS_H

#include "tui/model.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

#define VCPU	"(r.domid << 16 | r.vcpu)"
#define SPAN	"(r.tsc_end - r.tsc_start)"
#define HIDE	XF_COL_HIDE
#define FILTER	XF_COL_FILTER
#define FLEX	XF_COL_FLEX
#define UP	XF_COL_UP
#define ALWAYS	XF_COL_ALWAYS
#define ORDERED XF_COL_ORDER

/* What forks and sequences have in common. */
#define COUNTS                                                                                  \
	{"unhooks", "unhk", "r.unhooks", XF_SHOW_INT, 4, HIDE, "pages made writable"},          \
		{"rehooks", "rehk", "r.rehooks", XF_SHOW_INT, 4, HIDE,                          \
			"pages write-protected again"},                                         \
		{"emulations", "emul", "r.emulations", XF_SHOW_INT, 5, HIDE,                    \
			"PTE writes done by Xen"},                                              \
		{"flushes", "flush", "r.flushes", XF_SHOW_INT, 5, HIDE, "TLB flushes"},         \
		{"complete", "whole", "r.complete", XF_SHOW_INT, 5, HIDE,                       \
			"0: a loss or the end of the capture cuts it"},                         \
		{"domid", NULL, "r.domid", XF_SHOW_INT, 0, FILTER, NULL},                       \
		{"us", NULL, "r.us", XF_SHOW_REAL, 0, FILTER, NULL},                            \
		{"first_event", "first event", "r.first_event", XF_SHOW_INT, 11, HIDE | ALWAYS, \
			"its first record"},                                                    \
	{                                                                                       \
		"last_event", "last event", "r.last_event", XF_SHOW_INT, 10, HIDE | ALWAYS,     \
			"its last record"                                                       \
	}

/* In words what names a page-table page. */
#define PAGE                                                               \
	"CASE WHEN r.pt_page IS NOT NULL THEN printf('0x%llx', r.pt_page)" \
	" WHEN r.frame IS NOT NULL THEN printf('frame %llx', r.frame) END"

/* A fault sequence; the parts differ in order and in what is hidden. */
#define SEQUENCE_NAMES                                                             \
	{"pt_page", NULL, "r.pt_page", XF_SHOW_HEX, 0, FILTER | ALWAYS, NULL},     \
		{"frame", NULL, "r.frame", XF_SHOW_HEX, 0, FILTER | ALWAYS, NULL}, \
		{"tsc_end", "end", "r.tsc_end", XF_SHOW_TIME, 10, HIDE | ALWAYS,   \
			"its last record"},                                        \
	{                                                                          \
		"tsc_slack", "slack", "r.tsc_slack", XF_SHOW_SPAN, 6, HIDE,        \
			"start and end may each be so much later"                  \
	}

/* An event.  event_id is time order. */
#define EVENT_REST                                                                              \
	{"rip", "rip", "r.rip", XF_SHOW_HEX, 18, HIDE | ALWAYS, "instruction"},                 \
		{"pt_page", "page-table page", "r.pt_page", XF_SHOW_HEX, 18, HIDE | ALWAYS,     \
			"of the entry written"},                                                \
		{"frame", "frame", "r.frame", XF_SHOW_HEX, 10, HIDE | ALWAYS,                   \
			"of the page-table page"},                                              \
		{"count", "count", "r.count", XF_SHOW_INT, 5, ALWAYS,                           \
			"entries changed, calls, records lost"},                                \
		{"raw_id", "record", "r.raw_id", XF_SHOW_HEX, 8, HIDE | ALWAYS,                 \
			"id of the trace record"},                                              \
		{"arg1", "arg1", "r.arg1", XF_SHOW_HEX, 8, HIDE | ALWAYS, "by kind"},           \
		{"arg2", "arg2", "r.arg2", XF_SHOW_HEX, 8, HIDE | ALWAYS, "by kind"},           \
		{"pcpu", "pCPU", "r.pcpu", XF_SHOW_INT, 4, HIDE | ALWAYS | UP, "physical CPU"}, \
		{"tsc_late", "latest", "r.tsc_late", XF_SHOW_TIME, 10, HIDE | ALWAYS,           \
			"the record had no time of its own: it may be as late as this"},        \
		{"domid", NULL, "r.domid", XF_SHOW_INT, 0, FILTER, NULL},                       \
	{                                                                                       \
		"us", NULL, "r.us", XF_SHOW_REAL, 0, FILTER, NULL                               \
	}

#endif
