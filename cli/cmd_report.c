// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/cli.h"
int xf_cmd_report(struct xf_options *options, struct xf_error *err)
{
	(void)options;
	return xf_fail(err, XF_MISSING, "report is not there yet");
}
