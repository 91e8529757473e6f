/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/stage/stage.h"

#include <assert.h>
#include <stdlib.h>

#include "core/model/learn/learner.h"
#include "core/model/live/once.h"
#include "core/model/live/relay.h"
#include "core/model/live/standing.h"
#include "core/writer/remember/history.h"
#include "core/writer/stage/staging.h"

static int stage_note(struct nb_stage *s, struct nb_error *error)
{
    struct nb_change change = {.kind = NB_CHANGE_UNDO,
                               .settings = nb_buffer_string(&s->change->label),
                               .other = s->change->note_documents};
    return nb_stage_append(s, &change, error);
}

static bool is_remembered(const struct nb_stage *s)
{
    struct nb_string stored;
    if (!s->change->forgets || s->live->number == 0)
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

/* Whether the model is as it was when the document was tokenized. */
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
    bool is_tokenized = !s->change->untrain && s->change->taken == 0 && !s->change->is_note &&
                        !s->change->is_refit && !s->change->is_label;
    if (is_tokenized && s->live->published->settings.tokenizer_fields != s->change->fields) {
        nb_stage_refuse(s, NB_CONFLICT,
                        "the tokenizer's settings changed while the document waited");
        return false;
    }
    return true;
}

/* Of changes that nodes share, one is made only after all that are before it. */
static bool is_next(struct nb_stage *s)
{
    struct nb_standing *standing = &s->group->engine->standing;
    standing->time = s->change->relayed.time;
    const struct nb_relayed *relayed = &s->change->relayed;
    s->change->receipt.number =
        nb_relay_number(s->group->engine, relayed->stream, relayed->position);
    if (nb_standing_stage(s->group->engine, relayed))
        return true;
    nb_stage_refuse(s, NB_BUSY, "a change before this one has failed");
    return false;
}

/* Whether a change that nodes share is for the model as it is there, in `s->refused`. */
static int check_model(struct nb_stage *s, struct nb_error *error)
{
    struct nb_receipt *receipt = &s->change->receipt;
    int rc = nb_standing_check(&s->change->relayed, s->live, s->view, error);
    s->refused = rc == NB_NOT_FOUND || rc == NB_DAMAGED;
    if (s->refused)
        receipt->code = nb_error_set(&receipt->error, rc, "%s", error->text);
    return s->refused ? 0 : rc;
}

/* Whether a change that was queued was made before, in `s->refused`. */
static int check_once(struct nb_stage *s, struct nb_error *error)
{
    struct nb_receipt *receipt = &s->change->receipt;
    int rc = nb_once_note(s->view, &s->change->relayed, error);
    if (rc != NB_EXISTS)
        return rc;
    receipt->code = nb_error_set(&receipt->error, rc, "%s", error->text);
    s->refused = true;
    return 0;
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
    if (s->change->is_note)
        return stage_note(s, error);
    if (s->change->is_refit)
        return nb_stage_refit(s, error);
    if (s->change->quarantined)
        return nb_stage_quarantine(s, error);
    s->was_remembered = is_remembered(s);
    int rc = nb_stage_begin_due_refit(s, error);
    if (rc == 0 && s->change->taken != 0)
        return nb_stage_take_back(s, error);
    if (rc == 0 && s->change->released.length > 0)
        rc = nb_stage_check_released(s, error);
    if (rc == 0 && !s->refused)
        rc = s->change->untrain ? nb_stage_untrain(s, error) : nb_stage_train(s, error);
    if (rc != 0 || s->refused)
        return rc;
    rc = nb_stage_leave_quarantine(s, error);
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
    if (s.change->relayed.position != 0 && !is_next(&s))
        return 0;
    int rc = check_once(&s, error);
    if (rc == 0 && !s.refused && s.change->relayed.position != 0)
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
        /* Refused half-way, or unchanged: take its new features and its new label back. */
        nb_model_return_rows(s.live->counts, dropped);
        nb_model_truncate(s.live->counts, rows);
        nb_model_truncate_labels(s.live->counts, labels);
    }
    if (rc == 0 && s.change->receipt.code == 0)
        rc = nb_stage_fill_receipt(item->batch, s.change);
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}

int nb_stage_undo(struct nb_group_item *item)
{
    struct nb_submitted *change = item->change;
    struct nb_change kind = {.kind = change->untrain ? NB_CHANGE_UNTRAIN : NB_CHANGE_TRAIN};
    assert(change->staged || !change->applied);
    int rc = change->applied ? nb_apply_undo(item->batch->live, &kind, &change->delta) : 0;
    change->applied = change->staged = false;
    return rc;
}
