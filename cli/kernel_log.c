// SPDX-License-Identifier: GPL-2.0-or-later
/* The log of dom0's kernel.  In: a child's tracefs instance.  Out: its text in a file. */
#include "cli/kernel_log.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/guest/tracefs.h"

#define READ_MS 100

/* What has come into the file; false: it cannot be kept. */
static bool copy(int from, int to)
{
	char block[65536];
	ssize_t n;

	while ((n = read(from, block, sizeof(block))) > 0)
		for (ssize_t done = 0, w; done < n; done += w) {
			w = write(to, block + done, (size_t)(n - done));
			if (w <= 0)
				return false;
		}
	return true;
}

/* The child: says on `ready` what became of it, and ends when nobody holds the other end of `stop`. */
static void serve(int file, int stop, int ready)
{
	struct pollfd ended = {.fd = stop, .events = POLLIN};
	struct xf_error err = {0};
	struct xf_tracefs t;
	bool kept = true;

	/* Ctrl-C goes to the whole group, but the end is our parent's to tell */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	if (xf_tracefs_start(&t, NULL, &err)) {
		dprintf(ready, "%s", err.text);
		_exit(1);
	}
	close(ready);
	while (kept && !poll(&ended, 1, READ_MS))
		kept = copy(t.pipe, file);
	xf_tracefs_stop(&t);
	if (kept)
		copy(t.pipe, file);
	_exit(xf_tracefs_remove(&t) && kept ? 0 : 2);
}

/* Waits for the child's word; an empty one is good. */
static int hear(struct xf_kernel_log *log, int ready, struct xf_error *err)
{
	char text[256];
	size_t used = 0;
	ssize_t n;

	while (used < sizeof(text) - 1 &&
		(n = read(ready, text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	close(ready);
	if (!used)
		return 0;
	xf_kernel_log_close(log);
	return xf_fail(err, XF_LIVE, "%s", text);
}

int xf_kernel_log_start(struct xf_kernel_log *log, struct xf_error *err)
{
	int stop[2] = {-1, -1}, ready[2] = {-1, -1};
	FILE *file = tmpfile();

	*log = (struct xf_kernel_log){.stop = -1, .file = -1};
	if (file) {
		log->file = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
		fclose(file);
	}
	if (log->file < 0 || pipe2(stop, O_CLOEXEC) || pipe2(ready, O_CLOEXEC)) {
		close(stop[0]);
		close(stop[1]);
		xf_kernel_log_close(log);
		return xf_fail_errno(err, XF_IO, "cannot make a temporary file, or a pipe");
	}
	snprintf(log->path, sizeof(log->path), "/proc/self/fd/%d", log->file);
	log->pid = fork();
	if (!log->pid) {
		close(stop[1]);
		close(ready[0]);
		serve(log->file, stop[0], ready[1]);
	}
	close(stop[0]);
	close(ready[1]);
	log->stop = stop[1];
	if (log->pid > 0)
		return hear(log, ready[0], err);
	log->pid = 0;
	close(ready[0]);
	xf_kernel_log_close(log);
	return xf_fail_errno(err, XF_INTERNAL, "cannot start a process");
}

void xf_kernel_log_stop(struct xf_kernel_log *log)
{
	if (log->stop >= 0)
		close(log->stop);
	log->stop = -1;
	if (log->pid > 0)
		waitpid(log->pid, NULL, 0);
	log->pid = 0;
}

void xf_kernel_log_close(struct xf_kernel_log *log)
{
	xf_kernel_log_stop(log);
	if (log->file >= 0)
		close(log->file);
	log->file = -1;
}
