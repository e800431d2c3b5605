// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands before libxenctrl in a migration (LD_PRELOAD) and writes down what each reading of the dirty
 * bitmap found.  In: calls.  Out: lines "ROUND GFN" (hexadecimal) in $LDSPY.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <xenctrl.h>

#define WORD (8 * sizeof(unsigned long))

typedef long long control(xc_interface *xen, uint32_t domid, unsigned int op,
	xc_hypercall_buffer_t *bitmap, unsigned long pages, unsigned int mode,
	xc_shadow_op_stats_t *stats);

long long xc_logdirty_control(xc_interface *xen, uint32_t domid, unsigned int op,
	xc_hypercall_buffer_t *bitmap, unsigned long pages, unsigned int mode,
	xc_shadow_op_stats_t *stats)
{
	static int round;
	control *next = (control *)dlsym(RTLD_NEXT, "xc_logdirty_control");
	long long result = next(xen, domid, op, bitmap, pages, mode, stats);
	const unsigned long *words = bitmap ? bitmap->hbuf : NULL;
	FILE *file = words && result >= 0 ? fopen(getenv("LDSPY"), "a") : NULL;

	if (!file)
		return result;
	round++;
	for (unsigned long gfn = 0; gfn < pages; gfn++)
		if (words[gfn / WORD] >> gfn % WORD & 1)
			fprintf(file, "%d %lx\n", round, gfn);
	fclose(file);
	return result;
}
