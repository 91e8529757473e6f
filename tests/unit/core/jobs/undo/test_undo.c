/* SPDX-License-Identifier: Apache-2.0
 *
 * An undo whose model is deleted meanwhile, and replaced by another one of the same name.
 */
#include "core/jobs/undo/undo.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"

/* More than one step takes back, and more than are removed at once from a deleted model. */
enum { DOCUMENTS = 4000 };

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_engine *engine;

static struct nb_string str(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static void setup(void)
{
    struct nb_engine_settings settings;
    struct nb_error error = {0};
    test_folder_make(directory);
    nb_engine_settings_init(&settings);
    settings.directory = directory;
    ck_assert_msg(nb_engine_open(&settings, &engine, &error) == 0, "%s", error.text);
}

static void teardown(void)
{
    nb_engine_close(&engine);
    test_folder_remove(directory);
}

static void train(int count)
{
    struct nb_batch *batch;
    struct nb_document document = {.kind = NB_DOCUMENT_TEXT, .bytes = "prize", .length = 5};
    ck_assert_int_eq(nb_batch_new(engine, str("m"), false, &batch, NULL), 0);
    for (int i = 0; i < count; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        ck_assert_int_eq(
            nb_batch_train(batch, &document, str("spam"), str(id), str("button"), NULL), 0);
    }
    nb_engine_apply(engine, batch);
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(nb_batch_receipt(batch, (size_t)i)->code, 0);
    nb_batch_free(&batch);
}

static int count_note(void *user, const struct nb_undo_note *note)
{
    (void)note;
    ++*(int *)user;
    return 0;
}

/* Before the second step. */
static bool replace_model(void *user)
{
    if (++*(int *)user == 2) {
        ck_assert_int_eq(nb_engine_delete_model(engine, str("m"), str(""), NULL), 0);
        train(1);
    }
    return false;
}

/* The new model has nothing to do with it: it keeps no note of it. */
START_TEST(a_model_that_was_replaced_is_not_gone_on_with)
{
    const struct nb_undo_options options = {
        .source = str("button"), .has_source = true, .to = INT64_MAX};
    struct nb_undo_report report;
    int steps = 0, notes = 0;
    train(DOCUMENTS);
    int rc = nb_engine_undo(engine, str("m"), &options, 0, 0, str("admin"), replace_model, &steps,
                            &report, NULL);
    nb_undo_report_deinit(&report);
    ck_assert_int_ge(steps, 2);
    ck_assert_int_eq(nb_engine_undone(engine, str("m"), 0, count_note, &notes, NULL), 0);
    ck_assert_int_eq(notes, 0);
    ck_assert_int_eq(rc, NB_NOT_FOUND);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("undo");
    TCase *t = tcase_create("undo");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_model_that_was_replaced_is_not_gone_on_with);
    return test_run_with_tokenizer(s);
}
