-- SPDX-License-Identifier: GPL-2.0-or-later
-- A fleet: the captures of many hosts, one of each.  The tables of facts.sql and derived.sql with host_id
-- in front, and their views with host in front.  What the columns mean stands there.
-- Rows of a host lie together (WITHOUT ROWID, host_id first), so that replacing them touches no others.

CREATE TABLE host (
	host_id INTEGER PRIMARY KEY,
	host    TEXT NOT NULL UNIQUE
);

CREATE TABLE capture (
	host_id INTEGER PRIMARY KEY REFERENCES host,
	source TEXT NOT NULL, format TEXT NOT NULL, records INTEGER NOT NULL, events INTEGER NOT NULL,
	lost_records INTEGER NOT NULL, unknown_records INTEGER NOT NULL, tsc_first INTEGER, tsc_last INTEGER,
	cpu_hz INTEGER, complete INTEGER NOT NULL, tool_version TEXT NOT NULL,
	tsc_base INTEGER NOT NULL
);

CREATE TABLE event_kind (
	host_id INTEGER NOT NULL REFERENCES host, kind INTEGER NOT NULL, name TEXT NOT NULL,
	what TEXT NOT NULL,
	PRIMARY KEY (host_id, kind)
) WITHOUT ROWID;

CREATE TABLE event_place (
	host_id INTEGER NOT NULL REFERENCES host, place INTEGER NOT NULL, pcpu INTEGER NOT NULL,
	domid INTEGER, vcpu INTEGER, events INTEGER NOT NULL,
	PRIMARY KEY (host_id, place)
) WITHOUT ROWID;

CREATE TABLE event_type (
	host_id INTEGER NOT NULL REFERENCES host, type INTEGER NOT NULL, kind INTEGER NOT NULL,
	name TEXT NOT NULL, raw_id INTEGER NOT NULL, pte_shift INTEGER, events INTEGER NOT NULL,
	PRIMARY KEY (host_id, type)
) WITHOUT ROWID;

CREATE TABLE event (
	host_id INTEGER NOT NULL REFERENCES host, event_id INTEGER NOT NULL, tsc INTEGER,
	place INTEGER NOT NULL, type INTEGER NOT NULL, va INTEGER, rip INTEGER, error_code INTEGER,
	pte INTEGER, frame INTEGER, count INTEGER, arg1 INTEGER, arg2 INTEGER,
	PRIMARY KEY (host_id, event_id)
) WITHOUT ROWID;

CREATE TABLE event_late (
	host_id INTEGER NOT NULL REFERENCES host, event_id INTEGER NOT NULL, tsc_late INTEGER NOT NULL,
	PRIMARY KEY (host_id, event_id)
) WITHOUT ROWID;

CREATE TABLE loss (
	host_id INTEGER NOT NULL REFERENCES host, loss_id INTEGER NOT NULL, pcpu INTEGER NOT NULL,
	tsc_first INTEGER, tsc_last INTEGER, lost INTEGER NOT NULL, domid INTEGER, vcpu INTEGER,
	PRIMARY KEY (host_id, loss_id)
) WITHOUT ROWID;

CREATE TABLE pcpu (
	host_id INTEGER NOT NULL REFERENCES host, pcpu INTEGER NOT NULL, tsc_first INTEGER, tsc_last INTEGER,
	records INTEGER NOT NULL, lost INTEGER NOT NULL, clock_offset INTEGER NOT NULL,
	clock_drift REAL NOT NULL, clock_origin INTEGER NOT NULL, clock_low INTEGER, clock_high INTEGER,
	clock_tight INTEGER NOT NULL, clock_wrong INTEGER NOT NULL, corrected INTEGER NOT NULL,
	PRIMARY KEY (host_id, pcpu)
) WITHOUT ROWID;

CREATE TABLE gap (
	host_id INTEGER NOT NULL REFERENCES host, gap_id INTEGER NOT NULL, pcpu INTEGER NOT NULL,
	tsc_first INTEGER NOT NULL, tsc_last INTEGER NOT NULL, why TEXT NOT NULL,
	PRIMARY KEY (host_id, gap_id)
) WITHOUT ROWID;

CREATE TABLE record_count (
	host_id INTEGER NOT NULL REFERENCES host, raw_id INTEGER NOT NULL, words INTEGER NOT NULL,
	name TEXT, fits INTEGER NOT NULL, records INTEGER NOT NULL,
	PRIMARY KEY (host_id, raw_id, words)
) WITHOUT ROWID;

CREATE TABLE doubt (
	host_id INTEGER NOT NULL REFERENCES host, code TEXT NOT NULL, count INTEGER NOT NULL, tsc INTEGER,
	offset INTEGER, text TEXT NOT NULL,
	PRIMARY KEY (host_id, code)
) WITHOUT ROWID;

CREATE TABLE symbol (
	host_id INTEGER NOT NULL REFERENCES host, domid INTEGER NOT NULL, rip INTEGER NOT NULL,
	name TEXT NOT NULL,
	PRIMARY KEY (host_id, domid, rip)
) WITHOUT ROWID;

CREATE TABLE fork (
	host_id INTEGER NOT NULL REFERENCES host, fork_id INTEGER NOT NULL, domid INTEGER, vcpu INTEGER,
	tsc_start INTEGER NOT NULL, tsc_end INTEGER NOT NULL, tsc_pin INTEGER, copied INTEGER,
	preempted INTEGER NOT NULL, mechanism TEXT NOT NULL,
	pt_pages INTEGER NOT NULL, ptes INTEGER NOT NULL, faults INTEGER NOT NULL, unhooks INTEGER NOT NULL,
	rehooks INTEGER NOT NULL, emulations INTEGER NOT NULL, flushes INTEGER NOT NULL,
	spurious INTEGER NOT NULL, cow_faults INTEGER NOT NULL, complete INTEGER NOT NULL, rip INTEGER,
	ended_by TEXT NOT NULL, doubt TEXT, first_event INTEGER NOT NULL, last_event INTEGER NOT NULL,
	PRIMARY KEY (host_id, fork_id)
) WITHOUT ROWID;

CREATE TABLE sequence (
	host_id INTEGER NOT NULL REFERENCES host, sequence_id INTEGER NOT NULL, fork_id INTEGER,
	domid INTEGER, vcpu INTEGER, pt_page INTEGER, frame INTEGER, va_base INTEGER,
	mechanism TEXT NOT NULL, tsc_start INTEGER NOT NULL, tsc_end INTEGER NOT NULL,
	tsc_slack INTEGER NOT NULL, faults INTEGER NOT NULL, ptes INTEGER NOT NULL, unhooks INTEGER NOT NULL,
	rehooks INTEGER NOT NULL, emulations INTEGER NOT NULL, flushes INTEGER NOT NULL,
	spurious INTEGER NOT NULL, ended_by TEXT NOT NULL, complete INTEGER NOT NULL,
	cow_faults INTEGER NOT NULL, first_event INTEGER NOT NULL, last_event INTEGER NOT NULL,
	PRIMARY KEY (host_id, sequence_id)
) WITHOUT ROWID;

CREATE TABLE walk (
	host_id INTEGER NOT NULL REFERENCES host, walk_id INTEGER NOT NULL, domid INTEGER, vcpu INTEGER,
	rip INTEGER NOT NULL, kind TEXT NOT NULL, tsc_start INTEGER NOT NULL, tsc_end INTEGER NOT NULL,
	pt_pages INTEGER NOT NULL, ptes INTEGER NOT NULL, complete INTEGER NOT NULL,
	first_event INTEGER NOT NULL, last_event INTEGER NOT NULL,
	PRIMARY KEY (host_id, walk_id)
) WITHOUT ROWID;

CREATE TABLE spurious_fault (
	host_id INTEGER NOT NULL REFERENCES host, event_id INTEGER NOT NULL, cause TEXT NOT NULL,
	other_vcpu INTEGER, other_event INTEGER, gap INTEGER, confidence TEXT NOT NULL,
	PRIMARY KEY (host_id, event_id)
) WITHOUT ROWID;

CREATE TABLE flush (
	host_id INTEGER NOT NULL REFERENCES host, fork_id INTEGER, mechanism TEXT, cause TEXT NOT NULL,
	reach TEXT NOT NULL, flushes INTEGER NOT NULL, cpus INTEGER
);

CREATE TABLE tlb_flush (
	host_id INTEGER NOT NULL REFERENCES host, event_id INTEGER NOT NULL, fork_id INTEGER,
	domid INTEGER, vcpu INTEGER, cause TEXT NOT NULL, detail TEXT, reach TEXT NOT NULL,
	done INTEGER NOT NULL, cpus INTEGER NOT NULL, remote INTEGER NOT NULL, spared INTEGER,
	frame INTEGER, ipis INTEGER NOT NULL, cycles INTEGER,
	PRIMARY KEY (host_id, event_id)
) WITHOUT ROWID;

CREATE TABLE tlb_interrupt (
	host_id INTEGER NOT NULL REFERENCES host, event_id INTEGER NOT NULL, flush INTEGER,
	cycles INTEGER,
	PRIMARY KEY (host_id, event_id)
) WITHOUT ROWID;

CREATE TABLE episode (
	host_id INTEGER NOT NULL REFERENCES host, episode_id INTEGER NOT NULL, domid INTEGER,
	tsc_start INTEGER NOT NULL, tsc_end INTEGER NOT NULL, fixups INTEGER NOT NULL, pages INTEGER,
	dirtied INTEGER, round_pages INTEGER, rounds INTEGER NOT NULL, faults INTEGER NOT NULL,
	complete INTEGER NOT NULL, ended_by TEXT NOT NULL, first_event INTEGER NOT NULL,
	last_event INTEGER NOT NULL, mechanism TEXT NOT NULL, sure TEXT NOT NULL, unread INTEGER,
	PRIMARY KEY (host_id, episode_id)
) WITHOUT ROWID;

CREATE TABLE episode_round (
	host_id INTEGER NOT NULL REFERENCES host, episode_id INTEGER NOT NULL, round INTEGER NOT NULL,
	tsc_start INTEGER NOT NULL, tsc_end INTEGER NOT NULL, fixups INTEGER NOT NULL, pages INTEGER,
	dirtied INTEGER, ended_by TEXT NOT NULL, sure TEXT NOT NULL,
	PRIMARY KEY (host_id, episode_id, round)
) WITHOUT ROWID;

CREATE TABLE episode_page (
	host_id INTEGER NOT NULL REFERENCES host, page_id INTEGER NOT NULL, episode_id INTEGER NOT NULL,
	round INTEGER NOT NULL, frame INTEGER NOT NULL, rip INTEGER, event_id INTEGER NOT NULL,
	split INTEGER,
	PRIMARY KEY (host_id, page_id)
) WITHOUT ROWID;

CREATE TABLE episode_vcpu (
	host_id INTEGER NOT NULL REFERENCES host, episode_id INTEGER NOT NULL, vcpu INTEGER NOT NULL,
	fixups INTEGER NOT NULL, cycles INTEGER NOT NULL, recalcs INTEGER NOT NULL,
	recalc_cycles INTEGER NOT NULL, paused INTEGER NOT NULL,
	PRIMARY KEY (host_id, episode_id, vcpu)
) WITHOUT ROWID;

CREATE TABLE finding (
	host_id INTEGER NOT NULL REFERENCES host, code TEXT NOT NULL, count INTEGER NOT NULL,
	text TEXT NOT NULL,
	PRIMARY KEY (host_id, code)
) WITHOUT ROWID;

CREATE TABLE domain_name (
	host_id INTEGER NOT NULL REFERENCES host, domid INTEGER NOT NULL, name TEXT NOT NULL,
	PRIMARY KEY (host_id, domid)
) WITHOUT ROWID;

CREATE TABLE guest_log (
	host_id INTEGER NOT NULL REFERENCES host, log_id INTEGER NOT NULL, domid INTEGER NOT NULL,
	source TEXT NOT NULL, clock TEXT NOT NULL, events INTEGER NOT NULL, bad_lines INTEGER NOT NULL,
	disordered INTEGER NOT NULL, lost INTEGER NOT NULL, overwritten INTEGER NOT NULL,
	tsc_first INTEGER NOT NULL, tsc_last INTEGER NOT NULL, rate REAL NOT NULL, faults INTEGER NOT NULL,
	matched INTEGER NOT NULL, residual INTEGER, slack INTEGER NOT NULL, switches INTEGER NOT NULL,
	pins INTEGER NOT NULL, flags INTEGER NOT NULL,
	PRIMARY KEY (host_id, log_id)
) WITHOUT ROWID;

CREATE TABLE guest_fork (
	host_id INTEGER NOT NULL REFERENCES host, guest_fork_id INTEGER NOT NULL, log_id INTEGER NOT NULL,
	tsc INTEGER NOT NULL, vcpu INTEGER NOT NULL, pid INTEGER NOT NULL, comm TEXT NOT NULL,
	child_pid INTEGER NOT NULL, clone_flags INTEGER, tsc_begin INTEGER NOT NULL,
	begin_known INTEGER NOT NULL, tsc_pin INTEGER, pin_vcpu INTEGER,
	PRIMARY KEY (host_id, guest_fork_id)
) WITHOUT ROWID;

CREATE TABLE guest_task (
	host_id INTEGER NOT NULL REFERENCES host, guest_task_id INTEGER NOT NULL, log_id INTEGER NOT NULL,
	tsc INTEGER NOT NULL, vcpu INTEGER NOT NULL, pid INTEGER NOT NULL, comm TEXT NOT NULL,
	what TEXT NOT NULL, file TEXT,
	PRIMARY KEY (host_id, guest_task_id)
) WITHOUT ROWID;

CREATE TABLE guest_run (
	host_id INTEGER NOT NULL REFERENCES host, log_id INTEGER NOT NULL, vcpu INTEGER NOT NULL,
	tsc_start INTEGER NOT NULL, tsc_end INTEGER NOT NULL, pid INTEGER NOT NULL, comm TEXT NOT NULL,
	PRIMARY KEY (host_id, log_id, vcpu, tsc_start)
) WITHOUT ROWID;

CREATE TABLE fork_name (
	host_id INTEGER NOT NULL REFERENCES host, fork_id INTEGER NOT NULL, guest_fork_id INTEGER NOT NULL,
	named_by TEXT NOT NULL,
	PRIMARY KEY (host_id, fork_id)
) WITHOUT ROWID;

CREATE TABLE guest_fork_found (
	host_id INTEGER NOT NULL REFERENCES host, guest_fork_id INTEGER NOT NULL, what TEXT,
	fork_id INTEGER, found TEXT NOT NULL,
	PRIMARY KEY (host_id, guest_fork_id)
) WITHOUT ROWID;

CREATE INDEX sequence_by_fork ON sequence (host_id, fork_id);
CREATE INDEX episode_page_by_frame ON episode_page (host_id, episode_id, frame);
CREATE INDEX flush_by_fork ON flush (host_id, fork_id);

CREATE VIEW trace AS
SELECT h.host, c.source, c.format, c.records, c.events, c.lost_records, c.unknown_records, c.tsc_first,
	c.tsc_last, c.cpu_hz, c.complete, c.tool_version, c.tsc_base
FROM capture c JOIN host h USING (host_id);

CREATE VIEW events AS
SELECT h.host, e.event_id, e.tsc, (e.tsc - c.tsc_first) * 1e6 / c.cpu_hz AS us,
	p.pcpu, p.domid, p.vcpu, t.name AS kind, e.va,
	CASE WHEN t.pte_shift THEN e.va & ~4095 END AS pt_page,
	CASE WHEN t.pte_shift THEN (e.va & 4095) >> t.pte_shift END AS slot,
	e.rip,
	(SELECT s.name FROM symbol s WHERE s.host_id = e.host_id AND s.rip = e.rip
		AND s.domid IN (p.domid, -1) ORDER BY s.domid DESC LIMIT 1) AS symbol,
	e.error_code, e.pte, e.frame, e.count, t.raw_id,
	(SELECT l.tsc_late FROM event_late l WHERE l.host_id = e.host_id AND l.event_id = e.event_id)
		AS tsc_late,
	e.arg1, e.arg2
FROM event e JOIN event_type t ON t.host_id = e.host_id AND t.type = e.type
	JOIN event_place p ON p.host_id = e.host_id AND p.place = e.place
	JOIN capture c ON c.host_id = e.host_id JOIN host h ON h.host_id = e.host_id;

CREATE VIEW forks AS
SELECT h.host, f.fork_id, f.domid, f.vcpu, f.tsc_start, f.tsc_end,
	(f.tsc_end - f.tsc_start) * 1e6 / c.cpu_hz AS us,
	f.mechanism, f.pt_pages, f.ptes, f.faults, f.unhooks, f.rehooks, f.emulations, f.flushes,
	f.spurious, f.cow_faults, f.complete,
	(SELECT s.name FROM symbol s WHERE s.host_id = f.host_id AND s.rip = f.rip
		AND s.domid IN (f.domid, -1) ORDER BY s.domid DESC LIMIT 1) AS symbol,
	f.rip, f.tsc_pin, f.copied, f.preempted, f.ended_by, f.doubt, f.first_event, f.last_event,
	g.pid, g.comm, g.child_pid, n.named_by, d.name AS domain
FROM fork f JOIN capture c ON c.host_id = f.host_id JOIN host h ON h.host_id = f.host_id
	LEFT JOIN domain_name d ON d.host_id = f.host_id AND d.domid = f.domid
	LEFT JOIN fork_name n ON n.host_id = f.host_id AND n.fork_id = f.fork_id
	LEFT JOIN guest_fork g ON g.host_id = n.host_id AND g.guest_fork_id = n.guest_fork_id;

CREATE VIEW pt_sequences AS
SELECT h.host, q.sequence_id, q.fork_id, q.domid, q.vcpu, q.pt_page, q.frame, q.va_base, q.mechanism,
	q.tsc_start, q.tsc_end, (q.tsc_end - q.tsc_start) * 1e6 / c.cpu_hz AS us,
	q.faults, q.ptes, q.unhooks, q.rehooks, q.emulations, q.flushes, q.spurious, q.ended_by,
	q.complete, q.tsc_slack, q.cow_faults, q.first_event, q.last_event
FROM sequence q JOIN capture c ON c.host_id = q.host_id JOIN host h ON h.host_id = q.host_id;

CREATE VIEW walks AS
SELECT h.host, w.domid, w.vcpu, w.rip,
	(SELECT s.name FROM symbol s WHERE s.host_id = w.host_id AND s.rip = w.rip
		AND s.domid IN (w.domid, -1) ORDER BY s.domid DESC LIMIT 1) AS symbol,
	w.kind, w.tsc_start, w.tsc_end, w.pt_pages, w.ptes,
	(w.tsc_end - w.tsc_start) * 1e6 / c.cpu_hz AS us,
	w.complete, w.walk_id, w.first_event, w.last_event
FROM walk w JOIN capture c ON c.host_id = w.host_id JOIN host h ON h.host_id = w.host_id;

CREATE VIEW spurious_faults AS
SELECT e.host, s.event_id, e.tsc, e.us, e.domid, e.vcpu, e.va, e.rip, e.symbol, e.error_code, s.cause,
	s.other_vcpu, s.confidence, s.other_event, s.gap
FROM spurious_fault s JOIN host h ON h.host_id = s.host_id
	JOIN events e ON e.host = h.host AND e.event_id = s.event_id;

CREATE VIEW flushes AS
SELECT h.host, f.fork_id, f.mechanism, f.cause, f.reach, f.flushes, f.cpus, k.ptes,
	f.flushes * 1.0 / nullif(k.ptes, 0) AS flushes_per_pte,
	CASE WHEN f.cause IN ('unhook', 'rehook') THEN 'exact' ELSE 'concluded' END AS basis,
	NULL AS avoided, NULL AS ipis, NULL AS cycles, NULL AS us, k.domid
FROM flush f JOIN host h ON h.host_id = f.host_id
	LEFT JOIN fork k ON k.host_id = f.host_id AND k.fork_id = f.fork_id
WHERE f.cause <> 'hypercall' OR NOT EXISTS (SELECT 1 FROM tlb_flush t WHERE t.host_id = f.host_id)
UNION ALL
SELECT h.host, g.fork_id, k.mechanism, g.cause, g.reach, g.flushes, g.cpus, k.ptes,
	g.flushes * 1.0 / nullif(k.ptes, 0), 'exact', g.avoided, g.ipis, g.cycles, g.cycles * 1e6 / c.cpu_hz, g.domid
FROM (SELECT host_id, fork_id, domid, cause, reach, sum(done) AS flushes, sum(cpus) AS cpus,
		sum(1 - done) AS avoided, sum(ipis) AS ipis, sum(cycles) AS cycles
	FROM tlb_flush GROUP BY host_id, fork_id, domid, cause, reach) g
	JOIN host h ON h.host_id = g.host_id JOIN capture c ON c.host_id = g.host_id
	LEFT JOIN fork k ON k.host_id = g.host_id AND k.fork_id = g.fork_id;

CREATE VIEW tlb_flushes AS
SELECT h.host, f.event_id, e.tsc, (e.tsc - c.tsc_first) * 1e6 / c.cpu_hz AS us,
	p.pcpu, f.domid, f.vcpu, f.fork_id, f.cause, f.detail, f.reach, f.done, e.va, f.frame, f.cpus,
	f.remote, f.spared, f.ipis, f.cycles, f.cycles * 1e6 / c.cpu_hz AS us_taken,
	CASE WHEN f.done = 1 THEN e.arg2 END AS cpu_mask, e.rip,
	(SELECT s.name FROM symbol s WHERE s.host_id = e.host_id AND s.rip = e.rip
		AND s.domid IN (f.domid, -1) ORDER BY s.domid DESC LIMIT 1) AS symbol
FROM tlb_flush f JOIN event e ON e.host_id = f.host_id AND e.event_id = f.event_id
	JOIN event_place p ON p.host_id = e.host_id AND p.place = e.place
	JOIN capture c ON c.host_id = f.host_id JOIN host h ON h.host_id = f.host_id;

CREATE VIEW flush_ipis AS
SELECT h.host, i.event_id, e.tsc, (e.tsc - c.tsc_first) * 1e6 / c.cpu_hz AS us,
	p.pcpu, p.domid, p.vcpu, i.flush, i.cycles, f.domid AS by_domid, f.vcpu AS by_vcpu, f.fork_id,
	f.cause
FROM tlb_interrupt i JOIN event e ON e.host_id = i.host_id AND e.event_id = i.event_id
	JOIN event_place p ON p.host_id = e.host_id AND p.place = e.place
	JOIN capture c ON c.host_id = i.host_id JOIN host h ON h.host_id = i.host_id
	LEFT JOIN tlb_flush f ON f.host_id = i.host_id AND f.event_id = i.flush;

CREATE VIEW losses AS
SELECT h.host, l.pcpu, l.tsc_first, l.tsc_last, l.lost, l.domid, l.vcpu
FROM loss l JOIN host h ON h.host_id = l.host_id;

CREATE VIEW pcpus AS
SELECT h.host, p.pcpu,
	p.tsc_first - CASE WHEN p.corrected THEN p.clock_offset
		+ CAST(p.clock_drift * (p.tsc_first - p.clock_origin) AS INTEGER) ELSE 0 END AS tsc_first,
	p.tsc_last - CASE WHEN p.corrected THEN p.clock_offset
		+ CAST(p.clock_drift * (p.tsc_last - p.clock_origin) AS INTEGER) ELSE 0 END AS tsc_last,
	p.records, p.lost, ifnull(g.gaps, 0) AS gaps,
	p.clock_offset, p.clock_drift * 1e6 AS clock_drift_ppm, p.clock_low, p.clock_high, p.corrected
FROM pcpu p JOIN host h ON h.host_id = p.host_id
LEFT JOIN (SELECT host_id, pcpu, count(*) AS gaps FROM gap GROUP BY host_id, pcpu) g
	ON g.host_id = p.host_id AND g.pcpu = p.pcpu;

CREATE VIEW gaps AS
SELECT h.host, g.pcpu, g.tsc_first, g.tsc_last, (g.tsc_last - g.tsc_first) * 1e6 / c.cpu_hz AS us, g.why
FROM gap g JOIN capture c ON c.host_id = g.host_id JOIN host h ON h.host_id = g.host_id;

CREATE VIEW episodes AS
SELECT h.host, e.episode_id, e.domid, e.tsc_start, e.tsc_end,
	(e.tsc_end - e.tsc_start) * 1e6 / c.cpu_hz AS us,
	e.fixups, e.pages, e.dirtied, e.round_pages, e.rounds, e.faults,
	e.fixups * 1.0 * c.cpu_hz / nullif(e.tsc_end - e.tsc_start, 0) AS fixups_per_second,
	e.fixups * 1.0 / nullif(e.dirtied, 0) AS fixups_per_dirtied,
	e.complete, e.ended_by, e.first_event, e.last_event, e.mechanism, e.sure, e.unread
FROM episode e JOIN capture c ON c.host_id = e.host_id JOIN host h ON h.host_id = e.host_id;

CREATE VIEW rounds AS
SELECT h.host, r.episode_id, r.round, e.domid, r.tsc_start, r.tsc_end,
	(r.tsc_end - r.tsc_start) * 1e6 / c.cpu_hz AS us,
	r.fixups, r.pages, r.dirtied,
	r.fixups * 1.0 * c.cpu_hz / nullif(r.tsc_end - r.tsc_start, 0) AS fixups_per_second,
	r.fixups * 1.0 / nullif(r.dirtied, 0) AS fixups_per_dirtied,
	r.ended_by, e.mechanism, r.sure
FROM episode_round r JOIN episode e ON e.host_id = r.host_id AND e.episode_id = r.episode_id
	JOIN capture c ON c.host_id = r.host_id JOIN host h ON h.host_id = r.host_id;

CREATE VIEW dirty AS
SELECT h.host, g.episode_id, g.domid, g.gfn, g.rounds, g.first_round, g.last_round, p.rip,
	(SELECT s.name FROM symbol s WHERE s.host_id = p.host_id AND s.rip = p.rip
		AND s.domid IN (g.domid, -1) ORDER BY s.domid DESC LIMIT 1) AS symbol,
	CASE WHEN p.rip IS NOT NULL THEN p.rip >= 0 AND p.rip < 0x800000000000 END AS user, g.split
FROM (SELECT q.host_id, q.episode_id, e.domid, q.frame AS gfn, count(DISTINCT q.round) AS rounds,
		min(q.round) AS first_round, max(q.round) AS last_round, min(q.page_id) AS page_id, max(q.split) AS split
	FROM episode_page q JOIN episode e ON e.host_id = q.host_id AND e.episode_id = q.episode_id
	WHERE q.round > 0 GROUP BY q.host_id, q.episode_id, e.domid, q.frame) g
	JOIN episode_page p ON p.host_id = g.host_id AND p.page_id = g.page_id
	JOIN host h ON h.host_id = g.host_id;

CREATE VIEW dirty_rounds AS
SELECT h.host, p.episode_id, p.round, e.domid, p.frame AS gfn, p.rip, p.event_id, p.split
FROM episode_page p JOIN episode e ON e.host_id = p.host_id AND e.episode_id = p.episode_id
	JOIN host h ON h.host_id = p.host_id;

CREATE VIEW episode_vcpus AS
SELECT h.host, v.episode_id, e.domid, v.vcpu, v.fixups, v.cycles, v.recalcs, v.recalc_cycles, v.paused,
	v.cycles * 1e6 / c.cpu_hz AS us, v.recalc_cycles * 1e6 / c.cpu_hz AS us_recalc,
	v.paused * 1e6 / c.cpu_hz AS us_paused
FROM episode_vcpu v JOIN episode e ON e.host_id = v.host_id AND e.episode_id = v.episode_id
	JOIN capture c ON c.host_id = v.host_id JOIN host h ON h.host_id = v.host_id;

CREATE VIEW npfs AS
SELECT h.host, e.event_id, e.tsc, (e.tsc - c.tsc_first) * 1e6 / c.cpu_hz AS us,
	p.domid, p.vcpu, e.frame AS gfn, e.arg2 AS gpa, e.pte AS mfn, e.arg1 & 255 AS type,
	e.error_code AS qualification,
	CASE e.arg1 >> 8 WHEN 1 THEN 'dirty' WHEN 2 THEN 'mmio' WHEN 3 THEN 'populate'
		WHEN 4 THEN 'access' WHEN 5 THEN 'misconfig' ELSE 'other' END AS what,
	e.rip,
	(SELECT s.name FROM symbol s WHERE s.host_id = e.host_id AND s.rip = e.rip
		AND s.domid IN (p.domid, -1) ORDER BY s.domid DESC LIMIT 1) AS symbol,
	e.count AS cycles
FROM event e JOIN event_type t ON t.host_id = e.host_id AND t.type = e.type
	JOIN event_place p ON p.host_id = e.host_id AND p.place = e.place
	JOIN capture c ON c.host_id = e.host_id JOIN host h ON h.host_id = e.host_id
WHERE t.name = 'npf';

CREATE VIEW mmio AS
SELECT h.host, g.domid, g.gfn, g.gpa, g.rip,
	(SELECT s.name FROM symbol s WHERE s.host_id = g.host_id AND s.rip = g.rip
		AND s.domid IN (g.domid, -1) ORDER BY s.domid DESC LIMIT 1) AS symbol,
	g.npfs, g.reads, g.writes, g.cycles
FROM (SELECT e.host_id, p.domid, e.frame AS gfn, e.arg2 AS gpa, e.rip, sum(t.name = 'npf') AS npfs,
		sum(t.raw_id IN (0x82017, 0x82117)) AS reads,
		sum(t.raw_id IN (0x82217, 0x82317)) AS writes,
		sum(CASE WHEN t.name = 'npf' THEN e.count END) AS cycles
	FROM event e JOIN event_type t ON t.host_id = e.host_id AND t.type = e.type
		JOIN event_place p ON p.host_id = e.host_id AND p.place = e.place
	WHERE (t.name = 'npf' AND e.arg1 >> 8 = 2)
		OR t.raw_id IN (0x82017, 0x82117, 0x82217, 0x82317)
	GROUP BY e.host_id, p.domid, e.frame, e.arg2, e.rip) g JOIN host h ON h.host_id = g.host_id;

CREATE VIEW episode_forks AS
SELECT h.host, g.episode_id, g.domid, g.pt_pages, g.ptes_per_page, g.inside, g.outside,
	g.cycles_inside, g.cycles_outside,
	g.cycles_inside * 1e6 / c.cpu_hz AS us_inside,
	g.cycles_outside * 1e6 / c.cpu_hz AS us_outside,
	(g.cycles_inside - g.cycles_outside) * 1e6 / c.cpu_hz AS us_added
FROM (SELECT s.host_id, s.episode_id, s.domid, s.pt_pages, s.ptes_per_page,
		sum(s.inside) AS inside, sum(1 - s.inside) AS outside,
		avg(CASE WHEN s.inside = 1 THEN s.cycles END) AS cycles_inside,
		avg(CASE WHEN s.inside = 0 THEN s.cycles END) AS cycles_outside
	FROM (SELECT e.host_id, e.episode_id, e.domid, f.pt_pages,
			CAST(round(f.ptes * 1.0 / f.pt_pages) AS INTEGER) AS ptes_per_page,
			f.tsc_end - f.tsc_start AS cycles,
			CASE WHEN f.tsc_start <= e.tsc_end AND f.tsc_end >= e.tsc_start
				THEN 1 ELSE 0 END AS inside
		FROM episode e JOIN fork f ON f.host_id = e.host_id AND f.domid = e.domid
		WHERE f.complete = 1 AND f.pt_pages > 0 AND (
			(f.tsc_start <= e.tsc_end AND f.tsc_end >= e.tsc_start) OR NOT EXISTS (
				SELECT 1 FROM episode o WHERE o.host_id = f.host_id AND o.domid = f.domid
					AND f.tsc_start <= o.tsc_end AND f.tsc_end >= o.tsc_start))) s
	GROUP BY s.host_id, s.episode_id, s.domid, s.pt_pages, s.ptes_per_page) g
	JOIN capture c ON c.host_id = g.host_id JOIN host h ON h.host_id = g.host_id;

CREATE VIEW processes AS
SELECT h.host, p.domid, p.pid, p.comm, sum(p.forks) AS forks, sum(p.cycles) * 1e6 / c.cpu_hz AS us,
	sum(p.ptes) AS ptes, sum(p.cow_faults) AS cow_faults, min(p.tsc_first) AS first_tsc,
	max(p.tsc_last) AS last_tsc, sum(p.silent) AS silent, sum(p.threads) AS threads,
	sum(p.cycles) AS cycles, max(d.name) AS domain
FROM (SELECT f.host_id, f.domid, g.pid, g.comm, 1 AS forks, f.tsc_end - f.tsc_start AS cycles, f.ptes,
		f.cow_faults, f.tsc_start AS tsc_first, f.tsc_end AS tsc_last, 0 AS silent, 0 AS threads
	FROM fork f LEFT JOIN fork_name n ON n.host_id = f.host_id AND n.fork_id = f.fork_id
		LEFT JOIN guest_fork g ON g.host_id = n.host_id AND g.guest_fork_id = n.guest_fork_id
	UNION ALL
	SELECT g.host_id, l.domid, g.pid, g.comm, 0, 0, 0, 0, g.tsc, g.tsc,
		d.what = 'fork' AND d.found = 'no',
		d.what IN ('thread', 'vfork', 'shared')
	FROM guest_fork_found d
		JOIN guest_fork g ON g.host_id = d.host_id AND g.guest_fork_id = d.guest_fork_id
		JOIN guest_log l ON l.host_id = g.host_id AND l.log_id = g.log_id
	WHERE d.fork_id IS NULL AND (d.what <> 'fork' OR d.found = 'no')) p
	JOIN capture c ON c.host_id = p.host_id JOIN host h ON h.host_id = p.host_id
	LEFT JOIN domain_name d ON d.host_id = p.host_id AND d.domid = p.domid
GROUP BY h.host, p.domid, p.pid, p.comm, c.cpu_hz;

CREATE VIEW domains AS
SELECT h.host, a.domid,
	(SELECT d.name FROM domain_name d WHERE d.host_id = a.host_id AND d.domid = a.domid) AS name,
	(SELECT count(DISTINCT p.vcpu) FROM event_place p WHERE p.host_id = a.host_id AND p.domid = a.domid)
		AS vcpus,
	ifnull((SELECT sum(p.events) FROM event_place p WHERE p.host_id = a.host_id AND p.domid = a.domid), 0)
		AS events,
	(SELECT count(*) FROM fork f WHERE f.host_id = a.host_id AND f.domid = a.domid) AS forks
FROM (SELECT host_id, domid FROM event_place WHERE domid IS NOT NULL
	UNION SELECT host_id, domid FROM domain_name) a JOIN host h ON h.host_id = a.host_id;

CREATE VIEW guest_logs AS
SELECT h.host, l.log_id, l.domid, l.source, l.clock, l.events, l.bad_lines, l.disordered, l.lost,
	l.overwritten, l.tsc_first, l.tsc_last, l.rate, l.faults, l.matched, l.residual, l.slack, l.switches,
	l.pins, l.flags
FROM guest_log l JOIN host h ON h.host_id = l.host_id;

CREATE VIEW guest_forks AS
SELECT h.host, g.guest_fork_id, l.domid, g.tsc, (g.tsc - c.tsc_first) * 1e6 / c.cpu_hz AS us,
	g.vcpu, g.pid, g.comm, g.child_pid, d.what, d.found, d.fork_id
FROM guest_fork g JOIN guest_log l ON l.host_id = g.host_id AND l.log_id = g.log_id
	LEFT JOIN guest_fork_found d ON d.host_id = g.host_id AND d.guest_fork_id = g.guest_fork_id
	JOIN capture c ON c.host_id = g.host_id JOIN host h ON h.host_id = g.host_id;

CREATE VIEW guest_tasks AS
SELECT h.host, t.guest_task_id, l.domid, t.tsc, (t.tsc - c.tsc_first) * 1e6 / c.cpu_hz AS us,
	t.vcpu, t.pid, t.comm, t.what, t.file
FROM guest_task t JOIN guest_log l ON l.host_id = t.host_id AND l.log_id = t.log_id
	JOIN capture c ON c.host_id = t.host_id JOIN host h ON h.host_id = t.host_id;

CREATE VIEW guest_runs AS
SELECT h.host, l.domid, r.vcpu, r.tsc_start, r.tsc_end,
	(r.tsc_end - r.tsc_start) * 1e6 / c.cpu_hz AS us, r.pid, r.comm
FROM guest_run r JOIN guest_log l ON l.host_id = r.host_id AND l.log_id = r.log_id
	JOIN capture c ON c.host_id = r.host_id JOIN host h ON h.host_id = r.host_id;
