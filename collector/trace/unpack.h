/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compressed traces: zstd, gzip, xz, each by its own library.
 * In: compressed bytes from a function.  Out: the bytes that were compressed.
 */
#ifndef XF_COLLECTOR_TRACE_UNPACK_H
#define XF_COLLECTOR_TRACE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"

/* So many bytes tell whether a file is compressed. */
#define XF_UNPACK_MAGIC 6

struct xf_unpack;

/* Do these bytes begin a compressed file of a kind that is known here? */
bool xf_unpack_knows(const void *bytes, size_t n);

/*
 * Begins at the n bytes of `begin`, which xf_unpack_knows(), and which are copied; more come from read(data),
 * which returns as read(2) does.  name: of the file, for messages; it must stay.
 */
int xf_unpack_open(struct xf_unpack **unpack, const void *begin, size_t n,
	ssize_t (*read)(void *data, void *to, size_t n), void *data, const char *name,
	struct xf_error *err);

/*
 * Returns how many of `room` bytes it gave, 0 = the end, XF_AGAIN where read() had none now, or a negative
 * code: not readable, or damaged or cut short before it gave anything.
 */
ssize_t xf_unpack_read(struct xf_unpack *unpack, void *to, size_t room, struct xf_error *err);

/* Was the end that xf_unpack_read() gave only that of what is good? */
bool xf_unpack_broken(const struct xf_unpack *unpack);

void xf_unpack_close(struct xf_unpack *unpack);

#endif
