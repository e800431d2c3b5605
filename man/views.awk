# SPDX-License-Identifier: GPL-2.0-or-later
# The views for xenfault-db(5).  In: docs/database.md.  Out: mdoc, a subsection for each section whose
# table is headed "column | meaning"; sentences and tables of other sections are left out.

function plain(text) {
	while (match(text, /\[[^]]*\]\([^)]*\)/)) {
		link = substr(text, RSTART, RLENGTH)
		sub(/^\[/, "", link)
		sub(/\]\(.*/, "", link)
		text = substr(text, 1, RSTART - 1) link substr(text, RSTART + RLENGTH)
	}
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	gsub(/\. /, ".\n", text) # a sentence, a line
	while (match(text, /`[^`]*`/))
		text = substr(text, 1, RSTART - 1) "\\fB" substr(text, RSTART + 1, RLENGTH - 2) "\\fR" \
			substr(text, RSTART + RLENGTH)
	if (text ~ /^[.']/)
		text = "\\&" text
	return text
}

function end() {
	if (listing)
		print ".El"
	listing = 0
}

/^## / {
	end()
	name = substr($0, 4)
	nlines = 0
	next
}
/^\| column \| meaning \|/ {
	print ".Ss " name
	for (i = 1; i <= nlines; i++)
		print lines[i]
	print ".Bl -tag -width unknown_records"
	listing = 1
	next
}
/^\|--/ { next }
listing && /^\| / {
	split($0, cell, / \| /)
	sub(/^\| /, "", cell[1])
	gsub(/, /, " , ", cell[1])
	rest = substr($0, index($0, " | ") + 3)
	sub(/ \|$/, "", rest)
	print ".It Va " cell[1]
	print plain(rest)
	next
}
/^$/ { end(); next }
!listing && name != "" && !/^[|`]/ { lines[++nlines] = plain($0) }
END { end() }
