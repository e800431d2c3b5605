/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the analyzer remembers: domains, vCPUs, open sequences, open forks.
 * Private to this folder.  In: events.  Out: closed sequences and forks for rows.c.
 */
#ifndef XF_ANALYZER_STATE_H
#define XF_ANALYZER_STATE_H

#include <sqlite3.h>
#include <stdbool.h>

#include "common/error.h"
#include "common/map.h"
#include "schemas/event.h"

/* Why a sequence ended; the names are those of the view. */
enum xf_end {
	XF_END_NONE,
	XF_END_REHOOK,
	XF_END_NEXT,
	XF_END_FAULT,
	XF_END_PIN,
	XF_END_UNSHADOW,
	XF_END_LOSS,
	XF_END_END,
};

/* Counters that sequences and forks share. */
struct xf_costs {
	uint64_t faults, ptes, unhooks, rehooks, emulations, flushes, spurious;
};

/* What a TLB flush was for, and how far it reaches. */
enum xf_cause {
	XF_CAUSE_UNHOOK,
	XF_CAUSE_REHOOK,
	XF_CAUSE_INVLPG,
	XF_CAUSE_CR3,
	XF_CAUSE_HYPERCALL,
	XF_CAUSES
};
enum xf_reach { XF_REACH_ADDRESS, XF_REACH_ALL, XF_REACH_UNKNOWN, XF_REACHES };

struct xf_flushes {
	uint64_t n, cpus;
	bool has_cpus;
};

#define XF_SLOT_WORDS 16 /* 1,024 slots: a page of 4-byte PTEs */

/* A fault sequence of one page-table page. */
struct xf_sequence {
	struct xf_sequence *next; /* of the same domain's hooked pages */
	int64_t id;
	struct xf_fork *fork; /* NULL = none; outlives its open sequences */
	struct xf_vcpu *vcpu;
	bool has_page, has_frame, has_base;
	bool shadow; /* out of sync, not writable */
	bool cut;    /* its beginning may lie in a loss */
	uint64_t page, frame, va_base;
	uint64_t tsc_start, tsc_end, slack; /* cycles */
	int64_t first_event, last_event;
	struct xf_costs costs;
	uint64_t slots[XF_SLOT_WORDS]; /* of emulated writes */
};

/* Where the walk of a fork is; one lane for each instruction that writes (parent, child). */
struct xf_lane {
	uint64_t rip;
	uint64_t page, va; /* last PTE written */
};

#define XF_LANES 4

struct xf_fork {
	struct xf_fork *next, *prev; /* in one of the domain's lists */
	int64_t id;
	struct xf_vcpu *first_vcpu, *vcpu; /* where it began, where it is */
	struct xf_lane lanes[XF_LANES];
	unsigned nlanes;
	struct xf_map pages; /* page-table pages written */
	uint64_t npages;
	uint64_t
		mm; /* address space it copies, as far as pages tell: the first fork of these pages */
	uint64_t tsc_start, tsc_end, tsc_pin; /* cycles; 0 = no pin */
	int64_t first_event, last_event;
	struct xf_costs costs;
	unsigned open; /* sequences of it that are open */
	bool has_emulated, has_unhooked, has_shadow;
	bool suspended;	       /* a task switch came before its end */
	bool preempted;	       /* it was suspended at least once */
	uint64_t copied;       /* entries its vCPU set by mmu_update since its first write */
	uint64_t switches;     /* of the vCPU when it was suspended */
	uint64_t spaces;       /* address spaces that the vCPU had loaded at the last write */
	uint64_t cr3;	       /* the address space, 0 = not recorded */
	uint64_t suspended_at; /* cycles */
	bool maybe_pinned;     /* a pin that may be its own */
	struct xf_fork *maybe; /* an open fork that this one may be the rest of */
	unsigned awaited;      /* forks whose maybe this one is */
	struct xf_flushes flushes[XF_CAUSES][XF_REACHES];
	bool cut, ended;
	enum xf_end ended_by;
	const char *doubt;
};

/* The guest's handler of a delivered fault, until it returns. */
struct xf_handler {
	bool open, changed;
	bool interrupted;  /* an interrupt came into it */
	uint64_t returned; /* TSC of a return that may be its own or the interrupt's, 0 = none */
	uint64_t va, tsc;
	uint32_t error_code;
	uint64_t change; /* number of its change, from 1 */
	int64_t event;
	uint64_t before; /* TSC of the vCPU's last event before the fault */
};

/* The same fault in a row. */
struct xf_repeats {
	uint64_t page, rip;
	uint32_t error_code;
	bool changed; /* a page-table entry was, since */
	unsigned n;
};

/* A PTE change made for a fault. */
struct xf_change {
	struct xf_vcpu *vcpu;
	uint64_t va, fault, tsc; /* of the fault, twice; of the change, as its hypercall began */
	uint64_t until;		 /* TSC of the vCPU's next event: it was made by then */
	uint64_t space;		 /* vcpu->spaces then */
	int64_t event;		 /* the fault */
	uint32_t error_code;
};

#define XF_CHANGES 256

/* When a page-table page was unhooked last, and hooked again. */
struct xf_hook_history {
	const struct xf_vcpu *owner, *rehooker;
	uint64_t unhooked, rehooked;  /* TSC */
	int64_t event;		      /* the rehook */
	int64_t sequence_id, fork_id; /* 0 = no fork */
	uint64_t present[8];	      /* slots that faults have shown to hold a present entry */
};

struct xf_vcpu {
	struct xf_domain *domain;
	uint32_t number;
	bool known;	   /* false: stands for a pCPU whose vCPUs are unknown */
	uint32_t pcpu;	   /* where it was last */
	uint64_t tsc;	   /* of its last event */
	uint64_t previous; /* of the one before, while an event is looked at */
	struct xf_handler handler;
	struct xf_repeats repeats;
	uint64_t change; /* number of its change that is under way, from 1; 0 = none */
	uint64_t domctl; /* TSC of the domctl hypercall it is in, 0 = none */
	uint64_t split;	 /* region whose p2m entry of 2 MiB it split last, from 1; 0 = none since */
	bool cut; /* a loss, or the start of the capture, and nothing since that shows a new beginning */
	struct xf_sequence *run;     /* of emulated writes */
	struct xf_walk *walk;	     /* that is no fork, NULL = none yet: walk.c */
	struct xf_fork *fork;	     /* running or suspended here last */
	uint64_t switches;	     /* task switches so far */
	uint64_t spaces;	     /* address spaces loaded so far: xf_loads_space() */
	const struct xf_vcpu *raced; /* it had the same address space as that vCPU, */
	uint64_t raced_space[2];     /* when their spaces were these (own, other) */
	bool not_suspended;  /* whoever runs since the last one is inside no suspended fork */
	uint64_t user_space; /* 1 + `spaces` when a user address faulted last, 0 = never */
	bool loading;	     /* the last thing that it did was to load an address space */
	uint64_t
		maybe_pinned; /* fork that the last pin may belong to, until that is clear; 0 = none */
	bool fault_open;      /* a fault was delivered whose PTE write is still to come */
	uint64_t fault_va;
	uint32_t fault_error;
	int64_t fault_event;
	uint64_t cr3;		    /* frame, 0 = unknown */
	int64_t pinning;	    /* fork whose child it pins, with trace points; 0 = none */
	unsigned pins;		    /* of top-level tables since */
	unsigned multicall_updates; /* update_va_mapping calls in the current multicall */
	bool unpinning;		    /* the current multicalls unpin page tables */
	struct xf_flushes flushes[2][XF_REACHES]; /* by reason, of the hook record that follows */
	int64_t flush_event[2];
};

/* An unsync or resync whose place in time is not known exactly. */
struct xf_floating {
	struct xf_event event;
	int64_t id;
	struct xf_vcpu *vcpu;
	struct xf_fork *fork;
	bool cut;
};

struct xf_queue {
	struct xf_floating *items;
	size_t head, count, room;
};

#define XF_PAUSE_WORDS 4

/* The pause of a domain that is under way, or was the last: pause.c. */
struct xf_pause {
	const struct xf_vcpu *by;	 /* whose domctl asked for it */
	uint64_t domctl;		 /* TSC of that */
	uint64_t asleep[XF_PAUSE_WORDS]; /* vCPUs, one bit each */
	uint64_t tsc;			 /* of the last of them */
	unsigned count;			 /* pauses since one was taken */
	bool whole;			 /* all its vCPUs */
	bool ready, resumed;		 /* not yet taken; the domain may run again */
};

struct xf_pause_taken {
	uint64_t tsc;
	unsigned count; /* of pauses without anything between them */
};

struct xf_domain {
	uint32_t id;
	bool known;
	struct xf_map vcpus;
	struct xf_map hooked;	  /* frame -> open sequence */
	struct xf_map writers;	  /* rip -> 1: writes entries that stay writable, so no fork does */
	struct xf_map keepers;	  /* rip -> 1: has write-protected an entry and left it accessed */
	struct xf_map page_mm;	  /* page-table page -> address space (fork.mm) */
	struct xf_map by_l2;	  /* VA >> 21 -> last sequence that unhooked it, while open */
	struct xf_map pages;	  /* page-table page -> struct xf_pt_page */
	struct xf_map by_base;	  /* va_base -> first struct xf_pt_page of a list */
	struct xf_map walk_bases; /* fork and lane -> struct xf_walk_bases: cow.c */
	struct xf_map last_hook;  /* VA >> 21 -> struct xf_hook_history */
	struct xf_change *changes; /* the last XF_CHANGES, made for faults: spurious.c */
	uint64_t nchanges;
	struct xf_fork *forks; /* those that have not ended: few */
	struct xf_fork *
		ended; /* those that wait for a page to be closed, or for another fork: any number */
	struct xf_domain *newer, *older; /* by their last event: xf_analyzer.newest */
	int64_t last_event;
	struct xf_map floating; /* pCPU -> struct xf_queue: shadow.c */
	size_t nfloating;
	struct xf_episode *episode; /* in shadow mode: episode.c */
	struct xf_hap *hap;	    /* in log-dirty mode with nested paging: hap.c */
	struct xf_pause pause;
	bool pv;	   /* it has PV records */
	bool seen_outside; /* it took faults outside of shadow mode */
};

/* What is known of one page-table page: cow.c. */
struct xf_pt_page {
	uint64_t page;
	struct xf_pt_page *next_same_base; /* in the domain's by_base */
	bool has_base;
	uint64_t va_base;
	int64_t confirmed;	 /* event that showed va_base last */
	struct xf_claim *claims; /* which fork write-protected which slots, newest first */
};

enum xf_finding {
	XF_FINDING_UNMATCHED_REHOOK,
	XF_FINDING_DOUBLE_UNHOOK,
	XF_FINDING_FORK_RESUMED,
	XF_FINDING_FORK_MOVED,
	XF_FINDING_FORK_UNDECIDED,
	XF_FINDING_UNOWNED,
	XF_FINDING_SHADOW_FORKS,
	XF_FINDING_FLOATING,
	XF_FINDING_IDLE_FORKS,
	XF_FINDING_LOOP,
	XF_FINDING_COW_GUESS,
	XF_FINDING_FRAMES,
	XF_FINDING_AGING,
	XF_FINDING_FLUSH_IPI,
	XF_FINDING_COUNT,
};

enum xf_statement {
	XF_INSERT_FORK,
	XF_INSERT_SEQUENCE,
	XF_INSERT_SPURIOUS,
	XF_INSERT_FINDING,
	XF_FORGET_FORK,
	XF_MOVE_FORK,
	XF_SET_BASE,
	XF_SET_COW,
	XF_ADD_COW,
	XF_ADD_SEQUENCE_SPURIOUS,
	XF_ADD_FORK_SPURIOUS,
	XF_INSERT_FLUSH,
	XF_INSERT_EPISODE,
	XF_INSERT_ROUND,
	XF_DELETE_ROUNDS,
	XF_INSERT_PAGE,
	XF_MOVE_PAGES,
	XF_INSERT_EPISODE_VCPU,
	XF_INSERT_WALK,
	XF_DELETE_WALKS,
	XF_INSERT_TLB,
	XF_INSERT_INTERRUPT,
	XF_FORGET_FLUSHES,
	XF_MOVE_FLUSHES,
	XF_ADD_FORK_FLUSH,
	XF_STATEMENTS,
};

struct xf_analyzer {
	sqlite3 *db;
	sqlite3_stmt *statements[XF_STATEMENTS];
	struct xf_map domains;
	struct xf_map losses;  /* pCPU -> TSC at which its last loss ended */
	struct xf_map cow;     /* fork id -> COW breaks */
	struct xf_map cow_new; /* fork id -> 1: the row does not know the latest of them */
	int64_t next_fork, next_sequence, next_episode, next_walk;
	size_t nepisodes;		   /* open ones */
	size_t frame_words;		   /* of their sets of frames */
	uint64_t domctl;		   /* TSC of the last one, 0 = none */
	const struct xf_vcpu *domctl_vcpu; /* whose, NULL = none yet */
	int64_t page_row;		   /* last row of episode_page */
	struct xf_map forks;		   /* fork_id -> struct xf_fork, until its row is written */
	struct xf_domain *newest;	   /* with the last event; older ones follow */
	struct xf_map loss_events;	   /* pCPU -> event of the last loss there */
	struct xf_map superpages;	   /* see hap.c */
	int64_t event_id;		   /* the current event */
	struct xf_vcpu *last;		   /* whose the event before it was, NULL = none */
	struct xf_map tlbs; /* pCPU -> flush as Xen records it: tlb.c; empty = none recorded */
	uint64_t findings[XF_FINDING_COUNT];
	struct xf_flushes flushes[XF_CAUSES][XF_REACHES]; /* outside of forks */
	struct xf_error *err;				  /* of the current call */
};

/* analyzer.c: the domain, made if it is new; NULL = out of memory */
struct xf_domain *xf_domain_of(struct xf_analyzer *a, bool known, uint32_t id);

/* rows.c: what goes into the tables */
int xf_rows_prepare(struct xf_analyzer *a);
int xf_rows_fork(struct xf_analyzer *a, const struct xf_fork *fork);
int xf_rows_sequence(struct xf_analyzer *a, const struct xf_sequence *sequence, enum xf_end end);
int xf_rows_spurious(struct xf_analyzer *a, int64_t event_id, const char *cause, int other_vcpu,
	int64_t other_event, int64_t gap, const char *confidence);
int xf_rows_findings(struct xf_analyzer *a);
int xf_rows_forget_fork(struct xf_analyzer *a, int64_t fork_id);
int xf_rows_move_fork(struct xf_analyzer *a, int64_t from, int64_t to);
int xf_rows_set_base(struct xf_analyzer *a, int64_t sequence_id, uint64_t va_base);
int xf_rows_set_cow(struct xf_analyzer *a, int64_t fork_id, uint64_t n);
/* One more fault that the sequence, or the fork, has cost another vCPU. */
int xf_rows_add_sequence_spurious(struct xf_analyzer *a, int64_t sequence_id);
int xf_rows_add_fork_spurious(struct xf_analyzer *a, int64_t fork_id);
int xf_rows_add_cow(struct xf_analyzer *a, int64_t sequence_id);
/* A flush that Xen recorded, as a row: the table tlb_flush. */
struct xf_rows_tlb {
	int64_t event_id, fork_id; /* 0 = no fork */
	bool has_owner, done, filtered, has_frame, has_cycles;
	uint32_t domid, vcpu;
	const char *cause, *detail, *reach;
	unsigned cpus, remote, spared, ipis;
	uint64_t frame, cycles;
};
int xf_rows_tlb(struct xf_analyzer *a, const struct xf_rows_tlb *row);
/* A CPU that the flush interrupted so many cycles after its record; flush 0 = by an unknown one. */
int xf_rows_interrupt(struct xf_analyzer *a, int64_t event_id, int64_t flush, int64_t cycles);
/* One more flush of a fork whose row is written. */
int xf_rows_add_fork_flush(struct xf_analyzer *a, int64_t fork_id);
int xf_rows_flush(struct xf_analyzer *a, int64_t fork_id, const char *mechanism,
	enum xf_cause cause, enum xf_reach reach, const struct xf_flushes *f);
/* One more page of a round: the event's frame, and its instruction; split: of a p2m entry of 2 MiB. */
int xf_rows_episode_page(struct xf_analyzer *a, int64_t episode_id, uint64_t round,
	const struct xf_event *event, bool split);
/* Pages from the row `from` of episode_page on were of this round after all. */
int xf_rows_move_pages(struct xf_analyzer *a, int64_t episode_id, uint64_t round, int64_t from);
/* For rows that one file alone writes: the statement with its first parameter, then its only step. */
sqlite3_stmt *xf_rows_statement(struct xf_analyzer *a, enum xf_statement which, int64_t id);
int xf_rows_run(struct xf_analyzer *a, sqlite3_stmt *stmt);
const char *xf_rows_mechanism(const struct xf_fork *fork);
void xf_rows_finalize(struct xf_analyzer *a);

/* sequence.c: runs of emulated writes, and hooked pages */
int xf_sequence_emulated(struct xf_analyzer *a, struct xf_vcpu *v, struct xf_fork *fork,
	const struct xf_event *event);
int xf_sequence_end_run(struct xf_analyzer *a, struct xf_vcpu *v, enum xf_end end);
int xf_sequence_unhooked(struct xf_analyzer *a, struct xf_vcpu *v, struct xf_fork *fork,
	const struct xf_event *event, int64_t event_id, bool cut);
int xf_sequence_rehooked(
	struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event, int64_t event_id);
int xf_sequence_end_hooked(
	struct xf_analyzer *a, struct xf_domain *d, uint64_t frame, enum xf_end end);
int xf_sequence_end_all_hooked(struct xf_analyzer *a, struct xf_domain *d, enum xf_end end);

/* fork.c */
struct xf_write {
	uint64_t page, va, rip;
	bool has_rip, shadow;
};

/* The fork that a write belongs to, found or begun; *fork stays NULL if the write is none of a fork. */
int xf_fork_write(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_write *write,
	const struct xf_event *event, struct xf_fork **fork);
int xf_fork_user_fault(struct xf_analyzer *a, struct xf_vcpu *v);
void xf_fork_task_switch(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event);
/* An mmu_update of the vCPU: what its fork copies. */
void xf_fork_batch(struct xf_vcpu *v, const struct xf_event *event);
int xf_fork_pin(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event);

/*
 * A vCPU loads an address space with one mmuext_op of two operations, the kernel's base and the user's
 * (PV guests of 64 bits).  Two in a multicall unpin one; two calls of one operation are something else.
 */
bool xf_loads_space(const struct xf_event *event);

/* One mmuext_op of two operations, in a multicall or not. */
bool xf_is_mmuext_of_two(const struct xf_event *event);

/* An event of the vCPU, of whatever kind: tells an exec's pin from a fork's by what comes after it. */
void xf_fork_event(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event);
/* A loss or the end of its domain: what the vCPU has under way ends here, and is not whole. */
int xf_fork_break(struct xf_analyzer *a, struct xf_vcpu *v, enum xf_end why);
/* After a sequence of it was closed. */
int xf_fork_settle(struct xf_analyzer *a, struct xf_fork *fork);
int xf_fork_finish(struct xf_analyzer *a, struct xf_domain *d);

/* walk.c: walks that are no forks.  A write that clears an accessed bit, of no fork and for no fault. */
int xf_walk_write(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event);
/* Whatever walk the vCPU makes is over; whole: it was seen to end. */
int xf_walk_end(struct xf_analyzer *a, struct xf_vcpu *v, bool whole);
/* The instruction is one that forks use: what it did before was of forks too. */
int xf_walk_was_fork(struct xf_analyzer *a, const struct xf_domain *d, uint64_t rip);
void xf_walk_free(struct xf_vcpu *v);

/* shadow.c: unsyncs and resyncs in an order in which pairs close */
int xf_shadow_add(struct xf_analyzer *a, struct xf_vcpu *v, struct xf_fork *fork,
	const struct xf_event *event, int64_t event_id);
/* Time has come to tsc: what lies wholly before it is decided. */
int xf_shadow_advance(struct xf_analyzer *a, struct xf_domain *d, uint64_t tsc);
int xf_shadow_finish(struct xf_analyzer *a, struct xf_domain *d);
void xf_shadow_free(struct xf_domain *d);

/* cow.c: what a write fault and the PTE write behind it tell of a page-table page */
#define XF_ALL_SLOTS UINT32_MAX /* the trace does not say which */
int xf_cow_protected(struct xf_analyzer *a, struct xf_fork *fork, uint64_t page, unsigned slot,
	int64_t sequence_id);
/* shift: log2 of a PTE's size */
int xf_cow_break(
	struct xf_analyzer *a, struct xf_vcpu *v, uint64_t page, unsigned slot, unsigned shift);
/* A COW break without a PTE write of its own: the page is reused, the hypercall shows no slot. */
int xf_cow_reuse(struct xf_analyzer *a, struct xf_vcpu *v);
/*
 * Where the page of a sequence lies, if a break in its course has shown it; a base of before may be
 * that of another life of the page.  A fork's page is told later, by breaks of what it protected.
 */
void xf_cow_base(const struct xf_domain *d, struct xf_sequence *sequence);
int xf_cow_finish(struct xf_analyzer *a);
void xf_cow_free(struct xf_domain *d);

/* spurious.c: faults that another vCPU's work made needless */
int xf_spurious_reported(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event);
/* Counts a fault that comes again and again at one place, at any address, without a change between. */
void xf_spurious_repeated(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event);
int xf_spurious_fault(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event);
int xf_spurious_change(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event);
void xf_spurious_other(struct xf_vcpu *v, const struct xf_event *event);
int xf_spurious_finish(struct xf_analyzer *a, struct xf_vcpu *v);
int xf_spurious_next(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event);
int xf_spurious_rehooked(struct xf_analyzer *a, const struct xf_vcpu *v,
	const struct xf_sequence *s, const struct xf_event *event, int64_t event_id);
void xf_spurious_free(struct xf_domain *d);

/* episode.c: a PV domain in shadow mode */
int xf_episode_event(struct xf_analyzer *a, struct xf_domain *d, const struct xf_event *event);
int xf_episode_removed(struct xf_analyzer *a, struct xf_domain *d);
void xf_episode_lost(struct xf_domain *d);
int xf_episode_flush(struct xf_analyzer *a);
int xf_episode_finish(struct xf_analyzer *a, struct xf_domain *d);
void xf_episode_free(struct xf_analyzer *a, struct xf_domain *d);

/* pause.c: pauses of a whole domain inside a domctl */
int xf_pause_event(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event);
/* The latest pause that no event lies in any more (at_end: none will), once. */
bool xf_pause_take(struct xf_domain *d, bool at_end, struct xf_pause_taken *taken);

/* hap.c: a domain with nested paging in log-dirty mode */
int xf_hap_event(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event);
int xf_hap_end(struct xf_analyzer *a, struct xf_domain *d, const char *ended_by);
void xf_hap_lost(struct xf_domain *d);
int xf_hap_flush(struct xf_analyzer *a, struct xf_domain *d);
void xf_hap_free(struct xf_analyzer *a, struct xf_domain *d);

/* flush.c: TLB flushes, of a fork or (fork NULL) of what is outside of forks */
void xf_flush_hook(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event);
unsigned xf_flush_take(
	struct xf_analyzer *a, struct xf_vcpu *v, struct xf_fork *fork, unsigned reason);
void xf_flush_other(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event);
int xf_flush_write(struct xf_analyzer *a, const struct xf_fork *fork);
void xf_flush_add(struct xf_flushes (*to)[XF_REACHES], struct xf_flushes (*from)[XF_REACHES]);

/* tlb.c: flushes as Xen itself records them */
int xf_tlb_event(struct xf_analyzer *a, const struct xf_event *event);
/* Any other event, which ends what was open on its pCPU; v NULL: of no vCPU. */
int xf_tlb_other(struct xf_analyzer *a, struct xf_vcpu *v, const struct xf_event *event);
int xf_tlb_finish(struct xf_analyzer *a);
void xf_tlb_free(struct xf_analyzer *a);

#endif
