/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU time for tests that compare two sizes: the time of other programs on the machine does not
 * count.
 */
#ifndef NB_TESTS_UNIT_TOKENIZER_CPU_TIME_H
#define NB_TESTS_UNIT_TOKENIZER_CPU_TIME_H

#include <stdint.h>
#include <time.h>

/* Returns the CPU time of this thread in nanoseconds. */
static inline uint64_t cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

#endif
