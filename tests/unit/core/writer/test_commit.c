/* SPDX-License-Identifier: Apache-2.0
 *
 * Commits of groups in which a change meets damage: it is refused, its model is damaged from then
 * on, and the changes of other models are made.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine.h"
#include "core/ledger/ledger.h"
#include "core/model/model_transaction.h"
#include "core/store/store_private.h"
#include "core/writer/submit.h"
#include "core/writer/writer.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"

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
    settings.journal = 0;
    ck_assert_msg(nb_engine_open(&settings, &engine, &error) == 0, "%s", error.text);
}

static void teardown(void)
{
    nb_engine_close(&engine);
    test_folder_remove(directory);
}

static struct nb_batch *batch_of(const char *model, const char *id, const char *label)
{
    struct nb_batch *batch;
    struct nb_document document = {.kind = NB_DOCUMENT_TEXT, .bytes = "one two", .length = 7};
    ck_assert_int_eq(nb_batch_new(engine, str(model), true, &batch, NULL), 0);
    struct nb_error error = {0};
    ck_assert_msg(nb_batch_train(batch, &document, str(label), str(id), str(""), &error) == 0, "%s",
                  error.text);
    return batch;
}

static int train(const char *model, const char *id, const char *label)
{
    struct nb_batch *batch = batch_of(model, id, label);
    nb_engine_apply(engine, batch);
    int rc = nb_batch_receipt(batch, 0)->code;
    nb_batch_free(&batch);
    return rc;
}

/* Damages the entry of the document "1" of model 1 in the index. The model is loaded, so nothing
 * reads this entry before a change replaces it. */
static int write_damage(struct nb_engine *e, struct nb_view *view, void *argument,
                        struct nb_error *error)
{
    struct nb_entry entry = {0};
    (void)argument;
    ck_assert_int_eq(nb_ledger_find(view, 1, str("1"), &entry, error), 0);
    struct nb_store_key key = nb_store_key_sequence(1, entry.number);
    char other[] = "not its checksum";
    MDB_val at = {key.length, key.bytes}, value = {sizeof other, other};
    ck_assert_int_eq(
        mdb_put(e->store->transaction, e->store->tables[NB_TABLE_ENTRIES], &at, &value, 0), 0);
    nb_entry_deinit(&entry);
    return 0;
}

static int damage(struct nb_engine *e, void *argument, struct nb_error *error)
{
    return nb_transaction(e, 0, write_damage, argument, error);
}

static pthread_barrier_t barrier;

static int hold(struct nb_engine *e, void *argument, struct nb_error *error)
{
    (void)e;
    (void)argument;
    (void)error;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return 0;
}

static void *hold_writer(void *argument)
{
    (void)argument;
    ck_assert_int_eq(nb_writer_run(engine, hold, NULL, NULL), 0);
    return NULL;
}

static void note_end(struct nb_batch *batch, void *user)
{
    (void)batch;
    (void)user;
    pthread_barrier_wait(&barrier);
}

/* Applies two batches that the writer finds together. */
static void apply_together(struct nb_batch *a, struct nb_batch *b)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    ck_assert_int_eq(pthread_create(&thread, NULL, hold_writer, NULL), 0);
    pthread_barrier_wait(&barrier);
    nb_engine_submit(engine, a, note_end, NULL);
    nb_engine_submit(engine, b, note_end, NULL);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    pthread_barrier_destroy(&barrier);
}

START_TEST(a_change_that_meets_damage)
{
    ck_assert_int_eq(train("bad", "1", "spam"), 0);
    ck_assert_int_eq(train("bad", "2", "ham"), 0);
    ck_assert_int_eq(train("good", "1", "spam"), 0);
    ck_assert_int_eq(nb_writer_run(engine, damage, NULL, NULL), 0);
    struct nb_batch *bad = batch_of("bad", "1", "ham");
    struct nb_batch *good = batch_of("good", "2", "ham");
    apply_together(bad, good);
    ck_assert_int_eq(nb_batch_receipt(good, 0)->code, 0);
    ck_assert_int_eq(nb_batch_receipt(bad, 0)->code, NB_DAMAGED);
    nb_batch_free(&bad);
    nb_batch_free(&good);
    struct nb_model_info info;
    ck_assert_int_eq(nb_engine_model(engine, str("bad"), &info, NULL), 0);
    ck_assert(info.is_damaged);
    nb_model_info_deinit(&info);
    ck_assert_int_eq(train("good", "3", "spam"), 0);
}
END_TEST

/* Stores have these ids: with others, a document that is sent again would be learned twice. */
START_TEST(the_id_of_a_document_with_values_stays)
{
    static const char form[] = "\0\x03one\x06"
                               "colour\0\x03red\x04tags\x03\x01"
                               "a\x01"
                               "b";
    const struct nb_string red = str("red"), tags[] = {str("a"), str("b")};
    const struct nb_value values[] = {{.name = str("colour"), .items = &red, .count = 1},
                                      {.name = str("tags"), .is_list = true, tags, 2}};
    const struct nb_document document = {
        .kind = NB_DOCUMENT_TEXT, .bytes = "one", .length = 3, .values = {values, 2}};
    char made[NB_CONTENT_ID_LENGTH + 1], want[NB_CONTENT_ID_LENGTH + 1];
    ck_assert_int_eq(NB_DOCUMENT_TEXT, 0);
    nb_key_content_id(&engine->key, 2, form, sizeof form - 1, want);
    ck_assert_int_eq(nb_batch_make_id(&engine->key, &document, made), 0);
    ck_assert_str_eq(made, want);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("commit");
    TCase *t = tcase_create("commit");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_change_that_meets_damage);
    tcase_add_test(t, the_id_of_a_document_with_values_stays);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run_with_tokenizer(suite());
}
