/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a bag, for the tokenizer's own files: counting without a function call per token.
 * A bag belongs to one thread at a time.
 *
 * A token is written to `room`, behind the texts of the features so far: the place where its text
 * is kept if it is new. Only a new feature moves `room` on, so a known word is never copied.
 */
#ifndef NB_TOKENIZER_BAG_BAG_PRIVATE_H
#define NB_TOKENIZER_BAG_BAG_PRIVATE_H

#include "core/base/error.h"
#include "tokenizer/bag/bag.h"

/* Bytes that may always be written at `room`. The longest text that the tokenizer builds there is a
 * pair of words of 40 characters of 4 bytes, with its prefix; a 16-byte store may touch 15 bytes
 * behind it. */
enum { NB_BAG_ROOM = 512 };

struct nb_bag_chunk; /* a piece of text storage */

struct nb_bag_private {
    char *room;      /* NB_BAG_ROOM bytes at least are free here, after nb_bag_prepare */
    char *room_end;  /* when `room` is past it, the next text goes to another chunk */
    uint32_t *slots; /* hash table, open addressing: index of a feature plus one, 0 is free */
    size_t mask;     /* slots in use minus one: a power of two minus one */
    size_t most;     /* features that fit into these slots */
    size_t last;     /* the feature that was counted last */
    size_t slot_capacity;
    size_t feature_capacity;
    struct nb_bag_chunk *first;
    struct nb_bag_chunk *current;
};

/* Allocates what a bag needs before nb_bag_count may be called. Returns 0 or NB_NO_MEMORY. */
int nb_bag_prepare(struct nb_bag *bag);

/* Makes room for one more feature and for NB_BAG_ROOM more bytes. Returns 0 or NB_NO_MEMORY. */
int nb_bag_grow(struct nb_bag *bag);

/* Counts one occurrence of the feature `id`, whose text is the `length` bytes at `room`. `step` is
 * 1 for fields that are tokens and 0 for others (nb_field_is_token). Returns 0 or NB_NO_MEMORY, in
 * which case nothing was counted. */
static inline int nb_bag_count(struct nb_bag *bag, uint64_t id, size_t length, unsigned step)
{
    struct nb_bag_private *in = bag->private_;
    size_t at = (size_t)id & in->mask;
    for (uint32_t slot; (slot = in->slots[at]) != 0; at = (at + 1) & in->mask) {
        struct nb_feature *feature = &bag->features[slot - 1];
        if (feature->id == id) {
            feature->count++;
            bag->positions += step;
            in->last = slot - 1;
            return 0;
        }
    }
    if (bag->size == in->most || in->room + length > in->room_end) {
        /* Growing moves the slots: look for the place again. */
        char *text = in->room;
        in->room += length;
        int rc = nb_bag_grow(bag);
        if (rc != 0) {
            in->room = text;
            return rc;
        }
        for (at = (size_t)id & in->mask; in->slots[at] != 0;)
            at = (at + 1) & in->mask;
        bag->texts[bag->size] = (struct nb_string){text, length};
    } else {
        bag->texts[bag->size] = (struct nb_string){in->room, length};
        in->room += length;
    }
    bag->features[bag->size] = (struct nb_feature){.id = id, .count = 1};
    in->last = bag->size;
    in->slots[at] = (uint32_t)++bag->size;
    bag->positions += step;
    return 0;
}

#endif
