#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands as people and scripts use them.  In: recorded traces, the program.  Out: cases."""
import csv
import hashlib
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess

from lib import (TOP, WORK, XENFAULT, another_user, case, database, database_path, equal, finish, run,
                 signed, unpack)

TRACES = ("dom0-forks", "dom0-shell", "dom0-dirty", "dom0-smp", "dom0-crowd", "dom0-all-classes",
          "dom0-lossy", "dom0-pv-class-only", "dom0-pcpu0-only", "pvh-shadow", "pvh-shadow-hvm",
          "domu-logdirty", "wtpt-up", "wtpt-smp", "emulate", "x32pae-wtpt-up")
HZ = 2445400000
ADDRESSES = {"va", "pt_page", "rip", "pte", "va_base"}
# commands that list a view
LISTS = {"forks": "forks", "pages": "pt_sequences", "events": "events",
         "spurious": "spurious_faults", "walks": "walks", "flushes": "flushes"}
commands = re.findall(r"^  ([a-z]+) ", run("help").stdout, re.M)
LISTS = {command: view for command, view in LISTS.items() if command in commands}
FACTS = ("event", "event_place", "event_type", "event_late", "event_kind", "loss", "record_count",
         "doubt", "symbol")


def scratch(name):
    return os.path.join(WORK, "cli-" + name)


def tables(db):
    names = [n for (n,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")]
    assert set(FACTS) < set(names), names
    return names


def dump(path, names=None):
    """Every row of every table in order, as one number for each table."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    hashes = {}
    for name in names or tables(db):
        digest = hashlib.sha256()
        columns = [r[1] for r in db.execute(f"PRAGMA table_info({name})")]
        # where the trace came from is the one thing that may differ
        shown = ", ".join(c for c in columns if c != "source")
        for row in db.execute(f"SELECT {shown} FROM {name}"):
            digest.update(repr(row).encode())
        hashes[name] = digest.hexdigest()
    db.close()
    return hashes


def columns_of(db, view):
    return [row[1] for row in db.execute(f"PRAGMA table_info({view})")]


def value(column, text):
    """A CSV cell or JSON value as SQLite has it."""
    if text is None or text == "":
        return None
    if column in ADDRESSES:
        assert isinstance(text, str) and text.startswith("0x"), f"{column} is {text!r}"
        return signed(int(text, 16))
    return text


def same(column, got, wanted):
    got = value(column, got)
    if wanted is None or got is None:
        return got is None and wanted is None
    if isinstance(wanted, float):
        return abs(float(got) - wanted) <= 0.000501
    return type(wanted)(got) == wanted


def check_rows(rows, db, view, order):
    columns = columns_of(db, view)
    wanted = db.execute(f"SELECT * FROM {view} ORDER BY {order}").fetchall()
    equal(len(rows), len(wanted), f"rows of {view}")
    for got, row in zip(rows, wanted):
        for column, cell in zip(columns, row):
            assert same(column, got[column], cell), f"{view}: {column} {got[column]!r} is not {cell!r}"


ORDER = {"forks": "fork_id", "pages": "tsc_start, sequence_id", "events": "event_id"}

for list_command, list_view in LISTS.items():
    @case(f"{list_command} --format csv: the view's columns in order, and its rows", slow=list_command == "events")
    def _(command=list_command, view=list_view):
        for name in ("dom0-shell", "wtpt-smp", "pvh-shadow"):
            db = database(name)
            out = run(command, "--format", "csv", database_path(name)).stdout
            lines = list(csv.reader(io.StringIO(out)))
            equal(lines[0], columns_of(db, view), "header")
            if command in ORDER:
                check_rows([dict(zip(lines[0], row)) for row in lines[1:]], db, view, ORDER[command])

    @case(f"{list_command} --format jsonl: one object a row, addresses as strings", slow=list_command == "events")
    def _(command=list_command, view=list_view):
        for name in ("dom0-shell", "wtpt-smp", "pvh-shadow"):
            db = database(name)
            rows = [json.loads(line) for line in
                    run(command, "--format", "jsonl", database_path(name)).stdout.splitlines()]
            for row in rows:
                equal(list(row), columns_of(db, view), "keys")
                assert all(row[c] is None or re.fullmatch("0x[0-9a-f]+", row[c])
                           for c in ADDRESSES & set(row)), row
            if command in ORDER:
                check_rows(rows, db, view, ORDER[command])


@case("text fits 80 columns, on every trace, with times in cycles and in us", slow=True)
def _():
    for name in TRACES:
        for options in ((), ("--cpu-hz", HZ)):
            for command in (*LISTS, "info"):
                done = run(command, *options, database_path(name))
                for line in (done.stdout + done.stderr).replace(database_path(name), "DB").splitlines():
                    # a name may be as long as it likes
                    if command == "info" and line.startswith("source"):
                        continue
                    assert len(line) <= 80, f"{command} on {name}: {len(line)} characters: {line}"


@case("events as text: instructions, names and codes are whole")
def _():
    for name in TRACES:
        lines = run("events", database_path(name)).stdout.splitlines()[1:]
        rows = [json.loads(line) for line in run("events", "--format", "jsonl", database_path(name)).stdout.splitlines()]
        equal(len(lines), len(rows), f"rows of {name}")
        for line, row in zip(lines, rows):
            if row["rip"] is not None:
                wanted = row["symbol"] or f"{int(str(row['rip']), 0):#x}"
                assert line.endswith(" " + wanted), f"{name}: {line!r} does not end in {wanted}"


@case("pCPU ids with gaps, 128 vCPUs, domains of four digits: no doubt, no name cut, what has no room is said")
def _():
    for name, vcpus, note in (("sparse-128cpu", 8, "; 8 of 128 vCPUs"), ("d1024", 4, "")):
        equal(run("forks", database_path(name)).stderr, "", f"doubts of {name}")
        screen = run("tui", "--ascii", "--script", "<Enter>", database_path(name)).stdout
        lanes = re.findall(r"^ (d\d+v\d+) +[.E]+$", screen, re.M)
        equal((len(lanes), len(set(lanes))), (vcpus, vcpus), f"{name}: {screen}")
        shown = {f"d{row['domid']}v{row['vcpu']}" for row in csv.DictReader(io.StringIO(
            run("events", "--format", "csv", database_path(name)).stdout))}
        assert set(lanes) <= shown and f"from left to right{note}\n" in screen, screen


@case("help fits 80 columns")
def _():
    for words in (["help"], ["help", "exit-codes"], *(["help", c] for c in commands)):
        for line in run(*words).stdout.splitlines():
            assert len(line) <= 80, f"{words}: {line}"


@case("text says what a loss cut, and ends with losses and doubts")
def _():
    done = run("forks", database_path("dom0-lossy"))
    assert re.search(r"\bcut$", done.stdout, re.M), "no fork is marked"
    assert "9026 records" in done.stderr and "doubt:" in done.stderr, done.stderr
    equal(run("forks", database_path("wtpt-up")).stderr, "", "nothing to doubt")


@case("standard input gives the same rows as the file", slow=True)
def _():
    path = scratch("stdin.db")
    for name in TRACES:
        with subprocess.Popen(["cat", unpack(name + ".bin")], stdout=subprocess.PIPE) as cat:
            run("import", "--force", "-o", path, "-", stdin=cat.stdout)
        equal(dump(path), dump(database_path(name)), name)
        with open(unpack(name + ".bin"), "rb") as file:
            equal(run("events", "--format", "csv", "-", stdin=file).stdout,
                  run("events", "--format", "csv", unpack(name + ".bin")).stdout, f"events of {name}")


@case("importing twice gives the same database", slow=True)
def _():
    path = scratch("twice.db")
    for name in TRACES:
        run("import", "--force", "-o", path, unpack(name + ".bin"))
        equal(dump(path), dump(database_path(name)), name)


@case("analyze gives the derived tables that import gave", slow=True)
def _():
    path = scratch("analyze.db")
    for name in TRACES:
        before = dump(database_path(name))
        shutil.copy(database_path(name), path)
        run("analyze", path)
        equal(dump(path), before, f"{name}: rebuilt")
        run("import", "--force", "--no-analyze", "-o", path, unpack(name + ".bin"))
        db = sqlite3.connect(path)
        equal(db.execute("SELECT count(*) FROM pt_sequences").fetchone(), (0,), "--no-analyze")
        db.close()
        run("analyze", path)
        equal(dump(path), before, f"{name}: built later")


@case("the view events equals xentrace(), row by row", slow=True)
def _():
    for name in TRACES:
        db = database(name)
        columns = columns_of(db, "events")
        lines = csv.reader(io.StringIO(
            run("sql", "--format", "csv", unpack(name + ".bin"), "SELECT * FROM xentrace").stdout))
        equal(next(lines), columns, "columns")
        for row, got in zip(db.execute("SELECT * FROM events ORDER BY event_id"), lines, strict=True):
            for column, cell, text in zip(columns, row, got):
                assert same(column, text, cell), f"{name}: {column} {text!r} is not {cell!r}"


@case("sql: the forms of a trace, and xentrace() beside a database")
def _():
    file = unpack("dom0-forks.bin")
    wanted = "kind,count(*)\n" + "".join(f"{kind},{n}\n" for kind, n in database("dom0-forks").execute(
        "SELECT kind, count(*) FROM events GROUP BY 1"))
    for source in ("xentrace", "events", f"xentrace('{file}')"):
        equal(run("sql", "--format", "csv", file, f"SELECT kind, count(*) FROM {source} GROUP BY 1").stdout,
              wanted, source)
    equal(run("sql", "--format", "csv", database_path("dom0-forks"),
              f"SELECT kind, count(*) FROM xentrace('{file}') GROUP BY 1").stdout, wanted, "beside a database")
    equal(run("sql", "--format", "jsonl", database_path("dom0-forks"),
              "SELECT va, count(*) AS n FROM events WHERE kind = 'emulate' GROUP BY 1 LIMIT 1").stdout[:9],
          '{"va":"0x', "addresses")
    text = run("sql", "--limit", "2", file, "SELECT kind, tsc FROM xentrace").stdout.splitlines()
    equal(len(text), 3, "header and two rows")


@case("sql over a trace in a pipe")
def _():
    for form in ("text", "csv", "jsonl"):
        with open(unpack("dom0-forks.bin"), "rb") as file, \
                subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
            out = run("sql", "--format", form, "-", "SELECT count(*) AS n FROM xentrace", stdin=cat.stdout)
        assert str(database("dom0-forks").execute("SELECT events FROM trace").fetchone()[0]) in out.stdout, \
            f"{form}: {out.stdout}"


@case("sql: wrong statements and statements that write are refused")
def _():
    before = dump(database_path("wtpt-up"))
    for statement in ("SELECT nonsense FROM forks", "DELETE FROM fork", "", "SELECT 1; SELECT 2"):
        assert run("sql", database_path("wtpt-up"), statement, status=2).stderr
    equal(dump(database_path("wtpt-up")), before, "nothing was changed")


@case("the stock sqlite3 shell reads every view")
def _():
    for view in ("trace", *LISTS.values(), "losses"):
        target = database_path("reclaim" if view == "walks" else "wtpt-smp")
        done = subprocess.run(["sqlite3", target, f"SELECT * FROM {view} LIMIT 3"],
                              capture_output=True, text=True, check=True)
        equal(done.stderr, "", view)
        assert done.stdout or view == "losses", view


@case("a reader that has seen enough is no error worth a word")
def _():
    for words in (("forks", "--format", "csv", database_path("dom0-shell")),
                  ("events", "--format", "csv", database_path("dom0-shell")),
                  ("events", unpack("dom0-shell.bin")),
                  ("sql", "--format", "csv", unpack("dom0-shell.bin"), "SELECT * FROM xentrace")):
        with subprocess.Popen([XENFAULT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
            assert program.stdout.readline(), words
            program.stdout.close()
            equal(program.stderr.read(), b"", " ".join(words))


@case("a full device is an output error")
def _():
    for words in (*((c, database_path("dom0-shell")) for c in (*LISTS, "info")),
                  ("events", unpack("dom0-shell.bin")), ("help",), ("version",),
                  ("sql", unpack("dom0-shell.bin"), "SELECT * FROM xentrace")):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([XENFAULT, *words], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=60, check=False)
        equal(done.returncode, 3, " ".join(words))
        assert "No space left" in done.stderr, done.stderr


@case("seconds without a frequency are a usage error that names --cpu-hz")
def _():
    for words in (*((c, database_path("dom0-shell")) for c in ("forks", "pages", "events")),
                  ("events", unpack("dom0-shell.bin"))):
        for option in ("--from", "--to"):
            assert "--cpu-hz" in run(words[0], option, "1", words[1], status=2).stderr, words


SORTED = {"forks": "forks", "pages": "pt_sequences", "spurious": "spurious_faults", "flushes": "flushes",
          "processes": "processes"}


@case("lists: --sort and --reverse by every column, --min, --columns")
def _():
    path = database_path("dom0-crowd")
    db = database("dom0-crowd")
    for command, view in SORTED.items():
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({view})")]
        for column in columns:
            def values(*options):
                rows = csv.reader(io.StringIO(run(command, "--format", "csv", "--columns", column, "--cpu-hz", HZ,
                                                  "--sort", column, *options, path).stdout))
                equal(next(rows), [column], "header")
                return [row[0] if row else "" for row in rows]

            one, other = values(), values("--reverse")
            equal(sorted(one), sorted(other), f"{command} --sort {column}")
            full = [value for value in one if value]
            equal([value for value in other if value], full[::-1], f"{command} --sort {column}: the other way round")
            equal(one[len(full):], [""] * (len(one) - len(full)), "what has no value comes last")
            run(command, "--sort", column, "--reverse", path)
    most = [r[0] for r in db.execute("SELECT fork_id FROM forks ORDER BY ptes DESC, fork_id LIMIT 5")]
    rows = run("forks", "--format", "csv", "--columns", "fork_id,ptes", "--sort", "ptes", "--limit", "5", path).stdout
    equal([int(row.split(",")[0]) for row in rows.split()[1:]], most, "the largest five")
    rows = run("forks", "--format", "jsonl", "--min", "ptes=9", "--reverse", path).stdout.splitlines()
    equal([json.loads(row)["fork_id"] for row in rows], [r[0] for r in db.execute(
        "SELECT fork_id FROM forks WHERE ptes >= 9 ORDER BY 1 DESC")], "--min")
    text = run("pages", "--columns", "pt_page,ptes", "--limit", "2", path).stdout.splitlines()
    equal(text[0].split(), ["pt_page", "ptes"], "heading")
    assert len(text) == 3 and text[1].split()[0].startswith("0x"), text


@case("lists: a column that is none is told, with those there are")
def _():
    path = database_path("dom0-shell")
    for options in (("--sort", "pte"), ("--columns", "fork_id,pte"), ("--min", "pte=1")):
        told = run("forks", *options, path, status=2).stderr
        assert "no column pte (did you mean ptes?); there are fork_id, " in told, told
    for options in (("--min", "ptes"), ("--min", "ptes="), ("--min", "ptes=1e999"), ("--columns", ""),
                    ("--columns", "ptes,"), ("--sort", "ptes; DROP TABLE fork"), ("--min", "=1")):
        told = run("forks", *options, path, status=2).stderr
        assert options[0] in told, told
    assert "--cpu-hz" in run("forks", "--min", "us=1", path, status=2).stderr


@case("times take units, and a wrong one is told")
def _():
    db = database_path("dom0-shell")

    def forks(*words):
        return run("forks", "--format", "csv", "--cpu-hz", HZ, *words, db).stdout

    wanted = forks("--from", "3.25", "--to", "8")
    assert wanted.count("\n") > 3, wanted
    for begin, end in (("3.25s", "8s"), ("3250ms", "8000000us"), ("3250000000ns", "8000ms")):
        equal(forks("--from", begin, "--to", end), wanted, f"{begin} to {end}")
    equal(forks("--from", "0.05min"), forks("--from", "3"), "minutes")
    for wrong in ("3 s", "3h", "ms", "-1ms", "1e999s", "nan", "3sc", ""):
        assert "12ms" in run("forks", "--cpu-hz", HZ, f"--from={wrong}", db, status=2).stderr or \
            wrong.endswith("c"), wrong


@case("an empty list says why: nothing at that time, nothing of that domain")
def _():
    db = database_path("dom0-shell")
    for command in ("forks", "pages", "spurious", "flushes", "events", "episodes"):
        late = run(command, "--cpu-hz", HZ, "--from", "8900", db).stderr
        assert "nothing is in that range: the capture goes from 0.000000s to" in late, late
        assert "--from is later" in run(command, "--from", "5c", "--to", "4c", db).stderr, command
        other = run(command, "--domain", "d7", db).stderr
        assert "no event is of that domain: the capture has events of d0" in other, other
        if command != "episodes":
            assert "of that vCPU" in run(command, "--domain", "d0v9", db).stderr, command
        assert "no event" not in run(command, "--domain", "d0", db).stderr, command
    early = run("forks", "--to", "1c", db).stderr
    assert "the capture goes from" in early and "c to " in early, early


@case("--from and --to: cycles, seconds, both ends included, in a database as in a trace")
def _():
    db = database("dom0-shell")
    tscs = [t for (t,) in db.execute("SELECT tsc FROM events ORDER BY event_id")]
    first, (begin, end) = min(tscs), (tscs[len(tscs) // 3], tscs[len(tscs) // 2])
    wanted = [r[0] for r in db.execute("SELECT event_id FROM events WHERE tsc BETWEEN ? AND ?", (begin, end))]
    # the capture's first record is not its first event
    first = db.execute("SELECT tsc_first FROM trace").fetchone()[0]
    for source in (database_path("dom0-shell"), unpack("dom0-shell.bin")):
        for options in (("--from", f"{begin}c", "--to", f"{end}c"),
                        ("--cpu-hz", HZ, "--from", repr((begin - first - 0.4) / HZ),
                         "--to", repr((end - first + 0.4) / HZ))):
            rows = csv.DictReader(io.StringIO(
                run("events", "--format", "csv", *options, source).stdout))
            equal([int(r["event_id"]) for r in rows], wanted, f"{source} {options}")
    forks = csv.DictReader(io.StringIO(run(
        "forks", "--format", "csv", "--from", f"{begin}c", "--to", f"{end}c", database_path("dom0-shell")).stdout))
    equal([int(r["fork_id"]) for r in forks], [r[0] for r in db.execute(
        "SELECT fork_id FROM forks WHERE tsc_start BETWEEN ? AND ? ORDER BY 1", (begin, end))], "forks")


@case("--limit, --domain, --fork")
def _():
    db = database("dom0-crowd")

    def rows(*words):
        return list(csv.DictReader(io.StringIO(run(*words, "--format", "csv").stdout)))

    for command in ("forks", "pages", "events"):
        equal(len(rows(command, "--limit", "3", database_path("dom0-crowd"))), 3, command)
        equal(len(rows(command, "--limit", "0", database_path("dom0-crowd"))), 0, command)
        equal({r["vcpu"] for r in rows(command, "--domain", "d0v1", database_path("dom0-crowd"))}, {"1"}, command)
        equal(len(rows(command, "--domain", "d0", database_path("dom0-crowd"))),
              db.execute(f"SELECT count(*) FROM {LISTS[command]} WHERE domid = 0").fetchone()[0], command)
        equal(rows(command, "--domain", "d77", database_path("dom0-crowd")), [], command)
    fork, pages, first, last = db.execute(
        "SELECT fork_id, pt_pages, first_event, last_event FROM forks ORDER BY ptes DESC LIMIT 1").fetchone()
    found = rows("pages", "--fork", fork, database_path("dom0-crowd"))
    equal({r["fork_id"] for r in found}, {str(fork)}, "pages --fork")
    equal(len({r["pt_page"] for r in found}), pages, "pages of the fork")
    found = [int(r["event_id"]) for r in rows("events", "--fork", fork, database_path("dom0-crowd"))]
    assert found[0] == first and found[-1] == last and found == sorted(found), "events --fork"
    for command in ("pages", "events"):
        assert "no fork 9999" in run(command, "--fork", "9999", database_path("dom0-crowd"), status=2).stderr
    assert "database" in run("events", "--fork", "1", unpack("dom0-crowd.bin"), status=2).stderr


@case("--symbols names copy_page_range for dom0's forks")
def _():
    symbols, path = unpack("dom0-kallsyms.txt"), scratch("symbols.db")
    run("import", "--force", "-o", path, "--symbols", symbols, unpack("dom0-shell.bin"))
    db = sqlite3.connect(path)
    names = {n for (n,) in db.execute("SELECT symbol FROM forks")}
    assert names and all(n.startswith("copy_page_range+0x") for n in names), names
    named = db.execute("SELECT count(*) FROM events WHERE symbol IS NOT NULL").fetchone()
    db.close()
    # the same later, by analyze, and on the way by events
    shutil.copy(database_path("dom0-shell"), path)
    run("analyze", "--symbols", symbols, path)
    db = sqlite3.connect(path)
    equal({n for (n,) in db.execute("SELECT symbol FROM forks")}, names, "analyze --symbols")
    db.close()
    rows = csv.DictReader(io.StringIO(
        run("events", "--format", "csv", "--symbols", symbols, unpack("dom0-shell.bin")).stdout))
    equal(sum(r["symbol"] != "" for r in rows), named[0], "events --symbols")
    equal(run("sql", "--format", "csv", "--symbols", symbols, unpack("dom0-shell.bin"),
              "SELECT count(symbol) FROM xentrace").stdout.split()[1], str(named[0]), "sql --symbols")
    # of another domain
    run("import", "--force", "-o", path, "--symbols", symbols, "--symbols-domain", "d5",
        unpack("dom0-shell.bin"))
    db = sqlite3.connect(path)
    equal(db.execute("SELECT count(symbol) FROM events").fetchone(), (0,), "--symbols-domain d5")
    db.close()


@case("--cpu-hz: recorded by import and analyze, for one listing elsewhere")
def _():
    path = scratch("hz.db")
    run("import", "--force", "-o", path, "--cpu-hz", "2.4454G", unpack("wtpt-up.bin"))
    db = sqlite3.connect(path)
    equal(db.execute("SELECT cpu_hz FROM trace").fetchone(), (HZ,), "cpu_hz")
    us, = db.execute("SELECT us FROM forks WHERE fork_id = 1").fetchone()
    db.close()
    listed = json.loads(run("forks", "--format", "jsonl", "--limit", "1", "--cpu-hz", HZ,
                            database_path("wtpt-up")).stdout)["us"]
    assert abs(us - listed) < 0.001, f"{us}, {listed}"
    shutil.copy(database_path("wtpt-up"), path)
    run("analyze", "--cpu-hz", "2445.4M", path)
    db = sqlite3.connect(path)
    equal(db.execute("SELECT us FROM forks WHERE fork_id = 1").fetchone(), (us,), "analyze")
    db.close()


@case("--cpu-hz: units as people write them; a number without its unit is refused with the likely one")
def _():
    for value in ("2.4454G", "2.4454GHz", "2445.4MHz", "2445.4mhz", "2445400 k", "2445400k", "2445400000Hz", HZ):
        if " " in str(value):
            run("forks", "--cpu-hz", value, database_path("wtpt-up"), status=2)
        else:
            run("forks", "--cpu-hz", value, database_path("wtpt-up"))
    for value, likely in (("2445.4", "2445.4M"), ("2394.453", "2394.453M"), ("2.4", "2400M")):
        assert f"--cpu-hz {likely}" in run("forks", "--cpu-hz", value, database_path("wtpt-up"), status=2).stderr, value


@case("--help and version need no rights, no terminal and no environment")
def _():
    with another_user(XENFAULT) as ((program,), who):
        for words in (["--help"], ["help"], ["version"], *([c, "--help"] for c in commands)):
            done = run(*words, program=program, env={}, cwd="/", **who)
            equal(done.stderr, "", " ".join(words))
            assert done.stdout, words


@case("exit statuses")
def _():
    path, good = scratch("status.db"), database_path("wtpt-up")
    with open(scratch("text"), "w", encoding="ascii") as file:
        file.write("this is no trace\n" * 1000)
    shutil.copy(good, path)
    with open(path, "r+b") as file:  # damage behind the schema
        file.seek(8 * 8192)
        file.write(b"\xff" * 16 * 8192)
    for status, words in (
            (0, ("forks", good)),
            (0, ("import", "--force", "-o", scratch("lossy.db"), unpack("dom0-lossy.bin"))),
            (2, ()), (2, ("nonsense",)), (2, ("forks",)), (2, ("forks", good, good)),
            (2, ("forks", "--nonsense", good)), (2, ("import", "-")), (2, ("help", "nonsense")),
            (3, ("import", scratch("not-there"))), (3, ("forks", scratch("not-there"))),
            (3, ("import", "-o", good, unpack("wtpt-up.bin"))), (3, ("info", WORK)),
            (4, ("import", "--force", "-o", scratch("x.db"), scratch("text"))),
            (4, ("import", "--force", "-o", scratch("x.db"), good)),
            (4, ("info", scratch("text"))), (4, ("events", scratch("text"))),
            (4, ("forks", scratch("text"))), (4, ("forks", unpack("wtpt-up.bin"))),
            (5, ("sql", path, "SELECT count(*), max(rip) FROM event")),
            (7, ("import", "--fail-on-loss", "--force", "-o", scratch("lossy.db"), unpack("dom0-lossy.bin"))),
            (7, ("info", "--fail-on-loss", scratch("lossy.db"))),
            (0, ("info", "--fail-on-loss", good))):
        done = run(*words, status=status)
        if status:
            assert done.stderr.startswith("xenfault: ") or status == 2, f"{words}: {done.stderr}"


PACKERS = {"zst": ["zstd", "-qc"], "gz": ["gzip", "-c"], "xz": ["xz", "-c"]}


@case("traces that zstd, gzip or xz compressed: the same rows, from files and pipes, in several parts")
def _():
    plain = unpack("dom0-forks.bin")
    with open(plain, "rb") as file:
        data = file.read()
    wanted = run("events", plain).stdout
    for ending, command in PACKERS.items():
        path = scratch("packed." + ending)
        with open(path, "wb") as file:
            for part in (data[:100_000], data[100_000:]):
                subprocess.run(command, input=part, stdout=file, check=True)
        equal(run("events", path).stdout, wanted, path)
        with open(path, "rb") as file:
            equal(run("events", "-", stdin=file).stdout, wanted, path + " through a pipe")
        run("import", "--force", "-o", scratch("packed.db"), path)
        db = sqlite3.connect(scratch("packed.db"))
        equal(db.execute("SELECT count(*), max(event_id) FROM event").fetchone(),
              (wanted.count("\n") - 1,) * 2, "rows")
        equal(db.execute("SELECT complete FROM capture").fetchone(), (1,), "complete")
        db.close()


@case("compressed traces that are cut or damaged: what is good, and a doubt; nothing good is an error")
def _():
    with open(unpack("dom0-forks.bin"), "rb") as file:
        data = file.read()
    for ending, command in PACKERS.items():
        packed = subprocess.run(command, input=data, capture_output=True, check=True).stdout
        half = len(packed) // 2
        for what, bad in (("cut", packed[:half]), ("damaged", packed[:half] + bytes(64) + packed[half + 64:])):
            path = scratch(f"{what}.{ending}")
            with open(path, "wb") as file:
                file.write(bad)
            done = run("import", "--force", "-o", scratch("bad.db"), path, status=None)
            if done.returncode:
                # the library gave nothing: the part that it checks as a whole is not whole
                assert done.returncode == 4 and "compressed" in done.stderr, done.stderr
                assert not os.path.exists(scratch("bad.db")), "a database of nothing"
                continue
            assert "compressed data damaged or cut short" in done.stderr, done.stderr
            db = sqlite3.connect(scratch("bad.db"))
            (complete, n) = db.execute("SELECT complete, (SELECT count(*) FROM event) FROM capture").fetchone()
            assert not complete and n > 1000, f"{path}: {n} events, complete {complete}"
            db.close()
            os.remove(scratch("bad.db"))


@case("a database of a newer version is refused by name")
def _():
    path = scratch("newer.db")
    shutil.copy(database_path("wtpt-up"), path)
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 1000")
    db.commit()
    db.close()
    for words in (*((c, path) for c in (*LISTS, "info", "analyze")), ("sql", path, "SELECT 1")):
        done = run(*words, status=4)
        assert "newer" in done.stderr and path in done.stderr, done.stderr


@case("docs/database.md names every column of every view, every doubt, finding and kind")
def _():
    db = database("wtpt-up")
    with open(os.path.join(TOP, "docs", "database.md"), encoding="utf-8") as file:
        text = file.read()
    sections = dict(re.findall(r"^## ([\w, ]+)\n(.*?)(?=^## |\Z)", text, re.M | re.S))
    for view in ("trace", *LISTS.values(), "losses"):
        names = set(re.findall(r"\w+", " ".join(re.findall(r"^\| ([^|]*) \|", sections[view], re.M))))
        equal(set(columns_of(db, view)) - names, set(), view)
    for heading, sources, pattern in (
            ("Doubts of the collector", ["collector/trace/doubt.h"], r'X\(\w+, "(\w+)"'),
            ("Findings of the analyzer", ["analyzer/rows.c", "analyzer/names.c"], r'\[XF_FINDING_\w+\] = \{"(\w+)"')):
        codes = []
        for source in sources:
            with open(os.path.join(TOP, source), encoding="utf-8") as file:
                codes += re.findall(pattern, file.read())
        equal(re.findall(r"^\| (\w+) \|", sections[heading], re.M)[1:], codes, heading)
    kinds = {k for (k,) in db.execute("SELECT name FROM event_kind")}
    equal(kinds - set(re.findall(r"\w+", sections["events"])), set(), "kinds")


@case("README.md and docs/: every command in a block runs as it stands")
def _():
    subprocess.run(["make", "-s", "run-demo"], cwd=TOP, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    for name in ("README.md", "docs/database.md"):
        with open(os.path.join(TOP, name), encoding="utf-8") as file:
            blocks = re.findall(r"^```sh\n(.*?)^```", file.read(), re.M | re.S)
        assert blocks, name
        for block in blocks:
            for line in block.splitlines():
                if "setup.sh" in line:
                    continue
                done = subprocess.run(["sh", "-c", line], cwd=TOP, capture_output=True, text=True,
                                      timeout=60, check=False)
                assert done.returncode == 0 and done.stdout, f"{name}: {line}: {done.stderr}"


finish()
