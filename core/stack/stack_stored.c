/* SPDX-License-Identifier: Apache-2.0
 *
 * The weights as records: a head with the names of the shared weights, in the order of their
 * places, and one record for each range of places.
 *
 * The names make a store of another version readable: a field that this program does not have is
 * dropped, and a field that the store does not have gets its start value. Then all ranges count as
 * changed, so that the next commit stores them in this program's order.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/attribute.h"
#include "core/base/system.h"
#include "core/stack/stack_private.h"
#include "core/stack/weights.h"

/* The numbers of records, which never change. 0: the head; from 1: ranges of the shared weights;
 * from (1 + e) << 16: ranges of the biases of expert e; from 3 << 16: ranges of the order; then
 * those of the twin and of the attributes. The slots of the twin follow all vectors, but only when
 * all records are written in a row; then the last lesson. */
enum {
    HEAD = 0,
    VECTOR_BITS = 16,
    SLOTS = NB_STACK_VECTORS << VECTOR_BITS,
    LESSON = (NB_STACK_VECTORS + 1) << VECTOR_BITS,
    FORM = 1,
    NAMES_MOST = 4096
};

static const char *const set_names[NB_STACK_SETS] = {
    [0] = "two.sharp",
    [1] = "two.robust",
    [NB_STACK_EXPERTS] = "many",
    [NB_STACK_EXPERTS + 1] = "many.second",
};

static const char *column_name(unsigned column)
{
    return column == NB_STACK_LOSS    ? "loss"
           : column == NB_STACK_TOTAL ? "total"
                                      : nb_field_name((enum nb_field)column);
}

static const char *set_name(unsigned set)
{
    return set_names[set];
}

/* Returns the vector of a record, and sets *range; NULL: a vector of a later version. */
static struct nb_weights *vector_of(struct nb_stack_weights *w, uint32_t record, uint32_t *range)
{
    uint32_t vector = record >> VECTOR_BITS;
    assert(record != HEAD);
    *range = record & ((1u << VECTOR_BITS) - 1);
    if (vector == 0) {
        --*range;
        return &w->shared;
    }
    return vector < NB_STACK_VECTORS ? nb_stack_vector(w, vector) : NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_name(struct nb_packer *to, const char *name)
{
    nb_pack_string(to, (struct nb_string){name, strlen(name)});
}

static void write_head(struct nb_packer *to)
{
    nb_pack_u8(to, FORM);
    nb_pack_varint(to, NB_STACK_SETS);
    for (unsigned set = 0; set < NB_STACK_SETS; set++)
        write_name(to, set_name(set));
    nb_pack_varint(to, NB_STACK_COLUMNS);
    for (unsigned column = 0; column < NB_STACK_COLUMNS; column++)
        write_name(to, column_name(column));
}

/* Writes a mask of the places that are not 0, to the bit, and then the values of these places. */
static void write_range(const struct nb_weights *w, uint32_t range, struct nb_packer *to)
{
    const double *values = w->values + (size_t)range * NB_WEIGHTS_RANGE;
    static const double zero;
    uint64_t mask = 0;
    for (unsigned i = 0; i < NB_WEIGHTS_RANGE; i++)
        mask |= (uint64_t)(memcmp(&values[i], &zero, sizeof zero) != 0) << i;
    nb_pack_u64(to, mask);
    for (unsigned i = 0; i < NB_WEIGHTS_RANGE; i++)
        if ((mask >> i & 1) != 0)
            nb_pack_double(to, values[i]);
}

static uint32_t first_record(unsigned vector)
{
    return vector == 0 ? 1 : vector << VECTOR_BITS;
}

uint32_t nb_stack_weights_changed(const struct nb_stack_weights *weights, uint32_t from)
{
    if (from == HEAD) {
        if (weights->head_changed)
            return HEAD;
        from++;
    }
    for (unsigned vector = from >> VECTOR_BITS; vector < NB_STACK_VECTORS; vector++) {
        const struct nb_weights *w = nb_stack_vector_of(weights, vector);
        uint32_t first = first_record(vector);
        uint32_t range = nb_weights_changed(w, from > first ? from - first : 0);
        if (range != NB_WEIGHTS_NO_RANGE)
            return first + range;
        /* Ranges that only the store has must be stored as empty. */
        uint32_t left = first + w->ranges > from ? first + w->ranges : from;
        if (vector == 0 && left < first + weights->stored_ranges)
            return left;
    }
    return from <= LESSON && nb_stack_lesson_changed(&weights->lesson) ? LESSON
                                                                       : NB_STACK_NO_RECORD;
}

void nb_stack_weights_write_record(const struct nb_stack_weights *weights, uint32_t record,
                                   struct nb_packer *to)
{
    if (record == HEAD) {
        write_head(to);
        return;
    }
    if (record == LESSON) {
        nb_stack_lesson_write(weights, to);
        return;
    }
    uint32_t range = record - 1;
    const struct nb_weights *w = nb_stack_vector_of(weights, record >> VECTOR_BITS);
    if (record >> VECTOR_BITS != 0)
        range = record & ((1u << VECTOR_BITS) - 1);
    if (range < w->ranges)
        write_range(w, range, to);
}

/* ---- reading --------------------------------------------------------------------------------- */

static uint32_t number_of(struct nb_string name, const char *(*names)(unsigned), uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (nb_string_equals(name, names(i)))
            return i;
    return UINT32_MAX;
}

/* Reads a list of names, and sets *numbers to this program's number of each. */
static int read_names(struct nb_unpacker *r, const char *(*names)(unsigned), uint32_t own,
                      uint32_t **numbers, uint32_t *count, bool *is_ours)
{
    *count = (uint32_t)nb_unpack_bounded(r, NAMES_MOST);
    if (r->failed || *count == 0)
        return NB_CORRUPT;
    *numbers = malloc(*count * sizeof **numbers);
    if (*numbers == NULL)
        return NB_NO_MEMORY;
    assert(*numbers != NULL);
    *is_ours = *is_ours && *count == own;
    for (uint32_t i = 0; i < *count; i++) {
        (*numbers)[i] = number_of(nb_unpack_string(r), names, own);
        *is_ours = *is_ours && (*numbers)[i] == i;
    }
    return r->failed ? NB_CORRUPT : 0;
}

static int read_head(struct nb_stack_weights *weights, struct nb_unpacker *r)
{
    struct nb_stack_layout *l = &weights->layout;
    free(l->set_of);
    free(l->column_of);
    *l = (struct nb_stack_layout){.is_ours = true};
    if (nb_unpack_u8(r) != FORM)
        return NB_CORRUPT;
    int rc = read_names(r, set_name, NB_STACK_SETS, &l->set_of, &l->sets, &l->is_ours);
    if (rc == 0)
        rc = read_names(r, column_name, NB_STACK_COLUMNS, &l->column_of, &l->columns, &l->is_ours);
    if (rc != 0)
        return rc;
    weights->head_changed = !l->is_ours;
    if (!l->is_ours)
        nb_weights_change_all(&weights->shared);
    return nb_unpacker_done(r) ? 0 : NB_CORRUPT;
}

/* Returns this program's place for a stored place; SIZE_MAX: unknown to this program. */
static size_t place_of(const struct nb_stack_layout *l, size_t stored)
{
    uint32_t set = l->set_of[stored / 2 / l->columns];
    uint32_t column = l->column_of[stored / 2 % l->columns];
    if (set == UINT32_MAX || column == UINT32_MAX)
        return SIZE_MAX;
    return nb_stack_place(set, column) + stored % 2;
}

/* Reads the value of each place of a range; places outside its mask are 0. */
static int read_values(struct nb_stack_weights *weights, struct nb_weights *w, size_t first,
                       size_t end, struct nb_unpacker *r)
{
    const struct nb_stack_layout *l = &weights->layout;
    bool is_shared = w == &weights->shared;
    uint64_t mask = nb_unpack_u64(r);
    for (size_t i = 0; i < NB_WEIGHTS_RANGE; i++) {
        double value = (mask >> i & 1) != 0 ? nb_unpack_double(r) : 0;
        if (first + i >= end) {
            if ((mask >> i & 1) != 0)
                return NB_CORRUPT;
            continue;
        }
        size_t place = is_shared ? place_of(l, first + i) : first + i;
        if (place == SIZE_MAX)
            continue;
        if (r->failed || !nb_stack_is_possible(weights, w, value, place))
            return NB_CORRUPT;
        w->values[place] = value;
    }
    return nb_unpacker_done(r) ? 0 : NB_CORRUPT;
}

int nb_stack_weights_read_record(struct nb_stack_weights *weights, uint32_t record,
                                 struct nb_string stored)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    const struct nb_stack_layout *l = &weights->layout;
    if (record == HEAD)
        return read_head(weights, &r);
    uint32_t range;
    struct nb_weights *w = vector_of(weights, record, &range);
    if (l->columns == 0)
        return NB_CORRUPT;
    if (record >> VECTOR_BITS == SLOTS >> VECTOR_BITS)
        return nb_slots_read(&weights->slots, stored);
    if (record == LESSON)
        return nb_stack_lesson_read(weights, stored);
    if (w == NULL || stored.length == 0)
        return 0;
    size_t first = (size_t)range * NB_WEIGHTS_RANGE;
    size_t end = nb_stack_vector_most(record >> VECTOR_BITS);
    if (w == &weights->shared) {
        end = (size_t)l->sets * l->columns * 2;
        if (range >= weights->stored_ranges)
            weights->stored_ranges = range + 1;
    }
    if (first >= end)
        return NB_CORRUPT;
    if (w != &weights->shared && nb_weights_grow(w, first + NB_WEIGHTS_RANGE, NULL) != 0)
        return NB_NO_MEMORY;
    return read_values(weights, w, first, end, &r);
}

/* ---- all records in a row -------------------------------------------------------------------- */

static void write_one(uint32_t record, struct nb_packer *to, const struct nb_packer *bytes)
{
    nb_pack_varint(to, record);
    nb_pack_string(to, (struct nb_string){bytes->out->bytes, bytes->out->length});
    to->code = to->code != 0 ? to->code : bytes->code;
    bytes->out->length = 0;
}

/* Writes the ranges of slots that are not 0, and always the first: it has the number of slots. */
static void write_slots(const struct nb_stack_weights *weights, struct nb_packer *to,
                        struct nb_buffer *scratch)
{
    scratch->length = 0;
    for (uint32_t range = 0; range < nb_slots_ranges(&weights->slots); range++) {
        struct nb_packer one = {.out = scratch};
        if (range != 0 && nb_slots_range_is_zero(&weights->slots, range))
            continue;
        nb_slots_write_range(&weights->slots, range, &one);
        write_one(SLOTS + range, to, &one);
    }
}

/* Writes all ranges. In vectors other than the first, ranges of zeros are left out: 0 is the start
 * value there. */
static void write_all(const struct nb_stack_weights *weights, struct nb_packer *to,
                      struct nb_buffer *scratch)
{
    for (unsigned vector = 0; vector < NB_STACK_VECTORS; vector++) {
        const struct nb_weights *w = nb_stack_vector_of(weights, vector);
        for (uint32_t range = 0; range < w->ranges; range++) {
            if (vector != 0 && nb_weights_is_zero(w, range))
                continue;
            struct nb_packer one = {.out = scratch};
            scratch->length = 0;
            write_range(w, range, &one);
            write_one(first_record(vector) + range, to, &one);
        }
    }
    write_slots(weights, to, scratch);
    struct nb_packer one = {.out = scratch};
    scratch->length = 0;
    nb_stack_lesson_write(weights, &one);
    if (scratch->length > 0)
        write_one(LESSON, to, &one);
    nb_pack_varint(to, HEAD); /* end of the records */
}

void nb_stack_weights_write(const struct nb_stack_weights *weights, struct nb_packer *to)
{
    struct nb_buffer scratch = {0};
    struct nb_packer head = {.out = &scratch};
    write_head(&head);
    nb_pack_string(to, (struct nb_string){scratch.bytes, scratch.length});
    to->code = to->code != 0 ? to->code : head.code;
    write_all(weights, to, &scratch);
    nb_buffer_deinit(&scratch);
}

static int read_all(struct nb_stack_weights *weights, struct nb_unpacker *r)
{
    uint32_t record = HEAD;
    do {
        struct nb_string stored = nb_unpack_string(r);
        int rc = r->failed ? NB_CORRUPT : nb_stack_weights_read_record(weights, record, stored);
        if (rc != 0)
            return rc;
        record = (uint32_t)nb_unpack_bounded(r, UINT32_MAX);
    } while (record != HEAD);
    return r->failed ? NB_CORRUPT : 0;
}

/* Replaces the vectors of `to` by those of `from`; none of their ranges counts as stored. */
static void exchange(struct nb_stack_weights *to, struct nb_stack_weights *from)
{
    nb_lock_write(to->lock);
    for (unsigned v = 0; v < NB_STACK_VECTORS; v++) {
        struct nb_weights before = *nb_stack_vector(to, v);
        *nb_stack_vector(to, v) = *nb_stack_vector(from, v);
        *nb_stack_vector(from, v) = before;
        nb_weights_change_all(nb_stack_vector(to, v));
    }
    nb_slots_exchange(&to->slots, &from->slots);
    struct nb_buffer kept = to->lesson.kept;
    to->lesson.kept = from->lesson.kept;
    from->lesson.kept = kept;
    to->lesson.is_new = false;
    to->lesson.is_exchanged = true;
    to->head_changed = true;
    nb_lock_release(to->lock);
}

int nb_stack_weights_read(struct nb_stack_weights *weights, struct nb_unpacker *r)
{
    struct nb_stack_weights *back = nb_stack_weights_new(&weights->settings);
    if (back == NULL)
        return NB_NO_MEMORY;
    int rc = read_all(back, r);
    /* Keeps ranges that may be stored but are all 0 now, so that they are stored again. */
    for (unsigned v = 1; rc == 0 && v < NB_STACK_VECTORS; v++)
        rc = nb_weights_grow(nb_stack_vector(back, v),
                             nb_weights_places(nb_stack_vector(weights, v)), NULL);
    if (rc == 0)
        exchange(weights, back);
    nb_stack_weights_free(&back);
    return rc;
}
