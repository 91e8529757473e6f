/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/bayes/score_view.h"
#include "core/bayes/scorer.h"
#include "tests/unit/run.h"

/* A third label without documents changes no score, but a model with it does not use the special
 * code for two labels. So both codes can be compared, bit by bit. */

enum { WORDS = 900, KNOWN = 800, DOCUMENTS = 12 };

static uint64_t state = 1763;

static uint32_t random_below(uint32_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 32) * n >> 32);
}

/* Returns the id of a word. The words are in all fields; from `values` on they are values of
 * attributes. */
static uint64_t word_id(uint32_t word, uint32_t values)
{
    uint64_t hash = (word + 1) * UINT64_C(0xD6E8FEB86659FD93);
    return word >= values ? nb_feature_value_id(2 * (word % 7), hash)
                          : nb_feature_id((enum nb_field)(word % NB_FIELDS), hash);
}

static struct nb_model *new_model(const char *const *names, uint32_t labels, uint32_t values)
{
    struct nb_model *model = nb_model_new();
    uint32_t number;
    ck_assert_ptr_nonnull(model);
    for (uint32_t i = 0; i < labels; i++)
        ck_assert_int_eq(nb_model_label(model, nb_string_of(names[i]), &number), 0);
    for (uint32_t w = 0; w < KNOWN; w++)
        ck_assert_int_eq(nb_model_append(model, word_id(w, values), &number), 0);
    return model;
}

/* Returns a count. There are counts for every form of a row, and some beyond the table of
 * logarithms. */
static uint32_t random_count(void)
{
    static const uint32_t most[] = {1, 3, 90, 600, 3000, 40000, 3000000};
    return 1 + random_below(most[random_below(7)]);
}

static void learn(struct nb_model **models, uint32_t label, int sign, uint64_t seed)
{
    struct nb_row_count rows[KNOWN];
    size_t size = 0;
    state = seed;
    for (uint32_t w = 0; w < KNOWN; w++)
        if (random_below(3) == 0)
            rows[size++] = (struct nb_row_count){w, random_count()};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(nb_model_add(models[i], label, rows, size, sign, NULL), 0);
        nb_model_add_documents(models[i], label, sign);
    }
}

static void check_bag(struct nb_model **models, struct nb_scorer **scorers,
                      const struct nb_feature *bag, size_t size)
{
    struct nb_scores scores[2];
    for (int i = 0; i < 2; i++) {
        nb_scores_init(&scores[i]);
        ck_assert_int_eq(nb_score(scorers[i], models[i], bag, size, &scores[i], NULL), 0);
        ck_assert_uint_eq(scores[i].size, 2);
    }
    ck_assert_mem_eq(scores[0].log_scores, scores[1].log_scores, 2 * sizeof(double));
    ck_assert_mem_eq(scores[0].labels, scores[1].labels, 2 * sizeof(uint32_t));
    ck_assert_uint_eq(scores[0].total, scores[1].total);
    ck_assert_uint_eq(scores[0].known, scores[1].known);
    ck_assert_uint_eq(scores[0].weighed, scores[1].weighed);
    nb_scores_deinit(&scores[0]);
    nb_scores_deinit(&scores[1]);
}

static size_t random_bag(struct nb_feature *bag, uint32_t values)
{
    static const uint32_t counts[] = {1, 1, 1, 2, 30, UINT32_MAX};
    size_t size = 0;
    uint32_t share = 1 + random_below(4);
    for (uint32_t w = 0; w < WORDS; w++)
        if (random_below(share) == 0)
            bag[size++] = (struct nb_feature){word_id(w, values), counts[random_below(6)], 0};
    return size;
}

static void check_bags(struct nb_model **models, struct nb_scorer **scorers, uint32_t values)
{
    struct nb_feature bag[WORDS];
    for (int i = 0; i < 40; i++) {
        size_t size = random_bag(bag, values);
        for (size_t less = 0; less < 5 && less < size; less++) /* steps end anywhere */
            check_bag(models, scorers, bag + less, size - less);
    }
    check_bag(models, scorers, bag, 0);
}

/* Returns whether the special code for two labels is in use. */
static bool is_of_two(struct nb_scorer *scorer, const struct nb_model *model)
{
    const struct nb_score_view *view;
    ck_assert_int_eq(nb_scorer_view(scorer, model, &view), 0);
    return nb_scorer_has_two_labels(scorer, model);
}

static void compare(const char *const *names, const struct nb_settings *settings, uint32_t values,
                    bool is_usual)
{
    struct nb_model *models[] = {new_model(names, 2, values), new_model(names, 3, values)};
    struct nb_scorer *scorers[2];
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(nb_scorer_new(settings, &scorers[i]), 0);
    for (uint64_t d = 0; d < DOCUMENTS; d++)
        learn(models, d % 2, 1, d);
    ck_assert(is_of_two(scorers[0], models[0]) == is_usual);
    ck_assert(!is_of_two(scorers[1], models[1]));
    check_bags(models, scorers, values);
    learn(models, 0, -1, 0); /* rows that no label has any more stay */
    learn(models, 1, -1, 1);
    check_bags(models, scorers, values);
    for (int i = 0; i < 2; i++) {
        nb_scorer_free(&scorers[i]);
        nb_model_free(&models[i]);
    }
}

static const char *const IN_ORDER[] = {"a", "b", "c"}, *const REVERSED[] = {"y", "x", "z"};

START_TEST(the_bits_are_those_of_any_number_of_labels)
{
    struct nb_settings settings;
    nb_settings_init(&settings, NB_PRESET_BOOK);
    compare(IN_ORDER, &settings, UINT32_MAX, true);
    compare(REVERSED, &settings, UINT32_MAX, true);
    settings.smoothing = 1e-6;
    compare(REVERSED, &settings, UINT32_MAX, true);
}
END_TEST

/* They belong to no attribute of the settings; a step that has one is read as before. */
START_TEST(values_among_the_words)
{
    struct nb_settings settings;
    nb_settings_init(&settings, NB_PRESET_BOOK);
    compare(IN_ORDER, &settings, KNOWN - 100, true);
}
END_TEST

START_TEST(other_settings_take_the_other_way)
{
    struct nb_settings settings;
    nb_settings_init(&settings, NB_PRESET_BOOK);
    settings.event_model = NB_EVENT_BINARY;
    compare(IN_ORDER, &settings, UINT32_MAX, false);
    settings.event_model = NB_EVENT_MULTINOMIAL;
    settings.min_count = 2;
    compare(IN_ORDER, &settings, UINT32_MAX, false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("two_labels");
    TCase *tests = tcase_create("two labels");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, the_bits_are_those_of_any_number_of_labels);
    tcase_add_test(tests, values_among_the_words);
    tcase_add_test(tests, other_settings_take_the_other_way);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
