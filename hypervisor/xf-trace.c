/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace points for TLB flushes and page tables, version 2: writes the records.
 * Their layouts stand in schemas/trace-points.md of xenfault, which decodes them.
 */
#include <xen/cpumask.h>
#include <xen/mm.h>
#include <xen/sched.h>
#include <xen/smp.h>
#include <xen/trace.h>
#include <asm/flushtlb.h>
#include <asm/xf-trace.h>

#define FLUSH      0x208001
#define FLUSH_IPI  0x208002
#define CR3        0x208003
#define MMUEXT     0x208004
#define FILTER     0x208005
#define FLUSH_CPUS 0x20800a
#define FLUSH_END  0x20800b
#define MMU_UPDATE 0x204011
#define UPDATE_VA  0x204012
#define PTE        0x204013

static DEFINE_PER_CPU(struct xf_what, xf_what);
static DEFINE_PER_CPU(const void *, xf_caller);

struct xf_what xf_enter(unsigned int cause, unsigned long mfn, const void *caller)
{
    struct xf_what before = this_cpu(xf_what);

    this_cpu(xf_what).cause = cause;
    this_cpu(xf_what).mfn = mfn;
    if ( caller )
        this_cpu(xf_caller) = caller;
    return before;
}

void xf_leave(const struct xf_what *before)
{
    this_cpu(xf_what) = *before;
}

#define LO(x) ((uint32_t)(unsigned long)(x))
#define HI(x) ((uint32_t)((uint64_t)(unsigned long)(x) >> 32))
#define CAUSE (this_cpu(xf_what).cause & 0xffff)

static uint32_t who(void)
{
    return ((uint32_t)current->domain->domain_id << 16) | current->vcpu_id;
}

#ifdef XF_OLD_TRACE /* up to 4.18 */
#define WRITE(id, data) __trace_var(id, true, sizeof(data), data)
#else
#define WRITE(id, data) trace((id) | TRC_HD_CYCLE_FLAG, sizeof(data), data)
#endif

#define EMIT(id, ...) do {                                          \
    if ( unlikely(tb_init_done) )                                   \
    {                                                               \
        const uint32_t data_[] = { __VA_ARGS__ };                   \
        WRITE(id, data_);                                           \
    }                                                               \
} while ( 0 )

/* CPUs above 31 do not fit into the record: these say which. */
static void more_cpus(const cpumask_t *mask)
{
    unsigned int i;

    if ( nr_cpu_ids <= 32 || cpumask_next(31, mask) >= nr_cpu_ids )
        return;
    for ( i = 0; i < BITS_TO_LONGS(nr_cpu_ids); i++ )
        if ( cpumask_bits(mask)[i] )
            EMIT(FLUSH_CPUS, i * BITS_PER_LONG, LO(cpumask_bits(mask)[i]), HI(cpumask_bits(mask)[i]),
                 who());
}

/* mask NULL: this CPU.  Returns how many others there are. */
static unsigned int flush(const cpumask_t *mask, const void *va, unsigned int flags, const void *caller)
{
    unsigned int cpu = smp_processor_id();
    unsigned int local = mask ? cpumask_test_cpu(cpu, mask) : 1;
    unsigned int remote = mask ? cpumask_weight(mask) - local : 0;

    if ( (CAUSE & 0xff) == XF_PAGING )
        caller = this_cpu(xf_caller);
    /* without an address, the words are the page's whose type changes */
    if ( !(flags & FLUSH_ORDER_MASK) && (CAUSE & 0xff) == XF_TYPE )
        va = (const void *)this_cpu(xf_what).mfn;
    EMIT(FLUSH, flags, LO(va), HI(va), remote | (local << 15) | (CAUSE << 16), who(),
         mask ? (uint32_t)cpumask_bits(mask)[0] : cpu < 32 ? 1u << cpu : 0, LO(caller));
    if ( mask )
        more_cpus(mask);
    return remote;
}

struct xf_flush xf_flush_begin(const cpumask_t *mask, const void *va, unsigned int flags,
                               const void *caller)
{
    struct xf_flush f = { .remote = 0 };

    if ( unlikely(tb_init_done) )
        f.remote = flush(mask, va, flags, caller);
    f.before = xf_enter(XF_IN_MASK, 0, NULL);
    return f;
}

void xf_flush_end(const struct xf_flush *f)
{
    if ( f->remote )
        EMIT(FLUSH_END, who());
    xf_leave(&f->before);
}

void xf_flush_local(const void *va, unsigned int flags, const void *caller)
{
    if ( likely(!tb_init_done) || (CAUSE & 0xff) == XF_IN_MASK )
        return;
    if ( (CAUSE & 0xff) == XF_IPI )
        EMIT(FLUSH_IPI, flags, LO(va), HI(va), who());
    else
        flush(NULL, va, flags, caller);
}

void xf_cr3(unsigned long cr3, unsigned long cr4, const void *caller)
{
    EMIT(CR3, LO(cr3), HI(cr3), who(), LO(cr4), LO(caller));
}

unsigned int xf_filter_begin(const cpumask_t *mask)
{
    return unlikely(tb_init_done) ? cpumask_weight(mask) : 0;
}

void xf_filter_end(const struct xf_filter *f)
{
    EMIT(FILTER, f->before | (cpumask_weight(f->mask) << 16), CAUSE, who(), f->stamp,
         tlbflush_current_time(), LO(__builtin_return_address(0)), LO(this_cpu(xf_what).mfn));
}

void xf_mmuext(const struct mmuext_op *op, unsigned int foreigndom)
{
    this_cpu(xf_what).cause = XF_MMUEXT | (op->cmd << 8);
    EMIT(MMUEXT, op->cmd | (foreigndom << 16), LO(op->arg1.linear_addr), HI(op->arg1.linear_addr),
         op->arg2.nr_ents, HI(*(const unsigned long *)&op->arg2), who());
}

void xf_mmu_update(uint64_t ptr, uint64_t val, unsigned int foreigndom)
{
    EMIT(MMU_UPDATE, LO(ptr), HI(ptr), LO(val), HI(val), who(), foreigndom);
}

void xf_uva(unsigned long va, uint64_t val, unsigned long flags, const struct domain *owner)
{
    EMIT(UPDATE_VA, LO(va), HI(va), LO(val), HI(val), LO(flags), who(), owner->domain_id);
}

/* Who owns the frame that an entry maps; NULL: nobody, or it maps none. */
static const struct domain *owner_of(uint64_t pte)
{
    mfn_t mfn = _mfn((pte & 0xffffffffff000UL) >> 12);

    return (pte & 1) && mfn_valid(mfn) ? page_get_owner(mfn_to_page(mfn)) : NULL;
}

void xf_pte(unsigned long mfn, unsigned long at, uint64_t old, uint64_t new)
{
    if ( unlikely(tb_init_done) )
    {
        const struct domain *o = owner_of(old), *n = owner_of(new), *me = current->domain;
        unsigned int how = CAUSE & 0xff;
        uint64_t ma = ((uint64_t)mfn << 12) | (at & 0xfff);

        if ( o && o != me )
            how |= 0x100 | (o->domain_id << 16);
        if ( n && n != me )
            how = (how & 0xffff) | 0x200 | (n->domain_id << 16);
        EMIT(PTE, LO(ma), HI(ma), LO(old), HI(old), LO(new), HI(new), how);
    }
}

void xf_type(uint32_t id, const struct page_info *page, unsigned long type, int rc)
{
    if ( unlikely(tb_init_done) )
    {
        unsigned long mfn = mfn_x(page_to_mfn(page));
        const struct domain *owner = page_get_owner(page);
        uint32_t level = MASK_EXTR(type, PGT_type_mask) | ((type & PGT_partial) ? 0x100 : 0) |
                         ((owner ? owner->domain_id : 0xffffu) << 16);

        if ( id & 1 )
            EMIT(id, LO(mfn), HI(mfn), level, who(), rc);
        else
            EMIT(id, LO(mfn), HI(mfn), level, who());
    }
}
