/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a client that need no connection: paths, the token, replies with an error status.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/http/call/call.h"
#include "server/http/call/path.h"
#include "tests/unit/run.h"

/* ---- paths ----------------------------------------------------------------------------------- */

START_TEST(a_path_encodes_the_name_of_the_model)
{
    static const struct {
        const char *model, *rest, *path;
    } table[] = {
        {"mail", "", "/v1/models/mail"},
        {"mail", "/classify?explain=3", "/v1/models/mail/classify?explain=3"},
        {"a b/c", "/train", "/v1/models/a%20b%2Fc/train"},
        {"a?b#c%d", "", "/v1/models/a%3Fb%23c%25d"},
        {"\xC3\xA4.-_~9Z", "", "/v1/models/%C3%A4.-_~9Z"},
        {"..", "", "/v1/models/.."},
        {"\r\nHost: x", "", "/v1/models/%0D%0AHost%3A%20x"},
        {"", "", "/v1/models/"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct nb_buffer path = {0};
        ck_assert_int_eq(nb_path_model(&path, table[i].model, table[i].rest), 0);
        ck_assert_msg(strcmp(path.bytes, table[i].path) == 0, "row %zu: %s", i, path.bytes);
        ck_assert_uint_eq(path.length, strlen(table[i].path));
        nb_buffer_deinit(&path);
    }
}
END_TEST

START_TEST(queries_follow_each_other)
{
    struct nb_buffer path = {0};
    ck_assert_int_eq(nb_path_model(&path, "m", "/train"), 0);
    ck_assert_int_eq(nb_path_query(&path, "source", NULL), 0);
    ck_assert_str_eq(path.bytes, "/v1/models/m/train");
    ck_assert_int_eq(nb_path_query(&path, "source", "a&b=c"), 0);
    ck_assert_str_eq(path.bytes, "/v1/models/m/train?source=a%26b%3Dc");
    ck_assert_int_eq(nb_path_query(&path, "label", ""), 0);
    ck_assert_str_eq(path.bytes, "/v1/models/m/train?source=a%26b%3Dc&label=");
    ck_assert_uint_eq(path.length, strlen(path.bytes));
    nb_buffer_deinit(&path);
}
END_TEST

/* ---- the token ------------------------------------------------------------------------------- */

static int read_token(const char *bytes, size_t length, struct nb_buffer *token)
{
    char name[] = "/tmp/bayesd-token-XXXXXX";
    struct nb_error error = {0};
    int file = mkstemp(name);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, bytes, length), (ssize_t)length);
    ck_assert_int_eq(close(file), 0);
    int rc = nb_access_token_read(name, token, &error);
    ck_assert_int_eq(unlink(name), 0);
    ck_assert_int_eq(rc, error.code);
    return rc;
}

START_TEST(a_token_is_the_first_word)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *token; /* NULL: refused */
    } table[] = {
        {"secret\n", 7, "secret"},
        {"secret", 6, "secret"},
        {"secret\r\nmore\n", 13, "secret"},
        {"secret # a comment\n", 19, "secret"},
        {"secret\0more\n", 12, "secret"},
        {"", 0, NULL},
        {"\nsecret\n", 8, NULL},
        {" secret\n", 8, NULL},
        {"sec\x01ret\n", 8, NULL},
        {"s\xC3\xA4\n", 4, NULL},
        {"a\x1B[2Jb\n", 7, NULL},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct nb_buffer token = {0};
        int rc = read_token(table[i].bytes, table[i].length, &token);
        ck_assert_msg(rc == (table[i].token != NULL ? 0 : NB_INVALID), "row %zu: %d", i, rc);
        if (table[i].token != NULL)
            ck_assert_msg(
                nb_string_equals((struct nb_string){token.bytes, token.length}, table[i].token),
                "row %zu", i);
        else
            ck_assert_uint_eq(token.length, 0);
        nb_buffer_deinit(&token);
    }
}
END_TEST

START_TEST(a_long_line_is_not_cut_to_a_token)
{
    char line[8192];
    struct nb_buffer token = {0};
    memset(line, 'x', sizeof line);
    line[4000] = '\n';
    ck_assert_int_eq(read_token(line, sizeof line, &token), 0);
    ck_assert_uint_eq(token.length, 4000);
    token.length = 0;
    line[4000] = 'x';
    ck_assert_int_eq(read_token(line, sizeof line, &token), NB_INVALID);
    ck_assert_uint_eq(token.length, 0);
    nb_buffer_deinit(&token);
}
END_TEST

START_TEST(no_file_is_no_token)
{
    struct nb_buffer token = {0};
    struct nb_error error = {0};
    ck_assert_int_eq(nb_access_token_read(NULL, &token, &error), 0);
    ck_assert_uint_eq(token.length, 0);
    ck_assert_int_eq(nb_access_token_read("/does/not/exist", &token, &error), NB_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "/does/not/exist"));
}
END_TEST

/* ---- replies with an error status ------------------------------------------------------------ */

static const struct {
    long status;
    const char *body;
    int code;
    const char *text; /* part of the error text */
} refusals[] = {
    {400, "{\"status\": 400, \"detail\": \"this is wrong\"}", NB_INVALID, "this is wrong"},
    {401, "{\"detail\": \"no token\"}", NB_CALL_FORBIDDEN, "no token"},
    {403, "{\"detail\": \"not allowed\"}", NB_CALL_FORBIDDEN, "not allowed"},
    {404, "{\"detail\": \"no such model\"}", NB_NOT_FOUND, "no such model"},
    {404, "<html>Not Found</html>", NB_CALL_PROTOCOL, "http://x answers 404"},
    {404, "", NB_CALL_PROTOCOL, "http://x answers 404"},
    {409, "{\"detail\": \"nothing learned\"}", NB_CONFLICT, "nothing learned"},
    {413, "{\"detail\": \"too large\"}", NB_TOO_LARGE, "too large"},
    {415, "{\"detail\": \"what type\"}", NB_UNSUPPORTED, "what type"},
    {422, "{\"detail\": \"empty label\"}", NB_UNUSABLE, "empty label"},
    {418, "{\"detail\": \"other\"}", NB_INVALID, "other"},
    {429, "", NB_CALL_BUSY, "answers 429"},
    {503, "{\"detail\": \"No space left on device\"}", NB_CALL_BUSY, "No space"},
    {503, "{\"title\": \"busy\", \"detail\": \"later\"}", NB_CALL_BUSY, "later"},
    {503, "{\"detail\": \"the model 'm' is damaged (rows): delete it\"}", NB_DAMAGED, "delete it"},
    {503, "{\"detail\": \"the model 'm' is loading\"}", NB_CALL_BUSY, "loading"},
    {400, "{\"detail\": \"the model 'm' is damaged (rows)\"}", NB_INVALID, "damaged"},
    {500, "{\"detail\": \"oops\"}", NB_CALL_PROTOCOL, "oops"},
    {302, "", NB_CALL_PROTOCOL, "answers 302"},
    {400, "{\"error\": \"as rspamd tells it\"}", NB_INVALID, "as rspamd tells it"},
    {400, "{\"detail\": 7}", NB_INVALID, "answers 400"},
    {400, "[\"detail\"]", NB_INVALID, "answers 400"},
    {400, "{\"detail\": \"cut of", NB_INVALID, "answers 400"},
    {400, "{\"detail\": \"a\\u0000b\"}", NB_INVALID, "answers 400"},
};

START_TEST(a_refusal_has_a_code_and_words)
{
    struct nb_error error = {0};
    struct nb_string body = {refusals[_i].body, strlen(refusals[_i].body)};
    int rc = nb_refusal_read(refusals[_i].status, body, "http://x", &error);
    ck_assert_int_eq(rc, refusals[_i].code);
    ck_assert_int_eq(error.code, refusals[_i].code);
    ck_assert_msg(strstr(error.text, refusals[_i].text) != NULL, "row %d: %s", _i, error.text);
}
END_TEST

START_TEST(a_refusal_may_have_any_bytes)
{
    char body[300];
    unsigned seed = 1763;
    struct nb_error error = {0};
    ck_assert_int_eq(nb_refusal_read(500, (struct nb_string){NULL, 0}, "http://x", &error),
                     NB_CALL_PROTOCOL);
    for (int round = 0; round < 1000; round++) {
        size_t length = (size_t)rand_r(&seed) % sizeof body;
        for (size_t i = 0; i < length; i++)
            body[i] = (char)rand_r(&seed);
        ck_assert_int_eq(nb_refusal_read(404, (struct nb_string){body, length}, "http://x", &error),
                         NB_CALL_PROTOCOL);
    }
}
END_TEST

/* ---- the call -------------------------------------------------------------------------------- */

START_TEST(an_impossible_url_is_refused)
{
    char longest[3000];
    struct nb_error error = {0};
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    const char *const urls[] = {"", "/", "///", longest};
    ck_assert_int_eq(nb_call_setup(&error), 0);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct nb_call_target target = {.url = urls[i], .timeout = 1};
        struct nb_call *call = NULL;
        ck_assert_int_eq(nb_call_open(&target, &call, &error), NB_CALL_BAD_URL);
        ck_assert_ptr_null(call);
        nb_call_close(&call);
    }
    struct nb_call_target target = {.url = "gopher://127.0.0.1", .timeout = 1};
    const struct nb_call_request request = {.method = "GET", .path = "/"};
    json_t *value = NULL;
    ck_assert_int_eq(nb_call_once(&target, &request, &value, &error), NB_CALL_BAD_URL);
    ck_assert_ptr_null(value);
    nb_call_teardown();
}
END_TEST

START_TEST(a_path_that_is_too_long_is_refused)
{
    char path[4000];
    struct nb_error error = {0};
    struct nb_call_target target = {.url = "http://127.0.0.1:1", .timeout = 1};
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    const struct nb_call_request request = {.method = "GET", .path = path};
    json_t *value = NULL;
    ck_assert_int_eq(nb_call_setup(&error), 0);
    ck_assert_int_eq(nb_call_once(&target, &request, &value, &error), NB_CALL_BAD_URL);
    nb_call_teardown();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("call");
    TCase *all = tcase_create("all");
    tcase_add_test(all, a_path_encodes_the_name_of_the_model);
    tcase_add_test(all, queries_follow_each_other);
    tcase_add_test(all, a_token_is_the_first_word);
    tcase_add_test(all, a_long_line_is_not_cut_to_a_token);
    tcase_add_test(all, no_file_is_no_token);
    tcase_add_loop_test(all, a_refusal_has_a_code_and_words, 0,
                        (int)(sizeof refusals / sizeof *refusals));
    tcase_add_test(all, a_refusal_may_have_any_bytes);
    tcase_add_test(all, an_impossible_url_is_refused);
    tcase_add_test(all, a_path_that_is_too_long_is_refused);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
