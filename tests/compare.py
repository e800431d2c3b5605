#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures against each other, and guests in log-dirty mode.  In: traces.  Out: cases."""
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import struct

from lib import WORK, case, database, database_path, equal, finish, plain, run, unpack
import synth

MEASURES = ("count", "time", "pt_pages", "ptes", "ptes_per_page", "faults", "unhooks",
            "emulations", "flushes", "spurious", "cow_faults")


def compared(*args):
    """The rows of a comparison, numbers as float."""
    rows = []
    for row in csv.DictReader(io.StringIO(run("diff", "--format", "csv", *args).stdout)):
        rows.append({key: float(value) if re.fullmatch(r"-?\d+(\.\d+)?", value) else value
                     for key, value in row.items()})
    return rows


def measures(rows, section, measure="count"):
    return {row["name_a"]: row for row in rows
            if row["section"] == section and row["measure"] == measure}


def pairs(rows, measure="count"):
    return [row for row in rows if row["section"] == "fork" and row["measure"] == measure]


def narrow(text):
    for line in text.splitlines():
        assert len(line) <= 80, f"{len(line)} columns: {line}"


for trace in ("dom0-dirty", "dom0-crowd", "wtpt-smp", "pvh-shadow-hvm"):
    @case(f"diff: {trace} against itself shows no difference")
    def _(trace=trace):
        rows = compared(database_path(trace), database_path(trace))
        equal({row["verdict"] for row in rows}, {"equal"}, "verdicts")
        equal({row["difference"] for row in rows}, {0.0}, "differences")
        forks = database(trace).execute("SELECT count(*) FROM forks").fetchone()[0]
        equal(sum(row["mean_a"] for row in pairs(rows)), forks, "forks")
        equal({row["measure"] for row in pairs(rows)} <= set(MEASURES), True, "measures")
        text = run("diff", database_path(trace), database_path(trace)).stdout
        equal(text.splitlines()[-1], "no difference", "last line")


@case("diff: dom0-dirty against dom0-forks runs through, equal shapes stand beside each other")
def _():
    rows = compared(database_path("dom0-dirty"), database_path("dom0-forks"))
    counts = measures(rows, "kind")
    equal((counts["page_fault"]["mean_a"], counts["page_fault"]["mean_b"]), (18186, 10930), "faults")
    equal((counts["emulate"]["mean_a"], counts["emulate"]["mean_b"]), (17509, 10163), "emulations")
    forks = measures(rows, "mechanism")["emulate"]
    equal((forks["mean_a"], forks["mean_b"]), (33, 27), "forks")
    # forkdirty with 1, 2, 4, 8, 16, 64, 512: 16 pages of it and the three or four of the process
    big = [row for row in pairs(rows, "ptes_per_page")
           if row["pt_pages_a"] != "" and row["pt_pages_b"] != "" and row["pt_pages_b"] >= 16]
    equal(len(big), 7, "forkdirty forks that match")
    for row, wanted in zip(big, (1, 2, 4, 8, 16, 64, 512)):
        for side in "ab":
            ptes = row["mean_" + side] * row["pt_pages_" + side]
            assert 16 * wanted <= ptes < 16 * wanted + 16, f"{wanted}: {ptes} PTEs"
    for side, total in (("a", 33), ("b", 27)):
        equal(sum(row["mean_" + side] or 0 for row in pairs(rows)), total, "forks of " + side)
    text = run("diff", "--cpu-hz", "2445.4M", database_path("dom0-dirty"), database_path("dom0-forks")).stdout
    narrow(text)
    assert "no spread" in text, text


@case("diff: wtpt-up against emulate shows where the mechanisms cross")
def _():
    rows = pairs(compared(database_path("wtpt-up"), database_path("emulate")), "time")
    assert all(row["name_a"] in ("unhook", "mixed") and row["name_b"] == "emulate" for row in rows)
    first = {}
    for row in rows:
        first.setdefault((row["pt_pages_a"], row["ptes_per_page_a"]), row)
    for pages in (16, 32):
        for x in (1, 2, 4):
            row = first[pages, x]
            assert row["mean_a"] > row["mean_b"], f"{pages} x {x}: emulation is the cheaper one"
        for x in (10, 64, 512):
            row = first[pages, x]
            assert row["mean_a"] < row["mean_b"], f"{pages} x {x}: unhooking is the cheaper one"
    text = run("diff", database_path("wtpt-up"), database_path("emulate")).stdout
    narrow(text)
    found = re.findall(r"^ *(\d+) pages: emulate \(B\) up to (\d+) PTEs per page, unhook \(A\) from"
                       r" (\d+); even at ([\d.]+)$", text, re.M)
    equal([line[:3] for line in found], [("16", "4", "8"), ("32", "8", "10")], "crossings")
    assert all(float(a) < float(even) < float(b) for _, a, b, even in found), found


def thinned(name, every=4):
    """The trace without every fourth emulated write of each pCPU; how many are gone."""
    data = open(unpack(name + ".bin"), "rb").read()
    parts, at, seen, gone = [], 0, 0, 0
    while at < len(data):
        head, pcpu, size = struct.unpack_from("<III", data, at)
        assert head & 0x0FFFFFFF == synth.CPU_CHANGE, hex(head)
        at += 12
        end, kept = at + size, []
        while at < end:
            head = struct.unpack_from("<I", data, at)[0]
            length = 4 + (8 if head >> 31 else 0) + 4 * (head >> 28 & 7)
            ptwr = head & 0x0FFFFFFF == 0x20110B
            seen += ptwr
            if ptwr and seen % every == 0:
                gone += 1
            else:
                kept.append(data[at:at + length])
            at += length
        parts.append(synth.window(pcpu, b"".join(kept)))
    target = os.path.join(WORK, f"{name}-thinned.bin")
    with open(target, "wb") as file:
        file.write(b"".join(parts))
    run("import", "--force", "-o", target + ".db", target)
    return target + ".db", gone


@case("diff: without every fourth emulated write exactly those are missing")
def _():
    other, gone = thinned("dom0-dirty")
    rows = compared(database_path("dom0-dirty"), other)
    equal(gone, 17509 // 4, "taken out")
    for kind, row in measures(rows, "kind").items():
        equal(row["difference"], -gone if kind == "emulate" else 0, kind)
    both = pairs(rows)
    assert all(row["mean_a"] == row["mean_b"] for row in both), "a fork has no counterpart"
    equal(sum(row["mean_a"] for row in both), 33, "forks")
    of_forks = 0
    for row in pairs(rows, "ptes"):
        of_forks += row["difference"]
        # a pCPU's fourths fall evenly: a quarter of a fork, give or take one
        assert abs(-row["difference"] - row["mean_a"] / 4) <= 1, row
    equal(of_forks, measures(rows, "mechanism", "ptes")["emulate"]["difference"], "PTEs in all")
    equal(len({row["verdict"] for row in pairs(rows, "ptes")} - {"no_spread"}), 0, "verdicts")


def varied(name, factor, copy):
    """A copy of a database whose forks last that much longer."""
    target = os.path.join(WORK, f"{name}-{copy}.db")
    shutil.copyfile(database_path(name), target)
    with sqlite3.connect(target) as db:
        db.execute("UPDATE fork SET tsc_end = tsc_start + CAST((tsc_end - tsc_start) * ? AS INTEGER)",
                   (factor,))
    db.close()
    return target


@case("diff: several captures on a side give means, spread and a verdict")
def _():
    near = [varied("dom0-dirty", f, f"a{i}") for i, f in enumerate((0.98, 1.0, 1.02))]
    like = [varied("dom0-dirty", f, f"b{i}") for i, f in enumerate((0.99, 1.0, 1.03))]
    slow = [varied("dom0-dirty", f, f"c{i}") for i, f in enumerate((1.28, 1.3, 1.32))]
    rows = compared(*near, "--", *like)
    equal({row["verdict"] for row in pairs(rows, "time")}, {"within"}, "like captures")
    equal({row["verdict"] for row in pairs(rows, "ptes")}, {"equal"}, "like captures, PTEs")
    rows = compared(*near, "--", *slow)
    times = pairs(rows, "time")
    equal({row["verdict"] for row in times}, {"beyond"}, "slower captures")
    for row in times:
        assert abs(row["percent"] - 30) < 0.1, row
        assert abs(row["deviation_a"] / row["mean_a"] - 0.02) < 0.001, row
        equal((row["captures_a"], row["captures_b"]), (3, 3), "captures")
    # one capture on a side: the other side's spread judges it
    equal({row["verdict"] for row in pairs(compared(*near, "--", like[0]), "time")}, {"within"}, "one")
    equal({row["verdict"] for row in pairs(compared(slow[0], "--", *near), "time")}, {"beyond"}, "one")
    narrow(run("diff", "--cpu-hz", "2.4G", *near, "--", *slow).stdout)


@case("diff: CSV and JSON tell the same; one domain; mistakes are told")
def _():
    args = (database_path("domu-logdirty"), database_path("dom0-shell"))
    rows = list(csv.DictReader(io.StringIO(run("diff", "--format", "csv", *args).stdout)))
    lines = [json.loads(line) for line in run("diff", "--format", "jsonl", *args).stdout.splitlines()]
    equal(len(rows), len(lines), "rows")
    for row, line in zip(rows, lines):
        equal(list(row), list(line), "columns")
        for key, value in line.items():
            equal("" if value is None else str(value) if isinstance(value, str) else float(value),
                  row[key] if isinstance(value, str) or value is None else float(row[key]), key)
    counts = measures(compared("--domain", "d1", database_path("domu-logdirty"), database_path("domu-logdirty")), "kind")
    equal(counts["page_fault"]["mean_a"], 4583, "faults of domain 1")
    run("diff", args[0], status=2)
    run("diff", args[0], "--", status=2)
    run("diff", "--", args[0], status=2)
    run("diff", *args, args[0], status=2)
    run("diff", args[0], os.path.join(WORK, "nowhere.db"), status=3)
    run("diff", args[0], unpack("dom0-shell.bin"), status=4)


def rounds_of_log(name):
    return [int(line.split()[3]) for line in open(plain(name + ".rounds.txt"), encoding="ascii")
            if line.startswith("clean")]


def episodes(target, *options):
    return [json.loads(line) for line in
            run("episodes", "--format", "jsonl", *options, target).stdout.splitlines()]


@case("episodes: domu-logdirty has one, of domain 1, with the rounds of the log")
def _():
    target = database_path("domu-logdirty")
    found = episodes(target, "--cpu-hz", "2445.4M")
    equal(len(found), 1, "episodes")
    one = found[0]
    equal([one[key] for key in ("domid", "fixups", "faults", "complete", "ended_by", "rounds")],
          [1, 5385, 2092, 1, "off", 7], "domain, fixups, faults, complete, end, rounds")
    assert abs(one["us"] - 2.95e6) < 0.01e6, one["us"]
    rounds = episodes(target, "--rounds", "--cpu-hz", "2445.4M")
    got = [row["fixups"] for row in rounds]
    equal(got[:6], [931, 1262, 713, 163, 900, 1273], "fixups of each round")
    for row, wanted in zip(got, rounds_of_log("domu-logdirty")):
        equal(row, wanted, "fixups of a round, and Xen's count")
    assert abs(got[6] - 143) <= 1 and len(got) == 7, f"after the last: {got[6:]}"
    equal(sum(got), 5385, "all fixups")
    # Xen's own count of dirty pages is that of the fixups which write; others only look written
    log = [int(line.split()[5]) for line in open(plain("domu-logdirty.rounds.txt"), encoding="ascii")
           if line.startswith("clean")]
    for row, dirty in zip(rounds, log):
        assert dirty <= row["dirtied"] <= row["pages"] <= row["fixups"], (row, dirty)
        assert abs(row["us"] - 0.5e6) < 0.02e6, row
        assert abs(row["fixups_per_second"] - row["fixups"] / row["us"] * 1e6) < 0.01, row
    equal(one["round_pages"], sum(row["dirtied"] for row in rounds), "pages of the rounds")
    assert abs(one["fixups_per_second"] - 5385 / 2.9533) < 1, one
    assert abs(one["fixups_per_dirtied"] - 5385 / one["dirtied"]) < 0.001, one


@case("episodes: distinct pages are those that SQL counts")
def _():
    db = database("domu-logdirty")
    equal(db.execute("SELECT pages, dirtied FROM episodes").fetchone(),
          db.execute("SELECT count(DISTINCT frame), count(DISTINCT CASE WHEN pte & 66 = 66 THEN frame END)"
                     " FROM events WHERE kind = 'fixup'").fetchone(), "of the episode")
    for row in db.execute("SELECT round, tsc_start, tsc_end, fixups, pages, dirtied, ended_by FROM rounds"):
        equal(db.execute(
            "SELECT count(*), count(DISTINCT frame), count(DISTINCT CASE WHEN pte & 66 = 66 THEN frame END)"
            " FROM events WHERE kind = 'fixup' AND tsc BETWEEN ? AND ?", row[1:3]).fetchone(),
            row[3:6], f"of round {row[0]}")


@case("episodes: forks inside and outside, by shape")
def _():
    db = database("domu-logdirty")
    forks = db.execute("SELECT sum(inside), sum(outside) FROM episode_forks").fetchone()
    inside = db.execute("SELECT sum(f.tsc_start <= e.tsc_end AND f.tsc_end >= e.tsc_start), count(*)"
                        " FROM forks f, episodes e WHERE f.domid = 1 AND f.complete").fetchone()
    equal(forks, (inside[0], inside[1] - inside[0]), "inside, outside")
    shapes = db.execute("SELECT inside, outside FROM episode_forks WHERE pt_pages >= 7").fetchall()
    equal(shapes, [(2, 2)] * 3, "forkdirty and forkcow twice inside and twice outside")
    text = run("episodes", "--cpu-hz", "2445.4M", database_path("domu-logdirty")).stdout
    narrow(text)
    assert "us inside" in text, text
    narrow(run("episodes", "--rounds", database_path("domu-logdirty")).stdout)


@case("episodes: columns are those of the views, CSV as JSON")
def _():
    for view, options in (("episodes", ()), ("rounds", ("--rounds",))):
        header = run("episodes", "--format", "csv", *options, database_path("domu-logdirty")).stdout.split("\n")[0]
        wanted = [d[0] for d in database("domu-logdirty").execute(f"SELECT * FROM {view}").description]
        equal(header.split(","), wanted, view)
        equal(list(episodes(database_path("domu-logdirty"), *options)[0]), wanted, view)


@case("episodes: xenfault analyze gives the same as the import, and a pipe too")
def _():
    target = os.path.join(WORK, "again.db")
    tables = ("episode", "episode_round")
    wanted = {t: database("domu-logdirty").execute(f"SELECT * FROM {t}").fetchall() for t in tables}
    shutil.copyfile(database_path("domu-logdirty"), target)
    run("analyze", target)
    with open(unpack("domu-logdirty.bin"), "rb") as file:
        run("import", "--force", "-o", target + "2", "-", stdin=file)
    for name in (target, target + "2"):
        with sqlite3.connect(name) as db:
            equal({t: db.execute(f"SELECT * FROM {t}").fetchall() for t in tables}, wanted, name)


for trace in ("pvh-shadow", "pvh-shadow-hvm", "dom0-dirty", "dom0-lossy", "wtpt-smp", "emulate"):
    @case(f"episodes: none in {trace}")
    def _(trace=trace):
        equal(episodes(database_path(trace)), [], "episodes")


class Guests:
    """dom0 on pCPU 0, PV guests on the pCPUs after it; frames and addresses count up."""

    def __init__(self, shadow=True):
        self.trace, self.shadow, self.n = synth.Trace(), shadow, 0
        self.trace.switch(0, synth.Vcpu(0, 0))
        for pcpu in (1, 2):
            self.trace.switch(pcpu, synth.Vcpu(pcpu, 0))

    def fixups(self, pcpu, n, frames=None, pte=0x67):
        for i in range(n):
            self.n += 1
            va = 0x7F0000000000 + (self.n << 12)
            frame = 0x1000 * pcpu + (i % frames if frames else self.n)
            if self.shadow:
                self.trace.shadow(pcpu, synth.FIXUP, 4, g=frame << 12 | pte, va=va, flags=0)
            self.trace.paging_fixup(pcpu, va, 0xFFFFFFFF81000000)

    def faults(self, pcpu, n, inside=False):
        for _ in range(n):
            self.n += 1
            va = 0x7F0000000000 + (self.n << 12)
            if inside:
                self.trace.shadow(pcpu, synth.NOT_SHADOW, 4, g=0, va=va, flags=3)
            self.trace.page_fault(pcpu, va, 6, 0x400000)
            self.trace.hypercall(pcpu, 23)

    def domctl(self):
        self.trace.hypercall(0, 36)

    def found(self):
        """(episodes, rounds) as tuples."""
        name = os.path.join(WORK, "guests.bin")
        with open(name, "wb") as file:
            file.write(self.trace.bytes())
        run("import", "--force", "-o", name + ".db", name)
        with sqlite3.connect(name + ".db") as db:
            return (db.execute("SELECT domid, fixups, pages, dirtied, rounds, complete, ended_by"
                               " FROM episodes ORDER BY 1, tsc_start").fetchall(),
                    db.execute("SELECT domid, round, fixups, pages, dirtied, ended_by FROM rounds"
                               " ORDER BY episode_id, round").fetchall())


@case("episodes: two of one domain, one of another at the same time")
def _():
    guests = Guests()
    for pcpu in (1, 2):
        guests.faults(pcpu, 3)
    guests.domctl()
    guests.fixups(1, 30, frames=10)
    guests.fixups(2, 7)
    guests.domctl()
    guests.fixups(1, 20, frames=20)
    guests.faults(1, 5, inside=True)
    guests.fixups(2, 2, pte=0x25)
    guests.domctl()
    guests.fixups(1, 1, frames=1)
    guests.faults(1, 10)
    guests.faults(2, 40)
    guests.domctl()
    guests.fixups(1, 4)
    guests.domctl()
    guests.faults(1, 10)
    got, rounds = guests.found()
    equal(got, [(1, 51, 20, 20, 2, 1, "off"), (1, 4, 4, 4, 1, 1, "off"),
                (2, 9, 9, 7, 2, 1, "off")], "episodes")
    equal(sorted(rounds), sorted([
        (1, 1, 30, 10, 10, "domctl"), (1, 2, 21, 20, 20, "off"), (1, 1, 4, 4, 4, "off"),
        (2, 1, 7, 7, 7, "domctl"), (2, 2, 2, 2, 0, "off")]), "rounds")


@case("episodes: cut by the capture's ends or a loss, ended with the domain, without SHADOW records")
def _():
    guests = Guests()
    guests.fixups(1, 5)
    guests.faults(1, 10)
    guests.faults(2, 1)
    guests.fixups(2, 6)
    guests.domctl()
    guests.fixups(2, 1)
    got, rounds = guests.found()
    equal(got, [(1, 5, 5, 5, 1, 0, "off"), (2, 7, 7, 7, 2, 0, "end")], "cut by the capture")
    equal(rounds[1:], [(2, 1, 6, 6, 6, "domctl"), (2, 2, 1, 1, 1, "end")], "rounds")
    guests = Guests()
    guests.faults(1, 1)
    guests.fixups(1, 5)
    guests.trace.lost(1, 10, guests.trace.now, synth.Vcpu(1, 0))
    guests.trace.switch(1, synth.Vcpu(1, 0))
    guests.fixups(1, 5)
    guests.faults(1, 10)
    equal(guests.found()[0], [(1, 10, 10, 10, 1, 0, "off")], "a loss inside")
    guests = Guests()
    guests.faults(1, 1)
    guests.fixups(1, 5)
    guests.domctl()
    guests.trace.domain(0, 1, False)
    guests.faults(2, 1)
    equal(guests.found()[0], [(1, 5, 5, 5, 1, 1, "removed")], "the domain ends in it")
    guests = Guests(shadow=False)
    guests.faults(1, 10)
    guests.fixups(1, 5)
    guests.faults(1, 20)
    guests.fixups(1, 5)
    guests.faults(1, 2000)
    equal(guests.found()[0], [(1, 10, None, None, 1, 1, "off")], "without SHADOW records")


@case("episodes: what belongs to no PV domain, and mistakes")
def _():
    guests = Guests()
    for _ in range(20):
        guests.trace.shadow(1, synth.FIXUP, 4, g=0x123067, va=0x1000, flags=0)
    equal(guests.found()[0], [], "fixups of a domain without PV records")
    run("episodes", "--domain", "d1v0", database_path("domu-logdirty"), status=2)
    equal(episodes(database_path("domu-logdirty"), "--domain", "d0"), [], "another domain")
    equal(len(episodes(database_path("domu-logdirty"), "--domain", "d1")), 1, "this domain")
    equal(len(episodes(database_path("domu-logdirty"), "--rounds", "--limit", "2")), 2, "limit")
    equal(len(episodes(database_path("domu-logdirty"), "--rounds", "--from", "147000000000c")), 4, "from")


finish()
