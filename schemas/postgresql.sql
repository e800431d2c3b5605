-- SPDX-License-Identifier: GPL-2.0-or-later
-- The way into PostgreSQL for fleets that outgrow one machine.  Run it once in an empty database:
--	xenfault export --to postgresql --schema | psql -d fleet
-- and load hosts, again and again:
--	xenfault export --to postgresql --host web1 web1.db | psql -d fleet
-- The tables are those of fleet.sql, the views too: the same names and columns, with host in front.
-- docs/fleet.md tells how to partition and shard it.

\set ON_ERROR_STOP on
\set QUIET on
BEGIN;

-- Addresses, PTEs and TSCs have 64 bits without a sign; bigint has 63.  A domain over numeric keeps their
-- value, so that they compare, sort and add up as they should, at about 12 bytes instead of 8; stored as
-- two's complement in a bigint, each comparison in each query would have to know better.
CREATE DOMAIN u64 AS numeric(20) CHECK (VALUE >= 0 AND VALUE <= 18446744073709551615);

-- 0x..., as xenfault shows it.
CREATE FUNCTION hex(value u64) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
	SELECT CASE WHEN value = 0 THEN '0x0' ELSE '0x' || ltrim(
		lpad(to_hex(div(value, 4294967296)::bigint), 8, '0')
		|| lpad(to_hex(mod(value, 4294967296)::bigint), 8, '0'), '0') END
$$;

-- The other way: WHERE va >= address('0xffff888000000000').
CREATE FUNCTION address(hex text) RETURNS u64 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
	SELECT (('x' || left(digits, 8))::bit(32)::bigint::numeric * 4294967296
		+ ('x' || right(digits, 8))::bit(32)::bigint)::u64
	FROM (SELECT lpad(regexp_replace(hex, '^0[xX]', ''), 16, '0') AS digits) d
$$;

CREATE FUNCTION us_between(first u64, last u64, cpu_hz bigint) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT (last - first)::float8 * 1e6::float8 / cpu_hz::float8
$$;

CREATE TABLE host (
	host_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	host text NOT NULL UNIQUE
);

-- host_id comes from the session while a host is loaded: the stream does not know the number.
CREATE TABLE capture (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	source text NOT NULL, format text NOT NULL, records bigint NOT NULL,
	events bigint NOT NULL, lost_records bigint NOT NULL, unknown_records bigint NOT NULL,
	tsc_first u64, tsc_last u64, cpu_hz bigint, complete smallint NOT NULL,
	tool_version text NOT NULL, tsc_base u64 NOT NULL,
	PRIMARY KEY (host_id)
);

CREATE TABLE event_kind (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	kind integer NOT NULL, name text NOT NULL, what text NOT NULL,
	PRIMARY KEY (host_id, kind)
);

CREATE TABLE event_place (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	place integer NOT NULL, pcpu integer NOT NULL, domid integer, vcpu integer,
	events bigint NOT NULL,
	PRIMARY KEY (host_id, place)
);

CREATE TABLE event_type (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	type integer NOT NULL, kind integer NOT NULL, name text NOT NULL,
	raw_id bigint NOT NULL, pte_shift integer, events bigint NOT NULL,
	PRIMARY KEY (host_id, type)
);

CREATE TABLE event (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	event_id bigint NOT NULL, tsc u64, place integer NOT NULL, type integer NOT NULL,
	va u64, rip u64, error_code bigint, pte u64, frame u64, count u64, arg1 u64, arg2 u64
) PARTITION BY LIST (host_id);
CREATE TABLE event_rest PARTITION OF event DEFAULT;
CREATE INDEX ON event (host_id, event_id);

CREATE TABLE event_late (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	event_id bigint NOT NULL, tsc_late u64 NOT NULL,
	PRIMARY KEY (host_id, event_id)
);

CREATE TABLE loss (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	loss_id bigint NOT NULL, pcpu integer NOT NULL, tsc_first u64, tsc_last u64,
	lost bigint NOT NULL, domid integer, vcpu integer,
	PRIMARY KEY (host_id, loss_id)
);

CREATE TABLE pcpu (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	pcpu integer NOT NULL, tsc_first u64, tsc_last u64, records bigint NOT NULL, lost bigint NOT NULL,
	clock_offset bigint NOT NULL, clock_drift float8 NOT NULL, clock_origin u64 NOT NULL,
	clock_low bigint, clock_high bigint, clock_tight smallint NOT NULL,
	clock_wrong bigint NOT NULL, corrected smallint NOT NULL,
	PRIMARY KEY (host_id, pcpu)
);

CREATE TABLE gap (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	gap_id bigint NOT NULL, pcpu integer NOT NULL, tsc_first u64 NOT NULL, tsc_last u64 NOT NULL,
	why text NOT NULL,
	PRIMARY KEY (host_id, gap_id)
);

CREATE TABLE record_count (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	raw_id bigint NOT NULL, words integer NOT NULL, name text, fits smallint NOT NULL,
	records bigint NOT NULL,
	PRIMARY KEY (host_id, raw_id, words)
);

CREATE TABLE doubt (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	code text NOT NULL, count bigint NOT NULL, tsc u64, "offset" bigint, text text NOT NULL,
	PRIMARY KEY (host_id, code)
);

CREATE TABLE symbol (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	domid integer NOT NULL, rip u64 NOT NULL, name text NOT NULL,
	PRIMARY KEY (host_id, domid, rip)
);

CREATE TABLE fork (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	fork_id bigint NOT NULL, domid integer, vcpu integer, tsc_start u64 NOT NULL,
	tsc_end u64 NOT NULL, tsc_pin u64, copied bigint, preempted smallint NOT NULL,
	mechanism text NOT NULL, pt_pages bigint NOT NULL,
	ptes bigint NOT NULL, faults bigint NOT NULL, unhooks bigint NOT NULL,
	rehooks bigint NOT NULL, emulations bigint NOT NULL, flushes bigint NOT NULL,
	spurious bigint NOT NULL, cow_faults bigint NOT NULL, complete smallint NOT NULL,
	rip u64, ended_by text NOT NULL, doubt text, first_event bigint NOT NULL,
	last_event bigint NOT NULL,
	PRIMARY KEY (host_id, fork_id)
);

CREATE TABLE sequence (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	sequence_id bigint NOT NULL, fork_id bigint, domid integer, vcpu integer, pt_page u64,
	frame u64, va_base u64, mechanism text NOT NULL, tsc_start u64 NOT NULL,
	tsc_end u64 NOT NULL, tsc_slack bigint NOT NULL, faults bigint NOT NULL,
	ptes bigint NOT NULL, unhooks bigint NOT NULL, rehooks bigint NOT NULL,
	emulations bigint NOT NULL, flushes bigint NOT NULL, spurious bigint NOT NULL,
	ended_by text NOT NULL, complete smallint NOT NULL, cow_faults bigint NOT NULL,
	first_event bigint NOT NULL, last_event bigint NOT NULL
) PARTITION BY LIST (host_id);
CREATE TABLE sequence_rest PARTITION OF sequence DEFAULT;
CREATE INDEX ON sequence (host_id, sequence_id);
CREATE INDEX ON sequence (host_id, fork_id);

CREATE TABLE walk (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	walk_id bigint NOT NULL, domid integer, vcpu integer, rip u64 NOT NULL, kind text NOT NULL,
	tsc_start u64 NOT NULL, tsc_end u64 NOT NULL, pt_pages bigint NOT NULL, ptes bigint NOT NULL,
	complete smallint NOT NULL, first_event bigint NOT NULL, last_event bigint NOT NULL,
	PRIMARY KEY (host_id, walk_id)
);

CREATE TABLE spurious_fault (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	event_id bigint NOT NULL, cause text NOT NULL, other_vcpu integer, other_event bigint,
	gap bigint, confidence text NOT NULL,
	PRIMARY KEY (host_id, event_id)
);

CREATE TABLE flush (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	fork_id bigint, mechanism text, cause text NOT NULL, reach text NOT NULL,
	flushes bigint NOT NULL, cpus bigint
);
CREATE INDEX ON flush (host_id, fork_id);

CREATE TABLE tlb_flush (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	event_id bigint NOT NULL, fork_id bigint, domid integer, vcpu integer, cause text NOT NULL,
	detail text, reach text NOT NULL, done smallint NOT NULL, cpus bigint NOT NULL,
	remote bigint NOT NULL, spared bigint, frame u64, ipis bigint NOT NULL, cycles bigint,
	PRIMARY KEY (host_id, event_id)
);

CREATE TABLE tlb_interrupt (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	event_id bigint NOT NULL, flush bigint, cycles bigint,
	PRIMARY KEY (host_id, event_id)
);

CREATE TABLE episode (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	episode_id bigint NOT NULL, domid integer, tsc_start u64 NOT NULL, tsc_end u64 NOT NULL,
	fixups bigint NOT NULL, pages bigint, dirtied bigint, round_pages bigint,
	rounds bigint NOT NULL, faults bigint NOT NULL, complete smallint NOT NULL,
	ended_by text NOT NULL, first_event bigint NOT NULL, last_event bigint NOT NULL,
	mechanism text NOT NULL, sure text NOT NULL, unread bigint,
	PRIMARY KEY (host_id, episode_id)
);

CREATE TABLE episode_round (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	episode_id bigint NOT NULL, round integer NOT NULL, tsc_start u64 NOT NULL,
	tsc_end u64 NOT NULL, fixups bigint NOT NULL, pages bigint, dirtied bigint,
	ended_by text NOT NULL, sure text NOT NULL,
	PRIMARY KEY (host_id, episode_id, round)
);

CREATE TABLE episode_page (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	page_id bigint NOT NULL, episode_id bigint NOT NULL, round integer NOT NULL,
	frame u64 NOT NULL, rip u64, event_id bigint NOT NULL, split integer,
	PRIMARY KEY (host_id, page_id)
);
CREATE INDEX ON episode_page (host_id, episode_id, frame);

CREATE TABLE episode_vcpu (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	episode_id bigint NOT NULL, vcpu integer NOT NULL, fixups bigint NOT NULL,
	cycles bigint NOT NULL, recalcs bigint NOT NULL, recalc_cycles bigint NOT NULL,
	paused bigint NOT NULL,
	PRIMARY KEY (host_id, episode_id, vcpu)
);

CREATE TABLE finding (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	code text NOT NULL, count bigint NOT NULL, text text NOT NULL,
	PRIMARY KEY (host_id, code)
);

CREATE TABLE domain_name (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	domid integer NOT NULL, name text NOT NULL,
	PRIMARY KEY (host_id, domid)
);

CREATE TABLE guest_log (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	log_id bigint NOT NULL, domid integer NOT NULL, source text NOT NULL, clock text NOT NULL,
	events bigint NOT NULL, bad_lines bigint NOT NULL, disordered bigint NOT NULL,
	lost bigint NOT NULL, overwritten smallint NOT NULL, tsc_first u64 NOT NULL,
	tsc_last u64 NOT NULL, rate float8 NOT NULL, faults bigint NOT NULL, matched bigint NOT NULL,
	residual bigint, slack bigint NOT NULL, switches smallint NOT NULL, pins smallint NOT NULL,
	flags smallint NOT NULL,
	PRIMARY KEY (host_id, log_id)
);

CREATE TABLE guest_fork (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	guest_fork_id bigint NOT NULL, log_id bigint NOT NULL, tsc u64 NOT NULL, vcpu integer NOT NULL,
	pid bigint NOT NULL, comm text NOT NULL, child_pid bigint NOT NULL, clone_flags bigint,
	tsc_begin u64 NOT NULL, begin_known smallint NOT NULL, tsc_pin u64, pin_vcpu integer,
	PRIMARY KEY (host_id, guest_fork_id)
);

CREATE TABLE guest_task (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	guest_task_id bigint NOT NULL, log_id bigint NOT NULL, tsc u64 NOT NULL, vcpu integer NOT NULL,
	pid bigint NOT NULL, comm text NOT NULL, what text NOT NULL, file text,
	PRIMARY KEY (host_id, guest_task_id)
);

CREATE TABLE guest_run (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	log_id bigint NOT NULL, vcpu integer NOT NULL, tsc_start u64 NOT NULL, tsc_end u64 NOT NULL,
	pid bigint NOT NULL, comm text NOT NULL,
	PRIMARY KEY (host_id, log_id, vcpu, tsc_start)
);

CREATE TABLE fork_name (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	fork_id bigint NOT NULL, guest_fork_id bigint NOT NULL, named_by text NOT NULL,
	PRIMARY KEY (host_id, fork_id)
);

CREATE TABLE guest_fork_found (
	host_id integer NOT NULL DEFAULT current_setting('xenfault.host_id')::integer,
	guest_fork_id bigint NOT NULL, what text, fork_id bigint, found text NOT NULL,
	PRIMARY KEY (host_id, guest_fork_id)
);

-- What a stream begins with: the host's rows go, and those that the stream brings take their place, in
-- one transaction.
CREATE FUNCTION xenfault_load(name text, version integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	id integer;
BEGIN
	IF version <> @SCHEMA_VERSION@ THEN
		RAISE EXCEPTION 'the stream is of schema %, these tables are of schema @SCHEMA_VERSION@', version;
	END IF;
	INSERT INTO host (host) SELECT name WHERE NOT EXISTS (SELECT 1 FROM host WHERE host = name)
		ON CONFLICT DO NOTHING;
	SELECT host_id INTO id FROM host WHERE host = name FOR UPDATE;
	DELETE FROM capture WHERE host_id = id;
	DELETE FROM event_kind WHERE host_id = id;
	DELETE FROM event_place WHERE host_id = id;
	DELETE FROM event_type WHERE host_id = id;
	DELETE FROM event WHERE host_id = id;
	DELETE FROM event_late WHERE host_id = id;
	DELETE FROM loss WHERE host_id = id;
	DELETE FROM pcpu WHERE host_id = id;
	DELETE FROM gap WHERE host_id = id;
	DELETE FROM record_count WHERE host_id = id;
	DELETE FROM doubt WHERE host_id = id;
	DELETE FROM symbol WHERE host_id = id;
	DELETE FROM fork WHERE host_id = id;
	DELETE FROM sequence WHERE host_id = id;
	DELETE FROM walk WHERE host_id = id;
	DELETE FROM spurious_fault WHERE host_id = id;
	DELETE FROM flush WHERE host_id = id;
	DELETE FROM tlb_flush WHERE host_id = id;
	DELETE FROM tlb_interrupt WHERE host_id = id;
	DELETE FROM episode WHERE host_id = id;
	DELETE FROM episode_round WHERE host_id = id;
	DELETE FROM episode_page WHERE host_id = id;
	DELETE FROM episode_vcpu WHERE host_id = id;
	DELETE FROM finding WHERE host_id = id;
	DELETE FROM domain_name WHERE host_id = id;
	DELETE FROM guest_log WHERE host_id = id;
	DELETE FROM guest_fork WHERE host_id = id;
	DELETE FROM guest_task WHERE host_id = id;
	DELETE FROM guest_run WHERE host_id = id;
	DELETE FROM fork_name WHERE host_id = id;
	DELETE FROM guest_fork_found WHERE host_id = id;
	PERFORM set_config('xenfault.host_id', id::text, true);
END
$$;

CREATE VIEW trace AS
SELECT h.host, c.source, c.format, c.records, c.events, c.lost_records, c.unknown_records, c.tsc_first,
	c.tsc_last, c.cpu_hz, c.complete, c.tool_version, c.tsc_base
FROM capture c JOIN host h USING (host_id);

CREATE VIEW events AS
SELECT h.host, e.event_id, e.tsc, us_between(c.tsc_first, e.tsc, c.cpu_hz) AS us,
	p.pcpu, p.domid, p.vcpu, t.name AS kind, e.va,
	(CASE WHEN t.pte_shift > 0 THEN e.va - mod(e.va, 4096) END)::u64 AS pt_page,
	CASE WHEN t.pte_shift > 0 THEN mod(e.va, 4096)::integer >> t.pte_shift END AS slot,
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
	us_between(f.tsc_start, f.tsc_end, c.cpu_hz) AS us,
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
	q.tsc_start, q.tsc_end, us_between(q.tsc_start, q.tsc_end, c.cpu_hz) AS us,
	q.faults, q.ptes, q.unhooks, q.rehooks, q.emulations, q.flushes, q.spurious, q.ended_by,
	q.complete, q.tsc_slack, q.cow_faults, q.first_event, q.last_event
FROM sequence q JOIN capture c ON c.host_id = q.host_id JOIN host h ON h.host_id = q.host_id;

CREATE VIEW walks AS
SELECT h.host, w.domid, w.vcpu, w.rip,
	(SELECT s.name FROM symbol s WHERE s.host_id = w.host_id AND s.rip = w.rip
		AND s.domid IN (w.domid, -1) ORDER BY s.domid DESC LIMIT 1) AS symbol,
	w.kind, w.tsc_start, w.tsc_end, w.pt_pages, w.ptes,
	us_between(w.tsc_start, w.tsc_end, c.cpu_hz) AS us,
	w.complete, w.walk_id, w.first_event, w.last_event
FROM walk w JOIN capture c ON c.host_id = w.host_id JOIN host h ON h.host_id = w.host_id;

CREATE VIEW spurious_faults AS
SELECT e.host, s.event_id, e.tsc, e.us, e.domid, e.vcpu, e.va, e.rip, e.symbol, e.error_code, s.cause,
	s.other_vcpu, s.confidence, s.other_event, s.gap
FROM spurious_fault s JOIN host h ON h.host_id = s.host_id
	JOIN events e ON e.host = h.host AND e.event_id = s.event_id;

CREATE VIEW flushes AS
SELECT h.host, f.fork_id, f.mechanism, f.cause, f.reach, f.flushes, f.cpus, k.ptes,
	f.flushes::float8 / nullif(k.ptes, 0)::float8 AS flushes_per_pte,
	CASE WHEN f.cause IN ('unhook', 'rehook') THEN 'exact' ELSE 'concluded' END AS basis,
	NULL::bigint AS avoided, NULL::bigint AS ipis, NULL::bigint AS cycles, NULL::float8 AS us, k.domid
FROM flush f JOIN host h ON h.host_id = f.host_id
	LEFT JOIN fork k ON k.host_id = f.host_id AND k.fork_id = f.fork_id
WHERE f.cause <> 'hypercall' OR NOT EXISTS (SELECT 1 FROM tlb_flush t WHERE t.host_id = f.host_id)
UNION ALL
SELECT h.host, g.fork_id, k.mechanism, g.cause, g.reach, g.flushes, g.cpus, k.ptes,
	g.flushes::float8 / nullif(k.ptes, 0)::float8, 'exact', g.avoided, g.ipis, g.cycles, g.cycles::float8 * 1e6 / c.cpu_hz, g.domid
FROM (SELECT host_id, fork_id, domid, cause, reach, sum(done)::bigint AS flushes, sum(cpus)::bigint AS cpus,
		sum(1 - done)::bigint AS avoided, sum(ipis)::bigint AS ipis, sum(cycles)::bigint AS cycles
	FROM tlb_flush GROUP BY host_id, fork_id, domid, cause, reach) g
	JOIN host h ON h.host_id = g.host_id JOIN capture c ON c.host_id = g.host_id
	LEFT JOIN fork k ON k.host_id = g.host_id AND k.fork_id = g.fork_id;

CREATE VIEW tlb_flushes AS
SELECT h.host, f.event_id, e.tsc, us_between(c.tsc_first, e.tsc, c.cpu_hz) AS us,
	p.pcpu, f.domid, f.vcpu, f.fork_id, f.cause, f.detail, f.reach, f.done, e.va, f.frame, f.cpus,
	f.remote, f.spared, f.ipis, f.cycles, f.cycles::float8 * 1e6 / c.cpu_hz AS us_taken,
	CASE WHEN f.done = 1 THEN e.arg2 END AS cpu_mask, e.rip,
	(SELECT s.name FROM symbol s WHERE s.host_id = e.host_id AND s.rip = e.rip
		AND s.domid IN (f.domid, -1) ORDER BY s.domid DESC LIMIT 1) AS symbol
FROM tlb_flush f JOIN event e ON e.host_id = f.host_id AND e.event_id = f.event_id
	JOIN event_place p ON p.host_id = e.host_id AND p.place = e.place
	JOIN capture c ON c.host_id = f.host_id JOIN host h ON h.host_id = f.host_id;

CREATE VIEW flush_ipis AS
SELECT h.host, i.event_id, e.tsc, us_between(c.tsc_first, e.tsc, c.cpu_hz) AS us,
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
	p.tsc_first - CASE WHEN p.corrected = 1 THEN p.clock_offset
		+ trunc(p.clock_drift * (p.tsc_first - p.clock_origin)::float8)::bigint ELSE 0 END AS tsc_first,
	p.tsc_last - CASE WHEN p.corrected = 1 THEN p.clock_offset
		+ trunc(p.clock_drift * (p.tsc_last - p.clock_origin)::float8)::bigint ELSE 0 END AS tsc_last,
	p.records, p.lost, coalesce(g.gaps, 0) AS gaps,
	p.clock_offset, p.clock_drift * 1e6 AS clock_drift_ppm, p.clock_low, p.clock_high, p.corrected
FROM pcpu p JOIN host h ON h.host_id = p.host_id
LEFT JOIN (SELECT host_id, pcpu, count(*) AS gaps FROM gap GROUP BY host_id, pcpu) g
	ON g.host_id = p.host_id AND g.pcpu = p.pcpu;

CREATE VIEW gaps AS
SELECT h.host, g.pcpu, g.tsc_first, g.tsc_last, us_between(g.tsc_first, g.tsc_last, c.cpu_hz) AS us, g.why
FROM gap g JOIN capture c ON c.host_id = g.host_id JOIN host h ON h.host_id = g.host_id;

CREATE VIEW episodes AS
SELECT h.host, e.episode_id, e.domid, e.tsc_start, e.tsc_end,
	us_between(e.tsc_start, e.tsc_end, c.cpu_hz) AS us,
	e.fixups, e.pages, e.dirtied, e.round_pages, e.rounds, e.faults,
	e.fixups::float8 * c.cpu_hz::float8
		/ nullif(e.tsc_end - e.tsc_start, 0)::float8 AS fixups_per_second,
	e.fixups::float8 / nullif(e.dirtied, 0)::float8 AS fixups_per_dirtied,
	e.complete, e.ended_by, e.first_event, e.last_event, e.mechanism, e.sure, e.unread
FROM episode e JOIN capture c ON c.host_id = e.host_id JOIN host h ON h.host_id = e.host_id;

CREATE VIEW rounds AS
SELECT h.host, r.episode_id, r.round, e.domid, r.tsc_start, r.tsc_end,
	us_between(r.tsc_start, r.tsc_end, c.cpu_hz) AS us,
	r.fixups, r.pages, r.dirtied,
	r.fixups::float8 * c.cpu_hz::float8
		/ nullif(r.tsc_end - r.tsc_start, 0)::float8 AS fixups_per_second,
	r.fixups::float8 / nullif(r.dirtied, 0)::float8 AS fixups_per_dirtied,
	r.ended_by, e.mechanism, r.sure
FROM episode_round r JOIN episode e ON e.host_id = r.host_id AND e.episode_id = r.episode_id
	JOIN capture c ON c.host_id = r.host_id JOIN host h ON h.host_id = r.host_id;

CREATE VIEW dirty AS
SELECT h.host, g.episode_id, g.domid, g.gfn, g.rounds, g.first_round, g.last_round, p.rip,
	(SELECT s.name FROM symbol s WHERE s.host_id = p.host_id AND s.rip = p.rip
		AND s.domid IN (g.domid, -1) ORDER BY s.domid DESC LIMIT 1) AS symbol,
	CASE WHEN p.rip < 140737488355328 THEN 1 WHEN p.rip IS NOT NULL THEN 0 END AS "user", g.split
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
	v.cycles * 1e6::float8 / c.cpu_hz::float8 AS us,
	v.recalc_cycles * 1e6::float8 / c.cpu_hz::float8 AS us_recalc,
	v.paused * 1e6::float8 / c.cpu_hz::float8 AS us_paused
FROM episode_vcpu v JOIN episode e ON e.host_id = v.host_id AND e.episode_id = v.episode_id
	JOIN capture c ON c.host_id = v.host_id JOIN host h ON h.host_id = v.host_id;

CREATE VIEW npfs AS
SELECT h.host, e.event_id, e.tsc, us_between(c.tsc_first, e.tsc, c.cpu_hz) AS us,
	p.domid, p.vcpu, e.frame AS gfn, e.arg2 AS gpa, e.pte AS mfn, mod(e.arg1, 256)::integer AS type,
	e.error_code AS qualification,
	CASE div(e.arg1, 256)::integer WHEN 1 THEN 'dirty' WHEN 2 THEN 'mmio' WHEN 3 THEN 'populate'
		WHEN 4 THEN 'access' WHEN 5 THEN 'misconfig' ELSE 'other' END AS what,
	e.rip,
	(SELECT s.name FROM symbol s WHERE s.host_id = e.host_id AND s.rip = e.rip
		AND s.domid IN (p.domid, -1) ORDER BY s.domid DESC LIMIT 1) AS symbol,
	e.count AS cycles
FROM event e JOIN event_type t ON t.host_id = e.host_id AND t.type = e.type
	JOIN event_place p ON p.host_id = e.host_id AND p.place = e.place
	JOIN capture c ON c.host_id = e.host_id JOIN host h ON h.host_id = e.host_id
WHERE t.name = 'npf';

-- 532503, 532759: IOMEM_READ; 533015, 533271: IOMEM_WRITE
CREATE VIEW mmio AS
SELECT h.host, g.domid, g.gfn, g.gpa, g.rip,
	(SELECT s.name FROM symbol s WHERE s.host_id = g.host_id AND s.rip = g.rip
		AND s.domid IN (g.domid, -1) ORDER BY s.domid DESC LIMIT 1) AS symbol,
	g.npfs, g.reads, g.writes, g.cycles
FROM (SELECT e.host_id, p.domid, e.frame AS gfn, e.arg2 AS gpa, e.rip,
		sum((t.name = 'npf')::integer) AS npfs,
		sum((t.raw_id IN (532503, 532759))::integer) AS reads,
		sum((t.raw_id IN (533015, 533271))::integer) AS writes,
		sum(CASE WHEN t.name = 'npf' THEN e.count END) AS cycles
	FROM event e JOIN event_type t ON t.host_id = e.host_id AND t.type = e.type
		JOIN event_place p ON p.host_id = e.host_id AND p.place = e.place
	WHERE (t.name = 'npf' AND div(e.arg1, 256) = 2)
		OR t.raw_id IN (532503, 532759, 533015, 533271)
	GROUP BY e.host_id, p.domid, e.frame, e.arg2, e.rip) g JOIN host h ON h.host_id = g.host_id;

CREATE VIEW episode_forks AS
SELECT h.host, g.episode_id, g.domid, g.pt_pages, g.ptes_per_page, g.inside, g.outside,
	g.cycles_inside, g.cycles_outside,
	g.cycles_inside * 1e6::float8 / c.cpu_hz::float8 AS us_inside,
	g.cycles_outside * 1e6::float8 / c.cpu_hz::float8 AS us_outside,
	(g.cycles_inside - g.cycles_outside) * 1e6::float8 / c.cpu_hz::float8 AS us_added
FROM (SELECT s.host_id, s.episode_id, s.domid, s.pt_pages, s.ptes_per_page,
		sum(s.inside) AS inside, sum(1 - s.inside) AS outside,
		avg(CASE WHEN s.inside = 1 THEN s.cycles END) AS cycles_inside,
		avg(CASE WHEN s.inside = 0 THEN s.cycles END) AS cycles_outside
	FROM (SELECT e.host_id, e.episode_id, e.domid, f.pt_pages,
			round(f.ptes::numeric / f.pt_pages)::integer AS ptes_per_page,
			(f.tsc_end - f.tsc_start)::float8 AS cycles,
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
SELECT h.host, p.domid, p.pid, p.comm, sum(p.forks) AS forks, sum(p.cycles)::float8 * 1e6::float8 / c.cpu_hz::float8 AS us,
	sum(p.ptes) AS ptes, sum(p.cow_faults) AS cow_faults, min(p.tsc_first) AS first_tsc,
	max(p.tsc_last) AS last_tsc, sum(p.silent) AS silent, sum(p.threads) AS threads,
	sum(p.cycles) AS cycles, max(d.name) AS domain
FROM (SELECT f.host_id, f.domid, g.pid, g.comm, 1 AS forks, (f.tsc_end - f.tsc_start)::bigint AS cycles, f.ptes,
		f.cow_faults, f.tsc_start AS tsc_first, f.tsc_end AS tsc_last, 0 AS silent, 0 AS threads
	FROM fork f LEFT JOIN fork_name n ON n.host_id = f.host_id AND n.fork_id = f.fork_id
		LEFT JOIN guest_fork g ON g.host_id = n.host_id AND g.guest_fork_id = n.guest_fork_id
	UNION ALL
	SELECT g.host_id, l.domid, g.pid, g.comm, 0, 0, 0, 0, g.tsc, g.tsc,
		CASE WHEN d.what = 'fork' AND d.found = 'no' THEN 1 ELSE 0 END,
		CASE WHEN d.what IN ('thread', 'vfork', 'shared') THEN 1 ELSE 0 END
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
	coalesce((SELECT sum(p.events) FROM event_place p WHERE p.host_id = a.host_id AND p.domid = a.domid), 0)
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
SELECT h.host, g.guest_fork_id, l.domid, g.tsc, us_between(c.tsc_first, g.tsc, c.cpu_hz) AS us,
	g.vcpu, g.pid, g.comm, g.child_pid, d.what, d.found, d.fork_id
FROM guest_fork g JOIN guest_log l ON l.host_id = g.host_id AND l.log_id = g.log_id
	LEFT JOIN guest_fork_found d ON d.host_id = g.host_id AND d.guest_fork_id = g.guest_fork_id
	JOIN capture c ON c.host_id = g.host_id JOIN host h ON h.host_id = g.host_id;

CREATE VIEW guest_tasks AS
SELECT h.host, t.guest_task_id, l.domid, t.tsc, us_between(c.tsc_first, t.tsc, c.cpu_hz) AS us,
	t.vcpu, t.pid, t.comm, t.what, t.file
FROM guest_task t JOIN guest_log l ON l.host_id = t.host_id AND l.log_id = t.log_id
	JOIN capture c ON c.host_id = t.host_id JOIN host h ON h.host_id = t.host_id;

CREATE VIEW guest_runs AS
SELECT h.host, l.domid, r.vcpu, r.tsc_start, r.tsc_end,
	us_between(r.tsc_start, r.tsc_end, c.cpu_hz) AS us, r.pid, r.comm
FROM guest_run r JOIN guest_log l ON l.host_id = r.host_id AND l.log_id = r.log_id
	JOIN capture c ON c.host_id = r.host_id JOIN host h ON h.host_id = r.host_id;

COMMIT;
