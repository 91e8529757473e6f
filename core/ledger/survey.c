/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/survey.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/ledger/ledger.h"

enum { LINE_MOST = 400 };

struct surveying {
    const struct nb_view *view;
    struct nb_survey *survey;
    struct nb_entry entry;
    uint64_t seen; /* number of the last entry whose first piece was seen */
    void (*lost)(void *user, const char *line);
    void *user;
};

void nb_survey_deinit(struct nb_survey *survey)
{
    for (size_t i = 0; i < survey->model_count; i++)
        nb_buffer_deinit(&survey->models[i].name);
    free(survey->models);
    free(survey->entries);
    *survey = (struct nb_survey){0};
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = ((const struct nb_surveyed_model *)a)->number;
    uint32_t y = ((const struct nb_surveyed_model *)b)->number;
    return (x > y) - (x < y);
}

struct nb_surveyed_model *nb_survey_model(const struct nb_survey *survey, uint32_t number)
{
    struct nb_surveyed_model wanted = {.number = number};
    return survey->model_count == 0 ? NULL
                                    : bsearch(&wanted, survey->models, survey->model_count,
                                              sizeof *survey->models, by_number);
}

/* Returns the model with this number, and adds it if it is new. Numbers mostly ascend. NULL: out of
 * memory. */
static struct nb_surveyed_model *model_of(struct nb_survey *survey, uint32_t number)
{
    struct nb_surveyed_model *found = nb_survey_model(survey, number);
    if (found != NULL)
        return found;
    if (nb_array_reserve(&survey->models, &survey->model_room, survey->model_count + 1,
                         sizeof *survey->models) != 0)
        return NULL;
    size_t at = survey->model_count++;
    for (; at > 0 && survey->models[at - 1].number > number; at--)
        survey->models[at] = survey->models[at - 1];
    survey->models[at] = (struct nb_surveyed_model){.number = number};
    return &survey->models[at];
}

/* ---- entries --------------------------------------------------------------------------------- */

static int name_model(struct nb_survey *survey, struct nb_surveyed_model *model,
                      const struct nb_change *c, struct nb_error *error)
{
    model->named = true;
    model->name.length = 0;
    int rc = nb_own_key_read(&model->own, c->key, error);
    if (rc == 0 && nb_buffer_append(&model->name, c->name.bytes, c->name.length) != 0)
        rc = nb_error_no_memory(error);
    struct nb_surveyed_model *other =
        c->kind == NB_CHANGE_COMPLETE ? nb_survey_model(survey, c->replaced_model) : NULL;
    if (other != NULL)
        other->gone = true;
    return rc;
}

static int note_model(struct nb_survey *survey, struct nb_surveyed_model *model,
                      const struct nb_change *c, struct nb_error *error)
{
    if (c->kind == NB_CHANGE_DELETE) {
        model->gone = true;
        return 0;
    }
    model->entries++;
    size_t runs;
    int rc = nb_ledger_runs(c, &runs, error);
    if (rc != 0)
        return rc;
    model->words += runs;
    if (c->kind == NB_CHANGE_CREATE || c->kind == NB_CHANGE_COMPLETE)
        return name_model(survey, model, c, error);
    return 0;
}

static bool is_below(const void *entries, size_t at, const void *number)
{
    return ((const struct nb_surveyed_entry *)entries)[at].number < *(const uint64_t *)number;
}

/* Marks the entry that a later one replaces as no longer current. */
static void note_replaced(const struct nb_survey *survey, struct nb_surveyed_model *model,
                          const struct nb_change *c)
{
    size_t at = nb_search(survey->entries, survey->entry_count, &c->replaced, is_below);
    struct nb_surveyed_entry *entry = survey->entries + at;
    if (at == survey->entry_count || entry->number != c->replaced || entry->kind != NB_CHANGE_TRAIN)
        return;
    model->garbage++;
    model->current -= entry->current;
    model->scores -= entry->has_score;
    model->unlabelled -= entry->is_unlabelled;
    entry->current = false;
    entry->has_score = entry->is_unlabelled = false;
}

static int note_entry(struct surveying *s, struct nb_error *error)
{
    struct nb_survey *survey = s->survey;
    const struct nb_change *c = &s->entry.change;
    if (c->kind == NB_CHANGE_STORE) {
        survey->has_key = c->key.length == NB_KEY_BYTES;
        if (survey->has_key)
            memcpy(survey->key, c->key.bytes, NB_KEY_BYTES);
        return 0;
    }
    struct nb_surveyed_model *model = model_of(survey, c->model);
    if (model == NULL)
        return nb_error_no_memory(error);
    int rc = note_model(survey, model, c, error);
    if (rc == 0 && nb_array_reserve(&survey->entries, &survey->entry_room, survey->entry_count + 1,
                                    sizeof *survey->entries) != 0)
        rc = nb_error_no_memory(error);
    if (rc != 0)
        return rc;
    assert(survey->entry_count == 0 ||
           survey->entries[survey->entry_count - 1].number < s->entry.number);
    bool current = c->kind == NB_CHANGE_TRAIN;
    bool is_unlabelled = current && c->label == NB_NO_LABEL;
    bool has_score = current && !is_unlabelled && c->score.length > 0;
    if (c->replaced != 0)
        note_replaced(survey, model, c);
    if (current) {
        model->current++;
        model->scores += has_score;
        model->unlabelled += is_unlabelled;
    }
    survey->entries[survey->entry_count++] =
        (struct nb_surveyed_entry){.number = s->entry.number,
                                   .replaced = c->replaced,
                                   .model = c->model,
                                   .kind = (uint8_t)c->kind,
                                   .current = current,
                                   .has_score = has_score,
                                   .is_unlabelled = is_unlabelled};
    return 0;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static void tell(struct surveying *s, uint64_t number, const char *why)
{
    char line[LINE_MOST];
    s->survey->lost++;
    snprintf(line, sizeof line, "ledger entry %" PRIu64 ": %s", number, why);
    s->lost(s->user, line);
}

static int inspect_piece(void *user, enum nb_table table, struct nb_string key,
                         struct nb_string value, bool sound, struct nb_error *error)
{
    struct surveying *s = user;
    uint64_t number = nb_store_key_entry_number(key);
    struct nb_error why;
    (void)table;
    (void)value;
    if (number > s->survey->newest)
        s->survey->newest = number;
    if (!sound) {
        tell(s, number, "a checksum is wrong");
        return 0;
    }
    if (nb_store_key_entry_piece(key) != 0 || number == s->seen)
        return 0;
    s->seen = number;
    int rc = nb_ledger_read(s->view, number, &s->entry, &why);
    if (rc == 0)
        return note_entry(s, error);
    if (rc != NB_CORRUPT && rc != NB_NOT_FOUND)
        return nb_error_set(error, rc, "%s", why.text);
    /* A search may miss an entry in a page whose keys are out of order. */
    tell(s, number, rc == NB_NOT_FOUND ? "it is not found" : why.text);
    return 0;
}

int nb_survey_read(const struct nb_view *view, struct nb_survey *survey,
                   void (*lost)(void *user, const char *line), void *user, struct nb_error *error)
{
    struct surveying s = {.view = view, .survey = survey, .lost = lost, .user = user};
    assert(lost != NULL);
    *survey = (struct nb_survey){0};
    int rc = nb_store_inspect(view, NB_TABLE_LEDGER, inspect_piece, &s, error);
    nb_entry_deinit(&s.entry);
    return rc;
}
