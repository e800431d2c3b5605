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


def flush(flags, va, cpus, who, mask, caller=0x40001234):
    return (flags, *synth.pair(va), cpus, who, mask, caller)


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


def check_flushes(name):
    """What was flushed and avoided, by the rows: Xen counts a flush for each type change that is not avoided."""
    db = database(name)
    window = between_readings(db)
    done, avoided = db.execute(
        "SELECT sum(done), sum(1 - done) FROM tlb_flushes WHERE cause = 'type_change'"
        " AND event_id BETWEEN ? AND ?", window).fetchone()
    near(done, XENPERF[name][3], "flushes by type change")
    filters = db.execute(
        "SELECT sum(arg1 & 0xffff > 0 AND arg1 >> 16 & 0xffff = 0), sum(arg1 >> 16 & 0xffff > 0) FROM events"
        " WHERE kind = 'flush_filter' AND arg1 >> 48 & 255 = 6 AND event_id BETWEEN ? AND ?", window).fetchone()
    equal((avoided, done), filters, "avoided, and left some CPU, by the filter's own records")
    equal(db.one("SELECT count(*) FROM tlb_flushes WHERE done = 1"), db.kinds()["flush"], "a row for each")
    equal(db.one("SELECT count(*) FROM flush_ipis"), db.kinds().get("flush_ipi", 0), "a row for each IPI")
    equal(db.one("SELECT count(*) FROM flush_ipis WHERE flush IS NULL"), 0, "whose flush is unknown")
    equal(db.execute("SELECT sum(flushes), sum(avoided), sum(ipis), sum(cpus) FROM flushes WHERE basis = 'exact'")
          .fetchall(), db.execute("SELECT sum(done), sum(1 - done), sum(ipis), sum(cpus) FROM tlb_flushes")
          .fetchall(), "the sums of flushes")
    equal(db.one("SELECT count(*) FROM flushes WHERE cause = 'hypercall'"), 0, "guesses beside records")
    equal(db.execute("SELECT fork_id, flushes FROM forks").fetchall(), db.execute(
        "SELECT k.fork_id, count(f.event_id) FROM forks k LEFT JOIN tlb_flushes f ON f.fork_id = k.fork_id"
        " AND f.done GROUP BY 1").fetchall(), "flushes of forks")
    # a page that becomes a page table is validated as one next
    equal(db.one("SELECT count(*) FROM tlb_flushes WHERE detail LIKE 'writable to L_' AND frame IS NULL"), 0,
          "pages without a name")
    check(db.one("SELECT max(cycles) FROM tlb_flushes WHERE done AND cpus > 1 AND ipis") > 0, "time")


for trace in XENPERF:
    case(f"{trace}: flushes by cause, done and avoided")(lambda trace=trace: check_flushes(trace))


@case
def flushes_of_a_big_fork():
    """Its child has 19 page tables of level 1: one flush for each, one for the L4, two local ones."""
    db = database("points-forks")
    rows = db.execute(
        "SELECT cause, detail, done, remote, count(*) FROM tlb_flushes WHERE fork_id ="
        " (SELECT fork_id FROM forks WHERE ptes = 1033) GROUP BY 1, 2, 3, 4").fetchall()
    equal(rows, [("type_change", "writable to L1", 1, 1, 19), ("type_change", "writable to L2", 0, 0, 3),
                 ("type_change", "writable to L3", 0, 0, 2), ("type_change", "writable to L4", 1, 1, 1),
                 ("update_va_mapping", "tlb", 1, 0, 2)], "flushes")
    equal(db.one("SELECT flushes FROM forks WHERE ptes = 1033"), 22, "in the row of the fork")


@case
def no_mmuext_op_was_a_guess():
    """INVLPG_LOCAL flushes one address each; of 730 operations of all kinds these are 355."""
    db = database("points-forks")
    flushing = "arg1 & 0xffff IN (6, 7, 8, 9, 10, 11)"
    equal(db.one("SELECT sum(flushes) FROM flushes WHERE cause = 'mmuext'"),
          db.one(f"SELECT count(*) FROM events WHERE raw_id = 0x208004 AND {flushing}"), "flushes of mmuext_op")


@case
def grant_flushes():
    """3 times 64 frames and 4 times 1 frame are unmapped, 32 at a time: two flushes each."""
    db = database("points-grant")
    equal(db.one("SELECT sum(done) FROM tlb_flushes WHERE cause = 'grant'"), 2 * (3 * 2 + 4), "flushes")


@case
def commands(folder):
    """--each, --by and the names of Xen's own functions."""
    (folder / "xen.nm").write_text("ffff82d040200000 T first\nffff82d040210000 t get_page_type\n"
                                   "ffff82d040400000 T last\n")
    (folder / "t.bin").write_bytes(synth.window(0, synth.encode(
        0x208001, flush(0x8100, 0, 1 << 15 | 6 << 16 | 0x71 << 24, 0, 1, 0x40210010), 1000)))
    run("import", "--xen-symbols", folder / "xen.nm", "-o", folder / "t.db", folder / "t.bin")
    equal(run("flushes", "--each", "--format", "csv", folder / "t.db").stdout.splitlines()[1],
          "1,d0v0,,type_change,writable to L1,all,,1,0,,,get_page_type+0x10", "each")
    equal(run("flushes", "--by", "caller", "--format", "csv", folder / "t.db").stdout.splitlines()[1],
          "get_page_type+0x10,1,0,1,0,", "by caller")
    check("get_page_type" not in run("sql", "--symbols", folder / "xen.nm", folder / "t.bin",
                                     "SELECT symbol FROM events").stdout, "a guest's file names Xen's functions")
    for by in ("cause", "page", "domain", "fork", "interrupted"):
        run("flushes", "--by", by, folder / "t.db")
    run("flushes", "--by", "cause", "--each", folder / "t.db", status=2)
    run("import", "--xen-symbols", folder / "xen.nm", "--symbols-domain", "d0", folder / "t.bin", status=2)


def make_flush(mask, remote, tsc, pcpu=0, va=0, flags=0x8100):
    return pcpu, 0x208001, flush(flags, va, remote | 1 << 15 | 6 << 16 | 0x71 << 24, 0, mask), tsc


@case
def interrupts_find_their_flush(folder):
    """Two CPUs ask at once; a third one flushes for both, in the order of the flushes; one has no flush."""
    records = [make_flush(0b101, 1, 1000, 0), make_flush(0b110, 1, 1010, 1),
               (2, 0x208002, (0x8100, 0, 0, 5 << 16), 1100), (2, 0x208002, (0x8100, 0, 0, 5 << 16), 1200),
               (2, 0x208002, (0x8100, 0, 0, 5 << 16), 1300), (0, 0x20800B, (0,), 1400)]
    pcpus = {}
    for pcpu, number, words, tsc in records:
        pcpus[pcpu] = pcpus.get(pcpu, b"") + synth.encode(number, words, tsc)
    (folder / "t.bin").write_bytes(b"".join(synth.window(pcpu, data) for pcpu, data in pcpus.items()))
    run("import", "-o", folder / "t.db", folder / "t.bin")
    db = opened(folder / "t.db")
    equal(db.rows("SELECT flush, cycles, domid FROM flush_ipis"), [(1, 100, 5), (2, 190, 5), (None, None, 5)], "IPIs")
    # the end is recorded on one of the two
    equal(db.rows("SELECT ipis, cycles FROM tlb_flushes"), [(1, 400), (1, 190)], "flushes")
    equal(db.rows("SELECT count FROM finding WHERE code = 'flush_ipi'"), [(1,)], "finding")


@case
def version_2(folder):
    """The frame of a type change stands where an address would; more than 32 CPUs have records of their own."""
    data = synth.encode(0x208001, flush(0x8100, 0x123456, 70 | 6 << 16 | 0x17 << 24, 0, 0), 1000)
    data += synth.encode(0x20800A, (64, *synth.pair(1), 0), 1000)
    data += synth.encode(0x20800B, (0,), 1500)
    (folder / "t.bin").write_bytes(synth.window(0, data))
    run("import", "-o", folder / "t.db", folder / "t.bin")
    equal(opened(folder / "t.db").rows("SELECT detail, frame, remote, cycles FROM tlb_flushes"),
          [("L1 to writable", 0x123456, 70, 500)], "row")


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
