/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/commit.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/system.h"
#include "core/ledger/document_lists.h"
#include "core/model/learner.h"
#include "core/model/live/checkpoint.h"
#include "core/model/live/model_transaction.h"
#include "core/model/live/relayed.h"
#include "core/model/refit.h"
#include "core/model/registry.h"
#include "core/writer/staging.h"

/* Superfluous entries that a group drops for each of its changes. A change makes at most one entry
 * superfluous, so their number falls. */
enum { DROPPED_PER_CHANGE = 4 };

/* A group ends after so many slices of refits, of 5 to 8 ms each, or after one that takes as long
 * as the setting `slice_long`. So no commit waits 20 ms for them. The clock may decide this,
 * because grouping does not affect the result of changes. */
enum { SLICES_MOST = 2 };

struct committing {
    struct nb_group *group;
    struct nb_staging staging;
};

/* ---- taking back ----------------------------------------------------------------------------- */

static void undo_model(const struct nb_group_model *model)
{
    struct nb_live *live = model->live;
    nb_model_return_rows(live->counts, model->dropped_before);
    nb_model_truncate(live->counts, model->rows_before);
    nb_model_truncate_labels(live->counts, model->labels_before);
    nb_checkpoint_restore(live, &model->saved);
    nb_near_duplicate_list_free(&live->near_duplicate_list);
    nb_current_entries_free(&live->current);
    nb_refit_drop(live);
    nb_stack_weights_rollback(live->published->weights, model->weights);
    if (!model->was_numbered)
        live->number = 0;
}

/* Takes the whole group back: counts, weights and checkpoints are as they were before it. The
 * counts keep their freed memory, so undo rarely allocates. If undo fails, memory and store
 * disagree: abort, and let the next start replay the ledger. */
static void undo(struct nb_group *group)
{
    for (size_t i = group->size; i > 0; i--) {
        if (nb_stage_undo(&group->items[i - 1]) == 0)
            continue;
        fputs(
            "bayesd: out of memory while a failed commit was taken back; stopping, the next start "
            "replays the ledger\n",
            stderr);
        abort();
    }
    for (size_t i = 0; i < group->model_count; i++)
        undo_model(&group->models[i]);
    nb_group_clear(group);
}

/* ---- in the transaction ---------------------------------------------------------------------- */

/* Writes slices of the models at the head of the list of unsaved models. Slices hold the counts
 * before the group, so they are written first. */
static int put_slices(struct nb_group *group, struct nb_view *view, uint64_t features,
                      struct nb_error *error)
{
    struct nb_engine *engine = group->engine;
    uint32_t due = nb_checkpoint_due(engine, features);
    int rc = 0;
    for (struct nb_live *live = engine->unsaved; rc == 0 && due > 0 && live != NULL;
         live = live->unsaved_after) {
        uint32_t written;
        if (!atomic_load(&live->loaded) || atomic_load(&live->is_damaged))
            continue;
        if (nb_group_model(group, live) == NULL)
            return nb_error_no_memory(error);
        rc = nb_checkpoint_slice(engine, view, live, due, &written, error);
        written = written == 0 ? 1 : written;
        due -= written < due ? written : due;
    }
    return rc;
}

static int put_checkpoints(struct nb_group *group, struct nb_view *view, struct nb_error *error)
{
    uint64_t features = 0;
    int rc = 0;
    for (size_t i = 0; i < group->size; i++)
        features += nb_submitted_size(group->items[i].change) + 1;
    rc = put_slices(group, view, features, error);
    for (size_t i = 0; rc == 0 && i < group->size; i++) {
        struct nb_live *live = group->items[i].batch->live;
        /* A removed model writes nothing: its data may be deleted already. */
        if (atomic_load(&live->removed) || atomic_load(&live->is_damaged) ||
            !live->checkpoint.garbage)
            continue;
        if (nb_group_model(group, live) == NULL)
            return nb_error_no_memory(error);
        rc = nb_checkpoint_drop(group->engine, view, live, group->size * DROPPED_PER_CHANGE, error);
    }
    return rc;
}

static int put_labels(struct nb_group *group, struct nb_view *view, struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < group->label_count; i++)
        rc =
            nb_put_label(group->engine, view, group->labels[i].live, group->labels[i].label, error);
    return rc;
}

/* Whether the group has written an entry of the model. */
static bool is_staged(const struct nb_group_model *model)
{
    return model->last != model->live->checkpoint.last;
}

/* A model that was stacked once keeps records of weights, and one by the book those of the
 * regression of core/model/known.h. */
static bool has_weights(const struct nb_live *live)
{
    struct nb_stack_weights *weights = live->published->weights;
    return nb_published_is_stacked(live->published) ||
           nb_weights_places(nb_stack_weights_order(weights)) > 0 ||
           nb_weights_places(nb_stack_weights_known(weights)) > 0;
}

static int put_model(struct nb_group *group, struct nb_view *view, struct nb_group_model *model,
                     struct nb_error *error)
{
    struct nb_engine *engine = group->engine;
    struct nb_live *live = model->live;
    const struct nb_checkpoint *c = &live->checkpoint;
    assert(model->last >= c->last);
    bool staged = is_staged(model);
    if (!staged && c->replay == model->saved.replay &&
        c->totals.entries == model->saved.totals.entries)
        return 0; /* nothing to store */
    int rc = 0;
    if (!atomic_load(&live->persisted) && live->number != 0)
        rc = nb_put_model(engine, view, live, &live->published->settings, error);
    if (rc == 0 && staged && has_weights(live))
        rc = nb_put_weights(engine, view, live, error);
    if (rc == 0 && staged && nb_published_is_stacked(live->published))
        rc = nb_twin_log_put(engine, view, live, error);
    struct nb_state_record state = nb_checkpoint_state(live, model->last);
    state.tail += model->features;
    return rc != 0 ? rc : nb_put_state(engine, view, live, &state, error);
}

/* A document that was recalled from the history may have been learned since, by another batch or
 * earlier in this one: then its content stays, and only the label changes. Staging reports an entry
 * that cannot be read. */
static int look_again(const struct nb_view *view, struct nb_group_item *item)
{
    struct nb_submitted *change = item->change;
    struct nb_entry entry = {0};
    int rc = NB_NOT_FOUND;
    change->keeps_content = change->kind == NB_SUBMITTED_LABEL;
    if (change->kind != NB_SUBMITTED_RECALL || change->quarantined)
        return 0;
    if (item->batch->live->number != 0)
        rc = nb_ledger_find(view, item->batch->live->number, nb_buffer_string(&change->id), &entry,
                            NULL);
    nb_entry_deinit(&entry);
    change->keeps_content = rc != NB_NOT_FOUND;
    return rc == NB_NO_MEMORY ? rc : 0;
}

static bool waits_enough(const struct nb_engine *engine, unsigned slices, uint64_t since)
{
    return slices >= SLICES_MOST ||
           (slices > 0 && nb_clock_monotonic() - since >= engine->settings.slice_long);
}

static int stage_all(struct nb_engine *engine, struct nb_view *view, void *argument,
                     struct nb_error *error)
{
    struct committing *c = argument;
    struct nb_group *group = c->group;
    unsigned slices = 0;
    uint64_t start = nb_clock_monotonic();
    undo(group); /* this may be a second try */
    nb_stream_states_return(engine);
    (void)nb_learner_slices(engine->learner);
    int rc = put_checkpoints(group, view, error);
    for (size_t i = 0; rc == 0 && i < group->size; i++) {
        rc = look_again(view, &group->items[i]) != 0
                 ? nb_error_no_memory(error)
                 : nb_stage(&c->staging, group, view, &group->items[i], error);
        slices += nb_learner_slices(engine->learner);
        if (waits_enough(engine, slices, start))
            nb_group_cut(group, i + 1);
    }
    engine->stream_states.time = 0;
    if (rc == 0)
        rc = put_labels(group, view, error);
    for (size_t i = 0; rc == 0 && i < group->model_count; i++)
        rc = put_model(group, view, &group->models[i], error);
    return rc;
}

/* ---- after the commit ------------------------------------------------------------------------ */

static void count(struct nb_counters *counters, const struct nb_submitted *change)
{
    atomic_uint_fast64_t *const by_status[] = {
        [NB_LEARNED] = &counters->learned,
        [NB_UNCHANGED] = &counters->unchanged,
        [NB_RELABELLED] = &counters->relabelled,
        [NB_UPDATED] = &counters->updated,
        [NB_FORGOTTEN] = &counters->forgotten,
        [NB_QUARANTINED] = &counters->quarantined,
        [NB_NEAR_DUPLICATE] = &counters->near_duplicates,
        [NB_STORED] = &counters->stored,
    };
    if (!nb_submitted_has_document(change))
        return;
    if (change->kind == NB_SUBMITTED_AGE) {
        atomic_fetch_add(&counters->aged, 1);
        return;
    }
    assert((size_t)change->receipt.status < sizeof by_status / sizeof *by_status);
    atomic_fetch_add(by_status[change->receipt.status], 1);
    if (change->receipt.status != NB_FORGOTTEN && change->staged)
        atomic_fetch_add(&counters->tokens_learned, change->positions);
}

static void finish_model(struct nb_engine *engine, const struct nb_group_model *model)
{
    struct nb_live *live = model->live;
    /* Only weights that put_model has stored count as stored. */
    if (is_staged(model) && has_weights(live))
        nb_stack_weights_commit(live->published->weights);
    assert(model->last == live->checkpoint.last || live->number != 0);
    live->checkpoint.last = model->last;
    live->labels_stored = nb_model_label_count(live->counts);
    atomic_store(&live->unlabelled, live->checkpoint.totals.unlabelled);
    if (live->number != 0)
        atomic_store(&live->persisted, true);
    nb_refit_note(live);
    /* Counted now, not when the changes are applied: a fit that saw the number before the commit
     * would read the ledger without these changes, and still pass for a fit of the present
     * documents. */
    atomic_fetch_add(&live->replaced, model->replaced);
    nb_refining_ask(engine, live);
    if (live->fit != NULL)
        atomic_store(&engine->refits, true);
    nb_checkpoint_note(engine, live, model->features);
}

static void finish(struct nb_group *group)
{
    uint64_t now = nb_clock_monotonic();
    for (size_t i = 0; i < group->model_count; i++)
        finish_model(group->engine, &group->models[i]);
    for (size_t i = 0; i < group->size; i++) {
        struct nb_submitted *change = group->items[i].change;
        struct nb_live *live = group->items[i].batch->live;
        nb_live_note_memory(live);
        if (nb_submitted_has_document(change))
            live->changed = now;
        /* A document that another client changed or took out first need not be taken out. */
        bool is_moot = change->kind == NB_SUBMITTED_AGE && change->receipt.code == NB_CONFLICT;
        if (change->receipt.code == 0)
            count(&group->engine->counters, change);
        else if (!is_moot)
            atomic_fetch_add(&group->engine->counters.failed, 1);
        nb_delta_deinit(&change->delta);
        change->delta = (struct nb_delta){0};
    }
}

/* Called after a transaction that failed because of damage. Marks the model whose change met the
 * damage; from then on its changes are refused. Returns whether the others can be tried again. */
static bool mark_damaged(const struct nb_group *group, const struct nb_error *why)
{
    bool marked = false;
    for (size_t i = 0; i < group->model_count; i++) {
        struct nb_live *live = group->models[i].live;
        if (!group->models[i].damaged || atomic_load(&live->is_damaged))
            continue;
        nb_live_set_damaged(live, why);
        marked = true;
    }
    return marked;
}

void nb_group_commit(struct nb_group *group)
{
    struct committing c = {.group = group};
    struct nb_error error = {0};
    if (group->size == 0)
        return;
    assert(group->model_count == 0 && group->label_count == 0);
    nb_stream_states_mark(group->engine);
    int rc;
    do
        rc = nb_transaction(group->engine, group->bytes, stage_all, &c, &error);
    while (rc == NB_CORRUPT && mark_damaged(group, &error));
    atomic_fetch_add(&group->engine->counters.commit_changes, group->size);
    if (rc != 0) {
        undo(group);
        nb_stream_states_return(group->engine);
        for (size_t i = 0; i < group->size; i++) {
            struct nb_submitted *change = group->items[i].change;
            change->receipt.code = rc;
            change->receipt.error = error;
        }
    }
    finish(group);
    nb_staging_deinit(&c.staging);
}
