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
#define XF_SUBCLASS_FEW	   0x208u /* trace points of flushes and page types, the same page */

/* The ids that code asks for by number; all others are met through the table of layouts. */
#define XF_RECORD_RUNSTATE  0x21001u
#define XF_RECORD_SUBCALL   0x20200eu /* one call of a multicall */
#define XF_RECORD_UNHOOK    0x204001u
#define XF_RECORD_REHOOK    0x204002u
#define XF_RECORD_FLUSH	    0x204003u
#define XF_RECORD_PTWR_PTE4 0x20f00bu /* PTWR_EMULATION of an entry with 4 bytes */
#define XF_RECORD_PF_XEN    0x82001u

/* The trace points of hypervisor/: flushes, and what becomes of page tables. */
#define XF_RECORD_TLB_FLUSH  0x208001u
#define XF_RECORD_FLUSH_IPI  0x208002u
#define XF_RECORD_MMUEXT     0x208004u /* one operation */
#define XF_RECORD_FILTER     0x208005u
#define XF_RECORD_MMU_UPDATE 0x204011u /* one entry */

/*
 * Is it a record of those?  Stock Xen has none, and what is concluded from its records does not look
 * at them.
 */
static inline int xf_record_is_point(uint32_t id)
{
	return XF_RECORD_SUBCLASS(id) == XF_SUBCLASS_FEW || (id & 0xffffff0u) == 0x204010u;
}

/* Xen's own code lies below this address and 4 GiB more: the other half of a caller's low word. */
#define XF_XEN_TEXT UINT64_C(0xffff82d000000000)

/* What Xen was at when it flushed, as the records number it.  X(number, enum, name) */
#define XF_FLUSH_CAUSES(X)                           \
	X(0, UNKNOWN, "unknown")                     \
	X(1, MMUEXT, "mmuext")                       \
	X(2, MMU_UPDATE, "mmu_update")               \
	X(3, UPDATE_VA_MAPPING, "update_va_mapping") \
	X(4, PTWR, "ptwr")                           \
	X(5, PRIVOP, "privop")                       \
	X(6, TYPE_CHANGE, "type_change")             \
	X(7, GRANT, "grant")                         \
	X(8, ALLOC, "alloc")                         \
	X(9, PAGING, "paging")                       \
	X(10, IPI, "ipi")                            \
	X(11, CLOCK, "clock")                        \
	X(12, XEN_MAP, "xen_map")

enum xf_flush_cause {
#define X(number, name, text) XF_FOR_##name = number,
	XF_FLUSH_CAUSES(X)
#undef X
};

/*
 * arg1 of the events flush (today's) and flush_filter.  Low half: the flush's flags; CPUs before the
 * filter, and left.
 */
#define XF_FLUSH_REMOTE(arg1) ((unsigned)((arg1) >> 32 & 0x7fff)) /* CPUs but for its own */
#define XF_FLUSH_LOCAL(arg1)  ((unsigned)((arg1) >> 47 & 1))
#define XF_FLUSH_CAUSE(arg1)  ((unsigned)((arg1) >> 48 & 0xff))
#define XF_FLUSH_DETAIL(arg1) ((unsigned)((arg1) >> 56))

/* Commands of mmuext_op (Xen's public headers).  X(number, name, its first argument is a frame) */
#define XF_MMUEXT_COMMANDS(X)        \
	X(0, PIN_L1_TABLE, 1)        \
	X(1, PIN_L2_TABLE, 1)        \
	X(2, PIN_L3_TABLE, 1)        \
	X(3, PIN_L4_TABLE, 1)        \
	X(4, UNPIN_TABLE, 1)         \
	X(5, NEW_BASEPTR, 1)         \
	X(6, TLB_FLUSH_LOCAL, 0)     \
	X(7, INVLPG_LOCAL, 0)        \
	X(8, TLB_FLUSH_MULTI, 0)     \
	X(9, INVLPG_MULTI, 0)        \
	X(10, TLB_FLUSH_ALL, 0)      \
	X(11, INVLPG_ALL, 0)         \
	X(12, FLUSH_CACHE, 0)        \
	X(13, SET_LDT, 0)            \
	X(15, NEW_USER_BASEPTR, 1)   \
	X(16, CLEAR_PAGE, 1)         \
	X(17, COPY_PAGE, 1)          \
	X(18, FLUSH_CACHE_GLOBAL, 0) \
	X(19, MARK_SUPER, 1)         \
	X(20, UNMARK_SUPER, 1)

/* Name of such a command; NULL for a number that has none. */
const char *xf_mmuext_name(uint64_t command);
/* Is its first argument a machine frame, and not an address? */
int xf_mmuext_names_frame(uint64_t command);

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
