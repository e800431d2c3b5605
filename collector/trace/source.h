/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of a trace, from a file, a pipe or a live producer.
 * In: a path or a file descriptor.  Out: a window of bytes that moves forward; files can be reread.
 */
#ifndef XF_COLLECTOR_TRACE_SOURCE_H
#define XF_COLLECTOR_TRACE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

/* xf_source_fill() can be asked for this much at once. */
#ifndef XF_SOURCE_LOOKAHEAD /* a test makes it small */
#define XF_SOURCE_LOOKAHEAD (128 * 1024)
#endif

struct xf_source;

/*
 * Opens a file, or standard input for "-".  A file that zstd, gzip or xz compressed is read as its content,
 * as if that came through a pipe.  Returns 0 or a negative code.
 */
int xf_source_open(struct xf_source **source, const char *path, struct xf_error *err);

/* Wraps an open descriptor, which xf_source_close() closes. */
int xf_source_fd(struct xf_source **source, int fd, const char *name, struct xf_error *err);

/*
 * Bytes from a function: it returns how many it gave, 0 at the end, or -1 with errno (EAGAIN: none
 * now).  name: for messages.
 */
int xf_source_custom(struct xf_source **source, ssize_t (*function)(void *data, void *to, size_t n),
	void *data, const char *name, struct xf_error *err);

/*
 * Makes n <= XF_SOURCE_LOOKAHEAD bytes available at xf_source_data().
 * Returns 1 = they are there, 0 = the stream ends before, XF_AGAIN, or a negative code.
 */
int xf_source_fill(struct xf_source *source, size_t n, struct xf_error *err);

/* The bytes available now, and how many there are. */
const uint8_t *xf_source_data(const struct xf_source *source);
size_t xf_source_have(const struct xf_source *source);

/* Consumes n bytes of those available. */
void xf_source_skip(struct xf_source *source, size_t n);

/* Bytes consumed so far; size of the whole, 0 = unknown (pipe). */
uint64_t xf_source_offset(const struct xf_source *source);
uint64_t xf_source_size(const struct xf_source *source);

/* True at the end of what could be had of a compressed file that is damaged or cut short. */
bool xf_source_broken(const struct xf_source *source);

/* True where bytes come from a function: it may give none for long. */
bool xf_source_live(const struct xf_source *source);

/* True where xf_source_reread() works: regular files. */
bool xf_source_can_reread(const struct xf_source *source);
int xf_source_reread(
	struct xf_source *source, uint64_t offset, void *data, size_t n, struct xf_error *err);

void xf_source_close(struct xf_source *source);

#endif
