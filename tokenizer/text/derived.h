/* SPDX-License-Identifier: Apache-2.0
 *
 * Features that are derived from a text in addition to its tokens: words in their original case,
 * pairs of words, character n-grams, URLs, the shape of a Subject. Any thread; a run belongs to
 * one.
 *
 * Each kind is counted only if the settings want its field. If all fields are off, this costs one
 * test per word.
 */
#ifndef NB_TOKENIZER_TEXT_DERIVED_H
#define NB_TOKENIZER_TEXT_DERIVED_H

#include <stddef.h>

#include "core/base/string.h"
#include "tokenizer/text/token.h"

/* Finds the characters that may begin or mark a link, sixteen bytes at a time. Pure functions; any
 * thread. */
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

/* Lines of a mail end with CR LF on the wire and with LF in most files. Where bytes are counted, a
 * CR before LF is not counted, so that a mail has the same features in both forms. Pure functions;
 * any thread. */

/* Returns the number of bytes of a text, without CRs before LF. */
size_t nb_line_ends_size(struct nb_string text);

enum {
    NB_WORD_BYTES = 4 * NB_TOKEN_CHARACTERS,
    NB_NGRAM_BYTES = 3500,    /* bytes of a document's Subject and body cut into n-grams */
    NB_SHAPE_EXCLAMATIONS = 3 /* exclamation marks of a Subject; more count as 3 */
};

/* The previous word of a text, for pairs, and its hash. The length is 0 if there is none. */
struct nb_derived {
    struct nb_string word; /* its text in `bytes` */
    uint64_t hash;
    char bytes[NB_WORD_BYTES + NB_BAG_BLOCK];
};

/* Begins a text without a previous word. */
static inline void nb_derived_begin(struct nb_derived *derived)
{
    derived->word = (struct nb_string){derived->bytes, 0};
    derived->hash = 0;
}

/* Keeps a word as the previous one; NB_BAG_BLOCK bytes behind its end can be read. */
static inline void nb_derived_keep(struct nb_derived *derived, struct nb_string word, uint64_t hash)
{
    nb_bag_copy(derived->bytes, word.bytes, word.length);
    derived->word = (struct nb_string){derived->bytes, word.length};
    derived->hash = hash;
}

/* Whether a text of `field` needs nb_derived_word at all. */
static inline bool nb_derived_wants_words(const struct nb_tokenizing *t, enum nb_field field)
{
    return (field == NB_FIELD_BODY || field == NB_FIELD_SUBJECT) &&
           (t->settings->fields & (1u << NB_FIELD_CASE | 1u << NB_FIELD_PAIR)) != 0;
}

/* Counts a word whose `length` bytes were written at nb_text_token(). Then counts the pair of the
 * previous word and this one, "pair:free money" (NB_FIELD_PAIR), and, if the source bytes from
 * `from` to `to` hold capitals, the word in its original case, "case:Free" (NB_FIELD_CASE). Returns
 * as nb_text_count. ASCII words are counted in ascii_scan.c. */
int nb_derived_word(struct nb_text_run *run, size_t length, const unsigned char *from,
                    const unsigned char *to);

/* Counts a word, and its derived features if the settings want them. */
static inline int nb_text_count_word(struct nb_text_run *run, size_t length,
                                     const unsigned char *from, const unsigned char *to)
{
    return run->derived == NULL ? nb_text_count(run, length)
                                : nb_derived_word(run, length, from, to);
}

/* Counts the features of a whole text: the URLs and mail domains in a body (NB_FIELD_URL), the
 * shape of a Subject (NB_FIELD_STRUCTURE), and the n-grams of both (NB_FIELD_NGRAM). Returns as
 * nb_text_count. */
int nb_derived_text(struct nb_tokenizing *t, enum nb_field field, const char *text, size_t length);

#endif
