#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs test programs side by side and adds up their cases.

In: arguments NAME=COMMAND, in the order in which they begin; those behind --alone run one after the
other when all else is done.  T=WORD runs the cases whose name contains it; T=PROGRAM all of one
program, T=PROGRAM:WORD those of one program.  JOBS: how many at the same time.
Out: what they print, program by program, then "N passed, N failed".  A program that dies without a
FAIL counts as one.
"""
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed


def chosen(programs, word):
    """The programs to run, and the part of a name that their cases must contain."""
    program, colon, part = word.partition(":")
    own = {name for name, _ in programs if program.removesuffix(".py") in (name, name.removeprefix("san-"))}
    if own:
        return [(name, command) for name, command in programs if name in own], part
    if colon:
        sys.exit(f"T={word}: no program {program}; there are: {' '.join(name for name, _ in programs)}")
    return programs, word


def run(name, command, part):
    """One program: its output, and its cases that passed and failed."""
    began = time.monotonic()
    done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**os.environ, "T": part}, check=False)
    text = done.stdout.decode(errors="replace")
    if done.returncode and not re.search(r"^FAIL", text, re.M):
        text += f"FAIL {name}: exit status {done.returncode} of {command}\n"
    return f"== {name} ({time.monotonic() - began:.0f} s)\n{text}"


def main():
    arguments = [argument.partition("=")[::2] for argument in sys.argv[1:] if argument != "--alone"]
    programs, part = chosen(arguments, os.environ.get("T", ""))
    split = sys.argv.index("--alone") - 1 if "--alone" in sys.argv else len(arguments)
    alone = [program for program in programs if program in arguments[split:]]
    passed = failed = 0
    for group, jobs in ((programs[:len(programs) - len(alone)], os.environ.get("JOBS")), (alone, 1)):
        with ThreadPoolExecutor(int(jobs or (os.cpu_count() or 1) + 1)) as pool:
            for result in as_completed([pool.submit(run, *program, part) for program in group]):
                text = result.result()
                passed += len(re.findall(r"^ok ", text, re.M))
                failed += len(re.findall(r"^FAIL", text, re.M))
                if not part or re.search(r"^(ok |FAIL)", text, re.M):
                    print(text, end="", flush=True)
    if not passed + failed:
        failed = 1
        print(f"FAIL T={os.environ.get('T', '')}: no case has such a name")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
