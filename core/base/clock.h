/* SPDX-License-Identifier: Apache-2.0
 *
 * The time of day, and a clock for durations. Any thread.
 */
#ifndef NB_CORE_BASE_CLOCK_H
#define NB_CORE_BASE_CLOCK_H

#include <stdint.h>

/* Milliseconds since 1970-01-01 00:00 UTC. */
int64_t nb_clock_now(void);

/* Nanoseconds since a fixed moment; never goes back. For durations. */
uint64_t nb_clock_monotonic(void);

/* Like nb_clock_monotonic, but takes a fifth of the time and may be some milliseconds behind (the
 * kernel's last tick). For durations of seconds. */
uint64_t nb_clock_coarse(void);

#endif
