# SPDX-License-Identifier: GPL-2.0-or-later
"""A strict reader of xentrace's stream.

In: bytes.  Out: windows and records; anything that is not exactly the format raises.
"""
import struct

from lib import check


def windows(stream):
    """(CPU, records' bytes) of each window; fails where the stream is not whole windows."""
    at = 0
    while at < len(stream):
        check(at + 12 <= len(stream), f"half a header at {at}")
        mark, cpu, length = struct.unpack_from("<III", stream, at)
        check(mark == 0x2001F003, f"no window header at {at}: {mark:#x}")
        check(at + 12 + length <= len(stream), f"window at {at} is cut")
        check(length and length % 4 == 0, f"window of {length} bytes at {at}")
        yield cpu, stream[at + 12:at + 12 + length]
        at += 12 + length


def records(data):
    """(event id, payload words) of each record of a window."""
    at = 0
    while at < len(data):
        header = struct.unpack_from("<I", data, at)[0]
        before, n = 12 if header >> 31 else 4, header >> 28 & 7
        check(at + before + 4 * n <= len(data), f"a record runs over the end of its window at {at}")
        yield header & 0x0FFFFFFF, struct.unpack_from(f"<{n}I", data, at + before)
        at += before + 4 * n
