#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# How fast is live capture?  In: the build folder, with bench/measure and bench/repeat in it.
# Out: medians over BENCH_ROUNDS rounds: xenfault-drain from memory to a pipe, with the stand-in for
# Xen's libraries; xenfault record from a pipe, beside xenfault import of the same trace.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
rounds=${BENCH_ROUNDS:-5}
records=${BENCH_LIVE_RECORDS:-4000000}
bytes=4000000000
xenfault=$build/xenfault
bench=$build/bench
standin=$PWD/$build/tests/standin.so
trace=$bench/live-$records.bin
times=$bench/live-times

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

round=0
while [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	[ ! -t 2 ] || printf '\rround %s of %s' "$round" "$rounds" >&2
	if [ -e "$standin" ]; then
		run drain sh -c "LD_PRELOAD=$standin XFS_PRODUCER=whole XFS_BYTES=$bytes \
			$build/xenfault-drain -S 64 | cat >/dev/null"
	fi
	run import "$xenfault" import --force -o "$bench/live.db" "$trace"
	run record "$xenfault" record --force -o "$bench/live.db" --via "cat $trace"
done
[ ! -t 2 ] || printf '\r\033[K' >&2
exact=$("$xenfault" sql --format csv "$bench/live.db" 'SELECT records FROM trace' | tail -n 1)
rm -f "$bench/live.db"
[ -e "$standin" ] || echo "skipped: xenfault-drain, which this build has not (package libxen-dev)"

awk -v rounds="$rounds" -v bytes="$bytes" -v records="$exact" '
function median(list, n,    i, j, t) {
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && list[j] < list[j - 1]; j--) {
			t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
		}
	return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
function ratio(name, to,    i, list) {
	for (i = 1; i <= rounds; i++)
		list[i] = time[name, i] / (to == "" ? 1 : time[to, i])
	return median(list, rounds)
}
{ time[$1, ++count[$1]] = $2 }
END {
	printf "\nlive capture, %d records; medians of %d rounds\n", records, rounds
	if (count["drain"]) {
		speed = bytes / ratio("drain", "") / 1e9
		printf "%-34s %8.2f GB/s, target 1.00: %s\n", "drain, memory to pipe", speed,
			(speed >= 1 ? "reached" : "MISSED")
	}
	printf "%-34s %8.2f M records/s\n", "ingest by xenfault record", records / ratio("record", "") / 1e6
	printf "%-34s %8.2f M records/s\n", "ingest by xenfault import", records / ratio("import", "") / 1e6
	speed = ratio("import", "record")
	printf "%-34s %8.2f times, target 1.00: %s\n", "record / import", speed,
		(speed >= 0.995 ? "reached" : "MISSED")
}' "$times"
