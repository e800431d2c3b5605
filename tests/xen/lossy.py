#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Buffers of one page, made when Xen booted: what is lost is counted, told and stored.

Boots Xen, runs lossy.guest in dom0, checks what came back.  In: programs below $O (default build).
Out: cases.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import witness  # noqa: E402
from lib import check, equal  # noqa: E402
from xenrig import run_boots  # noqa: E402

LOST_RECORDS = 0x1F001


def lost_in(events):
    return [words[0] for words in events.get(LOST_RECORDS, [])]


def drain_counts_them(r):
    """What the drain counts is what the stream says."""
    status, lost = r.status("lossy"), sum(lost_in(r.events("lossy.bin")))
    equal(r.exit("lossy"), 0, "exit status")
    equal((status["pages_asked"], status["pages"]), ("256", "1"), "pages asked and got")
    check(lost > 0, "nothing was lost")
    equal(status["lost"], str(lost), "records lost")
    check("records were lost" in r.text("lossy.status"), "no warning about losses")


def database_holds_them(r):
    for name in ("own", "slow"):
        lost = lost_in(r.events(name + ".raw"))
        db = r.database(name)
        check(lost, f"{name}: nothing was lost")
        equal(db.execute("SELECT lost_records FROM trace").fetchone()[0], sum(lost), f"lost, {name}")
        equal(db.execute("SELECT sum(lost), count(*) FROM losses").fetchone(),
              (sum(lost), len(lost)), f"losses, {name}")


def nothing_is_joined(r):
    for name in ("own", "slow"):
        db = r.database(name)
        witness.nothing_joined(db)
        check(db.execute("SELECT count(*) FROM forks WHERE NOT complete").fetchone()[0]
              or db.execute("SELECT count(*) FROM pt_sequences WHERE NOT complete").fetchone()[0],
              f"{name}: no loss left a trace")


def same_as_import(r):
    witness.same_rows(r.database("own"), r.imported("own.raw"))


def knob_is_named(r):
    said = r.text("own.err")
    equal(r.exit("own"), 0, "exit status of record")
    check("1 page for each CPU, not the 256 asked for" in said, said)
    check("records were lost; pages of buffer for each CPU: 1 (asked for with -S: 256)" in said, said)
    equal(r.exit("slow"), 7, "exit status with --fail-on-loss")
    check("records were lost" in r.text("slow.err").splitlines()[-1], r.text("slow.err"))


if __name__ == "__main__":
    run_boots("xen-lossy", (
        ("lossy.guest", (drain_counts_them, database_holds_them, nothing_is_joined, same_as_import,
                         knob_is_named), (), "tbuf_size=1"),))
