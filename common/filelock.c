// SPDX-License-Identifier: GPL-2.0-or-later
/* Locks that tell who holds them.  In: a descriptor.  Out: struct xf_holder. */
#include "common/filelock.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define BASE	    (1ll << 62) /* SQLite's locks lie at 1 GiB */
#define PATIENCE_MS 10000
#define TRY_MS	    20
#define KINDS	    16 /* every lock covers the byte BASE + KINDS - 1 */

static int lock(int fd, int command, enum xf_writer what)
{
	struct flock range = {.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = BASE + what,
		.l_len = KINDS + (off_t)getpid()};
	int code;

	do
		code = fcntl(fd, command, &range);
	while (code && errno == EINTR);
	if (code && errno == EACCES)
		errno = EAGAIN;
	return code;
}

int xf_filelock_take(int fd, enum xf_writer what)
{
	return lock(fd, F_OFD_SETLK, what);
}

int xf_filelock_wait(int fd, enum xf_writer what)
{
	return lock(fd, F_OFD_SETLKW, what);
}

bool xf_filelock_held(int fd, struct xf_holder *holder)
{
	struct flock range = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = BASE + KINDS - 1, .l_len = 1};

	if (fcntl(fd, F_OFD_GETLK, &range) || range.l_type == F_UNLCK)
		return false;
	*holder = (struct xf_holder){.what = XF_WRITER_MAKE};
	if (range.l_start > BASE && range.l_start <= BASE + XF_WRITER_ANALYZE)
		holder->what = (enum xf_writer)(range.l_start - BASE);
	if (range.l_len > KINDS)
		holder->pid = (pid_t)(range.l_len - KINDS);
	return true;
}

int xf_filelock_claim(const char *path, enum xf_writer what, int *fd, struct xf_error *err)
{
	struct xf_holder holder = {.what = XF_WRITER_NONE};

	*fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*fd < 0)
		return xf_fail_errno(err, XF_IO, "cannot change %s", path);
	/* a capture may go on for days, everything else ends soon */
	for (int i = 0; xf_filelock_take(*fd, what) && errno == EAGAIN; i++) {
		if (xf_filelock_held(*fd, &holder) &&
			(holder.what == XF_WRITER_RECORD || i == PATIENCE_MS / TRY_MS)) {
			close(*fd);
			*fd = -1;
			return xf_filelock_refuse(path, &holder, err);
		}
		usleep(TRY_MS * 1000);
	}
	return 0;
}

bool xf_filelock_held_at(const char *path, struct xf_holder *holder)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool held = fd >= 0 && xf_filelock_held(fd, holder);

	if (fd >= 0)
		close(fd);
	return held;
}

int xf_filelock_refuse(const char *path, const struct xf_holder *holder, struct xf_error *err)
{
	static const char *const whats[] = {
		[XF_WRITER_NONE] = "written",
		[XF_WRITER_MAKE] = "made",
		[XF_WRITER_RECORD] = "recorded",
		[XF_WRITER_ANALYZE] = "analyzed",
	};

	return xf_fail(err, XF_BUSY,
		"%s is being %s by process %d: wait for its end, or end it with: kill -INT %d",
		path, whats[holder->what], (int)holder->pid, (int)holder->pid);
}
