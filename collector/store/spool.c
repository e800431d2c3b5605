// SPDX-License-Identifier: GPL-2.0-or-later
/* The spool.  In: a descriptor.  Out: its bytes, in a file that the reader follows. */
#include "collector/store/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "common/newfile.h"

#define PIECE (256 * 1024)
#define TRIM  (16u << 20)  /* a temporary file that was read whole is emptied from here on */
#define MOST  (1ull << 30) /* a temporary file grows no further: the producer has to wait */

struct xf_spool {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed, room;
	int in, file, wake[2];
	bool keep; /* the file is the user's */
	bool ended, quit;
	int sys;
	uint64_t most; /* bytes that may wait, 0 = no limit */
	uint64_t base; /* stream position of the file's first byte */
	uint64_t written, read;
	uint64_t freed; /* stream position up to which the file's space was given back */
	uint8_t buffer[PIECE];
};

/* One piece into the file; runs without the lock, which only trimming needs. */
static bool store(struct xf_spool *s, size_t n)
{
	pthread_mutex_lock(&s->lock);
	if (!s->keep && s->read == s->written && s->written - s->base >= TRIM) {
		if (!ftruncate(s->file, 0))
			s->base = s->freed = s->written;
	}
	for (size_t done = 0; done < n && !s->sys;) {
		ssize_t part = pwrite(
			s->file, s->buffer + done, n - done, (off_t)(s->written - s->base + done));

		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0) {
			s->sys = part ? errno : EIO;
			break;
		}
		done += (size_t)part;
	}
	if (!s->sys)
		s->written += n;
	pthread_mutex_unlock(&s->lock);
	return !s->sys;
}

/* Waits until less than the limit is unread; false = the spool is to end. */
static bool wait_for_room(struct xf_spool *s)
{
	bool quit;

	pthread_mutex_lock(&s->lock);
	while (s->most && s->written - s->read > s->most && !s->quit)
		pthread_cond_wait(&s->room, &s->lock);
	quit = s->quit;
	pthread_mutex_unlock(&s->lock);
	return !quit;
}

static void *work(void *data)
{
	struct xf_spool *s = data;

	for (;;) {
		struct pollfd fds[2] = {
			{.fd = s->in, .events = POLLIN}, {.fd = s->wake[0], .events = POLLIN}};
		ssize_t n;

		if (poll(fds, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			s->sys = errno;
			break;
		}
		if (fds[1].revents)
			break;
		if (!fds[0].revents)
			continue;
		n = read(s->in, s->buffer, PIECE);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			s->sys = errno;
		if (n <= 0 || !store(s, (size_t)n) || !wait_for_room(s))
			break;
	}
	/* the producer learns at once that nobody listens any more */
	close(s->in);
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* The database on the same disk needs most of the space. */
static uint64_t limit(int file)
{
	struct statvfs vfs;
	uint64_t quarter;

	if (fstatvfs(file, &vfs))
		return MOST;
	quarter = (uint64_t)vfs.f_bavail * vfs.f_frsize / 4;
	return quarter > MOST ? MOST : quarter < PIECE ? PIECE : quarter;
}

static void discard(struct xf_spool *s)
{
	for (int i = 0; i < 2; i++)
		if (s->wake[i] >= 0)
			close(s->wake[i]);
	close(s->file);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	pthread_cond_destroy(&s->room);
	free(s);
}

int xf_spool_start(struct xf_spool **spool, int fd, int raw, const char *path, struct xf_error *err)
{
	struct xf_spool *s = malloc(sizeof(*s));
	int code = 0;

	if (!s)
		return xf_fail_nomem(err);
	memset(s, 0, offsetof(struct xf_spool, buffer));
	s->in = fd;
	s->keep = raw >= 0;
	s->file = raw >= 0 ? raw : xf_newfile_unnamed(path, err);
	if (s->file < 0) {
		free(s);
		return -XF_IO;
	}
	if (!s->keep)
		s->most = limit(s->file);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	pthread_cond_init(&s->room, NULL);
	if (pipe2(s->wake, O_CLOEXEC)) {
		code = xf_fail_errno(err, XF_INTERNAL, "cannot make a pipe");
		s->wake[0] = s->wake[1] = -1;
	} else if ((errno = pthread_create(&s->thread, NULL, work, s))) {
		code = xf_fail_errno(err, XF_INTERNAL, "cannot start a thread");
	}
	if (code) {
		close(fd);
		discard(s);
		return code;
	}
	*spool = s;
	return 0;
}

/* On a disk that is nearly full the database needs the space of what was read already. */
static void give_back(struct xf_spool *s)
{
	uint64_t n = (s->read - s->freed) & ~4095ull;

	if (s->keep || n < PIECE)
		return;
	/* not every file system can; then the space comes back when the file is emptied */
	if (!fallocate(s->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		    (off_t)(s->freed - s->base), (off_t)n))
		s->freed += n;
	else
		s->freed = s->read;
}

static ssize_t read_spool(void *data, void *to, size_t n)
{
	struct xf_spool *s = data;
	ssize_t got;

	pthread_mutex_lock(&s->lock);
	if (s->written - s->read < n)
		n = (size_t)(s->written - s->read);
	if (!n) {
		got = s->ended ? 0 : -1;
		errno = EAGAIN;
	} else {
		got = pread(s->file, to, n, (off_t)(s->read - s->base));
		if (got > 0)
			s->read += (uint64_t)got;
		give_back(s);
		if (s->written - s->read <= s->most)
			pthread_cond_signal(&s->room);
	}
	pthread_mutex_unlock(&s->lock);
	return got;
}

int xf_spool_source(struct xf_spool *s, struct xf_source **source, struct xf_error *err)
{
	return xf_source_custom(source, read_spool, s, "the stream", err);
}

void xf_spool_state(struct xf_spool *s, struct xf_spool_state *state)
{
	pthread_mutex_lock(&s->lock);
	*state = (struct xf_spool_state){s->written, s->written - s->read, s->ended, s->sys};
	pthread_mutex_unlock(&s->lock);
}

void xf_spool_wait(struct xf_spool *s, int milliseconds)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += milliseconds * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	pthread_mutex_lock(&s->lock);
	if (!s->ended)
		pthread_cond_timedwait(&s->changed, &s->lock, &until);
	pthread_mutex_unlock(&s->lock);
}

void xf_spool_stop(struct xf_spool *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->quit = true;
	pthread_cond_signal(&s->room);
	pthread_mutex_unlock(&s->lock);
	/* the thread sees the end of this pipe, whatever it waits for */
	close(s->wake[1]);
	s->wake[1] = -1;
	pthread_join(s->thread, NULL);
	discard(s);
}
