/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine.h"
#include "server/base/log.h"
#include "server/base/metrics.h"
#include "tests/unit/run.h"

static const char *const methods[] = {"GET", "POST"};
static const char *const patterns[] = {"/a", "/b/{x}"};
enum { ROUTES = 2, THREADS = 4, EACH = 20000 };

static char *page_of(struct nb_metrics *metrics, const struct nb_engine_statistics *engine)
{
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_metrics_write(metrics, engine, &out), 0);
    ck_assert_int_eq(nb_buffer_append(&out, "", 1), 0);
    return out.bytes;
}

/* Returns whether the page has exactly this line. */
static bool has_line(const char *page, const char *line)
{
    size_t length = strlen(line);
    for (const char *at = page; (at = strstr(at, line)) != NULL; at++) {
        if ((at == page || at[-1] == '\n') && at[length] == '\n')
            return true;
    }
    return false;
}

#define CHECK_LINE(page, line) ck_assert_msg(has_line(page, line), "no line %s in:\n%s", line, page)

START_TEST(counts_requests)
{
    struct nb_metrics *metrics = nb_metrics_new(methods, patterns, ROUTES, "1.2.3");
    nb_metrics_request(metrics, 0, 200, 60000, 100, 1000);
    nb_metrics_request(metrics, 0, 200, 60000, 0, 0);
    nb_metrics_request(metrics, 1, 404, 20000000000u, 0, 11);
    nb_metrics_request(metrics, 1, 0, 50000, 0, 0);
    nb_metrics_request(metrics, 1, 418, 1, 0, 0);
    nb_metrics_request(metrics, 1, 421, 1, 0, 0);
    nb_metrics_request(metrics, ROUTES, 404, 1, 0, 0);
    nb_metrics_request(metrics, SIZE_MAX, 404, 1, 0, 0);
    nb_metrics_connection(metrics, 1);
    nb_metrics_connection(metrics, 1);
    nb_metrics_connection(metrics, -1);
    char *page = page_of(metrics, NULL);
    CHECK_LINE(page, "bayesd_info{version=\"1.2.3\"} 1");
    CHECK_LINE(page, "bayesd_http_requests_total{method=\"GET\",route=\"/a\",status=\"200\"} 2");
    CHECK_LINE(page,
               "bayesd_http_requests_total{method=\"POST\",route=\"/b/{x}\",status=\"404\"} 1");
    CHECK_LINE(page,
               "bayesd_http_requests_total{method=\"POST\",route=\"/b/{x}\",status=\"gone\"} 1");
    CHECK_LINE(page,
               "bayesd_http_requests_total{method=\"POST\",route=\"/b/{x}\",status=\"other\"} 1");
    CHECK_LINE(page,
               "bayesd_http_requests_total{method=\"POST\",route=\"/b/{x}\",status=\"421\"} 1");
    CHECK_LINE(page, "bayesd_http_requests_total{method=\"\",route=\"other\",status=\"404\"} 2");
    CHECK_LINE(page, "bayesd_http_connections 1");
    CHECK_LINE(page, "bayesd_http_connections_total 2");
    CHECK_LINE(page, "bayesd_http_received_bytes_total 100");
    CHECK_LINE(page, "bayesd_http_sent_bytes_total 1011");
    ck_assert_ptr_null(strstr(page, "bayesd_commits_total"));
    free(page);
    nb_metrics_free(&metrics);
    ck_assert_ptr_null(metrics);
}
END_TEST

START_TEST(fills_buckets)
{
    struct nb_metrics *metrics = nb_metrics_new(methods, patterns, ROUTES, "1");
    const char *b = "bayesd_http_request_seconds_bucket{method=\"GET\",route=\"/a\",le=";
    static const struct {
        const char *bound;
        int count;
    } buckets[] = {{"5e-05", 1}, {"0.0001", 2}, {"0.00025", 2}, {"10", 2}, {"+Inf", 3}};
    nb_metrics_request(metrics, 0, 200, 50000, 0, 0); /* a time equal to a bound is in its bucket */
    nb_metrics_request(metrics, 0, 200, 50001, 0, 0);
    nb_metrics_request(metrics, 0, 200, 10000000001u, 0, 0);
    char *page = page_of(metrics, NULL);
    for (size_t i = 0; i < sizeof buckets / sizeof buckets[0]; i++) {
        char line[200];
        snprintf(line, sizeof line, "%s\"%s\"} %d", b, buckets[i].bound, buckets[i].count);
        CHECK_LINE(page, line);
    }
    CHECK_LINE(page, "bayesd_http_request_seconds_count{method=\"GET\",route=\"/a\"} 3");
    CHECK_LINE(page, "bayesd_http_request_seconds_sum{method=\"GET\",route=\"/a\"} 10.000100002");
    free(page);
    nb_metrics_free(&metrics);
}
END_TEST

START_TEST(shows_the_engine)
{
    struct nb_metrics *metrics = nb_metrics_new(methods, patterns, ROUTES, "1");
    struct nb_engine_statistics engine = {.models = 3,
                                          .documents = 1234567890123,
                                          .learned = 7,
                                          .forgotten = 2,
                                          .commits = 5,
                                          .commit_nanoseconds = 2500000000,
                                          .queued = 4,
                                          .store_bytes = 4096};
    char *page = page_of(metrics, &engine);
    CHECK_LINE(page, "bayesd_models 3");
    CHECK_LINE(page, "bayesd_documents 1234567890123");
    CHECK_LINE(page, "bayesd_changes_total{status=\"learned\"} 7");
    CHECK_LINE(page, "bayesd_changes_total{status=\"forgotten\"} 2");
    CHECK_LINE(page, "bayesd_commits_total 5");
    CHECK_LINE(page, "bayesd_commit_seconds_total 2.5");
    CHECK_LINE(page, "bayesd_queued_changes 4");
    CHECK_LINE(page, "bayesd_store_bytes 4096");
    free(page);
    nb_metrics_free(&metrics);
}
END_TEST

/* The text format: a HELP and a TYPE before the values of each name, no name twice, values that are
 * numbers. */
START_TEST(is_well_formed)
{
    struct nb_metrics *metrics = nb_metrics_new(methods, patterns, ROUTES, "1");
    struct nb_engine_statistics engine = {0};
    nb_metrics_request(metrics, 0, 200, 1, 1, 1);
    nb_metrics_request(metrics, 1, 500, 1, 1, 1);
    char *page = page_of(metrics, &engine);
    char name[100] = "", seen[8192] = " ";
    for (char *rest = page, *line; (line = strtok_r(rest, "\n", &rest)) != NULL;) {
        char word[100];
        if (sscanf(line, "# HELP %99s", word) == 1)
            continue;
        if (sscanf(line, "# TYPE %99s", name) == 1) {
            char key[104];
            snprintf(key, sizeof key, " %s ", name);
            ck_assert_msg(strstr(seen, key) == NULL, "%s twice", name);
            strncat(seen, key, sizeof seen - strlen(seen) - 1);
            continue;
        }
        ck_assert_msg(name[0] != '\0' && strncmp(line, name, strlen(name)) == 0, "under %s: %s",
                      name, line);
        const char *value = strrchr(line, ' ');
        char *end;
        ck_assert_ptr_nonnull(value);
        (void)strtod(value + 1, &end);
        ck_assert_msg(*end == '\0' && end > value + 1, "%s", line);
    }
    free(page);
    nb_metrics_free(&metrics);
}
END_TEST

static void *count_many(void *user)
{
    for (unsigned i = 0; i < EACH; i++)
        nb_metrics_request(user, i % 2, 200, i, 1, 2);
    return NULL;
}

START_TEST(loses_nothing_among_threads)
{
    struct nb_metrics *metrics = nb_metrics_new(methods, patterns, ROUTES, "1");
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count_many, metrics), 0);
    for (int i = 0; i < THREADS; i++) {
        free(page_of(metrics, NULL)); /* reading while others count does no harm */
        pthread_join(threads[i], NULL);
    }
    char *page = page_of(metrics, NULL);
    CHECK_LINE(page,
               "bayesd_http_requests_total{method=\"GET\",route=\"/a\",status=\"200\"} 40000");
    CHECK_LINE(page, "bayesd_http_sent_bytes_total 160000");
    free(page);
    nb_metrics_free(&metrics);
}
END_TEST

/* ---- the log's lines ------------------------------------------------------------------------- */

static const struct {
    enum nb_log_level level;
    bool journal;
    const char *text, *line;
} lines[] = {
    {NB_LOG_ERROR, false, "it broke", "bayesd: error: it broke\n"},
    {NB_LOG_INFO, false, "", "bayesd: info: \n"},
    {NB_LOG_ERROR, true, "it broke", "<3>it broke\n"},
    {NB_LOG_WARNING, true, "w", "<4>w\n"},
    {NB_LOG_DEBUG, true, "model=a\nb\x1b[0m\x7f", "<7>model=a?b?[0m?\n"},
    {NB_LOG_DEBUG, false, "caf\xC3\xA9", "bayesd: debug: caf\xC3\xA9\n"},
};

START_TEST(formats_each_line)
{
    char line[200];
    size_t length =
        nb_log_format(line, sizeof line, lines[_i].level, lines[_i].journal, lines[_i].text);
    ck_assert_str_eq(line, lines[_i].line);
    ck_assert_uint_eq(length, strlen(line));
}
END_TEST

START_TEST(cuts_a_long_line)
{
    char line[20];
    size_t length = nb_log_format(line, sizeof line, NB_LOG_ERROR, false, "much too long for it");
    ck_assert_uint_eq(length, sizeof line - 1);
    ck_assert_str_eq(line, "bayesd: error: muc\n");
}
END_TEST

/* ---- users whose mail was learned, judged, or both ------------------------------------------- */

static void expect_users(struct nb_metrics *metrics, int taught, int asked, int both)
{
    char *page = page_of(metrics, NULL), wanted[128];
    (void)snprintf(wanted, sizeof wanted,
                   "bayesd_filter_users{seen=\"taught\"} %d\n"
                   "bayesd_filter_users{seen=\"asked\"} %d\n"
                   "bayesd_filter_users{seen=\"both\"} %d",
                   taught, asked, both);
    CHECK_LINE(page, wanted);
    free(page);
}

START_TEST(users_are_counted_by_what_was_seen)
{
    const struct nb_string bob = nb_string_of("mail-bob"), ann = nb_string_of("mail-ann");
    struct nb_metrics *metrics = nb_metrics_new(methods, patterns, ROUTES, "1.2.3");
    expect_users(metrics, 0, 0, 0);
    for (int i = 0; i < 2; i++)
        nb_metrics_user(metrics, bob, NB_USER_TAUGHT);
    expect_users(metrics, 1, 0, 0);
    nb_metrics_user(metrics, ann, NB_USER_ASKED);
    expect_users(metrics, 1, 1, 0);
    for (int i = 0; i < 2; i++)
        nb_metrics_user(metrics, bob, NB_USER_ASKED);
    expect_users(metrics, 0, 1, 1);
    nb_metrics_user(metrics, ann, NB_USER_TAUGHT);
    expect_users(metrics, 0, 0, 2);
    nb_metrics_free(&metrics);
}
END_TEST

/* The table does not grow; users who are in it are still counted. */
START_TEST(further_users_are_not_counted)
{
    enum { MORE = 100 };
    char name[32];
    struct nb_metrics *metrics = nb_metrics_new(methods, patterns, ROUTES, "1.2.3");
    for (int i = 0; i < NB_MAIL_USERS_MOST + MORE; i++) {
        (void)snprintf(name, sizeof name, "mail-%d", i);
        nb_metrics_user(metrics, nb_string_of(name), NB_USER_ASKED);
    }
    expect_users(metrics, 0, NB_MAIL_USERS_MOST, 0);
    nb_metrics_user(metrics, nb_string_of("mail-new"), NB_USER_TAUGHT);
    nb_metrics_user(metrics, nb_string_of("mail-7"), NB_USER_TAUGHT);
    expect_users(metrics, 0, NB_MAIL_USERS_MOST - 1, 1);
    nb_metrics_free(&metrics);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tcase = tcase_create("metrics");
    tcase_add_test(tcase, counts_requests);
    tcase_add_test(tcase, fills_buckets);
    tcase_add_test(tcase, shows_the_engine);
    tcase_add_test(tcase, is_well_formed);
    tcase_add_test(tcase, loses_nothing_among_threads);
    tcase_add_loop_test(tcase, formats_each_line, 0, (int)(sizeof lines / sizeof lines[0]));
    tcase_add_test(tcase, cuts_a_long_line);
    tcase_add_test(tcase, users_are_counted_by_what_was_seen);
    tcase_add_test(tcase, further_users_are_not_counted);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
