/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/recalibrate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/bayes/scorer.h"
#include "core/ledger/document_lists.h"
#include "core/ledger/ledger.h"
#include "core/model/checkpoint.h"
#include "core/model/evaluation.h"
#include "core/model/model_transaction.h"
#include "core/model/registry.h"
#include "core/model/relayed.h"

enum {
    DOCUMENTS_LEAST = 20,
    OF_LABEL_LEAST = 5,    /* documents of each of two labels */
    ROWS_MOST = 100000000, /* most rows walked over for all scores: half a second */
    WALKS_LEAST = 50,
    AT_ONCE = 16 /* documents: less than a millisecond */
};

void nb_book_scores_deinit(struct nb_book_scores *s)
{
    nb_scorer_free(&s->scorer);
    nb_published_release(&s->published);
    nb_entry_deinit(&s->entry);
    nb_rows_deinit(&s->rows);
    nb_scores_deinit(&s->said);
    free(s->features);
    free(s->numbers);
    free(s->labels);
    free(s->truths);
    free(s->scores);
    *s = (struct nb_book_scores){.live = NULL};
}

bool nb_book_scores_are_enough(const struct nb_model *counts)
{
    unsigned labels = 0;
    for (uint32_t v = 0; v < nb_model_label_count(counts); v++)
        labels += nb_model_documents(counts, v) >= OF_LABEL_LEAST;
    return labels >= 2 && nb_model_documents_all(counts) >= DOCUMENTS_LEAST;
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* Puts the numbers of the labels with documents, sorted by name, into `labels`, which has room for
 * all. Returns how many there are. */
static uint32_t list_labels(const struct nb_model *counts, uint32_t *labels)
{
    const uint32_t *sorted = nb_model_labels_sorted(counts);
    uint32_t found = 0;
    for (uint32_t i = 0; i < nb_model_label_count(counts); i++) {
        if (nb_model_documents(counts, sorted[i]) == 0)
            continue;
        labels[found++] = sorted[i];
    }
    return found;
}

static uint32_t sample_size(const struct nb_book_scores *s, struct nb_book_sample sample,
                            uint64_t documents)
{
    assert(s->label_count > 0);
    uint64_t most = sample.scores_most / s->label_count;
    uint64_t walks = ROWS_MOST / ((uint64_t)nb_model_rows(s->live->counts) + 1);
    most = most < sample.documents_most ? most : sample.documents_most;
    if (nb_settings_walk_vocabulary(&s->published->settings) && most > walks)
        most = walks > WALKS_LEAST ? walks : WALKS_LEAST;
    return (uint32_t)(documents < most ? documents : most);
}

static int draw(struct nb_book_scores *s, const struct nb_view *view, struct nb_book_sample sample,
                struct nb_random random)
{
    struct nb_current_entries *current = NULL;
    int rc = nb_current_entries_load(view, s->live->number, &current, NULL);
    if (rc != 0)
        return rc;
    s->size = sample_size(s, sample, nb_current_entries_count(current));
    s->numbers = calloc(s->size + (size_t)1, sizeof *s->numbers);
    s->truths = calloc(s->size + (size_t)1, sizeof *s->truths);
    s->scores = calloc(((size_t)s->size + 1) * s->label_count, sizeof *s->scores);
    rc = s->numbers == NULL || s->truths == NULL || s->scores == NULL ? NB_NO_MEMORY : 0;
    if (rc == 0)
        nb_current_entries_sample(current, &random, s->size, s->numbers);
    nb_current_entries_free(&current);
    return rc;
}

int nb_book_scores_begin(struct nb_book_scores *s, struct nb_live *live, const struct nb_view *view,
                         struct nb_book_sample sample, struct nb_random random)
{
    s->live = live;
    s->published = nb_live_settings(live);
    nb_scores_init(&s->said);
    s->labels = calloc(nb_model_label_count(live->counts) + (size_t)1, sizeof *s->labels);
    if (s->labels == NULL || nb_scorer_new(&s->published->settings, &s->scorer) != 0)
        return NB_NO_MEMORY;
    s->label_count = list_labels(live->counts, s->labels);
    return s->label_count == 0 ? NB_CONFLICT : draw(s, view, sample, random);
}

bool nb_book_scores_go_on(const struct nb_book_scores *s)
{
    const struct nb_model *counts = s->live->counts;
    const uint32_t *sorted = nb_model_labels_sorted(counts);
    uint32_t found = 0;
    if (s->published != s->live->published)
        return false;
    for (uint32_t i = 0; i < nb_model_label_count(counts); i++) {
        if (nb_model_documents(counts, sorted[i]) == 0)
            continue;
        if (found == s->label_count || s->labels[found++] != sorted[i])
            return false;
    }
    return found == s->label_count;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Reads the document of an entry of the sample; *found: it is still learned. */
static int read_document(struct nb_book_scores *s, const struct nb_view *view, uint64_t number,
                         bool *found)
{
    const struct nb_model *counts = s->live->counts;
    const struct nb_change *change = &s->entry.change;
    *found = false;
    int rc = nb_ledger_read(view, number, &s->entry, NULL);
    if (rc == NB_NOT_FOUND)
        return 0;
    if (rc == 0)
        rc = nb_ledger_is_current(view, &s->entry, found, NULL);
    *found = *found && change->kind == NB_CHANGE_TRAIN && change->model == s->live->number;
    if (rc != 0 || !*found)
        return rc;
    rc = nb_bag_decode(change->bag, nb_model_rows(counts), &s->rows, NULL);
    if (rc == 0)
        rc = nb_array_reserve(&s->features, &s->feature_room, s->rows.size, sizeof *s->features);
    for (size_t i = 0; rc == 0 && i < s->rows.size; i++)
        s->features[i] = (struct nb_feature){.id = nb_model_row_id(counts, s->rows.counts[i].row),
                                             .count = s->rows.counts[i].count};
    return rc;
}

static void score(void *user)
{
    struct nb_book_scores *s = user;
    s->code = nb_score(s->scorer, s->live->counts, s->features, s->rows.size, &s->said, NULL);
}

/* The only document of a label gets no score for this label. */
static int score_without(struct nb_book_scores *s)
{
    uint32_t label = s->entry.change.label, place = 0;
    while (place < s->label_count && s->labels[place] != label)
        place++;
    if (place == s->label_count || nb_model_documents(s->live->counts, label) < 2)
        return 0;
    nb_model_without(s->live->counts, label, s->rows.counts, s->rows.size, score, s);
    if (s->code != 0)
        return s->code;
    assert(s->said.size == s->label_count && s->count < s->size);
    memcpy(s->scores + s->count * s->label_count, s->said.log_scores,
           s->label_count * sizeof *s->scores);
    s->numbers[s->count] = s->entry.number; /* count < next: its own number, or an older place */
    s->truths[s->count++] = place;
    return 0;
}

int nb_book_scores_some(struct nb_book_scores *s, const struct nb_view *view)
{
    bool walks = nb_settings_walk_vocabulary(&s->published->settings);
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < (walks ? 1 : AT_ONCE) && s->next < s->size; i++) {
        bool found;
        rc = read_document(s, view, s->numbers[s->next++], &found);
        if (rc == 0 && found)
            rc = score_without(s);
    }
    return rc;
}

struct nb_calibration_scores nb_book_scores_of(const struct nb_book_scores *s)
{
    return (struct nb_calibration_scores){.label_count = s->label_count,
                                          .labels = s->labels,
                                          .count = s->count,
                                          .truths = s->truths,
                                          .log_scores = s->scores};
}

/* Half of the documents; the lists are owned. */
struct half {
    struct nb_calibration_scores scores;
    uint32_t *truths;
    double *log_scores;
};

static void half_deinit(struct half *half)
{
    free(half->truths);
    free(half->log_scores);
}

/* Returns the half of each document. The labels of documents may alternate, so each label is
 * divided separately. Owned by the caller; NULL: out of memory. */
static unsigned char *divide(const struct nb_calibration_scores *all)
{
    unsigned char *halves = calloc(all->count, 1), *next = calloc(all->label_count, 1);
    for (size_t i = 0; halves != NULL && next != NULL && i < all->count; i++) {
        halves[i] = next[all->truths[i]];
        next[all->truths[i]] ^= 1;
    }
    if (next == NULL) {
        free(halves);
        halves = NULL;
    }
    free(next);
    return halves;
}

static int take_half(const struct nb_calibration_scores *all, const unsigned char *halves,
                     size_t which, struct half *half)
{
    size_t labels = all->label_count;
    half->truths = calloc(all->count, sizeof *half->truths);
    half->log_scores = calloc(all->count, labels * sizeof *half->log_scores);
    if (half->truths == NULL || half->log_scores == NULL)
        return NB_NO_MEMORY;
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (halves[i] != which)
            continue;
        half->truths[count] = all->truths[i];
        memcpy(half->log_scores + count++ * labels, all->log_scores + i * labels,
               labels * sizeof *half->log_scores);
    }
    half->scores = *all;
    half->scores.count = count;
    half->scores.truths = half->truths;
    half->scores.log_scores = half->log_scores;
    return 0;
}

/* Returns finite log-odds. */
static double odds_of(double p)
{
    static const double LEAST = 1e-15;
    p = fmin(fmax(p, LEAST), 1 - LEAST);
    return log(p / (1 - p));
}

/* For each half, fits the map that judges it to the documents of the other half. */
static int fit_others(enum nb_calibration_method method, const struct nb_calibration_scores *scores,
                      const unsigned char *halves, struct nb_calibration *maps[2])
{
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < 2; k++) {
        struct half others = {.truths = NULL};
        rc = take_half(scores, halves, 1 - k, &others);
        if (rc == 0 && others.scores.count == 0)
            rc = NB_CONFLICT;
        if (rc == 0)
            rc = nb_calibration_fit(method, &others.scores, &maps[k]);
        half_deinit(&others);
    }
    return rc;
}

/* Judges one document by the map (NULL: by the soft-max). */
static int judge(const struct nb_calibration_scores *s, size_t i, const struct nb_calibration *map,
                 struct nb_scores *scores)
{
    if (nb_scores_grow(scores, s->label_count) != 0)
        return NB_NO_MEMORY;
    scores->size = s->label_count;
    memcpy(scores->labels, s->labels, s->label_count * sizeof *scores->labels);
    memcpy(scores->log_scores, s->log_scores + i * s->label_count,
           s->label_count * sizeof *scores->log_scores);
    nb_scores_rank(scores);
    if (map != NULL)
        nb_calibration_apply(map, s->labels, scores->log_scores, scores->probabilities);
    return 0;
}

int nb_calibration_judge(enum nb_calibration_method method,
                         const struct nb_calibration_scores *scores, nb_calibration_visit *visit,
                         void *user)
{
    struct nb_calibration *maps[2] = {NULL, NULL};
    struct nb_scores said;
    unsigned char *halves = divide(scores);
    int rc = halves == NULL ? NB_NO_MEMORY : 0;
    nb_scores_init(&said);
    if (rc == 0 && method != NB_CALIBRATION_NONE)
        rc = fit_others(method, scores, halves, maps);
    for (size_t i = 0; rc == 0 && i < scores->count; i++) {
        rc = judge(scores, i, maps[halves[i]], &said);
        if (rc == 0)
            rc = visit(user, &said, scores->labels[scores->truths[i]]);
    }
    nb_scores_deinit(&said);
    free(halves);
    nb_calibration_free(&maps[0]);
    nb_calibration_free(&maps[1]);
    return rc;
}

static int add(void *user, const struct nb_scores *said, uint32_t label)
{
    const struct nb_stored_score scored = {
        .label = label,
        .size = (uint32_t)said->size,
        .labels = said->labels,
        .probabilities = said->probabilities,
        .log_odds = said->size == 2 ? odds_of(said->probabilities[1]) : 0};
    int rc = nb_evaluator_add(user, &scored);
    assert(rc == 0 || rc == NB_NO_MEMORY || rc == NB_TOO_LARGE);
    return rc;
}

static int measure(enum nb_calibration_method method, const struct nb_calibration_scores *s,
                   double *ece)
{
    struct nb_evaluator *evaluator = NULL;
    struct nb_evaluation evaluation;
    int rc = nb_evaluator_new(s->labels, s->label_count, s->label_count - 1, &evaluator);
    if (rc == 0)
        rc = nb_calibration_judge(method, s, add, evaluator);
    if (rc == 0)
        rc = nb_evaluator_finish(evaluator, s->count, &evaluation);
    if (rc == 0) {
        *ece = evaluation.ece;
        nb_evaluation_deinit(&evaluation);
    }
    nb_evaluator_free(&evaluator);
    return rc;
}

/* Computes the expected calibration error (core/model/evaluation.h) of the soft-max of the
 * scores, and of a map that was fitted to other documents (nb_calibration_judge). Returns 0,
 * NB_CONFLICT (no label has two documents) or NB_NO_MEMORY. */
static int calibration_errors(enum nb_calibration_method method,
                              const struct nb_calibration_scores *scores, double *before,
                              double *after)
{
    assert(scores->count > 0);
    int rc = measure(NB_CALIBRATION_NONE, scores, before);
    return rc == 0 ? measure(method, scores, after) : rc;
}

/* The data that the transaction writes. */
struct settling {
    struct nb_live *live;
    const struct nb_settings *settings;
    struct nb_change change;
    struct nb_ledger_totals before; /* the transaction may be tried twice */
    uint64_t number;                /* number of the entry */
};

static int write_entry(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct settling *s = argument;
    struct nb_live *live = s->live;
    struct nb_buffer scratch = {0};
    live->checkpoint.totals = s->before;
    s->change.model = live->number;
    s->change.time = nb_stream_states_time(engine);
    s->number = nb_serials_entry(&engine->serials);
    int rc =
        nb_ledger_append(view, s->number, &s->change, &live->checkpoint.totals, &scratch, error);
    nb_buffer_deinit(&scratch);
    if (rc == 0)
        rc = nb_put_model(engine, view, live, s->settings, error);
    struct nb_state_record state = nb_checkpoint_state(live, s->number);
    state.tail++;
    return rc != 0 ? rc : nb_put_state(engine, view, live, &state, error);
}

static int commit(struct nb_engine *engine, struct settling *s)
{
    int rc = nb_transaction(engine, 0, write_entry, s, NULL);
    if (rc != 0) {
        s->live->checkpoint.totals = s->before;
        return rc;
    }
    s->live->checkpoint.last = s->number;
    nb_checkpoint_note(engine, s->live, 1);
    return 0;
}

int nb_put_fitted(struct nb_engine *engine, struct nb_live *live,
                  const struct nb_settings *settings)
{
    struct nb_buffer stored = {0};
    struct nb_published *published = nb_published_next(settings, live->key, live->published);
    assert(atomic_load(&live->persisted) && atomic_load(&live->loaded));
    assert(settings->fitted != NULL && settings->parent == NULL);
    int rc = published == NULL ? NB_NO_MEMORY : nb_settings_write(settings, &stored);
    struct settling s = {.live = live,
                         .settings = settings,
                         .change = {.kind = NB_CHANGE_SETTINGS,
                                    .source = nb_string_of("calibration"),
                                    .name = {"", 0},
                                    .settings = {stored.bytes, stored.length}},
                         .before = live->checkpoint.totals};
    if (rc == 0)
        rc = commit(engine, &s);
    if (rc == 0) {
        nb_live_publish(live, published);
        published = NULL;
    }
    nb_published_release(&published);
    nb_buffer_deinit(&stored);
    return rc;
}

enum {
    GROWTH = 5, /* with a fifth more or fewer documents a model is calibrated again */
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

/* ---- when a calibration is due --------------------------------------------------------------- */

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

/* Whether the calibration that is under way is of this model, with its present settings and
 * labels. */
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
        rc = calibration_errors(method, &scores, &fitted->before, &fitted->after);
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
