#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Puts the table of options into the completions.  In: the program xenfault, a folder.
# Out: xenfault for bash, _xenfault for zsh.
set -eu
cd "$(dirname "$0")"
mkdir -p "$2"
"$1" help --table >"$2/table"
sed -e "/^@TABLE@$/{
	r $2/table
	d
}" xenfault.bash.in >"$2/xenfault"
sed -e "/^@TABLE@$/{
	r $2/table
	d
}" xenfault.zsh.in >"$2/_xenfault"
rm "$2/table"
