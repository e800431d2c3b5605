/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the numbers of x86 and of Xen mean: bits of page-table entries and error codes, hypercalls,
 * classes and ids of records.  What a record's words are stands in collector/trace/record.c.
 * In: numbers.  Out: names; text in the caller's buffer.
 */
#ifndef XF_SCHEMAS_XEN_H
#define XF_SCHEMAS_XEN_H

#include <stddef.h>
#include <stdint.h>

/*
 * Flags of a page-table entry, from the Intel and AMD manuals.
 * X(name, bit, letter in narrow columns, word)
 */
#define XF_PTE_FLAGS(X)                \
	X(PRESENT, 0, 'P', "P")        \
	X(WRITE, 1, 'W', "RW")         \
	X(USER, 2, 'U', "US")          \
	X(THROUGH, 3, 'T', "PWT")      \
	X(UNCACHED, 4, 'C', "PCD")     \
	X(ACCESSED, 5, 'A', "A")       \
	X(DIRTY, 6, 'D', "D")          \
	X(PAT_OR_LARGE, 7, 'L', "PAT") \
	X(GLOBAL, 8, 'G', "G")         \
	X(NO_EXECUTE, 63, 'N', "NX")

#define XF_PTE_PRESENT	((uint64_t)1 << 0)
#define XF_PTE_WRITE	((uint64_t)1 << 1)
#define XF_PTE_USER	((uint64_t)1 << 2)
#define XF_PTE_ACCESSED ((uint64_t)1 << 5)
#define XF_PTE_DIRTY	((uint64_t)1 << 6)

/* The frame that an entry names. */
#define XF_PTE_FRAME(pte) (((pte)&UINT64_C(0x000fffffffffffff)) >> 12)

/* Bits of a page fault's error code. */
#define XF_FAULT_PRESENT  0x01u /* the entry was there: a fault of protection */
#define XF_FAULT_WRITE	  0x02u
#define XF_FAULT_USER	  0x04u
#define XF_FAULT_RESERVED 0x08u
#define XF_FAULT_FETCH	  0x10u

#define XF_PAGE_SHIFT 12
#define XF_PAGE_SIZE  4096u

/* Hypercalls by number (Xen's public headers).  X(number, name) */
#define XF_HYPERCALLS(X)                     \
	X(0, set_trap_table)                 \
	X(1, mmu_update)                     \
	X(2, set_gdt)                        \
	X(3, stack_switch)                   \
	X(4, set_callbacks)                  \
	X(5, fpu_taskswitch)                 \
	X(6, sched_op_compat)                \
	X(7, platform_op)                    \
	X(8, set_debugreg)                   \
	X(9, get_debugreg)                   \
	X(10, update_descriptor)             \
	X(12, memory_op)                     \
	X(13, multicall)                     \
	X(14, update_va_mapping)             \
	X(15, set_timer_op)                  \
	X(16, event_channel_op_compat)       \
	X(17, xen_version)                   \
	X(18, console_io)                    \
	X(19, physdev_op_compat)             \
	X(20, grant_table_op)                \
	X(21, vm_assist)                     \
	X(22, update_va_mapping_otherdomain) \
	X(23, iret)                          \
	X(24, vcpu_op)                       \
	X(25, set_segment_base)              \
	X(26, mmuext_op)                     \
	X(27, xsm_op)                        \
	X(28, nmi_op)                        \
	X(29, sched_op)                      \
	X(30, callback_op)                   \
	X(31, xenoprof_op)                   \
	X(32, event_channel_op)              \
	X(33, physdev_op)                    \
	X(34, hvm_op)                        \
	X(35, sysctl)                        \
	X(36, domctl)                        \
	X(37, kexec_op)                      \
	X(38, tmem_op)                       \
	X(39, argo_op)                       \
	X(40, xenpmu_op)                     \
	X(41, dm_op)

/* XF_CALL_mmu_update = 1 and so on: as in Xen's headers, so that a search finds both. */
enum xf_hypercall {
#define X(number, name) XF_CALL_##name = number,
	XF_HYPERCALLS(X)
#undef X
};

/*
 * A record's id has 28 bits: the class (12), a subclass (4), a number (12).  In the subclasses of PV
 * guests, bit 8 of the number says that addresses have 64 bits.
 */
#define XF_RECORD_CLASS(id)    ((id) >> 16 & 0xfff)
#define XF_RECORD_SUBCLASS(id) ((id) >> 12 & 0xffff)
#define XF_RECORD_64	       0x100u

#define XF_CLASS_SCHED	0x002u
#define XF_CLASS_DOM0OP 0x004u
#define XF_CLASS_HVM	0x008u
#define XF_CLASS_MEM	0x010u
#define XF_CLASS_PV	0x020u
#define XF_CLASS_SHADOW 0x040u
#define XF_CLASS_HW	0x080u
#define XF_CLASS_GUEST	0x800u

#define XF_SUBCLASS_SCHED \
	0x021u /* runstates and switches, not what a scheduler writes of its own */
#define XF_SUBCLASS_PV	   0x201u
#define XF_SUBCLASS_PV_OLD 0x20fu /* before Xen 4.3 */
#define XF_SUBCLASS_PTWR   0x204u /* writable page tables: schemas/trace-points.md */

/* The ids that code asks for by number; all others are met through the table of layouts. */
#define XF_RECORD_RUNSTATE  0x21001u
#define XF_RECORD_SUBCALL   0x20200eu /* one call of a multicall */
#define XF_RECORD_UNHOOK    0x204001u
#define XF_RECORD_REHOOK    0x204002u
#define XF_RECORD_FLUSH	    0x204003u
#define XF_RECORD_PTWR_PTE4 0x20f00bu /* PTWR_EMULATION of an entry with 4 bytes */
#define XF_RECORD_PF_XEN    0x82001u

/* The first word of what xentrace writes before each pCPU's records: id 0x1f003, two words, no TSC. */
#define XF_WINDOW_MARK 0x2001f003u

/* arg1 of the records of writable page tables. */
#define XF_HOOK_INACTIVE 0x001u /* of the two hooks */
#define XF_HOOK_FOREIGN	 0x100u /* rehook by a vCPU that is not the hook's */

/* Name of a hypercall; NULL for a number that has none. */
const char *xf_hypercall_name(uint64_t number);

/* Name of a class of records whose single records may be unknown; NULL = none of them. */
const char *xf_record_class_name(uint32_t class);

#define XF_WORDS 160 /* a buffer of this size holds the longest of these texts */

/* "write, user, protection": the bits of a page fault's error code. */
const char *xf_error_code_text(uint64_t error_code, char *text, size_t size);

/* "P RW US A D NX": the flags of a page-table entry, "-" = none. */
const char *xf_pte_flags(uint64_t pte, char *text, size_t size);

/*
 * "PWU--AD--N": a letter or "-" for each flag, so that they stand below each other.  which: only the
 * flags with these letters, NULL = all; size: more than there are flags.
 */
const char *xf_pte_letters(uint64_t pte, const char *which, char *text, size_t size);

#endif
