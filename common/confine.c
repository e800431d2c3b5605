// SPDX-License-Identifier: GPL-2.0-or-later
/* Rights given up.  In: what a process needs.  Out: calls of the kernel's that take the rest away. */
#include "common/confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
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
