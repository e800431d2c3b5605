-- SPDX-License-Identifier: GPL-2.0-or-later
-- Facts: what the trace said.  Written by the collector, never changed by the analyzer.
-- Addresses, PTEs and TSCs are 64-bit integers as two's complement.

-- One row: the capture.
CREATE TABLE capture (
	source          TEXT NOT NULL,     -- file name, "-" for standard input, or the command
	format          TEXT NOT NULL,     -- variable, fixed64, fixed32
	records         INTEGER NOT NULL,  -- records in the stream, without the window headers
	events          INTEGER NOT NULL,  -- rows of event
	lost_records    INTEGER NOT NULL,  -- sum of losses
	unknown_records INTEGER NOT NULL,  -- records whose id or length no decoder fits
	tsc_first       INTEGER,           -- first and last time of a record, cycles
	tsc_last        INTEGER,
	cpu_hz          INTEGER,           -- cycles per second, NULL = unknown
	complete        INTEGER NOT NULL,  -- 0 = cut short, damaged or interrupted
	tool_version    TEXT NOT NULL,
	tsc_base        INTEGER NOT NULL   -- what was taken off each TSC, as numbers past 2^63 would be negative
);

-- Events in time order.  event_id counts from 1 without holes.
-- arg1, arg2 by kind:
--   unhook, rehook (2006)   which hook (0 active, 1 inactive, +0x100 by another VCPU); L2 index
--   unhook, fixup, emulate, page_fault, not_shadow (shadow)   the record's flags word
--   emulate (2006)          bytes written
--   flush                   reason (0 unhook, 1 rehook); CPU mask
--   flush, flush_ipi, flush_filter, flush_cpus, flush_end, cr3, update, pte, validate, devalidate, and
--   mmuext with raw_id 0x208004 (trace points of today's Xen)   schemas/trace-points.md
--   batch, task_switch, multicall, mmuext, iret, hypercall
--                           hypercall number; number of like calls in the row, NULL = 1
--   cr_write                register; value
--   loss                    TSC of the first lost record; count NULL = a gap: nothing says how many
--   domain_add, domain_remove   the domain in question (domid is who asked)
-- event_id stands last: SQLite then takes the columns of an INSERT ... SELECT as they come and counts
-- event_id itself; anywhere else it copies each value once more, a tenth of the time.  The columns, in
-- this order, are those of xf_event_values() as well.
CREATE TABLE event (
	tsc        INTEGER,  -- cycles; of the record before it on that pCPU where it carried none
	place      INTEGER NOT NULL REFERENCES event_place,
	type       INTEGER NOT NULL REFERENCES event_type,
	va         INTEGER,  -- as recorded: of unhook, rehook, emulate it is the PTE's own address
	rip        INTEGER,
	error_code INTEGER,
	pte        INTEGER,  -- new value; of shadow faults the guest's entry for va
	frame      INTEGER,
	count      INTEGER,
	arg1       INTEGER,
	arg2       INTEGER,
	event_id   INTEGER PRIMARY KEY
);

-- What recurs in the rows of event stands once here: half of the time that storing them takes.
CREATE TABLE event_place (
	place INTEGER PRIMARY KEY,
	pcpu  INTEGER NOT NULL,
	domid INTEGER,           -- both NULL = unknown
	vcpu  INTEGER,
	events INTEGER NOT NULL  -- rows of event there
);

CREATE TABLE event_type (
	type      INTEGER PRIMARY KEY,
	kind      INTEGER NOT NULL REFERENCES event_kind,
	name      TEXT NOT NULL,     -- of the kind
	raw_id    INTEGER NOT NULL,  -- id of the record
	pte_shift INTEGER,           -- log2 of the PTE size where va is the address of a PTE
	events    INTEGER NOT NULL   -- rows of event of it
);

-- Events whose record carried no TSC: they lie between event.tsc and this.
CREATE TABLE event_late (
	event_id INTEGER PRIMARY KEY,
	tsc_late INTEGER NOT NULL
);

CREATE TABLE event_kind (
	kind INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	what TEXT NOT NULL
);

-- Losses: from the first lost record to the record that reports them.
CREATE TABLE loss (
	loss_id   INTEGER PRIMARY KEY,
	pcpu      INTEGER NOT NULL,
	tsc_first INTEGER,           -- NULL where the format has none
	tsc_last  INTEGER,
	lost      INTEGER NOT NULL,  -- records
	domid     INTEGER,           -- current on that pCPU afterwards
	vcpu      INTEGER
);

-- The pCPUs that have records.  clock_*: its clock against that of the reference pCPU, cycles, as the records
-- prove it; NULL = they do not.  TSC - clock_offset - clock_drift * (TSC - clock_origin) is the others' time.
CREATE TABLE pcpu (
	pcpu         INTEGER PRIMARY KEY,
	tsc_first    INTEGER,           -- first and last time of a record, as recorded
	tsc_last     INTEGER,
	records      INTEGER NOT NULL,
	lost         INTEGER NOT NULL,  -- records
	clock_offset INTEGER NOT NULL,  -- 0 = none is needed
	clock_drift  REAL NOT NULL,     -- cycles per cycle
	clock_origin INTEGER NOT NULL,  -- TSC, as recorded
	clock_low    INTEGER,           -- bounds of the offset
	clock_high   INTEGER,
	clock_tight  INTEGER NOT NULL,  -- 1 = the bounds are near enough to correct it
	clock_wrong  INTEGER NOT NULL,  -- contradictions that are left, with the correction
	corrected    INTEGER NOT NULL   -- 1 = the events' times are corrected
);

-- Spans without records in which there should be some: what ran there then is not known.
CREATE TABLE gap (
	gap_id    INTEGER PRIMARY KEY,
	pcpu      INTEGER NOT NULL,
	tsc_first INTEGER NOT NULL,
	tsc_last  INTEGER NOT NULL,
	why       TEXT NOT NULL        -- start, middle, end (of the capture), seam (on all pCPUs)
);

-- Records by id and length, all of them, also those that become no event.
CREATE TABLE record_count (
	raw_id  INTEGER NOT NULL,
	words   INTEGER NOT NULL,
	name    TEXT,               -- NULL = unknown id
	fits    INTEGER NOT NULL,   -- 0 = no decoder for this id and length
	records INTEGER NOT NULL,
	PRIMARY KEY (raw_id, words)
) WITHOUT ROWID;

-- What the collector cannot vouch for.
CREATE TABLE doubt (
	code    TEXT PRIMARY KEY,
	count   INTEGER NOT NULL,
	tsc     INTEGER,            -- of the first one
	offset  INTEGER,            -- of the first one, bytes into the stream
	text    TEXT NOT NULL
) WITHOUT ROWID;

-- Names for the instruction addresses in this capture, from the symbol files that were given.
CREATE TABLE symbol (
	domid  INTEGER NOT NULL,    -- -1 = any domain
	rip    INTEGER NOT NULL,
	name   TEXT NOT NULL,       -- function+0xoffset
	PRIMARY KEY (domid, rip)
) WITHOUT ROWID;

-- Names of domains, as the host has them (--domain-names, xl list).
CREATE TABLE domain_name (
	domid INTEGER PRIMARY KEY,
	name  TEXT NOT NULL
);

-- Logs of guests' own kernels (--guest), one of a domain.  Their times are on the capture's clock.
CREATE TABLE guest_log (
	log_id      INTEGER PRIMARY KEY,
	domid       INTEGER NOT NULL,
	source      TEXT NOT NULL,     -- file, "-" for standard input, or the command
	clock       TEXT NOT NULL,     -- what its times were: cycles, seconds
	events      INTEGER NOT NULL,
	bad_lines   INTEGER NOT NULL,  -- that are no events
	disordered  INTEGER NOT NULL,  -- events behind one of a later time
	lost        INTEGER NOT NULL,  -- events that the kernel says it lost
	overwritten INTEGER NOT NULL,  -- 1 = the oldest ones too, not counted
	tsc_first   INTEGER NOT NULL,  -- of its events
	tsc_last    INTEGER NOT NULL,
	rate        REAL NOT NULL,     -- TSC cycles per cycle, or per nanosecond
	faults      INTEGER NOT NULL,  -- user page faults of it while the capture has all records
	matched     INTEGER NOT NULL,  -- of them those that the capture has too
	residual    INTEGER,           -- largest distance of the two times of a fault, cycles
	slack       INTEGER NOT NULL,  -- times may be wrong by so many cycles
	switches    INTEGER NOT NULL,  -- 1 = it has sched_switch,
	pins        INTEGER NOT NULL,  -- xen_mmu_pgd_pin,
	flags       INTEGER NOT NULL   -- task_newtask
);

-- sched_process_fork: threads too.
CREATE TABLE guest_fork (
	guest_fork_id INTEGER PRIMARY KEY,
	log_id      INTEGER NOT NULL REFERENCES guest_log,
	tsc         INTEGER NOT NULL,  -- of that line
	vcpu        INTEGER NOT NULL,
	pid         INTEGER NOT NULL,  -- who forked
	comm        TEXT NOT NULL,
	child_pid   INTEGER NOT NULL,
	clone_flags INTEGER,           -- NULL = the log has no task_newtask of it
	tsc_begin   INTEGER NOT NULL,  -- it can not have begun earlier
	begin_known INTEGER NOT NULL,  -- 1 = by a line of the task, 0 = by the log's beginning or a loss
	tsc_pin     INTEGER,           -- the task pinned page tables since, last; NULL = it did not
	pin_vcpu    INTEGER
);

CREATE TABLE guest_task (
	guest_task_id INTEGER PRIMARY KEY,
	log_id INTEGER NOT NULL REFERENCES guest_log,
	tsc    INTEGER NOT NULL,
	vcpu   INTEGER NOT NULL,
	pid    INTEGER NOT NULL,
	comm   TEXT NOT NULL,
	what   TEXT NOT NULL,          -- exec, exit
	file   TEXT                    -- exec
);

-- Which task a vCPU ran, but for the idle one.
CREATE TABLE guest_run (
	log_id    INTEGER NOT NULL REFERENCES guest_log,
	vcpu      INTEGER NOT NULL,
	tsc_start INTEGER NOT NULL,
	tsc_end   INTEGER NOT NULL,
	pid       INTEGER NOT NULL,
	comm      TEXT NOT NULL,
	PRIMARY KEY (log_id, vcpu, tsc_start)
) WITHOUT ROWID;

CREATE INDEX guest_fork_by_log ON guest_fork (log_id);
CREATE INDEX guest_task_by_log ON guest_task (log_id);
