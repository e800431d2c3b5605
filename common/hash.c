// SPDX-License-Identifier: GPL-2.0-or-later
/* The seed of hashes.  In: what the kernel gave the process.  Out: 128 bits. */
#include "common/hash.h"

#include <string.h>
#include <sys/auxv.h>

struct xf_seed xf_hash_seed(void)
{
	/* other bits where the kernel gives none, which has not happened since Linux 2.6.29 */
	struct xf_seed seed = {0x243f6a8885a308d3u, 0x13198a2e03707344u};
	const void *random = (const void *)getauxval(AT_RANDOM);

	if (random)
		memcpy(&seed, random, sizeof(seed));
	/* an even factor would lose the top bits of keys */
	seed.b |= 1;
	return seed;
}
