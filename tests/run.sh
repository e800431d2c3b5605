#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs test programs and adds up their cases.  In: commands, one per argument.
# Out: their output, then "N passed, N failed".  A program that dies without a FAIL counts as one.
set -u
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0
failed=0
for command; do
	echo "== $command"
	status=0
	sh -c "$command" >"$log" 2>&1 || status=$?
	cat "$log"
	ok=$(grep -c '^ok ' "$log")
	bad=$(grep -c '^FAIL' "$log")
	[ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || {
		bad=1
		echo "FAIL $command: exit status $status"
	}
	passed=$((passed + ok))
	failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
