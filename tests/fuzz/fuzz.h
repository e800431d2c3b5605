/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the fuzz targets share.  A target is LLVMFuzzerTestOneInput() in a file of its own, linked with
 * libFuzzer, or with driver.c where there is none.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What has to hold; both drivers keep the input where it does not. */
#define must(holds)                                                                 \
	do {                                                                        \
		if (!(holds)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #holds); \
			__builtin_trap();                                           \
		}                                                                   \
	} while (0)

#define FUZZ_HASH 0xcbf29ce484222325u

static inline uint64_t fuzz_mix(uint64_t hash, const void *data, size_t size)
{
	for (const uint8_t *p = data; size; size--)
		hash = (hash ^ *p++) * 0x100000001b3u;
	return hash;
}

/* A file in memory that holds the bytes; the same one each time: its name is /proc/self/fd/NUMBER. */
static inline int fuzz_file(const void *data, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	must(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size && !ftruncate(fd, (off_t)size) &&
		!lseek(fd, 0, SEEK_SET));
	return fd;
}

#endif
