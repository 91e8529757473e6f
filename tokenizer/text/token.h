/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting the tokens of one text, for text/ only. A run belongs to one thread.
 */
#ifndef NB_TOKENIZER_TEXT_TOKEN_H
#define NB_TOKENIZER_TEXT_TOKEN_H

#include <string.h>

#include "tokenizer/bag/bag_private.h"
#include "tokenizer/bag/tokenizing.h"

enum {
    NB_TOKEN_CHARACTERS = 40, /* longer tokens are replaced by a "long:" token */
    NB_PREFIX_BYTES = 40,
    NB_BUDGET_SPENT = 1 /* returned when the limit on tokens is reached */
};

/* One call of nb_tokenize_text. */
struct nb_text_run {
    struct nb_tokenizing *t;
    struct nb_bag_private *storage;
    enum nb_field field;
    unsigned step; /* see nb_bag_count */
    const char *prefix;
    size_t prefix_length;
    struct nb_derived *derived; /* NULL: words are only counted (derived.h) */
};

/* The place in the bag where the next token is written (see bag_private.h), behind its prefix. */
static inline unsigned char *nb_text_token(struct nb_text_run *run)
{
    char *room = run->storage->room;
    if (run->prefix_length != 0)
        memcpy(room, run->prefix, run->prefix_length);
    return (unsigned char *)room + run->prefix_length;
}

/* Counts the feature whose text is the `length` bytes at the room of the bag. Returns 0,
 * NB_BUDGET_SPENT (bag->truncated is set) or NB_NO_MEMORY. */
static inline int nb_text_count_room(struct nb_tokenizing *t, enum nb_field field, unsigned step,
                                     size_t length)
{
    if (t->tokens_left == 0) {
        t->bag->truncated = true;
        return NB_BUDGET_SPENT;
    }
    t->tokens_left--;
    uint64_t hash = nb_key_hash(t->key, t->bag->private_->room, length);
    return nb_bag_count(t->bag, nb_feature_id(field, hash), length, step);
}

/* Counts the token whose `bytes` bytes were written at nb_text_token(). */
static inline int nb_text_count(struct nb_text_run *run, size_t bytes)
{
    return nb_text_count_room(run->t, run->field, run->step, run->prefix_length + bytes);
}

/* Counts a token of more than NB_TOKEN_CHARACTERS characters as "long:", its first character, ':'
 * and its length rounded down to a power of two. */
int nb_text_count_long(struct nb_text_run *run, uint32_t first, size_t characters);

#endif
