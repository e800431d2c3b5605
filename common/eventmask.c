// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Event masks.  In: text of an option.  Out: a mask, or an error that names the part that is wrong.
 */
#include "common/eventmask.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	uint32_t mask;
} classes[] = {
#define X(name, mask, what) {name, mask},
	XF_EVENT_CLASSES(X)
#undef X
};

#define CLASSES	   0x0fff0000u
#define SUBCLASSES 0x0000f000u

static bool item_mask(const char *item, size_t length, uint32_t *mask)
{
	unsigned long long value;
	char *end;

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (strlen(classes[i].name) == length && !memcmp(classes[i].name, item, length)) {
			*mask = classes[i].mask;
			return true;
		}
	}
	if (!isdigit((unsigned char)*item))
		return false;
	errno = 0;
	value = strtoull(item, &end, 0);
	*mask = (uint32_t)value;
	return end == item + length && !errno && !(value & ~(uint64_t)XF_EVENTS_VALID);
}

int xf_eventmask_parse(uint32_t *mask, const char *text, struct xf_error *err)
{
	const char *item = text, *end;
	uint32_t part;

	*mask = 0;
	for (;; item = end + 1) {
		end = item + strcspn(item, ",");
		if (!item_mask(item, (size_t)(end - item), &part))
			return xf_fail(err, XF_USAGE,
				"events \"%s\": \"%.*s\" is neither a mask such as 0x0021f000 (bits 31 to "
				"12) nor one of gen sched dom0op hvm mem pv shadow hw guest all pt",
				text, (int)(end - item), item);
		*mask |= part;
		if (!*end)
			break;
	}
	if (!(*mask & CLASSES) || !(*mask & SUBCLASSES))
		return xf_fail(err, XF_USAGE,
			"events \"%s\": mask 0x%08x selects nothing: it needs a class (bits 27 to 16) and a "
			"subclass (bits 15 to 12)",
			text, *mask);
	return 0;
}
