// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzz target: any bytes as a trace.  In: bytes.  Out: a trap if something is wrong.
 *
 * The bytes are read as a file, as a pipe, and as a live stream that comes in pieces.  Beyond what the
 * sanitizers see, this must hold: a pipe gives the events of the file; the counts of the reader agree
 * with what came out.
 */
#include <errno.h>
#include <string.h>

#include "collector/trace/reader.h"
#include "collector/trace/unpack.h"
#include "tests/fuzz/fuzz.h"

/* What came out of one reading. */
struct sum {
	uint64_t events, hash;
	struct xf_reader_stats stats;
};

static struct xf_source *file_of(const uint8_t *data, size_t size)
{
	struct xf_source *source;

	must(!xf_source_fd(&source, dup(fuzz_file(data, size)), "file", NULL));
	return source;
}

/* A stream that cannot be read again; one that is live has nothing to give after every piece. */
struct stream {
	const uint8_t *data;
	size_t left, piece, given;
};

static ssize_t next_piece(void *data, void *to, size_t room)
{
	struct stream *s = data;
	size_t n = s->left < room ? s->left : room;

	if (s->piece) {
		if (s->given == s->piece) {
			s->given = 0;
			errno = EAGAIN;
			return -1;
		}
		if (n > s->piece - s->given)
			n = s->piece - s->given;
		s->given += n;
	}
	memcpy(to, s->data, n);
	s->data += n;
	s->left -= n;
	return (ssize_t)n;
}

static struct xf_source *stream_of(struct stream *stream)
{
	struct xf_source *source;

	must(!xf_source_custom(&source, next_piece, stream, "stream", NULL));
	return source;
}

static void check_counts(struct xf_reader *reader, const struct sum *sum)
{
	const struct xf_record_table *table = xf_reader_records(reader);
	const struct xf_record_slot *slot;
	const struct xf_loss *loss;
	uint64_t records = 0, lost = 0;
	size_t cursor = 0;

	while (table && (slot = xf_record_next(table, &cursor)))
		records += slot->records;
	must(records == sum->stats.records);
	for (size_t i = 0; (loss = xf_reader_loss(reader, i)); i++)
		lost += loss->lost;
	must(lost == sum->stats.lost_records);
	must(sum->events == sum->stats.events);
}

/* Reads to the end.  live: 0 = XF_AGAIN must not come, 1 = settle then, 2 = the third one interrupts. */
static struct sum read_all(struct xf_source *source, int live)
{
	struct sum sum = {.hash = FUZZ_HASH};
	struct xf_reader *reader;
	struct xf_event event;
	int code, again = 0;

	if (xf_reader_open(&reader, source, NULL))
		return sum;
	while ((code = xf_reader_next(reader, &event, NULL)) == 1 || code == XF_AGAIN) {
		if (code == XF_AGAIN) {
			must(live);
			if (live == 2 && ++again == 3)
				xf_reader_interrupt(reader);
			else
				xf_reader_settle(reader);
			continue;
		}
		sum.events++;
		sum.hash = fuzz_mix(
			sum.hash, &event, offsetof(struct xf_event, kind) + sizeof(event.kind));
		must(event.kind > XF_KIND_NONE && event.kind < XF_KIND_COUNT);
	}
	xf_reader_stats(reader, &sum.stats);
	if (!code)
		check_counts(reader, &sum);
	xf_reader_close(reader);
	return sum;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stream pipe = {.data = data, .left = size};
	struct stream live = {.data = data, .left = size, .piece = size / 5 + 1};
	struct sum file = read_all(file_of(data, size), 0), piped = read_all(stream_of(&pipe), 0);

	/* a function's bytes are the trace itself; a compressed file's are not */
	must(xf_unpack_knows(data, size) ||
		(file.events == piped.events && file.hash == piped.hash));
	/* not for every input */
	if (size % 4 == 0)
		read_all(stream_of(&live), 1 + (size % 8 == 0));
	return 0;
}
