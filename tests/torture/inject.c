// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a program and does something to one of its system calls: inject OUT ACTION K COMMAND...
 * In: the program, which nomem.so is loaded into; K, the number of the call, 0 = none; an action:
 * count; error, other, always (an error of the call, another one, that one from there on), short (half
 * of a write), or the number of a signal.  Out: its exit status, and in the file OUT "CALLS NAME WHO", the
 * calls counted, the one that was met, and the name of the process where that is not the program itself.
 *
 * The kernel stops the program at the calls of the table below and at no other (seccomp(2), ptrace(2)),
 * whichever library makes them.  Calls count in the program, its threads and the children that go on
 * in it, not in programs that it starts.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/torture/marker.h"

#ifndef __x86_64__
int main(void)
{
	fputs("inject: written for x86-64 only\n", stderr);
	return 77;
}
#else

#define CALLS(X)                         \
	X(open, EMFILE, EACCES)          \
	X(openat, EMFILE, ENOSPC)        \
	X(write, ENOSPC, EIO)            \
	X(pwrite64, ENOSPC, EIO)         \
	X(writev, ENOSPC, EIO)           \
	X(read, EIO, EINTR)              \
	X(pread64, EIO, EINTR)           \
	X(fsync, EIO, ENOSPC)            \
	X(fdatasync, EIO, ENOSPC)        \
	X(rename, EIO, ENOSPC)           \
	X(renameat, EIO, ENOSPC)         \
	X(renameat2, EIO, EINVAL)        \
	X(link, EIO, EPERM)              \
	X(linkat, EIO, EPERM)            \
	X(unlink, EIO, EACCES)           \
	X(unlinkat, EIO, EACCES)         \
	X(ftruncate, EIO, ENOSPC)        \
	X(fallocate, ENOSPC, EOPNOTSUPP) \
	X(mmap, ENOMEM, EAGAIN)          \
	X(mremap, ENOMEM, EAGAIN)        \
	X(clone, EAGAIN, ENOMEM)         \
	X(clone3, EAGAIN, ENOMEM)        \
	X(fork, EAGAIN, ENOMEM)          \
	X(vfork, EAGAIN, ENOMEM)         \
	X(pipe2, EMFILE, ENFILE)         \
	X(socketpair, EMFILE, ENFILE)    \
	X(dup3, EMFILE, EBUSY)           \
	X(memfd_create, ENOMEM, EMFILE)  \
	X(fcntl, ENOLCK, EINTR)          \
	X(flock, ENOLCK, EINTR)          \
	X(lseek, EINVAL, ESPIPE)         \
	X(stat, EACCES, EIO)             \
	X(fstat, EIO, EOVERFLOW)         \
	X(lstat, EACCES, EIO)            \
	X(newfstatat, EACCES, EIO)       \
	X(fchmod, EPERM, EROFS)          \
	X(fchown, EPERM, EROFS)          \
	X(getdents64, EIO, ENOENT)       \
	X(getrandom, ENOSYS, EINTR)      \
	X(poll, ENOMEM, EINTR)           \
	X(ppoll, ENOMEM, EINTR)          \
	X(copy_file_range, ENOSPC, EIO)

#define STANDIN_FDS 300 /* of tests/standin, from there on */

struct call {
	const char *name;
	int number, error, other;
};

#define ROW(name, error, other) {#name, SYS_##name, error, other},
static const struct call calls[] = {CALLS(ROW)};
#define NCALLS			(sizeof(calls) / sizeof(calls[0]))

enum action { COUNT, ERROR, OTHER, ALWAYS, SHORT, SIGNAL };

/* A thread that is traced. */
struct tracee {
	pid_t tid, process;
	int counts; /* the program has begun in it */
};

static struct tracee tracees[256];
static int ntracees;
static enum action action;
static int signal_number;
static long at, calls_so_far;
static const char *met = "-";
static char met_in[32] = "-";
static pid_t program;

static void die(const char *what)
{
	fprintf(stderr, "inject: %s: %s\n", what, strerror(errno));
	exit(99);
}

static struct tracee *tracee_of(pid_t tid)
{
	for (int i = 0; i < ntracees; i++)
		if (tracees[i].tid == tid)
			return &tracees[i];
	if (ntracees == (int)(sizeof(tracees) / sizeof(tracees[0]))) {
		errno = ENOMEM;
		die("too many threads");
	}
	tracees[ntracees] = (struct tracee){.tid = tid, .process = tid};
	return &tracees[ntracees++];
}

static void forget(pid_t tid)
{
	struct tracee *t = tracee_of(tid);

	*t = tracees[--ntracees];
}

/* In the child: stops at the calls of the table, and at the mark of nomem.so. */
static void install_filter(void)
{
	struct sock_filter code[NCALLS + 8];
	struct sock_fprog filter = {.filter = code};
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i <= NCALLS; i++)
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			(unsigned)(i < NCALLS ? calls[i].number : SYS_prctl),
			(unsigned char)(NCALLS - i + 1), 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
	filter.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &filter, 0, 0))
		die("seccomp");
}

static void fail_call(pid_t tid, struct user_regs_struct *regs, int error)
{
	regs->orig_rax = (unsigned long long)-1;
	regs->rax = (unsigned long long)-error;
	if (ptrace(PTRACE_SETREGS, tid, 0, regs))
		die("registers");
}

/* The call that was asked for. */
static void act(const struct tracee *t, const struct call *call, struct user_regs_struct *regs)
{
	switch (action) {
	case COUNT:
		break;
	case ERROR:
	case ALWAYS:
		fail_call(t->tid, regs, call->error);
		break;
	case OTHER:
		fail_call(t->tid, regs, call->other);
		break;
	case SHORT:
		if (strstr(call->name, "write") || strstr(call->name, "read")) {
			regs->rdx = (regs->rdx + 1) / 2;
			if (ptrace(PTRACE_SETREGS, t->tid, 0, regs))
				die("registers");
		}
		break;
	case SIGNAL:
		kill(t->process, signal_number);
	}
}

/* The name of a process, as it stands in /proc. */
static void note_process(pid_t process)
{
	char path[64], *end;
	FILE *file;

	if (process == program)
		return;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)process);
	file = fopen(path, "r");
	if (file && fgets(met_in, sizeof(met_in), file) && (end = strchr(met_in, '\n')))
		*end = 0;
	if (file)
		fclose(file);
}

static void at_call(struct tracee *t)
{
	static const struct call *failing;
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &regs))
		return;
	if (regs.orig_rax == SYS_prctl) {
		t->counts |= regs.rdi == XF_TORTURE_BEGINS;
		return;
	}
	/* what it says of a fault must arrive; the stand-in for Xen is not what is tried */
	if (!t->counts || (regs.orig_rax == SYS_write && regs.rdi == STDERR_FILENO) ||
		((regs.orig_rax == SYS_write || regs.orig_rax == SYS_read) &&
			regs.rdi >= STANDIN_FDS && regs.rdi <= INT32_MAX))
		return;
	calls_so_far++;
	for (size_t i = 0; i < NCALLS; i++) {
		const struct call *call = &calls[i];

		if (call->number != (int)regs.orig_rax)
			continue;
		if (calls_so_far == at) {
			met = call->name;
			note_process(t->process);
			failing = call;
			act(t, call, &regs);
		} else if (action == ALWAYS && call == failing) {
			fail_call(t->tid, &regs, call->error);
		}
		return;
	}
}

/* One stop; the signal to go on with. */
static int stopped(pid_t tid, int status)
{
	struct tracee *t = tracee_of(tid), *made;
	unsigned long message = 0;

	switch (status >> 8) {
	case SIGTRAP | PTRACE_EVENT_SECCOMP << 8:
		at_call(t);
		return 0;
	case SIGTRAP | PTRACE_EVENT_EXEC << 8:
		t->counts = 0;
		return 0;
	case SIGTRAP | PTRACE_EVENT_CLONE << 8:
	case SIGTRAP | PTRACE_EVENT_FORK << 8:
	case SIGTRAP | PTRACE_EVENT_VFORK << 8:
		ptrace(PTRACE_GETEVENTMSG, tid, 0, &message);
		made = tracee_of((pid_t)message);
		t = tracee_of(tid);
		made->counts = t->counts;
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_CLONE << 8))
			made->process = t->process;
		return 0;
	default:
		break;
	}
	/* new ones begin with a stop; their parents tell of them before or after it */
	return WSTOPSIG(status) == SIGSTOP || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
}

/* Until the program and all that it started are over; its status. */
static int trace(void)
{
	int status, result = 0;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status)) {
			ptrace(PTRACE_CONT, tid, 0, stopped(tid, status));
			continue;
		}
		forget(tid);
		if (tid == program)
			result = status;
	}
	return result;
}

static void parse(char **argv)
{
	static const char *const names[] = {"count", "error", "other", "always", "short"};

	at = strtol(argv[3], NULL, 10);
	for (int i = 0; i < SIGNAL; i++) {
		if (!strcmp(argv[2], names[i])) {
			action = (enum action)i;
			return;
		}
	}
	action = SIGNAL;
	signal_number = (int)strtol(argv[2], NULL, 10);
}

int main(int argc, char **argv)
{
	int status;
	FILE *out;

	if (argc < 5) {
		fputs("inject OUT ACTION K COMMAND...\n", stderr);
		return 99;
	}
	parse(argv);
	program = fork();
	if (!program) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		install_filter();
		execv(argv[4], argv + 4);
		die(argv[4]);
	}
	if (program < 0 || waitpid(program, &status, 0) != program)
		die("fork");
	if (ptrace(PTRACE_SETOPTIONS, program, 0,
		    PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
			    PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL))
		die("ptrace");
	tracee_of(program);
	ptrace(PTRACE_CONT, program, 0, 0);
	status = trace();
	out = fopen(argv[1], "w");
	if (!out || fprintf(out, "%ld %s %s\n", calls_so_far, met, met_in) < 0 || fclose(out))
		die(argv[1]);
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}
#endif
