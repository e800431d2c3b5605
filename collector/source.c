// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes of a trace.  In: a path or descriptor.  Out: a moving window over the stream. */
#include "collector/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER (4 * XF_SOURCE_LOOKAHEAD)

struct xf_source {
	int fd, tee;
	bool live, regular, eof;
	uint64_t offset, size;
	size_t start, end; /* the available bytes in buffer */
	char name[256];	   /* for messages */
	uint8_t buffer[BUFFER];
};

int xf_source_fd(
	struct xf_source **source, int fd, const char *name, bool live, struct xf_error *err)
{
	struct xf_source *s = malloc(sizeof(*s));
	struct stat st;

	if (!s)
		return xf_fail_nomem(err);
	memset(s, 0, offsetof(struct xf_source, buffer));
	s->fd = fd;
	s->tee = -1;
	s->live = live;
	strncpy(s->name, name, sizeof(s->name) - 1);
	if (fstat(fd, &st)) {
		free(s);
		return xf_fail_errno(err, XF_IO, "cannot read %s", name);
	}
	if (S_ISDIR(st.st_mode)) {
		free(s);
		return xf_fail(err, XF_IO, "cannot read %s: it is a directory", name);
	}
	/* a regular file that was partly read before, as standard input, is read on from there */
	s->regular = S_ISREG(st.st_mode) && !lseek(fd, 0, SEEK_CUR);
	s->size = s->regular ? (uint64_t)st.st_size : 0;
	if (live)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
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
	if (fd < 0)
		return xf_fail_errno(err, XF_IO, "cannot read %s", path);
	code = xf_source_fd(source, fd, strcmp(path, "-") ? path : "standard input", false, err);
	if (code)
		close(fd);
	return code;
}

void xf_source_tee(struct xf_source *s, int fd)
{
	s->tee = fd;
}

int xf_source_fill(struct xf_source *s, size_t n, struct xf_error *err)
{
	if (s->end - s->start >= n)
		return 1;
	if (s->start + n > BUFFER) {
		memmove(s->buffer, s->buffer + s->start, s->end - s->start);
		s->end -= s->start;
		s->start = 0;
	}
	while (s->end - s->start < n && !s->eof) {
		ssize_t got = read(s->fd, s->buffer + s->end, BUFFER - s->end);

		if (got > 0) {
			s->end += (size_t)got;
		} else if (!got) {
			s->eof = true;
		} else if (errno == EAGAIN && s->live) {
			return XF_AGAIN;
		} else if (errno != EINTR) {
			return xf_fail_errno(err, XF_IO, "cannot read %s", s->name);
		} else {
			/* a signal: the caller looks whether it should stop */
			return XF_AGAIN;
		}
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
	const uint8_t *from = s->buffer + s->start;

	s->start += n;
	s->offset += n;
	while (n && s->tee >= 0) {
		ssize_t done = write(s->tee, from, n);

		if (done < 0 && errno != EINTR)
			s->tee = -1;
		if (done > 0) {
			from += done;
			n -= (size_t)done;
		}
	}
}

uint64_t xf_source_offset(const struct xf_source *s)
{
	return s->offset;
}

uint64_t xf_source_size(const struct xf_source *s)
{
	return s->size;
}

bool xf_source_can_reread(const struct xf_source *s)
{
	return s->regular;
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
	close(s->fd);
	free(s);
}
