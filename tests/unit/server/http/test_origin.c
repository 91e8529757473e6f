/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/http/address.h"
#include "server/http/admission.h"
#include "tests/unit/run.h"

START_TEST(a_page_of_another_site_is_foreign)
{
    ck_assert(!nb_origin_is_foreign(NULL, "http", "127.0.0.1:8763"));
    ck_assert(!nb_origin_is_foreign("http://127.0.0.1:8763", "http", "127.0.0.1:8763"));
    ck_assert(!nb_origin_is_foreign("http://LOCALHOST:8763", "http", "localhost:8763"));
    ck_assert(nb_origin_is_foreign("http://127.0.0.1:1", "http", "127.0.0.1:8763"));
    ck_assert(nb_origin_is_foreign("http://evil.example", "http", "127.0.0.1:8763"));
    ck_assert(nb_origin_is_foreign("null", "http", "127.0.0.1:8763"));
    ck_assert(nb_origin_is_foreign("", "http", "127.0.0.1:8763"));
    ck_assert(nb_origin_is_foreign("http://127.0.0.1:8763", "http", NULL));
}
END_TEST

START_TEST(another_scheme_is_another_site)
{
    ck_assert(!nb_origin_is_foreign("https://a.example", "https", "a.example"));
    ck_assert(!nb_origin_is_foreign("HTTPS://a.example", "https", "a.example"));
    ck_assert(nb_origin_is_foreign("https://a.example", "http", "a.example"));
    ck_assert(nb_origin_is_foreign("http://a.example", "https", "a.example"));
    ck_assert(!nb_origin_is_foreign("https://a.example", NULL, "a.example"));
    ck_assert(!nb_origin_is_foreign("http://a.example", NULL, "a.example"));
    ck_assert(nb_origin_is_foreign("moz-extension://a.example", NULL, "a.example"));
    ck_assert(nb_origin_is_foreign("://a.example", NULL, "a.example"));
    ck_assert(nb_origin_is_foreign("http://a.example, http://b.example", NULL, "a.example"));
}
END_TEST

START_TEST(what_a_browser_says_of_the_site)
{
    ck_assert(!nb_site_is_foreign(NULL));
    ck_assert(!nb_site_is_foreign("same-origin"));
    ck_assert(!nb_site_is_foreign(" None "));
    ck_assert(nb_site_is_foreign("cross-site"));
    ck_assert(nb_site_is_foreign("Cross-Site"));
    ck_assert(nb_site_is_foreign("same-site")); /* a page from another port */
    ck_assert(nb_site_is_foreign("same-origin, cross-site"));
    ck_assert(nb_site_is_foreign(""));
}
END_TEST

START_TEST(names_of_this_machine)
{
    static const char *const own[] = {"127.0.0.1",  "127.0.0.1:8763", "[::1]:8763", "[::1]",
                                      "localhost",  "LocalHost:80",   "192.0.2.7",  "a.localhost:1",
                                      "localhost:", "[2001:db8::1]:"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        ck_assert_msg(nb_origin_is_named(own[i], ""), "%s", own[i]);
    ck_assert(nb_origin_is_named(NULL, ""));
    static const char *const others[] = {
        "evil.example", "evil.example:8763", "", "127.0.0.1.evil.example", "localhost.evil.example",
        "notlocalhost", ".localhost", "*", "[evil.example]:1", ":8763",
        /* Not a host and a port: RFC 3986, 3.2.2. */
        "[::1].evil.example", "[::1].evil.example:8763", "[::1]evil.example", "[::1]@evil.example",
        "[::1", "::1", "[127.0.0.1]", "[localhost]", "[::1%eth0]", "localhost:1@evil.example",
        "localhost@evil.example", "user@localhost", "localhost:80:80", "localhost:x",
        "localhost:80 evil.example", "127.0.0.1:1@evil.example", "127.0.0.1 evil.example", "127.1",
        "0x7f.0.0.1", "localhost/", "localhost.evil.example:"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_msg(!nb_origin_is_named(others[i], ""), "%s", others[i]);
}
END_TEST

START_TEST(names_that_are_listed)
{
    ck_assert(nb_origin_is_named("bayes.example.org:80", "mail.example.org, Bayes.example.org"));
    ck_assert(nb_origin_is_named("mail.example.org", "mail.example.org,bayes.example.org"));
    ck_assert(!nb_origin_is_named("ayes.example.org", "mail.example.org, bayes.example.org"));
    ck_assert(!nb_origin_is_named("", "mail.example.org, "));
    ck_assert(!nb_origin_is_named("[mail.example.org]", "mail.example.org"));
    ck_assert(!nb_origin_is_named("mail.example.org:80@evil.example", "mail.example.org"));
    ck_assert(nb_origin_is_named("evil.example", "*"));
    ck_assert(nb_origin_is_named("user@evil.example:x", "mail.example.org, *"));
}
END_TEST

START_TEST(a_name_that_is_too_long_is_nobodys)
{
    char host[1024];
    for (size_t i = 0; i < sizeof host; i++)
        host[i] = 'a';
    host[sizeof host - 1] = '\0';
    ck_assert(!nb_origin_is_named(host, host));
}
END_TEST

/* Of a long one the first 100 bytes. */
START_TEST(an_error_shows_the_origin)
{
    char shown[103], origin[121], want[160];
    struct nb_error error;
    for (size_t length = 99; length <= 101; length++) {
        (void)snprintf(origin, sizeof origin, "https://%0*d", (int)length - 8, 0);
        origin[length - 1] = '/';
        (void)snprintf(shown, sizeof shown, "'%.100s'", origin);
        (void)snprintf(want, sizeof want, "[http] origins: %s has a path", shown);
        ck_assert_int_eq(nb_origins_check(origin, &error), NB_INVALID);
        ck_assert_msg(strncmp(error.text, want, strlen(want)) == 0, "%s", error.text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("site");
    TCase *tests = tcase_create("site");
    tcase_add_test(tests, a_page_of_another_site_is_foreign);
    tcase_add_test(tests, another_scheme_is_another_site);
    tcase_add_test(tests, what_a_browser_says_of_the_site);
    tcase_add_test(tests, names_of_this_machine);
    tcase_add_test(tests, names_that_are_listed);
    tcase_add_test(tests, a_name_that_is_too_long_is_nobodys);
    tcase_add_test(tests, an_error_shows_the_origin);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
