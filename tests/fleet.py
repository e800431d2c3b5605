#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Many hosts: a fleet in one file, and in PostgreSQL.  In: captures.  Out: cases."""
import os
import random
import re
import shutil
import sqlite3
import subprocess

from lib import TOP, WORK, XENFAULT, case, database, database_path, equal, finish, run, \
    schema_version, unpack
from postgres import Server
import synth

VIEWS = ("trace", "events", "forks", "pt_sequences", "walks", "spurious_faults", "flushes", "losses",
         "episodes", "rounds", "episode_forks",
         "dirty", "dirty_rounds", "episode_vcpus", "npfs", "mmio", "pcpus", "gaps", "processes", "guest_logs",
         "guest_forks", "guest_tasks", "guest_runs", "domains")
UNSIGNED = 1 << 64
FLEET = os.path.join(WORK, "fleet.db")
HOSTS = 100
SCHEMA = schema_version()


def opened(name):
    return sqlite3.connect(f"file:{name}?mode=ro", uri=True)


def columns(db, name):
    return [d[0] for d in db.execute(f"SELECT * FROM {name} LIMIT 0").description]


def tables(db):
    return {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def dump(name):
    """All rows of a database by table."""
    with opened(name) as db:
        rows = {t: sorted(db.execute(f"SELECT * FROM {t}").fetchall(), key=repr) for t in tables(db)}
    db.close()
    return rows


def merge(fleet, **hosts):
    run("merge", "-o", fleet, *(f"{host}={name}" for host, name in hosts.items()))


def fresh(name):
    if os.path.exists(name):
        os.remove(name)
    return name


RECORDED = {"web1": "domu-logdirty", "web2": "wtpt-smp", "web3": "dom0-pcpu0-only", "web4": "edge-two"}


def recorded(name):
    """The path of its database, of edge-two with the log of its kernel."""
    log = ("--guest", "d0=" + unpack(name + ".ftrace")) if name == "edge-two" else ()
    return database_path(name, *log)


@case("merge: tables and views are those of a capture, with the host in front")
def _():
    merge(fresh(FLEET), **{host: recorded(name) for host, name in RECORDED.items()})
    one, fleet = database("domu-logdirty"), opened(FLEET)
    equal(tables(fleet) - {"host"}, tables(one), "tables")
    for table in tables(one):
        equal(set(columns(fleet, table)), {"host_id", *columns(one, table)}, table)
    views = {n for (n,) in one.execute("SELECT name FROM sqlite_schema WHERE type = 'view'")}
    equal({n for (n,) in fleet.execute("SELECT name FROM sqlite_schema WHERE type = 'view'")}, views,
          "views")
    equal(set(VIEWS) - views, set(), "views that are compared")
    for view in views:
        equal(columns(fleet, view), ["host", *columns(one, view)], view)


@case("merge: each host has the rows of its capture")
def _():
    fleet = opened(FLEET)
    for host, name in RECORDED.items():
        one = opened(recorded(name))
        for view in VIEWS:
            wanted = sorted(one.execute(f"SELECT * FROM {view}").fetchall(), key=repr)
            got = sorted((row[1:] for row in
                          fleet.execute(f"SELECT * FROM {view} WHERE host = ?", (host,))), key=repr)
            assert got == wanted, f"{view} of {host}: {len(got)} rows, {len(wanted)} in the capture"


@case("merge: loading again changes nothing, one host's reload replaces its rows only")
def _():
    before = dump(FLEET)
    merge(FLEET, **{host: recorded(name) for host, name in RECORDED.items()})
    equal(dump(FLEET) == before, True, "the same after loading twice")
    merge(FLEET, web2=database_path("emulate"))
    after = dump(FLEET)
    equal(after["host"], before["host"], "hosts")
    number = {host: number for number, host in after["host"]}["web2"]
    for table, rows in after.items():
        if table != "host":
            equal([r for r in rows if r[0] != number] == [r for r in before[table] if r[0] != number],
                  True, f"{table}: rows of the others")
    equal(opened(FLEET).execute("SELECT count(*) FROM forks WHERE host = 'web2'").fetchone()[0],
          database("emulate").execute("SELECT count(*) FROM forks").fetchone()[0], "forks of web2")
    merge(FLEET, web2=database_path("wtpt-smp"))
    equal(dump(FLEET) == before, True, "and back")


@case("merge: FLEET#HOST is a host wherever a command reads a database")
def _():
    for command in (("forks", "--format", "csv"), ("pages", "--format", "csv"), ("forks",), ("info",),
                    ("events", "--format", "jsonl", "--limit", "500"), ("episodes",),
                    ("spurious", "--format", "csv"), ("flushes",)):
        for host, name in RECORDED.items():
            equal(run(*command, f"{FLEET}#{host}").stdout == run(*command, recorded(name)).stdout, True,
                  f"{command[0]} of {host}")
    equal(run("diff", f"{FLEET}#web1", f"{FLEET}#web2", "--format", "csv").stdout ==
          run("diff", database_path("domu-logdirty"), database_path("wtpt-smp"), "--format", "csv").stdout, True, "diff")
    text = run("sql", "--format", "csv", FLEET, "SELECT host, count(*) FROM forks GROUP BY 1").stdout
    equal(len(text.splitlines()), len(RECORDED) + 1, "sql over all hosts")
    equal(run("sql", "--format", "csv", FLEET + "#web2", "SELECT count(*) FROM forks").stdout.split()[1],
          str(database("wtpt-smp").execute("SELECT count(*) FROM forks").fetchone()[0]), "sql over one")


@case("merge: a capture that someone is reading can be merged")
def _():
    with database("wtpt-smp") as reader:
        rows = reader.execute("SELECT * FROM event")
        rows.fetchone()
        merge(fresh(os.path.join(WORK, "read.db")), a=database_path("wtpt-smp"))
        rows.close()


@case("merge: mistakes are told, and change nothing")
def _():
    before = dump(FLEET)
    one = database_path("wtpt-smp")
    run("merge", "a=" + one, status=2)
    run("merge", "-o", FLEET, status=2)
    run("merge", "-o", FLEET, one, status=2)
    run("merge", "-o", FLEET, "=" + one, status=2)
    run("merge", "-o", FLEET, "a#b=" + one, status=2)
    run("merge", "-o", FLEET, "a=" + one, "a=" + one, status=2)
    run("merge", "-o", FLEET, "a=" + one, "b=" + os.path.join(WORK, "nowhere.db"), status=3)
    run("merge", "-o", FLEET, "a=" + FLEET, status=4)
    run("merge", "-o", FLEET, f"a={FLEET}#web1", status=3)
    run("merge", "-o", one, "a=" + one, status=4)
    run("merge", "-o", os.path.join(WORK, "no", "where.db"), "a=" + one, status=3)
    assert "#HOST" in run("forks", FLEET, status=4).stderr
    run("forks", FLEET + "#nobody", status=2)
    run("analyze", FLEET + "#web1", status=2)
    equal(dump(FLEET) == before, True, "the fleet is as it was")


def synthetic(number):
    """A host with forks of its own: how many, how large, by which domain, at which frequency."""
    chance = random.Random(number)
    trace = synth.Trace(start=50_000_000_000 + number * 1_000_000_007)
    who = synth.Vcpu(number % 3, 0)
    trace.switch(0, who)
    trace.page_fault(0, 0x7F0000000000, 6, 0x401000)
    for fork in range(1 + number % 4):
        for page in range(chance.randint(2, 9)):
            for slot in range(chance.randint(1, 12)):
                trace.ptwr(0, 0xFFFF888000000000 + (fork * 64 + page << 12) + slot * 8,
                           0x8000000000000165, 0xFFFFFFFF812D12C5)
        trace.wait(chance.randint(1000, 100000))
        trace.page_fault(0, 0x7F0000001000 + (fork << 12), 6, 0x401000)
        trace.hypercall(0, 23)
    name = os.path.join(WORK, f"host{number:03}")
    with open(name + ".bin", "wb") as file:
        file.write(trace.bytes())
    run("import", "--force", "-o", name + ".db", *(("--cpu-hz", str(2_000_000_000 + number)) if number % 7
                                                    else ()), name + ".bin")
    return name + ".db"


def export(server, *args, status=0):
    """xenfault export | psql; the exit status of psql."""
    with subprocess.Popen([XENFAULT, "export", "--to", "postgresql", *args],
                          stdout=subprocess.PIPE) as writer:
        reader = subprocess.run(["psql", "-X", "-q", "-d", "fleet"], stdin=writer.stdout,
                                capture_output=True, text=True, env=server.env, timeout=120, check=False)
        writer.stdout.close()
        writer.wait()
    equal(reader.returncode, status, f"psql ({reader.stderr})")
    equal(reader.stdout, "", "what psql says")


def digests(server, only="%"):
    """{(table, host_id): count and hash of its rows}, their order aside."""
    names = [n for (n,) in server.psql("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
                                       " AND relkind IN ('r', 'p') AND NOT relispartition"
                                       f" AND relname LIKE '{only}' ORDER BY 1")]
    return {(name, row[0]): row[1:] for name in names for row in server.psql(
        f"SELECT host_id, count(*), sum(hashtextextended(t::text, 0)) FROM {name} t GROUP BY 1")}


def host_numbers(server):
    return dict(server.psql("SELECT host, host_id FROM host"))


def as_text(value, name, kinds):
    """A value of SQLite as psql shows it."""
    if value is None:
        return None
    if kinds.get(name) == "u64" and value < 0:
        value += UNSIGNED
    return value


def same_rows(server, db, query, kinds=None):
    """One query in both; numbers compare as numbers, unsigned columns as unsigned."""
    cursor = db.execute(query)
    names = [d[0] for d in cursor.description]
    wanted = [tuple(as_text(v, n, kinds or {}) for v, n in zip(row, names)) for row in cursor]
    got = server.psql(query)
    equal(len(got), len(wanted), f"rows of {query}")
    for one, other in zip(got, wanted):
        for cell, value, name in zip(one, other, names):
            if isinstance(value, float):
                assert cell is not None and abs(float(cell) - value) <= abs(value) * 1e-12, (name, cell, value)
            else:
                equal(cell, None if value is None else str(value), f"{name} in {query}")
    return len(wanted)


def view_kinds(server, view):
    """Which columns of a view are addresses."""
    return dict(server.psql(
        "SELECT column_name, coalesce(domain_name, data_type) FROM information_schema.columns"
        f" WHERE table_schema = 'public' AND table_name = '{view}'"))


def postgres_cases(server):
    @case("postgresql: tables and views are those of the fleet, with the same columns", slow=True)
    def _():
        server.psql("CREATE DATABASE fleet", database="postgres")
        server.psql(run("export", "--to", "postgresql", "--schema").stdout)
        fleet = opened(FLEET)
        for name in (*tables(fleet), *VIEWS):
            got = [c for (c,) in server.psql(
                "SELECT column_name FROM information_schema.columns"
                f" WHERE table_schema = 'public' AND table_name = '{name}' ORDER BY ordinal_position")]
            equal(got, columns(fleet, name), name)
        # once only: a second time changes nothing and says so
        server.psql(run("export", "--to", "postgresql", "--schema").stdout, status=3)

    @case("postgresql: every view of three recorded hosts is the same as in SQLite", slow=True)
    def _():
        export(server, FLEET)
        fleet = opened(FLEET)
        rows = 0
        for view in VIEWS:
            kinds = view_kinds(server, view)
            if view == "events":
                rows += same_rows(server, fleet, "SELECT * FROM events WHERE event_id % 50 = 1"
                                  " ORDER BY host, event_id", kinds)
            else:
                # NULLs sort differently
                keys = {"trace": "source", "forks": "fork_id", "pt_sequences": "sequence_id",
                        "walks": "walk_id",
                        "spurious_faults": "event_id", "losses": "pcpu, tsc_last",
                        "flushes": "coalesce(fork_id, 0), cause, reach", "episodes": "episode_id",
                        "rounds": "episode_id, round", "episode_forks": "pt_pages, ptes_per_page",
                        "dirty": "episode_id, gfn", "dirty_rounds": "event_id", "npfs": "event_id",
                        "episode_vcpus": "episode_id, vcpu", "mmio": "gpa, rip", "pcpus": "pcpu",
                        "gaps": "pcpu, tsc_first", "processes": "domid, coalesce(pid, 0), coalesce(comm, '')",
                        "guest_logs": "log_id", "guest_forks": "guest_fork_id",
                        "guest_tasks": "guest_task_id", "guest_runs": "domid, vcpu, tsc_start",
                        "domains": "domid"}[view]
                rows += same_rows(server, fleet, f"SELECT * FROM {view} ORDER BY host, {keys}", kinds)
        assert rows > 3000, rows

    @case("postgresql: addresses are unsigned: they compare, sort and show as addresses", slow=True)
    def _():
        fleet = opened(FLEET)
        kernel, user = fleet.execute(
            "SELECT sum(va < 0), sum(va >= 0) FROM events WHERE kind IN ('page_fault', 'emulate')").fetchone()
        assert kernel > 1000 and user > 1000, (kernel, user)
        got = server.psql("SELECT count(*) FROM events WHERE kind IN ('page_fault', 'emulate')"
                          " AND va >= address('0xffff800000000000')")
        equal(got, [(str(kernel),)], "kernel addresses")
        highest = fleet.execute("SELECT max(va) FROM events WHERE va < 0 AND kind = 'emulate'"
                                ).fetchone()[0]
        equal(server.psql("SELECT hex(max(va)) FROM events WHERE kind = 'emulate'"),
              [(hex(highest + UNSIGNED),)], "the highest one")
        equal(server.psql("SELECT hex(address('0xffffffffffffffff')), address('0xffffffffffffffff'),"
                          " hex(address('0x0')), hex(4294967296)"),
              [("0xffffffffffffffff", str(UNSIGNED - 1), "0x0", "0x100000000")], "there and back")
        for wrong in ("-1", str(UNSIGNED), "'NaN'"):
            server.psql(f"SELECT CAST({wrong} AS u64)", status=3)

    @case("postgresql: loading twice changes nothing, one host's reload replaces its rows", slow=True)
    def _():
        before = digests(server)
        export(server, FLEET)
        equal(digests(server) == before, True, "the same after loading twice")
        export(server, "--host", "web2", database_path("emulate"))
        after = digests(server)
        number = host_numbers(server)["web2"]
        equal({k for k in set(before) | set(after) if before.get(k) != after.get(k)} - {
            (table, number) for table, _ in set(before) | set(after)}, set(), "rows of the others")
        assert before["fork", number] != after["fork", number], "web2 has its new rows"
        equal(server.psql("SELECT count(*) FROM forks WHERE host = 'web2'")[0][0],
              str(database("emulate").execute("SELECT count(*) FROM forks").fetchone()[0]), "forks")
        export(server, "--host", "web2", FLEET)
        equal(digests(server) == before, True, "and back")

    @case("postgresql: a stream that breaks off, or is of another schema, changes nothing", slow=True)
    def _():
        before = server.psql("SELECT count(*), sum(ptes) FROM forks")
        stream = run("export", "--to", "postgresql", "--host", "web1", database_path("wtpt-smp")).stdout
        for part in (0.1, 0.5, 0.9):
            server.psql(stream[:int(len(stream) * part)], status=None)
        server.psql(stream[:stream.rindex("COMMIT")], status=None)
        server.psql(stream.replace(f"xenfault_load('web1', {SCHEMA})",
                                   f"xenfault_load('web1', {SCHEMA + 1})"), status=3)
        equal(server.psql("SELECT count(*), sum(ptes) FROM forks"), before, "forks")

    @case("postgresql: names of hosts and texts that look like syntax arrive as they are", slow=True)
    def _():
        odd = os.path.join(WORK, "odd.db")
        shutil.copyfile(database_path("wtpt-up"), odd)
        text = "tab\t back\\slash\n'quote' \\. \\N é"
        with sqlite3.connect(odd) as db:
            db.execute("UPDATE capture SET source = ?", (text,))
        db.close()
        name = "it's $$ a \\host"
        export(server, "--host", name, odd)
        equal(server.psql("SELECT to_json(source), host FROM trace WHERE host LIKE 'it%'"),
              [('"tab\\t back\\\\slash\\n\'quote\' \\\\. \\\\N é"', name)], "texts")
        server.psql(f"DELETE FROM host WHERE host LIKE 'it%'; SELECT xenfault_load('gone', {SCHEMA})")
        run("export", "--to", "postgresql", "--host", "", odd, status=2)

    @case("postgresql: the stream takes constant memory", slow=True)
    def _():
        def peak(name):
            with open(os.devnull, "wb") as null:
                child = subprocess.Popen([XENFAULT, "export", "--to", "postgresql", name], stdout=null)
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = status
            equal(status, 0, "exit status")
            return usage.ru_maxrss / 1024
        small, large = peak(database_path("wtpt-up")), peak(database_path("pvh-shadow-hvm"))
        assert large < small + 16, f"{large} MiB for a capture of {os.path.getsize(path('pvh-shadow-hvm'))}"

    @case(f"postgresql: forks and PTEs per page of {HOSTS} synthetic hosts are the same as in SQLite", slow=True)
    def _():
        names = {f"host{n:03}": synthetic(n) for n in range(HOSTS)}
        merge(FLEET, **names)
        for number, (host, name) in enumerate(names.items()):
            if number % 10 == 0:
                export(server, "--host", host, name)
        # the others as one stream
        stream = "".join(run("export", "--to", "postgresql", name).stdout
                         for number, name in enumerate(names.values()) if number % 10)
        server.psql(stream)
        server.psql("DELETE FROM host WHERE host NOT IN (SELECT host FROM trace)")
        fleet = opened(FLEET)
        forks = same_rows(
            server, fleet, "SELECT * FROM forks WHERE host LIKE 'host%' ORDER BY host, fork_id",
            view_kinds(server, "forks"))
        equal(forks, sum(1 + n % 4 for n in range(HOSTS)), "forks")
        for where in ("", " AND host LIKE 'host%'"):
            assert same_rows(
                server, fleet, "SELECT ptes, count(*) FROM pt_sequences WHERE fork_id IS NOT NULL" + where +
                " GROUP BY ptes ORDER BY ptes") >= 12
        same_rows(server, fleet, "SELECT host, pt_pages, ptes, count(*) FROM forks GROUP BY host, pt_pages,"
                  " ptes ORDER BY host, pt_pages, ptes")

    @case("postgresql: the statements of docs/fleet.md partition by host and time, and shard", slow=True)
    def _():
        text = open(os.path.join(TOP, "docs", "fleet.md"), encoding="utf-8").read()
        blocks = re.findall(r"^```sql\n(.*?)^```$", text, re.M | re.S)
        equal(len(blocks), 4, "statements")
        spread, timed, drop, shard = blocks
        before = digests(server, "event")
        server.psql(spread)
        equal(digests(server, "event") == before, True, "rows after spreading the hosts")
        equal(len([n for (n,) in server.psql("SELECT DISTINCT tableoid::regclass FROM event")]), 4,
              "partitions in use")
        server.psql(timed)
        equal(digests(server, "event") == before, True, "rows after dividing web1 by time")
        counts = dict(server.psql("SELECT event.tableoid::regclass, count(*) FROM event, host"
                                  " WHERE event.host_id = host.host_id AND host = 'web1' GROUP BY 1"))
        equal(set(counts), {"event_web1_0", "event_web1_1"}, "partitions of web1")
        number = host_numbers(server)
        plan = "\n".join(row[0] for row in server.psql(
            f"EXPLAIN SELECT count(*) FROM event WHERE host_id = {number['web1']}"
            " AND tsc BETWEEN 150000000000 AND 151000000000"))
        assert "event_web1_1" in plan and "event_web1_0" not in plan and "event_rest" not in plan, plan
        export(server, "--host", "web1", database_path("domu-logdirty"))
        equal(digests(server, "event") == before, True, "rows after loading web1 again")
        server.psql("CREATE DATABASE fleet2", database="postgres")
        server.psql(run("export", "--to", "postgresql", "--schema").stdout, database="fleet2")
        server.psql(shard.replace("db2.example.org", server.top))
        equal(digests(server, "event") == before, True, "rows after moving web2")
        there = "SELECT count(*) FROM event"
        equal(server.psql(there, database="fleet2"),
              server.psql(there + f" WHERE host_id = {number['web2']}"), "rows of web2 there")
        export(server, "--host", "web2", database_path("wtpt-smp"))
        equal(digests(server, "event") == before, True, "rows after loading web2 again")
        server.psql(drop)
        equal(server.psql(there + f" WHERE host_id = {number['web1']}"),
              [(str(int(counts["event_web1_1"])),)], "rows of web1 after dropping its first minute")
        export(server, "--host", "web2", database_path("emulate"))


with Server() as postgres:
    postgres_cases(postgres)

finish()
