// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes a long trace of a short one.  In: a trace in the variable format, a number of records.
 * Out: on stdout the trace again and again with its TSCs shifted, a lost-records record for each pCPU
 * at every seam (so that tools which follow the scheduler do not trip over the jump).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC	 0x2001f003u
#define LOST	 0xc001f001u
#define MAX_CPUS 256

static uint32_t word(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t tsc_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static size_t length_of(uint32_t header)
{
	return 4 + (header >> 31) * 8 + (header >> 28 & 7) * 4;
}

struct trace {
	uint8_t *data;
	size_t size;
	uint64_t records, first, last;
	uint8_t seen[MAX_CPUS];
};

/* Walks the windows; shift is added to each TSC, in place. */
static void walk(struct trace *t, uint64_t shift)
{
	size_t at = 0;

	t->records = 0;
	while (at + 12 <= t->size && word(t->data + at) == MAGIC) {
		size_t end = at + 12 + word(t->data + at + 8);

		t->seen[word(t->data + at + 4) % MAX_CPUS] = 1;
		for (at += 12; at < end && at + 4 <= t->size; t->records++) {
			uint32_t header = word(t->data + at);

			if (header >> 31) {
				uint64_t tsc = tsc_at(t->data + at + 4) + shift;

				memcpy(t->data + at + 4, &tsc, sizeof(tsc));
				if (!t->first || tsc < t->first)
					t->first = tsc;
				if (tsc > t->last)
					t->last = tsc;
			}
			at += length_of(header);
		}
	}
}

static void seam(const struct trace *t, uint64_t from, uint64_t to)
{
	for (uint32_t cpu = 0; cpu < MAX_CPUS; cpu++) {
		uint32_t w[10] = {MAGIC, cpu, 28, LOST, (uint32_t)to, (uint32_t)(to >> 32), 1, 0,
			(uint32_t)from, (uint32_t)(from >> 32)};

		if (t->seen[cpu])
			fwrite(w, sizeof(w), 1, stdout);
	}
}

int main(int argc, char **argv)
{
	struct trace t = {0};
	uint64_t wanted, done = 0, span;
	FILE *file;

	if (argc != 3 || !(file = fopen(argv[1], "rb"))) {
		fprintf(stderr, "usage: repeat TRACE RECORDS >LONG-TRACE\n");
		return 2;
	}
	wanted = strtoull(argv[2], NULL, 10);
	fseek(file, 0, SEEK_END);
	t.size = (size_t)ftell(file);
	rewind(file);
	t.data = malloc(t.size);
	if (!t.data || fread(t.data, 1, t.size, file) != t.size) {
		perror(argv[1]);
		return 3;
	}
	fclose(file);
	walk(&t, 0);
	/* as long as no shift is larger than the span, the copies do not overlap */
	span = t.last - t.first + 100000;
	while (done < wanted) {
		if (fwrite(t.data, 1, t.size, stdout) != t.size) {
			perror("write");
			return 3;
		}
		done += t.records;
		seam(&t, t.last + 1, t.last + 50000);
		walk(&t, span);
	}
	free(t.data);
	return fclose(stdout) ? 3 : 0;
}
