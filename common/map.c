// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Entries in the order in which they came, and an index to them by open addressing with linear probing.
 * In: 64-bit keys.  Out: 64-bit values.
 */
#include "common/map.h"

#include <stdlib.h>
#include <string.h>

#define FREE 0		/* in the index; else the number of an entry + 1 */
#define GONE UINT32_MAX /* its entry was removed */

struct xf_map_entry {
	uint64_t key, value;
};

/* Entries beyond which the index becomes larger. */
static size_t room(size_t size)
{
	return size / 4 * 3;
}

/* Where the index has this key; NULL = it has not. */
static uint32_t *find(const struct xf_map *map, uint64_t key)
{
	if (!map->size)
		return NULL;
	for (size_t i = xf_hash(map->seed, key) & (map->size - 1);; i = (i + 1) & (map->size - 1)) {
		uint32_t n = map->index[i];

		if (n == FREE)
			return NULL;
		if (n != GONE && map->entries[n - 1].key == key)
			return &map->index[i];
	}
}

uint64_t *xf_map_get(const struct xf_map *map, uint64_t key)
{
	const uint32_t *at = find(map, key);

	return at ? &map->entries[*at - 1].value : NULL;
}

/* A key that is not there, where there is room for it. */
static uint64_t *append(struct xf_map *map, uint64_t key, uint64_t value)
{
	size_t i = xf_hash(map->seed, key) & (map->size - 1);
	struct xf_map_entry *entry = &map->entries[map->used++];

	while (map->index[i] != FREE)
		i = (i + 1) & (map->size - 1);
	map->index[i] = (uint32_t)map->used;
	map->count++;
	*entry = (struct xf_map_entry){key, value};
	return &entry->value;
}

static bool grow(struct xf_map *map)
{
	size_t size = 32, cursor = 0;
	struct xf_map bigger = {.seed = map->size ? map->seed : xf_hash_seed()};
	uint64_t key, value;

	while (size < (map->count + 1) * 4)
		size *= 2;
	if (room(size) >= GONE)
		return false;
	/* the index lies behind the entries; calloc, as most of both stays untouched for long */
	bigger.entries = calloc(1, room(size) * sizeof(*map->entries) + size * sizeof(*map->index));
	if (!bigger.entries)
		return false;
	bigger.index = (uint32_t *)(void *)(bigger.entries + room(size));
	bigger.size = size;
	while (xf_map_next(map, &cursor, &key, &value))
		append(&bigger, key, value);
	free(map->entries);
	*map = bigger;
	return true;
}

uint64_t *xf_map_put(struct xf_map *map, uint64_t key)
{
	uint64_t *old = xf_map_get(map, key);

	if (old)
		return old;
	if (map->used == room(map->size) && !grow(map))
		return NULL;
	return append(map, key, 0);
}

void *xf_map_object(struct xf_map *map, uint64_t key, size_t size)
{
	uint64_t *slot = xf_map_put(map, key);
	void *made;

	if (!slot || *slot)
		return slot ? (void *)(uintptr_t)*slot : NULL;
	made = calloc(1, size);
	/* who walks the map later relies on objects behind all keys */
	if (!made)
		xf_map_remove(map, key);
	else
		*slot = (uintptr_t)made;
	return made;
}

void xf_map_remove(struct xf_map *map, uint64_t key)
{
	uint32_t *at = find(map, key);

	if (!at)
		return;
	*at = GONE;
	map->count--;
}

/* Is an entry the one of its key?  It may have been removed, and the key put again. */
static bool is_there(const struct xf_map *map, size_t entry)
{
	const uint32_t *at;

	if (map->count == map->used)
		return true;
	at = find(map, map->entries[entry].key);
	return at && *at == entry + 1;
}

bool xf_map_next(const struct xf_map *map, size_t *cursor, uint64_t *key, uint64_t *value)
{
	while (*cursor < map->used) {
		size_t i = (*cursor)++;

		if (!is_there(map, i))
			continue;
		*key = map->entries[i].key;
		*value = map->entries[i].value;
		return true;
	}
	return false;
}

void xf_map_free(struct xf_map *map)
{
	free(map->entries);
	*map = (struct xf_map){0};
}
