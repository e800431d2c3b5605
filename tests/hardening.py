#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What must not happen: data lost, something let in, a file that is not ours touched.
In: traces, files that others have planted.  Out: cases."""
import contextlib
import os
import pty
import select
import signal
import sqlite3
import stat
import subprocess
import time

import lib
from lib import TIMEOUT, XENFAULT, case, check, equal, finish, leftovers, opened, run, unpack

SMALL = unpack("wtpt-up.bin")
LARGE = unpack("dom0-forks.bin")
BESIDE = ("-wal", "-shm", "-journal")


def events(path):
    """How many events a database holds, and what it calls its source."""
    with contextlib.closing(opened(path)) as db:
        equal(db.one("PRAGMA integrity_check"), "ok", "integrity")
        return db.one("SELECT count(*) FROM event"), db.one("SELECT source FROM capture")


def wait_until(what, test, seconds=lib.SOON):
    """Waits until test() is true."""
    end = time.time() + seconds
    while not test():
        check(time.time() < end, f"not seen in {seconds} s: {what}")
        time.sleep(0.02)


@contextlib.contextmanager
def recording(folder, *options, name="x.db", feed=f"cat {SMALL}; sleep 60", placed=True):
    """A capture under way into a database of the folder; what is left of it is killed."""
    child = subprocess.Popen([XENFAULT, "record", "-o", name, *options, "--via", feed], cwd=folder,
                             stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        if placed:
            wait_until("the database", lambda: (folder / (name + "-wal")).exists() and
                       (folder / (name + "-wal")).stat().st_size > 8192)
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        child.stderr.close()


def end(child, number=signal.SIGINT):
    """Ends a capture; its status and what it said."""
    child.send_signal(number)
    text = child.communicate(timeout=TIMEOUT)[1]
    return child.returncode, text


# --- files ---

for mask, mode in ((0o077, 0o600), (0o002, 0o664), (0o027, 0o640), (0o777, 0o000)):
    @case(f"files: umask {mask:03o} is obeyed by databases, exports and reports")
    def _(folder, mask=mask, mode=mode):
        db, csv, html = folder / "a.db", folder / "a.csv", folder / "a.html"
        old = os.umask(mask)
        try:
            run("import", "-o", db, SMALL, status=0 if os.geteuid() == 0 or mode else None)
            if mode:
                run("export", db, "--to", "csv", "--view", "forks", "-o", csv)
                run("report", db, "-o", html)
        finally:
            os.umask(old)
        for path in (db, csv, html):
            if path.exists():
                equal(stat.S_IMODE(path.stat().st_mode), mode, path.name)


@case("files: what root records is root's alone, the raw stream too")
def _(folder):
    old = os.umask(0o022)
    try:
        with recording(folder, "--raw", "x.raw") as child:
            modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
            status, text = end(child)
    finally:
        os.umask(old)
    equal(status, 0, text)
    equal(modes, {0o600 if os.geteuid() == 0 else 0o644}, "modes")


for names in ((".part",), (".tmp", ".new", "~")):
    @case(f"files: what lies beside the name is not touched ({' '.join(names)})")
    def _(folder, names=names):
        victim, db = folder / "victim", folder / "a.db"
        for name in ("out.html", "r.csv", "a.db", "fleet.db"):
            for suffix in names:
                victim.write_text("precious")
                os.symlink("victim", folder / (name + suffix))
        run("import", "-o", db, SMALL)
        run("report", db, "-o", folder / "out.html")
        run("export", db, "--to", "csv", "--view", "forks", "-o", folder / "r.csv")
        run("merge", "-o", folder / "fleet.db", f"a={db}")
        equal(victim.read_text(), "precious", "the file behind the link")
        for name in ("out.html", "r.csv", "a.db", "fleet.db"):
            check(not (folder / name).is_symlink(), name)
        equal(len(leftovers(folder, ())), 5 + 4 * len(names), "files")


@case("files: a link under the name itself is replaced, never followed")
def _(folder):
    victim = folder / "victim"
    for command in (("import", SMALL), ("report", None), ("export", None), ("merge", None)):
        victim.write_text("precious")
        target, db = folder / "target", folder / "a.db"
        target.symlink_to("victim")
        run("import", "--force", "-o", db, SMALL)
        args = {"import": ("import", SMALL), "report": ("report", db), "export": ("export", "--to", "csv",
                "--view", "forks", db), "merge": ("merge", f"a={db}")}[command[0]]
        run(*args, "-o", target, status=(2, 3, 4))
        equal(victim.read_text(), "precious", f"{command[0]} without --force")
        if command[0] != "merge":
            run(*args, "--force", "-o", target)
            equal(victim.read_text(), "precious", f"{command[0]} with --force")
        target.unlink()


@case("files: a link to nowhere is no free name")
def _(folder):
    (folder / "x.db").symlink_to("nowhere")
    run("import", "-o", folder / "x.db", SMALL, status=3)
    equal(leftovers(folder, ("x.db",)), [], "files")


@case("files: what a killed run left is found and removed, what lives is not")
def _(folder):
    dead = folder / "x.db.xenfault-tmp-0123456789ab"
    alike = folder / "x.db.xenfault-tmp-mine"
    alike.write_text("mine")
    (folder / "victim").write_text("precious")
    (folder / "y.xenfault-tmp-0123456789ab").symlink_to("victim")
    for path in (dead, folder / (dead.name + "-journal")):
        path.write_bytes(b"x" * 5000)
    with recording(folder, name="live.db", feed="sleep 60", placed=False) as child:
        wait_until("a temporary file", lambda: any("live.db.xen" in p.name for p in folder.iterdir()))
        live = [p for p in folder.iterdir() if "live.db.xen" in p.name]
        said = run("import", "-o", folder / "a.db", SMALL).stderr
        check("killed" not in said and not dead.exists(), "the first run has not removed it")
        check(live[0].exists() and child.poll() is None, "a living run lost its file")
    equal(leftovers(folder, ("a.db", alike.name, "victim", "y.xenfault-tmp-0123456789ab", live[0].name)), [],
          "files")
    run("import", "-o", folder / "b.db", SMALL)
    check(not live[0].exists(), "the file of the killed capture is still there")


@case("files: an interrupted import leaves nothing that stays")
def _(folder):
    child = subprocess.Popen([XENFAULT, "import", "-o", "x.db", "-"], cwd=folder, stdin=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    child.stdin.write(open(SMALL, "rb").read())
    child.stdin.flush()
    wait_until("a temporary file", lambda: list(folder.iterdir()))
    child.kill()
    child.wait()
    child.stdin.close()
    equal(len(list(folder.iterdir())), 1, "files after kill -9")
    run("import", "-o", folder / "x.db", SMALL)
    equal(leftovers(folder, ("x.db",)), [], "files")


@case("files: data, then the name, then the folder reach the disk")
def _(folder):
    if subprocess.run(["strace", "-V"], capture_output=True, check=False).returncode:
        return
    db = folder / "a.db"
    for args in (("import", "-o", db, SMALL), ("report", db, "-o", folder / "r.html"),
                 ("export", db, "--to", "csv", "--view", "forks", "-o", folder / "e.csv"),
                 ("merge", "-o", folder / "f.db", f"a={db}")):
        trace = folder / "strace"
        subprocess.run(["strace", "-f", "-y", "-o", trace, "-e", "trace=fsync,rename,renameat,renameat2",
                        XENFAULT, *map(str, args)], check=True, capture_output=True)
        calls = [line.split(None, 1)[1] for line in trace.read_text().splitlines() if ") = 0" in line or ") =" in line]
        kinds = [call.split("(")[0] + (" folder" if f"<{folder}>" in call else "") for call in calls
                 if call.startswith(("fsync", "rename"))]
        at = next(i for i, kind in enumerate(kinds) if kind.startswith("rename"))
        check("fsync" in kinds[:at] and "fsync folder" in kinds[at:], f"{args[0]}: {kinds}")


@case("files: nothing is written into a device, a folder or a pipe that is no file")
def _(folder):
    (folder / "dir.db").mkdir()
    os.mkfifo(folder / "fifo.db")
    for name in ("dir.db", "fifo.db", "/dev/null"):
        for options in ((), ("--force",)):
            done = run("import", *options, "-o", folder / name, SMALL, status=3)
            check("no ordinary file" in done.stderr, done.stderr)
    equal(leftovers(folder, ("dir.db", "fifo.db")), [], "files")


# --- leftovers become data ---

@contextlib.contextmanager
def killed_capture(folder):
    """x.db, -wal and -shm as a killed capture leaves them."""
    with recording(folder) as child:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    check((folder / "x.db-wal").stat().st_size > 0, "no -wal is left")
    yield


for options in ((), ("--force",)):
    for removed in (("",), ("", "-shm"), ()):
        if not removed and not options:
            continue

        @case(f"leftovers: import {' '.join(options)} after a killed capture, without {removed or 'nothing'}")
        def _(folder, options=options, removed=removed):
            with killed_capture(folder):
                for suffix in removed:
                    (folder / ("x.db" + suffix)).unlink()
                run("import", *options, "-o", folder / "x.db", LARGE)
            equal(leftovers(folder, ("x.db",)), [], "files")
            equal(events(folder / "x.db"), (53110, LARGE), "the database")


@case("leftovers: record and merge under the name of a killed capture")
def _(folder):
    with killed_capture(folder):
        (folder / "x.db").unlink()
        run("import", "-o", folder / "a.db", SMALL)
        run("merge", "-o", folder / "x.db", f"a={folder / 'a.db'}")
        with contextlib.closing(opened(folder / "x.db")) as db:
            equal(db.one("SELECT count(*) FROM event"), 4527, "events of the fleet")
        check(not (folder / "x.db-wal").exists(), "-wal is still there")
    (folder / "x.db").unlink()
    with killed_capture(folder):
        (folder / "x.db").unlink()
        run("record", "-o", folder / "x.db", "--via", f"cat {LARGE}")
    equal(events(folder / "x.db")[0], 53110, "events of the capture")


for suffix in BESIDE:
    for kind in ("text", "link", "folder"):
        if kind == "text" and suffix == "-shm":
            continue

        @case(f"leftovers: x.db{suffix} that is a {kind} is not removed, and nothing is made beside it")
        def _(folder, suffix=suffix, kind=kind):
            path, victim = folder / ("x.db" + suffix), folder / "victim"
            victim.write_text("precious")
            if kind == "text":
                path.write_text("a file of the user's")
            elif kind == "link":
                path.symlink_to("victim")
            else:
                path.mkdir()
            for args in (("import", SMALL), ("record", "--via", f"cat {SMALL}")):
                done = run(*args, "-o", folder / "x.db", status=3)
                check("x.db" + suffix in done.stderr, done.stderr)
            equal(leftovers(folder, (path.name, "victim")), [], "files")
            equal(victim.read_text(), "precious", "the file behind a link")


# --- captures under way ---

@case("under way: analyze, import, record and merge are refused, and the capture goes on")
def _(folder):
    run("import", "-o", folder / "other.db", SMALL)
    with recording(folder, feed=f"head -c 1000000 {LARGE}; sleep 3; tail -c +1000001 {LARGE}; sleep 60") as child:
        pid = str(child.pid)
        for args in (("analyze", "x.db"), ("import", "--force", "-o", "x.db", SMALL),
                     ("record", "--force", "-o", "x.db", "--via", f"cat {SMALL}"),
                     ("merge", "-o", "f.db", "a=x.db"), ("merge", "-o", "f.db", "o=other.db", "a=x.db"),
                     ("import", "-o", "x.db", SMALL), ("analyze", "./x.db")):
            done = run(*args, cwd=folder, status=(3, 5))
            check(pid in done.stderr and "recorded" in done.stderr, (args, done.stderr))
            check("kill -INT" in done.stderr, (args, done.stderr))
        os.symlink("x.db", folder / "link.db")
        check(pid in run("analyze", "link.db", cwd=folder, status=5).stderr, "through a link")
        for args in (("info", "x.db"), ("forks", "x.db"), ("export", "x.db", "--to", "csv", "--view", "forks")):
            run(*args, cwd=folder)
        wait_until("all events", lambda: events(folder / "x.db")[0] > 53000)
        status, text = end(child)
    equal(status, 0, text)
    equal(events(folder / "x.db")[0], 53110, "events")
    run("analyze", folder / "x.db")
    equal(leftovers(folder, ("x.db", "link.db", "other.db")), [], "files")


@case("under way: a second capture to the same name is refused before there is data")
def _(folder):
    with recording(folder, feed="sleep 60", placed=False) as child:
        wait_until("a temporary file", lambda: list(folder.iterdir()))
        for options in ((), ("--force",)):
            done = run("record", "-o", "x.db", *options, "--via", f"cat {SMALL}", cwd=folder, status=5)
            check(str(child.pid) in done.stderr, done.stderr)


def take_away(folder, how):
    """Takes the file of a capture away."""
    path = folder / "x.db"
    if how == "rm":
        path.unlink()
    elif how == "rm all":
        for suffix in ("", *BESIDE):
            (folder / ("x.db" + suffix)).unlink(missing_ok=True)
    elif how == "mv":
        path.rename(folder / "y.db")
    else:
        run("import", "-o", folder / "new.db", SMALL)
        os.rename(folder / "new.db", path)


for how in ("rm", "rm all", "mv", "replace"):
    @case(f"under way: the file is taken away ({how}): said, kept, with a status of its own")
    def _(folder, how=how):
        with recording(folder, feed=f"cat {LARGE}; sleep 60") as child:
            wait_until("all events", lambda: events(folder / "x.db")[0] > 53000)
            take_away(folder, how)
            text = child.communicate(timeout=TIMEOUT)[1]
        equal(child.returncode, 8, text)
        check("removed or replaced" in text and "x.db.kept" in text, text)
        equal(events(folder / "x.db.kept")[0], 53110, "events")
        with contextlib.closing(opened(folder / "x.db.kept")) as db:
            equal(db.one("SELECT count(*) FROM fork"), 27, "forks")
        run("forks", folder / "x.db.kept")
        known = {"mv": ("y.db",), "replace": ("x.db",)}.get(how, ())
        equal(leftovers(folder, ("x.db.kept", *known)), [], "files")
        if how == "replace":
            equal(events(folder / "x.db"), (4527, SMALL), "the file that came in its place")
        if how == "mv":
            equal(events(folder / "y.db")[0], 53110, "the file under its new name")


for how in ("rm", "mv", "replace"):
    @case(f"under way: the stream's file is taken away ({how}): said, kept, with a status of its own")
    def _(folder, how=how):
        raw = folder / "x.raw"
        with recording(folder, "--raw", "x.raw") as child:
            wait_until("all events", lambda: events(folder / "x.db")[0] == 4527)
            if how == "rm":
                raw.unlink()
            elif how == "mv":
                raw.rename(folder / "y.raw")
            else:
                (folder / "new").write_text("mine")
                os.rename(folder / "new", raw)
            text = child.communicate(timeout=TIMEOUT)[1]
        equal(child.returncode, 8, text)
        check("x.raw was removed or replaced" in text and "cut short" not in text, text)
        with open(SMALL, "rb") as file:
            equal((folder / "x.raw.kept").read_bytes() == file.read(), True, "what was kept is the stream")
        equal(events(folder / "x.db")[0], 4527, "events")
        equal(leftovers(folder, ("x.db", "x.raw.kept", *{"mv": ("y.raw",), "replace": ("x.raw",)}.get(how, ()))), [],
              "files")
        if how == "replace":
            equal(raw.read_text(), "mine", "the file that came in its place")


@case("under way: a name that is taken before the first record stays, and nothing is said of what it holds")
def _(folder):
    run("import", "-o", folder / "other.db", LARGE)
    done = run("record", "-o", "x.db", "--via", f"cp other.db x.db; cat {SMALL}", cwd=folder, status=3)
    check("has come to exist" in done.stderr and "cut short" not in done.stderr, done.stderr)
    equal(events(folder / "x.db"), (53110, LARGE), "the file that has the name")


@case("files: an output never takes the place of what the command reads")
def _(folder):
    trace, symbols, db, link = folder / "t.bin", folder / "k.sym", folder / "a.db", folder / "link"
    with open(SMALL, "rb") as file:
        trace.write_bytes(file.read())
    symbols.write_text("ffffffff81000000 T a\n")
    run("import", "-o", db, trace)
    link.symlink_to("t.bin")
    (folder / "there").symlink_to(".")
    held = {path: path.read_bytes() for path in (trace, symbols, db)}
    for args in (("import", "-o", trace, trace), ("import", "-o", folder / "there" / "t.bin", trace), ("import", "-o", trace, link),
                 ("import", "-o", symbols, "--symbols", symbols, trace), ("report", "-o", db, db), ("report", "-o", db, f"{db}#h"),
                 ("export", "--to", "csv", "--view", "forks", "-o", db, db)):
        done = run(args[0], "--force", *args[1:], status=2)
        check("is what the command reads" in done.stderr or "host" in done.stderr, done.stderr)
    for raw in ("x.db", "./x.db", "x.db-wal", "there/x.db-journal", folder / "x.db-shm"):
        done = run("record", "-o", "x.db", "--raw", raw, "--via", f"cat {SMALL}", cwd=folder, status=2)
        check("--raw" in done.stderr, done.stderr)
    for path, data in held.items():
        equal(path.read_bytes() == data, True, f"{path} is as it was")
    equal(leftovers(folder, ("t.bin", "k.sym", "a.db", "link", "there")), [], "files")


@case("under way: two captures lose the same name, and both are kept")
def _(folder):
    for _ in range(2):
        with recording(folder) as child:
            take_away(folder, "rm all")
            child.communicate(timeout=TIMEOUT)
            equal(child.returncode, 8, "status")
    equal(leftovers(folder, ("x.db.kept", "x.db.kept-2")), [], "files")


@case("under way: tui --follow notices that its file is gone")
def _(folder):
    for how in ("rm", "replace", "stays"):
        run("import", "--force", "-o", folder / "x.db", SMALL)
        master, slave = pty.openpty()
        child = subprocess.Popen([XENFAULT, "tui", "--follow", "x.db"], cwd=folder, stdin=slave, stdout=slave,
                                 stderr=subprocess.PIPE, env={**os.environ, "TERM": "xterm"}, text=True)
        os.close(slave)
        screen = b""

        def seen(text, master=master):
            nonlocal screen
            with contextlib.suppress(OSError):  # the other end is closed
                if select.select([master], [], [], 0.1)[0]:
                    screen += os.read(master, 65536)
            return text in screen
        wait_until("the list", lambda: seen(b"forks"))
        if how != "stays":
            take_away(folder, how)
            wait_until("the message", lambda: seen(b"removed or replaced"))
        os.write(master, b"q")
        while child.poll() is None:
            seen(b"")
        equal(child.returncode, 0 if how == "stays" else 8, child.stderr.read())
        os.close(master)


@case("under way: a full disk keeps what the database says and what it holds the same")
def _(folder):
    small = folder / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1500k", "tmpfs", small], capture_output=True,
                      check=False).returncode:
        return
    try:
        done = run("record", "-o", small / "x.db", "--via", f"cat {LARGE}", status=3)
        with contextlib.closing(sqlite3.connect(small / "x.db")) as db:
            told, = db.execute("SELECT events FROM capture").fetchone()
            held, = db.execute("SELECT count(*) FROM event").fetchone()
        equal(told, held, "events that the capture tells, and that there are")
        check(f"the first {held} events" in done.stderr, done.stderr)
        done = run("import", "--force", "-o", small / "x.db", LARGE, status=3)
        check("space" in done.stderr, done.stderr)
        equal(leftovers(small, ("x.db", "x.db-wal", "x.db-shm")), [], "files")
    finally:
        subprocess.run(["umount", small], check=True)


finish()
