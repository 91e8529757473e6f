/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "server/request/access.h"

static char train[] = "train-token-0123456789 ,train-token-2-123456789";
static char admin[] = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad,"
                      "admin-token-0123456789";
static char classify[] = "classify-token-0123456789,admin-token-0123456789";
static char trusted[] = "127.0.0.1, 192.0.2.0/25 2001:db8::/33,0.0.0.1/32";
static char nothing[] = "";

static struct nb_string text(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static struct nb_config config_of(char *a, char *b, char *c, char *d)
{
    return (struct nb_config){
        .tokens_classify = a, .tokens_train = b, .tokens_admin = c, .tokens_trusted = d};
}

static struct nb_access *access_of(char *networks)
{
    struct nb_config config = config_of(classify, train, admin, networks);
    struct nb_access *access = NULL;
    struct nb_error error = {0};
    ck_assert_msg(nb_access_new(&config, &access, &error) == 0, "%s", error.text);
    ck_assert_ptr_nonnull(access);
    return access;
}

static enum nb_role role_of(const struct nb_access *access, struct nb_string token)
{
    const char *name = NULL;
    enum nb_role role = nb_access_role(access, token, &name);
    ck_assert_ptr_nonnull(name);
    return role;
}

START_TEST(without_tokens_nobody_is_asked)
{
    struct nb_config config = config_of(nothing, nothing, nothing, trusted);
    struct nb_access *access;
    ck_assert_int_eq(nb_access_new(&config, &access, NULL), 0);
    ck_assert_ptr_null(access);
}
END_TEST

START_TEST(a_token_has_its_role)
{
    struct nb_access *a = access_of(nothing);
    ck_assert_int_eq(role_of(a, text("classify-token-0123456789")), NB_ROLE_CLASSIFY);
    ck_assert_int_eq(role_of(a, text("train-token-0123456789")), NB_ROLE_TRAIN);
    ck_assert_int_eq(role_of(a, text("train-token-2-123456789")), NB_ROLE_TRAIN);
    /* In two lists: the greater role counts. */
    ck_assert_int_eq(role_of(a, text("admin-token-0123456789")), NB_ROLE_ADMIN);
    static const char *const wrong[] = {"", "train-token-012345678", "train-token-01234567890",
                                        "Train-token-0123456789", ","};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(role_of(a, text(wrong[i])) == NB_ROLE_NONE, "%s", wrong[i]);
    nb_access_free(&a);
}
END_TEST

START_TEST(a_hash_stands_for_its_token)
{
    /* FIPS 180-4's example "abc", whose hash is published. */
    char abc[] = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    struct nb_config config = config_of(nothing, nothing, abc, nothing);
    struct nb_access *access = NULL;
    ck_assert_int_eq(nb_access_new(&config, &access, NULL), 0);
    ck_assert_int_eq(role_of(access, text("abc")), NB_ROLE_ADMIN);
    ck_assert_int_eq(role_of(access, text("abd")), NB_ROLE_NONE);
    ck_assert_int_eq(role_of(access, text(abc)), NB_ROLE_NONE); /* it opens nothing itself */
    nb_access_free(&access);
}
END_TEST

START_TEST(a_token_may_have_a_name)
{
    static const struct {
        const char *token, *name;
        enum nb_role role;
    } table[] = {{"a-token-0123456789", "alice", NB_ROLE_TRAIN},
                 {"abc", "bob@example.org", NB_ROLE_TRAIN},
                 {"padded+0123456789==", "", NB_ROLE_TRAIN},
                 {"no/name=a-token-0123456789", "", NB_ROLE_TRAIN},
                 {"alice=a-token-0123456789", "", NB_ROLE_NONE},
                 {"padded+0123456789", "", NB_ROLE_NONE}};
    char list[] = "alice=a-token-0123456789, padded+0123456789==, no/name=a-token-0123456789,"
                  "bob@example.org=sha256:"
                  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    struct nb_config config = config_of(nothing, list, nothing, nothing);
    struct nb_access *access = NULL;
    const char *name;
    ck_assert_int_eq(nb_access_new(&config, &access, NULL), 0);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        ck_assert_int_eq(nb_access_role(access, text(table[i].token), &name), table[i].role);
        ck_assert_str_eq(name, table[i].name);
    }
    nb_access_free(&access);
}
END_TEST

static bool trusts(const struct nb_access *access, const char *address)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } a = {.v6 = {.sin6_family = AF_INET6}};
    if (inet_pton(AF_INET6, address, &a.v6.sin6_addr) != 1) {
        a.v4.sin_family = AF_INET;
        ck_assert_int_eq(inet_pton(AF_INET, address, &a.v4.sin_addr), 1);
    }
    return nb_access_trusts(access, &a.any);
}

START_TEST(networks_that_are_trusted)
{
    struct nb_access *a = access_of(trusted);
    static const char *const inside[] = {"127.0.0.1",      "192.0.2.0", "192.0.2.127",
                                         "2001:db8::1",    "0.0.0.1",   "::ffff:192.0.2.5",
                                         "2001:db8:7fff::"};
    static const char *const outside[] = {"127.0.0.2",   "192.0.2.128", "192.0.3.1",      "0.0.0.2",
                                          "2001:db9::1", "::1",         "2001:db8:8000::"};
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++)
        ck_assert_msg(trusts(a, inside[i]), "%s", inside[i]);
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
        ck_assert_msg(!trusts(a, outside[i]), "%s", outside[i]);
    ck_assert(!nb_access_trusts(a, NULL));
    nb_access_free(&a);
    char all[] = "0.0.0.0/0";
    a = access_of(all);
    ck_assert(trusts(a, "8.8.8.8") && !trusts(a, "2001:db8::1"));
    nb_access_free(&a);
}
END_TEST

START_TEST(what_is_wrong_is_named)
{
    static const struct {
        const char *train, *trusted, *word;
    } cases[] = {
        {"good-token-0123456789,short", "", "token 2"},
        {"sha256:12", "", "64 hexadecimal"},
        {"sha256:zz7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "", "train"},
        {"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015adff", "", "train"},
        {"good-token-0123456789", "localhost", "'localhost'"},
        {"good-token-0123456789", "192.0.2.0/33", "192.0.2.0/33"},
        {"good-token-0123456789", "192.0.2.0/", "192.0.2.0/"},
        {"good-token-0123456789", "192.0.2.0/-1", "192.0.2.0/-1"},
        {"good-token-0123456789", "::1/129", "::1/129"},
        {"good-token-0123456789", "192.0.2.0/8x", "192.0.2.0/8x"},
        {"good-token-0123456789", "11111111111111111111111111111111111111111111111111111111",
         "111"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char list[128], networks[128];
        strcpy(list, cases[i].train);
        strcpy(networks, cases[i].trusted);
        struct nb_config config = config_of(nothing, list, nothing, networks);
        struct nb_access *access;
        struct nb_error error = {0};
        ck_assert_int_eq(nb_access_new(&config, &access, &error), NB_INVALID);
        ck_assert_ptr_null(access);
        ck_assert_msg(strstr(error.text, cases[i].word) != NULL, "%zu: %s", i, error.text);
        ck_assert_ptr_null(strstr(error.text, "short")); /* never the token itself */
    }
}
END_TEST

START_TEST(bearer_tokens)
{
    struct nb_string token = nb_access_bearer(text("Bearer  abc"));
    ck_assert(token.length == 3 && memcmp(token.bytes, "abc", 3) == 0);
    ck_assert_uint_eq(nb_access_bearer(text("bearer abc")).length, 3);
    static const char *const none[] = {"", "Bearer", "Bearer ", "Basic abc", "abc"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        ck_assert_uint_eq(nb_access_bearer(text(none[i])).length, 0);
    ck_assert_uint_eq(nb_access_bearer((struct nb_string){NULL, 0}).length, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("access");
    TCase *tests = tcase_create("access");
    tcase_add_test(tests, without_tokens_nobody_is_asked);
    tcase_add_test(tests, a_token_has_its_role);
    tcase_add_test(tests, a_hash_stands_for_its_token);
    tcase_add_test(tests, a_token_may_have_a_name);
    tcase_add_test(tests, networks_that_are_trusted);
    tcase_add_test(tests, what_is_wrong_is_named);
    tcase_add_test(tests, bearer_tokens);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
