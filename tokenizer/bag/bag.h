/* SPDX-License-Identifier: Apache-2.0
 *
 * The bag of a document: its distinct features in order of first appearance, each with its count
 * and its text. One bag belongs to one thread at a time; it is reused from document to document.
 */
#ifndef NB_TOKENIZER_BAG_BAG_H
#define NB_TOKENIZER_BAG_BAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/feature.h"
#include "core/base/key.h"

struct nb_bag {
    struct nb_feature *features; /* `size` of them, owned */
    struct nb_string *texts;     /* texts[i] names features[i], prefix included ("subject:free");
                                    bytes owned by the bag, stable until reset */
    size_t size;
    uint64_t positions; /* occurrences of token fields (nb_field_is_token), the document's length */
    bool truncated;     /* a limit of the tokenizer was hit: the rest was not counted */
    struct nb_bag_private *private_; /* hash table and text storage */
};

/* An empty bag; `struct nb_bag b = {0}` will do as well. Nothing is allocated before use. */
void nb_bag_init(struct nb_bag *bag);

/* Empties the bag and keeps its memory for the next document. */
void nb_bag_reset(struct nb_bag *bag);

/* Frees everything; the bag is empty and usable again. NULL-safe members. */
void nb_bag_deinit(struct nb_bag *bag);

/* Counts one occurrence of the feature whose text (with the field's prefix, if the field has one)
 * is given; `key` hashes it. The text is copied when it is new. Returns 0 or NB_NO_MEMORY. */
int nb_bag_add(struct nb_bag *bag, const struct nb_key *key, enum nb_field field, const char *text,
               size_t length);

/* Moves the contents (features, texts and their storage) from `from` into `to`, whose own are
 * freed first; `from` is left empty. For handing a bag to another thread. */
void nb_bag_move(struct nb_bag *to, struct nb_bag *from);

#endif
