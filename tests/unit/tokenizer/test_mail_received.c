/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "tests/unit/run.h"
#include "tokenizer/mail_header.h"

static struct nb_key key;
static struct nb_bag bag;

/* Lists the features of a field, from a copy with no readable byte after it: "received:by|2
 * received:x". */
static void listing(struct nb_string value, struct nb_buffer *out)
{
    static const struct nb_tokenizer_settings settings = {.fields = 1u << NB_FIELD_RECEIVED};
    static const struct nb_tokenizer_limits limits = {.tokens = 100000};
    struct nb_tokenizing t = {&key, &settings, &limits, &bag, .tokens_left = limits.tokens};
    char *copy = malloc(value.length + 1);
    ck_assert_ptr_nonnull(copy);
    if (value.length > 0)
        memcpy(copy + 1, value.bytes, value.length);
    nb_bag_reset(&bag);
    ck_assert_int_eq(nb_mail_received(&t, (struct nb_string){copy + 1, value.length}), 0);
    free(copy);
    out->length = 0;
    for (size_t i = 0; i < bag.size; i++) {
        nb_buffer_puts(out, i > 0 ? " " : "");
        nb_buffer_append(out, bag.texts[i].bytes + 9, bag.texts[i].length - 9);
        if (bag.features[i].count > 1)
            nb_buffer_printf(out, "|%u", bag.features[i].count);
    }
    nb_buffer_append(out, "", 1);
}

#define TEN(x) x x x x x x x x x x

static const struct {
    const char *value, *words;
} cases[] = {
    {"", ""},
    {" ;", ""},
    {"; Mon, 1 Jan 2001", ""},
    {"from a by b; now", "from a by b"},
    {"by b with ESMTP id A1B2C3 for x", "by b with esmtp id for x"},
    {"id ; x", "id"},
    {"ID=secret more", "id more"},
    {"from mx.a.zz (mx.a.zz [10.1.2.3])", "from mx.a.zz|2 zz|2 a.zz|2 10. 10.1. 10.1.2. 10.1.2.3"},
    {"([IPv6:2001:db8:1:2::25])", "2001:db8: 2001:db8:1:2: 2001:db8:1:2::25"},
    {"for <ann@b.cc>", "for ann@b.cc b.cc cc"},
    {"abcdefg1 abcdef1 1234", "abcdef1"},
    {"a\"b'c(d)e[f]g<h>i,j;k=l", "a b c d e f g h i j"},
    {"caf\xC3\xA9 \x80", "caf?? ?"},
    {TEN("abcdef") "ghij", TEN("abcdef") "ghij"}, /* 64 bytes: the longest word */
    {TEN("abcdef") "ghijk x", "x"},               /* a longer one is none */
    {TEN(TEN("1")) "x id " TEN(TEN("1")) " y", "id y"},
    {TEN("abcdefgh.") "cc", TEN("abcdefgh.") "cc cc abcdefgh.cc abcdefgh.abcdefgh.cc "
                                             "abcdefgh.abcdefgh.abcdefgh.cc"},
};

START_TEST(words_of_each_case)
{
    struct nb_buffer out = {0};
    listing(nb_string_of(cases[_i].value), &out);
    ck_assert_msg(strcmp(out.bytes, cases[_i].words) == 0, "case %d: %s", _i, out.bytes);
    nb_buffer_deinit(&out);
}
END_TEST

/* Wherever a word lies in the windows in which it is looked for, it is the same. */
START_TEST(places_do_not_matter)
{
    struct nb_buffer moved = {0};
    struct nb_buffer out = {0};
    for (size_t blanks = 0; blanks < 140; blanks++) {
        moved.length = 0;
        for (size_t i = 0; i < blanks; i++)
            nb_buffer_puts(&moved, i % 3 == 0 ? "\n" : " ");
        nb_buffer_puts(&moved, cases[_i].value);
        listing((struct nb_string){moved.bytes, moved.length}, &out);
        ck_assert_msg(strcmp(out.bytes, cases[_i].words) == 0, "case %d behind %zu: %s", _i, blanks,
                      out.bytes);
    }
    nb_buffer_deinit(&moved);
    nb_buffer_deinit(&out);
}
END_TEST

static void set_up(void)
{
    const unsigned char bytes[NB_KEY_BYTES] = {7};
    nb_key_restore(&key, bytes);
}

static void tear_down(void)
{
    nb_bag_deinit(&bag);
}

int main(void)
{
    Suite *suite = suite_create("mail_received");
    TCase *tcase = tcase_create("mail_received");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, words_of_each_case, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(tcase, places_do_not_matter, 0, sizeof cases / sizeof *cases);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
