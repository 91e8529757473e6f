/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/live/standing.h"
#include "core/writer/stage/staging.h"

#include <assert.h>

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
                               .time = nb_standing_time(engine),
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
        change->time = nb_standing_time(engine);
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
