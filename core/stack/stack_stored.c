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
    /* Raised when learned numbers of before mean something else. 1: the slots of the twin were
     * those of other hashes. Weights of a lower form are left at their start values. */
    FORM = 2,
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
    unsigned form = nb_unpack_u8(r);
    if (form == 0 || form > FORM)
        return NB_CORRUPT;
    l->is_older = form < FORM;
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
    bool is_older = rc == 0 && back->layout.is_older;
    if (is_older) {
        nb_stack_weights_free(&back);
        back = nb_stack_weights_new(&weights->settings);
        rc = back == NULL ? NB_NO_MEMORY : 0;
    }
    /* Keeps ranges that may be stored but are all 0 now, so that they are stored again. */
    for (unsigned v = 1; rc == 0 && v < NB_STACK_VECTORS; v++)
        rc = nb_weights_grow(nb_stack_vector(back, v),
                             nb_weights_places(nb_stack_vector(weights, v)), NULL);
    if (rc == 0)
        exchange(weights, back);
    nb_stack_weights_free(&back);
    return rc == 0 && is_older ? 1 : rc;
}

/* The last lesson: what each place and slot of the weights held before the last change of a
 * document. If this change is taken back next, the weights are restored to the bit.
 *
 * Until the commit, the old values are those that the vectors keep for a rollback. Then they are
 * packed, and stored as a record of their own, so that a restart does not lose them. Packed form:
 *
 *     u64      the document
 *     varint   the label whose lesson the restored weights contain, plus 1; 0: none
 *     for each vector: varint count; for each place: varint place, double value
 *     varint count; for each slot: varint slot, double value, double sum of its squares
 */

/* ---- taking changes back --------------------------------------------------------------------- */

struct nb_stack_mark nb_stack_weights_mark(struct nb_stack_weights *weights)
{
    struct nb_stack_mark mark = {.shared = nb_weights_mark(&weights->shared),
                                 .order = nb_weights_mark(&weights->order),
                                 .twin = nb_weights_mark(&weights->twin),
                                 .twin_biases = nb_weights_mark(&weights->twin_biases),
                                 .attributes = nb_weights_mark(&weights->attributes),
                                 .known = nb_weights_mark(&weights->known),
                                 .margins = nb_weights_mark(&weights->margins),
                                 .slots = nb_slots_mark(&weights->slots)};
    for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
        mark.biases[e] = nb_weights_mark(&weights->biases[e]);
    return mark;
}

void nb_stack_weights_rollback(struct nb_stack_weights *weights, struct nb_stack_mark mark)
{
    nb_lock_write(weights->lock);
    nb_weights_rollback(&weights->shared, mark.shared);
    for (unsigned e = 0; e < NB_STACK_EXPERTS; e++)
        nb_weights_rollback(&weights->biases[e], mark.biases[e]);
    nb_weights_rollback(&weights->order, mark.order);
    nb_weights_rollback(&weights->twin, mark.twin);
    nb_weights_rollback(&weights->twin_biases, mark.twin_biases);
    nb_weights_rollback(&weights->attributes, mark.attributes);
    nb_weights_rollback(&weights->known, mark.known);
    nb_weights_rollback(&weights->margins, mark.margins);
    nb_slots_rollback(&weights->slots, mark.slots);
    weights->lesson.is_new = false;
    nb_lock_release(weights->lock);
}

static void note_memory(struct nb_stack_lesson *l)
{
    atomic_store(&l->bytes, l->kept.capacity + l->next.capacity);
}

static void commit_lesson(struct nb_stack_lesson *l)
{
    enum { MOST_KEPT = 1 << 16 }; /* bytes of the buffer that is not in use */
    struct nb_buffer before = l->kept;
    if (l->is_new) {
        l->kept = l->next;
        l->next = before;
        l->next.length = 0;
    }
    l->is_new = l->is_exchanged = false;
    if (l->next.capacity > MOST_KEPT)
        nb_buffer_deinit(&l->next);
    note_memory(l);
}

void nb_stack_weights_commit(struct nb_stack_weights *weights)
{
    for (unsigned v = 0; v < NB_STACK_VECTORS; v++)
        nb_weights_commit(nb_stack_vector(weights, v));
    nb_slots_commit(&weights->slots);
    commit_lesson(&weights->lesson);
    weights->head_changed = false;
    weights->stored_ranges = weights->shared.ranges;
}

/* ---- the last lesson ------------------------------------------------------------------------- */

void nb_stack_lesson_begin(struct nb_stack_weights *weights, uint64_t document, uint32_t before,
                           bool is_replay)
{
    struct nb_stack_lesson *l = &weights->lesson;
    for (unsigned v = 0; is_replay && v < NB_STACK_VECTORS; v++)
        nb_weights_settle(nb_stack_vector(weights, v));
    if (is_replay)
        nb_slots_settle(&weights->slots);
    l->is_new = true;
    l->document = document;
    l->before = before;
    l->from = nb_stack_weights_mark(weights);
}

void nb_stack_lesson_forget(struct nb_stack_weights *weights)
{
    weights->lesson.is_new = true;
    weights->lesson.document = 0;
}

/* ---- packed form ----------------------------------------------------------------------------- */

static size_t from_of(const struct nb_stack_mark *mark, unsigned vector)
{
    return vector == 0                             ? mark->shared
           : vector == NB_STACK_VECTOR_ORDER       ? mark->order
           : vector == NB_STACK_VECTOR_TWIN        ? mark->twin
           : vector == NB_STACK_VECTOR_TWIN_BIASES ? mark->twin_biases
           : vector == NB_STACK_VECTOR_ATTRIBUTES  ? mark->attributes
           : vector == NB_STACK_VECTOR_KNOWN       ? mark->known
           : vector == NB_STACK_VECTOR_MARGINS     ? mark->margins
                                                   : mark->biases[vector - 1];
}

static void pack_vector(const struct nb_weights *w, size_t from, struct nb_packer *to)
{
    nb_pack_varint(to, w->old_size - from);
    for (size_t i = from; i < w->old_size; i++) {
        nb_pack_varint(to, w->old[i].place);
        nb_pack_double(to, w->old[i].value);
    }
}

/* A table that doubled kept the values of its slots: only what was changed after that counts. */
static void pack_slots(const struct nb_slots *s, size_t from, struct nb_packer *to)
{
    for (size_t i = from; i < s->old_size; i++)
        from = s->old[i].slot == NB_SLOTS_EXCHANGED ? i + 1 : from;
    nb_pack_varint(to, s->old_size - from);
    for (size_t i = from; i < s->old_size; i++) {
        nb_pack_varint(to, s->old[i].slot);
        nb_pack_double(to, (double)s->old[i].value);
        nb_pack_double(to, (double)s->old[i].squares);
    }
}

void nb_stack_lesson_write(const struct nb_stack_weights *weights, struct nb_packer *to)
{
    const struct nb_stack_lesson *l = &weights->lesson;
    if (!l->is_new) {
        nb_pack_bytes(to, l->kept.bytes, l->kept.length);
        return;
    }
    if (l->document == 0)
        return;
    nb_pack_u64(to, l->document);
    nb_pack_varint(to, l->before == NB_STACK_NO_LABEL ? 0 : l->before + UINT64_C(1));
    for (unsigned v = 0; v < NB_STACK_VECTORS; v++)
        pack_vector(nb_stack_vector_of(weights, v), from_of(&l->from, v), to);
    pack_slots(&weights->slots, l->from.slots, to);
}

/* Reads the places of a vector. `sets`: and restores them; else checks them and makes room. */
static int read_vector(struct nb_stack_weights *weights, unsigned vector, struct nb_unpacker *r,
                       bool sets)
{
    struct nb_weights *w = nb_stack_vector(weights, vector);
    size_t most = nb_stack_vector_most(vector);
    size_t count = (size_t)nb_unpack_bounded(r, most);
    int rc = sets ? 0 : nb_weights_reserve(w, count);
    for (; rc == 0 && count > 0; count--) {
        size_t place = (size_t)nb_unpack_bounded(r, most - 1);
        double value = nb_unpack_double(r);
        if (r->failed || !nb_stack_is_possible(weights, w, value, place))
            return NB_CORRUPT;
        if (sets)
            nb_weights_set(w, place, value);
        else
            rc = nb_weights_grow(w, place + 1, weights->lock);
    }
    return rc;
}

/* As read_vector. */
static int read_slots(struct nb_stack_weights *weights, struct nb_unpacker *r, bool sets)
{
    enum { MOST = 1 << NB_SLOTS_MOST_BITS };
    struct nb_slots *s = &weights->slots;
    size_t count = (size_t)nb_unpack_bounded(r, MOST);
    int rc = sets ? 0 : nb_slots_reserve(s, count);
    for (; rc == 0 && count > 0; count--) {
        uint32_t slot = (uint32_t)nb_unpack_bounded(r, MOST - 1);
        double value = nb_unpack_double(r);
        double squares = nb_unpack_double(r);
        if (r->failed || !isfinite(value) || !isfinite(squares) || squares < 0)
            return NB_CORRUPT;
        if (sets && slot < nb_slots_count(s))
            nb_slots_set(s, slot, (float)value, (float)squares);
    }
    return rc != 0 || nb_unpacker_done(r) ? rc : NB_CORRUPT;
}

/* Reads a packed lesson. `sets`: and restores the weights; else checks it and makes room for that.
 */
static int read_lesson(struct nb_stack_weights *weights, struct nb_string packed, bool sets)
{
    struct nb_unpacker r = nb_unpacker_of(packed.bytes, packed.length);
    int rc = 0;
    (void)nb_unpack_u64(&r);
    (void)nb_unpack_bounded(&r, NB_LABELS_MOST);
    for (unsigned v = 0; rc == 0 && v < NB_STACK_VECTORS; v++)
        rc = read_vector(weights, v, &r, sets);
    return rc != 0 ? rc : read_slots(weights, &r, sets);
}

int nb_stack_lesson_read(struct nb_stack_weights *weights, struct nb_string packed)
{
    struct nb_stack_lesson *l = &weights->lesson;
    int rc = packed.length == 0 ? 0 : read_lesson(weights, packed, false);
    l->kept.length = 0;
    if (rc == 0 && nb_buffer_append(&l->kept, packed.bytes, packed.length) != 0)
        rc = NB_NO_MEMORY;
    note_memory(l);
    return rc;
}

/* ---- taking it back -------------------------------------------------------------------------- */

bool nb_stack_lesson_is_of(const struct nb_stack_weights *weights, uint64_t document,
                           uint32_t *before)
{
    const struct nb_stack_lesson *l = &weights->lesson;
    struct nb_unpacker r = nb_unpacker_of(l->kept.bytes, l->kept.length);
    *before = l->before;
    if (l->is_new)
        return l->document != 0 && l->document == document;
    if (l->kept.length == 0 || nb_unpack_u64(&r) != document)
        return false;
    uint32_t label = (uint32_t)nb_unpack_bounded(&r, NB_LABELS_MOST);
    *before = label == 0 ? NB_STACK_NO_LABEL : label - 1;
    return true;
}

int nb_stack_lesson_take_back(struct nb_stack_weights *weights)
{
    struct nb_buffer packed = {0};
    struct nb_packer p = {.out = &packed};
    nb_stack_lesson_write(weights, &p);
    int rc = p.code != 0 ? p.code : read_lesson(weights, nb_buffer_string(&packed), false);
    if (rc == 0) {
        nb_lock_write(weights->lock);
        rc = read_lesson(weights, nb_buffer_string(&packed), true);
        nb_lock_release(weights->lock);
    }
    nb_buffer_deinit(&packed);
    return rc;
}

/* ---- storing it ------------------------------------------------------------------------------ */

int nb_stack_lesson_pack(struct nb_stack_weights *weights)
{
    struct nb_stack_lesson *l = &weights->lesson;
    struct nb_packer p = {.out = &l->next};
    if (!l->is_new)
        return 0;
    l->next.length = 0;
    nb_stack_lesson_write(weights, &p);
    note_memory(l);
    return p.code;
}
