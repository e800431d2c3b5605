# SPDX-License-Identifier: GPL-2.0-or-later
"""Recorded traces on clocks that differ, and parts of them.

In: the bytes of a trace in the variable-length format.  Out: the same records with other TSCs, or
without some windows.
"""
import struct

WINDOW, LOST = 0x1F003, 0x1F001
WINDOW_HEAD = 12
MASK64 = (1 << 64) - 1


def records(data):
    """(offset, pCPU, event id, offset of the TSC or None, offset of the payload, words) of each record."""
    at, pcpu = 0, None
    while at + 4 <= len(data):
        (head,) = struct.unpack_from("<I", data, at)
        event, words, timed = head & 0xFFFFFFF, head >> 28 & 7, head >> 31
        payload = at + 4 + 8 * timed
        if event == WINDOW:
            (pcpu,) = struct.unpack_from("<I", data, payload)
        yield at, pcpu, event, at + 4 if timed else None, payload, words
        at = payload + 4 * words


def first_tsc(data):
    return next(struct.unpack_from("<Q", data, tsc)[0] for _, _, _, tsc, _, _ in records(data) if tsc)


def warp(data, clocks):
    """The trace with clocks[pCPU](TSC) in the place of each TSC."""
    out = bytearray(data)

    def put(pcpu, at):
        struct.pack_into("<Q", out, at, clocks[pcpu](struct.unpack_from("<Q", data, at)[0]) & MASK64)

    for _, pcpu, event, tsc, payload, words in records(data):
        if pcpu not in clocks or event == WINDOW:
            continue
        if tsc:
            put(pcpu, tsc)
        if event == LOST and words == 4:
            put(pcpu, payload + 8)
    return bytes(out)


def shifted(data, **pcpus):
    """warp() by (offset in cycles, drift in cycles per cycle), as p1=(-1000, 0)."""
    start = first_tsc(data)

    def clock(offset, drift=0):
        return lambda tsc: tsc + offset + int(drift * (tsc - start))

    return warp(data, {int(name[1:]): clock(*model) for name, model in pcpus.items()})


def windows(data):
    """(pCPU, first TSC of the window or None, last one, bytes) of each window."""
    at = 0
    while at + WINDOW_HEAD <= len(data):
        pcpu, size = struct.unpack_from("<II", data, at + 4)
        body = data[at:at + WINDOW_HEAD + size]
        times = [struct.unpack_from("<Q", body, tsc)[0] for _, _, _, tsc, _, _ in records(body) if tsc]
        yield pcpu, times[0] if times else None, times[-1] if times else None, body
        at += WINDOW_HEAD + size


def without(data, drop):
    """The trace without the windows for which drop(pCPU, first TSC, last TSC) is true."""
    return b"".join(body for pcpu, first, last, body in windows(data)
                    if first is None or not drop(pcpu, first, last))
