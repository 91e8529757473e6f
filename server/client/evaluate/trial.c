/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/evaluate/trial.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/model/evaluation.h"
#include "server/client/base/client.h"
#include "server/client/base/exchange.h"
#include "server/client/base/terminal.h"
#include "server/client/evaluate/evaluation_report.h"
#include "server/client/files/pipeline.h"

struct judge {
    const struct nb_trial *trial;
    struct nb_evaluator *evaluator;
    uint32_t *numbers; /* owned: 0, 1, 2 ...; the number of a label is its index */
    double *probabilities;
    struct nb_progress progress;
    size_t fold;
    bool is_stacked, has_calibration; /* from the settings of the model */
};

static int nap(long milliseconds, struct nb_error *error)
{
    const struct timespec pause = {.tv_nsec = milliseconds * 1000000};
    (void)nanosleep(&pause, NULL); /* a signal ends it early */
    return nb_interrupt_check(error);
}

/* ---- scores ---------------------------------------------------------------------------------- */

static double number_of(const json_t *verdict, const char *member, const char *label, double other)
{
    const json_t *value = json_object_get(json_object_get(verdict, member), label);
    return json_is_number(value) ? json_number_value(value) : other;
}

/* Returns the value that orders the documents of two labels. Log scores still differ where
 * probabilities are rounded to 0 or 1, or are equal after a monotonic calibration; but a stacked
 * verdict is not made from log scores. */
static double log_odds(const struct judge *judge, const json_t *verdict, const double *p)
{
    const struct nb_labelled_corpus *corpus = judge->trial->corpus;
    if (corpus->label_count != 2)
        return 0;
    double first = number_of(verdict, "log_scores", corpus->labels[0], NAN);
    double second = number_of(verdict, "log_scores", corpus->labels[1], NAN);
    if (!judge->is_stacked && !isnan(first) && !isnan(second))
        return second - first;
    return log(fmax(p[1], DBL_TRUE_MIN)) - log(fmax(p[0], DBL_TRUE_MIN));
}

/* Adds a verdict to the evaluation; NULL: the model knew nothing yet. */
static int score(struct judge *judge, uint32_t label, const json_t *verdict, struct nb_error *error)
{
    const struct nb_labelled_corpus *corpus = judge->trial->corpus;
    struct nb_stored_score scored = {.label = label, .labels = judge->numbers};
    scored.probabilities = judge->probabilities;
    if (verdict != NULL) {
        scored.size = (uint32_t)corpus->label_count;
        for (size_t i = 0; i < corpus->label_count; i++)
            judge->probabilities[i] = number_of(verdict, "probabilities", corpus->labels[i], 0);
        scored.log_odds = log_odds(judge, verdict, judge->probabilities);
    }
    int rc = nb_evaluator_add(judge->evaluator, &scored);
    if (rc == NB_INVALID)
        return nb_error_set(error, NB_CALL_PROTOCOL,
                            "the reply has a probability that is not between 0 and 1");
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* ---- models ---------------------------------------------------------------------------------- */

/* Returns whether a member of the settings in a reply is `value`. */
static bool has_setting(const json_t *reply, const char *member, const char *value)
{
    const json_t *found = json_object_get(json_object_get(reply, "settings"), member);
    return json_is_string(found) && strcmp(json_string_value(found), value) == 0;
}

static void note_settings(struct judge *judge, const json_t *reply)
{
    judge->is_stacked = has_setting(reply, "decision", "stacked");
    judge->has_calibration = !has_setting(reply, "calibration", "none");
}

/* Makes the temporary model, or deletes it. */
static int change_model(struct judge *judge, bool is_made, struct nb_error *error)
{
    const struct nb_trial *trial = judge->trial;
    const struct nb_exchange exchange = {.method = is_made ? "PUT" : "DELETE",
                                         .path = "/v1/models/{model}"};
    const struct nb_asked asked = {.client = trial->client,
                                   .body = is_made ? trial->settings : NULL};
    json_t *reply = NULL;
    int rc = nb_exchange_ask(&exchange, &asked, &reply, error);
    if (rc == 0 && is_made)
        note_settings(judge, reply);
    json_decref(reply);
    return rc;
}

static const struct nb_exchange CLASSIFYING = {.method = "POST",
                                               .path = "/v1/models/{model}/classify"};
static const struct nb_exchange TRAINING = {.method = "POST", .path = "/v1/models/{model}/train"};

/* ---- test, then train ------------------------------------------------------------------------ */

static int test_then_train(struct judge *judge, struct nb_asked *asked, struct nb_buffer *document,
                           size_t i, struct nb_error *error)
{
    struct nb_item item;
    json_t *verdict = NULL, *receipt = NULL;
    int rc = nb_labelled_corpus_get(judge->trial->corpus, i, &item, error);
    document->length = 0;
    if (rc == 0 && nb_item_write(&item, true, document) != 0)
        rc = nb_error_no_memory(error);
    asked->content = (struct nb_string){document->bytes, document->length};
    if (rc == 0)
        rc = nb_exchange_ask(&CLASSIFYING, asked, &verdict, error);
    if (rc == 0 || rc == NB_CONFLICT) /* nothing is learned yet */
        rc = score(judge, judge->trial->corpus->entries[i].label, verdict, error);
    if (rc == 0)
        rc = nb_exchange_ask(&TRAINING, asked, &receipt, error);
    json_decref(verdict);
    json_decref(receipt);
    nb_progress_add(&judge->progress, item.content.length + item.values.length);
    return rc == 0 ? nb_interrupt_check(error) : rc;
}

static int run_online(struct judge *judge, struct nb_error *error)
{
    struct nb_asked asked = {.client = judge->trial->client, .type = "application/json"};
    struct nb_buffer document = {0};
    int rc = nb_call_open(&asked.client->daemon, &asked.call, error);
    for (size_t i = 0; i < judge->trial->corpus->count && rc == 0; i++)
        rc = test_then_train(judge, &asked, &document, i, error);
    nb_call_close(&asked.call);
    nb_buffer_deinit(&document);
    return rc;
}

/* ---- train, then test ------------------------------------------------------------------------ */

static bool is_tested(const struct judge *judge, size_t i)
{
    const struct nb_trial *trial = judge->trial;
    if (trial->is_of_model)
        return true;
    if (trial->is_by_part)
        return trial->corpus->entries[i].part == NB_ITEM_TEST;
    if (trial->folds > 0)
        return i % trial->folds == judge->fold;
    return (double)i >= trial->split * (double)trial->corpus->count;
}

static int take_receipt(void *user, const struct nb_outcome *outcome, struct nb_error *error)
{
    struct judge *judge = user;
    nb_progress_add(&judge->progress, outcome->bytes);
    return outcome->refusal == NULL ? 0
                                    : nb_error_set(error, outcome->code, "%s", outcome->refusal);
}

/* Takes the verdict on a document; the label of the outcome is the true one. */
static int take_verdict(void *user, const struct nb_outcome *outcome, struct nb_error *error)
{
    struct judge *judge = user;
    const struct nb_labelled_corpus *corpus = judge->trial->corpus;
    int rc = take_receipt(user, outcome, error);
    for (uint32_t i = 0; i < corpus->label_count && rc == 0; i++)
        if (strcmp(corpus->labels[i], outcome->label) == 0)
            return score(judge, i, outcome->result, error);
    return rc;
}

/* Sends either the documents for the test or those for the training. Training uses one connection:
 * the weights of a stacked model depend on the order. */
static int send_part(struct judge *judge, bool is_test, struct nb_error *error)
{
    const struct nb_trial *trial = judge->trial;
    const struct nb_asked asked = {.client = trial->client};
    struct nb_buffer path = {0};
    struct nb_pipeline *pipeline = NULL;
    struct nb_item item;
    int rc = nb_exchange_path(is_test ? &CLASSIFYING : &TRAINING, &asked, &path, error);
    const struct nb_pipeline_settings settings = {.client = trial->client,
                                                  .path = path.bytes,
                                                  .connections = is_test ? 2 : 1,
                                                  .with_label = !is_test,
                                                  .take = is_test ? take_verdict : take_receipt,
                                                  .user = judge};
    if (rc == 0)
        rc = nb_pipeline_open(&settings, &pipeline, error);
    for (size_t i = 0; i < trial->corpus->count && rc == 0; i++) {
        if (is_tested(judge, i) != is_test)
            continue;
        rc = nb_labelled_corpus_get(trial->corpus, i, &item, error);
        if (rc == 0)
            rc = nb_pipeline_add(pipeline, &item, error);
        if (rc == 0)
            rc = nb_interrupt_check(error);
    }
    if (rc == 0)
        rc = nb_pipeline_finish(pipeline, error);
    nb_pipeline_close(&pipeline);
    nb_buffer_deinit(&path);
    return rc;
}

/* Waits for the calibration, which follows a moment after the documents. A model with too few
 * documents, or with one label, is not calibrated. */
static int await_calibration(struct judge *judge, struct nb_error *error)
{
    enum { TIMES = 200, PAUSE_MS = 50 };
    struct nb_asked asked = {.client = judge->trial->client, .type = "application/json"};
    bool is_calibrated = !judge->has_calibration;
    asked.content = nb_string_of("{\"text\": \"\"}");
    int rc = nb_call_open(&asked.client->daemon, &asked.call, error);
    for (int i = 0; rc == 0 && !is_calibrated && i < TIMES; i++) {
        json_t *verdict = NULL;
        rc = nb_exchange_ask(&CLASSIFYING, &asked, &verdict, error);
        is_calibrated = json_is_true(json_object_get(verdict, "calibrated"));
        json_decref(verdict);
        if (rc == 0 && !is_calibrated)
            rc = nap(PAUSE_MS, error);
    }
    nb_call_close(&asked.call);
    return rc;
}

/* ---- the trial ------------------------------------------------------------------------------- */

/* Tests an existing model. */
static int test_model(struct judge *judge, struct nb_error *error)
{
    json_t *reply = NULL;
    int rc = nb_model_get(judge->trial->client, &reply, error);
    if (rc == 0)
        note_settings(judge, reply);
    json_decref(reply);
    return rc == 0 ? send_part(judge, true, error) : rc;
}

static int run_fold(struct judge *judge, struct nb_error *error)
{
    const struct nb_trial *trial = judge->trial;
    struct nb_error ignored;
    if (trial->is_of_model)
        return test_model(judge, error);
    int rc = change_model(judge, true, error);
    if (rc != 0)
        return rc;
    if (trial->is_online)
        rc = run_online(judge, error);
    else
        rc = send_part(judge, false, error);
    if (rc == 0 && !trial->is_online)
        rc = await_calibration(judge, error);
    if (rc == 0 && !trial->is_online)
        rc = send_part(judge, true, error);
    int deleted = change_model(judge, false, rc == 0 ? error : &ignored);
    return rc != 0 ? rc : deleted;
}

static int run_folds(struct judge *judge, struct nb_error *error)
{
    const struct nb_trial *trial = judge->trial;
    size_t folds = trial->folds > 0 ? trial->folds : 1;
    int rc = 0;
    nb_progress_start(&judge->progress, trial->title, trial->corpus->bytes * folds);
    for (judge->fold = 0; judge->fold < folds && rc == 0; judge->fold++)
        rc = run_fold(judge, error);
    nb_progress_end(&judge->progress);
    return rc;
}

static int finish(struct judge *judge, json_t **figures, struct nb_error *error)
{
    const struct nb_labelled_corpus *corpus = judge->trial->corpus;
    struct nb_evaluation evaluation = {0};
    int rc = nb_evaluator_finish(judge->evaluator, 0, &evaluation);
    if (rc == 0) {
        *figures = nb_evaluation_json(&evaluation, corpus->labels);
        rc = *figures != NULL ? 0 : NB_NO_MEMORY;
    }
    nb_evaluation_deinit(&evaluation);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

int nb_trial_run(const struct nb_trial *trial, json_t **figures, struct nb_error *error)
{
    size_t count = trial->corpus->label_count;
    char model[64];
    const char *before = trial->client->model;
    struct judge judge = {.trial = trial};
    judge.numbers = calloc(count, sizeof *judge.numbers);
    judge.probabilities = calloc(count, sizeof *judge.probabilities);
    int rc = judge.numbers != NULL && judge.probabilities != NULL ? 0 : NB_NO_MEMORY;
    for (uint32_t i = 0; i < count && rc == 0; i++)
        judge.numbers[i] = i;
    if (rc == 0)
        rc = nb_evaluator_new(judge.numbers, count, trial->positive, &judge.evaluator);
    (void)snprintf(model, sizeof model, "bayesc-evaluate-%ld", (long)getpid());
    if (!trial->is_of_model)
        trial->client->model = model;
    rc = rc == 0 ? run_folds(&judge, error) : nb_error_no_memory(error);
    trial->client->model = before;
    if (rc == 0)
        rc = finish(&judge, figures, error);
    nb_evaluator_free(&judge.evaluator);
    free(judge.probabilities);
    free(judge.numbers);
    return rc;
}
