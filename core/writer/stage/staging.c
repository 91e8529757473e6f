/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/stage/staging.h"

#include <assert.h>
#include <stdlib.h>

#include "core/model/learn/refit_wanted.h"
#include "core/model/live/live.h"
#include "core/model/live/stream_states.h"

void nb_staging_deinit(struct nb_staging *s)
{
    nb_buffer_deinit(&s->features);
    nb_buffer_deinit(&s->bag);
    nb_buffer_deinit(&s->score);
    nb_buffer_deinit(&s->entry);
    nb_entry_deinit(&s->old);
    nb_entry_deinit(&s->restored);
    nb_parent_chain_deinit(&s->chain);
    nb_buffer_deinit(&s->new_rows);
    free(s->known);
    free(s->rows);
    free(s->found);
    free(s->fresh);
    free(s->ids);
    free(s->texts);
}

int nb_stage_refuse(struct nb_stage *s, int code, const char *text)
{
    struct nb_receipt *receipt = &s->change->receipt;
    assert(code != 0);
    receipt->code = nb_error_set(&receipt->error, code, "%s", text);
    s->refused = true;
    return 0;
}

int nb_stage_refuse_damaged(struct nb_stage *s, const struct nb_error *why)
{
    struct nb_receipt *receipt = &s->change->receipt;
    nb_live_set_damaged(s->live, why);
    receipt->code = nb_live_check(s->live, &receipt->error);
    s->refused = true;
    return 0;
}

int nb_stage_refuse_unknown(struct nb_stage *s)
{
    const struct nb_buffer *id = &s->change->id;
    struct nb_receipt *receipt = &s->change->receipt;
    s->refused = true;
    receipt->code =
        nb_error_set(&receipt->error, NB_NOT_FOUND, "model '%s' has no document with the id '%.*s'",
                     s->live->name, (int)id->length, id->bytes);
    return 0;
}

/* Gives a model its number, and writes the entry that makes it, before its first change. Does
 * nothing if the model has a number. `source` is who asked for the first change. Returns 0 or a
 * code. */
static int make_model(struct nb_group *group, struct nb_view *view, struct nb_live *live,
                      struct nb_string source, struct nb_error *error)
{
    struct nb_engine *engine = group->engine;
    struct nb_group_model *model = nb_group_model(group, live);
    struct nb_buffer settings = {0};
    struct nb_buffer key = {0};
    struct nb_buffer entry = {0};
    if (live->number != 0)
        return 0;
    if (model == NULL)
        return nb_error_no_memory(error);
    int rc = nb_settings_write(&live->published->settings, &settings);
    if (rc == 0)
        rc = nb_live_write_key(live, &key);
    rc = rc != 0 ? nb_error_no_memory(error)
                 : nb_serials_model(&engine->serials, view, &live->number, error);
    struct nb_change change = {.kind = NB_CHANGE_CREATE,
                               .model = live->number,
                               .time = nb_stream_states_time(engine),
                               .source = source,
                               .name = nb_live_name(live),
                               .settings = nb_buffer_string(&settings),
                               .key = nb_buffer_string(&key)};
    model->last = nb_serials_entry(&engine->serials);
    model->features++;
    if (rc == 0)
        rc = nb_ledger_append(view, model->last, &change, &live->checkpoint.totals, &entry, error);
    nb_buffer_deinit(&settings);
    nb_buffer_deinit(&key);
    nb_buffer_deinit(&entry);
    return rc;
}

int nb_stage_append(struct nb_stage *s, struct nb_change *change, struct nb_error *error)
{
    struct nb_engine *engine = s->group->engine;
    struct nb_submitted *submitted = s->change;
    assert(!submitted->staged);
    int rc = make_model(s->group, s->view, s->live, nb_buffer_string(&submitted->source), error);
    if (rc != 0)
        return rc;
    s->model = nb_group_model(s->group, s->live);
    change->model = s->live->number;
    if (change->source.bytes == NULL) {
        change->time = nb_stream_states_time(engine);
        change->source = nb_buffer_string(&submitted->source);
    }
    change->id = nb_buffer_string(&submitted->id);
    s->model->last = nb_serials_entry(&engine->serials);
    s->model->features += submitted->delta.add.size + submitted->delta.take.size + 1;
    rc = nb_ledger_append(s->view, s->model->last, change, &s->live->checkpoint.totals,
                          &s->memory->entry, error);
    submitted->staged = rc == 0;
    return rc;
}

int nb_stage_apply(struct nb_stage *s, const struct nb_change *change, struct nb_error *error)
{
    struct nb_applying how = {.learner = s->group->engine->learner,
                              .view = s->view,
                              .number = s->model->last,
                              .are_found =
                                  !s->change->is_label && nb_submitted_size(s->change) > 0};
    assert(s->change->staged && !s->change->applied);
    size_t fresh = 0;
    int rc = nb_apply(s->live, change, &s->change->delta, &how, &fresh, error);
    s->change->applied = rc == 0;
    s->model->replaced += rc == 0 && change->replaced != 0;
    s->change->receipt.new_tokens = fresh;
    return rc;
}

/* Writes a REFIT entry and runs its slice. This does not change the counts: if the commit fails,
 * undoing the weights is enough. */
static int put_refit(struct nb_stage *s, enum nb_refit_part part, struct nb_error *error)
{
    struct nb_engine *engine = s->group->engine;
    struct nb_change change = {.kind = NB_CHANGE_REFIT,
                               .model = s->live->number,
                               .time = nb_stream_states_time(engine),
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
