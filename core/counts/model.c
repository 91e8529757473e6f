/* SPDX-License-Identifier: Apache-2.0 */
#include "core/counts/model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/threads.h"
#include "core/counts/model_private.h"

/* Returns the size of the block of the table, the vocabularies and the sums. Moments have a block
 * of their own. */
static size_t bytes_of(unsigned count, uint32_t label_room)
{
    return sizeof(struct nb_parts) + count * sizeof(uint64_t) +
           (size_t)label_room * count * sizeof(struct nb_part_sum);
}

static size_t moments_of(unsigned count, uint32_t label_room)
{
    return (size_t)label_room * count / 2;
}

/* Makes a table with room for so many parts and labels, and with the sums of `from` (NULL: all are
 * 0), which must not have more of either. It has moments if `has_moments` or if `from` has them.
 * NULL: out of memory. */
static struct nb_parts *parts_new(unsigned count, uint32_t label_room, bool has_moments,
                                  const struct nb_parts *from)
{
    struct nb_parts *parts = calloc(1, bytes_of(count, label_room));
    if (parts == NULL)
        return NULL;
    has_moments = has_moments || (from != NULL && from->moments != NULL);
    if (has_moments) {
        parts->moments = calloc(moments_of(count, label_room) + 1, sizeof *parts->moments);
        if (parts->moments == NULL) {
            free(parts);
            return NULL;
        }
    }
    parts->count = count;
    parts->label_room = label_room;
    parts->vocabulary = (uint64_t *)(parts + 1);
    parts->sums = (struct nb_part_sum *)(parts->vocabulary + count);
    if (from == NULL)
        return parts;
    assert(from->count <= count && from->label_room <= label_room);
    memcpy(parts->vocabulary, from->vocabulary, from->count * sizeof *from->vocabulary);
    for (uint32_t label = 0; label < from->label_room; label++) {
        memcpy(nb_parts_at(parts, label, 0), nb_parts_at(from, label, 0),
               from->count * sizeof *from->sums);
        if (from->moments != NULL)
            memcpy(nb_parts_moments(parts, label, 0), nb_parts_moments(from, label, 0),
                   from->count / 2 * sizeof *from->moments);
    }
    return parts;
}

static void parts_free(struct nb_parts **parts)
{
    if (*parts != NULL)
        free((*parts)->moments);
    free(*parts);
    *parts = NULL;
}

size_t nb_parts_memory(const struct nb_parts *parts)
{
    if (parts == NULL)
        return 0;
    size_t moments = parts->moments == NULL ? 0 : moments_of(parts->count, parts->label_room) + 1;
    return bytes_of(parts->count, parts->label_room) + moments * sizeof *parts->moments;
}

enum { FIRST_INDEX = 64 };

void nb_model_write_lock(struct nb_model *model)
{
    nb_lock_write(model->lock);
}

/* Generations are unique in the process. A model takes 2^32 of them at a time. A reloaded model
 * takes others, so that data computed from the old model's counts never pass for the new one's. */
enum { GENERATION_BITS = 32 };
static _Atomic uint64_t generation_blocks;

static uint64_t first_generation(void)
{
    return (atomic_fetch_add(&generation_blocks, 1) + 1) << GENERATION_BITS;
}

/* Under the write lock. */
void nb_model_next_generation(struct nb_model *model)
{
    model->generation++;
    if ((model->generation & ((UINT64_C(1) << GENERATION_BITS) - 1)) == 0)
        model->generation = first_generation();
}

/* Makes a lock that prefers writers: a stream of readers must not starve the writer, and glibc's
 * default prefers readers. */
static int lock_init(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attributes;
    if (pthread_rwlockattr_init(&attributes) != 0)
        return NB_NO_MEMORY;
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    int rc = pthread_rwlock_init(lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    return rc == 0 ? 0 : NB_NO_MEMORY;
}

struct nb_model *nb_model_new(void)
{
    struct nb_model *model = calloc(1, sizeof *model);
    if (model == NULL)
        return NULL;
    if (lock_init(&model->lock_storage) != 0) {
        free(model);
        return NULL;
    }
    model->lock = &model->lock_storage;
    model->generation = model->renames = first_generation();
    nb_segments_init(&model->rows, sizeof(struct nb_packed_row), NB_ROW_SEGMENT_BITS);
    if (nb_cell_pool_init(&model->pool) != 0 || nb_index_init(&model->index, FIRST_INDEX) != 0)
        nb_model_free(&model);
    else
        atomic_store(&model->other_bytes, sizeof *model + nb_index_memory(&model->index));
    return model;
}

void nb_model_retire(struct nb_model *model, struct nb_label *label)
{
    label->retired = model->retired;
    model->retired = label;
}

void nb_label_free(struct nb_label *label)
{
    if (label == NULL)
        return;
    free(label->name);
    free(label);
}

static void free_retired(struct nb_model *model)
{
    while (model->retired != NULL) {
        struct nb_label *label = model->retired;
        model->retired = label->retired;
        nb_label_free(label);
    }
}

void nb_model_free(struct nb_model **model)
{
    struct nb_model *m = *model;
    *model = NULL;
    if (m == NULL)
        return;
    for (uint32_t i = 0; i < m->label_count; i++)
        nb_model_retire(m, m->labels[i]);
    free_retired(m);
    nb_label_free(m->spare);
    free(m->dropped);
    free(m->labels);
    free(m->sorted);
    parts_free(&m->parts);
    nb_pairs_free(&m->pairs);
    nb_growth_drop(&m->growth);
    nb_index_deinit(&m->index);
    nb_segments_deinit(&m->rows);
    nb_wides_deinit(&m->wides);
    nb_cell_pool_deinit(&m->pool);
    pthread_rwlock_destroy(m->lock);
    free(m);
}

void nb_model_read_lock(const struct nb_model *model)
{
    nb_lock_read(model->lock);
}

void nb_model_unlock(const struct nb_model *model)
{
    nb_lock_release(model->lock);
}

/* ---- sums ------------------------------------------------------------------------------------ */

uint64_t nb_model_documents(const struct nb_model *model, uint32_t label)
{
    assert(label < model->label_count);
    return model->labels[label]->documents;
}

uint64_t nb_model_documents_all(const struct nb_model *model)
{
    return model->documents;
}

uint32_t nb_model_labels_with_documents(const struct nb_model *model)
{
    uint32_t found = 0;
    for (uint32_t v = 0; v < model->label_count; v++)
        found += model->labels[v]->documents != 0;
    return found;
}

void nb_model_add_documents(struct nb_model *model, uint32_t label, int64_t change)
{
    assert(label < model->label_count);
    nb_model_write_lock(model);
    assert(change >= 0 || model->labels[label]->documents >= (uint64_t)0 - (uint64_t)change);
    model->labels[label]->documents += (uint64_t)change;
    model->documents += (uint64_t)change;
    nb_model_next_generation(model);
    nb_model_unlock(model);
}

static uint64_t over_fields(const uint64_t counts[NB_FIELDS], unsigned field)
{
    if (field < NB_FIELDS)
        return counts[field];
    uint64_t sum = 0;
    for (unsigned f = 0; f < NB_FIELDS; f++)
        sum += nb_field_is_token((enum nb_field)f) ? counts[f] : 0;
    return sum;
}

unsigned nb_model_parts(const struct nb_model *model)
{
    return model->parts == NULL ? 0 : model->parts->count;
}

int nb_model_grow_parts(struct nb_model *model, unsigned count, uint32_t label_room,
                        bool has_moments)
{
    struct nb_parts *old = model->parts;
    struct nb_parts *made = parts_new(count, label_room, has_moments, old);
    if (made == NULL)
        return NB_NO_MEMORY;
    nb_model_write_lock(model);
    model->parts = made;
    nb_model_unlock(model);
    atomic_fetch_add(&model->other_bytes, nb_parts_memory(made) - nb_parts_memory(old));
    parts_free(&old);
    return 0;
}

/* The parts of attributes that a sum covers in addition to fields. */
struct parts_range {
    unsigned first, end, step;
};

static struct parts_range parts_of(const struct nb_model *model, unsigned field)
{
    unsigned count = nb_model_parts(model), part = field - NB_FIRST_PART;
    if (field >= NB_FIRST_PART)
        return (struct parts_range){part, part < count ? part + 1 : part, 1};
    return (struct parts_range){0, field == NB_ALL_TOKENS ? count : 0, 2}; /* the parts of values */
}

static struct nb_part_sum part_sums(const struct nb_model *model, uint32_t label, unsigned field)
{
    struct parts_range r = parts_of(model, field);
    struct nb_part_sum sum = {0, 0};
    for (unsigned part = r.first; part < r.end; part += r.step) {
        const struct nb_part_sum *s = nb_parts_at(model->parts, label, part);
        sum.occurrences += s->occurrences;
        sum.presences += s->presences;
    }
    return sum;
}

uint64_t nb_model_occurrences(const struct nb_model *model, uint32_t label, unsigned field)
{
    assert(label < model->label_count);
    uint64_t fields =
        field < NB_FIRST_PART ? over_fields(model->labels[label]->occurrences, field) : 0;
    return field < NB_ALL_TOKENS ? fields : fields + part_sums(model, label, field).occurrences;
}

uint64_t nb_model_presences(const struct nb_model *model, uint32_t label, unsigned field)
{
    assert(label < model->label_count);
    uint64_t fields =
        field < NB_FIRST_PART ? over_fields(model->labels[label]->presences, field) : 0;
    return field < NB_ALL_TOKENS ? fields : fields + part_sums(model, label, field).presences;
}

uint64_t nb_model_vocabulary(const struct nb_model *model, unsigned field)
{
    uint64_t sum = field < NB_FIRST_PART ? over_fields(model->vocabulary, field) : 0;
    struct parts_range r = parts_of(model, field);
    for (unsigned part = r.first; part < r.end; part += r.step)
        sum += model->parts->vocabulary[part];
    return sum;
}

struct nb_moments nb_model_moments(const struct nb_model *model, uint32_t label, unsigned attribute)
{
    assert(label < model->label_count);
    if (attribute >= nb_model_parts(model) / 2 || model->parts->moments == NULL)
        return (struct nb_moments){0};
    return *nb_parts_moments(model->parts, label, attribute * 2);
}

uint64_t nb_model_generation(const struct nb_model *model)
{
    return model->generation;
}

size_t nb_model_memory(const struct nb_model *model)
{
    return atomic_load(&model->other_bytes) + atomic_load(&model->rows.bytes) +
           atomic_load(&model->wides.bytes) + atomic_load(&model->pool.cells.bytes);
}
