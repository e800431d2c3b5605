#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes all manual pages.  In: the program xenfault, the folder for the pages.  Out: PAGE.1, PAGE.5.
set -eu
cd "$(dirname "$0")"
program=$1
folder=$2
version=$(sed -n 's/^#define XF_VERSION "\(.*\)"/\1/p' ../common/version.h)
date="November 30, 2026"
mkdir -p "$folder"
table=$folder/table
"$program" help --table >"$table"
for page in xenfault $(awk -F '\t' '$1 == "C" { print $2 }' "$table"); do
	name=xenfault-$page
	[ "$page" != xenfault ] || name=xenfault
	text=$page.mdoc
	[ -f "$text" ] || text=/dev/null
	awk -v table="$table" -v page="$page" -v version="$version" -v date="$date" -f page.awk \
		"$table" "$text" >"$folder/$name.1"
done
# the kinds of events as the program knows them
sed -n 's/^\tX([A-Z0-9_]*, "\(.*\)", "\(.*\)").*/.It Cm \1\n\2/p' ../schemas/event.h >"$folder/kinds"
awk -f views.awk ../docs/database.md >"$folder/views"
for text in *.5; do
	sed -e "s/^\.Os xenfault$/.Os xenfault $version/" -e '/^@KINDS@$/{
		r '"$folder/kinds"'
		d
	}' -e '/^@VIEWS@$/{
		r '"$folder/views"'
		d
	}' "$text" >"$folder/$text"
done
rm "$table" "$folder/kinds" "$folder/views"
