// SPDX-License-Identifier: GPL-2.0-or-later
/* Error codes and page-table entries in words.  In: numbers.  Out: text. */
#include "common/words.h"

#include <stdio.h>
#include <string.h>

static void add(char *text, size_t size, const char *separator, const char *word)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%s", used ? separator : "", word);
}

const char *xf_error_code_text(uint64_t e, char *text, size_t size)
{
	static const struct {
		uint64_t bit;
		const char *word;
	} more[] = {{0x08, "reserved bit"}, {0x20, "protection key"}, {0x40, "shadow stack"},
		{0x8000, "SGX"}};
	char rest[32];
	uint64_t unknown = e & ~(uint64_t)0x807f;

	*text = '\0';
	add(text, size, ", ", e & 0x10 ? "fetch" : e & 2 ? "write" : "read");
	add(text, size, ", ", e & 4 ? "user" : "kernel");
	add(text, size, ", ", e & 1 ? "protection" : "not present");
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (e & more[i].bit)
			add(text, size, ", ", more[i].word);
	if (unknown) {
		snprintf(rest, sizeof(rest), "0x%llx", (unsigned long long)unknown);
		add(text, size, ", ", rest);
	}
	return text;
}

const char *xf_pte_flags(uint64_t pte, char *text, size_t size)
{
	static const struct {
		int bit;
		const char *word;
	} flags[] = {{0, "P"}, {1, "RW"}, {2, "US"}, {3, "PWT"}, {4, "PCD"}, {5, "A"}, {6, "D"},
		{7, "PAT"}, {8, "G"}, {63, "NX"}};

	*text = '\0';
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (pte >> flags[i].bit & 1)
			add(text, size, " ", flags[i].word);
	return *text ? text : strcpy(text, "-");
}
