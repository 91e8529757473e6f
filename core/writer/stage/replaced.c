/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/stage/staging.h"

#include <string.h>

#include "core/ledger/entries/twins.h"
#include "core/model/learn/stored_score.h"

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

int nb_stage_keep_bag(struct nb_stage *s)
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
        return rc == NB_CORRUPT ? 0 : rc; /* whoever takes the old content out says so */
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

struct nb_string nb_stage_score_of(const struct nb_change *change)
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
    if (s->live->twins != NULL)
        nb_twins_remove(s->live->twins, s->memory->old.number);
    if (rc != 0 || nb_stage_touch_label(s, old->label) != 0)
        return nb_error_no_memory(error);
    return 0;
}

int nb_stage_keep_score(struct nb_stage *s, struct nb_error *error)
{
    struct nb_stored_score scored;
    struct nb_stored_score_lists lists = {0};
    struct nb_string old = nb_stage_score_of(&s->memory->old.change);
    if (old.length == 0)
        return 0;
    if (s->change->label_number == NB_NO_LABEL) /* which score goes: the ledger's index asks */
        return nb_buffer_append(&s->memory->score, old.bytes, old.length) == 0
                   ? 0
                   : nb_error_no_memory(error);
    int rc = nb_stored_score_read(old, &lists, &scored, error);
    scored.label = s->change->label_number;
    if (rc == 0 && nb_stored_score_write(&scored, &s->memory->score) != 0)
        rc = nb_error_no_memory(error);
    nb_stored_score_lists_deinit(&lists);
    return rc;
}
