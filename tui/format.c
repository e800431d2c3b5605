// SPDX-License-Identifier: GPL-2.0-or-later
/* Values in words.  In: integers.  Out: short text. */
#include "tui/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "schemas/event.h"

void xf_tui_format_vcpu(char *text, size_t size, int64_t owner)
{
	if (owner >> 16 == XF_DOMID_IDLE)
		snprintf(text, size, "idle");
	else
		snprintf(text, size, "d%dv%d", (int)(owner >> 16), (int)(owner & 0xffff));
}

void xf_tui_format_pte_flags(char *text, size_t size, uint64_t pte)
{
	static const struct {
		int bit;
		char letter;
	} flags[] = {{0, 'P'}, {1, 'W'}, {2, 'U'}, {3, 'T'}, {4, 'C'}, {5, 'A'}, {6, 'D'}, {7, 'L'},
		{8, 'G'}, {63, 'N'}};
	size_t n = sizeof(flags) / sizeof(flags[0]);

	if (size <= n) {
		*text = '\0';
		return;
	}
	for (size_t i = 0; i < n; i++)
		text[i] = (char)(pte >> flags[i].bit & 1 ? flags[i].letter : '-');
	text[n] = '\0';
}

void xf_tui_format_pte(char *text, size_t size, uint64_t pte)
{
	char flags[16];

	if (!pte) {
		snprintf(text, size, "0 (cleared)");
		return;
	}
	xf_tui_format_pte_flags(flags, sizeof(flags), pte);
	snprintf(text, size, "%s %llx", flags,
		(unsigned long long)((pte & 0x000fffffffffffffull) >> 12));
}

void xf_tui_format_error(char *text, size_t size, uint64_t code)
{
	const char *what = code & 16 ? "fetch" : code & 2 ? "write" : "read";

	snprintf(text, size, "%s %s, %s%s%s", code & 4 ? "user" : "kernel", what,
		code & 1 ? "protected" : "absent", code & 8 ? ", reserved bit" : "",
		code & ~31ull ? ", ..." : "");
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

const char *xf_tui_hypercall_name(int64_t number)
{
	static const char *const names[] = {"set_trap_table", "mmu_update", "set_gdt",
		"stack_switch", "set_callbacks", "fpu_taskswitch", "sched_op_compat", "platform_op",
		"set_debugreg", "get_debugreg", "update_descriptor", NULL, "memory_op", "multicall",
		"update_va_mapping", "set_timer_op", "event_channel_op_compat", "xen_version",
		"console_io", "physdev_op_compat", "grant_table_op", "vm_assist",
		"update_va_mapping_otherdomain", "iret", "vcpu_op", "set_segment_base", "mmuext_op",
		"xsm_op", "nmi_op", "sched_op", "callback_op", "xenoprof_op", "event_channel_op",
		"physdev_op", "hvm_op", "sysctl", "domctl", "kexec_op", "tmem_op", "argo_op",
		"xenpmu_op", "dm_op"};

	if (number < 0 || (size_t)number >= sizeof(names) / sizeof(names[0]))
		return NULL;
	return names[number];
}
