// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Trace rings.  In: shared memory.  Out: checked windows.  Each word that decides something is read
 * once, so that what was checked is what is used.
 */
#include "collector/drain/ring.h"
#include "schemas/xen.h"

#include <stddef.h>

#define LOST_RECORDS 0x0001f001u
#define EVENT	     0x0fffffffu

/* The write index, read once; NULL or why it is absurd. */
static const char *read_prod(const struct xf_ring *ring, uint32_t *prod)
{
	*prod = __atomic_load_n(&ring->head->prod, __ATOMIC_ACQUIRE);
	return *prod % 4 == 0 && *prod < 2 * ring->size ? NULL : "its write index is absurd";
}

const char *xf_ring_window(const struct xf_ring *ring, unsigned cpu, struct xf_window *window)
{
	unsigned char *data = (unsigned char *)(ring->head + 1);
	const char *absurd = read_prod(ring, &window->prod);
	uint32_t start = ring->cons % ring->size, first;

	window->length = 0;
	if (absurd)
		return absurd;
	if (__atomic_load_n(&ring->head->cons, __ATOMIC_RELAXED) != ring->cons)
		return "another program moved its read index";
	window->length = window->prod - ring->cons;
	if (window->prod < ring->cons)
		window->length += 2 * ring->size;
	if (window->length > ring->size) {
		window->length = 0;
		return "it claims more records than it can hold";
	}
	first = window->length < ring->size - start ? window->length : ring->size - start;
	window->header[0] = XF_WINDOW_MARK;
	window->header[1] = cpu;
	window->header[2] = window->length;
	window->part[0] = (struct iovec){window->header, sizeof(window->header)};
	window->part[1] = (struct iovec){data + start, first};
	window->part[2] = (struct iovec){data, window->length - first};
	return NULL;
}

void xf_ring_consume(struct xf_ring *ring, uint32_t prod)
{
	ring->cons = prod;
	/* every read of the window stands before this store: Xen may then write there */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&ring->head->cons, prod, __ATOMIC_RELEASE);
}

const char *xf_ring_discard(struct xf_ring *ring, uint64_t *bytes, uint32_t *prod)
{
	const char *absurd = read_prod(ring, prod);
	uint32_t cons = __atomic_load_n(&ring->head->cons, __ATOMIC_RELAXED) % (2 * ring->size);

	if (absurd)
		return absurd;
	*bytes += (*prod + 2ull * ring->size - cons) % (2ull * ring->size);
	xf_ring_consume(ring, *prod);
	return NULL;
}

static uint64_t count_lost(const struct iovec *part)
{
	const uint32_t *word = part->iov_base;
	size_t left = part->iov_len / sizeof(*word);
	uint64_t lost = 0;

	while (left) {
		uint32_t header = __atomic_load_n(word, __ATOMIC_RELAXED);
		size_t before = header >> 31 ? 3 : 1, words = before + (header >> 28 & 7);

		if (words > left)
			break;
		if ((header & EVENT) == LOST_RECORDS && words > before)
			lost += word[before];
		word += words;
		left -= words;
	}
	return lost;
}

uint64_t xf_window_lost(const struct xf_window *window)
{
	/* no record lies across the end of a ring */
	return count_lost(&window->part[1]) + count_lost(&window->part[2]);
}
