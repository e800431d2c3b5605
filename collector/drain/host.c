// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen as seen from the kernel's files.  In: /sys/hypervisor, /dev/xen, /proc/xen.  Out: causes.
 */
#include "collector/drain/host.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FEATURE_DOM0 11 /* XENFEAT_dom0 of Xen's interface */

const struct xf_host_cause xf_host_domu = {
	"domU", "this is a guest (domU), and traces are read in dom0: run it there"};

static bool first_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, size - 1);

	if (fd >= 0)
		close(fd);
	line[n < 0 ? 0 : n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return n > 0;
}

bool xf_host_maybe_dom0(void)
{
	char text[64];

	return !first_line("/sys/hypervisor/properties/features", text, sizeof(text)) ||
	       strtoul(text, NULL, 16) >> FEATURE_DOM0 & 1;
}

bool xf_host_is_pvh(void)
{
	char text[64];

	return first_line("/sys/hypervisor/guest_type", text, sizeof(text)) &&
	       strcmp(text, "PV") != 0;
}

static bool is_xen(void)
{
	char text[64];

	if (first_line("/sys/hypervisor/type", text, sizeof(text)))
		return !strcmp(text, "xen");
	return !access("/proc/xen", F_OK);
}

const struct xf_host_cause *xf_host_why_closed(void)
{
	static const struct xf_host_cause
		not_xen = {"not-xen",
			"this machine does not run under Xen: live capture needs the dom0 of "
			"a Xen host (recorded traces can be read anywhere)"},
		pvh = {"pvh",
			"this PVH dom0's kernel has no privcmd device: load the module xen-privcmd, "
			"or boot dom0 as PV (without dom0=pvh on Xen's command line)"},
		no_node = {"no-privcmd",
			"there is no /dev/xen/privcmd: load the module xen-privcmd, or "
			"mount xenfs on /proc/xen"},
		not_root = {"not-root",
			"/dev/xen/privcmd may not be opened by this user: run it as root"};
	const char *node =
		access("/dev/xen/privcmd", F_OK) ? "/proc/xen/privcmd" : "/dev/xen/privcmd";

	if (!is_xen())
		return &not_xen;
	if (!xf_host_maybe_dom0())
		return &xf_host_domu;
	if (access(node, F_OK))
		return xf_host_is_pvh() ? &pvh : &no_node;
	return access(node, R_OK | W_OK) ? &not_root : NULL;
}
