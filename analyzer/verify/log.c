// SPDX-License-Identifier: GPL-2.0-or-later
/* What the log says of vCPUs and tasks.  In: lines.  Out: who runs where, who copies what. */
#include <stdlib.h>
#include <string.h>

#include "analyzer/verify/state.h"

#define CLONE_VM 0x100u

struct xf_verify_cpu *xf_verify_cpu(struct xf_verify *v, uint32_t number)
{
	struct xf_verify_cpu *cpu = xf_map_object(&v->cpus, number, sizeof(*cpu));

	if (!cpu)
		xf_fail_nomem(v->err);
	else
		cpu->number = number;
	return cpu;
}

struct xf_verify_task *xf_verify_task(struct xf_verify *v, uint32_t pid)
{
	struct xf_verify_task *task = xf_map_object(&v->tasks, pid, sizeof(*task));

	if (!task)
		xf_fail_nomem(v->err);
	/* every task that was seen before has an address space */
	else if (!task->mm)
		*task = (struct xf_verify_task){.pid = pid, .mm = ++v->next_mm, .pinned = -1};
	return task;
}

struct xf_truth *xf_verify_truth(struct xf_verify *v, uint64_t number)
{
	return number ? &v->truths[number - 1] : NULL;
}

static struct xf_truth *new_truth(
	struct xf_verify *v, const struct xf_verify_task *task, const struct xf_ftrace_line *line)
{
	struct xf_truth *truth;

	if (v->ntruths == v->truths_room) {
		size_t room = v->truths_room ? 2 * v->truths_room : 64;
		struct xf_truth *more = realloc(v->truths, room * sizeof(*more));

		if (!more) {
			xf_fail_nomem(v->err);
			return NULL;
		}
		v->truths = more;
		v->truths_room = room;
	}
	truth = &v->truths[v->ntruths++];
	*truth = (struct xf_truth){
		.pid = task->pid, .vcpu = line->cpu, .tsc = line->tsc, .pinned = -1};
	return truth;
}

static int copy_begins(
	struct xf_verify *v, struct xf_verify_task *task, const struct xf_ftrace_line *line)
{
	if (!task->truth) {
		if (!new_truth(v, task, line))
			return -XF_INTERNAL;
		task->truth = v->ntruths;
	}
	task->copies = task->probed = true;
	if (!xf_ftrace_number(line->text, "start", 16, &task->start) ||
		!xf_ftrace_number(line->text, "end", 16, &task->end))
		task->start = task->end = 0;
	return 0;
}

static int copy_ends(
	struct xf_verify *v, struct xf_verify_task *task, const struct xf_ftrace_line *line)
{
	struct xf_verify_cpu *cpu = xf_verify_cpu(v, line->cpu);

	if (!cpu)
		return -XF_INTERNAL;
	task->copies = false;
	if (task->probed)
		return 0;
	task->probed = true;
	/* the log began in the middle: what the task wrote just now cannot be judged */
	return xf_verify_orphan(v, cpu);
}

/* sched_process_fork: the copy is made.  Without probes it is all that the log says of a fork. */
static int forked(
	struct xf_verify *v, struct xf_verify_task *task, const struct xf_ftrace_line *line)
{
	struct xf_verify_task *child;
	struct xf_truth *truth;
	uint64_t pid;

	task->truth = 0;
	if (!xf_ftrace_number(line->text, "child_pid", 10, &pid) || pid >= XF_FTRACE_PIDS)
		return 0;
	child = xf_verify_task(v, (uint32_t)pid);
	if (!child)
		return -XF_INTERNAL;
	if (v->survey.copies)
		return 0;
	truth = new_truth(v, task, line);
	if (!truth)
		return -XF_INTERNAL;
	truth->thread = child->mm == task->mm;
	truth->pinned = task->pinned;
	task->pinned = -1;
	memcpy(truth->moves, task->moves, sizeof(truth->moves));
	truth->nmoves = task->nmoves;
	return 0;
}

/* task_newtask comes before sched_process_fork, and says whether the memory is shared. */
static int new_task(struct xf_verify *v, const struct xf_verify_task *task, const char *text)
{
	struct xf_verify_task *child;
	uint64_t pid, flags;

	if (!xf_ftrace_first(text, "pid", 10, &pid) || pid >= XF_FTRACE_PIDS ||
		!xf_ftrace_number(text, "clone_flags", 16, &flags))
		return 0;
	child = xf_verify_task(v, (uint32_t)pid);
	if (!child)
		return -XF_INTERNAL;
	*child = (struct xf_verify_task){.pid = (uint32_t)pid, .probed = true, .pinned = -1};
	child->mm = flags & CLONE_VM ? task->mm : ++v->next_mm;
	return 0;
}

static int migrates(struct xf_verify *v, const struct xf_ftrace_line *line)
{
	struct xf_verify_task *task;
	uint64_t pid, from;

	if (!xf_ftrace_number(line->text, "pid", 10, &pid) || pid >= XF_FTRACE_PIDS ||
		!xf_ftrace_number(line->text, "orig_cpu", 10, &from) || from >= XF_FTRACE_CPUS)
		return 0;
	task = xf_verify_task(v, (uint32_t)pid);
	if (!task)
		return -XF_INTERNAL;
	task->moves[task->nmoves % XF_MOVES].tsc = line->tsc;
	task->moves[task->nmoves++ % XF_MOVES].from = (uint32_t)from;
	return 0;
}

static void switches(struct xf_verify_cpu *cpu, const char *text)
{
	uint64_t pid;

	cpu->known = xf_ftrace_number(text, "next_pid", 10, &pid) && pid < XF_FTRACE_PIDS;
	if (cpu->known)
		cpu->pid = (uint32_t)pid;
}

int xf_verify_line(struct xf_verify *v, const struct xf_ftrace_line *line)
{
	struct xf_verify_cpu *cpu = xf_verify_cpu(v, line->cpu);
	struct xf_verify_task *task = cpu ? xf_verify_task(v, line->pid) : NULL;
	const char *event = line->event;

	if (!task)
		return -XF_INTERNAL;
	cpu->known = true;
	cpu->pid = line->pid;
	if (!strncmp(event, "page_fault_", 11))
		return xf_verify_fault_line(v, line);
	if (!strcmp(event, "sched_switch"))
		switches(cpu, line->text);
	else if (!strcmp(event, "cpr_in"))
		return copy_begins(v, task, line);
	else if (!strcmp(event, "cpr_out"))
		return copy_ends(v, task, line);
	else if (!strcmp(event, "sched_process_fork"))
		return forked(v, task, line);
	else if (!strcmp(event, "task_newtask"))
		return new_task(v, task, line->text);
	else if (!strcmp(event, "sched_migrate_task"))
		return migrates(v, line);
	else if (!strcmp(event, "xen_mmu_pgd_pin"))
		task->pinned = (int)line->cpu;
	else if (!strcmp(event, "sched_process_exec"))
		task->mm = ++v->next_mm;
	if (!strcmp(event, "ap_in") || !strcmp(event, "ap_out") ||
		!strcmp(event, "sched_process_exit")) {
		task->truth = 0;
		task->copies = false;
		task->probed = true;
	}
	return 0;
}

int xf_verify_survey(struct xf_verify *v)
{
	struct xf_survey *s = &v->survey;
	struct xf_ftrace_line line;
	int code;

	s->first = UINT64_MAX;
	while ((code = xf_ftrace_next(v->log, &line, v->err)) == 1) {
		struct xf_verify_cpu *cpu = xf_verify_cpu(v, line.cpu);

		if (!cpu)
			return -XF_INTERNAL;
		if (!cpu->first)
			cpu->first = line.tsc;
		cpu->last = line.tsc;
		s->first = line.tsc < s->first ? line.tsc : s->first;
		s->last = line.tsc > s->last ? line.tsc : s->last;
		s->nfaults += !strncmp(line.event, "page_fault_", 11);
		s->copies |= !strcmp(line.event, "cpr_in");
		s->switches |= !strcmp(line.event, "sched_switch");
		s->threads |= !strcmp(line.event, "task_newtask");
		s->migrations |= !strcmp(line.event, "sched_migrate_task");
		s->forks |= !strcmp(line.event, "sched_process_fork");
		if (v->options->stop && !(line.number & 0xffff) && v->options->stop())
			return xf_fail(v->err, XF_INTERRUPTED, "interrupted");
	}
	s->faults = s->nfaults > 0;
	xf_ftrace_state(v->log, &v->result->log);
	return code < 0 ? code : xf_ftrace_rewind(v->log, v->err);
}
