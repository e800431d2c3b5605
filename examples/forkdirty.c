// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Workload: a fork whose page-table work is known in advance.
 * In: how many PTEs to make writable in each of how many page-table pages.  Out: one line with the
 * address of the first page and the time that fork() took.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "argument.h"

#define PAGE	  4096ul
#define PER_TABLE 512ul /* entries of a page-table page: it maps 2 MiB */

static double microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Memory that starts a page-table page and that no huge page maps. */
static char *map_tables(unsigned long tables)
{
	const unsigned long span = PER_TABLE * PAGE, size = (tables + 1) * span;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	madvise(memory, size, MADV_NOHUGEPAGE);
	return (char *)(((uintptr_t)memory + span - 1) & ~(span - 1));
}

int main(int argc, char **argv)
{
	unsigned long ptes, tables;
	double before, after;
	char *base;
	pid_t child;

	if (argc != 3) {
		fprintf(stderr,
			"usage: %s PTES_PER_PAGE PT_PAGES\n"
			"Writes to that many pages (1 to 512, evenly spread) in each of that many "
			"2 MiB ranges, then forks.\n",
			argv[0]);
		return 2;
	}
	ptes = argument(argv[1], 1, PER_TABLE);
	tables = argument(argv[2], 1, 65536);
	base = map_tables(tables);
	for (unsigned long table = 0; table < tables; table++)
		for (unsigned long pte = 0; pte < ptes; pte++)
			base[(table * PER_TABLE + pte * (PER_TABLE / ptes)) * PAGE] = 1;
	before = microseconds();
	child = fork();
	if (child == 0)
		_exit(0);
	after = microseconds();
	if (child < 0 || waitpid(child, NULL, 0) < 0) {
		perror("fork");
		return 1;
	}
	printf("ppp=%lu npt=%lu base=%p fork_us=%.0f\n", ptes, tables, (void *)base,
		after - before);
	return 0;
}
