/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/recalibrate/recalibrate.h"

#include <assert.h>
#include <stdlib.h>

#include "core/model/registry/registry.h"
#include "core/writer/recalibrate/book_scores.h"
#include "core/writer/recalibrate/error_of.h"

enum {
    GROWTH = 5, /* a fifth more or fewer, and it is calibrated again */
    SAMPLE_MOST = 2000,
    SCORES_MOST = 200000 /* documents times labels */
};

struct nb_recalibration {
    struct nb_live *live; /* referenced */
    struct nb_book_scores scores;
};

void nb_recalibrate_end(struct nb_engine *engine)
{
    struct nb_recalibration *r = engine->recalibration;
    engine->recalibration = NULL;
    if (r == NULL)
        return;
    nb_book_scores_deinit(&r->scores);
    nb_registry_release(engine, &r->live);
    free(r);
}

/* ---- when ------------------------------------------------------------------------------------ */

static bool has_labels_of(const struct nb_model *counts, const struct nb_calibration *fitted)
{
    for (uint32_t i = 0; i < fitted->label_count; i++)
        if (fitted->labels[i] >= nb_model_label_count(counts) ||
            nb_model_documents(counts, fitted->labels[i]) == 0)
            return false;
    return nb_model_labels_with_documents(counts) == fitted->label_count;
}

static bool is_another_size(uint64_t now, uint64_t then)
{
    return (now > then ? now - then : then - now) * GROWTH >= then;
}

/* Whether the last fit failed, and another one would fail, too. */
static bool has_failed(const struct nb_live *live)
{
    return live->unfitted.documents != 0 && live->unfitted.edition == live->published->edition &&
           live->unfitted.labels == nb_model_labels_with_documents(live->counts) &&
           !is_another_size(nb_model_documents_all(live->counts), live->unfitted.documents);
}

static void note_failed(struct nb_live *live)
{
    live->unfitted.documents = nb_model_documents_all(live->counts);
    live->unfitted.edition = live->published->edition;
    live->unfitted.labels = nb_model_labels_with_documents(live->counts);
}

bool nb_recalibrate_is_wanted(const struct nb_live *live)
{
    const struct nb_settings *settings = &live->published->settings;
    const struct nb_calibration *fitted = settings->fitted;
    if (settings->calibration == NB_CALIBRATION_NONE || !nb_book_scores_are_enough(live->counts) ||
        has_failed(live))
        return false;
    if (fitted == NULL || !has_labels_of(live->counts, fitted))
        return true;
    return is_another_size(nb_model_documents_all(live->counts), fitted->documents);
}

/* ---- scores ---------------------------------------------------------------------------------- */

static int begin(struct nb_engine *engine, struct nb_live *live, const struct nb_view *view)
{
    static const struct nb_book_sample SAMPLE = {SAMPLE_MOST, SCORES_MOST};
    nb_recalibrate_end(engine);
    struct nb_recalibration *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NB_NO_MEMORY;
    engine->recalibration = r;
    atomic_fetch_add(&live->references, 1);
    r->live = live;
    return nb_book_scores_begin(&r->scores, live, view, SAMPLE,
                                nb_random_of(live->number, live->checkpoint.last));
}

/* Whether the one under way is of this model as it is: not of other settings or labels. */
static bool goes_on(const struct nb_recalibration *r, const struct nb_live *live)
{
    return r != NULL && r->live == live && nb_book_scores_go_on(&r->scores);
}

/* ---- the map --------------------------------------------------------------------------------- */

static int fit(const struct nb_book_scores *s, struct nb_settings *settings)
{
    const struct nb_calibration_scores scores = nb_book_scores_of(s);
    enum nb_calibration_method method =
        (enum nb_calibration_method)s->published->settings.calibration;
    struct nb_calibration *fitted = NULL;
    if (scores.count < 2)
        return NB_CONFLICT;
    int rc = nb_calibration_fit(method, &scores, &fitted);
    if (rc == 0)
        rc = nb_calibration_errors(method, &scores, &fitted->before, &fitted->after);
    if (rc == 0)
        rc = nb_settings_copy(settings, &s->published->settings);
    if (rc != 0) {
        nb_calibration_free(&fitted);
        return rc;
    }
    fitted->documents = nb_model_documents_all(s->live->counts);
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
        rc = nb_book_scores_some(&engine->recalibration->scores, &view);
    nb_store_snapshot_end(&view);
    bool is_last =
        rc == 0 && engine->recalibration->scores.next == engine->recalibration->scores.size;
    if (is_last)
        rc = fit(&engine->recalibration->scores, settings);
    if (rc == NB_CONFLICT)
        note_failed(live);
    *done = rc == 0 && is_last;
    if (rc != 0 || is_last)
        nb_recalibrate_end(engine);
    return rc;
}
