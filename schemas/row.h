/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of the table `event` as structs, and the small tables that they refer to.
 * In: events, or values of rows.  Out: numbers and values for rows, or struct xf_event.
 */
#ifndef XF_SCHEMAS_ROW_H
#define XF_SCHEMAS_ROW_H

#include <sqlite3.h>

#include "common/error.h"
#include "common/map.h"
#include "schemas/event.h"

#define XF_DICTIONARY_ANSWERS 64 /* a power of two */

/* What event_place and event_type hold, in memory.  A zero-initialised one is empty. */
struct xf_dictionary {
	struct xf_map place_ids, type_ids;
	/* only the members that the tables have are set; count is the number of events */
	struct xf_event *places, *types;
	size_t nplaces, ntypes, places_room, types_room;
	/* answers given before, by some bits of what was asked: nearly all events are alike */
	struct xf_dictionary_answer {
		uint64_t key;
		int64_t number; /* 0 = none */
	} place_answers[XF_DICTIONARY_ANSWERS], type_answers[XF_DICTIONARY_ANSWERS];
};

/* The number of an event's place or type, made if it is new; 0 = out of memory. */
int64_t xf_dictionary_place(struct xf_dictionary *d, const struct xf_event *event);
int64_t xf_dictionary_type(struct xf_dictionary *d, const struct xf_event *event);

/*
 * Writes what is new since the last call to db, and the number of events of each; reads all of db.
 * Each number that xf_dictionary_place() or _type() gives out counts as an event.
 */
int xf_dictionary_save(struct xf_dictionary *d, sqlite3 *db, struct xf_error *err);
int xf_dictionary_load(struct xf_dictionary *d, sqlite3 *db, struct xf_error *err);
void xf_dictionary_free(struct xf_dictionary *d);

/* Columns of the table `event`, its rowid as the last one. */
#define XF_EVENT_COLUMNS 12
#define XF_EVENT_COLUMN_NAMES \
	"tsc, place, type, va, rip, error_code, pte, frame, count, arg1, arg2, event_id"

/*
 * An event as values of those columns (the last one is left alone).  Returns which of them are not
 * NULL: bit i for column i.
 */
uint64_t xf_event_values(
	const struct xf_event *event, int64_t place, int64_t type, int64_t *values);

/* The other way round: values that are not present are 0 and leave their bit of event->has clear. */
void xf_event_of_values(const struct xf_dictionary *d, const int64_t *values, uint64_t present,
	struct xf_event *event);

#endif
