/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/names.h"
#include "tests/unit/run.h"

static const struct {
    const char *given, *form;
} forms[] = {
    {"spam", "spam"},
    {" spam\t", "spam"},
    {"\xC2\xA0spam\xE3\x80\x80", "spam"}, /* no-break and ideographic space */
    {"\xEF\xBB\xBFspam\r\n", "spam"},
    {"a b", "a b"},
    {"Mu\xCC\x88ll", "M\xC3\xBCll"},
    {" \xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB ", "\xED\x95\x9C"}, /* Hangul of three parts */
    {"M\xC3\xBCll", "M\xC3\xBCll"},
    {"\xEF\xAC\x81n", "\xEF\xAC\x81n"}, /* a ligature is another label */
    {"Spam", "Spam"},
    {"sp\xE2\x80\x8B"
     "am",
     "sp\xE2\x80\x8B"
     "am"},
    {" \t", ""},
    {"", ""},
    {" M\xFCll ", " M\xFCll "}, /* no UTF-8: the check of labels refuses it */
};

START_TEST(brings_a_label_into_its_form)
{
    struct nb_buffer room = {0};
    struct nb_string label = nb_string_of(forms[_i].given);
    ck_assert_int_eq(nb_label_normalize(&label, &room), 0);
    ck_assert_msg(nb_string_equals(label, forms[_i].form), "%d: '%.*s'", _i, (int)label.length,
                  label.bytes);
    ck_assert_int_eq(nb_label_normalize(&label, &room), 0); /* the form has itself as its form */
    ck_assert(nb_string_equals(label, forms[_i].form));
    nb_buffer_deinit(&room);
}
END_TEST

START_TEST(no_label_stays_none)
{
    struct nb_buffer room = {0};
    struct nb_string label = {NULL, 0};
    ck_assert_int_eq(nb_label_normalize(&label, &room), 0);
    ck_assert_ptr_null(label.bytes);
}
END_TEST

static const struct {
    const char *a, *b;
    bool same;
} looks[] = {
    {"spam", "Spam", true},
    {"M\xC3\x9CLL", "m\xC3\xBCll", true},
    {"sp\xE2\x80\x8B"
     "am",
     "spam", true},
    {"sp\xC2\xAD"
     "am",
     "SPAM", true},
    {"\xEF\xAC\x81n", "fin", true},
    {"spam", "spam", false}, /* it is that one */
    {"spam", "spams", false},
    {"", "spam", false},
    {"", "", false},
    {"M\xFCll", "m\xFCll", false}, /* no UTF-8 */
};

START_TEST(finds_labels_that_look_the_same)
{
    struct nb_string a = nb_string_of(looks[_i].a), b = nb_string_of(looks[_i].b);
    ck_assert_int_eq(nb_label_looks_same(a, b), looks[_i].same);
    ck_assert_int_eq(nb_label_looks_same(b, a), looks[_i].same);
}
END_TEST

START_TEST(knows_what_was_lost)
{
    ck_assert(nb_label_is_lossy(nb_string_of("M\xEF\xBF\xBDll")));
    ck_assert(!nb_label_is_lossy(nb_string_of("M\xC3\xBCll")));
    ck_assert(!nb_label_is_lossy(nb_string_of("\xEF\xBF")));
    ck_assert(!nb_label_is_lossy((struct nb_string){NULL, 0}));
}
END_TEST

static struct nb_level_hint hint_of(const char *wanted, const char *const *labels, size_t count)
{
    struct nb_level_hint hint = {0};
    for (size_t i = 0; i < count; i++)
        nb_level_hint_add(&hint, nb_string_of(wanted), nb_string_of(labels[i]));
    return hint;
}

START_TEST(tells_levels_from_labels)
{
    static const char *const labels[] = {"rec", "sci-fi/new", "sci/med", "sci/space/moon"};
    static const struct {
        const char *wanted, *told; /* NULL: nothing */
    } cases[] = {{"sci", "'sci/med'"},   {"sci/space", "'sci/space/moon'"},
                 {"rec/autos", "'rec'"}, {"sci/med/x", "'sci/med'"},
                 {"sc", NULL},           {"sci/", NULL},
                 {"ham", NULL},          {"", NULL},
                 {"rec", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nb_level_hint hint = hint_of(cases[i].wanted, labels, 4);
        if (cases[i].told == NULL)
            ck_assert_str_eq(hint.text, "");
        else
            ck_assert_msg(strstr(hint.text, cases[i].told) != NULL, "%s: %s", cases[i].wanted,
                          hint.text);
    }
}
END_TEST

START_TEST(a_hint_has_room_for_the_longest_labels)
{
    char longest[300], wanted[310];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    memset(wanted, 'x', sizeof wanted - 1);
    wanted[sizeof longest - 1] = '/';
    wanted[sizeof wanted - 1] = '\0';
    const char *const above[] = {longest}, *const below[] = {wanted};
    ck_assert_ptr_nonnull(strstr(hint_of(wanted, above, 1).text, "that one"));
    ck_assert_ptr_nonnull(strstr(hint_of(longest, below, 1).text, "in full"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("label");
    TCase *tests = tcase_create("label");
    tcase_add_loop_test(tests, brings_a_label_into_its_form, 0, sizeof forms / sizeof *forms);
    tcase_add_test(tests, no_label_stays_none);
    tcase_add_loop_test(tests, finds_labels_that_look_the_same, 0, sizeof looks / sizeof *looks);
    tcase_add_test(tests, knows_what_was_lost);
    tcase_add_test(tests, tells_levels_from_labels);
    tcase_add_test(tests, a_hint_has_room_for_the_longest_labels);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
