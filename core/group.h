/* SPDX-License-Identifier: Apache-2.0
 *
 * Group commit: many changes, one transaction, one fsync. On the writer's thread; for core/ alone.
 *
 * Staging writes the ledger's entries and remembers what they do to the counts; only when the
 * transaction is durable are the counts changed and the receipts filled in. If it fails, everything
 * that staging did is undone, and each receipt says why.
 */
#ifndef NB_CORE_GROUP_H
#define NB_CORE_GROUP_H

#include "core/engine_private.h"

/* A model that the group changes, and how it was before. */
struct nb_group_model {
    struct nb_live *live;
    struct nb_checkpoint saved;
    uint32_t rows_before;
    uint64_t last;     /* ledger number given out so far */
    uint64_t features; /* feature changes staged */
};

/* What the group does to the number of documents of a label. */
struct nb_group_label {
    struct nb_live *live;
    uint32_t label;
    int64_t change;
};

struct nb_group {
    struct nb_engine *engine;
    struct nb_group_item {
        struct nb_batch *batch;
        struct nb_change *change;
    } * items;
    size_t size, room;
    struct nb_group_model *models;
    size_t model_count, model_room;
    struct nb_group_label *labels;
    size_t label_count, label_room;
    uint64_t bytes; /* about what the transaction will write */
};

/* Adds the batch's changes that are not done, as far as there is room; they count as done from now
 * on. Returns whether all of them went in. */
bool nb_group_add(struct nb_group *group, struct nb_batch *batch);
/* Commits the group and fills in the receipts. */
void nb_group_commit(struct nb_group *group);
void nb_group_deinit(struct nb_group *group);

#endif
