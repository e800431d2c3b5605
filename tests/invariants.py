# SPDX-License-Identifier: GPL-2.0-or-later
"""What holds between the views of every database, whatever was recorded.

Each of INVARIANTS is a query of the rows that break it.
"""
import bisect
from collections import defaultdict

from lib import check

ADDED = "ptes faults unhooks rehooks emulations flushes spurious".split()
# rows of one vCPU that begin before an earlier one has ended
OVERLAP = ("SELECT {0} FROM (SELECT {0}, tsc_start, max(tsc_end) OVER (PARTITION BY domid, vcpu ORDER BY tsc_start,"
           " {0} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM {1}) WHERE before > tsc_start")
# columns of a fork that are the sum over its pages
INVARIANTS = {
    f"{column} of a fork are the sum over its pages":
        f"SELECT f.fork_id, f.{column}, total(q.{column}) AS pages FROM forks f"
        f" LEFT JOIN pt_sequences q USING (fork_id) GROUP BY f.fork_id HAVING f.{column} <> pages"
    for column in ADDED}
INVARIANTS.update({
    # a hook's flushes belong to a page; those that today's Xen records, only to the fork
    "flushes of a fork are the sum over its pages":
        "SELECT f.fork_id, f.flushes, (SELECT total(q.flushes) FROM pt_sequences q WHERE q.fork_id = f.fork_id)"
        " + (SELECT count(*) FROM tlb_flushes t WHERE t.fork_id = f.fork_id AND t.done) AS all_of_it"
        " FROM forks f WHERE f.flushes <> all_of_it",
    "the COW faults of a fork's pages are among the fork's":
        "SELECT f.fork_id, f.cow_faults, total(q.cow_faults) AS pages FROM forks f"
        " JOIN pt_sequences q USING (fork_id) GROUP BY f.fork_id HAVING f.cow_faults < pages",
    "pages belong to forks that are there":
        "SELECT sequence_id, fork_id FROM pt_sequences WHERE fork_id NOT IN (SELECT fork_id FROM forks)",
    "pages are in the fork's domain":
        "SELECT sequence_id FROM pt_sequences q JOIN forks f USING (fork_id)"
        " WHERE q.domid IS NOT f.domid",
    "pt_pages counts the pages":
        "SELECT f.fork_id, f.pt_pages, count(DISTINCT ifnull(q.pt_page, q.frame)) AS pages FROM forks f"
        " JOIN pt_sequences q USING (fork_id) GROUP BY f.fork_id HAVING f.pt_pages <> pages",
    "a fork begins with its first page":
        "SELECT f.fork_id, f.tsc_start, min(q.tsc_start) AS page FROM forks f"
        " JOIN pt_sequences q USING (fork_id) GROUP BY f.fork_id HAVING f.tsc_start <> page",
    "a fork ends with its last page, or a page stays out of sync":
        "SELECT f.fork_id FROM forks f JOIN pt_sequences q USING (fork_id) WHERE q.mechanism <> 'oos'"
        " GROUP BY f.fork_id HAVING f.tsc_end < max(q.tsc_end)",
    "a page has 512 slots":
        "SELECT sequence_id FROM pt_sequences WHERE mechanism = 'emulate' AND ptes NOT BETWEEN 1 AND 512",
    "the mechanism is what was done":
        "SELECT sequence_id FROM pt_sequences WHERE mechanism NOT IN ('batch') AND (mechanism = 'emulate'"
        " AND (unhooks OR NOT emulations) OR mechanism IN ('unhook', 'oos') AND NOT unhooks)",
    "a page maps whole regions":
        "SELECT sequence_id FROM pt_sequences WHERE va_base & 0x1fffff",
    "pages of one vCPU that are emulated do not overlap":
        OVERLAP.format("sequence_id", "pt_sequences WHERE mechanism = 'emulate' AND vcpu IS NOT NULL"),
    "forks of one vCPU do not overlap":
        OVERLAP.format("fork_id", "forks"),
    "reported spurious faults are the records of Xen":
        "SELECT event_id FROM events WHERE kind = 'spurious' AND event_id NOT IN"
        " (SELECT event_id FROM spurious_faults WHERE cause = 'reported') UNION ALL"
        " SELECT event_id FROM spurious_faults JOIN events e USING (event_id) WHERE (cause = 'reported')"
        " <> (e.kind = 'spurious')",
    "events are in order of time":
        "SELECT b.event_id FROM events a JOIN events b ON b.event_id = a.event_id + 1 WHERE b.tsc < a.tsc",
    "events are as many as said":
        "SELECT events FROM trace WHERE events <> (SELECT count(*) FROM events)",
    "losses are as many as said":
        "SELECT lost_records FROM trace WHERE lost_records <> (SELECT ifnull(sum(lost), 0) FROM losses)",
    "records are those counted by id":
        "SELECT records FROM trace WHERE records <> (SELECT sum(records) FROM record_count)",
    "the span is that of the events":
        "SELECT tsc_first FROM trace WHERE tsc_first > (SELECT min(tsc) FROM events)"
        " OR tsc_last < (SELECT max(tsc) FROM events)",
})
for view, own in (("forks", "fork_id"), ("pt_sequences", "sequence_id")):
    INVARIANTS.update({
        f"{view}: the last event is at the end":
            f"SELECT v.{own} FROM {view} v JOIN events e ON e.event_id = v.last_event"
            " WHERE e.tsc <> v.tsc_end AND v.mechanism <> 'oos'",
        f"{view}: the first event is not before the start":
            f"SELECT v.{own} FROM {view} v JOIN events e ON e.event_id = v.first_event WHERE e.tsc < v.tsc_start"
            " AND v.mechanism NOT IN ('unhook', 'mixed')",
        f"{view}: none ends before it begins":
            f"SELECT {own} FROM {view} WHERE tsc_end < tsc_start OR last_event < first_event"
            " AND tsc_end > tsc_start",
        f"{view}: microseconds are cycles by the frequency":
            f"SELECT {own} FROM {view} JOIN trace WHERE us IS NOT NULL"
            " AND abs(us - (tsc_end - tsc_start) * 1e6 / cpu_hz) > 0.001",
    })


def hold(db, but=()):
    """Fails the case if one does not hold in this database; but: parts of the names of some to leave out."""
    for name, sql in INVARIANTS.items():
        if not any(part in name for part in but):
            rows = db.execute(sql + " LIMIT 3").fetchall()
            check(not rows, f"{name}: not {rows}")
    slots_are_those_written(db)


def slots_are_those_written(db):
    """An emulated page's slots are those written, each once; its emulated writes are those recorded."""
    events = defaultdict(list)
    for domid, vcpu, page, event_id, slot in db.execute(
            "SELECT domid, vcpu, ifnull(pt_page, frame), event_id, slot FROM events WHERE kind = 'emulate'"
            " ORDER BY event_id"):
        events[domid, vcpu, page].append((event_id, slot))
    for number, domid, vcpu, page, first, last, ptes, emulations in db.execute(
            "SELECT sequence_id, domid, vcpu, ifnull(pt_page, frame), first_event, last_event, ptes, emulations"
            " FROM pt_sequences WHERE mechanism = 'emulate'"):
        all_of_it = events[domid, vcpu, page]
        own = all_of_it[bisect.bisect(all_of_it, (first,)):bisect.bisect(all_of_it, (last + 1,))]
        check((len({slot for _, slot in own}), len(own)) == (ptes, emulations),
              f"sequence {number}: {ptes} PTEs and {emulations} writes, not those of {own}")
