#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the seeds: a few KB out of the middle of each recorded trace, and one of every record id; symbols in
each form; a kernel's log of the time of one of these traces; changes to a database.

In: a folder.  Out: its subfolders trace, symbols, log, database.  The seeds are in the repository; this tells
what they are.
"""
import os
import re
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from lib import unpack  # noqa: E402

VARIABLE = ("dom0-forks", "dom0-shell", "dom0-dirty", "dom0-smp", "dom0-crowd", "dom0-all-classes",
            "dom0-lossy", "dom0-pv-class-only", "dom0-pcpu0-only", "pvh-shadow", "pvh-shadow-hvm",
            "domu-logdirty", "points-forks", "points-grant", "pvh-hap-migrate")
FIXED = {"wtpt-up": 60, "wtpt-smp": 60, "emulate": 60, "x32pae-wtpt-up": 36}
MAGIC = 0x2001F003
WINDOWS, BYTES = 6, 700


def windows(data):
    at = 0
    while at + 12 <= len(data):
        magic, pcpu, size = struct.unpack_from("<III", data, at)
        assert magic == MAGIC
        yield pcpu, data[at + 12:at + 12 + size]
        at += 12 + size


def cut(records, start, limit):
    """Whole records from about start on, limit bytes at the most."""
    at = begin = 0
    while at < len(records):
        header, = struct.unpack_from("<I", records, at)
        if at < start:
            begin = at
        elif at - begin > limit:
            break
        at += 4 + (header >> 31) * 8 + (header >> 28 & 7) * 4
    return records[begin:at]


def window(pcpu, records):
    return struct.pack("<III", MAGIC, pcpu, len(records)) + records


def variable(name):
    data = open(unpack(name + ".bin"), "rb").read()
    everything = list(windows(data))
    # around the window that holds most: there is work going on
    middle = max(range(len(everything)), key=lambda i: len(everything[i][1]))
    first = max(0, middle - WINDOWS // 2)
    return b"".join(window(pcpu, cut(records, len(records) // 2, BYTES))
                    for pcpu, records in everything[first:first + WINDOWS])


def fixed(name, stride):
    data = open(unpack(name + ".bin"), "rb").read()
    first = len(data) // stride // 3
    return data[first * stride:(first + 60) * stride]


def every_id():
    """One record of each PV, SHADOW and HVM id with each number of words, timed and not."""
    ids = [0x20F000 + m for m in range(1, 15)] + [0x20F100 + m for m in range(1, 15)]
    ids += [0x201000 + m for m in range(1, 15)] + [0x201100 + m for m in range(1, 15)] + [0x20200E]
    ids += [0x204001 + m for m in range(5)] + [0x204101 + m for m in range(5)]
    ids += [0x40F000 + 0x100 * level + m for level in range(3) for m in range(1, 16)]
    ids += [0x81001, 0x81002, 0x81102, 0x82001, 0x82101, 0x82002, 0x82102, 0x82009, 0x82109, 0x82014]
    ids += [0x1F001, 0x21011, 0x21101, 0x21002, 0x2800A, 0x2800E, 0x28011, 0x41001, 0x41002]
    tsc, out = 1 << 32, [b"", b"", b""]
    for number, raw_id in enumerate(ids):
        for words in range(8):
            timed = (number + words) % 4 != 0
            header = raw_id | words << 28 | timed << 31
            tsc += 1000
            body = struct.pack("<I", header) + (struct.pack("<Q", tsc) if timed else b"")
            body += b"".join(struct.pack("<I", 0x1000 * (words - i) + number % 8) for i in range(words))
            out[words % 3] += body
    return b"".join(window(pcpu, records) for pcpu, records in enumerate(out))


def symbols():
    """The three forms of text, and ELF files of 64 and 32 bits."""
    with open(os.path.join(os.path.dirname(HERE), "data", "kallsyms.txt"), "rb") as file:
        lines = file.read().splitlines()
    some = lines[:20] + lines[-10:]
    plain = [line.split(b"\t")[0] for line in some]
    yield "kallsyms", b"\n".join(some) + b"\n"
    yield "system-map", b"\n".join(plain) + b"\n"
    yield "system-map-32", b"\n".join(line[8:] for line in plain) + b"\n"
    yield "hidden", b"".join(b"0000000000000000 T " + line.split()[2] + b"\n" for line in some)
    for bits in (64, 32):
        yield f"elf{bits}", elf(bits, [(0xC0100000 + 32 * i, 32, b"f%d" % i) for i in range(8)])


def elf(bits, functions):
    """An ELF file with a table of symbols."""
    wide = bits == 64
    strings, table = b"\0", struct.pack("<IBBHQQ" if wide else "<IIIBBH", 0, 0, 0, 0, 0, 0)
    for address, size, name in functions:
        at = len(strings)
        table += struct.pack("<IBBHQQ", at, 0x12, 0, 1, address, size) if wide else \
            struct.pack("<IIIBBH", at, address, size, 0x12, 0, 1)
        strings += name + b"\0"
    names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    word = "Q" if wide else "I"
    head = 64 if wide else 52
    offsets, body = [], b""
    for part in (strings, table, names):
        body += bytes(-len(body) % 8)
        offsets.append(head + len(body))
        body += part
    body += bytes(-len(body) % 8)
    section = struct.Struct(f"<II{word}{word}{word}{word}II{word}{word}")
    entry = 24 if wide else 16
    sections = [(0,) * 10, (1, 1, 6, functions[0][0], head, 0, 0, 0, 16, 0),
                (7, 2, 0, 0, offsets[1], len(table), 3, 1, 8, entry), (15, 3, 0, 0, offsets[0], len(strings), 0, 0, 1, 0),
                (23, 3, 0, 0, offsets[2], len(names), 0, 0, 1, 0)]
    ident = b"\x7fELF" + bytes((2 if wide else 1, 1, 1)) + bytes(9)
    return ident + struct.pack(f"<HHI{word}{word}{word}IHHHHHH", 2, 62 if wide else 3, 1, functions[0][0], 0,
                               head + len(body), 0, head, 0, 0, section.size, 5, 4) + body + \
        b"".join(section.pack(*row) for row in sections)


def times(data):
    """First and last TSC of a trace."""
    found = []
    for _, records in windows(data):
        at = 0
        while at < len(records):
            header, = struct.unpack_from("<I", records, at)
            if header >> 31:
                found.append(struct.unpack_from("<Q", records, at + 4)[0])
            at += 4 + (header >> 31) * 8 + (header >> 28 & 7) * 4
    return min(found), max(found)


def logs(capture):
    """Lines of the kernel's own log, from the time of the capture."""
    first, last = times(capture)
    with open(unpack("dom0-crowd.ftrace"), encoding="utf-8") as file:
        lines = file.readlines()
    head = [line for line in lines[:20] if line.startswith("#")]
    number = re.compile(r"\s(\d{6,}): ")
    timed = [(int(match.group(1)), line) for line in lines if (match := number.search(line))]
    inside = [line for tsc, line in timed if first <= tsc <= last]
    yield "inside", "".join(head + inside[:60]).encode()
    yield "later", "".join(inside[len(inside) // 2:][:40]).encode()
    kinds = {}
    for _, line in timed:
        kinds.setdefault(number.split(line)[2].split()[0], line)
    yield "every-event", "".join(head + list(kinds.values())).encode()


def changes():
    """For some commands a change of each sort (tests/fuzz/database.c)."""
    for command in range(0, 24, 5):
        yield f"value-{command}", bytes((command, command, 3, 0, 7 * command, 0, 1, 255, 0, 90, 1, 0x44)) + b"text\x1b[1m" * 3
        yield f"bytes-{command}", bytes((command, command + 1, 0)) + struct.pack(">HBB", 17 * command, 3, 255) * 2


def main():
    folders = {"trace": {name: variable(name) for name in VARIABLE}, "symbols": dict(symbols()),
               "database": dict(changes())}
    folders["trace"].update({name: fixed(name, stride) for name, stride in FIXED.items()})
    folders["trace"]["every-id"] = every_id()
    folders["log"] = dict(logs(folders["trace"]["dom0-crowd"]))
    for folder, seeds in folders.items():
        os.makedirs(os.path.join(sys.argv[1], folder), exist_ok=True)
        for name, data in seeds.items():
            with open(os.path.join(sys.argv[1], folder, name), "wb") as file:
                file.write(data)


main()
