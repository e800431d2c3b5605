// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Workload: two threads on two CPUs touch the same new pages at the same moment.
 * In: the number of pages.  Out: one line with the address of the first page and the process's
 * minor faults; those beyond the number of pages found that the other thread had done the work.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define PAGE	 4096ul
#define SPAN	 (512 * PAGE) /* what one page-table page maps */
#define PATIENCE 20000	      /* spins before the CPU is given up: there may be fewer than two */

static char *base;
static unsigned long pages;
static atomic_ulong arrived[2]; /* pages that each thread has come to */

static void *touch_pages(void *argument)
{
	const unsigned self = *(unsigned *)argument;
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET(self, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu); /* on one CPU there are just no races */
	for (unsigned long page = 0; page < pages; page++) {
		unsigned spins = 0;

		atomic_store(&arrived[self], page + 1);
		while (atomic_load(&arrived[!self]) < page + 1) {
			if (++spins > PATIENCE) {
				sched_yield();
				spins = 0;
			}
		}
		((volatile char *)base)[page * PAGE] = 1;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned self[2] = {0, 1};
	struct rusage before, after;
	pthread_t threads[2];
	char *end = NULL, *memory;
	size_t size;

	pages = argc == 2 ? strtoul(argv[1], &end, 10) : 0;
	if (!end || *end || pages < 1 || pages > 1ul << 24) {
		fprintf(stderr,
			"usage: %s PAGES\n"
			"Two threads touch the same PAGES new pages (1 to 16777216) together.\n",
			argv[0]);
		return 2;
	}
	size = pages * PAGE + SPAN;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	madvise(memory, size, MADV_NOHUGEPAGE);
	base = (char *)(((uintptr_t)memory + SPAN - 1) & ~(SPAN - 1));
	getrusage(RUSAGE_SELF, &before);
	for (int i = 0; i < 2; i++) {
		int error = pthread_create(&threads[i], NULL, touch_pages, &self[i]);

		if (error) {
			fprintf(stderr, "thread: %s\n", strerror(error));
			return 1;
		}
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	getrusage(RUSAGE_SELF, &after);
	printf("race pages=%lu base=%p minflt=%ld\n", pages, (void *)base,
		after.ru_minflt - before.ru_minflt);
	return 0;
}
