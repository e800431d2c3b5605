#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Databases, symbols and names that somebody else made.
In: databases changed by hand.  Out: cases.  The program is XENFAULT; a sanitizer build of it finds more."""
import contextlib
import csv
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time

import lib
from lib import TIMEOUT, XENFAULT, another_user, case, check, database_path, equal, finish, leftovers, run, unpack

EVIL = "\x1b]0;x\x07\x1b[31mevil\x9b\x7f\u202e\r\n\ttail"
NOT_UTF8 = b"a\xff\xfe\x80\xc3bad\xed\xa0\x80"
SCREENS = "<Screen>2<Screen>3<Screen>4<Screen>5<Screen>6<Screen>7<Screen>8<Screen>1<Enter><Screen><Enter><Screen>"


def commands(db):
    """Every command that reads a database, in every format that it has."""
    lists = [name for name in ("forks", "pages", "events", "spurious", "flushes", "episodes", "dirty")]
    for name in lists:
        for form in ("text", "csv", "jsonl"):
            yield (name, "--format", form, "--limit", "50", db)
    views = re.findall(r"the views are (.*)$", run("export", db, "--to", "csv", "--view", "?", status=2).stderr.strip())
    for view in views[0].split(", "):
        yield ("export", "--to", "csv", "--view", view, db)
    for form in ("jsonl", "perfetto", "postgresql"):
        yield ("export", "--to", form, *(() if form == "perfetto" else ("--view", "forks") if form == "jsonl" else
                                         ("--host", "h")), db)
    yield from (("info", db), ("report", db), ("policy", db), ("diff", db, db), ("events", "--fork", "3", db),
                ("pages", "--fork", "3", db), ("sql", db, "SELECT * FROM forks LIMIT 20"),
                ("sql", "--format", "csv", db, "SELECT * FROM symbol"),
                ("tui", "--script", SCREENS, db), ("tui", "--follow", "--script", "<Poll>" + SCREENS, db))


@contextlib.contextmanager
def changed(folder, trace="dom0-forks", name="x.db"):
    """A copy of a database to be changed; closed and committed at the end."""
    path = folder / name
    shutil.copy(database_path(trace), path)
    os.chmod(path, 0o600)
    with contextlib.closing(sqlite3.connect(path)) as db:
        yield db, path
        db.commit()


def tables(db):
    """Tables and their columns; the key of each first."""
    for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'").fetchall():
        yield name, [row[1] for row in db.execute(f"PRAGMA table_info({name})")]


# --- in: the schema ---

@case("schema: each table and view that was changed is named, by every command")
def _(folder):
    with changed(folder) as (db, path):
        objects = db.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    check(len(objects) > 20, objects)
    for kind, name, _ in objects:
        for sql in ("UPDATE sqlite_schema SET sql = replace(sql, ' ', '  ') WHERE name = ?",
                    "UPDATE sqlite_schema SET sql = sql || ' ' WHERE name = ?",
                    "DELETE FROM sqlite_schema WHERE name = ?"):
            with changed(folder) as (db, path):
                db.execute("PRAGMA writable_schema = 1")
                before = db.total_changes
                db.execute(sql, (name,))
                check(db.total_changes > before, name)
            done = run("forks", path, status=None)
            check(done.returncode in (4, 5), f"{sql}: {name}: {done.returncode}")
            check(name in done.stderr or "damaged" in done.stderr or "malformed" in done.stderr, (name, done.stderr))
    with changed(folder) as (db, path):
        db.execute("ALTER TABLE fork RENAME TO f0")
        db.execute("CREATE VIEW fork AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM r)"
                   " SELECT f0.* FROM f0, r WHERE r.i < 0")
    for args in [("analyze", path), ("merge", "-o", folder / "f.db", f"a={path}"), *commands(database_path("dom0-forks"))]:
        args = [path if arg == database_path("dom0-forks") else arg for arg in args]
        done = run(*args, status=4)
        check(re.search(r"\bfork", done.stderr), done.stderr)
    equal(leftovers(folder, ("x.db",)), [], "files")


@case("schema: what a user adds is allowed, and cannot act")
def _(folder):
    trace, fifo, made = unpack("wtpt-up.bin"), folder / "fifo", folder / "made.db"
    os.mkfifo(fifo)
    with changed(folder) as (db, path):
        db.execute("CREATE VIEW mine AS SELECT fork_id, ptes FROM forks")
        db.execute("CREATE TABLE notes(text)")
        db.execute(f"CREATE VIEW reads AS SELECT * FROM xentrace('{trace}')")
        db.execute(f"CREATE VIEW hangs AS SELECT * FROM xentrace('{fifo}')")
        for event in ("DELETE", "INSERT", "UPDATE"):
            db.execute(f"CREATE TRIGGER t{event} AFTER {event} ON fork BEGIN INSERT INTO notes VALUES ('acted'); END")
    run("forks", path)
    run("sql", path, "SELECT * FROM mine")
    for view in ("reads", "hangs"):
        check("unsafe" in run("sql", path, f"SELECT * FROM {view}", status=2).stderr, view)
    run("analyze", path)
    equal(run("sql", path, "SELECT count(*) FROM notes").stdout.split(), ["count(*)", "0"], "what triggers did")
    check("4527" in run("sql", path, f"SELECT count(*) FROM xentrace('{trace}')").stdout, "xentrace() by the user")
    check(not made.exists(), "a file was made")


@case("sql: reads only; changes with --write; never reaches other files")
def _(folder):
    made = folder / "made.db"
    with changed(folder) as (db, path):
        pass
    before = path.read_bytes()
    for sql in (f"ATTACH '{made}' AS y", f"VACUUM INTO '{made}'", "DELETE FROM fork", "CREATE TABLE q(a)",
                "CREATE TEMP TABLE q(a)", "PRAGMA journal_mode = WAL", "PRAGMA user_version = 7", "BEGIN",
                "PRAGMA writable_schema = 1", "SELECT load_extension('x')", "SELECT writefile('x', 'y')", "DETACH main",
                "PRAGMA main.application_id = 1", "CREATE VIRTUAL TABLE q USING fts5(a)", "REINDEX", "ANALYZE",
                "SELECT 1; DELETE FROM fork", "INSERT INTO symbol VALUES (1, 2, 3) RETURNING *"):
        check("SQL" in run("sql", path, sql, status=2).stderr, sql)
        equal(path.read_bytes() == before, True, f"the database is as it was after {sql}")
    equal(leftovers(folder, ("x.db",)), [], "files")
    for sql in ("CREATE VIEW mine AS SELECT count(*) AS n FROM forks", "DELETE FROM fork WHERE fork_id = 1"):
        run("sql", "--write", path, sql)
    equal(run("sql", "--format", "csv", path, "SELECT n FROM mine").stdout.split(), ["n", "26"], "rows after --write")
    for sql in (f"ATTACH '{made}' AS y", f"VACUUM INTO '{made}'", "PRAGMA writable_schema = 1"):
        run("sql", "--write", path, sql, status=2)
    check(not made.exists(), "a file was made")


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    @case(f"sql: the first {number.name} ends an endless statement")
    def _(folder, number=number):
        with changed(folder) as (db, path):
            db.execute("CREATE VIEW endless AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM r)"
                       " SELECT i FROM r WHERE i < 0")
        for sql in ("SELECT * FROM endless", "SELECT count(*) FROM event a, event b, event c"):
            child = subprocess.Popen([XENFAULT, "sql", path, sql], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            time.sleep(0.5)
            check(child.poll() is None, "it ended by itself")
            child.send_signal(number)
            try:
                child.wait(lib.SOON)
            except subprocess.TimeoutExpired:
                child.kill()
                raise AssertionError(f"it goes on after {number.name}: {sql}") from None
            equal(child.returncode, 130, child.stderr.read())
            child.stderr.close()


# --- in: the file ---

@case("file: what is no database is refused at once, by every command")
def _(folder):
    os.mkfifo(folder / "x.db")
    (folder / "dir.db").mkdir()
    for name in ("x.db", "dir.db", "/dev/zero"):
        for args in (("forks",), ("analyze",), ("report",), ("tui", "--script", "<Screen>"), ("policy",),
                     ("diff", name), ("export", "--to", "perfetto"), ("merge", "-o", "f.db", "a=" + name)):
            done = run(*args, *(() if args[0] == "merge" else (name,)), cwd=folder, status=(3, 4))
            check("no database" in done.stderr or "not a xenfault" in done.stderr, done.stderr)


@case("file: a -wal that is not the database's own is never applied")
def _(folder):
    other = folder / "other.db"
    shutil.copy(database_path("wtpt-up"), other)
    with contextlib.closing(sqlite3.connect(other)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("DELETE FROM event")
        db.commit()
        with changed(folder) as (_, path):
            pass
        shutil.copy(str(other) + "-wal", str(path) + "-wal")
    before = path.read_bytes()
    for args in (("forks", path), ("info", path), ("analyze", path), ("report", path)):
        done = run(*args, status=5)
        check("x.db-wal" in done.stderr, done.stderr)
    os.symlink(path, folder / "link.db")
    check("x.db-wal" in run("forks", folder / "link.db", status=5).stderr, "through a link")
    equal(path.read_bytes() == before, True, "the database is as it was")


def interrupted(path, statement, die="os._exit(0)"):
    """A change of a database that a killed process leaves half done, with its journal."""
    subprocess.run(["python3", "-c", f"import os, sqlite3; c = sqlite3.connect({str(path)!r}, isolation_level=None);"
                    f"c.execute('PRAGMA cache_size = 1'); c.execute('BEGIN'); c.execute({statement!r}); {die}"], check=True)
    check(os.path.getsize(f"{path}-journal") > 1000, "no journal is left")


@case("file: a -journal that is not the database's own is never taken back")
def _(folder):
    other, path, journal = folder / "other.db", folder / "x.db", folder / "x.db-journal"
    for trace, statement in (("wtpt-up", "UPDATE event SET tsc = tsc + 1"), ("wtpt-up", "DELETE FROM event"),
                             ("dom0-smp", "UPDATE event SET tsc = tsc + 1")):
        for how in ("fresh", "analyzed", "link", "text", "folder"):
            shutil.copy(database_path(trace), other)
            shutil.copy(database_path("dom0-forks"), path)
            os.chmod(path, 0o644)
            os.chmod(other, 0o644)
            if how == "analyzed":
                run("analyze", path)
                run("analyze", other)
            interrupted(other, statement)
            if how == "link":
                os.symlink("other.db-journal", journal)
            elif how == "text":
                journal.write_text("a file of the user's")
            elif how == "folder":
                journal.mkdir()
            else:
                shutil.copy(f"{other}-journal", journal)
            before = path.read_bytes()
            for args in (("forks", path), ("info", path), ("analyze", path), ("sql", "--write", path, "DELETE FROM fork"),
                         ("merge", "-o", folder / "f.db", f"a={path}"), ("tui", "--script", "<Screen>", path)):
                done = run(*args, status=5)
                check("x.db-journal" in done.stderr and "move it away" in done.stderr, (how, done.stderr))
            equal(path.read_bytes() == before, True, f"the database is as it was ({how})")
            check(os.path.lexists(journal), "what lies there is gone")
            journal.rmdir() if how == "folder" else journal.unlink()
            os.unlink(f"{other}-journal")


@case("file: a change that was interrupted is taken back from its own -journal")
def _(folder):
    whole = run("forks", database_path("dom0-forks")).stdout
    for statement in ("UPDATE event SET tsc = tsc + 1", "DELETE FROM event", "DELETE FROM sequence",
                      "CREATE TABLE many AS SELECT * FROM event a, (SELECT 1 UNION ALL SELECT 2)"):
        with changed(folder) as (db, path):
            pass
        interrupted(path, statement)
        check("xenfault analyze" in run("forks", path, status=5).stderr, "how it is taken back")
        run("analyze", path)
        equal(run("forks", path).stdout, whole, f"forks after {statement}")
        equal(leftovers(folder, ("x.db",)), [], "files")
    for moment in range(1, 60, 3):
        with changed(folder) as (db, path):
            pass
        child = subprocess.Popen([XENFAULT, "analyze", path], stderr=subprocess.DEVNULL)
        time.sleep(moment / 500)
        child.kill()
        child.wait()
        run("analyze", path)
        equal(run("forks", path).stdout, whole, f"forks after a kill at {2 * moment} ms")


ENDLESS = {"--symbols": ("yes 'ffffffff81000000 T aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", "yes 'ffffffff81000000 D a'",
                        "(echo 'ffffffff81000000 T a'; cat /dev/zero)"),
           "--domain-names": ("yes 'd3 web'", "cat /dev/zero", "tr '\\0' a < /dev/zero")}

for option, streams in ENDLESS.items():
    for stream in streams:
        @case(f"file: {option} without an end ({stream}) is refused", slow=True)
        def _(folder, option=option, stream=stream):
            command = f"{stream} | (ulimit -v 1000000; exec {XENFAULT} import -o x.db {option} /dev/stdin {unpack('wtpt-up.bin')})"
            done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False, timeout=TIMEOUT)
            equal(done.returncode, 4, done.stderr)
            check("/dev/stdin" in done.stderr or "symbol file" in done.stderr, done.stderr)
            check("Traceback" not in done.stderr and "out of memory" not in done.stderr, done.stderr)


@case("file: info of a trace that is not read to its end says so, and its status too")
def _(folder):
    del folder
    with open(unpack("dom0-forks.bin"), "rb") as file:
        part = file.read(60000)
    child = subprocess.Popen([XENFAULT, "info", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdin.write(part)
    child.stdin.flush()
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=TIMEOUT)
    equal(child.returncode, 130, err)
    check(b"interrupted" in err and out, err)


RAW = re.compile(r"PRAGMA|DROP|COMMIT|BEGIN|SELECT|INSERT|CREATE|sqlite|unable to|malformed|attempt to")


@case("messages: a cause and what helps, never a statement of ours")
def _(folder):
    with another_user(XENFAULT, database_path("dom0-forks")) as ((program, path), user):
        there = os.path.dirname(path)

        def tell(status, *args):
            done = run(*args, program=program, status=status, **user)
            check(not RAW.search(done.stderr), done.stderr)
            check(len(done.stderr) > 40, done.stderr)
            return done.stderr
        os.chmod(path, 0o444)
        check("ermission denied" in tell(3, "analyze", path), "analyze of what may not be written")
        check("ermission denied" in tell(3, "sql", "--write", path, "DELETE FROM fork"), "sql --write")
        os.chmod(path, 0o000)
        check("ermission denied" in tell(3, "forks", path), "what may not be read")
        os.chmod(path, 0o644)
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        check("another process" in tell(5, "forks", path), "locked")
        holder.execute("ROLLBACK")
        holder.execute("PRAGMA journal_mode = WAL")
        holder.execute("UPDATE capture SET source = source")
        tell((0, 3), "forks", path)
        holder.close()
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path + suffix)
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA journal_mode = DELETE")
        with open(path, "r+b") as file:
            file.truncate(20000)
        check("damaged" in tell(5, "forks", path), "cut")
        os.chmod(there, 0o755)
        for text in (b"", b"SQLite format 3\0" + bytes(5000), b"hello" * 100):
            with open(path, "wb") as file:
                file.write(text)
            tell(4, "forks", path)
            tell(4, "analyze", path)


# --- values ---

VALUES = (None, -1, 2**63 - 1, -2**63, 1e308, float("inf"), "text", "", EVIL, b"\0\xff" * 20, "9" * 400, 255, 65536, 2**32)

SHARE = 1 if os.environ.get("HOSTILE") == "all" else 10


def attack(folder, trace):
    """Puts values of every kind into every column of one table after the other; no command may fall over."""
    with changed(folder, trace) as (db, path):
        every = list(tables(db))
    turn = 0
    for name, columns in every:
        for value in VALUES if not lib.QUICK else VALUES[:1] + VALUES[6:9]:
            with changed(folder, trace) as (db, path):
                for column in columns:
                    with contextlib.suppress(sqlite3.IntegrityError, sqlite3.DatabaseError):
                        db.execute(f"UPDATE {name} SET {column} = ?", (value,))
            # each command meets each table with some of the values; with HOSTILE=all, with all of them
            for args in [*list(commands_of(path))[turn % SHARE::SHARE], ("analyze", path)]:
                done = run(*args, status=(0, 2, 3, 4, 5))
                check(args[0] == "sql" or not RAW.search(done.stderr), (name, value, args, done.stderr))
            turn += 1


@case("messages: numbers too large for a sum, and rows that exclude each other")
def _(folder):
    for table, column in (("event_place", "events"), ("event_type", "events"), ("fork", "ptes"), ("sequence", "ptes"), ("loss", "lost"),
                          ("flush", "cpus")):
        with changed(folder) as (db, path):
            db.execute(f"UPDATE {table} SET {column} = ?", (2**63 - 1,))
        for args in (("info", path), ("forks", path), ("report", path), ("policy", path), ("diff", path, path), ("flushes", path),
                     ("export", path, "--to", "csv", "--view", "domains"), ("tui", "--script", SCREENS, path)):
            done = run(*args, status=(0, 2, 5))
            check(not RAW.search(done.stderr), done.stderr)
            check(done.returncode != 5 or "no capture has (integer overflow)" in done.stderr, done.stderr)


def commands_of(path, cache={}):
    """commands() with its answers kept."""
    if not cache:
        good = database_path("dom0-forks")
        cache.update({args: None for args in commands(good)})
        cache["good"] = good
    for args in list(cache)[:-1]:
        yield [path if arg == cache["good"] else arg for arg in args]


for trace in ("wtpt-up", "pvh-shadow"):
    @case(f"values: of every type in every column: {trace}", slow=True)
    def _(folder, trace=trace):
        attack(folder, trace)


# --- out ---

CONTROL = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def check_text(args, data):
    """Bytes that may go to a terminal or into a file."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise AssertionError(f"{args}: no UTF-8: {data[max(0, error.start - 30):error.end + 30]!r}") from None
    bad = CONTROL.search(text.replace("\t", " ") if "postgresql" in args else text)
    check(not bad, f"{args}: {text[max(0, bad.start() - 40):bad.end() + 40]!r}" if bad else "")
    return text


def check_form(args, text):
    """What a program that reads the format relies on."""
    if "jsonl" in args:
        for line in text.splitlines():
            json.loads(line)
    elif "perfetto" in args:
        json.loads(text)
    elif "csv" in args:
        rows = list(csv.reader(io.StringIO(text)))
        check(len({len(row) for row in rows}) <= 1, f"{args}: rows of several lengths")
        for cell in (cell for row in rows for cell in row):
            check(not re.match(r"[=+\-@\t\r](?!\d+(\.\d+)?$)", cell), f"{args}: a formula: {cell!r}")
    elif "report" in args:
        check("evil\\x9b" not in text or "<evil" not in text, "a tag of the database's")
        check(not re.search(r"<(script|img)[^>]*evil", text), "a tag of the database's")


for label, text in (("control characters", EVIL), ("no UTF-8", NOT_UTF8), ("a formula", "=HYPERLINK(1)"), ("plus", "+1+cmd|' /C x'!A0"),
                    ("at", "@SUM(1)"), ("HTML", "<script>evil</script>\"'&"), ("quotes", "'\"\\'\\\",,\\.\nx"),
                    ("an apostrophe at the end of a line", "it's\\")):
    @case(f"out: {label} in every text of a database")
    def _(folder, label=label, text=text):
        with changed(folder) as (db, path):
            value = "?" if isinstance(text, str) else "cast(? AS TEXT)"
            for name, columns in list(tables(db)):
                for column in columns:
                    with contextlib.suppress(sqlite3.IntegrityError):
                        db.execute(f"UPDATE {name} SET {column} = {value} WHERE typeof({column}) = 'text'", (text,))
            # symbols are one a key
            db.execute("DELETE FROM symbol")
            db.execute(f"INSERT INTO symbol SELECT DISTINCT -1, rip, {value} FROM event WHERE rip IS NOT NULL", (text,))
        for args in commands_of(path):
            done = subprocess.run([XENFAULT, *map(str, args)], capture_output=True, check=False, timeout=TIMEOUT,
                                  env={**os.environ, "LC_ALL": "C.UTF-8"})
            check(done.returncode in (0, 2, 4, 5), (args, done.returncode, done.stderr[-500:]))
            check_text(("stderr of", *args), done.stderr)
            if done.returncode == 0:
                check_form(args, check_text(args, done.stdout))


@case("out: names of files and of --via with control characters")
def _(folder):
    trace = os.path.join(folder, "a\x1b[31m\x07b.bin")
    shutil.copy(unpack("wtpt-up.bin"), trace)
    run("import", "--symbols", os.path.join(lib.HERE, "data", "kallsyms.txt"), trace)
    for args in (("import", trace), ("import", trace + "\x1bx"), ("info", trace), ("info", trace + ".db"),
                 ("forks", trace + ".db"), ("report", trace + ".db"), ("forks", trace + "\x1b"), ("\x1b[31m",),
                 ("forks", "--\x1b[31m"), ("record", "-o", trace + ".2.db", "--via", "cat '" + trace + "'; : '\x1b[31m'"),
                 ("record", "-o", trace + ".3.db", "--via", ": '\x1b[31m'"), ("sql", trace + ".db", "SELECT 1 AS '\x1b[31m'"),
                 ("sql", trace + ".db", "SELECT '\x1b'\x1b"), ("events", "--kind", "\x1b", trace + ".db"),
                 ("merge", "-o", trace + ".f.db", "\x1b=" + trace + ".db"), ("export", "--to", "\x1b", trace + ".db"),
                 ("export", "--to", "csv", "--view", "\x1b", trace + ".db"), ("diff", trace + ".db", trace + ".db")):
        done = subprocess.run([XENFAULT, *args], capture_output=True, check=False, timeout=TIMEOUT)
        for data in (done.stdout, done.stderr):
            check_text(args, data)


@case("out: symbols of a kernel that lies")
def _(folder):
    symbols, db = folder / "evil.sym", folder / "x.db"
    for name in (EVIL.split("\r")[0].encode(), NOT_UTF8, b"=1+1", b"\x1b" * 3000):
        symbols.write_bytes(b"ffffffff81000000 T " + name.replace(b"\n", b"") + b"\nffffffff82000000 T z\n")
        done = subprocess.run([XENFAULT, "import", "--force", "-o", db, "--symbols", symbols, unpack("dom0-forks.bin")],
                              capture_output=True, check=False)
        check_text("import", done.stderr)
        for args in (("events", "--format", "text"), ("events", "--format", "csv"), ("events", "--format", "jsonl"),
                     ("forks", "--format", "csv"), ("export", "--to", "perfetto"), ("report",), ("info",),
                     ("export", "--to", "postgresql", "--host", "h"), ("tui", "--script", SCREENS)):
            done = subprocess.run([XENFAULT, *args, db], capture_output=True, check=False)
            check_text(args, done.stderr)
            check_form(args, check_text(args, done.stdout))
        done = subprocess.run([XENFAULT, "events", "--symbols", symbols, "--limit", "200", unpack("dom0-forks.bin")],
                              capture_output=True, check=False)
        check_text("events of a trace", done.stdout + done.stderr)


finish()
