# SPDX-License-Identifier: GPL-2.0-or-later
"""What the test scripts share: unpacked traces, databases, cases that are counted."""
import os
import re
import sqlite3
import subprocess
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
XENFAULT = os.path.abspath(os.environ.get("XENFAULT", os.path.join(TOP, "build", "xenfault")))
WORK = os.path.abspath(os.environ.get("XF_TEST_DIR", os.path.join(TOP, "build", "test")))
os.makedirs(WORK, exist_ok=True)

passed = failed = 0


def case(name):
    """Decorator: runs the function at once as a test case."""
    def run(function):
        global passed, failed
        try:
            function()
        except Exception as error:  # a broken case must not end the others
            failed += 1
            print(f"FAIL {name}: {error or traceback.format_exc()}")
            if not isinstance(error, AssertionError):
                traceback.print_exc(file=sys.stdout)
        else:
            passed += 1
            print(f"ok {name}")
        sys.stdout.flush()
        return function
    return run


def equal(got, wanted, what=""):
    assert got == wanted, f"{what}: got {got!r}, wanted {wanted!r}"


def finish():
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


def packed(name):
    for folder in ("tests/traces", "examples"):
        path = os.path.join(TOP, folder, name + ".zst")
        if os.path.exists(path):
            return path
    raise FileNotFoundError(name)


def unpack(name):
    """The path of an unpacked trace or log."""
    path = os.path.join(WORK, name)
    if not os.path.exists(path):
        subprocess.run(["zstd", "-qdf", packed(name), "-o", path + ".part"], check=True)
        os.rename(path + ".part", path)
    return path


def plain(name):
    for folder in ("tests/traces", "examples"):
        path = os.path.join(TOP, folder, name)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(name)


def run(*args, status=0, **more):
    done = subprocess.run([XENFAULT, *map(str, args)], capture_output=True, text=True,
                          timeout=300, **more)
    if status is not None:
        equal(done.returncode, status, f"exit status of {' '.join(map(str, args))} ({done.stderr})")
    return done


def database(name, *options):
    """Imports a recorded trace once per run and opens the result."""
    path = os.path.join(WORK, name + ".db")
    if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(XENFAULT) or options:
        run("import", "--force", "-o", path, *options, unpack(name + ".bin"))
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True)


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def runs(name):
    """The runs of a 2006 capture as dicts, numbers as int."""
    with open(plain(name + ".runs.tsv"), encoding="ascii") as file:
        keys = file.readline().split()
        for text in file:
            row = dict(zip(keys, text.rstrip("\n").split("\t")))
            yield {k: int(v) if re.fullmatch(r"-?\d+", v) else v for k, v in row.items()}
