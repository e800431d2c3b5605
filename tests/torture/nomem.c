// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands before the allocator (LD_PRELOAD) and fails one of its calls, or all from one on.
 * In: NOMEM_NAME, the program that is meant; NOMEM_AT, the number of the call, 0 = none; NOMEM_FOR, how
 * many fail from there (0 = all); NOMEM_SIGNAL, a signal that is sent there instead; NOMEM_COUNT, a file
 * of 8 bytes.  Out: that file holds how many calls there were.
 *
 * What is counted begins with the program, not with its loader; inject.c is told of that by a prctl()
 * of a number that the kernel does not know.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/torture/marker.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static _Atomic uint64_t nothing, *count = &nothing;
static uint64_t fail_at, fail_for = 1;
static int fail_signal;
static _Atomic int counting;

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
	const char *name = getenv("NOMEM_NAME"), *path = getenv("NOMEM_COUNT");
	int fd;

	if (!name || strcmp(name, program_invocation_short_name))
		return;
	fail_at = number("NOMEM_AT", 0);
	fail_for = number("NOMEM_FOR", 1);
	fail_signal = (int)number("NOMEM_SIGNAL", 0);
	fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd >= 0) {
		void *shared = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (shared != MAP_FAILED)
			count = shared;
		close(fd);
	}
	prctl(XF_TORTURE_BEGINS, 0, 0, 0, 0);
	counting = 1;
}

static int fails(void)
{
	uint64_t n;

	if (!counting)
		return 0;
	n = ++*count;
	if (!fail_at || n < fail_at || (fail_for && n >= fail_at + fail_for))
		return 0;
	if (fail_signal) {
		kill(getpid(), fail_signal);
		return 0;
	}
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, size);
}
