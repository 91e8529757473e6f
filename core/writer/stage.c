/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/label_set.h"
#include "core/writer/staging.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/system.h"
#include "core/ledger/document_lists.h"
#include "core/ledger/quarantine_entries.h"
#include "core/model/checkpoint.h"
#include "core/model/learner.h"
#include "core/model/model_transaction.h"
#include "core/model/refit.h"
#include "core/model/registry.h"
#include "core/model/relayed.h"
#include "core/writer/commit.h"
#include "core/writer/remember.h"

/* Encodes the change in its stored form, in memory->entry. */
static int write_quarantined(struct nb_stage *s)
{
    const struct nb_submitted *submitted = s->change;
    struct nb_buffer *features = &s->memory->features;
    int rc = 0;
    assert(submitted->known_count == 0);
    for (size_t i = 0; rc == 0 && i < submitted->other_count; i++) {
        struct nb_quarantined_feature f = {submitted->others[i].id, submitted->others[i].count,
                                           nb_submitted_text(submitted, i)};
        rc = nb_quarantined_add(features, &f);
    }
    struct nb_quarantined q = {.untrain = nb_submitted_is_untrain(submitted),
                               .truncated = submitted->truncated,
                               .time = nb_stream_states_time(s->group->engine),
                               .source = nb_buffer_string(&submitted->source),
                               .label = nb_buffer_string(&submitted->label),
                               .fields = submitted->fields,
                               .positions = submitted->positions,
                               .features = nb_buffer_string(features)};
    return rc != 0 ? rc : nb_quarantined_write(&q, &s->memory->entry);
}

static int refuse_full(struct nb_stage *s)
{
    const struct nb_engine_settings *settings = &s->group->engine->settings;
    struct nb_receipt *receipt = &s->change->receipt;
    s->refused = true;
    receipt->code = nb_error_set(&receipt->error, NB_TOO_LARGE,
                                 "the quarantine of the model is full (quarantine_documents %llu, "
                                 "quarantine_bytes %llu): an administrator has to apply or drop",
                                 (unsigned long long)settings->quarantine_documents,
                                 (unsigned long long)settings->quarantine_bytes);
    return 0;
}

/* Puts the change into the quarantine. */
static int stage_quarantine(struct nb_stage *s, struct nb_error *error)
{
    const struct nb_engine_settings *settings = &s->group->engine->settings;
    struct nb_quarantine_sums sums;
    struct nb_string id = nb_buffer_string(&s->change->id);
    if (s->live->number == 0)
        return nb_stage_refuse(s, NB_NOT_FOUND, "there is no such model yet");
    if (write_quarantined(s) != 0)
        return nb_error_no_memory(error);
    struct nb_string stored = nb_buffer_string(&s->memory->entry);
    struct nb_error why;
    int rc = nb_quarantine_sums_without(s->view, s->live->number, id, &sums, &why);
    if (rc == NB_CORRUPT)
        return nb_stage_refuse(s, NB_DAMAGED,
                               "the quarantine of the model is damaged: drop all of it");
    if (rc != 0)
        return nb_error_set(error, rc, "%s", why.text);
    if (sums.documents >= settings->quarantine_documents ||
        sums.bytes + stored.length > settings->quarantine_bytes)
        return refuse_full(s);
    s->change->receipt.status = NB_QUARANTINED;
    s->change->receipt.tokens = s->change->positions;
    return nb_quarantine_put(s->view, s->live->number, id, stored, error);
}

/* Refuses a released change that no longer waits: it was replaced, applied or dropped. */
static int stage_check_released(struct nb_stage *s, struct nb_error *error)
{
    bool has = false;
    int rc = nb_quarantine_has(s->view, s->live->number, nb_buffer_string(&s->change->id),
                               nb_buffer_string(&s->change->released), &has, error);
    if (rc != 0 || has)
        return rc;
    s->change->receipt.status = NB_QUARANTINED;
    return nb_stage_refuse(s, NB_CONFLICT, "the change does not wait in the quarantine any more");
}

/* Removes the document's change from the quarantine, because the new change replaces it. */
static int stage_leave_quarantine(struct nb_stage *s, struct nb_error *error)
{
    if (s->live->number == 0)
        return 0;
    return nb_quarantine_remove(s->view, s->live->number, nb_buffer_string(&s->change->id), error);
}

static int fill_labels(struct nb_receipt *receipt, const struct nb_model *counts,
                       const uint32_t *labels, size_t size)
{
    receipt->labels = malloc((size + 1) * sizeof *receipt->labels);
    if (receipt->labels == NULL)
        return NB_NO_MEMORY;
    receipt->label_count = 0;
    for (size_t i = 0; i < size; i++)
        if (nb_model_documents(counts, labels[i]) > 0)
            receipt->labels[receipt->label_count++] =
                (struct nb_label_documents){.label = nb_model_label_name(counts, labels[i]).bytes,
                                            .documents = nb_model_documents(counts, labels[i])};
    return 0;
}

/* As fill_labels, for documents that have sets of labels: lists the labels of the sets. The names
 * are copied behind the list, because those of the view may be freed while the receipt is read. */
static int fill_members(struct nb_receipt *receipt, const struct nb_live *live,
                        const uint32_t *sets, size_t size)
{
    struct nb_multilabel_labels all;
    size_t count = 0, bytes = 0;
    int rc = nb_multilabel_labels(live->published->multilabel, live->counts, &all);
    bool *is_listed = rc == 0 ? calloc((size_t)all.count + 1, sizeof *is_listed) : NULL;
    if (is_listed == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < size; i++)
        for (uint32_t m = all.begin[sets[i]]; m < all.begin[sets[i] + 1]; m++)
            is_listed[all.members[m]] = all.documents[all.members[m]] > 0;
    for (uint32_t l = 0; l < all.count; l++) {
        count += is_listed[l];
        bytes += is_listed[l] ? strlen(all.names[l]) + 1 : 0;
    }
    receipt->labels = malloc((count + 1) * sizeof *receipt->labels + bytes);
    char *name = receipt->labels == NULL ? NULL : (char *)(receipt->labels + count + 1);
    receipt->label_count = 0;
    for (uint32_t l = 0; name != NULL && l < all.count; l++) {
        if (!is_listed[l])
            continue;
        receipt->labels[receipt->label_count++] =
            (struct nb_label_documents){.label = name, .documents = all.documents[l]};
        name = stpcpy(name, all.names[l]) + 1;
    }
    free(is_listed);
    return receipt->labels == NULL ? NB_NO_MEMORY : 0;
}

/* A new label is compared with at most so many labels that have documents, the oldest first.
 * Measured: 2 us each in ASCII, 5 us in other letters; the writer has other changes to make. */
enum { COMPARED_MOST = 200 };

/* Whether the document is the first one of its label: then the label may be a misspelling of
 * another. */
static bool is_first(const struct nb_receipt *receipt, const struct nb_model *counts,
                     uint32_t label)
{
    return (receipt->status == NB_LEARNED || receipt->status == NB_RELABELLED) &&
           nb_model_documents(counts, label) == 1;
}

/* Finds the label that is nearest to a new one. */
static void fill_near(struct nb_receipt *receipt, const struct nb_model *counts, uint32_t label)
{
    size_t count = nb_model_label_count(counts), compared = 0;
    for (uint32_t i = 0; i < count && compared < COMPARED_MOST; i++) {
        if (i == label || nb_model_documents(counts, i) == 0)
            continue;
        struct nb_string other = nb_model_label_name(counts, i);
        enum nb_label_difference difference = nb_label_difference_of(receipt->label, other);
        compared++;
        if (difference <= receipt->difference)
            continue;
        receipt->near_label = other;
        receipt->difference = difference;
    }
}

static bool is_counted(uint32_t label)
{
    return label != NB_NO_LABEL && label != UINT32_MAX;
}

/* Fills the receipt of a successful change. Returns 0 or NB_NO_MEMORY. */
static int stage_fill_receipt(const struct nb_batch *batch, struct nb_submitted *change)
{
    const struct nb_model *counts = batch->live->counts;
    struct nb_receipt *receipt = &change->receipt;
    if (!nb_submitted_has_document(change))
        return 0;
    if (change->quarantined) {
        receipt->id = nb_buffer_string(&change->id);
        receipt->label = nb_buffer_string(&change->label);
        receipt->truncated = change->truncated;
        return 0;
    }
    uint32_t old_label = change->delta.take_label;
    uint32_t label = receipt->status == NB_FORGOTTEN ? old_label : change->label_number;
    bool is_labelled = is_counted(label);
    bool two = receipt->status == NB_RELABELLED && is_counted(old_label);
    assert(!is_labelled || label < nb_model_label_count(counts));
    receipt->id = nb_buffer_string(&change->id);
    if (is_labelled)
        receipt->label = nb_model_label_name(counts, label);
    bool are_several = nb_published_is_several(batch->live->published);
    if (is_labelled && !are_several && is_first(receipt, counts, label))
        fill_near(receipt, counts, label);
    receipt->truncated = change->truncated;
    if (two)
        receipt->previous_label = nb_model_label_name(counts, old_label);
    if (batch->single && !are_several)
        return fill_labels(receipt, counts, nb_model_labels_sorted(counts),
                           nb_model_label_count(counts));
    uint32_t touched[2] = {is_labelled ? label : old_label, old_label};
    if (two && is_labelled && strcmp(receipt->previous_label.bytes, receipt->label.bytes) < 0) {
        touched[0] = old_label;
        touched[1] = label;
    }
    return are_several ? fill_members(receipt, batch->live, touched, (size_t)two + is_labelled)
                       : fill_labels(receipt, counts, touched, (size_t)two + is_labelled);
}

/* Reads the entry to restore into memory->restored, and decodes it into delta.add. Sets *found to
 * whether the ledger has it. */
static int find_restored(struct nb_stage *s, bool *found, struct nb_error *error)
{
    struct nb_submitted *submitted = s->change;
    struct nb_entry *restored = &s->memory->restored;
    struct nb_error why;
    int rc = nb_ledger_read(s->view, submitted->restored, restored, &why);
    const struct nb_change *c = &restored->change;
    *found = rc == 0 && c->kind == NB_CHANGE_TRAIN && c->model == s->live->number &&
             nb_string_same(c->id, nb_buffer_string(&submitted->id)) &&
             nb_stage_is_label(s, c->label);
    if (*found)
        rc = nb_bag_decode(c->bag, nb_model_rows(s->live->counts), &submitted->delta.add, &why);
    if (rc == NB_NOT_FOUND)
        return 0;
    if (rc == NB_CORRUPT)
        return nb_stage_refuse_damaged(s, &why);
    return rc == 0 ? 0 : nb_error_set(error, rc, "%s", why.text);
}

/* Puts the document of the restored entry in place of the current one. */
static int restore(struct nb_stage *s, struct nb_error *error)
{
    struct nb_submitted *submitted = s->change;
    const struct nb_entry *old = &s->memory->old;
    const struct nb_change *back = &s->memory->restored.change;
    submitted->label_number = back->label;
    submitted->delta.add_label = nb_delta_label(back->label);
    bool is_labelled_again = nb_stage_is_first_label(s);
    int rc = nb_stage_check_room(s);
    if (rc != 0 || s->refused)
        return rc;
    submitted->receipt.status = old->change.label != back->label ? NB_RELABELLED : NB_UPDATED;
    submitted->receipt.tokens = submitted->positions = back->tokens;
    submitted->truncated = back->truncated;
    rc = nb_stage_take_out_old(s, error);
    if (rc == 0 && !s->refused && !is_labelled_again)
        rc = nb_stage_keep_score(s, error);
    if (rc != 0 || s->refused)
        return rc;
    if (nb_stage_touch_label(s, back->label) != 0)
        return nb_error_no_memory(error);
    nb_near_duplicate_list_free(
        &s->live->near_duplicate_list); /* it is made again when it is needed */
    struct nb_change change = {.kind = NB_CHANGE_TRAIN,
                               .time = back->time,
                               .source = back->source,
                               .label = back->label,
                               .truncated = back->truncated,
                               .is_reviewed = back->is_reviewed,
                               .tokens = back->tokens,
                               .replaced = old->number,
                               .first = is_labelled_again ? nb_stage_first_of(&s->memory->restored)
                                                          : nb_stage_first_of(old),
                               .score = is_labelled_again ? back->score
                                                          : nb_buffer_string(&s->memory->score),
                               .bag = back->bag};
    rc = nb_stage_append(s, &change, error);
    return rc != 0 ? rc : nb_stage_apply(s, &change, error);
}

/* Restores a document as it was before an entry of the ledger. */
static int stage_take_back(struct nb_stage *s, struct nb_error *error)
{
    struct nb_submitted *submitted = s->change;
    bool found;
    int rc = nb_stage_find_old(s, &found);
    if (rc != 0 || s->refused)
        return rc;
    if (!found || s->memory->old.number != submitted->current)
        return nb_stage_refuse(s, NB_CONFLICT, "the document was changed meanwhile");
    found = submitted->kind == NB_SUBMITTED_TAKE_BACK && submitted->restored != 0;
    rc = found ? find_restored(s, &found, error) : 0;
    if (rc != 0 || s->refused)
        return rc;
    return found ? restore(s, error) : nb_stage_untrain(s, error);
}

static int stage_note(struct nb_stage *s, struct nb_error *error)
{
    struct nb_change change = {.kind = NB_CHANGE_UNDO,
                               .request = nb_buffer_string(&s->change->label),
                               .undone_documents = s->change->documents};
    return nb_stage_append(s, &change, error);
}

static bool is_remembered(const struct nb_stage *s)
{
    struct nb_string stored;
    if (s->change->kind != NB_SUBMITTED_FORGET || s->live->number == 0)
        return false;
    int rc = nb_history_find(s->view, s->live->number, nb_buffer_string(&s->change->id), UINT64_MAX,
                             &stored, NULL);
    return rc == 0 || rc == NB_CORRUPT;
}

/* Removes the document from the history, in the transaction that forgets it. */
static int leave_history(struct nb_stage *s, struct nb_error *error)
{
    bool removed;
    if (!s->was_remembered)
        return 0;
    return nb_history_remove(s->view, s->live->number, nb_buffer_string(&s->change->id), &removed,
                             error);
}

/* Whether the document still fits the model; if not, the receipt says why. */
static bool still_fits(struct nb_stage *s)
{
    struct nb_receipt *receipt = &s->change->receipt;
    if (atomic_load(&s->live->removed)) {
        nb_stage_refuse(s, NB_NOT_FOUND,
                        "the model was deleted or replaced while the document waited");
        return false;
    }
    receipt->code = nb_live_check(s->live, &receipt->error);
    if (receipt->code != 0)
        return false;
    bool is_tokenized =
        (s->change->kind == NB_SUBMITTED_TRAIN || s->change->kind == NB_SUBMITTED_RECALL) &&
        !s->change->keeps_content;
    if (is_tokenized && s->live->published->settings.tokenizer_fields != s->change->fields) {
        nb_stage_refuse(s, NB_CONFLICT,
                        "the tokenizer's settings changed while the document waited");
        return false;
    }
    struct nb_string label = nb_buffer_string(&s->change->label);
    if (is_tokenized && label.length > 0 &&
        nb_label_is_set(label) != nb_published_is_several(s->live->published)) {
        nb_stage_refuse(s, NB_CONFLICT,
                        "the model's `label_set` changed while the document waited");
        return false;
    }
    return true;
}

/* A change that nodes share is made only after all changes before it. */
static int stage_place(struct nb_stage *s, struct nb_error *error)
{
    struct nb_engine *engine = s->group->engine;
    const struct nb_relayed *relayed = &s->change->relayed;
    if (relayed->one.position == 0)
        return 0;
    engine->stream_states.time = relayed->time;
    s->change->receipt.number = nb_relay_number(engine, relayed->stream, relayed->one.position);
    int rc = nb_stream_states_stage(engine, s->view, relayed, error);
    return rc == NB_BUSY ? nb_stage_refuse(s, rc, error->text) : rc;
}

/* Refuses a change that nodes share if it is not for the present model of this name. */
static int check_model(struct nb_stage *s, struct nb_error *error)
{
    int rc = nb_stream_states_check(&s->change->relayed, s->live, s->view, error);
    bool is_other = rc == NB_NOT_FOUND || rc == NB_DAMAGED;
    return is_other ? nb_stage_refuse(s, rc, error->text) : rc;
}

/* Refuses a queued change that was applied before. */
static int check_once(struct nb_stage *s, struct nb_error *error)
{
    int rc = nb_once_note(s->view, &s->change->relayed, error);
    return rc == NB_EXISTS ? nb_stage_refuse(s, rc, error->text) : rc;
}

static void begin(struct nb_stage *s)
{
    struct nb_submitted *change = s->change;
    struct nb_staging *m = s->memory;
    change->staged = change->applied = false;
    nb_delta_reset(&change->delta);
    free(change->receipt.labels);
    change->receipt = (struct nb_receipt){.code = 0};
    m->features.length = m->bag.length = m->score.length = m->entry.length = m->new_rows.length =
        m->new_count = m->foreseen_count = 0;
    m->coded = (struct nb_string){"", 0};
    nb_learner_reset(s->group->engine->learner);
}

static int stage_any(struct nb_stage *s, struct nb_error *error)
{
    enum nb_submitted_kind kind = s->change->kind;
    if (kind == NB_SUBMITTED_NOTE)
        return stage_note(s, error);
    if (kind == NB_SUBMITTED_REFIT)
        return nb_stage_refit(s, error);
    if (s->change->quarantined)
        return stage_quarantine(s, error);
    s->was_remembered = is_remembered(s);
    int rc = nb_stage_begin_due_refit(s, error);
    if (rc == 0 && (kind == NB_SUBMITTED_TAKE_BACK || kind == NB_SUBMITTED_AGE))
        return stage_take_back(s, error);
    if (rc == 0 && s->change->released.length > 0)
        rc = stage_check_released(s, error);
    if (rc == 0 && !s->refused)
        rc = nb_submitted_is_untrain(s->change) ? nb_stage_untrain(s, error)
                                                : nb_stage_train(s, error);
    if (rc != 0 || s->refused)
        return rc;
    rc = stage_leave_quarantine(s, error);
    return rc != 0 ? rc : leave_history(s, error);
}

int nb_stage(struct nb_staging *staging, struct nb_group *group, struct nb_view *view,
             struct nb_group_item *item, struct nb_error *error)
{
    struct nb_stage s = {.memory = staging,
                         .group = group,
                         .view = view,
                         .item = item,
                         .change = item->change,
                         .live = item->batch->live};
    begin(&s);
    int rc = stage_place(&s, error);
    if (rc == 0 && !s.refused)
        rc = check_once(&s, error);
    if (rc == 0 && !s.refused && s.change->relayed.one.position != 0)
        rc = check_model(&s, error);
    if (rc != 0)
        return rc;
    if (s.refused || !still_fits(&s))
        return 0;
    s.model = nb_group_model(group, s.live);
    if (s.model == NULL)
        return nb_error_no_memory(error);
    if (s.change->relayed.last != 0 && s.change->relayed.last != s.model->last)
        return nb_stage_refuse(&s, NB_CONFLICT, "the model has changed since");
    uint32_t dropped = nb_model_dropped_rows(s.live->counts);
    uint32_t rows = s.rows_before = nb_model_rows(s.live->counts);
    uint32_t labels = nb_model_label_count(s.live->counts);
    rc = stage_any(&s, error);
    s.model->damaged = rc == NB_CORRUPT;
    if (rc == 0 && !s.change->staged) {
        /* Refused half-way, or unchanged: undo its new features and its new label. */
        nb_model_return_rows(s.live->counts, dropped);
        nb_model_truncate(s.live->counts, rows);
        nb_model_truncate_labels(s.live->counts, labels);
    }
    if (rc == 0 && s.change->receipt.code == 0)
        rc = stage_fill_receipt(item->batch, s.change);
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}

int nb_stage_undo(struct nb_group_item *item)
{
    struct nb_submitted *change = item->change;
    assert(change->staged || !change->applied);
    int rc = change->applied ? nb_apply_undo(item->batch->live, &change->delta) : 0;
    change->applied = change->staged = false;
    return rc;
}

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
    for (struct nb_live *live = engine->unsaved.first; rc == 0 && due > 0 && live != NULL;
         live = live->unsaved.after) {
        uint32_t written;
        if (!atomic_load(&live->loaded) || atomic_load(&live->unusable))
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
        if (atomic_load(&live->removed) || atomic_load(&live->unusable) ||
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
 * regression of core/model/known.h, also when these are zeros again. */
static bool has_weights(const struct nb_live *live)
{
    struct nb_stack_weights *weights = live->published->weights;
    return nb_published_is_stacked(live->published) || live->checkpoint.weights > 0 ||
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
        atomic_store(&engine->queue.refits, true);
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
        if (!group->models[i].damaged || atomic_load(&live->unusable))
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
