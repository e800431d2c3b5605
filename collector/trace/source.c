// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes of a trace.  In: a path or descriptor.  Out: a moving window over the stream. */
#include "collector/trace/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/trace/unpack.h"

#define BUFFER (4 * XF_SOURCE_LOOKAHEAD)

struct xf_source {
	int fd; /* -1 = custom */
	ssize_t (*read)(void *data, void *to, size_t n);
	void *data;
	struct xf_unpack *unpack; /* NULL = not compressed, or not yet known */
	bool regular, eof, known; /* known: whether it is compressed */
	uint64_t offset, size;
	size_t start, end; /* the available bytes in buffer */
	char name[256];	   /* for messages */
	uint8_t buffer[BUFFER];
};

static struct xf_source *new_source(int fd, const char *name)
{
	struct xf_source *s = malloc(sizeof(*s));

	if (!s)
		return NULL;
	memset(s, 0, offsetof(struct xf_source, buffer));
	s->fd = fd;
	strncpy(s->name, name, sizeof(s->name) - 1);
	return s;
}

int xf_source_custom(struct xf_source **source, ssize_t (*function)(void *data, void *to, size_t n),
	void *data, const char *name, struct xf_error *err)
{
	struct xf_source *s = new_source(-1, name);

	if (!s)
		return xf_fail_nomem(err);
	s->read = function;
	s->data = data;
	*source = s;
	return 0;
}

int xf_source_fd(struct xf_source **source, int fd, const char *name, struct xf_error *err)
{
	struct xf_source *s;
	struct stat st;

	if (fstat(fd, &st))
		return xf_fail_errno(err, XF_IO, "cannot read %s", name);
	if (S_ISDIR(st.st_mode))
		return xf_fail(err, XF_IO, "cannot read %s: it is a directory", name);
	s = new_source(fd, name);
	if (!s)
		return xf_fail_nomem(err);
	/* a regular file that was partly read before, as standard input, is read on from there */
	s->regular = S_ISREG(st.st_mode) && !lseek(fd, 0, SEEK_CUR);
	s->size = s->regular ? (uint64_t)st.st_size : 0;
	*source = s;
	return 0;
}

int xf_source_open(struct xf_source **source, const char *path, struct xf_error *err)
{
	int fd, code;

	if (!strcmp(path, "-"))
		fd = dup(STDIN_FILENO);
	else
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == EACCES)
		return xf_fail(err, XF_IO,
			"cannot read %s: Permission denied; its owner can, or root: sudo cat it into a file of yours",
			path);
	if (fd < 0)
		return xf_fail_errno(err, XF_IO, "cannot read %s", path);
	code = xf_source_fd(source, fd, strcmp(path, "-") ? path : "standard input", err);
	if (code)
		close(fd);
	return code;
}

/* Waits for bytes of a pipe, but not for long: the caller may be asked to stop meanwhile. */
static bool readable(const struct xf_source *s)
{
	struct pollfd poll_fd = {.fd = s->fd, .events = POLLIN};

	return s->regular || s->read || poll(&poll_fd, 1, 200) > 0;
}

static ssize_t read_compressed(void *data, void *to, size_t n)
{
	const struct xf_source *s = data;

	if (!readable(s)) {
		errno = EAGAIN;
		return -1;
	}
	return read(s->fd, to, n);
}

/* What a file is, by its first bytes: a compressed one is read as if it were a pipe of its content. */
static int find_out(struct xf_source *s, struct xf_error *err)
{
	int code;

	if (s->known || s->read || (s->end < XF_UNPACK_MAGIC && !s->eof))
		return 0;
	s->known = true;
	if (!xf_unpack_knows(s->buffer, s->end))
		return 0;
	code = xf_unpack_open(&s->unpack, s->buffer, s->end, read_compressed, s, s->name, err);
	s->end = 0;
	s->eof = false;
	return code;
}

/* As read(2), but XF_AGAIN or another negative code in the place of -1. */
static ssize_t next_bytes(struct xf_source *s, void *to, size_t room, struct xf_error *err)
{
	ssize_t got;

	if (s->unpack)
		return xf_unpack_read(s->unpack, to, room, err);
	if (!readable(s))
		return XF_AGAIN;
	got = s->read ? s->read(s->data, to, room) : read(s->fd, to, room);
	if (got >= 0)
		return got;
	/* nothing now, or a signal: the caller looks whether it should stop */
	if (errno == EAGAIN || errno == EINTR)
		return XF_AGAIN;
	return xf_fail_errno(err, XF_IO, "cannot read %s", s->name);
}

int xf_source_fill(struct xf_source *s, size_t n, struct xf_error *err)
{
	int code;

	if (s->end - s->start >= n)
		return 1;
	if (s->start + n > BUFFER) {
		memmove(s->buffer, s->buffer + s->start, s->end - s->start);
		s->end -= s->start;
		s->start = 0;
	}
	while (s->end - s->start < n && !s->eof) {
		ssize_t got = next_bytes(s, s->buffer + s->end, BUFFER - s->end, err);

		if (got < 0)
			return (int)got;
		s->end += (size_t)got;
		s->eof = !got;
		code = find_out(s, err);
		if (code)
			return code;
	}
	return s->end - s->start >= n;
}

const uint8_t *xf_source_data(const struct xf_source *s)
{
	return s->buffer + s->start;
}

size_t xf_source_have(const struct xf_source *s)
{
	return s->end - s->start;
}

void xf_source_skip(struct xf_source *s, size_t n)
{
	s->start += n;
	s->offset += n;
}

uint64_t xf_source_offset(const struct xf_source *s)
{
	return s->offset;
}

uint64_t xf_source_size(const struct xf_source *s)
{
	return s->unpack ? 0 : s->size;
}

bool xf_source_broken(const struct xf_source *s)
{
	return s->unpack && xf_unpack_broken(s->unpack);
}

bool xf_source_live(const struct xf_source *s)
{
	return s->read != NULL;
}

bool xf_source_can_reread(const struct xf_source *s)
{
	return s->regular && !s->unpack;
}

int xf_source_reread(
	struct xf_source *s, uint64_t offset, void *data, size_t n, struct xf_error *err)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = pread(s->fd, (char *)data + done, n - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return xf_fail_errno(err, XF_IO, "cannot read %s", s->name);
		if (!got)
			return xf_fail(err, XF_IO, "%s became shorter while it was read", s->name);
		done += (size_t)got;
	}
	return 0;
}

void xf_source_close(struct xf_source *s)
{
	if (!s)
		return;
	xf_unpack_close(s->unpack);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}
