/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the tokens in 64 bytes of ASCII text, as bit masks: bit i is byte i. Pure functions; any
 * thread.
 *
 * In a loop over bytes, the processor mispredicts the end of nearly every word, and that costs more
 * than the rest of the loop. Here no branch depends on a byte, except for marks inside words. Every
 * x86-64 has SSE2; other processors run a loop over bytes, which makes classifying a mail of
 * SpamAssassin's corpus take 13 % more instructions (callgrind: 114,000 of 870,000).
 */
#ifndef NB_TOKENIZER_ASCII_WINDOW_H
#define NB_TOKENIZER_ASCII_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/string.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { NB_ASCII_WINDOW = 64, NB_ASCII_BEHIND = 16 };
enum { NB_MARK_RUN_MOST = 32 }; /* marks that the token of a run keeps */

/* Returns how many marks the token of a run of equal marks keeps. So the token shows the kind of
 * the run: a few marks are emphasis ("!!!!!"), more are a line ("--------------------"), even more
 * are a long line. */
static inline unsigned nb_mark_run(size_t length)
{
    enum { EMPHASIS = 3, LINE = 16 };
    return length < EMPHASIS           ? (unsigned)length
           : length < LINE             ? EMPHASIS
           : length < NB_MARK_RUN_MOST ? LINE
                                       : NB_MARK_RUN_MOST;
}

/* A mask of bytes for each class. */
struct nb_ascii_masks {
    uint64_t words; /* [A-Za-z0-9_] */
    uint64_t capitals;
    uint64_t mids;    /* apostrophe, comma, full stop: they may stand inside a word */
    uint64_t visible; /* neither white space nor control characters nor above 0x7F */
    uint64_t others;  /* above 0x7F */
    uint64_t same;    /* equal to the byte before */
};

struct nb_ascii_window {
    unsigned char raw[NB_ASCII_WINDOW + NB_ASCII_BEHIND];   /* the bytes */
    unsigned char lower[NB_ASCII_WINDOW + NB_ASCII_BEHIND]; /* the bytes in lower case */
    uint64_t words;    /* bytes of words, including the marks inside them */
    uint64_t capitals; /* capital letters */
    uint64_t begins;   /* the first bytes of the tokens */
    uint64_t goes_on;  /* the further bytes of the tokens */
    uint64_t runs;     /* the first bytes of runs of a mark that are longer than an emphasis */
    unsigned size;     /* number of bytes before the end of the window or a byte above 0x7F */
    unsigned safe;     /* tokens that end at or before this position are complete */
};

static inline bool nb_ascii_is_word(unsigned char c)
{
    return nb_ascii_is_alphanumeric(c) || c == '_';
}

/* Whether a mark between two bytes of ASCII belongs to the word (UAX #29, rules WB6, WB7, WB11 and
 * WB12): don't, example.com, 3.14, 1,000; not a,b and not 1.a. */
static inline bool nb_ascii_joins(unsigned char before, unsigned char mark, unsigned char after)
{
    if (mark == '\'' || mark == '.')
        return (nb_ascii_is_letter(before) && nb_ascii_is_letter(after)) ||
               (nb_ascii_is_digit(before) && nb_ascii_is_digit(after));
    return mark == ',' && nb_ascii_is_digit(before) && nb_ascii_is_digit(after);
}

#ifdef __SSE2__

/* Selects the bytes from `from` to `to`, both ASCII. Shifts the range so that `to` becomes the
 * highest number, and one comparison is enough. (gcc 12 compiles "less than" a constant to two
 * instructions.) */
static inline __m128i nb_ascii_between(__m128i text, char from, char to)
{
    __m128i moved = _mm_add_epi8(text, _mm_set1_epi8((char)(INT8_MAX - to)));
    return _mm_cmpgt_epi8(moved, _mm_set1_epi8((char)(INT8_MAX - (to - from) - 1)));
}

static inline uint64_t nb_ascii_bits(__m128i mask, size_t shift)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(mask) << shift;
}

/* Classifies `size` bytes at `p`, and copies them to `raw` and in lower case to `lower`. May handle
 * up to 15 bytes more, and reads one byte behind these. Inlined, so that the loop over a whole
 * window is unrolled. */
__attribute__((always_inline)) static inline struct nb_ascii_masks
nb_ascii_classify(const unsigned char *p, size_t size, unsigned char *raw, unsigned char *lower)
{
    struct nb_ascii_masks m = {0};
    for (size_t i = 0; i < size; i += 16) {
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        __m128i next = _mm_loadu_si128((const __m128i *)(const void *)(p + i + 1));
        __m128i capital = nb_ascii_between(text, 'A', 'Z');
        __m128i lowered = _mm_or_si128(text, _mm_and_si128(capital, _mm_set1_epi8(0x20)));
        __m128i word = _mm_or_si128(
            _mm_or_si128(nb_ascii_between(lowered, 'a', 'z'), nb_ascii_between(text, '0', '9')),
            _mm_cmpeq_epi8(text, _mm_set1_epi8('_')));
        __m128i mid = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8('\'')),
                                                _mm_cmpeq_epi8(text, _mm_set1_epi8('.'))),
                                   _mm_cmpeq_epi8(text, _mm_set1_epi8(',')));
        _mm_storeu_si128((__m128i *)(void *)(raw + i), text);
        _mm_storeu_si128((__m128i *)(void *)(lower + i), lowered);
        m.words |= nb_ascii_bits(word, i);
        m.capitals |= nb_ascii_bits(capital, i);
        m.mids |= nb_ascii_bits(mid, i);
        m.visible |= nb_ascii_bits(nb_ascii_between(text, '!', '~'), i);
        m.others |= nb_ascii_bits(text, i);
        m.same |= nb_ascii_bits(_mm_cmpeq_epi8(text, next), i);
    }
    m.same <<= 1;
    return m;
}

#else

static inline struct nb_ascii_masks nb_ascii_classify(const unsigned char *p, size_t size,
                                                      unsigned char *raw, unsigned char *lower)
{
    struct nb_ascii_masks m = {0};
    for (size_t i = 0; i < size; i++) {
        unsigned char c = p[i];
        uint64_t bit = UINT64_C(1) << i;
        raw[i] = c;
        lower[i] = (unsigned char)nb_ascii_lower((char)c);
        m.words |= nb_ascii_is_word(c) ? bit : 0;
        m.capitals |= lower[i] != c ? bit : 0;
        m.mids |= c == '\'' || c == ',' || c == '.' ? bit : 0;
        m.visible |= c > ' ' && c < 0x7F ? bit : 0;
        m.others |= c >= 0x80 ? bit : 0;
        m.same |= i > 0 && c == p[i - 1] ? bit : 0;
    }
    return m;
}

#endif

/* Returns the marks that stand inside words. */
static inline uint64_t nb_ascii_joining(const struct nb_ascii_masks *m, const unsigned char *text)
{
    uint64_t joining = 0;
    for (uint64_t maybe = m->mids & m->words << 1 & m->words >> 1; maybe != 0; maybe &= maybe - 1) {
        const unsigned char *at = text + __builtin_ctzll(maybe);
        joining |= nb_ascii_joins(at[-1], at[0], at[1]) ? maybe & -maybe : 0;
    }
    return joining;
}

/* Returns the last position up to which tokens are complete whatever follows. A mark after a word
 * may belong to the word. A byte above 0x7F may begin a mark that composes with the token before
 * it, or an invisible character inside that token. */
static inline unsigned nb_ascii_safe(const struct nb_ascii_window *w, uint64_t visible,
                                     bool is_last)
{
    if (is_last || w->size == 0)
        return w->size;
    unsigned before = w->size - 1;
    return before - (before > 0 && (w->size == NB_ASCII_WINDOW || (visible >> before & 1) != 0));
}

/* Finds the tokens in the first bytes of a text that has `available` bytes left. */
static inline void nb_ascii_read(struct nb_ascii_window *w, const unsigned char *text,
                                 size_t available)
{
    struct nb_ascii_masks m;
    if (available > NB_ASCII_WINDOW) {
        m = nb_ascii_classify(text, NB_ASCII_WINDOW, w->raw, w->lower);
    } else {
        memset(w->raw, 0, sizeof w->raw);
        memcpy(w->raw, text, available);
        text = w->raw;
        m = nb_ascii_classify(text, available, w->raw, w->lower);
    }
    w->words = m.words | nb_ascii_joining(&m, text);
    w->capitals = m.capitals;
    uint64_t marks = m.visible & ~w->words;
    w->goes_on = (w->words & w->words << 1) | (marks & m.same);
    w->begins = (w->words | marks) & ~w->goes_on;
    uint64_t again = marks & m.same; /* a run of four marks has three of these bits */
    w->runs = again >> 1 & again >> 2 & again >> 3;
    w->size = available < NB_ASCII_WINDOW ? (unsigned)available : NB_ASCII_WINDOW;
    if (m.others != 0)
        w->size = (unsigned)__builtin_ctzll(m.others);
    w->safe = nb_ascii_safe(w, m.visible, w->size == available);
}

/* Returns the end of the token that begins at `from`. */
static inline unsigned nb_ascii_end(const struct nb_ascii_window *w, unsigned from)
{
    return from + 1 + (unsigned)__builtin_ctzll(~(w->goes_on >> from >> 1));
}

/* Returns how many bytes of the token from `from` to `end` its feature keeps: of a run of one mark
 * only the first ones. Most windows have no such run. */
static inline unsigned nb_ascii_token_length(const struct nb_ascii_window *w, unsigned from,
                                             unsigned end)
{
    bool is_run = (w->runs >> from & 1) != 0;
    return __builtin_expect(is_run, false) ? nb_mark_run(end - from) : end - from;
}

#endif
