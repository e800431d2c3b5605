// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Faults one for one.  In: the capture's delivered faults, the log's lines.  Out: which have no partner.
 * Xen's record stands before the kernel's line, with nothing else of that vCPU in between but a fault
 * that the handler itself took.
 */
#include <stdio.h>
#include <string.h>

#include "analyzer/verify/state.h"

static int only_in_capture(
	struct xf_verify *v, const struct xf_verify_cpu *cpu, const struct xf_fault *fault)
{
	struct xf_verify_count *count = &v->result->counts[XF_VERIFY_FAULTS];
	char detail[96] = "";

	/* its line would have stood behind the last one */
	if (!xf_verify_logged(v, cpu, fault->tsc) || fault->tsc > cpu->last) {
		count->unjudged++;
		return 0;
	}
	count->capture++;
	if (fault->has_va)
		snprintf(detail, sizeof(detail), "address 0x%llx, error code 0x%x",
			(unsigned long long)fault->va, fault->error_code);
	return xf_verify_differ(v, &(struct xf_verify_difference){.subject = XF_VERIFY_FAULTS,
					   .what = "not in the log",
					   .vcpu = cpu->number,
					   .pid = -1,
					   .tsc = fault->tsc,
					   .first_event = fault->event,
					   .last_event = fault->event,
					   .fork_id = -1,
					   .n = 1,
					   .detail = detail});
}

static void drop(struct xf_verify_cpu *cpu, unsigned i)
{
	memmove(&cpu->pending[i], &cpu->pending[i + 1],
		(cpu->npending - i - 1) * sizeof(cpu->pending[0]));
	cpu->npending--;
}

int xf_verify_fault(struct xf_verify *v, int64_t id, const struct xf_event *event)
{
	struct xf_verify_cpu *cpu = xf_verify_cpu(v, event->vcpu);
	int code = cpu ? 0 : -XF_INTERNAL;

	if (!code && cpu->npending == XF_PENDING) {
		code = only_in_capture(v, cpu, &cpu->pending[0]);
		drop(cpu, 0);
	}
	if (code)
		return code;
	cpu->pending[cpu->npending++] = (struct xf_fault){.event = id,
		.tsc = event->tsc,
		.va = event->va,
		.error_code = event->error_code,
		.has_va = event->has & XF_HAS_VA};
	return 0;
}

/* The address may be a name (of a kernel's variable), which then is not compared. */
static bool same(const struct xf_fault *fault, bool has_va, uint64_t va, uint64_t error_code)
{
	return fault->error_code == error_code && (!has_va || !fault->has_va || fault->va == va);
}

int xf_verify_fault_line(struct xf_verify *v, const struct xf_ftrace_line *line)
{
	struct xf_verify_count *count = &v->result->counts[XF_VERIFY_FAULTS];
	struct xf_verify_cpu *cpu = xf_verify_cpu(v, line->cpu);
	struct xf_verify_task *task = cpu ? xf_verify_task(v, line->pid) : NULL;
	uint64_t va = 0, error_code = 0;
	bool has_va = xf_ftrace_number(line->text, "address", 16, &va);
	char detail[96];
	int code;

	if (!task)
		return -XF_INTERNAL;
	if (!xf_ftrace_number(line->text, "error_code", 16, &error_code))
		return 0;
	code = has_va ? xf_verify_touched(v, task->mm, va, error_code) : 0;
	for (unsigned i = cpu->npending; i-- && !code;) {
		if (!same(&cpu->pending[i], has_va, va, error_code))
			continue;
		count->capture++;
		count->log++;
		count->agree++;
		count->found++;
		drop(cpu, i);
		return 0;
	}
	if (code || !xf_verify_covered(v, line->tsc)) {
		count->unjudged++;
		return code;
	}
	/* the first line of a vCPU may be of a fault from before the capture */
	count->log++;
	snprintf(detail, sizeof(detail), "line %lu: address %s0x%llx, error code 0x%llx",
		line->number, has_va ? "" : "(a name) ", (unsigned long long)va,
		(unsigned long long)error_code);
	return xf_verify_differ(v, &(struct xf_verify_difference){.subject = XF_VERIFY_FAULTS,
					   .what = "not in the capture",
					   .vcpu = line->cpu,
					   .pid = line->pid,
					   .tsc = line->tsc,
					   .first_event = -1,
					   .last_event = -1,
					   .fork_id = -1,
					   .n = 1,
					   .detail = detail});
}

int xf_verify_faults_finish(struct xf_verify *v)
{
	uint64_t number, value;
	size_t cursor = 0;
	int code = 0;

	while (!code && xf_map_next(&v->cpus, &cursor, &number, &value)) {
		struct xf_verify_cpu *cpu = (struct xf_verify_cpu *)(uintptr_t)value;

		for (unsigned i = 0; i < cpu->npending && !code; i++)
			code = only_in_capture(v, cpu, &cpu->pending[i]);
		cpu->npending = 0;
	}
	return code;
}
