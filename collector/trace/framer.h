/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Framing: finds the windows (or fixed records) of a stream and cuts them into chunks.
 * In: a byte source.  Out: chunks of whole records of one pCPU, in stream order.
 */
#ifndef XF_COLLECTOR_TRACE_FRAMER_H
#define XF_COLLECTOR_TRACE_FRAMER_H

#include <string.h>

#include "collector/trace/doubt.h"
#include "collector/trace/record.h"
#include "collector/trace/source.h"

/* Xen's own limit on CPU numbers: larger ones are damage. */
#ifndef XF_MAX_PCPUS /* a test makes it small */
#define XF_MAX_PCPUS 16384
#endif

/* Bytes of a chunk at the most. */
#ifndef XF_CHUNK /* a test makes it small */
#define XF_CHUNK 65536
#endif

/*
 * Whole records of one pCPU.  The bytes are in memory, or, when too much is waiting, in the source
 * (a file) or in a temporary file (a pipe); xf_chunk_load() brings them back.
 */
struct xf_chunk {
	struct xf_chunk *next;
	uint8_t *data; /* NULL = not in memory */
	uint32_t length;
	uint32_t pcpu;
	uint64_t tsc; /* of the last timed record, 0 = none */
	uint32_t
		round; /* like pass, but only where a lower pCPU follows a higher one; the reader's */
	uint64_t pass;	  /* number of the pass over the pCPUs that it was read in, from 0 */
	uint64_t offset;  /* in the stream */
	uint64_t spilled; /* in the temporary file */
	bool can_unload;  /* its bytes are also in the source or the temporary file */
};

struct xf_framer;

/*
 * Takes the source over and finds out what it is.  doubts: XF_DOUBT_COUNT counters.
 * Returns 0, XF_AGAIN (call xf_framer_detect() again), or -XF_FORMAT with the reason.
 */
int xf_framer_new(struct xf_framer **framer, struct xf_source *source, struct xf_doubt *doubts,
	struct xf_error *err);
int xf_framer_detect(struct xf_framer *framer, struct xf_error *err);

enum xf_stream_format xf_framer_format(const struct xf_framer *framer);

/* The next chunk; the caller frees it with xf_chunk_free().  1, 0 = end, XF_AGAIN or negative. */
int xf_framer_next(struct xf_framer *framer, struct xf_chunk **chunk, struct xf_error *err);

/* Brings the bytes of a chunk into memory. */
int xf_chunk_load(struct xf_framer *framer, struct xf_chunk *chunk, struct xf_error *err);

/* Puts them out of memory again if too much is in it and they can be had back. */
void xf_chunk_unload(struct xf_framer *framer, struct xf_chunk *chunk);
void xf_chunk_free(struct xf_framer *framer, struct xf_chunk *chunk);

/* The fixed formats' xf_framer_record(). */
size_t xf_framer_fixed_record(
	enum xf_stream_format format, const uint8_t *data, struct xf_record *record);

/* Reads the record at data; returns its length in bytes.  The record is whole (the framer saw to it). */
static inline size_t xf_framer_record(
	enum xf_stream_format format, const uint8_t *data, struct xf_record *record)
{
	uint32_t header;
	size_t length = 4;

	if (format != XF_STREAM_VARIABLE)
		return xf_framer_fixed_record(format, data, record);
	memcpy(&header, data, sizeof(header));
	record->id = header & 0x0fffffff;
	record->timed = header >> 31;
	record->nwords = header >> 28 & 7;
	if (record->timed) {
		memcpy(&record->tsc, data + length, sizeof(record->tsc));
		length += sizeof(record->tsc);
	}
	/* word by word: a call of memcpy() takes longer than the words */
	for (unsigned i = 0; i < record->nwords; i++, length += 4)
		memcpy(&record->words[i], data + length, 4);
	return length;
}

/* Bytes consumed, and the size of the source (0 = unknown): for progress. */
uint64_t xf_framer_offset(const struct xf_framer *framer);
uint64_t xf_framer_size(const struct xf_framer *framer);

/* True where XF_AGAIN means that the source may stay quiet for long. */
bool xf_framer_live(const struct xf_framer *framer);

void xf_framer_free(struct xf_framer *framer);

#endif
