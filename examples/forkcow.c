// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Workload: a fork, and then writes of the parent that must break copy-on-write.
 * In: page-table pages, PTEs in each, and how many of them the parent writes to while the child
 * lives.  Out: one line with the address of the first page and the number of copies forced.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "argument.h"

#define PAGE	  4096ul
#define PER_TABLE 512ul /* entries of a page-table page: it maps 2 MiB */

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

/* Writes to the first pages of each 2 MiB range. */
static void touch(char *base, unsigned long tables, unsigned long pages, char value)
{
	for (unsigned long table = 0; table < tables; table++)
		for (unsigned long page = 0; page < pages; page++)
			base[(table * PER_TABLE + page) * PAGE] = value;
}

int main(int argc, char **argv)
{
	unsigned long tables, ptes, cow;
	char *base, byte = 0;
	int hold[2];
	pid_t child;

	if (argc != 4) {
		fprintf(stderr,
			"usage: %s PT_PAGES PTES COW\n"
			"Writes to PTES pages (1 to 512) in each of PT_PAGES 2 MiB ranges, forks, and "
			"writes to COW (0 to PTES) of them again while the child lives.\n",
			argv[0]);
		return 2;
	}
	tables = argument(argv[1], 1, 65536);
	ptes = argument(argv[2], 1, PER_TABLE);
	cow = argument(argv[3], 0, ptes);
	base = map_tables(tables);
	touch(base, tables, ptes, 1);
	if (pipe(hold)) {
		perror("pipe");
		return 1;
	}
	child = fork();
	if (child == 0) { /* shares the pages until the parent is through with them, or gone */
		close(hold[1]);
		_exit(read(hold[0], &byte, 1) == 1 ? 0 : 1);
	}
	if (child < 0) {
		perror("fork");
		return 1;
	}
	touch(base, tables, cow, 2);
	if (write(hold[1], &byte, 1) != 1 || waitpid(child, NULL, 0) < 0) {
		perror("child");
		return 1;
	}
	printf("forkcow npt=%lu ppp=%lu cow_parent=%lu base=%p\n", tables, ptes, tables * cow,
		(void *)base);
	return 0;
}
