/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/handlers.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/engine/engine.h"
#include "server/api/documents_route.h"
#include "server/api/results.h"
#include "server/base/document_json.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"
#include "server/mail/filter.h"
#include "server/mail/filter_options.h"

/* ---- the common verdict ---------------------------------------------------------------------- */

/* The verdict of one model: the mildest one, or the least sure one. */
struct said {
    struct nb_string model;
    char label[NB_DECISION_LABEL];
    double probability; /* probability of `label` */
    double spam;        /* probability of spam, which finds the mildest verdict */
    char decision[NB_DECISION_LABEL], reason[NB_DECISION_TEXT];
};

struct common {
    size_t verdicts;
    bool knows_spam; /* every model that gave a verdict has a label of [filter] spam_labels */
    bool may_act;    /* every model gave a verdict, and knows spam and other mail */
    bool agrees;     /* all verdicts have the same label */
    bool decides;    /* all decisions are the same */
    enum nb_filter_action action; /* the mildest of all */
    struct said mildest, least_sure;
};

static struct said say(struct nb_string model, const struct nb_verdict *verdict,
                       const struct nb_decision_made *made, double spam)
{
    assert(verdict->is_given == NULL && verdict->best < verdict->size); /* one label wins */
    struct said said = {
        .model = model, .probability = verdict->probabilities[verdict->best], .spam = spam};
    (void)snprintf(said.label, sizeof said.label, "%s", verdict->labels[verdict->best]);
    (void)snprintf(said.decision, sizeof said.decision, "%s", made->label);
    (void)snprintf(said.reason, sizeof said.reason, "%s", made->reason);
    return said;
}

static int add(struct common *c, const struct nb_config *config, struct nb_string model,
               struct nb_verdict *verdict, const struct nb_decision_made *made)
{
    struct nb_filter_spam spam;
    if (nb_filter_find_spam(config, verdict, &spam) != 0)
        return NB_NO_MEMORY;
    struct said said = say(model, verdict, made, spam.probability);
    bool is_first = c->verdicts++ == 0;
    c->knows_spam = c->knows_spam && spam.is_known;
    if (c->knows_spam) {
        enum nb_filter_action action = nb_filter_action_of(config, &spam);
        c->action = is_first || action < c->action ? action : c->action;
    }
    c->may_act = c->may_act && spam.has_others;
    c->agrees = c->agrees && (is_first || strcmp(said.label, c->least_sure.label) == 0);
    c->decides = c->decides && (is_first || strcmp(said.decision, c->least_sure.decision) == 0);
    if (is_first || said.spam < c->mildest.spam)
        c->mildest = said;
    if (is_first || said.probability < c->least_sure.probability)
        c->least_sure = said;
    return 0;
}

/* Ends the reply with the common verdict. If all models have the label of spam, this is the mildest
 * verdict: no mail is rejected that one of the models would not reject. Other labels have no order
 * from mild to severe, so all models must agree. */
static int end(const struct common *c, const struct nb_posted_options *options,
               struct nb_results *results, struct nb_error *error)
{
    const struct said *said = c->knows_spam ? &c->mildest : &c->least_sure;
    bool is_settled = c->knows_spam || c->agrees, is_decided = c->knows_spam || c->decides;
    const struct nb_json_decision decision = {is_decided ? said->decision : "unsure",
                                              is_decided ? said->reason
                                                         : "the models do not decide the same"};
    struct nb_results_common common = {
        .rule = c->knows_spam ? "mildest" : "unanimous",
        .model = said->model,
        .label = is_settled ? said->label : NULL,
        .probability = said->probability,
        .decision = options->rule.is_asked || options->rule.has_min_known ? &decision : NULL,
    };
    if (c->knows_spam)
        common.action = nb_filter_action_name(c->may_act ? c->action : NB_FILTER_NO_ACTION);
    return nb_results_end_common(results, c->verdicts > 0 ? &common : NULL, error);
}

/* ---- the request ----------------------------------------------------------------------------- */

struct question {
    struct nb_json_document document;
    struct nb_string *models; /* owned; the names are borrowed from the document */
    size_t count;
    struct nb_posted_options options;
};

static void forget(struct question *q)
{
    free(q->models);
    nb_json_document_deinit(&q->document);
}

/* The request's token must be for each of the models, whether the model exists or not. */
static int check_models(struct nb_request *request, const struct question *q,
                        struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < q->count && rc == 0; i++)
        rc = nb_request_check_model(request, q->models[i], error);
    return rc;
}

static int read_question(struct nb_request *request, struct nb_string body, struct question *q,
                         struct nb_error *error)
{
    int rc = nb_json_document_read_models(body, (size_t)request->config->classify_models,
                                          &q->document, &q->models, &q->count, error);
    if (rc != 0)
        return rc;
    rc = check_models(request, q, error);
    if (rc == 0)
        rc = nb_posted_options_read(request, &q->options, error);
    q->options.is_of_several = true;
    if (rc != 0)
        forget(q);
    return rc;
}

/* Asks one model. If the model fails, its error stands in place of the result. */
static int ask(const struct question *q, size_t i, struct nb_results *results,
               struct nb_verdict *verdict, struct common *common, struct nb_error *error)
{
    assert(i < q->count);
    struct nb_decision_made made = {.label = ""};
    struct nb_error why = {0};
    results->model = q->models[i];
    int rc = i > 0 ? nb_request_count_document(results->request, &why) : 0;
    if (rc == 0)
        rc = nb_documents_judge(&q->options, results, &q->document, i > 0, verdict, &made, &why);
    if (rc == 0 &&
        add(common, results->request->config, results->model, verdict, &made) == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    if (rc == 0)
        return 0;
    bool is_of_model = rc == NB_NOT_FOUND || rc == NB_CONFLICT || rc == NB_DAMAGED || rc == NB_BUSY;
    common->may_act = false;
    if (is_of_model)
        return nb_results_model_error(results, &why, error);
    *error = why;
    return rc;
}

static int ask_all(struct nb_request *request, const struct question *q, struct nb_error *error)
{
    struct nb_scratch *scratch = nb_scratch_take(request->server->scratch);
    struct nb_results results;
    struct common common = {.knows_spam = true, .may_act = true, .agrees = true, .decides = true};
    if (scratch == NULL)
        return nb_error_no_memory(error);
    int rc = nb_results_begin(&results, request, NB_RESULTS_BATCH, error);
    for (size_t i = 0; i < q->count && rc == 0; i++)
        rc = ask(q, i, &results, &scratch->verdict, &common, error);
    if (rc == 0)
        rc = end(&common, &q->options, &results, error);
    nb_verdict_reset(&scratch->verdict);
    nb_scratch_give(request->server->scratch, scratch);
    return rc;
}

static bool are_loaded(const struct nb_request *request, const struct question *q)
{
    size_t i = 0;
    while (i < q->count && nb_engine_is_loaded(request->server->engine, q->models[i]))
        i++;
    return i == q->count;
}

static int answer(struct nb_request *request, struct nb_string body, struct nb_error *error)
{
    struct question q = {.count = 0};
    int rc = read_question(request, body, &q, error);
    if (rc != 0)
        return rc;
    rc = ask_all(request, &q, error);
    forget(&q);
    return rc;
}

static void free_body(void *user)
{
    nb_buffer_deinit(user);
    free(user);
}

/* Answers the request on the pool that loads models. */
static int answer_slowly(struct nb_request *request, struct nb_error *error)
{
    const struct nb_buffer *body = request->state;
    assert(body != NULL); /* wait_for_models has copied it */
    return answer(request, (struct nb_string){body->bytes, body->length}, error);
}

/* Loads models that are only on disk, on a pool: threads that serve connections have other requests
 * to serve. Copies the request's body, which does not last so long. */
static int wait_for_models(struct nb_request *request, struct nb_error *error)
{
    assert(request->state == NULL);
    struct nb_buffer *body = calloc(1, sizeof *body);
    if (body == NULL)
        return nb_error_no_memory(error);
    request->state = body;
    request->state_free = free_body;
    if (nb_buffer_append(body, request->body.bytes, request->body.length) != 0)
        return nb_error_no_memory(error);
    return nb_work_run(request, request->server->loads, answer_slowly, error);
}

int nb_route_classify_many(struct nb_request *request, struct nb_error *error)
{
    struct question q = {.count = 0};
    int rc = read_question(request, request->body, &q, error);
    if (rc != 0)
        return rc;
    /* A request with a large body already runs on a pool, where it may wait. */
    bool may_wait = request->work != NULL || are_loaded(request, &q);
    if (may_wait)
        rc = ask_all(request, &q, error);
    forget(&q);
    return may_wait ? rc : wait_for_models(request, error);
}
