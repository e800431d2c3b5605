// SPDX-License-Identifier: GPL-2.0-or-later
/* The broker.  In: system calls of a process without rights.  Out: those that are granted, done. */
#include "common/broker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/newfile.h"

#define PAGE 4096

struct broker {
	const struct xf_broker_grants *grants;
	int memory;		     /* of the process that is served */
	int folder[XF_BROKER_MADE];  /* of the files that are made, -1 = none */
	char *above[XF_BROKER_MADE]; /* its name without links */
	int child[XF_BROKER_CHILDREN];
};

/* ---- What a path of the process leads to ---- */

enum granted {
	NOTHING,
	TO_READ, /* a file that may be read */
	MADE,	 /* a name of a file that is made: folder and name */
	FOLDER,	 /* the folder of one */
	ABOVE,	 /* a folder on the way there: it may be looked at */
};

struct place {
	char path[PATH_MAX];
	enum granted granted;
	int folder;	  /* of MADE and FOLDER */
	const char *name; /* of MADE */
};

static bool same_folder(int folder, const char *path)
{
	struct stat ours, theirs;

	return folder >= 0 && !stat(path, &theirs) && !fstat(folder, &ours) &&
	       ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "" for a name in the current folder. */
static void folder_of(const char *path, char folder[PATH_MAX])
{
	snprintf(folder, PATH_MAX, "%.*s", (int)(base(path) - path), path);
	if (!*folder)
		snprintf(folder, PATH_MAX, ".");
}

static bool is_above(const char *path, const char *folder)
{
	size_t length = strlen(path);

	return *path == '/' && folder && !strncmp(folder, path, length) &&
	       (folder[length] == '/' || path[length - 1] == '/');
}

static void find(const struct broker *b, struct place *place)
{
	char folder[PATH_MAX];

	place->granted = NOTHING;
	for (size_t i = 0; i < b->grants->nread; i++)
		if (!strcmp(place->path, b->grants->read[i])) {
			place->granted = TO_READ;
			return;
		}
	folder_of(place->path, folder);
	for (int i = 0; i < XF_BROKER_MADE; i++) {
		const char *made = b->grants->made[i];

		place->folder = b->folder[i];
		place->name = base(place->path);
		if (!made)
			continue;
		if (xf_newfile_belongs(base(made), place->name) &&
			same_folder(place->folder, folder))
			place->granted = MADE;
		else if (same_folder(place->folder, place->path))
			place->granted = FOLDER;
		else if (is_above(place->path, b->above[i]) || is_above(place->path, made))
			place->granted = ABOVE;
		if (place->granted)
			return;
	}
}

/* ---- Its memory ---- */

/* A text, page by page: behind its last page there may be nothing. */
static int read_path(const struct broker *b, uint64_t at, char path[PATH_MAX])
{
	for (size_t n = 0; n < PATH_MAX;) {
		size_t part = PAGE - (at + n) % PAGE;

		if (part > PATH_MAX - n)
			part = PATH_MAX - n;
		if (pread(b->memory, path + n, part, (off_t)(at + n)) != (ssize_t)part)
			return -EFAULT;
		if (memchr(path + n, '\0', part))
			return 0;
		n += part;
	}
	return -ENAMETOOLONG;
}

static int64_t write_back(const struct broker *b, uint64_t at, const void *data, size_t size)
{
	return pwrite(b->memory, data, size, (off_t)at) == (ssize_t)size ? 0 : -EFAULT;
}

/* ---- Calls: each returns what the process gets, or a negative errno; CONTINUE: it has to try itself ---- */

#define CONTINUE INT64_MIN

struct call {
	const struct broker *broker;
	struct place at, to;	/* to: of a rename */
	const __u64 *arguments; /* behind the path, or as they come */
	uint64_t flags;
	int opened; /* a descriptor that the process gets, -1 = none */
};

static int64_t result(int code)
{
	return code < 0 ? -errno : code;
}

static bool may_open(const struct place *place, int flags)
{
	bool only_read = (flags & O_ACCMODE) == O_RDONLY && !(flags & (O_CREAT | O_TRUNC));

	if (place->granted == MADE)
		return true;
	if (place->granted == FOLDER)
		return (flags & O_TMPFILE) == O_TMPFILE || (only_read && flags & O_DIRECTORY);
	return place->granted == TO_READ && only_read;
}

/*
 * No link is followed and nothing but a file is opened where anybody may have put something, and a pipe
 * without a writer does not stop us.
 */
static int64_t do_open(struct call *call)
{
	int flags = (int)call->arguments[0];
	mode_t mode = (mode_t)call->arguments[1] & 0777;
	const struct place *at = &call->at;
	struct stat st;
	int fd;

	if (!may_open(at, flags))
		return CONTINUE;
	if (at->granted == MADE)
		fd = openat(at->folder, at->name,
			flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);
	else if (at->granted == FOLDER)
		fd = openat(at->folder, ".", flags | O_CLOEXEC, mode);
	else
		fd = open(at->path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (at->granted == MADE && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		return -EACCES;
	}
	if (at->granted == TO_READ)
		fcntl(fd, F_SETFL, flags & O_NONBLOCK);
	call->opened = fd;
	call->flags = flags & O_CLOEXEC;
	return 0;
}

/* Where a call may only look; false: not even that. */
static bool look_at(const struct place *place, int *folder, const char **name)
{
	*folder = place->granted == MADE ? place->folder : AT_FDCWD;
	*name = place->granted == MADE ? place->name : place->path;
	return place->granted != NOTHING;
}

static int64_t do_stat(struct call *call)
{
	int folder, code, flags = (int)call->arguments[1] & (AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
	const char *name;
	struct stat st;

	if (!look_at(&call->at, &folder, &name))
		return CONTINUE;
	code = (int)syscall(SYS_newfstatat, folder, name, &st, flags);
	return code ? -errno : write_back(call->broker, call->arguments[0], &st, sizeof(st));
}

static int64_t do_access(struct call *call)
{
	const char *name;
	int folder;

	if (!look_at(&call->at, &folder, &name))
		return CONTINUE;
	return result(faccessat(folder, name, (int)call->arguments[0] & (R_OK | W_OK | X_OK), 0));
}

static int64_t do_readlink(struct call *call)
{
	size_t size = (size_t)call->arguments[1];
	char text[PATH_MAX];
	const char *name;
	int folder;
	ssize_t n;

	if (!look_at(&call->at, &folder, &name))
		return CONTINUE;
	n = readlinkat(folder, name, text, size < sizeof(text) ? size : sizeof(text));
	if (n < 0 || write_back(call->broker, call->arguments[0], text, (size_t)n))
		return n < 0 ? -errno : -EFAULT;
	return n;
}

static int64_t do_unlink(struct call *call)
{
	if (call->at.granted != MADE || call->flags)
		return CONTINUE;
	return result(unlinkat(call->at.folder, call->at.name, 0));
}

static int64_t do_rename(struct call *call)
{
	if (call->at.granted != MADE || call->to.granted != MADE ||
		call->flags & ~(uint64_t)RENAME_NOREPLACE)
		return CONTINUE;
	return result(renameat2(call->at.folder, call->at.name, call->to.folder, call->to.name,
		(unsigned)call->flags));
}

/* As long as nobody has asked for its end, its number is its own. */
static int64_t do_kill(struct call *call)
{
	pid_t to = (pid_t)call->arguments[0];
	int number = (int)call->arguments[1];

	for (int i = 0; i < XF_BROKER_CHILDREN; i++) {
		pid_t child = call->broker->grants->children[i];

		if (child && (to == child || to == -child) && call->broker->child[i] >= 0 &&
			!syscall(SYS_pidfd_send_signal, call->broker->child[i], 0, NULL, 0))
			return result(kill(to, number));
	}
	return CONTINUE;
}

/* Which of a call's six arguments mean what; -1 = it has none such. */
static const struct trap {
	int number;
	signed char folder, path;     /* the folder's descriptor is ignored before a whole path */
	signed char to_folder, to;    /* of a rename */
	signed char arguments, flags; /* the first of the others */
	int64_t (*answer)(struct call *call);
} traps[] = {
	{SYS_openat, 0, 1, -1, -1, 2, -1, do_open},
	{SYS_newfstatat, 0, 1, -1, -1, 2, -1, do_stat},
	{SYS_faccessat, 0, 1, -1, -1, 2, -1, do_access},
	{SYS_faccessat2, 0, 1, -1, -1, 2, -1, do_access},
	{SYS_readlinkat, 0, 1, -1, -1, 2, -1, do_readlink},
	{SYS_unlinkat, 0, 1, -1, -1, -1, 2, do_unlink},
	{SYS_renameat2, 0, 1, 2, 3, -1, 4, do_rename},
	{SYS_kill, -1, -1, -1, -1, 0, -1, do_kill},
#ifdef SYS_open /* older forms, which newer architectures have not */
	{SYS_open, -1, 0, -1, -1, 1, -1, do_open},
	{SYS_access, -1, 0, -1, -1, 1, -1, do_access},
	{SYS_readlink, -1, 0, -1, -1, 1, -1, do_readlink},
	{SYS_unlink, -1, 0, -1, -1, -1, -1, do_unlink},
	{SYS_rename, -1, 0, -1, 1, -1, -1, do_rename},
#endif
#ifdef SYS_renameat
	{SYS_renameat, 0, 1, 2, 3, -1, -1, do_rename},
#endif
};
#define TRAPS (sizeof(traps) / sizeof(traps[0]))

static int64_t find_place(const struct broker *b, const struct seccomp_data *data, int folder,
	int path, struct place *place)
{
	int failed;

	if (path < 0)
		return 0;
	failed = read_path(b, data->args[path], place->path);
	if (failed)
		return failed;
	if (folder >= 0 && *place->path != '/' && (int)data->args[folder] != AT_FDCWD)
		return CONTINUE;
	find(b, place);
	return 0;
}

static int64_t do_call(struct call *call, const struct seccomp_data *data)
{
	int64_t code;

	for (size_t i = 0; i < TRAPS; i++) {
		const struct trap *t = &traps[i];

		if (t->number != data->nr)
			continue;
		if ((code = find_place(call->broker, data, t->folder, t->path, &call->at)) ||
			(code = find_place(call->broker, data, t->to_folder, t->to, &call->to)))
			return code;
		call->arguments = data->args + (t->arguments < 0 ? 0 : t->arguments);
		call->flags = t->flags < 0 ? 0 : data->args[t->flags];
		return t->answer(call);
	}
	return CONTINUE;
}

/* ---- The process that answers ---- */

/* What a kernel newer than these headers may write behind the structures. */
#define ROOM 256

static void answer(const struct broker *b, int listener)
{
	union {
		struct seccomp_notif it;
		char room[sizeof(struct seccomp_notif) + ROOM];
	} asked;
	union {
		struct seccomp_notif_resp it;
		char room[sizeof(struct seccomp_notif_resp) + ROOM];
	} reply;
	struct call call = {.broker = b, .opened = -1};
	struct seccomp_notif_addfd given = {0};
	int64_t code;

	memset(&asked, 0, sizeof(asked));
	memset(&reply, 0, sizeof(reply));
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked))
		return;
	code = do_call(&call, &asked.it.data);
	if (call.opened >= 0) {
		given.id = asked.it.id;
		given.srcfd = (uint32_t)call.opened;
		given.newfd_flags = (uint32_t)call.flags;
		code = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &given);
		if (code < 0)
			code = -errno;
		close(call.opened);
	}
	reply.it.id = asked.it.id;
	if (code == CONTINUE)
		reply.it.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (code < 0)
		reply.it.error = (int)code;
	else
		reply.it.val = code;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}

static int send_byte(int socket, int fd)
{
	char byte = 0;
	struct iovec data = {&byte, 1};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

/* A byte, and *fd if a descriptor comes with it; false: the other end is gone. */
static bool receive_byte(int socket, int *fd)
{
	char byte;
	struct iovec data = {&byte, 1};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t n;

	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	*fd = -1;
	if (n == 1 && message.msg_controllen >= sizeof(struct cmsghdr) &&
		control.head.cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(&control.head), sizeof(*fd));
	return n == 1;
}

/* Descriptors of the process that are not ours to keep open: as at exec(). */
static void close_others(int socket, int file)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name), flags = fcntl(fd, F_GETFD);

		if (fd != dirfd(dir) && fd != socket && fd != file && flags >= 0 &&
			flags & FD_CLOEXEC)
			close(fd);
	}
	if (dir)
		closedir(dir);
}

static bool prepare(struct broker *b, pid_t process)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)process);
	b->memory = open(path, O_RDWR | O_CLOEXEC);
	for (int i = 0; i < XF_BROKER_MADE; i++) {
		b->folder[i] = -1;
		if (!b->grants->made[i])
			continue;
		folder_of(b->grants->made[i], path);
		b->folder[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		b->above[i] = realpath(path, NULL);
		if (b->folder[i] < 0 || !b->above[i])
			return false;
	}
	for (int i = 0; i < XF_BROKER_CHILDREN; i++)
		b->child[i] = b->grants->children[i]
				      ? (int)syscall(SYS_pidfd_open, b->grants->children[i], 0)
				      : -1;
	return b->memory >= 0;
}

/* Ends with the process; nothing but that ends it. */
static void serve(const struct xf_broker_grants *grants, pid_t process, int socket)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP};
	static const struct xf_broker_grants none = {.file = -1};
	struct broker b = {.grants = grants};
	struct pollfd fds[2] = {{.events = POLLIN}, {.fd = socket, .events = POLLIN}};

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	prctl(PR_SET_NAME, "xenfault-broker");
	close_others(socket, grants->file);
	if (!prepare(&b, process) || send_byte(socket, -1) || !receive_byte(socket, &fds[0].fd) ||
		fds[0].fd < 0 || send_byte(socket, -1))
		_exit(1);
	while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
		if (fds[0].revents & POLLIN)
			answer(&b, fds[0].fd);
		else if (fds[0].revents)
			break;
		if (fds[1].fd >= 0 && fds[1].revents) {
			b.grants = &none;
			if (chdir("/"))
				break;
			for (int i = 0; i < XF_BROKER_MADE; i++)
				close(b.folder[i]);
			close(socket);
			fds[1].fd = -1;
		}
	}
	_exit(0);
}

/* ---- The process that gives up its rights ---- */

static int start(int socket, struct xf_error *err)
{
	int numbers[TRAPS], fd;

	for (size_t i = 0; i < TRAPS; i++)
		numbers[i] = traps[i].number;
	if (!receive_byte(socket, &fd))
		return xf_fail(err, XF_LIVE, "the folder or /proc cannot be opened");
	fd = xf_confine_trap(numbers, TRAPS);
	if (fd < 0)
		return xf_fail(err, XF_LIVE, "seccomp: %s", strerror(-fd));
	/* from here on there is no way back: calls that nobody answers fail */
	if (send_byte(socket, fd) || (close(fd), !receive_byte(socket, &fd)))
		return xf_fail(err, XF_INTERNAL, "the process that opens files has ended");
	return 0;
}

int xf_broker_start(int *broker, const struct xf_broker_grants *grants,
	const struct xf_confine_who *who, struct xf_confined *confined, struct xf_error *err)
{
	pid_t process = getpid(), other;
	int ends[2], code;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return xf_fail_errno(err, XF_LIVE, "cannot make a socket");
	other = fork();
	if (!other) {
		close(ends[0]);
		serve(grants, process, ends[1]);
	}
	close(ends[1]);
	code = other < 0 ? xf_fail_errno(err, XF_LIVE, "cannot start a process")
			 : start(ends[0], err);
	if (code) {
		close(ends[0]);
		if (other > 0)
			waitpid(other, NULL, 0);
		return code;
	}
	*broker = ends[0];
	xf_confine_rights(confined, who);
	return 0;
}

void xf_broker_release(int broker)
{
	int fd;

	if (broker < 0)
		return;
	shutdown(broker, SHUT_WR);
	receive_byte(broker, &fd);
	close(broker);
}
