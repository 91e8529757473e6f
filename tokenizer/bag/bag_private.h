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

#include <string.h>

#include "core/base/error.h"
#include "tokenizer/bag/bag.h"

/* Bytes that may always be written at `room`. The longest text that the tokenizer builds there is a
 * pair of words of 40 characters of 4 bytes, with its prefix; a 16-byte store may touch 15 bytes
 * behind it. */
enum { NB_BAG_ROOM = 512 };

/* Bytes that are copied at once where there are as many behind both texts, in place of a call of
 * memcpy for each. */
enum { NB_BAG_BLOCK = 16 };

static inline void nb_bag_copy(char *to, const char *from, size_t length)
{
    for (size_t i = 0; i < length; i += NB_BAG_BLOCK) {
        unsigned char block[NB_BAG_BLOCK]; /* what lies behind `from` may be `to` */
        memcpy(block, from + i, sizeof block);
        memcpy(to + i, block, sizeof block);
    }
}

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

/* What counting reads and writes of a bag, for a loop that counts many features: the compiler keeps
 * it in registers, because no store to a text or a feature can change it. Between nb_bag_cursor and
 * nb_bag_leave the bag is looked at through the cursor alone. */
struct nb_bag_cursor {
    struct nb_feature *features;
    struct nb_string *texts;
    uint32_t *slots;
    char *room;
    char *room_end;
    size_t mask;
    size_t most;
    size_t size;
};

/* The cursor of a bag that nb_bag_prepare has prepared. */
static inline struct nb_bag_cursor nb_bag_cursor(const struct nb_bag *bag)
{
    const struct nb_bag_private *in = bag->private_;
    return (struct nb_bag_cursor){.features = bag->features,
                                  .texts = bag->texts,
                                  .slots = in->slots,
                                  .room = in->room,
                                  .room_end = in->room_end,
                                  .mask = in->mask,
                                  .most = in->most,
                                  .size = bag->size};
}

/* Writes to the bag what was counted. */
static inline void nb_bag_leave(struct nb_bag *bag, const struct nb_bag_cursor *c)
{
    bag->size = c->size;
    bag->private_->room = c->room;
}

/* The slot of the feature `id`, or the free one where it belongs. */
static inline uint32_t *nb_bag_slot(const struct nb_bag_cursor *c, uint64_t id)
{
    size_t at = (size_t)id & c->mask;
    while (c->slots[at] != 0 && c->features[c->slots[at] - 1].id != id)
        at = (at + 1) & c->mask;
    return &c->slots[at];
}

/* Counts one occurrence of the feature `id`, whose text is the `length` bytes at the room; sets
 * *index to its place among the features. Returns 0 or NB_NO_MEMORY, in which case nothing was
 * counted. */
static inline int nb_bag_cursor_count(struct nb_bag *bag, struct nb_bag_cursor *c, uint64_t id,
                                      size_t length, size_t *index)
{
    uint32_t *slot = nb_bag_slot(c, id);
    if (*slot != 0) {
        *index = *slot - 1;
        c->features[*index].count++;
        return 0;
    }
    struct nb_string text = {c->room, length};
    if (c->size == c->most || c->room + length > c->room_end) {
        c->room += length;
        nb_bag_leave(bag, c);
        int rc = nb_bag_grow(bag);
        if (rc != 0) {
            c->room -= length;
            nb_bag_leave(bag, c);
            return rc;
        }
        *c = nb_bag_cursor(bag);
        slot = nb_bag_slot(c, id); /* growing moves the slots */
    } else {
        c->room += length;
    }
    c->texts[c->size] = text;
    c->features[c->size] = (struct nb_feature){.id = id, .count = 1};
    *index = c->size++;
    *slot = (uint32_t)c->size;
    return 0;
}

/* Counts one occurrence of the feature `id`, whose text is the `length` bytes at `room`. `step` is
 * 1 for fields that are tokens and 0 for others (nb_field_is_token). Returns 0 or NB_NO_MEMORY, in
 * which case nothing was counted. */
static inline int nb_bag_count(struct nb_bag *bag, uint64_t id, size_t length, unsigned step)
{
    struct nb_bag_cursor c = nb_bag_cursor(bag);
    int rc = nb_bag_cursor_count(bag, &c, id, length, &bag->private_->last);
    if (rc == 0) {
        nb_bag_leave(bag, &c);
        bag->positions += step;
    }
    return rc;
}

#endif
