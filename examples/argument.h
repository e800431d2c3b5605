/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers on the command line of the workloads.  In: text.  Out: a number, or the end of the program. */
#ifndef XF_EXAMPLES_ARGUMENT_H
#define XF_EXAMPLES_ARGUMENT_H

#include <stdio.h>
#include <stdlib.h>

/* A number between least and most; ends the program at anything else. */
static inline unsigned long argument(const char *text, unsigned long least, unsigned long most)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n < least || n > most) {
		fprintf(stderr, "%s: a number from %lu to %lu is needed\n", text, least, most);
		exit(2);
	}
	return n;
}

#endif
