// SPDX-License-Identifier: GPL-2.0-or-later
/* Open addressing with linear probing.  In: 64-bit keys.  Out: 64-bit values. */
#include "common/map.h"

#include <stdlib.h>

enum { EMPTY, FULL, GONE };

struct xf_map_slot {
	uint64_t key, value;
	int state;
};

static size_t hash(uint64_t key)
{
	key ^= key >> 31;
	key *= 0x9e3779b97f4a7c15u;
	return (size_t)(key ^ key >> 29);
}

uint64_t *xf_map_get(const struct xf_map *map, uint64_t key)
{
	if (!map->size)
		return NULL;
	for (size_t i = hash(key) & (map->size - 1);; i = (i + 1) & (map->size - 1)) {
		if (map->slots[i].state == EMPTY)
			return NULL;
		if (map->slots[i].state == FULL && map->slots[i].key == key)
			return &map->slots[i].value;
	}
}

static bool grow(struct xf_map *map)
{
	size_t size = map->count * 4 > 32 ? 64 : 32;
	struct xf_map bigger = {0};

	while (size < map->count * 4)
		size *= 2;
	bigger.slots = calloc(size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	bigger.size = size;
	for (size_t i = 0; i < map->size; i++)
		if (map->slots[i].state == FULL)
			*xf_map_put(&bigger, map->slots[i].key) = map->slots[i].value;
	free(map->slots);
	*map = bigger;
	return true;
}

uint64_t *xf_map_put(struct xf_map *map, uint64_t key)
{
	uint64_t *old = xf_map_get(map, key);

	if (old)
		return old;
	if ((map->used + 1) * 4 > map->size * 3 && !grow(map))
		return NULL;
	for (size_t i = hash(key) & (map->size - 1);; i = (i + 1) & (map->size - 1)) {
		struct xf_map_slot *slot = &map->slots[i];

		if (slot->state == FULL)
			continue;
		map->used += slot->state == EMPTY;
		map->count++;
		*slot = (struct xf_map_slot){.key = key, .state = FULL};
		return &slot->value;
	}
}

void *xf_map_object(struct xf_map *map, uint64_t key, size_t size)
{
	uint64_t *slot = xf_map_put(map, key);

	if (slot && !*slot)
		*slot = (uintptr_t)calloc(1, size);
	return slot ? (void *)(uintptr_t)*slot : NULL;
}

void xf_map_remove(struct xf_map *map, uint64_t key)
{
	uint64_t *value = xf_map_get(map, key);

	if (!value)
		return;
	((struct xf_map_slot *)(void *)((char *)value - offsetof(struct xf_map_slot, value)))
		->state = GONE;
	map->count--;
}

bool xf_map_next(const struct xf_map *map, size_t *cursor, uint64_t *key, uint64_t *value)
{
	for (; *cursor < map->size; ++*cursor) {
		if (map->slots[*cursor].state != FULL)
			continue;
		*key = map->slots[*cursor].key;
		*value = map->slots[*cursor].value;
		++*cursor;
		return true;
	}
	return false;
}

void xf_map_free(struct xf_map *map)
{
	free(map->slots);
	*map = (struct xf_map){0};
}
