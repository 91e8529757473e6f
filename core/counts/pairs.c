/* SPDX-License-Identifier: Apache-2.0 */
#include "core/counts/pairs.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

enum { FIRST_ROOM = 64, UNIT_BITS = 24, LOW_COUNTS = 1024 };

/* A pair and its count. `one` and `other` are 0 in a slot that was never used. A count of 0 keeps
 * its slot until the table grows. */
struct slot {
    uint32_t one, other; /* rows, or NB_PAIR_ANY; the lower attribute first */
    uint32_t label, count;
};

struct nb_pairs {
    size_t columns;
    uint16_t attributes[NB_PAIR_FIELDS_MOST];
    uint8_t column[NB_ATTRIBUTES_MOST];
    int64_t *weights;     /* owned; [lower * columns + higher] */
    struct slot *slots;   /* owned */
    size_t room;          /* a power of two */
    size_t used, current; /* slots in use; those with counts above 0 */
    int64_t entropies[LOW_COUNTS];
};

/* Returns n ln n, in units of 2^-24. Below 2^37 before scaling for 32-bit n, so that sums fit. */
static int64_t compute_entropy(uint32_t n)
{
    return llround(ldexp((double)n * (n > 1 ? log(n) : 0), UNIT_BITS));
}

static int64_t entropy(const struct nb_pairs *pairs, uint32_t n)
{
    return n < LOW_COUNTS ? pairs->entropies[n] : compute_entropy(n);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void add_column(struct nb_pairs *pairs, size_t attribute)
{
    assert(pairs->columns < NB_PAIR_FIELDS_MOST);
    pairs->column[attribute] = (uint8_t)pairs->columns;
    pairs->attributes[pairs->columns++] = (uint16_t)attribute;
}

/* Makes an empty table without columns. */
static struct nb_pairs *make(void)
{
    struct nb_pairs *pairs = calloc(1, sizeof *pairs);
    if (pairs != NULL)
        memset(pairs->column, NB_PAIR_NO_COLUMN, sizeof pairs->column);
    return pairs;
}

/* Makes room for the columns of a table. Returns NULL if `pairs` is NULL or memory is short. */
static struct nb_pairs *with_room(struct nb_pairs *pairs)
{
    if (pairs == NULL)
        return NULL;
    for (uint32_t n = 0; n < LOW_COUNTS; n++)
        pairs->entropies[n] = compute_entropy(n);
    pairs->room = FIRST_ROOM;
    pairs->slots = calloc(pairs->room, sizeof *pairs->slots);
    pairs->weights = calloc(pairs->columns * pairs->columns + 1, sizeof *pairs->weights);
    if (pairs->slots == NULL || pairs->weights == NULL)
        nb_pairs_free(&pairs);
    return pairs;
}

struct nb_pairs *nb_pairs_new(struct nb_attributes attributes, bool with_numbers)
{
    struct nb_pairs *pairs = make();
    for (size_t i = 0; pairs != NULL && i < attributes.count; i++) {
        int kind = attributes.list[i].kind;
        if (kind == NB_FIELD_KIND_CATEGORY || (with_numbers && kind == NB_FIELD_KIND_NUMBER))
            add_column(pairs, i);
    }
    return with_room(pairs);
}

void nb_pairs_free(struct nb_pairs **pairs)
{
    struct nb_pairs *p = *pairs;
    *pairs = NULL;
    if (p == NULL)
        return;
    free(p->weights);
    free(p->slots);
    free(p);
}

size_t nb_pairs_memory(const struct nb_pairs *pairs)
{
    if (pairs == NULL)
        return 0;
    return sizeof *pairs + pairs->room * sizeof *pairs->slots +
           pairs->columns * pairs->columns * sizeof *pairs->weights;
}

static bool is_empty(const struct slot *slot)
{
    return slot->one == slot->other;
}

/* Returns the slot of a key, or the empty slot where it belongs. */
static size_t place_of(const struct slot *slots, size_t room, const struct slot *key)
{
    uint64_t hash = ((uint64_t)key->one << 32 | key->other) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29 ^ key->label) * UINT64_C(0xbf58476d1ce4e5b9);
    size_t at = (size_t)(hash ^ hash >> 32) & (room - 1);
    while (!is_empty(&slots[at]) && (slots[at].one != key->one || slots[at].other != key->other ||
                                     slots[at].label != key->label))
        at = (at + 1) & (room - 1);
    return at;
}

/* Grows the table for `more` slots. Slots without counts are not copied. */
static int grow(struct nb_pairs *pairs, size_t more)
{
    size_t room = FIRST_ROOM;
    while (room / 2 < pairs->current + more)
        room *= 2;
    struct slot *slots = calloc(room, sizeof *slots);
    if (slots == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < pairs->room; i++)
        if (pairs->slots[i].count != 0)
            slots[place_of(slots, room, &pairs->slots[i])] = pairs->slots[i];
    free(pairs->slots);
    pairs->slots = slots;
    pairs->room = room;
    pairs->used = pairs->current;
    return 0;
}

/* Adds to a count. Returns by how much its n ln n changes. */
static int64_t bump(struct nb_pairs *pairs, uint32_t one, uint32_t other, uint32_t label, int sign)
{
    const struct slot key = {.one = one, .other = other, .label = label};
    struct slot *slot = &pairs->slots[place_of(pairs->slots, pairs->room, &key)];
    if (is_empty(slot)) {
        assert(sign > 0 && pairs->used < pairs->room / 4 * 3);
        *slot = key;
        pairs->used++;
    }
    uint32_t before = slot->count;
    assert(sign > 0 || before > 0);
    slot->count += (uint32_t)sign;
    pairs->current += before == 0;
    pairs->current -= slot->count == 0;
    return entropy(pairs, slot->count) - entropy(pairs, before);
}

/* ---- documents ------------------------------------------------------------------------------- */

void nb_pair_values_add(struct nb_pair_values *values, const struct nb_pairs *pairs, uint32_t row,
                        uint32_t attribute)
{
    size_t at = values->count;
    if (pairs->column[attribute] == NB_PAIR_NO_COLUMN)
        return;
    while (at > 0 && values->at[at - 1].attribute > attribute)
        at--;
    if (at > 0 && values->at[at - 1].attribute == attribute)
        return;
    assert(values->count < pairs->columns);
    memmove(&values->at[at + 1], &values->at[at], (values->count - at) * sizeof *values->at);
    values->at[at].row = row;
    values->at[at].attribute = attribute;
    values->count++;
}

/* The most counts that a document may add. */
static size_t most_counts(const struct nb_pair_values *values)
{
    return values->count < 2 ? 0 : 2 * values->count * (values->count - 1);
}

int nb_pairs_reserve(struct nb_pairs *pairs, const struct nb_pair_values *values)
{
    size_t more = most_counts(values);
    for (size_t i = 0; i < values->count; i++)
        if (values->at[i].row >= NB_PAIR_ROWS_MOST)
            return NB_TOO_LARGE;
    return pairs->used + more < pairs->room / 4 * 3 ? 0 : grow(pairs, more);
}

bool nb_pairs_fit(const struct nb_pairs *pairs, const struct nb_pair_values *values)
{
    return pairs->current + most_counts(values) <= NB_PAIRS_MOST;
}

void nb_pairs_add(struct nb_pairs *pairs, uint32_t label, const struct nb_pair_values *values,
                  int sign)
{
    for (size_t i = 0; i < values->count; i++)
        for (size_t j = i + 1; j < values->count; j++) {
            uint32_t one = values->at[i].row, any_one = NB_PAIR_ANY(values->at[i].attribute);
            uint32_t other = values->at[j].row, any_other = NB_PAIR_ANY(values->at[j].attribute);
            int64_t change = bump(pairs, one, other, label, sign) -
                             bump(pairs, one, any_other, label, sign) -
                             bump(pairs, any_one, other, label, sign) +
                             bump(pairs, any_one, any_other, label, sign);
            pairs->weights[pairs->column[values->at[i].attribute] * pairs->columns +
                           pairs->column[values->at[j].attribute]] += change;
        }
}

uint32_t nb_pairs_count(const struct nb_pairs *pairs, uint32_t one, uint32_t other, uint32_t label)
{
    struct slot key = {.one = one, .other = other, .label = label};
    const struct slot *slot = &pairs->slots[place_of(pairs->slots, pairs->room, &key)];
    return is_empty(slot) ? 0 : slot->count;
}

/* ---- bins ------------------------------------------------------------------------------------ */

static bool is_any(uint32_t side)
{
    return side > NB_PAIR_ANY(NB_ATTRIBUTES_MOST);
}

/* The attribute to which a side of a pair belongs. */
static uint32_t attribute_of(const struct nb_pair_fold *fold, uint32_t side)
{
    if (is_any(side))
        return UINT32_MAX - 1 - side;
    return nb_pair_is_bin(side) ? nb_pair_bin_attribute(side) : fold->attribute(fold->user, side);
}

/* Adds a slot of another table to `to`, folded. Returns 0 or NB_NO_MEMORY. */
static int fold_slot(struct nb_pairs *to, const struct nb_pair_fold *fold, const struct slot *from)
{
    struct slot key = *from;
    if (to->column[attribute_of(fold, from->one)] == NB_PAIR_NO_COLUMN ||
        to->column[attribute_of(fold, from->other)] == NB_PAIR_NO_COLUMN)
        return 0;
    if (to->used + 1 >= to->room / 4 * 3 && grow(to, to->current) != 0)
        return NB_NO_MEMORY;
    key.one = is_any(from->one) ? from->one : fold->value(fold->user, from->one);
    key.other = is_any(from->other) ? from->other : fold->value(fold->user, from->other);
    struct slot *slot = &to->slots[place_of(to->slots, to->room, &key)];
    bool is_new = is_empty(slot);
    key.count += is_new ? 0 : slot->count;
    to->used += is_new;
    to->current += is_new;
    *slot = key;
    return 0;
}

/* Computes the weights after all counts are in the table. */
static void put_weights(struct nb_pairs *pairs, const struct nb_pair_fold *fold)
{
    for (size_t i = 0; i < pairs->room; i++) {
        const struct slot *s = &pairs->slots[i];
        if (s->count == 0)
            continue;
        int64_t sign = is_any(s->one) == is_any(s->other) ? 1 : -1;
        pairs->weights[pairs->column[attribute_of(fold, s->one)] * pairs->columns +
                       pairs->column[attribute_of(fold, s->other)]] +=
            sign * entropy(pairs, s->count);
    }
}

struct nb_pairs *nb_pairs_fold(const struct nb_pairs *pairs, const struct nb_pair_fold *fold)
{
    struct nb_pairs *to = make();
    for (size_t i = 0; to != NULL && i < pairs->columns; i++)
        if (fold->keeps[i])
            add_column(to, pairs->attributes[i]);
    to = with_room(to);
    for (size_t i = 0; to != NULL && i < pairs->room; i++)
        if (pairs->slots[i].count != 0 && fold_slot(to, fold, &pairs->slots[i]) != 0)
            nb_pairs_free(&to);
    if (to != NULL)
        put_weights(to, fold);
    return to;
}

/* ---- columns --------------------------------------------------------------------------------- */

size_t nb_pairs_columns(const struct nb_pairs *pairs)
{
    return pairs->columns;
}

size_t nb_pairs_attribute(const struct nb_pairs *pairs, size_t column)
{
    assert(column < pairs->columns);
    return pairs->attributes[column];
}

uint8_t nb_pairs_column(const struct nb_pairs *pairs, size_t attribute)
{
    return pairs->column[attribute];
}

int64_t nb_pairs_weight(const struct nb_pairs *pairs, size_t one, size_t other)
{
    assert(one != other && one < pairs->columns && other < pairs->columns);
    return one < other ? pairs->weights[one * pairs->columns + other]
                       : pairs->weights[other * pairs->columns + one];
}
