// SPDX-License-Identifier: GPL-2.0-or-later
/* xenfault tui: the screen interface.  In: options, a database.  Out: see tui/tui.h. */
#include "cli/cli.h"
#include "tui/tui.h"

int xf_cmd_tui(struct xf_options *o, struct xf_error *err)
{
	struct xf_tui_options options = {.follow = o->follow,
		.ascii = o->ascii,
		.mouse = o->mouse,
		.cpu_hz = o->cpu_hz,
		.break_even = o->break_even,
		.script = o->script,
		.width = o->screen_width ? o->screen_width : 80,
		.height = o->screen_height ? o->screen_height : 24,
		.output = stdout};
	int color = o->color ? xf_tui_color_by_name(o->color) : XF_COLOR_AUTO;
	int code = xf_need_args(o, 1, err);

	if (code)
		return code;
	if (color < 0)
		return xf_fail(
			err, XF_USAGE, "--color %s: it is auto, never, always, 8 or 256", o->color);
	options.color = (enum xf_tui_color)color;
	options.path = o->args[0];
	return xf_tui_run(&options, err);
}
