/* SPDX-License-Identifier: Apache-2.0 */
#include "server/filter/filter.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "server/access/tokens.h"
#include "server/base/metrics.h"
#include "server/filter/filter_labels.h"
#include "server/filter/filter_report.h"
#include "server/request/request_verdict.h"
#include "server/request/server.h"

/* The strongest tokens of a mail, of which each field's first are named. */
enum { EXPLAIN = 256 };

/* One mail, and what is asked about it. */
struct asking {
    struct nb_server *server;
    const struct nb_config *config;
    const char *models;
    const struct nb_request *request; /* whose verdicts are kept; NULL: none are */
    struct nb_document document;
    struct nb_buffer *each; /* NULL: no verdicts of single users are wanted */
    struct nb_verdict *verdict;
    bool is_again; /* a model was asked about it already: it is not tokenized again */
};

static int classify(struct asking *a, const char *model, struct nb_error *error)
{
    size_t explain = a->config->filter_evidence > 0 ? EXPLAIN : 0;
    bool is_again = a->is_again;
    a->is_again = true;
    a->verdict->wants_counts = false;
    return is_again ? nb_engine_classify_again(a->server->engine, nb_string_of(model), &a->document,
                                               explain, a->verdict, error)
                    : nb_engine_classify(a->server->engine, nb_string_of(model), &a->document,
                                         explain, a->verdict, error);
}

/* What a model can say of a mail. */
enum knowledge {
    KNOWS_NOTHING,  /* there is no spam among its documents, or nothing else */
    KNOWS_A_LITTLE, /* it gives a verdict, and is not ready: another model is preferred */
    KNOWS,
};

static const char *missing_of(bool is_unknown, const struct nb_filter_spam *spam)
{
    if (is_unknown)
        return "nothing was learned yet";
    return spam->is_known ? "all documents are spam, there must be another label"
                          : "no mail has a label of [filter] spam_label";
}

/* Keeps the verdict in the history of a model that has one. A mail gets its verdict also where it
 * cannot be kept. */
static void keep(const struct asking *a, const struct nb_verdict *verdict)
{
    static const struct nb_kept_verdict of_the_mail = {.id = {"", 0}, .source = {"", 0}};
    struct nb_buffer id = {0};
    bool is_kept;
    if (a->request != NULL && verdict->keeps_history)
        (void)nb_verdict_keep(a->request, verdict, &a->document, &of_the_mail, &id, &is_kept, NULL);
    nb_buffer_deinit(&id);
}

/* Asks one model, and makes the report if it says `least`, at least. A label that the model does
 * not know says nothing about ham: the configuration names another. Only the labels of [filter]
 * must be ready: spam is judged against all others together, whatever else somebody has trained. */
static int ask(struct asking *a, enum knowledge least, struct nb_filter_report *report,
               enum knowledge *knowledge, struct nb_error *error)
{
    struct nb_verdict *verdict = a->verdict;
    struct nb_error why = {0};
    int rc = classify(a, report->model, &why);
    bool is_unknown = rc == NB_NOT_FOUND || rc == NB_CONFLICT; /* nothing was learned yet */
    if (rc != 0 && !is_unknown)
        return nb_error_set(error, rc, "%s", why.text);
    struct nb_filter_spam spam = {.is_known = false};
    if (rc == 0)
        nb_filter_need(a->config, verdict);
    if (rc == 0 && nb_filter_find_spam(a->config, verdict, &spam) != 0)
        return nb_error_no_memory(error);
    *knowledge = !spam.has_others ? KNOWS_NOTHING : verdict->ready ? KNOWS : KNOWS_A_LITTLE;
    if (*knowledge != KNOWS_NOTHING && *knowledge >= least) {
        nb_filter_report_verdict(a->config, verdict, &spam, report);
        keep(a, verdict);
    } else if (least == KNOWS_NOTHING) {
        nb_filter_report_not_ready(missing_of(is_unknown, &spam),
                                   is_unknown ? ", nothing learned" : ", too little learned",
                                   report);
    }
    nb_verdict_reset(verdict);
    return 0;
}

/* The model of one user when it is ready, else the one of all; when that knows nothing, the user's
 * own as it is. */
static int ask_for(struct asking *a, struct nb_string user, struct nb_filter_report *report,
                   struct nb_error *error)
{
    const char *common = a->config->filter_model;
    enum knowledge own = KNOWS_NOTHING, of_all = KNOWS_NOTHING;
    report->symbol_count = 0;
    bool has_own = nb_filter_model(a->config, user, report->model, NULL) == 0 &&
                   strcmp(report->model, common) != 0;
    bool has_common = nb_models_match(a->models, nb_string_of(common));
    int rc = nb_models_check(a->models, nb_string_of(has_own ? report->model : common), error);
    if (rc == 0 && has_own)
        rc = ask(a, has_common ? KNOWS : KNOWS_NOTHING, report, &own, error);
    if (rc != 0 || own == KNOWS || (has_own && !has_common))
        return rc;
    (void)snprintf(report->model, sizeof report->model, "%s", common);
    rc = ask(a, own == KNOWS_NOTHING ? KNOWS_NOTHING : KNOWS_A_LITTLE, report, &of_all, error);
    if (rc != 0 || own == KNOWS_NOTHING || of_all != KNOWS_NOTHING)
        return rc;
    (void)nb_filter_model(a->config, user, report->model, NULL); /* as above */
    return ask(a, KNOWS_NOTHING, report, &own, error);
}

/* Notes the verdict of a user, under the name of the user's own model: a user whose model is not
 * ready yet finds the verdict in the same place. */
static int note_each(const struct asking *a, struct nb_string user,
                     const struct nb_filter_report *report, struct nb_error *error)
{
    char model[NB_FILTER_MODEL];
    if (a->each == NULL || nb_filter_model(a->config, user, model, NULL) != 0 ||
        strcmp(model, a->config->filter_model) == 0)
        return 0;
    int rc = nb_buffer_append(a->each, model, strlen(model) + 1);
    if (rc == 0)
        rc = nb_filter_status(report, a->each);
    if (rc == 0)
        rc = nb_buffer_append(a->each, "", 1);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

static int ask_and_note(struct asking *a, struct nb_string user, struct nb_filter_report *report,
                        struct nb_error *error)
{
    int rc = ask_for(a, user, report, error);
    return rc == 0 ? note_each(a, user, report, error) : rc;
}

static bool is_milder(const struct nb_filter_report *a, const struct nb_filter_report *b)
{
    return a->action < b->action || (a->action == b->action && a->probability < b->probability);
}

/* The mildest verdict of several users' models: nothing is done to a mail that one of its users
 * would not have done to it. It does not tell whose it is: the mail may go to users who must not
 * know of each other. */
static int ask_for_all(struct asking *a, const struct nb_string *users, size_t count,
                       struct nb_filter_report *report, struct nb_error *error)
{
    assert(count > 0);
    struct nb_filter_report *one = malloc(sizeof *one);
    if (one == NULL)
        return nb_error_no_memory(error);
    int rc = ask_and_note(a, users[0], report, error);
    for (size_t i = 1; i < count && rc == 0; i++) {
        *one = *report;
        rc = ask_and_note(a, users[i], one, error);
        if (rc == 0 && is_milder(one, report))
            *report = *one;
    }
    (void)snprintf(report->model, sizeof report->model, "%s", a->config->filter_user_model);
    free(one);
    return rc;
}

static int ask_models(struct asking *a, const struct nb_string *users, size_t count,
                      struct nb_filter_report *report, struct nb_error *error)
{
    const struct nb_string nobody = {"", 0};
    struct nb_scratch *scratch = nb_scratch_take(a->server->scratch);
    if (scratch == NULL)
        return nb_error_no_memory(error);
    a->verdict = &scratch->verdict;
    int rc = count > 1 ? ask_for_all(a, users, count, report, error)
                       : ask_and_note(a, count > 0 ? users[0] : nobody, report, error);
    nb_scratch_give(a->server->scratch, scratch);
    return rc;
}

int nb_filter_check(struct nb_server *server, const struct nb_config *config, const char *models,
                    const struct nb_document *document, const struct nb_string *users, size_t count,
                    const struct nb_request *request, struct nb_filter_report *report,
                    struct nb_buffer *each, struct nb_error *error)
{
    enum { EACH = 1 };
    enum nb_filter_action action;
    struct asking asking = {.server = server,
                            .config = config,
                            .models = models,
                            .request = request,
                            .each = config->filter_several_users == EACH ? each : NULL,
                            .document = *document};
    const struct nb_string mail = {document->bytes, document->length};
    report->action = NB_FILTER_NO_ACTION;
    report->status = "unsure";
    report->note = "";
    report->is_test = report->is_ready = false;
    report->probability = 0.5;
    report->log_odds = 0;
    report->symbol_count = 0;
    report->message_id[0] = report->subject[0] = '\0';
    (void)snprintf(report->model, sizeof report->model, "%s", config->filter_model);
    if (mail.length == 0)
        return 0;
    nb_filter_message_id(config, mail, report->message_id);
    int rc = 0;
    if (nb_filter_find_test(config, mail, &action))
        nb_filter_report_test(config, action, report);
    else
        rc = ask_models(&asking, users, count, report, error);
    if (report->action == NB_FILTER_REWRITE_SUBJECT)
        nb_filter_rewrite_subject(config, mail, report->subject);
    if (rc == 0) {
        nb_metrics_mail(server->metrics, report->action);
        nb_metrics_verdict(server->metrics);
    }
    return rc;
}
