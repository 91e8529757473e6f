/* SPDX-License-Identifier: Apache-2.0
 *
 * Verification of a store whose values have valid checksums but do not follow from the ledger: it
 * names the model and the part that differs.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/archive/repair/repair.h"
#include "core/base/buffer.h"
#include "core/engine/engine.h"
#include "core/store/store.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_engine_settings settings;
static struct nb_buffer told; /* the lines, each with its end */

static void train(struct nb_engine *engine, const char *model, const char *id, const char *label,
                  const char *text)
{
    struct nb_batch *batch;
    struct nb_document document = {.kind = NB_DOCUMENT_TEXT, .bytes = text, .length = strlen(text)};
    ck_assert_int_eq(nb_batch_new(engine, nb_string_of(model), true, &batch, NULL), 0);
    ck_assert_int_eq(nb_batch_train(batch, &document, nb_string_of(label), nb_string_of(id),
                                    nb_string_of("test"), NULL),
                     0);
    nb_engine_apply(engine, batch);
    ck_assert_int_eq(nb_batch_receipt(batch, 0)->code, 0);
    nb_batch_free(&batch);
}

/* Makes two models with the same features and labels, but different counts. The numbers are 1 and
 * 2. */
static void setup(void)
{
    struct nb_engine *engine;
    test_folder_make(directory);
    nb_engine_settings_init(&settings);
    settings.directory = directory;
    ck_assert_int_eq(nb_engine_open(&settings, &engine, NULL), 0);
    train(engine, "first", "1", "ham", "one two");
    train(engine, "first", "2", "ham", "one one two");
    train(engine, "first", "3", "spam", "one two two");
    train(engine, "second", "1", "ham", "one two");
    train(engine, "second", "2", "spam", "one one one two");
    train(engine, "second", "3", "spam", "one two two");
    nb_engine_close(&engine);
}

static void teardown(void)
{
    nb_buffer_deinit(&told);
    test_folder_remove(directory);
}

static void note(void *user, const char *line)
{
    (void)user;
    ck_assert_int_eq(nb_buffer_append(&told, line, strlen(line)), 0);
    ck_assert_int_eq(nb_buffer_append(&told, "\n", 1), 0);
}

static int verify(void)
{
    struct nb_error error = {0};
    told.length = 0;
    int rc = nb_engine_verify(&settings, note, NULL, &error);
    ck_assert_msg(rc >= 0, "%s", error.text);
    ck_assert_int_eq(nb_buffer_append(&told, "", 1), 0);
    return rc;
}

/* Gives the first model a value of the second one. */
static void mix_up(enum nb_table table, uint32_t tail)
{
    struct nb_store *store;
    struct nb_view view;
    struct nb_string value;
    struct nb_buffer copy = {0};
    struct nb_store_key from = nb_store_key_number(2, tail);
    struct nb_store_key to = nb_store_key_number(1, tail);
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    ck_assert_int_eq(nb_store_get(&view, table, nb_store_key_string(&from), &value, NULL), 0);
    ck_assert_int_eq(nb_buffer_append(&copy, value.bytes, value.length), 0);
    ck_assert_int_eq(
        nb_store_put(&view, table, nb_store_key_string(&to), nb_buffer_string(&copy), NULL), 0);
    ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
    nb_store_close(&store);
    nb_buffer_deinit(&copy);
}

START_TEST(a_sound_store_has_no_difference)
{
    ck_assert_msg(verify() == 0, "%s", told.bytes);
}
END_TEST

START_TEST(other_counts_are_a_difference)
{
    mix_up(NB_TABLE_ROWS, 0);
    ck_assert_int_eq(verify(), 1);
    ck_assert_ptr_nonnull(strstr(told.bytes, "model 'first': the counts of features are not"));
    ck_assert_ptr_null(strstr(told.bytes, "model 'second'"));
}
END_TEST

START_TEST(other_documents_of_labels_are_a_difference)
{
    mix_up(NB_TABLE_LABELS, 0);
    mix_up(NB_TABLE_LABELS, 1);
    ck_assert_int_eq(verify(), 1);
    ck_assert_ptr_nonnull(strstr(told.bytes, "model 'first': the labels are not"));
    ck_assert_ptr_null(strstr(told.bytes, "the counts of features"));
    ck_assert_ptr_null(strstr(told.bytes, "model 'second'"));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("verify");
    TCase *t = tcase_create("verify");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 300);
    tcase_add_test(t, a_sound_store_has_no_difference);
    tcase_add_test(t, other_counts_are_a_difference);
    tcase_add_test(t, other_documents_of_labels_are_a_difference);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run_with_tokenizer(suite());
}
