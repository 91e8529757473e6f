/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/staging.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/ledger/document_lists.h"
#include "core/ledger/quarantine_entries.h"
#include "core/model/learner.h"
#include "core/model/live/relayed.h"
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
    if (is_labelled && is_first(receipt, counts, label))
        fill_near(receipt, counts, label);
    receipt->truncated = change->truncated;
    if (two)
        receipt->previous_label = nb_model_label_name(counts, old_label);
    if (batch->single)
        return fill_labels(receipt, counts, nb_model_labels_sorted(counts),
                           nb_model_label_count(counts));
    uint32_t touched[2] = {is_labelled ? label : old_label, old_label};
    if (two && is_labelled && strcmp(receipt->previous_label.bytes, receipt->label.bytes) < 0) {
        touched[0] = old_label;
        touched[1] = label;
    }
    return fill_labels(receipt, counts, touched, (size_t)two + is_labelled);
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
