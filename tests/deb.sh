#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian packages: built in a copy, checked by lintian, installed, tried, removed again.
# In: nothing; needs root, or sudo, for installing.  Out: cases.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/verdict.sh
top=$PWD
work=$(mktemp -d)
root=
[ "$(id -u)" -eq 0 ] || root=sudo
installed=

finish() {
	[ -z "$installed" ] || $root dpkg --purge xenfault-record xenfault >/dev/null 2>&1
	rm -rf "$work"
}
trap finish EXIT

try() { # command ...: its output if it fails
	"$@" >"$work/log" 2>&1 || tail -n 20 "$work/log"
}

mkdir "$work/xenfault"
git ls-files -z | xargs -0 cp --parents -t "$work/xenfault"
cd "$work/xenfault" || exit 1
verdict "packages build" "$(try env -u MAKEFLAGS -u MAKELEVEL -u O -u CFLAGS dpkg-buildpackage -us -uc -b)"
[ "$status" -eq 0 ] || exit 1
cd "$work" || exit 1
verdict "lintian finds no error" "$(lintian --allow-root --fail-on error ./*.changes 2>&1 | grep '^E:')"
verdict "xenfault needs no Xen" "$(dpkg-deb -f xenfault_*.deb Depends | grep -o 'libxen[^,]*')"
verdict "only xenfault-drain needs it" "$(dpkg-deb -f xenfault-record_*.deb Depends | grep -q libxen || echo no libxen)"

installed=y
verdict "xenfault installs alone" "$(try $root dpkg -i xenfault_*.deb)"
verdict "it says what is missing for record" \
	"$(/usr/bin/xenfault record -o "$work/x.db" 2>&1 | grep -q xenfault-record || echo no word of the package)"
zstd -qdf /usr/share/doc/xenfault/examples/dom0-dirty.bin.zst -o dom0-dirty.bin
verdict "an installed xenfault does its job" "$(
	try /usr/bin/xenfault import -o demo.db dom0-dirty.bin
	[ "$(/usr/bin/xenfault forks demo.db 2>/dev/null | wc -l)" -eq 34 ] || echo other forks)"
verdict "manual pages are found" "$(for page in xenfault xenfault-import xenfault-db xentrace-format; do
	man -w "$page" >/dev/null 2>&1 || ls "/usr/share/man/man1/$page.1.gz" "/usr/share/man/man5/$page.5.gz" 2>/dev/null |
		grep -q . || echo "no $page"
done)"
verdict "bash finds the completion" "$(bash -c '. /usr/share/bash-completion/bash_completion
	_completion_loader xenfault; complete -p xenfault' 2>&1 | grep -v '_xenfault xenfault')"
verdict "the extension loads" "$(sqlite3 -cmd '.load /usr/lib/xenfault/xenfault' :memory: \
	"SELECT 'no' WHERE (SELECT count(*) FROM xentrace('dom0-dirty.bin')) < 90000" 2>&1)"
verdict "xenfault-record installs" "$(try $root dpkg -i xenfault-record_*.deb)"
verdict "xenfault finds its xenfault-drain" \
	"$(/usr/bin/xenfault record -o "$work/x.db" 2>&1 | grep -o 'lacks.*\|xenfault-record')"
verdict "packages go" "$(try $root dpkg --purge xenfault-record xenfault)"
installed=
verdict "and leave nothing" "$(ls -d /usr/bin/xenfault /usr/libexec/xenfault /usr/lib/xenfault \
	/usr/share/doc/xenfault* /usr/share/bash-completion/completions/xenfault 2>/dev/null)"
cd "$top" || exit 1
exit $status
