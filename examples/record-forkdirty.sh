#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Records a fork of known size on this Xen host and reports what it cost.  Needs root in a PV dom0.
# In: PTEs in each page-table page (default 64), page-table pages (default 16), a name for the
# database (default forkdirty.db; replaced if it is there).  Out: the forks, then that one page by page.
set -eu
ptes=${1:-64}
pages=${2:-16}
db=${3:-forkdirty.db}

# from the source tree, from where make install puts it, or from PATH
here=$(dirname "$0")
for folder in "$here/../build" "$here/../build/examples" "$here/../../../../bin" \
	"$here/../../../../libexec/xenfault"; do
	if [ -d "$folder" ]; then PATH=$folder:$PATH; fi
done

xenfault record --force -o "$db" --symbols /proc/kallsyms -- forkdirty "$ptes" "$pages"
echo "Forks while it was recorded:"
xenfault forks "$db"
fork=$(xenfault sql --format csv "$db" \
	"SELECT fork_id FROM forks WHERE pt_pages >= $pages ORDER BY ptes DESC LIMIT 1" | sed 1d)
[ -n "$fork" ] || {
	echo "none of them has $pages page-table pages" >&2
	exit 1
}
echo "Fork $fork, page by page:"
xenfault pages --fork "$fork" "$db"
