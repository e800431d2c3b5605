/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this machine is to Xen, as the kernel tells it: needs neither root nor Xen's libraries.
 * In: /sys/hypervisor, /dev/xen, /proc/xen.  Out: facts, and why Xen's interface does not open.
 */
#ifndef XF_COLLECTOR_DRAIN_HOST_H
#define XF_COLLECTOR_DRAIN_HOST_H

#include <stdbool.h>

/* One cause: a word for programs, a sentence with the remedy for people. */
struct xf_host_cause {
	const char *class, *text;
};

/* True unless the kernel says that this is no control domain. */
bool xf_host_maybe_dom0(void);

/* True if this kernel runs in a hardware-virtualised (PVH, HVM) domain. */
bool xf_host_is_pvh(void);

/* Both for a domU, wherever that comes out. */
extern const struct xf_host_cause xf_host_domu;

/* Why /dev/xen/privcmd cannot be opened; NULL if there is no reason to be seen. */
const struct xf_host_cause *xf_host_why_closed(void);

#endif
