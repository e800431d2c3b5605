#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Bounded memory: one pass larger than what is kept, on a pipe and from a file.  Out: cases."""
import os
import resource
import sqlite3
import struct
import subprocess

from lib import WORK, XENFAULT, case, equal, finish

TRACE = os.path.join(WORK, "giant.bin")
RECORDS = 1_000_000  # on each of two pCPUs: 64 MB, of which 24 may stay in memory
SANITIZED = "san" in XENFAULT  # its shadow memory is not ours to count


def make():
    """Two windows, one pass; who ran is told only by the last record of each pCPU."""
    with open(TRACE, "wb") as file:
        for cpu in range(2):
            fault = struct.Struct("<IQIIIII")
            head = 0x80000000 | 5 << 28 | 0x201104
            data = bytearray()
            for i in range(RECORDS):
                data += fault.pack(head, 2000 + 10 * i + cpu, 0x401000, 0, i << 12 & 0xFFFFFFFF,
                                   0x7F00, 6)
            data += struct.pack("<IQI", 0x80000000 | 1 << 28 | 0x21002, 2000 + 10 * RECORDS, cpu)
            file.write(struct.pack("<III", 0x2001F003, cpu, len(data)) + data)


def imported(source, name):
    path = os.path.join(WORK, name)
    command = [XENFAULT, "import", "--force", "-o", path]
    if source == "pipe":
        with open(TRACE, "rb") as file:
            cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
            subprocess.run([*command, "-"], stdin=cat.stdout, check=True)
            cat.wait()
    else:
        subprocess.run([*command, TRACE], check=True)
    db = sqlite3.connect(path)
    row = db.execute("SELECT count(*), sum(tsc * event_id % 1000003), sum(domid), sum(vcpu) FROM events"
                      ).fetchone()
    db.close()
    os.unlink(path)
    return row


def both():
    """The rows of both imports."""
    if not rows:
        make()
        rows.extend((imported("pipe", "giant1.db"), imported("file", "giant2.db")))
        os.unlink(TRACE)
    return rows


rows = []


@case("a pass larger than memory: the same rows from a pipe and from a file, owner found at its end", slow=True)
def _():
    piped, read = both()
    equal(piped, read, "rows")
    equal(piped[0], 2 * RECORDS, "events")
    equal(piped[3], RECORDS, "vCPU of half of them is 1")


@case("peak memory of an import stays below 100 MiB", slow=True)
def _():
    both()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    assert SANITIZED or peak < 100, f"{peak:.0f} MiB"


finish()
