#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs a fuzz target.  In: the build folder, the target, seconds.  Out: a case; what was found stays
# in the build folder, and the end of the log is shown.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$1 name=$2 seconds=$3
log=$build/$name.log

# what libFuzzer finds interesting is kept, so that the next run goes on from there
mkdir -p "$build/corpus-$name"
# most of the time would go to the allocator otherwise
export ASAN_OPTIONS=malloc_context_size=5:quarantine_size_mb=8
if "$build/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=32768 \
	-artifact_prefix="$build/$name-" -verbosity=1 -print_final_stats=1 \
	"$build/corpus-$name" tests/fuzz/seeds >"$log" 2>&1; then
	sed -n 's/^stat::number_of_executed_units: */inputs tried: /p' "$log"
	echo "ok fuzz $name"
else
	grep -E 'ERROR|SUMMARY|Test unit written' "$log"
	tail -30 "$log"
	echo "FAIL fuzz $name: see $log; run it again with $build/$name and the file named there"
	exit 1
fi
