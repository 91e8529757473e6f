/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the tokens of one text, for text/ only. A run belongs to one thread.
 */
#ifndef NB_TOKENIZER_TEXT_TOKEN_H
#define NB_TOKENIZER_TEXT_TOKEN_H

#include <string.h>

#include "core/base/feature.h"
#include "tokenizer/bag/bag_private.h"
#include "tokenizer/bag/tokenizing.h"

enum {
    NB_TOKEN_CHARACTERS = 40, /* longer tokens are replaced by a "long:" token */
    NB_PREFIX_BYTES = 40,
    NB_PREFIX_ROOM = 48, /* NB_PREFIX_BYTES in whole blocks (NB_BAG_BLOCK) */
    NB_BUDGET_SPENT = 1  /* returned when the limit on tokens is reached */
};

/* Returns how many marks the token of a run of equal marks keeps. So the token shows the kind of
 * the run: a few marks are emphasis ("!!!!!"), more are a line ("--------------------"), even more
 * are a long line. */
static inline unsigned nb_mark_run(size_t length)
{
    enum { EMPHASIS = 3, LINE = 16, LONG_LINE = 32 };
    _Static_assert((int)LONG_LINE <= (int)NB_TOKEN_CHARACTERS, "a token has room for it");
    return length < EMPHASIS    ? (unsigned)length
           : length < LINE      ? EMPHASIS
           : length < LONG_LINE ? LINE
                                : LONG_LINE;
}

/* The state of one call of nb_tokenize_text. */
struct nb_text_run {
    struct nb_tokenizing *t;
    struct nb_bag_private *storage;
    uint64_t space,
        hashed;    /* the field's bits in the ids of features; and a mask of the hash's bits */
    unsigned step; /* see nb_bag_count */
    char prefix[NB_PREFIX_ROOM];
    size_t prefix_length;
    struct nb_derived *derived;  /* NULL: words are only counted (derived.h) */
    struct nb_string text;       /* borrowed: all of it */
    bool is_judged, is_readable; /* is_readable is set; the text is in the assumed charset */
};

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

/* Counts the tokens of text that is not all ASCII, one folded character at a time (words.c). Begins
 * at *at, where a token begins, and stops at white space before ASCII, or at `end`; moves *at
 * there. Returns as nb_text_count. */
int nb_words_scan(struct nb_text_run *run, const unsigned char **at, const unsigned char *end);

/* Counts the tokens of ASCII text, 64 bytes at a time (ascii_scan.c), from *at on. Stops at the
 * first token that contains or touches a byte above 0x7F, because that byte may begin a mark that
 * composes with the token, or an invisible character inside it. Moves *at to that token, or to
 * `end`. Returns as nb_text_count. */
int nb_ascii_scan(struct nb_text_run *run, const unsigned char **at, const unsigned char *end);

enum { NB_NGRAM = 5 }; /* characters */

/* Counts the character n-grams of the text from `text` to `end` (ngrams.c): every NB_NGRAM
 * consecutive folded characters, "ngram:ee mo". Leading white space is left out, and a run of white
 * space becomes one blank. The bag must be prepared. Returns as nb_text_count. */
int nb_ngrams_count(struct nb_tokenizing *t, const unsigned char *text, const unsigned char *end);

#endif
