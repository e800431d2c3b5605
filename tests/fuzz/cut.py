#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the seeds: a few KB out of the middle of each recorded trace, and one of every record id.

In: a folder to write to.  Out: files there.  The seeds are in the repository; this tells what they are.
"""
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from lib import unpack  # noqa: E402

VARIABLE = ("dom0-forks", "dom0-shell", "dom0-dirty", "dom0-smp", "dom0-crowd", "dom0-all-classes",
            "dom0-lossy", "dom0-pv-class-only", "dom0-pcpu0-only", "pvh-shadow", "pvh-shadow-hvm",
            "domu-logdirty")
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


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    seeds = {name: variable(name) for name in VARIABLE}
    seeds.update({name: fixed(name, stride) for name, stride in FIXED.items()})
    seeds["every-id"] = every_id()
    for name, data in seeds.items():
        with open(os.path.join(sys.argv[1], name), "wb") as file:
            file.write(data)


main()
