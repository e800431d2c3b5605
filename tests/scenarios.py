# SPDX-License-Identifier: GPL-2.0-or-later
"""Synthetic stories with their truth: forks as they should come out of the analysis.

In: nothing, or the sizes of a fork.  Out: a Story: the trace, and what must be found in it.
"""

from dataclasses import dataclass, field
from typing import Callable, Optional

import synth
from synth import EC_P, EC_U, EC_W, IDLE, Trace, Vcpu

COPY_PAGE_RANGE = 0xFFFFFFFF812D12C5
PTEP_CLEAR_FLUSH = 0xFFFFFFFF812E5280
USER_RIP = 0x0000000000401234
KERNEL_RIP = 0xFFFFFFFF819FA1D2
DIRECT_MAP = 0xFFFF888000000000

PTE_FORK = 0x8000000000000165  # present, user, accessed, global, not writable
PTE_NEW = 0x8000000000000167


@dataclass
class Fork:
    """One fork that must be found.  None = not checked."""

    who: Vcpu
    start: int = 0  # TSC of its first PTE write
    last: int = 0  # TSC of its last PTE write
    pt_pages: int = 0
    ptes: int = 0
    mechanism: str = "emulate"
    cow_faults: Optional[int] = None
    complete: Optional[int] = 1
    unhooks: Optional[int] = None
    rehooks: Optional[int] = None
    sequences: Optional[int] = None
    doubted: bool = False  # the records do not decide: the row, or a finding, must say so


@dataclass
class Story:
    """A trace and its truth."""

    trace: Trace
    forks: list[Fork] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    sequences: Optional[dict[str, int]] = None  # by ended_by
    either: Optional[list[Fork]] = None  # a second truth that is as good, if doubted
    owners: dict[int, Optional[Vcpu]] = field(default_factory=dict)  # of the event at a TSC
    max_forks_per_domain: dict[int, int] = field(default_factory=dict)
    passes: int = 8


class Process:
    """A Linux process in a PV guest: its L1 pages and what the kernel does with them.

    frame: of its first page-table page in the guest's direct map; va: first address it uses; its L1
    page i serves va + 2 MiB * i (4 MiB where it has two levels).
    """

    def __init__(self, trace: Trace, frame: int, pages: int, slots: int, va: int) -> None:
        self.trace, self.frame, self.pages, self.slots, self.va = trace, frame, pages, slots, va
        self.first_slot = 7 if slots <= 505 else 0

    def entry(self, page: int, slot: int) -> int:
        """Address of a PTE: in the direct map, or in low memory of a 32-bit guest."""
        size = 4 if self.trace.guest_bits == 32 and not self.trace.pae else 8
        base = DIRECT_MAP if self.trace.guest_bits == 64 else 0xC0000000
        return base + (self.frame + page << 12) + (self.first_slot + slot) * size

    def address(self, page: int, slot: int) -> int:
        """The VA that this PTE maps."""
        two_level = self.trace.guest_bits == 32 and not self.trace.pae
        return self.va + (page << (22 if two_level else 21)) + (self.first_slot + slot << 12)

    def write_protect(self, pcpu: int, begin: int, end: int, fork: Fork) -> None:
        """Part of fork(): PTEs number begin..end-1 lose RW, the child's are queued and flushed."""
        pages = set()
        for number in range(begin, end):
            page, slot = divmod(number, self.slots)
            pages.add(page)
            pte = PTE_FORK | (0x100000 + number) << 12
            at = self.trace.ptwr(pcpu, self.entry(page, slot), pte, rip_copy(self.trace))
            fork.start = fork.start or at
            fork.last = at
            if number % 31 == 30:
                self.trace.hypercall(pcpu, synth.MMU_UPDATE, a1=31)
        fork.ptes += end - begin
        fork.pt_pages = max(fork.pt_pages, max(pages, default=-1) + 1)

    def pin(self, pcpu: int) -> None:
        """The child's tables are pinned: how a fork ends, and an exec too."""
        calls = self.pages + 4
        self.trace.hypercall(pcpu, synth.MULTICALL, a1=calls)
        if self.trace.xen >= (4, 3):
            for _ in range(calls - 1):
                self.trace.subcall(pcpu, synth.UPDATE_VA)
            self.trace.subcall(pcpu, synth.MMUEXT_OP, a1=1)

    def execute(self, pcpu: int) -> None:
        """An exec: new tables are pinned and loaded, the old ones unpinned from the top."""
        self.pin(pcpu)
        self.trace.hypercall(pcpu, synth.MMUEXT_OP, a1=2)
        self.trace.hypercall(pcpu, synth.MULTICALL, a1=5)
        self.trace.subcall(pcpu, synth.MMUEXT_OP, a1=2)
        for _ in range(3):
            self.trace.subcall(pcpu, synth.UPDATE_VA)
        self.trace.subcall(pcpu, synth.MMUEXT_OP, a1=1)

    def fork(self, pcpu: int, who: Vcpu) -> Fork:
        """A whole fork()."""
        fork = Fork(who, cow_faults=0)
        self.write_protect(pcpu, 0, self.pages * self.slots, fork)
        self.pin(pcpu)
        self.trace.hypercall(pcpu, synth.IRET)
        return fork

    def touch(self, pcpu: int, page: int, slot: int) -> None:
        """First touch of a page whose L1 page is there."""
        self.trace.page_fault(pcpu, self.address(page, slot), EC_W | EC_U, USER_RIP & mask(self))
        self.trace.hypercall(pcpu, synth.MMU_UPDATE, a1=1)
        self.trace.hypercall(pcpu, synth.IRET)

    def cow(self, pcpu: int, page: int, slot: int, copy: bool = True) -> None:
        """A write to a page that fork() write-protected."""
        code = EC_P | EC_W | EC_U
        self.trace.page_fault(pcpu, self.address(page, slot), code, USER_RIP & mask(self))
        if copy:
            rip = PTEP_CLEAR_FLUSH & mask(self)
            self.trace.ptwr(pcpu, self.entry(page, slot), 0, rip)
            self.trace.hypercall(pcpu, synth.MMUEXT_OP, a1=1)
        self.trace.hypercall(pcpu, synth.MMU_UPDATE, a1=1)
        self.trace.hypercall(pcpu, synth.IRET)

    def switch_to(self, pcpu: int) -> None:
        """The guest kernel's task switch to this process."""
        self.trace.hypercall(pcpu, synth.MMUEXT_OP, a1=2)
        self.trace.hypercall(pcpu, synth.STACK_SWITCH)


def mask(process: Process) -> int:
    """Of the guest's addresses."""
    return 0xFFFFFFFFFFFFFFFF if process.trace.guest_bits == 64 else 0xFFFFFFFF


def in_user_mode(trace: Trace, pcpu: int) -> None:
    """A task shows that it runs in user mode: what its vCPU does from here on is seen from its beginning."""
    low = (1 << trace.guest_bits) - 1
    trace.page_fault(pcpu, 0x10000, EC_W | EC_U, USER_RIP & low)


def rip_copy(trace: Trace) -> int:
    """Where copy_page_range is in this guest."""
    return COPY_PAGE_RANGE if trace.guest_bits == 64 else COPY_PAGE_RANGE & 0xC0FFFFFF


def pv_fork(pages: int = 16, slots: int = 8, **options: object) -> Story:
    """First touches, an exec, a fork, COW breaks by copy and by reuse, a task switch."""
    trace = Trace(**options)
    who = Vcpu(3, 1)
    trace.switch(0, who)
    parent = Process(trace, 0x1234, pages, slots, 0x7F0000000000 & 0x7FFFFFFFFFFF)
    other = Process(trace, 0x9000, 2, 4, 0x400000)
    if trace.guest_bits == 32:
        parent.va = 0x40000000
    for page in range(pages):
        parent.touch(0, page, 0)
    other.pin(0)  # exec: a pin without a run
    fork = parent.fork(0, who)
    copied = [(page, 0) for page in range(pages)]
    for page, slot in copied:
        parent.cow(0, page, slot)
    reused = [(page, slots - 1) for page in range(0, pages, 4)]
    for page, slot in reused:
        parent.cow(0, page, slot, copy=False)
    fork.cow_faults = len(copied) + len(reused)
    other.switch_to(0)
    other.touch(0, 0, 1)
    trace.idle(0)
    kinds = {
        "page_fault": pages + fork.cow_faults + 1,
        "emulate": pages * slots + len(copied),
    }
    return Story(trace, [fork], kinds)


def preempted() -> Story:
    """A fork loses the vCPU in the middle of a PT page, and goes on after another task ran.

    In between the vCPU itself is descheduled, and comes back on another pCPU.
    """
    trace = Trace()
    who = Vcpu(0, 1)
    trace.switch(0, who)
    in_user_mode(trace, 0)
    forking = Process(trace, 0x1000, 4, 16, 0x7F0000000000)
    other = Process(trace, 0x2000, 2, 4, 0x400000)
    fork = Fork(who, cow_faults=0)
    forking.write_protect(0, 0, 21, fork)
    other.switch_to(0)
    for slot in range(4):
        other.touch(0, 1, slot)
    trace.switch(0, Vcpu(IDLE, 0))
    trace.wait(5_000_000)
    trace.switch(2, who)
    other.touch(2, 0, 3)
    forking.switch_to(2)
    forking.write_protect(2, 21, 64, fork)
    forking.pin(2)
    trace.hypercall(2, synth.IRET)
    trace.idle(2)
    return Story(trace, [fork], {"emulate": 64, "page_fault": 6})


def migrated(in_page: bool) -> Story:
    """A fork goes on on another vCPU: inside a PT page (the records decide) or between two."""
    trace = Trace()
    first, second = Vcpu(2, 0), Vcpu(2, 1)
    trace.switch(0, first)
    trace.switch(1, second)
    in_user_mode(trace, 0)
    in_user_mode(trace, 1)
    forking = Process(trace, 0x3000, 4, 16, 0x7F0000000000)
    other = Process(trace, 0x5000, 2, 4, 0x400000)
    stop = 24 if in_page else 32
    fork = Fork(first, cow_faults=0, doubted=not in_page)
    forking.write_protect(0, 0, stop, fork)
    other.switch_to(0)
    other.touch(0, 0, 0)
    forking.switch_to(1)
    rest = Fork(second, cow_faults=0, doubted=True)
    begin = Fork(first, fork.start, fork.last, fork.pt_pages, fork.ptes, doubted=True)
    forking.write_protect(1, stop, 64, fork)
    rest.start, rest.last, rest.ptes, rest.pt_pages = 0, fork.last, 64 - stop, 2
    forking.pin(1)
    trace.hypercall(1, synth.IRET)
    other.touch(0, 0, 1)
    trace.idle(0)
    trace.idle(1)
    either = None if in_page else [begin, rest]
    return Story(trace, [fork], {"emulate": 64, "page_fault": 4}, either=either)


def two_tasks() -> tuple[Trace, Vcpu, Process, Process]:
    """A vCPU in user mode, and two processes of 3 PT pages with 20 entries each."""
    trace = Trace()
    who = Vcpu(0, 0)
    trace.switch(0, who)
    in_user_mode(trace, 0)
    return (trace, who, Process(trace, 0x4000, 3, 20, 0x7F0000000000),
            Process(trace, 0x6000, 3, 20, 0x560000000000))


def forks_meanwhile() -> Story:
    """While a fork waits inside a PT page, another task runs in user mode, then its kernel thread, and forks."""
    trace, who, waiting, other = two_tasks()
    fork = Fork(who, cow_faults=0)
    waiting.write_protect(0, 0, 25, fork)
    waiting.switch_to(0)
    other.switch_to(0)
    other.touch(0, 0, 0)
    trace.hypercall(0, synth.STACK_SWITCH)
    trace.hypercall(0, synth.STACK_SWITCH)
    between = other.fork(0, who)
    waiting.switch_to(0)
    waiting.write_protect(0, 25, 60, fork)
    waiting.pin(0)
    trace.hypercall(0, synth.IRET)
    trace.idle(0)
    return Story(trace, [fork, between], {"emulate": 120, "page_fault": 2})


def exec_meanwhile() -> Story:
    """While a fork waits between two PT pages, another task's exec pins new tables and unpins old ones."""
    trace, who, waiting, other = two_tasks()
    fork = Fork(who, cow_faults=0, doubted=True)
    waiting.write_protect(0, 0, 20, fork)
    waiting.switch_to(0)
    other.switch_to(0)
    other.execute(0)
    trace.hypercall(0, synth.STACK_SWITCH)
    waiting.switch_to(0)
    waiting.write_protect(0, 20, 60, fork)
    waiting.pin(0)
    trace.hypercall(0, synth.IRET)
    trace.idle(0)
    return Story(trace, [fork], {"emulate": 60})


def pins_meanwhile() -> Story:
    """Two tasks that have forked before: while the one's fork waits, the other's pins in two multicalls."""
    trace, who, waiting, other = two_tasks()
    before = [waiting.fork(0, who)]
    waiting.touch(0, 0, 0)
    other.switch_to(0)
    before.append(other.fork(0, who))
    other.touch(0, 0, 0)
    waiting.switch_to(0)
    fork, between = Fork(who, cow_faults=0, doubted=True), Fork(who, cow_faults=0)
    waiting.write_protect(0, 0, 20, fork)
    other.switch_to(0)
    waiting.switch_to(0)
    other.switch_to(0)
    other.write_protect(0, 0, 60, between)
    other.pin(0)
    other.pin(0)
    waiting.switch_to(0)
    waiting.write_protect(0, 20, 60, fork)
    waiting.pin(0)
    trace.hypercall(0, synth.IRET)
    trace.idle(0)
    return Story(trace, [*before, fork, between], {"emulate": 240, "page_fault": 3})


def interleaved() -> Story:
    """Two tasks fork in turn on one vCPU, switched inside their PT pages."""
    trace, who, one, two = two_tasks()
    forks = [Fork(who, cow_faults=0), Fork(who, cow_faults=0)]
    one.write_protect(0, 0, 25, forks[0])
    two.switch_to(0)
    two.write_protect(0, 0, 30, forks[1])
    one.switch_to(0)
    one.write_protect(0, 25, 60, forks[0])
    one.pin(0)
    two.switch_to(0)
    two.write_protect(0, 30, 60, forks[1])
    two.pin(0)
    trace.hypercall(0, synth.IRET)
    trace.idle(0)
    return Story(trace, forks, {"emulate": 120})


def many_pcpus(count: int = 130) -> Story:
    """A fork on each of many pCPUs whose numbers have holes; all at the same time."""
    trace = Trace(step=100)
    story = Story(trace, kinds={"emulate": count * 24})
    pcpus = [number + number // 3 for number in range(count)]
    work = []
    for number, pcpu in enumerate(pcpus):
        who = Vcpu(1 + number // 8, number % 8)
        trace.switch(pcpu, who)
        in_user_mode(trace, pcpu)
        process = Process(trace, 0x10000 + 16 * number, 3, 8, 0x7F0000000000)
        work.append((pcpu, process, Fork(who, cow_faults=0)))
    for step in range(24):
        for pcpu, process, fork in work:
            process.write_protect(pcpu, step, step + 1, fork)
    for pcpu, process, fork in work:
        process.pin(pcpu)
        trace.hypercall(pcpu, synth.IRET)
        trace.idle(pcpu)
        story.forks.append(fork)
    return story


def pae_guest(**options: object) -> Story:
    """A 32-bit guest; one COW break clears its entry in two halves."""
    trace = Trace(guest_bits=32, **options)
    who = Vcpu(7, 0)
    trace.switch(0, who)
    process = Process(trace, 0x400, 4, 12, 0x40000000)
    process.touch(0, 0, 0)
    fork = process.fork(0, who)
    process.cow(0, 1, 1)
    trace.page_fault(0, process.address(2, 3), 7, USER_RIP)
    for half in (0, 4) if trace.pae else (0,):
        trace.ptwr(0, process.entry(2, 3) + half, 0, PTEP_CLEAR_FLUSH & 0xFFFFFFFF)
    trace.hypercall(0, synth.MMUEXT_OP, a1=1)
    trace.hypercall(0, synth.MMU_UPDATE, a1=1)
    trace.hypercall(0, synth.IRET)
    trace.idle(0)
    fork.cow_faults = 2
    halves = 2 if trace.pae else 1
    return Story(trace, [fork], {"page_fault": 3, "emulate": 48 + 1 + halves})


def equal_domains() -> Story:
    """Two domains with the same kernel at the same addresses fork at the same time."""
    trace = Trace()
    ones = [Vcpu(1, 0), Vcpu(2, 0)]
    processes = [Process(trace, 0x1000, 4, 16, 0x7F0000000000) for _ in ones]
    forks = [Fork(who, cow_faults=1) for who in ones]
    for pcpu, who in enumerate(ones):
        trace.switch(pcpu, who)
        in_user_mode(trace, pcpu)
    for number in range(64):
        for pcpu, process in enumerate(processes):
            process.write_protect(pcpu, number, number + 1, forks[pcpu])
    for pcpu, process in enumerate(processes):
        process.pin(pcpu)
        trace.hypercall(pcpu, synth.IRET)
    # The domains change places before their COW breaks.
    trace.switch(0, Vcpu(IDLE, 0))
    trace.switch(1, ones[0])
    trace.switch(0, ones[1])
    processes[0].cow(1, 0, 3)
    processes[1].cow(0, 0, 3)
    trace.idle(0)
    trace.idle(1)
    return Story(trace, forks, {"emulate": 130, "page_fault": 4})


def reused_domid() -> Story:
    """A domain dies inside a fork; a new one with the same id forks at the same addresses."""
    trace = Trace()
    dom0, guest = Vcpu(0, 0), Vcpu(5, 0)
    trace.switch(0, dom0)
    trace.domain(0, 5, True)
    trace.switch(1, guest)
    process = Process(trace, 0x1000, 4, 16, 0x7F0000000000)
    died = Fork(guest, cow_faults=0, complete=None)
    process.write_protect(1, 0, 24, died)
    trace.switch(1, Vcpu(IDLE, 1), synth.OFFLINE)
    trace.domain(0, 5, False)
    trace.wait(1_000_000)
    trace.domain(0, 5, True)
    trace.switch(1, guest)
    lived = Fork(guest, cow_faults=0)
    process.write_protect(1, 24, 64, lived)
    lived.pt_pages, lived.ptes = 3, 40
    process.pin(1)
    trace.hypercall(1, synth.IRET)
    trace.idle(1)
    trace.idle(0)
    kinds = {"emulate": 64, "domain_add": 2, "domain_remove": 1}
    return Story(trace, [died, lived], kinds)


def lossy() -> Story:
    """Records lost in the middle of a fork: two pieces, neither of them whole."""
    trace = Trace()
    who = Vcpu(0, 0)
    trace.switch(0, who)
    in_user_mode(trace, 0)
    process = Process(trace, 0x1000, 4, 16, 0x7F0000000000)
    whole = process.fork(0, who)
    trace.wait(100_000)
    before = Fork(who, cow_faults=None, complete=0)
    process.write_protect(0, 0, 20, before)
    first = trace.now + 1_000
    trace.wait(50_000)
    trace.lost(0, 33, first, who)
    after = Fork(who, cow_faults=None, complete=0)
    process.write_protect(0, 40, 64, after)
    after.pt_pages = 2
    process.pin(0)
    trace.hypercall(0, synth.IRET)
    trace.idle(0)
    return Story(trace, [whole, before, after], {"emulate": 64 + 44, "loss": 1})


def writable(form: str, bits: int = 64) -> Story:
    """Writable page tables: a fork of VCPU 0 while VCPU 1 touches what it has unhooked.

    VCPU 1 rehooks every third page halfway; VCPU 0 must unhook it again.
    """
    trace = Trace(form=form, xen=(3, 0) if form != synth.VARIABLE else (4, 17), guest_bits=bits)
    who, other = Vcpu(0, 0), Vcpu(0, 1)
    trace.switch(0, who)
    trace.switch(1, other)
    in_user_mode(trace, 0)
    in_user_mode(trace, 1)
    low = 0xFFFFFFFFFFFFFFFF if bits == 64 else 0xFFFFFFFF
    rip, base, pages, slots = 0xFFFFFFFF80000CB7 & low, 0xFFFFFFFF8287C038 & low, 9, 8
    everything = low
    fork = Fork(who, mechanism="unhook", cow_faults=0)
    sequences = rehooks = flushes = spurious = 0

    def unhook(page: int, slot: int) -> None:
        nonlocal sequences, flushes
        trace.flush(0, everything, 3, 0)
        pte = base + (page << 12) + 8 * slot
        at = trace.unhook(0, pte, rip, 0x200 + page, 0x687C + page)
        fork.start = fork.start or at
        sequences += 1
        flushes += 1

    def rehook(pcpu: int, page: int, slot: int, count: int, which: int) -> None:
        nonlocal rehooks, flushes
        pte = base + (page << 12) + 8 * slot
        trace.flush(pcpu, pte, 3, 1)
        fork.last = trace.rehook(pcpu, pte, 0x200 + page, 0x687C + page, count, which)
        fork.ptes += count
        rehooks += 1
        flushes += 1

    for page in range(pages):
        unhook(page, 0)
        if page % 3 == 1:
            rehook(1, page, 0, 3, 0x100)
            va = 0x40000000 + (page << 21) + 0x7010
            trace.hook_spurious(1, va, 0xFFFFFFFF80001A84 & low, 6)
            spurious += 1
            unhook(page, 3)
            rehook(0, page, 3, slots - 3, 0)
        else:
            rehook(0, page, 0, slots, 0)
    trace.wait(50_000)
    for page in range(0, pages, 2):
        trace.page_fault(0, 0x40000000 + (page << 21) + 0x7000, 3, 0xFFFFFFFF80001390 & low)
        trace.hook_emulate(0, base + (page << 12), 0xFFFFFFFF80000F12 & low, 0x4870067, 4)
    trace.wait(5_000_000)
    trace.switch(0, Vcpu(IDLE, 0), synth.BLOCKED)
    trace.switch(1, Vcpu(IDLE, 1), synth.BLOCKED)
    fork.pt_pages, fork.unhooks, fork.rehooks, fork.sequences = pages, sequences, rehooks, sequences
    fork.cow_faults = None
    kinds = {
        "unhook": sequences,
        "rehook": rehooks,
        "flush": flushes,
        "spurious": spurious,
        "page_fault": (pages + 1) // 2 + 2,
        "emulate": (pages + 1) // 2,
    }
    return Story(trace, [fork], kinds)


def shadow_oos(levels: int = 4, exits: bool = True) -> Story:
    """Out-of-sync episodes of shadow paging, with each way out of them, in an HVM guest."""
    trace = Trace(guest_bits=64 if levels == 4 else 32)
    who = Vcpu(4, 0)
    trace.switch(0, who)
    rip = 0xFFFFFFFF812D12C5 if levels == 4 else 0xC12D12C5
    direct = 0xFFFF888000000000 if levels == 4 else 0xC0000000
    flags = synth.FLAG_UNSYNC | 1 << 2
    size = 4 if levels == 2 else 8

    def entry(frame: int) -> int:
        return frame << 12 | 0x67

    def arc(*records: Callable[[], object]) -> None:
        if exits:
            trace.vmexit(0, 0x4E, rip)
        for record in records:
            record()
        if exits:
            trace.vmentry(0)
        else:
            trace.continue_running(0, who)

    def fixup(frame: int, slot: int, bits: int) -> Callable[[], object]:
        va = direct + (frame << 12) + slot * size
        return lambda: trace.shadow(0, synth.FIXUP, levels, g=entry(frame), va=va, flags=bits)

    def simple(minor: int, **fields: int) -> Callable[[], object]:
        return lambda: trace.shadow(0, minor, levels, **fields)

    user = 0x7F0000001000 if levels == 4 else 0x40001000
    for frame in range(0x100, 0x108):
        arc(fixup(frame, 3, flags))
    arc(fixup(0x50, 1, 4))  # an ordinary fixup
    # CR3 is loaded: four come back in sync, one is only refreshed.
    arc(
        *(simple(synth.RESYNC_FULL, gfn=frame) for frame in range(0x100, 0x104)),
        simple(synth.RESYNC_ONLY, gfn=0x104),
        *([lambda: trace.cr_write(0, 3, 0x1000)] if exits else []),
    )
    # One is unshadowed while out of sync.
    arc(simple(synth.UNSHADOW_USER, gfn=0x105, va=direct + (0x105 << 12), flags=1 << 13))
    # One is evicted by the next unsync.
    arc(simple(synth.RESYNC_FULL, gfn=0x106), fixup(0x120, 9, flags))
    # Guest faults, delivered; an emulated write; another vCPU was faster.
    arc(
        simple(synth.NOT_SHADOW, g=0, va=user, flags=0),
        *([lambda: trace.pf_inject(0, user, 6)] if exits else []),
    )
    arc(simple(synth.NOT_SHADOW, g=0, va=user + 0x2000, flags=0))
    va = direct + (0x60 << 12) + 5 * size
    arc(simple(synth.EMULATE, g=entry(0x60), wval=0x1234067, va=va, flags=1 << 5))
    arc(simple(synth.FALSE_FAST_PATH, va=user + 0x3000))
    trace.idle(0)
    kinds = {
        "unhook": 9,
        "rehook": 5,
        "resync_only": 1,
        "fixup": 1,
        "unshadow": 1,
        "page_fault": 2,
        "emulate": 1,
        "spurious": 1,
    }
    return Story(trace, None, kinds, sequences={"rehook": 5, "unshadow": 1, "end": 3})


def logdirty() -> Story:
    """A PV guest in log-dirty mode: shadow records beside PV ones."""
    trace = Trace()
    who = Vcpu(6, 0)
    trace.switch(0, who)
    in_user_mode(trace, 0)
    process = Process(trace, 0x1000, 2, 8, 0x7F0000000000)
    fork = process.fork(0, who)
    for number in range(5):
        va = 0x7F0000100000 + (number << 12)
        trace.shadow(0, synth.FIXUP, 4, g=0x1067, va=va, flags=4)
        trace.paging_fixup(0, va, USER_RIP)
    trace.shadow(0, synth.NOT_SHADOW, 4, g=0, va=0x7F0000200000, flags=0)
    trace.page_fault(0, 0x7F0000200000, 6, USER_RIP)
    trace.hypercall(0, synth.IRET)
    trace.shadow(0, synth.NOT_SHADOW, 4, g=0, va=0x7F0000300000, flags=0)
    trace.hypercall(0, synth.IRET)
    trace.idle(0)
    kinds = {"fixup": 5, "page_fault": 2, "not_shadow": 1, "emulate": 16}
    return Story(trace, [fork], kinds)


def unattributed() -> Story:
    """What is before the first scheduler record belongs to whom it says was running."""
    trace = Trace()
    guest, other = Vcpu(3, 2), Vcpu(8, 0)
    early = trace.page_fault(0, 0x7F0000001000, 6, USER_RIP)
    trace.continue_running(0, guest)
    late = trace.page_fault(0, 0x7F0000002000, 6, USER_RIP)
    unknown = trace.page_fault(1, 0x7F0000003000, 6, USER_RIP)
    trace.runstate(1, other, synth.RUNNABLE, synth.RUNNING)
    after = trace.page_fault(1, 0x7F0000004000, 6, USER_RIP)
    trace.runstate(2, other, synth.BLOCKED, synth.RUNNABLE)  # a wake says nothing about pCPU 2
    nobody = trace.page_fault(2, 0x7F0000005000, 6, USER_RIP)
    owners = {early: guest, late: guest, unknown: None, after: other, nobody: None}
    return Story(trace, [], {"page_fault": 5}, owners=owners)


def releases() -> list[tuple[str, Story]]:
    """The same fork as different releases of Xen wrote it."""
    result = []
    for xen in ((3, 2), (3, 3), (3, 4), (4, 0), (4, 1), (4, 2), (4, 3), (4, 7), (4, 8), (4, 19)):
        story = pv_fork(4, 6, xen=xen)
        if xen < (4, 3):
            # A multicall of V1 does not show its calls: where the fork ends is not recorded.
            story.forks[0].complete = None
        result.append((f"Xen {xen[0]}.{xen[1]}", story))
    return result


def pages_used_again() -> Story:
    """After a fork its page-table pages serve other processes, whose breaks are none of the fork's."""
    trace = Trace()
    who = Vcpu(3, 1)
    trace.switch(0, who)
    in_user_mode(trace, 0)
    parent = Process(trace, 0x1234, 2, 4, 0x7F0000000000)
    fork = parent.fork(0, who)
    second = Process(trace, 0x1234, 2, 8, 0x400000)
    second.switch_to(0)
    for page in range(2):
        second.cow(0, page, 6)  # an entry that the fork did not protect
    third = Process(trace, 0x1234, 2, 4, 0x600000)
    third.switch_to(0)
    for page in range(2):
        third.cow(0, page, 1)  # one that it did, in a life of the page before this one
    trace.idle(0)
    return Story(trace, [fork])


def begun_before() -> Story:
    """The capture starts inside a fork; a task switch does not show that the next one is whole."""
    trace = Trace()
    who = Vcpu(1, 0)
    trace.switch(0, who)
    one = Process(trace, 0x1000, 2, 16, 0x7F0000000000)
    two = Process(trace, 0x2000, 2, 16, 0x560000000000)
    forks = [Fork(who, complete=0), Fork(who, complete=0), Fork(who)]
    one.write_protect(0, 5, 20, forks[0])
    two.switch_to(0)
    two.write_protect(0, 3, 20, forks[1])
    two.pin(0)
    two.write_protect(0, 0, 32, forks[2])
    two.pin(0)
    trace.hypercall(0, synth.IRET)
    trace.idle(0)
    return Story(trace, forks, {"emulate": 15 + 17 + 32})


def all_stories() -> list[tuple[str, Story]]:
    """Name and story of everything here."""
    return [
        ("PV fork", pv_fork()),
        ("PV fork, 512 slots", pv_fork(3, 512)),
        ("fork preempted and resumed", preempted()),
        ("fork goes on elsewhere inside a page", migrated(True)),
        ("fork goes on elsewhere between pages", migrated(False)),
        ("another task forks while a fork waits", forks_meanwhile()),
        ("another task execs while a fork waits", exec_meanwhile()),
        ("another task forks and pins twice while a fork waits", pins_meanwhile()),
        ("two forks in turn", interleaved()),
        ("130 pCPUs with holes", many_pcpus()),
        ("32-bit PAE guest", pae_guest()),
        ("32-bit PAE guest on 32-bit Xen 3.3", pae_guest(xen=(3, 3), xen_bits=32)),
        ("32-bit guest on non-PAE Xen 3.2", pae_guest(xen=(3, 2), xen_bits=32, pae=False)),
        ("two domains with equal addresses", equal_domains()),
        ("domain id reused", reused_domid()),
        ("loss inside a fork", lossy()),
        ("page-table pages used again", pages_used_again()),
        ("the capture starts inside a fork", begun_before()),
        ("writable page tables, fixed 64", writable(synth.FIXED64)),
        ("writable page tables, fixed 32", writable(synth.FIXED32, 32)),
        ("writable page tables, variable 64", writable(synth.VARIABLE)),
        ("writable page tables, variable 32", writable(synth.VARIABLE, 32)),
        ("shadow out of sync", shadow_oos()),
        ("shadow out of sync without VMEXIT", shadow_oos(4, False)),
        ("shadow out of sync, PAE", shadow_oos(3)),
        ("shadow out of sync, 2-level", shadow_oos(2)),
        ("log-dirty mode", logdirty()),
        ("owner before the first decisive record", unattributed()),
    ] + releases()
