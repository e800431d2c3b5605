// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzz target: any bytes as a trace.  In: bytes from libFuzzer.  Out: a trap if something is wrong.
 *
 * The bytes are read as a file, as a pipe, and as a live stream that comes in pieces; the events go
 * into the analyzer.  Beyond what the sanitizers see, this must hold: a pipe gives the events of the
 * file; the counts of the reader agree with what came out; the analyzer finds the same in events that
 * are stored and read again.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyzer/analyzer.h"
#include "collector/store/store.h"
#include "collector/trace/unpack.h"
#include "schemas/db.h"
#include "schemas/sql.h"

static sqlite3 *memory;

/* What came out of one reading. */
struct sum {
	uint64_t events, hash;
	struct xf_reader_stats stats;
};

static void must(int holds)
{
	if (!holds)
		__builtin_trap();
}

static uint64_t mix(uint64_t hash, const void *data, size_t size)
{
	for (const uint8_t *p = data; size; size--)
		hash = (hash ^ *p++) * 0x100000001b3u;
	return hash;
}

static struct xf_source *file_of(const uint8_t *data, size_t size)
{
	struct xf_source *source;
	int fd = memfd_create("trace", MFD_CLOEXEC);

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size && !lseek(fd, 0, SEEK_SET));
	must(!xf_source_fd(&source, fd, "file", NULL));
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
static struct sum read_all(struct xf_source *source, struct xf_analyzer *analyzer, int live)
{
	struct sum sum = {.hash = 0xcbf29ce484222325u};
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
		sum.hash =
			mix(sum.hash, &event, offsetof(struct xf_event, kind) + sizeof(event.kind));
		must(event.kind > XF_KIND_NONE && event.kind < XF_KIND_COUNT);
		if (analyzer)
			must(!xf_analyzer_event(analyzer, (int64_t)sum.events, &event, NULL));
	}
	xf_reader_stats(reader, &sum.stats);
	if (!code)
		check_counts(reader, &sum);
	xf_reader_close(reader);
	return sum;
}

/* What the analyzer wrote, as one number. */
static uint64_t derived(sqlite3 *db)
{
	static const char *const tables[] = {"fork", "sequence", "spurious_fault", "finding"};
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		sqlite3_stmt *stmt;
		char sql[64];

		snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY 1", tables[i]);
		must(!xf_db_prepare(db, &stmt, sql, NULL));
		while (sqlite3_step(stmt) == SQLITE_ROW) {
			for (int k = 0; k < sqlite3_column_count(stmt); k++) {
				const unsigned char *text = sqlite3_column_text(stmt, k);

				hash = mix(hash, text ? (const char *)text : "NULL",
					text ? (size_t)sqlite3_column_bytes(stmt, k) : 4);
			}
		}
		sqlite3_finalize(stmt);
	}
	return hash;
}

/*
 * Stores the events, analyzes what was stored.  0: it marked what gaps or wrong clocks touch, which events
 * alone do not show.
 */
static uint64_t stored(const uint8_t *data, size_t size)
{
	struct xf_vtab vtab = {0};
	sqlite3 *db = NULL;
	int64_t marks;
	uint64_t hash;

	if (xf_reader_open(&vtab.reader, file_of(data, size), NULL))
		return 0;
	must(!xf_store_scan(&db, &vtab, "fuzz", 0, NULL));
	must(!xf_analyze(db, NULL, NULL));
	must(!xf_db_int(db,
		"SELECT (SELECT count(*) FROM gap) + (SELECT count(*) FROM doubt WHERE code = 'clock')",
		&marks, NULL));
	hash = marks ? 0 : derived(db);
	sqlite3_close(db);
	xf_reader_close(vtab.reader);
	return hash;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	must(sqlite3_open(":memory:", &memory) == SQLITE_OK);
	must(!xf_db_exec(memory, xf_sql_facts, NULL) && !xf_db_exec(memory, xf_sql_derived, NULL));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stream pipe = {.data = data, .left = size};
	struct stream live = {.data = data, .left = size, .piece = size / 5 + 1};
	struct xf_analyzer *analyzer = NULL;
	struct sum file, piped;
	uint64_t found;

	must(!xf_db_exec(memory, "BEGIN", NULL) && !xf_analyzer_new(&analyzer, memory, NULL));
	file = read_all(file_of(data, size), analyzer, 0);
	must(!xf_analyzer_finish(analyzer, NULL));
	xf_analyzer_free(analyzer);
	found = derived(memory);
	must(!xf_db_exec(memory, "ROLLBACK", NULL));

	/* a function's bytes are the trace itself; a compressed file's are not */
	if (!xf_unpack_knows(data, size)) {
		piped = read_all(stream_of(&pipe), NULL, 0);
		must(file.events == piped.events && file.hash == piped.hash);
	}

	/* slower ones not for every input */
	if (size % 4 == 0)
		read_all(stream_of(&live), NULL, 1 + (size % 8 == 0));
	if (size % 32 == 0 && file.events) {
		uint64_t again = stored(data, size);

		must(!again || again == found);
	}
	return 0;
}
