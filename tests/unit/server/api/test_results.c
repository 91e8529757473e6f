/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "server/api/results.h"
#include "server/json/document.h"
#include "server/request/reply.h"
#include "server/request/request.h"
#include "server/request/server.h"

static struct nb_config config;
static struct nb_server server = {.spool_directory = "/tmp"};
static struct nb_route route = {.protocol = &nb_protocol_api};
static struct nb_request request;
static struct nb_results results;
static struct nb_error error;

/* A request of a verb, whose reply stays in memory up to `memory` bytes. */
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

/* The reply's bytes, wherever they lie; freed by the caller. */
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
    json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_msg(value != NULL, "%s", text);
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

/* A reply over the limit goes to a file piece by piece. */
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

int main(void)
{
    Suite *suite = suite_create("results");
    TCase *tcase = tcase_create("results");
    tcase_add_test(tcase, a_batch_adds_up);
    tcase_add_test(tcase, totals_are_those_of_the_verb);
    tcase_add_test(tcase, a_long_batch_is_one_json_text);
    tcase_add_test(tcase, lines_are_json_texts);
    tcase_add_test(tcase, the_failure_of_one_is_the_requests);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
