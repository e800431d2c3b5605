// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Switches a domain's log-dirty mode on, reads and cleans its bitmap in rounds, switches it off: the
 * witness of what xenfault finds in the trace.
 * In: domid, rounds, milliseconds of each.  Out: a line "ROUND GFN" (hexadecimal) for each dirty page.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xenctrl.h>

#define WORD (8 * sizeof(unsigned long))

int main(int argc, char **argv)
{
	xc_interface *xen = xc_interface_open(NULL, NULL, 0);
	unsigned domid, mb = 0;
	xen_pfn_t last = 0;
	unsigned long pages, bytes;
	DECLARE_HYPERCALL_BUFFER(unsigned long, bitmap);

	if (argc != 4 || !xen)
		return 2;
	domid = (unsigned)atoi(argv[1]);
	if (xc_domain_maximum_gpfn(xen, domid, &last) < 0)
		return 1;
	pages = (unsigned long)last + 1;
	bytes = (pages / 8 + XC_PAGE_SIZE) & XC_PAGE_MASK;
	bitmap = xc_hypercall_buffer_alloc_pages(xen, bitmap, bytes / XC_PAGE_SIZE);
	if (!bitmap ||
		xc_shadow_control(xen, domid, XEN_DOMCTL_SHADOW_OP_ENABLE_LOGDIRTY, &mb, 0) < 0) {
		perror("log-dirty mode on");
		return 1;
	}
	for (int round = 1; round <= atoi(argv[2]); round++) {
		xc_shadow_op_stats_t stats;

		usleep((useconds_t)atoi(argv[3]) * 1000);
		memset(bitmap, 0, bytes);
		if (xc_logdirty_control(xen, domid, XEN_DOMCTL_SHADOW_OP_CLEAN,
			    HYPERCALL_BUFFER(bitmap), pages, 0, &stats) < 0) {
			perror("clean");
			return 1;
		}
		for (unsigned long gfn = 0; gfn < pages; gfn++)
			if (bitmap[gfn / WORD] >> gfn % WORD & 1)
				printf("%d %lx\n", round, gfn);
	}
	return xc_shadow_control(xen, domid, XEN_DOMCTL_SHADOW_OP_OFF, &mb, 0) < 0;
}
