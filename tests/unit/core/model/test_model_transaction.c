/* SPDX-License-Identifier: Apache-2.0
 *
 * How the writer recovers after the store has failed.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/engine.h"
#include "core/model/state.h"
#include "core/writer/writer.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"

enum { WAITS = 3000 }; /* of 10 ms each, at most */
static const uint64_t LONG = 300000000;

static char directory[NB_TEST_FOLDER_SIZE];
static char data[NB_TEST_FOLDER_SIZE + 16], away[NB_TEST_FOLDER_SIZE + 16];
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
    snprintf(data, sizeof data, "%s/data.mdb", directory);
    snprintf(away, sizeof away, "%s/away", directory);
    nb_engine_settings_init(&settings);
    settings.directory = directory;
    ck_assert_msg(nb_engine_open(&settings, &engine, &error) == 0, "%s", error.text);
}

static void teardown(void)
{
    nb_engine_close(&engine);
    test_folder_remove(directory);
}

static int train(const char *id)
{
    struct nb_batch *batch;
    struct nb_document document = {.kind = NB_DOCUMENT_TEXT, .bytes = "one two", .length = 7};
    ck_assert_int_eq(nb_batch_new(engine, str("m"), true, &batch, NULL), 0);
    ck_assert_int_eq(nb_batch_train(batch, &document, str("spam"), str(id), str(""), NULL), 0);
    nb_engine_apply(engine, batch);
    int rc = nb_batch_receipt(batch, 0)->code;
    nb_batch_free(&batch);
    return rc;
}

static int look(struct nb_engine *e, void *argument, struct nb_error *error)
{
    (void)error;
    *(uint64_t *)argument = e->health.pause;
    return 0;
}

static uint64_t pause_now(void)
{
    uint64_t pause = 0;
    ck_assert_int_eq(nb_writer_run(engine, look, &pause, NULL), 0);
    return pause;
}

/* Tries that were in vain make the pause before the next one longer, until one succeeds: also one
 * that a client has asked for. Otherwise the next failure, however short, would last as long as the
 * one before. */
START_TEST(a_pause_ends_with_the_failure)
{
    ck_assert_int_eq(train("1"), 0);
    ck_assert_int_eq(rename(data, away), 0);
    ck_assert_int_eq(train("2"), NB_IO);
    for (int i = 0; i < WAITS && pause_now() < LONG; i++)
        (void)usleep(150000);
    ck_assert_uint_ge(pause_now(), LONG);
    ck_assert_int_eq(rename(away, data), 0);
    ck_assert_int_eq(train("2"), 0);
    ck_assert_uint_eq(pause_now(), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("transaction");
    TCase *t = tcase_create("transaction");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_pause_ends_with_the_failure);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run_with_tokenizer(suite());
}
