/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/archive/repair/comparing.h"
#include "core/base/pack.h"
#include "core/model/learn/replay.h"
#include "core/model/registry/registry.h"

struct pair {
    struct nb_comparing *c;
    const struct nb_live *stored, *fresh;
};

static bool same_cells(const struct pair *p, uint32_t row, struct nb_cell *cells, uint32_t room)
{
    struct nb_cell *other = cells + room;
    assert(row < nb_model_rows(p->stored->counts) && row < nb_model_rows(p->fresh->counts));
    size_t n = nb_model_cells(p->stored->counts, row, cells, room);
    size_t m = nb_model_cells(p->fresh->counts, row, other, room);
    bool same =
        n == m && nb_model_row_id(p->stored->counts, row) == nb_model_row_id(p->fresh->counts, row);
    for (size_t i = 0; same && i < n; i++)
        same = cells[i].label == other[i].label && cells[i].occurrences == other[i].occurrences &&
               cells[i].documents == other[i].documents;
    return same;
}

static int compare_counts(const struct pair *p, struct nb_error *error)
{
    uint32_t rows = nb_model_rows(p->stored->counts);
    uint32_t room = nb_model_label_count(p->stored->counts) + 1;
    struct nb_differences *d = p->c->d;
    /* The ledger does not have rows that were dropped. */
    while (nb_model_rows(p->fresh->counts) < rows)
        if (nb_model_append_dropped(p->fresh->counts) != 0)
            return nb_error_no_memory(error);
    if (rows != nb_model_rows(p->fresh->counts)) {
        nb_differ(d, "model '%s': %" PRIu32 " features are stored, the ledger gives %" PRIu32,
                  p->stored->name, rows, nb_model_rows(p->fresh->counts));
        return 0;
    }
    struct nb_cell *cells = calloc((size_t)room * 2, sizeof *cells);
    if (cells == NULL)
        return nb_error_no_memory(error);
    for (uint32_t row = 0; row < rows; row++)
        if (!same_cells(p, row, cells, room))
            nb_differ(d,
                      "model '%s': the counts of feature %" PRIu32 " are not those of the ledger",
                      p->stored->name, row);
    free(cells);
    return 0;
}

static void compare_label(const struct pair *p, uint32_t label)
{
    const struct nb_model *a = p->stored->counts;
    const struct nb_model *b = p->fresh->counts;
    struct nb_string name = nb_model_label_name(a, label);
    struct nb_string fresh = nb_model_label_name(b, label);
    bool same =
        nb_string_same(name, fresh) && nb_model_documents(a, label) == nb_model_documents(b, label);
    unsigned parts = nb_model_parts(a) > nb_model_parts(b) ? nb_model_parts(a) : nb_model_parts(b);
    for (unsigned field = 0; same && field < NB_FIRST_PART + parts; field++)
        same = nb_model_occurrences(a, label, field) == nb_model_occurrences(b, label, field) &&
               nb_model_presences(a, label, field) == nb_model_presences(b, label, field);
    if (!same)
        nb_differ(p->c->d,
                  "model '%s': label %" PRIu32 " is '%s' with %" PRIu64
                  " documents, the ledger gives '%s' with %" PRIu64 " (or their sums differ)",
                  p->stored->name, label, name.bytes, nb_model_documents(a, label), fresh.bytes,
                  nb_model_documents(b, label));
}

static int write_weights(const struct nb_live *live, struct nb_buffer *out)
{
    struct nb_packer p = {.out = out};
    int rc = nb_settings_write(&live->published->settings, out);
    nb_stack_weights_write(live->published->weights, &p);
    return rc != 0 ? rc : p.code;
}

/* Settings, and the weights where no document that taught them was dropped since. */
static int compare_learned(const struct pair *p, bool weights, struct nb_error *error)
{
    struct nb_buffer a = {0};
    struct nb_buffer b = {0};
    int rc = weights ? write_weights(p->stored, &a)
                     : nb_settings_write(&p->stored->published->settings, &a);
    if (rc == 0)
        rc = weights ? write_weights(p->fresh, &b)
                     : nb_settings_write(&p->fresh->published->settings, &b);
    bool same = nb_string_same((struct nb_string){a.bytes, a.length},
                               (struct nb_string){b.bytes, b.length});
    nb_buffer_deinit(&a);
    nb_buffer_deinit(&b);
    if (rc != 0)
        return nb_error_no_memory(error);
    if (!same)
        nb_differ(p->c->d, "model '%s': the settings%s are not those of the ledger",
                  p->stored->name, weights ? ", or the weights of the stack," : "");
    return 0;
}

static int compare_state(const struct pair *p, const struct nb_replay *replayed,
                         struct nb_error *error)
{
    struct nb_comparing *c = p->c;
    struct nb_store_key key = nb_store_key_model(p->stored->number);
    struct nb_string value;
    struct nb_state_record state = {0};
    int rc = nb_store_get(c->view, NB_TABLE_STATE, nb_store_key_string(&key), &value, error);
    if (rc == 0)
        rc = nb_state_read(&state, value, error);
    const struct nb_surveyed_model *model = nb_survey_model(c->survey, p->stored->number);
    if (rc != 0)
        return rc;
    bool same = state.vocabulary == nb_model_vocabulary(p->fresh->counts, NB_ALL_TOKENS) &&
                state.last >= replayed->last && state.totals.entries == model->entries &&
                state.totals.living == model->living &&
                state.totals.unlabelled == model->unlabelled &&
                state.totals.scores == model->scores;
    if (!same)
        nb_differ(c->d, "model '%s': its totals are not those of the ledger", p->stored->name);
    return 0;
}

static int compare_loaded(struct nb_comparing *c, struct nb_live *live,
                          const struct nb_replay *replayed, struct nb_error *error)
{
    struct pair p = {.c = c, .stored = live, .fresh = replayed->live};
    uint32_t labels = nb_model_label_count(live->counts);
    assert(p.stored->counts != NULL && p.fresh != NULL);
    int rc = compare_state(&p, replayed, error);
    if (labels != nb_model_label_count(p.fresh->counts))
        nb_differ(c->d, "model '%s': %" PRIu32 " labels are stored, the ledger gives %" PRIu32,
                  live->name, labels, nb_model_label_count(p.fresh->counts));
    else
        for (uint32_t i = 0; i < labels; i++)
            compare_label(&p, i);
    if (rc == 0)
        rc = compare_counts(&p, error);
    bool is_whole = !replayed->is_partial && live->checkpoint.totals.dropped == 0;
    return rc != 0 ? rc : compare_learned(&p, is_whole, error);
}

static int compare_model(struct nb_comparing *c, struct nb_live *live, struct nb_error *error)
{
    struct nb_error why = {0};
    struct nb_replay replayed = {0};
    const struct nb_surveyed_model *model = nb_survey_model(c->survey, live->number);
    if (model == NULL || !nb_surveyed_exists(model)) {
        nb_differ(c->d, "model '%s' is not in the ledger", live->name);
        return 0;
    }
    int rc = nb_registry_load(c->engine, live, &why);
    if (rc == 0)
        rc = nb_replay_model(c->engine, c->view, live->number, nb_live_name(live), live->own, NULL,
                             NULL, &replayed, &why);
    if (rc == 0)
        rc = compare_loaded(c, live, &replayed, &why);
    nb_replay_deinit(&replayed);
    if (replayed.live != NULL)
        nb_live_free(replayed.live);
    if (rc == NB_NO_MEMORY || rc == NB_IO)
        return nb_error_set(error, rc, "%s", why.text);
    if (rc != 0)
        nb_differ(c->d, "model '%s': %s", live->name, why.text);
    return 0;
}

int nb_compare_models(struct nb_comparing *comparing, struct nb_error *error)
{
    struct nb_comparing *c = comparing;
    struct nb_engine *engine = c->engine;
    int rc = 0;
    uint64_t there = 0;
    for (size_t i = 0; i < c->survey->model_count; i++)
        there += nb_surveyed_exists(&c->survey->models[i]);
    if (there != engine->model_count)
        nb_differ(c->d, "%zu models are stored, the ledger gives %" PRIu64, engine->model_count,
                  there);
    for (size_t i = 0; rc == 0 && i < engine->model_count; i++)
        rc = compare_model(c, engine->models[i], error);
    return rc;
}
