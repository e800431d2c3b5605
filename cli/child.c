// SPDX-License-Identifier: GPL-2.0-or-later
/* Child processes of xenfault record.  In: argument vectors.  Out: pipes, exit statuses. */
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_all(int *fds, int n)
{
	for (int i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* In the child: descriptors in place, then the program; the errno of a failure goes through report. */
static void execute(char *const argv[], int in, int out, int news, int report, bool own_group)
{
	sigset_t none;
	int sys;

	if (own_group)
		setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* a pipeline's filters must not end before its source: see xf_child_producer() */
	signal(SIGINT, own_group && news < 0 ? SIG_IGN : SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	/* ignored signals stay ignored over exec, handled ones do not */
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if ((in < 0 || dup2(in, STDIN_FILENO) >= 0) && (out < 0 || dup2(out, STDOUT_FILENO) >= 0) &&
		(news < 0 || dup2(news, XF_CHILD_STATUS_FD) >= 0))
		execvp(argv[0], argv);
	sys = errno;
	if (write(report, &sys, sizeof(sys)) < 0)
		_exit(126);
	_exit(127);
}

/* Waits for its release; without one it ends. */
static void wait_for(int go)
{
	char byte;
	ssize_t n;

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(0);
}

/* Forks; go >= 0: the child waits for a byte there.  child->report tells how it went on. */
static int launch(struct xf_child *child, char *const argv[], const int fds[3], int go,
	bool own_group, struct xf_error *err)
{
	int report[2];

	if (pipe2(report, O_CLOEXEC))
		return xf_fail_errno(err, XF_INTERNAL, "cannot make a pipe");
	/* keep clear of the number that the child's status descriptor takes */
	if (report[1] == XF_CHILD_STATUS_FD) {
		int moved = fcntl(report[1], F_DUPFD_CLOEXEC, XF_CHILD_STATUS_FD + 1);

		close(report[1]);
		report[1] = moved;
	}
	child->pid = fork();
	if (child->pid < 0) {
		close_all(report, 2);
		return xf_fail_errno(err, XF_INTERNAL, "cannot start a process");
	}
	if (!child->pid) {
		if (child->go >= 0)
			close(child->go);
		if (go >= 0)
			wait_for(go);
		execute(argv, fds[0], fds[1], fds[2], report[1], own_group);
	}
	close(report[1]);
	child->report = report[0];
	return 0;
}

/* Has it become the program? */
static int await_exec(struct xf_child *child, const char *name, struct xf_error *err)
{
	int sys = 0;
	ssize_t n;

	do
		n = read(child->report, &sys, sizeof(sys));
	while (n < 0 && errno == EINTR);
	close(child->report);
	child->report = -1;
	if (n != sizeof(sys))
		return 0;
	waitpid(child->pid, NULL, 0);
	child->pid = 0;
	errno = sys;
	return xf_fail_errno(err, XF_IO, "cannot run %s", name);
}

int xf_child_producer(struct xf_child *child, char *const argv[], bool status, struct xf_error *err)
{
	int fds[6] = {-1, -1, -1, -1, -1, -1}, code;

	*child = XF_NO_CHILD;
	if (pipe2(fds, O_CLOEXEC) ||
		(status && (pipe2(fds + 2, O_CLOEXEC) || pipe2(fds + 4, O_CLOEXEC)))) {
		code = xf_fail_errno(err, XF_INTERNAL, "cannot make a pipe");
		close_all(fds, 6);
		return code;
	}
	fcntl(fds[0], F_SETPIPE_SZ, 1 << 20);
	code = launch(child, argv, (int[]){fds[2], fds[1], fds[5]}, -1, true, err);
	if (!code)
		code = await_exec(child, argv[0], err);
	if (code) {
		close_all(fds, 6);
		return code;
	}
	child->out = fds[0];
	child->in = fds[3];
	child->news = fds[4];
	close(fds[1]);
	if (status) {
		close(fds[2]);
		close(fds[5]);
		fcntl(child->news, F_SETFL, O_NONBLOCK);
	}
	return 0;
}

int xf_child_hold(struct xf_child *child, char *const argv[], struct xf_error *err)
{
	int go[2], code;

	*child = XF_NO_CHILD;
	if (pipe2(go, O_CLOEXEC))
		return xf_fail_errno(err, XF_INTERNAL, "cannot make a pipe");
	child->go = go[1];
	code = launch(child, argv, (int[]){-1, -1, -1}, go[0], false, err);
	close(go[0]);
	return code;
}

int xf_child_release(struct xf_child *child, char *const argv[], struct xf_error *err)
{
	ssize_t n = write(child->go, "", 1);

	close(child->go);
	child->go = -1;
	if (n != 1)
		return xf_fail_errno(err, XF_INTERNAL, "cannot start %s", argv[0]);
	return await_exec(child, argv[0], err);
}

bool xf_child_ended(struct xf_child *child)
{
	if (child->pid && waitpid(child->pid, &child->wait_status, WNOHANG) == child->pid)
		child->pid = 0;
	return !child->pid;
}

void xf_child_stop(struct xf_child *child, int signal_number)
{
	if (child->in >= 0)
		close(child->in);
	child->in = -1;
	if (child->pid)
		kill(-child->pid, signal_number);
}

void xf_child_close(struct xf_child *child)
{
	int *fds[] = {&child->out, &child->in, &child->news, &child->go, &child->report};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	/* one that was never let go ends by itself */
	if (child->pid) {
		kill(child->pid, SIGKILL);
		waitpid(child->pid, &child->wait_status, 0);
		child->pid = 0;
	}
}
