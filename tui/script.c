// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The interface without a terminal: keys from a text, screens to a file.
 * In: keys as characters and <Names>; <Screen> prints, <Size 40x10> resizes, <Poll> looks for news.
 * Out: the screen after the last key (and at each <Screen>), with a map of roles if colour is asked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tui/ui.h"

struct script {
	const struct xf_tui_options *options;
	int width, height;
};

static struct xf_tui_event no_key(void *data, int timeout)
{
	(void)data, (void)timeout;
	return (struct xf_tui_event){0};
}

static void no_draw(void *data, const struct xf_tui_grid *grid, bool all)
{
	(void)data, (void)grid, (void)all;
}

static void script_size(void *data, int *width, int *height)
{
	const struct script *s = data;

	*width = s->width;
	*height = s->height;
}

static bool script_mouse(void *data, bool on)
{
	(void)data, (void)on;
	return true;
}

static void print(struct xf_tui *ui, const char *keys, size_t length)
{
	const struct xf_tui_options *o = ui->options;
	bool roles = o->color >= XF_COLOR_8;

	fprintf(o->output, "--- %dx%d %.*s\n", ui->grid.width, ui->grid.height, (int)length, keys);
	xf_tui_grid_print(&ui->grid, o->output, roles);
}

/* Everything that is left to compute, then the screen. */
static void finish(struct xf_tui *ui)
{
	while (xf_tui_work(ui, INT64_C(1000000000)))
		continue;
	xf_tui_draw(ui);
	/* drawing shows rows whose details are still to be read */
	while (xf_tui_work(ui, INT64_C(1000000000)))
		continue;
	xf_tui_draw(ui);
}

/* <Screen>, <Size WxH>, <Poll>: 1 = it was one of them. */
static int directive(struct xf_tui *ui, struct script *s, const char *start, const char **at)
{
	int width, height;
	const char *end = **at == '<' ? strchr(*at, '>') : NULL;

	if (!end)
		return 0;
	if (!strncasecmp(*at, "<Screen>", 8)) {
		print(ui, start, (size_t)(*at - start));
	} else if (sscanf(*at, "<%*[Ss]ize %dx%d>", &width, &height) == 2) {
		s->width = width;
		s->height = height;
		xf_tui_key(ui, &(struct xf_tui_event){.key = XF_KEY_RESIZE});
	} else if (!strncasecmp(*at, "<Poll>", 6)) {
		xf_tui_poll(ui);
	} else {
		return 0;
	}
	*at = end + 1;
	return 1;
}

static int run_keys(sqlite3 *db, const struct xf_tui_options *options, const char *keys, bool utf8,
	struct xf_error *err)
{
	struct script s = {options, options->width, options->height};
	const struct xf_tui_screen screen = {.data = &s,
		.key = no_key,
		.draw = no_draw,
		.size = script_size,
		.mouse = script_mouse};
	const char *at = keys;
	struct xf_tui ui;
	int code = xf_tui_open(&ui, db, options, &screen, utf8, err), key;

	if (code)
		return code;
	finish(&ui);
	while (!ui.quit && *at && !xf_tui_stopped(&ui)) {
		if (!directive(&ui, &s, keys, &at)) {
			key = xf_tui_key_parse(&at);
			if (key < 0) {
				code = xf_fail(err, XF_USAGE,
					"--script: no key of the name before: %.20s", at);
				break;
			}
			xf_tui_key(&ui, &(struct xf_tui_event){.key = key});
		}
		finish(&ui);
	}
	if (!code && !ui.quit && !xf_tui_stopped(&ui))
		print(&ui, keys, strlen(keys));
	if (!code)
		code = xf_tui_print_yanks(&ui, err);
	if (!code)
		code = xf_tui_result(&ui, err);
	xf_tui_close(&ui);
	return code;
}

static int run_file(
	sqlite3 *db, const struct xf_tui_options *options, bool utf8, struct xf_error *err)
{
	FILE *file = fopen(options->script + 1, "r");
	char *line = NULL;
	size_t room = 0;
	int code = 0;

	if (!file)
		return xf_fail_errno(err, XF_IO, "cannot read %s", options->script + 1);
	while (!code && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		code = run_keys(db, options, line, utf8, err);
	}
	free(line);
	fclose(file);
	return code;
}

int xf_tui_script_run(
	sqlite3 *db, const struct xf_tui_options *options, bool utf8, struct xf_error *err)
{
	if (options->script[0] == '@')
		return run_file(db, options, utf8, err);
	return run_keys(db, options, options->script, utf8, err);
}
