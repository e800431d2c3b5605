// SPDX-License-Identifier: GPL-2.0-or-later
/* Rights given up.  In: what a process needs.  Out: calls of the kernel's that take the rest away. */
#include "common/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1 /* its runtime opens files and makes calls of its own */
#else
#define SANITIZED 0
#endif

/* Adds an item to a list; what does not fit is cut. */
__attribute__((format(printf, 3, 4))) static void add(
	char *list, size_t size, const char *format, ...)
{
	size_t used = strlen(list);
	va_list ap;

	if (used)
		used += (size_t)snprintf(list + used, size - used, ", ");
	va_start(ap, format);
	if (used < size)
		vsnprintf(list + used, size - used, format, ap);
	va_end(ap);
}

#define DONE(confined, ...)    add((confined)->done, sizeof((confined)->done), __VA_ARGS__)
#define MISSING(confined, ...) add((confined)->missing, sizeof((confined)->missing), __VA_ARGS__)

/* ---- The user and its capabilities ---- */

void xf_confine_nobody(struct xf_confine_who *who)
{
	const struct passwd *user = getpwnam("xenfault");

	*who = (struct xf_confine_who){.uid = NOBODY, .gid = NOBODY};
	if (user && user->pw_uid) {
		who->uid = user->pw_uid;
		who->gid = user->pw_gid;
	}
}

static int no_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}, {0}};

	return (int)syscall(SYS_capset, &header, none);
}

void xf_confine_rights(struct xf_confined *confined, const struct xf_confine_who *who)
{
	if (!geteuid()) {
		for (int i = 0; i < 64; i++)
			prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
		if (setgroups(0, NULL) || setresgid(who->gid, who->gid, who->gid) ||
			setresuid(who->uid, who->uid, who->uid))
			MISSING(confined, "another user (%s)", strerror(errno));
		else
			DONE(confined, "user %u", (unsigned)who->uid);
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (no_capabilities())
		MISSING(confined, "no capabilities (%s)", strerror(errno));
	else
		DONE(confined, "no capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		MISSING(confined, "no new privileges (%s)", strerror(errno));
	else
		DONE(confined, "no new privileges");
}

/* ---- System calls: seccomp ---- */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__i386__)
#define ARCHITECTURE AUDIT_ARCH_I386
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#else
#define ARCHITECTURE 0 /* untried */
#endif

#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(constant, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(constant), 0, n)
#define RETURN(action)		 BPF_STMT(BPF_RET | BPF_K, action)

/* The list as a program: no jump but over one entry, so that it can be read from top to bottom. */
static size_t make_filter(struct sock_filter *at, const struct xf_confine_call *calls, size_t count)
{
	const struct sock_filter *begin = at, none = RETURN(SECCOMP_RET_ERRNO | ENOSYS),
				 allowed = RETURN(SECCOMP_RET_ALLOW), number = LOAD(nr);

	*at++ = (struct sock_filter)LOAD(arch);
	*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	*at++ = none;
	*at++ = number;
	for (size_t i = 0; i < count; i++) {
		const struct xf_confine_call *call = &calls[i];

		if (call->number < 0)
			continue;
		*at++ = (struct sock_filter)SKIP_UNLESS(call->number, call->mask ? 5 : 1);
		if (call->mask) {
			/* the lower half: the arguments that are limited are int */
			*at = (struct sock_filter)LOAD(args[0]);
			at++->k += call->argument * 8;
			*at++ = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, call->mask);
			*at++ = (struct sock_filter)SKIP_UNLESS(call->value, 1);
		}
		*at++ = allowed;
		if (call->mask)
			*at++ = number;
	}
	*at++ = none;
	return (size_t)(at - begin);
}

void xf_confine_calls(
	struct xf_confined *confined, const struct xf_confine_call *calls, size_t count)
{
	struct sock_filter filter[6 * XF_CONFINE_CALLS + 5];
	struct sock_fprog program = {.filter = filter};

	if (SANITIZED || !ARCHITECTURE || count > XF_CONFINE_CALLS) {
		MISSING(confined, "seccomp (%s)",
			SANITIZED ? "a build with sanitizers" : "untried on this architecture");
		return;
	}
	program.len = (unsigned short)make_filter(filter, calls, count);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		MISSING(confined, "seccomp (%s)", strerror(errno));
	else
		DONE(confined, "seccomp");
}

/* What reading and analysis never do, and somebody who has taken them over would like to. */
static const int denied[] = {SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv,
	SYS_process_vm_writev, SYS_socket, SYS_socketpair, SYS_mount, SYS_umount2, SYS_pivot_root,
	SYS_chroot, SYS_setns, SYS_unshare, SYS_bpf, SYS_perf_event_open, SYS_init_module,
	SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_keyctl, SYS_add_key,
	SYS_request_key, SYS_userfaultfd, SYS_io_uring_setup, SYS_open_by_handle_at, SYS_reboot,
	SYS_swapon, SYS_swapoff};
#define DENIED (sizeof(denied) / sizeof(denied[0]))

static struct sock_filter *each(
	struct sock_filter *at, const int *numbers, size_t count, uint32_t action)
{
	for (size_t i = 0; i < count; i++) {
		*at++ = (struct sock_filter)SKIP_UNLESS(numbers[i], 1);
		*at++ = (struct sock_filter)RETURN(action);
	}
	return at;
}

int xf_confine_trap(const int *trapped, size_t count)
{
	struct sock_filter filter[2 * (XF_CONFINE_TRAPS + DENIED) + 8], *at = filter;
	struct sock_fprog program = {.filter = filter};
	unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	int fd;

	if (!ARCHITECTURE || count > XF_CONFINE_TRAPS)
		return -ENOSYS;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	*at++ = (struct sock_filter)LOAD(arch);
	*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	*at++ = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | ENOSYS);
	*at++ = (struct sock_filter)LOAD(nr);
	/* calls of another numbering of the same architecture (x32) */
	*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
	*at++ = (struct sock_filter)RETURN(SECCOMP_RET_ERRNO | ENOSYS);
	at = each(at, trapped, count, SECCOMP_RET_USER_NOTIF);
	at = each(at, denied, DENIED, SECCOMP_RET_ERRNO | EPERM);
	*at++ = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	program.len = (unsigned short)(at - filter);
	/* a call that is answered already must not be made again because a signal came */
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
	if (fd < 0 && errno == EINVAL) /* before Linux 5.19 */
		fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	return fd < 0 ? -errno : fd;
}

/* ---- Files: Landlock ---- */

#define FILES_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FILES_WRITTEN                                                     \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
		LANDLOCK_ACCESS_FS_MAKE_REG)
/* of its first version, which is all that is needed */
#define FILES_HANDLED                                                                              \
	(FILES_READ | FILES_WRITTEN | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
		LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |                       \
		LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |                      \
		LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

/* A folder that is not there needs no rule. */
static int allow(int rules, const char *folder, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = rights,
		.parent_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC)};
	int failed = 0;

	if (rule.parent_fd < 0)
		return 0;
	if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0))
		failed = errno;
	close(rule.parent_fd);
	return failed;
}

void xf_confine_files(struct xf_confined *confined, const char *const folders[], size_t count)
{
	struct landlock_ruleset_attr all = {.handled_access_fs = FILES_HANDLED};
	int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	int failed = rules < 0 ? errno : allow(rules, "/", FILES_READ);

	for (size_t i = 0; !failed && i < count; i++)
		failed = allow(rules, folders[i], FILES_READ | FILES_WRITTEN);
	if (!failed && syscall(SYS_landlock_restrict_self, rules, 0))
		failed = errno;
	if (rules >= 0)
		close(rules);
	if (failed)
		MISSING(confined, "Landlock (%s)", strerror(failed));
	else
		DONE(confined, "Landlock");
}
