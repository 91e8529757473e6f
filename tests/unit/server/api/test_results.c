/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "server/api/results.h"
#include "server/base/document_json.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "tests/unit/run.h"

static struct nb_config config;
static struct nb_server server = {.spool_directory = "/tmp"};
static struct nb_route route = {.protocol = &nb_protocol_api};
static struct nb_request request;
static struct nb_results results;
static struct nb_error error;

/* Begins the reply to a request of this verb; a reply of up to `memory` bytes stays in memory. */
static void begin(enum nb_verb verb, enum nb_results_form form, uint64_t memory)
{
    config.spool_memory = memory;
    config.reply_memory = config.spool_bytes = UINT64_MAX;
    nb_budgets_limit(server.budgets, &config);
    route.verb = (int)verb;
    request = (struct nb_request){
        .server = &server, .config = &config, .route = &route, .model = {"mail", 4}};
    ck_assert_int_eq(nb_results_begin(&results, &request, form, &error), 0);
}

/* Returns the bytes of the reply, from memory or from the file; the caller frees them. */
static char *reply_bytes(size_t *length)
{
    const struct nb_spool *spool = &request.reply.spool;
    *length = request.reply.has_spool ? (size_t)nb_spool_length(spool) : request.reply.body.length;
    char *text = calloc(1, *length + 1);
    ck_assert_ptr_nonnull(text);
    if (request.reply.has_spool && spool->file >= 0)
        ck_assert_int_eq(pread(spool->file, text, *length, 0), (ssize_t)*length);
    else
        memcpy(text, request.reply.has_spool ? spool->tail.bytes : request.reply.body.bytes,
               *length);
    return text;
}

static json_t *end(void)
{
    size_t length;
    ck_assert_int_eq(nb_results_end(&results, &error), 0);
    ck_assert_uint_eq(request.reply.status, 200);
    char *text = reply_bytes(&length);
    json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    ck_assert_msg(value != NULL, "%s", text);
    ck_assert_ptr_null(memchr(text, '\n', length));
    free(text);
    nb_reply_deinit(&request.reply);
    return value;
}

static json_int_t count_of(const json_t *value, const char *name)
{
    return json_integer_value(json_object_get(value, name));
}

static json_int_t status_of(const json_t *value, size_t i)
{
    const json_t *result = json_array_get(json_object_get(value, "results"), i);
    return count_of(json_object_get(result, "error"), "status");
}

START_TEST(a_batch_adds_up)
{
    struct nb_error bad;
    begin(NB_VERB_TRAIN, NB_RESULTS_BATCH, 1 << 20);
    for (int i = 0; i < 12; i++) {
        struct nb_receipt receipt = {.status = (enum nb_status)(i % 4), .id = {"x", 1}};
        receipt.code = i == 5 ? nb_error_set(&receipt.error, NB_DISK_FULL, "no space") : 0;
        ck_assert_int_eq(nb_results_receipt(&results, &receipt, &error), 0);
    }
    nb_error_set(&bad, NB_INVALID, "bad");
    ck_assert_int_eq(nb_results_error(&results, &bad, &error), 0);
    json_t *value = end();
    ck_assert_uint_eq(json_array_size(json_object_get(value, "results")), 13);
    ck_assert_int_eq(status_of(value, 5), 503);
    ck_assert_int_eq(status_of(value, 12), 400);
    ck_assert_int_eq(status_of(value, 4), 0);
    ck_assert_int_eq(count_of(value, "learned"), 3);
    ck_assert_int_eq(count_of(value, "unchanged"), 2);
    ck_assert_int_eq(count_of(value, "relabelled"), 3);
    ck_assert_int_eq(count_of(value, "updated"), 3);
    ck_assert_int_eq(count_of(value, "failed"), 2);
    ck_assert_uint_eq(json_object_size(value), 6);
    json_decref(value);
}
END_TEST

START_TEST(totals_are_those_of_the_verb)
{
    begin(NB_VERB_UNTRAIN, NB_RESULTS_BATCH, 1 << 20);
    json_t *value = end();
    ck_assert_uint_eq(json_array_size(json_object_get(value, "results")), 0);
    ck_assert_ptr_nonnull(json_object_get(value, "forgotten"));
    ck_assert_uint_eq(json_object_size(value), 3);
    json_decref(value);
    begin(NB_VERB_CLASSIFY, NB_RESULTS_BATCH, 1 << 20);
    value = end();
    ck_assert_uint_eq(json_object_size(value), 2);
    json_decref(value);
}
END_TEST

/* A reply over the limit is written to a file piece by piece. */
START_TEST(a_long_batch_is_one_json_text)
{
    struct nb_bag bag = {.size = 0};
    begin(NB_VERB_TOKENIZE, NB_RESULTS_BATCH, 16);
    for (int i = 0; i < 50; i++)
        ck_assert_int_eq(nb_results_tokens(&results, &bag, &error), 0);
    ck_assert_int_ge(request.reply.spool.file, 0);
    json_t *value = end();
    ck_assert_uint_eq(json_array_size(json_object_get(value, "results")), 50);
    ck_assert_int_eq(count_of(value, "failed"), 0);
    json_decref(value);
}
END_TEST

START_TEST(lines_are_json_texts)
{
    struct nb_bag bag = {.size = 0};
    struct nb_error bad;
    size_t length;
    nb_error_set(&bad, NB_INVALID, "bad");
    begin(NB_VERB_TOKENIZE, NB_RESULTS_LINES, 1 << 20);
    ck_assert(!nb_results_has_lines(&results));
    ck_assert_int_eq(nb_results_tokens(&results, &bag, &error), 0);
    ck_assert(nb_results_has_lines(&results));
    ck_assert_int_eq(nb_results_error(&results, &bad, &error), 0);
    ck_assert_int_eq(nb_results_end(&results, &error), 0);
    ck_assert_str_eq(request.reply.content_type, "application/x-ndjson");
    char *text = reply_bytes(&length);
    ck_assert_msg(strncmp(text, "{\"tokens\":[]}\n{\"error\":{", 24) == 0, "%s", text);
    ck_assert_int_eq(text[length - 1], '\n');
    free(text);
    nb_reply_deinit(&request.reply);
}
END_TEST

START_TEST(the_failure_of_one_is_the_requests)
{
    struct nb_error bad;
    struct nb_receipt receipt = {.status = NB_LEARNED};
    nb_error_set(&bad, NB_UNUSABLE, "bad");
    begin(NB_VERB_TRAIN, NB_RESULTS_ONE, 1 << 20);
    ck_assert_int_eq(nb_results_error(&results, &bad, &error), NB_UNUSABLE);
    ck_assert_str_eq(error.text, "bad");
    receipt.code = nb_error_set(&receipt.error, NB_NOT_FOUND, "gone");
    ck_assert_int_eq(nb_results_receipt(&results, &receipt, &error), NB_NOT_FOUND);
    ck_assert_str_eq(error.text, "gone");
    ck_assert_uint_eq(request.reply.body.length, 0);
}
END_TEST

/* ---- one result ------------------------------------------------------------------------------ */

#define BYTES(text) text, sizeof(text) - 1

static const json_t *at(const json_t *value, const char *name)
{
    const json_t *member = json_object_get(value, name);
    ck_assert_msg(member != NULL, "no member %s", name);
    return member;
}

static void is_text(const json_t *value, const char *name, const char *want)
{
    ck_assert_str_eq(json_string_value(at(value, name)), want);
}

static void is_count(const json_t *value, const char *name, json_int_t want)
{
    ck_assert_int_eq(json_integer_value(at(value, name)), want);
}

static void is_bits(const json_t *value, double want)
{
    double got = json_number_value(value);
    ck_assert_msg(memcmp(&got, &want, sizeof got) == 0, "%.17g is not %.17g", got, want);
}

START_TEST(receipts)
{
    static const char *const names[] = {"learned", "unchanged", "relabelled", "updated",
                                        "forgotten"};
    struct nb_label_documents labels[] = {{"ham", 41}, {"sp\"am", UINT32_MAX}};
    for (enum nb_status status = NB_LEARNED; status <= NB_FORGOTTEN; status++) {
        struct nb_receipt receipt = {.status = status,
                                     .id = {BYTES("i\0d\n")},
                                     .label = {BYTES("sp\"am")},
                                     .previous_label = {BYTES("ham")},
                                     .tokens = 213,
                                     .new_tokens = 17,
                                     .truncated = status == NB_UPDATED,
                                     .labels = labels,
                                     .label_count = 2};
        begin(NB_VERB_TRAIN, NB_RESULTS_ONE, 1 << 20);
        ck_assert_int_eq(nb_results_receipt(&results, &receipt, &error), 0);
        json_t *value = end();
        is_text(value, "model", "mail");
        ck_assert_uint_eq(json_string_length(at(value, "id")), 4);
        ck_assert_mem_eq(json_string_value(at(value, "id")), "i\0d\n", 4);
        is_text(value, "label", "sp\"am");
        is_text(value, "status", names[status]);
        is_count(value, "tokens", 213);
        ck_assert_int_eq(json_object_get(value, "previous_label") != NULL, status == NB_RELABELLED);
        ck_assert_int_eq(json_object_get(value, "new_tokens") != NULL, status != NB_FORGOTTEN);
        ck_assert_int_eq(json_object_get(value, "truncated") != NULL, status == NB_UPDATED);
        ck_assert_uint_eq(json_object_size(at(value, "labels")), 2);
        is_count(at(at(value, "labels"), "ham"), "documents", 41);
        is_count(at(at(value, "labels"), "sp\"am"), "documents", UINT32_MAX);
        json_decref(value);
    }
}
END_TEST

/* Two labels, and every member that a verdict can have. */
static const char *verdict_labels[] = {"ham", "\"spam\" \xC3\xA9"};
static double verdict_scores[] = {-1041.2260000000001, -1034.9610000000002};
static double verdict_probabilities[] = {0.0018999999999999998, 0.99809999999999999};
static uint64_t verdict_documents[] = {3, 500};
static struct nb_explained verdict_rows[] = {
    {.token = {BYTES("unsub\xFFscribe")}, .count = 2, .evidence = 4.7100000000000009},
    {.evidence = -0.1}};
static const struct nb_verdict verdict = {.size = 2,
                                          .labels = verdict_labels,
                                          .documents = verdict_documents,
                                          .log_scores = verdict_scores,
                                          .probabilities = verdict_probabilities,
                                          .best = 1,
                                          .total = 213,
                                          .known = 201,
                                          .has_evidence = true,
                                          .of_labels = (double)NAN};

START_TEST(verdicts)
{
    for (int full = 0; full < 2; full++) {
        struct nb_verdict v = verdict;
        v.stacked = v.tells_calibrated = v.calibrated = v.truncated = v.ready = full != 0;
        snprintf(v.missing, sizeof v.missing, "more documents");
        v.of_labels = full ? 0.97 : (double)NAN;
        v.explanation = full ? verdict_rows : NULL;
        v.explanation_count = full ? 2 : 0;
        begin(NB_VERB_CLASSIFY, NB_RESULTS_ONE, 1 << 20);
        ck_assert_int_eq(nb_results_verdict(&results, &v, NULL, &error), 0);
        json_t *value = end();
        is_text(value, "model", "mail");
        is_text(value, "label", verdict_labels[1]);
        is_bits(at(value, "probability"), verdict_probabilities[1]);
        for (size_t i = 0; i < 2; i++) {
            is_bits(at(at(value, "probabilities"), verdict_labels[i]), verdict_probabilities[i]);
            is_bits(at(at(value, "log_scores"), verdict_labels[i]), verdict_scores[i]);
        }
        is_count(at(value, "tokens"), "total", 213);
        is_count(at(value, "tokens"), "known", 201);
        is_count(at(value, "tokens"), "unknown", 12);
        ck_assert_uint_eq(json_object_size(value), full ? 11 : 9);
        ck_assert_int_eq(json_is_true(at(value, "ready")), full);
        ck_assert_ptr_null(json_object_get(value, "evidence"));
        if (!full) {
            is_text(value, "missing", "more documents");
            is_count(at(value, "documents"), "ham", 3);
            is_count(at(value, "documents"), verdict_labels[1], 500);
        }
        if (full) {
            ck_assert_double_eq_tol(json_real_value(at(value, "known")), 0.97, 1e-9);
            ck_assert(json_is_true(at(value, "calibrated")) &&
                      json_is_true(at(value, "truncated")));
            const json_t *rows = at(value, "explanation");
            ck_assert_uint_eq(json_array_size(rows), 2);
            is_text(json_array_get(rows, 0), "token", "unsub\xEF\xBF\xBDscribe");
            is_count(json_array_get(rows, 0), "count", 2);
            is_bits(at(json_array_get(rows, 0), "evidence"), verdict_rows[0].evidence);
            ck_assert(json_is_null(at(json_array_get(rows, 1), "token")));
            is_bits(at(json_array_get(rows, 1), "evidence"), verdict_rows[1].evidence);
        }
        json_decref(value);
    }
}
END_TEST

START_TEST(verdicts_without_evidence)
{
    struct nb_verdict v = verdict;
    v.known = 0;
    v.has_evidence = false;
    v.ready = true;
    begin(NB_VERB_CLASSIFY, NB_RESULTS_ONE, 1 << 20);
    ck_assert_int_eq(nb_results_verdict(&results, &v, NULL, &error), 0);
    json_t *value = end();
    is_text(value, "evidence", "none");
    is_count(at(value, "tokens"), "unknown", 213);
    json_decref(value);
}
END_TEST

static struct nb_feature bag_features[3];
static struct nb_string bag_texts[] = {{BYTES("free")}, {BYTES("FREE")}, {BYTES("subject:a\x80")}};

static struct nb_bag some_bag(void)
{
    bag_features[0] = (struct nb_feature){nb_feature_id(NB_FIELD_BODY, 1), 2, 0};
    bag_features[1] = (struct nb_feature){nb_feature_id(NB_FIELD_CASE, 2), 1, 0};
    bag_features[2] = (struct nb_feature){nb_feature_id(NB_FIELD_SUBJECT, 3), UINT32_MAX, 0};
    return (struct nb_bag){.features = bag_features, .texts = bag_texts, .size = 3};
}

START_TEST(only_tokens_are_listed)
{
    struct nb_bag bag = some_bag();
    begin(NB_VERB_TOKENIZE, NB_RESULTS_ONE, 1 << 20);
    ck_assert_int_eq(nb_results_tokens(&results, &bag, &error), 0);
    json_t *value = end();
    const json_t *tokens = at(value, "tokens");
    ck_assert_uint_eq(json_array_size(tokens), 2);
    is_text(json_array_get(tokens, 0), "token", "free");
    is_count(json_array_get(tokens, 0), "count", 2);
    is_text(json_array_get(tokens, 1), "token", "subject:a\xEF\xBF\xBD");
    is_count(json_array_get(tokens, 1), "count", UINT32_MAX);
    ck_assert_ptr_null(json_object_get(value, "truncated"));
    json_decref(value);
    bag.truncated = true;
    bag.size = 0;
    begin(NB_VERB_TOKENIZE, NB_RESULTS_ONE, 1 << 20);
    ck_assert_int_eq(nb_results_tokens(&results, &bag, &error), 0);
    value = end();
    ck_assert_uint_eq(json_array_size(at(value, "tokens")), 0);
    ck_assert(json_is_true(at(value, "truncated")));
    json_decref(value);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("results");
    TCase *tcase = tcase_create("results");
    tcase_add_test(tcase, a_batch_adds_up);
    tcase_add_test(tcase, totals_are_those_of_the_verb);
    tcase_add_test(tcase, a_long_batch_is_one_json_text);
    tcase_add_test(tcase, lines_are_json_texts);
    tcase_add_test(tcase, the_failure_of_one_is_the_requests);
    tcase_add_test(tcase, receipts);
    tcase_add_test(tcase, verdicts);
    tcase_add_test(tcase, verdicts_without_evidence);
    tcase_add_test(tcase, only_tokens_are_listed);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
