// SPDX-License-Identifier: GPL-2.0-or-later
/* Compressed traces.  In: compressed bytes.  Out: what they hold, piece by piece, in bounded memory. */
#include "collector/trace/unpack.h"

#include <errno.h>
#include <lzma.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define INPUT	   (128 * 1024)
#define MOST_OF_XZ (256 << 20) /* bytes of memory; xz -9 takes 65 MiB */

struct span {
	const uint8_t *in;
	size_t nin;
	uint8_t *out;
	size_t nout;
};

enum step {
	STEP_MORE, /* between its first byte and its last */
	STEP_END,  /* the input may end here; what follows is a further compressed file */
	STEP_BAD,
};

struct format {
	const char *name, *magic;
	size_t length;
	bool (*open)(struct xf_unpack *u);
	/* Moves both ends of the span forward; last: no more input will come. */
	enum step (*step)(struct xf_unpack *u, struct span *span, bool last);
	void (*close)(struct xf_unpack *u);
};

struct xf_unpack {
	const struct format *format;
	ssize_t (*read)(void *data, void *to, size_t n);
	void *data;
	const char *name, *why; /* why: what the library said */
	union {
		ZSTD_DStream *zstd;
		z_stream gzip;
		lzma_stream xz;
	};
	size_t at, have, room;
	bool last, given, broken; /* given: some of the content */
	bool large;		  /* it takes more memory than a trace is worth */
	enum step state;
	uint8_t input[]; /* of room bytes */
};

static bool open_zstd(struct xf_unpack *u)
{
	u->zstd = ZSTD_createDStream();
	return u->zstd != NULL;
}

static enum step step_zstd(struct xf_unpack *u, struct span *span, bool last)
{
	ZSTD_inBuffer in = {span->in, span->nin, 0};
	ZSTD_outBuffer out = {span->out, span->nout, 0};
	size_t left = ZSTD_decompressStream(u->zstd, &out, &in);

	(void)last;
	span->in += in.pos;
	span->nin -= in.pos;
	span->out += out.pos;
	span->nout -= out.pos;
	if (ZSTD_isError(left)) {
		u->why = ZSTD_getErrorName(left);
		u->large = ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge;
		return STEP_BAD;
	}
	return left ? STEP_MORE : STEP_END;
}

static void close_zstd(struct xf_unpack *u)
{
	ZSTD_freeDStream(u->zstd);
}

static bool open_gzip(struct xf_unpack *u)
{
	return inflateInit2(&u->gzip, 16 + MAX_WBITS) == Z_OK; /* 16: with gzip's header */
}

static enum step step_gzip(struct xf_unpack *u, struct span *span, bool last)
{
	int code;

	(void)last;
	u->gzip.next_in = (uint8_t *)(uintptr_t)span->in;
	u->gzip.avail_in = (unsigned)span->nin;
	u->gzip.next_out = span->out;
	u->gzip.avail_out = (unsigned)span->nout;
	if (u->state == STEP_END && inflateReset(&u->gzip) != Z_OK)
		return STEP_BAD;
	code = inflate(&u->gzip, Z_NO_FLUSH);
	*span = (struct span){
		u->gzip.next_in, u->gzip.avail_in, u->gzip.next_out, u->gzip.avail_out};
	if (code == Z_STREAM_END)
		return STEP_END;
	u->why = u->gzip.msg;
	return code == Z_OK || code == Z_BUF_ERROR ? STEP_MORE : STEP_BAD;
}

static void close_gzip(struct xf_unpack *u)
{
	inflateEnd(&u->gzip);
}

static bool open_xz(struct xf_unpack *u)
{
	u->xz = (lzma_stream)LZMA_STREAM_INIT;
	return lzma_stream_decoder(&u->xz, MOST_OF_XZ, LZMA_CONCATENATED) == LZMA_OK;
}

static enum step step_xz(struct xf_unpack *u, struct span *span, bool last)
{
	lzma_ret code;

	u->xz.next_in = span->in;
	u->xz.avail_in = span->nin;
	u->xz.next_out = span->out;
	u->xz.avail_out = span->nout;
	code = lzma_code(&u->xz, last ? LZMA_FINISH : LZMA_RUN);
	*span = (struct span){u->xz.next_in, u->xz.avail_in, u->xz.next_out, u->xz.avail_out};
	if (code == LZMA_STREAM_END)
		return STEP_END;
	u->large = code == LZMA_MEMLIMIT_ERROR;
	return code == LZMA_OK || code == LZMA_BUF_ERROR ? STEP_MORE : STEP_BAD;
}

static void close_xz(struct xf_unpack *u)
{
	lzma_end(&u->xz);
}

static const struct format formats[] = {
	{"zstd", "\x28\xb5\x2f\xfd", 4, open_zstd, step_zstd, close_zstd},
	{"gzip", "\x1f\x8b\x08", 3, open_gzip, step_gzip, close_gzip},
	{"xz", "\xfd\x37zXZ", 6, open_xz, step_xz, close_xz},
};

static const struct format *format_of(const void *bytes, size_t n)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (n >= formats[i].length && !memcmp(bytes, formats[i].magic, formats[i].length))
			return &formats[i];
	return NULL;
}

bool xf_unpack_knows(const void *bytes, size_t n)
{
	return format_of(bytes, n) != NULL;
}

int xf_unpack_open(struct xf_unpack **unpack, const void *begin, size_t n,
	ssize_t (*read)(void *data, void *to, size_t n), void *data, const char *name,
	struct xf_error *err)
{
	size_t input = n > INPUT ? n : INPUT;
	struct xf_unpack *u = calloc(1, sizeof(*u) + input);

	if (!u)
		return xf_fail_nomem(err);
	u->format = format_of(begin, n);
	u->read = read;
	u->data = data;
	u->name = name;
	u->have = n;
	u->room = input;
	memcpy(u->input, begin, n);
	if (!u->format->open(u)) {
		free(u);
		return xf_fail_nomem(err);
	}
	*unpack = u;
	return 0;
}

/* More input behind what is left: 0, XF_AGAIN or a negative code. */
static int refill(struct xf_unpack *u, struct xf_error *err)
{
	ssize_t got = u->read(u->data, u->input, u->room);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return XF_AGAIN;
	if (got < 0)
		return xf_fail_errno(err, XF_IO, "cannot read %s", u->name);
	u->at = 0;
	u->have = (size_t)got;
	u->last = !got;
	return 0;
}

ssize_t xf_unpack_read(struct xf_unpack *u, void *to, size_t room, struct xf_error *err)
{
	struct span span = {.out = to, .nout = room};
	int code;

	while (span.nout == room && !u->broken) {
		if (u->at == u->have && !u->last) {
			code = refill(u, err);
			if (code)
				return code;
		}
		if (u->last && u->state == STEP_END)
			return 0;
		span.in = u->input + u->at;
		span.nin = u->have - u->at;
		u->state = u->format->step(u, &span, u->last);
		u->at = u->have - span.nin;
		if (u->state == STEP_BAD ||
			(u->last && span.nout == room && u->state == STEP_MORE)) {
			u->broken = true;
			break;
		}
	}
	/* what was good before is worth having, as of a trace that is cut */
	if (u->broken && span.nout == room && !u->given && u->large)
		return xf_fail(err, XF_FORMAT,
			"%s is compressed, and %s needs more memory for it than xenfault takes: decompress "
			"it first",
			u->name, u->format->name);
	if (u->broken && span.nout == room && !u->given)
		return xf_fail(err, XF_FORMAT, "%s is compressed, and its %s data are %s%s%s",
			u->name, u->format->name, u->state == STEP_BAD ? "damaged" : "cut short",
			u->why ? ": " : "", u->why ? u->why : "");
	u->given = true;
	return (ssize_t)(room - span.nout);
}

bool xf_unpack_broken(const struct xf_unpack *u)
{
	return u->broken;
}

void xf_unpack_close(struct xf_unpack *u)
{
	if (!u)
		return;
	u->format->close(u);
	free(u);
}
