// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPU lists.  In: text of an option.  Out: struct xf_cpulist, or an error that names the part of
 * the list that is wrong.
 */
#include "common/cpulist.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void xf_cpulist_add(struct xf_cpulist *list, unsigned cpu)
{
	list->bits[cpu / 8] |= (uint8_t)(1u << cpu % 8);
	if ((int)cpu > list->last)
		list->last = (int)cpu;
}

/* Digits up to end; false if there are none, something else, or a number out of range. */
static bool number(const char **at, const char *end, unsigned *value)
{
	const char *p = *at;
	unsigned n = 0;

	for (; p < end && isdigit((unsigned char)*p); p++) {
		n = n * 10 + (unsigned)(*p - '0');
		if (n >= XF_CPULIST_MAX)
			return false;
	}
	if (p == *at)
		return false;
	*at = p;
	*value = n;
	return true;
}

/* A mask of any length: its last digit stands for CPUs 0 to 3. */
static bool mask(struct xf_cpulist *list, const char *text, const char *end)
{
	unsigned cpu = 0;

	if (text == end)
		return false;
	for (const char *p = end; p-- > text; cpu += 4) {
		unsigned digit;

		if (!isxdigit((unsigned char)*p))
			return false;
		digit = isdigit((unsigned char)*p)
				? (unsigned)(*p - '0')
				: (unsigned)(tolower((unsigned char)*p) - 'a' + 10);
		for (unsigned bit = 0; bit < 4; bit++) {
			if (!(digit & 1u << bit))
				continue;
			if (cpu + bit >= XF_CPULIST_MAX)
				return false;
			xf_cpulist_add(list, cpu + bit);
		}
	}
	return true;
}

/* N or N-M. */
static bool range(struct xf_cpulist *list, const char *text, const char *end)
{
	unsigned first, last;

	if (!number(&text, end, &first))
		return false;
	last = first;
	if (text < end && *text == '-') {
		text++;
		if (!number(&text, end, &last) || last < first)
			return false;
	}
	if (text != end)
		return false;
	for (unsigned cpu = first; cpu <= last; cpu++)
		xf_cpulist_add(list, cpu);
	return true;
}

int xf_cpulist_parse(struct xf_cpulist *list, const char *text, struct xf_error *err)
{
	const char *item = text, *end;

	memset(list, 0, sizeof(*list));
	list->last = -1;
	if (!strcmp(text, "all")) {
		list->all = true;
		return 0;
	}
	for (;; item = end + 1) {
		bool hex = item[0] == '0' && (item[1] == 'x' || item[1] == 'X');

		end = item + strcspn(item, ",");
		if (!(hex ? mask(list, item + 2, end) : range(list, item, end)))
			return xf_fail(err, XF_USAGE,
				"CPU list \"%s\": \"%.*s\" is not N, N-M or a mask such as 0x0f "
				"(CPUs 0 to %d), and \"all\" stands alone",
				text, (int)(end - item), item, XF_CPULIST_MAX - 1);
		if (!*end)
			break;
	}
	if (list->last < 0)
		return xf_fail(err, XF_USAGE, "CPU list \"%s\" names no CPU", text);
	return 0;
}

bool xf_cpulist_has(const struct xf_cpulist *list, unsigned cpu)
{
	return list->all || (cpu < XF_CPULIST_MAX && (list->bits[cpu / 8] >> cpu % 8 & 1));
}

void xf_cpulist_format(const struct xf_cpulist *list, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (int cpu = 0, next; cpu <= list->last; cpu = next) {
		next = cpu + 1;
		if (!xf_cpulist_has(list, (unsigned)cpu))
			continue;
		while (next <= list->last && xf_cpulist_has(list, (unsigned)next))
			next++;
		if (size - used < 24) {
			snprintf(text + used, size - used, ",...");
			return;
		}
		used += (size_t)snprintf(text + used, size - used,
			next - cpu > 1 ? "%s%d-%d" : "%s%d", used ? "," : "", cpu, next - 1);
	}
}
