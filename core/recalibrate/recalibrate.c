/* SPDX-License-Identifier: Apache-2.0 */
#include "core/recalibrate/recalibrate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/live/registry.h"
#include "core/recalibrate/error_of.h"
#include "core/score/score.h"
#include "core/store/ledger.h"
#include "core/store/living.h"
#include "core/store/rows.h"

enum {
    DOCUMENTS_LEAST = 20,
    OF_LABEL_LEAST = 5, /* documents of each of two labels */
    GROWTH = 5,         /* a fifth more or fewer, and it is calibrated again */
    SAMPLE_MOST = 2000,
    SCORES_MOST = 200000,  /* documents times labels */
    ROWS_MOST = 100000000, /* rows that are walked over for all scores, half a second */
    WALKS_LEAST = 50,
    AT_ONCE = 16 /* documents: less than a millisecond */
};

struct nb_recalibration {
    struct nb_live *live;           /* referenced */
    struct nb_published *published; /* referenced: whose formulas score */
    struct nb_scorer *scorer;       /* owned */
    uint64_t *numbers;              /* owned; of the entries of the sample */
    uint32_t size, next;
    uint32_t label_count;
    uint32_t *labels; /* owned; those with documents, in the order of their names */
    uint32_t *truths; /* owned; of each score the place of its label */
    double *scores;   /* owned */
    size_t count;
    /* One document, reused. */
    struct nb_entry entry;
    struct nb_rows rows;
    struct nb_feature *features; /* owned */
    size_t feature_room;
    struct nb_scores said;
    int code; /* of nb_score */
};

void nb_recalibrate_end(struct nb_engine *engine)
{
    struct nb_recalibration *r = engine->recalibration;
    engine->recalibration = NULL;
    if (r == NULL)
        return;
    nb_scorer_free(&r->scorer);
    nb_published_release(&r->published);
    nb_registry_release(engine, &r->live);
    nb_entry_deinit(&r->entry);
    nb_rows_deinit(&r->rows);
    nb_scores_deinit(&r->said);
    free(r->features);
    free(r->numbers);
    free(r->labels);
    free(r->truths);
    free(r->scores);
    free(r);
}

/* ---- when ------------------------------------------------------------------------------------ */

/* Puts the numbers of the labels with documents, by name, into `labels`, which has room for all
 * (NULL: not wanted). Returns how many there are. */
static uint32_t list_labels(const struct nb_model *counts, uint32_t *labels)
{
    const uint32_t *sorted = nb_model_labels_sorted(counts);
    uint32_t found = 0;
    for (uint32_t i = 0; i < nb_model_label_count(counts); i++) {
        if (nb_model_documents(counts, sorted[i]) == 0)
            continue;
        if (labels != NULL)
            labels[found] = sorted[i];
        found++;
    }
    return found;
}

static bool has_enough(const struct nb_model *counts)
{
    unsigned labels = 0;
    for (uint32_t v = 0; v < nb_model_label_count(counts); v++)
        labels += nb_model_documents(counts, v) >= OF_LABEL_LEAST;
    return labels >= 2 && nb_model_documents_all(counts) >= DOCUMENTS_LEAST;
}

static bool has_labels_of(const struct nb_model *counts, const struct nb_calibration *fitted)
{
    for (uint32_t i = 0; i < fitted->label_count; i++)
        if (fitted->labels[i] >= nb_model_label_count(counts) ||
            nb_model_documents(counts, fitted->labels[i]) == 0)
            return false;
    return list_labels(counts, NULL) == fitted->label_count;
}

bool nb_recalibrate_is_wanted(const struct nb_live *live)
{
    const struct nb_settings *settings = &live->published->settings;
    const struct nb_calibration *fitted = settings->fitted;
    if (settings->calibration == NB_CALIBRATION_NONE || !has_enough(live->counts))
        return false;
    if (fitted == NULL || !has_labels_of(live->counts, fitted))
        return true;
    uint64_t now = nb_model_documents_all(live->counts), then = fitted->documents;
    return (now > then ? now - then : then - now) * GROWTH >= then;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static uint32_t sample_size(const struct nb_recalibration *r, uint64_t documents)
{
    assert(r->label_count > 0);
    uint64_t most = SCORES_MOST / r->label_count;
    uint64_t walks = ROWS_MOST / ((uint64_t)nb_model_rows(r->live->counts) + 1);
    most = most < SAMPLE_MOST ? most : SAMPLE_MOST;
    if (nb_settings_walk_vocabulary(&r->published->settings) && most > walks)
        most = walks > WALKS_LEAST ? walks : WALKS_LEAST;
    return (uint32_t)(documents < most ? documents : most);
}

static int draw(struct nb_recalibration *r, const struct nb_view *view)
{
    struct nb_living *living = NULL;
    int rc = nb_living_load(view, r->live->number, &living, NULL);
    if (rc != 0)
        return rc;
    struct nb_random random = nb_random_of(r->live->number, r->live->checkpoint.last);
    r->size = sample_size(r, nb_living_count(living));
    r->numbers = calloc(r->size + (size_t)1, sizeof *r->numbers);
    r->truths = calloc(r->size + (size_t)1, sizeof *r->truths);
    r->scores = calloc(((size_t)r->size + 1) * r->label_count, sizeof *r->scores);
    rc = r->numbers == NULL || r->truths == NULL || r->scores == NULL ? NB_NO_MEMORY : 0;
    if (rc == 0)
        nb_living_sample(living, &random, r->size, r->numbers);
    nb_living_free(&living);
    return rc;
}

static int begin(struct nb_engine *engine, struct nb_live *live, const struct nb_view *view)
{
    nb_recalibrate_end(engine);
    struct nb_recalibration *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NB_NO_MEMORY;
    engine->recalibration = r;
    atomic_fetch_add(&live->references, 1);
    r->live = live;
    r->published = nb_live_settings(live);
    nb_scores_init(&r->said);
    r->labels = calloc(nb_model_label_count(live->counts) + (size_t)1, sizeof *r->labels);
    if (r->labels == NULL || nb_scorer_new(&r->published->settings, &r->scorer) != 0)
        return NB_NO_MEMORY;
    r->label_count = list_labels(live->counts, r->labels);
    return draw(r, view);
}

/* Whether the one under way is of this model as it is: not of other settings or labels. */
static bool goes_on(const struct nb_recalibration *r, const struct nb_live *live)
{
    if (r == NULL || r->live != live || r->published != live->published)
        return false;
    for (uint32_t i = 0; i < r->label_count; i++)
        if (nb_model_documents(live->counts, r->labels[i]) == 0)
            return false;
    return list_labels(live->counts, NULL) == r->label_count;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Reads the document of an entry of the sample; *found: it is still learned. */
static int read_document(struct nb_recalibration *r, const struct nb_view *view, uint64_t number,
                         bool *found)
{
    const struct nb_model *counts = r->live->counts;
    const struct nb_change *change = &r->entry.change;
    *found = false;
    int rc = nb_ledger_read(view, number, &r->entry, NULL);
    if (rc == NB_NOT_FOUND)
        return 0;
    if (rc == 0)
        rc = nb_ledger_is_living(view, &r->entry, found, NULL);
    *found = *found && change->kind == NB_CHANGE_TRAIN && change->model == r->live->number;
    if (rc != 0 || !*found)
        return rc;
    rc = nb_bag_decode(change->bag, nb_model_rows(counts), &r->rows, NULL);
    if (rc == 0)
        rc = nb_array_reserve(&r->features, &r->feature_room, r->rows.size, sizeof *r->features);
    for (size_t i = 0; rc == 0 && i < r->rows.size; i++)
        r->features[i] = (struct nb_feature){nb_model_row_id(counts, r->rows.counts[i].row),
                                             r->rows.counts[i].count};
    return rc;
}

static void score(void *user)
{
    struct nb_recalibration *r = user;
    r->code = nb_score(r->scorer, r->live->counts, r->features, r->rows.size, &r->said, NULL);
}

/* A document that is the only one of its label has no score of it. */
static int score_without(struct nb_recalibration *r)
{
    uint32_t label = r->entry.change.label, place = 0;
    while (place < r->label_count && r->labels[place] != label)
        place++;
    if (place == r->label_count || nb_model_documents(r->live->counts, label) < 2)
        return 0;
    nb_model_without(r->live->counts, label, r->rows.counts, r->rows.size, score, r);
    if (r->code != 0)
        return r->code;
    assert(r->said.size == r->label_count && r->count < r->size);
    memcpy(r->scores + r->count * r->label_count, r->said.log_scores,
           r->label_count * sizeof *r->scores);
    r->truths[r->count++] = place;
    return 0;
}

static int score_some(struct nb_recalibration *r, const struct nb_view *view)
{
    bool walks = nb_settings_walk_vocabulary(&r->published->settings);
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < (walks ? 1 : AT_ONCE) && r->next < r->size; i++) {
        bool found;
        rc = read_document(r, view, r->numbers[r->next++], &found);
        if (rc == 0 && found)
            rc = score_without(r);
    }
    return rc;
}

/* ---- the map --------------------------------------------------------------------------------- */

static int fit(const struct nb_recalibration *r, struct nb_settings *settings)
{
    const struct nb_calibration_scores scores = {.label_count = r->label_count,
                                                 .labels = r->labels,
                                                 .count = r->count,
                                                 .truths = r->truths,
                                                 .log_scores = r->scores};
    enum nb_calibration_method method =
        (enum nb_calibration_method)r->published->settings.calibration;
    struct nb_calibration *fitted = NULL;
    if (r->count < 2)
        return NB_CONFLICT;
    int rc = nb_calibration_fit(method, &scores, &fitted);
    if (rc == 0)
        rc = nb_calibration_errors(method, &scores, &fitted->before, &fitted->after);
    if (rc == 0)
        rc = nb_settings_copy(settings, &r->published->settings);
    if (rc != 0) {
        nb_calibration_free(&fitted);
        return rc;
    }
    fitted->documents = nb_model_documents_all(r->live->counts);
    nb_calibration_free(&settings->fitted);
    settings->fitted = fitted;
    return 0;
}

int nb_recalibrate_some(struct nb_engine *engine, struct nb_live *live, bool *done,
                        struct nb_settings *settings)
{
    struct nb_view view;
    *done = false;
    int rc = nb_store_snapshot(engine->store, &view, NULL);
    if (rc != 0)
        return rc;
    if (!goes_on(engine->recalibration, live))
        rc = begin(engine, live, &view);
    if (rc == 0)
        rc = score_some(engine->recalibration, &view);
    nb_store_snapshot_end(&view);
    bool is_last = rc == 0 && engine->recalibration->next == engine->recalibration->size;
    if (is_last)
        rc = fit(engine->recalibration, settings);
    *done = rc == 0 && is_last;
    if (rc != 0 || is_last)
        nb_recalibrate_end(engine);
    return rc;
}
