# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad input: a clear error or a counted doubt, never a crash, a hang, or silence.

In: damaged traces made here, the program (XENFAULT).  Out: "ok NAME" or "FAIL NAME: why".
Arguments select cases by a part of their name.
"""

import os
import random
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Optional, Sequence

import scenarios
import synth
from lib import (TIMEOUT, WORK, XENFAULT, Database, Result, another_user, check, equal, finish, leftovers,
                 opened, run, run_case)
from scenarios import USER_RIP
from synth import EC_P, EC_U, EC_W, IDLE, Trace, Vcpu, encode, window

WHO = Vcpu(3, 1)
START = 50_000_000_000


def good_trace() -> Trace:
    """A small whole trace on two pCPUs."""
    trace = Trace()
    trace.switch(0, WHO)
    trace.switch(1, Vcpu(0, 0))
    process = scenarios.Process(trace, 0x1000, 2, 6, 0x7F0000000000)
    other = scenarios.Process(trace, 0x4000, 2, 6, 0x7F0000000000)
    for number in range(6):
        process.touch(0, 0, number)
        other.touch(1, 0, number)
    process.fork(0, WHO)
    process.cow(0, 0, 1)
    trace.idle(0)
    trace.idle(1)
    return trace


def fault(number: int, tsc: Optional[int] = None) -> bytes:
    """A page fault record; by default at a time that grows with its number."""
    at = START + number * 1000 if tsc is None else tsc
    words = (*synth.pair(USER_RIP), *synth.pair(0x7F0000000000 + (number << 12)), 6)
    return encode(0x201104, words, at)


def faults(begin: int, end: int) -> bytes:
    """Several of them."""
    return b"".join(map(fault, range(begin, end)))


def lost(count: int, first: int) -> bytes:
    """A lost record of 3.4 and later; the time is relative to the start."""
    return encode(0x1F001, (count, 3 | 1 << 16, *synth.pair(START + first)), START + 21000)


def running(who: Vcpu = WHO, tsc: int = START) -> bytes:
    """CONTINUE_RUNNING: who is on this pCPU."""
    return encode(0x21002, (who.vcpu | who.domid << 16,), tsc)


def windows_of(data: bytes) -> list[tuple[int, int]]:
    """Begin and end of each window of a whole trace."""
    result, at = [], 0
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        result.append((at, at + 12 + size))
        at += 12 + size
    return result


def records_before(data: bytes, cut: int) -> int:
    """Whole records in the first `cut` bytes."""
    count = 0
    for begin, end in windows_of(data):
        at = begin + 12
        while at < end and at < cut:
            head = struct.unpack_from("<I", data, at)[0]
            at += 4 + 8 * (head >> 31) + 4 * (head >> 28 & 7)
            count += at <= cut
    return count


def import_bytes(folder: Path, data: bytes, *statuses: int) -> tuple[Result, Optional[Database]]:
    """Imports; the database is None when there is none.  Nothing else may be left behind."""
    (folder / "t.bin").write_bytes(data)
    (folder / "t.db").unlink(missing_ok=True)
    result = run("import", "-o", folder / "t.db", folder / "t.bin", status=statuses or 0)
    equal(leftovers(folder, ["t.bin", "t.db"]), [], "files left behind")
    if result.returncode:
        check(not (folder / "t.db").exists(), "an error, but a database was left")
        return result, None
    return result, opened(folder / "t.db")


def named(result: Result, *words: str) -> None:
    """The message names the cause."""
    text = result.stderr.lower()
    check(any(word in text for word in words), f"none of {words} in the message: {result.stderr!r}")


def damage_case(
    folder: Path,
    data: bytes,
    kept: int,
    complete: Optional[int] = 0,
    doubt: bool = True,
    faults_kept: Optional[int] = None,
) -> None:
    """Damaged, but importable: records kept, doubts counted, and said on stderr."""
    result, database = import_bytes(folder, data)
    assert database
    equal(database.one("SELECT records FROM trace"), kept, "records kept")
    if faults_kept is not None:
        equal(database.kinds().get("page_fault", 0), faults_kept, "page faults kept")
    if complete is not None:
        equal(database.one("SELECT complete FROM trace"), complete, "complete")
    if doubt:
        rows = database.rows("SELECT count, text FROM doubt WHERE code <> 'no_owner'")
        rows += database.rows("SELECT count, text FROM finding")
        check(rows, "no doubt was counted")
        check(all(count > 0 and text for count, text in rows), f"doubts without substance: {rows}")
        shown = run("info", folder / "t.db")
        said = " ".join((result.stderr + shown.stdout + shown.stderr).split())
        for _, text in rows:
            check(" ".join(text.split()) in said, f"counted, but nobody says it: {text}")
    for command in ("info", "forks", "pages", "events"):
        run(command, folder / "t.db")
    run("info", folder / "t.bin")


def refused_case(folder: Path, data: bytes, *words: str) -> None:
    """Not a trace: status 4, the reason, no database."""
    result, _ = import_bytes(folder, data, 4)
    named(result, *words)
    for command in ("info", "events"):
        named(run(command, folder / "t.bin", status=4), *words)


# Cuts.


def every_cut_case(folder: Path, data: bytes, positions: Sequence[int]) -> None:
    """Cut at each of these positions: what is whole is kept, and the cut is told."""
    borders = {end for _, end in windows_of(data)}
    for cut in positions:
        result, database = import_bytes(folder, data[:cut], 0, 4)
        if not database:
            check(cut < 12, f"cut at {cut}: refused: {result.stderr!r}")
            continue
        kept, complete = database.rows("SELECT records, complete FROM trace")[0]
        equal(kept, records_before(data, cut), f"cut at {cut}: records")
        equal(complete, int(cut in borders), f"cut at {cut}: complete")
        if cut not in borders:
            check(database.doubts(), f"cut at {cut}: no doubt")
        database.close()


def fixed_cut_case(folder: Path, form: str) -> None:
    """The fixed formats, cut inside a record."""
    trace = scenarios.writable(form, 64 if form == synth.FIXED64 else 32).trace
    data, size = trace.bytes(), 60 if form == synth.FIXED64 else 36
    for cut in (size * 10, size * 10 + 1, size * 10 + 35, size * 40 - 3):
        _, database = import_bytes(folder, data[:cut])
        assert database
        kept, complete = database.rows("SELECT records, complete FROM trace")[0]
        equal(kept, cut // size, f"cut at {cut}: records")
        equal(complete, int(cut % size == 0), f"cut at {cut}: complete")


# Files larger than memory or 4 GiB.


def cpu_seconds() -> float:
    """What the programs run so far have used; a busy machine does not make it more."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def sparse_case(folder: Path, resume: bool) -> None:
    """More than 4 GiB: windows, a hole of zeroes, and perhaps windows again behind it."""
    trace = good_trace()
    data = trace.bytes()
    hole = (4 << 30) + (64 << 20)
    path = folder / "big.bin"
    with open(path, "wb") as file:
        file.write(data)
        file.truncate(hole)
        if resume:
            file.seek(hole)
            file.write(window(0, running(WHO, START * 2) + late_faults(40)))
            file.write(window(1, running(Vcpu(0, 0), START * 2) + late_faults(40)))
    begin = cpu_seconds()
    run("import", "-o", folder / "t.db", path)
    check(cpu_seconds() - begin < 60, f"took {cpu_seconds() - begin:.0f} s of CPU time")
    database = opened(folder / "t.db")
    count = trace.count() + (82 if resume else 0)
    equal(database.one("SELECT records FROM trace"), count, "records")
    equal(database.one("SELECT complete FROM trace"), 0, "complete")
    check(database.doubts(), "no doubt was counted")


def late_faults(count: int) -> bytes:
    """Faults at twice the usual time."""
    return b"".join(fault(i, START * 2 + 1000 * (i + 1)) for i in range(count))


def far_case(folder: Path) -> None:
    """A whole, valid trace of more than 4 GiB, most of it wrap records."""
    path, size = folder / "big.bin", (4 << 30) + (1 << 20)
    block = encode(0x1F002, (0,) * 7) * 4096
    piece = window(0, block * 512)
    with open(path, "wb") as file:
        file.write(window(0, running() + faults(1, 50)))
        while file.tell() < size:
            file.write(piece)
        file.write(window(0, late_faults(50)))
    run("import", "-o", folder / "t.db", path)
    database = opened(folder / "t.db")
    equal(database.kinds().get("page_fault", 0), 99, "page faults")
    equal(database.one("SELECT complete FROM trace"), 1, "complete")


# Input and output that fail.


def run_as_other(*arguments: Any) -> Result:
    """Permissions count only for those who are not root; status 3."""
    with another_user(XENFAULT) as ((program,), who):
        return run(*arguments, status=3, program=program, **who)


def unreadable_case(folder: Path) -> None:
    """Input that cannot be opened or read."""
    named(run("import", folder / "none.bin", status=3), "no such file")
    named(run("import", "-o", folder / "t.db", folder, status=3), "directory")
    result = run("import", "-o", folder / "t.db", "/proc/self/mem", status=3)
    named(result, "cannot read", "input/output")
    (folder / "t.bin").write_bytes(good_trace().bytes())
    os.chmod(folder / "t.bin", 0)
    os.chmod(folder, 0o777)
    named(run_as_other("import", "-o", folder / "t.db", folder / "t.bin"), "permission denied")
    named(run("import", "-", status=2), "-o")
    equal(leftovers(folder, ["t.bin"]), [], "files left behind")
    for command in ("info", "forks", "pages", "events", "analyze"):
        named(run(command, folder / "none.db", status=(3, 4)), "no such file", "cannot")


def unwritable_case(folder: Path) -> None:
    """Output that cannot be created."""
    (folder / "t.bin").write_bytes(good_trace().bytes())
    source = folder / "t.bin"
    named(run("import", "-o", folder / "no" / "t.db", source, status=3), "no such file")
    named(run("import", "-o", "/dev/full", source, status=3), "/dev/full")
    named(run("import", "-o", folder, source, status=3), "ordinary file", "directory")
    closed = folder / "closed"
    closed.mkdir(mode=0o555)
    os.chmod(folder, 0o755)
    result = run_as_other("import", "-o", closed / "t.db", source)
    named(result, "permission denied", "read-only")
    equal(leftovers(folder, ["t.bin", "closed"]), [], "files left behind")
    equal(leftovers(closed, []), [], "files left behind")


def existing_case(folder: Path) -> None:
    """An existing output stays as it was: without --force, and when the import fails."""
    (folder / "t.bin").write_bytes(good_trace().bytes())
    (folder / "bad.bin").write_bytes(b"not a trace at all, but long enough to be looked at\n" * 9)
    precious = b"precious"
    (folder / "t.db").write_bytes(precious)
    result = run("import", "-o", folder / "t.db", folder / "t.bin", status=(2, 3))
    named(result, "exists")
    equal((folder / "t.db").read_bytes(), precious, "the file")
    run("import", "--force", "-o", folder / "t.db", folder / "bad.bin", status=4)
    equal((folder / "t.db").read_bytes(), precious, "the file")
    run("import", "--force", "-o", folder / "t.db", folder / "t.bin")
    opened(folder / "t.db").one("SELECT count(*) FROM forks")
    equal(leftovers(folder, ["t.bin", "bad.bin", "t.db"]), [], "files left behind")
    shutil.copy(folder / "t.bin", folder / "u.bin")
    run("import", "--force", "-o", folder / "u.bin", folder / "u.bin", status=(0, 2, 3))
    if run("info", folder / "u.bin", status=None).returncode == 4:
        check(False, "an import over its own input destroyed it")


def limit_case(folder: Path, kib: int) -> None:
    """The disk is full after so many KiB (RLIMIT_FSIZE)."""
    trace = scenarios.many_pcpus().trace
    (folder / "t.bin").write_bytes(trace.bytes())
    (folder / "t.db").write_bytes(b"precious")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, kib << 10))

    result = run(
        "import", "--force", "-o", folder / "t.db", folder / "t.bin", preexec_fn=limit, status=(3, 5))
    named(result, "full", "too large", "write", "i/o")
    equal((folder / "t.db").read_bytes(), b"precious", "the file that was there")
    equal(leftovers(folder, ["t.bin", "t.db"]), [], "files left behind")


def stdout_case(folder: Path) -> None:
    """Standard output is full, or nobody reads it."""
    (folder / "t.bin").write_bytes(scenarios.many_pcpus().trace.bytes())
    run("import", "-o", folder / "t.db", folder / "t.bin")
    for command in ("events", "forks", "pages", "info"):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [XENFAULT, command, str(folder / "t.db")],
                stdout=full,
                stderr=subprocess.PIPE,
                timeout=TIMEOUT,
                check=False,
            )
        result = Result([command], done.returncode, b"", done.stderr).expect(3)
        named(result, "space", "write")
    for command in ("events", "forks"):
        for form in ("text", "csv", "jsonl"):
            line = f'"{XENFAULT}" {command} "{folder}/t.db" --format {form} | head -1'
            done = subprocess.run(
                ["bash", "-c", line], capture_output=True, timeout=TIMEOUT, check=False
            )
            # Text tables end with losses and doubts, which a short table reaches.
            said = [] if form == "text" else done.stderr.splitlines()
            equal(said, [], f"{command} {form} | head -1 says")
            check(done.stdout, f"{command} {form} | head -1 prints nothing")


def foreign_case(folder: Path) -> None:
    """Databases that are not ours, or from the future, or damaged."""
    other = sqlite3.connect(folder / "other.db")
    other.execute("CREATE TABLE event (x)")
    other.commit()
    other.close()
    (folder / "t.bin").write_bytes(good_trace().bytes())
    run("import", "-o", folder / "new.db", folder / "t.bin")
    newer = sqlite3.connect(folder / "new.db")
    version = newer.execute("PRAGMA user_version").fetchone()[0]
    newer.execute(f"PRAGMA user_version = {version + 1}")
    newer.commit()
    newer.close()
    (folder / "cut.db").write_bytes((folder / "new.db").read_bytes()[:5000])
    (folder / "empty.db").write_bytes(b"")
    for command in ("info", "forks", "pages", "events", "analyze"):
        named(run(command, folder / "other.db", status=4), "not a xenfault", "another program")
        result = run(command, folder / "new.db", status=4)
        named(result, "newer")
        named(result, str(version + 1))
        run(command, folder / "cut.db", status=(3, 4, 5))
        run(command, folder / "empty.db", status=4)
    named(run("import", "-o", folder / "x.db", folder / "other.db", status=4), "sqlite", "database")


def signal_case(folder: Path, number: int, pause: float) -> None:
    """A signal in the middle of an import from a pipe: nothing that looks whole, nothing lost."""
    data = scenarios.many_pcpus().trace.bytes(10)
    (folder / "t.db").write_bytes(b"precious")
    command = [XENFAULT, "import", "--force", "-o", str(folder / "t.db"), "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin and process.stderr
        try:
            process.stdin.write(data[: len(data) // 2])
            process.stdin.flush()
            time.sleep(pause)
            process.send_signal(number)
            status = process.wait(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            check(False, f"still running long after signal {number}")
        text = process.stderr.read().decode(errors="replace")
    if (folder / "t.db").read_bytes() != b"precious":
        database = opened(folder / "t.db")
        equal(database.one("SELECT complete FROM trace"), 0, "complete")
        check(database.doubts(), "no doubt was counted")
    if number != signal.SIGKILL:
        equal(status, 130, "exit status")
        check("interrupt" in text.lower(), f"no word of it: {text!r}")
        equal(leftovers(folder, ["t.db"]), [], "files left behind")


def slow_case(folder: Path) -> None:
    """A pipe that is quiet for a while is not at its end; SIGINT stops a reader of it at once."""
    data = scenarios.many_pcpus().trace.bytes(10)
    (folder / "t.bin").write_bytes(data)
    run("import", "-o", folder / "t.db", folder / "t.bin")
    rows = run("events", folder / "t.bin", "--format", "csv").stdout
    importing = ["import", "-o", str(folder / "p.db"), "-"]
    for command in (importing, ["events", "-", "--format", "csv"]):
        with subprocess.Popen(
            [XENFAULT, *command],
            stdin=subprocess.PIPE,
            stdout=open(folder / "out", "wb"),
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdin
            for begin in range(0, len(data), 60_001):
                time.sleep(0.5)
                process.stdin.write(data[begin : begin + 60_001])
                process.stdin.flush()
            process.stdin.close()
            equal(process.wait(timeout=TIMEOUT), 0, f"{command[0]}: exit status")
    equal((folder / "out").read_text(), rows, "rows from the slow pipe")
    same = opened(folder / "p.db").dump() == opened(folder / "t.db").dump()
    check(same, "a slow pipe gives another database than the file")
    command = [XENFAULT, "events", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        try:
            equal(process.wait(timeout=TIMEOUT), 130, "events: exit status")
        except subprocess.TimeoutExpired:
            process.kill()
            check(False, "events still runs long after SIGINT")


def options_case(folder: Path) -> None:
    """Wrong options are usage errors that say what is wrong."""
    (folder / "t.bin").write_bytes(good_trace().bytes())
    run("import", "-o", folder / "t.db", folder / "t.bin")
    for arguments in (
        (),
        ("nonsense",),
        ("import",),
        ("import", "--nonsense", folder / "t.bin"),
        ("forks", folder / "t.db", "--format", "xml"),
        ("forks", folder / "t.db", "--domain", "x7"),
        ("forks", folder / "t.db", "--limit", "many"),
        ("forks", folder / "t.db", "--cpu-hz", "0"),
        ("pages", folder / "t.db", "--fork", "one"),
        ("events", folder / "t.db", "--from", "1.5"),
        ("sql", folder / "t.db"),
    ):
        run(*arguments, status=2)
    named(run("events", folder / "t.db", "--from", "1.5", status=2), "--cpu-hz")
    run("sql", folder / "t.db", "SELECT nonsense FROM nowhere", status=(2, 5))
    run("sql", folder / "t.db", "DROP TABLE event", status=(2, 5))
    opened(folder / "t.db").one("SELECT count(*) FROM event")


def symbols_case(folder: Path) -> None:
    """Symbol files that are none: an error, and no database."""
    (folder / "t.bin").write_bytes(good_trace().bytes())
    for name, data, word in (
        ("zero", b"0000000000000000 T _stext\n0000000000000000 T fork\n", "kptr_restrict"),
        ("empty", b"", "empty"),
        ("text", b"Not a symbol file\n", "symbol"),
        ("packed", b"\x1f\x8b\x08\0\0\0\0\0\0\3", "gzip"),
    ):
        (folder / name).write_bytes(data)
        result = run("import", "--symbols", folder / name, "-o", folder / "t.db", folder / "t.bin",
                     status=(2, 3, 4))
        named(result, word)
        check(not (folder / "t.db").exists(), "an error, but a database was left")


# Contradictions between records.


def hook_damage() -> Trace:
    """A rehook without an unhook, two unhooks of one page, an unhook that stays open."""
    trace = Trace(form=synth.FIXED64, xen=(3, 0))
    trace.switch(0, Vcpu(0, 0))
    trace.rehook(0, 0xFFFFFFFF8287C038, 0x200, 0x687C, 5)
    trace.unhook(0, 0xFFFFFFFF8287D038, 0xFFFFFFFF80000CB7, 0x201, 0x687D)
    trace.unhook(0, 0xFFFFFFFF8287E038, 0xFFFFFFFF80000CB7, 0x202, 0x687E)
    trace.rehook(0, 0xFFFFFFFF8287E038, 0x202, 0x687E, 7)
    trace.rehook(0, 0xFFFFFFFF8287E038, 0x202, 0x687E, 7)
    trace.unhook(0, 0xFFFFFFFF8287F038, 0xFFFFFFFF80000CB7, 0x203, 0x687F)
    trace.idle(0)
    return trace


def sched_damage() -> Trace:
    """Scheduler records that contradict each other."""
    trace = Trace()
    one, two = Vcpu(1, 0), Vcpu(2, 0)
    trace.switch(0, one)
    trace.page_fault(0, 0x1000, 6, USER_RIP)
    trace.runstate(0, two, synth.RUNNING, synth.BLOCKED)  # two was not here
    trace.page_fault(0, 0x2000, 6, USER_RIP)
    trace.switch_record(0, two, one)
    trace.runstate(0, one, synth.RUNNABLE, synth.RUNNING)
    trace.runstate(1, one, synth.RUNNABLE, synth.RUNNING)  # one is on pCPU 0
    trace.page_fault(0, 0x3000, 6, USER_RIP)
    trace.page_fault(1, 0x4000, 6, USER_RIP)
    trace.continue_running(0, two)
    trace.page_fault(0, 0x5000, 6, USER_RIP)
    return trace


def missing_pcpu() -> Trace:
    """A vCPU that goes to a pCPU which was not recorded, and comes back."""
    trace = Trace()
    who = Vcpu(1, 0)
    trace.switch(0, who)
    trace.page_fault(0, 0x1000, 6, USER_RIP)
    trace.switch(0, Vcpu(IDLE, 0))
    trace.switch(2, Vcpu(0, 0))
    trace.wait(10_000_000)  # it runs, and blocks, on pCPU 1
    trace.runstate(2, who, synth.BLOCKED, synth.RUNNABLE)
    trace.switch(0, who)
    trace.page_fault(0, 0x2000, 6, USER_RIP)
    trace.idle(0)
    trace.idle(2)
    return trace


def reserved_domains() -> Trace:
    """Every domain id that is none, as if it ran."""
    trace = Trace()
    for domid in range(0x7FF0, 0x8000):
        trace.switch(0, Vcpu(domid, 0))
        trace.page_fault(0, 0x1000, EC_P | EC_W | EC_U, USER_RIP)
    return trace


def record_cases() -> list[tuple[str, bytes, int, dict[str, Any]]]:
    """Name, bytes, records that must be kept, and what else must hold."""
    head, tail = running(), window(0, faults(500, 520))
    whole = window(0, head + faults(1, 100))
    cases: list[tuple[str, bytes, int, dict[str, Any]]] = []

    def case(name: str, data: bytes, kept: int, **more: Any) -> None:
        cases.append((name, data, kept, more))

    good = good_trace()
    count = good.count()
    case("zero-filled tail of 8 bytes", good.bytes() + bytes(8), count)
    case("zero-filled tail of 1 MiB", good.bytes() + bytes(1 << 20), count)
    for stray in (1, 2, 3, 5, 11):
        case(f"{stray} stray bytes at the end", good.bytes() + b"\x5a" * stray, count)
    case("window larger than the file", window(0, head + faults(1, 100), 1 << 20), 100)
    case(
        "window of 0xfffffffc bytes between others",
        whole + struct.pack("<III", 0x2001F003, 0, 0xFFFFFFFC) + faults(100, 110) + tail,
        100 + 20,
        faults_kept=99 + 20,
    )
    case("window of 0 bytes", whole + window(1, b"") + tail, 120, complete=1, doubt=False)
    for pcpu in (256, 4095):
        data = whole + window(pcpu, running(Vcpu(0, 0)) + faults(200, 230)) + tail
        case(f"window of pCPU {pcpu}", data, 151, complete=1, doubt=False, faults_kept=149)
    data = whole + window(0xFFFFFFFF, faults(200, 230)) + tail
    case("window of pCPU 0xffffffff", data, 120, faults_kept=119)
    data = window(0xFFFFFFFF, faults(200, 230)) + whole + tail
    case("window of pCPU 0xffffffff at the start", data, 120, faults_kept=119)

    data = window(0, head + faults(1, 50) + encode(0x201104, (1, 2), START + 60000)[:-4])
    case("record past its window", data + whole + tail, 50 + 100 + 20, faults_kept=49 + 99 + 20)
    data = window(0, head + faults(1, 100), len(head + faults(1, 60)))
    case("window size too small", data + tail, 60 + 20, faults_kept=59 + 20)
    data = window(0, head + faults(1, 50) + struct.pack("<I", 0xFFFFFFFF) * 20)
    case("header 0xffffffff in a window", data + whole, 50 + 100, faults_kept=49 + 99)
    data = window(0, head + faults(1, 50) + bytes(400) + faults(50, 60))
    case("zeroes in a window", data + tail, 50 + 20, faults_kept=49 + 20)

    data = head + faults(1, 50) + fault(50, START + 20000) + faults(51, 60)
    case("TSC backwards", window(0, data) + tail, 80, complete=1, faults_kept=79)
    data = head + faults(1, 50) + fault(50, START + (1 << 40)) + faults(51, 60)
    case("TSC jump of 2^40 for one record", window(0, data) + tail, 80, complete=1)
    data = head + faults(1, 50) + b"".join(
        fault(i, START + (1 << 40) + i * 1000) for i in range(50, 60)
    )
    case("TSC jump of 2^40 for good", window(0, data), 60, complete=1)
    data = encode(0x20100D, (0x17,)) + encode(0x40F206, (0x67, 0, 0, 1, 0)) + head + faults(1, 50)
    case("first records without a TSC", window(0, data), 52, complete=1)
    data = window(0, encode(0x40F206, (0x67, 0, 0, 1, 0)) * 5)
    case("no TSC anywhere", data, 5, complete=1)
    data = running(WHO, 0) + fault(1, 0) + faults(2, 50)
    case("TSC of 0", window(0, data), 50, complete=1, doubt=False)
    data = running(WHO, (1 << 64) - 1) + fault(1, (1 << 64) - 1) + faults(2, 50)
    case("TSC of all ones", window(0, data), 50, complete=1)

    data = head + faults(1, 20)
    for words in range(8):
        data += synth.wrap(words, None) + fault(20 + 2 * words)
        data += synth.wrap(words, START + 21500 + 2000 * words) + fault(21 + 2 * words)
    case("wrap records of all 16 shapes", window(0, data), 20 + 32, complete=1, doubt=False)
    for name, record in (
        ("of 1 word", encode(0x1F001, (7,))),
        ("of 0 lost", lost(0, 20500)),
        ("with its first TSC after its own", lost(7, 90000)),
        ("with its first TSC as its own", lost(7, 21000)),
        ("with 2 words", encode(0x1F001, (7, 3), START + 21000)),
        ("with 7 words", encode(0x1F001, (7, 3, 1, 2, 3, 4, 5), START + 21000)),
        ("without words", encode(0x1F001, (), START + 21000)),
    ):
        doubt = name not in ("of 1 word", "with 2 words", "with 7 words", "without words")
        data = head + faults(1, 20) + record + running(WHO, START + 22000) + faults(23, 40)
        more = {"complete": 1, "doubt": doubt, "faults_kept": 36}
        case(f"lost record {name}", window(0, data), 20 + 1 + 18, **more)

    odd = b"".join(
        encode(event, (1, 2, 3), START + 20000)
        for event in (
            0x0800F001, 0x04001001, 0x02001001, 0x01001001, 0x00600001, 0x00220001, 0x00010000
        )
    )
    data = window(0, head + faults(1, 20) + odd + faults(21, 40))
    more = {"complete": 1, "doubt": False, "faults_kept": 38}
    case("unknown classes and two class bits", data, 20 + 7 + 19, **more)

    trace = hook_damage()
    case("unmatched rehook, double unhook", trace.bytes(1), trace.count(), complete=1)
    trace = sched_damage()
    case("scheduler records that contradict each other", trace.bytes(1), trace.count(), complete=1)
    trace = missing_pcpu()
    # ids with gaps are ordinary (SMT off): nothing to doubt
    case("a pCPU missing", trace.bytes(3), trace.count(), complete=1, doubt=False)
    trace = reserved_domains()
    case("domain ids 0x7ff0..0x7fff", trace.bytes(3), trace.count(), complete=1)
    return cases


def lost_rows_case(folder: Path) -> None:
    """Lost records say what they can; what they say is kept even where it cannot be true."""
    data = running() + faults(1, 20)
    data += encode(0x1F001, (7,)) + fault(22)
    for count, first in ((0, 23500), (9, 99000), (5, 30000)):
        words = (count, 3 | 1 << 16, *synth.pair(START + first))
        data += encode(0x1F001, words, START + 30000) + running(WHO, START + 30000)
    _, database = import_bytes(folder, window(0, data))
    assert database
    rows = database.rows("SELECT lost, tsc_first, tsc_last, domid, vcpu FROM losses")
    expected = [
        (7, None, rows[0][2], None, None),
        (0, START + 23500, START + 30000, 3, 1),
        (9, START + 99000, START + 30000, 3, 1),
        (5, START + 30000, START + 30000, 3, 1),
    ]
    equal(rows, expected, "losses")
    equal(database.one("SELECT lost_records FROM trace"), 21, "lost records")
    (folder / "t.db").unlink()
    run("import", "--fail-on-loss", "-o", folder / "t.db", folder / "t.bin", status=7)


def garbage_case(folder: Path, seed: int) -> None:
    """Bits flipped, words overwritten, pieces cut out or doubled, all over a trace."""
    chance = random.Random(seed)
    stories = [story for _, story in scenarios.all_stories() if story.trace.count() < 400]
    for _ in range(40):
        data = bytearray(chance.choice(stories).trace.bytes(3))
        for _ in range(chance.randrange(1, 12)):
            at = chance.randrange(len(data))
            action = chance.randrange(4)
            if action == 0:
                data[at] ^= 1 << chance.randrange(8)
            elif action == 1:
                words = (0xFFFFFFFF, 0, 0x2001F003, 0xC001F001, chance.getrandbits(32))
                data[at & ~3 : (at & ~3) + 4] = struct.pack("<I", chance.choice(words))
            elif action == 2:
                del data[at : at + chance.randrange(1, 200)]
            else:
                data[at:at] = data[at : at + chance.randrange(1, 200)]
            data = data or bytearray(b"\0")
        (folder / "t.bin").write_bytes(data)
        try:
            result = run("import", "--force", "-o", folder / "t.db", folder / "t.bin", status=(0, 4))
        except AssertionError:
            (Path(WORK) / f"garbage-{seed}.bin").write_bytes(data)
            raise
        if not result.returncode:
            for command in ("info", "forks", "pages", "events"):
                run(command, folder / "t.db")


def main() -> None:
    """All cases."""
    refused: list[tuple[str, bytes, Sequence[str]]] = [
        ("empty file", b"", ("empty",)),
        ("text", b"Xen trace buffer: not a trace\n" * 40, ("not a xen trace",)),
        ("one byte", b"\x03", ("not a xen trace",)),
        ("zeroes", bytes(1 << 16), ("zero",)),
        ("random bytes", random.Random(1).randbytes(1 << 16), ("not a xen trace",)),
        ("ELF file", Path(XENFAULT).read_bytes()[: 1 << 20], ("elf",)),
        ("gzip file", b"\x1f\x8b\x08" + random.Random(2).randbytes(5000), ("compressed",)),
        ("zstd file", b"\x28\xb5\x2f\xfd" + random.Random(3).randbytes(5000), ("compressed",)),
        ("window header with the TSC bit", struct.pack("<I", 0xA001F003) + bytes(100),
         ("not a xen trace",)),
    ]
    for name, data, words in refused:
        run_case(f"not a trace: {name}", refused_case, data, *words)
    small = window(0, running() + faults(1, 8)) + window(1, running(Vcpu(0, 0)) + faults(8, 14))
    small += window(0, synth.wrap(7, None) + faults(14, 16))
    run_case("cut at any byte", every_cut_case, small, range(len(small) + 1), slow=True)
    data = good_trace().bytes(5)
    some = sorted(random.Random(4).sample(range(12, len(data)), 120))
    run_case("cut anywhere in a larger trace", every_cut_case, data, some)
    for form in (synth.FIXED64, synth.FIXED32):
        run_case(f"cut in a record of {form}", fixed_cut_case, form)
    for name, data, kept, more in record_cases():
        run_case(name, lambda folder, d=data, k=kept, m=more: damage_case(folder, d, k, **m))
    run_case("what lost records say", lost_rows_case)
    run_case("more than 4 GiB, the rest zeroes", sparse_case, False, slow=True)
    run_case("more than 4 GiB, windows behind a hole", sparse_case, True, slow=True)
    if os.environ.get("XENFAULT_TEST_LONG"):
        run_case("more than 4 GiB, all of it windows", far_case)
    others: list[tuple[str, Callable[..., None], Sequence[Any]]] = [
        ("unreadable input", unreadable_case, ()),
        ("unwritable output", unwritable_case, ()),
        ("existing output", existing_case, ()),
        ("full disk after 4 KiB", limit_case, (4,)),
        ("full disk after 100 KiB", limit_case, (100,)),
        ("full standard output, closed pipe", stdout_case, ()),
        ("databases of others, newer, damaged", foreign_case, ()),
        ("SIGINT in the middle", signal_case, (signal.SIGINT, 0.5)),
        ("SIGTERM in the middle", signal_case, (signal.SIGTERM, 0.5)),
        ("SIGKILL in the middle", signal_case, (signal.SIGKILL, 0.5)),
        ("SIGINT at once", signal_case, (signal.SIGINT, 0.05)),
        ("a slow pipe", slow_case, ()),
        ("wrong options", options_case, ()),
        ("symbol files that are none", symbols_case, ()),
    ]
    for name, function, arguments in others:
        run_case(name, function, *arguments, slow=function is slow_case)
    for seed in range(int(os.environ.get("XENFAULT_TEST_SEEDS", "5"))):
        run_case(f"garbage {seed}", garbage_case, seed, slow=seed > 0)
    finish()


if __name__ == "__main__":
    main()
