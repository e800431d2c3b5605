// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzz target: any bytes as a file of symbols (ELF, System.map, /proc/kallsyms).  In: bytes.  Out: a trap
 * if something is wrong: a name that is none, an address that is found and lies behind its function.
 */
#include <string.h>

#include "cli/symbols.h"
#include "tests/fuzz/fuzz.h"

/* Looked up beside those that the file itself mentions. */
static const uint64_t addresses[] = {0, 1, 0xc0100000u, 0xffffffff80000000u, 0xffffffff81000000u,
	0xffffffff81000010u, 0xffffffffa0000000u, INT64_MAX, 1ull << 63, UINT64_MAX};

static void look_up(const struct xf_symbols *symbols, uint64_t address)
{
	uint64_t offset = UINT64_MAX;
	const char *name = xf_symbols_find(symbols, address, &offset);

	must(!name || (strlen(name) && offset <= address && offset < UINT64_MAX));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t offsets[] = {0, 0x1e00000, UINT64_MAX - 0xfff};
	struct xf_symbols *symbols;
	struct xf_error err = {0};
	char path[40];
	int code;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fuzz_file(data, size));
	code = xf_symbols_load(&symbols, path, offsets[size % 3], &err);
	must(!code == !!symbols && (!code || err.text[0]));
	if (code)
		return 0;
	must(xf_symbols_count(symbols) > 0);
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		look_up(symbols, addresses[i] + offsets[size % 3]);
	for (size_t i = 0; i + 8 <= size && i < 512; i += 8) {
		uint64_t address;

		memcpy(&address, data + i, 8);
		look_up(symbols, address);
	}
	xf_symbols_free(symbols);
	return 0;
}
