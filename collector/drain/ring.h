/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One CPU's trace ring as Xen shares it, read without trusting it.
 * In: memory that others write.  Out: windows of records ready for writev(), or why there are none.
 */
#ifndef XF_COLLECTOR_DRAIN_RING_H
#define XF_COLLECTOR_DRAIN_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

/* What stands at the start of a ring; the records follow.  Indices run from 0 to 2 * size - 1. */
struct xf_ring_head {
	uint32_t cons; /* written by the reader */
	uint32_t prod; /* written by Xen */
};

struct xf_ring {
	struct xf_ring_head *head; /* NULL: the CPU has no ring */
	uint32_t size;		   /* bytes of records that it can hold */
	uint32_t cons;		   /* ours is the only true copy of the read index */
	bool ended;		   /* found absurd: never read again */
};

/* The unread part of a ring at one moment. */
struct xf_window {
	uint32_t prod, length;
	uint32_t header[3]; /* what the stream has before each window: mark, CPU, length */
	struct iovec
		part[3]; /* header, records, and the rest where the ring wraps (may be empty) */
};

/*
 * Looks for unread records: length 0 = none.  The write index is read once and checked.  Returns
 * NULL, or what is absurd about the ring; prod then tells the index seen.  window must stay where it
 * is, its parts point into it.
 */
const char *xf_ring_window(const struct xf_ring *ring, unsigned cpu, struct xf_window *window);

/* Gives everything up to an index that xf_ring_window() found back to Xen. */
void xf_ring_consume(struct xf_ring *ring, uint32_t prod);

/* Drops what is in the ring and takes its indices over; adds the bytes dropped.  Returns as above. */
const char *xf_ring_discard(struct xf_ring *ring, uint64_t *bytes, uint32_t *prod);

/* Sum of the counts in lost records; ends early at what does not look like records. */
uint64_t xf_window_lost(const struct xf_window *window);

#endif
