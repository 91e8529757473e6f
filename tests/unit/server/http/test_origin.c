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

/* Returns "http://" and a host of this length. */
static const char *host_of(size_t length)
{
    static char origin[512];
    (void)snprintf(origin, sizeof origin, "http://%0*d", (int)length, 0);
    return origin;
}

START_TEST(origins_that_browsers_send)
{
    static const char *const good[] = {"",
                                       "*",
                                       "http://a",
                                       "HTTPS://A.Example",
                                       "https://a.b-c.example",
                                       "http://x_y:1",
                                       "http://192.0.2.1:8080",
                                       "https://[2001:db8::1]",
                                       "https://[::1]:9",
                                       "http://a:443",
                                       "https://a:80",
                                       "http://a:65535",
                                       "http://a:10000",
                                       "http://a-.b",
                                       "http://a, https://b:9",
                                       "https://[1111:2222:3333:4444:5555:6666:123.123.123.123]"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(nb_origins_check(good[i], NULL) == 0, "%s", good[i]);
    ck_assert_int_eq(nb_origins_check(host_of(255), NULL), 0);
    ck_assert_int_eq(nb_origins_check(host_of(256), NULL), NB_INVALID);
}
END_TEST

START_TEST(origins_that_no_browser_sends)
{
    static const struct {
        const char *origin, *fault;
    } cases[] = {{"null", "any page"},
                 {"Null", "any page"},
                 {"http://b\xC3\xBC"
                  "cher.example",
                  "xn--"},
                 {"http://a\x7F", "xn--"},
                 {"a.example", "does not begin"},
                 {"ftp://a", "does not begin"},
                 {"http:/a", "does not begin"},
                 {"http://*.example", "allowed alone"},
                 {"http://user@a", "a user"},
                 {"http://", "no host"},
                 {"http://:80", "no host"},
                 {"http://.a", "no host"},
                 {"http://a..b", "no host"},
                 {"http://-a", "no host"},
                 {"http://a-", "no host"},
                 {"http://[]", "no host"},
                 {"http://[::1", "no host"},
                 {"http://[1.2.3.4]", "no host"},
                 {"http://[1111:2222:3333:4444:5555:6666:123.123.123.1234]", "no host"},
                 {"http://a/", "a path"},
                 {"http://a:8/b", "a path"},
                 {"http://a?b", "a path"},
                 {"http://a#b", "a path"},
                 {"http://a!", "a port"},
                 {"http://a!1", "a port"},
                 {"http://a:", "a port"},
                 {"http://a:0", "a port"},
                 {"http://a:08", "a port"},
                 {"http://a:8x", "a port"},
                 {"http://a:8:", "a port"},
                 {"http://a:65536", "a port"},
                 {"http://a:100000", "a port"},
                 {"http://a:80", "browsers leave out"},
                 {"https://a:443", "browsers leave out"},
                 {"http://a, http://b/", "'http://b/' has a path"}};
    struct nb_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(nb_origins_check(cases[i].origin, &error) == NB_INVALID, "%s",
                      cases[i].origin);
        ck_assert_msg(strstr(error.text, cases[i].fault) != NULL, "%s: %s", cases[i].origin,
                      error.text);
    }
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
    tcase_add_test(tests, origins_that_browsers_send);
    tcase_add_test(tests, origins_that_no_browser_sends);
    tcase_add_test(tests, an_error_shows_the_origin);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
