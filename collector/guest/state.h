/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the reading of a guest's log remembers.  Private to this folder. */
#ifndef XF_COLLECTOR_GUEST_STATE_H
#define XF_COLLECTOR_GUEST_STATE_H

#include "collector/guest/guest.h"
#include "common/map.h"
#include "schemas/event.h"
#include "schemas/spans.h"

/* A time of the log on the capture's clock: tsc + rate * (time - its own zero). */
struct xf_guest_clock {
	uint64_t zero, tsc;
	double rate;
	uint64_t slack; /* cycles that the result may be wrong by */
};

/* What a first reading of the log shows. */
struct xf_guest_survey {
	uint64_t first, last; /* its times, in its own unit */
	uint64_t whole;	      /* from here on every CPU's events are there */
	uint64_t faults, forks;
	bool switches, pins, flags; /* it has sched_switch, xen_mmu_pgd_pin, task_newtask */
};

struct xf_guest {
	sqlite3 *db;
	int domid;
	struct xf_ftrace *log;
	bool (*stop)(void);
	struct xf_guest_result *result;
	struct xf_error *err;
	struct xf_guest_survey survey;
	struct xf_guest_clock clock;
	uint64_t first, last;  /* the capture's time, TSC */
	struct xf_spans holes; /* when records are missing on some pCPU */
	int64_t log_id;
};

/* load.c */
uint64_t xf_guest_tsc(const struct xf_guest_clock *clock, uint64_t time);
int xf_guest_check_stop(const struct xf_guest *g, unsigned long n);
/* Is the event a page fault that the guest's user mode took? */
bool xf_guest_faulted(const struct xf_guest *g, const struct xf_event *event);

/* fit.c: sets g->clock, or says why the log does not belong to the capture */
int xf_guest_fit(struct xf_guest *g);

/* anchor.c: a clock by rows of faults that both sides have once; 1 = found, 0 = none */
int xf_guest_anchor(struct xf_guest *g, struct xf_guest_clock *clock);

/* A user page fault of the log or the capture. */
struct xf_guest_fault {
	uint64_t time, va, rip;
	uint32_t vcpu, error_code;
};

/* The next one of the log: 1, 0 at the end. */
int xf_guest_logged_fault(struct xf_guest *g, struct xf_guest_fault *fault);

/* tasks.c: the log's lines as rows, on g->clock */
int xf_guest_tasks(struct xf_guest *g);

#endif
