#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""xenfault record without Xen: --via and the stand-in for Xen's libraries.  Out: cases."""
import contextlib
import os
import signal
import sqlite3
import subprocess
import time

import lib
import witness
from lib import WORK, XENFAULT, case, equal, finish, run, unpack

DB = os.path.join(WORK, "record.db")


def clean():
    for suffix in ("", "-wal", "-shm", "-journal"):
        if os.path.exists(DB + suffix):
            os.unlink(DB + suffix)


def open_database(path):
    return contextlib.closing(sqlite3.connect(f"file:{path}?mode=rw", uri=True, timeout=20))


def rows(path, sql):
    with open_database(path) as db:
        return db.execute(sql).fetchall()


def same(one, other):
    with open_database(one) as a, open_database(other) as b:
        witness.same_rows(a, b)


def repeat_tool():
    """Makes long traces of short ones."""
    path = os.path.join(WORK, "repeat")
    if not os.path.exists(path):
        subprocess.run(["gcc", "-O1", "-o", path, os.path.join(lib.HERE, "bench", "repeat.c")],
                       check=True)
    return path


def start(*args):
    return subprocess.Popen([XENFAULT, "record", "-o", DB, *args], stderr=subprocess.PIPE,
                            stdout=subprocess.DEVNULL, text=True, start_new_session=True)


def wait_for(sql, wanted, seconds=lib.TIMEOUT):
    end = time.time() + seconds
    while time.time() < end:
        try:
            got = rows(DB, sql)
            if got and wanted(got[0][0]):
                return got[0][0]
        except sqlite3.OperationalError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"not seen in {seconds} s: {sql}")


for trace in ("dom0-dirty", "dom0-crowd", "wtpt-smp", "pvh-shadow", "dom0-lossy"):
    @case(f"record --via and import give the same rows: {trace}")
    def _(trace=trace):
        clean()
        run("record", "-o", DB, "--via", f"cat {unpack(trace + '.bin')}")
        same(DB, lib.database_path(trace))
        equal(rows(DB, "SELECT complete FROM trace"), [(1,)], "complete")


@case("record: a stream that comes in drips gives the same rows")
def _():
    clean()
    path = unpack("dom0-smp.bin")
    # short pauses: within a pass, and long ones: the reader settles what it has
    drip = (f"python3 -c \"import sys,time\nd=open('{path}','rb').read()\n"
            "for i in range(0,len(d),200001):\n"
            " sys.stdout.buffer.write(d[i:i+200001]);sys.stdout.flush();time.sleep(.03)\"")
    run("record", "-o", DB, "--via", drip)
    same(DB, lib.database_path("dom0-smp"))


@case("record --raw keeps the stream byte for byte")
def _():
    clean()
    raw = os.path.join(WORK, "record.raw")
    run("record", "--force", "-o", DB, "--raw", raw, "--via", f"cat {unpack('dom0-smp.bin')}")
    equal(open(raw, "rb").read() == open(unpack("dom0-smp.bin"), "rb").read(), True, "raw")


@case("record: readers see data within seconds, and forks while it goes on")
def _():
    clean()
    child = start("--via", f"cat {unpack('dom0-dirty.bin')}; sleep 30")
    began = time.time()
    wait_for("SELECT count(*) FROM events", lambda n: n > 90000)
    assert time.time() - began < lib.SOON, time.time() - began
    wait_for("SELECT count(*) FROM forks", lambda n: n >= 32)
    equal(rows(DB, "SELECT complete FROM trace"), [(0,)], "complete while it goes on")
    for number in (signal.SIGINT,):
        child.send_signal(number)
    stopped = time.time()
    child.wait(lib.TIMEOUT)
    assert time.time() - stopped < lib.SOON, f"took {time.time() - stopped} s to end"
    equal(child.returncode, 0, "status")
    equal(rows(DB, "SELECT complete FROM trace"), [(1,)], "complete")
    equal(rows(DB, "PRAGMA integrity_check"), [("ok",)], "integrity")


for number in (signal.SIGTERM, signal.SIGHUP):
    @case(f"record: {signal.Signals(number).name} ends it with a whole database")
    def _(number=number):
        clean()
        child = start("--via", f"cat {unpack('dom0-smp.bin')}; sleep 30")
        wait_for("SELECT count(*) FROM events", lambda n: n > 1000)
        child.send_signal(number)
        equal(child.wait(lib.TIMEOUT), 0, "status")
        equal(rows(DB, "SELECT complete FROM trace"), [(1,)], "complete")


@case("record: the source of a --via pipeline ends before its filters, and its last words are kept")
def _():
    clean()
    path = unpack("dom0-smp.bin")
    source = os.path.join(WORK, "source.py")
    with open(source, "w", encoding="ascii") as file:
        file.write("import signal, sys\n"
                   f"data = open({path!r}, 'rb').read()\n"
                   "signal.signal(signal.SIGINT, lambda *_: None)\n"
                   "sys.stdout.buffer.write(data[:700001]); sys.stdout.flush()\n"
                   "signal.pause()\n"
                   "sys.stdout.buffer.write(data[700001:])\n")
    child = start("--via", f"python3 {source} | cat")
    wait_for("SELECT count(*) FROM events", lambda n: n > 1000)
    child.send_signal(signal.SIGTERM)
    equal(child.wait(lib.TIMEOUT), 0, "status")
    same(DB, lib.database_path("dom0-smp"))


@case("record: kill -9 leaves a valid database, marked as cut short")
def _():
    clean()
    child = start("--via", f"cat {unpack('dom0-dirty.bin')}; sleep 3")
    wait_for("SELECT count(*) FROM events", lambda n: n > 1000)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    equal(rows(DB, "PRAGMA integrity_check"), [("ok",)], "integrity")
    equal(rows(DB, "SELECT complete FROM trace"), [(0,)], "complete")
    assert "no: cut short" in run("info", DB).stdout


@case("record: a producer that fails in the middle leaves it marked")
def _():
    clean()
    done = run("record", "-o", DB, "--via", f"head -c 700000 {unpack('dom0-smp.bin')}; exit 3")
    equal(rows(DB, "SELECT complete FROM trace"), [(0,)], "complete")
    assert "status 3" in done.stderr, done.stderr


@case("record -T ends after that time, -- COMMAND with the command")
def _():
    clean()
    began = time.time()
    run("record", "-o", DB, "-T", "1", "--via", f"cat {unpack('dom0-smp.bin')}; sleep 30")
    assert 0.9 < time.time() - began < 1 + lib.SOON
    clean()
    began = time.time()
    run("record", "-o", DB, "--via", f"cat {unpack('dom0-smp.bin')}; sleep 30", "--", "sleep", "1")
    assert 0.9 < time.time() - began < 1 + lib.SOON


@case("record: errors name the cause, and leave nothing behind")
def _():
    clean()
    for args, status, text in (
            (("--via", "echo hello"), 4, "not a Xen trace"),
            (("--via", "false"), 3, "no data"),
            (("-e", "foo"), 2, "foo"),
            (("-c", "3-1"), 2, "3-1"),
            (("-S", "0"), 2, "-S"),
            (("-T", "x"), 2, "-T"),
            (("--via", "cat x", "-e", "pt"), 2, "--via")):
        done = run("record", "-o", DB, *args, status=status)
        assert text in done.stderr, (args, done.stderr)
        assert not os.path.exists(DB), args
    open(DB, "w").close()
    done = run("record", "-o", DB, "--via", "true", status=3)
    assert "exists already" in done.stderr
    clean()


@case("record: a reader that never lets go does not make the WAL grow without bound", slow=True)
def _():
    clean()
    path = unpack("dom0-dirty.bin")
    child = start("--via", f"{repeat_tool()} {path} 4000000; sleep 60")
    wait_for("SELECT count(*) FROM events", lambda n: n > 1000)
    holder = sqlite3.connect(DB)
    holder.execute("BEGIN")
    seen = holder.execute("SELECT count(*) FROM event").fetchone()[0]
    largest, end = 0, time.time() + 12
    while time.time() < end:
        largest = max(largest, os.path.getsize(DB + "-wal"))
        time.sleep(0.2)
    equal(holder.execute("SELECT count(*) FROM event").fetchone()[0], seen, "the reader's state")
    assert largest < 128 << 20, f"WAL of {largest >> 20} MiB"
    holder.rollback()
    holder.close()
    wait_for("SELECT records FROM trace", lambda n: n > 3900000)
    child.send_signal(signal.SIGINT)
    equal(child.wait(lib.TIMEOUT), 0, "status")
    equal(rows(DB, "PRAGMA integrity_check"), [("ok",)], "integrity")
    clean()


@case("record: a full disk stops it with a clear error and a valid database")
def _():
    clean()
    small = os.path.join(WORK, "small")
    os.makedirs(small, exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", small],
                      capture_output=True).returncode:
        print("   (no right to mount: with a file size limit instead)")
        done = subprocess.run(f"ulimit -f 3000; exec {XENFAULT} record -o {DB} --via 'cat "
                              f"{unpack('dom0-dirty.bin')}'", shell=True, capture_output=True, text=True)
        path = DB
    else:
        path = os.path.join(small, "a.db")
        done = subprocess.run([XENFAULT, "record", "-o", path, "--via",
                               f"{repeat_tool()} {unpack('dom0-dirty.bin')} 2000000; sleep 5"],
                              capture_output=True, text=True)
    try:
        equal(done.returncode, 3, f"status ({done.stderr})")
        assert done.stderr.strip(), "says nothing"
        equal(rows(path, "PRAGMA integrity_check"), [("ok",)], "integrity")
        equal(rows(path, "SELECT complete FROM trace"), [(0,)], "complete")
    finally:
        if path != DB:
            subprocess.run(["umount", small])


clean()
finish()
