/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of staging a change: the group that it belongs to, its rows, its entry. For core/writer
 * alone; on the writer's thread.
 *
 * A step that refuses the change says why in the change's receipt, sets `refused`, and returns 0:
 * the group goes on without the change. Otherwise a step returns 0, or a code that fails the whole
 * group: NB_NO_MEMORY unless the comment names others.
 */
#ifndef NB_CORE_WRITER_STAGING_H
#define NB_CORE_WRITER_STAGING_H

#include "core/ledger/ledger.h"
#include "core/model/parents.h"
#include "core/writer/batch.h"

struct nb_signature;

/* ---- groups ---------------------------------------------------------------------------------- */

/* A group: changes that share one transaction. While they are staged, the group notes the models
 * that they touch, how these were before, and the labels whose records must be written. On the
 * writer's thread. */

/* A model that the group changes, and how it was before. */
struct nb_group_model {
    struct nb_live *live;
    struct nb_checkpoint saved;
    struct nb_stack_mark weights;
    uint32_t rows_before, dropped_before, labels_before;
    bool was_numbered; /* the model had a number already */
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
    uint64_t bytes; /* about how many bytes the transaction will write */
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

/* ---- steps ----------------------------------------------------------------------------------- */

/* A feature that is new with a change. */
struct nb_fresh {
    uint32_t row, place; /* place: index among the features of the change */
};

/* Memory that is used from change to change; `{0}` is empty. */
struct nb_staging {
    struct nb_buffer features, bag, score, entry;
    struct nb_feature *known; /* the document's features ... */
    uint32_t *rows;           /* ... and their rows; owned */
    size_t known_room, rows_room;
    struct nb_row_count
        *found; /* features that got rows after they were looked up, and scratch; owned */
    size_t found_room;
    struct nb_fresh *fresh;  /* new features, by row; owned */
    uint64_t *ids;           /* their ids; owned */
    struct nb_string *texts; /* their texts; owned */
    size_t new_count, new_room, ids_room, texts_room;
    size_t foreseen_count;     /* number of new features that were foreseen */
    struct nb_string coded;    /* the new features, by nb_features_encode; borrowed */
    struct nb_buffer new_rows; /* their rows, if dropped rows are among them */
    struct nb_entry old;
    struct nb_entry restored;
    struct nb_parent_chain chain;
};
void nb_staging_deinit(struct nb_staging *staging);

/* One change on its way. */
struct nb_stage {
    struct nb_staging *memory;
    struct nb_group *group;
    struct nb_view *view;
    struct nb_group_item *item;
    struct nb_submitted *change;
    struct nb_live *live;
    struct nb_group_model *model;
    uint32_t rows_before;
    bool new_label;
    bool refused;        /* the change cannot be made: the receipt says why */
    bool was_remembered; /* the history has a verdict about the document */
};

/* Refuses the change with this code and text. Returns 0. */
int nb_stage_refuse(struct nb_stage *s, int code, const char *text);
/* Refuses the change because damage was found in the store. The model accepts no more changes;
 * other models do. Returns 0. */
int nb_stage_refuse_damaged(struct nb_stage *s, const struct nb_error *why);
/* Refuses the change because the model has no document with its id. Returns 0. */
int nb_stage_refuse_unknown(struct nb_stage *s);

/* ---- staging.c: the rows of the document's features ------------------------------------------ */

/* Fills delta.add, with new rows for features that have none, and encodes it in memory->bag. */
int nb_stage_find_rows(struct nb_stage *s);
/* Encodes the features that are new with the change into memory->coded and memory->new_rows, unless
 * they were encoded in advance. */
int nb_stage_encode_features(struct nb_stage *s);

/* ---- stage_train.c: whether the counts have room for delta.add ------------------------------- */

/* Refuses the change if a count would exceed 32 bits, or if the pairs of values of a model with a
 * structure would exceed their limit. Returns 0. */
int nb_stage_check_room(struct nb_stage *s);

/* ---- stage_train.c --------------------------------------------------------------------------- */

/* Whether the store can have a document of the label. */
bool nb_stage_is_label(const struct nb_stage *s, uint32_t label);
/* Notes that the label's record must be written with the commit. */
int nb_stage_touch_label(struct nb_stage *s, uint32_t label);

/* ---- stage_train.c: the current entry of the document, which the change replaces ------------- */

/* Sets *found to whether the document is learned; if so, reads its current entry into memory->old.
 * Returns 0 or a code of nb_ledger_find. */
int nb_stage_find_old(struct nb_stage *s, bool *found);
/* Returns the number of the entry that learned the document first: its place in the order of
 * arrival. */
uint64_t nb_stage_first_of(const struct nb_entry *old);
/* Whether the change gives the document its first label. The document counts as learned from then
 * on. */
bool nb_stage_is_first_label(const struct nb_stage *s);
/* Fills delta.take with the features to take out of the counts. */
int nb_stage_take_out_old(struct nb_stage *s, struct nb_error *error);
/* Copies the score that the document got when it was first learned to memory->score, with the new
 * label as the true one. Returns 0 or a code of nb_stored_score_read. */
int nb_stage_keep_score(struct nb_stage *s, struct nb_error *error);

/* ---- staging.c: the entry -------------------------------------------------------------------- */

/* Gives the model its number if this is its first change. Sets the change's model and id, and its
 * time and source if it has no source, and appends the change to the ledger. Returns 0 or a code of
 * the store.
 */
int nb_stage_append(struct nb_stage *s, struct nb_change *change, struct nb_error *error);
/* Applies the appended change to the counts, with the same function as a replay. Returns 0 or a
 * code of nb_apply. */
int nb_stage_apply(struct nb_stage *s, const struct nb_change *change, struct nb_error *error);

/* ---- the kinds of changes; each returns 0 or a code of its steps ----------------------------- */

int nb_stage_train(struct nb_stage *s, struct nb_error *error);
int nb_stage_untrain(struct nb_stage *s, struct nb_error *error);
/* Begins a refit, or runs a slice of it. */
int nb_stage_refit(struct nb_stage *s, struct nb_error *error);
/* Called before a change: begins a refit if the weights have missed documents, or if a refit was
 * under way when the daemon ended. */
int nb_stage_begin_due_refit(struct nb_stage *s, struct nb_error *error);

/* ---- a change -------------------------------------------------------------------------------- */

/* Stages one change of the group. If the change is refused, its receipt says why, and the group
 * goes on. The same holds for damage, which also marks the model. Returns 0, or a code that fails
 * the whole group: NB_CORRUPT if damage was met amid writing, which is noted with the model. */
int nb_stage(struct nb_staging *staging, struct nb_group *group, struct nb_view *view,
             struct nb_group_item *item, struct nb_error *error);

/* Takes a staged change out of the counts again. Does nothing if the change was not staged. Returns
 * 0 or NB_NO_MEMORY. */
int nb_stage_undo(struct nb_group_item *item);

#endif
