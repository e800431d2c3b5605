#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Turns SQL files into C strings: facts.sql becomes xf_sql_facts.  In: file names.  Out: C on stdout.
# @SCHEMA_VERSION@ becomes the number in db.h.
set -eu
version=$(sed -n 's/^#define XF_SCHEMA_VERSION \([0-9]*\).*/\1/p' "$(dirname "$0")/db.h")
for file; do
	name=$(basename "$file" .sql)
	echo "extern const char xf_sql_$name[];"
	echo "const char xf_sql_$name[] ="
	sed -e "s/@SCHEMA_VERSION@/$version/g" -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/	"/' -e 's/$/\\n"/' "$file"
	echo ";"
done
