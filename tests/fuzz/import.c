// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzz target: any bytes as a trace that becomes a database.  In: bytes.  Out: a trap if something is wrong.
 *
 * Reader and analyzer work into a database in memory; now and then the whole import makes a file as
 * well, by the bulk loader with its threads, and once more by INSERT, and that is analyzed again.  All
 * ways must give the same events and the same forks, and a file that SQLite finds whole.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/analyzer.h"
#include "collector/store/store.h"
#include "schemas/db.h"
#include "schemas/sql.h"
#include "tests/fuzz/fuzz.h"

static sqlite3 *memory;
static char path[64];

static const char *const derived[] = {"fork", "sequence", "spurious_fault", "flush", "episode",
	"episode_round", "episode_page", "finding", NULL};
static const char *const facts[] = {
	"event", "event_late", "event_place", "event_type", "loss", "record_count", "doubt", NULL};

static struct xf_source *source_of(const uint8_t *data, size_t size)
{
	struct xf_source *source;

	must(!xf_source_fd(&source, dup(fuzz_file(data, size)), "fuzz", NULL));
	return source;
}

/* The rows of tables, as one number. */
static uint64_t rows(sqlite3 *db, const char *const *tables)
{
	uint64_t hash = FUZZ_HASH;

	for (; *tables; tables++) {
		sqlite3_stmt *stmt;
		char sql[96];

		snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY 1, 2", *tables);
		must(!xf_db_prepare(db, &stmt, sql, NULL));
		while (sqlite3_step(stmt) == SQLITE_ROW) {
			for (int k = 0; k < sqlite3_column_count(stmt); k++) {
				const void *text = sqlite3_column_text(stmt, k);

				hash = fuzz_mix(hash, text ? text : "NULL",
					text ? (size_t)sqlite3_column_bytes(stmt, k) : 4);
			}
		}
		must(sqlite3_finalize(stmt) == SQLITE_OK);
	}
	return hash;
}

/* Events go straight into the analyzer; what it made of them, and how many there were. */
static uint64_t analyzed(struct xf_reader *reader, uint64_t *events)
{
	struct xf_analyzer *analyzer = NULL;
	struct xf_event event;
	uint64_t found;

	*events = 0;
	must(!xf_db_exec(memory, "BEGIN", NULL) && !xf_analyzer_new(&analyzer, memory, NULL));
	while (xf_reader_next(reader, &event, NULL) == 1)
		must(!xf_analyzer_event(analyzer, (int64_t)++ * events, &event, NULL));
	must(!xf_analyzer_finish(analyzer, NULL));
	xf_analyzer_free(analyzer);
	found = rows(memory, derived);
	must(!xf_db_exec(memory, "ROLLBACK", NULL));
	return found;
}

static int tap(void *data, int64_t id, const struct xf_event *event, struct xf_error *err)
{
	return xf_analyzer_event(data, id, event, err);
}

/* A whole import into the file; the rows of facts. */
static uint64_t imported(const uint8_t *data, size_t size, bool by_insert, uint64_t found)
{
	struct xf_vtab vtab = {.by_insert = by_insert, .tap = tap};
	struct xf_store *store = NULL;
	struct xf_analyzer *analyzer = NULL;
	struct xf_error err = {0};
	sqlite3 *db = NULL;
	uint64_t stored;

	must(!xf_reader_open(&vtab.reader, source_of(data, size), &err));
	must(!xf_store_create(&store, path, XF_NEWFILE_FORCE, &err));
	must(!xf_analyzer_new(&analyzer, xf_store_db(store), &err));
	vtab.tap_data = analyzer;
	must(!xf_pump_start(&vtab.pump, vtab.reader, &err));
	must(!xf_store_ingest(store, &vtab, &err));
	xf_pump_stop(vtab.pump);
	must(!xf_analyzer_finish(analyzer, &err));
	xf_analyzer_free(analyzer);
	must(!xf_store_summary(store, vtab.reader, "fuzz", 0, &err));
	must(rows(xf_store_db(store), derived) == found);
	must(!xf_analyze_mark(xf_store_db(store), &err));
	found = rows(xf_store_db(store), derived);
	must(!xf_store_commit(store, &err));
	xf_reader_close(vtab.reader);
	must(!xf_db_open(&db, path, 0, &err));
	must(rows(db, derived) == found);
	stored = rows(db, facts);
	must(!xf_analyze(db, NULL, &err));
	must(rows(db, derived) == found);
	sqlite3_close(db);
	must(!unlink(path));
	return stored;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	snprintf(path, sizeof(path), "%s/xenfault-fuzz-%d.db",
		access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (int)getpid());
	must(sqlite3_open(":memory:", &memory) == SQLITE_OK);
	must(!xf_db_exec(memory, xf_sql_facts, NULL) && !xf_db_exec(memory, xf_sql_derived, NULL));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct xf_reader *reader;
	uint64_t found, events;

	if (xf_reader_open(&reader, source_of(data, size), NULL))
		return 0;
	found = analyzed(reader, &events);
	xf_reader_close(reader);
	if (events && size % 32 == 0)
		must(imported(data, size, false, found) == imported(data, size, true, found));
	return 0;
}
