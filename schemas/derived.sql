-- SPDX-License-Identifier: GPL-2.0-or-later
-- Derivations: what the analyzer concluded from the facts.  Dropped and rebuilt at will.

CREATE TABLE fork (
	fork_id     INTEGER PRIMARY KEY,
	domid       INTEGER,
	vcpu        INTEGER,           -- where it began
	tsc_start   INTEGER NOT NULL,  -- first and last record of it, cycles
	tsc_end     INTEGER NOT NULL,
	tsc_pin     INTEGER,           -- the child's tables pinned: the guest's own end of it
	copied      INTEGER,           -- entries its vCPU set by mmu_update from the first record to the pin
	preempted   INTEGER NOT NULL,  -- another task ran on its vCPU before its end
	mechanism   TEXT NOT NULL,
	pt_pages    INTEGER NOT NULL,  -- distinct page-table pages
	ptes        INTEGER NOT NULL,  -- entries changed
	faults      INTEGER NOT NULL,  -- hardware faults it cost
	unhooks     INTEGER NOT NULL,
	rehooks     INTEGER NOT NULL,
	emulations  INTEGER NOT NULL,
	flushes     INTEGER NOT NULL,
	spurious    INTEGER NOT NULL,
	cow_faults  INTEGER NOT NULL,
	complete    INTEGER NOT NULL,
	rip         INTEGER,           -- the instruction that write-protects
	ended_by    TEXT NOT NULL,
	doubt       TEXT,              -- NULL, or why this row may be wrong
	first_event INTEGER NOT NULL,
	last_event  INTEGER NOT NULL
);

CREATE TABLE sequence (
	sequence_id INTEGER PRIMARY KEY,
	fork_id     INTEGER,           -- NULL = no fork
	domid       INTEGER,
	vcpu        INTEGER,
	pt_page     INTEGER,           -- guest-linear address of the page-table page
	frame       INTEGER,
	va_base     INTEGER,           -- first VA it maps, where known
	mechanism   TEXT NOT NULL,
	tsc_start   INTEGER NOT NULL,
	tsc_end     INTEGER NOT NULL,
	tsc_slack   INTEGER NOT NULL,  -- 0 = exact, else start and end may each lie so many cycles later
	faults      INTEGER NOT NULL,
	ptes        INTEGER NOT NULL,
	unhooks     INTEGER NOT NULL,
	rehooks     INTEGER NOT NULL,
	emulations  INTEGER NOT NULL,
	flushes     INTEGER NOT NULL,
	spurious    INTEGER NOT NULL,
	ended_by    TEXT NOT NULL,
	complete    INTEGER NOT NULL,
	cow_faults  INTEGER NOT NULL DEFAULT 0, -- later COW breaks of what it protected
	first_event INTEGER NOT NULL,
	last_event  INTEGER NOT NULL
);

-- Walks through page tables that are no forks.
CREATE TABLE walk (
	walk_id     INTEGER PRIMARY KEY,
	domid       INTEGER,
	vcpu        INTEGER,
	rip         INTEGER NOT NULL,
	kind        TEXT NOT NULL,     -- aging: clears accessed bits
	tsc_start   INTEGER NOT NULL,  -- first and last write, cycles
	tsc_end     INTEGER NOT NULL,
	pt_pages    INTEGER NOT NULL,  -- distinct page-table pages
	ptes        INTEGER NOT NULL,  -- entries written
	complete    INTEGER NOT NULL,
	first_event INTEGER NOT NULL,
	last_event  INTEGER NOT NULL
);

CREATE TABLE spurious_fault (
	event_id    INTEGER PRIMARY KEY,
	cause       TEXT NOT NULL,     -- reported, rehooked, raced
	other_vcpu  INTEGER,
	other_event INTEGER,           -- the event it lost to
	gap         INTEGER,           -- cycles between the two
	confidence  TEXT NOT NULL      -- certain, likely
);

-- TLB flushes that the trace shows, by what they were for.
CREATE TABLE flush (
	fork_id   INTEGER,             -- NULL = outside of any fork
	mechanism TEXT,                -- of the fork
	cause     TEXT NOT NULL,       -- unhook, rehook, invlpg, cr3, hypercall (mmuext_op: unknown)
	reach     TEXT NOT NULL,       -- address, all, unknown
	flushes   INTEGER NOT NULL,
	cpus      INTEGER              -- CPUs hit, summed; NULL = not recorded
);

-- TLB flushes as Xen itself records them (trace points of today's Xen).
CREATE TABLE tlb_flush (
	event_id INTEGER PRIMARY KEY,  -- of the flush; of the filter where that avoided it
	fork_id  INTEGER,              -- NULL = outside of any fork
	domid    INTEGER,              -- who was current
	vcpu     INTEGER,
	cause    TEXT NOT NULL,
	detail   TEXT,                 -- of the cause
	reach    TEXT NOT NULL,        -- address, range, all, global, none
	done     INTEGER NOT NULL,     -- 0 = avoided: the filter by timestamps left no CPU
	cpus     INTEGER NOT NULL,     -- that it is for
	remote   INTEGER NOT NULL,     -- of these, others than its own
	spared   INTEGER,              -- CPUs that the filter left out; NULL = it was not asked
	frame    INTEGER,              -- page whose type changed
	ipis     INTEGER NOT NULL,     -- CPUs seen to flush for it
	cycles   INTEGER               -- to its end, or to the last of them; NULL = nothing tells
);

CREATE TABLE tlb_interrupt (
	event_id INTEGER PRIMARY KEY,
	flush    INTEGER,              -- event_id of the flush; NULL = unknown
	cycles   INTEGER               -- since its record
);

-- A PV domain in shadow mode, as log-dirty mode makes it for a live migration.
CREATE TABLE episode (
	episode_id  INTEGER PRIMARY KEY,
	domid       INTEGER,
	tsc_start   INTEGER NOT NULL,  -- first and last fixup, cycles
	tsc_end     INTEGER NOT NULL,
	fixups      INTEGER NOT NULL,
	pages       INTEGER,           -- distinct frames of the fixups; NULL = not recorded
	dirtied     INTEGER,           -- of them those whose entry was writable and written
	round_pages INTEGER,           -- dirtied of each round, added up: what a migration sends
	rounds      INTEGER NOT NULL,
	faults      INTEGER NOT NULL,  -- delivered to the guest meanwhile, by the shadow handler
	complete    INTEGER NOT NULL,  -- seen to begin and to end, and nothing lost
	ended_by    TEXT NOT NULL,     -- off, removed (the domain), end (of the capture)
	first_event INTEGER NOT NULL,
	last_event  INTEGER NOT NULL,
	mechanism   TEXT NOT NULL,     -- shadow, hap
	sure        TEXT NOT NULL,     -- how the rounds were found: pause, repeat, domctl
	unread      INTEGER            -- hap: pages dirtied after the bitmap was read last
);

-- What one reading of the dirty bitmap finds.
CREATE TABLE episode_round (
	episode_id INTEGER NOT NULL,
	round      INTEGER NOT NULL,   -- from 1; without fixups there is none
	tsc_start  INTEGER NOT NULL,
	tsc_end    INTEGER NOT NULL,
	fixups     INTEGER NOT NULL,
	pages      INTEGER,
	dirtied    INTEGER,
	ended_by   TEXT NOT NULL,      -- domctl; or as the episode
	sure       TEXT NOT NULL,      -- what showed its end
	PRIMARY KEY (episode_id, round)
) WITHOUT ROWID;

-- Each page once in each round that dirtied it.
CREATE TABLE episode_page (
	page_id    INTEGER PRIMARY KEY,
	episode_id INTEGER NOT NULL,
	round      INTEGER NOT NULL,   -- 0 = after the bitmap was read last
	frame      INTEGER NOT NULL,   -- hap: gfn; shadow: machine frame
	rip        INTEGER,            -- the instruction that wrote first
	event_id   INTEGER NOT NULL,
	split      INTEGER             -- 1: that split a p2m entry of 2 MiB or more; NULL: none was seen
);

-- What log-dirty mode took from each vCPU (hap).
CREATE TABLE episode_vcpu (
	episode_id    INTEGER NOT NULL,
	vcpu          INTEGER NOT NULL,
	fixups        INTEGER NOT NULL, -- pages that it dirtied
	cycles        INTEGER NOT NULL, -- from exit to entry for these
	recalcs       INTEGER NOT NULL, -- exits in which Xen recalculated p2m entries
	recalc_cycles INTEGER NOT NULL,
	paused        INTEGER NOT NULL, -- cycles that it was kept from running by pauses
	PRIMARY KEY (episode_id, vcpu)
) WITHOUT ROWID;

-- Forks that a guest's log names.
CREATE TABLE fork_name (
	fork_id       INTEGER PRIMARY KEY,
	guest_fork_id INTEGER NOT NULL,
	named_by      TEXT NOT NULL    -- log, pin, order
);

-- Forks of a guest's log.
CREATE TABLE guest_fork_found (
	guest_fork_id INTEGER PRIMARY KEY,
	what          TEXT,            -- fork, thread, vfork, shared (one of those two), NULL = not known
	fork_id       INTEGER,         -- the first that it names, NULL = none
	found         TEXT NOT NULL    -- yes, no, lost, outside, undecided
);

-- What the analyzer cannot vouch for.
CREATE TABLE finding (
	code  TEXT PRIMARY KEY,
	count INTEGER NOT NULL,
	text  TEXT NOT NULL
) WITHOUT ROWID;

CREATE INDEX episode_page_by_frame ON episode_page (episode_id, frame);
CREATE INDEX tlb_flush_by_fork ON tlb_flush (fork_id);
CREATE INDEX sequence_by_fork ON sequence (fork_id);
