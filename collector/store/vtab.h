/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table-valued function xentrace(path [, cpu_hz]): decoded, attributed, ordered events as SQL rows.
 * In: a trace file by path, or a reader that is already open.  Out: rows like the view `events`.
 */
#ifndef XF_COLLECTOR_STORE_VTAB_H
#define XF_COLLECTOR_STORE_VTAB_H

#include <sqlite3.h>

#include "collector/trace/pump.h"
#include "collector/trace/reader.h"
#include "schemas/row.h"

/* What a connection's xentrace() is told; it must live as long as the connection. */
struct xf_vtab {
	bool in_views;	  /* views may use it: only where all of them are ours */
	const char *path; /* where no path is given: FROM xentrace; NULL = one must be given */
	struct xf_reader *reader; /* not NULL: rows come from it, path is not looked at */
	struct xf_pump *pump;	  /* not NULL: and its events from here */
	uint64_t cpu_hz;	  /* for the column us, 0 = unknown */
	/* name of an instruction address for the column symbol, NULL = none */
	const char *(*symbol)(void *data, int domid, uint64_t rip, char *text, size_t size);
	void *symbol_data;
	/* sees every event that a row is made of; non-zero stops with that code */
	int (*tap)(
		void *data, int64_t event_id, const struct xf_event *event, struct xf_error *err);
	void *tap_data;
	/* asked now and then; non-zero: the reader is interrupted and its rows end */
	int (*stop)(void *data);
	void *stop_data;
	struct xf_dictionary *dictionary; /* for the columns place and type, may be NULL */
	bool by_insert;	     /* the store: not by the bulk loader, to compare with it */
	int64_t last_id;     /* event_id counts on from here */
	int64_t budget;	     /* rows until the statement ends with again set; 0 = no limit */
	bool exhausted;	     /* out: they ended because the budget was used up */
	bool again;	     /* out: the rows ended because a live source has nothing final yet */
	struct xf_error err; /* out: why a statement failed */
};

/* Registers xentrace on the connection.  Returns 0 or -XF_DB. */
int xf_vtab_register(sqlite3 *db, struct xf_vtab *vtab, struct xf_error *err);

/* The same with nothing to tell: only files by path.  Returns a code of SQLite. */
int xf_vtab_register_own(sqlite3 *db);

#endif
