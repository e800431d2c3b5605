// SPDX-License-Identifier: GPL-2.0-or-later
/* Values in words.  In: integers.  Out: short text. */
#include "tui/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "schemas/event.h"
#include "schemas/xen.h"

void xf_tui_format_vcpu(char *text, size_t size, int64_t owner)
{
	if (owner >> 16 == XF_DOMID_IDLE)
		snprintf(text, size, "idle");
	else
		snprintf(text, size, "d%dv%d", (int)(owner >> 16), (int)(owner & 0xffff));
}

void xf_tui_format_pte(char *text, size_t size, uint64_t pte)
{
	char letters[16];

	if (!pte) {
		snprintf(text, size, "0 (cleared)");
		return;
	}
	xf_pte_letters(pte, NULL, letters, sizeof(letters));
	snprintf(text, size, "%s %llx", letters, (unsigned long long)XF_PTE_FRAME(pte));
}

void xf_tui_format_grouped(char *text, size_t size, int64_t value)
{
	char digits[24];
	size_t n, used = 0;
	uint64_t u = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	n = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)u);
	if (value < 0 && used + 1 < size)
		text[used++] = '-';
	for (size_t i = 0; i < n && used + 2 < size; i++) {
		text[used++] = digits[i];
		if (i + 1 < n && (n - i - 1) % 3 == 0)
			text[used++] = ',';
	}
	text[used] = '\0';
}

void xf_tui_format_real(char *text, size_t size, double value)
{
	double scaled = fabs(value * 10);
	uint64_t tenths;

	if (!(scaled < 1e18)) {
		snprintf(text, size, "%.1f", value);
		return;
	}
	tenths = (uint64_t)(scaled + 0.5);
	snprintf(text, size, "%s%llu.%llu", value < 0 ? "-" : "", (unsigned long long)(tenths / 10),
		(unsigned long long)(tenths % 10));
}
