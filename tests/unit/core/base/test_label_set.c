/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/label_set.h"
#include "tests/unit/run.h"

/* Writes the labels of a text, separated by commas, as a set. */
static int write_set(const char *text, struct nb_buffer *out)
{
    struct nb_string labels[NB_LABEL_SET_MOST + 10];
    size_t count = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        labels[count++] = (struct nb_string){text, length};
        text += length + (text[length] == ',');
    }
    return nb_label_set_write(labels, count, out, NULL);
}

static const char *shown(struct nb_string set)
{
    static char text[256];
    struct nb_string label;
    size_t at = 0;
    text[0] = '\0';
    while (nb_label_set_next(&set, &label))
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s", at == 0 ? "" : ",",
                               (int)label.length, label.bytes);
    return text;
}

START_TEST(a_set_has_one_form)
{
    static const struct {
        const char *labels, *want;
        size_t size;
    } cases[] = {{"", "", 0},
                 {"b,a", "a,b", 2},
                 {"a,b,a,b,b", "a,b", 2},
                 {"ab,a,b", "a,ab,b", 3},
                 {"\xC3\xA4,z", "z,\xC3\xA4", 2}};
    struct nb_buffer set = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(write_set(cases[i].labels, &set), 0);
        ck_assert(nb_label_is_set(nb_buffer_string(&set)));
        ck_assert_str_eq(shown(nb_buffer_string(&set)), cases[i].want);
        ck_assert_uint_eq(nb_label_set_size(nb_buffer_string(&set)), cases[i].size);
        ck_assert_int_eq(nb_check_label_or_set(nb_buffer_string(&set), NULL), 0);
    }
    ck_assert(!nb_label_is_set(nb_string_of("a")) && !nb_label_is_set(nb_string_of("")));
    nb_buffer_deinit(&set);
}
END_TEST

/* Writes `count` different labels, each of `length` bytes but for the last, which has `last`. */
static int write_many(size_t count, size_t length, size_t last)
{
    static char texts[NB_LABEL_SET_MOST + 1][128];
    struct nb_string labels[NB_LABEL_SET_MOST + 1];
    struct nb_buffer set = {0};
    for (size_t i = 0; i < count; i++) {
        memset(texts[i], 'x', sizeof texts[i]);
        (void)snprintf(texts[i], 4, "%03zu", i);
        texts[i][3] = 'x';
        labels[i] = (struct nb_string){texts[i], i + 1 < count ? length : last};
    }
    int rc = nb_label_set_write(labels, count, &set, NULL);
    if (rc == 0)
        ck_assert_int_eq(nb_label_set_check(nb_buffer_string(&set), NULL), 0);
    nb_buffer_deinit(&set);
    return rc;
}

START_TEST(a_set_has_bounds)
{
    enum { EACH = 64, COUNT = NB_LABEL_SET_BYTES / EACH };
    ck_assert_int_eq(write_many(COUNT, EACH - 1, EACH - 1), 0); /* and a mark before each */
    ck_assert_int_eq(write_many(COUNT, EACH - 1, EACH), NB_UNUSABLE);
    ck_assert_int_eq(write_many(NB_LABEL_SET_MOST, 4, 4), 0);
    ck_assert_int_eq(write_many(NB_LABEL_SET_MOST + 1, 4, 4), NB_UNUSABLE);
}
END_TEST

START_TEST(what_is_no_set)
{
    static const char *const bad[] = {"\x1f"
                                      "b\x1f"
                                      "a",
                                      "\x1f"
                                      "a\x1f"
                                      "a",
                                      "\x1f"
                                      "a\x1f",
                                      "\x1f\x1f"
                                      "a",
                                      "\x1f"
                                      "a\tb",
                                      "a\x1f"
                                      "b"};
    struct nb_error error;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(nb_check_label_or_set(nb_string_of(bad[i]), &error), NB_UNUSABLE);
    struct nb_buffer set = {0};
    char many[NB_LABEL_SET_MOST * 4 + 16] = "", long_ones[8192] = "";
    for (int i = 0; i <= NB_LABEL_SET_MOST; i++)
        (void)snprintf(many + strlen(many), sizeof many - strlen(many), "%s%d", i == 0 ? "" : ",",
                       i);
    ck_assert_int_eq(write_set(many, &set), NB_UNUSABLE);
    for (int i = 0; i < 80; i++)
        (void)snprintf(long_ones + strlen(long_ones), sizeof long_ones - strlen(long_ones),
                       "%s%060d", i == 0 ? "" : ",", i);
    ck_assert_int_eq(write_set(long_ones, &set), NB_UNUSABLE);
    ck_assert_int_eq(write_set("a\tb", &set), NB_UNUSABLE);
    nb_buffer_deinit(&set);
}
END_TEST

START_TEST(sets_are_changed)
{
    struct nb_buffer set = {0}, add = {0}, take = {0}, changed = {0};
    ck_assert_int_eq(write_set("a,b,c", &set), 0);
    ck_assert_int_eq(write_set("c,d,b", &add), 0);
    ck_assert_int_eq(write_set("b,x", &take), 0);
    struct nb_string own = nb_buffer_string(&set), more = nb_buffer_string(&add),
                     less = nb_buffer_string(&take);
    ck_assert_int_eq(nb_label_set_change(own, &more, &less, &changed, NULL), 0);
    ck_assert_str_eq(shown(nb_buffer_string(&changed)), "a,c,d");
    ck_assert_int_eq(nb_label_set_change(own, NULL, NULL, &changed, NULL), 0);
    ck_assert_str_eq(shown(nb_buffer_string(&changed)), "a,b,c");
    ck_assert(nb_label_set_has(own, nb_string_of("b")));
    ck_assert(!nb_label_set_has(own, nb_string_of("ab")));
    ck_assert_int_eq(
        nb_label_set_replace(own, nb_string_of("a"), nb_string_of("z"), &changed, NULL), 0);
    ck_assert_str_eq(shown(nb_buffer_string(&changed)), "b,c,z");
    ck_assert_int_eq(
        nb_label_set_replace(own, nb_string_of("a"), nb_string_of("b"), &changed, NULL), 0);
    ck_assert_str_eq(shown(nb_buffer_string(&changed)), "b,c");
    ck_assert_int_eq(nb_label_set_replace(own, nb_string_of("a"), nb_string_of(""), &changed, NULL),
                     0);
    ck_assert_str_eq(shown(nb_buffer_string(&changed)), "b,c");
    nb_buffer_deinit(&set);
    nb_buffer_deinit(&add);
    nb_buffer_deinit(&take);
    nb_buffer_deinit(&changed);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("label_set");
    TCase *t = tcase_create("label_set");
    tcase_add_test(t, a_set_has_one_form);
    tcase_add_test(t, a_set_has_bounds);
    tcase_add_test(t, what_is_no_set);
    tcase_add_test(t, sets_are_changed);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
