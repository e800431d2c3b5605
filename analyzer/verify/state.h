/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a comparison remembers: vCPUs, tasks, forks of both sides.  Private to this folder.
 */
#ifndef XF_ANALYZER_VERIFY_STATE_H
#define XF_ANALYZER_VERIFY_STATE_H

#include "analyzer/verify/verify.h"
#include "common/map.h"
#include "schemas/scan.h"
#include "schemas/spans.h"

#define XF_PENDING 16 /* faults of a vCPU that wait for their line */
#define XF_MOVES   8  /* migrations of a task that are kept */

/* What the log shows, from a first reading of it. */
struct xf_survey {
	uint64_t first, last;			/* TSC of its events */
	bool faults, copies, switches, threads; /* it has such events */
	bool migrations, forks, pins;
	uint64_t nfaults;
};

/* A delivered fault of the capture whose line is still to come. */
struct xf_fault {
	int64_t event;
	uint64_t tsc, va;
	uint32_t error_code;
	bool has_va;
};

/* Writes in a row of which the same is to be said. */
struct xf_run {
	const char *what; /* NULL = none */
	int64_t fork_id, first_event, last_event;
	uint64_t tsc, n, truth;
	uint32_t pid;
	bool in_fork, in_copy;
};

struct xf_verify_cpu {
	uint32_t number;
	uint64_t first, last; /* TSC of its lines; first 0 = it has none */
	bool known;	      /* pid is */
	uint32_t pid;	      /* of the task that runs there, as the log says so far */
	struct xf_fault pending[XF_PENDING];
	unsigned npending;
	struct xf_run run;
};

struct xf_verify_task {
	uint32_t pid;
	uint64_t mm;	     /* number of its address space, from 1 */
	bool copies;	     /* inside copy_page_range() */
	bool probed;	     /* a probe has told whether it is */
	uint64_t start, end; /* of the VMA that is copied */
	uint64_t truth;	     /* number of the fork under way, 0 = none */
	int pinned;	     /* vCPU of its last pin, -1 = none */
	struct {
		uint64_t tsc;
		uint32_t from;
	} moves[XF_MOVES];
	unsigned nmoves; /* so far: the last XF_MOVES are there */
};

/* A fork by the log: a copying process, in number order from 1. */
struct xf_truth {
	uint32_t pid, vcpu;
	uint64_t tsc;
	int64_t first_event;	 /* of its writes */
	uint64_t writes, inside; /* inside any fork of the capture */
	int64_t fork_id;	 /* which one, 0 = none yet */
	bool split, cut;
	/* without probes: sched_process_fork */
	int pinned;
	bool thread;
	uint32_t matched; /* number of the capture's fork from 1, 0 = none */
	uint32_t asked;	  /* the fork on whose behalf it was asked last */
	struct {
		uint64_t tsc;
		uint32_t from;
	} moves[XF_MOVES];
	unsigned nmoves;
};

/* A fork of the capture. */
struct xf_found {
	int64_t id, first_event;
	uint64_t start, end; /* TSC */
	uint32_t vcpu;
	uint64_t writes, wrong; /* that the log could judge; that no fork made */
	uint64_t truth;		/* whose writes they are, 0 = none yet */
	bool mixed;
};

/* A fault sequence of a fork. */
struct xf_page {
	int64_t id, fork_id, first_event, last_event;
	uint64_t tsc;
	uint32_t vcpu;
	bool has_base, open; /* open: writes of it may still come */
	uint64_t base;
	int64_t charged; /* COW faults that the capture has for it */
	uint64_t judged, wrong, breaks;
	uint64_t held;	     /* pages that still stand in the map of protected ones */
	uint64_t start, end; /* bounds of the VMA that a wrong one is outside of */
};

struct xf_verify {
	sqlite3 *db;
	const struct xf_verify_options *options;
	struct xf_verify_result *result;
	struct xf_error *err;
	struct xf_ftrace *log;
	struct xf_survey survey;
	uint64_t capture_first, capture_last;
	struct xf_map cpus, tasks; /* number, pid -> struct */
	uint64_t next_mm;
	struct xf_truth *truths;
	size_t ntruths, truths_room;
	struct xf_found *forks;
	size_t nforks;
	struct xf_spans losses;	 /* of all pCPUs */
	sqlite3_stmt *sequences; /* by first_event */
	bool more_sequences;
	struct xf_page **open; /* sequences that may hold the current event */
	size_t nopen, open_room;
	struct xf_page *ahead;	 /* the next one of the statement */
	struct xf_map protected; /* address space and page -> struct xf_page */
};

/* log.c: the log's lines, and what they say of tasks */
int xf_verify_survey(struct xf_verify *v);
int xf_verify_line(struct xf_verify *v, const struct xf_ftrace_line *line);
struct xf_verify_cpu *xf_verify_cpu(struct xf_verify *v, uint32_t number);
struct xf_verify_task *xf_verify_task(struct xf_verify *v, uint32_t pid);
struct xf_truth *xf_verify_truth(struct xf_verify *v, uint64_t number);

/* faults.c */
int xf_verify_fault(struct xf_verify *v, int64_t id, const struct xf_event *event);
int xf_verify_fault_line(struct xf_verify *v, const struct xf_ftrace_line *line);
int xf_verify_faults_finish(struct xf_verify *v);

/* writes.c: per write */
int xf_verify_write(struct xf_verify *v, int64_t id, const struct xf_event *event);
int xf_verify_orphan(struct xf_verify *v, struct xf_verify_cpu *cpu);
int xf_verify_writes_finish(struct xf_verify *v);
int xf_verify_forks_finish(struct xf_verify *v);

/* pages.c: sequences, their addresses, and faults on what they protected */
int xf_verify_pages_open(struct xf_verify *v);
int xf_verify_page_of(struct xf_verify *v, int64_t id, uint32_t vcpu, struct xf_page **page);
int xf_verify_page_write(struct xf_verify *v, struct xf_page *page,
	const struct xf_verify_task *task, const struct xf_event *event);
int xf_verify_touched(struct xf_verify *v, uint64_t mm, uint64_t va, uint64_t error_code);
int xf_verify_pages_finish(struct xf_verify *v);

/* forks.c: per fork, where the log has no probes */
int xf_verify_match(struct xf_verify *v);

/* verify.c */
int xf_verify_differ(struct xf_verify *v, const struct xf_verify_difference *difference);
/* Could the capture have seen what happened then? */
bool xf_verify_covered(const struct xf_verify *v, uint64_t tsc);
/* Could the log have a line of what happened on this vCPU then? */
bool xf_verify_logged(const struct xf_verify *v, const struct xf_verify_cpu *cpu, uint64_t tsc);

#endif
