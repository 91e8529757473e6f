/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/model_private.h"

enum { FIRST_INDEX = 64, FIRST_LABELS = 4 };

/* Memory latency is some hundred cycles, the work for one feature ten: this many are under way. */
enum { AHEAD = 16 };

static void write_lock(struct nb_model *model)
{
    if (pthread_rwlock_wrlock(model->lock) != 0)
        abort();
}

static void unlock(const struct nb_model *model)
{
    pthread_rwlock_unlock(model->lock);
}

/* Generations are unique in the process. A model takes 2^32 of them at a time; reloading one takes
 * others, so that nothing computed from the old one's counts passes for the new one's. */
enum { GENERATION_BITS = 32 };
static _Atomic uint64_t generation_blocks;

static uint64_t first_generation(void)
{
    return (atomic_fetch_add(&generation_blocks, 1) + 1) << GENERATION_BITS;
}

/* Under the write lock. */
static void next_generation(struct nb_model *model)
{
    model->generation++;
    if ((model->generation & ((UINT64_C(1) << GENERATION_BITS) - 1)) == 0)
        model->generation = first_generation();
}

/* A stream of readers must not starve the writer: glibc's default prefers readers. */
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
    model->generation = first_generation();
    nb_segments_init(&model->rows, sizeof(struct nb_row), NB_ROW_SEGMENT_BITS);
    nb_cell_pool_init(&model->pool);
    if (nb_index_init(&model->index, FIRST_INDEX) != 0)
        nb_model_free(&model);
    else
        atomic_store(&model->other_bytes, sizeof *model + nb_index_memory(&model->index));
    return model;
}

void nb_model_free(struct nb_model **model)
{
    struct nb_model *m = *model;
    *model = NULL;
    if (m == NULL)
        return;
    for (uint32_t i = 0; i < m->label_count; i++) {
        free(m->labels[i]->name);
        free(m->labels[i]);
    }
    free(m->labels);
    free(m->sorted);
    nb_index_deinit(&m->index);
    nb_segments_deinit(&m->rows);
    nb_cell_pool_deinit(&m->pool);
    pthread_rwlock_destroy(m->lock);
    free(m);
}

void nb_model_read_lock(const struct nb_model *model)
{
    if (pthread_rwlock_rdlock(model->lock) != 0)
        abort(); /* only a thread that holds the write lock, or 2^32 readers, get here */
}

void nb_model_unlock(const struct nb_model *model)
{
    unlock(model);
}

/* ---- rows ------------------------------------------------------------------------------------ */

uint32_t nb_model_rows(const struct nb_model *model)
{
    return atomic_load_explicit(&model->row_count, memory_order_acquire);
}

uint64_t nb_model_row_id(const struct nb_model *model, uint32_t row)
{
    assert(row < nb_model_rows(model));
    return nb_model_row(model, row)->id;
}

static uint32_t find_from(const struct nb_model *model, uint64_t bucket, uint64_t id)
{
    const struct nb_index *index = &model->index;
    for (uint64_t seen = 0; seen < index->bucket_count; seen++) {
        const struct nb_bucket *b = &index->buckets[bucket];
        struct nb_places places = nb_bucket_places(b, nb_index_tag(id));
        for (int place; (place = nb_places_next(&places)) >= 0;) {
            uint32_t row = nb_bucket_row(b, place);
            if (nb_model_row(model, row)->id == id)
                return row;
        }
        if (atomic_load_explicit(&b->passed, memory_order_acquire) == 0)
            return NB_NO_ROW;
        bucket = bucket + 1 == index->bucket_count ? 0 : bucket + 1;
    }
    return NB_NO_ROW;
}

uint32_t nb_model_find(const struct nb_model *model, uint64_t id)
{
    return find_from(model, nb_index_home(&model->index, id), id);
}

/* Between NB_NO_ROW and the highest row there can be: the feature's own bucket does not have it,
 * but some rows passed that bucket by. */
#define LOOK_FURTHER (NB_NO_ROW - 1)

/* The row that the feature's own bucket names first, on its way into the cache; or NB_NO_ROW; or
 * LOOK_FURTHER. */
static inline uint32_t guess(const struct nb_bucket *b, unsigned char *const *table, uint64_t id)
{
    struct nb_places places = nb_bucket_places(b, nb_index_tag(id));
    int place = nb_places_next(&places);
    if (place < 0) {
        if (atomic_load_explicit(&b->passed, memory_order_acquire) == 0)
            return NB_NO_ROW;
        /* The next bucket; from the last one rows go to the first, and this does no good. */
        __builtin_prefetch(b + 1);
        return LOOK_FURTHER;
    }
    uint32_t row = nb_bucket_row(b, place);
    __builtin_prefetch(nb_row_at(table, row));
    return row;
}

/* A second guess, at the next bucket: one row in twenty lies there. */
static inline uint32_t guess_again(const struct nb_index *index, unsigned char *const *table,
                                   uint64_t id)
{
    uint64_t next = nb_index_home(index, id) + 1;
    return guess(&index->buckets[next == index->bucket_count ? 0 : next], table, id);
}

static inline uint32_t confirm(const struct nb_model *model, unsigned char *const *table,
                               uint64_t id, uint32_t row)
{
    if (row == NB_NO_ROW)
        return row;
    if (row == LOOK_FURTHER || nb_row_at(table, row)->id != id)
        row = nb_model_find(model, id);
    if (row != NB_NO_ROW && nb_row_at(table, row)->more != NB_NO_ROW)
        __builtin_prefetch(nb_row_run(&model->pool, nb_row_at(table, row)));
    return row;
}

void nb_model_find_all(const struct nb_model *model, const struct nb_feature *features, size_t size,
                       uint32_t *rows)
{
    /* Copies, which no store to `rows` can change. */
    const struct nb_index index = model->index;
    unsigned char *const *table = model->rows.table;
    for (size_t i = 0; i < size + (size_t)3 * AHEAD; i++) {
        if (i < size)
            __builtin_prefetch(&index.buckets[nb_index_home(&index, features[i].id)]);
        size_t j = i - AHEAD; /* below 0: a very large number, as in the next two */
        if (j < size) {
            uint64_t id = features[j].id;
            rows[j] = guess(&index.buckets[nb_index_home(&index, id)], table, id);
        }
        j -= AHEAD;
        if (j < size && rows[j] == LOOK_FURTHER)
            rows[j] = guess_again(&index, table, features[j].id);
        j -= AHEAD;
        if (j < size)
            rows[j] = confirm(model, table, features[j].id, rows[j]);
    }
}

/* A larger index beside the one in use, which readers go on using until the swap. */
static int index_grow(struct nb_model *model, uint64_t rows)
{
    struct nb_index larger;
    int rc = nb_index_init(&larger, rows);
    if (rc != 0)
        return rc;
    uint32_t count = nb_model_rows(model);
    for (uint32_t i = 0; i < count + AHEAD; i++) {
        if (i < count)
            __builtin_prefetch(&larger.buckets[nb_index_home(&larger, nb_model_row(model, i)->id)],
                               1);
        if (i >= AHEAD)
            nb_index_insert(&larger, nb_model_row(model, i - AHEAD)->id, i - AHEAD);
    }
    struct nb_index old = model->index;
    write_lock(model);
    model->index = larger;
    unlock(model);
    atomic_fetch_add(&model->other_bytes, nb_index_memory(&larger) - nb_index_memory(&old));
    nb_index_deinit(&old);
    return 0;
}

int nb_model_reserve(struct nb_model *model, uint32_t rows)
{
    return rows <= nb_index_room(&model->index) ? 0 : index_grow(model, rows);
}

void nb_model_prefetch(const struct nb_model *model, uint64_t id)
{
    __builtin_prefetch(&model->index.buckets[nb_index_home(&model->index, id)], 1);
}

int nb_model_append(struct nb_model *model, uint64_t id, uint32_t *row)
{
    uint32_t count = nb_model_rows(model);
    assert(id >> NB_FIELD_SHIFT < NB_FIELDS);
    if (count >= NB_NO_ROW - 1)
        return NB_TOO_LARGE;
    int rc = nb_segments_reserve(&model->rows, (uint64_t)count + 1, model->lock);
    if (rc == 0 && count >= nb_index_room(&model->index))
        rc = index_grow(model, (uint64_t)count + count / 5 + 1);
    if (rc != 0)
        return rc;
    *nb_model_row(model, count) = (struct nb_row){.id = id, .more = NB_NO_ROW};
    atomic_store_explicit(&model->row_count, count + 1, memory_order_release);
    nb_index_insert(&model->index, id, count);
    *row = count;
    return 0;
}

void nb_model_truncate(struct nb_model *model, uint32_t rows)
{
    write_lock(model);
    for (uint32_t count = nb_model_rows(model); count > rows; count--) {
        const struct nb_row *last = nb_model_row(model, count - 1);
        assert(last->n[0] == 0);
        nb_index_remove(&model->index, last->id, count - 1);
        atomic_store_explicit(&model->row_count, count - 1, memory_order_release);
    }
    unlock(model);
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* Adds to the sums what a cell has gained (or lost), and to the vocabulary what it has. */
static void add_sums(struct nb_model *model, unsigned field, uint32_t label, uint64_t occurrences,
                     uint64_t presences, int sign)
{
    struct nb_label *l = model->labels[label];
    l->occurrences[field] += sign > 0 ? occurrences : -occurrences;
    l->presences[field] += sign > 0 ? presences : -presences;
}

static int cell_add(struct nb_model *model, uint32_t label, struct nb_row_count c, size_t *fresh)
{
    struct nb_row *row = nb_model_row(model, c.row);
    enum nb_field field = nb_feature_field(row->id);
    bool empty = row->n[0] == 0;
    bool there;
    uint32_t place = nb_row_find(&model->pool, row, label, &there);
    if (there) {
        struct nb_cell cell = nb_row_cell(&model->pool, row, place);
        if (cell.occurrences > UINT32_MAX - c.count)
            return NB_TOO_LARGE;
        cell.occurrences += c.count;
        cell.documents++; /* at most the occurrences: a document has one of each at least */
        nb_row_set(&model->pool, row, place, cell);
    } else {
        int rc = nb_row_insert(&model->pool, row, place, (struct nb_cell){label, c.count, 1});
        if (rc != 0)
            return rc;
    }
    model->vocabulary[field] += empty;
    *fresh += empty && nb_field_is_token(field);
    add_sums(model, field, label, c.count, 1, 1);
    return 0;
}

static void cell_take(struct nb_model *model, uint32_t label, struct nb_row_count c)
{
    struct nb_row *row = nb_model_row(model, c.row);
    enum nb_field field = nb_feature_field(row->id);
    bool there;
    uint32_t place = nb_row_find(&model->pool, row, label, &there);
    assert(there);
    struct nb_cell cell = nb_row_cell(&model->pool, row, place);
    assert(cell.occurrences >= c.count && cell.documents >= 1);
    cell.occurrences -= c.count;
    cell.documents--;
    assert((cell.occurrences == 0) == (cell.documents == 0));
    if (cell.occurrences == 0)
        nb_row_remove(&model->pool, row, place);
    else
        nb_row_set(&model->pool, row, place, cell);
    model->vocabulary[field] -= row->n[0] == 0;
    add_sums(model, field, label, c.count, 1, -1);
}

static void prefetch_row(const struct nb_model *model, const struct nb_row_count *counts,
                         size_t size, size_t i)
{
    if (i < size)
        __builtin_prefetch(nb_model_row(model, counts[i].row), 1);
}

/* All of a bag or, when it does not fit, nothing of it. Under the write lock. */
static int add_all(struct nb_model *model, uint32_t label, const struct nb_row_count *counts,
                   size_t size, size_t *fresh)
{
    for (size_t i = 0; i < size; i++) {
        prefetch_row(model, counts, size, i + AHEAD);
        int rc = cell_add(model, label, counts[i], fresh);
        if (rc != 0) {
            while (i > 0)
                cell_take(model, label, counts[--i]);
            return rc;
        }
    }
    return 0;
}

int nb_model_add(struct nb_model *model, uint32_t label, const struct nb_row_count *counts,
                 size_t size, int sign, size_t *fresh)
{
    assert(label < model->label_count && (sign == 1 || sign == -1));
    int rc = 0;
    size_t new_tokens = 0;
    for (size_t i = 0; i < AHEAD; i++)
        prefetch_row(model, counts, size, i);
    write_lock(model);
    if (sign > 0) {
        rc = add_all(model, label, counts, size, &new_tokens);
    } else {
        for (size_t i = 0; i < size; i++) {
            prefetch_row(model, counts, size, i + AHEAD);
            cell_take(model, label, counts[i]);
        }
    }
    if (rc == 0)
        next_generation(model);
    unlock(model);
    if (rc == 0 && fresh != NULL)
        *fresh = new_tokens;
    return rc;
}

static void add_documents(struct nb_model *model, uint32_t label, int sign)
{
    assert(sign > 0 || model->labels[label]->documents > 0);
    model->labels[label]->documents += (uint64_t)(int64_t)sign;
    model->documents += (uint64_t)(int64_t)sign;
}

int nb_model_change(struct nb_model *model, const struct nb_model_change *change, size_t *fresh)
{
    int rc = 0;
    *fresh = 0;
    write_lock(model);
    if (change->add_label != UINT32_MAX) {
        rc = add_all(model, change->add_label, change->add, change->add_size, fresh);
        if (rc == 0)
            add_documents(model, change->add_label, 1);
    }
    if (rc == 0 && change->take_label != UINT32_MAX) {
        for (size_t i = 0; i < change->take_size; i++) {
            prefetch_row(model, change->take, change->take_size, i + AHEAD);
            cell_take(model, change->take_label, change->take[i]);
        }
        add_documents(model, change->take_label, -1);
    }
    if (rc == 0)
        next_generation(model);
    unlock(model);
    return rc;
}

size_t nb_model_cells(const struct nb_model *model, uint32_t row, struct nb_cell *cells,
                      size_t room)
{
    assert(row < nb_model_rows(model));
    const struct nb_row *r = nb_model_row(model, row);
    uint32_t size = nb_row_size(&model->pool, r);
    for (uint32_t i = 0; i < size && i < room; i++)
        cells[i] = nb_row_cell(&model->pool, r, i);
    return size;
}

uint32_t nb_model_count(const struct nb_model *model, uint32_t row, uint32_t label)
{
    bool there;
    const struct nb_row *r = nb_model_row(model, row);
    uint32_t place = nb_row_find(&model->pool, r, label, &there);
    return there ? nb_row_cell(&model->pool, r, place).occurrences : 0;
}

/* Stored cells may be damaged: labels that do not exist, or are out of order, and zeros. */
static bool cells_are_possible(const struct nb_model *model, const struct nb_cell *cells,
                               size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (cells[i].label >= model->label_count || (i > 0 && cells[i].label <= cells[i - 1].label))
            return false;
        if (cells[i].documents == 0 || cells[i].occurrences < cells[i].documents)
            return false;
    }
    return true;
}

int nb_model_set_cells(struct nb_model *model, uint32_t row, const struct nb_cell *cells,
                       size_t size)
{
    assert(row < nb_model_rows(model));
    struct nb_row *r = nb_model_row(model, row);
    unsigned field = nb_feature_field(r->id);
    if (!cells_are_possible(model, cells, size))
        return NB_CORRUPT;
    assert(r->n[0] == 0);
    int rc = 0;
    uint32_t done = 0;
    write_lock(model);
    while (rc == 0 && done < size) {
        rc = nb_row_insert(&model->pool, r, done, cells[done]);
        done += rc == 0;
    }
    for (uint32_t i = 0; rc == 0 && i < size; i++)
        add_sums(model, field, cells[i].label, cells[i].occurrences, cells[i].documents, 1);
    while (rc != 0 && done > 0)
        nb_row_remove(&model->pool, r, --done);
    model->vocabulary[field] += rc == 0 && size != 0;
    next_generation(model);
    unlock(model);
    return rc;
}

/* ---- labels and sums ------------------------------------------------------------------------- */

/* Where a name stands, or would stand, among the sorted ones. */
static uint32_t name_place(const struct nb_model *model, struct nb_string name, bool *there)
{
    uint32_t low = 0;
    uint32_t high = model->label_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const struct nb_label *l = model->labels[model->sorted[middle]];
        size_t shorter = l->length < name.length ? l->length : name.length;
        int order = shorter == 0 ? 0 : memcmp(l->name, name.bytes, shorter);
        if (order == 0 && l->length == name.length) {
            *there = true;
            return middle;
        }
        if (order < 0 || (order == 0 && l->length < name.length))
            low = middle + 1;
        else
            high = middle;
    }
    *there = false;
    return low;
}

static int labels_grow(struct nb_model *model)
{
    uint32_t room = model->label_room == 0 ? FIRST_LABELS : model->label_room * 2;
    struct nb_label **labels = malloc(room * sizeof *labels);
    uint32_t *sorted = malloc(room * sizeof *sorted);
    if (labels == NULL || sorted == NULL) {
        free(labels);
        free(sorted);
        return NB_NO_MEMORY;
    }
    if (model->label_count != 0) {
        memcpy(labels, model->labels, model->label_count * sizeof *labels);
        memcpy(sorted, model->sorted, model->label_count * sizeof *sorted);
    }
    struct nb_label **old_labels = model->labels;
    uint32_t *old_sorted = model->sorted;
    write_lock(model);
    model->labels = labels;
    model->sorted = sorted;
    unlock(model);
    free(old_labels);
    free(old_sorted);
    atomic_fetch_add(&model->other_bytes,
                     (room - model->label_room) * (sizeof *labels + sizeof *sorted));
    model->label_room = room;
    return 0;
}

static struct nb_label *label_new(struct nb_string name)
{
    struct nb_label *label = calloc(1, sizeof *label);
    char *copy = malloc(name.length + 1);
    if (label == NULL || copy == NULL) {
        free(label);
        free(copy);
        return NULL;
    }
    if (name.length != 0)
        memcpy(copy, name.bytes, name.length);
    copy[name.length] = '\0';
    label->name = copy;
    label->length = name.length;
    return label;
}

int nb_model_label(struct nb_model *model, struct nb_string name, uint32_t *label)
{
    bool there;
    uint32_t place = name_place(model, name, &there);
    if (there) {
        *label = model->sorted[place];
        return 0;
    }
    if (model->label_count >= NB_LABELS_MOST)
        return NB_TOO_LARGE;
    if (model->label_count == model->label_room && labels_grow(model) != 0)
        return NB_NO_MEMORY;
    struct nb_label *made = label_new(name);
    if (made == NULL)
        return NB_NO_MEMORY;
    uint32_t number = model->label_count;
    write_lock(model);
    memmove(model->sorted + place + 1, model->sorted + place,
            (number - place) * sizeof *model->sorted);
    model->sorted[place] = number;
    model->labels[number] = made;
    model->label_count++;
    next_generation(model);
    unlock(model);
    atomic_fetch_add(&model->other_bytes, sizeof *made + name.length + 1);
    *label = number;
    return 0;
}

uint32_t nb_model_find_label(const struct nb_model *model, struct nb_string name)
{
    bool there;
    uint32_t place = name_place(model, name, &there);
    return there ? model->sorted[place] : UINT32_MAX;
}

uint32_t nb_model_label_count(const struct nb_model *model)
{
    return model->label_count;
}

struct nb_string nb_model_label_name(const struct nb_model *model, uint32_t label)
{
    assert(label < model->label_count);
    return (struct nb_string){model->labels[label]->name, model->labels[label]->length};
}

const uint32_t *nb_model_labels_sorted(const struct nb_model *model)
{
    return model->sorted;
}

uint64_t nb_model_documents(const struct nb_model *model, uint32_t label)
{
    assert(label < model->label_count);
    return model->labels[label]->documents;
}

uint64_t nb_model_documents_all(const struct nb_model *model)
{
    return model->documents;
}

void nb_model_add_documents(struct nb_model *model, uint32_t label, int64_t change)
{
    assert(label < model->label_count);
    write_lock(model);
    assert(change >= 0 || model->labels[label]->documents >= (uint64_t)0 - (uint64_t)change);
    model->labels[label]->documents += (uint64_t)change;
    model->documents += (uint64_t)change;
    next_generation(model);
    unlock(model);
}

static uint64_t over_fields(const uint64_t counts[NB_FIELDS], unsigned field)
{
    assert(field <= NB_FIELDS);
    if (field < NB_FIELDS)
        return counts[field];
    uint64_t sum = 0;
    for (unsigned f = 0; f < NB_FIELDS; f++)
        sum += nb_field_is_token((enum nb_field)f) ? counts[f] : 0;
    return sum;
}

uint64_t nb_model_occurrences(const struct nb_model *model, uint32_t label, unsigned field)
{
    assert(label < model->label_count);
    return over_fields(model->labels[label]->occurrences, field);
}

uint64_t nb_model_presences(const struct nb_model *model, uint32_t label, unsigned field)
{
    assert(label < model->label_count);
    return over_fields(model->labels[label]->presences, field);
}

uint64_t nb_model_vocabulary(const struct nb_model *model, unsigned field)
{
    return over_fields(model->vocabulary, field);
}

uint64_t nb_model_generation(const struct nb_model *model)
{
    return model->generation;
}

size_t nb_model_memory(const struct nb_model *model)
{
    return atomic_load(&model->other_bytes) + atomic_load(&model->rows.bytes) +
           atomic_load(&model->pool.cells.bytes);
}
