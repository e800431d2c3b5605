// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Record decoders as a table.  In: event id, payload words.  Out: fields of an event.
 * Where Xen releases disagree, the length tells them apart; where it does not, the scheduler
 * records of the same stream do (3.2 and 3.3 put a domain/vCPU word before every HVM payload).
 */
#include "collector/trace/record.h"

#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "schemas/xen.h"

/* clang-format off */
#define VA(at)	    {XF_FIELD_VA, at, 0}
#define VA64(at)    {XF_FIELD_VA, at, 1}
#define RIP(at)	    {XF_FIELD_RIP, at, 0}
#define RIP64(at)   {XF_FIELD_RIP, at, 1}
#define ERR(at)	    {XF_FIELD_ERROR, at, 0}
#define PTE(at)	    {XF_FIELD_PTE, at, 0}
#define PTE64(at)   {XF_FIELD_PTE, at, 1}
#define G(at)	    {XF_FIELD_GL1E, at, 0}
#define G64(at)	    {XF_FIELD_GL1E, at, 1}
#define GF(at)	    {XF_FIELD_GL1E_FRAME, at, 0}
#define GF64(at)    {XF_FIELD_GL1E_FRAME, at, 1}
#define FRAME(at)   {XF_FIELD_FRAME, at, 0}
#define FRAME64(at) {XF_FIELD_FRAME, at, 1}
#define COUNT(at)   {XF_FIELD_COUNT, at, 0}
#define ARG1(at)    {XF_FIELD_ARG1, at, 0}
#define ARG1_64(at) {XF_FIELD_ARG1, at, 1}
#define ARG2(at)    {XF_FIELD_ARG2, at, 0}
#define ARG2_64(at) {XF_FIELD_ARG2, at, 1}
#define OWNER(at)   {XF_FIELD_OWNER, at, 0}
#define WHO(at)	    {XF_FIELD_WHO, at, 0}
#define CALLER(at)  {XF_FIELD_CALLER, at, 0}
#define HIGH(at)    {XF_FIELD_ARG1_HIGH, at, 0}
#define CAUSE(at)   {XF_FIELD_CAUSE, at, 0}
#define FRAME3(at)  {XF_FIELD_CR3_FRAME, at, 1}
#define MMUEXT(at)  {XF_FIELD_MMUEXT, at, 1}
#define ENTRY(at)   {XF_FIELD_ENTRY, at, 1}
#define CR(at)	    {XF_FIELD_CR, at, 0}
#define CR3(at)	    {XF_FIELD_CR3, at, 0}
#define CR3_64(at)  {XF_FIELD_CR3, at, 1}

/* V(id, words, kind, role, name, fields...): a layout of the variable format; F: of the fixed ones */
#define V(id, words, kind, role, name, ...) {id, words, 0, kind, XF_ROLE_##role, name, {__VA_ARGS__}}
#define F(id, kind, role, name, ...)	    {id, 5, 1, kind, XF_ROLE_##role, name, {__VA_ARGS__}}
/* a PV record: its id before 4.3 and since, for 32-bit and 64-bit guests (words, fields each) */
#define PV32(minor, ...) V(0x20f000 + minor, __VA_ARGS__), V(0x201000 + minor, __VA_ARGS__)
#define PV64(minor, ...) V(0x20f100 + minor, __VA_ARGS__), V(0x201100 + minor, __VA_ARGS__)
#define NO XF_KIND_NONE
#define GPA(at)	    {XF_FIELD_GPA, at, 0}
#define GPA64(at)   {XF_FIELD_GPA, at, 1}

/* SHADOW records that carry only the VA, and the UNSHADOW ones (a flags word since 4.19) */
#define SHADOW_VA(minor, kind, role, name)                                                      \
	V(0x40f000 + minor, 1, kind, role, name, VA(0)),                                        \
	V(0x40f100 + minor, 1, kind, role, name, VA(0)),                                        \
	V(0x40f200 + minor, 2, kind, role, name, VA64(0))
#define UNSHADOW(minor, name)                                                                   \
	V(0x40f000 + minor, 2, XF_UNSHADOW, NONE, name, FRAME(0), VA(1)),                       \
	V(0x40f000 + minor, 3, XF_UNSHADOW, NONE, name, FRAME(0), VA(1), ARG1(2)),              \
	V(0x40f100 + minor, 3, XF_UNSHADOW, NONE, name, FRAME64(0), VA(2)),                     \
	V(0x40f100 + minor, 4, XF_UNSHADOW, NONE, name, FRAME64(0), VA(2), ARG1(3)),            \
	V(0x40f200 + minor, 4, XF_UNSHADOW, NONE, name, FRAME64(0), VA64(2)),                   \
	V(0x40f200 + minor, 5, XF_UNSHADOW, NONE, name, FRAME64(0), VA64(2), ARG1(4))
#define SHADOW_GFN(minor, kind, name)                                                           \
	V(0x40f000 + minor, 1, kind, NONE, name, FRAME(0)),                                     \
	V(0x40f000 + minor, 2, kind, NONE, name, FRAME64(0))
/* an HVM payload of 3.4 on; 3.4 and 4.0 write one spare zero word behind it */
#define HVM(id, words, ...) V(id, words, __VA_ARGS__), V(id, words + 1, __VA_ARGS__)

static const struct xf_layout layouts[] = {
	/* the trace buffer itself */
	V(0x1f001, 1, XF_LOST, LOST, "LOST_RECORDS", COUNT(0)),
	V(0x1f001, 4, XF_LOST, LOST, "LOST_RECORDS", COUNT(0)),
	V(0x1f002, XF_WORDS_ANY, NO, WRAP, "WRAP_BUFFER"),
	F(0x1f001, XF_LOST, LOST, "LOST_RECORDS", COUNT(0)),

	/* who runs where; since 3.4 */
	V(0x21002, 1, NO, CONTINUE, "CONTINUE_RUNNING"),
	V(0x2800a, 4, NO, SWITCH, "SWITCH"),
	V(0x2800e, 2, NO, SCHED, "SWITCH_INFPREV"),
	V(0x2800e, 3, NO, WAS, "SWITCH_INFPREV"),
	V(0x2800f, 3, NO, SCHED, "SWITCH_INFNEXT"),
	V(0x2800f, 4, NO, SCHED, "SWITCH_INFNEXT"),
	V(0x28011, 4, NO, WAS_IS, "SWITCH_INFCONT"),
	/* 3.2, 3.3 */
	V(0x2f00a, 4, NO, SWITCH, "SWITCH"),
	V(0x2f00e, 2, NO, SCHED, "SWITCH_INFPREV"),
	V(0x2f00f, 3, NO, SCHED, "SWITCH_INFNEXT"),
	F(0x2f00a, NO, SWITCH, "SWITCH"),
	F(0x2f00e, NO, SCHED, "SWITCH_INFPREV"),
	F(0x2f00f, NO, SCHED, "SWITCH_INFNEXT"),

	V(0x41001, 1, XF_DOMAIN_ADD, NONE, "DOM_ADD", ARG1(0)),
	V(0x41002, 1, XF_DOMAIN_REMOVE, NONE, "DOM_REM", ARG1(0)),
	V(0x28001, 1, XF_DOMAIN_ADD, NONE, "SCHED_DOM_ADD", ARG1(0)),
	V(0x28002, 1, XF_DOMAIN_REMOVE, NONE, "SCHED_DOM_REM", ARG1(0)),
	V(0x2f001, 1, XF_DOMAIN_ADD, NONE, "SCHED_DOM_ADD", ARG1(0)),
	V(0x2f002, 1, XF_DOMAIN_REMOVE, NONE, "SCHED_DOM_REM", ARG1(0)),
	F(0x2f001, XF_DOMAIN_ADD, NONE, "SCHED_DOM_ADD", ARG1(0)),
	F(0x2f002, XF_DOMAIN_REMOVE, NONE, "SCHED_DOM_REM", ARG1(0)),

	/* PV guests */
	PV32(4, 3, XF_PAGE_FAULT, INJECT, "PV_PAGE_FAULT", RIP(0), VA(1), ERR(2)),
	PV64(4, 5, XF_PAGE_FAULT, INJECT, "PV_PAGE_FAULT", RIP64(0), VA64(2), ERR(4)),
	PV32(3, 2, XF_TRAP, NONE, "PV_TRAP", RIP(0), ARG1(1)),
	PV64(3, 3, XF_TRAP, NONE, "PV_TRAP", RIP64(0), ARG1(2)),
	PV32(5, 1, XF_INVALID_OP, NONE, "PV_FORCED_INVALID_OP", RIP(0)),
	PV64(5, 2, XF_INVALID_OP, NONE, "PV_FORCED_INVALID_OP", RIP64(0)),
	PV32(6, 1, XF_PRIVOP, NONE, "PV_EMULATE_PRIVOP", RIP(0)),
	PV64(6, 2, XF_PRIVOP, NONE, "PV_EMULATE_PRIVOP", RIP64(0)),
	V(0x20f007, 1, XF_PRIVOP, NONE, "PV_EMULATE_4GB", RIP(0)),
	PV32(8, 0, XF_FPU, NONE, "PV_MATH_STATE_RESTORE"),
	PV64(8, 0, XF_FPU, NONE, "PV_MATH_STATE_RESTORE"),
	PV32(9, 2, XF_FIXUP, PV_FIXUP, "PV_PAGING_FIXUP", RIP(0), VA(1)),
	PV64(9, 4, XF_FIXUP, PV_FIXUP, "PV_PAGING_FIXUP", RIP64(0), VA64(2)),
	PV32(10, 2, XF_LDT_FAULT, NONE, "PV_GDT_LDT_MAPPING_FAULT", RIP(0), ARG1(1)),
	PV64(10, 4, XF_LDT_FAULT, NONE, "PV_GDT_LDT_MAPPING_FAULT", RIP64(0), ARG2_64(2)),
	V(0x20f00b, 3, XF_EMULATE, NONE, "PV_PTWR_EMULATION", PTE(0), VA(1), RIP(2)),
	PV64(11, 6, XF_EMULATE, NONE, "PV_PTWR_EMULATION", PTE64(0), VA64(2), RIP64(4)),
	PV32(12, 4, XF_EMULATE, NONE, "PV_PTWR_EMULATION_PAE", PTE64(0), VA(2), RIP(3)),
	PV32(1, 2, XF_HYPERCALL, HYPERCALL_OLD, "PV_HYPERCALL", RIP(0), ARG1(1)),
	PV64(1, 3, XF_HYPERCALL, HYPERCALL_OLD, "PV_HYPERCALL", RIP64(0), ARG1(2)),
	V(0x20100d, XF_WORDS_ANY, XF_HYPERCALL, HYPERCALL, "PV_HYPERCALL_V2"),
	V(0x20200e, XF_WORDS_ANY, XF_HYPERCALL, SUBCALL, "PV_HYPERCALL_SUBCALL"),

	/* the trace points for writable page tables: schemas/trace-points.md */
	V(0x204001, 5, XF_UNHOOK, NONE, "PTWR_UNHOOK", VA(0), RIP(1), ARG2(2), FRAME(3), ARG1(4)),
	V(0x204101, 7, XF_UNHOOK, NONE, "PTWR_UNHOOK", VA64(0), RIP64(2), ARG2(4), FRAME(5), ARG1(6)),
	V(0x204002, 5, XF_REHOOK, NONE, "PTWR_REHOOK", VA(0), ARG2(1), FRAME(2), COUNT(3), ARG1(4)),
	V(0x204102, 6, XF_REHOOK, NONE, "PTWR_REHOOK", VA64(0), ARG2(2), FRAME(3), COUNT(4), ARG1(5)),
	V(0x204102, 7, XF_REHOOK, NONE, "PTWR_REHOOK", VA64(0), ARG2(2), FRAME64(3), COUNT(5), ARG1(6)),
	V(0x204003, 3, XF_FLUSH, NONE, "PTWR_FLUSH", VA(0), ARG2(1), ARG1(2)),
	V(0x204103, 4, XF_FLUSH, NONE, "PTWR_FLUSH", VA64(0), ARG2(2), ARG1(3)),
	V(0x204103, 5, XF_FLUSH, NONE, "PTWR_FLUSH", VA64(0), ARG2_64(2), ARG1(4)),
	V(0x204004, 5, XF_EMULATE, NONE, "PTWR_EMULATE", VA(0), RIP(1), PTE(2), ARG1(4)),
	V(0x204104, 7, XF_EMULATE, NONE, "PTWR_EMULATE", VA64(0), RIP64(2), PTE64(4), ARG1(6)),
	V(0x204005, 3, XF_SPURIOUS, NONE, "PTWR_SPURIOUS", VA(0), RIP(1), ERR(2)),
	V(0x204105, 5, XF_SPURIOUS, NONE, "PTWR_SPURIOUS", VA64(0), RIP64(2), ERR(4)),
	F(0x204001, XF_UNHOOK, NONE, "PTWR_UNHOOK", VA(0), RIP(1), ARG2(2), FRAME(3), ARG1(4)),
	F(0x204002, XF_REHOOK, NONE, "PTWR_REHOOK", VA(0), ARG2(1), FRAME(2), COUNT(3), ARG1(4)),
	F(0x204003, XF_FLUSH, NONE, "PTWR_FLUSH", VA(0), ARG2(1), ARG1(2)),
	F(0x204004, XF_EMULATE, NONE, "PTWR_EMULATE", VA(0), RIP(1), PTE(2), ARG1(4)),
	F(0x204005, XF_SPURIOUS, NONE, "PTWR_SPURIOUS", VA(0), RIP(1), ERR(2)),
	F(0x201004, XF_PAGE_FAULT, INJECT, "PV_PAGE_FAULT", RIP(0), VA(1), ERR(2)),

	/* the trace points of hypervisor/: the same page */
	V(0x208001, 7, XF_FLUSH, NONE, "FLUSH", ARG1(0), HIGH(3), VA64(1), WHO(4), ARG2(5), CALLER(6)),
	V(0x208002, 4, XF_FLUSH_IPI, NONE, "FLUSH_IPI", ARG1(0), VA64(1), WHO(3)),
	V(0x208003, 5, XF_CR3, NONE, "CR3", FRAME3(0), WHO(2), ARG1(3), CALLER(4)),
	V(0x208004, 6, XF_MMUEXT, NONE, "MMUEXT", ARG1(0), MMUEXT(1), ARG2_64(3), WHO(5)),
	V(0x208005, 6, XF_FLUSH_FILTER, NONE, "FILTER", ARG1(0), CAUSE(1), WHO(2), ARG2_64(3), CALLER(5)),
	V(0x208005, 7, XF_FLUSH_FILTER, NONE, "FILTER", ARG1(0), CAUSE(1), WHO(2), ARG2_64(3), CALLER(5),
		FRAME(6)),
	V(0x20800a, 4, XF_FLUSH_CPUS, NONE, "FLUSH_CPUS", ARG1(0), ARG2_64(1), WHO(3)),
	V(0x20800b, 1, XF_FLUSH_END, NONE, "FLUSH_END", WHO(0)),
	V(0x208006, 4, XF_VALIDATE, NONE, "VALIDATE", FRAME64(0), ARG1(2), WHO(3)),
	V(0x208007, 5, XF_VALIDATE, NONE, "VALIDATE_END", FRAME64(0), ARG1(2), WHO(3), ARG2(4)),
	V(0x208008, 4, XF_DEVALIDATE, NONE, "DEVALIDATE", FRAME64(0), ARG1(2), WHO(3)),
	V(0x208009, 5, XF_DEVALIDATE, NONE, "DEVALIDATE_END", FRAME64(0), ARG1(2), WHO(3), ARG2(4)),
	V(0x204011, 6, XF_UPDATE, NONE, "MMU_UPDATE", ENTRY(0), PTE64(2), WHO(4), ARG2(5)),
	V(0x204012, 7, XF_UPDATE, NONE, "UPDATE_VA", VA64(0), PTE64(2), ARG1(4), WHO(5), ARG2(6)),
	V(0x204013, 7, XF_PTE, NONE, "PTE", ARG1(6), ENTRY(0), ARG2_64(2), PTE64(4)),

	/* shadow paging */
	V(0x40f001, 3, XF_NOT_SHADOW, GUEST_FAULT, "SHADOW_NOT_SHADOW", G(0), VA(1), ARG1(2)),
	V(0x40f101, 4, XF_NOT_SHADOW, GUEST_FAULT, "SHADOW_NOT_SHADOW", G64(0), VA(2), ARG1(3)),
	V(0x40f201, 5, XF_NOT_SHADOW, GUEST_FAULT, "SHADOW_NOT_SHADOW", G64(0), VA64(2), ARG1(4)),
	SHADOW_VA(2, XF_NOT_SHADOW, GUEST_FAULT, "SHADOW_FAST_PROPAGATE"),
	SHADOW_VA(3, XF_MMIO, NONE, "SHADOW_FAST_MMIO"),
	SHADOW_VA(4, XF_SPURIOUS, NONE, "SHADOW_FALSE_FAST_PATH"),
	SHADOW_VA(5, XF_MMIO, NONE, "SHADOW_MMIO"),
	V(0x40f006, 3, XF_FIXUP, SHADOW_FIXUP, "SHADOW_FIXUP", G(0), VA(1), ARG1(2)),
	V(0x40f106, 4, XF_FIXUP, SHADOW_FIXUP, "SHADOW_FIXUP", G64(0), VA(2), ARG1(3)),
	V(0x40f206, 5, XF_FIXUP, SHADOW_FIXUP, "SHADOW_FIXUP", G64(0), VA64(2), ARG1(4)),
	SHADOW_VA(7, XF_DYING, NONE, "SHADOW_DOMF_DYING"),
	V(0x40f008, 4, XF_EMULATE, NONE, "SHADOW_EMULATE", GF(0), PTE(1), VA(2), ARG1(3)),
	V(0x40f108, 6, XF_EMULATE, NONE, "SHADOW_EMULATE", GF64(0), PTE64(2), VA(4), ARG1(5)),
	V(0x40f208, 7, XF_EMULATE, NONE, "SHADOW_EMULATE", GF64(0), PTE64(2), VA64(4), ARG1(6)),
	UNSHADOW(9, "SHADOW_UNSHADOW_USER"),
	UNSHADOW(10, "SHADOW_UNSHADOW_EVTINJ"),
	UNSHADOW(11, "SHADOW_UNSHADOW_UNHANDLED"),
	SHADOW_GFN(12, XF_WRMAP, "SHADOW_WRMAP_BF"),
	SHADOW_GFN(13, XF_UNPIN, "SHADOW_PREALLOC_UNPIN"),
	SHADOW_GFN(14, XF_REHOOK, "SHADOW_RESYNC_FULL"),
	SHADOW_GFN(15, XF_RESYNC_ONLY, "SHADOW_RESYNC_ONLY"),

	/* HVM and PVH guests, 3.4 on */
	HVM(0x81001, 0, NO, VMENTRY, "HVM_VMENTRY"),
	HVM(0x81401, 0, NO, VMENTRY, "HVM_VMENTRY_NESTED"),
	HVM(0x81002, 2, NO, VMEXIT, "HVM_VMEXIT", RIP(1), ARG1(0)),
	HVM(0x81102, 3, NO, VMEXIT, "HVM_VMEXIT", RIP64(1), ARG1(0)),
	HVM(0x81402, 2, NO, VMEXIT, "HVM_VMEXIT_NESTED", RIP(1), ARG1(0)),
	HVM(0x81502, 3, NO, VMEXIT, "HVM_VMEXIT_NESTED", RIP64(1), ARG1(0)),
	V(0x81003, 2, NO, VMEXIT, "HVM_SVM_EXIT", RIP(1), ARG1(0)),
	V(0x81103, 3, NO, VMEXIT, "HVM_SVM_EXIT", RIP64(1), ARG1(0)),
	HVM(0x82001, 2, XF_FIXUP, NONE, "HVM_PF_XEN", ERR(0), VA(1)),
	HVM(0x82101, 3, XF_FIXUP, NONE, "HVM_PF_XEN", ERR(0), VA64(1)),
	HVM(0x82002, 2, XF_PAGE_FAULT, INJECT, "HVM_PF_INJECT", ERR(0), VA(1)),
	HVM(0x82102, 3, XF_PAGE_FAULT, INJECT, "HVM_PF_INJECT", ERR(0), VA64(1)),
	HVM(0x82009, 2, XF_CR_WRITE, NONE, "HVM_CR_WRITE", CR(0), CR3(1)),
	HVM(0x82109, 3, XF_CR_WRITE, NONE, "HVM_CR_WRITE", CR(0), CR3_64(1)),
	HVM(0x82014, 2, XF_INVLPG, NONE, "HVM_INVLPG", VA(1)),
	HVM(0x82114, 3, XF_INVLPG, NONE, "HVM_INVLPG", VA64(1)),

	/* nested paging; the flag of 64 bits in an id is that of the address */
	HVM(0x82021, 6, XF_NPF, NPF, "HVM_NPF", GPA64(0), PTE64(2), ERR(4), ARG1(5)),
	HVM(0x82012, 1, XF_HYPERCALL, NONE, "HVM_VMMCALL", ARG1(0)),
	HVM(0x82017, 2, XF_MMIO, NONE, "HVM_IOMEM_READ", GPA(0), ARG1(1)),
	V(0x82117, 3, XF_MMIO, NONE, "HVM_IOMEM_READ", GPA64(0), ARG1(2)),
	V(0x82117, 4, XF_MMIO, NONE, "HVM_IOMEM_READ", GPA64(0), ARG1_64(2)),
	HVM(0x82217, 2, XF_MMIO, NONE, "HVM_IOMEM_WRITE", GPA(0), ARG1(1)),
	V(0x82317, 3, XF_MMIO, NONE, "HVM_IOMEM_WRITE", GPA64(0), ARG1(2)),
	V(0x82317, 4, XF_MMIO, NONE, "HVM_IOMEM_WRITE", GPA64(0), ARG1_64(2)),
	V(0x10f004, 6, XF_P2M, P2M, "SET_P2M_ENTRY", FRAME64(0), PTE64(2), ARG1(4), ARG2(5)),
	V(0x10f005, 4, XF_P2M, NONE, "DECREASE_RESERVATION", FRAME64(0), ARG2(2)),
	V(0x10f010, 6, XF_P2M, P2M, "POD_POPULATE", FRAME64(0), PTE64(2), ARG2(4)),
	V(0x10f011, 6, XF_P2M, NONE, "POD_ZERO_RECLAIM", FRAME64(0), PTE64(2), ARG2(4)),
	V(0x10f012, 4, XF_P2M, NONE, "POD_SUPERPAGE_SPLINTER", FRAME64(0), ARG2(2)),
	V(0x28003, 2, XF_PAUSE, NONE, "SCHED_SLEEP", ARG1(0), ARG2(1)),
	V(0x2f003, 2, XF_PAUSE, NONE, "SCHED_SLEEP", ARG1(0), ARG2(1)),

	/* 3.1, fixed: item 0 is domain << 16 + vCPU */
	F(0x81001, NO, VMENTRY, "HVM_VMENTRY"),
	F(0x81002, NO, VMEXIT, "HVM_VMEXIT", RIP(0)),
	F(0x82001, XF_FIXUP, NONE, "HVM_PF_XEN", VA(1), ERR(2)),
	F(0x82002, XF_PAGE_FAULT, INJECT, "HVM_PF_INJECT", VA(1), ERR(2)),
};

/* The same ids in Xen 3.2 and 3.3, told by their scheduler records: word 0 names the vCPU. */
static const struct xf_layout prefixed[] = {
	V(0x81001, 1, NO, VMENTRY, "HVM_VMENTRY", OWNER(0)),
	V(0x81002, 3, NO, VMEXIT, "HVM_VMEXIT", OWNER(0), RIP(2)),
	V(0x81003, 4, NO, VMEXIT, "HVM_VMEXIT64", OWNER(0), RIP64(2)),
	V(0x81102, 4, NO, VMEXIT, "HVM_VMEXIT", OWNER(0), RIP64(2)),
	V(0x82001, 3, XF_FIXUP, NONE, "HVM_PF_XEN", OWNER(0), ERR(1), VA(2)),
	V(0x82020, 4, XF_FIXUP, NONE, "HVM_PF_XEN64", OWNER(0), ERR(1), VA64(2)),
	V(0x82101, 4, XF_FIXUP, NONE, "HVM_PF_XEN", OWNER(0), ERR(1), VA64(2)),
	V(0x82002, 3, XF_PAGE_FAULT, INJECT, "HVM_PF_INJECT", OWNER(0), VA(1), ERR(2)),
	V(0x82102, 4, XF_PAGE_FAULT, INJECT, "HVM_PF_INJECT", OWNER(0), ERR(1), VA64(2)),
	V(0x82009, 3, XF_CR_WRITE, NONE, "HVM_CR_WRITE", OWNER(0), CR(1), CR3(2)),
	V(0x82109, 4, XF_CR_WRITE, NONE, "HVM_CR_WRITE", OWNER(0), CR(1), CR3_64(2)),
	V(0x82014, 3, XF_INVLPG, NONE, "HVM_INVLPG", OWNER(0), VA(2)),
	V(0x82014, 4, XF_INVLPG, NONE, "HVM_INVLPG", OWNER(0), VA(2)),
	V(0x82012, 2, XF_HYPERCALL, NONE, "HVM_VMMCALL", OWNER(0), ARG1(1)),
	V(0x82017, XF_WORDS_ANY, NO, NONE, "HVM_MMIO_ASSIST"),
	V(0x82114, 4, XF_INVLPG, NONE, "HVM_INVLPG", OWNER(0), VA64(2)),
};
/* clang-format on */

/* A vCPU becomes, stays or was offline only by a pause, or by its domain's end. */
#define RUNSTATE(kind)                                                               \
	{                                                                            \
		XF_RECORD_RUNSTATE, 1, 0, kind, XF_ROLE_RUNSTATE, "RUNSTATE_CHANGE", \
		{                                                                    \
			{                                                            \
				XF_FIELD_VCPU, 0, 0                                  \
			}                                                            \
		}                                                                    \
	}
static const struct xf_layout runstate = RUNSTATE(XF_KIND_NONE), to_offline = RUNSTATE(XF_PAUSE),
			      from_offline = RUNSTATE(XF_UNPAUSE);

static const struct xf_layout *runstate_layout(uint32_t id)
{
	unsigned from = id >> 8 & 3, to = id >> 4 & 3;

	if (from == to || (from != 3 && to != 3))
		return &runstate;
	return to == 3 ? &to_offline : &from_offline;
}

#ifndef XF_SLOTS      /* a test makes it small */
#define XF_SLOTS 4096 /* a power of two, far more than a sane stream has ids */
#endif
#define MAX_SLOTS (XF_SLOTS / 4 * 3)
#define ANSWERS	  256	       /* a power of two */
#define MAX_MORE  (256 * 1024) /* damage can make up millions of ids: a bound for the memory */

/*
 * Slots never move: callers keep them while others are made.  What finds no place in the fast table
 * goes to `more`, beyond MAX_MORE only if it can be decoded; the rest share one slot.
 */
struct xf_record_table {
	bool fixed;
	bool has_prefix; /* 3.2 or 3.3 */
	unsigned used;
	struct xf_record_slot spare;
	struct xf_seed seed;
	uint16_t index[XF_SLOTS]; /* by a hash of id and length: number of a slot + 1 */
	/* answers given before, by some bits of what was asked: a stream has few ids */
	struct {
		uint64_t key;
		struct xf_record_slot *slot; /* NULL = none */
	} answers[ANSWERS];
	struct xf_record_slot slots[MAX_SLOTS];
	struct xf_record_slot **more;
	size_t nmore, more_room;
	struct xf_map by_id; /* id and length -> slot in more */
};

const char *xf_stream_format_name(enum xf_stream_format format)
{
	static const char *const names[] = {"variable", "fixed64", "fixed32"};

	return names[format];
}

struct xf_record_table *xf_record_table_new(enum xf_stream_format format)
{
	struct xf_record_table *table = calloc(1, sizeof(*table));

	if (table) {
		table->fixed = format != XF_STREAM_VARIABLE;
		table->seed = xf_hash_seed();
	}
	return table;
}

void xf_record_table_free(struct xf_record_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->nmore; i++)
		free(table->more[i]);
	free(table->more);
	xf_map_free(&table->by_id);
	free(table);
}

static const struct xf_layout *search(const struct xf_layout *list, size_t n, bool fixed,
	uint32_t id, unsigned words, const char **name)
{
	for (size_t i = 0; i < n; i++) {
		if (list[i].id != id || list[i].fixed != fixed)
			continue;
		*name = list[i].name;
		if (list[i].words == words || list[i].words == XF_WORDS_ANY)
			return &list[i];
	}
	return NULL;
}

/* Decides what a slot means; again when the stream turns out to be of 3.2 or 3.3. */
static void resolve(struct xf_record_table *table, struct xf_record_slot *slot)
{
	uint32_t class = slot->id >> 16; /* of the fixed formats, 16 bits */

	slot->layout = NULL;
	slot->name = NULL;
	if (table->has_prefix)
		slot->layout = search(prefixed, sizeof(prefixed) / sizeof(prefixed[0]), false,
			slot->id, slot->words, &slot->name);
	if (!slot->layout && (slot->id & 0xffff00f) == XF_RECORD_RUNSTATE &&
		(slot->id & 0xf00) < 0x400 && (slot->id & 0xf0) < 0x40 && !table->fixed) {
		slot->name = runstate.name;
		if (slot->words == 1 || slot->words == 5)
			slot->layout = runstate_layout(slot->id);
	}
	if (!slot->layout && !slot->name)
		slot->layout = search(layouts, sizeof(layouts) / sizeof(layouts[0]), table->fixed,
			slot->id, slot->words, &slot->name);
	slot->fits = slot->layout != NULL;
	/* classes of which only some are decoded; the others are known, but tell us nothing */
	if (!slot->name && (slot->name = xf_record_class_name(class)))
		slot->fits = true;
	/* grants of 2005 and 2006 stood on bits that three classes have since then */
	if (table->fixed && class == 0x00a) {
		slot->name = "MEM record";
		slot->fits = true;
	}
}

static void note_release(struct xf_record_table *table, uint32_t id)
{
	if (table->fixed || table->has_prefix || (id & 0xfffff0) != 0x2f000)
		return;
	table->has_prefix = true;
	for (size_t i = 0; i < table->used; i++)
		resolve(table, &table->slots[i]);
	for (size_t i = 0; i < table->nmore; i++)
		resolve(table, table->more[i]);
}

static uint64_t key_of(uint32_t id, unsigned words)
{
	return (uint64_t)words << 32 | id;
}

/* A slot outside of the fast table; without memory the shared one. */
static struct xf_record_slot *more_slot(struct xf_record_table *table, uint32_t id, unsigned words)
{
	struct xf_record_slot slot = {.id = id, .words = (uint8_t)words}, *made;
	uint64_t key = key_of(id, words), *found = xf_map_get(&table->by_id, key);

	if (found)
		return (struct xf_record_slot *)(uintptr_t)*found;
	note_release(table, id);
	resolve(table, &slot);
	if (table->nmore >= MAX_MORE && !slot.layout)
		return &table->spare;
	if (table->nmore == table->more_room) {
		size_t room = table->more_room ? 2 * table->more_room : 1024;
		struct xf_record_slot **bigger =
			realloc(table->more, room * sizeof(struct xf_record_slot *));

		if (!bigger)
			return &table->spare;
		table->more = bigger;
		table->more_room = room;
	}
	made = malloc(sizeof(*made));
	found = made ? xf_map_put(&table->by_id, key) : NULL;
	if (!found) {
		free(made);
		return &table->spare;
	}
	*made = slot;
	*found = (uintptr_t)made;
	table->more[table->nmore++] = made;
	return made;
}

/* A slot of the fast table, made if it is new; NULL = that is full. */
static struct xf_record_slot *fast_slot(struct xf_record_table *table, uint32_t id, unsigned words)
{
	size_t at = xf_hash(table->seed, key_of(id, words)) & (XF_SLOTS - 1);
	struct xf_record_slot *slot;

	for (; table->index[at]; at = (at + 1) & (XF_SLOTS - 1)) {
		slot = &table->slots[table->index[at] - 1];
		if (slot->id == id && slot->words == words)
			return slot;
	}
	if (table->used == MAX_SLOTS)
		return NULL;
	slot = &table->slots[table->used++];
	table->index[at] = (uint16_t)table->used;
	*slot = (struct xf_record_slot){.id = id, .words = (uint8_t)words};
	note_release(table, id);
	resolve(table, slot);
	return slot;
}

struct xf_record_slot *xf_record_slot(struct xf_record_table *table, uint32_t id, unsigned words)
{
	uint64_t key = key_of(id, words);
	unsigned at = (id ^ id >> 12 ^ words << 5) & (ANSWERS - 1);

	if (table->answers[at].key != key || !table->answers[at].slot) {
		struct xf_record_slot *slot = fast_slot(table, id, words);

		if (!slot)
			return more_slot(table, id, words);
		table->answers[at].key = key;
		table->answers[at].slot = slot;
	}
	return table->answers[at].slot;
}

const struct xf_record_slot *xf_record_next(const struct xf_record_table *table, size_t *cursor)
{
	size_t n = table->used + table->nmore;

	while (*cursor < n) {
		size_t i = (*cursor)++;
		const struct xf_record_slot *slot =
			i < table->used ? &table->slots[i] : table->more[i - table->used];

		if (slot->records)
			return slot;
	}
	if ((*cursor)++ == n && table->spare.records)
		return &table->spare;
	return NULL;
}

static uint64_t value(
	const struct xf_layout *layout, const struct xf_record *record, unsigned at, unsigned wide)
{
	if (layout->fixed)
		return record->items[at];
	return wide ? record->words[at] | (uint64_t)record->words[at + 1] << 32 : record->words[at];
}

/* Physical address bits 12 to 51 of an entry. */
static uint64_t frame_of(uint64_t entry)
{
	return entry >> 12 & 0xffffffffffu;
}

/* Fields whose value goes to a member as it is. */
static const struct {
	uint16_t offset, has; /* of the member in the event, 0 and 0 = not such a field */
} plain_fields[] = {
#define PLAIN(field, member, bit) [XF_FIELD_##field] = {offsetof(struct xf_event, member), bit}
	PLAIN(VA, va, XF_HAS_VA), PLAIN(RIP, rip, XF_HAS_RIP), PLAIN(PTE, pte, XF_HAS_PTE),
	PLAIN(FRAME, frame, XF_HAS_FRAME), PLAIN(COUNT, count, XF_HAS_COUNT),
	PLAIN(ARG1, arg1, XF_HAS_ARG1), PLAIN(ARG2, arg2, XF_HAS_ARG2),
	[XF_FIELD_VCPU] = {0, 0}, /* the last one: the size of the table */
#undef PLAIN
};

static void set_field(struct xf_event *event, enum xf_field field, uint64_t v)
{
	switch (field) {
	case XF_FIELD_ERROR:
		event->error_code = (uint32_t)v;
		event->has |= XF_HAS_ERROR;
		break;
	case XF_FIELD_GL1E:
		event->frame = frame_of(v);
		event->has |= XF_HAS_FRAME;
		event->pte = v;
		event->has |= XF_HAS_PTE;
		break;
	case XF_FIELD_GL1E_FRAME:
		event->frame = frame_of(v);
		event->has |= XF_HAS_FRAME;
		break;
	case XF_FIELD_CR:
		event->kind = v == 3 ? XF_CR3_WRITE : XF_CR_WRITE;
		event->arg1 = v;
		event->has |= XF_HAS_ARG1;
		break;
	case XF_FIELD_CR3:
		if (event->kind == XF_CR3_WRITE) {
			event->frame = frame_of(v);
			event->has |= XF_HAS_FRAME;
		}
		event->arg2 = v;
		event->has |= XF_HAS_ARG2;
		break;
	case XF_FIELD_OWNER:
		event->domid = (uint16_t)v;
		event->vcpu = (uint16_t)(v >> 16);
		event->has |= XF_HAS_OWNER;
		break;
	case XF_FIELD_GPA:
		event->frame = v >> 12;
		event->arg2 = v;
		event->has |= XF_HAS_FRAME | XF_HAS_ARG2;
		break;
	case XF_FIELD_WHO:
		event->domid = (uint16_t)(v >> 16);
		event->vcpu = (uint16_t)v;
		event->has |= XF_HAS_OWNER;
		break;
	case XF_FIELD_CALLER:
		event->rip = XF_XEN_TEXT | v;
		event->has |= XF_HAS_RIP;
		break;
	case XF_FIELD_ARG1_HIGH:
		event->arg1 |= v << 32;
		break;
	case XF_FIELD_CAUSE:
		event->arg1 |= v << 48;
		break;
	case XF_FIELD_CR3_FRAME:
		event->frame = frame_of(v);
		event->arg2 = v;
		event->has |= XF_HAS_FRAME | XF_HAS_ARG2;
		break;
	case XF_FIELD_MMUEXT:
		*(xf_mmuext_names_frame(event->arg1 & 0xffff) ? &event->frame : &event->va) = v;
		event->has |=
			xf_mmuext_names_frame(event->arg1 & 0xffff) ? XF_HAS_FRAME : XF_HAS_VA;
		break;
	case XF_FIELD_ENTRY:
		event->frame = frame_of(v);
		event->arg1 |= (v & 0xfff) << 32;
		event->has |= XF_HAS_FRAME | XF_HAS_ARG1;
		break;
	case XF_FIELD_VCPU:
		event->arg1 = v >> 16;
		event->arg2 = v & 0xffff;
		event->has |= XF_HAS_ARG1 | XF_HAS_ARG2;
		break;
	default:
		break;
	}
}

void xf_record_decode(
	const struct xf_layout *layout, const struct xf_record *record, struct xf_event *event)
{
	event->raw_id = record->id;
	event->kind = layout->kind;
	for (size_t i = 0; i < XF_LAYOUT_FIELDS && layout->fields[i].field; i++) {
		enum xf_field field = (enum xf_field)layout->fields[i].field;
		uint64_t v = value(layout, record, layout->fields[i].at, layout->fields[i].wide);

		if (plain_fields[field].has)
			memcpy((char *)event + plain_fields[field].offset, &v, sizeof(v));
		else
			set_field(event, field, v);
		event->has |= plain_fields[field].has;
	}
	/* 3.2 on AMD writes PF_XEN the other way round; an error code has 16 bits at the most */
	if (record->id == XF_RECORD_PF_XEN && event->error_code > 0xffff && event->va <= 0xffff) {
		uint32_t error_code = (uint32_t)event->va;

		event->va = event->error_code;
		event->error_code = error_code;
	}
}
