/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/registry/roster.h"

#include <assert.h>
#include <stdlib.h>

#include "core/ledger/entries/survey.h"
#include "core/model/registry/registry.h"

struct reading {
    struct nb_engine *engine;
    const struct nb_view *view;
    size_t damaged; /* records */
};

/* ---- records --------------------------------------------------------------------------------- */

static int read_tail(const struct reading *r, struct nb_live *live, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(live->number);
    struct nb_string value;
    struct nb_state_record state;
    int rc = nb_store_get(r->view, NB_TABLE_STATE, nb_store_key_string(&key), &value, error);
    if (rc == 0)
        rc = nb_state_read(&state, value, error);
    if (rc == 0) {
        atomic_store(&live->tail, state.tail);
        atomic_fetch_add(&r->engine->tail, state.tail);
    }
    return rc == NB_NOT_FOUND ? nb_error_set(error, NB_CORRUPT, "its state is missing") : rc;
}

static int list(struct nb_engine *engine, struct nb_live *live, struct nb_error *error)
{
    assert(live->number != 0);
    atomic_store(&live->persisted, true);
    int rc = nb_registry_insert(engine, live, error);
    if (rc != 0)
        nb_live_free(live);
    return rc;
}

/* Notes the parent of a model, the only setting that is read before the model is loaded. */
static int note_parent(struct nb_engine *engine, struct nb_live *live, struct nb_string settings)
{
    struct nb_string parent = nb_settings_stored_parent(settings);
    if (parent.length == 0)
        return 0;
    live->parent = nb_string_copy(parent);
    atomic_store(&engine->has_families, true);
    return live->parent != NULL ? 0 : NB_NO_MEMORY;
}

static int read_record(void *user, enum nb_table table, struct nb_string key,
                       struct nb_string value, bool sound, struct nb_error *error)
{
    struct reading *r = user;
    struct nb_model_record record;
    struct nb_own_key own = {0};
    struct nb_error why;
    (void)table;
    if (!sound || nb_model_record_read(&record, value, NULL) != 0 ||
        nb_own_key_read(&own, record.key, NULL) != 0) {
        r->damaged++;
        return 0;
    }
    struct nb_live *live = nb_live_new(key, record.number, &own, &r->engine->key);
    if (live == NULL)
        return nb_error_no_memory(error);
    if (note_parent(r->engine, live, record.settings) != 0) {
        nb_live_free(live);
        return nb_error_no_memory(error);
    }
    if (read_tail(r, live, &why) != 0)
        nb_live_set_damaged(live, &why);
    return list(r->engine, live, error);
}

/* ---- models whose record is damaged ---------------------------------------------------------- */

static void pass_over(void *user, const char *line)
{
    (void)user;
    (void)line;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The sorted numbers of the models in the registry. The caller frees them; NULL: out of memory.
 */
static uint32_t *listed_numbers(const struct nb_engine *engine)
{
    uint32_t *numbers = malloc((engine->model_count + 1) * sizeof *numbers);
    if (numbers == NULL)
        return NULL;
    for (size_t i = 0; i < engine->model_count; i++)
        numbers[i] = engine->models[i]->number;
    qsort(numbers, engine->model_count, sizeof *numbers, by_number);
    return numbers;
}

static int list_damaged(struct nb_engine *engine, const struct nb_surveyed_model *model,
                        struct nb_error *error)
{
    struct nb_error why;
    struct nb_string name = {model->name.bytes, model->name.length};
    struct nb_live *live = nb_live_new(name, model->number, &model->own, &engine->key);
    if (live == NULL)
        return nb_error_no_memory(error);
    (void)nb_error_set(&why, NB_CORRUPT, "the checksum of its record is wrong");
    nb_live_set_damaged(live, &why);
    return list(engine, live, error);
}

/* Adds the models that the survey has found and the registry does not have. Sets *found to their
 * number. */
static int list_missing(struct nb_engine *engine, const struct nb_survey *survey, size_t *found,
                        struct nb_error *error)
{
    size_t count = engine->model_count;
    uint32_t *numbers = listed_numbers(engine);
    int rc = numbers == NULL ? nb_error_no_memory(error) : 0;
    for (size_t i = 0; rc == 0 && i < survey->model_count; i++) {
        const struct nb_surveyed_model *model = &survey->models[i];
        if (!nb_surveyed_exists(model) ||
            bsearch(&model->number, numbers, count, sizeof *numbers, by_number) != NULL)
            continue;
        rc = list_damaged(engine, model, error);
        ++*found;
    }
    free(numbers);
    return rc;
}

/* A damaged record need not mean that a model is missing: it may be left over from a deleted model.
 */
static int find_missing(const struct reading *r, struct nb_error *error)
{
    struct nb_survey survey;
    size_t found = 0;
    int rc = nb_survey_read(r->view, &survey, pass_over, NULL, error);
    if (rc == 0)
        rc = list_missing(r->engine, &survey, &found, error);
    if (rc == 0 && found < r->damaged && survey.lost > 0)
        rc =
            nb_error_set(error, NB_CORRUPT,
                         "the store is damaged: %zu records of models, and the ledger, which could "
                         "say whose they are; try bayesd --rebuild, or restore a backup",
                         r->damaged);
    nb_survey_deinit(&survey);
    return rc;
}

int nb_roster_read(struct nb_engine *engine, struct nb_error *error)
{
    struct nb_view view;
    struct reading r = {.engine = engine, .view = &view};
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_store_inspect(&view, NB_TABLE_MODELS, read_record, &r, error);
    if (rc == 0 && r.damaged > 0)
        rc = find_missing(&r, error);
    nb_store_snapshot_end(&view);
    return rc;
}
