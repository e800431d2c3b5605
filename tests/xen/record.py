#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Proves xenfault record on a real Xen: the databases against what dom0's own kernel logged.

Boots Xen, runs record.guest in dom0, checks what came back.  In: programs below $O (default build).
Out: cases.
"""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import witness  # noqa: E402
from lib import SOON, check, equal  # noqa: E402
from xenrig import TOP, run_boots  # noqa: E402

WAL_LIMIT = 64 << 20  # as in store.h


def sizes(r, name):
    return [int(n) for n in re.findall(r"ppp=(\d+) npt=16", r.text(name))]


def valid(r, name, complete):
    db = r.database(name)
    equal(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)], f"integrity of {name}")
    equal(db.execute("SELECT complete FROM trace").fetchone()[0], complete, f"complete, {name}")
    check(db.execute("SELECT count(*) FROM events").fetchone()[0] > 500, f"{name} is nearly empty")
    return db


def left(r, probe, tracing, events):
    status = r.status(probe)
    equal((status["tracing_found"], status["events_found"]), (tracing, events), f"Xen at {probe}")


def main_is_whole(r):
    equal(r.exit("main"), 0, "exit status")
    db = valid(r, "main", 1)
    equal(db.execute("SELECT lost_records, unknown_records FROM trace").fetchone(), (0, 0),
          "lost and unknown records")
    equal(db.execute("SELECT cpu_hz FROM trace").fetchone()[0], int(r.status("after-main")["cpu_hz"]),
          "frequency")
    for view in ("events", "forks", "pt_sequences"):
        equal(db.execute(f"SELECT count(*) FROM {view} WHERE us IS NULL").fetchone()[0], 0,
              f"{view} without a time")


def forks_have_their_size(r):
    wanted = sizes(r, "main.work")
    equal(len(wanted), 10, "runs of forkdirty")
    equal(witness.dirty_forks(r.database("main")), wanted, "PTEs in each of 16 pages, fork by fork")


def forks_are_the_kernels(r):
    found, logged, doubted = witness.match_forks(r.database("main"), witness.ftrace(r.path("main.ftrace")))
    print(f"   {found} forks found, {logged} logged, {doubted} decided by order")
    check(abs(found - logged) <= doubted <= found // 5, f"{found} forks found, {logged} logged, {doubted} in doubt")
    check(found > 20, f"{found} forks")


def faults_are_the_kernels(r):
    log = witness.ftrace(r.path("main.ftrace"))
    logged = sum(event.startswith("page_fault_") for _, _, event, _, _ in log)
    found = witness.match_faults(r.database("main"), log, witness.kallsyms(r.path("kallsyms")))
    # the first one of each vCPU may have begun before the log did
    check(logged - 2 <= found <= logged and found > 10000, f"{found} of {logged} faults")


def names_are_the_kernels(r):
    db = r.database("main")
    named = {fork: who for fork, *who in db.execute(
        "SELECT fork_id, pid, comm, child_pid FROM forks WHERE pid IS NOT NULL")}
    wanted = witness.fork_names(db, witness.ftrace(r.path("main.ftrace")))
    equal({fork: named.get(fork) for fork in wanted}, wanted, "names")
    check(len(wanted) > 20, f"{len(wanted)} forks")
    check(("forkdirty", 10) in db.execute("SELECT comm, count(*) FROM processes WHERE comm = 'forkdirty' AND forks = 1"
                                          " GROUP BY 1").fetchall(), "ten forkdirty")
    equal(db.execute("SELECT source, clock, lost FROM guest_logs").fetchall(), [("tracefs", "cycles", 0)], "the log")
    equal(db.execute("SELECT DISTINCT domain FROM forks").fetchall(), [("Domain-0",)], "the domain's name")


def nothing_stays_in_tracefs(r):
    check(re.fullmatch(r"xenfault\.\d+\n", r.text("main-during.instances")), "an instance meanwhile")
    check("[x86-tsc]" in r.text("main-during.ftrace"), "another user's clock")
    for name in ("after-main", "after-killed", "after-clean", "after-orphan"):
        equal(r.text(name + ".instances"), "", f"instances, {name}")
    check(r.text("unclean.instances"), "one was left, or the case is none")
    db = r.database("second")
    equal(db.execute("SELECT count(pid), count(*) > 0 FROM forks").fetchone(), (0, 1), "--no-guest-log")
    check(r.database("clean").execute("SELECT count(pid) FROM forks").fetchone()[0] > 0, "names after that")


def raw_gives_the_same(r):
    witness.same_rows(r.database("main"), r.imported("main.raw"))


def readers_never_wait(r):
    check(not os.path.exists(r.path("reader.bad")), "a reader failed")
    check("locked" not in r.text("reader.err"), r.text("reader.err"))
    counts = [int(line) for line in r.text("reader.events").split() if line.isdigit()]
    check(len(set(counts)) > 3 and counts == sorted(counts), f"events seen: {counts}")
    equal(int(r.text("tui.exit")), 0, "exit status of xenfault tui --follow")
    check("forks" in r.text("tui.screen") and "locked" not in r.text("tui.screen"), "the screen")
    wal = max(int(line) for line in r.text("wal.sizes").split())
    check(wal <= WAL_LIMIT, f"WAL of {wal} bytes")


def it_stops_at_once(r):
    before, after = map(float, r.text("main.stop").split())
    print(f"   {after - before:.2f} s from SIGINT to the end, in an emulated machine")
    # the kernel's log is read and joined after the last record: seconds where each instruction is emulated
    check(after - before < 6 * SOON, f"{after - before} s")


def second_one_works(r):
    equal(r.exit("second"), 0, "exit status")
    equal(witness.dirty_forks(valid(r, "second", 1)), [64], "forks")
    check("256 pages for each CPU, not the 64 asked for" in r.text("second.err"), r.text("second.err"))
    for probe in ("after-main", "after-second"):
        left(r, probe, "off", "0x0ffff000")


def xentrace_before_and_after(r):
    db = valid(r, "third", 1)
    equal(r.exit("third"), 0, "exit status")
    equal(db.execute("SELECT DISTINCT pcpu FROM events").fetchall(), [(1,)], "CPUs recorded with -c 1")
    check(r.exit("kept-out") != 0, "xentrace ran beside us")
    left(r, "after-third", "off", "0x0041f000")
    equal(r.exit("after"), 0, "exit status of xentrace after us")
    for event in r.events("after.bin"):
        check(event & 0x0041_0000, f"event {event:#x}: xentrace ran under another mask")


def busy_leaves_nothing(r):
    equal(r.exit("busy"), 6, "exit status")
    check("another program reads the trace buffers" in r.text("busy.err"), r.text("busy.err"))
    for name in ("busy.db", "busy.raw"):
        check(not os.path.exists(r.path(name)), f"{name} was left")


def via_xentrace(r):
    equal(r.exit("via"), 0, "exit status")
    db = valid(r, "via", 1)
    equal(witness.dirty_forks(db), [8], "forks")
    equal(db.execute("SELECT cpu_hz FROM trace").fetchone()[0], None, "frequency")
    left(r, "after-via", "off", "0x00767000")


def record_killed(r):
    valid(r, "killed", 0)
    equal(r.exit("killed"), 0, "exit status of xenfault forks on it")
    check("cut short" in r.text("killed.err"), r.text("killed.err"))
    check(int(r.text("killed.tries")) < 600, "xenfault-drain went on")
    left(r, "after-killed", "off", "0x00767000")


def drain_killed(r):
    valid(r, "orphan", 0)
    equal(r.exit("orphan"), 3, "exit status")
    check("killed by signal 9" in r.text("orphan.err") and "/bin/xenfault-drain --off" in
          r.text("orphan.err"), r.text("orphan.err"))
    left(r, "orphan-before", "on", "0x00767000")
    left(r, "orphan-after", "off", "0x0ffff000")


def disk_full(r):
    db = valid(r, "full", 0)
    equal(r.exit("full"), 3, "exit status")
    check("no space is left" in r.text("full.err"), r.text("full.err"))
    events = db.execute("SELECT count(*) FROM events").fetchone()[0]
    check(f"holds the first {events} events" in r.text("full.err"), f"{events}: {r.text('full.err')}")
    left(r, "after-full", "off", "0x0ffff000")


def disk_full_of_the_stream(r):
    valid(r, "raw-full", 0)
    equal(r.exit("raw-full"), 3, "exit status")
    check("cannot keep the stream in /tmp/small/raw" in r.text("raw-full.err"), r.text("raw-full.err"))
    left(r, "after-raw-full", "off", "0x0ffff000")


def example_reports(r):
    said = r.text("docs/example.out")
    equal(int(r.text("docs/example.exit")), 0, f"exit status ({said})")
    equal(witness.dirty_forks(r.database("docs/forkdirty")), [64], "forks")
    part = said[said.index("page by page"):]
    # a page may have two rows: the task was preempted in the middle of it
    check(len(re.findall(r"^.*\bd0v\d .*\b64\b.*$", part, re.M)) > 10, part)


def docs_to_the_letter(r):
    for i, command in enumerate(sum(documented(), [])):
        equal(int(r.text(f"docs/{i}.exit")), 0, f"{command} ({r.text(f'docs/{i}.err')})")


def documented():
    """The commands in the shell blocks of docs/live.md, then those of README's section."""
    with open(os.path.join(TOP, "docs", "live.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```sh\n(.*?)^```", file.read(), re.M | re.S)
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as file:
        section = re.search(r"^## On a running host\n(.*?)^## ", file.read(), re.M | re.S)[1]
    live = [line for block in blocks for line in block.splitlines()]
    readme = re.findall(r"^    (\S.*)", section, re.M)
    check(len(live) >= 12 and len(readme) >= 4, f"{len(live)} and {len(readme)} commands found")
    return live, readme


def commands_script(path):
    """Runs them one by one; one that goes on until Ctrl-C beside the next two."""
    live, readme = documented()
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nout=$PWD\n")
        stop = None
        for i, command in enumerate(live + readme):
            quoted = "'" + command.replace("'", "'\\''") + "'"
            line = f"setsid sh -c {quoted} >$out/{i}.out 2>$out/{i}.err"
            if i == len(live):
                file.write("mkdir readme\ncd readme\n")
            if " tui " in command:  # on a terminal, where q is pressed
                line = f"(sleep 3; printf q) | TERM=linux script -qec {quoted} /dev/null >$out/{i}.err"
            if "until Ctrl-C" in command:
                stop = i
                file.write(f"{line} &\nprocess=$!\nsleep 2\n")
                continue
            file.write(f"{line}\necho $? >$out/{i}.exit\n")
            if stop is not None and i == stop + 2:
                file.write(f"kill -INT -$process\nwait $process\necho $? >$out/{stop}.exit\n")
    os.chmod(path, 0o755)


CASES = (main_is_whole, forks_have_their_size, forks_are_the_kernels, faults_are_the_kernels,
         names_are_the_kernels, nothing_stays_in_tracefs,
         raw_gives_the_same, readers_never_wait, it_stops_at_once, second_one_works,
         xentrace_before_and_after, busy_leaves_nothing, via_xentrace, record_killed, drain_killed,
         disk_full, disk_full_of_the_stream, example_reports, docs_to_the_letter)

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "live.commands")
        commands_script(script)
        run_boots("xen-record", (
            ("record.guest", CASES, (script, os.path.join(TOP, "examples", "record-forkdirty.sh"),
                                      "/usr/bin/script"), ""),))
