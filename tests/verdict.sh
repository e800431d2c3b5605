# SPDX-License-Identifier: GPL-2.0-or-later
# For the tests in shell: a case.  In: T, a part of the names of the cases to run.  Out: status=1
# once one failed.
# shellcheck shell=sh disable=SC2034
status=0

verdict() { # name, what is wrong (nothing = fine)
	case $1 in *"${T:-}"*) ;; *) return ;; esac
	if [ -z "$2" ]; then
		echo "ok $1"
	else
		echo "FAIL $1: $(echo "$2" | tr '\n' ' ')"
		status=1
	fi
}
