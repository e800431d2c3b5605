// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of x86's and Xen's numbers.  In: numbers.  Out: text. */
#include "schemas/xen.h"

#include <stdio.h>
#include <string.h>

static const struct pte_flag {
	int bit;
	char letter;
	const char *word;
} pte_flags[] = {
#define X(name, bit, letter, word) {bit, letter, word},
	XF_PTE_FLAGS(X)
#undef X
};

#define NFLAGS (sizeof(pte_flags) / sizeof(pte_flags[0]))

const char *xf_hypercall_name(uint64_t number)
{
	static const char *const names[] = {
#define X(number, name) [number] = #name,
		XF_HYPERCALLS(X)
#undef X
	};

	return number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}

const char *xf_mmuext_name(uint64_t command)
{
	static const char *const names[] = {
#define X(number, name, frame) [number] = #name,
		XF_MMUEXT_COMMANDS(X)
#undef X
	};

	return command < sizeof(names) / sizeof(names[0]) ? names[command] : NULL;
}

int xf_mmuext_names_frame(uint64_t command)
{
	static const char frames[] = {
#define X(number, name, frame) [number] = frame,
		XF_MMUEXT_COMMANDS(X)
#undef X
	};

	return command < sizeof(frames) && frames[command];
}

const char *xf_record_class_name(uint32_t class)
{
	static const struct {
		uint32_t class;
		const char *name;
	} classes[] = {
		{XF_CLASS_SCHED, "scheduler record"},
		{XF_CLASS_DOM0OP, "dom0op record"},
		{XF_CLASS_HVM, "HVM record"},
		{XF_CLASS_MEM, "MEM record"},
		{XF_CLASS_HW, "HW record"},
		{XF_CLASS_GUEST, "GUEST record"},
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i].class == class)
			return classes[i].name;
	return NULL;
}

static void append(char *text, size_t size, const char *separator, const char *word)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%s", used ? separator : "", word);
}

const char *xf_error_code_text(uint64_t e, char *text, size_t size)
{
	static const struct {
		uint64_t bit;
		const char *word;
	} more[] = {{XF_FAULT_RESERVED, "reserved bit"}, {0x20, "protection key"},
		{0x40, "shadow stack"}, {0x8000, "SGX"}};
	char rest[32];
	uint64_t unknown = e & ~(uint64_t)0x807f;

	*text = '\0';
	append(text, size, ", ",
		e & XF_FAULT_FETCH   ? "fetch"
		: e & XF_FAULT_WRITE ? "write"
				     : "read");
	append(text, size, ", ", e & XF_FAULT_USER ? "user" : "kernel");
	append(text, size, ", ", e & XF_FAULT_PRESENT ? "protection" : "not present");
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (e & more[i].bit)
			append(text, size, ", ", more[i].word);
	if (unknown) {
		snprintf(rest, sizeof(rest), "0x%llx", (unsigned long long)unknown);
		append(text, size, ", ", rest);
	}
	return text;
}

const char *xf_pte_flags(uint64_t pte, char *text, size_t size)
{
	*text = '\0';
	for (size_t i = 0; i < NFLAGS; i++)
		if (pte >> pte_flags[i].bit & 1)
			append(text, size, " ", pte_flags[i].word);
	return *text ? text : strcpy(text, "-");
}

const char *xf_pte_letters(uint64_t pte, const char *which, char *text, size_t size)
{
	char *to = text;

	for (size_t i = 0; i < NFLAGS && size > NFLAGS; i++)
		if (!which || strchr(which, pte_flags[i].letter))
			*to++ = (char)(pte >> pte_flags[i].bit & 1 ? pte_flags[i].letter : '-');
	*to = '\0';
	return text;
}
