/* SPDX-License-Identifier: Apache-2.0
 *
 * The verdict of a model whose documents have several labels.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "core/base/label_set.h"
#include "core/engine/engine.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"

enum { KINDS = 3, OF_KIND = 8 };
static const char *const LABELS[KINDS] = {"money", "sport", "travel"};
static const char *const TEXTS[KINDS] = {"bank credit interest rates shares",
                                         "goal match team keeper stadium",
                                         "flight hotel beach luggage airport"};

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_engine *engine;

static struct nb_document document_of(const char *text)
{
    return (struct nb_document){.kind = NB_DOCUMENT_TEXT, .bytes = text, .length = strlen(text)};
}

/* Learns a text with the labels `one` and `other`, which may be the same. */
static void add(struct nb_batch *batch, int number, const char *text, const char *one,
                const char *other)
{
    struct nb_string labels[] = {nb_string_of(one), nb_string_of(other)};
    struct nb_buffer set = {0};
    struct nb_document document = document_of(text);
    char id[16];
    (void)snprintf(id, sizeof id, "%d", number);
    ck_assert_int_eq(nb_label_set_write(labels, 2, &set, NULL), 0);
    ck_assert_int_eq(nb_batch_train(batch, &document, nb_buffer_string(&set), nb_string_of(id),
                                    nb_string_of(""), NULL),
                     0);
    nb_buffer_deinit(&set);
}

static void learn(void)
{
    struct nb_batch *batch;
    int number = 0;
    ck_assert_int_eq(nb_batch_new(engine, nb_string_of("m"), false, &batch, NULL), 0);
    for (int i = 0; i < OF_KIND; i++)
        for (int k = 0; k < KINDS; k++)
            add(batch, number++, TEXTS[k], LABELS[k], LABELS[k]);
    for (int k = 0; k < KINDS; k++) {
        char both[128];
        (void)snprintf(both, sizeof both, "%s %s", TEXTS[k], TEXTS[(k + 1) % KINDS]);
        add(batch, number++, both, LABELS[k], LABELS[(k + 1) % KINDS]);
    }
    nb_engine_apply(engine, batch);
    for (size_t i = 0; i < nb_batch_size(batch); i++)
        ck_assert_int_eq(nb_batch_receipt(batch, i)->code, 0);
    nb_batch_free(&batch);
}

static void setup(void)
{
    struct nb_engine_settings settings;
    struct nb_settings several;
    struct nb_error error = {0};
    bool created;
    test_folder_make(directory);
    nb_engine_settings_init(&settings);
    settings.directory = directory;
    ck_assert_msg(nb_engine_open(&settings, &engine, &error) == 0, "%s", error.text);
    nb_settings_init(&several, NB_PRESET_TEXT);
    several.label_set = NB_LABEL_SET_SEVERAL;
    ck_assert_msg(nb_engine_put_model(engine, nb_string_of("m"), &several, true, nb_string_of(""),
                                      &created, &error) == 0,
                  "%s", error.text);
    nb_settings_deinit(&several);
    learn();
}

static void teardown(void)
{
    nb_engine_close(&engine);
    test_folder_remove(directory);
}

START_TEST(the_most_probable_label_wins)
{
    struct nb_verdict verdict;
    struct nb_document document = document_of(TEXTS[_i]);
    struct nb_error error = {0};
    nb_verdict_init(&verdict);
    verdict.takes_several = true;
    ck_assert_msg(nb_engine_classify(engine, nb_string_of("m"), &document, 0, &verdict, &error) ==
                      0,
                  "%s", error.text);
    ck_assert_uint_eq(verdict.size, KINDS);
    ck_assert_str_eq(verdict.labels[verdict.best], LABELS[_i]);
    for (size_t l = 0; l < KINDS; l++) {
        ck_assert_str_eq(verdict.labels[l], LABELS[l]);
        ck_assert_uint_eq(verdict.documents[l], OF_KIND + 2);
        ck_assert_int_eq(verdict.is_given[l], (int)l == _i);
        ck_assert_double_ge(verdict.probabilities[verdict.best], verdict.probabilities[l]);
        ck_assert_double_ge(verdict.log_scores[verdict.best], verdict.log_scores[l]);
    }
    nb_verdict_deinit(&verdict);
}
END_TEST

START_TEST(an_explanation_has_the_strongest_tokens_and_the_rest)
{
    struct nb_verdict verdict;
    struct nb_document document = document_of(TEXTS[1]);
    nb_verdict_init(&verdict);
    verdict.takes_several = true;
    for (size_t most = 1; most < 4; most++) {
        ck_assert_int_eq(
            nb_engine_classify(engine, nb_string_of("m"), &document, most, &verdict, NULL), 0);
        ck_assert_uint_eq(verdict.explanation_count, most + 1);
        ck_assert_str_eq(verdict.labels[verdict.second], LABELS[1]);
        ck_assert_ptr_null(verdict.explanation[most].token.bytes);
        for (size_t i = 0; i < most; i++)
            ck_assert_double_gt(verdict.explanation[i].evidence, 0);
        for (size_t i = 1; i < most; i++)
            ck_assert_double_ge(verdict.explanation[i - 1].evidence,
                                verdict.explanation[i].evidence);
    }
    nb_verdict_deinit(&verdict);
}
END_TEST

START_TEST(a_reader_of_one_label_is_refused)
{
    struct nb_verdict verdict;
    struct nb_document document = document_of(TEXTS[0]);
    struct nb_error error = {0};
    nb_verdict_init(&verdict);
    ck_assert_int_eq(nb_engine_classify(engine, nb_string_of("m"), &document, 0, &verdict, &error),
                     NB_UNUSABLE);
    nb_verdict_deinit(&verdict);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verdict_several");
    TCase *tests = tcase_create("verdict_several");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, the_most_probable_label_wins, 0, KINDS);
    tcase_add_test(tests, an_explanation_has_the_strongest_tokens_and_the_rest);
    tcase_add_test(tests, a_reader_of_one_label_is_refused);
    suite_add_tcase(suite, tests);
    return test_run_with_tokenizer(suite);
}
