// SPDX-License-Identifier: GPL-2.0-or-later
/* A process that undoes what this one leaves behind.  In: notes through a pipe, its end.  Out: a call. */
#include "collector/drain/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define RELEASED 1 /* size of the message that ends it; notes are longer */

/* What ends this process's group, or its terminal, does not end the guard. */
static void become_guard(int keep_fd, int notes)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	prctl(PR_SET_NAME, "drain-guard");
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGSEGV && sig != SIGBUS && sig != SIGCHLD)
			signal(sig, SIG_IGN);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	for (int fd = STDERR_FILENO + 1; fd < 256; fd++)
		if (fd != keep_fd && fd != notes)
			close(fd);
}

static void wait_for_end(
	int notes, void (*undo)(void *data, const void *note, size_t size), void *data)
{
	char note[XF_GUARD_NOTE], last[XF_GUARD_NOTE];
	size_t size = 0;
	ssize_t n;

	/* messages keep their bounds; 0 or an error: the other side is gone */
	while ((n = recv(notes, note, sizeof(note), 0)) > 0 || (n < 0 && errno == EINTR)) {
		if (n == RELEASED)
			return;
		if (n > 0)
			memcpy(last, note, size = (size_t)n);
	}
	if (size)
		undo(data, last, size);
}

int xf_guard_start(struct xf_guard *guard, int keep_fd,
	void (*undo)(void *data, const void *note, size_t size), void *data)
{
	int ends[2];

	guard->fd = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	guard->pid = fork();
	if (guard->pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	if (!guard->pid) {
		become_guard(keep_fd, ends[1]);
		wait_for_end(ends[1], undo, data);
		_exit(0);
	}
	close(ends[1]);
	guard->fd = ends[0];
	return 0;
}

void xf_guard_note(const struct xf_guard *guard, const void *note, size_t size)
{
	while (guard->fd >= 0 && send(guard->fd, note, size, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

void xf_guard_release(struct xf_guard *guard)
{
	if (guard->fd < 0)
		return;
	xf_guard_note(guard, "", RELEASED);
	close(guard->fd);
	guard->fd = -1;
	while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
