// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Forks write by write.  In: PTE writes of the capture, and who copies by the log.
 * Out: writes that are in no fork or in a wrong one; forks that have not exactly their own.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/verify/state.h"

#define PTE_PRESENT 1u
#define PTE_WRITE   2u

/* Reports the writes in a row that ended. */
static int end_run(struct xf_verify *v, struct xf_verify_cpu *cpu)
{
	struct xf_run run = cpu->run;

	cpu->run = (struct xf_run){0};
	if (!run.what)
		return 0;
	return xf_verify_differ(v, &(struct xf_verify_difference){.subject = XF_VERIFY_WRITES,
					   .what = run.what,
					   .vcpu = cpu->number,
					   .pid = run.pid,
					   .tsc = run.tsc,
					   .first_event = run.first_event,
					   .last_event = run.last_event,
					   .fork_id = run.fork_id ? run.fork_id : -1,
					   .n = (int64_t)run.n,
					   .detail = ""});
}

static struct xf_found *found_of(struct xf_verify *v, int64_t fork_id)
{
	size_t low = 0, high = v->nforks;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (v->forks[middle].id < fork_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < v->nforks && v->forks[low].id == fork_id ? &v->forks[low] : NULL;
}

/* Counts a judged write on both sides; returns what is wrong with it, NULL = nothing. */
static const char *count_write(
	struct xf_verify *v, struct xf_truth *truth, struct xf_found *found, int64_t id)
{
	struct xf_verify_count *count = &v->result->counts[XF_VERIFY_WRITES];
	uint64_t number = truth ? (uint64_t)(truth - v->truths) + 1 : 0;
	bool first;

	if (truth) {
		truth->first_event = truth->writes++ ? truth->first_event : id;
		truth->inside += found != NULL;
		truth->split |= found && truth->fork_id && truth->fork_id != found->id;
		count->log++;
	}
	if (!found)
		return "in no fork";
	count->capture++;
	found->writes++;
	if (!truth) {
		found->wrong++;
		return "no fork's, says the log";
	}
	first = !found->truth && !truth->fork_id;
	found->mixed |= found->truth && found->truth != number;
	found->truth = found->truth ? found->truth : number;
	truth->fork_id = truth->fork_id ? truth->fork_id : found->id;
	if (first || (found->truth == number && truth->fork_id == found->id)) {
		count->agree++;
		count->found++;
		return NULL;
	}
	return "another fork's";
}

int xf_verify_write(struct xf_verify *v, int64_t id, const struct xf_event *event)
{
	struct xf_verify_count *count = &v->result->counts[XF_VERIFY_WRITES];
	bool protects =
		event->has & XF_HAS_PTE && (event->pte & (PTE_PRESENT | PTE_WRITE)) == PTE_PRESENT;
	struct xf_verify_cpu *cpu = xf_verify_cpu(v, event->vcpu);
	struct xf_verify_task *task;
	struct xf_page *page = NULL;
	struct xf_found *found;
	struct xf_run *run;
	const char *what;
	int code = cpu ? xf_verify_page_of(v, id, event->vcpu, &page) : -XF_INTERNAL;

	if (code || !protects)
		return code;
	task = cpu->known ? xf_verify_task(v, cpu->pid) : NULL;
	if (cpu->known && !task)
		return -XF_INTERNAL;
	found = page ? found_of(v, page->fork_id) : NULL;
	if (!found && !(task && task->copies))
		return 0;
	if (!task || !xf_verify_logged(v, cpu, event->tsc)) {
		count->unjudged++;
		return 0;
	}
	what = count_write(v, task->copies ? xf_verify_truth(v, task->truth) : NULL, found, id);
	run = &cpu->run;
	if (run->what != what || run->fork_id != (found ? found->id : 0) || run->pid != task->pid)
		code = end_run(v, cpu);
	if (!code && !run->n)
		*run = (struct xf_run){.what = what,
			.fork_id = found ? found->id : 0,
			.first_event = id,
			.tsc = event->tsc,
			.pid = task->pid};
	run->last_event = id;
	run->n++;
	return code || !page || !task->copies ? code : xf_verify_page_write(v, page, task, event);
}

int xf_verify_orphan(struct xf_verify *v, struct xf_verify_cpu *cpu)
{
	struct xf_verify_count *count = &v->result->counts[XF_VERIFY_WRITES];
	struct xf_found *found = cpu->run.fork_id ? found_of(v, cpu->run.fork_id) : NULL;

	if (!cpu->run.what || !found)
		return 0;
	count->unjudged += cpu->run.n;
	count->capture -= cpu->run.n;
	found->writes -= cpu->run.n;
	found->wrong -= cpu->run.n;
	cpu->run = (struct xf_run){0};
	return 0;
}

static int differ(struct xf_verify *v, const struct xf_found *found, const struct xf_truth *truth,
	const char *what, const char *detail)
{
	return xf_verify_differ(
		v, &(struct xf_verify_difference){.subject = XF_VERIFY_FORKS,
			   .what = what,
			   .vcpu = found ? found->vcpu : truth->vcpu,
			   .pid = truth ? (int64_t)truth->pid : -1,
			   .tsc = found ? found->start : truth->tsc,
			   .first_event = found ? found->first_event : truth->first_event,
			   .last_event = -1,
			   .fork_id = found ? found->id : -1,
			   .n = 1,
			   .detail = detail});
}

static int judge_found(struct xf_verify *v, struct xf_found *found)
{
	struct xf_verify_count *count = &v->result->counts[XF_VERIFY_FORKS];
	struct xf_truth *truth = xf_verify_truth(v, found->truth);
	char detail[128] = "";

	if (!found->writes) {
		count->unjudged++;
		return 0;
	}
	count->capture++;
	if (!truth) {
		snprintf(detail, sizeof(detail), "%llu writes", (unsigned long long)found->writes);
		return differ(v, found, NULL, "no fork, says the log", detail);
	}
	if (found->mixed)
		return differ(v, found, truth, "holds writes of more than one fork", "");
	if (found->wrong) {
		snprintf(detail, sizeof(detail), "%llu of %llu writes are no fork's",
			(unsigned long long)found->wrong, (unsigned long long)found->writes);
		return differ(v, found, truth, "holds writes of no fork", detail);
	}
	if (truth->writes != found->writes) {
		snprintf(detail, sizeof(detail), "%llu of its %llu writes",
			(unsigned long long)found->writes, (unsigned long long)truth->writes);
		return differ(v, found, truth,
			truth->split ? "a part of a fork" : "not all of a fork", detail);
	}
	count->agree++;
	count->found++;
	return 0;
}

int xf_verify_writes_finish(struct xf_verify *v)
{
	uint64_t number, value;
	size_t cursor = 0;
	int code = 0;

	while (!code && xf_map_next(&v->cpus, &cursor, &number, &value))
		code = end_run(v, (struct xf_verify_cpu *)(uintptr_t)value);
	return code;
}

int xf_verify_forks_finish(struct xf_verify *v)
{
	struct xf_verify_count *count = &v->result->counts[XF_VERIFY_FORKS];
	int code = 0;

	for (size_t i = 0; i < v->nforks && !code; i++)
		code = judge_found(v, &v->forks[i]);
	for (size_t i = 0; i < v->ntruths && !code; i++) {
		const struct xf_truth *truth = &v->truths[i];
		char detail[64];

		if (!truth->writes)
			continue;
		count->log++;
		snprintf(detail, sizeof(detail), "%llu writes", (unsigned long long)truth->writes);
		if (!truth->inside)
			code = differ(v, NULL, truth, "not in the capture's forks", detail);
	}
	return code;
}
