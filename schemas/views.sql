-- SPDX-License-Identifier: GPL-2.0-or-later
-- The views that users and scripts rely on.  Columns may be added at the end, never changed.
-- us: microseconds, NULL while cpu_hz is unknown.

CREATE VIEW trace AS
SELECT source, format, records, events, lost_records, unknown_records, tsc_first, tsc_last, cpu_hz,
	complete, tool_version, tsc_base
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
	f.rip, f.tsc_pin, f.copied, f.preempted, f.ended_by, f.doubt, f.first_event, f.last_event,
	g.pid, g.comm, g.child_pid, n.named_by, d.name AS domain
FROM fork f LEFT JOIN domain_name d ON d.domid = f.domid
	LEFT JOIN fork_name n ON n.fork_id = f.fork_id
	LEFT JOIN guest_fork g ON g.guest_fork_id = n.guest_fork_id;

CREATE VIEW pt_sequences AS
SELECT q.sequence_id, q.fork_id, q.domid, q.vcpu, q.pt_page, q.frame, q.va_base, q.mechanism,
	q.tsc_start, q.tsc_end,
	(q.tsc_end - q.tsc_start) * 1e6 / (SELECT cpu_hz FROM capture) AS us,
	q.faults, q.ptes, q.unhooks, q.rehooks, q.emulations, q.flushes, q.spurious, q.ended_by,
	q.complete, q.tsc_slack, q.cow_faults, q.first_event, q.last_event
FROM sequence q;

-- Walks through page tables that are no forks.
CREATE VIEW walks AS
SELECT w.domid, w.vcpu, w.rip,
	(SELECT s.name FROM symbol s WHERE s.rip = w.rip AND s.domid IN (w.domid, -1)
		ORDER BY s.domid DESC LIMIT 1) AS symbol,
	w.kind, w.tsc_start, w.tsc_end, w.pt_pages, w.ptes,
	(w.tsc_end - w.tsc_start) * 1e6 / (SELECT cpu_hz FROM capture) AS us,
	w.complete, w.walk_id, w.first_event, w.last_event
FROM walk w;

-- CROSS: they are looked up in the events, however a query asks, and not the other way round.
CREATE VIEW spurious_faults AS
SELECT s.event_id, e.tsc, e.us, e.domid, e.vcpu, e.va, e.rip, e.symbol, e.error_code, s.cause,
	s.other_vcpu, s.confidence, s.other_event, s.gap
FROM spurious_fault s CROSS JOIN events e ON e.event_id = s.event_id;

-- One row per fork, cause and reach.  flushes_per_pte: of the fork's changed entries.  Where Xen's own
-- flushes are recorded (exact), what a mmuext_op may have flushed is not guessed.
CREATE VIEW flushes AS
SELECT f.fork_id, f.mechanism, f.cause, f.reach, f.flushes, f.cpus, k.ptes,
	f.flushes * 1.0 / nullif(k.ptes, 0) AS flushes_per_pte,
	CASE WHEN f.cause IN ('unhook', 'rehook') THEN 'exact' ELSE 'concluded' END AS basis,
	NULL AS avoided, NULL AS ipis, NULL AS cycles, NULL AS us, k.domid
FROM flush f LEFT JOIN fork k ON k.fork_id = f.fork_id
WHERE f.cause <> 'hypercall' OR NOT EXISTS (SELECT 1 FROM tlb_flush)
UNION ALL
SELECT g.fork_id, k.mechanism, g.cause, g.reach, g.flushes, g.cpus, k.ptes,
	g.flushes * 1.0 / nullif(k.ptes, 0), 'exact', g.avoided, g.ipis, g.cycles,
	g.cycles * 1e6 / (SELECT cpu_hz FROM capture), g.domid
FROM (SELECT fork_id, domid, cause, reach, sum(done) AS flushes, sum(cpus) AS cpus,
		sum(1 - done) AS avoided, sum(ipis) AS ipis, sum(cycles) AS cycles
	FROM tlb_flush GROUP BY fork_id, domid, cause, reach) g
	LEFT JOIN fork k ON k.fork_id = g.fork_id;

-- Each flush that Xen recorded, and each that its filter avoided (done = 0).
CREATE VIEW tlb_flushes AS
SELECT f.event_id, e.tsc, (e.tsc - (SELECT tsc_first FROM capture)) * 1e6 / (SELECT cpu_hz FROM capture)
		AS us,
	p.pcpu, f.domid, f.vcpu, f.fork_id, f.cause, f.detail, f.reach, f.done, e.va, f.frame, f.cpus,
	f.remote, f.spared, f.ipis, f.cycles,
	f.cycles * 1e6 / (SELECT cpu_hz FROM capture) AS us_taken,
	CASE WHEN f.done = 1 THEN e.arg2 END AS cpu_mask, e.rip,
	(SELECT s.name FROM symbol s WHERE s.rip = e.rip AND s.domid IN (f.domid, -1)
		ORDER BY s.domid DESC LIMIT 1) AS symbol
FROM tlb_flush f CROSS JOIN event e ON e.event_id = f.event_id JOIN event_place p ON p.place = e.place;

-- Each time a CPU was interrupted by another one's flush: who ran there, and who asked for it.
CREATE VIEW flush_ipis AS
SELECT i.event_id, e.tsc, (e.tsc - (SELECT tsc_first FROM capture)) * 1e6 / (SELECT cpu_hz FROM capture)
		AS us,
	p.pcpu, p.domid, p.vcpu, i.flush, i.cycles, f.domid AS by_domid, f.vcpu AS by_vcpu, f.fork_id,
	f.cause
FROM tlb_interrupt i CROSS JOIN event e ON e.event_id = i.event_id JOIN event_place p ON p.place = e.place
	LEFT JOIN tlb_flush f ON f.event_id = i.flush;

CREATE VIEW losses AS
SELECT pcpu, tsc_first, tsc_last, lost, domid, vcpu FROM loss;

-- Times are the events', that is corrected where corrected = 1.  Bounds: of clock_offset, cycles.
CREATE VIEW pcpus AS
SELECT p.pcpu,
	p.tsc_first - CASE WHEN p.corrected THEN p.clock_offset
		+ CAST(p.clock_drift * (p.tsc_first - p.clock_origin) AS INTEGER) ELSE 0 END AS tsc_first,
	p.tsc_last - CASE WHEN p.corrected THEN p.clock_offset
		+ CAST(p.clock_drift * (p.tsc_last - p.clock_origin) AS INTEGER) ELSE 0 END AS tsc_last,
	p.records, p.lost, ifnull(g.gaps, 0) AS gaps,
	p.clock_offset, p.clock_drift * 1e6 AS clock_drift_ppm, p.clock_low, p.clock_high, p.corrected
FROM pcpu p LEFT JOIN (SELECT pcpu, count(*) AS gaps FROM gap GROUP BY pcpu) g ON g.pcpu = p.pcpu;

CREATE VIEW gaps AS
SELECT pcpu, tsc_first, tsc_last,
	(tsc_last - tsc_first) * 1e6 / (SELECT cpu_hz FROM capture) AS us, why
FROM gap;

-- A domain in log-dirty mode: PV on shadows, or HAP.  pages, dirtied: distinct.
CREATE VIEW episodes AS
SELECT e.episode_id, e.domid, e.tsc_start, e.tsc_end,
	(e.tsc_end - e.tsc_start) * 1e6 / (SELECT cpu_hz FROM capture) AS us,
	e.fixups, e.pages, e.dirtied, e.round_pages, e.rounds, e.faults,
	e.fixups * 1.0 * (SELECT cpu_hz FROM capture) / nullif(e.tsc_end - e.tsc_start, 0)
		AS fixups_per_second,
	e.fixups * 1.0 / nullif(e.dirtied, 0) AS fixups_per_dirtied,
	e.complete, e.ended_by, e.first_event, e.last_event, e.mechanism, e.sure, e.unread
FROM episode e;

CREATE VIEW rounds AS
SELECT r.episode_id, r.round, e.domid, r.tsc_start, r.tsc_end,
	(r.tsc_end - r.tsc_start) * 1e6 / (SELECT cpu_hz FROM capture) AS us,
	r.fixups, r.pages, r.dirtied,
	r.fixups * 1.0 * (SELECT cpu_hz FROM capture) / nullif(r.tsc_end - r.tsc_start, 0)
		AS fixups_per_second,
	r.fixups * 1.0 / nullif(r.dirtied, 0) AS fixups_per_dirtied,
	r.ended_by, e.mechanism, r.sure
FROM episode_round r JOIN episode e ON e.episode_id = r.episode_id;

-- Pages that a reading of the dirty bitmap found: gfn is a machine frame where the mechanism is shadow.
-- rip, symbol, user: the first write of the first round.
CREATE VIEW dirty AS
SELECT g.episode_id, g.domid, g.gfn, g.rounds, g.first_round, g.last_round, p.rip,
	(SELECT s.name FROM symbol s WHERE s.rip = p.rip AND s.domid IN (g.domid, -1)
		ORDER BY s.domid DESC LIMIT 1) AS symbol,
	CASE WHEN p.rip IS NOT NULL THEN p.rip >= 0 AND p.rip < 0x800000000000 END AS user, g.split
FROM (SELECT q.episode_id, e.domid, q.frame AS gfn, count(DISTINCT q.round) AS rounds,
		min(q.round) AS first_round, max(q.round) AS last_round, min(q.page_id) AS page_id, max(q.split) AS split
	FROM episode_page q JOIN episode e ON e.episode_id = q.episode_id
	WHERE q.round > 0 GROUP BY q.episode_id, e.domid, q.frame) g
	JOIN episode_page p ON p.page_id = g.page_id;

-- Each page of each round; round 0 = after the bitmap was read last.
CREATE VIEW dirty_rounds AS
SELECT p.episode_id, p.round, e.domid, p.frame AS gfn, p.rip, p.event_id, p.split
FROM episode_page p JOIN episode e ON e.episode_id = p.episode_id;

-- What log-dirty mode took from each vCPU (HAP).
CREATE VIEW episode_vcpus AS
SELECT v.episode_id, e.domid, v.vcpu, v.fixups, v.cycles, v.recalcs, v.recalc_cycles, v.paused,
	v.cycles * 1e6 / (SELECT cpu_hz FROM capture) AS us,
	v.recalc_cycles * 1e6 / (SELECT cpu_hz FROM capture) AS us_recalc,
	v.paused * 1e6 / (SELECT cpu_hz FROM capture) AS us_paused
FROM episode_vcpu v JOIN episode e ON e.episode_id = v.episode_id;

-- Nested page faults: what each was, where (guest-physical), and how long from exit to entry.
CREATE VIEW npfs AS
SELECT e.event_id, e.tsc, (e.tsc - (SELECT tsc_first FROM capture)) * 1e6 / (SELECT cpu_hz FROM capture)
		AS us,
	p.domid, p.vcpu, e.frame AS gfn, e.arg2 AS gpa, e.pte AS mfn, e.arg1 & 255 AS type,
	e.error_code AS qualification,
	CASE e.arg1 >> 8 WHEN 1 THEN 'dirty' WHEN 2 THEN 'mmio' WHEN 3 THEN 'populate'
		WHEN 4 THEN 'access' WHEN 5 THEN 'misconfig' ELSE 'other' END AS what,
	e.rip,
	(SELECT s.name FROM symbol s WHERE s.rip = e.rip AND s.domid IN (p.domid, -1)
		ORDER BY s.domid DESC LIMIT 1) AS symbol,
	e.count AS cycles
FROM event e JOIN event_type t ON t.type = e.type JOIN event_place p ON p.place = e.place
WHERE t.name = 'npf';

-- Devices that guests reach through memory: how often, from where.
CREATE VIEW mmio AS
SELECT g.domid, g.gfn, g.gpa, g.rip,
	(SELECT s.name FROM symbol s WHERE s.rip = g.rip AND s.domid IN (g.domid, -1)
		ORDER BY s.domid DESC LIMIT 1) AS symbol,
	g.npfs, g.reads, g.writes, g.cycles
FROM (SELECT p.domid, e.frame AS gfn, e.arg2 AS gpa, e.rip, sum(t.name = 'npf') AS npfs,
		sum(t.raw_id IN (0x82017, 0x82117)) AS reads,
		sum(t.raw_id IN (0x82217, 0x82317)) AS writes,
		sum(CASE WHEN t.name = 'npf' THEN e.count END) AS cycles
	FROM event e JOIN event_type t ON t.type = e.type JOIN event_place p ON p.place = e.place
	WHERE (t.name = 'npf' AND e.arg1 >> 8 = 2)
		OR t.raw_id IN (0x82017, 0x82117, 0x82217, 0x82317)
	GROUP BY p.domid, e.frame, e.arg2, e.rip) g;

-- Forks of the domain by shape (PTEs per page rounded): inside the episode, and outside of any.
CREATE VIEW episode_forks AS
SELECT g.episode_id, g.domid, g.pt_pages, g.ptes_per_page, g.inside, g.outside,
	g.cycles_inside, g.cycles_outside,
	g.cycles_inside * 1e6 / (SELECT cpu_hz FROM capture) AS us_inside,
	g.cycles_outside * 1e6 / (SELECT cpu_hz FROM capture) AS us_outside,
	(g.cycles_inside - g.cycles_outside) * 1e6 / (SELECT cpu_hz FROM capture) AS us_added
FROM (SELECT s.episode_id, s.domid, s.pt_pages, s.ptes_per_page,
		sum(s.inside) AS inside, sum(1 - s.inside) AS outside,
		avg(CASE WHEN s.inside = 1 THEN s.cycles END) AS cycles_inside,
		avg(CASE WHEN s.inside = 0 THEN s.cycles END) AS cycles_outside
	FROM (SELECT e.episode_id, e.domid, f.pt_pages,
			CAST(round(f.ptes * 1.0 / f.pt_pages) AS INTEGER) AS ptes_per_page,
			f.tsc_end - f.tsc_start AS cycles,
			CASE WHEN f.tsc_start <= e.tsc_end AND f.tsc_end >= e.tsc_start
				THEN 1 ELSE 0 END AS inside
		FROM episode e JOIN fork f ON f.domid = e.domid
		WHERE f.complete = 1 AND f.pt_pages > 0 AND (
			(f.tsc_start <= e.tsc_end AND f.tsc_end >= e.tsc_start) OR NOT EXISTS (
				SELECT 1 FROM episode o WHERE o.domid = f.domid
					AND f.tsc_start <= o.tsc_end AND f.tsc_end >= o.tsc_start))) s
	GROUP BY s.episode_id, s.domid, s.pt_pages, s.ptes_per_page) g;

-- Who forked, by what guests' logs say; pid and comm NULL: forks without a name.
CREATE VIEW processes AS
SELECT p.domid, p.pid, p.comm, sum(p.forks) AS forks,
	sum(p.cycles) * 1e6 / (SELECT cpu_hz FROM capture) AS us,
	sum(p.ptes) AS ptes, sum(p.cow_faults) AS cow_faults, min(p.tsc_first) AS first_tsc,
	max(p.tsc_last) AS last_tsc, sum(p.silent) AS silent, sum(p.threads) AS threads,
	sum(p.cycles) AS cycles,
	(SELECT d.name FROM domain_name d WHERE d.domid = p.domid) AS domain
FROM (SELECT f.domid, g.pid, g.comm, 1 AS forks, f.tsc_end - f.tsc_start AS cycles, f.ptes, f.cow_faults,
		f.tsc_start AS tsc_first, f.tsc_end AS tsc_last, 0 AS silent, 0 AS threads
	FROM fork f LEFT JOIN fork_name n ON n.fork_id = f.fork_id
		LEFT JOIN guest_fork g ON g.guest_fork_id = n.guest_fork_id
	UNION ALL
	SELECT l.domid, g.pid, g.comm, 0, 0, 0, 0, g.tsc, g.tsc, d.what = 'fork' AND d.found = 'no',
		d.what IN ('thread', 'vfork', 'shared')
	FROM guest_fork_found d JOIN guest_fork g ON g.guest_fork_id = d.guest_fork_id
		JOIN guest_log l ON l.log_id = g.log_id
	WHERE d.fork_id IS NULL AND (d.what <> 'fork' OR d.found = 'no')) p
GROUP BY p.domid, p.pid, p.comm;

-- Domains that have events, or a name.
CREATE VIEW domains AS
SELECT a.domid, d.name, ifnull(p.vcpus, 0) AS vcpus, ifnull(p.events, 0) AS events,
	ifnull(f.forks, 0) AS forks
FROM (SELECT domid FROM event_place WHERE domid IS NOT NULL UNION SELECT domid FROM domain_name) a
LEFT JOIN domain_name d ON d.domid = a.domid
LEFT JOIN (SELECT domid, count(DISTINCT vcpu) AS vcpus, sum(events) AS events FROM event_place
	GROUP BY domid) p ON p.domid = a.domid
LEFT JOIN (SELECT domid, count(*) AS forks FROM fork GROUP BY domid) f ON f.domid = a.domid;

-- Logs of guests' own kernels, and how they fit.
CREATE VIEW guest_logs AS
SELECT log_id, domid, source, clock, events, bad_lines, disordered, lost, overwritten, tsc_first, tsc_last,
	rate, faults, matched, residual, slack, switches, pins, flags
FROM guest_log;

-- Each fork of a guest's log, threads too, and where the capture has it.
CREATE VIEW guest_forks AS
SELECT g.guest_fork_id, l.domid, g.tsc,
	(g.tsc - (SELECT tsc_first FROM capture)) * 1e6 / (SELECT cpu_hz FROM capture) AS us,
	g.vcpu, g.pid, g.comm, g.child_pid, d.what, d.found, d.fork_id
FROM guest_fork g JOIN guest_log l ON l.log_id = g.log_id
	LEFT JOIN guest_fork_found d ON d.guest_fork_id = g.guest_fork_id;

CREATE VIEW guest_tasks AS
SELECT t.guest_task_id, l.domid, t.tsc,
	(t.tsc - (SELECT tsc_first FROM capture)) * 1e6 / (SELECT cpu_hz FROM capture) AS us,
	t.vcpu, t.pid, t.comm, t.what, t.file
FROM guest_task t JOIN guest_log l ON l.log_id = t.log_id;

CREATE VIEW guest_runs AS
SELECT l.domid, r.vcpu, r.tsc_start, r.tsc_end,
	(r.tsc_end - r.tsc_start) * 1e6 / (SELECT cpu_hz FROM capture) AS us, r.pid, r.comm
FROM guest_run r JOIN guest_log l ON l.log_id = r.log_id;
