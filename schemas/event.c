// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of the event kinds.  In: number or name.  Out: the other one. */
#include "schemas/event.h"

#include <stddef.h>
#include <string.h>

#include "schemas/xen.h"

static const struct {
	const char *name, *what;
} kinds[XF_KIND_COUNT] = {
#define X(name, text, what) [XF_##name] = {text, what},
	XF_KINDS(X)
#undef X
};

const char *xf_kind_name(unsigned kind)
{
	return kind != XF_KIND_NONE && kind < XF_KIND_COUNT ? kinds[kind].name : "?";
}

const char *xf_kind_what(unsigned kind)
{
	return kind < XF_KIND_COUNT ? kinds[kind].what : NULL;
}

enum xf_kind xf_kind_by_name(const char *name)
{
	for (unsigned kind = 1; kind < XF_KIND_COUNT; kind++)
		if (!strcmp(kinds[kind].name, name))
			return kind;
	return XF_KIND_NONE;
}

int xf_kind_writes_pte(unsigned kind)
{
	return kind == XF_EMULATE || kind == XF_UNHOOK || kind == XF_REHOOK;
}

unsigned xf_pte_shift(uint32_t raw_id)
{
	if (raw_id == XF_RECORD_PTWR_PTE4)
		return 2;
	/* SHADOW records of guests with two levels; the last few are alike for all guests */
	if ((raw_id & 0x0fffff00) == 0x0040f000 && (raw_id & 0xff) < 12)
		return 2;
	return 3;
}
