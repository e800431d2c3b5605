#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Log-dirty mode: rounds against Xen's own bitmap, fault by fault.  In: recorded and made traces.  Out: cases."""
import json
import os
import re
import subprocess

import synth
from lib import WORK, case, check, database, database_path, equal, finish, opened, packed, plain, run, signed

DOM, OTHER = synth.Vcpu(1, 0), synth.Vcpu(1, 1)
NPF_EXIT, HLT_EXIT, VMX_MISCONFIG, VMX_VIOLATION = 0x400, 0x78, 49, 48
RIP = 0xFFFFFFFF81000000


def bitmap(name):
    """What each CLEAN found: round from 1 -> set of gfns."""
    text = subprocess.run(["zstd", "-dc", packed(name + ".gfns")], capture_output=True, check=True).stdout
    rounds = {}
    for line in text.decode().splitlines():
        number, gfn = line.split()
        rounds.setdefault(int(number) + 1, set()).add(int(gfn, 16))
    return rounds


@case("pvh-hap: the pages of each round are the bitmap that Xen gave, gfn for gfn")
def _():
    db, wanted = database("pvh-hap"), bitmap("pvh-hap")
    equal(db.rows("SELECT domid, mechanism, sure, rounds, complete, ended_by, unread FROM episodes"),
          [(1, "hap", "pause", 5, 1, "off", 42)], "episode")
    equal(db.rows("SELECT round, fixups, pages, dirtied, mechanism, sure FROM rounds ORDER BY round"),
          [(n, *[len(wanted[n])] * 3, "hap", "pause") for n in sorted(wanted)], "rounds")
    equal([len(wanted[n]) for n in sorted(wanted)], [25, 1300, 95, 4, 120], "the log")
    for number, gfns in wanted.items():
        equal({g for (g,) in db.rows("SELECT gfn FROM dirty_rounds WHERE round = ?", number)}, gfns,
              f"round {number}")
    for row in db.dicts("SELECT * FROM dirty"):
        of = sorted(n for n, gfns in wanted.items() if row["gfn"] in gfns)
        equal((row["rounds"], row["first_round"], row["last_round"]), (len(of), of[0], of[-1]), row["gfn"])
    equal(db.one("SELECT count(*) FROM dirty"), len(set.union(*wanted.values())), "pages")


@case("pvh-hap: each round ends in the CLEAN that read it")
def _():
    with open(plain("pvh-hap.rounds.txt"), encoding="ascii") as file:
        cleans = [tuple(map(int, m)) for m in re.findall(r"peek tsc (\d+)\.\..*clean tsc \d+\.\.(\d+)", file.read())]
    for (end,), (before, after) in zip(database("pvh-hap").rows("SELECT tsc_end FROM rounds ORDER BY round"), cleans):
        check(before < end < after, f"{end} is not between {before} and {after}")


@case("pvh-hap: what each nested page fault was, when and where from")
def _():
    db = database("pvh-hap")
    equal(dict(db.rows("SELECT what, count(*) FROM npfs GROUP BY 1")), {"dirty": 1586, "mmio": 3}, "names")
    equal(db.one("SELECT count(*) FROM npfs WHERE rip IS NULL OR domid <> 1 OR vcpu <> 0"
                 " OR cycles <= 0 OR gfn <> gpa >> 12 OR tsc IS NULL"), 0, "without rip, owner or time")
    equal(db.kinds()["p2m"], 1586, "entries set")
    # the vCPU was preempted in the exit, so that its length is not that of the fault
    equal(db.one("SELECT count(*) FROM npfs WHERE cycles IS NULL"), 26, "without a length")
    check(db.kinds()["recalc"] > 2000, "recalculations")
    equal(db.one("SELECT sum(npfs) FROM mmio"), 3, "accesses to devices")
    costs = db.dicts("SELECT * FROM episode_vcpus")
    equal([(c["vcpu"], c["fixups"]) for c in costs], [(0, 1586)], "vCPUs")
    check(0 < costs[0]["recalc_cycles"] < costs[0]["cycles"] and costs[0]["paused"] > 0, costs)


@case("pvh-hap-migrate: one episode of domain 1, five rounds, no page twice in one")
def _():
    db = database("pvh-hap-migrate")
    equal(db.rows("SELECT domid, mechanism, rounds, fixups, pages, unread, complete, ended_by FROM episodes"),
          [(1, "hap", 5, 3190, 1786, 0, 1, "removed")], "episode")
    equal([n for (n,) in db.rows("SELECT fixups FROM rounds ORDER BY round")], [1548, 360, 258, 135, 889], "rounds")
    equal(db.one("SELECT count(*) FROM (SELECT 1 FROM dirty_rounds GROUP BY round, gfn HAVING count(*) > 1)"), 0,
          "pages twice in a round")
    equal(db.rows("SELECT count(*), max(rounds) FROM dirty"), [(1786, 5)], "pages")
    equal(db.one("SELECT count(*) FROM npfs"), 3190, "faults")


@case("domu-migrate: five rounds with the fixups that Xen counted, all of domain 1")
def _():
    db = database("domu-migrate")
    with open(plain("domu-migrate.rounds.txt"), encoding="ascii") as file:
        log = [tuple(map(int, m)) for m in re.findall(r"faults (\d+) dirty (\d+) tsc (\d+)", file.read())]
    rounds = db.rows("SELECT fixups, dirtied, tsc_end FROM rounds ORDER BY round")
    # the recording begins inside the first round
    equal([r[0] for r in rounds][1:], [faults for faults, _, _ in log][1:], "fixups")
    equal(rounds[0][0], 128, "the first")
    for (_, dirtied, end), (_, dirty, began) in list(zip(rounds, log))[1:]:
        check(dirty <= dirtied < 1.1 * dirty and abs(end - began) < 10_000_000, (dirtied, dirty, end, began))
    equal(db.rows("SELECT domid, mechanism, sure, complete FROM episodes"), [(1, "shadow", "pause", 0)], "episode")
    equal(db.rows("SELECT DISTINCT domid FROM events WHERE kind = 'fixup'"), [(1,)], "whose fixups")


@case("pvh-hap-plain: no list is empty without a word why")
def _():
    for command, word in (("forks", "no\ntrace has its forks"), ("pages", "no\ntrace has its forks"),
                          ("episodes", "PML"), ("dirty", "PML")):
        text = run(command, database_path("pvh-hap-plain")).stderr
        check("nested paging (HAP)" in text and word in text, f"{command}: {text}")
    for command in ("forks", "episodes"):
        check("HAP" not in run(command, database_path("domu-logdirty")).stderr, f"{command} of a PV guest")


@case("dirty: the working set, columns of the view, filters and mistakes")
def _():
    path = database_path("pvh-hap-migrate")
    rows = [json.loads(line) for line in run("dirty", "--format", "jsonl", path).stdout.splitlines()]
    db = database("pvh-hap-migrate")
    equal(list(rows[0]), [c[0] for c in db.execute("SELECT * FROM dirty").description], "columns")
    equal(len(rows), 1786, "rows")
    equal(len(run("dirty", "--min-rounds", 5, "--format", "csv", path).stdout.splitlines()), 64, "--min-rounds")
    check(re.search(r"^ +1 d1 +5 +63 ", run("dirty", "--limit", 1, path).stdout, re.M), "pages by rounds")
    run("dirty", "--episode", 0, path, status=2)
    run("dirty", "--domain", "d1v0", path, status=2)
    equal(run("dirty", "--episode", 2, "--format", "jsonl", path).stdout, "", "no such episode")


@case("episodes --link: what a link of so many MB/s makes of it")
def _():
    path = database_path("pvh-hap-migrate")
    run("episodes", "--link", 10, path, status=2)
    text = run("episodes", "--link", 10, "--cpu-hz", "2.4454G", path).stdout
    check("it converges, round 3 is the last" in text, text)
    text = run("episodes", "--link", 1, "--cpu-hz", "2.4454G", path).stdout
    check("does not converge" in text, text)
    run("episodes", "--link", 0, path, status=2)


class Hap:
    """dom0 on pCPU 0, a guest with two vCPUs on pCPUs 1 and 2."""

    def __init__(self, intel=False, xen=(4, 17), sched=True):
        self.trace, self.intel, self.sched = synth.Trace(xen=xen), intel, sched
        if sched:
            for pcpu, who in ((0, synth.Vcpu(0, 0)), (1, DOM), (2, OTHER)):
                self.trace.switch(pcpu, who)

    def entry(self, gfn, pcpu=1, order=0, domid=1):
        self.trace.add(pcpu, 0x10F004, (*synth.pair(gfn), *synth.pair(gfn + 7), 0, domid | order << 16), tsc=False)

    def npf(self, gfn, pcpu=1, type_=0, qualification=0, set_=True, entered=True):
        t = self.trace
        if self.intel and not qualification:
            type_, qualification = 2, 0x18A
        t.vmexit(pcpu, VMX_VIOLATION if self.intel else NPF_EXIT, RIP, svm=not self.intel)
        if set_ and not self.intel:
            self.entry(gfn, pcpu)
        t.add(pcpu, 0x82021, (*synth.pair(gfn << 12 | 0x123), *synth.pair(gfn + 7), qualification, type_),
              tsc=False)
        if entered:
            t.add(pcpu, 0x81001)

    def recalc(self, n=1, pcpu=1):
        for _ in range(n):
            self.trace.vmexit(pcpu, VMX_MISCONFIG if self.intel else NPF_EXIT, RIP, svm=not self.intel)
            self.trace.add(pcpu, 0x81001)

    def dirty(self, gfns, pcpu=1):
        for gfn in gfns:
            self.recalc(pcpu=pcpu)
            self.npf(gfn, pcpu)

    def pause(self, vcpus=(0, 1), call=36):
        self.trace.hypercall(0, call)
        if self.sched:
            for vcpu in vcpus:
                self.trace.add(0, 0x28003, (1, vcpu))
        self.trace.hypercall(0, 23)

    def found(self):
        name = os.path.join(WORK, "hap.bin")
        with open(name, "wb") as file:
            file.write(self.trace.bytes())
        run("import", "--force", "-o", name + ".db", name)
        db = opened(name + ".db")
        equal(db.one("SELECT unknown_records FROM trace"), 0, "unknown records")
        return db

    def rounds(self):
        return self.found().rows("SELECT pages, ended_by, sure FROM rounds ORDER BY episode_id, round")


for intel in (False, True):
    @case(f"hap: rounds of {'Intel without PML' if intel else 'AMD'}; a PEEK and other pauses bound none")
    def _(intel=intel):
        guest = Hap(intel)
        guest.recalc(3)
        guest.pause()  # ENABLE
        guest.dirty(range(10))
        guest.pause((0,))  # one vCPU's context is read
        guest.dirty(range(10, 15))
        guest.pause()  # PEEK
        guest.dirty(range(15, 20), pcpu=2)
        guest.pause(call=12)  # no domctl
        guest.dirty(range(20, 22))
        guest.pause()  # CLEAN
        guest.dirty(range(100, 103))
        guest.dirty(range(5))
        guest.pause()  # PEEK and CLEAN
        guest.pause()
        guest.dirty(range(3))
        guest.pause()  # OFF
        guest.recalc(40)
        equal(guest.rounds(), [(22, "domctl", "pause"), (8, "domctl", "pause")], "rounds")
        equal(guest.found().rows("SELECT unread, complete, ended_by FROM episodes"), [(3, 1, "off")], "episode")


@case("hap: without pauses in the trace a repeated page bounds a round; the first is cut")
def _():
    guest = Hap(sched=False)
    for gfns in (range(10), range(4, 7), range(3, 6)):
        guest.dirty(gfns)
    equal(guest.rounds(), [(10, "domctl", "repeat"), (4, "domctl", "repeat"), (2, "end", "repeat")], "rounds")
    equal(guest.found().rows("SELECT complete, sure, mechanism FROM episodes"), [(0, "repeat", "hap")], "episode")


@case("hap: what was under way when the domain was paused belongs to the round before")
def _():
    guest = Hap()
    t = guest.trace
    guest.pause()
    guest.dirty([1, 2])
    t.hypercall(0, 36)
    t.add(0, 0x28003, (1, 0))
    guest.npf(3, pcpu=2)
    t.add(0, 0x28003, (1, 1))
    guest.npf(4, pcpu=2)
    t.runstate(2, OTHER, synth.RUNNING, synth.OFFLINE)
    t.runstate(0, OTHER, synth.OFFLINE, synth.RUNNABLE)
    t.switch(2, OTHER)
    guest.npf(1, pcpu=2)
    guest.npf(5, pcpu=2)
    guest.pause()
    guest.trace.domain(0, 1, False)
    equal(guest.rounds(), [(4, "domctl", "pause"), (2, "domctl", "pause")], "rounds")


@case("hap: nested page faults by name, and exits of 4.19 and later")
def _():
    for xen in ((4, 17), (4, 22)):
        guest = Hap(xen=xen)
        guest.npf(1)
        guest.npf(2, set_=False)  # another vCPU was here first
        guest.npf(3, type_=4, set_=False)
        guest.npf(4, type_=5, set_=False)
        guest.trace.vmexit(1, NPF_EXIT, RIP, svm=True)
        guest.trace.add(1, 0x10F010, (*synth.pair(5), *synth.pair(6), 1, 0), tsc=False)
        guest.trace.add(1, 0x10F004, (*synth.pair(5), *synth.pair(6), 0, 1), tsc=False)
        guest.trace.add(1, 0x82021, (*synth.pair(5 << 12), *synth.pair(6), 0, 0), tsc=False)
        guest.trace.add(1, 0x81001)
        guest.npf(6, entered=False)
        guest.trace.switch(1, synth.Vcpu(synth.IDLE, 1))
        db = guest.found()
        equal(db.rows("SELECT gfn, what, rip, cycles, domid, vcpu FROM npfs ORDER BY event_id"),
              [(gfn, what, signed(RIP), cycles, 1, 0) for gfn, what, cycles in (
                  (1, "dirty", 6000), (2, "other", 4000), (3, "mmio", 4000), (4, "mmio", 4000),
                  (5, "populate", 8000), (6, "dirty", None))], f"{xen}")
    guest = Hap(intel=True)
    guest.npf(1)
    guest.npf(2, type_=0, qualification=0x18A)  # a write to what is read-only and plain memory
    guest.npf(3, type_=0, qualification=0x1BA)  # to what is writable by now
    guest.npf(4, type_=4, qualification=0x181)
    guest.npf(5, type_=6, qualification=0x182)
    equal(guest.found().rows("SELECT gfn, what FROM npfs ORDER BY 1"),
          [(1, "dirty"), (2, "access"), (3, "other"), (4, "mmio"), (5, "populate")], "Intel")


@case("hap: which write split an entry of 2 MiB, where the capture has the record that set it")
def _():
    guest = Hap()
    guest.entry(0x400, 0, order=9)
    guest.entry(0x40000, 0, order=18)  # 1 GiB
    guest.entry(0x600, 0, order=9, domid=3)
    guest.pause()
    guest.dirty([0x401, 0x402, 0x601, 0x40000 + 5, 0x40000 + 512, 0x80000])
    guest.pause()
    guest.dirty([0x402, 0x5FF])
    guest.pause()
    db = guest.found()
    split = {0x401, 0x40000 + 5, 0x40000 + 512}
    equal({gfn for (gfn,) in db.rows("SELECT gfn FROM dirty WHERE split")}, split, "dirty")
    equal({gfn for (gfn,) in db.rows("SELECT gfn FROM dirty_rounds WHERE split AND round = 1")}, split, "its round")
    equal(db.one("SELECT count(*) FROM dirty_rounds WHERE split"), 3, "splits")


def heat(db, episode, columns):
    """Shares of the pages at each place that were dirtied in each round: rows of columns."""
    pages = db.rows("SELECT round, gfn FROM dirty_rounds WHERE episode_id = ? AND round > 0", episode)
    regions = sorted({gfn // 512 for _, gfn in pages})
    rank = {region: i for i, region in enumerate(regions)}
    rows = [[0.0] * columns for _ in range(max(number for number, _ in pages))]
    for number, gfn in pages:
        place = rank[gfn // 512] * 512 + gfn % 512
        rows[number - 1][place * columns // (512 * len(regions))] += columns / (512 * len(regions))
    return rows


@case("pvh-hap, domu-migrate: the report's heat map is the pages of each round")
def _():
    for name in ("pvh-hap", "pvh-hap-migrate", "domu-migrate"):
        html = run("report", database_path(name)).stdout
        wanted = [[min(5, 1 + int(share * 4.999)) if share else 0 for share in row]
                  for row in heat(database(name), 1, 128)]
        got = [[0] * 128 for _ in wanted]
        for x, width, y, dark in re.findall(r'class="heat" x="([\d.]+)%" width="([\d.]+)%" y="(\d+)" height="14"'
                                            r' fill-opacity="([\d.]+)"', html):
            first, n = round(float(x) * 1.28), round(float(width) * 1.28)
            got[int(y) // 16][first:first + n] = [round(float(dark) * 5)] * n
        equal(got, wanted, name)
        equal(html.count("<figcaption>Episode 1:"), 1, "figures")
    check("PML" in run("report", database_path("pvh-hap-plain")).stdout, "the report says what is missing")


@case("pvh-hap-migrate: the screen's heat map too, with the rounds' pages beside it")
def _():
    text = run("tui", "--ascii", "--size", "142x50", "--script", "7", database_path("pvh-hap-migrate")).stdout
    lines = re.findall(r"^ +(\d+) +(\d+) ([.1-8#]{127})$", text, re.M)
    db = database("pvh-hap-migrate")
    equal([(int(n), int(pages)) for n, pages, _ in lines], db.rows("SELECT round, pages FROM rounds ORDER BY 1"), "rounds")
    equal([["." if c == "." else "#" for c in row] for _, _, row in lines],
          [["#" if share else "." for share in row] for row in heat(db, 1, 127)], "where")
    check("of 1,786" in text and "63 of them in every round" in text, text)
    plain = run("tui", "--ascii", "--script", "7", database_path("pvh-hap-plain")).stdout
    check("nested paging (HAP)" in plain and "PML" in plain, plain)


@case("shadow: a fixup in a context switch is the guest's that runs on shadows")
def _():
    trace = synth.Trace()
    xen = 0xFFFF82D040316000
    trace.switch(0, synth.Vcpu(0, 0))
    trace.hypercall(0, 23)
    trace.switch(0, DOM)
    trace.page_fault(0, 0x1000, 6, 0x400000)
    trace.paging_fixup(0, 0x7F0000001000, 0x400000)
    trace.switch(0, synth.Vcpu(0, 0))
    trace.paging_fixup(0, 0xFFFF888009800000, xen)  # the outgoing one's
    trace.hypercall(0, 23)
    trace.paging_fixup(0, 0xFFFF888009800000, xen)  # not right behind: dom0's own
    trace.switch(0, DOM)
    trace.paging_fixup(0, 0xFFFF888009800000, xen)  # the incoming one's
    name = os.path.join(WORK, "outgoing.bin")
    with open(name, "wb") as file:
        file.write(trace.bytes())
    run("import", "--force", "-o", name + ".db", name)
    equal(opened(name + ".db").rows("SELECT domid FROM events WHERE kind = 'fixup' ORDER BY event_id"),
          [(1,), (1,), (0,), (1,)], "whose")


finish()
