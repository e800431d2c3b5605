// SPDX-License-Identifier: GPL-2.0-or-later
/* A process that undoes what this one leaves behind.  In: messages, their end.  Out: calls. */
#include "collector/drain/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP \
	's' /* a message of one byte; notes are longer, and the end of messages is the third kind */

/* What ends this process's group, or its terminal, does not end the guard. */
static void become_guard(int keep_fd, int messages)
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
		if (fd != keep_fd && fd != messages)
			close(fd);
}

/* Returns false where the other side is gone. */
static bool answer(int messages, int sys)
{
	return send(messages, &sys, sizeof(sys), MSG_NOSIGNAL) == sizeof(sys);
}

static int serve(int messages, const struct xf_guard_work *work)
{
	char message[XF_GUARD_NOTE], note[XF_GUARD_NOTE];
	size_t size = 0;
	ssize_t n;
	int sys = work->prepare(work->data);

	if (!answer(messages, sys) || sys)
		return 0;
	/* messages keep their bounds; 0 or an error: the other side is gone */
	while ((n = recv(messages, message, sizeof(message), 0)) > 0 || (n < 0 && errno == EINTR)) {
		if (n > 1)
			memcpy(note, message, size = (size_t)n);
		else if (n == 1 && *message == STOP)
			answer(messages, work->stop(work->data));
	}
	return work->undo(work->data, note, size);
}

/* What the guard answers; an errno where it is gone. */
static int hear(const struct xf_guard *guard)
{
	int sys;
	ssize_t n;

	while ((n = recv(guard->fd, &sys, sizeof(sys), 0)) < 0 && errno == EINTR)
		;
	return n == sizeof(sys) ? sys : n < 0 ? errno : EPIPE;
}

int xf_guard_start(struct xf_guard *guard, int keep_fd, const struct xf_guard_work *work)
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
		_exit(serve(ends[1], work));
	}
	close(ends[1]);
	guard->fd = ends[0];
	errno = hear(guard);
	if (!errno)
		return 0;
	ends[1] = errno;
	xf_guard_release(guard);
	errno = ends[1];
	return -1;
}

static void tell(const struct xf_guard *guard, const void *message, size_t size)
{
	while (send(guard->fd, message, size, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

void xf_guard_note(const struct xf_guard *guard, const void *note, size_t size)
{
	tell(guard, note, size);
}

int xf_guard_stop(const struct xf_guard *guard)
{
	char stop = STOP;

	tell(guard, &stop, sizeof(stop));
	return hear(guard);
}

int xf_guard_release(struct xf_guard *guard)
{
	int status = 0;

	if (guard->fd < 0)
		return 0;
	close(guard->fd);
	guard->fd = -1;
	while (waitpid(guard->pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
