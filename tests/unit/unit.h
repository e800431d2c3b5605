// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the unit tests share: cases that are counted.
 * In: T, a part of the names of the cases to run.  Out: "ok NAME" or "FAIL NAME: why".
 */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int unit_failed;

/* A case, by its result; why it failed is shown if it did. */
static inline void report(const char *name, bool good, const char *why)
{
	const char *part = getenv("T");

	if (part && !strstr(name, part))
		return;
	unit_failed += !good;
	if (good)
		printf("ok %s\n", name);
	else
		printf("FAIL %s: %s\n", name, why);
}

/* Exit status of the program. */
static inline int unit_status(void)
{
	return unit_failed != 0;
}

#endif
