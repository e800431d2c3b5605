# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes synthetic traces: what no recording has, with known truth.

In: calls that say what happens on which pCPU.  Out: bytes of a trace in the variable-length format
(Xen 3.2 and later) or one of the two fixed formats (before), for tests/synthetic.py and
tests/badinput.py.  tests/scenarios.py has whole stories with their truth.
"""

import struct
from typing import Iterable, NamedTuple, Optional, Sequence

VARIABLE, FIXED64, FIXED32 = "variable", "fixed64", "fixed32"

RUNNING, RUNNABLE, BLOCKED, OFFLINE = range(4)
IDLE = 0x7FFF

CPU_CHANGE, WRAP, LOST = 0x1F003, 0x1F002, 0x1F001

# Hypercalls that matter here.
MMU_UPDATE, STACK_SWITCH, MULTICALL, UPDATE_VA = 1, 3, 13, 14
IRET, MMUEXT_OP, SCHED_OP = 23, 26, 29

# SHADOW minors and flags.
NOT_SHADOW, FAST_PROPAGATE, FAST_MMIO, FALSE_FAST_PATH, MMIO, FIXUP, DYING, EMULATE = range(1, 9)
UNSHADOW_USER, UNSHADOW_EVTINJ, UNSHADOW_UNHANDLED, WRMAP_BF, PREALLOC_UNPIN = range(9, 14)
RESYNC_FULL, RESYNC_ONLY = 14, 15
FLAG_UNSYNC = 1 << 18

# #PF error codes.
EC_P, EC_W, EC_U = 1, 2, 4

MASK32 = 0xFFFFFFFF


class Vcpu(NamedTuple):
    """A virtual CPU: domain id and number in it."""

    domid: int
    vcpu: int


class Record(NamedTuple):
    """One record; raw, if not empty, is written as it is."""

    pcpu: int
    at: int  # TSC, also of a record that does not carry it
    event: int
    words: tuple[int, ...]  # data items in the fixed formats
    tsc: bool
    raw: bytes = b""


def pair(value: int) -> tuple[int, int]:
    """A 64-bit value as two words, low one first."""
    return value & MASK32, value >> 32 & MASK32


def encode(event: int, words: Sequence[int] = (), tsc: Optional[int] = None) -> bytes:
    """One variable-length record; tsc None = none carried."""
    assert len(words) <= 7
    head = event & 0x0FFFFFFF | len(words) << 28 | (0 if tsc is None else 1 << 31)
    times = () if tsc is None else pair(tsc)
    return struct.pack(f"<{1 + len(times) + len(words)}I", head, *times, *words)


def window(pcpu: int, data: bytes, size: Optional[int] = None) -> bytes:
    """A window header and its records; size overrides the true one."""
    return encode(CPU_CHANGE, (pcpu & MASK32, len(data) if size is None else size)) + data


def wrap(words: int, tsc: Optional[int]) -> bytes:
    """A wrap record of one of the 16 shapes, its payload stale ring content."""
    return encode(WRAP, (0x2001F003, 0xFFFFFFFF, 0x20110B, 3, 0x8000F003, 7, 0)[:words], tsc)


class Trace:
    """Per-pCPU record lists.  The clock ticks by `step` with each record on any pCPU."""

    def __init__(
        self,
        form: str = VARIABLE,
        xen: tuple[int, int] = (4, 17),
        guest_bits: int = 64,
        xen_bits: int = 64,
        pae: bool = True,
        start: int = 50_000_000_000,
        step: int = 2_000,
    ) -> None:
        self.form, self.xen = form, xen
        self.guest_bits, self.xen_bits, self.pae = guest_bits, xen_bits, pae
        self.now, self.step = start, step
        self.records: dict[int, list[Record]] = {}
        self.current: dict[int, Vcpu] = {}

    # Records in general.

    def add(
        self,
        pcpu: int,
        event: int,
        words: Iterable[int] = (),
        tsc: bool = True,
        at: Optional[int] = None,
        raw: bytes = b"",
    ) -> int:
        """Appends a record to a pCPU's list; returns its time.  `at` leaves the clock alone."""
        if at is None:
            self.now += self.step
            at = self.now
        mask = 0xFFFFFFFFFFFFFFFF if self.form == FIXED64 else MASK32
        items = tuple(word & mask for word in words)
        self.records.setdefault(pcpu, []).append(Record(pcpu, at, event, items, tsc, raw))
        return at

    def wait(self, ticks: int) -> None:
        """Lets time pass."""
        self.now += ticks

    def _encode(self, record: Record) -> bytes:
        if record.raw:
            return record.raw
        if self.form == VARIABLE:
            return encode(record.event, record.words, record.at if record.tsc else None)
        data = record.words + (0,) * (5 - len(record.words))
        if self.form == FIXED32:
            return struct.pack("<IQI5I", record.pcpu, record.at, record.event, *data)
        # The pad after the event was never cleared.
        return struct.pack("<IQII5Q", record.pcpu, record.at, record.event, 0xDEAD, *data)

    def windows(self, passes: int = 8) -> list[tuple[int, list[Record]]]:
        """What each poll of a reader finds: pCPU 0 is drained first, so its windows end earlier."""
        times = [record.at for records in self.records.values() for record in records]
        if not times:
            return []
        first, last = min(times), max(times)
        done = dict.fromkeys(self.records, 0)
        result = []
        for number in range(passes):
            cut = first + (last - first) * (number + 1) // passes
            for order, pcpu in enumerate(sorted(self.records)):
                records, begin = self.records[pcpu], done[pcpu]
                end = begin
                while end < len(records) and (
                    number == passes - 1 or records[end].at <= cut + order * self.step
                ):
                    end += 1
                if end > begin:
                    result.append((pcpu, records[begin:end]))
                    done[pcpu] = end
        return result

    def bytes(self, passes: int = 8) -> bytes:
        """The whole file."""
        chunks = []
        for pcpu, records in self.windows(passes):
            data = b"".join(map(self._encode, records))
            chunks.append(window(pcpu, data) if self.form == VARIABLE else data)
        return b"".join(chunks)

    def count(self) -> int:
        """Records in the file (window headers are none)."""
        return sum(map(len, self.records.values()))

    # Losses and ring ends.

    def lost(self, pcpu: int, count: int, first: int, owner: Vcpu) -> int:
        """The lost record of this Xen; `first` = TSC of the first record lost."""
        if self.form != VARIABLE:
            return self.add(pcpu, LOST, (count,))
        if self.xen < (3, 4):
            return self.add(pcpu, LOST, (count,), tsc=False)
        who = owner.domid | owner.vcpu << 16
        return self.add(pcpu, LOST, (count, who, *pair(first)))

    def wrapped(self, pcpu: int, words: int, tsc: bool) -> int:
        """A wrap record."""
        self.now += self.step
        raw = wrap(words, self.now if tsc else None)
        return self.add(pcpu, WRAP, at=self.now, raw=raw)

    # Scheduler.

    def _sched(self, minor: int) -> int:
        return (0x28000 if self.form == VARIABLE and self.xen >= (3, 4) else 0x2F000) + minor

    def runstate(self, pcpu: int, who: Vcpu, old: int, new: int) -> int:
        """RUNSTATE_CHANGE (3.4 and later)."""
        event = 0x21001 + (old << 8) + (new << 4)
        return self.add(pcpu, event, (who.vcpu | who.domid << 16,))

    def infprev(self, pcpu: int, who: Vcpu, ran: int = 1_000_000) -> int:
        """INFPREV: without a vCPU up to 4.7."""
        words = (who.domid, who.vcpu, ran) if self.xen >= (4, 8) else (who.domid, ran)
        return self.add(pcpu, self._sched(14), words)

    def infnext(self, pcpu: int, who: Vcpu, waited: int = 50_000, time_slice: int = -1) -> int:
        """INFNEXT: without a vCPU up to 4.7."""
        who_words = (who.domid, who.vcpu) if self.xen >= (4, 8) else (who.domid,)
        return self.add(pcpu, self._sched(15), (*who_words, waited, time_slice))

    def switch_record(self, pcpu: int, prev: Vcpu, following: Vcpu) -> int:
        """SWITCH alone."""
        return self.add(pcpu, self._sched(10), (*prev, *following))

    def switch(self, pcpu: int, following: Vcpu, new: int = RUNNABLE) -> int:
        """A context switch, in the order of this Xen; `new`: the state of who leaves."""
        prev = self.current.get(pcpu, Vcpu(IDLE, pcpu))
        states = self.form == VARIABLE and self.xen >= (3, 4)
        self.infprev(pcpu, prev)
        self.infnext(pcpu, following)
        if not states:
            at = self.switch_record(pcpu, prev, following)
        elif self.xen >= (4, 1):
            self.switch_record(pcpu, prev, following)
        if states:
            self.runstate(pcpu, prev, RUNNING, new)
            at = self.runstate(pcpu, following, RUNNABLE, RUNNING)
            if self.xen < (4, 1):
                at = self.switch_record(pcpu, prev, following)
        self.current[pcpu] = following
        return at

    def idle(self, pcpu: int) -> int:
        """The current vCPU blocks, nobody else is there."""
        return self.switch(pcpu, Vcpu(IDLE, pcpu), BLOCKED)

    def continue_running(self, pcpu: int, who: Vcpu) -> int:
        """CONTINUE_RUNNING (3.4 and later)."""
        self.current[pcpu] = who
        return self.add(pcpu, 0x21002, (who.vcpu | who.domid << 16,))

    def domain(self, pcpu: int, domid: int, added: bool) -> int:
        """DOM0OP records of 4.7 and later: a domain comes or goes."""
        return self.add(pcpu, 0x41001 if added else 0x41002, (domid,))

    # PV.

    def _pv(self, minor: int, wide: Optional[bool] = None) -> int:
        wide = self.guest_bits == 64 if wide is None else wide
        base = 0x201000 if self.form != VARIABLE or self.xen >= (4, 3) else 0x20F000
        return base + minor + (0x100 if wide and self.form == VARIABLE else 0)

    def _items(self, *values: int) -> tuple[int, ...]:
        """Guest words: two trace words each in the records of a 64-bit guest."""
        if self.form != VARIABLE or self.guest_bits == 32:
            return values
        return tuple(word for value in values for word in pair(value))

    def page_fault(self, pcpu: int, va: int, code: int, rip: int) -> int:
        """A #PF given to the guest."""
        return self.add(pcpu, self._pv(4), (*self._items(rip, va), code))

    def ptwr(self, pcpu: int, address: int, pte: int, rip: int) -> int:
        """A PTE write emulated by Xen; the id depends on guest and hypervisor."""
        if self.guest_bits == 64:
            return self.add(pcpu, self._pv(11), (*pair(pte), *pair(address), *pair(rip)))
        if self.pae or self.xen_bits == 64:
            return self.add(pcpu, self._pv(12), (*pair(pte), address, rip))
        return self.add(pcpu, 0x20F00B, (pte, address, rip))

    def paging_fixup(self, pcpu: int, va: int, rip: int) -> int:
        """PV_PAGING_FIXUP: shadow fault of a PV guest in log-dirty mode."""
        return self.add(pcpu, self._pv(9), self._items(rip, va))

    def hypercall(self, pcpu: int, op: int, **arguments: int) -> int:
        """A hypercall: V2 from 4.3 on, with the arguments that Xen records (a0=, a1=, ...)."""
        if self.xen < (4, 3):
            return self.add(pcpu, self._pv(1), (*self._items(0xFFFFFFFF81001020), op))
        return self.add(pcpu, 0x20100D, self._call(op, arguments))

    def subcall(self, pcpu: int, op: int, **arguments: int) -> int:
        """One call of a multicall."""
        return self.add(pcpu, 0x20200E, self._call(op, arguments))

    @staticmethod
    def _call(op: int, arguments: dict[str, int]) -> tuple[int, ...]:
        word, values = op, []
        for name, value in sorted(arguments.items()):
            word |= 1 << 20 + 2 * int(name[1:])
            values.append(value)
        return (word, *values)

    # SHADOW (never with a TSC) and HVM.

    def shadow(self, pcpu: int, minor: int, levels: int, **fields: int) -> int:
        """A SHADOW record of a guest with 2, 3 (PAE) or 4 paging levels.

        fields: g, wval, va, gfn, flags, count (extra instructions of EMULATE).
        """
        wide = levels == 4
        event = 0x40F000 | (0 if minor >= WRMAP_BF else levels - 2 << 8) | minor
        address = pair(fields.get("va", 0)) if wide else (fields.get("va", 0),)
        entry = lambda name: (  # noqa: E731
            (fields.get(name, 0),) if levels == 2 else pair(fields.get(name, 0))
        )
        flags = fields.get("flags", 0)
        if minor in (NOT_SHADOW, FIXUP):
            words = (*entry("g"), *address, flags)
        elif minor == EMULATE:
            words = (*entry("g"), *entry("wval"), *address, flags | fields.get("count", 0) << 29)
        elif minor in (UNSHADOW_USER, UNSHADOW_EVTINJ, UNSHADOW_UNHANDLED):
            words = (*entry("gfn"), *address) + ((flags,) if self.xen >= (4, 19) else ())
        elif minor >= WRMAP_BF:
            gfn = fields.get("gfn", 0)
            words = pair(gfn) if self.xen_bits == 64 else (gfn,)
        else:
            words = address
        return self.add(pcpu, event, words, tsc=False)

    def _old_hvm(self, pcpu: int) -> tuple[int, ...]:
        """The word that 3.2 and 3.3 put in front: domain and vCPU."""
        who = self.current.get(pcpu, Vcpu(0, 0))
        return (who.domid | who.vcpu << 16,) if self.xen < (3, 4) else ()

    def _spare(self) -> tuple[int, ...]:
        """The word too many of 3.4 and 4.0."""
        return (0,) if (3, 4) <= self.xen <= (4, 0) else ()

    def vmexit(self, pcpu: int, reason: int, rip: int, svm: bool = False) -> int:
        """VMEXIT in the layouts of 3.2, 3.3, 3.4 and, for SVM, 4.19."""
        wide = self.guest_bits == 64
        if self.xen < (3, 3):
            event = 0x81003 if wide else 0x81002
        elif svm and self.xen >= (4, 19):
            event = 0x81003 + (0x100 if wide else 0)
        else:
            event = 0x81002 + (0x100 if wide or self.xen < (3, 4) else 0)
        wide = wide or self.xen == (3, 3)
        address = pair(rip) if wide else (rip,)
        return self.add(pcpu, event, (*self._old_hvm(pcpu), reason, *address))

    def vmentry(self, pcpu: int) -> int:
        """VMENTRY."""
        return self.add(pcpu, 0x81001, self._old_hvm(pcpu))

    def pf_inject(self, pcpu: int, va: int, code: int) -> int:
        """A #PF given to an HVM guest."""
        if self.xen < (3, 3):
            return self.add(pcpu, 0x82002, (*self._old_hvm(pcpu), va, code), tsc=False)
        words = (*self._old_hvm(pcpu), code, *pair(va), *self._spare())
        return self.add(pcpu, 0x82102, words, tsc=False)

    def cr_write(self, pcpu: int, register: int, value: int) -> int:
        """A control register loaded by an HVM guest."""
        if self.xen < (3, 3):
            words = (*self._old_hvm(pcpu), register, value)
            return self.add(pcpu, 0x82009, words, tsc=False)
        words = (*self._old_hvm(pcpu), register, *pair(value), *self._spare())
        return self.add(pcpu, 0x82109, words, tsc=False)

    # The trace points of the unhook mechanism, in both formats.  With the 64-bit flag addresses
    # and PTEs are two words each and the small values one, so that all fit into seven words.

    def _hook(self, pcpu: int, minor: int, *items: object) -> int:
        wide = self.form == VARIABLE and self.guest_bits == 64
        words: list[int] = []
        for item in items:
            value = item[0] if isinstance(item, tuple) else item
            words += pair(value) if wide and isinstance(item, tuple) else (value,)
        return self.add(pcpu, 0x204000 + minor + (0x100 if wide else 0), words)

    def unhook(self, pcpu: int, pte: int, rip: int, l2: int, frame: int, which: int = 0) -> int:
        """PTWR_UNHOOK; `pte`: address of the entry being written."""
        return self._hook(pcpu, 1, (pte,), (rip,), l2, frame, which)

    def rehook(self, pcpu: int, pte: int, l2: int, frame: int, count: int, which: int = 0) -> int:
        """PTWR_REHOOK; which + 0x100: by a VCPU that does not own the hook."""
        return self._hook(pcpu, 2, (pte,), l2, frame, count, which)

    def flush(self, pcpu: int, va: int, mask: int, reason: int) -> int:
        """PTWR_FLUSH; reason 0 unhook, 1 rehook."""
        return self._hook(pcpu, 3, (va,), mask, reason)

    def hook_emulate(self, pcpu: int, pte: int, rip: int, value: int, size: int = 8) -> int:
        """PTWR_EMULATE; the item that is always 0 has no place beside three wide ones."""
        zero = () if self.form == VARIABLE and self.guest_bits == 64 else (0,)
        return self._hook(pcpu, 4, (pte,), (rip,), (value,), *zero, size)

    def hook_spurious(self, pcpu: int, va: int, rip: int, code: int) -> int:
        """PTWR_SPURIOUS."""
        return self._hook(pcpu, 5, (va,), (rip,), code)
