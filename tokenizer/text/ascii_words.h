/* SPDX-License-Identifier: Apache-2.0
 *
 * Words of ASCII, and marks of links, found sixteen bytes at a time. Pure functions; any thread.
 *
 * The branch predictor mispredicts the end of nearly every word in a loop over single bytes, and
 * that costs more than the rest of the loop. Every x86-64 has SSE2; other processors run the loop.
 */
#ifndef NB_TOKENIZER_TEXT_ASCII_WORDS_H
#define NB_TOKENIZER_TEXT_ASCII_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/ascii.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Whether a byte is in a set of bytes below 0x80, given as a bit for each: 0 to 63 in `low`, 64 to
 * 127 in `high`. No branch depends on the byte. */
static inline bool nb_ascii_in(unsigned char byte, uint64_t low, uint64_t high)
{
    return ((byte < 64 ? low : high) >> (byte & 63) & (uint64_t)(byte < 128)) != 0;
}

static inline bool nb_ascii_is_word(unsigned char byte)
{
    return nb_ascii_in(byte, UINT64_C(0x3FF) << '0',
                       UINT64_C(0x3FFFFFF) << ('A' & 63) | UINT64_C(0x3FFFFFF) << ('a' & 63) |
                           UINT64_C(1) << ('_' & 63));
}

/* Apostrophe, comma and full stop: they may stand inside a word. */
static inline bool nb_ascii_is_mid(unsigned char byte)
{
    return nb_ascii_in(byte, UINT64_C(1) << '\'' | UINT64_C(1) << ',' | UINT64_C(1) << '.', 0);
}

/* Copies the word bytes [A-Za-z0-9_] at the beginning of `from`, in lower case, to `to`. Reads at
 * most `available` bytes and at most 16; may overwrite 16 bytes of `to`. Returns the number of word
 * bytes; sets *capitals if there are capitals among them. */
static inline unsigned nb_ascii_word(const unsigned char *from, size_t available, unsigned char *to,
                                     bool *capitals)
{
#ifdef __SSE2__
    if (available >= 16) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)from);
        __m128i upper = _mm_and_si128(_mm_cmpgt_epi8(text, _mm_set1_epi8('A' - 1)),
                                      _mm_cmplt_epi8(text, _mm_set1_epi8('Z' + 1)));
        __m128i lowered = _mm_or_si128(text, _mm_and_si128(upper, _mm_set1_epi8(0x20)));
        __m128i letter = _mm_and_si128(_mm_cmpgt_epi8(lowered, _mm_set1_epi8('a' - 1)),
                                       _mm_cmplt_epi8(lowered, _mm_set1_epi8('z' + 1)));
        __m128i digit = _mm_and_si128(_mm_cmpgt_epi8(text, _mm_set1_epi8('0' - 1)),
                                      _mm_cmplt_epi8(text, _mm_set1_epi8('9' + 1)));
        __m128i word =
            _mm_or_si128(_mm_or_si128(letter, digit), _mm_cmpeq_epi8(text, _mm_set1_epi8('_')));
        _mm_storeu_si128((__m128i *)(void *)to, lowered);
        /* Bit 16 ends the search when all sixteen are word bytes. */
        unsigned behind = ~(unsigned)_mm_movemask_epi8(word) | 0x10000u;
        *capitals |= ((unsigned)_mm_movemask_epi8(upper) & (behind ^ (behind - 1)) >> 1) != 0;
        return (unsigned)__builtin_ctz(behind);
    }
#endif
    unsigned most = available < 16 ? (unsigned)available : 16;
    unsigned n = 0;
    for (; n < most && nb_ascii_is_word(from[n]); n++) {
        to[n] = (unsigned char)(from[n] | (nb_ascii_is_letter(from[n]) ? 0x20 : 0));
        *capitals |= to[n] != from[n];
    }
    return n;
}

/* The first byte from `from` on at which a link or an address may be noticed: ':', '@', or a 'w'
 * before another, in any case; near the end perhaps a 'w' alone. `end` if there is none. */
static inline const unsigned char *nb_ascii_link_mark(const unsigned char *from,
                                                      const unsigned char *end)
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
