#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recorded traces against what the guest itself logged.  In: traces and logs.  Out: cases."""
import re

import invariants
import witness
from lib import case, database, database_path, equal, finish, plain, run, runs, unpack

# records, then events by kind; counted by a program that shares nothing with this one
COUNTS = {
    "dom0-forks": (86179, 0, {"page_fault": 10930, "emulate": 10163}),
    "dom0-shell": (141019, 0, {"page_fault": 6405, "emulate": 1803}),
    "dom0-dirty": (164041, 0, {"page_fault": 18186, "emulate": 17509}),
    "dom0-smp": (95004, 0, {"page_fault": 12993, "emulate": 9712}),
    "dom0-crowd": (215610, 0, {"page_fault": 6140, "emulate": 3253}),
    "dom0-all-classes": (48625, 0, {"page_fault": 8463, "emulate": 8385}),
    "dom0-lossy": (64282, 9026, {"page_fault": 7716, "emulate": 3063, "loss": 98}),
    "dom0-pv-class-only": (8690, 436, {"page_fault": 252, "emulate": 64, "loss": 4}),
    "dom0-pcpu0-only": (23976, 330, {"page_fault": 214, "emulate": 173, "loss": 6}),
    "pvh-shadow": (107418, 0, {"unhook": 323, "rehook": 279, "resync_only": 18, "wrmap": 8,
                               "emulate": 4230, "page_fault": 5477, "fixup": 6631 - 323}),
    "pvh-shadow-hvm": (448515, 0, {"unhook": 657, "rehook": 587, "page_fault": 16794,
                                   "fixup": 17448 - 657}),
    "domu-logdirty": (214090, 0, {"page_fault": 5867, "emulate": 4113, "fixup": 5385,
                                  "not_shadow": 120}),
    "wtpt-up": (4935, 0, {"unhook": 1090, "rehook": 1090, "flush": 2069, "emulate": 90,
                          "page_fault": 188, "spurious": 0}),
    "wtpt-smp": (16388, 0, {"unhook": 2909, "rehook": 2909, "flush": 5818, "emulate": 1432,
                            "page_fault": 842, "spurious": 173}),
    "emulate": (32864, 0, {"unhook": 0, "rehook": 0, "flush": 0, "emulate": 32268,
                           "page_fault": 188, "spurious": 0}),
    "x32pae-wtpt-up": (4978, 0, {"unhook": 1099, "rehook": 1099, "flush": 2086, "emulate": 98,
                                 "page_fault": 188, "spurious": 0}),
}


def check_counts(name):
    records, lost, kinds = COUNTS[name]
    db = database(name)
    equal(db.execute("SELECT records, lost_records, unknown_records, complete FROM trace").fetchall(),
          [(records, lost, 0, 1)], "records, lost, unknown, complete")
    equal(db.execute("SELECT sum(records) FROM record_count").fetchone()[0], records, "by id")
    equal(db.execute("SELECT ifnull(sum(lost), 0) FROM losses").fetchone()[0], lost, "losses")
    got = dict(db.execute("SELECT kind, count(*) FROM events GROUP BY kind"))
    for kind, count in kinds.items():
        equal(got.get(kind, 0), count, kind)


for trace in COUNTS:
    case(f"counts of {trace}")(lambda trace=trace: check_counts(trace))
    case(f"{trace}: forks, pages and events agree")(lambda trace=trace: invariants.hold(database(trace)))


@case("reclaim: what clears accessed bits is a walk by its instruction, entry by entry, and no fork")
def _():
    db = database("reclaim")
    young = db.execute("SELECT rip FROM events WHERE kind = 'emulate' AND pte & 1 AND NOT pte & 32"
                       " GROUP BY rip").fetchall()
    equal(len(young), 1, "instructions that clear the bit")
    wanted = db.execute("SELECT count(*), min(tsc), max(tsc) FROM events"
                        " WHERE kind = 'emulate' AND rip = ?", young[0]).fetchone()
    got = db.execute("SELECT sum(ptes), min(tsc_start), max(tsc_end), count(DISTINCT rip), min(rip),"
                     " count(DISTINCT kind), min(kind) FROM walks").fetchone()
    equal(got, (wanted[0], wanted[1], wanted[2], 1, young[0][0], 1, "aging"), "walks")
    equal(db.execute("SELECT count(*) FROM walks w JOIN forks f ON f.rip = w.rip").fetchone()[0], 0, "forks")
    # each stands for itself: its own writes lie between its ends, in as many pages
    for first, last, ptes, pages, vcpu in db.execute(
            "SELECT first_event, last_event, ptes, pt_pages, vcpu FROM walks").fetchall():
        equal(db.execute("SELECT count(*), count(DISTINCT pt_page) FROM events WHERE event_id BETWEEN ?"
                         " AND ? AND kind = 'emulate' AND rip = ? AND vcpu = ?",
                         (first, last, young[0][0], vcpu)).fetchone(), (ptes, pages), "a walk's entries")
    text = run("walks", database_path("reclaim")).stdout.splitlines()
    equal(text[1].split(), ["d0", "aging", "76", "150", "150", hex(young[0][0] + (1 << 64))], "the list begins with it")
    equal(db.execute("SELECT count FROM finding WHERE code = 'aging'").fetchone()[0],
          db.execute("SELECT count(*) FROM walks").fetchone()[0], "the finding counts them")


def check_forks(name, wanted):
    found, logged, _ = witness.match_forks(database(name), witness.ftrace(unpack(name + ".ftrace")))
    equal(found, wanted, "forks")
    return logged


@case("dom0-shell: 95 forks, each the kernel's own")
def _():
    equal(check_forks("dom0-shell", 95), 95, "logged")


@case("dom0-dirty: 32 forks, each the kernel's own")
def _():
    equal(check_forks("dom0-dirty", 32), 32, "logged")


@case("dom0-smp: 8 forks, thread creations are none")
def _():
    equal(check_forks("dom0-smp", 8), 12, "logged")


@case("dom0-crowd: 68 forks, none false")
def _():
    equal(check_forks("dom0-crowd", 68), 68, "logged")


@case("dom0-crowd: the preempted fork is one, and goes on after another task ran")
def _():
    rows = database("dom0-crowd").execute(
        "SELECT tsc_start, tsc_end, vcpu, doubt FROM forks WHERE tsc_start <= 95219758910"
        " AND tsc_end >= 95369093980 AND vcpu = 1").fetchall()
    equal(len(rows), 1, "forks over the preemption")
    assert rows[0][3], "it is decided by order, which is to be said"


def check_dirty(name, wanted, pages=16):
    equal(witness.dirty_forks(database(name), pages), wanted, f"PTEs in each of {pages} pages, fork by fork")


@case("dom0-dirty: 15 forks with exactly so many PTEs in 16 pages each")
def _():
    log = open(plain("dom0-dirty.log"), encoding="ascii").read()
    check_dirty("dom0-dirty", [int(n) for n in re.findall(r"ppp=(\d+) npt=16", log)])


@case("dom0-forks: 27 forks, seven with exactly so many PTEs in 16 pages each")
def _():
    equal(database("dom0-forks").execute("SELECT count(*) FROM forks").fetchone()[0], 27, "forks")
    log = open(plain("dom0-forks.log"), encoding="ascii").read()
    check_dirty("dom0-forks", [int(n) for n in re.findall(r"ppp=(\d+) npt=16", log)])


for trace in ("dom0-shell", "dom0-dirty", "dom0-smp"):
    @case(f"{trace}: every page fault of the kernel's log has its event")
    def _(trace=trace):
        assert witness.match_faults(database(trace), witness.ftrace(unpack(trace + ".ftrace")),
                                    witness.kallsyms(unpack("dom0-kallsyms.txt"))) > 1000


def check_runs(name, kinds, sequences=None, vcpu=0):
    """Each run of these kinds is one fork of the vCPU, with the stores that the guest counted."""
    db = database(name)
    forks = db.execute("SELECT fork_id, tsc_start, tsc_end, ptes, pt_pages, vcpu FROM forks").fetchall()
    for r in runs(name):
        if r["kind"] not in kinds:
            continue
        inside = [f for f in forks if f[1] <= r["end_tsc"] and f[2] >= r["begin_tsc"]]
        label = f"run {r['id']} ({r['kind']} x={r['x']} v1={r['v1']})"
        equal(len(inside), 1, f"{label}: forks")
        fork = inside[0]
        assert r["begin_tsc"] <= fork[1] and fork[2] <= r["end_tsc"], f"{label}: joined to a neighbour"
        equal(fork[5], vcpu, f"{label}: vCPU")
        stores = r["g_parent_stores"] + r["g_child_stores"]
        # a COW break of VCPU 1 in a page that VCPU 0 has unhooked counts as modified there
        unseen = r["g_v1_cow"] if r["v1"] == "hammer" else 0
        assert stores <= fork[3] <= stores + unseen, f"{label}: ptes {fork[3]}, stores {stores}"
        if sequences:
            rows = [n for (n,) in db.execute(
                "SELECT ptes FROM pt_sequences WHERE fork_id = ?", (fork[0],))]
            equal(rows, [r["x"]] * (32 if r["g_child_stores"] else 16), f"{label}: sequences")


@case("wtpt-up: each fork is one, 16 or 32 sequences of x entries")
def _():
    check_runs("wtpt-up", ("fork", "fork+child"), sequences=True)
    check_runs("wtpt-up", ("fork-sleep",))


@case("emulate: each run is one fork")
def _():
    check_runs("emulate", ("fork", "fork+child", "fork-sleep"))


@case("x32pae-wtpt-up: each run is one fork")
def _():
    check_runs("x32pae-wtpt-up", ("fork", "fork+child", "fork-sleep"))


@case("wtpt-smp: each run is one fork of VCPU 0, although VCPU 1 faults all the time")
def _():
    check_runs("wtpt-smp", ("fork", "fork+child"))


def check_shadow(name, unhooks, rehooks, unended):
    db = database(name)
    row = db.execute("SELECT sum(unhooks), sum(rehooks), sum(unhooks = 1 AND rehooks = 0)"
                     " FROM pt_sequences WHERE mechanism = 'oos'").fetchone()
    equal(row, (unhooks, rehooks, unended), "unhooks, rehooks, sequences without a rehook")
    equal(db.execute("SELECT count(*) FROM pt_sequences WHERE mechanism = 'oos'").fetchone()[0],
          unhooks, "every unsync starts a sequence")
    equal(db.execute("SELECT count(*) FROM finding WHERE code = 'unmatched_rehook'").fetchone()[0],
          0, "every rehook ends one")


@case("pvh-shadow: 323 unsyncs, 279 resyncs, paired although they carry no time")
def _():
    check_shadow("pvh-shadow", 323, 279, 44)
    assert database("pvh-shadow").execute(
        "SELECT min(tsc_slack) FROM pt_sequences WHERE mechanism = 'oos'").fetchone()[0] > 0


@case("pvh-shadow-hvm: 657 unsyncs, 587 resyncs")
def _():
    check_shadow("pvh-shadow-hvm", 657, 587, 70)


@case("pvh-shadow-hvm: the forkdirty and forkcow forks, with a page unsynced per L1 page")
def _():
    found = [n for (n,) in database("pvh-shadow-hvm").execute(
        "SELECT pt_pages FROM forks WHERE domid = 2 AND pt_pages >= 8 ORDER BY tsc_start")]
    # six or more forkdirty of 16 pages, forkcow of 8; text, stack and heap add a few
    assert sum(n >= 16 for n in found) >= 6 and sum(8 <= n < 16 for n in found) == 1, found


@case("dom0-lossy: nothing is joined across a loss, what touches one is not complete")
def _():
    db = database("dom0-lossy")
    equal(db.execute("SELECT count(*), sum(lost) FROM losses").fetchone(), (98, 9026), "losses")
    witness.nothing_joined(db)
    for view in ("forks", "pt_sequences"):
        assert db.execute(f"SELECT count(*) FROM {view} WHERE NOT complete").fetchone()[0] > 0


@case("dom0-pv-class-only: domain and vCPU are NULL, one warning")
def _():
    db = database("dom0-pv-class-only")
    equal(db.execute("SELECT count(*) FROM events WHERE kind <> 'loss'"
                     " AND (domid IS NOT NULL OR vcpu IS NOT NULL)").fetchone()[0], 0, "attributed")
    equal(db.execute("SELECT count FROM doubt WHERE code = 'no_scheduler'").fetchone(), (1,), "doubt")


finish()
