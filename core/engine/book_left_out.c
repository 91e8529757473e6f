/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/book_left_out.h"

#include "core/engine/writer.h"
#include "core/model/learn/stored_score.h"
#include "core/writer/recalibrate/book_scores.h"
#include "core/writer/recalibrate/recalibrate.h"

enum {
    SAMPLE_MOST = 5000,
    SCORES_MOST = 1000000, /* documents times labels, as for stacked models */
    BEGINNINGS_MOST = 5    /* after new settings or a calibration the scoring begins anew */
};

/* The state of the scoring between tasks of the writer. */
struct scoring {
    struct nb_live *live; /* borrowed */
    struct nb_book_scores scores;
    unsigned beginnings;
};

static int begin(struct scoring *s, const struct nb_view *view, struct nb_error *error)
{
    static const struct nb_book_sample SAMPLE = {SAMPLE_MOST, SCORES_MOST};
    if (s->beginnings++ == BEGINNINGS_MOST)
        return nb_error_set(error, NB_CONFLICT,
                            "the labels or the settings of the model change meanwhile: ask again");
    nb_book_scores_deinit(&s->scores);
    int rc =
        nb_book_scores_begin(&s->scores, s->live, view, SAMPLE, nb_random_of(s->live->number, 0));
    return rc == NB_CONFLICT ? nb_error_set(error, rc, "the model has learned no document") : rc;
}

static int score_some(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct scoring *s = argument;
    struct nb_view view;
    if (atomic_load(&s->live->removed))
        return nb_error_set(error, NB_NOT_FOUND, "the model was deleted or replaced meanwhile");
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    if (s->scores.live == NULL || !nb_book_scores_go_on(&s->scores))
        rc = begin(s, &view, error);
    if (rc == 0)
        rc = nb_book_scores_some(&s->scores, &view);
    nb_store_snapshot_end(&view);
    return rc;
}

/* ---- handing over ---------------------------------------------------------------------------- */

struct handing {
    nb_left_out_visit *visit;
    void *user;
    struct nb_error *error;
    struct nb_buffer record; /* reused */
};

static int hand_one(void *user, const struct nb_scores *said, uint32_t label)
{
    struct handing *h = user;
    h->record.length = 0;
    int rc = nb_stored_score_keep(said, label, &h->record);
    return rc != 0 ? rc
                   : h->visit(h->user,
                              (struct nb_string){(const char *)h->record.bytes, h->record.length},
                              h->error);
}

/* A map needs as many documents as the map of the model itself. */
static enum nb_calibration_method method_of(const struct scoring *s)
{
    return nb_book_scores_are_enough(s->live->counts)
               ? (enum nb_calibration_method)s->scores.published->settings.calibration
               : NB_CALIBRATION_NONE;
}

static int hand_over(const struct scoring *s, nb_left_out_visit *visit, void *user,
                     struct nb_error *error)
{
    struct handing h = {.visit = visit, .user = user, .error = error};
    const struct nb_calibration_scores scores = nb_book_scores_of(&s->scores);
    nb_model_read_lock(s->live->counts);
    enum nb_calibration_method method = method_of(s);
    nb_model_unlock(s->live->counts);
    int rc = scores.count == 0 ? 0 : nb_calibration_judge(method, &scores, hand_one, &h);
    nb_buffer_deinit(&h.record);
    return rc == NB_CONFLICT ? nb_error_set(error, rc, "too few documents of any label were drawn")
                             : rc;
}

static int check(struct nb_live *live, struct nb_error *error)
{
    struct nb_published *published = nb_live_settings(live);
    int rc = 0;
    if (nb_published_is_stacked(published))
        rc = nb_error_set(error, NB_CONFLICT, "the model is stacked");
    else if (published->settings.parent != NULL)
        rc =
            nb_error_set(error, NB_CONFLICT,
                         "leave-one-out scores are not of models with a parent whose `decision` is "
                         "\"bayes\"");
    nb_published_release(&published);
    return rc;
}

int nb_book_left_out_scores(struct nb_engine *engine, struct nb_live *live,
                            nb_left_out_visit *visit, void *user, struct nb_error *error)
{
    struct scoring s = {.live = live};
    int rc = check(live, error);
    while (rc == 0 && (s.scores.live == NULL || s.scores.next < s.scores.size))
        rc = nb_writer_run(engine, score_some, &s, error);
    if (rc == 0)
        rc = hand_over(&s, visit, user, error);
    nb_book_scores_deinit(&s.scores);
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}
