/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hash of a number that a guest or a file may have chosen.
 * In: a key, a seed.  Out: 64 bits of which any may be used.
 *
 * Who does not know the seed cannot choose keys that collide: they pass two multiplications of 64 by 64
 * bits, both halves of each product kept, of which the first is by the seed.  The constants, digits of pi,
 * only keep a seed of few bits from being a weak one.
 */
#ifndef XF_COMMON_HASH_H
#define XF_COMMON_HASH_H

#include <stdint.h>

struct xf_seed {
	uint64_t a, b;
};

/*
 * This process's seed: random bytes that the kernel gives each program at its start (AT_RANDOM of
 * getauxval(3)), so there is no call that could fail and nothing to set up.  No result may depend on it.
 */
struct xf_seed xf_hash_seed(void);

static inline uint64_t xf_hash(struct xf_seed seed, uint64_t key)
{
	unsigned __int128 first = (unsigned __int128)(key ^ seed.a) * seed.b;
	unsigned __int128 second = (unsigned __int128)((uint64_t)first ^ 0xa4093822299f31d0u) *
				   ((uint64_t)(first >> 64) ^ 0x082efa98ec4e6c89u);

	return (uint64_t)second ^ (uint64_t)(second >> 64);
}

#endif
