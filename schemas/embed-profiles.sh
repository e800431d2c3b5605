#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Turns profiles into C strings, by name.  In: file names.  Out: C on stdout.
set -eu
echo "struct xf_profile_text { const char *name, *text; };"
echo "extern const struct xf_profile_text xf_profile_texts[];"
echo "const struct xf_profile_text xf_profile_texts[] = {"
for file; do
	echo "	{\"$(basename "$file")\","
	sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' -e 's/^/	"/' -e 's/$/\\n"/' "$file"
	echo "	},"
done
echo "	{0, 0}};"
