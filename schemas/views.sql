-- SPDX-License-Identifier: GPL-2.0-or-later
-- The views that users and scripts rely on.  Columns may be added at the end, never changed.
-- us: microseconds, NULL while cpu_hz is unknown.

CREATE VIEW trace AS
SELECT source, format, records, events, lost_records, unknown_records, tsc_first, tsc_last, cpu_hz,
	complete, tool_version
FROM capture;

CREATE VIEW events AS
SELECT e.event_id, e.tsc,
	(e.tsc - (SELECT tsc_first FROM capture)) * 1e6 / (SELECT cpu_hz FROM capture) AS us,
	p.pcpu, p.domid, p.vcpu, t.name AS kind, e.va,
	CASE WHEN t.pte_shift THEN e.va & ~4095 END AS pt_page,
	CASE WHEN t.pte_shift THEN (e.va & 4095) >> t.pte_shift END AS slot,
	e.rip,
	(SELECT s.name FROM symbol s WHERE s.rip = e.rip AND s.domid IN (p.domid, -1)
		ORDER BY s.domid DESC LIMIT 1) AS symbol,
	e.error_code, e.pte, e.frame, e.count, t.raw_id,
	(SELECT l.tsc_late FROM event_late l WHERE l.event_id = e.event_id) AS tsc_late,
	e.arg1, e.arg2
FROM event e JOIN event_type t ON t.type = e.type JOIN event_place p ON p.place = e.place;

CREATE VIEW forks AS
SELECT f.fork_id, f.domid, f.vcpu, f.tsc_start, f.tsc_end,
	(f.tsc_end - f.tsc_start) * 1e6 / (SELECT cpu_hz FROM capture) AS us,
	f.mechanism, f.pt_pages, f.ptes, f.faults, f.unhooks, f.rehooks, f.emulations, f.flushes,
	f.spurious, f.cow_faults, f.complete,
	(SELECT s.name FROM symbol s WHERE s.rip = f.rip AND s.domid IN (f.domid, -1)
		ORDER BY s.domid DESC LIMIT 1) AS symbol,
	f.rip, f.tsc_pin, f.ended_by, f.doubt, f.first_event, f.last_event
FROM fork f;

CREATE VIEW pt_sequences AS
SELECT q.sequence_id, q.fork_id, q.domid, q.vcpu, q.pt_page, q.frame, q.va_base, q.mechanism,
	q.tsc_start, q.tsc_end,
	(q.tsc_end - q.tsc_start) * 1e6 / (SELECT cpu_hz FROM capture) AS us,
	q.faults, q.ptes, q.unhooks, q.rehooks, q.emulations, q.flushes, q.spurious, q.ended_by,
	q.complete, q.tsc_slack, q.cow_faults, q.first_event, q.last_event
FROM sequence q;

CREATE VIEW spurious_faults AS
SELECT s.event_id, e.tsc, e.us, e.domid, e.vcpu, e.va, e.rip, e.symbol, e.error_code, s.cause,
	s.other_vcpu, s.confidence, s.other_event, s.gap
FROM spurious_fault s JOIN events e ON e.event_id = s.event_id;

-- One row per fork, cause and reach.  flushes_per_pte: of the fork's changed entries.
CREATE VIEW flushes AS
SELECT f.fork_id, f.mechanism, f.cause, f.reach, f.flushes, f.cpus, k.ptes,
	f.flushes * 1.0 / nullif(k.ptes, 0) AS flushes_per_pte
FROM flush f LEFT JOIN fork k ON k.fork_id = f.fork_id;

CREATE VIEW losses AS
SELECT pcpu, tsc_first, tsc_last, lost, domid, vcpu FROM loss;
