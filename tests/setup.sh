#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs what building and testing need and what is missing here, by apt, as root or through sudo.
# In: names of further packages.  Out: what it did, on stdout.
set -eu

packages="gcc make libc6-dev pkg-config libsqlite3-dev libelf-dev libncurses-dev \
	libzstd-dev liblzma-dev zlib1g-dev zstd xz-utils sqlite3 $*"
missing=""
for package in $packages; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
		missing="$missing $package"
done
[ -n "$missing" ] || exit 0

run=""
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || {
		echo "these packages are missing, and neither root nor sudo is at hand:$missing" >&2
		exit 1
	}
	run=sudo
fi
echo "installing by apt:$missing"
$run apt-get update -qq
# shellcheck disable=SC2086 # a list of names
DEBIAN_FRONTEND=noninteractive $run apt-get install -y -qq --no-install-recommends $missing >/dev/null
