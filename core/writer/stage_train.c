/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "core/base/label_set.h"
#include "core/counts/pairs.h"
#include "core/ledger/document_lists.h"
#include "core/model/learner.h"
#include "core/writer/staging.h"

/* Finds change->label_number, NB_NO_LABEL if the change has no label; makes a label that is new. */
static int stage_find_label(struct nb_stage *s, struct nb_error *error)
{
    struct nb_submitted *change = s->change;
    struct nb_string name = nb_buffer_string(&change->label);
    uint32_t count = nb_model_label_count(s->live->counts);
    change->label_number = NB_NO_LABEL;
    if (name.length == 0)
        return 0;
    change->label_number = nb_model_find_label(s->live->counts, name);
    if (change->label_number != UINT32_MAX)
        return 0;
    int rc = NB_TOO_LARGE;
    if (count < s->group->engine->settings.labels || nb_label_is_set(name)) /* sets are many */
        rc = nb_model_label(s->live->counts, name, &change->label_number);
    if (rc == NB_TOO_LARGE) {
        s->refused = true;
        change->receipt.code = nb_error_set(
            &change->receipt.error, rc,
            "the model has %u labels already, the limit of the setting `labels`; those without "
            "documents count, because an undo may bring them back",
            count);
        return 0;
    }
    s->new_label = rc == 0;
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

bool nb_stage_is_label(const struct nb_stage *s, uint32_t label)
{
    return label == NB_NO_LABEL || label < nb_model_label_count(s->live->counts);
}

int nb_stage_touch_label(struct nb_stage *s, uint32_t label)
{
    return label == NB_NO_LABEL ? 0 : nb_group_touch_label(s->group, s->live, label);
}

/* No count may pass 32 bits; `margin` is more than one group can add. Only checked if the label is
 * large enough for that. */
static bool would_overflow(const struct nb_stage *s)
{
    static const uint32_t margin = UINT32_MAX / 16;
    const struct nb_model *counts = s->live->counts;
    uint32_t label = s->change->label_number;
    const struct nb_rows *rows = &s->change->delta.add;
    uint64_t occurrences = 0;
    if (label == NB_NO_LABEL)
        return false;
    assert(label < nb_model_label_count(counts));
    for (unsigned field = 0; field < NB_FIELDS; field++)
        occurrences += nb_model_occurrences(counts, label, field);
    for (unsigned part = 0; part < nb_model_parts(counts); part++)
        occurrences += nb_model_occurrences(counts, label, NB_FIRST_PART + part);
    if (occurrences < UINT32_MAX / 2)
        return false;
    for (size_t i = 0; i < rows->size; i++)
        if (nb_model_count(counts, rows->counts[i].row, label) > UINT32_MAX - margin)
            return true;
    return false;
}

/* A model with a structure counts pairs of values, which have a limit. */
static bool pairs_fit(const struct nb_stage *s)
{
    const struct nb_rows *rows = &s->change->delta.add;
    return nb_model_pairs_fit(s->live->counts, rows->counts, rows->size);
}

int nb_stage_check_room(struct nb_stage *s)
{
    if (would_overflow(s))
        return nb_stage_refuse(s, NB_TOO_LARGE,
                               "a feature of the label was counted 4 billion times");
    if (!pairs_fit(s))
        return nb_stage_refuse(
            s, NB_TOO_LARGE,
            "the model has as many pairs of values as \"structure\": \"tan\" has room for");
    return 0;
}

static void sign(const struct nb_stage *s, struct nb_signature *signature)
{
    const struct nb_rows *rows = &s->change->delta.add;
    struct nb_signature_maker maker;
    nb_signature_begin(&maker);
    for (size_t i = 0; i < rows->size; i++)
        nb_signature_add(&maker, nb_model_row_id(s->live->counts, rows->counts[i].row));
    nb_signature_end(&maker, signature);
}

/* Loads the model's list of the documents that were learned last, unless its setting
 * `near_duplicates` is off. Returns 0 or a code of nb_near_duplicate_list_load. */
static int stage_have_near_duplicates(struct nb_stage *s, struct nb_error *error)
{
    const struct nb_settings *settings = &s->live->published->settings;
    struct nb_near_duplicate_list **near_duplicate_list = &s->live->near_duplicate_list;
    if (*near_duplicate_list != NULL &&
        (settings->near_duplicates == 0 ||
         nb_near_duplicate_list_window(*near_duplicate_list) != settings->near_duplicate_window))
        nb_near_duplicate_list_free(near_duplicate_list);
    if (settings->near_duplicates == 0 || *near_duplicate_list != NULL)
        return 0;
    return nb_near_duplicate_list_load(s->view, s->live->number, s->live->counts,
                                       settings->near_duplicate_window, near_duplicate_list, error);
}

static int note_nearest(struct nb_stage *s, const struct nb_nearest *nearest,
                        struct nb_error *error)
{
    struct nb_receipt *receipt = &s->change->receipt;
    struct nb_entry *entry = &s->memory->restored;
    receipt->status = NB_NEAR_DUPLICATE;
    receipt->similarity = nearest->similarity;
    s->change->nearest.length = 0;
    if (nb_ledger_read(s->view, nearest->number, entry, NULL) == 0 &&
        nb_buffer_append(&s->change->nearest, entry->change.id.bytes, entry->change.id.length) != 0)
        return nb_error_no_memory(error);
    receipt->nearest = nb_buffer_string(&s->change->nearest);
    return 0;
}

/* Computes the signature of the document. If it is not learned yet (`found` is false), and as many
 * near-duplicates of it are as the setting allows, the receipt says so and the change ends here. */
static int stage_check_near_duplicates(struct nb_stage *s, bool found,
                                       struct nb_signature *signature, struct nb_error *error)
{
    const struct nb_settings *settings = &s->live->published->settings;
    sign(s, signature);
    if (found || s->change->receipt.status != NB_LEARNED || s->new_label)
        return 0;
    struct nb_nearest nearest =
        nb_near_duplicate_list_find(s->live->near_duplicate_list, s->change->label_number,
                                    signature, settings->near_duplicate_similarity);
    return nearest.count >= settings->near_duplicates ? note_nearest(s, &nearest, error) : 0;
}

int nb_stage_find_old(struct nb_stage *s, bool *found)
{
    struct nb_error why;
    *found = false;
    if (s->live->number == 0)
        return 0;
    int rc = nb_ledger_find(s->view, s->live->number, nb_buffer_string(&s->change->id),
                            &s->memory->old, &why);
    *found = rc == 0;
    if (rc == NB_CORRUPT)
        return nb_stage_refuse_damaged(s, &why);
    return rc == NB_NOT_FOUND ? 0 : rc;
}

/* The same content may be stored as bags with different bytes, because the features that the model
 * already knew come first. If the content has not changed, memory->bag becomes the old bag. Returns
 * 0 or NB_NO_MEMORY. */
static int stage_keep_bag(struct nb_stage *s)
{
    struct nb_string old = s->memory->old.change.bag;
    struct nb_buffer *bag = &s->memory->bag;
    const struct nb_rows *add = &s->change->delta.add;
    struct nb_rows *take = &s->change->delta.take;
    if (nb_string_same(nb_buffer_string(bag), old))
        return 0;
    int rc = nb_bag_decode(old, nb_model_rows(s->live->counts), take, NULL);
    bool same = rc == 0 && take->size == add->size && add->size > 0 &&
                memcmp(take->counts, add->counts, add->size * sizeof *add->counts) == 0;
    take->size = 0;
    if (!same)
        return rc == NB_CORRUPT ? 0 : rc; /* the step that takes the old content out reports it */
    bag->length = 0;
    return nb_buffer_append(bag, old.bytes, old.length);
}

uint64_t nb_stage_first_of(const struct nb_entry *old)
{
    return old->change.first != 0 ? old->change.first : old->number;
}

bool nb_stage_is_first_label(const struct nb_stage *s)
{
    return s->memory->old.change.label == NB_NO_LABEL && s->change->label_number != NB_NO_LABEL;
}

/* The score of the document, borrowed from the change. An entry without a label carries the score
 * of the entry before it. */
static struct nb_string stage_score_of(const struct nb_change *change)
{
    return change->label == NB_NO_LABEL ? (struct nb_string){"", 0} : change->score;
}

int nb_stage_take_out_old(struct nb_stage *s, struct nb_error *error)
{
    const struct nb_change *old = &s->memory->old.change;
    struct nb_delta *delta = &s->change->delta;
    struct nb_error why;
    int rc = nb_stage_is_label(s, old->label)
                 ? nb_bag_decode(old->bag, nb_model_rows(s->live->counts), &delta->take, &why)
                 : nb_error_set(&why, NB_CORRUPT, "an entry's label is unknown");
    if (rc == NB_CORRUPT)
        return nb_stage_refuse_damaged(s, &why);
    delta->take_label = nb_delta_label(old->label);
    delta->taken_judged = old->judged;
    if (s->live->near_duplicate_list != NULL)
        nb_near_duplicate_list_remove(s->live->near_duplicate_list, s->memory->old.number);
    if (rc != 0 || nb_stage_touch_label(s, old->label) != 0)
        return nb_error_no_memory(error);
    return 0;
}

int nb_stage_keep_score(struct nb_stage *s, struct nb_error *error)
{
    struct nb_stored_score scored;
    struct nb_stored_score_lists lists = {0};
    struct nb_string old = stage_score_of(&s->memory->old.change);
    if (old.length == 0)
        return 0;
    if (s->change->label_number == NB_NO_LABEL) /* the ledger's index needs the score to remove */
        return nb_buffer_append(&s->memory->score, old.bytes, old.length) == 0
                   ? 0
                   : nb_error_no_memory(error);
    int rc = nb_stored_score_read(old, &lists, &scored, error);
    scored.label = s->change->label_number;
    if (rc == 0 && (nb_stored_score_write(&scored, &s->memory->score) != 0 ||
                    nb_stored_score_keep_weight(s->live, scored.label,
                                                nb_delta_label(s->memory->old.change.label), old,
                                                &s->memory->score) != 0))
        rc = nb_error_no_memory(error);
    nb_stored_score_lists_deinit(&lists);
    return rc;
}

int nb_stage_untrain(struct nb_stage *s, struct nb_error *error)
{
    struct nb_submitted *submitted = s->change;
    const struct nb_entry *old = &s->memory->old;
    bool found;
    int rc = nb_stage_find_old(s, &found);
    if (rc != 0 || s->refused)
        return rc;
    submitted->receipt.status = NB_FORGOTTEN;
    if (!found)
        return s->was_remembered ? 0 : nb_stage_refuse_unknown(s);
    rc = nb_stage_take_out_old(s, error);
    if (rc != 0 || s->refused)
        return rc;
    submitted->receipt.tokens = submitted->positions = old->change.tokens;
    submitted->truncated = old->change.truncated;
    struct nb_change change = {.kind = NB_CHANGE_UNTRAIN,
                               .label = old->change.label,
                               .tokens = old->change.tokens,
                               .replaced = old->number,
                               .first = nb_stage_first_of(old),
                               .score = stage_score_of(&old->change)};
    rc = nb_stage_append(s, &change, error);
    return rc != 0 ? rc : nb_stage_apply(s, &change, error);
}

static enum nb_status status_of(const struct nb_stage *s, bool found)
{
    const struct nb_change *old = &s->memory->old.change;
    const struct nb_buffer *bag = &s->memory->bag;
    if (!found)
        return s->change->label_number == NB_NO_LABEL ? NB_STORED : NB_LEARNED;
    if (old->label == NB_NO_LABEL && s->change->label_number != NB_NO_LABEL)
        return NB_LEARNED;
    if (old->label != s->change->label_number)
        return NB_RELABELLED;
    bool same = old->bag.length == bag->length &&
                (bag->length == 0 || memcmp(old->bag.bytes, bag->bytes, bag->length) == 0);
    return same ? NB_UNCHANGED : NB_UPDATED;
}

/* A change of the label alone takes its content from the entry that it replaces. */
static int take_content(struct nb_stage *s, bool *found, struct nb_error *error)
{
    struct nb_submitted *submitted = s->change;
    const struct nb_change *old = &s->memory->old.change;
    struct nb_error why;
    int rc = nb_stage_find_old(s, found);
    if (rc != 0 || s->refused)
        return rc;
    if (!*found)
        return nb_stage_refuse_unknown(s);
    if (submitted->current != 0 && submitted->current != s->memory->old.number)
        return nb_stage_refuse(s, NB_CONFLICT, "the document was changed meanwhile");
    rc = nb_bag_decode(old->bag, nb_model_rows(s->live->counts), &submitted->delta.add, &why);
    if (rc == NB_CORRUPT)
        return nb_stage_refuse_damaged(s, &why);
    submitted->positions = old->tokens;
    submitted->truncated = old->truncated;
    nb_near_duplicate_list_free(
        &s->live->near_duplicate_list); /* it is made again when it is needed */
    if (rc != 0 || nb_buffer_append(&s->memory->bag, old->bag.bytes, old->bag.length) != 0)
        return nb_error_no_memory(error);
    return 0;
}

/* Finds the label and rows of the document to learn, and the entry that it replaces. */
static int prepare_train(struct nb_stage *s, bool *found, struct nb_error *error)
{
    int rc = stage_find_label(s, error);
    if (rc == 0 && !s->refused && s->change->keeps_content)
        rc = take_content(s, found, error);
    else if (rc == 0 && !s->refused && nb_stage_find_rows(s) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0 && !s->refused)
        rc = nb_stage_check_room(s);
    if (rc == 0 && !s->refused && !s->change->keeps_content)
        rc = nb_stage_find_old(s, found);
    if (rc == 0 && *found && !s->refused && !s->change->keeps_content && stage_keep_bag(s) != 0)
        rc = nb_error_no_memory(error);
    return rc;
}

static int score_train(struct nb_stage *s, bool found, struct nb_error *error)
{
    bool is_new = !found || nb_stage_is_first_label(s);
    struct nb_submitted *submitted = s->change;
    if (!is_new)
        return nb_stage_keep_score(s, error);
    if (submitted->label_number == NB_NO_LABEL)
        return 0;
    int rc = nb_learner_score(s->group->engine->learner, s->live->published, s->live->counts,
                              &submitted->delta.add, submitted->label_number, submitted->judged,
                              &s->memory->score);
    if (rc == 0 && s->live->published->settings.parent != NULL)
        rc = nb_parent_chain_keep_score_of_rows(&s->memory->chain, s->group->engine, s->live,
                                                &submitted->delta.add, submitted->label_number,
                                                &s->memory->score);
    if (rc == 0)
        rc = nb_stored_score_keep_weight(s->live, submitted->label_number, NB_STACK_NO_LABEL,
                                         (struct nb_string){"", 0}, &s->memory->score);
    return rc == 0 ? 0 : nb_error_set(error, rc, "scoring a document before it is learned failed");
}

/* Whether somebody who has looked at the document gives its label, and has not confirmed the same
 * label before. A label that a task gives names the entry. */
static bool is_reviewed(const struct nb_stage *s)
{
    const struct nb_submitted *change = s->change;
    bool is_given = (change->kind == NB_SUBMITTED_LABEL || change->kind == NB_SUBMITTED_RECALL) &&
                    change->current == 0 && change->label_number != NB_NO_LABEL;
    return is_given &&
           !(change->receipt.status == NB_UNCHANGED && s->memory->old.change.is_reviewed);
}

int nb_stage_train(struct nb_stage *s, struct nb_error *error)
{
    struct nb_submitted *submitted = s->change;
    const struct nb_entry *old = &s->memory->old;
    struct nb_signature signature;
    bool found = false;
    int rc = prepare_train(s, &found, error);
    if (rc != 0 || s->refused)
        return rc;
    submitted->receipt.tokens = submitted->positions;
    submitted->receipt.status = status_of(s, found);
    if (!submitted->keeps_content)
        rc = stage_have_near_duplicates(s, error);
    if (rc == 0 && s->live->near_duplicate_list != NULL)
        rc = stage_check_near_duplicates(s, found, &signature, error);
    bool is_review = is_reviewed(s);
    if (rc != 0 || (submitted->receipt.status == NB_UNCHANGED && !is_review) ||
        submitted->receipt.status == NB_NEAR_DUPLICATE)
        return rc;
    submitted->delta.add_label = nb_delta_label(submitted->label_number);
    rc = found ? nb_stage_take_out_old(s, error) : 0;
    if (rc == 0 && !s->refused)
        rc = score_train(s, found, error);
    if (rc != 0 || s->refused)
        return rc;
    if (nb_stage_touch_label(s, submitted->label_number) != 0 || nb_stage_encode_features(s) != 0)
        return nb_error_no_memory(error);
    uint32_t new_count = (uint32_t)s->memory->new_count;
    struct nb_change change = {
        .kind = NB_CHANGE_TRAIN,
        .label = submitted->label_number,
        .label_name =
            s->new_label ? nb_buffer_string(&submitted->label) : (struct nb_string){"", 0},
        .truncated = submitted->truncated,
        .is_reviewed = is_review,
        .tokens = submitted->positions,
        .judged = submitted->label_number == NB_NO_LABEL ? 0 : submitted->judged,
        .replaced = found ? old->number : 0,
        .first = found && !nb_stage_is_first_label(s) ? nb_stage_first_of(old) : 0,
        .score = nb_buffer_string(&s->memory->score),
        .first_row = new_count > 0 ? s->memory->fresh[0].row : 0,
        .new_count = new_count,
        .features = s->memory->coded,
        .new_rows = nb_buffer_string(&s->memory->new_rows),
        .bag = nb_buffer_string(&s->memory->bag)};
    rc = nb_stage_append(s, &change, error);
    if (rc == 0 && s->live->near_duplicate_list != NULL &&
        nb_near_duplicate_list_add(s->live->near_duplicate_list, s->model->last, change.label,
                                   &signature) != 0)
        rc = nb_error_no_memory(error);
    return rc != 0 ? rc : nb_stage_apply(s, &change, error);
}
