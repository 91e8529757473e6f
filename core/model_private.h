/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a model, for core/model.c, its scorers and their tests. Rules as in core/model.h.
 */
#ifndef NB_CORE_MODEL_PRIVATE_H
#define NB_CORE_MODEL_PRIVATE_H

#include <pthread.h>

#include "core/model_cells.h"
#include "core/model_index.h"

struct nb_label {
    char *name; /* owned; NUL-terminated */
    size_t length;
    uint64_t documents;
    uint64_t occurrences[NB_FIELDS];
    uint64_t presences[NB_FIELDS];
};

struct nb_model {
    pthread_rwlock_t *lock; /* &lock_storage: readers lock a const model */
    pthread_rwlock_t lock_storage;
    struct nb_index index;
    struct nb_segments rows;
    atomic_uint row_count;
    struct nb_cell_pool pool;
    struct nb_label **labels; /* owned, by number */
    uint32_t *sorted;         /* owned; the numbers by name */
    uint32_t label_count, label_room;
    uint64_t documents;
    uint64_t vocabulary[NB_FIELDS];
    uint64_t generation;
    atomic_size_t other_bytes; /* memory but that of rows and cells */
};

static inline struct nb_row *nb_model_row(const struct nb_model *model, uint32_t row)
{
    return nb_segments_at(&model->rows, row);
}

/* A model is read in steps of this many features: their rows fit the first-level cache. */
enum { NB_MODEL_STEP = 256 };

#endif
