/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "tests/unit/run.h"
#include "tokenizer/document.h"
#include "tokenizer/url.h"

static struct nb_bag bag;

static struct nb_tokenizing tokenizing(uint32_t fields)
{
    static const unsigned char secret[NB_KEY_BYTES] = {17, 63};
    static struct nb_key key;
    static struct nb_tokenizer_settings settings;
    static const struct nb_tokenizer_limits limits = {.tokens = 1000};
    nb_key_restore(&key, secret);
    settings.fields = fields;
    nb_bag_reset(&bag);
    return (struct nb_tokenizing){.key = &key,
                                  .settings = &settings,
                                  .limits = &limits,
                                  .bag = &bag,
                                  .tokens_left = limits.tokens,
                                  .work = NB_WORK_UNBOUNDED};
}

static struct nb_string string(const char *text)
{
    return (struct nb_string){text, strlen(text)};
}

/* The bag as one line. */
static void assert_bag(size_t i, const char *expected)
{
    struct nb_buffer got = {0};
    for (size_t n = 0; n < bag.size; n++)
        ck_assert_int_eq(nb_buffer_printf(&got, "%s%.*s", n > 0 ? " " : "",
                                          (int)bag.texts[n].length, bag.texts[n].bytes),
                         0);
    ck_assert_msg(got.length == strlen(expected) &&
                      (got.length == 0 || memcmp(got.bytes, expected, got.length) == 0),
                  "case %zu: expected %s, got %.*s", i, expected, (int)got.length, got.bytes);
    nb_buffer_deinit(&got);
}

static const struct {
    const char *url, *features;
} urls[] = {
    {"http://example.com", "url:example.com url:com"},
    {"HTTPS://WWW.Example.COM./", "url:www.example.com url:com url:example.com"},
    {"//cdn.example.com/a", "url:cdn.example.com url:com url:example.com url:/a"},
    {"http://a.b.c.d.e.f/", "url:a.b.c.d.e.f url:f url:e.f url:d.e.f url:c.d.e.f"},
    {"http://10.1.2.3/", "url:10. url:10.1. url:10.1.2. url:10.1.2.3"},
    {"http://bank.example@10.1.2.3:81/x",
     "url:@ url:10. url:10.1. url:10.1.2. url:10.1.2.3 url:port=81 url:/x"},
    {"http://h/a%2Fb?c=d#e", "url:h url:/a url:/b url:/c url:/d url:/e"},
    {"http://%77ww.x.y", "url:www.x.y url:y url:x.y"},
    {"ht\ntp://x.\ty/", "url:x.y url:y"}, /* browsers leave out line breaks */
    {"http:\\\\x", ""},
    {"http://x\\y", "url:x url:/y"},
    {"http://h/abcdefghijklmnopqrstuvwxyz", "url:h url:/abcdefghijklmnopqrstuvwx"},
    {"mailto:a@example.org?subject=x", "url:example.org url:org"},
    {"mailto:nobody", ""},
    {"relative/page.html", ""},
    {"cid:part1", ""},
    {"javascript:x()", ""},
    {"http://", ""},
    {"http://@", "url:@"},
    {"%", ""},
    {"", ""},
};

START_TEST(test_urls)
{
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct nb_tokenizing t = tokenizing(1u << NB_FIELD_URL);
        ck_assert_int_eq(nb_tokenize_url(&t, urls[i].url, strlen(urls[i].url)), 0);
        assert_bag(i, urls[i].features);
        t = tokenizing(~(1u << NB_FIELD_URL));
        ck_assert_int_eq(nb_tokenize_url(&t, urls[i].url, strlen(urls[i].url)), 0);
        ck_assert_uint_eq(bag.size, 0);
    }
}
END_TEST

START_TEST(test_path_words_are_bounded)
{
    struct nb_buffer url = {0};
    struct nb_tokenizing t = tokenizing(1u << NB_FIELD_URL);
    ck_assert_int_eq(nb_buffer_puts(&url, "http://h"), 0);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(nb_buffer_printf(&url, "/%d", i), 0);
    ck_assert_int_eq(nb_tokenize_url(&t, url.bytes, url.length), 0);
    ck_assert_uint_eq(bag.size, 21);
    nb_buffer_deinit(&url);
}
END_TEST

START_TEST(test_kinds_of_hosts)
{
    static const struct {
        const char *text;
        bool host, ipv4;
    } cases[] = {{"example.com", true, false},
                 {"a-b.c_d.e", true, false},
                 {"example", false, false},
                 {"1.2.3.4", false, true},
                 {"255.255.255.255", false, true},
                 {"1.2.3", false, false},
                 {"1.2.3.4.5", false, false},
                 {"1..2.3", false, false},
                 {"1.2.3.", false, false},
                 {"1234.1.1.1", false, false},
                 {"5.9.0", false, false},
                 {"a..b", false, false},
                 {".a.b", false, false},
                 {"a.b.", false, false},
                 {"a b.c", false, false},
                 {"m\xFCller.de", true, false},
                 {"", false, false},
                 {".", false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nb_string s = string(cases[i].text);
        ck_assert_msg(nb_is_host(s) == cases[i].host, "case %zu: %s", i, cases[i].text);
        ck_assert_msg(nb_is_ipv4(s) == cases[i].ipv4, "case %zu: %s", i, cases[i].text);
    }
}
END_TEST

START_TEST(test_host_features)
{
    struct nb_tokenizing t = tokenizing(1u << NB_FIELD_RECEIVED);
    ck_assert_int_eq(nb_tokenize_host(&t, NB_FIELD_RECEIVED, "received:", string("M.X.\xFC")), 0);
    assert_bag(0, "received:m.x.? received:? received:x.?"); /* feature texts are UTF-8 */
    t = tokenizing(1u << NB_FIELD_RECEIVED);
    ck_assert_int_eq(nb_tokenize_host(&t, NB_FIELD_RECEIVED, "received:", string("...")), 0);
    ck_assert_uint_eq(bag.size, 0);
}
END_TEST

/* One byte of any value at any place of a host that is looked at in blocks of sixteen. */
START_TEST(every_byte_of_a_long_host_counts)
{
    enum { LENGTH = 37 };
    static const char host[LENGTH + 1] = "mail.example-of-some-host.example.com";
    for (size_t at = 1; at + 1 < LENGTH; at++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            char changed[LENGTH];
            memcpy(changed, host, LENGTH);
            changed[at] = (char)byte;
            bool is_letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z' && byte < 0x80;
            bool is_digit = byte >= '0' && byte <= '9';
            bool is_point = byte == '.';
            bool fits =
                is_letter || is_digit || is_point || byte == '-' || byte == '_' || byte >= 0x80;
            if (is_point)
                fits = host[at - 1] != '.' && host[at + 1] != '.';
            if (is_digit && at == LENGTH - 3) /* the first byte behind the last point */
                fits = false;
            ck_assert_msg(nb_is_host((struct nb_string){changed, LENGTH}) == fits, "byte %u at %zu",
                          byte, at);
        }
    }
}
END_TEST

/* A byte that is left out, and one that is decoded, at any place of a URL of any length. */
START_TEST(urls_are_decoded_wherever_they_are_encoded)
{
    enum { MOST = 60 };
    for (size_t length = 12; length <= MOST; length++) {
        for (size_t at = 7; at + 3 < length; at++) {
            char url[MOST + 1] = "http://", expected[MOST + 8] = "url:";
            memset(url + 7, 'h', length - 7);
            memcpy(url + at, at % 2 == 0 ? "%79" : "\t\r\n", 3);
            memset(expected + 4, 'h', length - 7 - 3);
            if (at % 2 == 0) {
                memset(expected + 4, 'h', length - 7 - 2);
                expected[4 + at - 7] = 'y';
            }
            struct nb_tokenizing t = tokenizing(1u << NB_FIELD_URL);
            ck_assert_int_eq(nb_tokenize_url(&t, url, length), 0);
            assert_bag(at, expected);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("url");
    TCase *tcase = tcase_create("url");
    tcase_add_test(tcase, test_urls);
    tcase_add_test(tcase, test_path_words_are_bounded);
    tcase_add_test(tcase, test_kinds_of_hosts);
    tcase_add_test(tcase, test_host_features);
    tcase_add_test(tcase, every_byte_of_a_long_host_counts);
    tcase_add_test(tcase, urls_are_decoded_wherever_they_are_encoded);
    suite_add_tcase(suite, tcase);
    int status = test_run(suite);
    nb_bag_deinit(&bag);
    return status;
}
