/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluates a model by its stored scores, read from the ledger in the order of learning and handed
 * to core/model/evaluate.c, or by leave-one-out scores of a sample of its documents,
 * computed now. Forgotten documents no longer have a score.
 */
#include "core/engine/engine_evaluation.h"
#include "core/em/unlabelled.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/buffer.h"
#include "core/base/names.h"
#include "core/engine/engine.h"
#include "core/ledger/document_lists.h"
#include "core/ledger/ledger.h"
#include "core/model/learner.h"
#include "core/model/order.h"
#include "core/model/parents.h"
#include "core/model/registry.h"
#include "core/model/state.h"
#include "core/writer/recalibrate.h"
#include "core/writer/writer.h"

enum { AT_ONCE = 64 /* documents read in one snapshot: a store that must grow waits for it */ };

/* A second or two, and 10 MB. */
static const struct nb_left_out_options SAMPLE = {
    .documents_most = 5000, .scores_most = 1000000, .rounds = 1};

/* A walk over documents. */
struct walk {
    struct nb_engine *engine; /* borrowed, as is `options` */
    struct nb_parent_chain chain;
    const struct nb_left_out_options *options;
    uint64_t *turns; /* owned; numbers of the entries, in random order */
    bool *doubted;   /* owned; by turn: an earlier round doubts the label */
    uint32_t size;
    unsigned round;
    struct nb_stack_weights *weights; /* owned; of this round */
    nb_left_out_visit *visit;
    void *user;
};

static bool is_doubted(const struct nb_scores *scores, uint32_t label)
{
    static const double believed = .1;
    for (size_t i = 0; i < scores->size; i++)
        if (scores->labels[i] == label)
            return scores->probabilities[i] < believed;
    return false;
}

/* Scores one document under the read locks, and then teaches it to the twin, unless the round
 * before doubts its label: later documents are scored with it. */
static int walk_locked(struct walk *w, struct nb_drawn *drawn, const struct nb_view *view,
                       uint32_t turn, struct nb_scores *scores, bool *found)
{
    struct nb_parent_chain *chain = &w->chain;
    int rc = nb_drawn_read(drawn, chain->live[0], chain->published[0], view, w->turns[turn],
                           w->weights, found);
    uint32_t label = drawn->entry.change.label;
    if (rc != 0 || !*found)
        return rc;
    bool teaches = !w->doubted[turn];
    rc = nb_stack_score(w->weights, &drawn->inputs, scores);
    if (rc == 0)
        (void)nb_scores_moderate_by(scores, chain->live[0]->counts, label);
    if (rc == 0)
        rc = nb_parent_chain_score_left_out(chain, &drawn->rows, label, w->weights, scores);
    if (rc == 0)
        w->doubted[turn] = is_doubted(scores, label);
    return rc == 0 && teaches ? nb_stack_twin_learn(w->weights, &drawn->inputs, label, 1) : rc;
}

static int walk_one(struct walk *w, struct nb_drawn *drawn, const struct nb_view *view,
                    uint32_t turn, struct nb_scores *scores, struct nb_error *error)
{
    bool found;
    nb_parent_chain_lock(&w->chain);
    int rc = walk_locked(w, drawn, view, turn, scores, &found);
    nb_parent_chain_unlock(&w->chain);
    if (rc != 0)
        return nb_error_set(error, rc, "scoring learned documents failed");
    const struct nb_left_out one = {w->turns[turn], turn, drawn->entry.change.label, scores};
    return found ? w->visit(w->user, &one, error) : 0;
}

/* Goes over some documents in one snapshot, and skips those that were forgotten meanwhile. */
static int walk_some(struct walk *w, uint32_t first, struct nb_error *error)
{
    struct nb_view view;
    struct nb_drawn drawn = {.rows = {0}};
    struct nb_scores scores;
    uint32_t end = w->size - first < AT_ONCE ? w->size : first + AT_ONCE;
    int rc = nb_step_check(w->options->stop, w->options->user, error);
    if (rc == 0)
        rc = nb_store_snapshot(w->engine->store, &view, error);
    if (rc != 0)
        return rc;
    nb_scores_init(&scores);
    for (uint32_t i = first; rc == 0 && i < end; i++)
        rc = walk_one(w, &drawn, &view, w->round % 2 == 0 ? i : w->size - 1 - i, &scores, error);
    nb_store_snapshot_end(&view);
    nb_stack_weights_commit(w->weights); /* no rollback will be needed */
    nb_scores_deinit(&scores);
    nb_drawn_deinit(&drawn);
    return rc;
}

/* Draws the documents and their order. Both depend on the documents alone, so that each request
 * gets the same. */
static int draw_documents(struct walk *w, const struct nb_live *live, size_t labels,
                          struct nb_error *error)
{
    struct nb_view view;
    struct nb_current_entries *current = NULL;
    struct nb_random random = nb_random_of(live->number, 0);
    uint64_t most = labels == 0 ? 0 : w->options->scores_most / labels;
    int rc = nb_store_snapshot(w->engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_current_entries_load(&view, live->number, &current, error);
    nb_store_snapshot_end(&view);
    if (rc != 0)
        return rc;
    most = most < w->options->documents_most ? most : w->options->documents_most;
    most = most < nb_current_entries_count(current) ? most : nb_current_entries_count(current);
    w->size = (uint32_t)most;
    w->turns = calloc(w->size + (size_t)1, sizeof *w->turns);
    w->doubted = calloc(w->size + (size_t)1, sizeof *w->doubted);
    if (w->turns != NULL)
        nb_current_entries_sample(current, &random, w->size, w->turns);
    nb_current_entries_free(&current);
    for (uint32_t i = 0; w->turns != NULL && i < w->size; i++) {
        uint32_t place = (uint32_t)nb_random_below(&random, i + (uint64_t)1);
        uint64_t number = w->turns[i];
        w->turns[i] = w->turns[place];
        w->turns[place] = number;
    }
    return w->turns != NULL && w->doubted != NULL ? 0 : nb_error_no_memory(error);
}

static int begin_round(struct walk *w, struct nb_error *error)
{
    const struct nb_published *published = w->chain.published[0];
    nb_stack_weights_free(&w->weights);
    nb_stack_weights_read_lock(published->weights);
    w->weights = nb_stack_weights_with_new_twin(published->weights);
    nb_stack_weights_unlock(published->weights);
    return w->weights != NULL ? 0 : nb_error_no_memory(error);
}

int nb_left_out_walk(struct nb_engine *engine, struct nb_live *live, size_t labels,
                     const struct nb_left_out_options *options, nb_left_out_visit *visit,
                     void *user, struct nb_error *error)
{
    struct walk w = {.engine = engine, .options = options, .visit = visit, .user = user};
    int rc = nb_parent_chain_begin(&w.chain, engine, live, error);
    if (rc == 0)
        rc = nb_published_is_stacked(w.chain.published[0])
                 ? draw_documents(&w, live, labels, error)
                 : nb_error_set(error, NB_CONFLICT,
                                "leave-one-out scores are of models whose `decision` is "
                                "\"stacked\"");
    for (; rc == 0 && w.round < options->rounds; w.round++) {
        rc = begin_round(&w, error);
        for (uint32_t at = 0; rc == 0 && at < w.size; at += AT_ONCE)
            rc = walk_some(&w, at, error);
    }
    nb_parent_chain_deinit(&w.chain);
    nb_stack_weights_free(&w.weights);
    free(w.turns);
    free(w.doubted);
    return rc;
}

/* ---- a sample, oldest first ------------------------------------------------------------------ */

/* A score in its stored form, at its position in sample.scores. */
struct kept_score {
    uint64_t number;
    size_t first, length;
};

struct sample {
    struct kept_score *list; /* owned */
    size_t size, room;
    struct nb_buffer scores;
};

static int keep_score(void *user, const struct nb_left_out *document, struct nb_error *error)
{
    struct sample *s = user;
    const struct nb_scores *scores = document->scores;
    struct nb_stored_score scored = {.label = document->label,
                                     .size = (uint32_t)scores->size,
                                     .labels = scores->labels,
                                     .probabilities = scores->probabilities};
    if (scores->size == 2)
        scored.log_odds = scores->log_scores[1] - scores->log_scores[0];
    size_t first = s->scores.length;
    if (nb_array_reserve(&s->list, &s->room, s->size + 1, sizeof *s->list) != 0 ||
        nb_stored_score_write(&scored, &s->scores) != 0)
        return nb_error_no_memory(error);
    s->list[s->size++] = (struct kept_score){document->number, first, s->scores.length - first};
    return 0;
}

static int by_age(const void *a, const void *b)
{
    uint64_t left = ((const struct kept_score *)a)->number;
    uint64_t right = ((const struct kept_score *)b)->number;
    return (left > right) - (left < right);
}

static const struct nb_string NO_KEY = {"", 0};

static int stacked_scores(struct nb_engine *engine, struct nb_live *live, nb_store_visit *visit,
                          void *user, struct nb_error *error)
{
    struct sample s = {.size = 0};
    nb_model_read_lock(live->counts);
    size_t labels = nb_model_labels_with_documents(live->counts);
    nb_model_unlock(live->counts);
    int rc = nb_left_out_walk(engine, live, labels, &SAMPLE, keep_score, &s, error);
    if (rc == 0 && s.size > 0)
        qsort(s.list, s.size, sizeof *s.list, by_age);
    for (size_t i = 0; rc == 0 && i < s.size; i++) {
        struct nb_string stored = {s.scores.bytes + s.list[i].first, s.list[i].length};
        rc = visit(user, NO_KEY, stored, error);
    }
    free(s.list);
    nb_buffer_deinit(&s.scores);
    return rc;
}

/* After new settings or a calibration the scoring of a model by the book begins anew. */
enum { BEGINNINGS_MOST = 5 };

/* The state of the scoring between tasks of the writer. */
struct scoring {
    struct nb_live *live;                      /* borrowed */
    const struct nb_left_out_options *options; /* borrowed */
    struct nb_book_scores scores;
    unsigned beginnings;
};

static int begin(struct scoring *s, const struct nb_view *view, struct nb_error *error)
{
    const struct nb_book_sample sample = {s->options->documents_most, s->options->scores_most};
    if (s->beginnings++ == BEGINNINGS_MOST)
        return nb_error_set(error, NB_CONFLICT,
                            "the labels or the settings of the model change meanwhile: ask again");
    nb_book_scores_deinit(&s->scores);
    int rc =
        nb_book_scores_begin(&s->scores, s->live, view, sample, nb_random_of(s->live->number, 0));
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
    const uint64_t *numbers;
    uint32_t handed;
    nb_left_out_visit *visit;
    void *user;
    struct nb_error *error;
};

static int hand_one(void *user, const struct nb_scores *said, uint32_t label)
{
    struct handing *h = user;
    const struct nb_left_out one = {h->numbers[h->handed], h->handed, label, said};
    h->handed++;
    return h->visit(h->user, &one, h->error);
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
    struct handing h = {s->scores.numbers, 0, visit, user, error};
    const struct nb_calibration_scores scores = nb_book_scores_of(&s->scores);
    nb_model_read_lock(s->live->counts);
    enum nb_calibration_method method = method_of(s);
    nb_model_unlock(s->live->counts);
    int rc = scores.count == 0 ? 0 : nb_calibration_judge(method, &scores, hand_one, &h);
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

int nb_book_left_out_walk(struct nb_engine *engine, struct nb_live *live,
                          const struct nb_left_out_options *options, nb_left_out_visit *visit,
                          void *user, struct nb_error *error)
{
    struct scoring s = {.live = live, .options = options};
    int rc = check(live, error);
    while (rc == 0 && (s.scores.live == NULL || s.scores.next < s.scores.size)) {
        rc = nb_step_check(options->stop, options->user, error);
        if (rc == 0)
            rc = nb_writer_run(engine, score_some_by_book, &s, error);
    }
    if (rc == 0)
        rc = hand_over_by_book(&s, visit, user, error);
    nb_book_scores_deinit(&s.scores);
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}

struct score_handing {
    nb_store_visit *visit;
    void *user;
    struct nb_buffer record; /* reused */
};

static int hand_score(void *user, const struct nb_left_out *document, struct nb_error *error)
{
    struct score_handing *h = user;
    h->record.length = 0;
    int rc = nb_stored_score_keep(document->scores, document->label, &h->record);
    return rc != 0 ? rc : h->visit(h->user, NO_KEY, nb_buffer_string(&h->record), error);
}

static int book_scores(struct nb_engine *engine, struct nb_live *live, nb_store_visit *visit,
                       void *user, struct nb_error *error)
{
    struct score_handing h = {.visit = visit, .user = user};
    int rc = nb_book_left_out_walk(engine, live, &SAMPLE, hand_score, &h, error);
    nb_buffer_deinit(&h.record);
    return rc;
}

int nb_scores_left_out(struct nb_engine *engine, struct nb_live *live, nb_store_visit *visit,
                       void *user, struct nb_error *error)
{
    struct nb_published *published = nb_live_settings(live);
    bool is_stacked = nb_published_is_stacked(published);
    nb_published_release(&published);
    return is_stacked ? stacked_scores(engine, live, visit, user, error)
                      : book_scores(engine, live, visit, user, error);
}

int nb_scores_before_learning(struct nb_engine *engine, const struct nb_live *live,
                              nb_store_visit *visit, void *user, struct nb_error *error)
{
    struct nb_view view;
    struct nb_store_key key = nb_store_key_model(live->number);
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_store_scan(&view, NB_TABLE_SCORES, nb_store_key_string(&key), key.length, visit, user,
                       error);
    nb_store_snapshot_end(&view);
    return rc;
}

/* ---- evaluations ----------------------------------------------------------------------------- */

struct reading {
    struct nb_evaluator *evaluator;
    const struct nb_evaluation_change *changes; /* the remaining changes */
    size_t change_count;
    struct nb_stored_score_lists lists;
};

/* Returns whether the score of this document counts, and applies a change of its label. Both lists
 * ascend. */
static bool change_score(struct reading *r, uint64_t first, struct nb_stored_score *scored)
{
    while (r->change_count > 0 && r->changes->first < first) {
        r->changes++;
        r->change_count--;
    }
    if (r->change_count == 0 || r->changes->first != first)
        return true;
    scored->label = r->changes->label;
    return scored->label != NB_EVALUATION_LEFT_OUT;
}

static int read_score(void *user, struct nb_string key, struct nb_string value,
                      struct nb_error *error)
{
    struct reading *r = user;
    struct nb_stored_score scored;
    int rc = nb_stored_score_read(value, &r->lists, &scored, error);
    if (rc == 0 && key.length > 0 && !change_score(r, nb_store_key_tail(key), &scored))
        return 0;
    if (rc == 0)
        rc = nb_evaluator_add(r->evaluator, &scored);
    /* The first document of a label that was learned after the labels were listed: the next
     * evaluation counts it. */
    if (rc == NB_INVALID)
        return 0;
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}

void nb_evaluation_report_deinit(struct nb_evaluation_report *report)
{
    assert(report->window_count <= NB_EVALUATION_WINDOWS);
    for (size_t i = 0; i < report->window_count; i++)
        nb_evaluation_deinit(&report->evaluations[i]);
    for (size_t i = 0; i < report->threshold_count; i++)
        free(report->thresholds[i].label);
    free(report->thresholds);
    nb_strings_free(report->labels, report->label_count);
    *report = (struct nb_evaluation_report){0};
}

/* Copies the names of the labels that have documents; their numbers go to `numbers`. */
static int copy_labels(const struct nb_model *counts, struct nb_evaluation_report *report,
                       uint32_t **numbers)
{
    nb_model_read_lock(counts);
    size_t count = nb_model_label_count(counts);
    const uint32_t *sorted = nb_model_labels_sorted(counts);
    size_t found = 0;
    *numbers = malloc((count + 1) * sizeof **numbers);
    char **labels = calloc(count + 1, sizeof *labels);
    int rc = *numbers == NULL || labels == NULL ? NB_NO_MEMORY : 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (nb_model_documents(counts, sorted[i]) == 0)
            continue;
        labels[found] = strdup(nb_model_label_name(counts, sorted[i]).bytes);
        if (labels[found] == NULL)
            rc = NB_NO_MEMORY;
        else
            (*numbers)[found++] = sorted[i];
    }
    nb_model_unlock(counts);
    report->labels = labels;
    report->label_count = found;
    return rc;
}

static int choose_positive(struct nb_evaluation_report *report, struct nb_string positive,
                           struct nb_error *error)
{
    struct nb_string wanted = positive.length > 0 ? positive : (struct nb_string){"spam", 4};
    for (size_t i = 0; i < report->label_count; i++)
        if (nb_string_equals(wanted, report->labels[i])) {
            report->positive = i;
            return 0;
        }
    struct nb_level_hint hint = {0};
    for (size_t i = 0; i < report->label_count; i++)
        nb_level_hint_add(&hint, positive, nb_string_of(report->labels[i]));
    if (positive.length > 0)
        return nb_error_about(error,
                              nb_error_set(error, NB_NOT_FOUND,
                                           "no document has the label '%.*s'%s",
                                           (int)positive.length, positive.bytes, hint.text),
                              "label_not_found", "positive");
    report->positive = report->label_count == 0 ? 0 : report->label_count - 1;
    return 0;
}

static int evaluate(struct nb_evaluator *evaluator, double target_rate,
                    struct nb_evaluation_report *report, struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < NB_EVALUATION_WINDOWS; i++) {
        rc = nb_evaluator_finish(evaluator, report->windows[i], &report->evaluations[i]);
        report->window_count += rc == 0;
    }
    if (rc != 0)
        return nb_error_no_memory(error);
    if (report->evaluations[NB_EVALUATION_WINDOWS - 1].documents == 0)
        return nb_error_set(error, NB_CONFLICT,
                            "no document was scored before it was learned yet: train some");
    if (report->scores == NB_SCORES_BEFORE_LEARNING)
        report->progress_count = nb_evaluator_progress(evaluator, report->progress);
    if (target_rate < 0)
        return 0;
    report->target_rate = target_rate;
    rc = nb_evaluator_threshold(evaluator, report->windows[1], target_rate, &report->threshold,
                                &report->achieved, error);
    report->has_threshold = rc == 0;
    return rc;
}

/* ---- reports --------------------------------------------------------------------------------- */

const char *nb_score_kind_name(enum nb_score_kind kind)
{
    static const char *const names[] = {[NB_SCORES_BEFORE_LEARNING] = "before-learning",
                                        [NB_SCORES_LEAVE_ONE_OUT] = "leave-one-out"};
    assert(kind < NB_SCORE_KINDS);
    return names[kind];
}

enum nb_score_kind nb_engine_threshold_scores(struct nb_engine *engine, struct nb_string model)
{
    struct nb_live *live;
    if (nb_registry_acquire(engine, model, false, &live, NULL) != 0)
        return NB_SCORES_BEFORE_LEARNING;
    bool is_skewed = atomic_load(&live->is_skewed);
    nb_registry_release(engine, &live);
    return is_skewed ? NB_SCORES_LEAVE_ONE_OUT : NB_SCORES_BEFORE_LEARNING;
}

struct question {
    struct nb_string positive;
    double target_rate;
    enum nb_score_kind scores;
    const struct nb_evaluation_change *changes;
    size_t change_count;
    struct nb_string more; /* further scores, each a string */
};

static int add_more(struct reading *reading, struct nb_string more, struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(more.bytes, more.length);
    int rc = 0;
    while (rc == 0 && u.at < u.end && !u.failed)
        rc = read_score(reading, NO_KEY, nb_unpack_string(&u), error);
    return rc;
}

static int make_report(struct nb_engine *engine, struct nb_live *live, const struct question *q,
                       struct nb_evaluation_report *report, struct nb_error *error)
{
    struct reading reading = {.changes = q->changes, .change_count = q->change_count};
    uint32_t *numbers = NULL;
    int rc = copy_labels(live->counts, report, &numbers) != 0 ? nb_error_no_memory(error) : 0;
    if (rc == 0)
        rc = choose_positive(report, q->positive, error);
    if (rc == 0 &&
        nb_evaluator_new(numbers, report->label_count, report->positive, &reading.evaluator) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = q->scores == NB_SCORES_LEAVE_ONE_OUT
                 ? nb_scores_left_out(engine, live, read_score, &reading, error)
                 : nb_scores_before_learning(engine, live, read_score, &reading, error);
    if (rc == 0)
        rc = add_more(&reading, q->more, error);
    if (rc == 0)
        rc = evaluate(reading.evaluator, q->target_rate, report, error);
    nb_evaluator_free(&reading.evaluator);
    nb_stored_score_lists_deinit(&reading.lists);
    free(numbers);
    return rc;
}

static void note_calibration(const struct nb_settings *settings,
                             struct nb_evaluation_report *report)
{
    const struct nb_calibration *fitted = settings->fitted;
    report->is_calibrated = fitted != NULL;
    if (fitted != NULL)
        report->calibration = (struct nb_report_calibration){
            nb_calibration_name(fitted), fitted->scores, fitted->before, fitted->after};
}

static int answer(struct nb_engine *engine, struct nb_string model, const struct question *question,
                  struct nb_evaluation_report *report, struct nb_error *error)
{
    struct nb_live *live;
    struct nb_error why = {0};
    *report = (struct nb_evaluation_report){0};
    int rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    struct nb_published *published = nb_live_settings(live);
    assert(live->counts != NULL);
    report->scores = question->scores;
    report->windows[0] = published->settings.evaluation_short;
    report->windows[1] = published->settings.evaluation_long;
    note_calibration(&published->settings, report);
    nb_unlabelled_tell(live, &report->unlabelled);
    nb_published_release(&published);
    rc = make_report(engine, live, question, report, &why);
    rc = nb_live_note(live, rc, &why, error);
    if (rc != 0)
        nb_evaluation_report_deinit(report);
    nb_registry_release(engine, &live);
    return rc;
}

int nb_engine_evaluation(struct nb_engine *engine, struct nb_string model,
                         struct nb_string positive, double target_rate, enum nb_score_kind scores,
                         struct nb_evaluation_report *report, struct nb_error *error)
{
    struct question question = {.positive = positive, .target_rate = target_rate, .scores = scores};
    return answer(engine, model, &question, report, error);
}

int nb_engine_evaluation_without(struct nb_engine *engine, struct nb_string model,
                                 const struct nb_evaluation_change *changes, size_t count,
                                 struct nb_evaluation_report *report, struct nb_error *error)
{
    struct question question = {
        .positive = {"", 0}, .target_rate = -1, .changes = changes, .change_count = count};
    return answer(engine, model, &question, report, error);
}

int nb_engine_evaluation_with(struct nb_engine *engine, struct nb_string model,
                              struct nb_string more, struct nb_evaluation_report *report,
                              struct nb_error *error)
{
    struct question question = {.positive = {"", 0}, .target_rate = -1, .more = more};
    return answer(engine, model, &question, report, error);
}

int nb_engine_fit(struct nb_engine *engine, struct nb_string model, struct nb_multilabel_fit **fit,
                  struct nb_error *error)
{
    struct nb_live *live;
    int rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    struct nb_published *published = nb_live_settings(live);
    if (!nb_published_is_several(published))
        rc = nb_error_set(error, NB_CONFLICT, "the documents of the model '%s' have one label each",
                          live->name);
    nb_published_release(&published);
    if (rc == 0)
        rc = nb_refining_catch_up(engine, live, error);
    struct nb_refined *refined = rc == 0 ? nb_live_refined(live) : NULL;
    if (refined != NULL && refined->several != NULL)
        *fit = nb_multilabel_fit_use(refined->several);
    else if (rc == 0)
        rc = nb_error_set(error, NB_CONFLICT, "%s",
                          refined != NULL && *refined->reason != '\0'
                              ? refined->reason
                              : "the model has learned no document with a label yet");
    nb_refined_release(&refined);
    nb_registry_release(engine, &live);
    return rc;
}
