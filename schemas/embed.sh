#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Turns SQL files into C strings: facts.sql becomes xf_sql_facts.  In: file names.  Out: C on stdout.
set -eu
for file; do
	name=$(basename "$file" .sql)
	echo "extern const char xf_sql_$name[];"
	echo "const char xf_sql_$name[] ="
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/	"/' -e 's/$/\\n"/' "$file"
	echo ";"
done
