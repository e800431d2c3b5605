#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports, the SQLite extension, the report, manual pages and completions.  Out: cases."""
import csv
import io
import json
import os
import resource
import sqlite3
import subprocess
from collections import Counter, defaultdict

import lib
from lib import WORK, XENFAULT, case, database, equal, finish, run

HZ = 2445400000
VIEWS = ("trace", "events", "forks", "pt_sequences", "spurious_faults", "flushes", "losses")
SILENT = ("loss", "task_switch", "multicall", "mmuext", "iret", "hypercall", "privop", "trap",
          "invalid_op", "ldt_fault", "fpu", "cr_write", "domain_add", "domain_remove")
ADDRESSES = ("va", "pt_page", "rip", "pte", "va_base")


def path_of(name):
    database(name).close()
    return os.path.join(WORK, name + ".db")


def perfetto(name, *options):
    text = run("export", "--to", "perfetto", "--cpu-hz", HZ, *options, path_of(name)).stdout
    return json.loads(text)


def check_nesting(slices):
    """Slices of one thread must nest: that is what the form demands.  In ns, by the file's order."""
    open_until = defaultdict(list)
    for event in slices:
        start = round(event["ts"] * 1000)
        end = start + round(event["dur"] * 1000)
        stack = open_until[event["tid"]]
        while stack and stack[-1] <= start:
            stack.pop()
        assert not stack or end <= stack[-1], f"{event['name']} crosses what is open on its thread"
        stack.append(end)


for trace in ("dom0-dirty", "dom0-crowd", "dom0-lossy", "wtpt-smp", "pvh-shadow-hvm",
              "dom0-pv-class-only"):
    @case(f"export to perfetto: order, nesting and counts of {trace}")
    def _(trace=trace):
        data = perfetto(trace)
        db = database(trace)
        events = [e for e in data["traceEvents"] if e["ph"] != "M"]
        times = [e["ts"] for e in events]
        equal(times, sorted(times), "order in time")
        slices = [e for e in events if e["ph"] == "X"]
        check_nesting(slices)
        by_kind = Counter(e["name"] for e in events if e["ph"] == "i")
        wanted = dict(db.execute("SELECT kind, count(*) FROM events WHERE tsc IS NOT NULL GROUP BY 1"))
        equal(by_kind, Counter({k: n for k, n in wanted.items() if k not in SILENT}), "instants")
        for category, view in (("fork", "forks"), ("page", "pt_sequences"), ("loss", "losses")):
            equal(sum(e["cat"] == category for e in slices),
                  db.execute(f"SELECT count(*) FROM {view}").fetchone()[0], view)
        equal(sum(e["args"]["lost"] for e in slices if e["cat"] == "loss"),
              db.execute("SELECT lost_records FROM trace").fetchone()[0], "records lost")
        equal(sum("spurious" in e["args"] for e in events if e["ph"] == "i"),
              db.execute("SELECT count(*) FROM spurious_faults").fetchone()[0], "spurious faults")


@case("export to perfetto: pages lie inside their forks, on the vCPU that the view names")
def _():
    for trace in ("dom0-dirty", "dom0-crowd", "wtpt-smp"):
        data = perfetto(trace)["traceEvents"]
        names = {e["tid"]: e["args"]["name"] for e in data if e["name"] == "thread_name"}
        forks = {e["args"]["fork_id"]: e for e in data if e.get("cat") == "fork"}
        db = database(trace)
        vcpus = dict(db.execute("SELECT fork_id, 'd' || domid || 'v' || vcpu FROM forks"))
        inside = 0
        for event in data:
            if event.get("cat") != "page" or "fork_id" not in event["args"]:
                continue
            fork = forks[event["args"]["fork_id"]]
            if event["tid"] == fork["tid"]:
                inside += 1
            assert event["ts"] >= fork["ts"], "begins before its fork"
            assert event["ts"] + event["dur"] <= fork["ts"] + fork["dur"] + 0.0005, "ends after it"
        wanted = db.execute("SELECT count(fork_id) FROM pt_sequences").fetchone()[0]
        # two hooks of a 2006 fork may overlap each other: one of them goes to another lane
        assert inside == wanted or trace == "wtpt-smp" and inside > wanted * 0.4, (inside, wanted)
        for number, fork in forks.items():
            equal(names[fork["tid"]].split(" ")[0], vcpus[number], f"track of fork {number}")


@case("export to perfetto: microseconds are those of the view")
def _():
    db = database("dom0-dirty")
    first = db.execute("SELECT tsc_first FROM trace").fetchone()[0]
    got = {e["args"]["fork_id"]: (e["ts"], e["dur"]) for e in perfetto("dom0-dirty")["traceEvents"]
           if e.get("cat") == "fork"}
    for number, start, end in db.execute("SELECT fork_id, tsc_start, tsc_end FROM forks"):
        assert abs(got[number][0] - (start - first) * 1e6 / HZ) < 0.002, number
        assert abs(got[number][1] - (end - start) * 1e6 / HZ) < 0.002, number


@case("export: --fork, --domain, --from and --until")
def _():
    data = perfetto("dom0-dirty", "--fork", 31)["traceEvents"]
    equal([e["args"]["fork_id"] for e in data if e.get("cat") == "fork"], [31], "forks")
    pages = run("pages", "--fork", 31, "--format", "csv", path_of("dom0-dirty")).stdout
    equal(sum(e.get("cat") == "page" for e in data), len(pages.splitlines()) - 1, "pages")
    for view, command in (("events", "events"), ("pt_sequences", "pages")):
        for options in (("--fork", 31), ("--domain", "d0v1"), ("--from", "5", "--until", "6")):
            got = run("export", "--to", "csv", "--view", view, *options, "--cpu-hz", HZ,
                      path_of("dom0-dirty")).stdout
            wanted = run(command, "--format", "csv", *options, "--cpu-hz", HZ,
                         path_of("dom0-dirty")).stdout
            assert got == wanted, f"{view} {options} differ from xenfault {command}"
    got = run("export", "--to", "csv", "--view", "forks", "--domain", "d7", path_of("dom0-dirty"))
    equal(len(got.stdout.splitlines()), 1, "no such domain: the header only")


def as_text(name, value):
    if value is None:
        return ""
    if name in ADDRESSES:
        return f"0x{value % (1 << 64):x}"
    if name == "us" and isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, float):
        return f"{value:.3f}"
    return str(value)


for view in VIEWS:
    @case(f"export to csv and jsonl: every row and column of {view}")
    def _(view=view):
        for trace in ("dom0-lossy", "wtpt-smp"):
            cursor = database(trace).execute(f"SELECT * FROM {view}")
            names = [c[0] for c in cursor.description]
            wanted = sorted([as_text(n, v) for n, v in zip(names, row)] for row in cursor)
            rows = list(csv.reader(io.StringIO(
                run("export", "--to", "csv", "--view", view, path_of(trace)).stdout)))
            equal(rows[0], names, "header")
            got = sorted(rows[1:])
            assert got == wanted, next((a, b) for a, b in zip(got, wanted) if a != b)
            lines = run("export", "--to", "jsonl", "--view", view, path_of(trace)).stdout
            objects = [json.loads(line) for line in lines.splitlines()]
            equal(len(objects), len(wanted), "objects")
            assert all(list(o) == names for o in objects), "members in the view's order"


@case("export to jsonl without --view: all views, each row says of which")
def _():
    lines = run("export", "--to", "jsonl", path_of("wtpt-smp")).stdout.splitlines()
    got = Counter(json.loads(line)["view"] for line in lines)
    db = database("wtpt-smp")
    equal(got, Counter({v: db.execute(f"SELECT count(*) FROM {v}").fetchone()[0] for v in VIEWS
                        if db.execute(f"SELECT 1 FROM {v}").fetchone()}), "rows")


@case("export: memory does not grow with the capture")
def _():
    big, small = path_of("dom0-dirty"), path_of("wtpt-up")
    peaks = []
    for path in (small, big):
        child = subprocess.Popen([XENFAULT, "export", "--to", "perfetto", "-o", "/dev/null", path],
                                 stderr=subprocess.DEVNULL)
        peaks.append(os.wait4(child.pid, 0)[2].ru_maxrss)
    assert peaks[1] < peaks[0] + 6000, f"{peaks} KiB"


@case("export -o: whole or not at all, nothing replaced in silence")
def _():
    out = os.path.join(WORK, "export.json")
    for path in (out, out + ".part"):
        if os.path.exists(path):
            os.unlink(path)
    run("export", "--to", "perfetto", "-o", out, path_of("wtpt-up"))
    json.load(open(out, encoding="utf-8"))
    equal(run("export", "--to", "perfetto", "-o", out, path_of("wtpt-up"), status=2).stderr,
          f"xenfault: {out} is there already; --force replaces it\n", "message")
    run("export", "--to", "perfetto", "--force", "-o", out, path_of("wtpt-up"))
    os.unlink(out)
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

    run("export", "--to", "perfetto", "-o", out, path_of("wtpt-smp"), status=3, preexec_fn=limit)
    assert not os.path.exists(out) and not os.path.exists(out + ".part"), "something is left"
    run("export", "--to", "jsonl", "-o", "/dev/full", path_of("wtpt-up"), status=3)


if __name__ == "__main__":
    finish()
