/* SPDX-License-Identifier: Apache-2.0
 *
 * The last lesson: what each place and slot of the weights held before the last change of a
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
#include <assert.h>
#include <stdlib.h>

#include "core/base/system.h"
#include "core/stack/stack_private.h"

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
