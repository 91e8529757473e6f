/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/stage/staging.h"

#include <string.h>

#include "core/ledger/entries/twins.h"
#include "core/model/learn/learner.h"

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
                               .score = nb_stage_score_of(&old->change)};
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

/* The content of a change of the label alone is that of the entry that it replaces. */
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
    if (submitted->labelled != 0 && submitted->labelled != s->memory->old.number)
        return nb_stage_refuse(s, NB_CONFLICT, "the document was changed meanwhile");
    rc = nb_bag_decode(old->bag, nb_model_rows(s->live->counts), &submitted->delta.add, &why);
    if (rc == NB_CORRUPT)
        return nb_stage_refuse_damaged(s, &why);
    submitted->positions = old->tokens;
    submitted->truncated = old->truncated;
    nb_twins_free(&s->live->twins); /* it is made again when it is needed */
    if (rc != 0 || nb_buffer_append(&s->memory->bag, old->bag.bytes, old->bag.length) != 0)
        return nb_error_no_memory(error);
    return 0;
}

/* Label and rows of what is to be learned, and what it replaces. */
static int prepare_train(struct nb_stage *s, bool *found, struct nb_error *error)
{
    int rc = nb_stage_find_label(s, error);
    if (rc == 0 && !s->refused && s->change->is_label)
        rc = take_content(s, found, error);
    else if (rc == 0 && !s->refused && nb_stage_find_rows(s) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0 && !s->refused)
        rc = nb_stage_check_room(s);
    if (rc == 0 && !s->refused && !s->change->is_label)
        rc = nb_stage_find_old(s, found);
    if (rc == 0 && *found && !s->refused && !s->change->is_label && nb_stage_keep_bag(s) != 0)
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
                              &submitted->delta.add, submitted->label_number, &s->memory->score);
    if (rc == 0 && s->live->published->settings.parent != NULL)
        rc = nb_family_keep_score_of_rows(&s->memory->family, s->group->engine, s->live,
                                          &submitted->delta.add, submitted->label_number,
                                          &s->memory->score);
    return rc == 0 ? 0 : nb_error_set(error, rc, "scoring a document before it is learned failed");
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
    if (!submitted->is_label)
        rc = nb_stage_have_twins(s, error);
    if (rc == 0 && s->live->twins != NULL)
        rc = nb_stage_check_twins(s, found, &signature, error);
    if (rc != 0 || submitted->receipt.status == NB_UNCHANGED ||
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
        .tokens = submitted->positions,
        .replaced = found ? old->number : 0,
        .first = found && !nb_stage_is_first_label(s) ? nb_stage_first_of(old) : 0,
        .score = nb_buffer_string(&s->memory->score),
        .first_row = new_count > 0 ? s->memory->fresh[0].row : 0,
        .new_count = new_count,
        .features = s->memory->coded,
        .new_rows = nb_buffer_string(&s->memory->new_rows),
        .bag = nb_buffer_string(&s->memory->bag)};
    rc = nb_stage_append(s, &change, error);
    if (rc == 0 && s->live->twins != NULL &&
        nb_twins_add(s->live->twins, s->model->last, change.label, &signature) != 0)
        rc = nb_error_no_memory(error);
    return rc != 0 ? rc : nb_stage_apply(s, &change, error);
}
