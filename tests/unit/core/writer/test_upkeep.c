/* SPDX-License-Identifier: Apache-2.0
 *
 * The writer's own upkeep of models: a damaged model does not hold up others.
 */
#include <check.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/engine.h"
#include "core/ledger/ledger.h"
#include "core/model/state.h"
#include "core/store/store_private.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"

enum { WAITS = 3000 }; /* of 10 ms each, at most */

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_engine_settings settings;
static struct nb_engine *engine;

static struct nb_string str(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static void open_engine(void)
{
    struct nb_error error = {0};
    ck_assert_msg(nb_engine_open(&settings, &engine, &error) == 0, "%s", error.text);
}

static void setup(void)
{
    test_folder_make(directory);
    nb_engine_settings_init(&settings);
    settings.directory = directory;
    settings.quiet_after = UINT64_C(3600000000000);
    open_engine();
}

static void teardown(void)
{
    nb_engine_close(&engine);
    test_folder_remove(directory);
}

static void train(const char *model, const char *id, const char *label)
{
    struct nb_batch *batch;
    struct nb_document document = {.kind = NB_DOCUMENT_TEXT, .bytes = "one two", .length = 7};
    ck_assert_int_eq(nb_batch_new(engine, str(model), true, &batch, NULL), 0);
    ck_assert_int_eq(nb_batch_train(batch, &document, str(label), str(id), str(""), NULL), 0);
    nb_engine_apply(engine, batch);
    ck_assert_int_eq(nb_batch_receipt(batch, 0)->code, 0);
    nb_batch_free(&batch);
}

/* Changes the value of a key, so that its checksum is wrong. */
static void damage(enum nb_table table, struct nb_store_key key)
{
    struct nb_store *store;
    struct nb_view view;
    char other[] = "other content";
    MDB_val at = {key.length, key.bytes}, value = {sizeof other, other};
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    nb_store_limit_journal(store, 0);
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    ck_assert_int_eq(mdb_put(store->transaction, store->tables[table], &at, &value, 0), 0);
    ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
    nb_store_close(&store);
}

static void damage_entry(uint64_t number)
{
    damage(NB_TABLE_LEDGER, nb_store_key_entry(number, 0));
}

static uint64_t entry_of(const char *id)
{
    struct nb_view view;
    struct nb_entry entry = {0};
    ck_assert_int_eq(nb_store_snapshot(engine->store, &view, NULL), 0);
    ck_assert_int_eq(nb_ledger_find(&view, 1, str(id), &entry, NULL), 0);
    nb_store_snapshot_end(&view);
    uint64_t number = entry.number;
    nb_entry_deinit(&entry);
    return number;
}

static void be_quiet_soon(void)
{
    pthread_mutex_lock(&engine->queue.lock);
    engine->settings.quiet_after = 1000000;
    pthread_mutex_unlock(&engine->queue.lock);
}

static bool is_saved(void)
{
    for (int i = 0; i < WAITS && atomic_load(&engine->memory.tail) > 0; i++)
        (void)usleep(10000);
    return atomic_load(&engine->memory.tail) == 0;
}

static void expect_damaged(const char *model)
{
    struct nb_model_info info;
    ck_assert_int_eq(nb_engine_model(engine, str(model), &info, NULL), 0);
    ck_assert(info.is_damaged);
    nb_model_info_deinit(&info);
}

/* What a document was before its label changed stays for an undo. When its time is over, it turns
 * out that it does not read back. */
START_TEST(a_damaged_model_holds_no_other_up)
{
    train("a", "1", "spam");
    uint64_t replaced = entry_of("1");
    train("a", "1", "ham");
    nb_engine_close(&engine); /* which saves the model */
    damage_entry(replaced);
    open_engine();
    train("a", "2", "spam");
    nb_engine_keep_superseded(engine, 0);
    be_quiet_soon();
    train("b", "1", "spam");
    ck_assert(is_saved());
    expect_damaged("a");
    train("b", "2", "ham");
}
END_TEST

static void put_calibrated(const char *model)
{
    struct nb_settings wanted;
    bool created;
    nb_settings_init(&wanted, NB_PRESET_BOOK);
    wanted.calibration = NB_CALIBRATION_PLATT;
    ck_assert_int_eq(
        nb_engine_put_model(engine, str(model), &wanted, false, str(""), &created, NULL), 0);
    nb_settings_deinit(&wanted);
}

static void train_number(const char *model, unsigned number)
{
    char id[16];
    (void)snprintf(id, sizeof id, "%u", number);
    train(model, id, number % 2 == 0 ? "spam" : "ham");
}

static bool is_calibrated(const char *model)
{
    bool is_fitted = false;
    for (int i = 0; i < WAITS && !is_fitted; i++) {
        struct nb_model_info info;
        ck_assert_int_eq(nb_engine_model(engine, str(model), &info, NULL), 0);
        is_fitted = info.settings.fitted != NULL;
        nb_model_info_deinit(&info);
        (void)usleep(10000);
    }
    return is_fitted;
}

/* With 20 documents a map of probabilities is fitted, for which all are read. */
START_TEST(a_damaged_model_holds_no_calibration_up)
{
    enum { ENOUGH = 20 };
    put_calibrated("a");
    put_calibrated("b");
    for (unsigned i = 1; i < ENOUGH; i++) {
        train_number("a", i);
        train_number("b", i);
    }
    uint64_t damaged = entry_of("3");
    nb_engine_close(&engine);
    damage_entry(damaged);
    open_engine();
    train_number("a", ENOUGH);
    train_number("b", ENOUGH);
    ck_assert(is_calibrated("b"));
    expect_damaged("a");
}
END_TEST

static bool is_empty(const char *model)
{
    uint64_t documents = 1;
    for (int i = 0; i < WAITS && documents > 0; i++) {
        struct nb_model_info info;
        ck_assert_int_eq(nb_engine_model(engine, str(model), &info, NULL), 0);
        documents = info.documents;
        nb_model_info_deinit(&info);
        (void)usleep(10000);
    }
    return documents == 0;
}

/* The oldest documents of all models go when the disk is for fewer. One whose entry does not read
 * back stays. */
START_TEST(a_damaged_entry_holds_no_ageing_up)
{
    train("a", "1", "spam");
    train("b", "1", "spam");
    uint64_t damaged = entry_of("1");
    nb_engine_close(&engine);
    damage_entry(damaged);
    settings.disk = 4096;
    settings.quiet_after = 1000000;
    open_engine();
    ck_assert(is_empty("b"));
}
END_TEST

static void delete_model(const char *model)
{
    ck_assert_int_eq(nb_engine_delete_model(engine, str(model), str(""), NULL), 0);
}

static int stop_at_first(void *user, struct nb_string key, struct nb_string value,
                         struct nb_error *error)
{
    (void)user;
    (void)key;
    (void)value;
    (void)error;
    return 1;
}

static bool is_purged(void)
{
    int rc = 1;
    for (int i = 0; i < WAITS && rc != 0; i++) {
        struct nb_view view;
        ck_assert_int_eq(nb_store_snapshot(engine->store, &view, NULL), 0);
        rc = nb_store_scan(&view, NB_TABLE_ORPHANS, str(""), 0, stop_at_first, NULL, NULL);
        if (rc == 0)
            rc = nb_store_scan(&view, NB_TABLE_ENTRIES, str(""), 0, stop_at_first, NULL, NULL);
        nb_store_snapshot_end(&view);
        (void)usleep(10000);
    }
    return rc == 0;
}

/* A damaged model is deleted, as its message says. Nothing of it stays, and nothing of a sound one
 * that is deleted after it. */
START_TEST(a_damaged_model_holds_no_purge_up)
{
    train("a", "1", "spam");
    train("b", "1", "spam");
    uint64_t damaged = entry_of("1");
    nb_engine_close(&engine);
    damage(NB_TABLE_ENTRIES, nb_store_key_sequence(1, damaged));
    settings.quiet_after = 1000000;
    open_engine();
    expect_damaged("a");
    delete_model("a");
    delete_model("b");
    ck_assert(is_purged());
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("upkeep");
    TCase *t = tcase_create("upkeep");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_damaged_model_holds_no_other_up);
    tcase_add_test(t, a_damaged_model_holds_no_calibration_up);
    tcase_add_test(t, a_damaged_entry_holds_no_ageing_up);
    tcase_add_test(t, a_damaged_model_holds_no_purge_up);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run_with_tokenizer(suite());
}
