/* SPDX-License-Identifier: Apache-2.0
 *
 * Pseudorandom numbers from a seed, so that a replay gets the same numbers. Not for secrets.
 *
 * SplitMix64 (Steele, Lea and Flood 2014, Fast splittable pseudorandom number generators).
 */
#ifndef NB_CORE_BASE_RANDOM_H
#define NB_CORE_BASE_RANDOM_H

#include <assert.h>
#include <stdint.h>

struct nb_random {
    uint64_t state;
};

static inline uint64_t nb_random_next(struct nb_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Makes a seed from two numbers. Neighbouring numbers give unrelated series. */
static inline struct nb_random nb_random_of(uint64_t a, uint64_t b)
{
    struct nb_random random = {a};
    random.state = nb_random_next(&random) ^ b;
    return random;
}

/* Returns a number from 0 to n - 1; n is above 0 and below 2^32. The probabilities of any two
 * numbers differ by at most 2^-32. */
static inline uint64_t nb_random_below(struct nb_random *random, uint64_t n)
{
    assert(n > 0 && n <= UINT32_MAX);
    return (nb_random_next(random) >> 32) * n >> 32;
}

/* Returns a number between 0 and 1, both excluded. */
static inline double nb_random_fraction(struct nb_random *random)
{
    return ((double)(nb_random_next(random) >> 12) + 0.5) * 0x1p-52;
}

#endif
