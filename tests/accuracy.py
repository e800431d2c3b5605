#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of docs/analysis.md: captures against the logs of their guests' kernels.

In: pairs CAPTURE LOG (none: all in tests/traces that have a log), XENFAULT.  Out: the table, in Markdown.
"""
import glob
import json
import os
import sys

from lib import HERE, database_path, run, unpack

SUBJECTS = ("faults", "writes", "forks", "va_bases", "cow_faults")


def recorded():
    """The captures of tests/traces that have a log: (name, database, log)."""
    for log in sorted(glob.glob(os.path.join(HERE, "traces", "*.ftrace.zst"))):
        name = os.path.basename(log).removesuffix(".ftrace.zst")
        yield name, database_path(name), unpack(name + ".ftrace")


def given(words):
    """Captures and logs from the command line, imported beside the tests' own databases."""
    for capture, log in zip(words[::2], words[1::2]):
        name = os.path.basename(capture).removesuffix(".bin")
        target = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"accuracy-{os.getpid()}.db")
        try:
            run("import", "-o", target, capture)
            yield name, target, log
        finally:
            if os.path.exists(target):
                os.unlink(target)


def cell(row):
    """How many agree of those in the capture, and were found of those in the log."""
    if row is None:
        return "-"
    return f"{row['agree']} of {row['capture']}, {row['found']} of {row['log']}"


def main(words):
    if len(words) % 2:
        sys.exit("usage: accuracy.py [CAPTURE LOG ...]")
    print("| capture | " + " | ".join(SUBJECTS) + " |")
    print("|---" * (1 + len(SUBJECTS)) + "|")
    for name, target, log in given(words) if words else recorded():
        lines = run("verify", "--format", "jsonl", "--log", log, target).stdout.splitlines()
        rows = {row["subject"]: row for row in map(json.loads, lines)}
        print(f"| {name} | " + " | ".join(cell(rows.get(subject)) for subject in SUBJECTS) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
