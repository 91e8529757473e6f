/* SPDX-License-Identifier: Apache-2.0
 *
 * Leave-one-out scores while the model changes.
 */
#include "core/writer/recalibrate.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine.h"
#include "core/jobs/merge/merge.h"
#include "core/model/registry.h"
#include "core/writer/writer.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"

enum { DOCUMENTS = 40 };

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_engine *engine;
static struct nb_live *live;

static struct nb_string str(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static void train(int count)
{
    struct nb_batch *batch;
    ck_assert_int_eq(nb_batch_new(engine, str("m"), false, &batch, NULL), 0);
    for (int i = 0; i < count; i++) {
        const char *text = i % 2 == 0 ? "meeting agenda minutes" : "winner prize money";
        struct nb_document document = {
            .kind = NB_DOCUMENT_TEXT, .bytes = text, .length = strlen(text)};
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        ck_assert_int_eq(nb_batch_train(batch, &document, str(i % 2 == 0 ? "ham" : "spam"), str(id),
                                        str(""), NULL),
                         0);
    }
    nb_engine_apply(engine, batch);
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(nb_batch_receipt(batch, (size_t)i)->code, 0);
    nb_batch_free(&batch);
}

static void setup(void)
{
    struct nb_engine_settings settings;
    struct nb_settings of_model;
    struct nb_error error = {0};
    bool created;
    test_folder_make(directory);
    nb_engine_settings_init(&settings);
    settings.directory = directory;
    ck_assert_msg(nb_engine_open(&settings, &engine, &error) == 0, "%s", error.text);
    nb_settings_init(&of_model, NB_PRESET_BOOK);
    ck_assert_int_eq(
        nb_engine_put_model(engine, str("m"), &of_model, true, str(""), &created, NULL), 0);
    nb_settings_deinit(&of_model);
    ck_assert_int_eq(nb_registry_acquire(engine, str("m"), false, &live, NULL), 0);
    train(DOCUMENTS);
}

static void teardown(void)
{
    nb_registry_release(engine, &live);
    nb_engine_close(&engine);
    test_folder_remove(directory);
}

/* Begins, or begins anew, if the scores do not go on; scores some. */
static int score_some(struct nb_engine *e, void *argument, struct nb_error *error)
{
    static const struct nb_book_sample SAMPLE = {DOCUMENTS, 1000};
    struct nb_book_scores *s = argument;
    struct nb_view view;
    int rc = nb_store_snapshot(e->store, &view, error);
    if (rc == 0 && (s->live == NULL || !nb_book_scores_go_on(s))) {
        nb_book_scores_deinit(s);
        rc = nb_book_scores_begin(s, live, &view, SAMPLE, nb_random_of(1, 0));
    }
    if (rc == 0)
        rc = nb_book_scores_some(s, &view);
    nb_store_snapshot_end(&view);
    return rc;
}

/* Scores are in the order of the labels' names. */
START_TEST(a_label_may_get_another_name_meanwhile)
{
    struct nb_book_scores s = {.live = NULL};
    ck_assert_int_eq(nb_writer_run(engine, score_some, &s, NULL), 0);
    ck_assert(s.count > 0 && s.next < s.size);
    ck_assert_int_eq(
        nb_engine_rename_label(engine, str("m"), str("ham"), str("wanted"), str(""), NULL), 0);
    while (s.next < s.size)
        ck_assert_int_eq(nb_writer_run(engine, score_some, &s, NULL), 0);
    ck_assert_uint_eq(s.count, DOCUMENTS);
    for (size_t i = 0; i < s.count; i++) {
        uint32_t truth = s.truths[i];
        ck_assert_msg(s.scores[2 * i + truth] > s.scores[2 * i + 1 - truth],
                      "document %zu is said to be of the other label", i);
    }
    nb_book_scores_deinit(&s);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("book_scores");
    TCase *t = tcase_create("book_scores");
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_label_may_get_another_name_meanwhile);
    return test_run_with_tokenizer(s);
}
