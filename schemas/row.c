// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of `event` as structs.  In: events or statements.  Out: numbers, struct xf_event. */
#include "schemas/row.h"

#include <stdlib.h>

#include "schemas/db.h"

/* Puts one more example at the end of a list; returns its number from 1, 0 = out of memory. */
static int64_t append(struct xf_event **list, size_t *n, size_t *room, const struct xf_event *event)
{
	if (*n == *room) {
		size_t more = *room ? 2 * *room : 64;
		struct xf_event *bigger = realloc(*list, more * sizeof(*bigger));

		if (!bigger)
			return 0;
		*list = bigger;
		*room = more;
	}
	(*list)[*n] = *event;
	(*list)[(*n)++].count = 0;
	return (int64_t)*n;
}

/* The number of a key in a list; 0 = out of memory. */
static int64_t number(struct xf_map *ids, uint64_t key, struct xf_event **list, size_t *n,
	size_t *room, const struct xf_event *event)
{
	uint64_t *slot = xf_map_put(ids, key);

	if (slot && !*slot)
		*slot = (uint64_t)append(list, n, room, event);
	return slot ? (int64_t)*slot : 0;
}

int64_t xf_dictionary_place(struct xf_dictionary *d, const struct xf_event *event)
{
	struct xf_dictionary_answer *a;
	uint64_t key = event->pcpu;

	if (event->has & XF_HAS_OWNER)
		key |= (uint64_t)event->domid << 48 | (uint64_t)event->vcpu << 32 | 1u << 31;
	a = &d->place_answers[(key ^ key >> 29 ^ key >> 43) % XF_DICTIONARY_ANSWERS];
	if (a->key != key || !a->number) {
		a->number =
			number(&d->place_ids, key, &d->places, &d->nplaces, &d->places_room, event);
		a->key = key;
	}
	if (a->number)
		d->places[a->number - 1].count++;
	return a->number;
}

int64_t xf_dictionary_type(struct xf_dictionary *d, const struct xf_event *event)
{
	uint64_t key = (uint64_t)event->kind << 32 | event->raw_id;
	struct xf_dictionary_answer *a =
		&d->type_answers[(key ^ key >> 8 ^ key >> 32) % XF_DICTIONARY_ANSWERS];

	if (a->key != key || !a->number) {
		a->number = number(&d->type_ids, key, &d->types, &d->ntypes, &d->types_room, event);
		a->key = key;
	}
	if (a->number)
		d->types[a->number - 1].count++;
	return a->number;
}

static int save_places(struct xf_dictionary *d, sqlite3 *db, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(db, &stmt,
		"INSERT INTO event_place VALUES (?, ?, ?, ?, ?)"
		" ON CONFLICT DO UPDATE SET events = excluded.events",
		err);

	for (size_t i = 0; i < d->nplaces && !code; i++) {
		const struct xf_event *e = &d->places[i];

		sqlite3_bind_int64(stmt, 1, (int64_t)i + 1);
		sqlite3_bind_int64(stmt, 2, e->pcpu);
		if (e->has & XF_HAS_OWNER) {
			sqlite3_bind_int(stmt, 3, e->domid);
			sqlite3_bind_int(stmt, 4, e->vcpu);
		}
		sqlite3_bind_int64(stmt, 5, (int64_t)e->count);
		code = xf_db_step(stmt, err);
		sqlite3_reset(stmt);
		sqlite3_clear_bindings(stmt);
	}
	sqlite3_finalize(stmt);
	return code;
}

static int save_types(struct xf_dictionary *d, sqlite3 *db, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(db, &stmt,
		"INSERT INTO event_type VALUES (?, ?, ?, ?, ?, ?)"
		" ON CONFLICT DO UPDATE SET events = excluded.events",
		err);

	for (size_t i = 0; i < d->ntypes && !code; i++) {
		const struct xf_event *e = &d->types[i];

		sqlite3_bind_int64(stmt, 1, (int64_t)i + 1);
		sqlite3_bind_int(stmt, 2, e->kind);
		sqlite3_bind_text(stmt, 3, xf_kind_name(e->kind), -1, SQLITE_STATIC);
		sqlite3_bind_int64(stmt, 4, e->raw_id);
		if (xf_kind_writes_pte(e->kind))
			sqlite3_bind_int(stmt, 5, (int)xf_pte_shift(e->raw_id));
		sqlite3_bind_int64(stmt, 6, (int64_t)e->count);
		code = xf_db_step(stmt, err);
		sqlite3_reset(stmt);
		sqlite3_clear_bindings(stmt);
	}
	sqlite3_finalize(stmt);
	return code;
}

int xf_dictionary_save(struct xf_dictionary *d, sqlite3 *db, struct xf_error *err)
{
	int code = save_places(d, db, err);

	return code ? code : save_types(d, db, err);
}

int xf_dictionary_load(struct xf_dictionary *d, sqlite3 *db, struct xf_error *err)
{
	sqlite3_stmt *stmt;
	int code = xf_db_prepare(
		db, &stmt, "SELECT pcpu, domid, vcpu, events FROM event_place ORDER BY place", err);

	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		struct xf_event e = {.pcpu = (uint32_t)sqlite3_column_int64(stmt, 0),
			.domid = (uint16_t)sqlite3_column_int(stmt, 1),
			.vcpu = (uint16_t)sqlite3_column_int(stmt, 2)};

		if (sqlite3_column_type(stmt, 1) != SQLITE_NULL)
			e.has = XF_HAS_OWNER;
		code = xf_dictionary_place(d, &e) ? 0 : xf_fail_nomem(err);
		if (!code)
			d->places[d->nplaces - 1].count = (uint64_t)sqlite3_column_int64(stmt, 3);
	}
	sqlite3_finalize(stmt);
	if (code)
		return code;
	code = xf_db_prepare(
		db, &stmt, "SELECT kind, raw_id, events FROM event_type ORDER BY type", err);
	while (!code && (code = xf_db_step(stmt, err)) == 1) {
		struct xf_event e = {.kind = (uint16_t)sqlite3_column_int(stmt, 0),
			.raw_id = (uint32_t)sqlite3_column_int64(stmt, 1)};

		code = xf_dictionary_type(d, &e) ? 0 : xf_fail_nomem(err);
		if (!code)
			d->types[d->ntypes - 1].count = (uint64_t)sqlite3_column_int64(stmt, 2);
	}
	sqlite3_finalize(stmt);
	return code;
}

void xf_dictionary_free(struct xf_dictionary *d)
{
	xf_map_free(&d->place_ids);
	xf_map_free(&d->type_ids);
	free(d->places);
	free(d->types);
	*d = (struct xf_dictionary){0};
}

uint64_t xf_event_values(const struct xf_event *e, int64_t place, int64_t type, int64_t *values)
{
	unsigned has = e->has;

	values[0] = (int64_t)e->tsc;
	values[1] = place;
	values[2] = type;
	values[3] = (int64_t)e->va;
	values[4] = (int64_t)e->rip;
	values[5] = e->error_code;
	values[6] = (int64_t)e->pte;
	values[7] = (int64_t)e->frame;
	values[8] = (int64_t)e->count;
	values[9] = (int64_t)e->arg1;
	values[10] = (int64_t)e->arg2;
	/* the bits of XF_HAS_VA to XF_HAS_ARG2 follow each other as the columns do */
	return 1u << 1 | 1u << 2 | (has & XF_HAS_TSC ? 1u : 0) | (has / XF_HAS_VA & 0xff) << 3;
}

void xf_event_of_values(
	const struct xf_dictionary *d, const int64_t *values, uint64_t present, struct xf_event *e)
{
	uint64_t place = (uint64_t)values[1], type = (uint64_t)values[2];

	/* what is NULL was stored as no bytes, and comes as 0 */
	e->tsc = (uint64_t)values[0];
	e->tsc_late = 0;
	e->va = (uint64_t)values[3];
	e->rip = (uint64_t)values[4];
	e->error_code = (uint32_t)values[5];
	e->pte = (uint64_t)values[6];
	e->frame = (uint64_t)values[7];
	e->count = (uint64_t)values[8];
	e->arg1 = (uint64_t)values[9];
	e->arg2 = (uint64_t)values[10];
	e->has = (uint16_t)((present & 1 ? XF_HAS_TSC : 0) | (present >> 3 & 0xff) * XF_HAS_VA);
	e->pcpu = e->raw_id = 0;
	e->domid = e->vcpu = e->kind = 0;
	if (place - 1 < d->nplaces) {
		const struct xf_event *p = &d->places[place - 1];

		e->pcpu = p->pcpu;
		e->domid = p->domid;
		e->vcpu = p->vcpu;
		e->has |= p->has & XF_HAS_OWNER;
	}
	if (type - 1 < d->ntypes) {
		e->kind = d->types[type - 1].kind;
		e->raw_id = d->types[type - 1].raw_id;
	}
}
