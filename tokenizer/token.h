/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the tokens of one text, and the features that are derived from them, for text/ only. A
 * run belongs to one thread.
 */
#ifndef NB_TOKENIZER_TOKEN_H
#define NB_TOKENIZER_TOKEN_H

#include <stddef.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/base/feature.h"
#include "core/base/string.h"
#include "tokenizer/ascii_window.h"
#include "tokenizer/bag_private.h"

enum {
    NB_TOKEN_CHARACTERS = 40, /* longer tokens are replaced by a "long:" token */
    NB_PREFIX_BYTES = 40,
    NB_PREFIX_ROOM = 48, /* NB_PREFIX_BYTES in whole blocks (NB_BAG_BLOCK) */
    NB_BUDGET_SPENT = 1  /* returned when the limit on tokens is reached */
};

_Static_assert((int)NB_MARK_RUN_MOST <= (int)NB_TOKEN_CHARACTERS, "a token has room for a run");

/* The state of one call of nb_tokenize_text. */
struct nb_text_run {
    struct nb_tokenizing *t;
    struct nb_bag_private *storage;
    uint64_t space,
        hashed;    /* the field's bits in the ids of features; and a mask of the hash's bits */
    unsigned step; /* see nb_bag_count */
    char prefix[NB_PREFIX_ROOM];
    size_t prefix_length;
    struct nb_derived *derived;        /* NULL: words are only counted */
    struct nb_string text;             /* borrowed: all of it */
    const unsigned char *next_passage; /* where the next part of the visible text begins; or NULL */
    bool is_judged, is_readable;       /* is_readable is set; the text is in the assumed charset */
};

/* Notes that the scan has come to `at` (nb_tokenize_passage). */
static inline void nb_text_at(struct nb_text_run *run, const unsigned char *at)
{
    if (run->next_passage != NULL && at >= run->next_passage)
        run->next_passage = (const unsigned char *)nb_tokenize_passage(run->t, (const char *)at);
}

/* Returns the prefix of the tokens, which can be copied in blocks of NB_BAG_BLOCK bytes. */
static inline struct nb_string nb_text_prefix(const struct nb_text_run *run)
{
    return (struct nb_string){run->prefix, run->prefix_length};
}

/* Returns the place in the bag, behind the prefix, where the next token is written
 * (bag_private.h). */
static inline unsigned char *nb_text_token(struct nb_text_run *run)
{
    char *room = run->storage->room;
    nb_bag_copy(room, run->prefix, run->prefix_length);
    return (unsigned char *)room + run->prefix_length;
}

/* Counts the feature whose text is the `length` bytes at the room of the bag. Its id is `space`
 * with those bits of its hash that `hashed` selects. Returns 0, NB_BUDGET_SPENT (bag->truncated is
 * set) or NB_NO_MEMORY. */
static inline int nb_text_count_hash(struct nb_tokenizing *t, uint64_t space, uint64_t hashed,
                                     uint64_t hash, unsigned step, size_t length)
{
    if (t->tokens_left == 0) {
        t->bag->truncated = true;
        return NB_BUDGET_SPENT;
    }
    t->tokens_left--;
    return nb_bag_count(t->bag, space | (hash & hashed), length, step);
}

/* Like nb_text_count_hash, but hashes the text itself. */
static inline int nb_text_count_id(struct nb_tokenizing *t, uint64_t space, uint64_t hashed,
                                   unsigned step, size_t length)
{
    uint64_t hash = nb_feature_hash_padded(t->key, t->bag->private_->room, length);
    return nb_text_count_hash(t, space, hashed, hash, step, length);
}

/* Like nb_text_count_id, for a feature of a field. */
static inline int nb_text_count_room(struct nb_tokenizing *t, enum nb_field field, unsigned step,
                                     size_t length)
{
    return nb_text_count_id(t, nb_feature_id(field, 0), NB_FIELD_HASH, step, length);
}

/* Counts the token whose `bytes` bytes were written at nb_text_token(). */
static inline int nb_text_count(struct nb_text_run *run, size_t bytes)
{
    return nb_text_count_id(run->t, run->space, run->hashed, run->step, run->prefix_length + bytes);
}

/* Counts a token of more than NB_TOKEN_CHARACTERS characters as "long:", its first character, ':'
 * and its length rounded down to a power of two. */
int nb_text_count_long(struct nb_text_run *run, uint32_t first, size_t characters);

/* Counts the tokens of text that is not all ASCII, one folded character at a time (text.c). Begins
 * at *at, where a token begins, and stops at white space before ASCII, or at `end`; moves *at
 * there. Returns as nb_text_count. */
int nb_words_scan(struct nb_text_run *run, const unsigned char **at, const unsigned char *end);

/* Counts the tokens of ASCII text, 64 bytes at a time (ascii_scan.c), from *at on. Stops at the
 * first token that contains or touches a byte above 0x7F, because that byte may begin a mark that
 * composes with the token, or an invisible character inside it. Moves *at to that token, or to
 * `end`. Returns as nb_text_count. */
int nb_ascii_scan(struct nb_text_run *run, const unsigned char **at, const unsigned char *end);

enum { NB_NGRAM = 5 }; /* characters */

/* Counts the character n-grams of the text from `text` to `end` : every NB_NGRAM
 * consecutive folded characters, "ngram:ee mo". Leading white space is left out, and a run of white
 * space becomes one blank. The bag must be prepared. Returns as nb_text_count. */
int nb_ngrams_count(struct nb_tokenizing *t, const unsigned char *text, const unsigned char *end);

/* ---- derived features ------------------------------------------------------------------------ */

/* Features that are derived from a text in addition to its tokens: words in their original case,
 * pairs of words, character n-grams, URLs, the shape of a Subject. Any thread; a run belongs to
 * one.
 *
 * Each kind is counted only if the settings want its field. If all fields are off, this costs one
 * test per word. */
/* Returns the first byte from `from` on that may mark a link or an address: ':', '@', or a 'w'
 * before another 'w', in any case; near the end it may be a single 'w'. Returns `end` if there is
 * none. Without SSE2 here and in squeeze (token.c), classifying a mail takes 4 % more processor
 * time. */
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
