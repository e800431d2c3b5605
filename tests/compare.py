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
import subprocess

from lib import WORK, XENFAULT, case, database, equal, finish, plain, run, unpack
import synth

MEASURES = ("count", "time", "pt_pages", "ptes", "ptes_per_page", "faults", "unhooks",
            "emulations", "flushes", "spurious", "cow_faults")


def path(name):
    """The database of a recorded trace."""
    database(name).close()
    return os.path.join(WORK, name + ".db")


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
        rows = compared(path(trace), path(trace))
        equal({row["verdict"] for row in rows}, {"equal"}, "verdicts")
        equal({row["difference"] for row in rows}, {0.0}, "differences")
        forks = database(trace).execute("SELECT count(*) FROM forks").fetchone()[0]
        equal(sum(row["mean_a"] for row in pairs(rows)), forks, "forks")
        equal({row["measure"] for row in pairs(rows)} <= set(MEASURES), True, "measures")
        text = run("diff", path(trace), path(trace)).stdout
        equal(text.splitlines()[-1], "no difference", "last line")


@case("diff: dom0-dirty against dom0-forks runs through, equal shapes stand beside each other")
def _():
    rows = compared(path("dom0-dirty"), path("dom0-forks"))
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
    text = run("diff", "--cpu-hz", "2445.4M", path("dom0-dirty"), path("dom0-forks")).stdout
    narrow(text)
    assert "no spread" in text, text


@case("diff: wtpt-up against emulate shows where the mechanisms cross")
def _():
    rows = pairs(compared(path("wtpt-up"), path("emulate")), "time")
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
    text = run("diff", path("wtpt-up"), path("emulate")).stdout
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
    rows = compared(path("dom0-dirty"), other)
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
    shutil.copyfile(path(name), target)
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
    args = (path("domu-logdirty"), path("dom0-shell"))
    rows = list(csv.DictReader(io.StringIO(run("diff", "--format", "csv", *args).stdout)))
    lines = [json.loads(line) for line in run("diff", "--format", "jsonl", *args).stdout.splitlines()]
    equal(len(rows), len(lines), "rows")
    for row, line in zip(rows, lines):
        equal(list(row), list(line), "columns")
        for key, value in line.items():
            equal("" if value is None else str(value) if isinstance(value, str) else float(value),
                  row[key] if isinstance(value, str) or value is None else float(row[key]), key)
    counts = measures(compared("--domain", "d1", path("domu-logdirty"), path("domu-logdirty")), "kind")
    equal(counts["page_fault"]["mean_a"], 4583, "faults of domain 1")
    run("diff", args[0], status=2)
    run("diff", args[0], "--", status=2)
    run("diff", "--", args[0], status=2)
    run("diff", *args, args[0], status=2)
    run("diff", args[0], os.path.join(WORK, "nowhere.db"), status=3)
    run("diff", args[0], unpack("dom0-shell.bin"), status=4)


finish()
