/* SPDX-License-Identifier: Apache-2.0
 *
 * The law of a value says which attribute it is of, how often a label has it and how probable it
 * is.
 */
#include <check.h>
#include <math.h>

#include "core/bayes/attribute_scores.h"
#include "core/counts/counts.h"
#include "tests/unit/run.h"

enum { COLOUR, TAGS, LATER }; /* attributes; the settings lack the last */
enum { RED, BLUE, NEW, OLD, BOTH_TAGS, LATER_VALUE, WORD, ROWS }; /* rows */
enum { A, B, LABELS };

static struct nb_model *model;
static struct nb_settings settings;
static struct nb_attribute_scores scores;

static void learn(uint32_t label, const struct nb_row_count *rows, size_t count)
{
    ck_assert_int_eq(nb_model_add(model, label, rows, count, 1, NULL), 0);
    nb_model_add_documents(model, label, 1);
}

static void setup(void)
{
    const uint64_t ids[ROWS] = {
        nb_feature_value_id(2 * COLOUR, 1),   nb_feature_value_id(2 * COLOUR, 2),
        nb_feature_value_id(2 * TAGS, 1),     nb_feature_value_id(2 * TAGS, 2),
        nb_feature_value_id(2 * TAGS + 1, 1), nb_feature_value_id(2 * LATER, 1),
        nb_feature_id(NB_FIELD_BODY, 77)};
    uint32_t number;
    model = nb_model_new();
    ck_assert_ptr_nonnull(model);
    for (int i = 0; i < ROWS; i++)
        ck_assert_int_eq(nb_model_append(model, ids[i], &number), 0);
    ck_assert_int_eq(nb_model_label(model, (struct nb_string){"a", 1}, &number), 0);
    ck_assert_int_eq(nb_model_label(model, (struct nb_string){"b", 1}, &number), 0);
    learn(A, (struct nb_row_count[]){{RED, 1}, {NEW, 1}, {OLD, 1}, {BOTH_TAGS, 1}}, 4);
    learn(A, (struct nb_row_count[]){{RED, 1}, {NEW, 1}, {BOTH_TAGS, 1}}, 3);
    learn(A, (struct nb_row_count[]){{RED, 1}, {LATER_VALUE, 1}, {WORD, 1}}, 3);
    learn(A, (struct nb_row_count[]){{BLUE, 1}, {BOTH_TAGS, 1}}, 2);
    learn(B, (struct nb_row_count[]){{BLUE, 1}, {BOTH_TAGS, 1}}, 2);
    nb_settings_init(&settings, NB_PRESET_BOOK);
    ck_assert_int_eq(
        nb_settings_add_attribute(&settings, nb_string_of("colour"), NB_FIELD_KIND_CATEGORY), 0);
    ck_assert_int_eq(nb_settings_add_attribute(&settings, nb_string_of("tags"), NB_FIELD_KIND_SET),
                     0);
    scores = (struct nb_attribute_scores){.count = 0};
    ck_assert_int_eq(nb_attribute_scores_make(&scores, &settings, model, NULL), 0);
}

static void teardown(void)
{
    nb_attribute_scores_deinit(&scores);
    nb_settings_deinit(&settings);
    nb_model_free(&model);
}

static bool law_of(uint32_t row, uint32_t label, struct nb_value_law *law)
{
    return nb_value_law_of(&scores, &settings, model, nb_model_row(model, row), label, law);
}

START_TEST(the_values_of_a_category_share_its_probability)
{
    struct nb_value_law red, blue;
    ck_assert(law_of(RED, A, &red) && law_of(BLUE, A, &blue));
    ck_assert_uint_eq(red.attribute, COLOUR);
    ck_assert_uint_eq(red.count, 3);
    ck_assert_uint_eq(blue.count, 1);
    ck_assert_double_eq_tol(red.probability + blue.probability, 1, 1e-12);
    ck_assert_double_gt(red.probability, blue.probability);
    ck_assert_double_eq_tol(red.own / (red.own + red.others), red.probability, 1e-12);
    ck_assert(law_of(RED, B, &red) && law_of(BLUE, B, &blue));
    ck_assert_uint_eq(red.count, 0);
    ck_assert_double_lt(red.probability, blue.probability);
}
END_TEST

START_TEST(each_value_of_a_set_has_its_own_probability)
{
    struct nb_value_law new, old;
    ck_assert(law_of(NEW, A, &new) && law_of(OLD, A, &old));
    ck_assert_uint_eq(new.attribute, TAGS);
    ck_assert_uint_eq(new.count, 2); /* of three documents that have the set */
    ck_assert_uint_eq(old.count, 1);
    ck_assert_double_eq_tol(new.probability + old.probability, 1, 1e-12);
    ck_assert_double_gt(new.probability, old.probability);
}
END_TEST

/* own and others are the parameters of a beta distribution; its mode is (own - 1) / (own + others -
 * 2) with two values. */
START_TEST(the_mode_of_the_posterior_is_the_probability)
{
    static const uint32_t rows[] = {RED, BLUE, NEW, OLD};
    settings.estimate = NB_ESTIMATE_MAP;
    settings.smoothing = 1.5; /* the mode adds .5 */
    nb_attribute_scores_deinit(&scores);
    ck_assert_int_eq(nb_attribute_scores_make(&scores, &settings, model, NULL), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nb_value_law law;
        ck_assert(law_of(rows[i], A, &law));
        ck_assert_double_eq_tol((law.own - 1) / (law.own + law.others - 2), law.probability, 1e-12);
        ck_assert_double_eq_tol(law.own, (double)law.count + 1.5, 1e-12);
    }
}
END_TEST

START_TEST(other_rows_have_no_law)
{
    struct nb_value_law law;
    ck_assert(!law_of(LATER_VALUE, A, &law));
    ck_assert(!law_of(WORD, A, &law));
    ck_assert(!law_of(BOTH_TAGS, A, &law));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attribute_scores");
    TCase *tests = tcase_create("laws");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_values_of_a_category_share_its_probability);
    tcase_add_test(tests, each_value_of_a_set_has_its_own_probability);
    tcase_add_test(tests, the_mode_of_the_posterior_is_the_probability);
    tcase_add_test(tests, other_rows_have_no_law);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
