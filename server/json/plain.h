/* SPDX-License-Identifier: Apache-2.0
 *
 * Which bytes stand for themselves in a JSON string: ASCII but quotes, backslashes and control
 * characters. Pure functions; any thread.
 */
#ifndef NB_SERVER_JSON_PLAIN_H
#define NB_SERVER_JSON_PLAIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

/* Those of sixteen bytes that do not: a bit for each. Signed, bytes above 0x7F are below 0x20, too.
 */
static inline unsigned nb_json_odd_of(__m128i bytes)
{
    __m128i odd = _mm_or_si128(_mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)),
                               _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                            _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
    return (unsigned)_mm_movemask_epi8(odd);
}
#endif

/* How many bytes at `at` stand for themselves; there may be more of them. */
static inline size_t nb_json_plain(const char *at, size_t length)
{
    size_t count = 0;
#ifdef __SSE2__
    for (; length - count >= 16; count += 16) {
        unsigned odd = nb_json_odd_of(_mm_loadu_si128((const void *)(at + count)));
        if (odd != 0)
            return count + (unsigned)__builtin_ctz(odd);
    }
#else
    /* The bit tricks are those of "Bit Twiddling Hacks" (hasless, haszero), which may point at a
     * byte too early but never too late. */
    const uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
    for (; length - count >= 8; count += 8) {
        uint64_t w;
        memcpy(&w, at + count, sizeof w);
        uint64_t quote = w ^ (ones * '"'), slash = w ^ (ones * '\\');
        if (((w | (w - ones * 0x20) | (quote - ones) | (slash - ones)) & tops) != 0)
            break;
    }
#endif
    return count;
}

#endif
