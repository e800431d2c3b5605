#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# make install: everything in its place, and the programs find each other there.
# In: the build folder.  Out: cases.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/verdict.sh
build=${1:-build}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

missing() { # paths below the prefix
	for path; do
		[ -e "$root/opt/xf/$path" ] || echo "no $path"
	done
}

make --no-print-directory O="$build" DESTDIR="$root" PREFIX=/opt/xf install >"$root/log" 2>&1 ||
	verdict "make install ends well" "$(cat "$root/log")"
verdict "make install puts everything in its place" "$(missing bin/xenfault libexec/xenfault/forkdirty \
	libexec/xenfault/forkcow libexec/xenfault/race libexec/xenfault/dirtyset lib/xenfault/xenfault.so \
	share/man/man1/xenfault.1 share/man/man1/xenfault-record.1 share/man/man5/xenfault-db.5 \
	share/bash-completion/completions/xenfault share/zsh/site-functions/_xenfault \
	share/doc/xenfault/LICENSE share/doc/xenfault/live.md share/doc/xenfault/examples/forkdirty.c \
	share/doc/xenfault/examples/dom0-dirty.bin.zst share/doc/xenfault/examples/record-forkdirty.sh)"
verdict "make install stays below DESTDIR and PREFIX" \
	"$(find "$root" -mindepth 1 -not -path "$root/opt*" -not -path "$root/log")"
verdict "an installed xenfault runs" "$("$root/opt/xf/bin/xenfault" version 2>&1 >/dev/null)"

standin=$PWD/$build/tests/standin.so
if [ -e "$standin" ]; then
	verdict "an installed xenfault finds its xenfault-drain" "$(
		LD_PRELOAD=$standin XFS_PRODUCER=calm "$root/opt/xf/bin/xenfault" record -T 0.5 \
			-o "$root/a.db" 2>"$root/said" || cat "$root/said")"
	# the stand-in makes no forks: the report has to say so; who is not root does not see the symbols
	LD_PRELOAD=$standin XFS_PRODUCER=calm "$root/opt/xf/share/doc/xenfault/examples/record-forkdirty.sh" \
		8 4 "$root/b.db" >"$root/said" 2>&1
	verdict "the installed example finds its programs" \
		"$(grep -q '^ppp=8 npt=4' "$root/said" && grep -qE 'none of them has 4|kallsyms: all addresses are zero' "$root/said" ||
			cat "$root/said")"
fi
exit $status
