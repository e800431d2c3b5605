// SPDX-License-Identifier: GPL-2.0-or-later
/* xenfault tui: the screen interface.  In: options, a database.  Out: see tui/tui.h. */
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/cost/policy.h"
#include "cli/cli.h"
#include "tui/tui.h"

struct size {
	int width, height; /* cells */
};

struct tui_options {
	struct xf_options common;
	bool follow, ascii, mouse;
	const char *color, *script; /* NULL = not given */
	struct size screen;	    /* of the script, 0 = not given */
	double break_even;	    /* PTEs per page, 0 = not given */
};

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
			&units, XF_POLICY_UNHOOK, units.cost[XF_UNIT_UNHOOKS].value, 0);
	xf_policy_free(&forks);
	*value = !code && even.known ? even.value : 0;
	*bound = signs[even.bound];
	return code;
}

static int run_tui(struct xf_options *common, struct xf_error *err)
{
	const struct tui_options *o = (const struct tui_options *)common;
	struct xf_tui_options options = {.follow = o->follow,
		.ascii = o->ascii,
		.mouse = o->mouse,
		.cpu_hz = common->cpu_hz,
		.break_even = o->break_even,
		.find_break_even = find_break_even,
		.stop = xf_stop_requested,
		.script = o->script,
		.width = o->screen.width ? o->screen.width : 80,
		.height = o->screen.height ? o->screen.height : 24,
		.output = stdout};
	int color = o->color ? xf_tui_color_by_name(o->color) : XF_COLOR_AUTO;
	int code = xf_need_args(common, 1, err);

	if (code)
		return code;
	options.color = (enum xf_tui_color)color;
	options.path = common->args[0];
	return xf_tui_run(&options, err);
}

static int set_size(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	struct size *size = field;
	char rest;

	(void)option;
	if (sscanf(value, "%dx%d%c", &size->width, &size->height, &rest) == 2 && size->width >= 1 &&
		size->width <= 1000 && size->height >= 1 && size->height <= 1000)
		return 0;
	return xf_fail(err, XF_USAGE, "--size %s: columns x lines, such as 80x24", value);
}

static int set_break_even(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	double *break_even = field;
	char *end;

	(void)option;
	*break_even = strtod(value, &end);
	if (end != value && !*end && *break_even > 0 && *break_even <= 512)
		return 0;
	return xf_fail(err, XF_USAGE, "--break-even %s: PTEs per page, such as 8", value);
}

static const struct xf_option tui_options[] = {
	{"follow", 0, NULL, "the database is being written: show what comes",
		XF_FLAG(struct tui_options, follow), NULL},
	{"ascii", 0, NULL, "no character beyond ASCII", XF_FLAG(struct tui_options, ascii), NULL},
	{"color", 0, "WHEN", "auto, never, always, 8 or 256 (NO_COLOR is obeyed)",
		XF_CHOICE(struct tui_options, color), "auto never always 8 256"},
	{"mouse", 0, NULL, "mouse on; otherwise the m key does it",
		XF_FLAG(struct tui_options, mouse), NULL},
	{"break-even", 0, "PTES", "PTEs per page, drawn in the histogram",
		XF_FIELD(set_break_even, struct tui_options, break_even, double), NULL},
	{"script", 0, "KEYS",
		"no terminal: press KEYS and print the screen; <Enter>, <Down>, <Screen> ...",
		XF_TEXT(struct tui_options, script), NULL},
	{"size", 0, "WxH", "of the script's screen; default 80x24",
		XF_FIELD(set_size, struct tui_options, screen, struct size), NULL},
	XF_OPT_CPU_HZ,
	{0},
};

const struct xf_command xf_cmd_tui = {"tui", "DB", "the forks and their faults on a screen",
	tui_options, sizeof(struct tui_options), run_tui};
