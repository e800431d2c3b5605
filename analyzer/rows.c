// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of the derived tables.  In: closed sequences and forks.  Out: SQLite rows. */
#include <stdlib.h>

#include "analyzer/state.h"
#include "schemas/db.h"

static const char insert_fork[] =
	"INSERT INTO fork (fork_id, domid, vcpu, tsc_start, tsc_end, tsc_pin, copied, preempted,"
	" mechanism, pt_pages, ptes, faults, unhooks, rehooks, emulations, flushes, spurious, cow_faults, complete, rip, ended_by,"
	" doubt, first_event, last_event)"
	" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

static const char insert_sequence[] =
	"INSERT INTO sequence (sequence_id, fork_id, domid, vcpu, pt_page, frame, va_base, mechanism,"
	" tsc_start, tsc_end, tsc_slack, faults, ptes, unhooks, rehooks, emulations, flushes, spurious,"
	" ended_by, complete, first_event, last_event)"
	" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

static const char insert_spurious[] =
	"INSERT INTO spurious_fault (event_id, cause, other_vcpu, other_event, gap, confidence)"
	" VALUES (?, ?, ?, ?, ?, ?)";

static const char add_sequence_spurious[] =
	"UPDATE sequence SET spurious = spurious + 1, faults = faults + 1 WHERE sequence_id = ?";

static const char add_fork_spurious[] =
	"UPDATE fork SET spurious = spurious + 1, faults = faults + 1 WHERE fork_id = ?";

static const char *const sql[XF_STATEMENTS] = {
	[XF_INSERT_FORK] = insert_fork,
	[XF_INSERT_SEQUENCE] = insert_sequence,
	[XF_INSERT_SPURIOUS] = insert_spurious,
	[XF_INSERT_FINDING] = "INSERT OR REPLACE INTO finding (code, count, text) VALUES (?, ?, ?)",
	[XF_FORGET_FORK] = "UPDATE sequence SET fork_id = NULL WHERE fork_id = ?",
	[XF_MOVE_FORK] = "UPDATE sequence SET fork_id = ?2 WHERE fork_id = ?1",
	[XF_SET_BASE] = "UPDATE sequence SET va_base = ?2 WHERE sequence_id = ?1",
	[XF_ADD_SEQUENCE_SPURIOUS] = add_sequence_spurious,
	[XF_ADD_FORK_SPURIOUS] = add_fork_spurious,
	[XF_ADD_COW] = "UPDATE sequence SET cow_faults = cow_faults + 1 WHERE sequence_id = ?",
	[XF_INSERT_EPISODE] =
		"INSERT OR REPLACE INTO episode (episode_id, domid, tsc_start, tsc_end, fixups, pages, dirtied,"
		" round_pages, rounds, faults, complete, ended_by, first_event, last_event, mechanism, sure,"
		" unread) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[XF_INSERT_ROUND] =
		"INSERT INTO episode_round (episode_id, round, tsc_start, tsc_end, fixups, pages, dirtied,"
		" ended_by, sure) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[XF_DELETE_ROUNDS] = "DELETE FROM episode_round WHERE episode_id = ?",
	[XF_INSERT_PAGE] =
		"INSERT INTO episode_page (page_id, episode_id, round, frame, rip, event_id, split)"
		" VALUES (?, ?, ?, ?, ?, ?, ?)",
	[XF_MOVE_PAGES] =
		"UPDATE episode_page SET round = ?2 WHERE page_id >= ?3 AND episode_id = ?1",
	[XF_INSERT_EPISODE_VCPU] =
		"INSERT OR REPLACE INTO episode_vcpu (episode_id, vcpu, fixups, cycles, recalcs,"
		" recalc_cycles, paused) VALUES (?, ?, ?, ?, ?, ?, ?)",
	[XF_INSERT_WALK] = "INSERT INTO walk VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[XF_DELETE_WALKS] = "DELETE FROM walk WHERE rip = ? AND domid IS ?",
	[XF_INSERT_TLB] =
		"INSERT INTO tlb_flush (event_id, fork_id, domid, vcpu, cause, detail, reach, done, cpus,"
		" remote, spared, frame, ipis, cycles) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[XF_INSERT_INTERRUPT] =
		"INSERT INTO tlb_interrupt (event_id, flush, cycles) VALUES (?, ?, ?)",
	[XF_FORGET_FLUSHES] = "UPDATE tlb_flush SET fork_id = NULL WHERE fork_id = ?",
	[XF_MOVE_FLUSHES] = "UPDATE tlb_flush SET fork_id = ?2 WHERE fork_id = ?1",
	[XF_ADD_FORK_FLUSH] = "UPDATE fork SET flushes = flushes + 1 WHERE fork_id = ?",
	[XF_INSERT_FLUSH] = "INSERT INTO flush VALUES (?, ?, ?, ?, ?, ?)",
	[XF_SET_COW] = "UPDATE fork SET cow_faults = ?2 WHERE fork_id = ?1",
};

static const char *const end_names[] = {
	[XF_END_NONE] = "end",
	[XF_END_REHOOK] = "rehook",
	[XF_END_NEXT] = "next",
	[XF_END_FAULT] = "fault",
	[XF_END_PIN] = "pin",
	[XF_END_UNSHADOW] = "unshadow",
	[XF_END_LOSS] = "loss",
	[XF_END_END] = "end",
};

static const struct {
	const char *code, *text;
} findings[XF_FINDING_COUNT] = {
	[XF_FINDING_UNMATCHED_REHOOK] = {"unmatched_rehook",
		"rehooks of a page that was not seen unhooked"},
	[XF_FINDING_DOUBLE_UNHOOK] = {"double_unhook",
		"unhooks of a page unhooked already (its rehook is not in the trace)"},
	[XF_FINDING_FORK_RESUMED] = {"fork_resumed",
		"forks that seem to go on after another task ran on their vCPU"},
	[XF_FINDING_FORK_MOVED] = {"fork_moved", "forks that seem to go on on another vCPU"},
	[XF_FINDING_FORK_UNDECIDED] = {"fork_undecided",
		"forks that may be the rest of another: the records do not decide"},
	[XF_FINDING_UNOWNED] = {"unowned",
		"page-table writes of unknown vCPUs, taken as one vCPU for each pCPU"},
	[XF_FINDING_SHADOW_FORKS] = {"shadow_forks",
		"shadow guests' forks: pages already out of sync are written unseen"},
	[XF_FINDING_COW_GUESS] = {"cow_guess",
		"COW breaks by reuse whose address space is a guess among several"},
	[XF_FINDING_FRAMES] = {"frames_uncounted",
		"fixups in shadow mode whose page was not counted: more pages than fit in memory"},
	[XF_FINDING_AGING] = {"aging",
		"walks that clear accessed bits: memory is being reclaimed, or its use measured; they are no"
		" forks (xenfault walks)"},
	[XF_FINDING_IDLE_FORKS] = {"idle_forks",
		"forks while no guest ran: the records of who runs are wrong or missing"},
	[XF_FINDING_LOOP] = {"fault_loop",
		"times a vCPU took the same fault over and over without progress"},
	[XF_FINDING_FLUSH_IPI] = {"flush_ipi",
		"flushes done for another CPU whose own record was not seen, or is later by its clock"},
	[XF_FINDING_FLOATING] = {"floating",
		"unsyncs and resyncs without a time of their own, see tsc_slack"},
};

int xf_rows_prepare(struct xf_analyzer *a)
{
	int code = 0;

	for (int i = 0; i < XF_STATEMENTS && !code; i++)
		code = xf_db_prepare(a->db, &a->statements[i], sql[i], a->err);
	return code;
}

void xf_rows_finalize(struct xf_analyzer *a)
{
	for (int i = 0; i < XF_STATEMENTS; i++) {
		sqlite3_finalize(a->statements[i]);
		a->statements[i] = NULL;
	}
}

sqlite3_stmt *xf_rows_statement(struct xf_analyzer *a, enum xf_statement which, int64_t id)
{
	sqlite3_stmt *stmt = a->statements[which];

	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt);
	sqlite3_bind_int64(stmt, 1, id);
	return stmt;
}

int xf_rows_run(struct xf_analyzer *a, sqlite3_stmt *stmt)
{
	int code = xf_db_step(stmt, a->err);

	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt);
	return code;
}

static int add(sqlite3_stmt *stmt, int at, uint64_t value)
{
	sqlite3_bind_int64(stmt, at, (int64_t)value);
	return at + 1;
}

static int add_if(sqlite3_stmt *stmt, int at, bool known, uint64_t value)
{
	if (known)
		sqlite3_bind_int64(stmt, at, (int64_t)value);
	return at + 1;
}

static int add_text(sqlite3_stmt *stmt, int at, const char *text)
{
	sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
	return at + 1;
}

static int add_costs(sqlite3_stmt *stmt, int at, const struct xf_costs *costs)
{
	at = add(stmt, at, costs->unhooks);
	at = add(stmt, at, costs->rehooks);
	at = add(stmt, at, costs->emulations);
	at = add(stmt, at, costs->flushes);
	return add(stmt, at, costs->spurious);
}

const char *xf_rows_mechanism(const struct xf_fork *fork)
{
	if (fork->has_emulated + fork->has_unhooked + fork->has_shadow > 1)
		return "mixed";
	return fork->has_shadow ? "oos" : fork->has_unhooked ? "unhook" : "emulate";
}

/* What another task set meanwhile cannot be told from what the fork did; 0 = mmu_update has no counts here. */
static bool copied_known(const struct xf_fork *fork)
{
	return fork->ended_by == XF_END_PIN && !fork->preempted && !fork->cut && fork->copied;
}

int xf_rows_fork(struct xf_analyzer *a, const struct xf_fork *fork)
{
	sqlite3_stmt *stmt = a->statements[XF_INSERT_FORK];
	const struct xf_vcpu *v = fork->first_vcpu;
	const uint64_t *cow = xf_map_get(&a->cow, (uint64_t)fork->id);
	bool whole = !fork->cut && fork->ended_by != XF_END_LOSS && fork->ended_by != XF_END_END;
	int at = 1;

	at = add(stmt, at, (uint64_t)fork->id);
	at = add_if(stmt, at, v->known, v->domain->id);
	at = add_if(stmt, at, v->known, v->number);
	at = add(stmt, at, fork->tsc_start);
	at = add(stmt, at, fork->tsc_end);
	at = add_if(stmt, at, fork->tsc_pin != 0, fork->tsc_pin);
	at = add_if(stmt, at, copied_known(fork), fork->copied);
	at = add(stmt, at, fork->preempted);
	at = add_text(stmt, at, xf_rows_mechanism(fork));
	at = add(stmt, at, fork->npages);
	at = add(stmt, at, fork->costs.ptes);
	at = add(stmt, at, fork->costs.faults);
	at = add_costs(stmt, at, &fork->costs);
	at = add(stmt, at, cow ? *cow : 0);
	at = add(stmt, at, whole);
	at = add_if(stmt, at, fork->nlanes && fork->lanes[0].rip, fork->lanes[0].rip);
	at = add_text(stmt, at, end_names[fork->ended_by]);
	at = add_text(stmt, at, fork->doubt);
	at = add(stmt, at, (uint64_t)fork->first_event);
	add(stmt, at, (uint64_t)fork->last_event);
	return xf_rows_run(a, stmt);
}

int xf_rows_sequence(struct xf_analyzer *a, const struct xf_sequence *s, enum xf_end end)
{
	sqlite3_stmt *stmt = a->statements[XF_INSERT_SEQUENCE];
	bool whole = !s->cut && end != XF_END_LOSS && end != XF_END_END;
	int at = 1;

	at = add(stmt, at, (uint64_t)s->id);
	at = add_if(stmt, at, s->fork != NULL, s->fork ? (uint64_t)s->fork->id : 0);
	at = add_if(stmt, at, s->vcpu->known, s->vcpu->domain->id);
	at = add_if(stmt, at, s->vcpu->known, s->vcpu->number);
	at = add_if(stmt, at, s->has_page, s->page);
	at = add_if(stmt, at, s->has_frame, s->frame);
	at = add_if(stmt, at, s->has_base, s->va_base);
	at = add_text(stmt, at, s->shadow ? "oos" : s->costs.unhooks ? "unhook" : "emulate");
	at = add(stmt, at, s->tsc_start);
	at = add(stmt, at, s->tsc_end);
	at = add(stmt, at, s->slack);
	at = add(stmt, at, s->costs.faults);
	at = add(stmt, at, s->costs.ptes);
	at = add_costs(stmt, at, &s->costs);
	at = add_text(stmt, at, end_names[end]);
	at = add(stmt, at, whole);
	at = add(stmt, at, (uint64_t)s->first_event);
	add(stmt, at, (uint64_t)s->last_event);
	return xf_rows_run(a, stmt);
}

int xf_rows_spurious(struct xf_analyzer *a, int64_t event_id, const char *cause, int other_vcpu,
	int64_t other_event, int64_t gap, const char *confidence)
{
	sqlite3_stmt *stmt = a->statements[XF_INSERT_SPURIOUS];

	add(stmt, 1, (uint64_t)event_id);
	add_text(stmt, 2, cause);
	add_if(stmt, 3, other_vcpu >= 0, (uint64_t)other_vcpu);
	add_if(stmt, 4, other_event > 0, (uint64_t)other_event);
	add_if(stmt, 5, other_event > 0, (uint64_t)gap);
	add_text(stmt, 6, confidence);
	return xf_rows_run(a, stmt);
}

int xf_rows_findings(struct xf_analyzer *a)
{
	sqlite3_stmt *stmt = a->statements[XF_INSERT_FINDING];
	int code = 0;

	for (int i = 0; i < XF_FINDING_COUNT && !code; i++) {
		if (!a->findings[i])
			continue;
		add_text(stmt, 1, findings[i].code);
		add(stmt, 2, a->findings[i]);
		add_text(stmt, 3, findings[i].text);
		code = xf_rows_run(a, stmt);
	}
	return code;
}

int xf_rows_forget_fork(struct xf_analyzer *a, int64_t fork_id)
{
	int code;

	add(a->statements[XF_FORGET_FORK], 1, (uint64_t)fork_id);
	code = xf_rows_run(a, a->statements[XF_FORGET_FORK]);
	if (code || !a->tlbs.count)
		return code;
	add(a->statements[XF_FORGET_FLUSHES], 1, (uint64_t)fork_id);
	return xf_rows_run(a, a->statements[XF_FORGET_FLUSHES]);
}

int xf_rows_move_fork(struct xf_analyzer *a, int64_t from, int64_t to)
{
	int code;

	add(a->statements[XF_MOVE_FORK], 1, (uint64_t)from);
	add(a->statements[XF_MOVE_FORK], 2, (uint64_t)to);
	code = xf_rows_run(a, a->statements[XF_MOVE_FORK]);
	if (code || !a->tlbs.count)
		return code;
	add(a->statements[XF_MOVE_FLUSHES], 1, (uint64_t)from);
	add(a->statements[XF_MOVE_FLUSHES], 2, (uint64_t)to);
	return xf_rows_run(a, a->statements[XF_MOVE_FLUSHES]);
}

int xf_rows_set_base(struct xf_analyzer *a, int64_t sequence_id, uint64_t va_base)
{
	add(a->statements[XF_SET_BASE], 1, (uint64_t)sequence_id);
	add(a->statements[XF_SET_BASE], 2, va_base);
	return xf_rows_run(a, a->statements[XF_SET_BASE]);
}

int xf_rows_set_cow(struct xf_analyzer *a, int64_t fork_id, uint64_t n)
{
	add(a->statements[XF_SET_COW], 1, (uint64_t)fork_id);
	add(a->statements[XF_SET_COW], 2, n);
	return xf_rows_run(a, a->statements[XF_SET_COW]);
}

int xf_rows_add_cow(struct xf_analyzer *a, int64_t sequence_id)
{
	add(a->statements[XF_ADD_COW], 1, (uint64_t)sequence_id);
	return xf_rows_run(a, a->statements[XF_ADD_COW]);
}

int xf_rows_tlb(struct xf_analyzer *a, const struct xf_rows_tlb *row)
{
	sqlite3_stmt *stmt = a->statements[XF_INSERT_TLB];
	int at = 1;

	at = add(stmt, at, (uint64_t)row->event_id);
	at = add_if(stmt, at, row->fork_id != 0, (uint64_t)row->fork_id);
	at = add_if(stmt, at, row->has_owner, row->domid);
	at = add_if(stmt, at, row->has_owner, row->vcpu);
	at = add_text(stmt, at, row->cause);
	sqlite3_bind_text(stmt, at++, row->detail, -1, SQLITE_TRANSIENT);
	at = add_text(stmt, at, row->reach);
	at = add(stmt, at, row->done);
	at = add(stmt, at, row->cpus);
	at = add(stmt, at, row->remote);
	at = add_if(stmt, at, row->filtered, row->spared);
	at = add_if(stmt, at, row->has_frame, row->frame);
	at = add(stmt, at, row->ipis);
	add_if(stmt, at, row->has_cycles, row->cycles);
	return xf_rows_run(a, stmt);
}

int xf_rows_interrupt(struct xf_analyzer *a, int64_t event_id, int64_t flush, int64_t cycles)
{
	sqlite3_stmt *stmt = a->statements[XF_INSERT_INTERRUPT];

	add(stmt, 1, (uint64_t)event_id);
	add_if(stmt, 2, flush != 0, (uint64_t)flush);
	add_if(stmt, 3, flush != 0, (uint64_t)cycles);
	return xf_rows_run(a, stmt);
}

int xf_rows_add_fork_flush(struct xf_analyzer *a, int64_t fork_id)
{
	add(a->statements[XF_ADD_FORK_FLUSH], 1, (uint64_t)fork_id);
	return xf_rows_run(a, a->statements[XF_ADD_FORK_FLUSH]);
}

int xf_rows_flush(struct xf_analyzer *a, int64_t fork_id, const char *mechanism,
	enum xf_cause cause, enum xf_reach reach, const struct xf_flushes *f)
{
	static const char *const causes[] = {"unhook", "rehook", "invlpg", "cr3", "hypercall"};
	static const char *const reaches[] = {"address", "all", "unknown"};
	sqlite3_stmt *stmt = a->statements[XF_INSERT_FLUSH];

	add_if(stmt, 1, fork_id > 0, (uint64_t)fork_id);
	add_text(stmt, 2, mechanism);
	add_text(stmt, 3, causes[cause]);
	add_text(stmt, 4, reaches[reach]);
	add(stmt, 5, f->n);
	add_if(stmt, 6, f->has_cpus, f->cpus);
	return xf_rows_run(a, stmt);
}

int xf_rows_episode_page(struct xf_analyzer *a, int64_t episode_id, uint64_t round,
	const struct xf_event *event, bool split)
{
	sqlite3_stmt *stmt = a->statements[XF_INSERT_PAGE];
	int at = 1;

	at = add(stmt, at, (uint64_t)++a->page_row);
	at = add(stmt, at, (uint64_t)episode_id);
	at = add(stmt, at, round);
	at = add(stmt, at, event->frame);
	at = add_if(stmt, at, event->has & XF_HAS_RIP, event->rip);
	at = add(stmt, at, (uint64_t)a->event_id);
	add_if(stmt, at, split, 1);
	return xf_rows_run(a, stmt);
}

int xf_rows_move_pages(struct xf_analyzer *a, int64_t episode_id, uint64_t round, int64_t from)
{
	sqlite3_stmt *stmt = xf_rows_statement(a, XF_MOVE_PAGES, episode_id);

	sqlite3_bind_int64(stmt, 2, (int64_t)round);
	sqlite3_bind_int64(stmt, 3, from);
	return xf_rows_run(a, stmt);
}

int xf_rows_add_sequence_spurious(struct xf_analyzer *a, int64_t sequence_id)
{
	add(a->statements[XF_ADD_SEQUENCE_SPURIOUS], 1, (uint64_t)sequence_id);
	return xf_rows_run(a, a->statements[XF_ADD_SEQUENCE_SPURIOUS]);
}

int xf_rows_add_fork_spurious(struct xf_analyzer *a, int64_t fork_id)
{
	add(a->statements[XF_ADD_FORK_SPURIOUS], 1, (uint64_t)fork_id);
	return xf_rows_run(a, a->statements[XF_ADD_FORK_SPURIOUS]);
}
