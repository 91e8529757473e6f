/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/http_call.h"
#include "server/http/request.h"
#include "server/http/router.h"
#include "server/mail/rspamd.h"
#include "server/routes.h"
#include "tests/unit/run.h"

/* ---- paths ----------------------------------------------------------------------------------- */

static const struct {
    const char *method, *path;
    enum nb_route_result result;
    const char *pattern; /* with NB_ROUTE_NO_METHOD the value of Allow */
    const char *first, *second;
} paths[] = {
    {"GET", "/", NB_ROUTE_FOUND, "/", NULL, NULL},
    {"HEAD", "/", NB_ROUTE_FOUND, "/", NULL, NULL},
    {"GET", "/healthz", NB_ROUTE_FOUND, "/healthz", NULL, NULL},
    {"GET", "/v1/models", NB_ROUTE_FOUND, "/v1/models", NULL, NULL},
    {"POST", "/v1/models/mail/train", NB_ROUTE_FOUND, "/v1/models/{model}/train", "mail", NULL},
    {"PUT", "/v1/models/a+b@c", NB_ROUTE_FOUND, "/v1/models/{model}", "a+b@c", NULL},
    {"GET", "/v1/models/m/documents/a%2Fb%3f", NB_ROUTE_FOUND, "/v1/models/{model}/documents/{id}",
     "m", "a/b?"},
    {"GET", "/v1/%6Dodels/m", NB_ROUTE_FOUND, "/v1/models/{model}", "m", NULL},
    {"GET", "/v1/models/m%C3%A9", NB_ROUTE_FOUND, "/v1/models/{model}", "m\xC3\xA9", NULL},
    {"GET", "http://host:8763/v1/models/m", NB_ROUTE_FOUND, "/v1/models/{model}", "m", NULL},
    {"GET", "", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"GET", "*", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"GET", "http://host", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"GET", "//", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"GET", "/v1", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"GET", "/v1/models/", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"GET", "/v1/models/m/", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"GET", "/v1/models/m/documents/", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"GET", "/v1/models/m/documents/a/b", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"GET", "/v1/models%2Fm", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"GET", "/healthzz", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"GET", "/health", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"GET", "/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"GET", "/v1/models/%", NB_ROUTE_BAD_PATH, NULL, NULL, NULL},
    {"GET", "/v1/models/%4", NB_ROUTE_BAD_PATH, NULL, NULL, NULL},
    {"GET", "/v1/models/%G0", NB_ROUTE_BAD_PATH, NULL, NULL, NULL},
    {"GET", "/v1/models/a%00b", NB_ROUTE_BAD_PATH, NULL, NULL, NULL},
    {"GET", "/v1/models/m/train", NB_ROUTE_NO_METHOD, "POST", NULL, NULL},
    {"POST", "/v1/models/m", NB_ROUTE_NO_METHOD, "GET, HEAD, PUT, DELETE", NULL, NULL},
    {"POST", "/", NB_ROUTE_NO_METHOD, "GET, HEAD", NULL, NULL},
    {"get", "/", NB_ROUTE_NO_METHOD, "GET, HEAD", NULL, NULL},
    {"HEAD", "/v1/models/m/classify", NB_ROUTE_NO_METHOD, "POST", NULL, NULL},
    {"POST", "/checkv2", NB_ROUTE_FOUND, "/checkv2", NULL, NULL},
    {"GET", "/checkV2", NB_ROUTE_FOUND, "/checkv2", NULL, NULL},
    {"POST", "/LEARN%53pam", NB_ROUTE_FOUND, "/learnspam", NULL, NULL},
    {"GET", "/Ping", NB_ROUTE_FOUND, "/ping", NULL, NULL},
    {"POST", "/checkv", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"POST", "/checkv22", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"POST", "/checkv2/", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"PUT", "/CHECK", NB_ROUTE_NO_METHOD, "POST, GET, HEAD", NULL, NULL},
    {"POST", "/stat", NB_ROUTE_NO_METHOD, "GET, HEAD", NULL, NULL},
    /* Only rspamd's paths may be in any case. */
    {"GET", "/Healthz", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
    {"GET", "/v1/Models", NB_ROUTE_NO_PATH, NULL, NULL, NULL},
};

static void check_string(int i, struct nb_string got, const char *expected)
{
    size_t length = expected != NULL ? strlen(expected) : 0;
    ck_assert_msg(got.length == length && (length == 0 || memcmp(got.bytes, expected, length) == 0),
                  "case %d: \"%.*s\"", i, (int)got.length, got.bytes);
}

static enum nb_route_result find(const char *method, char *path, struct nb_match *match)
{
    size_t count;
    const struct nb_route *routes = nb_route_table(&count);
    return nb_route_find(routes, count, method, path, match);
}

START_TEST(finds_each_path)
{
    struct nb_match match;
    char *path = strdup(paths[_i].path);
    ck_assert_int_eq(find(paths[_i].method, path, &match), paths[_i].result);
    if (paths[_i].result == NB_ROUTE_FOUND)
        ck_assert_str_eq(match.route->pattern, paths[_i].pattern);
    else
        ck_assert_ptr_null(match.route);
    if (paths[_i].result == NB_ROUTE_NO_METHOD)
        ck_assert_str_eq(match.allow, paths[_i].pattern);
    check_string(_i, match.parameters[0], paths[_i].first);
    check_string(_i, match.parameters[1], paths[_i].second);
    free(path);
}
END_TEST

START_TEST(every_route_is_found_by_its_own_pattern)
{
    size_t count;
    const struct nb_route *routes = nb_route_table(&count);
    ck_assert_uint_gt(count, 10);
    for (size_t i = 0; i < count; i++) {
        struct nb_match match;
        char *path = strdup(routes[i].pattern);
        ck_assert_int_eq(find(routes[i].method, path, &match), NB_ROUTE_FOUND);
        ck_assert_ptr_eq(match.route, &routes[i]);
        ck_assert_uint_eq(match.index, i);
        ck_assert(routes[i].handler != NULL);
        bool takes_lines = !routes[i].protocol->is_for_mail &&
                           (routes[i].body == NB_BODY_DOCUMENTS || routes[i].body == NB_BODY_DUMP);
        ck_assert(takes_lines == (routes[i].line != NULL));
        free(path);
    }
}
END_TEST

/* Every byte except NUL, when encoded, is decoded to itself. */
START_TEST(decodes_what_was_encoded)
{
    char encoded[3 * 255 + 1], *to = encoded;
    for (unsigned byte = 1; byte < 256; byte++, to += 3)
        snprintf(to, 4, byte % 2 == 0 ? "%%%02x" : "%%%02X", byte);
    ck_assert_uint_eq(nb_percent_decode(encoded, sizeof encoded - 1), 255);
    for (unsigned byte = 1; byte < 256; byte++)
        ck_assert_uint_eq((unsigned char)encoded[byte - 1], byte);
}
END_TEST

/* ---- query ----------------------------------------------------------------------------------- */

static const char *const known[] = {"label", "limit", NULL};
static const char *const none[] = {NULL};

static int add(struct nb_request *request, char *name, char *value, struct nb_error *error)
{
    return nb_request_add_query(request, name, strlen(name), value, strlen(value), error);
}

START_TEST(keeps_known_parameters)
{
    struct nb_route route = {.pattern = "/test", .query = known, .protocol = &nb_protocol_api};
    struct nb_request request = {.route = &route};
    struct nb_error error = {0};
    char name[] = "l%61bel", value[] = "a%20b%2B+", limit[] = "limit", number[] = "12";
    ck_assert_ptr_null(nb_request_query(&request, "label").bytes);
    ck_assert_int_eq(add(&request, name, value, &error), 0);
    ck_assert_int_eq(add(&request, limit, number, &error), 0);
    check_string(0, nb_request_query(&request, "label"), "a b++");
    uint64_t count = 0;
    ck_assert_int_eq(nb_request_query_count(&request, "limit", 5, 100, &count, &error), 0);
    ck_assert_uint_eq(count, 12);
    ck_assert_int_eq(nb_request_query_count(&request, "explain", 5, 100, &count, &error), 0);
    ck_assert_uint_eq(count, 5);
    ck_assert_int_eq(nb_request_query_count(&request, "limit", 5, 11, &count, &error), NB_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "limit"));
    ck_assert_ptr_nonnull(strstr(error.text, "11"));
}
END_TEST

static const struct {
    const char *const *known;
    const char *name, *value, *said;
} bad_queries[] = {
    {known, "lable", "x", "'lable': did you mean 'label'?"},
    {known, "source", "x", "'source'; this path takes label, limit"},
    {known, "label%", "x", "percent-escape"},
    {known, "label", "%00", "percent-escape"},
    {known, "", "x", "unknown"},
    {none, "label", "x", "takes none"},
};

START_TEST(refuses_each_bad_query)
{
    struct nb_route route = {
        .pattern = "/test", .query = bad_queries[_i].known, .protocol = &nb_protocol_api};
    struct nb_request request = {.route = &route};
    struct nb_error error = {0};
    char *name = strdup(bad_queries[_i].name), *value = strdup(bad_queries[_i].value);
    ck_assert_int_eq(add(&request, name, value, &error), NB_INVALID);
    ck_assert_msg(strstr(error.text, bad_queries[_i].said) != NULL, "case %d: %s", _i, error.text);
    free(name);
    free(value);
}
END_TEST

START_TEST(refuses_a_parameter_given_twice)
{
    struct nb_route route = {.pattern = "/test", .query = known, .protocol = &nb_protocol_api};
    struct nb_request request = {.route = &route};
    struct nb_error error = {0};
    char name[] = "label", value[] = "";
    ck_assert_int_eq(add(&request, name, value, &error), 0);
    ck_assert_int_eq(add(&request, name, value, &error), NB_INVALID);
}
END_TEST

/* Parameters of rspamd's clients that are unknown are ignored, however many there are. */
START_TEST(keeps_of_rspamd_what_it_knows)
{
    struct nb_route route = {.pattern = "/test", .query = known, .protocol = &nb_protocol_rspamd};
    struct nb_request request = {.route = &route};
    struct nb_error error = {0};
    char other[] = "helo", name[] = "LaBel", first[] = "a%20b", second[] = "c", bad[] = "%00";
    for (int i = 0; i < 3 * NB_QUERY_MOST; i++)
        ck_assert_int_eq(add(&request, other, second, &error), 0);
    ck_assert_int_eq(add(&request, name, first, &error), 0);
    ck_assert_int_eq(add(&request, name, second, &error), 0);
    check_string(0, nb_request_query(&request, "label"), "a b");
    ck_assert_ptr_null(nb_request_query(&request, "helo").bytes);
    ck_assert_int_eq(add(&request, other, bad, &error), NB_INVALID);
}
END_TEST

static const char *const bad_numbers[] = {"",    "x",   "-1",  "+1",  "1 ",
                                          "0x1", "1e2", "1.0", "101", "99999999999999999999999999"};

START_TEST(refuses_each_bad_number)
{
    struct nb_route route = {.pattern = "/test", .query = known, .protocol = &nb_protocol_api};
    struct nb_request request = {.route = &route};
    char name[] = "limit", *value = strdup(bad_numbers[_i]);
    uint64_t count = 7;
    ck_assert_int_eq(add(&request, name, value, NULL), 0);
    ck_assert_int_eq(nb_request_query_count(&request, "limit", 0, 100, &count, NULL), NB_INVALID);
    ck_assert_uint_eq(count, 7);
    free(value);
}
END_TEST

/* ---- header fields --------------------------------------------------------------------------- */

static const struct {
    const char *field;
    int rc;
    enum nb_media media;
    const char *charset;
} types[] = {
    {"application/json", 0, NB_MEDIA_JSON, ""},
    {"Application/JSON; charset=UTF-8", 0, NB_MEDIA_JSON, ""},
    {"application/x-ndjson", 0, NB_MEDIA_NDJSON, ""},
    {" text/plain ;charset=\"iso-8859-1\"", 0, NB_MEDIA_TEXT, "iso-8859-1"},
    {"text/plain; format=flowed; Charset=koi8-r", 0, NB_MEDIA_TEXT, "koi8-r"},
    {"text/plain; charset=us-ascii", 0, NB_MEDIA_TEXT, ""},
    {"message/rfc822", 0, NB_MEDIA_MAIL, ""},
    {"application/mbox", 0, NB_MEDIA_MBOX, ""},
    {"text/csv; header=present", 0, NB_MEDIA_CSV, ""},
    {NULL, NB_UNSUPPORTED, 0, NULL},
    {"", NB_UNSUPPORTED, 0, NULL},
    {"text", NB_UNSUPPORTED, 0, NULL},
    {"text/plainer", NB_UNSUPPORTED, 0, NULL},
    {"application/json, text/plain", NB_UNSUPPORTED, 0, NULL},
    {"application/json; charset=latin1", NB_UNSUPPORTED, 0, NULL},
    {"text/plain; charset=", NB_UNSUPPORTED, 0, NULL},
    {"text/plain; charset=\"\"", NB_UNSUPPORTED, 0, NULL},
    {"text/plain; "
     "charset=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     NB_UNSUPPORTED, 0, NULL},
};

START_TEST(reads_each_content_type)
{
    struct nb_media_type type = {.media = NB_MEDIA_MBOX};
    struct nb_error error = {0};
    ck_assert_int_eq(nb_media_read(types[_i].field, &type, &error), types[_i].rc);
    if (types[_i].rc != 0) {
        ck_assert_str_ne(error.text, "");
        return;
    }
    ck_assert_int_eq(type.media, types[_i].media);
    ck_assert_str_eq(type.charset, types[_i].charset);
}
END_TEST

static const struct {
    const char *field;
    int rc;
    enum nb_coding coding;
} codings[] = {
    {NULL, 0, NB_CODING_IDENTITY},       {"", 0, NB_CODING_IDENTITY},
    {"identity", 0, NB_CODING_IDENTITY}, {"GZIP", 0, NB_CODING_GZIP},
    {"x-gzip", 0, NB_CODING_GZIP},       {" zstd ", 0, NB_CODING_ZSTD},
    {"br", NB_UNSUPPORTED, 0},           {"gzip, gzip", NB_UNSUPPORTED, 0},
    {"deflate", NB_UNSUPPORTED, 0},      {"gzipp", NB_UNSUPPORTED, 0},
};

START_TEST(reads_each_content_encoding)
{
    enum nb_coding coding;
    struct nb_error error = {0};
    ck_assert_int_eq(nb_coding_read(codings[_i].field, &coding, &error), codings[_i].rc);
    if (codings[_i].rc == 0)
        ck_assert_int_eq(coding, codings[_i].coding);
    else
        ck_assert_ptr_nonnull(strstr(error.text, "gzip or zstd"));
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof(table)[0])

int main(void)
{
    Suite *suite = suite_create("router");
    TCase *tcase = tcase_create("router");
    tcase_add_loop_test(tcase, finds_each_path, 0, COUNT(paths));
    tcase_add_test(tcase, every_route_is_found_by_its_own_pattern);
    tcase_add_test(tcase, decodes_what_was_encoded);
    tcase_add_test(tcase, keeps_known_parameters);
    tcase_add_loop_test(tcase, refuses_each_bad_query, 0, COUNT(bad_queries));
    tcase_add_test(tcase, refuses_a_parameter_given_twice);
    tcase_add_test(tcase, keeps_of_rspamd_what_it_knows);
    tcase_add_loop_test(tcase, refuses_each_bad_number, 0, COUNT(bad_numbers));
    tcase_add_loop_test(tcase, reads_each_content_type, 0, COUNT(types));
    tcase_add_loop_test(tcase, reads_each_content_encoding, 0, COUNT(codings));
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
