// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault verify: a capture against the log of a guest's own kernel.
 * In: DB, an ftrace log.  Out: how far they agree, each difference, what the log cannot decide.
 */
#include <stdio.h>
#include <string.h>

#include "analyzer/verify/verify.h"
#include "cli/cli.h"
#include "schemas/db.h"

struct verify_options {
	struct xf_options common;
	const char *log, *part; /* NULL = not given */
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct xf_column summary[] = {
	{"subject", NULL, 10, XF_CELL_TEXT},
	{"capture", NULL, 9, XF_CELL_INT},
	{"log", NULL, 9, XF_CELL_INT},
	{"agree", NULL, 9, XF_CELL_INT},
	{"precision", NULL, 9, XF_CELL_TEXT},
	{"found", NULL, 9, XF_CELL_INT},
	{"recall", NULL, 9, XF_CELL_TEXT},
	{"unjudged", NULL, 9, XF_CELL_INT},
};

static const struct xf_column differences[] = {
	{"subject", NULL, 10, XF_CELL_TEXT},
	{"difference", NULL, 28, XF_CELL_TEXT},
	{"domid", "dom", 4, XF_CELL_INT},
	{"vcpu", NULL, 4, XF_CELL_INT},
	{"tsc", NULL, 16, XF_CELL_INT},
	{"first_event", "event", 9, XF_CELL_INT},
	{"last_event", "last", 9, XF_CELL_INT},
	{"fork_id", "fork", 6, XF_CELL_INT},
	{"pid", NULL, 7, XF_CELL_INT},
	{"n", NULL, 6, XF_CELL_INT},
	{"detail", NULL, 0, XF_CELL_TEXT},
};

struct verify {
	const struct xf_options *options;
	struct xf_verify_result result;
	struct xf_out *out; /* of the differences, NULL = none are shown */
	int64_t shown, limit;
};

static void cell(struct xf_out *out, int64_t value)
{
	if (value < 0)
		xf_out_null(out);
	else
		xf_out_int(out, value);
}

static int show(const struct xf_verify_difference *d, void *data, struct xf_error *err)
{
	struct verify *v = data;

	(void)err;
	if (!v->out || (v->limit >= 0 && v->shown >= v->limit))
		return 0;
	v->shown++;
	xf_out_text(v->out, xf_verify_subject_name(d->subject));
	xf_out_text(v->out, d->what);
	xf_out_int(v->out, v->result.domid);
	cell(v->out, d->vcpu);
	xf_out_int(v->out, (int64_t)d->tsc);
	cell(v->out, d->first_event);
	cell(v->out, d->last_event);
	cell(v->out, d->fork_id);
	cell(v->out, d->pid);
	cell(v->out, d->n);
	xf_out_text(v->out, d->detail);
	return 0;
}

/* Part of a whole; without a whole there is nothing to say. */
static void percent(struct xf_out *out, uint64_t part, uint64_t whole)
{
	char text[32];

	if (!whole) {
		xf_out_null(out);
		return;
	}
	/* rounded down: 100 means all */
	snprintf(text, sizeof(text), "%llu.%02llu", (unsigned long long)(part * 100 / whole),
		(unsigned long long)(part * 10000 / whole % 100));
	xf_out_text(out, text);
}

static int print_summary(const struct verify *v, struct xf_error *err)
{
	struct xf_out *out = NULL;
	int code = xf_out_new(&out, stdout, v->options->format, summary, COUNT(summary), err);

	if (!code)
		xf_out_header(out);
	for (int i = 0; i < XF_VERIFY_SUBJECTS_COUNT && !code; i++) {
		const struct xf_verify_count *c = &v->result.counts[i];

		if (!c->judged)
			continue;
		xf_out_text(out, xf_verify_subject_name((enum xf_verify_subject)i));
		xf_out_int(out, (int64_t)c->capture);
		xf_out_int(out, (int64_t)c->log);
		xf_out_int(out, (int64_t)c->agree);
		percent(out, c->agree, c->capture);
		xf_out_int(out, (int64_t)c->found);
		percent(out, c->found, c->log);
		xf_out_int(out, (int64_t)c->unjudged);
	}
	return code ? code : xf_out_close(out, err);
}

/* What the log lacks, so that nobody takes its silence for agreement. */
static void remarks(const struct verify *v)
{
	const struct xf_verify_result *r = &v->result;
	const struct xf_ftrace_state *log = &r->log;

	if (!r->by_write)
		fprintf(stderr,
			"log: no sched_switch and kprobes of copy_page_range (cpr_in, cpr_out): forks"
			" are compared as wholes, their writes and addresses not at all\n");
	if (!r->by_write && r->counts[XF_VERIFY_FORKS].judged && !r->threads_known)
		fprintf(stderr, "log: no task_newtask: a thread cannot be told from a fork that is"
				" missing; recall of forks is a lower bound\n");
	if (!r->counts[XF_VERIFY_FAULTS].judged)
		fprintf(stderr,
			"log: no page faults (exceptions:page_fault_user, page_fault_kernel)\n");
	if (!r->counts[XF_VERIFY_FORKS].judged)
		fprintf(stderr, "log: no forks (sched:sched_process_fork)\n");
	if (log->overwritten || log->lost)
		fprintf(stderr, "log: the kernel lost events of it (%llu by its own count%s)\n",
			log->lost, log->overwritten ? "; the oldest were overwritten" : "");
	if (log->bad)
		fprintf(stderr, "log: %lu lines are no events, the first is line %lu\n", log->bad,
			log->first_bad);
	if (log->back)
		fprintf(stderr, "log: %lu events stand behind later ones\n", log->back);
}

static int finish_differences(struct verify *v, struct xf_error *err)
{
	uint64_t more = v->result.differences - (uint64_t)v->shown;
	int code = xf_out_close(v->out, err);

	v->out = NULL;
	if (v->options->format == XF_FORMAT_TEXT && v->shown) {
		if (more)
			printf("and %llu more: --limit\n", (unsigned long long)more);
		putchar('\n');
	}
	return code;
}

static int compare(struct verify *v, sqlite3 *db, struct xf_error *err)
{
	const struct verify_options *o = (const struct verify_options *)v->options;
	bool text = v->options->format == XF_FORMAT_TEXT;
	bool rows = o->part ? !strcmp(o->part, "differences") : text;
	bool sums = o->part ? !strcmp(o->part, "summary") : true;
	struct xf_verify_options options = {.domid = v->options->domid,
		.difference = show,
		.data = v,
		.stop = xf_stop_requested};
	int code = 0, closed;

	v->limit = v->options->limit >= 0 ? v->options->limit : text && !o->part ? 20 : -1;
	if (rows)
		code = xf_out_new(
			&v->out, stdout, v->options->format, differences, COUNT(differences), err);
	if (!code && rows && o->part)
		xf_out_header(v->out);
	if (!code)
		code = xf_verify(db, o->log, &options, &v->result, err);
	if (rows) {
		closed = finish_differences(v, err);
		code = code ? code : closed;
	}
	if (!code && sums)
		code = print_summary(v, err);
	if (!code && text)
		remarks(v);
	return code;
}

static int run_verify(struct xf_options *options, struct xf_error *err)
{
	struct verify v = {.options = options};
	sqlite3 *db = NULL;
	int code = xf_need_args(options, 1, err);

	if (!code && !((struct verify_options *)options)->log)
		code = xf_fail(err, XF_USAGE,
			"--log is missing: the guest kernel's ftrace log, such as"
			" xenfault verify %s --log guest.ftrace",
			options->args[0]);
	if (!code && options->vcpu >= 0)
		code = xf_fail(err, XF_USAGE, "--domain: a log is of a whole domain dN");
	if (!code)
		code = xf_open_for(&db, options, err);
	if (!code)
		code = compare(&v, db, err);
	if (!code && options->format == XF_FORMAT_TEXT)
		code = xf_print_doubts(db, err);
	sqlite3_close(db);
	return code;
}

static const struct xf_option verify_options[] = {
	{"log", 0, "FILE", "the guest kernel's ftrace log, taken on the clock x86-tsc; - is stdin",
		XF_TEXT(struct verify_options, log), NULL},
	{"part", 0, "PART", "summary or differences; text: both, csv and jsonl: summary",
		XF_CHOICE(struct verify_options, part), "summary differences"},
	{"domain", 0, "DOM", "whose kernel it is; default: the one that has the log's faults",
		xf_set_domain, 0, NULL},
	XF_OPT_FORMAT,
	{"limit", 0, "N", "at most N differences; default in text: 20",
		XF_OPT(xf_set_limit, limit, int64_t), NULL},
	{0},
};

const struct xf_command xf_cmd_verify = {"verify", "DB",
	"a capture against the log of a guest's own kernel", verify_options,
	sizeof(struct verify_options), run_verify};
