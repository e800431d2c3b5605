// SPDX-License-Identifier: GPL-2.0-or-later
/* The lists: which view, which columns, in which order.  In, out: constants. */
#include "tui/source.h"

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

static const struct xf_tui_column forks[] = {
	{"fork_id", "fork", "r.fork_id", XF_SHOW_INT, 4, ORDERED | ALWAYS, "number of the fork"},
	{"vcpu", "vCPU", VCPU, XF_SHOW_VCPU, 4, UP | ALWAYS, "domain and vCPU where it began"},
	{"tsc_start", "start", "r.tsc_start", XF_SHOW_TIME, 10, ORDERED | ALWAYS,
		"its first record"},
	{"cycles", "lasts", SPAN, XF_SHOW_SPAN, 8, ALWAYS, "from its first record to its last"},
	{"mechanism", "how", "r.mechanism", XF_SHOW_KIND, 7, UP | ALWAYS,
		"emulate, unhook, oos (out of sync), batch, mixed"},
	{"pt_pages", "pages", "r.pt_pages", XF_SHOW_INT, 5, ALWAYS, "distinct page-table pages"},
	{"ptes", "PTEs", "r.ptes", XF_SHOW_INT, 5, ALWAYS, "entries changed"},
	{"most", "most", "(SELECT max(q.ptes) FROM pt_sequences q WHERE q.fork_id = r.fork_id)",
		XF_SHOW_INT, 4, 0, "most entries changed in one page-table page"},
	{"faults", "faults", "r.faults", XF_SHOW_INT, 6, ALWAYS, "hardware faults it cost"},
	{"spurious", "spur", "r.spurious", XF_SHOW_INT, 4, ALWAYS, "faults for nothing"},
	{"share", "cost", SPAN, XF_SHOW_SHARE, 10, FLEX,
		"share of the time of all forks; the longest fork fills the bar"},
	{"symbol", "kernel function", "r.symbol", XF_SHOW_SYMBOL, 24, FLEX | ALWAYS,
		"where the kernel write-protects"},
	{"per_page", "/page", "(r.ptes * 1.0 / nullif(r.pt_pages, 0))", XF_SHOW_REAL, 6, HIDE,
		"entries per page, on average"},
	{"cow_faults", "COW", "r.cow_faults", XF_SHOW_INT, 5, HIDE | ALWAYS,
		"later write faults that break what it protected"},
	COUNTS,
	{"ended_by", "ended by", "r.ended_by", XF_SHOW_TEXT, 8, HIDE | UP | ALWAYS,
		"what ended it"},
	{"rip", "rip", "r.rip", XF_SHOW_HEX, 18, HIDE | ALWAYS, "the instruction"},
	{"doubt", "doubt", "r.doubt", XF_SHOW_TEXT, 20, HIDE | UP | ALWAYS,
		"why the row may be wrong"},
	{"tsc_end", "end", "r.tsc_end", XF_SHOW_TIME, 10, HIDE | ALWAYS, "its last record"},
};

const struct xf_tui_source xf_tui_source_forks = {
	.name = "forks",
	.from = "forks r",
	.key = "r.fork_id",
	.bounds = "SELECT (SELECT min(fork_id) FROM fork), (SELECT max(fork_id) FROM fork)",
	.flag = "CASE WHEN NOT r.complete THEN 1 WHEN r.doubt IS NOT NULL THEN 2 ELSE 0 END",
	.columns = forks,
	.ncolumns = COUNT(forks),
};

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

static const struct xf_tui_column pages[] = {
	{"sequence_id", "seq", "r.sequence_id", XF_SHOW_INT, 5, ORDERED | ALWAYS,
		"number of the sequence"},
	{"fork_id", "fork", "r.fork_id", XF_SHOW_INT, 4, UP | ALWAYS, "its fork, if any"},
	{"vcpu", "vCPU", VCPU, XF_SHOW_VCPU, 4, UP | ALWAYS, "domain and vCPU"},
	{"page", "page-table page", PAGE, XF_SHOW_TEXT, 18, UP | ALWAYS,
		"its address in the guest, or its frame"},
	{"va_base", "maps", "r.va_base", XF_SHOW_HEX, 14, UP | ALWAYS,
		"first address that the page maps, where known"},
	{"ptes", "PTEs", "r.ptes", XF_SHOW_INT, 4, ALWAYS, "distinct entries changed"},
	{"faults", "faults", "r.faults", XF_SHOW_INT, 6, ALWAYS, "hardware faults it cost"},
	{"cycles", "lasts", SPAN, XF_SHOW_SPAN, 8, ALWAYS, "from its first record to its last"},
	{"ended_by", "end", "r.ended_by", XF_SHOW_TEXT, 6, UP | ALWAYS,
		"rehook, next (page), fault, pin, unshadow, loss, end"},
	{"spurious", "spur", "r.spurious", XF_SHOW_INT, 4, ALWAYS, "faults for nothing"},
	{"mechanism", "how", "r.mechanism", XF_SHOW_KIND, 7, UP | ALWAYS,
		"emulate, unhook, oos (out of sync), batch, mixed"},
	{"tsc_start", "start", "r.tsc_start", XF_SHOW_TIME, 10, UP | ALWAYS, "its first record"},
	COUNTS,
	SEQUENCE_NAMES,
};

static const struct xf_tui_column fork[] = {
	{"page", "page-table page", PAGE, XF_SHOW_TEXT, 18, UP | ALWAYS,
		"its address in the guest, or its frame"},
	{"ptes", "PTEs", "r.ptes", XF_SHOW_INT, 4, ALWAYS, "distinct entries changed"},
	{"strip", "entries written", NULL, XF_SHOW_EXTRA, 16, FLEX,
		"the 512 entries: which were written"},
	{"faults", "faults", "r.faults", XF_SHOW_INT, 6, ALWAYS, "hardware faults it cost"},
	{"cycles", "lasts", SPAN, XF_SHOW_SPAN, 8, ALWAYS,
		"first to last record; for unhook and oos: unhook to rehook"},
	{"ended_by", "end", "r.ended_by", XF_SHOW_TEXT, 6, UP | ALWAYS,
		"rehook, next (page), fault, pin, unshadow, loss, end"},
	{"others", "other vCPUs", NULL, XF_SHOW_EXTRA, 22, 0, "what other vCPUs did meanwhile"},
	{"va_base", "maps", "r.va_base", XF_SHOW_HEX, 14, UP | ALWAYS,
		"first address that the page maps, where known"},
	{"spurious", "spur", "r.spurious", XF_SHOW_INT, 4, ALWAYS, "faults for nothing"},
	{"tsc_start", "start", "r.tsc_start", XF_SHOW_TIME, 10, UP | ALWAYS, "its first record"},
	{"mechanism", "how", "r.mechanism", XF_SHOW_KIND, 7, HIDE | UP | ALWAYS,
		"emulate, unhook, oos (out of sync), batch, mixed"},
	{"sequence_id", "seq", "r.sequence_id", XF_SHOW_INT, 5, ORDERED | HIDE | ALWAYS,
		"number of the sequence"},
	{"vcpu", "vCPU", VCPU, XF_SHOW_VCPU, 4, UP | HIDE | ALWAYS, "domain and vCPU"},
	COUNTS,
	SEQUENCE_NAMES,
};

const struct xf_tui_source xf_tui_source_pages = {
	.name = "pt_sequences",
	.from = "pt_sequences r",
	.key = "r.sequence_id",
	.bounds =
		"SELECT (SELECT min(sequence_id) FROM sequence), (SELECT max(sequence_id) FROM sequence)",
	.flag = "NOT r.complete",
	.columns = pages,
	.ncolumns = COUNT(pages),
};

const struct xf_tui_source xf_tui_source_fork = {
	.name = "pt_sequences",
	.from = "pt_sequences r",
	.key = "r.sequence_id",
	.where = "r.fork_id = ?1",
	.bounds =
		"SELECT (SELECT min(sequence_id) FROM sequence WHERE fork_id = ?1), (SELECT max(sequence_id) FROM sequence WHERE fork_id = ?1)",
	.flag = "NOT r.complete",
	.columns = fork,
	.ncolumns = COUNT(fork),
};

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

static const struct xf_tui_column events[] = {
	{"event_id", "event", "r.event_id", XF_SHOW_INT, 7, ORDERED | ALWAYS,
		"number, in time order"},
	{"tsc", "time", "r.tsc", XF_SHOW_TIME, 10, ORDERED | ALWAYS, "when"},
	{"since", "since", "r.tsc", XF_SHOW_SINCE, 8, 0, "time since the row before"},
	{"vcpu", "vCPU", VCPU, XF_SHOW_VCPU, 4, UP | ALWAYS, "domain and vCPU"},
	{"kind", "kind", "r.kind", XF_SHOW_KIND, 10, UP | ALWAYS, "what happened"},
	{"va", "address", "r.va", XF_SHOW_HEX, 18, UP | ALWAYS,
		"faulting address, or the written entry's own"},
	{"slot", "slot", "r.slot", XF_SHOW_INT, 4, UP | ALWAYS, "index of the entry in its page"},
	{"pte", "new PTE", "r.pte", XF_SHOW_PTE, 17, ALWAYS, "flags and frame of the new value"},
	{"symbol", "kernel function", "r.symbol", XF_SHOW_SYMBOL, 28, UP | ALWAYS,
		"of the instruction"},
	{"error_code", "fault", "r.error_code", XF_SHOW_ERROR, 22, UP | ALWAYS,
		"the error code in words"},
	EVENT_REST,
};

static const struct xf_tui_column page[] = {
	{"tsc", "time", "r.tsc", XF_SHOW_TIME, 9, ORDERED | ALWAYS, "when"},
	{"since", "since", "r.tsc", XF_SHOW_SINCE, 8, 0, "time since the row before"},
	{"vcpu", "vCPU", VCPU, XF_SHOW_VCPU, 4, UP | ALWAYS, "domain and vCPU"},
	{"kind", "kind", "r.kind", XF_SHOW_KIND, 9, UP | ALWAYS, "what happened"},
	{"slot", "slot", "r.slot", XF_SHOW_INT, 4, UP | ALWAYS, "index of the entry in its page"},
	{"was", "was", NULL, XF_SHOW_EXTRA, 10, 0,
		"what an earlier record says the entry held; - = no record tells"},
	{"pte", "new PTE", "r.pte", XF_SHOW_PTE, 17, ALWAYS, "flags and frame of the new value"},
	{"maps", "address", NULL, XF_SHOW_EXTRA, 14, 0,
		"the address concerned: what the entry maps, or the fault's"},
	{"symbol", "kernel function", "r.symbol", XF_SHOW_SYMBOL, 28, UP | ALWAYS,
		"of the instruction"},
	{"error_code", "fault", "r.error_code", XF_SHOW_ERROR, 22, UP | ALWAYS,
		"the error code in words"},
	{"event_id", "event", "r.event_id", XF_SHOW_INT, 7, ORDERED | HIDE | ALWAYS,
		"number, in time order"},
	{"va", "as recorded", "r.va", XF_SHOW_HEX, 18, UP | HIDE | ALWAYS,
		"faulting address, or the written entry's own"},
	EVENT_REST,
};

const struct xf_tui_source xf_tui_source_events = {
	.name = "events",
	.from = "events r",
	.key = "r.event_id",
	.bounds = "SELECT (SELECT min(event_id) FROM event), (SELECT max(event_id) FROM event)",
	.flag = "r.kind = 'loss'",
	.dense = true,
	.columns = events,
	.ncolumns = COUNT(events),
};

/* ?1 ?2: events; ?3 ?4: domain and vCPU; ?5 ?6: page, frame. */
const struct xf_tui_source xf_tui_source_page = {
	.name = "events",
	.from = "events r",
	.key = "r.event_id",
	.where = "(r.domid IS ?3 AND r.vcpu IS ?4) OR r.pt_page = ?5 OR r.frame = ?6",
	.bounds = "SELECT ?1, ?2",
	.flag = "r.kind = 'loss'",
	.columns = page,
	.ncolumns = COUNT(page),
};

const struct xf_tui_source xf_tui_source_page_all = {
	.name = "events",
	.from = "events r",
	.key = "r.event_id",
	.bounds = "SELECT ?1, ?2",
	.flag = "r.kind = 'loss'",
	.columns = page,
	.ncolumns = COUNT(page),
};

static const struct xf_tui_column spurious[] = {
	{"event_id", "event", "r.event_id", XF_SHOW_INT, 7, ORDERED | ALWAYS, "the fault"},
	{"tsc", "time", "r.tsc", XF_SHOW_TIME, 10, ORDERED | ALWAYS, "when"},
	{"vcpu", "vCPU", VCPU, XF_SHOW_VCPU, 4, UP | ALWAYS, "who faulted for nothing"},
	{"cause", "cause", "r.cause", XF_SHOW_KIND, 8, UP | ALWAYS,
		"reported (by Xen), rehooked, raced"},
	{"other_vcpu", "by vCPU", "r.other_vcpu", XF_SHOW_INT, 7, UP | ALWAYS,
		"the vCPU it lost to"},
	{"gap", "gap", "r.gap", XF_SHOW_SPAN, 8, UP | ALWAYS, "time between the two"},
	{"confidence", "sure?", "r.confidence", XF_SHOW_TEXT, 7, UP | ALWAYS, "certain, likely"},
	{"va", "address", "r.va", XF_SHOW_HEX, 18, UP | ALWAYS, "faulting address"},
	{"error_code", "fault", "r.error_code", XF_SHOW_ERROR, 22, UP | ALWAYS,
		"the error code in words"},
	{"symbol", "kernel function", "r.symbol", XF_SHOW_SYMBOL, 28, UP | ALWAYS,
		"of the instruction"},
	{"rip", "rip", "r.rip", XF_SHOW_HEX, 18, UP | HIDE | ALWAYS, "instruction"},
	{"other_event", "other", "r.other_event", XF_SHOW_INT, 7, HIDE | ALWAYS,
		"the event it lost to"},
	{"domid", NULL, "r.domid", XF_SHOW_INT, 0, FILTER | ALWAYS, NULL},
	{"us", NULL, "r.us", XF_SHOW_REAL, 0, FILTER, NULL},
};

const struct xf_tui_source xf_tui_source_spurious = {
	.name = "spurious_faults",
	.from = "spurious_faults r",
	.key = "r.event_id",
	.bounds =
		"SELECT (SELECT min(event_id) FROM spurious_fault), (SELECT max(event_id) FROM spurious_fault)",
	.flag = "CASE WHEN r.confidence = 'certain' THEN 0 ELSE 2 END",
	.columns = spurious,
	.ncolumns = COUNT(spurious),
};

static const struct xf_tui_column trust[] = {
	{"what", "what", "r.what", XF_SHOW_KIND, 7, UP | ALWAYS,
		"loss, doubt (of the reader), finding (of the analysis)"},
	{"count", "count", "r.count", XF_SHOW_INT, 9, ALWAYS, "records lost, or how often"},
	{"pcpu", "pCPU", "r.pcpu", XF_SHOW_INT, 4, UP | ALWAYS, "physical CPU"},
	{"tsc", "from", "r.tsc", XF_SHOW_TIME, 10, UP | ALWAYS,
		"first record lost; the first doubt"},
	{"tsc_last", "until", "r.tsc_last", XF_SHOW_TIME, 10, UP | ALWAYS,
		"the record that reports the loss"},
	{"vcpu", "vCPU", VCPU, XF_SHOW_VCPU, 4, UP | ALWAYS, "current there afterwards"},
	{"text", "text", "r.text", XF_SHOW_TEXT, 24, UP | ALWAYS | FLEX, "in words"},
	{"code", "code", "r.code", XF_SHOW_TEXT, 16, UP | HIDE | ALWAYS, "short name"},
	{"lasts", "lasts", "(r.tsc_last - r.tsc)", XF_SHOW_SPAN, 9, HIDE | ALWAYS,
		"how long nothing was recorded"},
};

const struct xf_tui_source xf_tui_source_trust = {
	.name = "losses",
	.from = "temp.xf_trust r",
	.key = "r.id",
	.bounds = "SELECT (SELECT min(id) FROM temp.xf_trust), (SELECT max(id) FROM temp.xf_trust)",
	.flag = "1",
	.dense = true,
	.columns = trust,
	.ncolumns = COUNT(trust),
};

static const struct xf_tui_column info[] = {
	{"name", "what", "r.name", XF_SHOW_TEXT, 22, UP | ALWAYS, "what"},
	{"value", "value", "r.value", XF_SHOW_TEXT, 24, UP | ALWAYS, "how much"},
	{"note", "", "r.note", XF_SHOW_TEXT, 30, UP | ALWAYS | FLEX, "remarks"},
};

const struct xf_tui_source xf_tui_source_info = {
	.name = "trace",
	.from = "temp.xf_info r",
	.key = "r.id",
	.bounds = "SELECT (SELECT min(id) FROM temp.xf_info), (SELECT max(id) FROM temp.xf_info)",
	.flag = "r.flag",
	.dense = true,
	.columns = info,
	.ncolumns = COUNT(info),
};

const struct xf_tui_source xf_tui_source_event = {
	.name = "events",
	.from = "temp.xf_event r",
	.key = "r.id",
	.bounds = "SELECT (SELECT min(id) FROM temp.xf_event), (SELECT max(id) FROM temp.xf_event)",
	.dense = true,
	.columns = info,
	.ncolumns = COUNT(info),
};
