// SPDX-License-Identifier: GPL-2.0-or-later
/* xenfault tui: the screen interface.  In: options, a database.  Out: see tui/tui.h. */
#include "analyzer/cost/policy.h"
#include "cli/cli.h"
#include "tui/tui.h"

/* The break-even as xenfault policy finds it. */
static int find_break_even(sqlite3 *db, double *value, const char **bound)
{
	static const struct xf_policy_filter all = {
		.domid = -1, .vcpu = -1, .fork = -1, .to = UINT64_MAX};
	static const char *const signs[] = {
		[XF_EXACT] = "", [XF_AT_LEAST] = ">=", [XF_AT_MOST] = "<=", [XF_ABOUT] = "~"};
	struct xf_policy_forks forks = {0};
	struct xf_price even = {0};
	struct xf_units units;
	int code = xf_policy_load(db, &all, &forks, NULL);

	if (!code)
		code = xf_policy_measure(db, &forks, &units, NULL);
	if (!code)
		even = xf_policy_break_even(
			&units, XF_MECH_UNHOOK, units.cost[XF_UNIT_UNHOOKS].value, 0);
	xf_policy_free(&forks);
	*value = !code && even.known ? even.value : 0;
	*bound = signs[even.bound];
	return code;
}

int xf_cmd_tui(struct xf_options *o, struct xf_error *err)
{
	struct xf_tui_options options = {.follow = o->follow,
		.ascii = o->ascii,
		.mouse = o->mouse,
		.cpu_hz = o->cpu_hz,
		.break_even = o->break_even,
		.find_break_even = find_break_even,
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
