# SPDX-License-Identifier: GPL-2.0-or-later
# One manual page from the table of options and a text.  In: the output of xenfault help --table, then
# man/COMMAND.mdoc (may be missing); -v page=COMMAND or xenfault, version=, date=.  Out: mdoc.
# The text's lines before its first .Sh go to the description, the rest behind the exit statuses.

BEGIN { FS = "\t" }

function quote(text) {
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	if (text ~ /^[.']/)
		text = "\\&" text
	return text
}

# a word that mdoc would take for a macro or a delimiter stays a word
function macro(name, words,   n, i, part, line) {
	n = split(words, part, " ")
	line = name
	for (i = 1; i <= n; i++) {
		part[i] = quote(part[i])
		if (part[i] ~ /^[A-Z][a-z]$/ || part[i] ~ /^[][().,:;!?|]$/)
			part[i] = "\\&" part[i]
		line = line " " part[i]
	}
	return line
}

FILENAME == table && $1 == "C" {
	commands[++ncommands] = $2
	arguments[$2] = $3
	summary[$2] = $4
	next
}
FILENAME == table && $1 == "O" {
	if ($2 == page)
		options[++noptions] = $0
	next
}
FILENAME == table && $1 == "E" {
	if (!($2 in status))
		order[++nstatus] = $2
	status[$2] = status[$2] (status[$2] == "" ? "" : "; ") $3
	next
}
FILENAME != table { text[++ntext] = $0 }

function section(first, last,   i) {
	for (i = first; i <= last; i++)
		print text[i]
}

function sort_commands(   i, j, swap) {
	for (i = 2; i <= ncommands; i++)
		for (j = i; j > 1 && commands[j] < commands[j - 1]; j--) {
			swap = commands[j]
			commands[j] = commands[j - 1]
			commands[j - 1] = swap
		}
}

END {
	whole = page == "xenfault"
	name = whole ? "xenfault" : "xenfault-" page
	print ".\\\" SPDX-License-Identifier: GPL-2.0-or-later"
	print ".\\\" Made from the table of the command and man/" page ".mdoc: change those."
	print ".Dd " date
	print ".Dt " toupper(name) " 1"
	print ".Os xenfault " version
	print ".Sh NAME"
	print ".Nm " name
	print ".Nd " quote(whole ? "shows what page tables cost a Xen guest" : summary[page])
	print ".Sh SYNOPSIS"
	print ".Nm xenfault"
	print whole ? ".Ar command" : ".Cm " page
	print ".Op Ar option ..."
	if (whole)
		print ".Ar argument ..."
	else if (arguments[page] != "-")
		print macro(".Ar", arguments[page])
	print ".Sh DESCRIPTION"
	if (!whole) {
		print ".Nm xenfault " page ":"
		print quote(summary[page]) "."
	}
	for (split_at = 1; split_at <= ntext && text[split_at] !~ /^\.Sh /;)
		split_at++
	section(1, split_at - 1)
	if (whole) {
		print ".Sh COMMANDS"
		print "Each has a page of its own, such as"
		print ".Xr xenfault\\-import 1 ,"
		print "and"
		print ".Cm \\-\\-help ."
		print ".Bl -tag -width analyze"
		for (i = 1; i <= ncommands; i++) {
			line = ".It Cm " commands[i]
			if (arguments[commands[i]] != "-")
				line = line " " macro("Ar", arguments[commands[i]])
			print line
			print quote(summary[commands[i]])
		}
		print ".El"
	} else {
		print ".Sh OPTIONS"
		print ".Bl -tag -width Ds"
		for (i = 1; i <= noptions; i++) {
			split(options[i], field, "\t")
			line = ".It"
			if (field[3] != "-")
				line = line " Fl " field[3] " ,"
			line = line " Fl \\-" quote(field[4])
			if (field[5] != "-")
				line = line " Ar " quote(field[5])
			print line
			print quote(field[6])
		}
		print ".El"
	}
	for (i = split_at; i <= ntext && text[i] !~ /^\.Sh (EXAMPLES|SEE ALSO)/; i++)
		print text[i]
	print ".Sh EXIT STATUS"
	print ".Bl -tag -width 130"
	for (j = 1; j <= nstatus; j++) {
		print ".It " order[j]
		print quote(status[order[j]])
	}
	print ".El"
	for (; i <= ntext && text[i] !~ /^\.Sh SEE ALSO/; i++)
		print text[i]
	print ".Sh SEE ALSO"
	sort_commands()
	for (j = 1; j <= ncommands && whole; j++)
		print ".Xr xenfault\\-" commands[j] " 1 ,"
	if (!whole)
		print ".Xr xenfault 1 ,"
	print ".Xr xenfault\\-db 5 ,"
	print ".Xr xentrace\\-format 5" (i < ntext ? " ," : "")
	section(i + 1, ntext)
}
