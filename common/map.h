/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash map from 64-bit keys to 64-bit values (often pointers).
 * In: keys.  Out: values.  Any key is allowed.  Memory grows with the number of keys.  Who chooses the
 * keys cannot make them collide (hash.h); what is walked comes in an order that no hash decides.
 */
#ifndef XF_COMMON_MAP_H
#define XF_COMMON_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"

struct xf_map { /* zero-initialised: an empty map */
	struct xf_map_entry *entries;
	uint32_t *index; /* size numbers */
	size_t size, used, count;
	struct xf_seed seed;
};

/* The value of a key, or NULL; valid until the next xf_map_put(). */
uint64_t *xf_map_get(const struct xf_map *map, uint64_t key);

/* The value of a key, made as 0 if it is new; NULL = out of memory. */
uint64_t *xf_map_put(struct xf_map *map, uint64_t key);

/*
 * The object of a key in a map whose values are pointers, made zeroed of so many bytes if it is new;
 * NULL = out of memory, and no such key.  The owner of the map frees each with free().
 */
void *xf_map_object(struct xf_map *map, uint64_t key, size_t size);

/* Removes a key if it is there. */
void xf_map_remove(struct xf_map *map, uint64_t key);

/*
 * Walks all entries, in the order in which their keys were put; *cursor starts at 0; false at the end.
 * Entries may be removed meanwhile.
 */
bool xf_map_next(const struct xf_map *map, size_t *cursor, uint64_t *key, uint64_t *value);

/* Frees the table, not what its values point to; the map is empty again. */
void xf_map_free(struct xf_map *map);

#endif
