#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs fuzz targets.  In: a build folder, targets (one word of the shell), how long.  With libFuzzer how
# long is seconds for each; with their own driver (the folder has driven/) it is inputs for each, the same
# ones each time.  Out: a case for each, with how many inputs were tried and how many in a second; what was
# found stays in the build folder, and the end of the log is shown.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$1 targets=$2 long=$3
# most of the time would go to the allocator otherwise
export ASAN_OPTIONS=malloc_context_size=5:quarantine_size_mb=8
bad=0

seeds_of() {
	case $1 in
	reader | import) echo tests/fuzz/seeds/trace ;;
	*) echo "tests/fuzz/seeds/$1" ;;
	esac
}

run() {
	case $1 in
	reader) most=2048 ;; # longer ones find nothing that these do not, and are slow
	*) most=8192 ;;
	esac
	if [ ! -d "$build/driven" ]; then
		# what libFuzzer finds interesting is kept, so that the next run goes on from there
		mkdir -p "$build/corpus-$1"
		"$build/$1" -max_total_time="$long" -timeout=10 -rss_limit_mb=1024 -max_len=$most \
			-artifact_prefix="$build/$1-" -print_final_stats=1 "$build/corpus-$1" "$(seeds_of "$1")"
	else
		"$build/driven/$1" -runs="$long" -seed="${SEED:-1}" -max_len=$most -out="$build/$1-crash" "$(seeds_of "$1")"
	fi >"$build/$1.log" 2>&1
}

for name in $targets; do
	if run "$name"; then
		sed -n "s/^stat::number_of_executed_units: */$name: inputs tried: /p
			s/^stat::average_exec_per_sec: */$name: a second: /p
			s/^\([0-9]* inputs, .*\)/$name: \1/p" "$build/$name.log"
		echo "ok fuzz $name"
	else
		grep -E 'ERROR|SUMMARY|Test unit written|the input is in' "$build/$name.log"
		tail -30 "$build/$name.log"
		echo "FAIL fuzz $name: see $build/$name.log; run it again with the file named there"
		bad=1
	fi
done
exit $bad
