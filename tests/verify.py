#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""xenfault verify: captures against the log of the guest's kernel.  In: traces, logs.  Out: cases."""
import csv
import io
import json
import os
import re
import shutil
import sqlite3

from lib import (WORK, case, check, database, database_path, equal, finish, run, unpack)


def summary(target, log, *options, **more):
    rows = run("verify", "--format", "jsonl", "--log", log, *options, target, **more).stdout.splitlines()
    return {row["subject"]: row for row in map(json.loads, rows)}


def differences(target, log, *options):
    text = run("verify", "--format", "csv", "--part", "differences", "--log", log, *options, target).stdout
    return list(csv.DictReader(io.StringIO(text)))


def exact(row, n, name):
    equal([row[key] for key in ("capture", "log", "agree", "found")], [n] * 4, name)


def lines_of(name):
    with open(unpack(name + ".ftrace"), encoding="ascii") as file:
        return file.read().splitlines(keepends=True)


def changed(name, lines):
    path = os.path.join(WORK, name)
    with open(path, "w", encoding="ascii") as file:
        file.writelines(lines)
    return path


for trace, faults, writes, forks in (("edge-one", 1126, 1060, 4), ("edge-two", 1054, 837, 7),
                                     ("reclaim", 571, 33, 4), ("redis-first", 218, 2025, 2),
                                     ("redis-second", 173, 98, 1)):
    @case(f"{trace}: every fault, every write, every fork by the kernel's own account")
    def _(trace=trace, faults=faults, writes=writes, forks=forks):
        found = summary(database_path(trace), unpack(trace + ".ftrace"))
        exact(found["faults"], faults, "faults")
        exact(found["writes"], writes, "writes")
        exact(found["forks"], forks, "forks")
        check(found["va_bases"]["log"] > 10, "sequences")


for trace, faults, forks in (("dom0-shell", 6330, 95), ("dom0-dirty", 18112, 32), ("dom0-crowd", 6066, 68)):
    @case(f"{trace}: without probes forks are matched as wholes")
    def _(trace=trace, faults=faults, forks=forks):
        found = summary(database_path(trace), unpack(trace + ".ftrace"))
        exact(found["faults"], faults, "faults")
        exact(found["forks"], forks, "forks")
        equal(sorted(found), ["faults", "forks"], "subjects")


@case("copied: what the kernel's log has inside the copying, NULL where another task ran too")
def _():
    # the log: 2,172 entries by mmu_update inside copy_page_range(); the process had 2,166 resident pages
    (copied, preempted), = database("redis-first").rows("SELECT copied, preempted FROM forks WHERE ptes = 2014")
    check(abs(copied - 2172) <= 0.01 * 2172 and abs(copied - 2166) <= 0.01 * 2166, f"{copied} copied")
    equal(preempted, 0, "preempted")
    equal(database("redis-second").rows("SELECT copied, preempted FROM forks WHERE ptes = 98"), [(None, 1)],
          "the second, which another task interrupts")
    for trace in ("redis-first", "reclaim", "edge-one", "dom0-dirty", "dom0-crowd"):
        rows = database(trace).rows("SELECT ptes, copied, preempted, ended_by, complete FROM forks")
        check(any(copied for _, copied, *_ in rows), f"{trace}: none known")
        for ptes, copied, preempted, ended_by, complete in rows:
            check(copied is None or (copied >= ptes and not preempted and ended_by == "pin" and complete),
                  f"{trace}: {copied} copied, {ptes} protected, {ended_by}, preempted {preempted}")


@case("dom0-smp: threads are differences, as the log cannot tell them, and it is said")
def _():
    result = run("verify", "--log", unpack("dom0-smp.ftrace"), database_path("dom0-smp"))
    found = differences(database_path("dom0-smp"), unpack("dom0-smp.ftrace"))
    equal({(row["pid"], row["difference"]) for row in found},
          {("314", "not in the capture"), ("321", "not in the capture")}, "differences")
    equal(len(found), 4, "differences")
    check("task_newtask" in result.stderr, "the remark")


@case("a fault that the log lacks, and one that the capture lacks, are found with their records")
def _():
    lines = lines_of("edge-one")
    at = [i for i, line in enumerate(lines) if "page_fault_user" in line][600:602]
    tsc = int(re.search(r" (\d+): page_fault", lines[at[0]])[1])
    one = re.search(r"address=0x(\S+)", lines[at[1]])
    lines[at[1]] = lines[at[1]].replace(one[0], "address=0x123456789000")
    found = differences(database_path("edge-one"), changed("faults", lines[:at[0]] + lines[at[0] + 1:]))
    faults = [row for row in found if row["subject"] == "faults"]
    equal(sorted(row["difference"] for row in faults),
          ["not in the capture", "not in the log", "not in the log"], "differences")
    first = min((row for row in faults if row["difference"] == "not in the log"), key=lambda row: int(row["tsc"]))
    check(0 < tsc - int(first["tsc"]) < 2_000_000, f"{first} stands before its line at {tsc}")
    check(int(first["first_event"]) > 0 and first["vcpu"], "its event")
    check(any("0x123456789000" in row["detail"] for row in faults), "the changed address")


def mutant(change):
    """A database of edge-one in which the analyzer's result is another one."""
    path = os.path.join(WORK, "mutant.db")
    shutil.copy(database_path("edge-one"), path)
    with sqlite3.connect(path) as db:
        db.execute(change)
    db.close()
    return path


@case("forks that are missing, false, split or joined are found, each as what it is")
def _():
    log = unpack("edge-one.ftrace")
    for change, what, capture, agree, found in (
            ("UPDATE sequence SET fork_id = NULL WHERE fork_id = 2", "not in the capture's forks", 3, 3, 3),
            ("UPDATE sequence SET fork_id = 1 WHERE fork_id = 2", "holds writes of more than one fork", 3, 2, 2),
            ("UPDATE sequence SET fork_id = 2 WHERE sequence_id IN (SELECT sequence_id FROM sequence"
             " WHERE fork_id = 1 LIMIT 1)", "holds writes of more than one fork", 4, 2, 2),
            ("UPDATE sequence SET fork_id = NULL WHERE sequence_id IN (SELECT sequence_id FROM sequence"
             " WHERE fork_id = 1 LIMIT 1)", "not all of a fork", 4, 3, 3)):
        target = mutant(change)
        row = summary(target, log)["forks"]
        equal((row["capture"], row["agree"], row["found"], row["log"]), (capture, agree, found, 4), change)
        check(any(row["difference"] == what for row in differences(target, log)), f"{change}: {what}")


@case("a wrong va_base and wrong COW counts are found")
def _():
    log = unpack("edge-one.ftrace")
    base = summary(database_path("edge-one"), log)
    target = mutant("UPDATE sequence SET va_base = 0x666000000000, cow_faults = cow_faults + 1"
                    " WHERE fork_id = 2 AND va_base IS NOT NULL")
    row = summary(target, log)
    check(row["va_bases"]["agree"] < base["va_bases"]["agree"], "va_base")
    check(any("0x666000000000" in row["detail"] for row in differences(target, log)), "the address")
    check(row["cow_faults"]["capture"] - row["cow_faults"]["agree"]
          > base["cow_faults"]["capture"] - base["cow_faults"]["agree"], "COW")


@case("a log of another boot, another clock, another guest, or none is refused by name")
def _():
    target, lines = database_path("edge-one"), lines_of("edge-one")
    early = [re.sub(r" (\d{12}): ", lambda m: f" {int(m[1]) // 7}: ", line) for line in lines]
    seconds = [re.sub(r" (\d{6})(\d{6}): ", r" \1.\2: ", line) for line in lines]
    other = [re.sub(r"address=0x(\S+)", r"address=0x7\g<1>1", line) for line in lines]
    for name, text, wanted in (("early", early, "no time in common"), ("seconds", seconds, "x86-tsc"),
                               ("other", other, "another guest"), ("empty", [], "not one event"),
                               ("prose", ["It is a truth universally acknowledged\n"] * 5000, "not one event"),
                               ("binary", ["\x17\x08\x44tracing" + "x" * 100], "trace-cmd report")):
        result = run("verify", "--log", changed(name, text), target, status=4)
        check(wanted in result.stderr, f"{name}: {result.stderr}")
    run("verify", "--log", os.path.join(WORK, "nothing-here"), target, status=3)
    run("verify", "--log", WORK, target, status=3)
    check("--log" in run("verify", target, status=2).stderr, "without --log")
    check("no time in common" in run("verify", "--log", unpack("edge-two.ftrace"), target, status=4).stderr,
          "the other capture's log")


@case("a log that is cut, has strange lines, or comes through a pipe says what it says")
def _():
    target, lines = database_path("edge-one"), lines_of("edge-one")
    half = lines[:len(lines) // 2] + [lines[len(lines) // 2][:40]]
    result = run("verify", "--log", changed("half", half), target)
    check("1 lines are no events" in result.stderr, result.stderr)
    row = summary(target, changed("half", half))
    equal(row["faults"]["agree"], row["faults"]["capture"], "faults of the first half")
    check(row["faults"]["unjudged"] > 100 and row["faults"]["agree"] > 100, "what the log cannot tell")
    strange = lines[:50] + ["CPU:0 [LOST 12 EVENTS]\n", "x" * 100_000 + "\n", "a-1 [9999999] d 1: b: c\n",
                            " a [000] b-c-7    [000] d.... 745783000000: tracing_mark_write: x-1 [002] y\n",
                            " z-99999999999999999999 [000] d.... 1: page_fault_user: address=0x1\n", "\0\n"]
    result = run("verify", "--log", changed("strange", strange + lines[50:]), target)
    check("lost events of it (12" in result.stderr, result.stderr)
    check("4 lines are no events, the first is line 52" in result.stderr, result.stderr)
    equal(summary(target, "-", input="".join(lines)), summary(target, unpack("edge-one.ftrace")), "a pipe")


@case("the domain is found by the log's faults, or given")
def _():
    target, log = database_path("domu-logdirty"), unpack("dom0-smp.ftrace")
    check("no time in common" in run("verify", "--log", log, target, status=4).stderr, "another capture")
    found = summary(database_path("edge-one"), unpack("edge-one.ftrace"), "--domain", "d3")
    equal(found["faults"]["agree"], 0, "faults of a domain that is not there")


@case("loss: what the capture cannot know is not held against it")
def _():
    row = summary(database_path("edge-one"), unpack("edge-one.ftrace"))
    path = mutant("INSERT INTO loss (pcpu, tsc_first, tsc_last, lost) SELECT 0, min(tsc), max(tsc), 5 FROM event"
                  " WHERE event_id BETWEEN 500 AND 1500")
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM event WHERE event_id BETWEEN 501 AND 1499")
    db.close()
    lossy = summary(path, unpack("edge-one.ftrace"))
    check(lossy["faults"]["log"] < row["faults"]["log"], "faults")
    equal(lossy["faults"]["found"], lossy["faults"]["log"], "recall outside of the loss")


finish()
