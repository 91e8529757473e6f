/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/bag.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/feature.h"
#include "tokenizer/bag_private.h"

/* A mail of 3 KB has about 350 distinct words. With these sizes its table takes 4 KB: it stays in
 * the first-level cache and is cheap to empty. */
enum {
    FIRST_SLOTS = 1024,
    EXPECTED_SLOTS = 65536, /* most slots made in advance: more would save no time */
    SLOTS_PER_FEATURE =
        4, /* for each expected feature: meeting the slot of another feature is mispredicted */
    FIRST_CHUNK = 16384,
    LARGEST_CHUNK = 1 << 20 /* chunks double up to this */
};

struct nb_bag_chunk {
    struct nb_bag_chunk *next;
    size_t capacity; /* size of bytes[] */
    char bytes[];
};

void nb_bag_init(struct nb_bag *bag)
{
    *bag = (struct nb_bag){0};
}

static void use_chunk(struct nb_bag_private *in, struct nb_bag_chunk *chunk)
{
    in->current = chunk;
    in->room = chunk->bytes;
    in->room_end = chunk->bytes + chunk->capacity - NB_BAG_ROOM;
}

static void use_slots(struct nb_bag_private *in, size_t count)
{
    memset(in->slots, 0, count * sizeof *in->slots);
    in->mask = count - 1;
    in->most = count / 2;
}

/* Begins again with the first slots and the first chunk, even if the last document was large: the
 * cost of a reset must not depend on the largest document so far. */
static void empty(struct nb_bag *bag, size_t slots, bool keeps_texts)
{
    bag->size = 0;
    bag->texts = NULL;
    bag->positions = 0;
    bag->truncated = false;
    bag->passage = 0;
    bag->passage_lead = 0;
    bag->visible_length = 0;
    bag->visible.length = 0;
    if (bag->private_ == NULL)
        return;
    assert(slots <= bag->private_->slot_capacity);
    use_slots(bag->private_, slots);
    use_chunk(bag->private_, bag->private_->first);
    if (keeps_texts)
        bag->texts = bag->private_->texts;
}

void nb_bag_reset(struct nb_bag *bag)
{
    empty(bag, FIRST_SLOTS, true);
}

void nb_bag_deinit(struct nb_bag *bag)
{
    if (bag->private_ != NULL) {
        struct nb_bag_chunk *next = NULL;
        for (struct nb_bag_chunk *chunk = bag->private_->first; chunk != NULL; chunk = next) {
            next = chunk->next;
            free(chunk);
        }
        free(bag->private_->slots);
        free(bag->private_->texts);
        free(bag->private_);
    }
    free(bag->features);
    nb_buffer_deinit(&bag->visible);
    nb_bag_init(bag);
}

static struct nb_bag_chunk *new_chunk(size_t capacity)
{
    struct nb_bag_chunk *chunk = malloc(sizeof *chunk + capacity + NB_BAG_BLOCK);
    if (chunk != NULL) {
        chunk->next = NULL;
        chunk->capacity = capacity;
    }
    return chunk;
}

/* Makes a chunk of at least `bytes` bytes the current one. Chunks of earlier documents are reused
 * in their order; a chunk that is too small is skipped until the next reset. */
static int next_chunk(struct nb_bag_private *in, size_t bytes)
{
    struct nb_bag_chunk *chunk = in->current->next;
    while (chunk != NULL && chunk->capacity < bytes) {
        in->current = chunk;
        chunk = chunk->next;
    }
    if (chunk == NULL) {
        size_t capacity = in->current->capacity * 2;
        if (capacity > LARGEST_CHUNK)
            capacity = LARGEST_CHUNK;
        if (capacity < bytes)
            capacity = bytes;
        chunk = new_chunk(capacity);
        if (chunk == NULL)
            return NB_NO_MEMORY;
        in->current->next = chunk;
    }
    use_chunk(in, chunk);
    return 0;
}

/* Makes features[] and texts[] hold `count` entries. */
static int reserve_features(struct nb_bag *bag, size_t count)
{
    struct nb_bag_private *in = bag->private_;
    if (count <= in->feature_capacity)
        return 0;
    if (nb_array_resize(&bag->features, count, sizeof *bag->features) != 0 ||
        nb_array_resize(&in->texts, count, sizeof *in->texts) != 0)
        return NB_NO_MEMORY;
    if (bag->texts != NULL)
        bag->texts = in->texts;
    in->feature_capacity = count;
    return 0;
}

/* Makes room for `count` slots; their contents are lost. */
static int reserve_slots(struct nb_bag_private *in, size_t count)
{
    if (count <= in->slot_capacity)
        return 0;
    uint32_t *slots = malloc(count * sizeof *slots);
    if (slots == NULL)
        return NB_NO_MEMORY;
    free(in->slots);
    in->slots = slots;
    in->slot_capacity = count;
    return 0;
}

/* Doubles the number of slots and re-enters all features. */
static int grow_slots(struct nb_bag *bag)
{
    struct nb_bag_private *in = bag->private_;
    assert(bag->size == in->most && ((in->mask + 1) & in->mask) == 0);
    size_t count = (in->mask + 1) * 2;
    if (bag->size >= UINT32_MAX / 4)
        return NB_NO_MEMORY; /* slots are 32-bit numbers */
    if (reserve_features(bag, count / 2) != 0 || reserve_slots(in, count) != 0)
        return NB_NO_MEMORY;
    use_slots(in, count);
    for (size_t i = 0; i < bag->size; i++) {
        size_t at = nb_bag_place(bag->features[i].id, in->mask);
        while (in->slots[at] != 0)
            at = (at + 1) & in->mask;
        in->slots[at] = (uint32_t)(i + 1);
    }
    return 0;
}

static int prepare(struct nb_bag *bag, size_t slots)
{
    if (bag->private_ != NULL)
        return 0;
    struct nb_bag_private *in = calloc(1, sizeof *in);
    if (in == NULL)
        return NB_NO_MEMORY;
    bag->private_ = in;
    in->first = new_chunk(FIRST_CHUNK);
    if (in->first == NULL || reserve_slots(in, slots) != 0 ||
        reserve_features(bag, slots / 2) != 0) {
        nb_bag_deinit(bag);
        return NB_NO_MEMORY;
    }
    nb_bag_reset(bag);
    return 0;
}

int nb_bag_allocate(struct nb_bag *bag)
{
    return prepare(bag, FIRST_SLOTS);
}

int nb_bag_begin(struct nb_bag *bag, size_t features, bool keeps_texts)
{
    size_t slots = FIRST_SLOTS;
    while (slots < EXPECTED_SLOTS && slots / SLOTS_PER_FEATURE < features)
        slots *= 2;
    if (prepare(bag, slots) != 0)
        return NB_NO_MEMORY;
    if (reserve_features(bag, slots / 2) != 0 || reserve_slots(bag->private_, slots) != 0) {
        nb_bag_deinit(bag);
        return NB_NO_MEMORY;
    }
    empty(bag, slots, keeps_texts);
    return 0;
}

int nb_bag_grow(struct nb_bag *bag)
{
    struct nb_bag_private *in = bag->private_;
    assert(bag->size <= in->most && in->most <= in->feature_capacity);
    if (bag->size == in->most) {
        int rc = grow_slots(bag);
        if (rc != 0)
            return rc;
    }
    return in->room > in->room_end ? next_chunk(in, FIRST_CHUNK) : 0;
}

/* Writes all numbers below `count`. Returns how many there are. */
static size_t put_all(size_t count, unsigned char *rest)
{
    for (size_t i = 0; i < count; i++)
        rest[i] = (unsigned char)i;
    return count;
}

size_t nb_bag_count_known(struct nb_bag *bag, const uint64_t *ids, size_t count,
                          unsigned char *rest)
{
    struct nb_feature *features = bag->features;
    const uint32_t *slots = bag->private_->slots;
    size_t mask = bag->private_->mask;
    size_t unknown = 0;
    assert(count <= NB_BAG_KNOWN_MOST);
    if (bag->size == 0) /* there is no first feature */
        return put_all(count, rest);
    for (size_t i = 0; i < count; i++) {
        /* If the slot is empty, the bag does not have the id. Then the first feature stands in for
         * none: its id differs, because the slot of its id is not empty. */
        uint32_t slot = slots[nb_bag_place(ids[i], mask)];
        struct nb_feature *feature = &features[slot - 1 + (slot == 0)];
        unsigned is_known = feature->id == ids[i];
        feature->count += is_known;
        rest[unknown] = (unsigned char)i;
        unknown += 1 - is_known;
    }
    return unknown;
}

int nb_bag_add_id(struct nb_bag *bag, uint64_t id, const char *text, size_t length)
{
    int rc = nb_bag_prepare(bag);
    if (rc != 0)
        return rc;
    struct nb_bag_private *in = bag->private_;
    /* A text that does not fit wastes the rest of its chunk. That is rare: the tokenizer builds no
     * text longer than NB_BAG_ROOM. */
    if (bag->texts == NULL)
        length = 0;
    if (length > (size_t)(in->room_end - in->room) + NB_BAG_ROOM) {
        rc = next_chunk(in, length + NB_BAG_ROOM);
        if (rc != 0)
            return rc;
    }
    if (length > 0)
        memcpy(in->room, text, length);
    return nb_bag_count(bag, id, length, nb_feature_is_token(id));
}

int nb_bag_add(struct nb_bag *bag, const struct nb_key *key, enum nb_field field, const char *text,
               size_t length)
{
    uint64_t hash = nb_feature_hash(key, length > 0 ? text : "", length);
    return nb_bag_add_id(bag, nb_feature_id(field, hash), text, length);
}

void nb_bag_cap(struct nb_bag *bag, uint32_t most)
{
    assert(most > 0);
    for (size_t i = 0; i < bag->size; i++) {
        struct nb_feature *feature = &bag->features[i];
        if (feature->count <= most)
            continue;
        if (nb_feature_is_token(feature->id))
            bag->positions -= feature->count - most;
        feature->count = most;
    }
}

void nb_bag_passage(const struct nb_bag *bag, uint32_t passage, size_t *from, size_t *to)
{
    size_t at = passage - 1;
    unsigned shift = 0;
    assert(passage > 0 && passage < NB_PASSAGES);
    if (at >= NB_PASSAGES_EQUAL) {
        size_t behind = at - NB_PASSAGES_EQUAL;
        shift = (unsigned)(behind / NB_PASSAGES_OF_OCTAVE) + NB_PASSAGES_SHIFT;
        at = (NB_PASSAGES_OF_OCTAVE + behind % NB_PASSAGES_OF_OCTAVE) << shift;
    }
    *from = bag->passage_lead + at * NB_PASSAGE_BYTES;
    *to = *from + ((size_t)NB_PASSAGE_BYTES << shift);
}

/* Whether a feature of a field is to be counted; if so, lowers the rest of the limit on tokens. */
static bool is_wanted(struct nb_tokenizing *t, enum nb_field field)
{
    assert((unsigned)field < NB_FIELDS);
    if (!nb_tokenizing_wants(t, field))
        return false;
    if (t->tokens_left == 0) {
        t->bag->truncated = true;
        return false;
    }
    t->tokens_left--;
    return true;
}

int nb_tokenize_feature(struct nb_tokenizing *t, enum nb_field field, const char *text,
                        size_t length)
{
    return is_wanted(t, field) ? nb_bag_add(t->bag, t->key, field, text, length) : 0;
}

enum { Q = '?' };

/* One line for each sixteen bytes. */

/* clang-format off */
const char nb_feature_bytes[256] = {
    Q, Q, Q, Q, Q, Q, Q, Q, Q, 0, 0, Q, Q, 0, Q, Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q,
    0, '!', '"', '#', '$', '%', '&', '\'', '(', ')', '*', '+', ',', '-', '.', '/',
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', ':', ';', '<', '=', '>', Q,
    '@', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', '[', '\\', ']', '^', '_',
    '`', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', '{', '|', '}', '~', Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q};
/* clang-format on */

const char *nb_tokenize_passage(struct nb_tokenizing *t, const char *at)
{
    if (t->passage_text == NULL)
        return NULL;
    size_t place = t->passage_before + (size_t)(at - t->passage_text);
    t->bag->passage = 0;
    if (place < t->bag->passage_lead)
        return at + (t->bag->passage_lead - place);
    place -= t->bag->passage_lead;
    unsigned shift = 0;
    size_t passage = place / NB_PASSAGE_BYTES, rest = passage / NB_PASSAGES_EQUAL;
    if (rest > 0) {
        unsigned octave = 63 - (unsigned)__builtin_clzll(rest);
        shift = octave + NB_PASSAGES_SHIFT;
        passage = NB_PASSAGES_EQUAL + octave * NB_PASSAGES_OF_OCTAVE +
                  ((passage >> shift) - NB_PASSAGES_OF_OCTAVE);
    }
    size_t step = (size_t)NB_PASSAGE_BYTES << shift;
    t->bag->passage = (uint32_t)(passage < NB_PASSAGES - 1 ? passage + 1 : NB_PASSAGES - 1);
    return at + (step - place % step);
}

int nb_feature_count_ends(struct nb_tokenizing *t, enum nb_field field,
                          const struct nb_feature_text *f, size_t head, size_t from)
{
    assert(head <= from && from <= f->length);
    if (!is_wanted(t, field))
        return 0;
    if (nb_bag_prepare(t->bag) != 0)
        return NB_NO_MEMORY;
    char *room = t->bag->private_->room;
    size_t length = head + (f->length - from);
    nb_bag_copy(room, f->bytes, head);
    nb_bag_copy(room + head, f->bytes + from, f->length - from);
    uint64_t id = nb_feature_id(field, nb_feature_hash_padded(t->key, room, length));
    return nb_bag_count(t->bag, id, length, nb_field_is_token(field));
}

int nb_feature_count(struct nb_tokenizing *t, enum nb_field field, const struct nb_feature_text *f)
{
    if (!is_wanted(t, field))
        return 0;
    if (nb_bag_prepare(t->bag) != 0)
        return NB_NO_MEMORY;
    uint64_t id = nb_feature_id(field, nb_feature_hash_padded(t->key, f->bytes, f->length));
    struct nb_bag_cursor c = nb_bag_cursor(t->bag);
    uint32_t *slot = nb_bag_slot(&c, id);
    if (*slot != 0) {
        nb_bag_again(&c, slot);
    } else {
        if (c.texts != NULL)
            nb_bag_copy(c.room, f->bytes, f->length);
        int rc = nb_bag_enter(t->bag, &c, slot, id, f->length);
        if (rc != 0)
            return rc;
        nb_bag_leave(t->bag, &c);
    }
    t->bag->positions += nb_field_is_token(field);
    return 0;
}
