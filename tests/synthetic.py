# SPDX-License-Identifier: GPL-2.0-or-later
"""Imports synthetic traces and compares with what is known about them.

In: tests/scenarios.py, the program (XENFAULT).  Out: "ok NAME" or "FAIL NAME: why".
Arguments select cases by a part of their name.
"""

from pathlib import Path
from typing import Any, Optional

import invariants
import scenarios
import synth
from lib import Database, check, equal, finish, opened, run, run_case, signed
from scenarios import Fork, Story
from synth import Trace, Vcpu


def imported(folder: Path, data: bytes, *options: str) -> Database:
    """The database of a trace."""
    (folder / "t.bin").write_bytes(data)
    run("import", *options, "-o", folder / "t.db", folder / "t.bin")
    return opened(folder / "t.db")


# Stories.


def compare_fork(row: dict[str, Any], fork: Fork, database: Database) -> None:
    """One fork of the truth with its row."""
    name = f"fork of d{fork.who.domid}v{fork.who.vcpu} at {row['tsc_start']}"
    expected = {
        "ptes": fork.ptes,
        "pt_pages": fork.pt_pages,
        "mechanism": fork.mechanism,
        "complete": fork.complete,
        "cow_faults": fork.cow_faults,
        "unhooks": fork.unhooks,
        "rehooks": fork.rehooks,
        "emulations": fork.ptes if fork.mechanism == "emulate" else None,
    }
    for column, value in expected.items():
        if value is not None:
            equal(row[column], value, f"{name}: {column}")
    check(row["tsc_end"] >= fork.last, f"{name} ends at {row['tsc_end']}, before {fork.last}")
    if fork.sequences is not None:
        count = database.one("SELECT count(*) FROM pt_sequences WHERE fork_id = ?", row["fork_id"])
        equal(count, fork.sequences, f"{name}: sequences")


def compare_forks(database: Database, forks: list[Fork]) -> None:
    """All forks: each has its own row, and no row is left."""
    rows = database.dicts("SELECT * FROM forks ORDER BY tsc_start")
    found = [(row["domid"], row["vcpu"], row["pt_pages"], row["ptes"]) for row in rows]
    equal(len(rows), len(forks), f"number of forks (domid, vcpu, pt_pages, ptes: {found[:8]})")
    for fork in forks:
        near = [
            row
            for row in rows
            if (row["domid"], row["vcpu"]) == fork.who
            and (row["tsc_start"] == fork.start or not fork.start)
        ]
        check(near, f"no fork of {fork.who} that starts at {fork.start}; there are: {found[:8]}")
        compare_fork(near[0], fork, database)
        rows.remove(near[0])


def compare_forks_or(database: Database, story: Story) -> None:
    """Where the records do not decide, either truth is good, but the doubt must be told."""
    try:
        compare_forks(database, story.forks)
    except AssertionError as first:
        if not story.either:
            raise
        try:
            compare_forks(database, story.either)
        except AssertionError as second:
            raise AssertionError(f"{first}; or {second}") from second
    if story.either:
        told = database.one("SELECT count(*) FROM forks WHERE doubt IS NOT NULL")
        told += database.one("SELECT count(*) FROM finding")
        check(told, "the records do not decide, but nothing says so")


def compare_owners(database: Database, owners: dict[int, Optional[Vcpu]]) -> None:
    """Whose events are they?"""
    for tsc, who in owners.items():
        rows = database.rows("SELECT domid, vcpu FROM events WHERE tsc = ?", tsc)
        equal(rows, [tuple(who) if who else (None, None)], f"owner of the event at {tsc}")


def story_case(folder: Path, story: Story) -> None:
    """A whole story: records, events, forks, sequences."""
    data = story.trace.bytes(story.passes)
    database = imported(folder, data)
    equal(database.one("SELECT records FROM trace"), story.trace.count(), "records")
    equal(database.one("SELECT complete FROM trace"), 1, "complete")
    equal(database.one("SELECT unknown_records FROM trace"), 0, "unknown records")
    kinds = database.kinds()
    for kind, count in story.kinds.items():
        equal(kinds.get(kind, 0), count, f"events of kind {kind}")
    if story.sequences is not None:
        rows = database.rows("SELECT ended_by, count(*) FROM pt_sequences WHERE unhooks GROUP BY 1")
        equal(dict(rows), story.sequences, "sequences by end")
    if story.forks is not None:
        compare_forks_or(database, story)
    compare_owners(database, story.owners)
    # two tasks may fork in turn on one vCPU
    invariants.hold(database, but=("forks of one vCPU",))


def pipe_case(folder: Path, data: bytes) -> None:
    """Standard input gives the same rows as the file, and so do analyze and sql."""
    whole = imported(folder, data).dump()
    run("import", "-o", folder / "p.db", "-", input=data)
    equal(opened(folder / "p.db").dump() == whole, True, "rows from a pipe")
    run("analyze", folder / "p.db")
    again = opened(folder / "p.db").dump()
    differing = [name for name, rows in again.items() if rows != whole.get(name)]
    equal(differing, [], "tables that analyze makes otherwise")
    result = run("sql", "--format", "csv", folder / "t.bin", "SELECT count(*) AS n FROM xentrace")
    rows = opened(folder / "t.db").one("SELECT count(*) FROM event")
    equal(result.stdout.split(), ["n", str(rows)], "rows straight from the file")


def passes_case(folder: Path, story: Story) -> None:
    """However often the buffers were read, the events are the same.

    Runs of like hypercalls may be cut into rows otherwise.
    """
    single = (
        "SELECT tsc, pcpu, domid, vcpu, kind, va, pte FROM events"
        " WHERE kind NOT IN ('batch', 'iret', 'mmuext', 'multicall', 'task_switch', 'hypercall')"
        " ORDER BY tsc, pcpu"
    )
    calls = (
        "SELECT domid, vcpu, kind, sum(ifnull(arg2, 1)), sum(count) FROM events"
        " WHERE kind IN ('batch', 'iret', 'mmuext', 'multicall', 'task_switch', 'hypercall')"
        " GROUP BY 1, 2, 3"
    )
    forks = "SELECT domid, vcpu, tsc_start, tsc_end, pt_pages, ptes FROM forks ORDER BY 3, 1, 2"
    expected = None
    for passes in (1, 2, 7, 40):
        data = story.trace.bytes(passes)
        run("import", "--force", "-o", folder / "t.db", "-", input=data)
        rows = [opened(folder / "t.db").rows(sql) for sql in (single, calls, forks)]
        expected = expected or rows
        check(rows == expected, f"{passes} passes give other events than 1")


# Layouts.


def hvm_layout(xen: tuple[int, int], bits: int = 64, svm: bool = False) -> tuple[Trace, list[dict]]:
    """Fault records of HVM guests, in the layout of one release."""
    trace = Trace(xen=xen, guest_bits=bits)
    who = Vcpu(9, 1)
    trace.switch(0, who)
    rip = 0xFFFFFFFF81234567 if bits == 64 and xen >= (3, 3) else 0xC1234567
    va = 0x7F00DEADB000 if bits == 64 and xen >= (3, 3) else 0x3EADB000
    trace.vmexit(0, 0x4E, rip, svm)
    trace.pf_inject(0, va, 6)
    trace.vmentry(0)
    trace.vmexit(0, 0x10, rip, svm)
    trace.cr_write(0, 3, 0x123000)
    trace.cr_write(0, 4, 0x6F0)
    trace.vmentry(0)
    trace.idle(0)
    owner = {"domid": 9, "vcpu": 1, "rip": rip}
    fault = {"kind": "page_fault", "va": va, "error_code": 6}
    return trace, [
        {**owner, **fault},
        {**owner, "kind": "cr3_write", "frame": 0x123},
        {**owner, "kind": "cr_write", "arg1": 4},
    ]


def pv_layout(xen: tuple[int, int], bits: int, **options: Any) -> tuple[Trace, list[dict]]:
    """PV records of one release and width."""
    trace = Trace(xen=xen, guest_bits=bits, **options)
    trace.switch(0, Vcpu(2, 0))
    wide = bits == 64
    rip = 0xFFFFFFFF812D12C5 if wide else 0xC12D12C5
    va = 0x7F00DEADB000 if wide else 0x3EADB000
    pte_at = 0xFFFF888006F7CF10 if wide else 0xC6F7CF10
    pte = 0x80000001342B9965 if wide or trace.pae else 0x342B9965
    trace.page_fault(0, va, 7, rip)
    trace.ptwr(0, pte_at, pte, rip)
    trace.paging_fixup(0, va, rip)
    for op in (synth.MMU_UPDATE, synth.IRET, synth.MMUEXT_OP):
        trace.hypercall(0, op, **({"a1": 5} if op != synth.IRET else {}))
    trace.idle(0)
    counted = {"count": 5} if xen >= (4, 3) else {}
    two_level = trace.xen_bits == 32 and not trace.pae
    return trace, [
        {"kind": "page_fault", "va": va, "error_code": 7, "rip": rip, "domid": 2},
        {
            "kind": "emulate",
            "va": pte_at,
            "pt_page": pte_at & ~0xFFF,
            "slot": (pte_at & 0xFFF) // (4 if two_level else 8),
            "pte": pte,
            "rip": rip,
        },
        {"kind": "fixup", "va": va, "rip": rip},
        {"kind": "batch", "arg1": 1, **counted},
        {"kind": "iret", "arg1": 23},
        {"kind": "mmuext", "arg1": 26, **counted},
    ]


def shadow_layout(
    xen: tuple[int, int], levels: int, xen_bits: int = 64
) -> tuple[Trace, list[dict]]:
    """SHADOW records of one release and paging level."""
    trace = Trace(xen=xen, guest_bits=64 if levels == 4 else 32, xen_bits=xen_bits)
    trace.switch(0, Vcpu(9, 1))
    va = 0xFFFF888000123008 if levels == 4 else 0xC0123008
    entry = 0x8000000001234067 if levels > 2 else 0x1234067
    frame = (entry & 0xFFFFFFFFFFFFF) >> 12
    trace.shadow(0, synth.FIXUP, levels, g=entry, va=va, flags=synth.FLAG_UNSYNC)
    trace.shadow(0, synth.EMULATE, levels, g=entry, wval=entry, va=va, flags=0x20, count=1)
    trace.shadow(0, synth.UNSHADOW_USER, levels, gfn=0x1234, va=va, flags=0x2000)
    trace.shadow(0, synth.FALSE_FAST_PATH, levels, va=va)
    trace.shadow(0, synth.RESYNC_FULL, levels, gfn=0x1234)
    trace.shadow(0, synth.RESYNC_ONLY, levels, gfn=0x1235)
    trace.shadow(0, synth.WRMAP_BF, levels, gfn=0x1236)
    trace.idle(0)
    slot = (va & 0xFFF) // (4 if levels == 2 else 8)
    return trace, [
        {"kind": "unhook", "va": va, "frame": frame, "slot": slot, "domid": 9, "vcpu": 1},
        {"kind": "emulate", "va": va, "frame": frame, "pte": entry, "slot": slot},
        {"kind": "unshadow", "va": va, "frame": 0x1234},
        {"kind": "spurious", "va": va},
        {"kind": "rehook", "frame": 0x1234},
        {"kind": "resync_only", "frame": 0x1235},
        {"kind": "wrmap", "frame": 0x1236},
    ]


def hook_layout(form: str, bits: int) -> tuple[Trace, list[dict]]:
    """The trace points of the unhook mechanism."""
    trace = Trace(form=form, xen=(3, 0) if form != synth.VARIABLE else (4, 17), guest_bits=bits)
    trace.switch(0, Vcpu(0, 1))
    wide = bits == 64
    pte_at, rip = (0xFFFFFFFF8287C038, 0xFFFFFFFF80000CB7) if wide else (0xF287C038, 0xF0000CB7)
    value = 0x80000001342B9065 if wide else 0x342B9065
    page = {"va": pte_at, "pt_page": pte_at & ~0xFFF, "slot": 7}
    trace.unhook(0, pte_at, rip, 0x201, 0x687D, 1)
    trace.rehook(0, pte_at, 0x201, 0x687D, 12, 0x101)
    trace.flush(0, pte_at, 3, 1)
    trace.hook_emulate(0, pte_at, rip, value, 4)
    trace.hook_spurious(0, 0x40E07010, rip, 6)
    trace.page_fault(0, 0x40E07018, 3, rip)
    return trace, [
        {"kind": "unhook", **page, "rip": rip, "frame": 0x687D, "arg1": 1, "arg2": 0x201},
        {"kind": "rehook", **page, "frame": 0x687D, "count": 12, "arg1": 0x101, "arg2": 0x201},
        {"kind": "flush", "va": pte_at, "arg1": 1, "arg2": 3},
        {"kind": "emulate", **page, "rip": rip, "pte": value, "arg1": 4},
        {"kind": "spurious", "va": 0x40E07010, "rip": rip, "error_code": 6},
        {"kind": "page_fault", "va": 0x40E07018, "rip": rip, "error_code": 3, "vcpu": 1},
    ]


def layout_case(folder: Path, trace: Trace, expected: list[dict]) -> None:
    """Each event, in order, has these values."""
    database = imported(folder, trace.bytes(1))
    rows = database.dicts("SELECT * FROM events ORDER BY event_id")
    equal([row["kind"] for row in rows], [event["kind"] for event in expected], "kinds")
    for row, event in zip(rows, expected):
        for column, value in event.items():
            value = signed(value) if isinstance(value, int) else value
            equal(row[column], value, f"{event['kind']}: {column}")
    equal(database.one("SELECT unknown_records FROM trace"), 0, "unknown records")


def batches_case(folder: Path) -> None:
    """A preempted hypercall is recorded again when it goes on; its entries count once."""
    trace = Trace()
    trace.switch(0, Vcpu(1, 0))
    trace.hypercall(0, synth.MMU_UPDATE, a1=31)
    trace.hypercall(0, synth.MMU_UPDATE, a1=0x80000000 | 12)
    trace.hypercall(0, synth.MMUEXT_OP, a1=7)
    trace.hypercall(0, synth.MMUEXT_OP, a1=0x80000000 | 3)
    trace.hypercall(0, synth.IRET)
    # Split between two calls, then inside one, which is then recorded twice.
    trace.hypercall(0, synth.MULTICALL, a1=6)
    for _ in range(2):
        trace.subcall(0, synth.UPDATE_VA)
    trace.hypercall(0, synth.MULTICALL, a1=4)
    trace.subcall(0, synth.UPDATE_VA)
    trace.subcall(0, synth.MMU_UPDATE, a1=20)
    trace.hypercall(0, synth.MULTICALL, a1=3)
    trace.subcall(0, synth.MMU_UPDATE, a1=0x80000000 | 5)
    trace.subcall(0, synth.UPDATE_VA)
    trace.subcall(0, synth.MMUEXT_OP, a1=1)
    trace.hypercall(0, synth.IRET)
    # Two calls with the same count, one right after the other, are two.
    trace.hypercall(0, synth.MMU_UPDATE, a1=4)
    trace.hypercall(0, synth.MMU_UPDATE, a1=4)
    trace.idle(0)
    database = imported(folder, trace.bytes(1))
    sums = dict(database.rows("SELECT kind, sum(count) FROM events GROUP BY kind"))
    equal(sums["batch"], 31 + 2 + 1 + 20 + 1 + 8, "entries of batches")
    equal(sums["mmuext"], 7 + 1, "mmuext operations")
    equal(sums["multicall"], 6, "calls in multicalls")


# Every id.


def sweep_ids(base: int) -> list[int]:
    """Ids of a class: all minors of the subclasses that exist, some of others."""
    ids = []
    for subclass in (0x1000, 0x2000, 0x4000, 0x8000, 0xF000):
        ids += [base | subclass | minor for minor in range(0x1000)]
    return ids + [base | 0x3000 | minor for minor in range(0, 0x1000, 0x111)] + [base | 0x10]


def sweep_case(folder: Path, base: int) -> None:
    """Every id with 0..7 words, with and without a TSC, is accepted, counted, and nothing else."""
    tsc, chunks, ids = 1 << 36, [], sweep_ids(base)
    payload = (0x00400001, 0x5, 0x7F00, 0xFFFFFFFF, 0x80000000, 0x1234, 0x40000)
    for event in ids:
        for words in range(8):
            tsc += 100
            chunks.append(synth.encode(event, payload[:words], tsc))
            chunks.append(synth.encode(event, payload[:words]))
    data = synth.window(0, synth.encode(0x21002, (0x10000,), 1 << 36))
    for begin in range(0, len(chunks), 8192):
        data += synth.window(0, b"".join(chunks[begin : begin + 8192]))
    database = imported(folder, data)
    equal(database.one("SELECT records FROM trace"), len(chunks) + 1, "records")
    equal(database.one("SELECT complete FROM trace"), 1, "complete")
    counted = {(event, words): 2 for event in ids for words in range(8)}
    counted[(0x21002, 1)] = 1
    rows = database.rows("SELECT raw_id, words, records FROM record_count")
    found = {(event, words): records for event, words, records in rows}
    wrong = [key for key in counted.keys() | found.keys() if counted.get(key) != found.get(key)]
    example = [(hex(event), words, found.get((event, words))) for event, words in sorted(wrong)[:4]]
    equal(len(wrong), 0, f"ids and lengths counted wrongly (such as {example})")
    unknown = database.one("SELECT sum(records) FROM record_count WHERE NOT fits")
    equal(database.one("SELECT unknown_records FROM trace"), unknown, "unknown records")
    run("info", folder / "t.db")


def known_ids_case(folder: Path) -> None:
    """Real records are decoded although tens of thousands of unknown ids stand before them."""
    trace = scenarios.pv_fork(2, 4).trace
    noise = [synth.encode(0x200000 | i & 0xFFFF, (0,) * (i >> 16), 1 << 30) for i in range(1 << 18)]
    data = synth.window(0, b"".join(noise)) + trace.bytes(3)
    database = imported(folder, data)
    equal(database.one("SELECT count(*) FROM forks WHERE ptes = 8"), 1, "forks")
    equal(database.one("SELECT records FROM trace"), len(noise) + trace.count(), "records")


def alarms_case(folder: Path) -> None:
    """The same fault over and over is a loop wherever the address is, unless an entry changes between."""
    for address, code in ((0x7F0000001000, 6), (0xFFFFC90000123000, 2)):
        for changed in (False, True):
            trace = Trace()
            trace.switch(0, Vcpu(1, 0))
            for _ in range(40):
                trace.page_fault(0, address, code, 0xFFFFFFFF81000000)
                if changed:
                    trace.hypercall(0, 1)
                trace.hypercall(0, 23)
            found = imported(folder, trace.bytes(), "--force").rows("SELECT count FROM finding WHERE code = 'fault_loop'")
            equal(found, [] if changed else [(1,)], f"loops at {address:#x}, changed: {changed}")


def idle_case(folder: Path) -> None:
    """A guest's writes while the idle domain is current: a fork, with a doubt in its row and beside it."""
    trace = Trace()
    trace.switch(0, Vcpu(synth.IDLE, 0))
    for page in range(3):
        for slot in range(8):
            trace.ptwr(0, 0xFFFF888001000000 + (page << 12) + 8 * slot, 0x1000 * (slot + 16) | 0x61, 0xFFFFFFFF81001000)
    database = imported(folder, trace.bytes())
    rows = database.rows("SELECT ptes, doubt FROM forks WHERE domid = ?", synth.IDLE)
    equal(len(rows), 1, "forks")
    check("no guest ran" in (rows[0][1] or ""), rows)
    equal(database.one("SELECT count FROM finding WHERE code = 'idle_forks'"), 1, "finding")


def aging_case(folder: Path) -> None:
    """Accessed bits cleared by an instruction are its walks, until it shows as one that forks use."""
    page, young, forks = 0xFFFF888001000000, 0xFFFFFFFF81002000, 0xFFFFFFFF81001000
    for kernel in (False, True):
        trace = Trace()
        trace.switch(0, Vcpu(1, 0))
        trace.page_fault(0, 0x7F0000001000, 4, 0x401000)
        for rip, accessed in ((young, 0), (forks, 0), (forks, 32 * kernel)):
            for slot in (0, 1, 5):
                trace.ptwr(0, page + 8 * slot, 0x100045 | accessed, rip)
            trace.ptwr(0, page + 4096, 0x100047 if rip == young else 0x100045, rip)
            trace.page_fault(0, 0x7F0000001000, 4, 0x401000)
        trace.ptwr(0, page, 0x100045, young)
        trace.ptwr(0, page, 0x100045, young)
        database = imported(folder, trace.bytes(), "--force")
        signed = lambda address: address - (1 << 64)
        rows = database.rows("SELECT rip, kind, pt_pages, ptes, complete FROM walks ORDER BY walk_id")
        again = [(signed(forks), "aging", 2, 4, 1)] * 2
        equal(rows, [(signed(young), "aging", 2, 4, 1)] + again * (not kernel)
              + [(signed(young), "aging", 1, 1, 1), (signed(young), "aging", 1, 1, 0)], f"walks, fork's: {kernel}")
        equal(database.one("SELECT count(*) FROM forks"), int(kernel), "forks")
        equal(database.one("SELECT count FROM finding WHERE code = 'aging'"), len(rows), "finding")


def other_build_case(folder: Path) -> None:
    """Symbols of another kernel: forks in a function that copies nothing are said to be wrongly named."""
    data, rip = scenarios.pv_fork(4, 8).trace.bytes(), None
    rip = imported(folder, data).one("SELECT rip FROM forks ORDER BY ptes DESC LIMIT 1") & (1 << 64) - 1
    for name, doubted in (("copy_page_range", 0), ("do_swap_page", 1)):
        symbols = folder / "symbols"
        symbols.write_text(f"{rip - 16:x} T {name}\n{rip + 4096:x} T end\n", encoding="ascii")
        done = run("import", "--force", "-o", folder / "t.db", "--symbols", symbols, folder / "t.bin")
        equal("another kernel build" in done.stderr, bool(doubted), done.stderr)
        database = opened(folder / "t.db")
        equal(database.one("SELECT count(*) FROM doubt WHERE code = 'symbols_other_build'"), doubted, name)


def main() -> None:
    """All cases."""
    run_case("alarm: fault loops", alarms_case)
    run_case("alarm: a fork while no guest runs", idle_case)
    run_case("walks that are no forks", aging_case)
    run_case("alarm: symbols of another build", other_build_case)
    for name, story in scenarios.all_stories():
        run_case(name, story_case, story)
    for name, data in (
        ("PV fork", scenarios.pv_fork().trace.bytes()),
        ("many pCPUs", scenarios.many_pcpus().trace.bytes(20)),
        ("shadow", scenarios.shadow_oos().trace.bytes(4)),
        ("loss", scenarios.lossy().trace.bytes()),
        ("fixed 64", scenarios.writable(synth.FIXED64).trace.bytes()),
        ("fixed 32", scenarios.writable(synth.FIXED32, 32).trace.bytes()),
    ):
        run_case(f"pipe, analyze, sql: {name}", pipe_case, data)
    run_case("number of passes: many pCPUs", passes_case, scenarios.many_pcpus())
    run_case("number of passes: preempted fork", passes_case, scenarios.preempted())
    for xen in ((3, 2), (3, 3), (3, 4), (4, 0), (4, 1), (4, 17), (4, 19)):
        run_case(f"HVM records of {xen[0]}.{xen[1]}", layout_case, *hvm_layout(xen))
    run_case("HVM records of a 32-bit guest", layout_case, *hvm_layout((4, 17), 32))
    run_case("SVM records of 4.19", layout_case, *hvm_layout((4, 19), 64, True))
    run_case("SVM records of 4.19, 32-bit guest", layout_case, *hvm_layout((4, 19), 32, True))
    for xen in ((3, 2), (4, 2), (4, 3), (4, 19)):
        for bits in (32, 64):
            name = f"PV records of {xen[0]}.{xen[1]}, {bits}-bit guest"
            run_case(name, layout_case, *pv_layout(xen, bits))
    run_case(
        "PV records of non-PAE Xen", layout_case, *pv_layout((3, 2), 32, xen_bits=32, pae=False)
    )
    for xen in ((3, 4), (4, 18), (4, 19)):
        for levels in (2, 3, 4):
            name = f"SHADOW records of {xen[0]}.{xen[1]}, {levels} levels"
            run_case(name, layout_case, *shadow_layout(xen, levels))
    run_case("SHADOW records of 32-bit Xen", layout_case, *shadow_layout((3, 4), 3, 32))
    for form, bits in (
        (synth.FIXED64, 64),
        (synth.FIXED32, 32),
        (synth.VARIABLE, 64),
        (synth.VARIABLE, 32),
    ):
        run_case(f"hook records, {form}, {bits} bits", layout_case, *hook_layout(form, bits))
    run_case("preempted hypercalls", batches_case)
    run_case("every PV id", sweep_case, 0x00200000)
    run_case("every SHADOW id", sweep_case, 0x00400000)
    run_case("known ids behind many unknown ones", known_ids_case)
    finish()


if __name__ == "__main__":
    main()
