/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"

#include <time.h>

int64_t nb_clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static uint64_t nanoseconds_by(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t nb_clock_monotonic(void)
{
    return nanoseconds_by(CLOCK_MONOTONIC);
}

uint64_t nb_clock_coarse(void)
{
    return nanoseconds_by(CLOCK_MONOTONIC_COARSE);
}
