# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests in the rig share: booting Xen, the files that came back, cases.

In: a script for dom0.  Out: "ok NAME" or "FAIL NAME: why" lines.
"""
import os
import sqlite3
import subprocess
import sys
import tempfile
import time

import lib
from lib import HERE, TOP
from xenstream import records, windows

BUILD = os.path.join(TOP, os.environ.get("O", "build"))


class Results:
    """What a script left in /tmp/out."""

    def __init__(self, directory):
        self.directory = directory

    def path(self, name):
        return os.path.join(self.directory, name)

    def text(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def stream(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def exit(self, name):
        return int(self.text(name + ".exit"))

    def status(self, name):
        """Last value of each key."""
        return dict(line.split("=", 1) for line in self.text(name + ".status").splitlines())

    def database(self, name):
        """A database that may have been left by a killed program: with what is in its WAL."""
        return sqlite3.connect(f"file:{self.path(name)}.db?mode=rw", uri=True)

    def imported(self, name):
        """A stream, imported here and now."""
        path = self.path(name + ".imported")
        subprocess.run([os.path.join(BUILD, "xenfault"), "import", "--force", "-o", path, self.path(name)],
                       check=True, capture_output=True)
        return sqlite3.connect(f"file:{path}?mode=ro", uri=True)

    def events(self, name):
        """Event id -> payloads, over the whole stream, which must be whole windows."""
        found = {}
        for _, data in windows(self.stream(name)):
            for event, words in records(data):
                found.setdefault(event, []).append(words)
        return found


def boot(name, script, directory, files=(), xen_options="", variables=()):
    """Boots Xen, runs the script in dom0; fails if no results came back.  files: names, or what makes them."""
    if callable(files):
        files = files()
    began = time.monotonic()
    code = subprocess.run(
        [os.path.join(HERE, "xen", "boot.sh"), os.path.join(HERE, "xen", script), directory, *files],
        check=False, cwd=TOP, env=dict(os.environ, XEN_OPTIONS=xen_options, **dict(variables))).returncode
    print(f"{name}: {script} took {time.monotonic() - began:.0f} s", flush=True)
    if code:
        console = os.path.join(directory, "console.log")
        if os.path.exists(console):
            with open(console, encoding="utf-8", errors="replace") as file:
                sys.stderr.write("".join(file.readlines()[-40:]))
    lib.equal(code, 0, f"exit status of {script}")


def run_boots(name, boots):
    """
    boots: (script, cases, files for dom0's /bin, Xen's options[, variables of boot.sh]).  The variable RIG_KEEP names a
    directory to keep the results in; what is there from an earlier run is checked again instead of
    booting.  Ends the program.
    """
    if not os.path.exists(os.path.join(BUILD, "xenfault-drain")):
        print(f"FAIL {name}: this build has no xenfault-drain (package libxen-dev)")
        sys.exit(1)
    with tempfile.TemporaryDirectory() as scratch:
        base = os.path.abspath(os.environ.get("RIG_KEEP", scratch))
        for script, cases, files, *options in boots:
            asked_for = [case for case in cases if lib.wanted(f"{name}.{case.__name__}")]
            if not asked_for:
                continue
            directory = os.path.join(base, script)
            if not os.path.exists(os.path.join(directory, "status")):
                failed = lib.failed
                lib.run_case(f"{name}.boot of {script}", boot, name, script, directory, files, *options)
                if lib.failed > failed:
                    continue
            for function in asked_for:
                lib.run_case(f"{name}.{function.__name__}", function, Results(directory))
    lib.finish()
