#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Forks named by the log of the guest's own kernel.  In: traces, logs.  Out: cases."""
import csv
import io
import json
import os
import re
import resource
import shutil

import witness
from lib import (WORK, XENFAULT, case, check, database_path, equal, finish, opened, run, unpack)

SHELLS = ("dom0-crowd", "dom0-dirty", "dom0-shell", "dom0-smp")  # no sched_switch, no task_newtask
PROBED = ("edge-one", "edge-two")
HZ = 2445.4e6
LINE = re.compile(rb"(.{16}-\d+\s+\[\d+\]\s+\S+\s+)(\d+)(: (\S+?): .*)")


def lines_of(name):
    with open(unpack(name + ".ftrace"), "rb") as file:
        return file.read().splitlines(keepends=True)


def log_of(name, lines):
    path = os.path.join(WORK, name)
    with open(path, "wb") as file:
        file.writelines(lines)
    return path


def timed(lines, time, digits=None):
    """The log with other times: time(tsc), as a number, or in seconds with so many digits."""
    for line in lines:
        match = LINE.match(line)
        if match:
            new = time(int(match[2]))
            new = b"%.*f" % (digits, new) if digits else b"%d" % new
            line = match[1] + new + match[3] + b"\n"
        yield line


def named(trace, log, status=0, name="named.db"):
    """A copy of a trace's database with the names of this log, and how analyze ended."""
    path = os.path.join(WORK, name)
    shutil.copy(database_path(trace), path)
    result = run("analyze", "--guest", f"d0={log}", path, status=status)
    return opened(path), result


def names(db):
    return {fork: who for fork, *who in db.execute(
        "SELECT fork_id, pid, comm, child_pid FROM forks WHERE pid IS NOT NULL")}


def truth(trace):
    with opened(database_path(trace)) as db:
        return witness.fork_names(db, witness.ftrace(unpack(trace + ".ftrace")))


TRUTH = {trace: truth(trace) for trace in SHELLS + PROBED}

for trace, forks in zip(SHELLS + PROBED, (68, 32, 95, 8, 4, 7)):
    @case(f"{trace}: every fork is named as the kernel's log names it")
    def _(trace=trace, forks=forks):
        equal(len(TRUTH[trace]), forks, "forks in the log")
        db, result = named(trace, unpack(trace + ".ftrace"))
        equal(names(db), TRUTH[trace], "names")
        equal(db.rows("SELECT DISTINCT named_by FROM forks WHERE pid IS NOT NULL"),
              [("log" if trace in PROBED else "pin",)], "by what")
        matched, faults, slack, clock = db.execute(
            "SELECT matched, faults, slack, clock FROM guest_logs").fetchone()
        check(matched == faults > 1000, f"{matched} of {faults} faults")
        equal((slack, clock), (0, "cycles"), "clock")
        check(f"{matched} of {faults} user page faults" in result.stderr, result.stderr)
        db.close()

    @case(f"{trace}: in seconds, with an unknown offset, the same names")
    def _(trace=trace):
        for offset, digits, hz in ((-17.25, 6, HZ), (86400.5, 9, HZ), (3.0, 6, 1.0007 * HZ)):
            log = log_of("seconds", timed(lines_of(trace), lambda tsc: tsc / hz + offset, digits))
            db, result = named(trace, log)
            equal(names(db), TRUTH[trace], f"names at {offset} s")
            rate, slack = db.execute("SELECT rate, slack FROM guest_logs").fetchone()
            check(abs(rate * 1e9 / hz - 1) < 1e-4 and 0 < slack < 200_000, f"rate {rate}, slack {slack}")
            check("its clock was fitted" in result.stderr, result.stderr)
            db.close()

    @case(f"{trace}: a guest's TSC with an offset and another rate, the same names")
    def _(trace=trace):
        log = log_of("scaled", timed(lines_of(trace), lambda tsc: tsc * 0.75 + 123456789))
        db, _ = named(trace, log)
        equal(names(db), TRUTH[trace], "names")
        db.close()


@case("threads and vfork are told from forks, by flags or by pins")
def _():
    db, _ = named("dom0-smp", unpack("dom0-smp.ftrace"))
    equal(db.rows("SELECT what, found, count(*) FROM guest_forks GROUP BY 1, 2 ORDER BY 1"),
          [("fork", "yes", 8), ("shared", "no", 4)], "dom0-smp")
    equal(db.one("SELECT sum(threads) FROM processes"), 4, "threads")
    lines = lines_of("edge-two")
    fork = re.search(rb"task_newtask: pid=(\d+) comm=\S+ clone_flags=(\S+)", b"".join(lines))
    for flags, what in ((b"3d0f00", "thread"), (b"4100", "vfork")):
        log = log_of("flags", [line.replace(fork[0], fork[0].replace(b"clone_flags=" + fork[2],
                                                                     b"clone_flags=" + flags))
                               for line in lines])
        changed, _ = named("edge-two", log)
        equal(changed.one("SELECT what FROM guest_forks WHERE child_pid = ?", int(fork[1])), what, "what")
        check(len(names(changed)) == 6, "what a thread is taken for is no fork's name")
        changed.close()
    db.close()


@case("import --guest is import and analyze --guest; analyze keeps the names")
def _():
    path = os.path.join(WORK, "both.db")
    run("import", "--force", "-o", path, "--guest", "d0=" + unpack("edge-two.ftrace"), unpack("edge-two.bin"))
    run("analyze", path)
    db, other = opened(path), named("edge-two", unpack("edge-two.ftrace"))[0]
    ours, theirs = db.dump(), other.dump()
    for table in ours:
        equal(ours[table], theirs[table], table)
    run("import", "--force", "--no-analyze", "-o", path, "--guest", "d0=" + unpack("edge-two.ftrace"),
        unpack("edge-two.bin"))
    equal(opened(path).one("SELECT count(*) FROM forks"), 0, "not analyzed")
    run("analyze", path)
    equal(names(opened(path)), TRUTH["edge-two"], "names")
    with open(unpack("edge-two.ftrace"), "rb") as log:
        run("import", "--force", "-o", path, "--guest", "d0=-", unpack("edge-two.bin"), input=log.read())
    equal(names(opened(path)), TRUTH["edge-two"], "from standard input")


@case("processes: who forked how often; forks shows it")
def _():
    db, _ = named("dom0-crowd", unpack("dom0-crowd.ftrace"))
    path = os.path.join(WORK, "named.db")
    wanted = {}
    for pid, comm, _ in TRUTH["dom0-crowd"].values():
        wanted[str(pid), comm] = wanted.get((str(pid), comm), 0) + 1
    rows = list(csv.DictReader(io.StringIO(run("processes", "--format", "csv", path).stdout)))
    equal({(row["pid"], row["comm"]): int(row["forks"]) for row in rows if row["pid"]}, wanted, "forks")
    equal([int(row["forks"]) for row in rows if not row["pid"]], [1], "without a name")
    total = db.one("SELECT sum(ptes) FROM forks")
    equal(sum(int(row["ptes"]) for row in rows), total, "PTEs")
    text = run("forks", path).stdout
    pid, comm, child = TRUTH["dom0-crowd"][1]
    check(f"{comm} {pid} > {child}" in text.splitlines()[1], text[:400])
    run("processes", "--domain", "d0v1", path, status=2)
    equal(len(run("processes", "--domain", "d7", path).stdout.splitlines()), 1, "of no domain")
    result = run("processes", database_path("dom0-crowd"))
    check("--guest" in result.stderr, "why there are no names")
    check("who" not in run("forks", database_path("dom0-crowd")).stdout, "no column without names")
    db.close()


@case("report, Perfetto and folded stacks have the names")
def _():
    db, _ = named("dom0-shell", log_of("named", [line.replace(b" sh-", b"a;b-").replace(b"comm=sh ", b"comm=a;b ")
                                                 for line in lines_of("dom0-shell")]))
    path = os.path.join(WORK, "named.db")
    page = run("report", "-o", "-", path).stdout
    check("Who forked" in page and "<td>a;b</td>" in page, "the report")
    check("Who forked" not in run("report", "-o", "-", database_path("dom0-shell")).stdout, "without names")
    slices = [event for event in json.loads(run("export", "--to", "perfetto", path).stdout)["traceEvents"]
              if "child_pid" in event.get("args", {})]
    equal({event["args"]["fork_id"]: event["args"]["child_pid"] for event in slices},
          {fork: who[2] for fork, who in TRUTH["dom0-shell"].items()}, "slices")
    check(all(event["name"].startswith(event["args"]["comm"] + ": fork ") for event in slices), "their names")
    total, known = 0, {"a:b", "process not known"} | {who[1] for who in TRUTH["dom0-shell"].values()}
    for line in run("export", "--to", "folded", path).stdout.splitlines():
        stack, cycles = line.rsplit(" ", 1)
        domain, process, function = stack.split(";")
        check(domain == "d0" and process in known and function, line)
        total += int(cycles)
    equal(total, db.one("SELECT sum(tsc_end - tsc_start) FROM forks"), "cycles")
    db.close()


@case("a log of another boot, guest or time is refused: the database is there, without names")
def _():
    two = lines_of("edge-two")
    lines = lines_of("dom0-shell")
    middle = len(lines) // 2
    jumped = list(timed(lines[:middle], lambda tsc: tsc / HZ, 6)) + \
        list(timed(lines[middle:], lambda tsc: tsc / HZ + 0.5, 6))
    forward = lines[:middle] + list(timed(lines[middle:], lambda tsc: tsc + 1_000_000_000))
    back = lines[:middle] + list(timed(lines[middle:], lambda tsc: tsc - 5_000_000_000))
    other = [re.sub(rb"address=0x(\w)", rb"address=0x1\1", line) for line in lines]
    few = [line for line in lines if b"page_fault" not in line]
    for trace, log, word in (
            ("edge-one", two, "does not fit"),
            ("edge-one", list(timed(two, lambda tsc: tsc / HZ, 6)), "does not fit"),
            ("dom0-dirty", list(timed(lines, lambda tsc: tsc / HZ, 6)), "does not fit"),
            ("dom0-shell", jumped, "does not fit"), ("dom0-shell", forward, "does not fit"),
            ("dom0-shell", back, "clock jumps"), ("dom0-shell", other, "does not fit"),
            ("dom0-shell", list(timed(few, lambda tsc: tsc / HZ, 6)), "page_fault_user"),
            ("dom0-shell", [b"\x17\x08\x44tracing"], "trace-cmd"), ("dom0-shell", [b"nothing\n"] * 9, "ftrace"),
            ("dom0-shell", [], "ftrace")):
        db, result = named(trace, log_of("wrong", log), status=4)
        check(word in result.stderr, f"{word}: {result.stderr}")
        check("without 1 log" in result.stderr, result.stderr)
        equal((names(db), db.one("SELECT count(*) FROM guest_logs")), ({}, 0), f"names, {word}")
        check(db.one("SELECT count(*) FROM forks") > 3, "forks")
        db.close()
    path = os.path.join(WORK, "refused.db")
    run("import", "--force", "-o", path, "--guest", "d0=" + log_of("wrong", two), unpack("edge-one.bin"),
        status=4)
    equal(opened(path).dump(), opened(database_path("edge-one")).dump(), "the same database")
    run("import", "--force", "-o", path, "--guest", "d1=" + unpack("edge-one.ftrace"), unpack("edge-one.bin"),
        status=4)


@case("without page faults, on Xen's clock: names, and a finding that nothing shows whose they are")
def _():
    lines = [line for line in lines_of("edge-one") if b"page_fault" not in line]
    db, result = named("edge-one", log_of("quiet", lines))
    equal(names(db), TRUTH["edge-one"], "names")
    equal(db.doubts().get("guest_unchecked"), 1, "finding")
    check("no page fault shows" in result.stderr, result.stderr)
    db.close()


@case("lost events: a fork whose line is gone gets no name, and nobody else's")
def _():
    for trace in SHELLS + PROBED:
        lines = lines_of(trace)
        at = [i for i, line in enumerate(lines) if b"sched_process_fork" in line]
        for i in at[:: len(at) // 7 + 1]:
            for loss in ([b"CPU:%d [LOST 1 EVENTS]\n" % int(re.search(rb"\[(\d+)\]", lines[i])[1])],
                         [b"CPU:%d [LOST EVENTS]\n" % int(re.search(rb"\[(\d+)\]", lines[i])[1])]):
                db, result = named(trace, log_of("lost", lines[:i] + loss + lines[i + 1:]))
                child = int(re.search(rb"child_pid=(\d+)", lines[i])[1])
                found = names(db)
                check(all(TRUTH[trace][fork] == who for fork, who in found.items()), f"{trace}: a wrong name")
                check(all(who[2] != child for who in found.values()), "the lost one")
                check(len(found) >= len(TRUTH[trace]) - 6, f"{trace}: {len(found)} names are left")
                equal(db.doubts().get("guest_lost"), 1, "finding")
                check("lost events" in result.stderr, result.stderr)
                db.close()


@case("a log that was cut, at its beginning, its end or in a line, names what it has")
def _():
    missing = 0
    for trace in SHELLS + PROBED:
        lines = lines_of(trace)
        head, body = lines[:11], lines[11:]
        for part in (body[len(body) // 3:], body[:len(body) // 2], body[len(body) // 4: len(body) // 2],
                     [*body[: len(body) // 2], body[len(body) // 2][:40]]):
            db, _ = named(trace, log_of("cut", head + part))
            found = names(db)
            check(all(TRUTH[trace][fork] == who for fork, who in found.items()), f"{trace}: a wrong name")
            missing += len(TRUTH[trace]) - len(found)
            db.close()
    check(missing > 200, f"only {missing} names are not in the parts")
    # overwritten: each CPU's buffer begins elsewhere
    lines = lines_of("dom0-crowd")
    middle = sorted(int(LINE.match(line)[2]) for line in lines if LINE.match(line))[2000]
    kept = [line.replace(b"7888/7888", b"6000/7888") for line in lines
            if not LINE.match(line) or b"[000]" in line or int(LINE.match(line)[2]) > middle]
    db, result = named("dom0-crowd", log_of("overwritten", kept))
    found = names(db)
    check(found and all(TRUTH["dom0-crowd"][fork] == who for fork, who in found.items()), "names")
    check("overwritten" in result.stderr, result.stderr)
    db.close()


HOSTILE = (b"\x1b[31mred\x07", b"a'b\"c;--", b"=cmd|' /C'", b"\xff\xfe\x80", b"<script>", b"x pid=7",
           b"==> next_comm=", b"a-1 [0] 1: b:", b"pid=1 child_com", b"%s%n%d", b" ", b"-", b"\xe2\x80\xae")


@case("names that mean harm: as they are in the database, harmless on their way out, and nobody's fork is wrong")
def _():
    for trace in ("dom0-shell", "edge-two"):
        for comm in HOSTILE:
            lines = [re.sub(rb"^ +sh-(?=\d)", lambda _: comm.rjust(16) + b"-", line)
                     .replace(b"comm=sh ", b"comm=%s " % comm) for line in lines_of(trace)]
            db, _ = named(trace, log_of("hostile", lines))
            db.text_factory = bytes
            wanted = {fork: [pid, comm if name == "sh" else name.encode(), child]
                      for fork, (pid, name, child) in TRUTH[trace].items()}
            equal(names(db), wanted, f"names with {comm}")
            path = os.path.join(WORK, "named.db")
            for form in ("text", "csv", "jsonl"):
                for command in ("forks", "processes"):
                    out = run(command, "--format", form, path).stdout
                    check(not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e\ufffd]", out.replace("\r\n", "\n")),
                          f"{command} {form}: {comm}")
            rows = list(csv.DictReader(io.StringIO(run("forks", "--format", "csv", path).stdout)))
            check(all(row["pid"].isdigit() or not row["pid"] for row in rows), "columns")
            db.close()


@case("a log larger than memory: bounded", slow=True)
def _():
    lines = lines_of("edge-two")
    path = os.path.join(WORK, "large")
    last = max(int(LINE.match(line)[2]) for line in lines if LINE.match(line))
    with open(path, "wb") as file:
        file.writelines(lines)
        for i in range(2_000_000):
            file.write(b"%16s-%-7d [%03d] d....  %d: page_fault_user: address=0x%x ip=0x%x error_code=0x6\n" % (
                b"sh", 300 + i % 200000, i % 3, last + 1_000_000_000 + i, i << 12, i))
    check(os.path.getsize(path) > 180_000_000, "its size")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    db, _ = named("edge-two", path)
    equal(names(db), TRUTH["edge-two"], "names")
    db.close()
    os.unlink(path)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    check("san" in XENFAULT or peak == before or peak < 100 << 10, f"{peak >> 10} MiB")


XL = """Name                                        ID   Mem VCPUs\tState\tTime(s)
Domain-0                                     0   512     2     r-----      12.3
web1                                         1   128     2     -b----       4.5
(null)                                       3   128     2     -b----       4.5
"""


@case("domains by name: from xl list or a list of lines, for every command that takes --domain")
def _():
    path = os.path.join(WORK, "domains.db")
    for text in (XL, "# hosts\nd0 Domain-0\n1\tweb1 # the shop\n\n", "web1 1\nDomain-0 d0"):
        names_file = log_of("domains", [text.encode()])
        run("import", "--force", "-o", path, "--domain-names", names_file, unpack("domu-logdirty.bin"))
        with opened(path) as db:
            equal(db.rows("SELECT domid, name FROM domains WHERE name IS NOT NULL"),
                  [(0, "Domain-0"), (1, "web1")], "names")
            equal(db.rows("SELECT DISTINCT domid, domain FROM forks ORDER BY 1"),
                  [(0, "Domain-0"), (1, "web1")], "in forks")
    for command in (("forks",), ("pages",), ("events",), ("spurious",), ("flushes",), ("episodes",), ("dirty",),
                    ("export", "--to", "csv", "--view", "forks"), ("policy",), ("processes",)):
        for name, number in (("web1", "d1"), ("web1v1", "d1v1"), ("Domain-0v0", "d0v0")):
            if "v" in name and command[0] in ("episodes", "dirty", "policy", "processes"):
                continue
            form = () if command[0] == "export" else ("--format", "csv")
            equal(run(*command, *form, "--domain", name, path).stdout,
                  run(*command, *form, "--domain", number, path).stdout, f"{command} of {name}")
        run(*command, "--domain", "web2", path, status=2)
    equal(run("diff", "--domain", "web1", path, path).stdout, run("diff", "--domain", "d1", path, path).stdout,
          "diff")
    check("did you mean web1" in run("forks", "--domain", "wed1", path, status=2).stderr, "a suggestion")
    check("--domain-names" in run("forks", "--domain", "web1", database_path("dom0-crowd"), status=2).stderr, "why")
    check("web1" in run("info", path).stdout, "info")
    run("events", "--domain", "web1", unpack("edge-one.bin"), status=2)
    # two of the name
    run("analyze", "--domain-names", log_of("domains", [b"7 web1\n"]), path)
    check("more than one" in run("forks", "--domain", "web1", path, status=2).stderr, "of which one")
    run("analyze", "--domain-names", log_of("domains", [b"7 \x1b[31m\xff\n"]), path)
    check("\x1b" not in run("processes", path).stdout + run("forks", "--domain", "x", path, status=2).stderr, "escapes")
    for text in (b"web1\n", b"web1 web2\n", b"d99999 web1\n", b"\x00\n\xff\n"):
        run("analyze", "--domain-names", log_of("domains", [text]), path, status=4)
        run("import", "--force", "-o", path, "--domain-names", log_of("domains", [text]),
            unpack("edge-one.bin"), status=4)
        check(opened(path).one("SELECT count(*) FROM forks") == 4, "the database is there")
    run("import", "--force", "-o", path, "--domain-names", "/nonexistent", unpack("edge-one.bin"), status=3)


@case("--guest: what it takes")
def _():
    path = os.path.join(WORK, "options.db")
    trace, log = unpack("edge-one.bin"), unpack("edge-one.ftrace")
    for value, status in (("edge", 2), ("x0=" + log, 2), ("d0=", 2), ("d99999=" + log, 2), ("0=" + log, 2),
                          ("d0=/nonexistent", 3), ("d0=" + WORK, 3)):
        run("import", "--force", "-o", path, "--guest", value, trace, status=status)
    run("import", "--force", "-o", path, "--guest", "d0=" + log, "--guest", "d0=" + log, trace, status=2)
    run("import", "--force", "-o", path, "--guest", "d0=-", "-", status=2)
    run("analyze", "--guest", "d0=/nonexistent", database_path("edge-one"), status=3)


finish()
