/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace points for TLB flushes and page tables: what goes into Xen's own functions.  The records, and
 * what their words mean: schemas/trace-points.md of xenfault.
 */
#ifndef XF_TRACE_H
#define XF_TRACE_H

#include <xen/types.h>
#include <xen/cpumask.h>

struct page_info;
struct mmuext_op;
struct domain;

/* Why a flush is made, or an entry written. */
enum {
    XF_UNKNOWN, XF_MMUEXT, XF_MMU_UPDATE, XF_UVA, XF_PTWR, XF_PRIVOP, XF_TYPE, XF_GRANT, XF_ALLOC,
    XF_PAGING, XF_IPI, XF_CLOCK, XF_XENMAP,
    XF_IN_MASK /* inside of a flush that is recorded already */
};

#define XF_VALIDATE   0x208006
#define XF_DEVALIDATE 0x208008

/* What this CPU is at: the cause in the low byte, its detail in the next one; and the page in question. */
struct xf_what { unsigned int cause; unsigned long mfn; };

struct xf_what xf_enter(unsigned int cause, unsigned long mfn, const void *caller);
void xf_leave(const struct xf_what *before);

#define XF_TO_THE_END(leave) __attribute__((__cleanup__(leave), __unused__))

/* For the rest of the block, by a declaration. */
#define XF_CAUSE(c, detail) const struct xf_what XF_TO_THE_END(xf_leave) xf_before = \
    xf_enter((c) | ((unsigned int)(detail) << 8), 0, NULL)
#define XF_CAUSE_PAGE(c, detail, mfn) const struct xf_what XF_TO_THE_END(xf_leave) xf_before = \
    xf_enter((c) | ((unsigned int)(detail) << 8), mfn, NULL)
/* Where the caller is of interest, not what it calls. */
#define XF_CAUSE_CALLER(c, detail) const struct xf_what XF_TO_THE_END(xf_leave) xf_before = \
    xf_enter((c) | ((unsigned int)(detail) << 8), 0, __builtin_return_address(0))

/* A call that stands among declarations. */
#define XF_DO(call) const int __attribute__((__unused__)) xf_done = ((call), 0)

/* A flush on several CPUs, from its begin to its end. */
struct xf_flush { struct xf_what before; unsigned int remote; };
struct xf_flush xf_flush_begin(const cpumask_t *mask, const void *va, unsigned int flags,
                               const void *caller);
void xf_flush_end(const struct xf_flush *flush);
#define XF_FLUSH(mask, va, flags) const struct xf_flush XF_TO_THE_END(xf_flush_end) xf_flush = \
    xf_flush_begin(mask, va, flags, __builtin_return_address(0))

/* The filter by timestamps, from its begin to its end. */
struct xf_filter { const cpumask_t *mask; unsigned int before; uint32_t stamp; };
unsigned int xf_filter_begin(const cpumask_t *mask);
void xf_filter_end(const struct xf_filter *filter);
#define XF_FILTER(mask, stamp) const struct xf_filter XF_TO_THE_END(xf_filter_end) xf_filter = \
    { mask, xf_filter_begin(mask), stamp }

void xf_flush_local(const void *va, unsigned int flags, const void *caller);
void xf_cr3(unsigned long cr3, unsigned long cr4, const void *caller);
void xf_mmuext(const struct mmuext_op *op, unsigned int foreigndom);
void xf_mmu_update(uint64_t ptr, uint64_t val, unsigned int foreigndom);
void xf_uva(unsigned long va, uint64_t val, unsigned long flags, const struct domain *owner);
void xf_pte(unsigned long mfn, unsigned long at, uint64_t old, uint64_t new);
void xf_type(uint32_t id, const struct page_info *page, unsigned long type, int rc);

#endif
