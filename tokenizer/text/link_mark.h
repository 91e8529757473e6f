/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the characters that may begin or mark a link, sixteen bytes at a time. Pure functions; any
 * thread.
 */
#ifndef NB_TOKENIZER_TEXT_LINK_MARK_H
#define NB_TOKENIZER_TEXT_LINK_MARK_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Returns the first byte from `from` on that may mark a link or an address: ':', '@', or a 'w'
 * before another 'w', in any case; near the end it may be a single 'w'. Returns `end` if there is
 * none. */
static inline const unsigned char *nb_link_mark(const unsigned char *from, const unsigned char *end)
{
#ifdef __SSE2__
    const __m128i w = _mm_set1_epi8('w'), lower = _mm_set1_epi8(0x20);
    for (; end - from > 16; from += 16) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)from);
        __m128i next = _mm_loadu_si128((const __m128i *)(const void *)(from + 1));
        __m128i pair = _mm_and_si128(_mm_cmpeq_epi8(_mm_or_si128(text, lower), w),
                                     _mm_cmpeq_epi8(_mm_or_si128(next, lower), w));
        __m128i mark = _mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8(':')),
                                    _mm_cmpeq_epi8(text, _mm_set1_epi8('@')));
        unsigned found = (unsigned)_mm_movemask_epi8(_mm_or_si128(pair, mark));
        if (found != 0)
            return from + __builtin_ctz(found);
    }
#endif
    while (from < end && *from != ':' && *from != '@' && (*from | 0x20) != 'w')
        from++;
    return from;
}

#endif
