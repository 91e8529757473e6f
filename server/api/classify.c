/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/classify.h"

#include <math.h>
#include <string.h>

#include "config/config.h"
#include "core/base/clock.h"
#include "core/engine/engine.h"
#include "server/api/results.h"
#include "server/json/document.h"
#include "server/request/query.h"
#include "server/request/request.h"
#include "server/request/scratch.h"
#include "server/request/server.h"
#include "server/request/verdict_log.h"
#include "tokenizer/mail/mime.h"

bool nb_classify_is_long(const struct nb_request *request)
{
    return request->query_count > 0 && nb_request_query(request, "target_fpr").bytes != NULL;
}

int nb_classify_read(const struct nb_request *request, struct nb_classify *wanted,
                     struct nb_error *error)
{
    uint64_t explain = 0;
    *wanted = (struct nb_classify){.explain = 0};
    if (request->query_count == 0)
        return 0;
    int rc = nb_request_query_count(request, "explain", 0, request->config->listing_rows, &explain,
                                    error);
    wanted->explain = (size_t)explain;
    return rc != 0 ? rc : nb_decision_read(request, &wanted->rule, error);
}

static bool has_label(const struct nb_verdict *verdict, const char *label)
{
    for (size_t i = 0; i < verdict->size; i++) {
        if (strcmp(verdict->labels[i], label) == 0)
            return true;
    }
    return false;
}

/* A model of the mail filter is ready when the filter would use it. */
static void need_labels(const struct nb_config *config, struct nb_verdict *verdict)
{
    const char *const labels[] = {config->filter_spam_label, config->filter_ham_label};
    if (verdict->size > 2 && has_label(verdict, labels[0]) && has_label(verdict, labels[1]))
        nb_verdict_need(verdict, labels, 2);
}

static int write_verdict(const struct nb_classify *wanted, const struct nb_verdict *verdict,
                         struct nb_results *results, struct nb_error *error)
{
    struct nb_decision_made made;
    if (!wanted->rule.is_asked)
        return nb_results_verdict(results, verdict, NULL, error);
    int rc = nb_decision_make(&wanted->rule, verdict, &made, error);
    if (rc != 0)
        return rc;
    struct nb_json_decision decision = {made.label, made.reason};
    return nb_results_verdict(results, verdict, &decision, error);
}

/* A certain verdict has no finite odds: as far as a double goes. */
static double log_odds(double probability)
{
    enum { MOST = 36 };
    return fmax(-MOST, fmin(MOST, log(probability) - log1p(-probability)));
}

static void log_verdict(const struct nb_request *request, const struct nb_verdict *verdict,
                        const struct nb_json_document *document, uint64_t nanoseconds)
{
    struct nb_string mail = {document->document.bytes, document->document.length};
    bool is_mail = document->document.kind == NB_DOCUMENT_MAIL;
    double p = verdict->probabilities[verdict->best];
    if (!nb_verdict_log_wants(request))
        return;
    nb_verdict_log(
        request,
        &(struct nb_verdict_note){
            .id = document->id,
            .message_id = is_mail ? nb_mime_find_field(mail, (size_t)request->config->header_bytes,
                                                       "Message-ID")
                                  : (struct nb_string){"", 0},
            .model = request->model,
            .verdict = nb_string_of(verdict->labels[verdict->best]),
            .probability = p,
            .score = log_odds(p),
            .nanoseconds = nanoseconds,
        });
}

int nb_classify_document(const struct nb_classify *wanted, const struct nb_json_document *document,
                         struct nb_results *results, struct nb_error *error)
{
    const struct nb_request *request = results->request;
    uint64_t start = nb_clock_monotonic();
    struct nb_scratch *scratch = nb_scratch_take(request->server->scratch);
    if (scratch == NULL)
        return nb_error_no_memory(error);
    int rc = nb_engine_classify(request->server->engine, request->model, &document->document,
                                wanted->explain, &scratch->verdict, error);
    if (rc == 0) {
        need_labels(request->config, &scratch->verdict);
        rc = write_verdict(wanted, &scratch->verdict, results, error);
    }
    if (rc == 0)
        log_verdict(request, &scratch->verdict, document, nb_clock_monotonic() - start);
    nb_scratch_give(request->server->scratch, scratch);
    return rc;
}

int nb_tokenize_document(const struct nb_document *document, struct nb_results *results,
                         struct nb_error *error)
{
    const struct nb_request *request = results->request;
    struct nb_scratch *scratch = nb_scratch_take(request->server->scratch);
    if (scratch == NULL)
        return nb_error_no_memory(error);
    int rc =
        nb_engine_tokenize(request->server->engine, request->model, document, &scratch->bag, error);
    if (rc == 0)
        rc = nb_results_tokens(results, &scratch->bag, error);
    nb_scratch_give(request->server->scratch, scratch);
    return rc;
}
