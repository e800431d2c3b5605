// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of the mechanisms.  In: number or name.  Out: the other one. */
#include "schemas/mechanism.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *name, *what;
} mechanisms[XF_MECHANISM_COUNT] = {
#define X(id, name, what) [XF_BY_##id] = {name, what},
	XF_MECHANISMS(X)
#undef X
};

const char *xf_mechanism_name(unsigned mechanism)
{
	return mechanism < XF_MECHANISM_COUNT ? mechanisms[mechanism].name : NULL;
}

const char *xf_mechanism_what(unsigned mechanism)
{
	return mechanism < XF_MECHANISM_COUNT ? mechanisms[mechanism].what : NULL;
}

enum xf_mechanism xf_mechanism_by_name(const char *name)
{
	unsigned i = 0;

	while (i < XF_MECHANISM_COUNT && (!name || strcmp(name, mechanisms[i].name) != 0))
		i++;
	return i;
}
