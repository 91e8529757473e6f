/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a bag, for the tokenizer's own files, which count a token without a function call.
 * A bag belongs to one thread at a time.
 *
 * A token is written to `room`, behind the texts of the features so far. If the feature is new, its
 * text stays there; only a new feature moves `room` on, so a known word is never copied. A bag that
 * keeps no texts never moves `room`.
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

struct nb_bag_chunk; /* a piece of text storage */

struct nb_bag_private {
    struct nb_string *texts; /* owned; the texts of the features, if the bag keeps them */
    char *room;              /* at least NB_BAG_ROOM bytes are free here after nb_bag_prepare */
    char *room_end;          /* if `room` is beyond this, the next text goes to another chunk */
    uint32_t *slots; /* hash table, open addressing: index of a feature plus one, 0 is free */
    size_t mask;     /* number of slots in use minus one: a power of two minus one */
    size_t most;     /* most features for this number of slots */
    size_t slot_capacity;
    size_t feature_capacity;
    struct nb_bag_chunk *first;
    struct nb_bag_chunk *current;
};

/* Allocates what an empty bag needs. Returns 0 or NB_NO_MEMORY. */
int nb_bag_allocate(struct nb_bag *bag);

/* Calls nb_bag_allocate if the bag is not allocated yet. Call it before nb_bag_count. */
static inline int nb_bag_prepare(struct nb_bag *bag)
{
    return bag->private_ != NULL ? 0 : nb_bag_allocate(bag);
}

/* Makes room for one more feature and for NB_BAG_ROOM more bytes. Returns 0 or NB_NO_MEMORY. */
int nb_bag_grow(struct nb_bag *bag);

enum { NB_BAG_KNOWN_MOST = 256 };

/* Counts one occurrence of each of `count` features (at most NB_BAG_KNOWN_MOST), if the bag already
 * has the feature in the slot where its look-up begins. Writes the indexes of the other features to
 * `rest` in their order; `rest` has room for `count` + 1. Returns how many it wrote. No branch
 * depends on a feature. */
size_t nb_bag_count_known(struct nb_bag *bag, const uint64_t *ids, size_t count,
                          unsigned char *rest);

/* The members of a bag that counting reads and writes, for a loop that counts many features: the
 * compiler keeps them in registers, because no store to a text or a feature can change them.
 * Between nb_bag_cursor and nb_bag_leave use the bag through the cursor only. */
struct nb_bag_cursor {
    struct nb_feature *features;
    struct nb_string *texts; /* NULL: not kept */
    uint32_t *slots;
    char *room;
    char *room_end;
    size_t mask;
    size_t most;
    size_t size;
    uint32_t passage;
};

/* Returns a cursor of a bag that nb_bag_prepare has prepared. */
static inline struct nb_bag_cursor nb_bag_cursor(const struct nb_bag *bag)
{
    const struct nb_bag_private *in = bag->private_;
    return (struct nb_bag_cursor){.features = bag->features,
                                  .texts = bag->texts == NULL ? NULL : in->texts,
                                  .slots = in->slots,
                                  .room = in->room,
                                  .room_end = in->room_end,
                                  .mask = in->mask,
                                  .most = in->most,
                                  .size = bag->size,
                                  .passage = bag->passage};
}

/* Writes the counts of the cursor back to the bag. */
static inline void nb_bag_leave(struct nb_bag *bag, const struct nb_bag_cursor *c)
{
    bag->size = c->size;
    bag->private_->room = c->room;
}

/* The place of an id in a table: of its keyed bits, so that nobody can write words that all have
 * one place. */
static inline size_t nb_bag_place(uint64_t id, size_t mask)
{
    return (size_t)(id >> NB_FEATURE_OPEN_BITS) & mask;
}

/* The slot of the feature `id`, or the free one where it belongs. */
static inline uint32_t *nb_bag_slot(const struct nb_bag_cursor *c, uint64_t id)
{
    size_t at = nb_bag_place(id, c->mask);
    while (c->slots[at] != 0 && c->features[c->slots[at] - 1].id != id)
        at = (at + 1) & c->mask;
    return &c->slots[at];
}

/* Counts one more occurrence of the feature at a slot that is not free. */
static inline void nb_bag_again(const struct nb_bag_cursor *c, const uint32_t *slot)
{
    c->features[*slot - 1].count++;
}

/* Counts the first occurrence of the feature `id` at `slot`, the free slot where it belongs; it
 * becomes the last feature of the bag. If texts are kept, its text is the `length` bytes at the
 * room. Returns 0 or NB_NO_MEMORY, in which case nothing was counted. */
static inline int nb_bag_enter(struct nb_bag *bag, struct nb_bag_cursor *c, uint32_t *slot,
                               uint64_t id, size_t length)
{
    struct nb_string text = {c->room, length};
    if (c->texts == NULL)
        length = 0;
    c->room += length;
    if (__builtin_expect(c->size == c->most || c->room > c->room_end, 0)) {
        nb_bag_leave(bag, c);
        int rc = nb_bag_grow(bag);
        if (rc != 0) {
            c->room -= length;
            nb_bag_leave(bag, c);
            return rc;
        }
        *c = nb_bag_cursor(bag);
        slot = nb_bag_slot(c, id); /* growing moves the slots */
    }
    if (c->texts != NULL)
        c->texts[c->size] = text;
    c->features[c->size] = (struct nb_feature){.id = id, .count = 1, .passage = c->passage};
    *slot = (uint32_t)++c->size;
    return 0;
}

/* Counts one occurrence of the feature `id`, whose text is the `length` bytes at `room`. `step` is
 * 1 for fields that are tokens and 0 for others (nb_field_is_token). Returns 0 or NB_NO_MEMORY, in
 * which case nothing was counted. */
static inline int nb_bag_count(struct nb_bag *bag, uint64_t id, size_t length, unsigned step)
{
    struct nb_bag_cursor c = nb_bag_cursor(bag);
    uint32_t *slot = nb_bag_slot(&c, id);
    if (*slot != 0) {
        nb_bag_again(&c, slot);
    } else {
        int rc = nb_bag_enter(bag, &c, slot, id, length);
        if (rc != 0)
            return rc;
        nb_bag_leave(bag, &c);
    }
    bag->positions += step;
    return 0;
}

#endif
