#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults at every point: each system call and each allocation of a command fails once, from there on, is done
by half, or meets a signal; kill -9 at any time.  Whatever happens there is a message that names the cause, or
success with the whole result; no crash, no hang, no half result under its name, nothing left that becomes data,
and the same command works afterwards.

In: TORTURE_SECONDS to go on for, or nothing: a short sample, as `make check` has it.  SEED: which points come
first.  O: the build.  Out: cases, and how many faults there were of each kind.
"""
import collections
import contextlib
import functools
import hashlib
import itertools
import os
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import lib
from lib import TOP, XENFAULT, run_case, unpack

BUILD = os.path.abspath(os.environ.get("O", os.path.join(TOP, "build")))
INJECT, NOMEM = (os.path.join(BUILD, "torture", name) for name in ("inject", "nomem.so"))
SECONDS = float(os.environ.get("TORTURE_SECONDS") or 0)
SEED = int(os.environ.get("SEED", "1"))
JOBS = int(os.environ.get("JOBS") or os.cpu_count() or 1)
SHORT = 6  # points of each kind of fault and command that are tried without TORTURE_SECONDS
KILLS = 20  # at any time
HANGS = 60  # seconds
SHARED = struct.Struct("<Q131072Q")  # struct shared of tests/torture/nomem.c
CRASHES = {128 + number for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)}
RAW = re.compile(r"PRAGMA|DROP|COMMIT|BEGIN|SELECT|INSERT|CREATE|sqlite|attempt to")
TEMPORARY = re.compile(r".*\.xenfault-tmp-[0-9a-v]{12}(-journal|-wal|-shm)?$")
TRACE = os.path.join(TOP, "tests", "fuzz", "seeds", "trace", "dom0-crowd")
OTHER = os.path.join(TOP, "tests", "fuzz", "seeds", "trace", "pvh-shadow")
LARGE = unpack("wtpt-smp.bin")
STANDIN = os.path.join(BUILD, "tests", "standin.so") if os.path.exists(os.path.join(BUILD, "tests", "standin.so")) else None
FOUND = "0x00a5f000"  # an event mask that nobody else would leave
SYMBOLS = os.path.join(TOP, "tests", "data", "kallsyms.txt")

# what a fault is: its name, how inject is called, and nomem; whether the run may go on as if nothing was
KINDS = {
    "error": ("error", {}), "another error": ("other", {}), "errors from there on": ("always", {}),
    "half": ("short", {}), "SIGINT": (str(int(signal.SIGINT)), {}), "SIGTERM": (str(int(signal.SIGTERM)), {}),
    "SIGHUP": (str(int(signal.SIGHUP)), {}), "kill -9": (str(int(signal.SIGKILL)), {}),
    "no memory": (None, {"NOMEM_FOR": "1"}), "no memory from there on": (None, {"NOMEM_FOR": "0"}),
    "SIGINT at an allocation": (None, {"NOMEM_SIGNAL": str(int(signal.SIGINT))}),
}


class Command:
    """A command to be tortured: what stands in the folder before, its arguments, the file that it makes."""

    def __init__(self, name, args, product, before=(), live=False, standin=False):
        self.name, self.args, self.product, self.before = name, args, product, dict(before)
        self.live, self.standin = live, standin
        self.calls, self.allocations, self.places = 0, 0, []
        self.whole = self.old = self.part = None

    def prepare(self, folder):
        for name, path in self.before.items():
            shutil.copy(path, os.path.join(folder, name))


@contextlib.contextmanager
def working_folder():
    """A folder in memory, where the machine has one: the disk is not what is tested."""
    root = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="xenfault-torture-", dir=root)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def made(name, *args):
    """A database of before, made once."""
    with lib.made_once("torture-" + name) as path:
        if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(XENFAULT):
            lib.run(*args, "--force", "-o", path)
    return path


def content(path, known={}):
    """What a file holds: of a database, its rows, as several files hold the same."""
    with open(path, "rb") as file:
        data = file.read()
    digest = hashlib.sha256(data).hexdigest()
    if not data.startswith(b"SQLite format 3\0"):
        return digest
    if os.path.exists(path + "-wal") or os.path.exists(path + "-journal"):
        return rows_of(path)
    if digest not in known:
        known[digest] = rows_of(path)
    return known[digest]


def rows_of(path):
    """The rows of a database as one number."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        if (check := db.execute("PRAGMA integrity_check").fetchall()) != [("ok",)]:
            return f"damaged: {check[:3]}"
        rows = hashlib.sha256()
        for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall():
            for row in sorted(map(repr, db.execute(f'SELECT * FROM "{name}"'))):
                rows.update(row.encode())
        return rows.hexdigest()


def complete(path):
    """What a database says of itself."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT complete FROM capture").fetchone()[0]


def standin_variables(log):
    """What puts a stand-in in the place of Xen's libraries."""
    return {"LD_PRELOAD": STANDIN, "XFS_LOG": log, "XFS_MASK": FOUND, "XFS_PRODUCER": "records"}


def start(command, folder, kind, at, out):
    """Runs a command with a fault: its status (None: it hangs), what it said, the call that was met, and where."""
    action, more = KINDS[kind] if kind else ("count", {"NOMEM_PLACES": "1"})
    count = os.path.join(out, "count")
    with open(count, "wb") as file:
        file.truncate(SHARED.size)
    variables = {**os.environ, "LD_PRELOAD": NOMEM, "NOMEM_NAME": "xenfault", "NOMEM_COUNT": count, **more,
                 "NOMEM_AT": str(at) if action is None else "0", "MALLOC_PERTURB_": "165", "TMPDIR": folder}
    if command.standin:
        variables.update(standin_variables(os.path.join(out, "log")), LD_PRELOAD=f"{NOMEM}:{STANDIN}", XFS_BYTES="40000")
    program = [XENFAULT, *command.args]
    if action:
        program = [INJECT, os.path.join(out, "calls"), action, str(at), *program]
    child = subprocess.Popen(program, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, start_new_session=True)
    try:
        said = child.communicate(timeout=HANGS)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        return None, child.communicate()[1].decode(errors="replace"), "-", "-"
    calls, met, where = 0, "-", "-"
    if action:
        with open(os.path.join(out, "calls"), encoding="ascii") as file:
            calls, met, where = file.read().split()
    if not kind:
        with open(count, "rb") as file:
            command.allocations, *places = SHARED.unpack(file.read())
        command.calls, command.places = int(calls), sorted(first for first in places[1::2] if first)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode, said, met, where


def ended(kind, status, said, met, where):
    """Whether the way in which it ended is wrong: why, or None."""
    killed = kind == "kill -9" and met != "-" and where == "-"
    if status is None:
        return "it hangs"
    if status in CRASHES or (status == 128 + signal.SIGKILL) != killed:
        return f"it ended with status {status}"
    if status and not killed:
        lines = said.strip().splitlines()
        if not lines or not lines[-1].startswith("xenfault: ") or len(lines[-1]) < 20:
            return "no message"
        if RAW.search(said):
            return "a message that is a statement of ours"
    return None


def judge(command, folder, kind, status, met, where):
    """Why what is there afterwards is wrong, or None."""
    killed = kind == "kill -9" and met != "-"
    # what removes a file for SQLite and us: a fault in it is one of theirs that cannot be undone
    removes = met.startswith("unlink") or where == "xenfault-broker"
    path = os.path.join(folder, command.product)
    if not os.path.exists(path):
        if not status:
            return "success, and nothing is there"
        if command.old:
            return "what was there before is gone"
    else:
        if os.path.exists(path + "-wal") and not killed and not (command.live and status) and \
                not removes and not met.startswith("fcntl"):
            return "a -wal is left"
        now = content(path)
        if now.startswith("damaged"):
            return now
        if now not in (command.whole, command.old, status and command.part) and not \
                ((command.live or status == 130) and complete(path) == 0) and not \
                (command.live and not status and kind.startswith("SIG")):
            return f"neither the whole result nor the old one (status {status})"
        if not status and now == command.old and command.old != command.whole:
            return "success, and the old result"
    left = set(os.listdir(folder)) - {command.product, *command.before}
    if command.live and (status or removes):
        left -= {command.product + "-wal", command.product + "-shm"}
    if command.args[0] == "analyze" and status:
        left.discard(command.product + "-journal")
    if left and not killed and not removes:
        return f"files are left: {left}"
    if (killed or removes) and not all(TEMPORARY.match(name) or re.search(r"-(wal|shm|journal)$", name) for name in left):
        return f"files are left that no run will remove: {left}"
    return None


def again(command, folder):
    """The same command in what is left, without a fault."""
    args = list(command.args)
    if os.path.exists(os.path.join(folder, command.product)) and args[0] in ("import", "record", "export", "report"):
        args.insert(1, "--force")
    if args[0] == "merge" and os.path.exists(os.path.join(folder, command.product)):
        os.unlink(os.path.join(folder, command.product))
    done = subprocess.run([XENFAULT, *args], cwd=folder, capture_output=True, timeout=HANGS, check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, "TMPDIR": folder})
    if done.returncode:
        return f"the same command fails afterwards: {done.stderr.decode()}"
    if content(os.path.join(folder, command.product)) != command.whole:
        return "the same command makes something else afterwards"
    left = set(os.listdir(folder)) - {command.product, *command.before}
    return f"the same command leaves {left}" if left else None


def tried(command, kind, at):
    """One fault; whether it met anything, and what was wrong."""
    with working_folder() as top:
        folder, out = os.path.join(top, "f"), os.path.join(top, "out")
        os.mkdir(folder)
        os.mkdir(out)
        command.prepare(folder)
        status, said, met, where = start(command, folder, kind, at, out)
        wrong = ended(kind, status, said, met, where)
        if command.standin:
            guarded = kind != "kill -9" or where != "drain-guard"
            wrong = wrong or ended_badly("record", folder, os.path.join(out, "log"), status, guarded)
        else:
            wrong = wrong or judge(command, folder, kind, status, met, where)
        if not wrong and not command.standin and (kind == "kill -9" or len(os.listdir(folder)) > len(command.before) + 1):
            wrong = again(command, folder)
        return met, status, wrong and f"{command.name}, {kind} at {at} ({met} {where}): {wrong}: {said.strip()[-300:]}"


def measure(command):
    """A run without a fault: how many points there are, and the whole result."""
    with working_folder() as top:
        folder, out = os.path.join(top, "f"), os.path.join(top, "out")
        os.mkdir(folder)
        os.mkdir(out)
        command.prepare(folder)
        if command.product in command.before:
            command.old = content(os.path.join(folder, command.product))
        status, said, _, _ = start(command, folder, None, 0, out)
        assert status == 0, (command.name, status, said)
        if command.standin:
            return
        command.whole = content(os.path.join(folder, command.product))
        left = set(os.listdir(folder)) - {command.product, *command.before}
        assert not left, (command.name, left)
        if command.args[0] == "merge":
            # a fleet takes hosts over one by one
            lib.run("merge", "-o", "part.db", command.args[-2], cwd=folder)
            command.part = content(os.path.join(folder, "part.db"))


def commands():
    """All commands that are tortured."""
    one, two = made("one.db", "import", TRACE), made("two.db", "import", OTHER)
    return [
        Command("import", ["import", "-o", "x.db", TRACE], "x.db"),
        Command("import --force", ["import", "--force", "-o", "x.db", TRACE], "x.db", {"x.db": two}),
        Command("import --symbols", ["import", "-o", "x.db", "--symbols", SYMBOLS, TRACE], "x.db"),
        Command("record", ["record", "-o", "x.db", "--via", f"cat {TRACE}"], "x.db", live=True),
        Command("record --force", ["record", "--force", "-o", "x.db", "--via", f"cat {TRACE}"], "x.db", {"x.db": two},
                live=True),
        *([Command("record from Xen", ["record", "-o", "x.db", "-S", "4"], "x.db", live=True, standin=True)]
          if STANDIN else []),
        Command("analyze", ["analyze", "x.db"], "x.db", {"x.db": one}),
        Command("merge", ["merge", "-o", "f.db", "a=a.db", "b=b.db"], "f.db", {"a.db": one, "b.db": two}),
        Command("export --to csv", ["export", "--to", "csv", "--view", "events", "-o", "x.csv", "a.db"], "x.csv",
                {"a.db": one}),
        Command("export --to perfetto", ["export", "--to", "perfetto", "-o", "x.json", "a.db"], "x.json", {"a.db": one}),
        Command("export --to postgresql", ["export", "--to", "postgresql", "--host", "h", "-o", "x.sql", "a.db"], "x.sql",
                {"a.db": one}),
        Command("report", ["report", "-o", "x.html", "a.db"], "x.html", {"a.db": one}),
    ]


def points(command, kind):
    """The numbers of the calls, or allocations, in a random order; first one allocation of each place."""
    first, n = ([], command.calls) if KINDS[kind][0] else (list(command.places), command.allocations)
    rest = sorted(set(range(1, n + 1)) - set(first))
    order = random.Random(f"{SEED} {command.name} {kind}")
    order.shuffle(first)
    order.shuffle(rest)
    return first + rest


class Tally:
    """What was tried, by kind, and what was wrong."""

    def __init__(self, seconds):
        self.lock, self.counts, self.wrong = threading.Lock(), collections.Counter(), collections.defaultdict(list)
        self.end = time.monotonic() + seconds if seconds else None

    def over(self):
        return self.end and time.monotonic() > self.end

    def add(self, name, kind, why):
        with self.lock:
            self.counts[kind] += 1
            self.counts[name] += 1
            if why:
                self.wrong[name].append(why)

    def report(self, names, what):
        """A case for each name."""
        for name in names:
            def verdict(name=name):
                lib.check(not self.wrong[name], f"{len(self.wrong[name])} of {self.counts[name]}: " +
                          "\n  ".join(self.wrong[name][:20]))
            run_case(f"torture: {name}: {self.counts[name]} {what}", verdict)


def inject(seconds):
    """Faults at the points of all commands; how many points there are."""
    tally, todo = Tally(seconds), []
    chosen = commands()
    for command in chosen:
        measure(command)
        todo += [[(command, kind, at) for at in points(command, kind)] for kind in KINDS]
    # one of each in turn, so that whatever the time, all had the same share
    turns = [item for row in itertools.zip_longest(*todo) for item in row if item]

    def work(item):
        if not tally.over():
            tally.add(item[0].name, item[1], tried(*item)[2])
    with ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(work, turns if seconds else turns[:SHORT * len(todo)]))
    tally.report([command.name for command in chosen], "faults")
    kinds = ", ".join(f"{tally.counts[kind]} {kind}" for kind in KINDS)
    print(f"{sum(tally.counts[kind] for kind in KINDS)} faults at {len(turns)} points: {kinds}")


# --- kill -9 at any time ---

@functools.cache
def whole_large():
    """What an import of the larger trace makes."""
    return content(made("large.db", "import", LARGE))


def capture_killed(number, spans):
    """One import or capture that is killed at some time, and a new run under its name; why it is wrong."""
    name = ("import", "record")[number % 2 if STANDIN else 0]
    with working_folder() as top:
        folder, log = os.path.join(top, "f"), os.path.join(top, "log")
        path = os.path.join(folder, "x.db")
        os.mkdir(folder)
        args, variables = ["import", "-o", "x.db", LARGE], dict(os.environ)
        if name == "record":
            args = ["record", "-o", "x.db", "-S", "4"]
            variables.update(standin_variables(log), XFS_BYTES="400000")
        began = time.monotonic()
        child = subprocess.Popen([XENFAULT, *args], cwd=folder, env=variables, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        span = spans.get(name)
        if span:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(random.Random(f"{SEED} {number}").uniform(0, span))
            child.kill()
        # the drain sees its reader gone, or its guard sees it gone: stderr ends with the last of them
        child.communicate(timeout=HANGS)
        spans.setdefault(name, 1.05 * (time.monotonic() - began))
        return name, f"{name} {number}", ended_badly(name, folder, log, child.returncode)


def ended_badly(name, folder, log, status, guarded=True):
    """What is wrong after a kill, or another fault; guarded: also with what Xen was left with."""
    path, lines = os.path.join(folder, "x.db"), []
    if os.path.exists(log):
        with open(log, encoding="ascii") as file:
            lines = file.read().splitlines()
    masks = [line.split()[1] for line in lines if line.startswith("evt_mask")]
    switched = [line for line in lines if line in ("enable", "disable")]
    if guarded and (masks[-1:] not in ([], [FOUND]) or switched[-1:] == ["enable"]):
        return f"Xen is left with {masks[-1:]}, {switched[-1:]}"
    beside = ("x.db", "x.db-wal", "x.db-shm", "x.db-journal")
    left = [n for n in os.listdir(folder) if n not in beside and not TEMPORARY.match(n)]
    if left:
        return f"files are left: {left}"
    if os.path.exists(path):
        with contextlib.closing(sqlite3.connect(path)) as db:
            if db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                return "it is damaged"
            marked, told = db.execute("SELECT complete, events FROM capture").fetchone()
            held, = db.execute("SELECT count(*) FROM event").fetchone()
            stored, = db.execute("SELECT sum(records) FROM record_count WHERE raw_id = 0x201104").fetchone()
        if not marked and (name == "import" or not status):
            return f"it ended with status {status} and is marked as cut short"
        # what was killed when all was done is whole
        written = [line.split()[3] for line in lines if line.startswith("truth")]
        if name == "record" and marked and (not written or stored != sum(map(int, written))):
            return f"it is marked as whole with {stored} of {written} records"
        if told != held:
            return f"it holds {held} events and tells of {told}"
    done = subprocess.run([XENFAULT, "import", *(["--force"] if os.path.exists(path) else []), "-o", "x.db", LARGE],
                          cwd=folder, capture_output=True, timeout=HANGS, check=False)
    if done.returncode or content(path) != whole_large() or os.listdir(folder) != ["x.db"]:
        return f"a new run under the name: {done.returncode}, {done.stderr.decode()}, {os.listdir(folder)}"
    return None


def kill(seconds):
    """Kills until the time is over."""
    tally, spans = Tally(seconds), {}
    whole_large()
    for number in range(2):
        _, _, why = capture_killed(number, spans)
        assert not why, why

    def work(number):
        if not tally.over():
            name, what, why = capture_killed(number, spans)
            tally.add("killed " + name, name, why and f"{what}: {why}")
    with ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(work, range(2, 1_000_000 if seconds else KILLS + 2)))
    names = ("import", "record")[:2 if STANDIN else 1]
    tally.report(["killed " + name for name in names], "kills at any time")
    print(f"{sum(tally.counts[name] for name in names)} kills at any time: " +
          ", ".join(f"{tally.counts[name]} {name}" for name in names))


inject(SECONDS * 0.7)
kill(SECONDS * 0.3)
lib.finish()
