#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of a Xen with trace points for flushes and page tables, against Xen's own counters.

In: tests/traces/points-*: recorded while xenperf was read before and after the work.  Out: cases.
"""
import struct

import invariants
import synth
from lib import case, check, database, equal, finish, opened, run

# What Xen counted between the two readings: mmuext ops, page updates, calls to update_va_map, and
# PG_need_flush tlb flushes.
XENPERF = {
    "points-forks": (571, 4876, 352, 245),
    "points-grant": (298, 35470, 216, 160),
    "points-smp": (285, 2738, 213, 144),
    "points-domu": (1709, 13321, 1383, 731),
}
SYSCTL = 35
TYPE_CHANGE = 6


def between_readings(db):
    """Between which events the counters ran: xenperf makes two sysctls, the second one reads them."""
    calls = [row[0] for row in db.execute(
        "SELECT event_id FROM events WHERE kind = 'hypercall' AND arg1 = ? ORDER BY event_id", (SYSCTL,))]
    check(len(calls) >= 4, f"{len(calls)} sysctls")
    return calls[1], calls[3]


def near(got, counted, what):
    """The counters are read a few hypercalls before or after the sysctl's record."""
    check(abs(got - counted) <= 5 + counted // 2000, f"{what}: {got} records, Xen counted {counted}")


def check_counters(name):
    db = database(name)
    equal(db.one("SELECT unknown_records FROM trace"), 0, "unknown records")
    window = between_readings(db)
    got = db.execute(
        "SELECT sum(raw_id = 0x208004), sum(raw_id = 0x204011), sum(raw_id = 0x204012),"
        " sum(kind = 'flush' AND arg1 >> 48 & 255 = 6) FROM events WHERE event_id BETWEEN ? AND ?",
        window).fetchone()
    for n, counted, what in zip(got, XENPERF[name], ("mmuext", "mmu_update", "update_va", "type changes")):
        near(n, counted, what)
    kinds = db.kinds()
    equal(db.one("SELECT count(*) FROM events WHERE kind = 'validate' AND arg2 IS NULL"),
          db.one("SELECT count(*) FROM events WHERE kind = 'validate' AND arg2 IS NOT NULL"), "begins and ends")
    # every entry that was asked for, or emulated, was written
    check(kinds["pte"] <= kinds["update"] + kinds["emulate"], "entries written")


def check_interrupts(name):
    """Each other CPU that a flush is for takes an interrupt for it (all of them of this dom0)."""
    db = database(name)
    equal(db.one("SELECT sum(arg1 >> 32 & 0x7fff) FROM events WHERE kind = 'flush'"),
          db.one("SELECT count(*) FROM events WHERE kind = 'flush_ipi'"), "IPIs")


for trace in XENPERF:
    case(f"{trace}: records agree with Xen's counters")(lambda trace=trace: check_counters(trace))
    case(f"{trace}: forks, pages and events agree")(lambda trace=trace: invariants.hold(database(trace)))
for trace in ("points-forks", "points-grant", "points-smp"):
    case(f"{trace}: an interrupt for each CPU flushed")(lambda trace=trace: check_interrupts(trace))


def flush(flags, va, cpus, who, mask, caller=0x40001234):
    return (flags, *synth.pair(va), cpus, who, mask, caller)


# id, words, and what the event says
RECORDS = [
    (0x208001, flush(0x101, 0x7F0012345000, 1 | 1 << 15 | 2 << 16 | 0 << 24, 3 << 16 | 1, 3),
     {"kind": "flush", "domid": 3, "vcpu": 1, "va": 0x7F0012345000, "rip": 0xFFFF82D040001234, "arg2": 3,
      "arg1": 0x101 | (0x8001 | 2 << 16) << 32}),
    (0x208002, (0x101, *synth.pair(0x7F0012345000), 5),
     {"kind": "flush_ipi", "domid": 0, "vcpu": 5, "va": 0x7F0012345000, "arg1": 0x101}),
    (0x208003, (*synth.pair(0x8000000123456000 | 2), 1 << 16, 0x1526E0, 0x40000010),
     {"kind": "cr3", "domid": 1, "vcpu": 0, "frame": 0x123456, "arg1": 0x1526E0,
      "arg2": 0x8000000123456002, "rip": 0xFFFF82D040000010}),
    (0x208004, (3 | 0x7FF0 << 16, *synth.pair(0x4321), *synth.pair(7), 2),
     {"kind": "mmuext", "vcpu": 2, "frame": 0x4321, "va": None, "arg1": 0x7FF00003, "arg2": 7}),
    (0x208004, (7, *synth.pair(0x7F0000001000), *synth.pair(0), 2),
     {"kind": "mmuext", "frame": None, "va": 0x7F0000001000, "arg1": 7}),
    (0x208005, (2 | 1 << 16, 6 | 0x71 << 8, 4 << 16 | 1, 77, 99, 0x40000020),
     {"kind": "flush_filter", "domid": 4, "vcpu": 1, "arg1": 0x10002 | 0x7106 << 48, "frame": None,
      "arg2": 77 | 99 << 32, "rip": 0xFFFF82D040000020}),
    (0x208005, (2, 6 | 0x71 << 8, 0, 77, 99, 0x40000020, 0x55), {"kind": "flush_filter", "frame": 0x55}),
    (0x208006, (*synth.pair(0x123456789), 1 | 1 << 16, 0),
     {"kind": "validate", "frame": 0x123456789, "arg1": 0x10001, "arg2": None}),
    (0x208007, (*synth.pair(0x1234), 1, 0, 0), {"kind": "validate", "frame": 0x1234, "arg2": 0}),
    (0x208008, (*synth.pair(0x1234), 4, 0), {"kind": "devalidate", "arg1": 4, "arg2": None}),
    (0x208009, (*synth.pair(0x1234), 4, 0, 0xFFFFFFAB), {"kind": "devalidate", "arg2": 0xFFFFFFAB}),
    (0x20800A, (64, *synth.pair(1 << 40), 0), {"kind": "flush_cpus", "arg1": 64, "arg2": 1 << 40}),
    (0x20800B, (9 << 16 | 1,), {"kind": "flush_end", "domid": 9, "vcpu": 1}),
    (0x204011, (*synth.pair(0x1234567FF8 | 1), *synth.pair(0x8000000000000067), 0, 0x7FF0),
     {"kind": "update", "frame": 0x1234567, "pte": 0x8000000000000067, "arg1": 0xFF9 << 32, "arg2": 0x7FF0}),
    (0x204012, (*synth.pair(0x7F0000001000), *synth.pair(0x25), 2, 1, 5),
     {"kind": "update", "va": 0x7F0000001000, "pte": 0x25, "arg1": 2, "vcpu": 1, "arg2": 5}),
    (0x204013, (*synth.pair(0x1234567018), *synth.pair(0x67), *synth.pair(0x65), 4 | 0x300 | 7 << 16),
     {"kind": "pte", "frame": 0x1234567, "pte": 0x65, "arg2": 0x67, "arg1": 0x70304 | 0x18 << 32}),
]


@case("each trace point's words are where the event says")
def layouts(folder):
    data, tsc = b"", 1000
    for number, words, _ in RECORDS:
        data += synth.encode(number, words, tsc)
        tsc += 100
    (folder / "t.bin").write_bytes(synth.window(0, data))
    run("import", "-o", folder / "t.db", folder / "t.bin")
    db = opened(folder / "t.db")
    rows = db.dicts("SELECT * FROM events ORDER BY event_id")
    equal(len(rows), len(RECORDS), "events")
    for row, (number, _, wanted) in zip(rows, RECORDS):
        for column, value in wanted.items():
            if isinstance(value, int):
                value = struct.unpack("<q", struct.pack("<Q", value))[0]
            equal(row[column], value, f"0x{number:x}: {column}")


finish()
