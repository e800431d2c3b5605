#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The shape of the code.  In: the sources and the library.  Out: cases.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/verdict.sh
build=${1:-build}

sources=$(find common schemas collector analyzer cli tui extension tests examples -name '*.[ch]')
if command -v clang-format >/dev/null; then
	# shellcheck disable=SC2086 # a list of files
	verdict "sources are formatted" "$(clang-format --dry-run $sources 2>&1 | grep -c warning: | grep -v '^0$')"
fi
verdict "the library neither exits nor prints" \
	"$(nm -u "$build/libxenfault.a" | grep -wE 'exit|abort|perror|printf|puts|stdout|stderr|initscr' | sort -u)"
verdict "one file talks to curses" "$(grep -lE '#include <(n?curses|ncursesw/)' $(find common schemas collector analyzer cli tui -name '*.[ch]') | sed 1d)"
verdict "one file talks to libxenctrl" "$(grep -l '#include <xenctrl.h>' $(find common schemas collector analyzer cli tui -name '*.[ch]') | sed 1d)"
may_include() { # folder, the folders whose headers its files may name
	grep -rE '#include "' --include='*.[ch]' "$1" |
		grep -vE "#include \"($2)/" | sed 's/:#include / includes /'
}
verdict "each folder includes only what docs/architecture.md allows" \
	"$(may_include common common; may_include schemas 'common|schemas'
	may_include collector 'common|schemas|collector'; may_include analyzer 'common|schemas|analyzer'
	may_include tui 'common|schemas|tui'; may_include extension 'common|schemas|collector|extension')"
# a view is what programs read; docs/architecture.md names the tables that this tree's own may read
tables=$(sed -n 's/^CREATE TABLE \([a-z_]*\) .*/\1/p' schemas/facts.sql schemas/derived.sql | paste -sd'|')
raw=$(grep -hoE "(FROM|JOIN) ($tables)\b" -r cli tui --include='*.c' | awk '{ print $2 }' | sort -u)
verdict "cli/ and tui/ read no table but those that docs/architecture.md names" \
	"$(for table in $raw; do sed -n '/^11\. /,/^## /p' docs/architecture.md | grep -q "\`$table\`" || echo "$table"; done)"
verdict "every file names its licence" "$(grep -L SPDX-License-Identifier $sources)"
exit $status
