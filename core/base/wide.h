/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole numbers of 128 bits, and of 256 bits, modulo 2^256: sums of squares that must be exact.
 * Pure functions; any thread.
 */
#ifndef NB_CORE_BASE_WIDE_H
#define NB_CORE_BASE_WIDE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* Compilers have __int128 for processors of 64 bits only. The type of C23 is for the others: gcc 14
 * has it for x86, clang for all. */
#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 nb_int128;
__extension__ typedef unsigned __int128 nb_uint128;
#else
__extension__ typedef _BitInt(128) nb_int128;
__extension__ typedef unsigned _BitInt(128) nb_uint128;
#endif

/* Converts to the nearest double; of two that are equally near, to the one whose last bit is 0
 * (IEEE 754). A cast gives the same, but compilers cannot link it on 32-bit arm. */
static inline double nb_uint128_double(nb_uint128 x)
{
    uint64_t high = (uint64_t)(x >> 64);
    if (high == 0)
        return (double)(uint64_t)x;
    int shift = 64 - __builtin_clzll(high);
    /* The bits that are left out only decide whether the rest is more than a half. */
    bool is_more = (x & (((nb_uint128)1 << shift) - 1)) != 0;
    return ldexp((double)((uint64_t)(x >> shift) | is_more), shift);
}

static inline double nb_int128_double(nb_int128 x)
{
    return x < 0 ? -nb_uint128_double(-(nb_uint128)x) : nb_uint128_double((nb_uint128)x);
}

struct nb_wide {
    nb_uint128 low, high;
};

static inline struct nb_wide nb_wide_add(struct nb_wide a, struct nb_wide b)
{
    nb_uint128 low = a.low + b.low;
    return (struct nb_wide){low, a.high + b.high + (low < a.low)};
}

static inline struct nb_wide nb_wide_subtract(struct nb_wide a, struct nb_wide b)
{
    return (struct nb_wide){a.low - b.low, a.high - b.high - (a.low < b.low)};
}

/* Returns the full product, by halves as in long multiplication: no sum below reaches 2^128. */
static inline struct nb_wide nb_wide_product(nb_uint128 a, nb_uint128 b)
{
    nb_uint128 a0 = (uint64_t)a, a1 = a >> 64, b0 = (uint64_t)b, b1 = b >> 64;
    nb_uint128 low = a0 * b0;
    nb_uint128 middle = a1 * b0 + (low >> 64);
    nb_uint128 other = a0 * b1 + (uint64_t)middle;
    return (struct nb_wide){other << 64 | (uint64_t)low, a1 * b1 + (middle >> 64) + (other >> 64)};
}

static inline struct nb_wide nb_wide_times(struct nb_wide a, uint64_t times)
{
    struct nb_wide product = nb_wide_product(a.low, times);
    product.high += a.high * times;
    return product;
}

static inline double nb_wide_double(struct nb_wide a)
{
    return nb_uint128_double(a.high) * 0x1p128 + nb_uint128_double(a.low);
}

#endif
