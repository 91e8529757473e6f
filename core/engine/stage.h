/* SPDX-License-Identifier: Apache-2.0
 *
 * Staging: a submitted change of a document becomes an entry of the ledger, in the open
 * transaction, and comes into the counts. On the writer's thread.
 */
#ifndef NB_CORE_ENGINE_STAGE_H
#define NB_CORE_ENGINE_STAGE_H

#include "core/engine/group.h"
#include "core/family/family.h"

/* A feature that is new with a change. */
struct nb_fresh {
    uint32_t row;
    uint64_t id;
    struct nb_string text; /* borrowed */
};

/* Memory that is used from change to change; `{0}` is empty. */
struct nb_staging {
    struct nb_buffer features, bag, score, entry;
    struct nb_feature *known; /* the document's, and ... */
    uint32_t *rows;           /* ... their rows; owned */
    size_t known_room, rows_room;
    struct nb_fresh *fresh;  /* new features, by row; owned */
    uint64_t *ids;           /* their ids; owned */
    struct nb_string *texts; /* their texts; owned */
    size_t new_count, new_room, ids_room, texts_room;
    struct nb_buffer new_rows; /* their rows, if dropped rows are among them */
    struct nb_entry old;
    struct nb_entry restored;
    struct nb_family family;
};
void nb_staging_deinit(struct nb_staging *staging);

/* Stages one change of the group. A change that cannot be made says so in its receipt, which is no
 * error of the group; so does damage, which marks the model. Returns 0, or a code that fails the
 * whole group. */
int nb_stage(struct nb_staging *staging, struct nb_group *group, struct nb_view *view,
             struct nb_group_item *item, struct nb_error *error);

/* Takes a staged change out of the counts again; a change that was not staged is left alone.
 * Returns 0 or NB_NO_MEMORY. */
int nb_stage_undo(struct nb_group_item *item);

#endif
