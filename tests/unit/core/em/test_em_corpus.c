/* SPDX-License-Identifier: Apache-2.0
 *
 * EM sees the words of the model that the settings `min_count` and `skip_top` leave in.
 */
#include <check.h>

#include "core/em/em_corpus.h"
#include "tests/unit/run.h"

enum { WORDS = 5, MORE = 5000 }; /* MORE: rows behind the words, more than one slice of them */

static struct nb_model *model;

/* Word number i, from 0 on, occurs i + 1 times. The other rows occur nowhere. */
static void setup(void)
{
    struct nb_row_count rows[WORDS];
    uint32_t number;
    model = nb_model_new();
    ck_assert_ptr_nonnull(model);
    for (uint32_t i = 0; i < WORDS + MORE; i++)
        ck_assert_int_eq(nb_model_append(model, nb_feature_id(NB_FIELD_BODY, 1000 + i), &number),
                         0);
    for (uint32_t i = 0; i < WORDS; i++)
        rows[i] = (struct nb_row_count){i, i + 1};
    ck_assert_int_eq(nb_model_label(model, (struct nb_string){"a", 1}, &number), 0);
    ck_assert_int_eq(nb_model_add(model, number, rows, WORDS, 1, NULL), 0);
    nb_model_add_documents(model, number, 1);
}

static void teardown(void)
{
    nb_model_free(&model);
}

static const struct {
    uint64_t min_count, skip_top;
    uint32_t first, words; /* the words that remain */
} cases[] = {{0, 0, 0, 5}, {3, 0, 2, 3}, {5, 0, 4, 1}, {6, 0, 0, 0},
             {0, 2, 0, 3}, {3, 1, 2, 2}, {0, 5, 0, 0}, {0, 9, 0, 0}};

START_TEST(the_settings_leave_words_out)
{
    struct nb_settings settings;
    struct nb_corpus corpus = {.words = 0};
    struct nb_error error = {0};
    nb_settings_init(&settings, NB_PRESET_BOOK);
    settings.min_count = cases[_i].min_count;
    settings.skip_top = cases[_i].skip_top;
    ck_assert_msg(nb_corpus_make_columns(&corpus, model, &settings, false, &error) == 0, "%s",
                  error.text);
    ck_assert_uint_eq(corpus.words, cases[_i].words);
    ck_assert_uint_eq(corpus.columns, cases[_i].words);
    for (uint32_t w = 0; w < corpus.words; w++)
        ck_assert_uint_eq(corpus.rows[w], cases[_i].first + w);
    nb_corpus_deinit(&corpus);
    nb_settings_deinit(&settings);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("em_corpus");
    TCase *tests = tcase_create("words");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, the_settings_leave_words_out, 0, sizeof cases / sizeof *cases);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
