/* SPDX-License-Identifier: Apache-2.0
 *
 * Models that an older version has stored are computed anew from their entries.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/archive/repair/repair.h"
#include "core/engine/engine.h"
#include "core/engine/opening.h"
#include "core/ledger/record.h"
#include "core/model/model_transaction.h"
#include "core/model/registry.h"
#include "core/model/state.h"
#include "core/writer/upgrade.h"
#include "tests/unit/folder.h"

enum {
    WAITS = 3000, /* of 10 ms each, at most */
    DOCUMENTS = 200,
    STEPS_MOST = 1000,
    MODELS_MOST = 8
};

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
    open_engine();
}

static void teardown(void)
{
    nb_engine_close(&engine);
    test_folder_remove(directory);
}

static void train(const char *model, int number)
{
    struct nb_batch *batch;
    char text[64], id[16];
    (void)snprintf(text, sizeof text, "one two word%d word%d", number, number % 17);
    (void)snprintf(id, sizeof id, "%d", number);
    struct nb_document document = {.kind = NB_DOCUMENT_TEXT, .bytes = text, .length = strlen(text)};
    ck_assert_int_eq(nb_batch_new(engine, str(model), true, &batch, NULL), 0);
    ck_assert_int_eq(nb_batch_train(batch, &document, str(number % 3 == 0 ? "spam" : "ham"),
                                    str(id), str(""), NULL),
                     0);
    nb_engine_apply(engine, batch);
    ck_assert_int_eq(nb_batch_receipt(batch, 0)->code, 0);
    nb_batch_free(&batch);
}

static void train_all(const char *model)
{
    for (int i = 0; i < DOCUMENTS; i++)
        train(model, i);
}

struct states {
    struct nb_string keys[MODELS_MOST], values[MODELS_MOST];
    size_t count;
};

static int list_state(void *user, struct nb_string key, struct nb_string value,
                      struct nb_error *error)
{
    struct states *states = user;
    (void)error;
    ck_assert_uint_lt(states->count, MODELS_MOST);
    states->keys[states->count] = key;
    states->values[states->count++] = value;
    return 0;
}

/* Makes the store as an older version leaves it: of an older format, and with states that do not
 * say which version has computed the counts. `labels`: their records are gone, too, because nothing
 * may be read of what is computed anew. */
static void make_older(void)
{
    struct nb_store *store;
    struct nb_view view;
    struct states states = {.count = 0};
    static const char older[] = {NB_STORE_OLDEST_FORMAT};
    size_t deleted;
    nb_engine_close(&engine);
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    ck_assert_int_eq(nb_store_scan(&view, NB_TABLE_STATE, str(""), 0, list_state, &states, NULL),
                     0);
    ck_assert_uint_gt(states.count, 0);
    for (size_t i = 0; i < states.count; i++) {
        char key[NB_STORE_KEY_MOST], value[256];
        struct nb_string at = states.keys[i], state = states.values[i];
        memcpy(key, at.bytes, at.length);
        memcpy(value, state.bytes, state.length);
        ck_assert_int_eq(nb_store_put(&view, NB_TABLE_STATE, (struct nb_string){key, at.length},
                                      (struct nb_string){value, state.length - 1}, NULL),
                         0);
    }
    ck_assert_int_eq(nb_store_clear(&view, NB_TABLE_LABELS, str(""), 100, &deleted, NULL), 0);
    ck_assert_int_eq(nb_store_clear(&view, NB_TABLE_ROWS, str(""), 100, &deleted, NULL), 0);
    ck_assert_int_eq(nb_store_put(&view, NB_TABLE_META, str("format"),
                                  (struct nb_string){older, sizeof older}, NULL),
                     0);
    ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
    nb_store_close(&store);
}

static void fail_on_line(void *user, const char *line)
{
    (void)user;
    ck_abort_msg("%s", line);
}

/* Closes the engine and computes everything from the ledger once more. */
static void verify(void)
{
    struct nb_error error = {0};
    nb_engine_close(&engine);
    ck_assert_msg(nb_engine_verify(&settings, fail_on_line, NULL, &error) == 0, "%s", error.text);
}

static void expect(const char *model, bool is_upgrading)
{
    struct nb_model_info info;
    ck_assert_int_eq(nb_engine_model(engine, str(model), &info, NULL), 0);
    ck_assert_int_eq(info.is_upgrading, is_upgrading);
    ck_assert_int_eq(info.is_damaged, is_upgrading);
    if (!is_upgrading) {
        ck_assert_uint_eq(info.documents, DOCUMENTS);
        ck_assert_uint_eq(info.label_count, 2);
    }
    nb_model_info_deinit(&info);
}

START_TEST(the_writer_upgrades_a_store)
{
    struct nb_engine_statistics statistics;
    train_all("a");
    train_all("b");
    make_older();
    open_engine();
    for (int i = 0; i < WAITS && atomic_load(&engine->upgrades.left) > 0; i++)
        (void)usleep(10000);
    nb_engine_statistics(engine, &statistics);
    ck_assert_uint_eq(statistics.upgraded_models, 2);
    ck_assert_uint_eq(statistics.upgrades_left, 0);
    ck_assert_uint_ge(statistics.upgrade_entries, UINT64_C(2) * DOCUMENTS);
    ck_assert_uint_eq(statistics.upgrade_done, statistics.upgrade_entries);
    expect("a", false);
    train("a", 7); /* it is learned already */
    verify();
    open_engine();
    nb_engine_statistics(engine, &statistics);
    ck_assert_uint_eq(statistics.upgraded_models, 0);
    ck_assert_uint_eq(nb_store_format(engine->store), NB_STORE_FORMAT);
}
END_TEST

/* A model at a time, and those that are not done are refused by name. */
START_TEST(others_are_used_meanwhile)
{
    struct nb_error error = {0};
    bool saw_both = false;
    train_all("a");
    train_all("b");
    make_older();
    ck_assert_int_eq(nb_engine_open_existing(&settings, &engine, NULL), 0);
    expect("a", true);
    ck_assert_int_eq(nb_engine_load(engine, str("a"), &error), NB_DAMAGED);
    ck_assert_str_eq(error.name, "model_upgrading");
    int steps = 0;
    while (nb_upgrade_some(engine) && steps++ < STEPS_MOST)
        if (nb_engine_load(engine, str("a"), NULL) == 0) {
            saw_both = true;
            expect("a", false);
            expect("b", true);
        }
    ck_assert_int_lt(steps, STEPS_MOST);
    ck_assert(saw_both);
    expect("b", false);
    verify();
    open_engine();
}
END_TEST

/* Wherever it is cut off, the next one begins again, and the result is the same. */
START_TEST(an_upgrade_that_is_cut_off_begins_again)
{
    train_all("a");
    make_older();
    bool goes_on = true;
    int cuts = 0;
    for (int after = 1; goes_on && after < STEPS_MOST; after++, cuts++) {
        ck_assert_int_eq(nb_engine_open_existing(&settings, &engine, NULL), 0);
        for (int i = 0; goes_on && i < after; i++)
            goes_on = nb_upgrade_some(engine);
        if (goes_on)
            nb_engine_close(&engine);
    }
    ck_assert_int_gt(cuts, 4); /* entries, deleting, ranges, records */
    expect("a", false);
    verify();
    open_engine();
}
END_TEST

/* No file can grow while the step `failing` is done. Returns whether there are more steps. */
static bool fail_step(int failing)
{
    struct rlimit before, small;
    bool goes_on = true;
    for (int i = 0; goes_on && i < failing; i++)
        goes_on = nb_upgrade_some(engine);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = 4096, .rlim_max = before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    (void)nb_upgrade_some(engine);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    return goes_on;
}

/* Whichever step fails, the model is begun again, and the result is the same. */
START_TEST(an_upgrade_without_space_begins_again)
{
    bool goes_on = true;
    int failed = 0;
    train_all("a");
    (void)signal(SIGXFSZ, SIG_IGN);
    for (int failing = 0; goes_on; failing++) {
        make_older();
        ck_assert_int_eq(nb_engine_open_existing(&settings, &engine, NULL), 0);
        goes_on = fail_step(failing);
        failed += nb_transaction_health(engine, NULL) != 0;
        for (int i = 0; i < WAITS && nb_transaction_health(engine, NULL) != 0; i++) {
            (void)usleep(10000);
            nb_transaction_probe(engine);
        }
        while (nb_upgrade_some(engine))
            ;
        ck_assert_uint_eq(atomic_load(&engine->upgrades.left), 0);
        ck_assert_uint_eq(atomic_load(&engine->upgrades.done), engine->upgrades.entries);
        expect("a", false);
        verify();
        open_engine();
    }
    ck_assert_int_ge(failed, 2); /* deleting, and writing */
}
END_TEST

START_TEST(a_model_that_is_deleted_meanwhile_is_left_out)
{
    train_all("a");
    train_all("b");
    make_older();
    settings.quiet_after = UINT64_C(3600000000000);
    ck_assert_int_eq(nb_engine_open_existing(&settings, &engine, NULL), 0);
    ck_assert(nb_upgrade_some(engine)); /* a is under way */
    struct nb_live *deleted = nb_registry_first_older(engine);
    ck_assert_str_eq(deleted->name, "a");
    nb_registry_remove(engine, deleted);
    nb_registry_release(engine, &deleted);
    int steps = 0;
    while (nb_upgrade_some(engine) && steps++ < STEPS_MOST)
        ;
    ck_assert_uint_eq(atomic_load(&engine->upgrades.left), 0);
    expect("b", false);
}
END_TEST

/* Their hashes are those of another function: no text would ever have them. */
START_TEST(features_without_texts_are_refused)
{
    struct nb_error error = {0};
    nb_engine_close(&engine);
    settings.keep_words = false;
    open_engine();
    train_all("a");
    make_older();
    ck_assert_int_eq(nb_engine_open_existing(&settings, &engine, NULL), 0);
    while (nb_upgrade_some(engine))
        ;
    ck_assert_int_eq(nb_engine_load(engine, str("a"), &error), NB_DAMAGED);
    ck_assert_msg(strstr(error.text, "keep_words") != NULL, "%s", error.text);
    ck_assert_uint_eq(atomic_load(&engine->upgrades.left), 0);
}
END_TEST

/* Its streams bring changes in an order that cannot wait for a model. */
START_TEST(a_node_is_upgraded_before_it_opens)
{
    train_all("a");
    make_older();
    settings.shared = true;
    open_engine();
    ck_assert_uint_eq(atomic_load(&engine->upgrades.models), 1);
    ck_assert_uint_eq(atomic_load(&engine->upgrades.left), 0);
    expect("a", false);
    verify();
    open_engine();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("upgrade");
    TCase *tests = tcase_create("upgrade");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_writer_upgrades_a_store);
    tcase_add_test(tests, others_are_used_meanwhile);
    tcase_add_test(tests, an_upgrade_that_is_cut_off_begins_again);
    tcase_add_test(tests, an_upgrade_without_space_begins_again);
    tcase_add_test(tests, a_model_that_is_deleted_meanwhile_is_left_out);
    tcase_add_test(tests, features_without_texts_are_refused);
    tcase_add_test(tests, a_node_is_upgraded_before_it_opens);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    /* Once a process: the MIME library cannot be set up again. */
    if (nb_tokenizer_setup(NULL) != 0)
        return EXIT_FAILURE;
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    nb_tokenizer_teardown();
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
