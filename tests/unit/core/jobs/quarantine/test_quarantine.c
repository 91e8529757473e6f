/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting changes are counted: a verification finds a lost change, and a rebuild counts those that
 * are left.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/archive/repair/repair.h"
#include "core/engine/engine.h"
#include "core/jobs/quarantine/quarantine.h"
#include "core/ledger/quarantine_entries.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"

enum { MODEL = 1 }; /* the number of the first model of a store */

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_engine_settings settings;
static struct nb_engine *engine;

static struct nb_string str(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static void setup(void)
{
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

static void train(const char *id, const char *words, bool quarantined)
{
    struct nb_batch *batch;
    struct nb_error error = {0};
    struct nb_document document = {
        .kind = NB_DOCUMENT_TEXT, .bytes = words, .length = strlen(words)};
    ck_assert_int_eq(nb_batch_new(engine, str("m"), true, &batch, &error), 0);
    nb_batch_quarantine(batch, quarantined);
    ck_assert_int_eq(nb_batch_train(batch, &document, str("spam"), str(id), str("user"), &error),
                     0);
    nb_engine_apply(engine, batch);
    ck_assert_msg(nb_batch_receipt(batch, 0)->code == 0, "%s",
                  nb_batch_receipt(batch, 0)->error.text);
    nb_batch_free(&batch);
}

/* Puts three changes into the quarantine, one of them twice. */
static void quarantine_some(void)
{
    train("known", "some words", false);
    train("a", "free money", true);
    train("b", "cheap pills", true);
    train("c", "casino", true);
    train("a", "free money and more of it", true);
}

static struct nb_quarantine_sums sums(void)
{
    struct nb_store *store;
    struct nb_view view;
    struct nb_quarantine_sums found;
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    ck_assert_int_eq(nb_store_snapshot(store, &view, NULL), 0);
    ck_assert_int_eq(nb_quarantine_sums(&view, MODEL, &found, NULL), 0);
    nb_store_snapshot_end(&view);
    nb_store_close(&store);
    return found;
}

static void keep_line(void *user, const char *line)
{
    if (*(char *)user == '\0')
        snprintf(user, 200, "%s", line);
}

static void verified(int expected, const char *words)
{
    char line[200] = "";
    struct nb_error error = {0};
    ck_assert_int_eq(nb_engine_verify(&settings, keep_line, line, &error), expected);
    ck_assert_msg(strstr(line, words) != NULL, "'%s' is not in '%s'", words, line);
}

static void delete_row(enum nb_table table, struct nb_store_key key)
{
    struct nb_store *store;
    struct nb_view view;
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    ck_assert_int_eq(nb_store_delete(&view, table, nb_store_key_string(&key), NULL), 0);
    ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
    nb_store_close(&store);
}

START_TEST(what_waits_is_counted)
{
    struct nb_quarantine_options all = {.until = INT64_MAX};
    struct nb_quarantine_report report;
    quarantine_some();
    train("b", "cheap pills", false); /* settles what waits for it */
    nb_engine_close(&engine);
    verified(0, "");
    ck_assert_uint_eq(sums().documents, 2);
    ck_assert_uint_gt(sums().bytes, 0);
    ck_assert_int_eq(nb_engine_open(&settings, &engine, NULL), 0);
    ck_assert_int_eq(nb_engine_quarantine_drop(engine, str("m"), &all, NULL, NULL, &report, NULL),
                     0);
    ck_assert_uint_eq(report.dropped, 2);
    nb_engine_close(&engine);
    verified(0, "");
    ck_assert_uint_eq(sums().documents, 0);
    ck_assert_uint_eq(sums().bytes, 0);
}
END_TEST

/* Before the first step. */
static bool replace_model(void *user)
{
    bool *is_done = user;
    if (*is_done)
        return false;
    *is_done = true;
    ck_assert_int_eq(nb_engine_delete_model(engine, str("m"), str(""), NULL), 0);
    train("known", "some words", false);
    train("d", "free money", true);
    return false;
}

START_TEST(what_waits_for_a_new_model_of_the_name_stays)
{
    struct nb_quarantine_options all = {.until = INT64_MAX};
    struct nb_quarantine_report report;
    bool is_done = false;
    quarantine_some();
    int rc =
        nb_engine_quarantine_drop(engine, str("m"), &all, replace_model, &is_done, &report, NULL);
    ck_assert_uint_eq(report.dropped, 0);
    ck_assert_int_eq(rc, NB_NOT_FOUND);
    ck_assert_int_eq(nb_engine_quarantine_drop(engine, str("m"), &all, NULL, NULL, &report, NULL),
                     0);
    ck_assert_uint_eq(report.dropped, 1);
}
END_TEST

START_TEST(a_lost_change_is_found)
{
    struct nb_error error = {0};
    char line[200] = "";
    quarantine_some();
    nb_engine_close(&engine);
    delete_row(NB_TABLE_QUARANTINE, nb_store_key_id(MODEL, str("b")));
    verified(1, "2 changes are in the quarantine, 3 should wait there");
    ck_assert_int_eq(nb_engine_rebuild(&settings, keep_line, line, &error), 1);
    verified(0, "");
    ck_assert_uint_eq(sums().documents, 2);
}
END_TEST

START_TEST(lost_sums_are_found)
{
    struct nb_error error = {0};
    char line[200] = "";
    quarantine_some();
    nb_engine_close(&engine);
    delete_row(NB_TABLE_WAITING, nb_store_key_model(MODEL));
    verified(1, "3 changes are in the quarantine, 0 should wait there");
    ck_assert_int_eq(nb_engine_rebuild(&settings, keep_line, line, &error), 1);
    verified(0, "");
    ck_assert_uint_eq(sums().documents, 3);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("quarantine");
    TCase *t = tcase_create("quarantine");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, what_waits_is_counted);
    tcase_add_test(t, what_waits_for_a_new_model_of_the_name_stays);
    tcase_add_test(t, a_lost_change_is_found);
    tcase_add_test(t, lost_sums_are_found);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run_with_tokenizer(suite());
}
