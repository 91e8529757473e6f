/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/live/standing.h"
#include "core/writer/stage/staging.h"

#include <assert.h>

#include "core/model/learn/refit_wanted.h"

/* Writes a REFIT and runs its slice. It takes nothing from the counts, so that a commit that fails
 * takes it back with the weights. */
static int put_refit(struct nb_stage *s, enum nb_refit_part part, struct nb_error *error)
{
    struct nb_engine *engine = s->group->engine;
    struct nb_change change = {.kind = NB_CHANGE_REFIT,
                               .model = s->live->number,
                               .time = nb_standing_time(engine),
                               .source = nb_buffer_string(&s->change->source),
                               .other = part};
    assert(s->live->number != 0);
    s->model = nb_group_model(s->group, s->live);
    s->model->last = nb_serials_entry(&engine->serials);
    s->model->features++;
    int rc = nb_ledger_append(s->view, s->model->last, &change, &s->live->checkpoint.totals,
                              &s->memory->entry, error);
    struct nb_applying how = {
        .learner = engine->learner, .view = s->view, .number = s->model->last};
    return rc != 0 ? rc : nb_apply(s->live, &change, &s->change->delta, &how, NULL, error);
}

int nb_stage_refit(struct nb_stage *s, struct nb_error *error)
{
    bool begins = s->change->part != NB_REFIT_SLICE;
    if (begins && !nb_published_is_stacked(s->live->published))
        return nb_stage_refuse(s, NB_CONFLICT,
                               "the model has no weights: its `decision` is not \"stacked\"");
    if (s->live->number == 0 || (!begins && s->live->fit == NULL))
        return 0;
    int rc = put_refit(s, s->change->part, error);
    s->change->staged = rc == 0;
    return rc;
}

int nb_stage_begin_due_refit(struct nb_stage *s, struct nb_error *error)
{
    if (s->live->number == 0 || !nb_refit_is_due(s->live))
        return 0;
    return put_refit(s, NB_REFIT_BEGIN, error);
}
