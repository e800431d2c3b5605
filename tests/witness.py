# SPDX-License-Identifier: GPL-2.0-or-later
"""A database against what the guest kernel itself logged.

In: a database, the text of the kernel's ftrace log (clock x86-tsc: Xen's own).  Out: numbers that
agree, or an AssertionError that says where they do not.
"""
import bisect
import re
from collections import Counter

LINE = re.compile(r"\s*(.+)-(\d+)\s+\[(\d+)\]\s+\S+\s+(\d+): (\S+?): (.*)")


def ftrace(path):
    """[(cpu, tsc, event, text, pid of the task)] of a log."""
    with open(path, encoding="ascii", errors="replace") as file:
        found = [LINE.match(text) for text in file]
    return [(int(m[3]), int(m[4]), m[5], m[6], int(m[2])) for m in found if m]


def kallsyms(path):
    """Sorted addresses of functions, and their names."""
    names = {}
    with open(path, encoding="ascii") as file:
        for line in file:
            address, kind, name = line.split()[:3]
            if kind in "tTwW":
                names.setdefault(int(address, 16), set()).add(name)
    return sorted(names), names


def threads(log):
    """Process ids that share their parent's memory, where the log has task_newtask."""
    found = (re.search(r"pid=(\d+) .*clone_flags=([0-9a-f]+)", text)
             for _, _, event, text, _ in log if event == "task_newtask")
    return {int(m[1]) for m in found if m and int(m[2], 16) & 0x100}


def logged_forks(log):
    """
    [(time of sched_process_fork, function: time -> vCPU of the forking task then)], in order of time.
    The kernel may move the task between the copy of its page tables and that event.  Where the log
    has no migrations, it was where it pinned the copy, if the log says so.
    """
    shared, pinned, moves, found = threads(log), {}, {}, []
    for cpu, tsc, event, text, task in log:
        if event == "xen_mmu_pgd_pin":
            pinned[task] = cpu
        elif event == "sched_migrate_task":
            pid, origin = re.search(r"pid=(\d+) .*orig_cpu=(\d+)", text).groups()
            moves.setdefault(int(pid), []).append((tsc, int(origin)))
        elif event == "sched_process_fork":
            if int(re.search(r"child_pid=(\d+)", text)[1]) not in shared:
                found.append((tsc, task, cpu, pinned.pop(task, cpu)))

    def place(tsc, task, cpu, pin):
        if not moves:
            return lambda time: pin
        return lambda time: next((origin for t, origin in moves.get(task, ()) if time < t < tsc), cpu)

    return [(fork[0], place(*fork)) for fork in sorted(found)]


def match_forks(db, log):
    """
    Each fork of domain 0 while the log runs has a sched_process_fork of its own: of a task that was on
    the fork's vCPU when it began, and after its end; what says that the records do not decide it may
    have none.  Returns how many forks, how many the kernel logged but for known threads, and how many
    are in doubt.
    """
    logged = logged_forks(log)
    found = db.execute(
        "SELECT tsc_start, tsc_end, vcpu, fork_id, doubt FROM forks WHERE domid = 0"
        " AND tsc_end BETWEEN ? AND ? ORDER BY doubt IS NOT NULL, tsc_end", (min(e[1] for e in log), max(e[1] for e in log))).fetchall()
    taken = {}  # index in logged -> index in found

    def match(i, seen):
        """Finds one for fork i; others may have to take another one."""
        start, end, vcpu = found[i][:3]
        for k, (time, place) in enumerate(logged):
            if k not in seen and time > end and place(start) == vcpu:
                seen.add(k)
                if k not in taken or match(taken[k], seen):
                    taken[k] = i
                    return True
        return False

    for i, (_, _, vcpu, fork_id, doubt) in enumerate(found):
        assert match(i, set()) or doubt, f"fork {fork_id} on vCPU {vcpu} has no sched_process_fork of its own"
    return len(found), len(logged), sum(fork[4] is not None for fork in found)


def fork_names(db, log):
    """
    {fork_id: [pid, comm, child_pid]}: a fork of domain 0 ends with the log's next pin on its vCPU, and the
    task that pins has its next sched_process_fork behind that.
    """
    pins = [(tsc, cpu, task) for cpu, tsc, event, _, task in log if event == "xen_mmu_pgd_pin"]
    forks = [(tsc, task, text) for _, tsc, event, text, task in log if event == "sched_process_fork"]
    found = {}
    for fork, start, end, vcpu in db.execute(
            "SELECT fork_id, tsc_start, tsc_end, (SELECT vcpu FROM pt_sequences s WHERE"
            " s.fork_id = f.fork_id ORDER BY tsc_end DESC LIMIT 1) FROM forks f WHERE domid = 0").fetchall():
        task = next((task for tsc, cpu, task in pins if tsc > end and cpu == vcpu), None)
        text = next((text for tsc, who, text in forks if tsc > end and who == task), None)
        if start > log[0][1] and text:
            comm, pid, child = re.match(r"comm=(.*) pid=(\d+) child_comm=.* child_pid=(\d+)", text).groups()
            found[fork] = [int(pid), comm, int(child)]
    return found


def dirty_forks(db, pages=16):
    """PTEs in each of so many page-table pages, for each fork that has as many alike."""
    found = []
    for (fork,) in db.execute("SELECT fork_id FROM forks WHERE pt_pages >= ? ORDER BY tsc_start",
                              (pages,)).fetchall():
        counts = dict(db.execute("SELECT pt_page, sum(ptes) FROM pt_sequences WHERE fork_id = ?"
                                 " GROUP BY 1", (fork,)))
        found += [ptes for ptes, n in Counter(counts.values()).items() if n >= pages]
    return found


def match_faults(db, log, symbols):
    """Every page fault of the log has its event, in the same order per vCPU; returns how many."""
    addresses, names = symbols

    def function(rip):
        at = bisect.bisect_right(addresses, rip) - 1
        return names[addresses[at]] if at >= 0 else set()

    logged = {}
    for cpu, tsc, event, text, _ in log:
        if event.startswith("page_fault_"):
            found = re.match(r"address=(\S+) ip=(\S+) error_code=(\S+)", text)
            logged.setdefault(cpu, []).append((tsc, found[1], found[2], int(found[3], 16)))
    total = 0
    for cpu, faults in logged.items():
        events = db.execute(
            "SELECT tsc, va, rip, error_code FROM events WHERE kind = 'page_fault' AND domid = 0"
            " AND vcpu = ? ORDER BY event_id", (cpu,)).fetchall()

        def same(event, fault):
            (e_tsc, e_va, e_rip, e_code), (tsc, va, ip, code) = event, fault
            e_va, e_rip = e_va & (1 << 64) - 1, e_rip & (1 << 64) - 1
            return e_tsc <= tsc and e_code == code and (
                not va.startswith("0x") or e_va == int(va, 16)) and (
                    int(ip, 16) == e_rip if ip.startswith("0x") else ip in function(e_rip))

        # the log begins in the middle: its first fault is the last one like it before that time
        first = [n for n, event in enumerate(events) if same(event, faults[0])]
        if not first:  # it may belong to a fault just before the capture
            faults = faults[1:]
            first = [n for n, event in enumerate(events) if same(event, faults[0])]
        assert first, f"vCPU {cpu}: no event for the log's first faults"
        at = first[-1]
        for fault in faults:
            assert at < len(events), f"vCPU {cpu}: no event for the fault {fault}"
            assert same(events[at], fault), \
                f"event at {events[at][0]} on vCPU {cpu} is not in the log before {fault}"
            at += 1
            total += 1
    return total


def nothing_joined(db):
    """No fork and no sequence goes over a loss of the pCPU that its vCPU runs on."""
    for view in ("forks", "pt_sequences"):
        across = db.execute(
            f"SELECT count(*) FROM {view} s JOIN losses l ON s.tsc_start < l.tsc_first"
            f" AND s.tsc_end > l.tsc_last WHERE EXISTS (SELECT 1 FROM events e WHERE e.event_id BETWEEN"
            f" s.first_event AND s.last_event AND e.kind = 'loss' AND e.pcpu = l.pcpu"
            f" AND e.tsc = l.tsc_last AND EXISTS (SELECT 1 FROM events v WHERE v.event_id BETWEEN"
            f" s.first_event AND s.last_event AND v.vcpu = s.vcpu AND v.pcpu = l.pcpu"
            f" AND v.kind = 'emulate'))").fetchone()[0]
        assert not across, f"{across} {view} across a loss of their pCPU"


TABLES = ("event", "event_place", "event_type", "event_late", "loss", "record_count", "fork",
          "sequence", "spurious_fault", "finding")


def same_rows(one, other):
    """Two databases hold the same events, and what was found in them."""
    for table in TABLES:
        rows = [db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for db in (one, other)]
        assert len(rows[0]) == len(rows[1]), f"{table}: {len(rows[0])} and {len(rows[1])} rows"
        for a, b in zip(*rows):
            assert a == b, f"{table}: {a} and {b}"
