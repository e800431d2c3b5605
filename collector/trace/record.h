/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The record decoders: one table says which event id of which length means what.
 * In: id, words.  Out: a layout, from which xf_record_decode() fills an event.
 * Source of the layouts: docs/trace-records.md, which names the Xen releases.
 */
#ifndef XF_COLLECTOR_TRACE_RECORD_H
#define XF_COLLECTOR_TRACE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/event.h"
#include "schemas/xen.h"

enum xf_stream_format {
	XF_STREAM_VARIABLE, /* Xen 3.2 to today: windows of records of 4 to 40 bytes */
	XF_STREAM_FIXED64,  /* to Sept 2007, 64-bit tools: 60 bytes with the CPU in front */
	XF_STREAM_FIXED32,  /* to Sept 2007, 32-bit tools: 36 bytes */
};

const char *xf_stream_format_name(enum xf_stream_format format);

/* What a record means to the reader beyond the event that it may become. */
enum xf_role {
	XF_ROLE_NONE,
	XF_ROLE_LOST,
	XF_ROLE_WRAP,
	XF_ROLE_RUNSTATE,    /* state in the id, packed vCPU and domain in word 0 */
	XF_ROLE_CONTINUE,    /* packed vCPU and domain go on running here */
	XF_ROLE_WAS_IS,	     /* dom, vcpu in words 0, 1 ran and runs here */
	XF_ROLE_WAS,	     /* dom, vcpu in words 0, 1 ran here up to now */
	XF_ROLE_SWITCH,	     /* prev dom, prev vcpu, next dom, next vcpu */
	XF_ROLE_SCHED,	     /* scheduler record that does not say who runs */
	XF_ROLE_GUEST_FAULT, /* shadow: fault is the guest's; a PF_INJECT or PAGE_FAULT may follow */
	XF_ROLE_INJECT,	     /* the record that may follow it */
	XF_ROLE_SHADOW_FIXUP, /* shadow repaired; in a PV domain a PAGING_FIXUP follows */
	XF_ROLE_PV_FIXUP,
	XF_ROLE_HYPERCALL,     /* op and arguments packed as in V2 */
	XF_ROLE_HYPERCALL_OLD, /* V1: op in arg1 */
	XF_ROLE_SUBCALL,
	XF_ROLE_VMEXIT,
	XF_ROLE_VMENTRY,
	XF_ROLE_NPF,
	XF_ROLE_P2M,
};

/* Fields of an event that a layout fills. */
enum xf_field {
	XF_FIELD_END,
	XF_FIELD_VA,
	XF_FIELD_RIP,
	XF_FIELD_ERROR,
	XF_FIELD_PTE,
	XF_FIELD_GL1E,	     /* the guest's own entry: pte, and its frame */
	XF_FIELD_GL1E_FRAME, /* only its frame */
	XF_FIELD_FRAME,
	XF_FIELD_COUNT,
	XF_FIELD_ARG1,
	XF_FIELD_ARG2,
	XF_FIELD_OWNER,	    /* domain in the low, vCPU in the high half (3.2, 3.3) */
	XF_FIELD_CR,	    /* control register number */
	XF_FIELD_CR3,	    /* value: the frame where the register is 3, else arg2 */
	XF_FIELD_GPA,	    /* guest-physical address: arg2, and its frame */
	XF_FIELD_WHO,	    /* owner: vCPU in the low, domain in the high half */
	XF_FIELD_CALLER,    /* low word of an address in Xen: rip */
	XF_FIELD_ARG1_HIGH, /* bits 32 and up of arg1 */
	XF_FIELD_CAUSE,	    /* bits 48 and up of arg1 */
	XF_FIELD_CR3_FRAME, /* value of CR3: arg2, and its frame */
	XF_FIELD_MMUEXT,    /* argument 1 of an mmuext_op whose command is in arg1: frame or va */
	XF_FIELD_ENTRY, /* machine address of an entry: frame, and its offset in arg1's high half */
	XF_FIELD_VCPU,	/* vCPU in the low, domain in the high half: arg2, arg1 */
};

#define XF_LAYOUT_FIELDS 6

struct xf_layout {
	uint32_t id;
	uint8_t words; /* payload words; XF_WORDS_ANY fits all */
	bool fixed;    /* of the fixed formats (data items instead of words) */
	uint8_t kind;  /* enum xf_kind, XF_KIND_NONE = becomes no event of its own */
	uint8_t role;  /* enum xf_role */
	const char *name;
	struct {
		uint8_t field; /* enum xf_field */
		uint8_t at;    /* first word (fixed: item) */
		uint8_t wide;  /* 1 = two words, low first */
	} fields[XF_LAYOUT_FIELDS];
};

#define XF_WORDS_ANY 255

/* A record as it stands in the stream. */
struct xf_record {
	uint32_t id;
	bool timed;
	uint8_t nwords; /* variable: payload words; fixed: 5 */
	uint64_t tsc;
	uint32_t words[7]; /* variable formats */
	uint64_t items[5]; /* fixed formats */
};

/* Layouts by id and length with a counter for each; also counts what no layout fits. */
struct xf_record_table;

struct xf_record_slot {
	uint32_t id;
	uint8_t words;
	bool fits;
	const struct xf_layout *layout; /* NULL: counted only */
	const char *name;		/* NULL: unknown id */
	uint64_t records;
};

/* Makes the table for one stream format; NULL = out of memory. */
struct xf_record_table *xf_record_table_new(enum xf_stream_format format);
void xf_record_table_free(struct xf_record_table *table);

/* The slot of this id and length, made if it is new.  Never NULL: a full table gives a spare slot. */
struct xf_record_slot *xf_record_slot(struct xf_record_table *table, uint32_t id, unsigned words);

/* Walks the slots; NULL at the end.  *cursor starts at 0. */
const struct xf_record_slot *xf_record_next(const struct xf_record_table *table, size_t *cursor);

/*
 * Fills the event's fields from the record by the layout, and raw_id and kind.  Time, pCPU and owner
 * are the reader's (an owner that the record itself names is set).
 */
void xf_record_decode(
	const struct xf_layout *layout, const struct xf_record *record, struct xf_event *event);

/*
 * True if a header word can be that of a record: its class has one or two bits.  Zeroes and garbage
 * have none or many.
 */
static inline bool xf_record_plausible(uint32_t header)
{
	uint32_t class = XF_RECORD_CLASS(header), but_one = class & (class - 1);

	return class && !(but_one & (but_one - 1));
}

#endif
