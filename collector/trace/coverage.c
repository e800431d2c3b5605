// SPDX-License-Identifier: GPL-2.0-or-later
/* What a stream does not cover.  In: its pCPUs at its end.  Out: gaps, doubts. */
#include "collector/trace/coverage.h"

/* So many steps that no record shows are no accident of one record. */
#define FEW_BREAKS 4

/* All pCPUs were silent so long, several seconds: whatever reads the trace buffers runs more often. */
#define STOOD_STILL (1ull << 34)

/* Silences times gaps that are compared: where there are more, events tell of enough gaps already. */
#define MOST_NOTED (1u << 28)

/* Silences that are compared with those of the other pCPUs, times the pCPUs. */
#define MOST_COMPARED (1u << 20)

/* A time on the common clock, where the records give one. */
static uint64_t common_time(const struct xf_pcpu *pcpu, uint64_t tsc)
{
	const struct xf_clock_model *m = pcpu->clock ? &pcpu->clock->model : NULL;

	return m && m->proven && m->tight ? xf_clock_correct(m, tsc) : tsc;
}

/* Silence at the beginning or the end of a pCPU, where a guest ran then or steps are missing. */
static int ends(struct xf_stream *stream, struct xf_pcpu *pcpu, uint64_t from, uint64_t to,
	struct xf_error *err)
{
	const struct xf_clock_model *m = pcpu->clock ? &pcpu->clock->model : NULL;
	uint64_t first = common_time(pcpu, pcpu->tsc_first), last = common_time(pcpu, pcpu->key);
	bool began = pcpu->scheduled && !pcpu->began_idle && first - from >= XF_LATE;
	bool ended =
		pcpu->owner.known && pcpu->owner.domid != XF_DOMID_IDLE && to - last >= XF_LATE;
	int code = 0;

	if (!stream->scheduled || !pcpu->timed || (m && m->proven && !m->tight))
		return 0;
	if (first > from && (began || (m && m->unseen_before)))
		code = xf_pcpu_gap(stream, pcpu, from, first, "start", err);
	if (!code && to > last && (ended || (m && m->unseen_after)))
		code = xf_pcpu_gap(stream, pcpu, last, to, "end", err);
	return code;
}

static int all_ends(
	struct xf_stream *stream, struct xf_pcpu **pcpus, size_t n, struct xf_error *err)
{
	uint64_t from = UINT64_MAX, to = 0;
	int code = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t first = common_time(pcpus[i], pcpus[i]->tsc_first);
		uint64_t last = common_time(pcpus[i], pcpus[i]->key);

		if (!pcpus[i]->timed)
			continue;
		from = first < from ? first : from;
		to = last > to ? last : to;
	}
	for (size_t i = 0; i < n && !code; i++)
		code = ends(stream, pcpus[i], from, to, err);
	return code;
}

/* The silence of a pCPU that has at least half of a time, NULL = it has none. */
static struct xf_clock_silence *silent(const struct xf_pcpu *pcpu, uint64_t first, uint64_t last)
{
	for (size_t i = 0; pcpu->clock && i < pcpu->clock->nsilences; i++) {
		struct xf_clock_silence *s = &pcpu->clock->silences[i];
		uint64_t from = common_time(pcpu, s->first), to = common_time(pcpu, s->last);

		from = from > first ? from : first;
		to = to < last ? to : last;
		if (to > from && to - from >= (last - first) / 2)
			return s;
	}
	return NULL;
}

/* Was every pCPU silent then, as far as it has records before and behind it?  Not if there is only one. */
static bool all_silent(struct xf_pcpu **pcpus, size_t n, uint64_t first, uint64_t last)
{
	for (size_t i = 0; i < n; i++)
		if (pcpus[i]->timed && common_time(pcpus[i], pcpus[i]->tsc_first) < last &&
			common_time(pcpus[i], pcpus[i]->key) > first &&
			!silent(pcpus[i], first, last))
			return false;
	return n > 1;
}

/* The gap of a pCPU that is noted for this time already, NULL = there is none. */
static struct xf_gap *noted(
	struct xf_stream *stream, const struct xf_pcpu *pcpu, const struct xf_clock_silence *s)
{
	for (size_t i = 0; i < stream->ngaps; i++) {
		struct xf_gap *gap = &stream->gaps[i];

		if (gap->pcpu == pcpu->id && gap->tsc_first < s->last - stream->tsc_base &&
			gap->tsc_last > s->first - stream->tsc_base)
			return gap;
	}
	return NULL;
}

/* Where the capture itself stood still, every pCPU has the gap. */
static void spread(
	struct xf_stream *stream, struct xf_pcpu **pcpus, size_t n, size_t i, size_t *compared)
{
	struct xf_clock_list *list = pcpus[i]->clock;

	for (size_t k = 0; list && k < list->nsilences; k++) {
		const struct xf_clock_silence *s = &list->silences[k];
		uint64_t first = common_time(pcpus[i], s->first);
		uint64_t last = common_time(pcpus[i], s->last);
		bool stood = last - first >= STOOD_STILL && stream->clocks.runstates &&
			     !stream->clocks.breaks;

		if (!(s->missing || stood || noted(stream, pcpus[i], s)) ||
			(*compared += n) > MOST_COMPARED || !all_silent(pcpus, n, first, last))
			continue;
		for (size_t other = 0; other < n; other++) {
			struct xf_clock_silence *its = silent(pcpus[other], first, last);

			if (its)
				its->missing = its->everywhere = true;
		}
	}
}

static int silences(struct xf_stream *stream, struct xf_pcpu *pcpu, struct xf_error *err)
{
	struct xf_clock_list *list = pcpu->clock;
	int code = 0;

	for (size_t k = 0; list && k < list->nsilences && !code; k++) {
		const struct xf_clock_silence *s = &list->silences[k];
		const char *why = s->everywhere ? "seam" : "middle";
		struct xf_gap *gap = s->missing ? noted(stream, pcpu, s) : NULL;

		if (gap && s->everywhere)
			gap->why = why;
		else if (s->missing && !gap)
			code = xf_pcpu_gap(stream, pcpu, s->first, s->last, why, err);
	}
	return code;
}

int xf_coverage_finish(
	struct xf_stream *stream, struct xf_pcpu **pcpus, size_t n, struct xf_error *err)
{
	size_t compared = 0;
	bool few;
	int code;

	for (size_t i = 0; i < n; i++) {
		if (!pcpus[i]->clock || !pcpus[i]->timed)
			continue;
		pcpus[i]->clock->first = pcpus[i]->tsc_first;
		pcpus[i]->clock->last = pcpus[i]->key;
	}
	xf_clock_solve(&stream->clocks);
	code = stream->parts ? 0 : all_ends(stream, pcpus, n, err);
	few = stream->scheduled && n * XF_CLOCK_SILENCES * (stream->ngaps + 1) <= MOST_NOTED;
	for (size_t i = 0; i < n && few; i++)
		spread(stream, pcpus, n, i, &compared);
	for (size_t i = 0; i < n && !code && few; i++)
		code = silences(stream, pcpus[i], err);
	for (size_t i = 0; i < n; i++)
		if (pcpus[i]->clock && pcpus[i]->clock->model.proven)
			xf_doubt_add(stream->doubts, XF_DOUBT_CLOCK, 1, 0, 0);
	if (stream->clocks.breaks >= FEW_BREAKS)
		xf_doubt_add(stream->doubts, XF_DOUBT_PCPU_UNSEEN, stream->clocks.breaks, 0, 0);
	return code;
}
