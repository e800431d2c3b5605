/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The spool between a live producer and the reader: capture does not wait for the database.
 * In: a descriptor, read by a thread of its own.  Out: the same bytes, as a source for the reader.
 */
#ifndef XF_COLLECTOR_STORE_SPOOL_H
#define XF_COLLECTOR_STORE_SPOOL_H

#include "collector/trace/source.h"

struct xf_spool;

/*
 * Reads fd (which the spool closes) to its end into a file: raw is its descriptor where the user
 * wants the stream kept, else -1 for a
 * temporary one beside path, of 1 GiB or a quarter of the free space at the most: then the producer
 * waits.  The spool closes raw.
 */
int xf_spool_start(
	struct xf_spool **spool, int fd, int raw, const char *path, struct xf_error *err);

/* A source over the bytes that came so far; XF_AGAIN at their end until the producer ended. */
int xf_spool_source(struct xf_spool *spool, struct xf_source **source, struct xf_error *err);

struct xf_spool_state {
	uint64_t written; /* bytes taken from the producer */
	uint64_t waiting; /* of them not yet read */
	bool ended;	  /* the producer closed its end */
	int sys;	  /* errno of a failed read or write, 0 = none; the spool has ended then */
};

void xf_spool_state(struct xf_spool *spool, struct xf_spool_state *state);

/* Waits until the producer has ended, or milliseconds have passed. */
void xf_spool_wait(struct xf_spool *spool, int milliseconds);

/* Ends the thread and frees.  NULL is fine. */
void xf_spool_stop(struct xf_spool *spool);

#endif
