/* SPDX-License-Identifier: Apache-2.0
 *
 * A group: changes that share one transaction. While they are staged, the group notes the models
 * that they touch, how these were before, and the labels whose records must be written. On the
 * writer's thread.
 */
#ifndef NB_CORE_WRITER_STAGE_GROUP_H
#define NB_CORE_WRITER_STAGE_GROUP_H

#include "core/ledger/entries/ledger.h"
#include "core/writer/stage/staged_batch.h"

/* A model that the group changes, and how it was before. */
struct nb_group_model {
    struct nb_live *live;
    struct nb_checkpoint saved;
    struct nb_stack_mark weights;
    uint32_t rows_before, dropped_before, labels_before;
    bool was_numbered; /* it had a number already */
    bool damaged;      /* a change of the model met damage, which fails the transaction */
    uint64_t last;     /* number of its newest entry so far */
    uint64_t features; /* feature changes staged, and one per entry */
    uint64_t replaced; /* documents that its changes forget or replace */
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
        struct nb_submitted *change;
    } * items; /* owned */
    size_t size, room;
    struct nb_group_model *models; /* owned */
    size_t model_count, model_room;
    struct nb_group_label *labels; /* owned */
    size_t label_count, label_room;
    uint64_t bytes; /* about what the transaction will write */
};

/* Adds the changes of the batch from batch->written on, as far as the group has room, and counts
 * them as written. Returns whether all of them went in. */
bool nb_group_add(struct nb_group *group, struct nb_batch *batch);
void nb_group_deinit(struct nb_group *group);
/* Gives the changes behind the first `size` back to their batches. */
void nb_group_cut(struct nb_group *group, size_t size);
/* Forgets what staging has noted. */
void nb_group_clear(struct nb_group *group);

/* Returns the note of a model. The note is made when the group first touches the model, before the
 * group has changed it. Valid until the next call, which may move the notes. NULL: out of
 * memory. */
struct nb_group_model *nb_group_model(struct nb_group *group, struct nb_live *live);
/* Notes that the label's record changes. Returns 0 or NB_NO_MEMORY. */
int nb_group_touch_label(struct nb_group *group, struct nb_live *live, uint32_t label);

#endif
