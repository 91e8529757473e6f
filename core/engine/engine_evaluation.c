/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluates a model by its stored scores, read from the ledger in the order of learning and handed
 * to core/model/evaluate.c, or by leave-one-out scores of a sample of its documents,
 * computed now. Forgotten documents no longer have a score.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/label.h"
#include "core/engine/engine.h"
#include "core/engine/left_out.h"
#include "core/model/learner.h"
#include "core/model/registry.h"

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
    if (rc == 0 && !change_score(r, nb_store_key_tail(key), &scored))
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
    for (size_t i = 0; i < report->label_count; i++)
        free(report->labels[i]);
    free(report->labels);
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

static int read_all(struct nb_engine *engine, const struct nb_live *live, struct reading *reading,
                    struct nb_error *error)
{
    struct nb_view view;
    struct nb_store_key key = nb_store_key_model(live->number);
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_store_scan(&view, NB_TABLE_SCORES, nb_store_key_string(&key), key.length, read_score,
                       reading, error);
    nb_store_snapshot_end(&view);
    return rc;
}

static int add_score(void *user, struct nb_string stored, struct nb_error *error)
{
    struct reading *r = user;
    struct nb_stored_score scored;
    int rc = nb_stored_score_read(stored, &r->lists, &scored, error);
    if (rc == 0)
        rc = nb_evaluator_add(r->evaluator, &scored);
    if (rc == NB_INVALID)
        return 0;
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
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
        rc = add_score(reading, nb_unpack_string(&u), error);
    return rc;
}

/* The scores that a sample of the documents would get now from the model without them. */
static int score_left_out(struct nb_engine *engine, struct nb_live *live, size_t labels,
                          struct reading *reading, struct nb_error *error)
{
    struct nb_published *published = nb_live_settings(live);
    bool is_stacked = nb_published_is_stacked(published);
    nb_published_release(&published);
    return is_stacked ? nb_left_out_scores(engine, live, labels, add_score, reading, error)
                      : nb_book_left_out_scores(engine, live, add_score, reading, error);
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
                 ? score_left_out(engine, live, report->label_count, &reading, error)
                 : read_all(engine, live, &reading, error);
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
