/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time that only goes forward, for waits and rates.  Out: ns or s from some fixed moment. */
#ifndef XF_COMMON_CLOCK_H
#define XF_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t xf_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static inline double xf_clock_seconds(void)
{
	return (double)xf_clock_ns() / 1e9;
}

#endif
