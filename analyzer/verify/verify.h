/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A finished database against what the guest's kernel itself logged meanwhile.
 * In: a database, an ftrace log on the TSC clock.  Out: how far the two agree, each difference with its
 * records.
 *
 * The log decides per write: a write that takes the write permission of an entry away is a fork's if
 * the task that sched_switch shows on that vCPU is inside copy_page_range() then (kprobes cpr_in, cpr_out;
 * ap_in, ap_out around copy_process()).  Without those probes a fork is compared as a whole with
 * sched_process_fork.
 */
#ifndef XF_ANALYZER_VERIFY_H
#define XF_ANALYZER_VERIFY_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/ftrace.h"

/* What is compared: X(enum, name, what one is) */
#define XF_VERIFY_SUBJECTS(X)                                                           \
	X(FAULTS, "faults", "page faults delivered to the guest")                       \
	X(WRITES, "writes", "PTE writes that a fork makes, each by its own fork")       \
	X(FORKS, "forks", "forks that write-protect, each with exactly its own writes") \
	X(VA_BASES, "va_bases", "sequences of forks whose va_base is known")            \
	X(COW, "cow_faults", "write faults on what a fork protected, where va_base is known")

enum xf_verify_subject {
#define X(id, name, what) XF_VERIFY_##id,
	XF_VERIFY_SUBJECTS(X)
#undef X
		XF_VERIFY_SUBJECTS_COUNT
};

struct xf_verify_count {
	bool judged;	   /* the log has what decides it */
	uint64_t capture;  /* of the capture, where the log could tell */
	uint64_t log;	   /* of the log, where the capture could tell */
	uint64_t agree;	   /* right ones of the capture */
	uint64_t found;	   /* of the log's, those that the capture has */
	uint64_t unjudged; /* of either, where the other has no say (start, end, losses) */
};

struct xf_verify_result {
	struct xf_verify_count counts[XF_VERIFY_SUBJECTS_COUNT];
	struct xf_ftrace_state log;
	int domid;
	bool by_write;	    /* the log has the probes: forks are judged write by write */
	bool threads_known; /* the log tells threads from processes */
	uint64_t differences;
};

/* One difference; members that do not apply are -1 or NULL. */
struct xf_verify_difference {
	enum xf_verify_subject subject;
	const char *what; /* such as "not in the log" */
	int64_t vcpu, pid;
	uint64_t tsc; /* cycles: of the event, or of the log's line */
	int64_t first_event, last_event, fork_id;
	int64_t n;	    /* how many alike */
	const char *detail; /* in words, "" = none */
};

struct xf_verify_options {
	int domid; /* whose kernel it is, -1 = find out by the log's faults */
	/* each difference as it is found; a negative value ends the comparison */
	int (*difference)(
		const struct xf_verify_difference *difference, void *data, struct xf_error *err);
	void *data;
	bool (*stop)(void); /* asked now and then; NULL = never */
};

const char *xf_verify_subject_name(enum xf_verify_subject subject);
const char *xf_verify_subject_what(enum xf_verify_subject subject);

/*
 * Compares.  db is read only.  Returns 0, -XF_FORMAT where the log is none, of another clock, or of
 * another time, boot or domain than the capture, or another negative code.
 */
int xf_verify(sqlite3 *db, const char *log, const struct xf_verify_options *options,
	struct xf_verify_result *result, struct xf_error *err);

#endif
