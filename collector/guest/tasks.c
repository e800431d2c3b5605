// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The log's lines as rows.  In: lines in their order.  Out: guest_fork, guest_task, guest_run.
 *
 * sched_process_fork comes when all is done.  When the task can have begun at the earliest, where it pinned
 * the copy's tables, and whether the memory is shared, lines before it say.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/guest/state.h"
#include "schemas/db.h"

#define COMM	   64
#define MOST_TASKS 65536 /* that are remembered at once */

struct cpu {
	bool known; /* pid is the task that runs there */
	uint32_t pid;
	uint64_t since; /* TSC: it has run there */
	uint64_t last;	/* of its last line */
	char comm[COMM];
};

struct task {
	uint64_t begin; /* TSC: it was not inside a fork then */
	bool exact;	/* and began one there */
	uint64_t pin;	/* TSC of its last pin since, 0 = none */
	uint32_t pin_vcpu;
	bool has_flags; /* of the clone that made it */
	uint64_t flags;
};

enum statement { FORK, TASK, RUN, STATEMENTS };

struct tasks {
	struct xf_guest *g;
	struct xf_map cpus, tasks; /* number, pid -> struct */
	uint64_t whole;		   /* TSC: since then nothing is known to be missing */
	sqlite3_stmt *statements[STATEMENTS];
};

static struct task *task_of(struct tasks *t, uint32_t pid)
{
	struct task *task = xf_map_object(&t->tasks, pid, sizeof(*task));

	if (!task)
		xf_fail_nomem(t->g->err);
	return task;
}

static void forget_task(struct tasks *t, uint64_t pid)
{
	uint64_t *slot = xf_map_get(&t->tasks, pid);

	if (!slot)
		return;
	free((void *)(uintptr_t)*slot);
	xf_map_remove(&t->tasks, pid);
}

/* Too many, and no line says which of them are gone: as if the log began anew. */
static void forget_tasks(struct tasks *t, uint64_t tsc)
{
	uint64_t pid, value;
	size_t cursor = 0;

	while (xf_map_next(&t->tasks, &cursor, &pid, &value))
		free((void *)(uintptr_t)value);
	xf_map_free(&t->tasks);
	t->whole = tsc;
}

static void bind_text(sqlite3_stmt *stmt, int at, const char *text, size_t length)
{
	sqlite3_bind_text(stmt, at, text, (int)length, SQLITE_TRANSIENT);
}

static int step(struct tasks *t, sqlite3_stmt *stmt)
{
	int code = xf_db_step(stmt, t->g->err);

	sqlite3_reset(stmt);
	return code;
}

/* A name in an event's text: from behind key up to the last `end`. */
static const char *comm_in(const char *text, const char *key, const char *end, size_t *length)
{
	const char *from = strstr(text, key), *to = NULL;

	if (!from)
		return NULL;
	from += strlen(key);
	for (const char *p = strstr(from, end); p; p = strstr(p + 1, end))
		to = p;
	if (!to)
		return NULL;
	*length = (size_t)(to - from);
	return from;
}

/* --- who runs where --- */

static int end_run(
	struct tasks *t, const struct xf_ftrace_line *line, struct cpu *cpu, uint64_t end)
{
	sqlite3_stmt *stmt = t->statements[RUN];

	if (!cpu->known || !cpu->pid || !t->g->survey.switches || end <= cpu->since)
		return 0;
	sqlite3_bind_int64(stmt, 2, line->cpu);
	sqlite3_bind_int64(stmt, 3, (int64_t)cpu->since);
	sqlite3_bind_int64(stmt, 4, (int64_t)end);
	sqlite3_bind_int64(stmt, 5, cpu->pid);
	sqlite3_bind_text(stmt, 6, cpu->comm, -1, SQLITE_TRANSIENT);
	return step(t, stmt);
}

static void begin_run(struct cpu *cpu, uint32_t pid, const char *comm, size_t length, uint64_t tsc)
{
	cpu->known = true;
	cpu->pid = pid;
	cpu->since = tsc;
	length = length < COMM - 1 ? length : COMM - 1;
	memcpy(cpu->comm, comm, length);
	cpu->comm[length] = '\0';
}

/* Each line names the task that runs there. */
static int runs(struct tasks *t, const struct xf_ftrace_line *line, struct cpu *cpu, uint64_t tsc)
{
	int code = 0;

	if (line->lost) {
		t->whole = tsc;
		code = end_run(t, line, cpu, cpu->last);
		cpu->known = false;
	}
	if (!code && cpu->known && cpu->pid != line->pid) {
		/* its switch is not there */
		code = end_run(t, line, cpu, cpu->last);
		cpu->known = false;
	}
	if (!code && !cpu->known)
		begin_run(cpu, line->pid, line->comm, strlen(line->comm), tsc);
	cpu->last = tsc;
	return code;
}

static int switches(
	struct tasks *t, const struct xf_ftrace_line *line, struct cpu *cpu, uint64_t tsc)
{
	const char *next = NULL, *p = line->text;
	uint64_t pid;
	size_t length = 0;
	int code = end_run(t, line, cpu, tsc);

	cpu->known = false;
	if (code || !xf_ftrace_number(line->text, "next_pid", 10, &pid) || pid > XF_FTRACE_PIDS)
		return code;
	while ((p = strstr(p, "next_comm="))) {
		next = p;
		p++;
	}
	next = next ? comm_in(next, "next_comm=", " next_pid=", &length) : NULL;
	begin_run(cpu, (uint32_t)pid, next ? next : "", length, tsc);
	return 0;
}

/* --- what tasks do --- */

static int new_task(struct tasks *t, const char *text)
{
	struct task *child;
	uint64_t pid, flags;

	if (!xf_ftrace_first(text, "pid", 10, &pid) || pid > XF_FTRACE_PIDS ||
		!xf_ftrace_number(text, "clone_flags", 16, &flags) || flags > INT64_MAX)
		return 0;
	/* the pid may have been another task's */
	forget_task(t, pid);
	child = task_of(t, (uint32_t)pid);
	if (!child)
		return -XF_INTERNAL;
	child->flags = flags;
	child->has_flags = true;
	return 0;
}

static void began(struct task *task, uint64_t tsc, bool exact)
{
	task->begin = tsc;
	task->exact = exact;
	task->pin = 0;
}

static int write_fork(struct tasks *t, const struct xf_ftrace_line *line, uint64_t tsc,
	const struct task *task, uint64_t child, const struct task *made)
{
	sqlite3_stmt *stmt = t->statements[FORK];
	uint64_t begin = task->begin > t->whole ? task->begin : t->whole;
	char key[48];
	const char *comm;
	size_t length;
	int code;

	snprintf(key, sizeof(key), " pid=%u child_comm=", line->pid);
	comm = comm_in(line->text, "comm=", key, &length);
	sqlite3_bind_int64(stmt, 2, (int64_t)tsc);
	sqlite3_bind_int64(stmt, 3, line->cpu);
	sqlite3_bind_int64(stmt, 4, line->pid);
	bind_text(stmt, 5, comm ? comm : line->comm, comm ? length : strlen(line->comm));
	sqlite3_bind_int64(stmt, 6, (int64_t)child);
	if (made && made->has_flags)
		sqlite3_bind_int64(stmt, 7, (int64_t)made->flags);
	sqlite3_bind_int64(stmt, 8, (int64_t)begin);
	sqlite3_bind_int(stmt, 9, task->begin >= t->whole && task->begin);
	if (task->pin > begin) {
		sqlite3_bind_int64(stmt, 10, (int64_t)task->pin);
		sqlite3_bind_int64(stmt, 11, task->pin_vcpu);
	}
	code = step(t, stmt);
	sqlite3_bind_null(stmt, 7);
	sqlite3_bind_null(stmt, 10);
	sqlite3_bind_null(stmt, 11);
	return code;
}

static int forked(struct tasks *t, const struct xf_ftrace_line *line, uint64_t tsc)
{
	struct task *task = task_of(t, line->pid);
	uint64_t child, *made;
	int code;

	if (!task)
		return -XF_INTERNAL;
	if (!xf_ftrace_number(line->text, "child_pid", 10, &child) || child > XF_FTRACE_PIDS)
		return 0;
	made = xf_map_get(&t->tasks, child);
	code = write_fork(t, line, tsc, task, child, made ? (struct task *)(uintptr_t)*made : NULL);
	began(task, tsc, false);
	/* pids come again: what the log says of the child begins here */
	task = task_of(t, (uint32_t)child);
	if (!task)
		return -XF_INTERNAL;
	began(task, tsc, false);
	task->has_flags = false;
	return code;
}

static int changed(
	struct tasks *t, const struct xf_ftrace_line *line, uint64_t tsc, const char *what)
{
	sqlite3_stmt *stmt = t->statements[TASK];
	const char *file;
	size_t length;
	int code;

	sqlite3_bind_int64(stmt, 2, (int64_t)tsc);
	sqlite3_bind_int64(stmt, 3, line->cpu);
	sqlite3_bind_int64(stmt, 4, line->pid);
	bind_text(stmt, 5, line->comm, strlen(line->comm));
	sqlite3_bind_text(stmt, 6, what, -1, SQLITE_STATIC);
	file = *what == 'e' && what[2] == 'e' ? comm_in(line->text, "filename=", " pid=", &length)
					      : NULL;
	if (file)
		bind_text(stmt, 7, file, length);
	code = step(t, stmt);
	sqlite3_bind_null(stmt, 7);
	return code;
}

static int line(struct tasks *t, const struct xf_ftrace_line *line)
{
	uint64_t tsc = xf_guest_tsc(&t->g->clock, line->tsc);
	struct cpu *cpu = xf_map_object(&t->cpus, line->cpu, sizeof(*cpu));
	const char *event = line->event;
	struct task *task;
	int code;

	if (!cpu)
		return xf_fail_nomem(t->g->err);
	if (t->tasks.count > MOST_TASKS)
		forget_tasks(t, tsc);
	code = runs(t, line, cpu, tsc);
	task = code ? NULL : task_of(t, line->pid);
	if (!task)
		return code ? code : -XF_INTERNAL;
	if (!strcmp(event, "sched_switch"))
		return switches(t, line, cpu, tsc);
	if (!strcmp(event, "sched_process_fork"))
		return forked(t, line, tsc);
	if (!strcmp(event, "task_newtask"))
		return new_task(t, line->text);
	if (!strcmp(event, "page_fault_user") || !strcmp(event, "ap_in"))
		began(task, tsc, *event == 'a');
	if (!strcmp(event, "xen_mmu_pgd_pin")) {
		task->pin = tsc;
		task->pin_vcpu = line->cpu;
	}
	if (!strcmp(event, "sched_process_exec")) {
		began(task, tsc, false);
		return changed(t, line, tsc, "exec");
	}
	if (!strcmp(event, "sched_process_exit")) {
		forget_task(t, line->pid);
		return changed(t, line, tsc, "exit");
	}
	return 0;
}

static int prepare(struct tasks *t)
{
	static const char *const sql[STATEMENTS] = {
		[FORK] =
			"INSERT INTO guest_fork (log_id, tsc, vcpu, pid, comm, child_pid, clone_flags,"
			" tsc_begin, begin_known, tsc_pin, pin_vcpu)"
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		[TASK] = "INSERT INTO guest_task (log_id, tsc, vcpu, pid, comm, what, file)"
			 " VALUES (?, ?, ?, ?, ?, ?, ?)",
		[RUN] = "INSERT OR REPLACE INTO guest_run (log_id, vcpu, tsc_start, tsc_end, pid, comm)"
			" VALUES (?, ?, ?, ?, ?, ?)",
	};
	int code = 0;

	for (int i = 0; i < STATEMENTS && !code; i++) {
		code = xf_db_prepare(t->g->db, &t->statements[i], sql[i], t->g->err);
		if (!code)
			sqlite3_bind_int64(t->statements[i], 1, t->g->log_id);
	}
	return code;
}

static int end_runs(struct tasks *t)
{
	struct xf_ftrace_line line = {0};
	uint64_t number, value;
	size_t cursor = 0;
	int code = 0;

	while (!code && xf_map_next(&t->cpus, &cursor, &number, &value)) {
		struct cpu *cpu = (struct cpu *)(uintptr_t)value;

		line.cpu = (uint32_t)number;
		code = end_run(t, &line, cpu, cpu->last);
	}
	return code;
}

static void free_tasks(struct tasks *t)
{
	uint64_t key, value;
	size_t cursor = 0;

	forget_tasks(t, 0);
	while (xf_map_next(&t->cpus, &cursor, &key, &value))
		free((void *)(uintptr_t)value);
	xf_map_free(&t->cpus);
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(t->statements[i]);
}

int xf_guest_tasks(struct xf_guest *g)
{
	struct tasks t = {.g = g, .whole = xf_guest_tsc(&g->clock, g->survey.whole)};
	struct xf_ftrace_line next;
	int code = prepare(&t);

	if (!code)
		code = xf_ftrace_rewind(g->log, g->err);
	while (!code && (code = xf_ftrace_next(g->log, &next, g->err)) == 1) {
		code = line(&t, &next);
		if (!code)
			code = xf_guest_check_stop(g, next.number);
	}
	if (!code)
		code = end_runs(&t);
	free_tasks(&t);
	return code;
}
