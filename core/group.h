/* SPDX-License-Identifier: Apache-2.0
 *
 * Group commit: many changes, one transaction, one fsync. On the writer's thread; for core/ alone.
 *
 * Staging writes a change's ledger entry and brings it into the counts, change by change, so that
 * each finds the counts as the one before left them, however the groups fall. Readers may so see a
 * change some milliseconds before it is durable; its receipt goes out only after the commit. If
 * that fails, everything is taken back exactly (the counts are integers), and each receipt says
 * why.
 */
#ifndef NB_CORE_GROUP_H
#define NB_CORE_GROUP_H

#include "core/engine_private.h"

/* A model that the group changes, and how it was before. */
struct nb_group_model {
    struct nb_live *live;
    struct nb_checkpoint saved;
    uint32_t rows_before;
    struct nb_buffer weights; /* of its stack, as they were; empty when it is not stacked */
    uint64_t last;            /* ledger number given out so far */
    uint64_t features;        /* feature changes staged */
    uint64_t expected;        /* those that the group asks for */
};

/* A label whose record the group changes. */
struct nb_group_label {
    struct nb_live *live;
    uint32_t label;
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
