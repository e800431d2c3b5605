// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands before the allocator (LD_PRELOAD) and fails one of its calls, or all from one on.
 * In: NOMEM_NAME, how the name of a program that is meant begins; NOMEM_AT, the number of the call, 0 = none;
 * NOMEM_FOR, how many fail from there (0 = all); NOMEM_SIGNAL, a signal that is sent there instead;
 * NOMEM_COUNT, a file of struct shared, of zeros; NOMEM_PLACES, places are looked for.  Out: that file
 * holds how many calls there were, and the first one from each place: by the functions that called it.
 *
 * What is counted begins with the program, not with its loader; inject.c is told of that by a prctl()
 * of a number that the kernel does not know.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
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

#define PLACES	65536 /* a power of two */
#define CALLERS 24

/* Of all processes. */
struct shared {
	_Atomic uint64_t count;
	struct {
		_Atomic uint64_t hash, first;
	} places[PLACES];
};

static struct shared nothing, *shared = &nothing;
static uint64_t fail_at, fail_for = 1;
static int look_for_places;
static _Thread_local int looking;
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

	if (!name || strncmp(program_invocation_short_name, name, strlen(name)))
		return;
	fail_at = number("NOMEM_AT", 0);
	fail_for = number("NOMEM_FOR", 1);
	fail_signal = (int)number("NOMEM_SIGNAL", 0);
	fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (fd >= 0) {
		void *file = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (file != MAP_FAILED)
			shared = file;
		close(fd);
	}
	if (getenv("NOMEM_PLACES")) {
		void *caller;

		/* the first one loads a library */
		backtrace(&caller, 1);
		look_for_places = 1;
	}
	prctl(XF_TORTURE_BEGINS, 0, 0, 0, 0);
	counting = 1;
}

static void note_place(uint64_t n)
{
	void *callers[CALLERS];
	uint64_t hash = 0xcbf29ce484222325u;
	int depth = backtrace(callers, CALLERS);

	for (int i = 0; i < depth; i++)
		hash = (hash ^ (uintptr_t)callers[i]) * 0x100000001b3u;
	for (size_t tries = 0, i = hash >> 32; tries < PLACES; tries++, i++) {
		uint64_t found = 0;

		if (atomic_compare_exchange_strong(
			    &shared->places[i % PLACES].hash, &found, hash | 1))
			shared->places[i % PLACES].first = n;
		if (!found || found == (hash | 1))
			return;
	}
}

static int fails(void)
{
	uint64_t n;

	if (!counting || looking)
		return 0;
	n = ++shared->count;
	if (look_for_places) {
		looking = 1;
		note_place(n);
		looking = 0;
	}
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
