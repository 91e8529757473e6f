/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the ends of names and texts in HTML, sixteen bytes at a time. Pure functions; any thread.
 *
 * A loop over single bytes is mispredicted at its end, once for each name. That costs more than
 * comparing sixteen bytes with all marks. Every x86-64 has SSE2; other processors run the loop.
 */
#ifndef NB_TOKENIZER_HTML_HTML_SCAN_H
#define NB_TOKENIZER_HTML_HTML_SCAN_H

#include <stdbool.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* White space of HTML: unlike nb_ascii_is_space, without the vertical tab. */
static inline bool nb_html_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

static inline bool nb_html_ends_name(char c, char mark)
{
    return nb_html_is_space(c) || c == '/' || c == '>' || c == mark;
}

#ifdef __SSE2__
static inline __m128i nb_html_block(const char *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

static inline __m128i nb_html_same(__m128i block, char c)
{
    return _mm_cmpeq_epi8(block, _mm_set1_epi8(c));
}

/* Returns a bit for each byte at which nb_html_ends_name is true. '\f' and '\r' differ only in the
 * last bit. */
static inline unsigned nb_html_name_ends(__m128i block, char mark)
{
    __m128i space = _mm_or_si128(nb_html_same(block, ' '), nb_html_same(block, '\t'));
    __m128i line = _mm_or_si128(nb_html_same(_mm_or_si128(block, _mm_set1_epi8(1)), '\r'),
                                nb_html_same(block, '\n'));
    __m128i end = _mm_or_si128(nb_html_same(block, '/'), nb_html_same(block, '>'));
    space = _mm_or_si128(_mm_or_si128(space, line), nb_html_same(block, mark));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(space, end));
}
#endif

/* The first byte from `at` on that ends a name: white space, '/', '>' or `mark`; `end` if there is
 * none. */
static inline const char *nb_html_name_end(const char *at, const char *end, char mark)
{
#ifdef __SSE2__
    for (; end - at >= 16; at += 16) {
        unsigned found = nb_html_name_ends(nb_html_block(at), mark);
        if (found != 0)
            return at + __builtin_ctz(found);
    }
#endif
    while (at < end && !nb_html_ends_name(*at, mark))
        at++;
    return at;
}

/* The first '&' or NUL; `end` if there is none. */
static inline const char *nb_html_special(const char *at, const char *end)
{
#ifdef __SSE2__
    for (; end - at >= 16; at += 16) {
        __m128i block = nb_html_block(at);
        __m128i special = _mm_or_si128(nb_html_same(block, '&'), nb_html_same(block, '\0'));
        unsigned found = (unsigned)_mm_movemask_epi8(special);
        if (found != 0)
            return at + __builtin_ctz(found);
    }
#endif
    while (at < end && *at != '&' && *at != '\0')
        at++;
    return at;
}

#endif
