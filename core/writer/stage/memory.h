/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory in which changes are staged, one after the other. On the writer's thread.
 */
#ifndef NB_CORE_WRITER_STAGE_MEMORY_H
#define NB_CORE_WRITER_STAGE_MEMORY_H

#include "core/ledger/entries/ledger.h"
#include "core/model/parents/family.h"

/* A feature that is new with a change. */
struct nb_fresh {
    uint32_t row, place; /* where it is among the change's others */
};

/* Memory that is used from change to change; `{0}` is empty. */
struct nb_staging {
    struct nb_buffer features, bag, score, entry;
    struct nb_feature *known; /* the document's, and ... */
    uint32_t *rows;           /* ... their rows; owned */
    size_t known_room, rows_room;
    struct nb_row_count *found; /* those that have got rows since they were looked up, and scratch;
                                   owned */
    size_t found_room;
    struct nb_fresh *fresh;  /* new features, by row; owned */
    uint64_t *ids;           /* their ids; owned */
    struct nb_string *texts; /* their texts; owned */
    size_t new_count, new_room, ids_room, texts_room;
    size_t foreseen_count;     /* of the new features, those that were foreseen */
    struct nb_string coded;    /* the new features, by nb_features_encode; borrowed */
    struct nb_buffer new_rows; /* their rows, if dropped rows are among them */
    struct nb_entry old;
    struct nb_entry restored;
    struct nb_family family;
};
void nb_staging_deinit(struct nb_staging *staging);

#endif
