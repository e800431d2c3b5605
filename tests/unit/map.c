// SPDX-License-Identifier: GPL-2.0-or-later
/* The map, with seeds and keys that somebody may choose.  In: nothing.  Out: cases. */
#include "common/map.h"

#include "tests/unit/unit.h"

#define SIZE  32768
#define KEYS  (SIZE / 4 * 3)
#define SEEDS ((int)(sizeof(seeds) / sizeof(seeds[0])))

struct family {
	const char *name;
	uint64_t (*key)(uint64_t i);
};

static uint64_t counting(uint64_t i)
{
	return i;
}

static uint64_t pages(uint64_t i)
{
	return i << 12;
}

static uint64_t top_bits(uint64_t i)
{
	return i << 48;
}

static uint64_t two_ends(uint64_t i)
{
	return i << 40 | (i & 7);
}

static uint64_t negative(uint64_t i)
{
	return ~(i << 20);
}

static uint64_t multiples(uint64_t i)
{
	return i * 0x9e3779b97f4a7c15u;
}

/* All have the same low 32 bits under key ^= key >> 31, *= 0x9e37..., ^= >> 29. */
static uint64_t inverted(uint64_t i)
{
	uint64_t h = i << 32, inverse = 1;

	h ^= h >> 29 ^ h >> 58;
	for (int k = 0; k < 6; k++)
		inverse *= 2 - 0x9e3779b97f4a7c15u * inverse;
	h *= inverse;
	return h ^ h >> 31 ^ h >> 62;
}

static const struct family families[] = {{"counting", counting}, {"pages", pages},
	{"top bits", top_bits}, {"two ends", two_ends}, {"negative", negative},
	{"multiples", multiples}, {"inverted", inverted}};
static const struct xf_seed seeds[] = {{0x5e8d1f0c3a7b9264u, 0xd1b54a32d192ed03u},
	{0, 0x2545f4914f6cdd1du}, {UINT64_MAX, UINT64_MAX},
	{0x8000000000000000u, 0x4000000000000001u}};

/* Linear probing: how many places are looked at until a free one is found. */
static void spread(const struct family *family, int s)
{
	static bool taken[SIZE];
	char name[96], why[96];
	size_t sum = 0, most = 0;

	memset(taken, 0, sizeof(taken));
	for (uint64_t i = 0; i < KEYS; i++) {
		size_t at = xf_hash(seeds[s], family->key(i)) % SIZE, n = 1;

		for (; taken[at]; n++)
			at = (at + 1) % SIZE;
		taken[at] = true;
		sum += n;
		most = n > most ? n : most;
	}
	snprintf(name, sizeof(name), "map: keys do not collide: %s, seed %d", family->name, s);
	snprintf(why, sizeof(why), "%.2f places on average, %zu at most", (double)sum / KEYS, most);
	/* three quarters full, random places: 2.5 on average, hardly ever 150 */
	report(name, sum < 3 * KEYS && most < 300, why);
}

/* A map of a certain seed; others choose their own when the first key is put. */
static struct xf_map seeded(int s)
{
	struct xf_map map = {0};

	xf_map_put(&map, 0);
	xf_map_free(&map);
	xf_map_put(&map, UINT64_MAX);
	xf_map_remove(&map, UINT64_MAX);
	map.seed = seeds[s];
	return map;
}

/* What is walked comes in the order of the keys' coming; a key that comes again is the last. */
static bool in_order(int s)
{
	struct xf_map map = seeded(s);
	uint64_t key, value, wanted = 1;
	size_t cursor = 0;
	bool good = true;

	for (uint64_t i = 0; i < KEYS; i++)
		*xf_map_put(&map, inverted(i)) = i;
	for (uint64_t i = 0; i < KEYS; i += 2)
		xf_map_remove(&map, inverted(i));
	*xf_map_put(&map, inverted(2)) = KEYS + 1;
	for (; xf_map_next(&map, &cursor, &key, &value); wanted += 2)
		good &= value == wanted && key == inverted(wanted > KEYS ? 2 : wanted);
	good &= wanted == KEYS + 3 && map.count == KEYS / 2 + 1;
	xf_map_free(&map);
	return good;
}

/* Against a plain array: keys put, found, removed and walked in turn. */
static bool as_modelled(int s)
{
	uint64_t held[512] = {0}, random = 1, key, value;
	struct xf_map map = seeded(s);
	size_t cursor = 0, n = 0, there = 0;
	bool good = true;

	for (int step = 0; step < 200000; step++) {
		const uint64_t *slot;
		size_t i;

		random = random * 6364136223846793005u + 1442695040888963407u;
		i = random >> 40 & 511;
		slot = xf_map_get(&map, top_bits(i));
		good &= !slot == !held[i] && (!slot || *slot == held[i]);
		if (random >> 60 < 9) {
			*xf_map_put(&map, top_bits(i)) = held[i] = random | 1;
		} else {
			xf_map_remove(&map, top_bits(i));
			held[i] = 0;
		}
	}
	for (size_t i = 0; i < 512; i++)
		there += held[i] != 0;
	for (; xf_map_next(&map, &cursor, &key, &value); n++)
		good &= held[key >> 48] == value;
	good &= n == there && map.count == there;
	xf_map_free(&map);
	return good;
}

int main(void)
{
	char name[96];

	for (int s = 0; s < SEEDS; s++) {
		for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++)
			spread(&families[f], s);
		snprintf(name, sizeof(name), "map: walked in the order of keys, seed %d", s);
		report(name, in_order(s), "another order, or other values");
		snprintf(name, sizeof(name), "map: as a plain array, seed %d", s);
		report(name, as_modelled(s), "other values");
	}
	return unit_status();
}
