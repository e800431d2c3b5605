#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# How fast?  In: the build folder, with bench/repeat, bench/floor and bench/measure in it.
# Out: medians over BENCH_ROUNDS rounds in which every command has its turn, so that what slows the
# machine down for a while slows all of them; ratios are medians of the ratios within a round.
# The trace is dom0-forks repeated up to BENCH_RECORDS records.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
rounds=${BENCH_ROUNDS:-5}
records=${BENCH_RECORDS:-10000000}
xenfault=$build/xenfault
bench=$build/bench
trace=$bench/trace-$records.bin
times=$bench/times
PATH=$PATH:/usr/sbin:/usr/lib/xen-4.17/bin

mkdir -p "$bench"
if [ ! -s "$trace" ]; then
	zstd -qdf tests/traces/dom0-forks.bin.zst -o "$bench/dom0-forks.bin"
	"$bench/repeat" "$bench/dom0-forks.bin" "$records" >"$trace.part"
	mv "$trace.part" "$trace"
fi
: >"$times"

run() { # name, command: one line "name seconds KiB"
	name=$1
	shift
	result=$("$bench/measure" "$@") || {
		echo "bench: $* failed" >&2
		exit 1
	}
	echo "$name $result" >>"$times"
}

xenalyze=
if command -v xenalyze >/dev/null; then
	xenalyze=y
else
	echo "skipped: xenalyze (Debian: xen-utils-common) is not installed, so there is nothing to compare with"
fi

round=0
while [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	[ ! -t 2 ] || printf '\rround %s of %s' "$round" "$rounds" >&2
	run import "$xenfault" import --force -o "$bench/import.db" "$trace"
	[ -z "$xenalyze" ] || run dump-all xenalyze --dump-all "$trace"
	run events "$xenfault" events "$trace"
	[ -z "$xenalyze" ] || run summary xenalyze --summary "$trace"
	floor=$("$bench/floor" "$trace" "$bench/floor.db")
	echo "floor $floor" >>"$times"
	run reader "$xenfault" sql "$trace" 'SELECT count(*) FROM xentrace'
done
[ ! -t 2 ] || printf '\r\033[K' >&2
events=$("$xenfault" sql --format csv "$bench/import.db" 'SELECT events FROM trace' | tail -1)
exact=$("$xenfault" sql --format csv "$bench/import.db" 'SELECT records FROM trace' | tail -1)
rm -f "$bench/import.db" "$bench/floor.db"

awk -v rounds="$rounds" -v events="$events" -v records="$exact" '
function median(list, n,    i, j, t) {
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && list[j] < list[j - 1]; j--) {
			t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
		}
	return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
function seconds(name,    i, list) {
	for (i = 1; i <= rounds; i++)
		list[i] = time[name, i]
	return median(list, rounds)
}
function ratio(name, to,    i, list) {
	for (i = 1; i <= rounds; i++)
		list[i] = time[name, i] / time[to, i]
	return median(list, rounds)
}
function row(name, what) {
	printf "%-34s %8.2f %10s %8.2f\n", what, seconds(name),
		"dump-all" in count ? sprintf("%.2f", ratio(name, "dump-all")) : "-",
		records / seconds(name) / 1e6
}
function target(what, value, limit, unit) {
	printf "%-34s %8.2f %s, target %s: %s\n", what, value, unit, limit,
		value <= limit ? "reached" : "MISSED"
}
{ time[$1, ++count[$1]] = $2; if ($1 == "import" && $3 > rss) rss = $3 }
END {
	printf "%d records, %d events; medians of %d rounds\n\n", records, events, rounds
	printf "%-34s %8s %10s %8s\n", "", "seconds", "/ dump-all", "Mrec/s"
	row("import", "xenfault import")
	row("events", "xenfault events")
	if ("dump-all" in count) {
		row("dump-all", "xenalyze --dump-all")
		row("summary", "xenalyze --summary")
	}
	row("floor", "insertion floor")
	row("reader", "reader alone (xenfault sql count)")
	printf "\n"
	if ("dump-all" in count) {
		target("import / dump-all", ratio("import", "dump-all"), 0.4, "times")
		if (ratio("floor", "dump-all") > 0.4)
			print "  (inserting the rows alone takes more than that: " \
				"no reader, however fast, reaches it)"
		target("events / dump-all", ratio("events", "dump-all"), 0.35, "times")
	}
	target("import / floor", ratio("import", "floor"), 1.5, "times")
	target("memory of import at its peak", rss / 1024, 100, "MiB")
	printf "rows stored by import: %.2f M rows/s; by the floor: %.2f M rows/s\n",
		events / seconds("import") / 1e6, events / seconds("floor") / 1e6
}' "$times"
