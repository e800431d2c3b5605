// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Framing.  In: bytes.  Out: chunks of whole records of one pCPU.
 * The size of a window is the strongest anchor: damage inside a window costs the rest of that
 * window; a damaged header costs what lies before the next header that holds together.
 */
#include "collector/trace/framer.h"
#include "schemas/xen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/newfile.h"

#define WINDOW_HEAD 12
#define WINDOW_MAX  0x0fffeff8u	 /* 65535 pages less the ring's own header */
#ifndef RESIDENT_MAX		 /* a test makes it small */
#define RESIDENT_MAX (24u << 20) /* bytes of waiting chunks kept in memory */
#endif
#define DETECT (XF_SOURCE_LOOKAHEAD / 2)
#define SPARE  16

struct xf_framer {
	struct xf_source *source;
	struct xf_doubt *doubts;
	enum xf_stream_format format;
	bool detected, searching;
	bool in_window;
	uint32_t pcpu;
	uint32_t left; /* bytes of the window not yet read */
	uint32_t skip; /* bytes of it to throw away */
	bool seen_window;
	uint32_t previous; /* pCPU of the window before */
	uint64_t pass;
	size_t resident;
	int spill; /* temporary file, -1 = none yet */
	uint64_t spill_end;
	/* of XF_CHUNK bytes each: malloc() would give them back to the kernel */
	uint8_t *spare[SPARE];
	size_t nspare;
};

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t record_size(uint32_t header)
{
	return 4 + (header >> 31) * 8 + (header >> 28 & 7) * 4;
}

static size_t stride(enum xf_stream_format format)
{
	return format == XF_STREAM_FIXED64 ? 60 : 36;
}

size_t xf_framer_fixed_record(
	enum xf_stream_format format, const uint8_t *p, struct xf_record *record)
{
	record->timed = true;
	record->nwords = 5;
	record->tsc = get64(p + 4);
	record->id = get32(p + 12);
	for (int i = 0; i < 5; i++)
		record->items[i] =
			format == XF_STREAM_FIXED64 ? get64(p + 20 + 8 * i) : get32(p + 16 + 4 * i);
	return stride(format);
}

static bool window_header(const uint8_t *p, uint32_t *pcpu, uint32_t *size)
{
	*pcpu = get32(p + 4);
	*size = get32(p + 8);
	return get32(p) == XF_WINDOW_MARK && *pcpu < XF_MAX_PCPUS && *size <= WINDOW_MAX &&
	       !(*size & 3);
}

static bool fixed_record(const uint8_t *p)
{
	uint32_t id = get32(p + 12);

	return get32(p) < XF_MAX_PCPUS && !(id >> 28) && xf_record_plausible(id) && get64(p + 4);
}

/*
 * Does a window that can be believed start at p?  Its records must hold together as far as they can
 * be seen, and where its end can be seen another header (or the end of the stream) must stand there.
 */
static bool window_at(const uint8_t *p, size_t have)
{
	uint32_t pcpu, size;
	size_t at = WINDOW_HEAD, end;

	if (have < WINDOW_HEAD || !window_header(p, &pcpu, &size))
		return false;
	end = at + size;
	while (at < end && at + 4 <= have) {
		uint32_t header = get32(p + at);

		if (!xf_record_plausible(header) || at + record_size(header) > end)
			return false;
		at += record_size(header);
	}
	if (at < end)
		return at > WINDOW_HEAD;
	return at + 4 <= have ? get32(p + at) == XF_WINDOW_MARK : size > 0;
}

/* Do the first records make sense at this stride: small pCPU, known class, time not running back? */
static bool looks_fixed(enum xf_stream_format format, const uint8_t *p, size_t have)
{
	size_t step = stride(format), n = have / step;
	struct seen {
		uint32_t pcpu;
		uint64_t tsc;
	} last[64];
	unsigned used = 0, back = 0;

	if (n > 256)
		n = 256;
	for (size_t i = 0; i < n; i++, p += step) {
		unsigned k;

		if (!fixed_record(p))
			return false;
		for (k = 0; k < used && last[k].pcpu != get32(p); k++)
			;
		if (k == used && used < 64)
			last[used++] = (struct seen){get32(p), get64(p + 4)};
		if (k < 64) {
			back += get64(p + 4) < last[k].tsc;
			last[k].tsc = get64(p + 4);
		}
	}
	return n && back * 8 <= n;
}

/* Files that people give by mistake: say what they are. */
static const char *other_file(const uint8_t *p, size_t have)
{
	static const struct {
		const char *magic;
		size_t length;
		const char *what;
	} known[] = {
		{"SQLite format 3", 16, "it is a SQLite database; try: xenfault info"},
		{"\x28\xb5\x2f\xfd", 4,
			"it is compressed; try: zstd -dc FILE | xenfault import -o DB -"},
		{"\x1f\x8b", 2, "it is compressed; try: gzip -dc FILE | xenfault import -o DB -"},
		{"\xfd\x37zXZ", 5, "it is compressed; try: xz -dc FILE | xenfault import -o DB -"},
		{"\x7f"
		 "ELF",
			4, "it is an ELF file; symbols are given with --symbols"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (have >= known[i].length && !memcmp(p, known[i].magic, known[i].length))
			return known[i].what;
	for (size_t i = 0; i < have; i++)
		if (p[i])
			return "no window header and no fixed-size records at its start; it has to be "
			       "what xentrace itself writes, not the text of xenalyze or another tool";
	return "it holds only zeroes (xentrace -M writes such a file when nothing was recorded)";
}

int xf_framer_detect(struct xf_framer *f, struct xf_error *err)
{
	const uint8_t *p;
	uint32_t pcpu, size;
	size_t have;
	int code;

	if (f->detected)
		return 0;
	code = xf_source_fill(f->source, DETECT, err);
	p = xf_source_data(f->source);
	have = xf_source_have(f->source);
	if (code == XF_AGAIN && have < 4096)
		return XF_AGAIN;
	if (code < 0 && code != XF_AGAIN)
		return code;
	if (!have && !code)
		return xf_fail(err, XF_FORMAT, "the trace is empty (0 bytes)");
	f->detected = true;
	f->format = XF_STREAM_VARIABLE;
	if (have >= 4 && get32(p) == XF_WINDOW_MARK &&
		(have < WINDOW_HEAD || window_header(p, &pcpu, &size)))
		return 0;
	for (int format = XF_STREAM_FIXED64; format <= XF_STREAM_FIXED32; format++) {
		if (looks_fixed((enum xf_stream_format)format, p, have)) {
			f->format = (enum xf_stream_format)format;
			return 0;
		}
	}
	for (size_t at = 4; at + WINDOW_HEAD <= have; at += 4)
		if (window_at(p + at, have - at))
			return 0;
	if (have >= WINDOW_HEAD && get32(p) == XF_WINDOW_MARK)
		return xf_fail(err, XF_FORMAT,
			"not a Xen trace: its first window header names pCPU %u and %u bytes, "
			"and no whole window follows",
			get32(p + 4), get32(p + 8));
	return xf_fail(err, XF_FORMAT, "not a Xen trace: %s", other_file(p, have));
}

int xf_framer_new(struct xf_framer **framer, struct xf_source *source, struct xf_doubt *doubts,
	struct xf_error *err)
{
	struct xf_framer *f = calloc(1, sizeof(*f));

	if (!f) {
		xf_source_close(source);
		return xf_fail_nomem(err);
	}
	f->source = source;
	f->doubts = doubts;
	f->spill = -1;
	*framer = f;
	return xf_framer_detect(f, err);
}

enum xf_stream_format xf_framer_format(const struct xf_framer *f)
{
	return f->format;
}

static void doubt(struct xf_framer *f, enum xf_doubt_code code, uint64_t n)
{
	xf_doubt_add(f->doubts, code, n, 0, xf_source_offset(f->source));
}

static void start_window(struct xf_framer *f, uint32_t pcpu, uint32_t size)
{
	/* xentrace drains pCPU 0, 1, 2 ... in each pass, and writes nothing for an empty ring */
	if (f->seen_window && pcpu <= f->previous)
		f->pass++;
	f->seen_window = true;
	f->previous = pcpu;
	f->in_window = true;
	f->pcpu = pcpu;
	f->left = size;
}

/* Memory that a chunk takes: long ones all take the same, so that each can use another's. */
static size_t room_of(const struct xf_chunk *chunk)
{
	return chunk->length > XF_CHUNK / 2 ? XF_CHUNK : chunk->length;
}

static int take_room(struct xf_framer *f, struct xf_chunk *chunk, struct xf_error *err)
{
	size_t room = room_of(chunk);

	chunk->data = room == XF_CHUNK && f->nspare ? f->spare[--f->nspare] : malloc(room);
	if (!chunk->data)
		return xf_fail_nomem(err);
	f->resident += room;
	return 0;
}

static void give_room(struct xf_framer *f, struct xf_chunk *chunk)
{
	size_t room = room_of(chunk);

	if (!chunk->data)
		return;
	f->resident -= room;
	if (room == XF_CHUNK && f->nspare < SPARE)
		f->spare[f->nspare++] = chunk->data;
	else
		free(chunk->data);
	chunk->data = NULL;
}

/* Puts chunks beyond the limit out of memory. */
static int spill(struct xf_framer *f, struct xf_chunk *chunk, struct xf_error *err)
{
	chunk->can_unload = xf_source_can_reread(f->source);
	if (f->resident <= RESIDENT_MAX)
		return 0;
	if (!xf_source_can_reread(f->source)) {
		if (f->spill < 0 && (f->spill = xf_newfile_unnamed(NULL, err)) < 0)
			return f->spill;
		chunk->spilled = f->spill_end;
		for (size_t done = 0; done < chunk->length;) {
			ssize_t n = pwrite(f->spill, chunk->data + done, chunk->length - done,
				(off_t)(f->spill_end + done));

			if (n < 0 && errno != EINTR)
				return xf_fail_errno(err, XF_IO,
					"cannot write the temporary file (TMPDIR chooses where it is)");
			if (n > 0)
				done += (size_t)n;
		}
		f->spill_end += chunk->length;
		chunk->can_unload = true;
	}
	give_room(f, chunk);
	return 0;
}

int xf_chunk_load(struct xf_framer *f, struct xf_chunk *chunk, struct xf_error *err)
{
	int code;

	if (chunk->data)
		return 0;
	code = take_room(f, chunk, err);
	if (code)
		return code;
	if (xf_source_can_reread(f->source))
		return xf_source_reread(f->source, chunk->offset, chunk->data, chunk->length, err);
	for (size_t done = 0; done < chunk->length && !code;) {
		ssize_t n = pread(f->spill, chunk->data + done, chunk->length - done,
			(off_t)(chunk->spilled + done));

		if (n > 0)
			done += (size_t)n;
		else if (!n || errno != EINTR)
			code = xf_fail_errno(err, XF_IO, "cannot read the temporary file");
	}
	return code;
}

void xf_chunk_unload(struct xf_framer *f, struct xf_chunk *chunk)
{
	if (chunk->data && chunk->can_unload && f->resident > RESIDENT_MAX)
		give_room(f, chunk);
}

void xf_chunk_free(struct xf_framer *f, struct xf_chunk *chunk)
{
	give_room(f, chunk);
	free(chunk);
}

/* Makes a chunk of the first n available bytes and consumes them. */
static int emit(
	struct xf_framer *f, struct xf_chunk **out, size_t n, uint64_t tsc, struct xf_error *err)
{
	struct xf_chunk *chunk = calloc(1, sizeof(*chunk));
	int code;

	if (!chunk)
		return xf_fail_nomem(err);
	chunk->length = (uint32_t)n;
	if ((code = take_room(f, chunk, err))) {
		free(chunk);
		return code;
	}
	memcpy(chunk->data, xf_source_data(f->source), n);
	chunk->pcpu = f->pcpu;
	chunk->tsc = tsc;
	chunk->pass = f->pass;
	chunk->offset = xf_source_offset(f->source);
	xf_source_skip(f->source, n);
	code = spill(f, chunk, err);
	if (code) {
		xf_chunk_free(f, chunk);
		return code;
	}
	*out = chunk;
	return 1;
}

/* Looks for the next window after damage, in steps of a word. */
static int search(struct xf_framer *f, struct xf_error *err)
{
	for (;;) {
		int code = xf_source_fill(f->source, XF_SOURCE_LOOKAHEAD, err);
		const uint8_t *p = xf_source_data(f->source);
		size_t have = xf_source_have(f->source), at = 0;

		if (code < 0)
			return code;
		while (at + WINDOW_HEAD <= have && (code == 0 || at < have / 2)) {
			if (get32(p + at) == XF_WINDOW_MARK && window_at(p + at, have - at)) {
				f->searching = false;
				break;
			}
			at += 4;
		}
		if (f->searching && !code)
			at = have;
		doubt(f, XF_DOUBT_STRAY, at);
		xf_source_skip(f->source, at);
		if (!f->searching)
			return 1;
		if (!code)
			return 0;
	}
}

static int next_window(struct xf_framer *f, struct xf_error *err)
{
	uint32_t pcpu, size;
	int code;

	if (f->searching) {
		code = search(f, err);
		if (code <= 0)
			return code;
	}
	code = xf_source_fill(f->source, WINDOW_HEAD, err);
	if (code < 0)
		return code;
	if (!code) {
		if (xf_source_have(f->source))
			doubt(f, XF_DOUBT_CUT, 1);
		xf_source_skip(f->source, xf_source_have(f->source));
		return 0;
	}
	if (window_header(xf_source_data(f->source), &pcpu, &size)) {
		xf_source_skip(f->source, WINDOW_HEAD);
		start_window(f, pcpu, size);
		return 1;
	}
	if (get32(xf_source_data(f->source)) == XF_WINDOW_MARK) {
		doubt(f, XF_DOUBT_WINDOW, 1);
		doubt(f, XF_DOUBT_STRAY, 4);
		xf_source_skip(f->source, 4);
	}
	f->searching = true;
	return next_window(f, err);
}

/*
 * Length of the whole records at the start of n bytes, and the last TSC in them (0 = none).  Stops
 * before what is no record; *why says what stopped it (XF_DOUBT_COUNT: only the end of the bytes).
 */
static size_t whole_records(const struct xf_framer *f, const uint8_t *p, size_t n, uint64_t *tsc,
	enum xf_doubt_code *why)
{
	size_t at = 0, timed = n;

	*why = XF_DOUBT_COUNT;
	while (at + 4 <= n) {
		uint32_t header = get32(p + at), pcpu, size;
		size_t length = record_size(header);

		if (!xf_record_plausible(header)) {
			*why = XF_DOUBT_DAMAGED;
			break;
		}
		if (header == XF_WINDOW_MARK && at + WINDOW_HEAD <= n &&
			window_header(p + at, &pcpu, &size)) {
			*why = XF_DOUBT_SHORT_WINDOW;
			break;
		}
		if (at + length > f->left) {
			*why = XF_DOUBT_PAST_WINDOW;
			break;
		}
		if (at + length > n)
			break;
		if (header >> 31)
			timed = at;
		at += length;
	}
	*tsc = timed < n ? get64(p + timed + 4) : 0;
	return at;
}

static int next_of_window(struct xf_framer *f, struct xf_chunk **chunk, struct xf_error *err)
{
	size_t want = f->left < XF_CHUNK ? f->left : XF_CHUNK, have, n;
	int code = xf_source_fill(f->source, want, err);
	enum xf_doubt_code why;
	uint64_t tsc;

	if (code < 0)
		return code;
	have = xf_source_have(f->source);
	if (have > want)
		have = want;
	n = whole_records(f, xf_source_data(f->source), have, &tsc, &why);
	if (why == XF_DOUBT_SHORT_WINDOW) {
		doubt(f, why, 1);
		f->in_window = false;
	} else if (why != XF_DOUBT_COUNT) {
		doubt(f, why, 1);
		f->skip = f->left - (uint32_t)n;
		f->left = (uint32_t)n;
	} else if (!code) {
		/* the stream ends before the window does */
		doubt(f, XF_DOUBT_CUT, 1);
		f->skip = f->left - (uint32_t)n;
		f->left = (uint32_t)n;
	}
	f->left -= (uint32_t)n;
	return n ? emit(f, chunk, n, tsc, err) : 2;
}

/* Throws away the rest of a damaged window. */
static int skip_rest(struct xf_framer *f, struct xf_error *err)
{
	while (f->skip) {
		size_t want = f->skip < XF_CHUNK ? f->skip : XF_CHUNK, have;
		int code = xf_source_fill(f->source, want, err);

		if (code < 0)
			return code;
		have = xf_source_have(f->source);
		if (have > want)
			have = want;
		xf_source_skip(f->source, have);
		f->skip = code ? f->skip - (uint32_t)have : 0;
	}
	return 1;
}

static int next_variable(struct xf_framer *f, struct xf_chunk **chunk, struct xf_error *err)
{
	for (;;) {
		int code;

		if (!f->in_window || !f->left) {
			code = skip_rest(f, err);
			if (code > 0)
				code = next_window(f, err);
			if (code <= 0)
				return code;
		}
		if (!f->left)
			continue;
		code = next_of_window(f, chunk, err);
		if (code != 2)
			return code;
	}
}

static int next_fixed(struct xf_framer *f, struct xf_chunk **chunk, struct xf_error *err)
{
	size_t step = stride(f->format), most = XF_CHUNK / step, n = 0;

	for (;;) {
		int code = xf_source_fill(f->source, most * step, err);
		const uint8_t *p = xf_source_data(f->source);
		size_t have = xf_source_have(f->source);

		if (code < 0 && (code != XF_AGAIN || have < step))
			return code;
		if (have < step) {
			if (have)
				doubt(f, XF_DOUBT_CUT, 1);
			xf_source_skip(f->source, have);
			return 0;
		}
		while (n < most && (n + 1) * step <= have && fixed_record(p + n * step) &&
			get32(p + n * step) == get32(p))
			n++;
		if (n)
			break;
		/* no anchor but the record itself: go on until two in a row hold together */
		while (have >= 2 * step && !(fixed_record(p) && fixed_record(p + step))) {
			doubt(f, XF_DOUBT_STRAY, 1);
			xf_source_skip(f->source, 1);
			p = xf_source_data(f->source);
			have--;
		}
		if (have < 2 * step && !code) {
			doubt(f, XF_DOUBT_STRAY, have);
			xf_source_skip(f->source, have);
			return 0;
		}
	}
	f->pcpu = get32(xf_source_data(f->source));
	/* a long run of one pCPU is cut into chunks, but stays one pass */
	if (f->seen_window && (f->pcpu < f->previous || (f->pcpu == f->previous && f->left == 0)))
		f->pass++;
	f->seen_window = true;
	f->previous = f->pcpu;
	f->left = n == most;
	return emit(f, chunk, n * step, get64(xf_source_data(f->source) + (n - 1) * step + 4), err);
}

int xf_framer_next(struct xf_framer *f, struct xf_chunk **chunk, struct xf_error *err)
{
	int code = xf_framer_detect(f, err);

	if (code)
		return code;
	return f->format == XF_STREAM_VARIABLE ? next_variable(f, chunk, err)
					       : next_fixed(f, chunk, err);
}

uint64_t xf_framer_offset(const struct xf_framer *f)
{
	return xf_source_offset(f->source);
}

uint64_t xf_framer_size(const struct xf_framer *f)
{
	return xf_source_size(f->source);
}

bool xf_framer_live(const struct xf_framer *f)
{
	return xf_source_live(f->source);
}

void xf_framer_free(struct xf_framer *f)
{
	if (!f)
		return;
	if (f->spill >= 0)
		close(f->spill);
	xf_source_close(f->source);
	while (f->nspare)
		free(f->spare[--f->nspare]);
	free(f);
}
