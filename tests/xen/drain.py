#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Proves xenfault-drain on a real Xen: boots one, runs drain.guest in dom0, checks what came back.

In: programs below $O (default build).  Out: cases.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import check, equal  # noqa: E402
from xenrig import run_boots  # noqa: E402
from xenstream import windows  # noqa: E402

MASK = 0x00767000  # -e pt
PTWR = 0x20110B  # an emulated PTE write of a 64-bit PV guest


def stream_is_whole(r):
    for name in ("first", "after", "mask", "on", "still-on", "last"):
        equal(r.exit(name), 0, f"exit status of {name}")
        stream, status = r.stream(name + ".bin"), r.status(name)
        count = sum(1 for _ in windows(stream))
        r.events(name + ".bin")
        equal(len(stream), int(status["bytes"]) + 12 * count, f"bytes of {name}")
        equal(status["windows"], str(count), f"windows of {name}")
        check(count, f"{name} is empty")


def told(r):
    status = r.status("first")
    equal(status["end"], "signal", "end")
    check(status["xen"].startswith("4.17."), status["xen"])
    check(10**8 < int(status["cpu_hz"]) < 10**10, status["cpu_hz"])
    for key, value in (("pcpus", "2"), ("rings", "2"), ("pages_asked", "256"), ("pages", "256"),
                       ("cpus_without_ring", ""), ("events_found", "0x0ffff000"),
                       ("events_left", "0x0ffff000"), ("tracing_found", "off"),
                       ("tracing_left", "off"), ("lost", "0")):
        equal(status[key], value, key)


def fork_is_there(r):
    """
    forkdirty makes 64 entries in each of 16 page-table pages writable, the fork protects them.  Later
    forks may use the same pages for others: what counts is one run of writes to a page.
    """
    for name in ("first", "xentrace"):
        db = r.imported(name + ".bin")
        equal(db.execute("SELECT count(*) FROM pt_sequences WHERE ptes = 64 AND fork_id = (SELECT fork_id FROM forks"
                         " ORDER BY ptes DESC LIMIT 1)").fetchone()[0], 16,
              f"page-table pages with 64 entries protected, {name}")


def same_as_xentrace(r):
    """Same mask, same work: the same classes and subclasses come through both programs."""
    ours, theirs = r.events("first.bin"), r.events("xentrace.bin")
    kinds = [{event >> 12 for event in events} - {0x1F} for events in (ours, theirs)]
    equal(kinds[0], kinds[1], "classes recorded")
    for event in (PTWR, 0x201104, 0x20100D):
        n, m = len(ours.get(event, [])), len(theirs.get(event, []))
        check(n > 50 and m > 50, f"event {event:#x}: {n} and {m}")
    for event in ours:
        check(event == 0x1F002 or (event & MASK & 0x0FFF0000 and event & MASK & 0xF000),
              f"event {event:#x} is not in the mask")


def second_consumer_refused(r):
    for name in ("second", "busy"):
        equal(r.exit(name), 6, f"exit status of {name}")
        check(r.status(name)["error"].startswith("busy "), r.status(name))
        equal(r.stream(name + ".bin"), b"", f"stream of {name}")
    check(r.exit("kept-out") != 0, "xentrace ran beside us")
    equal(r.exit("xentrace"), 0, "exit status of xentrace after us")
    equal(r.exit("afterwards"), 0, "exit status of xentrace at the end")
    check(len(r.events("afterwards.bin")) > 5, "xentrace recorded nothing after us")


def mask_and_state_as_found(r):
    for name in ("after", "mask", "on", "still-on"):
        status = r.status(name)
        equal(status["events_found"], "0x00767000", f"mask that {name} found")
        equal(status["events_left"], "0x00767000", f"mask that {name} left")
    for name, found in (("after", "off"), ("mask", "off"), ("on", "on"), ("still-on", "on"),
                        ("last", "off")):
        equal(r.status(name)["tracing_found"], found, f"tracing as {name} found it")
        equal(r.status(name)["tracing_left"], found, f"tracing as {name} left it")


def first_size_stays(r):
    status = r.status("after")
    equal((status["pages_asked"], status["pages"]), ("64", "256"), "pages asked and got")
    check("first got in this boot" in r.text("after.status"), "no warning about the size")


def cpu_mask(r):
    equal({cpu for cpu, _ in windows(r.stream("mask.bin"))}, {1}, "CPUs recorded with -c 1")
    equal({cpu for cpu, _ in windows(r.stream("on.bin"))}, {0, 1}, "CPUs recorded after that")


def killed(r):
    before, after = r.status("killed"), r.status("guarded")
    equal(after["events_found"], before["events_found"], "mask that the guard left")
    equal(after["tracing_found"], before["tracing_found"], "tracing as the guard left it")
    equal(r.status("orphan")["tracing_found"], "on", "tracing after both were killed")
    equal(r.exit("off"), 0, "exit status of --off")
    equal(r.status("off")["tracing_left"], "off", "--off")
    equal(r.status("last")["events_found"], "0x0ffff000", "mask after --off")
    equal(r.stream("off.bin"), b"", "stream of --off")


CASES = (stream_is_whole, told, fork_is_there, same_as_xentrace, second_consumer_refused,
         mask_and_state_as_found, first_size_stays, cpu_mask, killed)

if __name__ == "__main__":
    run_boots("xen-drain", (("drain.guest", CASES, (), ""),))
