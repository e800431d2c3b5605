// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The witness of the bulk loader: an import with analysis whose rows go by INSERT.
 * In: a trace, a database to make.  Out: the database that xenfault import makes.
 */
#include <stdio.h>

#include "analyzer/analyzer.h"
#include "collector/store/store.h"

static int tap(void *data, int64_t event_id, const struct xf_event *event, struct xf_error *err)
{
	return xf_analyzer_event(data, event_id, event, err);
}

static int fill(
	struct xf_store *store, struct xf_reader *reader, const char *source, struct xf_error *err)
{
	struct xf_vtab vtab = {.reader = reader, .by_insert = true, .tap = tap};
	struct xf_analyzer *analyzer;
	int code = xf_analyzer_new(&analyzer, xf_store_db(store), err);

	if (code)
		return code;
	vtab.tap_data = analyzer;
	code = xf_pump_start(&vtab.pump, reader, err);
	if (!code)
		code = xf_store_ingest(store, &vtab, err);
	xf_pump_stop(vtab.pump);
	if (!code)
		code = xf_analyzer_finish(analyzer, err);
	xf_analyzer_free(analyzer);
	return code ? code : xf_store_summary(store, reader, source, 0, err);
}

int main(int argc, char **argv)
{
	struct xf_error err = {0};
	struct xf_reader *reader = NULL;
	struct xf_source *source;
	struct xf_store *store;
	int code;

	if (argc != 3) {
		fprintf(stderr, "usage: insert TRACE DB\n");
		return 2;
	}
	code = xf_source_open(&source, argv[1], &err);
	if (!code)
		code = xf_reader_open(&reader, source, &err);
	if (!code)
		code = xf_store_create(&store, argv[2], true, &err);
	if (!code) {
		code = fill(store, reader, argv[1], &err);
		if (code)
			xf_store_abort(store);
		else
			code = xf_store_commit(store, &err);
	}
	xf_reader_close(reader);
	if (code)
		fprintf(stderr, "insert: %s\n", err.text);
	return code != 0;
}
