/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Help in words.  In: the table of commands.  Out: text in at most 80 columns. */
#ifndef XF_CLI_HELP_H
#define XF_CLI_HELP_H

#include <stdio.h>

#include "cli/options.h"

/* Of the whole program, and of one command. */
void xf_help(FILE *file);
void xf_help_command(FILE *file, const struct xf_command *command);

/* -XF_USAGE: there is no command of that name; the text offers one that is like it. */
int xf_no_command(const char *name, struct xf_error *err);

#endif
