#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""xenfault record as root: what its processes may do while it runs.  Out: cases; none for an ordinary user."""
import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import lib
from lib import XENFAULT, case, check, equal, finish, unpack

if os.geteuid():
    print("note: only root has rights that record could give up")
    sys.exit(0)

XENFAULT = os.path.abspath(XENFAULT)
NOBODY = "65534"


class Folder:
    """A folder that is root's alone, as /root is."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="xenfault-rights-", dir="/var/tmp")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def __call__(self, name):
        return os.path.join(self.path, name)

    def record(self, via, *args, env=None, **more):
        return subprocess.Popen([XENFAULT, "record", "-o", "x.db", "--via", via, *args],
                                cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "SUDO_UID": "", **(env or {})}, **more)

    def wait(self, name="x.db"):
        end = time.time() + lib.TIMEOUT
        while time.time() < end:
            if os.path.exists(self(name)):
                return
            time.sleep(.02)
        raise AssertionError(f"{name} does not come")


def status(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def broker(pid):
    """The process with rights of a recording."""
    for child in subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split():
        if status(child)["Name"] == "xenfault-broker":
            return int(child)
    raise AssertionError("there is no broker")


def events(path):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        equal(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)], "integrity")
        return db.execute("SELECT count(*) FROM event").fetchone()[0]


def ended(process, wanted=0):
    out, err = process.communicate(timeout=lib.TIMEOUT)
    equal(process.returncode, wanted, err)
    return out, err


TRACE = unpack("wtpt-smp.bin")
EVENTS = events(lib.database_path("wtpt-smp"))

with_sudo = [("", NOBODY), ("0", NOBODY), ("not a number", NOBODY), ("1", "1"), ("4000000000", NOBODY)]
for sudo, user in with_sudo:
    @case(f"rights: SUDO_UID={sudo}: reader, analyzer and SQLite run as user {user} and can do nothing else")
    def _(sudo=sudo, user=user):
        with Folder() as folder:
            process = folder.record(f"cat {TRACE}; sleep 1", env={"SUDO_UID": sudo})
            folder.wait()
            ours = status(process.pid)
            equal(set(ours["Uid"].split()), {user}, "users")
            check("0" not in ours["Gid"].split() and not ours["Groups"].strip(), "a group of root's")
            for which in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                equal(int(ours[which], 16), 0, which)
            equal((ours["NoNewPrivs"], ours["Seccomp"]), ("1", "2"), "no new privileges, seccomp")
            equal(status(broker(process.pid))["Uid"].split()[0], "0", "the broker's user")
            _, err = ended(process)
            check("root" not in err, err)
            equal(events(folder("x.db")), EVENTS, "events")
            found = os.stat(folder("x.db"))
            equal((found.st_uid, found.st_mode & 0o777), (0, 0o600), "owner and mode")
            equal(os.listdir(folder.path), ["x.db"], "files")


@case("rights: the command and the producer keep the caller's")
def _():
    with Folder() as folder:
        out, err = ended(folder.record(f"cat {TRACE}; id -u >&2; sleep 0.3", "--", "id", "-u"))
        equal((out.split(), err.split()[0]), (["0"], "0"), "users")


@case("rights: a command that is not there is told, and the capture ends")
def _():
    with Folder() as folder:
        _, err = ended(folder.record(f"cat {TRACE}; sleep 5", "--", "./no-such-program"), 3)
        check("cannot run ./no-such-program" in err, err)


@case("rights: a command that was not started yet leaves no process")
def _():
    with Folder() as folder:
        process = folder.record("sleep 5", "--", "touch", "started")
        time.sleep(.3)
        process.send_signal(signal.SIGINT)
        ended(process, 130)
        equal(os.listdir(folder.path), [], "files")


@case("rights: files that only root may read: symbols, domain names; by name, link, and descriptor")
def _():
    with Folder() as folder:
        with open(folder("names"), "w", encoding="ascii") as file:
            file.write("d0 top\n")
        os.chmod(folder("names"), 0o600)
        with open(folder("map"), "w", encoding="ascii") as file:
            file.write("ffffffff80000000 T everything\nffffffffff000000 T end\n")
        os.chmod(folder("map"), 0o600)
        os.symlink("map", folder("link"))
        with open(folder("map"), "rb") as opened:
            for symbols in ("map", "link", folder("map"), f"/proc/self/fd/{opened.fileno()}"):
                _, err = ended(folder.record(f"cat {TRACE}", "-f", "--symbols", symbols, "--domain-names", "names",
                                             pass_fds=[opened.fileno()]))
                check("cannot" not in err, err)
                with contextlib.closing(sqlite3.connect(folder("x.db"))) as db:
                    check(db.execute("SELECT count(*) FROM symbol WHERE name LIKE 'everything%'").fetchone()[0],
                          f"no symbol of {symbols}")
                    equal(db.execute("SELECT name FROM domains WHERE domid = 0").fetchall(), [("top",)], "name")


@case("rights: raw stream, kept files and --force work in a folder that is root's alone")
def _():
    with Folder() as folder:
        os.mkdir(folder("sub"), 0o700)
        ended(folder.record(f"cat {TRACE}", "--raw", "sub/raw"))
        with open(folder("sub/raw"), "rb") as raw, open(TRACE, "rb") as trace:
            check(raw.read() == trace.read(), "the stream is another")
        process = folder.record(f"cat {TRACE}; sleep 20", "-f", "--raw", "sub/raw2")
        folder.wait("x.db-wal")
        os.unlink(folder("x.db"))
        _, err = ended(process, 8)
        check("x.db.kept" in err, err)
        equal(events(folder("x.db.kept")), EVENTS, "events")
        ended(folder.record(f"cat {TRACE}", "-f"))
        equal(sorted(os.listdir(folder.path)), ["sub", "x.db", "x.db.kept"], "files")


@case("rights: what others have put where SQLite will write is not followed")
def _():
    for suffix in ("-wal", "-shm", "-journal"):
        with Folder() as folder:
            with open(folder("victim"), "w", encoding="ascii") as file:
                file.write("theirs")
            process = folder.record(f"sleep 0.6; cat {TRACE}")
            time.sleep(.3)
            os.symlink("victim", folder("x.db" + suffix))
            process.communicate(timeout=lib.TIMEOUT)
            with open(folder("victim"), encoding="ascii") as file:
                equal(file.read(), "theirs", "the file")


@case("rights: killed, neither process stays")
def _():
    with Folder() as folder:
        process = folder.record(f"cat {TRACE}; sleep 20")
        folder.wait()
        helper = broker(process.pid)
        process.kill()
        process.wait()
        end = time.time() + lib.SOON
        while os.path.exists(f"/proc/{helper}") and status(helper)["State"][0] != "Z" and time.time() < end:
            time.sleep(.02)
        check(not os.path.exists(f"/proc/{helper}") or status(helper)["State"][0] == "Z", "the broker lives")


@case("rights: nothing uses the folder when record has ended")
def _():
    with Folder() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "xenfault", folder.path], check=True)
        try:
            ended(folder.record(f"cat {TRACE}"))
            equal(os.listdir(folder.path), ["x.db"], "files")
        finally:
            subprocess.run(["umount", folder.path], check=True)


@case("rights: without its broker a recording ends with a message")
def _():
    with Folder() as folder:
        process = folder.record(f"cat {TRACE}; sleep 1")
        folder.wait()
        os.kill(broker(process.pid), signal.SIGKILL)
        _, err = process.communicate(timeout=lib.TIMEOUT)
        check(process.returncode > 0 and err.strip(), f"status {process.returncode}: {err}")


finish()
