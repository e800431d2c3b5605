// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * xenfault policy: what each mechanism would have cost.  In: DB, a profile, unit costs.
 * Out: tables of policy_text.c and policy_rows.c.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/policy.h"
#include "schemas/db.h"

/* A profile's text, from a file or built in; the caller frees *buffer. */
static int profile_text(const char *name, const char **text, char **buffer, struct xf_error *err)
{
	enum { MOST = 1 << 20 };
	FILE *file;
	size_t n;

	*text = xf_profile_builtin(name);
	if (*text)
		return 0;
	file = fopen(name, "rb");
	if (!file && errno == ENOENT && !strchr(name, '/'))
		return xf_fail(err, XF_USAGE, "no profile %s, and no such file; built in: %s", name,
			xf_profile_name(0));
	if (!file)
		return xf_fail_errno(err, XF_IO, "cannot open %s", name);
	*buffer = malloc(MOST);
	n = *buffer ? fread(*buffer, 1, MOST - 1, file) : 0;
	if (!*buffer)
		xf_fail_nomem(err);
	else if (ferror(file))
		xf_fail_errno(err, XF_IO, "cannot read %s", name);
	else if (!feof(file) || memchr(*buffer, '\0', n))
		xf_fail(err, XF_FORMAT, "%s is not a profile", name);
	fclose(file);
	if (err->code)
		return -(int)err->code;
	(*buffer)[n] = '\0';
	*text = *buffer;
	return 0;
}

static int load_profile(struct xf_policy *p, struct xf_error *err)
{
	const char *text, *name = p->own->profile;
	char *buffer = NULL;
	int code = profile_text(name, &text, &buffer, err);

	if (!code) {
		p->profile = calloc(1, sizeof(*p->profile));
		code = p->profile ? xf_profile_parse(p->profile, text, name, err)
				  : xf_fail_nomem(err);
	}
	free(buffer);
	if (code)
		return code;
	p->units = p->profile->units;
	p->source = p->profile->name[0] ? p->profile->name : name;
	return 0;
}

/* Another capture of the same machine, measured on all its forks. */
static int borrow(struct xf_policy *p, const char *path, struct xf_error *err)
{
	static const struct xf_policy_filter all = {
		.domid = -1, .vcpu = -1, .fork = -1, .to = UINT64_MAX};
	struct xf_policy_forks forks = {0};
	struct xf_units units;
	sqlite3 *db = NULL;
	int code = xf_open(&db, path, err);

	if (!code)
		code = xf_policy_load(db, &all, &forks, err);
	if (!code)
		code = xf_policy_measure(db, &forks, &units, err);
	if (!code)
		xf_policy_borrow(&p->units, &units);
	xf_policy_free(&forks);
	sqlite3_close(db);
	return code;
}

static void scale(struct xf_units *u, double factor)
{
	for (int i = 0; i < XF_UNITS; i++) {
		if (!xf_unit_info[i].time)
			continue;
		u->cost[i].value *= factor;
		u->cost[i].spread *= factor;
	}
}

/* NAME=VALUE, a time with "us" or "c" behind it. */
static int give(struct xf_policy *p, const char *text, uint64_t hz, struct xf_error *err)
{
	size_t length = strcspn(text, "=");
	bool us = !strcmp(p->unit, "us");
	double value;
	char *end;

	for (int i = 0; i < XF_UNITS; i++) {
		struct xf_unit_cost *c = &p->units.cost[i];

		if (strncmp(text, xf_unit_info[i].name, length) ||
			xf_unit_info[i].name[length] != '\0' || text[length] != '=')
			continue;
		value = strtod(text + length + 1, &end);
		if (end == text + length + 1 || !isfinite(value) || value < 0)
			break;
		if (xf_unit_info[i].time && (!strcmp(end, "us") || !strcmp(end, "c"))) {
			bool cycles = !strcmp(end, "c");

			if (cycles == us && !hz)
				return xf_fail(err, XF_USAGE,
					"--unit %s: the table is in %s, and the TSC frequency is unknown: give"
					" --cpu-hz",
					text, p->unit);
			if (cycles && us)
				value *= 1e6 / (double)hz;
			else if (!cycles && !us)
				value *= (double)hz / 1e6;
		} else if (*end) {
			break;
		}
		*c = (struct xf_unit_cost){
			.known = true, .given = true, .value = value, .how = "given"};
		return 0;
	}
	return xf_fail(err, XF_USAGE,
		"--unit %s: NAME=COST, such as emulate=2.2us; --part units lists the names", text);
}

static int find_units(struct xf_policy *p, sqlite3 *db, uint64_t hz, struct xf_error *err)
{
	const struct xf_policy_options *o = p->own;
	bool us = hz || o->profile;
	struct xf_units measured;
	int code;

	/* also with a profile: forks carry their own samples */
	code = xf_policy_measure(db, &p->forks, &measured, err);
	p->units = measured;
	p->source = "measured on this capture";
	p->unit = us ? "us" : "cycles";
	p->scale = hz ? 1e6 / (double)hz : us ? 0 : 1;
	if (code)
		return code;
	if (o->profile && o->units_of.n)
		return xf_fail(err, XF_USAGE, "--profile and --units-of exclude each other");
	if (o->profile)
		code = load_profile(p, err);
	for (int i = 0; i < o->units_of.n && !code; i++)
		code = borrow(p, o->units_of.text[i], err);
	if (!code && o->units_of.n)
		p->source = "measured on this capture, and on those of --units-of";
	if (!code && !o->profile && us)
		scale(&p->units, p->scale);
	for (int i = 0; i < o->units.n && !code; i++)
		code = give(p, o->units.text[i], hz, err);
	return code;
}

#define MOST_ENTRIES 1024 /* of a page: 4 bytes each without PAE, else 8 */

static void sum_up(struct xf_policy *p)
{
	for (size_t i = 0; i < p->forks.nforks; i++) {
		const struct xf_policy_fork *f = &p->forks.forks[i];

		if (!f->priced)
			continue;
		p->nforks++;
		p->pages += f->pages;
		p->ptes += f->ptes;
		p->cycles += f->cycles;
		for (size_t k = 0; k < f->nbins; k++)
			if (p->forks.bins[f->first_bin + k].ptes > p->most)
				p->most = p->forks.bins[f->first_bin + k].ptes;
	}
	/* in a database that somebody has changed */
	if (p->most > MOST_ENTRIES) {
		xf_warn("there are pages of up to %u entries, and no page has more than %u: they are "
			"left out of the distribution",
			p->most, MOST_ENTRIES);
		p->most = MOST_ENTRIES;
	}
}

uint64_t xf_policy_pages(const struct xf_policy *p, unsigned low, unsigned high)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->forks.nforks; i++) {
		const struct xf_policy_fork *f = &p->forks.forks[i];

		for (size_t k = 0; k < f->nbins && f->priced; k++) {
			const struct xf_bin *bin = &p->forks.bins[f->first_bin + k];

			if (bin->ptes >= low && bin->ptes <= high)
				n += bin->pages;
		}
	}
	return n;
}

const char *xf_policy_bound(enum xf_bound bound)
{
	static const char *const marks[] = {"", ">=", "<=", "~"};

	return marks[bound];
}

static int filter_of(sqlite3 *db, const struct xf_policy_options *own, uint64_t hz,
	struct xf_policy_filter *filter, struct xf_cpulist *train, struct xf_error *err)
{
	const struct xf_options *o = &own->common;
	struct xf_range range;
	int code = xf_time_range_of(db, o, hz, &range, NULL, err);

	if (code)
		return code;
	*filter = (struct xf_policy_filter){
		.domid = o->domid,
		.vcpu = o->vcpu,
		.fork = o->fork,
		.from = range.from,
		.to = range.to,
	};
	if (!own->train)
		return 0;
	if (xf_cpulist_parse(train, own->train, NULL) || train->all)
		return xf_fail(err, XF_USAGE, "--train %s: fork numbers below %d, such as 1-16,20",
			own->train, XF_CPULIST_MAX);
	filter->train = train;
	return 0;
}

static int print(struct xf_policy *p, struct xf_error *err)
{
	const char *part = p->own->part;

	if (part && !strcmp(part, "fit") && (!p->profile || !p->profile->npoints))
		return xf_fail(err, XF_USAGE, "--part fit needs a --profile with points");
	if (p->options->format != XF_FORMAT_TEXT || part)
		return xf_policy_rows(p, part ? part : "costs", err);
	xf_policy_text(p);
	return 0;
}

static int run_policy(struct xf_options *o, struct xf_error *err)
{
	const struct xf_policy_options *own = (const struct xf_policy_options *)o;
	struct xf_cpulist *train = calloc(1, sizeof(*train));
	struct xf_policy p = {.own = own, .options = o, .cpus = (unsigned)own->ncpus};
	struct xf_policy_filter filter;
	uint64_t hz = 0;
	sqlite3 *db = NULL;
	int code = train ? xf_need_args(o, 1, err) : xf_fail_nomem(err);

	if (!code)
		code = xf_open_for(&db, o, err);
	if (!code)
		code = xf_capture_hz(db, o, &hz, err);
	if (!code)
		code = filter_of(db, own, hz, &filter, train, err);
	if (!code)
		code = xf_policy_load(db, &filter, &p.forks, err);
	if (!code)
		code = find_units(&p, db, hz, err);
	if (!code)
		sum_up(&p);
	if (!code && o->fork >= 0 && !p.nforks)
		code = xf_fail(err, XF_USAGE,
			"there is no fork %lld whose entries are known; xenfault policy --part forks"
			" lists them",
			(long long)o->fork);
	if (!code)
		code = print(&p, err);
	if (!code && o->format == XF_FORMAT_TEXT)
		code = xf_print_doubts(db, err);
	xf_policy_free(&p.forks);
	free(p.profile);
	free(train);
	sqlite3_close(db);
	return code;
}

static int set_ncpus(
	const struct xf_option *option, void *field, const char *value, struct xf_error *err)
{
	int *ncpus = field;

	(void)option;
	*ncpus = (int)xf_whole_number(value, 16383);
	return *ncpus < 1 ? xf_fail(err, XF_USAGE, "--cpus %s: a number of CPUs, 1 to 16383", value)
			  : 0;
}

static const struct xf_option policy_options[] = {
	XF_OPTS_ROWS,
	XF_OPT_FORK,
	{"profile", 0, "FILE|NAME", "unit costs of another machine, such as xeon-mp-2006",
		XF_TEXT(struct xf_policy_options, profile), NULL},
	{"units-of", 0, "DB",
		"take what is still unknown from a capture of the same machine; may be repeated",
		XF_TEXTS(struct xf_policy_options, units_of), NULL},
	{"unit", 0, "NAME=COST", "a unit cost, with us or c (cycles) behind; may be repeated",
		XF_TEXTS(struct xf_policy_options, units), NULL},
	{"cpus", 0, "N", "CPUs that a flush hits; default: as measured",
		XF_FIELD(set_ncpus, struct xf_policy_options, ncpus, int), NULL},
	{"train", 0, "FORKS", "measure on these forks, such as 1-16,20, and price the others",
		XF_TEXT(struct xf_policy_options, train), NULL},
	{"part", 0, "PART", "costs, units, histogram, forks or fit; csv and jsonl: costs",
		XF_CHOICE(struct xf_policy_options, part), "costs units histogram forks fit"},
	XF_OPT_CPU_HZ,
	{0},
};

const struct xf_command xf_cmd_policy = {"policy", "DB",
	"each mechanism's cost, and the break-even", policy_options,
	sizeof(struct xf_policy_options), run_policy};
