// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Drives a fuzz target where there is no libFuzzer: TARGET [-runs=N] [-seed=N] [-max_len=N] [-out=FILE]
 * FILE|FOLDER...  In: seeds.  Out: each seed as it is, then N inputs that are made of them, the same ones
 * for the same number; what ends the program is in FILE (default: crash-input).  Says how many there
 * were and how many in a second of CPU time.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/fuzz/fuzz.h"

#define SEEDS 512

static struct seed {
	uint8_t *data;
	size_t size;
} seeds[SEEDS];
static size_t nseeds, max_len = 32768;
static uint64_t state = 1;
static const char *out = "crash-input";
static uint8_t *input;
static size_t input_size;

static size_t below(size_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return n ? (size_t)((state * 0x2545f4914f6cdd1du >> 32) % n) : 0;
}

static void crashed(int number)
{
	int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, input, input_size) < 0 ||
		write(STDERR_FILENO, "the input is in ", 16) < 0 ||
		write(STDERR_FILENO, out, strlen(out)) < 0)
		_exit(99);
	signal(number, SIG_DFL);
	raise(number);
}

static void add_file(const char *path)
{
	struct seed *seed = &seeds[nseeds];
	FILE *file = fopen(path, "rb");

	if (!file || nseeds == SEEDS || !(seed->data = malloc(max_len)))
		exit(98);
	seed->size = fread(seed->data, 1, max_len, file);
	fclose(file);
	nseeds++;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void add(const char *path)
{
	struct dirent **entries;
	struct stat st;
	int n;

	if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		add_file(path);
		return;
	}
	n = scandir(path, &entries, NULL, by_name);
	for (int i = 0; i < n; i++) {
		char name[4096];

		snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.')
			add_file(name);
		free(entries[i]);
	}
	free(entries);
}

/* One change: bytes, numbers that mean something, a piece of another seed, a piece twice or gone. */
static void change(void)
{
	static const uint64_t numbers[] = {0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff,
		0x7fffffff, 0x80000000u, UINT32_MAX, INT64_MAX, 1ull << 63, UINT64_MAX, 16, 64, 255,
		256, 4096};
	size_t at = below(input_size), room = input_size - at, width = (size_t)1 << below(4);
	const struct seed *other = &seeds[below(nseeds)];
	size_t from, n;

	if (!input_size)
		return;
	switch (below(7)) {
	case 0:
		input[at] ^= (uint8_t)(1u << below(8));
		break;
	case 1:
		input[at] = (uint8_t)below(256);
		break;
	case 2:
		memcpy(input + at, &numbers[below(sizeof(numbers) / sizeof(numbers[0]))],
			width < room ? width : room);
		break;
	case 3: /* of another seed, in place */
		from = below(other->size);
		n = below(other->size - from + 1);
		n = n < room ? n : room;
		memcpy(input + at, other->data + from, n);
		break;
	case 4: /* gone */
		n = below(room + 1) >> below(4);
		memmove(input + at, input + at + n, room - n);
		input_size -= n;
		break;
	case 5: /* twice */
		n = below(room + 1) >> below(4);
		if (input_size + n <= max_len) {
			memmove(input + at + n, input + at, room);
			input_size += n;
		}
		break;
	default: /* a number a little larger or smaller */
		input[at] = (uint8_t)(input[at] + below(9) - 4);
	}
}

static void make(void)
{
	const struct seed *seed = &seeds[below(nseeds)];

	memcpy(input, seed->data, seed->size);
	input_size = seed->size;
	for (size_t changes = 1 + below(8); changes; changes--)
		change();
}

static void try(void)
{
	/* of its own size, so that what reads behind it is noticed */
	uint8_t *copy = malloc(input_size);

	if (!copy && input_size)
		exit(97);
	if (input_size)
		memcpy(copy, input, input_size);
	LLVMFuzzerTestOneInput(copy, input_size);
	free(copy);
}

int main(int argc, char **argv)
{
	unsigned long long runs = 10000, tried = 0;
	clock_t began;

	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "-runs=", 6))
			runs = strtoull(argv[i] + 6, NULL, 10);
		else if (!strncmp(argv[i], "-seed=", 6))
			state = strtoull(argv[i] + 6, NULL, 10) * 2 + 1;
		else if (!strncmp(argv[i], "-max_len=", 9))
			max_len = strtoull(argv[i] + 9, NULL, 10);
		else if (!strncmp(argv[i], "-out=", 5))
			out = argv[i] + 5;
		else
			add(argv[i]);
	}
	input = malloc(max_len);
	if (!nseeds || !input || LLVMFuzzerInitialize(&argc, &argv))
		return 96;
	for (int number = 0; number < 5; number++)
		signal((const int[]){SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE}[number], crashed);
	began = clock();
	for (; tried < nseeds + runs; tried++) {
		if (tried < nseeds) {
			input_size = seeds[tried].size;
			memcpy(input, seeds[tried].data, input_size);
		} else {
			make();
		}
		try();
	}
	printf("%llu inputs, %.0f a second\n", tried,
		(double)tried * CLOCKS_PER_SEC / (double)(clock() - began + 1));
	return 0;
}
