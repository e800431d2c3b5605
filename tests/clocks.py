#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Clocks of pCPUs, and what a capture does not cover.  In: recorded traces, on other clocks.  Out: cases."""
import heapq
import os
import random

import warp
from lib import (WORK, case, check, database, database_path, equal, finish, opened, run, unpack)

TIGHT = 1 << 19  # cycles that a corrected clock may be away from the true one, in these traces


def bytes_of(name):
    with open(unpack(name + ".bin"), "rb") as file:
        return file.read()


def imported(data, *options, name="warped", by_pipe=False):
    path, trace = os.path.join(WORK, name + ".db"), os.path.join(WORK, name + ".bin")
    with open(trace, "wb") as file:
        file.write(data)
    if by_pipe:
        run("import", "--force", *options, "-o", path, "-", input=data)
    else:
        run("import", "--force", *options, "-o", path, trace)
    return opened(path)


def forks(db):
    return db.rows("SELECT domid, vcpu, pt_pages, ptes, emulations, cow_faults, complete, doubt FROM forks"
                   " ORDER BY fork_id")


def found(db):
    """What must not depend on the clocks, beside the forks."""
    return (db.rows("SELECT vcpu, pt_page, ptes, ended_by FROM pt_sequences ORDER BY sequence_id"),
            db.rows("SELECT domid, vcpu, kind, va, rip, pte, count FROM events ORDER BY domid, vcpu, event_id"))


def corrections(db):
    return {pcpu: (offset, drift) for pcpu, offset, drift in db.rows(
        "SELECT pcpu, clock_offset, clock_drift_ppm FROM pcpus WHERE corrected")}


def moving_fork(behind):
    """d3v1 writes 512 entries, half of them on pCPU 1, whose clock is behind."""
    streams, begin, pte = {0: [], 1: []}, 50_000_000_000, [0]
    def record(pcpu, tsc, event, *words):
        streams[pcpu].append(warp.struct.pack(f"<IQ{len(words)}I", event | 1 << 31 | len(words) << 28,
                                              tsc - behind * pcpu, *words))

    def write(pcpu, tsc):
        page, slot = divmod(pte[0], 64)
        pte[0] += 1
        record(pcpu, tsc, 0x20110B, 0x165 | slot << 12, 0x80000001, 0x1234000 + 0x1000 * page + 8 * slot,
               0xFFFF8880, 0x812D12C5, 0xFFFFFFFF)

    def switch(pcpu, tsc, arrives, idle):
        vcpu, other = 3 << 16 | 1, 0x7FFF << 16 | idle
        record(pcpu, tsc, 0x021011, other if arrives else vcpu)
        record(pcpu, tsc + 2000, 0x021101, vcpu if arrives else other)

    tsc = begin
    for pcpu, n in ((0, 200), (1, 200), (0, 112)):
        switch(pcpu, tsc, True, pcpu)
        tsc += 10_000
        if pcpu == 0 and n == 200:
            # a fault at a user address: no fork was under way
            record(0, tsc - 5000, 0x201104, 0x401000, 0, 0x7000, 0, 6)
        for _ in range(n):
            write(pcpu, tsc)
            tsc += 2000
        if pcpu == 0 and n == 112:
            # the pin: update_va_mapping x 3 and an mmuext_op, in a multicall
            record(0, tsc, 0x20100D, 13)
            for op in (14, 14, 14, 26):
                record(0, tsc + 1000 + op, 0x20200E, op)
            tsc += 10_000
        switch(pcpu, tsc, False, pcpu)
        tsc += 10_000
    return b"".join(warp.struct.pack("<III", warp.WINDOW | 2 << 28, pcpu, len(body)) + body
                    for pcpu, body in ((pcpu, b"".join(stream)) for pcpu, stream in streams.items()))


SHIFTS = {
    "1 M cycles behind": {"p1": (-1_000_000,)},
    "32 M cycles behind": {"p1": (-32_000_000,)},
    "32 M cycles ahead": {"p1": (32_000_000,)},
    "2^40 cycles ahead": {"p1": (1 << 40,)},
    "50 ppm too fast": {"p1": (0, 50e-6)},
    "5 M cycles behind and 20 ppm too slow": {"p1": (-5_000_000, -20e-6)},
}
for trace in ("dom0-smp", "domu-logdirty", "dom0-crowd"):
    for label, shift in SHIFTS.items():
        @case(f"{trace}, pCPU 1 {label}: the same forks as with one clock",
              slow=trace != "dom0-smp")
        def _(trace=trace, shift=shift):
            straight, db = database(trace), imported(warp.shifted(bytes_of(trace), **shift))
            equal(forks(db), forks(straight), "forks")
            equal(found(db)[1], found(straight)[1], "events of each vCPU")
            ((offset, drift),) = [corrections(db)[1]]
            equal(list(corrections(db)), [1], "pCPUs that were corrected")
            check(abs(offset - shift["p1"][0]) < TIGHT, f"offset {offset}")
            check(abs(drift - 1e6 * (shift["p1"] + (0,))[1]) < 30, f"drift {drift} ppm")
            equal(db.one("SELECT complete FROM trace"), 1, "complete")
            equal(db.one("SELECT count(*) FROM events WHERE tsc < 0 OR us < 0"), 0, "negative times")
            equal(db.rows("SELECT code, count FROM doubt"), [("clock_corrected", 1)], "doubts")
            last = db.one("SELECT max(tsc) FROM events") - database(trace).one("SELECT max(tsc) FROM events")
            check(abs(last) < TIGHT, f"the last event is {last} cycles away")


@case("dom0-smp, pCPU 1 50,000 cycles behind: nothing in the records contradicts it, and the forks are the same")
def _():
    db = imported(warp.shifted(bytes_of("dom0-smp"), p1=(-50_000,)))
    equal(forks(db), forks(database("dom0-smp")), "forks")
    equal(db.rows("SELECT * FROM doubt"), [], "doubts")
    low, high = db.rows("SELECT clock_low, clock_high FROM pcpus WHERE pcpu = 1")[0]
    check(low <= -50_000 <= high and low <= 0 <= high, f"bounds {low}, {high}")


@case("dom0-crowd: two of three clocks are wrong, or the reference is", slow=True)
def _():
    for shift, wanted in (({"p1": (-32_000_000,), "p2": (-64_000_000,)}, [1, 2]),
                          ({"p1": (0, 50e-6), "p2": (700_000, -40e-6)}, [1, 2]),
                          ({"p1": (1 << 40,), "p2": (1 << 41,)}, [1, 2]),
                          ({"p0": (-1_000_000,)}, [0]), ({"p0": (0, 80e-6)}, [0])):
        db = imported(warp.shifted(bytes_of("dom0-crowd"), **shift))
        equal(forks(db), forks(database("dom0-crowd")), f"forks with {shift}")
        equal(list(corrections(db)), wanted, f"corrected with {shift}")
        equal(db.rows("SELECT * FROM gaps"), [], "gaps")


@case("a fork that moves to a pCPU whose clock is behind is one")
def _():
    for cycles in (50_000, 300_000):
        db = imported(moving_fork(cycles))
        equal(db.rows("SELECT ptes, vcpu, complete FROM forks"), [(512, 1, 1)], f"{cycles} cycles: forks")
        ((pcpu, offset, low, high),) = db.rows(
            "SELECT pcpu, clock_offset, clock_low, clock_high FROM pcpus WHERE corrected")
        check(pcpu == 1 and low < offset < high and abs(offset + cycles) < 20_000,
              f"{cycles}: pCPU {pcpu} by {offset}, bounds {low}, {high}")


@case("a pipe is corrected as a file is; --clocks never leaves the doubt, and analyze corrects it then")
def _():
    data = warp.shifted(bytes_of("dom0-smp"), p1=(-1_000_000,))
    whole = imported(data)
    equal(whole.dump(), imported(data, by_pipe=True, name="piped").dump(), "rows by pipe and by file")
    db = imported(data, "--clocks", "never", name="never")
    equal(dict(db.rows("SELECT code, count FROM doubt"))["clock"], 1, "doubts")
    db.close()
    crowd = imported(warp.shifted(bytes_of("dom0-crowd"), p1=(-1_000_000,)), "--clocks", "never", name="crowd")
    check(all("clocks" in (doubt or "") for *_, doubt in forks(crowd)), "forks of vCPUs that move are marked")
    result = run("forks", os.path.join(WORK, "never.db"))
    check("analyze --clocks" in result.stderr, result.stderr)
    run("analyze", os.path.join(WORK, "never.db"))
    equal(opened(os.path.join(WORK, "never.db")).dump(), whole.dump(), "rows after analyze")
    info = run("info", os.path.join(WORK, "never.db")).stdout
    check("off by" in info and "corrected" in info, info)


@case("record keeps the doubt, and analyze corrects")
def _():
    data, path = warp.shifted(bytes_of("dom0-smp"), p1=(-1_000_000,)), os.path.join(WORK, "live.db")
    with open(os.path.join(WORK, "live.bin"), "wb") as file:
        file.write(data)
    result = run("record", "--force", "-o", path, "--via", f"cat {WORK}/live.bin")
    check("clock differs (analyze --clocks): pCPU 1 by -" in result.stderr, result.stderr)
    equal(opened(path).doubts().get("clock"), 1, "doubts")
    run("analyze", path)
    equal(forks(opened(path)), forks(database("dom0-smp")), "forks")


@case("TSCs that pass 2^63, or are beyond it from the start, give the times of any other")
def _():
    straight = database("dom0-smp")
    for offset in ((1 << 63) - (195 << 30), 3 << 62, (1 << 62) - (175 << 30)):
        db = imported(warp.shifted(bytes_of("dom0-smp"), p0=(offset,), p1=(offset,)))
        equal(forks(db), forks(straight), "forks")
        equal(db.rows("SELECT tsc - (SELECT tsc_first FROM trace) FROM events ORDER BY event_id"),
              straight.rows("SELECT tsc - (SELECT tsc_first FROM trace) FROM events ORDER BY event_id"),
              "times")
        first = straight.one("SELECT tsc_first FROM trace")
        equal(db.one("SELECT tsc_first + tsc_base FROM trace") % (1 << 64), (first + offset) % (1 << 64),
              "the recorded TSC")
        equal(db.rows("SELECT * FROM doubt"), [], "doubts")


def host(pcpus, vcpus, clocks, seconds=2):
    """vCPUs of one domain that run, block, are woken from anywhere and move; clocks[pCPU]: its offset in cycles."""
    cycles, rnd, streams, now = 2_400_000_000, random.Random(1), [[] for _ in range(pcpus)], 0
    events = [(rnd.randrange(cycles // 50), vcpu, None) for vcpu in range(vcpus)]
    state, ready, current = ["blocked"] * vcpus, [], [None] * pcpus

    def record(pcpu, tsc, event, vcpu):
        streams[pcpu].append((tsc, event, 1 << 16 | vcpu))

    def start(pcpu, tsc):
        if ready:
            vcpu = ready.pop(rnd.randrange(len(ready)))
            state[vcpu], current[pcpu] = "running", vcpu
            record(pcpu, tsc, 0x21101, vcpu)
            heapq.heappush(events, (tsc + 20_000 + rnd.randrange(cycles // 200), vcpu, pcpu))

    heapq.heapify(events)
    while now < seconds * cycles:
        now, vcpu, pcpu = heapq.heappop(events)
        if pcpu is None:
            record(rnd.randrange(pcpus), now, 0x21211, vcpu)
            idle = [p for p in range(pcpus) if current[p] is None]
            pcpu = rnd.choice(idle) if idle else None
            state[vcpu] = "runnable"
            ready.append(vcpu)
        else:
            blocks = rnd.random() < 0.6
            record(pcpu, now, 0x21021 if blocks else 0x21011, vcpu)
            state[vcpu], current[pcpu] = ("blocked" if blocks else "runnable"), None
            if blocks:
                heapq.heappush(events, (now + 50_000 + rnd.randrange(cycles // 100), vcpu, None))
            else:
                ready.append(vcpu)
        if pcpu is not None:
            start(pcpu, now + 3000 + rnd.randrange(4000))
    out = []
    for end in range(cycles // 10, seconds * cycles, cycles // 10):
        for pcpu, stream in enumerate(streams):
            body = b"".join(warp.struct.pack("<IQI", event | 9 << 28, 10 ** 10 + tsc + clocks.get(pcpu, 0), word)
                            for tsc, event, word in sorted(stream) if end - cycles // 10 <= tsc < end)
            if body:
                out.append(warp.struct.pack("<III", warp.WINDOW | 2 << 28, pcpu, len(body)) + body)
    return b"".join(out)


@case("16 pCPUs: the wrong clocks among them are found, one, three, or those of the second socket")
def _():
    for wrong in ({}, {5: -1_000_000}, {0: 300_000_000}, {5: -1_000_000, 9: 4_000_000, 12: 1 << 40},
                  dict.fromkeys(range(8, 16), 30_000_000)):
        db = imported(host(16, 32, wrong))
        found_by = corrections(db)
        equal(sorted(found_by), sorted(wrong), f"{wrong}: corrected")
        for pcpu, (offset, drift) in found_by.items():
            last = offset + drift * 1e-6 * 4.8e9
            check(abs(offset - wrong[pcpu]) < 20_000 and abs(last - wrong[pcpu]) < 20_000,
                  f"{wrong}: pCPU {pcpu} by {offset} and {drift} ppm")


def joined_over(db, seam):
    """What the analyzer joined over a time."""
    return db.one("SELECT (SELECT count(*) FROM pt_sequences WHERE tsc_start <= ?1 AND tsc_end > ?1)"
                  " + (SELECT count(*) FROM forks WHERE tsc_start <= ?1 AND tsc_end > ?1)", seam)


@case("captures put one behind the other have a gap at the seam, and nothing is joined over it")
def _():
    one, two = forks(database("edge-one")), forks(database("edge-two"))
    for label, parts in (("one, two", ("edge-one", "edge-two")), ("two, one: times step back", ("edge-two", "edge-one")),
                         ("the same twice", ("edge-one", "edge-one")), ("of two boots", ("dom0-smp", "edge-one"))):
        db = imported(b"".join(bytes_of(part) for part in parts))
        equal(db.rows("SELECT pcpu, why FROM gaps ORDER BY pcpu"), [(0, "seam"), (1, "seam")], f"{label}: gaps")
        equal(db.one("SELECT complete FROM trace"), 0, f"{label}: complete")
        equal(len(forks(db)), sum(len(forks(database(part))) for part in parts), f"{label}: forks")
        equal(db.one("SELECT count(*) FROM events WHERE kind = 'loss' AND count IS NULL"), 2, f"{label}: events")
        equal(db.one("SELECT count(*) FROM events WHERE us < 0"), 0, f"{label}: times before the first")
        equal(set(db.doubts()) & {"clock", "late", "tsc_backwards", "pcpu_missing"}, set(), f"{label}: doubts")
        if label == "one, two":
            equal(joined_over(db, db.one("SELECT max(tsc_first) FROM gaps")), 0, "joined over the seam")
            check("all pCPUs stop" in run("info", os.path.join(WORK, "warped.db")).stdout, "info")
    check(len(one) and len(two), "they have forks")


def parts_of(data):
    """Records of one pCPU left out: (label, bytes, (why, from, to as parts of the capture))."""
    start, end = warp.first_tsc(data), max(last for _, _, last, _ in warp.windows(data) if last)

    def at(part):
        return start + part * (end - start)

    for pcpu in sorted({window[0] for window in warp.windows(data)}):
        for part in (0.1, 0.3, 0.6):
            yield (f"pCPU {pcpu} begins at {part}", pcpu, warp.without(
                data, lambda p, first, last: p == pcpu and first < at(part)), ("start", 0, part))
        for part in (0.5, 0.9):
            yield (f"pCPU {pcpu} ends at {part}", pcpu, warp.without(
                data, lambda p, first, last: p == pcpu and last > at(part)), ("end", part, 1))
        yield (f"pCPU {pcpu} has nothing from 0.3 to 0.5", pcpu, warp.without(
            data, lambda p, first, last: p == pcpu and at(0.3) < first < at(0.5)), ("middle", 0.3, 0.5))


for trace in ("edge-two", "dom0-smp", "dom0-crowd"):
    @case(f"{trace}, records of one pCPU left out: one gap, just there, and what it touches is not complete",
          slow=trace == "dom0-crowd")
    def _(trace=trace):
        for label, pcpu, data, (why, begin, end) in parts_of(bytes_of(trace)):
            db = imported(data)
            ((*gap, first, last),) = db.rows(
                "SELECT pcpu, why, (g.tsc_first - t.tsc_first) * 1.0 / (t.tsc_last - t.tsc_first),"
                " (g.tsc_last - t.tsc_first) * 1.0 / (t.tsc_last - t.tsc_first) FROM gaps g, trace t")
            equal(gap, [pcpu, why], label)
            check(abs(first - begin) < 0.1 and abs(last - end) < 0.1, f"{label}: gap from {first} to {last}")
            equal(set(db.doubts()) & {"clock", "clock_corrected", "pcpu_missing"}, set(), f"{label}: doubts")
            equal(db.one("SELECT complete FROM trace"), 0, f"{label}: complete")
            equal(db.rows("SELECT fork_id FROM forks, gaps WHERE forks.complete AND forks.tsc_start <"
                          " gaps.tsc_last AND forks.tsc_end > gaps.tsc_first"), [], f"{label}: forks in it")
            equal(db.one("SELECT records FROM pcpus WHERE pcpu = ?", pcpu) <
                  database(trace).one("SELECT records FROM pcpus WHERE pcpu = ?", pcpu), True, f"{label}: coverage")


@case("all pCPUs silent at once, and others run afterwards: a seam")
def _():
    data = bytes_of("edge-two")
    start, end = warp.first_tsc(data), max(last for _, _, last, _ in warp.windows(data) if last)
    db = imported(warp.without(data, lambda p, first, last: 0.3 < (first - start) / (end - start) < 0.5))
    equal(db.rows("SELECT pcpu, why FROM gaps ORDER BY pcpu"), [(0, "seam"), (1, "seam")], "gaps")


@case("a pCPU that is not in the capture at all: the steps of vCPUs show it")
def _():
    for trace, left_out in (("dom0-pcpu0-only", None), ("dom0-smp", 0), ("dom0-smp", 1), ("dom0-crowd", 1)):
        db = imported(warp.without(bytes_of(trace), lambda p, first, last: p == left_out))
        check(db.doubts().get("pcpu_missing", 0) > 100, f"{trace}: {db.doubts()}")
        equal(db.rows("SELECT * FROM gaps"), [], f"{trace}: gaps")
        equal(corrections(db), {}, f"{trace}: corrections")
    shown = run("info", os.path.join(WORK, "warped.db")).stdout
    check("pCPUs left out" in shown and "TSC 0" not in shown and "byte 0" not in shown, shown)


@case("no capture of one clock gets a correction, a gap, or a doubt about them")
def _():
    for trace in ("dom0-forks", "dom0-shell", "dom0-dirty", "dom0-smp", "dom0-crowd", "dom0-all-classes",
                  "dom0-lossy", "pvh-shadow", "pvh-shadow-hvm", "domu-logdirty", "wtpt-smp", "wtpt-up", "emulate",
                  "x32pae-wtpt-up", "edge-one", "edge-two", "dom0-pv-class-only", "domu-migrate", "pvh-hap",
                  "pvh-hap-migrate", "pvh-hap-plain", "sparse-128cpu", "d1024"):
        db = database(trace)
        equal(db.rows("SELECT * FROM pcpus WHERE clock_offset OR clock_drift_ppm OR corrected"), [], trace)
        equal(db.rows("SELECT * FROM gaps"), [], trace)
        doubts = set(db.doubts()) & {"clock", "clock_corrected", "gap", "pcpu_missing"}
        equal(doubts, set(), trace)
        bad = db.rows("SELECT pcpu FROM pcpus WHERE clock_low > 0 OR clock_high < 0")
        equal(bad, [], f"{trace}: zero is inside the bounds")


@case("pCPUs: first and last time, records and losses of each")
def _():
    for trace in ("dom0-lossy", "dom0-crowd"):
        db = database(trace)
        equal(db.one("SELECT sum(records) FROM pcpus"), db.one("SELECT records FROM trace"), "records")
        equal(db.one("SELECT sum(lost) FROM pcpus"), db.one("SELECT lost_records FROM trace"), "lost")
        equal(db.rows("SELECT min(tsc_first), max(tsc_last) FROM pcpus"),
              db.rows("SELECT tsc_first, tsc_last FROM trace"), "span")


@case("pCPU numbers with holes, as without SMT, are ordinary")
def _():
    data = bytearray(bytes_of("dom0-smp"))
    for at, pcpu, event, _, payload, _ in warp.records(bytes(data)):
        if event == warp.WINDOW:
            warp.struct.pack_into("<I", data, payload, 6 * pcpu + 2)
    db = imported(bytes(data))
    equal(db.rows("SELECT * FROM doubt"), [], "doubts")
    equal(db.rows("SELECT pcpu FROM pcpus ORDER BY 1"), [(2,), (8,)], "pCPUs")
    equal(forks(db), forks(database("dom0-smp")), "forks")


finish()
