#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Time that grows with the square of an input is a way to stop somebody's work.
In: traces and symbol files made so that lists grow long.  Out: cases."""
import hashlib
import os
import resource
import struct
import subprocess

from synth import encode, pair, window
from lib import WORK, XENFAULT, case, check, finish, unpack

START = 50_000_000_000
RIP = 0xFFFFFFFF81001000
TABLES = 0xFFFF888000000000
FACTOR = 4       # how much larger the second input is
MOST = 4 * 2.2   # times the time it may take: with the square it would be 16
NOISE = 0.1      # seconds that are not measured well


def running(tsc, domain, vcpu):
    return encode(0x21002, (vcpu | domain << 16,), tsc)


def emulated(tsc, address, pte):
    return encode(0x20110B, (*pair(pte), *pair(address), *pair(RIP)), tsc)


def fault(tsc, address, code):
    return encode(0x201104, (*pair(0x400000), *pair(address), code), tsc)


def unhooked(tsc, number):
    return encode(0x204101, (*pair(TABLES + (number << 12)), *pair(RIP), number, number, 0), tsc)


def hypercall(tsc, op):
    return encode(0x20100D, (op,), tsc)


def forks_that_wait(n):
    """Forks that end, each with a page that stays unhooked."""
    yield running(START, 1, 0)
    for i in range(n):
        yield unhooked(START + 200 * i + 100, i)
        yield fault(START + 200 * i + 200, 0x7F0000000000, 6)


def tables_of_one_base(n):
    """Page-table pages that all map the same 2 MiB, then as many COW faults there."""
    yield running(START, 1, 0)
    address, tsc = 0x7F0000000000, START
    for i in range(n):
        tsc += 120
        yield fault(tsc, address, 7)
        yield emulated(tsc + 10, TABLES + (i << 12), 0x1003)
        yield hypercall(tsc + 20, 23)
    for i in range(n):
        tsc += 120
        yield fault(tsc, address, 7)
        yield hypercall(tsc + 10, 14)
        yield hypercall(tsc + 20, 23)


def domains_and_losses(n):
    """Domains seen once each, then as many losses."""
    tsc = START
    for i in range(n):
        tsc += 1000
        yield running(tsc, i, 0)
        yield emulated(tsc + 10, TABLES + (i << 12), 0x1001)
    for _ in range(n):
        tsc += 1000
        yield encode(0x1F001, (1, 0, *pair(tsc - 500)), tsc)


def vcpus_and_forks(n):
    """vCPUs of one domain, then as many forks."""
    tsc = START
    for i in range(min(n, 8000)):
        tsc += 10
        yield running(tsc, 1, i)
        yield fault(tsc + 1, 0x7F0000000000, 6)
    for i in range(n):
        tsc += 110
        yield emulated(tsc, TABLES + (i % 50000 << 12), 0x1001)
        yield fault(tsc + 10, 0x7F0000000000, 6)


def colliding_pages(n):
    """Page-table pages whose numbers have one value in common low bits."""
    yield running(START, 1, 0)
    for i in range(n):
        yield emulated(START + 100 * i + 100, TABLES + (i << 30), 0x1003)


def colliding_addresses(n):
    """Instructions whose addresses have one value in the low 32 bits of a hash without a seed."""
    yield running(START, 1, 0)
    for i in range(n):
        yield encode(0x20110B, (*pair(0x1003), *pair(TABLES), *pair(unmixed(i << 32))), START + 100 * i + 100)


def pcpus_in_turn(n):
    """pCPUs that each have a window, and events in turn."""
    for pcpu in range(n):
        yield pcpu, b"".join(fault(START + 100 * (pcpu + n * turn), 0x7F0000000000, 6) for turn in range(5))


def gaps_of_many_pcpus(n):
    """pCPUs that are silent for so long that others run there afterwards, again and again."""
    for pcpu in range(n):
        times = (START + (1 << 24) * (pcpu + n * turn) for turn in range(20))
        yield pcpu, b"".join(fault(tsc, 0x7F0000000000, 6) + running(tsc + 1, 1 + turn % 2, pcpu % 8000)
                             for turn, tsc in enumerate(times))


def unmixed(value):
    """The key of which `key ^= key >> 31; key *= 0x9e37...; key ^ key >> 29` makes the value."""
    value ^= value >> 29 ^ value >> 58
    value = value * pow(0x9E3779B97F4A7C15, -1, 1 << 64) % (1 << 64)
    return value ^ value >> 31 ^ value >> 62


def seconds(*args):
    """CPU time of the program with these arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([XENFAULT, *map(str, args)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def import_time(records):
    """Of records of one pCPU, or of pCPUs and their windows: the time to import and to look at it."""
    path = os.path.join(WORK, "growth.bin")
    with open(path, "wb") as file:
        pieces = list(records)
        if isinstance(pieces[0], tuple):
            file.write(b"".join(window(*piece) for piece in pieces))
        else:
            for i in range(0, len(pieces), 3000):
                file.write(window(0, b"".join(pieces[i:i + 3000])))
    return min(seconds("import", "--force", "-o", path + ".db", path) + seconds("info", path + ".db") for _ in range(2))


for make, n in ((forks_that_wait, 5000), (tables_of_one_base, 10000), (domains_and_losses, 2000),
                (vcpus_and_forks, 5000), (colliding_pages, 10000), (colliding_addresses, 10000),
                (pcpus_in_turn, 4000), (gaps_of_many_pcpus, 1000)):
    @case(f"time is linear: {make.__name__}")
    def _(make=make, n=n):
        first, second = import_time(make(n)), import_time(make(FACTOR * n))
        check(second < MOST * first + NOISE, f"{n}: {first:.2f} s, {FACTOR * n}: {second:.2f} s")


@case("time: records with ids that collide in a hash without a seed cost what others do")
def _():
    inverse, colliding = pow(0x9E3779B1, -1, 1 << 32), []
    for low in range(1 << 19):
        value = (7 << 20 | low) * inverse % (1 << 32)
        for words in range(8):
            mixed = value ^ words << 5
            raw_id = mixed ^ mixed >> 11 ^ mixed >> 22
            # what passes for an id has one or two bits of a class
            if raw_id < 1 << 28 and bin(raw_id >> 16).count("1") in (1, 2):
                colliding.append((raw_id, (0,) * words))
    others = [(0x80000 + i, words) for i, (_, words) in enumerate(colliding)]
    times = [import_time(encode(*ids[i % 3000], START + 100 * i) for i in range(100_000))
             for ids in (colliding, others)]
    check(times[0] < 2 * times[1] + NOISE, f"{times[0]:.2f} s, others {times[1]:.2f} s")


@case("hash: each process has another seed, all make the same database")
def _():
    for name in ("dom0-crowd", "pvh-shadow", "wtpt-up", "domu-logdirty"):
        made = set()
        for i in range(4):
            path = os.path.join(WORK, f"seed{i}.db")
            seconds("import", "--force", "-o", path, unpack(name + ".bin"))
            with open(path, "rb") as file:
                made.add(hashlib.sha256(file.read()).hexdigest())
        check(len(made) == 1, f"{name}: {len(made)} different files")


def elf(path, symbols, strings):
    """An ELF file of 64 bits with such a table of (name offset, address, size)."""
    table = bytes(24) + b"".join(struct.pack("<IBBHQQ", name, 0x12, 0, 1, address, size) for name, address, size in symbols)
    names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    base, offsets, body = 0xFFFFFFFF81000000, [], b""
    for part in (strings, table, names):
        body += bytes(-len(body) % 8)
        offsets.append(64 + len(body))
        body += part
    body += bytes(-len(body) % 8)
    section = struct.Struct("<IIQQQQIIQQ")
    sections = [section.pack(*[0] * 10), section.pack(1, 1, 6, base, 64, 0, 0, 0, 16, 0),
                section.pack(7, 2, 0, 0, offsets[1], len(table), 3, 1, 8, 24),
                section.pack(15, 3, 0, 0, offsets[0], len(strings), 0, 0, 1, 0),
                section.pack(23, 3, 0, 0, offsets[2], len(names), 0, 0, 1, 0)]
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, base, 0, 64 + len(body), 0, 64, 0, 0, 64, 5, 4)
    with open(path, "wb") as file:
        file.write(head + body + b"".join(sections))


@case("symbols: a long name that thousands share, and functions within functions, are bounded")
def _():
    path, base, trace = os.path.join(WORK, "growth.elf"), 0xFFFFFFFF81000000, unpack("dom0-forks.bin")
    elf(path, [(1, base + 16 * i, 16) for i in range(4000)], b"\0" + b"A" * 1_000_000 + b"\0")
    script = f"ulimit -v 400000; exec {XENFAULT} import --force -o {path}.db --symbols {path} {trace}"
    subprocess.run(["sh", "-c", script], check=True, capture_output=True)
    elf(path, [(1, base + i, 3_000_000 - i) for i in range(100_000)], b"\0f\0")
    nested = seconds("import", "--force", "-o", path + ".db", "--symbols", path, trace)
    elf(path, [(1, base + i * 16, 16) for i in range(100_000)], b"\0f\0")
    plain = seconds("import", "--force", "-o", path + ".db", "--symbols", path, trace)
    check(nested < 3 * plain + NOISE, f"{nested:.2f} s nested, {plain:.2f} s side by side")


finish()
