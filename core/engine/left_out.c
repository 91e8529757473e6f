/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/left_out.h"

#include <stdlib.h>

#include "core/engine/writer.h"
#include "core/ledger/entries/current_entries.h"
#include "core/model/learner.h"
#include "core/model/live/state.h"
#include "core/model/order.h"
#include "core/model/parents.h"
#include "core/writer/book_scores.h"
#include "core/writer/recalibrate.h"

enum {
    SAMPLE_MOST = 5000,
    SCORES_MOST = 1000000, /* documents times labels: a second or two, and 10 MB */
    AT_ONCE = 64,          /* documents read in one snapshot: a store that must grow waits for it */
};

/* A document of the sample: its entry, and the place of its score once it has one. */
struct left_out {
    uint64_t number;
    size_t first, length; /* position and length of the score in sample.scores */
};

struct sample {
    struct left_out *documents; /* owned; oldest first */
    uint32_t *turns;            /* owned; the documents in the order in which they are scored */
    uint32_t size;
    struct nb_stack_weights *weights; /* owned */
    struct nb_buffer scores;          /* in their stored form */
};

static void sample_deinit(struct sample *s)
{
    free(s->documents);
    free(s->turns);
    if (s->weights != NULL)
        nb_stack_weights_free(&s->weights);
    nb_buffer_deinit(&s->scores);
}

/* Scores one document under the read locks, and then teaches it to the twin: later documents are
 * scored with it. */
static int score_left_out(struct nb_drawn *drawn, struct nb_parent_chain *chain,
                          const struct nb_view *view, uint64_t number,
                          struct nb_stack_weights *weights, struct nb_scores *scores, bool *found)
{
    uint32_t label;
    nb_parent_chain_lock(chain);
    int rc =
        nb_drawn_read(drawn, chain->live[0], chain->published[0], view, number, weights, found);
    label = drawn->entry.change.label;
    if (rc == 0 && *found)
        rc = nb_stack_score(weights, &drawn->inputs, scores);
    if (rc == 0 && *found)
        (void)nb_scores_moderate_by(scores, chain->live[0]->counts, label);
    if (rc == 0 && *found)
        rc = nb_parent_chain_score_left_out(chain, &drawn->rows, label, weights, scores);
    if (rc == 0 && *found)
        rc = nb_stack_twin_learn(weights, &drawn->inputs, label, 1);
    nb_parent_chain_unlock(chain);
    return rc;
}

static int keep_left_out(struct sample *s, struct left_out *document, uint32_t label,
                         const struct nb_scores *scores)
{
    struct nb_stored_score scored = {.label = label,
                                     .size = (uint32_t)scores->size,
                                     .labels = scores->labels,
                                     .probabilities = scores->probabilities};
    if (scores->size == 2)
        scored.log_odds = scores->log_scores[1] - scores->log_scores[0];
    document->first = s->scores.length;
    int rc = nb_stored_score_write(&scored, &s->scores);
    document->length = s->scores.length - document->first;
    return rc;
}

/* Scores some documents in one snapshot, and skips those that were forgotten meanwhile. */
static int score_some(struct nb_engine *engine, struct nb_parent_chain *chain, struct sample *s,
                      uint32_t first, uint32_t count, struct nb_error *error)
{
    struct nb_view view;
    struct nb_drawn drawn = {.rows = {0}};
    struct nb_scores scores;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    nb_scores_init(&scores);
    for (uint32_t i = first; rc == 0 && i < first + count; i++) {
        struct left_out *document = &s->documents[s->turns[i]];
        bool found;
        rc = score_left_out(&drawn, chain, &view, document->number, s->weights, &scores, &found);
        if (rc == 0 && found)
            rc = keep_left_out(s, document, drawn.entry.change.label, &scores);
    }
    nb_store_snapshot_end(&view);
    nb_stack_weights_commit(s->weights); /* no rollback will be needed */
    nb_scores_deinit(&scores);
    nb_drawn_deinit(&drawn);
    return rc == 0 ? 0 : nb_error_set(error, rc, "scoring learned documents failed");
}

static int fill_sample(struct sample *s, const struct nb_current_entries *current,
                       struct nb_random random)
{
    uint64_t *numbers = malloc((s->size + (size_t)1) * sizeof *numbers);
    s->documents = calloc(s->size + (size_t)1, sizeof *s->documents);
    s->turns = calloc(s->size + (size_t)1, sizeof *s->turns);
    if (numbers == NULL || s->documents == NULL || s->turns == NULL) {
        free(numbers);
        return NB_NO_MEMORY;
    }
    nb_current_entries_sample(current, &random, s->size, numbers);
    for (uint32_t i = 0; i < s->size; i++) {
        uint32_t place = (uint32_t)nb_random_below(&random, i + (uint64_t)1);
        s->documents[i].number = numbers[i];
        s->turns[i] = s->turns[place];
        s->turns[place] = i;
    }
    free(numbers);
    return 0;
}

/* Draws the sample and the order of scoring. Both depend on the documents alone, so that each
 * request gets the same. */
static int draw_sample(struct nb_engine *engine, const struct nb_live *live, size_t labels,
                       struct sample *s, struct nb_error *error)
{
    struct nb_view view;
    struct nb_current_entries *current = NULL;
    uint64_t most = labels == 0 ? 0 : SCORES_MOST / labels;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_current_entries_load(&view, live->number, &current, error);
    nb_store_snapshot_end(&view);
    if (rc != 0)
        return rc;
    most = most < SAMPLE_MOST ? most : SAMPLE_MOST;
    most = most < nb_current_entries_count(current) ? most : nb_current_entries_count(current);
    s->size = (uint32_t)most;
    rc = fill_sample(s, current, nb_random_of(live->number, 0));
    nb_current_entries_free(&current);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

static int copy_stack(const struct nb_published *published, struct sample *s,
                      struct nb_error *error)
{
    nb_stack_weights_read_lock(published->weights);
    s->weights = nb_stack_weights_with_new_twin(published->weights);
    nb_stack_weights_unlock(published->weights);
    return s->weights != NULL ? 0 : nb_error_no_memory(error);
}

static int hand_over(const struct sample *s, nb_left_out_visit *visit, void *user,
                     struct nb_error *error)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < s->size; i++) {
        const struct left_out *document = &s->documents[i];
        if (document->length > 0)
            rc =
                visit(user, (struct nb_string){s->scores.bytes + document->first, document->length},
                      error);
    }
    return rc;
}

int nb_left_out_scores(struct nb_engine *engine, struct nb_live *live, size_t labels,
                       nb_left_out_visit *visit, void *user, struct nb_error *error)
{
    struct sample s = {.size = 0};
    struct nb_parent_chain chain = {.count = 0};
    int rc = nb_parent_chain_begin(&chain, engine, live, error);
    if (rc == 0)
        rc = nb_published_is_stacked(chain.published[0])
                 ? draw_sample(engine, live, labels, &s, error)
                 : nb_error_set(error, NB_CONFLICT,
                                "leave-one-out scores are of models whose `decision` is "
                                "\"stacked\"");
    if (rc == 0)
        rc = copy_stack(chain.published[0], &s, error);
    for (uint32_t at = 0; rc == 0 && at < s.size; at += AT_ONCE)
        rc = score_some(engine, &chain, &s, at, s.size - at < AT_ONCE ? s.size - at : AT_ONCE,
                        error);
    if (rc == 0)
        rc = hand_over(&s, visit, user, error);
    nb_parent_chain_deinit(&chain);
    sample_deinit(&s);
    return rc;
}

/* After new settings or a calibration the scoring of a model by the book begins anew. */
enum { BEGINNINGS_MOST = 5 };

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

static int score_some_by_book(struct nb_engine *engine, void *argument, struct nb_error *error)
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

static int hand_over_by_book(const struct scoring *s, nb_left_out_visit *visit, void *user,
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
        rc = nb_writer_run(engine, score_some_by_book, &s, error);
    if (rc == 0)
        rc = hand_over_by_book(&s, visit, user, error);
    nb_book_scores_deinit(&s.scores);
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}
