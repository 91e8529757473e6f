/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/results.h"

#include <assert.h>

#include "server/json/problem.h"
#include "server/json/receipt.h"
#include "server/request/reply.h"
#include "server/request/request.h"

int nb_results_begin(struct nb_results *results, struct nb_request *request,
                     enum nb_results_form form, struct nb_error *error)
{
    *results = (struct nb_results){.request = request, .form = form};
    if (form == NB_RESULTS_ONE)
        return 0;
    nb_reply_spool(request);
    if (form == NB_RESULTS_BATCH &&
        nb_buffer_puts(&request->reply.spool.tail, "{\"results\":[") != 0)
        return nb_error_no_memory(error);
    return 0;
}

/* Where the next result goes; NULL when there is no memory. */
static struct nb_buffer *begin_result(struct nb_results *r)
{
    struct nb_reply *reply = &r->request->reply;
    if (r->form == NB_RESULTS_ONE)
        return &reply->body;
    if (r->form == NB_RESULTS_BATCH && r->size > 0 &&
        nb_buffer_append(&reply->spool.tail, ",", 1) != 0)
        return NULL;
    return &reply->spool.tail;
}

/* After a result was written with code `rc`, whose only failure is memory. */
static int end_result(struct nb_results *r, int rc, struct nb_error *error)
{
    struct nb_spool *spool = &r->request->reply.spool;
    if (rc == 0 && r->form == NB_RESULTS_LINES)
        rc = nb_buffer_append(&spool->tail, "\n", 1);
    if (rc != 0)
        return nb_error_no_memory(error);
    r->size++;
    return r->form == NB_RESULTS_ONE ? 0 : nb_spool_settle(spool, error);
}

int nb_results_verdict(struct nb_results *results, const struct nb_verdict *verdict,
                       const struct nb_json_decision *decision, struct nb_error *error)
{
    struct nb_buffer *out = begin_result(results);
    int rc = out == NULL ? NB_NO_MEMORY
                         : nb_json_verdict(out, results->request->model, verdict, decision);
    return end_result(results, rc, error);
}

int nb_results_tokens(struct nb_results *results, const struct nb_bag *bag, struct nb_error *error)
{
    struct nb_buffer *out = begin_result(results);
    return end_result(results, out == NULL ? NB_NO_MEMORY : nb_json_tokens(out, bag), error);
}

int nb_results_receipt(struct nb_results *results, const struct nb_receipt *receipt,
                       struct nb_error *error)
{
    if (receipt->code != 0)
        return nb_results_error(results, &receipt->error, error);
    struct nb_buffer *out = begin_result(results);
    int rc = out == NULL ? NB_NO_MEMORY : nb_json_receipt(out, results->request->model, receipt);
    assert(receipt->status < NB_STATUSES);
    results->totals[receipt->status]++;
    return end_result(results, rc, error);
}

int nb_results_error(struct nb_results *results, const struct nb_error *why, struct nb_error *error)
{
    if (results->form == NB_RESULTS_ONE) {
        *error = *why;
        return why->code;
    }
    struct nb_buffer *out = begin_result(results);
    results->failed++;
    return end_result(results, out == NULL ? NB_NO_MEMORY : nb_json_error(out, why), error);
}

bool nb_results_has_lines(const struct nb_results *results)
{
    return results->form == NB_RESULTS_LINES && results->size > 0;
}

int nb_results_end(struct nb_results *results, struct nb_error *error)
{
    struct nb_request *request = results->request;
    if (results->form == NB_RESULTS_ONE)
        return nb_reply_json(request, results->totals[NB_QUARANTINED] > 0 ? 202 : 200);
    if (results->form == NB_RESULTS_LINES)
        return nb_reply_spooled(request, 200, "application/x-ndjson", error);
    if (nb_json_results_end(&request->reply.spool.tail, (enum nb_verb)request->route->verb,
                            results->totals, results->failed) != 0)
        return nb_error_no_memory(error);
    return nb_reply_spooled(request, 200, "application/json", error);
}
