/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One event, as the collector hands it on and as one row of the table `event` holds it.
 * This is the C side of schemas/facts.sql: the two change together.
 */
#ifndef XF_SCHEMAS_EVENT_H
#define XF_SCHEMAS_EVENT_H

#include <stdint.h>

/*
 * X(enum, name, what it is).  The number is stored in the table `event`: append, never reorder.
 */
#define XF_KINDS(X)                                                                \
	X(PAGE_FAULT, "page_fault", "page fault delivered to the guest")           \
	X(EMULATE, "emulate", "PTE write done by Xen")                             \
	X(UNHOOK, "unhook", "page-table page made writable or gone out of sync")   \
	X(REHOOK, "rehook", "page-table page write-protected again")               \
	X(FLUSH, "flush", "TLB flush")                                             \
	X(SPURIOUS, "spurious", "fault at which Xen itself found nothing to do")   \
	X(BATCH, "batch", "hypercall that changes PTEs")                           \
	X(FIXUP, "fixup", "fault that Xen resolved by updating its shadow")        \
	X(NOT_SHADOW, "not_shadow", "fault in a PV domain that was not delivered") \
	X(RESYNC_ONLY, "resync_only", "shadow refreshed, page stays out of sync")  \
	X(UNSHADOW, "unshadow", "page no longer treated as a page table")          \
	X(WRMAP, "wrmap", "all shadows searched for writable mappings of a page")  \
	X(UNPIN, "unpin", "top-level shadow given up for memory")                  \
	X(MMIO, "mmio", "access to an emulated device")                            \
	X(DYING, "dying", "shadow creation failed, domain dying")                  \
	X(TASK_SWITCH, "task_switch", "hypercall stack_switch: another task runs") \
	X(MULTICALL, "multicall", "hypercall multicall, count = number of calls")  \
	X(MMUEXT, "mmuext", "hypercall mmuext_op: pin, new base, flush or other")  \
	X(IRET, "iret", "hypercall iret")                                          \
	X(HYPERCALL, "hypercall", "any other hypercall, arg1 = its number")        \
	X(PRIVOP, "privop", "privileged instruction emulated")                     \
	X(TRAP, "trap", "trap other than a page fault given to a PV guest")        \
	X(INVALID_OP, "invalid_op", "forced invalid opcode handled")               \
	X(LDT_FAULT, "ldt_fault", "LDT page mapped on demand")                     \
	X(FPU, "fpu", "lazy FPU state restored")                                   \
	X(CR3_WRITE, "cr3_write", "guest loads CR3")                               \
	X(CR_WRITE, "cr_write", "guest writes another control register")           \
	X(INVLPG, "invlpg", "guest invalidates one address")                       \
	X(DOMAIN_ADD, "domain_add", "domain created")                              \
	X(DOMAIN_REMOVE, "domain_remove", "domain destroyed")                      \
	X(LOST, "loss", "records lost on this pCPU, count = how many")             \
	X(NPF, "npf", "nested page fault of a HAP guest, frame = gfn")             \
	X(RECALC, "recalc", "exit in which Xen recalculated p2m entries")          \
	X(P2M, "p2m", "guest-physical entry set, given back or populated")         \
	X(PAUSE, "pause", "vCPU (arg1 domain, arg2 number) put to sleep")          \
	X(UNPAUSE, "unpause", "vCPU (arg1 domain, arg2 number) may run again")     \
	X(FLUSH_IPI, "flush_ipi", "TLB flush done here for another CPU")           \
	X(FLUSH_FILTER, "flush_filter", "CPUs that a TLB flush may leave out")     \
	X(CR3, "cr3", "page tables loaded by Xen")                                 \
	X(UPDATE, "update", "page-table entry that a guest asks Xen to write")     \
	X(PTE, "pte", "page-table entry written, with the old one")                \
	X(VALIDATE, "validate", "page becomes a page table: begin, or end")        \
	X(DEVALIDATE, "devalidate", "page ceases to be one: begin, or end")        \
	X(FLUSH_CPUS, "flush_cpus", "more CPUs of the TLB flush before it")        \
	X(FLUSH_END, "flush_end", "TLB flush done on all its CPUs")                \
	/* the next kind goes here */

enum xf_kind {
	XF_KIND_NONE,
#define X(name, text, what) XF_##name,
	XF_KINDS(X)
#undef X
		XF_KIND_COUNT
};

/*
 * What a nested page fault was, in bits 8 and up of its arg1 (bits 7..0: the p2m type).
 * X(enum, name): the number is stored: append, never reorder.
 */
#define XF_NPFS(X)                \
	X(DIRTY, "dirty")         \
	X(MMIO, "mmio")           \
	X(POPULATE, "populate")   \
	X(ACCESS, "access")       \
	X(MISCONFIG, "misconfig") \
	X(OTHER, "other")

enum xf_npf {
	XF_NPF_NONE,
#define X(name, text) XF_NPF_##name,
	XF_NPFS(X)
#undef X
};

#define XF_NPF_OF(arg1) ((arg1) >> 8)

/* Bits of xf_event.has: which members were in the record (the others are NULL in the table). */
#define XF_HAS_OWNER (1u << 0) /* domid, vcpu */
#define XF_HAS_VA    (1u << 1)
#define XF_HAS_RIP   (1u << 2)
#define XF_HAS_ERROR (1u << 3)
#define XF_HAS_PTE   (1u << 4)
#define XF_HAS_FRAME (1u << 5)
#define XF_HAS_COUNT (1u << 6)
#define XF_HAS_ARG1  (1u << 7)
#define XF_HAS_ARG2  (1u << 8)
#define XF_HAS_TSC   (1u << 9)	/* tsc is known (untimed pCPUs have none) */
#define XF_HAS_LATE  (1u << 10) /* the record had no TSC: it lies between tsc and tsc_late */

struct xf_event {
	uint64_t tsc;	   /* cycles */
	uint64_t tsc_late; /* cycles; latest possible time where the record carried none */
	uint64_t va;	   /* linear address in the record: faulting VA, or the PTE's own address */
	uint64_t rip;	   /* guest instruction */
	uint64_t pte;	   /* new value of the entry */
	uint64_t frame;	   /* frame of the page-table page (or the frame a record names) */
	uint64_t count;	   /* entries changed, calls, records lost */
	uint64_t arg1;	   /* by kind: see facts.sql */
	uint64_t arg2;
	uint32_t pcpu;
	uint32_t raw_id; /* event id of the record, 28 bits (32 in the fixed formats) */
	uint32_t error_code;
	uint16_t domid;
	uint16_t vcpu;
	uint16_t has;
	uint16_t kind; /* enum xf_kind */
};

/* All zero.  Member by member: compilers make a string instruction of = {0}, which is slow here. */
static inline void xf_event_clear(struct xf_event *e)
{
	e->tsc = e->tsc_late = e->va = e->rip = e->pte = e->frame = e->count = 0;
	e->arg1 = e->arg2 = 0;
	e->pcpu = e->raw_id = e->error_code = 0;
	e->domid = e->vcpu = e->has = e->kind = 0;
}

/* Domain id of the idle domain in scheduler records. */
#define XF_DOMID_IDLE 0x7fff

/* True for the kinds whose va is the address of a page-table entry, not of what it maps. */
int xf_kind_writes_pte(unsigned kind);

/*
 * Size of a guest's PTE in the record, as log2 of bytes: 2 for the ids that only two-level guests
 * have (PTWR_EMULATION of a non-PAE Xen, SHADOW records of guest level 2), else 3.
 */
unsigned xf_pte_shift(uint32_t raw_id);

/* Name of a kind as the views show it; "?" for a number that is none (of a database that lies). */
const char *xf_kind_name(unsigned kind);
/* What it is, in words; NULL for a number that is none. */
const char *xf_kind_what(unsigned kind);

/* Number of a kind by its name; XF_KIND_NONE if there is none. */
enum xf_kind xf_kind_by_name(const char *name);

#endif
