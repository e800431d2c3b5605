// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Workload: a working set of known size, for guests in log-dirty mode.
 * In: how many pages to write to, and every how many milliseconds.  Out: one line, then nothing: it goes
 * on until it is killed.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "argument.h"

#define PAGE 4096ul

int main(int argc, char **argv)
{
	struct timespec pause;
	unsigned long pages, ms;
	volatile char *memory;

	if (argc != 3) {
		fprintf(stderr, "usage: %s PAGES MILLISECONDS\n", argv[0]);
		return 2;
	}
	pages = argument(argv[1], 1, 1ul << 24);
	ms = argument(argv[2], 1, 3600000);
	pause = (struct timespec){(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
	memory = mmap(
		NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	printf("dirtyset pages=%lu ms=%lu\n", pages, ms);
	fflush(stdout);
	for (;;) {
		for (unsigned long i = 0; i < pages; i++)
			memory[i * PAGE]++;
		nanosleep(&pause, NULL);
	}
}
