// SPDX-License-Identifier: GPL-2.0-or-later
/* A tracefs instance.  In: files of tracefs.  Out: the text of trace_pipe. */
#include "collector/guest/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX	  "xenfault."
#define BUFFER_KB "256" /* of each CPU: some thousand events, which are read ten times a second */

/* What names forks, and tells threads and programs; the last one only PV kernels have. */
static const char *const events[] = {"sched/sched_process_fork", "sched/sched_process_exec",
	"sched/sched_process_exit", "task/task_newtask", "xen/xen_mmu_pgd_pin"};

#define NEEDED 1 /* the first ones: without them there is no name */

static bool put(const char *folder, const char *file, const char *text)
{
	char path[256];
	int fd;
	bool done;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC);
	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	return !close(fd) && done;
}

/* Does the process live, and is it one of ours? */
static bool alive(long pid)
{
	char path[64], comm[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(comm, sizeof(comm), file))
		*comm = '\0';
	fclose(file);
	return !strncmp(comm, "xenfault", 8);
}

/* What a run that was killed could not remove. */
static void remove_leftovers(const char *instances)
{
	DIR *folder = opendir(instances);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		struct xf_tracefs old = {.pipe = -1};
		const char *number = entry->d_name + strlen(PREFIX);
		char *end;
		long pid;

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		pid = strtol(number, &end, 10);
		if (end == number || *end || alive(pid))
			continue;
		snprintf(old.path, sizeof(old.path), "%s/%.60s", instances, entry->d_name);
		xf_tracefs_stop(&old);
		xf_tracefs_remove(&old);
	}
	if (folder)
		closedir(folder);
}

static const char *find_root(void)
{
	static const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char path[64];

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		snprintf(path, sizeof(path), "%s/instances", roots[i]);
		if (!access(path, W_OK))
			return roots[i];
	}
	return NULL;
}

static int turn_on(struct xf_tracefs *t, struct xf_error *err)
{
	char path[224];

	if (!put(t->path, "trace_clock", "x86-tsc"))
		return xf_fail(err, XF_LIVE, "this kernel's ftrace has no clock x86-tsc");
	put(t->path, "buffer_size_kb", BUFFER_KB);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		snprintf(path, sizeof(path), "events/%s/enable", events[i]);
		if (!put(t->path, path, "1") && i < NEEDED)
			return xf_fail(
				err, XF_LIVE, "this kernel's ftrace has no event %s", events[i]);
	}
	snprintf(path, sizeof(path), "%s/trace_pipe", t->path);
	t->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (t->pipe < 0 || !put(t->path, "tracing_on", "1"))
		return xf_fail_errno(err, XF_LIVE, "cannot use %s", path);
	return 0;
}

int xf_tracefs_start(struct xf_tracefs *t, const char *root, struct xf_error *err)
{
	char instances[96];
	int code;

	*t = (struct xf_tracefs){.pipe = -1};
	if (!root)
		root = find_root();
	if (!root)
		return xf_fail(err, XF_LIVE,
			"tracefs is not there (mount -t tracefs tracefs /sys/kernel/tracing), or not for you");
	snprintf(instances, sizeof(instances), "%s/instances", root);
	remove_leftovers(instances);
	snprintf(t->path, sizeof(t->path), "%s/" PREFIX "%ld", instances, (long)getpid());
	if (mkdir(t->path, 0700)) {
		code = xf_fail_errno(err, XF_LIVE, "cannot make %s", t->path);
		t->path[0] = '\0';
		return code;
	}
	code = turn_on(t, err);
	if (code) {
		xf_tracefs_stop(t);
		xf_tracefs_remove(t);
	}
	return code;
}

void xf_tracefs_stop(const struct xf_tracefs *t)
{
	if (!*t->path)
		return;
	put(t->path, "tracing_on", "0");
	put(t->path, "events/enable", "0");
}

bool xf_tracefs_remove(struct xf_tracefs *t)
{
	bool gone = true;

	if (t->pipe >= 0)
		close(t->pipe);
	t->pipe = -1;
	if (*t->path)
		gone = !rmdir(t->path) || errno == ENOENT;
	if (gone)
		t->path[0] = '\0';
	return gone;
}
