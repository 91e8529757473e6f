/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a model, for core/counts/model.c, its scorers and their tests. Rules as in
 * core/counts/model.h.
 */
#ifndef NB_CORE_COUNTS_MODEL_PRIVATE_H
#define NB_CORE_COUNTS_MODEL_PRIVATE_H

#include <pthread.h>

#include "core/counts/cells.h"
#include "core/counts/index.h"
#include "core/counts/model.h"
#include "core/counts/pairs.h"

struct nb_label {
    struct nb_label *retired; /* the next retired label */
    char *name;               /* owned; NUL-terminated */
    size_t length;
    uint64_t documents;
    uint64_t occurrences[NB_FIELDS];
    uint64_t presences[NB_FIELDS];
};

struct nb_model {
    pthread_rwlock_t *lock; /* &lock_storage; a pointer because readers lock a const model */
    pthread_rwlock_t lock_storage;
    struct nb_index index;
    struct nb_indexing *indexing; /* owned; NULL: no other thread fills the index */
    struct nb_growth *growth;     /* owned; NULL: no thread makes a larger index */
    uint64_t growth_from;         /* number of rows at which `growth` starts; 0: never */
    struct nb_segments rows;      /* struct nb_packed_row */
    struct nb_wides wides;        /* cells that do not fit into their rows */
    atomic_uint row_count;
    struct nb_cell_pool pool;
    uint32_t *dropped; /* owned: a stack of rows; reused rows stay above its top */
    uint32_t dropped_count;
    uint64_t renames;                /* see nb_model_renames */
    uint64_t lost_rows;              /* see nb_model_lost_rows */
    atomic_uint_fast64_t named_rows; /* see nb_model_named_rows */
    uint32_t dropped_short; /* number of rows at the bottom of `dropped` that are in short runs */
    size_t dropped_room;
    struct nb_label **labels; /* owned, by number */
    uint32_t *sorted;         /* owned; the numbers by name */
    uint32_t label_count, label_room;
    struct nb_label *spare;   /* owned; reserved for the next renaming, or NULL */
    struct nb_label *retired; /* owned: names that readers may still hold */
    uint64_t documents;
    uint64_t vocabulary[NB_FIELDS];
    struct nb_parts *parts; /* owned; NULL: no row is a value of an attribute */
    struct nb_pairs *pairs; /* owned; NULL: the model has none */
    uint64_t generation;
    atomic_size_t other_bytes; /* memory except that of rows and cells */
};

/* A row as it is stored. */
static inline struct nb_packed_row *nb_model_packed(const struct nb_model *model, uint32_t row)
{
    return nb_row_at(model->rows.table, row);
}

/* A copy of a row, in the form in which rows are read. */
static inline struct nb_row nb_model_row(const struct nb_model *model, uint32_t row)
{
    const struct nb_packed_row *packed = nb_model_packed(model, row);
    uint64_t cells = nb_wides_cells(model->wides.segments, row, packed->code);
    return (struct nb_row){.id = packed->id, .cells = cells};
}

/* As nb_model_row; for NB_NO_ROW, a row without counts. */
static inline struct nb_row nb_model_row_or_none(const struct nb_model *model, uint32_t row)
{
    if (row == NB_NO_ROW)
        return (struct nb_row){.cells = 0};
    return nb_model_row(model, row);
}

/* Returns a number that changes when an existing row gets another id or loses its id: data
 * remembered by row number is invalid then. Appending rows does not change it. No two models ever
 * have the same number in one process. */
static inline uint64_t nb_model_renames(const struct nb_model *model)
{
    return model->renames;
}

/* Number of features that are prefetched ahead: memory latency is some hundred cycles, the work for
 * one feature about ten. */
enum { NB_MODEL_AHEAD = 32 };

/* A model is read in steps of this many features: their rows fit the first-level cache. */
enum { NB_MODEL_STEP = 256 };

/* Returns the rows of the features from `start` to `start + step`. `known` has the rows of all
 * features; if it is NULL, the function looks them up into `found`. */
static inline const uint32_t *nb_model_step(const struct nb_model *model,
                                            const struct nb_feature *features, size_t start,
                                            size_t step, const uint32_t *known,
                                            uint32_t found[NB_MODEL_STEP])
{
    if (known != NULL)
        return known + start;
    nb_model_find_all(model, features + start, step, found);
    return found;
}

/* As nb_model_step, with the rows' cells: from `known` if it has them, else read into `own`. */
struct nb_step {
    uint32_t rows[NB_MODEL_STEP];
    uint64_t cells[NB_MODEL_STEP];
};
static inline struct nb_found nb_model_step_cells(const struct nb_model *model,
                                                  const struct nb_feature *features, size_t start,
                                                  size_t step, const struct nb_found *known,
                                                  struct nb_step *own)
{
    if (known != NULL && known->cells != NULL)
        return (struct nb_found){known->rows + start, known->cells + start};
    if (known == NULL)
        nb_model_find_cells(model, features + start, step, own->rows, own->cells);
    else
        nb_model_read_cells(model, known->rows + start, step, own->cells);
    return (struct nb_found){known == NULL ? own->rows : known->rows + start, own->cells};
}

/* Notes that a row has got an id and is in the index. */
static inline void nb_model_note_named(struct nb_model *model)
{
    atomic_store_explicit(&model->named_rows, model->named_rows + 1, memory_order_release);
}

/* Call this before the id of a row, or of the rows from it on, changes: it gives up the thread that
 * builds a larger index if that thread reads the id. For the writer. */
void nb_model_spare_growth(struct nb_model *model, uint32_t row);

/* Both for the writer; nb_model_unlock unlocks. A change of counts or labels ends with a new
 * generation, before the lock is released. */
void nb_model_write_lock(struct nb_model *model);
void nb_model_next_generation(struct nb_model *model);

/* Makes room for the sums of `count` parts and `label_room` labels, and for moments if
 * `has_moments` or if there were moments before. Takes the write lock inside. Returns 0, or
 * NB_NO_MEMORY with nothing changed. */
int nb_model_grow_parts(struct nb_model *model, unsigned count, uint32_t label_room,
                        bool has_moments);

/* Makes room for the sums of the feature's part and of the other part of its attribute. Returns 0
 * or NB_NO_MEMORY. */
int nb_model_reserve_part(struct nb_model *model, uint64_t id);

/* Keeps a retired label until the model is freed: readers may still hold its name. */
void nb_model_retire(struct nb_model *model, struct nb_label *label);

void nb_label_free(struct nb_label *label);

/* Loads of fewer rows do not start a thread that fills the index (model_rows.c). */
enum { NB_INDEXING_LEAST = 1 << 18 };

#endif
