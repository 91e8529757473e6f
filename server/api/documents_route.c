/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/documents_route.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/base/array.h"
#include "core/base/system.h"
#include "core/engine/engine.h"
#include "core/stack/levels.h"
#include "server/api/decision.h"
#include "server/api/document_source.h"
#include "server/api/handlers.h"
#include "server/api/results.h"
#include "server/api/train_rounds.h"
#include "server/base/document_json.h"
#include "server/base/metrics.h"
#include "server/base/problem.h"
#include "server/events/events.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"
#include "server/mail/filter_options.h"
#include "tokenizer/mime.h"

/* The state of one request. */
struct handling {
    struct nb_request *request;
    enum nb_verb verb;
    bool has_first; /* the first document was seen; it is counted with the request */
    struct nb_results results;
    struct nb_posted_options options; /* only for NB_VERB_CLASSIFY */
    struct nb_training training;      /* only for NB_VERB_TRAIN and NB_VERB_UNTRAIN */
};

static bool is_change(const struct handling *h)
{
    return h->verb == NB_VERB_TRAIN || h->verb == NB_VERB_UNTRAIN;
}

static void handling_free(void *user)
{
    struct handling *h = user;
    if (is_change(h))
        nb_training_deinit(&h->training);
    nb_buffer_deinit(&h->results.id);
    free(h);
}

/* Reads ?level. Evidence compares two labels, and error rates are known only for the labels as they
 * are: neither can be summed over the labels of a level. */
static int read_level(const struct nb_request *request, struct nb_posted_options *options,
                      struct nb_error *error)
{
    uint64_t level = 0;
    int rc = nb_request_query_count(request, "level", 0, NB_LEVEL_MOST, &level, error);
    options->level = (unsigned)level;
    if (rc != 0 || level == 0)
        return rc;
    if (options->explain > 0)
        return nb_error_set(error, NB_INVALID,
                            "query parameter 'explain' does not go with 'level': evidence is of a "
                            "label itself, ask for it without a level");
    if (nb_request_query(request, "target_fpr").bytes != NULL)
        return nb_error_set(error, NB_INVALID,
                            "query parameter 'target_fpr' does not go with 'level': the evaluation "
                            "is of the labels themselves");
    return 0;
}

/* Reads ?explain_label: the label that is explained, of several. */
static int read_explain_label(const struct nb_request *request, struct nb_posted_options *options,
                              struct nb_error *error)
{
    struct nb_string label = nb_request_query(request, "explain_label");
    struct nb_buffer room = {0};
    int rc = label.bytes == NULL ? 0 : nb_label_take(&label, &room, error);
    if (rc == 0 && label.bytes != NULL)
        (void)snprintf(options->explain_label, sizeof options->explain_label, "%.*s",
                       (int)label.length, label.bytes);
    nb_buffer_deinit(&room);
    return rc;
}

int nb_posted_options_read(const struct nb_request *request, struct nb_posted_options *options,
                           struct nb_error *error)
{
    uint64_t explain = 0, counts = 0, words = 0, remember = 0;
    *options = (struct nb_posted_options){.explain = 0};
    if (request->query_count == 0)
        return 0;
    int rc = nb_request_query_count(request, "explain", 0, request->config->listing_rows, &explain,
                                    error);
    options->explain = (size_t)explain;
    if (rc == 0)
        rc = nb_request_query_count(request, "documents", 0, 1, &counts, error);
    options->counts = counts == 1;
    if (rc == 0)
        rc = nb_request_query_count(request, "word_counts", 0, 1, &words, error);
    options->word_counts = words == 1;
    if (rc == 0)
        rc = nb_request_query_count(request, "remember", 0, 1, &remember, error);
    options->remembers = remember == 1;
    if (rc == 0)
        rc = read_explain_label(request, options, error);
    if (rc == 0)
        rc = nb_results_top(request, &options->top, error);
    if (rc == 0)
        rc = read_level(request, options, error);
    return rc != 0 ? rc : nb_decision_read(request, &options->rule, error);
}

static int read_options(struct handling *h, struct nb_error *error)
{
    return h->verb == NB_VERB_CLASSIFY ? nb_posted_options_read(h->request, &h->options, error) : 0;
}

/* Does the long part of the preparation, on a pool. */
static int prepare_slowly(struct nb_request *request, struct nb_error *error)
{
    assert(request->state != NULL); /* set by nb_documents_prepare */
    /* Using the model reports a failure to load again. A model that its first document creates has
     * nothing to load. */
    (void)nb_engine_load(request->server->engine, request->model, error);
    return read_options(request->state, error);
}

/* Loads the model if it is not in memory, and reads the query. A threshold for a false-positive
 * rate needs an evaluation of the model, which takes long. */
static int prepare(struct handling *h, struct nb_error *error)
{
    struct nb_request *request = h->request;
    struct nb_server *server = request->server;
    bool is_long = h->verb == NB_VERB_CLASSIFY && request->query_count > 0 &&
                   nb_request_query(request, "target_fpr").bytes != NULL;
    if (is_long)
        return nb_work_run(request, server->work, prepare_slowly, error);
    if (!nb_engine_is_loaded(server->engine, request->model))
        return nb_work_run(request, server->loads, prepare_slowly, error);
    return read_options(h, error);
}

int nb_documents_prepare(struct nb_request *request, struct nb_error *error)
{
    assert(request->state == NULL && request->route != NULL);
    struct handling *h = malloc(sizeof *h);
    if (h == NULL)
        return nb_error_no_memory(error);
    *h = (struct handling){.request = request, .verb = (enum nb_verb)request->route->verb};
    request->state = h;
    request->state_free = handling_free;
    int rc = is_change(h) ? nb_training_init(&h->training, &h->results, request, error) : 0;
    if (rc == 0 && request->is_lines)
        rc = nb_results_begin(&h->results, request, NB_RESULTS_LINES, error);
    return rc != 0 ? rc : prepare(h, error);
}

/* ---- classify and tokenize ------------------------------------------------------------------- */

/* A model with the mail filter's labels is ready as soon as these labels are. */
static void need_labels(const struct nb_config *config, struct nb_verdict *verdict)
{
    bool has_spam = false, has_ham = false;
    for (size_t i = 0; verdict->is_given == NULL && verdict->size > 2 && i < verdict->size; i++) {
        has_spam = has_spam || nb_filter_is_spam(config, verdict->labels[i]);
        has_ham = has_ham || strcmp(verdict->labels[i], config->filter_ham_label) == 0;
    }
    if (has_spam && has_ham)
        nb_filter_need(config, verdict);
}

static int write_verdict(const struct nb_posted_options *options, struct nb_results *results,
                         const struct nb_verdict *verdict, const struct nb_decision_made *made,
                         struct nb_error *error)
{
    if (!nb_decision_is_wanted(&options->rule, verdict))
        return nb_results_verdict(results, verdict, NULL, error);
    struct nb_json_decision decision = {made->label, made->reason};
    return nb_results_verdict(results, verdict, &decision, error);
}

/* Returns the log-odds, clamped because a certain verdict has no finite odds. */
static double log_odds(double probability)
{
    enum { MOST = 36 };
    assert(probability >= 0 && probability <= 1);
    return fmax(-MOST, fmin(MOST, log(probability) - log1p(-probability)));
}

static void log_verdict(const struct nb_results *results, const struct nb_verdict *verdict,
                        const struct nb_json_document *document, uint64_t nanoseconds)
{
    const struct nb_request *request = results->request;
    struct nb_string mail = {document->document.bytes, document->document.length};
    bool is_mail = document->document.kind == NB_DOCUMENT_MAIL;
    assert(verdict->best < verdict->size);
    double p = verdict->probabilities[verdict->best];
    nb_verdict_log(
        request,
        &(struct nb_verdict_note){
            .id = document->id,
            .message_id = is_mail ? nb_mime_find_field(mail, (size_t)request->config->header_bytes,
                                                       "Message-ID")
                                  : (struct nb_string){"", 0},
            .model = results->model,
            .verdict = nb_string_of(verdict->labels[verdict->best]),
            .probability = p,
            .score = log_odds(p),
            .nanoseconds = nanoseconds,
        });
}

/* Tells of a verdict that the rule of the request or of the model calls unsure. */
static void tell_unsure(const struct nb_results *results, const struct nb_verdict *verdict,
                        const struct nb_json_document *document, bool has_id)
{
    assert(verdict->is_given == NULL && verdict->best < verdict->size); /* a decision was made */
    const struct nb_request *request = results->request;
    struct nb_string mail = {document->document.bytes, document->document.length};
    bool is_mail = document->document.kind == NB_DOCUMENT_MAIL;
    nb_events_unsure(
        request->server->events,
        &(struct nb_unsure_verdict){
            .model = results->model,
            .id = has_id ? nb_buffer_string(&results->id) : document->id,
            .message_id = is_mail ? nb_mime_find_field(mail, (size_t)request->config->header_bytes,
                                                       "Message-ID")
                                  : (struct nb_string){"", 0},
            .label = nb_string_of(verdict->labels[verdict->best]),
            .probability = verdict->probabilities[verdict->best],
            .protocol = request->route->protocol->door,
        });
}

/* Refuses what has no meaning when a document has several labels. */
static int check_several(const struct nb_posted_options *options, struct nb_error *error)
{
    if (options->level > 0)
        return nb_error_set(error, NB_INVALID,
                            "query parameter 'level' does not go with several labels");
    if (options->rule.is_asked || options->rule.has_min_known)
        return nb_error_set(
            error, NB_INVALID,
            "positive, threshold, target_fpr, cost_fp, cost_fn and min_known do not "
            "go with several labels: the settings `thresholds` and `optimize` say "
            "which labels a document is given");
    return 0;
}

static int ask_engine(const struct nb_posted_options *options, const struct nb_results *results,
                      const struct nb_document *document, bool is_again, struct nb_verdict *verdict,
                      struct nb_error *error)
{
    struct nb_engine *engine = results->request->server->engine;
    verdict->wants_counts = options->word_counts;
    verdict->takes_several = !options->is_of_several;
    verdict->explain_label = *options->explain_label == '\0' ? NULL : options->explain_label;
    int rc = is_again ? nb_engine_classify_again(engine, results->model, document, options->explain,
                                                 verdict, error)
                      : nb_engine_classify(engine, results->model, document, options->explain,
                                           verdict, error);
    if (rc == 0 && verdict->is_given != NULL)
        return check_several(options, error);
    if (rc == 0 && options->level > 0 && nb_verdict_at_level(verdict, options->level) != 0)
        rc = nb_error_no_memory(error);
    return rc;
}

/* Keeps the verdict in the history. The reply shows the id under which it is kept. */
static int remember(const struct nb_posted_options *options, struct nb_results *results,
                    const struct nb_json_document *document, const struct nb_verdict *verdict,
                    struct nb_error *error)
{
    struct nb_kept_verdict kept = {.id = document->id, .source = document->source};
    assert(options->remembers);
    results->id.length = 0;
    if (options->is_of_several && !verdict->keeps_history)
        return 0;
    return nb_verdict_keep(results->request, verdict, &document->document, &kept, &results->id,
                           &results->is_kept, error);
}

int nb_documents_judge(const struct nb_posted_options *options, struct nb_results *results,
                       const struct nb_json_document *document, bool is_again,
                       struct nb_verdict *verdict, struct nb_decision_made *made,
                       struct nb_error *error)
{
    bool is_logged = nb_verdict_log_wants(results->request);
    uint64_t start = is_logged ? nb_clock_monotonic() : 0;
    int rc = ask_engine(options, results, &document->document, is_again, verdict, error);
    if (rc != 0)
        return rc;
    nb_metrics_verdict(results->request->server->metrics);
    nb_engine_count_verdict(results->request->server->engine);
    need_labels(results->request->config, verdict);
    results->has_counts = options->counts;
    results->has_word_counts = options->word_counts;
    results->top = options->top;
    bool is_decided = nb_decision_is_wanted(&options->rule, verdict);
    if (is_decided)
        rc = nb_decision_make(&options->rule, verdict, made, error);
    /* Keep it only after the decision: a document that is answered with an error leaves no
     * entry. */
    if (rc == 0 && options->remembers)
        rc = remember(options, results, document, verdict, error);
    if (rc == 0)
        rc = write_verdict(options, results, verdict, made, error);
    if (rc == 0 && is_logged)
        log_verdict(results, verdict, document, nb_clock_monotonic() - start);
    if (rc == 0 && is_decided && strcmp(made->label, "unsure") == 0 &&
        nb_events_want_unsure(results->request->server->events))
        tell_unsure(results, verdict, document, options->remembers);
    return rc;
}

static int classify(struct handling *h, struct nb_scratch *scratch,
                    const struct nb_json_document *document, struct nb_error *error)
{
    struct nb_decision_made made;
    return nb_documents_judge(&h->options, &h->results, document, false, &scratch->verdict, &made,
                              error);
}

/* Writes what the model sees in a document. */
static int tokenize(struct handling *h, struct nb_scratch *scratch,
                    const struct nb_json_document *document, struct nb_error *error)
{
    const struct nb_request *request = h->request;
    int rc = nb_engine_tokenize(request->server->engine, request->model, &document->document,
                                &scratch->bag, error);
    return rc != 0 ? rc : nb_results_tokens(&h->results, &scratch->bag, error);
}

/* Asks the engine about a document. A failure concerns the model or the daemon; but NB_UNUSABLE for
 * a document with values says that the values do not fit the model. */
static int ask(struct handling *h, const struct nb_json_document *document, struct nb_error *error)
{
    struct nb_scratch_pool *pool = h->request->server->scratch;
    struct nb_scratch *scratch = nb_scratch_take(pool);
    if (scratch == NULL)
        return nb_error_no_memory(error);
    int rc = h->verb == NB_VERB_CLASSIFY ? classify(h, scratch, document, error)
                                         : tokenize(h, scratch, document, error);
    nb_scratch_give(pool, scratch);
    return rc;
}

/* ---- documents ------------------------------------------------------------------------------- */

static int take(struct handling *h, const struct nb_json_document *document, struct nb_error *error)
{
    if (is_change(h))
        return nb_training_add(&h->training, document, error);
    h->results.warning = document->warning;
    int rc = ask(h, document, error);
    /* When the model is deleted in the middle of a stream, each further line is answered with
     * the error. */
    bool is_model_gone = rc == NB_NOT_FOUND || rc == NB_CONFLICT;
    bool is_told = is_model_gone && nb_results_has_lines(&h->results);
    if (rc == NB_UNUSABLE && document->document.values.count > 0)
        is_told = true;
    if (!is_told)
        return rc;
    struct nb_error why = *error;
    return nb_results_error(&h->results, &why, error);
}

/* Counts a document against the client's rate limit; the first one is counted already. Returns 0,
 * or NB_BUSY in *why. */
static int count_document(struct handling *h, struct nb_error *why)
{
    bool is_first = !h->has_first;
    h->has_first = true;
    return is_first ? 0 : nb_request_count_document(h->request, why);
}

static int take_error(struct handling *h, const struct nb_error *why, struct nb_error *error)
{
    return is_change(h) ? nb_training_add_error(&h->training, why, error)
                        : nb_results_error(&h->results, why, error);
}

/* Handles the documents of a line, or of the whole body when `line` is NULL. */
static int take_all(struct handling *h, const struct nb_ndjson_line *line, struct nb_error *error)
{
    struct nb_document_source source;
    int rc = nb_document_source_open(&source, h->request, line, error);
    if (rc == 0 && line == NULL)
        rc = nb_results_begin(&h->results, h->request,
                              source.is_batch ? NB_RESULTS_BATCH : NB_RESULTS_ONE, error);
    h->results.table_warning = source.warning;
    while (rc == 0 && (rc = nb_document_source_next(&source, error)) > 0) {
        struct nb_error why = source.why;
        bool is_bad = why.code != 0 || count_document(h, &why) != 0;
        rc = is_bad ? take_error(h, &why, error) : take(h, &source.document, error);
    }
    nb_document_source_close(&source);
    return rc;
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Writes the receipts of a whole body as the reply. */
static int write_receipts(struct nb_request *request, struct nb_error *error)
{
    struct handling *h = request->state;
    assert(h != NULL && h->request == request && is_change(h));
    int rc = nb_training_write(&h->training, error);
    return rc != 0 ? rc : nb_results_end(&h->results, error);
}

/* Submits the changes of a whole body. Returns NB_WAIT, or the result of write_receipts. */
static int change_all(struct handling *h, struct nb_error *error)
{
    int rc = nb_training_submit(&h->training, write_receipts, error);
    return rc != 0 ? rc : write_receipts(h->request, error);
}

/* Runs the next round of a stream. Is called again after a wait. */
static int turn(struct nb_request *request, struct nb_error *error)
{
    struct handling *h = request->state;
    assert(h != NULL && h->request == request && is_change(h));
    return nb_training_turn(&h->training, turn, error);
}

/* Ends a stream after its last line. Is called again after a wait. */
static int end_lines(struct handling *h, struct nb_error *error)
{
    int rc = 0;
    while (rc == 0 && is_change(h) && !nb_training_is_done(&h->training))
        rc = turn(h->request, error);
    return rc != 0 ? rc : nb_results_end(&h->results, error);
}

/* ---- routes ---------------------------------------------------------------------------------- */

int nb_route_documents_line(struct nb_request *request, const struct nb_ndjson_line *line,
                            struct nb_error *error)
{
    struct handling *h = request->state;
    assert(h != NULL && request->is_lines);
    int rc = take_all(h, line, error);
    if (rc != 0 || !is_change(h) || !nb_training_is_full(&h->training))
        return rc;
    return turn(request, error);
}

int nb_route_documents(struct nb_request *request, struct nb_error *error)
{
    struct handling *h = request->state;
    assert(h != NULL); /* nb_documents_prepare was called */
    if (request->is_lines)
        return end_lines(h, error);
    int rc = take_all(h, NULL, error);
    if (rc != 0)
        return rc;
    return is_change(h) ? change_all(h, error) : nb_results_end(&h->results, error);
}

/* ---- rounds of training -----------------------------------------------------------------------
 */

/* The size of a stream's round: large enough to share an fsync well, small enough for each of a
 * thousand connections to hold two in memory: one gathers while the writer has the other. */
enum { ROUND_DOCUMENTS = 256, ROUND_BYTES = 3 * 1024 * 1024 };

int nb_training_init(struct nb_training *training, struct nb_results *results,
                     const struct nb_request *request, struct nb_error *error)
{
    assert(request->route->verb == NB_VERB_TRAIN || request->route->verb == NB_VERB_UNTRAIN);
    *training = (struct nb_training){.results = results};
    int rc = nb_check_model_name(request->model, error);
    if (rc == 0)
        rc = nb_request_check_load(request, error);
    return rc != 0 ? rc : nb_request_source(request, &training->source, error);
}

static void clear(struct nb_posted_documents *g)
{
    for (size_t i = 0; i < g->count; i++)
        free(g->places[i].error);
    g->count = 0;
    nb_batch_free(&g->batch);
}

static void gathered_deinit(struct nb_posted_documents *g)
{
    clear(g);
    free(g->places);
    *g = (struct nb_posted_documents){0};
}

void nb_training_deinit(struct nb_training *training)
{
    nb_round_leave(&training->round);
    gathered_deinit(&training->next);
    gathered_deinit(&training->sent);
}

/* ---- adding documents ------------------------------------------------------------------------ */

static int make_place(struct nb_posted_documents *g, struct nb_error *error)
{
    /* The limit of documents in a batch bounds this array. */
    if (nb_array_reserve(&g->places, &g->room, g->count + 1, sizeof *g->places) != 0)
        return nb_error_no_memory(error);
    return 0;
}

int nb_training_add_error(struct nb_training *training, const struct nb_error *why,
                          struct nb_error *error)
{
    struct nb_error *copy = malloc(sizeof *copy);
    struct nb_posted_documents *next = &training->next;
    assert(why->code != 0); /* the error is the document's result */
    if (copy == NULL || make_place(next, NULL) != 0) {
        free(copy);
        return nb_error_no_memory(error);
    }
    *copy = *why;
    next->places[next->count++] = (struct nb_train_reply){.error = copy};
    return 0;
}

static int add_to_batch(struct nb_training *t, const struct nb_json_document *document,
                        struct nb_error *error)
{
    struct nb_string source = document->source.length > 0 ? document->source : t->source;
    struct nb_batch *batch = t->next.batch;
    assert(batch != NULL); /* nb_training_add has made it */
    nb_batch_quarantine(batch, nb_request_is_quarantined(t->results->request, &source));
    if (t->results->request->route->verb == NB_VERB_UNTRAIN)
        return nb_batch_untrain(batch, document->has_content ? &document->document : NULL,
                                document->id, source, error);
    if (!document->has_content)
        return nb_batch_label(batch, document->id, document->label, source, error);
    return nb_batch_train(batch, &document->document, document->label, document->id, source, error);
}

/* Returns whether a code concerns the model or the daemon, not one document. In a stream that has
 * begun to answer, a deleted model is reported line by line. */
static bool fails_request(const struct nb_training *t, int code)
{
    bool is_stream = t->results->form == NB_RESULTS_LINES;
    if (code == NB_NOT_FOUND || code == NB_STOPPING)
        return !is_stream ||
               (t->next.count == 0 && t->round == NULL && !nb_results_has_lines(t->results));
    return t->results->form == NB_RESULTS_ONE || code == NB_NO_MEMORY;
}

int nb_training_add(struct nb_training *training, const struct nb_json_document *document,
                    struct nb_error *error)
{
    const struct nb_request *request = training->results->request;
    struct nb_posted_documents *next = &training->next;
    int rc = make_place(next, error);
    if (rc == 0 && next->batch == NULL)
        rc = nb_batch_new(request->server->engine, request->model,
                          training->results->form == NB_RESULTS_ONE, &next->batch, error);
    if (rc != 0)
        return rc;
    struct nb_error why = {0};
    rc = add_to_batch(training, document, &why);
    if (rc == 0) {
        bool is_mail = document->document.kind == NB_DOCUMENT_MAIL;
        next->places[next->count++] = (struct nb_train_reply){
            .warning = document->warning, .is_nameless = document->id.length == 0 && !is_mail};
        return 0;
    }
    if (!fails_request(training, rc))
        return nb_training_add_error(training, &why, error);
    *error = why;
    return rc;
}

bool nb_training_is_full(const struct nb_training *training)
{
    const struct nb_posted_documents *next = &training->next;
    return next->count >= ROUND_DOCUMENTS ||
           (next->batch != NULL && nb_batch_memory(next->batch) >= ROUND_BYTES);
}

/* ---- handing over and answering -------------------------------------------------------------- */

static bool has_changes(const struct nb_posted_documents *g)
{
    return g->batch != NULL && nb_batch_size(g->batch) > 0;
}

/* Fails the whole request if the store took none of the changes. */
static int check_store(const struct nb_posted_documents *g, struct nb_error *error)
{
    size_t size = g->batch != NULL ? nb_batch_size(g->batch) : 0;
    if (size == 0)
        return 0;
    for (size_t i = 0; i < size; i++) {
        int code = nb_batch_receipt(g->batch, i)->code;
        if (code == 0 || nb_json_status(code) < 500)
            return 0;
    }
    *error = nb_batch_receipt(g->batch, 0)->error;
    return error->code;
}

/* Writes the results of the documents, and clears them. */
static int answer(const struct nb_training *t, struct nb_posted_documents *g,
                  struct nb_error *error)
{
    size_t receipt = 0;
    int rc = nb_results_has_lines(t->results) ? 0 : check_store(g, error);
    for (size_t i = 0; rc == 0 && i < g->count; i++) {
        t->results->warning = g->places[i].warning;
        if (g->places[i].error != NULL) {
            rc = nb_results_error(t->results, g->places[i].error, error);
            continue;
        }
        assert(g->batch != NULL && receipt < nb_batch_size(g->batch)); /* one for each change */
        const struct nb_receipt *taken = nb_batch_receipt(g->batch, receipt++);
        bool is_known = taken->status == NB_UNCHANGED || taken->status == NB_RELABELLED ||
                        taken->status == NB_UPDATED;
        t->results->merged += g->places[i].is_nameless && taken->code == 0 && is_known;
        rc = nb_results_receipt(t->results, taken, error);
    }
    assert(rc != 0 || g->batch == NULL || receipt == nb_batch_size(g->batch)); /* all are told */
    if (rc == 0)
        clear(g);
    return rc;
}

int nb_training_turn(struct nb_training *training, nb_handler *again, struct nb_error *error)
{
    struct nb_training *t = training;
    struct nb_request *request = t->results->request;
    if (t->round != NULL) {
        int rc = nb_round_wait(request, t->round, again, error);
        if (rc != 0)
            return rc;
        assert(t->sent.batch == NULL); /* nb_round_begin has taken it */
        t->sent.batch = nb_round_take(request, &t->round);
        rc = answer(t, &t->sent, error);
        if (rc != 0)
            return rc;
    }
    if (!has_changes(&t->next))
        return answer(t, &t->next, error);
    assert(t->round == NULL && t->sent.count == 0); /* one round at a time */
    struct nb_posted_documents empty = t->sent;
    t->sent = t->next;
    t->next = empty;
    return nb_round_begin(request, &t->sent.batch, &t->round, error);
}

bool nb_training_is_done(const struct nb_training *training)
{
    return training->round == NULL && training->next.count == 0;
}

int nb_training_submit(struct nb_training *training, nb_handler *again, struct nb_error *error)
{
    assert(training->round == NULL); /* only streams have rounds */
    if (!has_changes(&training->next))
        return 0;
    return nb_request_submit(training->results->request, training->next.batch, again, error);
}

int nb_training_write(struct nb_training *training, struct nb_error *error)
{
    assert(training->round == NULL);
    return answer(training, &training->next, error);
}
