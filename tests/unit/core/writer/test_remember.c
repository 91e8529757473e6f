/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of the history on a real store: records are found, newest first, and those beyond the
 * limits are dropped; and the stored form of a record.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/system.h"
#include "core/engine/engine.h"
#include "core/model/registry.h"
#include "core/writer/remember.h"
#include "core/writer/writer.h"
#include "tests/unit/folder.h"
#include "tests/unit/run.h"

enum { MODEL = 7, DAY = 1000 };

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_store *store;
static struct nb_view view;

static struct nb_string str(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static void setup(void)
{
    test_folder_make(directory);
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
}

static void teardown(void)
{
    nb_store_abort(&view);
    nb_store_close(&store);
    test_folder_remove(directory);
}

static void put(uint32_t model, const char *id, int64_t time)
{
    const struct nb_history_record record = {.id = str(id), .verdict = str("spam"), .time = time};
    struct nb_buffer stored = {0};
    ck_assert_int_eq(nb_history_write(&record, &stored), 0);
    ck_assert_int_eq(nb_history_put(&view, model, str(id),
                                    (struct nb_string){stored.bytes, stored.length}, NULL),
                     0);
    nb_buffer_deinit(&stored);
}

/* Returns the ids of a model, newest first, separated by blanks. */
static const char *listed(uint32_t model)
{
    static char text[256];
    struct nb_history_record record;
    struct nb_string stored;
    uint64_t number = UINT64_MAX;
    size_t length = 0;
    int rc = 0;
    text[0] = '\0';
    while (number > 1 &&
           (rc = nb_history_before(&view, model, number, &number, &stored, NULL)) == 0) {
        ck_assert_int_eq(nb_history_read(&record, stored, NULL), 0);
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%.*s",
                                   length > 0 ? " " : "", (int)record.id.length, record.id.bytes);
    }
    ck_assert(rc == 0 || rc == NB_NOT_FOUND);
    return text;
}

static size_t trim(uint64_t records, int64_t since, size_t most)
{
    const struct nb_history_limits limits = {records, since};
    size_t removed;
    ck_assert_int_eq(nb_history_trim(&view, MODEL, &limits, most, &removed, NULL), 0);
    return removed;
}

START_TEST(the_newest_verdict_of_a_document)
{
    put(MODEL, "a", 1);
    put(MODEL, "b", 2);
    put(MODEL + 1, "a", 3);
    put(MODEL, "a", 4);
    struct nb_string stored;
    struct nb_history_record record;
    bool removed;
    ck_assert_str_eq(listed(MODEL), "a b");
    ck_assert_str_eq(listed(MODEL + 1), "a");
    ck_assert_int_eq(nb_history_find(&view, MODEL, str("a"), UINT64_MAX, &stored, NULL), 0);
    ck_assert_int_eq(nb_history_read(&record, stored, NULL), 0);
    ck_assert_int_eq(record.time, 4);
    ck_assert_int_eq(nb_history_find(&view, MODEL, str("c"), UINT64_MAX, &stored, NULL),
                     NB_NOT_FOUND);
    ck_assert_int_eq(nb_history_remove(&view, MODEL, str("a"), &removed, NULL), 0);
    ck_assert(removed);
    ck_assert_int_eq(nb_history_remove(&view, MODEL, str("a"), &removed, NULL), 0);
    ck_assert(!removed);
    ck_assert_str_eq(listed(MODEL), "b");
    ck_assert_str_eq(listed(MODEL + 1), "a");
}
END_TEST

START_TEST(limits)
{
    for (int i = 0; i < 9; i++) {
        char id[] = {(char)('a' + i), '\0'};
        put(MODEL, id, (int64_t)i * DAY);
    }
    ck_assert_uint_eq(trim(9, 0, 100), 0);
    ck_assert_uint_eq(trim(7, 0, 100), 2);
    ck_assert_str_eq(listed(MODEL), "i h g f e d c");
    ck_assert_uint_eq(trim(7, 5 * DAY, 2), 2);
    ck_assert_str_eq(listed(MODEL), "i h g f e");
    ck_assert_uint_eq(trim(7, 5 * DAY, 100), 1);
    ck_assert_str_eq(listed(MODEL), "i h g f");
    ck_assert_uint_eq(trim(0, 0, 100), 4);
    ck_assert_str_eq(listed(MODEL), "");
    ck_assert_uint_eq(trim(0, 0, 100), 0);
}
END_TEST

/* Nobody can tell how old a damaged verdict is: none stays longer than it should. */
START_TEST(a_damaged_history_goes)
{
    struct nb_store_key key = nb_store_key_sequence(MODEL, 1);
    put(MODEL, "a", 1);
    put(MODEL, "b", 2);
    put(MODEL + 1, "c", 3);
    ck_assert_int_eq(
        nb_store_put(&view, NB_TABLE_HISTORY, nb_store_key_string(&key), str("x"), NULL), 0);
    struct nb_string stored;
    ck_assert_int_eq(nb_history_find(&view, MODEL, str("a"), UINT64_MAX, &stored, NULL), 0);
    (void)trim(100, 0, 100);
    ck_assert_str_eq(listed(MODEL), "");
    ck_assert_int_eq(nb_history_find(&view, MODEL, str("b"), UINT64_MAX, &stored, NULL),
                     NB_NOT_FOUND);
    ck_assert_str_eq(listed(MODEL + 1), "c");
    put(MODEL, "d", 4);
    ck_assert_str_eq(listed(MODEL), "d");
}
END_TEST

/* The number of a document's record is lost: the document can be forgotten, and kept again. */
START_TEST(a_damaged_number_goes)
{
    struct nb_store_key key = nb_store_key_id(MODEL, str("b"));
    struct nb_string stored;
    for (int keeps = 0; keeps < 2; keeps++) {
        bool removed = false;
        put(MODEL, "a", 1);
        put(MODEL, "b", 2);
        put(MODEL + 1, "b", 3);
        ck_assert_int_eq(
            nb_store_put(&view, NB_TABLE_HISTORY_IDS, nb_store_key_string(&key), str(""), NULL), 0);
        ck_assert_int_eq(nb_history_find(&view, MODEL, str("b"), UINT64_MAX, &stored, NULL),
                         NB_CORRUPT);
        if (keeps) {
            put(MODEL, "b", 4);
        } else {
            ck_assert_int_eq(nb_history_remove(&view, MODEL, str("b"), &removed, NULL), 0);
            ck_assert(removed);
        }
        ck_assert_str_eq(listed(MODEL), keeps ? "b" : "");
        ck_assert_str_eq(listed(MODEL + 1), "b");
    }
}
END_TEST

START_TEST(the_stored_form)
{
    const struct nb_history_record record = {.id = str("id"),
                                             .message_id = str("a@b"),
                                             .subject = str("S"),
                                             .source = str("rspamd"),
                                             .verdict = str("spam"),
                                             .probability = 0.75,
                                             .known = 0.25,
                                             .time = INT64_C(1700000000000),
                                             .truncated = true,
                                             .fields = 5,
                                             .positions = 9,
                                             .feature_count = 2,
                                             .features = str("ff"),
                                             .repeats = str("\x01\x02")};
    struct nb_buffer stored = {0};
    struct nb_history_record read;
    ck_assert_int_eq(nb_history_write(&record, &stored), 0);
    struct nb_string bytes = {stored.bytes, stored.length};
    ck_assert_int_eq(nb_history_read(&read, bytes, NULL), 0);
    ck_assert(nb_string_same(read.id, record.id) && nb_string_same(read.subject, record.subject) &&
              nb_string_same(read.message_id, record.message_id) &&
              nb_string_same(read.source, record.source) &&
              nb_string_same(read.verdict, record.verdict) &&
              nb_string_same(read.features, record.features) &&
              nb_string_same(read.repeats, record.repeats));
    ck_assert(read.truncated && read.fields == 5 && read.positions == 9 &&
              read.feature_count == 2 && read.time == record.time);
    ck_assert_double_eq_tol(read.probability, 0.75, 1e-12);
    ck_assert_double_eq_tol(read.known, 0.25, 1e-12);
    for (size_t length = 0; length < stored.length - record.repeats.length; length++)
        ck_assert_int_eq(nb_history_read(&read, (struct nb_string){stored.bytes, length}, NULL),
                         NB_CORRUPT);
    stored.bytes[0] = 2;
    ck_assert_int_eq(nb_history_read(&read, bytes, NULL), NB_CORRUPT);
    stored.bytes[0] = 17;
    ck_assert_int_eq(nb_history_read(&read, bytes, NULL), NB_CORRUPT);
    nb_buffer_deinit(&stored);
}
END_TEST

START_TEST(without_known)
{
    const struct nb_history_record record = {
        .id = str("id"), .verdict = str("spam"), .probability = 0.75, .known = NAN};
    struct nb_buffer stored = {0};
    struct nb_history_record read;
    ck_assert_int_eq(nb_history_write(&record, &stored), 0);
    ck_assert_int_eq(nb_history_read(&read, nb_buffer_string(&stored), NULL), 0);
    ck_assert(isnan(read.known));
    ck_assert_double_eq_tol(read.probability, 0.75, 1e-12);
    nb_buffer_deinit(&stored);
}
END_TEST

/* The parts of the text in which the features are, behind the features. */
START_TEST(the_stored_form_with_parts)
{
    struct nb_history_record record = {.id = str("id"),
                                       .sender = str("a@b"),
                                       .verdict = str("spam"),
                                       .known = NAN,
                                       .feature_count = 1,
                                       .features = str("f"),
                                       .parts = str("\x01\x02\x01\x03"),
                                       .repeats = str("\x01\x02")};
    struct nb_buffer stored = {0};
    struct nb_history_record read;
    ck_assert_int_eq(nb_history_write(&record, &stored), 0);
    ck_assert_int_eq(stored.bytes[0], 6);
    ck_assert_int_eq(nb_history_read(&read, nb_buffer_string(&stored), NULL), 0);
    ck_assert(nb_string_same(read.features, record.features) &&
              nb_string_same(read.parts, record.parts) &&
              nb_string_same(read.repeats, record.repeats));
    nb_buffer_deinit(&stored);
}
END_TEST

static void add_words(struct nb_bag *bag, const struct nb_key *key, const char *letters)
{
    for (; *letters != '\0'; letters++)
        ck_assert_int_eq(nb_bag_add(bag, key, NB_FIELD_BODY, letters, 1), 0);
}

/* Parts of features are kept, and those that lead behind the features, backwards, or to a part that
 * does not exist are found. */
START_TEST(damaged_parts_are_found)
{
    static const struct nb_string damaged[] = {{"\1", 1},           {"\1\2\0\1", 4},
                                               {"\1\2\5\1", 4},     {"\1\2\1", 3},
                                               {"\1\2\1\1\4\1", 6}, {"\1\2\1\xE0\2", 5}};
    struct nb_key key;
    struct nb_features_coder *coder = nb_features_coder_new();
    struct nb_bag bag;
    struct nb_buffer features = {0};
    nb_bag_init(&bag);
    nb_key_generate(&key);
    add_words(&bag, &key, "abcd");
    uint64_t ids[] = {bag.features[0].id, bag.features[1].id, bag.features[2].id,
                      bag.features[3].id};
    ck_assert_int_eq(nb_features_encode(coder, ids, bag.texts, 4, &features), 0);
    struct nb_history_record record = {.feature_count = 4,
                                       .positions = 4,
                                       .features = nb_buffer_string(&features),
                                       .parts = {"\x0A\x14\2\xDF\2\2\0", 7}};
    ck_assert_int_eq(nb_remember_bag(&record, &key, coder, &bag, NULL), 0);
    ck_assert(bag.passage_lead == 10 && bag.visible_length == 20);
    static const uint32_t parts[] = {0, 351, 351, 0};
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(bag.features[i].passage, parts[i]);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        record.parts = damaged[i];
        ck_assert_msg(nb_remember_bag(&record, &key, coder, &bag, NULL) == NB_CORRUPT, "%zu", i);
    }
    nb_bag_deinit(&bag);
    nb_buffer_deinit(&features);
    nb_features_coder_free(&coder);
}
END_TEST

/* Repeats that lead behind the features, or to none. */
START_TEST(damaged_repeats_are_found)
{
    static const char *const repeats[] = {"\x03\x01", "\x01", "\x02\x01\x01\x01", "\x01\x01\x02"};
    struct nb_key key;
    struct nb_features_coder *coder = nb_features_coder_new();
    struct nb_bag bag;
    struct nb_buffer features = {0};
    nb_bag_init(&bag);
    nb_key_generate(&key);
    ck_assert_int_eq(nb_bag_add(&bag, &key, NB_FIELD_BODY, "a", 1), 0);
    ck_assert_int_eq(nb_bag_add(&bag, &key, NB_FIELD_BODY, "b", 1), 0);
    uint64_t ids[] = {bag.features[0].id, bag.features[1].id};
    ck_assert_int_eq(nb_features_encode(coder, ids, bag.texts, 2, &features), 0);
    struct nb_history_record record = {.feature_count = 2,
                                       .positions = 4,
                                       .features = {features.bytes, features.length},
                                       .repeats = str("\x01\x01\x01\x02")};
    ck_assert_int_eq(nb_remember_bag(&record, &key, coder, &bag, NULL), 0);
    ck_assert(bag.size == 2 && bag.features[0].count == 2 && bag.features[1].count == 3);
    ck_assert(bag.features[0].id == ids[0] && nb_string_equals(bag.texts[1], "b"));
    for (size_t i = 0; i < sizeof repeats / sizeof *repeats; i++) {
        record.repeats = str(repeats[i]);
        ck_assert_msg(nb_remember_bag(&record, &key, coder, &bag, NULL) == NB_CORRUPT, "%zu", i);
    }
    record.repeats = (struct nb_string){"\0\1", 2};
    ck_assert_int_eq(nb_remember_bag(&record, &key, coder, &bag, NULL), NB_CORRUPT);
    nb_bag_deinit(&bag);
    nb_buffer_deinit(&features);
    nb_features_coder_free(&coder);
}
END_TEST

/* ---- when records are written ---------------------------------------------------------------- */

enum {
    URGENT = 16384 / 2 + 1,   /* records that do not wait for their time: remember.c */
    FLUSH_EVERY = 1000000000, /* nanoseconds */
    TRIES = 20,               /* a busy machine may take a second between two calls */
};

static struct nb_engine *engine;

static void setup_engine(void)
{
    struct nb_engine_settings settings;
    struct nb_settings wanted;
    bool created;
    test_folder_make(directory);
    nb_engine_settings_init(&settings);
    settings.directory = directory;
    ck_assert_int_eq(nb_engine_open(&settings, &engine, NULL), 0);
    nb_settings_init(&wanted, NB_PRESET_BOOK);
    wanted.history = 2 * URGENT;
    wanted.history_days = 1;
    ck_assert_int_eq(nb_engine_put_model(engine, str("m"), &wanted, false, str(""), &created, NULL),
                     0);
    nb_settings_deinit(&wanted);
}

static void teardown_engine(void)
{
    nb_engine_close(&engine);
    test_folder_remove(directory);
}

static void remember(struct nb_engine *e, struct nb_live *live, int number)
{
    char id[16];
    struct nb_buffer stored = {0};
    snprintf(id, sizeof id, "%d", number);
    const struct nb_history_record record = {
        .id = str(id), .verdict = str("spam"), .time = nb_clock_now()};
    ck_assert_int_eq(nb_history_write(&record, &stored), 0);
    ck_assert_int_eq(nb_remember(e, live, str(id), nb_buffer_string(&stored)), 0);
    nb_buffer_deinit(&stored);
}

static uint64_t waiting(struct nb_engine *e)
{
    struct nb_remember_figures figures;
    nb_remember_count(e, &figures);
    return figures.waiting;
}

static void flush(struct nb_engine *e, bool now)
{
    ck_assert_int_eq(nb_remember_flush(e, now, NULL), 0);
}

/* Returns whether a note made right after a flush still waits after the next one; -1: the machine
 * took longer than the time between two flushes, so the test shows nothing. */
static int waits_for_its_time(struct nb_engine *e, struct nb_live *live, int number)
{
    uint64_t start = nb_clock_monotonic();
    remember(e, live, number);
    flush(e, true);
    ck_assert_uint_eq(waiting(e), 0);
    remember(e, live, number + 1);
    flush(e, false);
    int waits = waiting(e) == 1;
    return nb_clock_monotonic() - start < FLUSH_EVERY ? waits : -1;
}

/* Runs on the writer's thread, so that the writer does not flush in the meantime. */
static int write_at_their_time(struct nb_engine *e, void *argument, struct nb_error *error)
{
    struct nb_live *live;
    struct timespec second = {.tv_sec = 1, .tv_nsec = 50000000};
    int waits = -1;
    (void)argument;
    ck_assert_int_eq(nb_registry_acquire(e, str("m"), false, &live, error), 0);
    for (int i = 0; i < TRIES && waits < 0; i++)
        waits = waits_for_its_time(e, live, i);
    ck_assert_int_eq(waits, 1);
    nanosleep(&second, NULL);
    flush(e, false);
    ck_assert_uint_eq(waiting(e), 0);
    nb_registry_release(e, &live);
    return 0;
}

START_TEST(records_wait_for_a_second)
{
    ck_assert_int_eq(nb_writer_run(engine, write_at_their_time, NULL, NULL), 0);
}
END_TEST

static int write_what_is_urgent(struct nb_engine *e, void *argument, struct nb_error *error)
{
    struct nb_live *live;
    (void)argument;
    ck_assert_int_eq(nb_registry_acquire(e, str("m"), false, &live, error), 0);
    for (int i = 0; i < URGENT; i++) {
        ck_assert(!nb_remember_is_urgent(e));
        remember(e, live, i);
    }
    ck_assert(nb_remember_is_urgent(e));
    flush(e, true);
    for (int i = 0; i < URGENT; i++)
        remember(e, live, i);
    flush(e, false);
    ck_assert_uint_eq(waiting(e), 0);
    nb_registry_release(e, &live);
    return 0;
}

START_TEST(many_records_do_not_wait)
{
    ck_assert_int_eq(nb_writer_run(engine, write_what_is_urgent, NULL, NULL), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("remember");
    TCase *tables = tcase_create("tables");
    tcase_add_checked_fixture(tables, setup, teardown);
    tcase_add_test(tables, the_newest_verdict_of_a_document);
    tcase_add_test(tables, limits);
    tcase_add_test(tables, a_damaged_history_goes);
    tcase_add_test(tables, a_damaged_number_goes);
    suite_add_tcase(suite, tables);
    TCase *records = tcase_create("records");
    tcase_add_test(records, the_stored_form);
    tcase_add_test(records, the_stored_form_with_parts);
    tcase_add_test(records, damaged_parts_are_found);
    tcase_add_test(records, without_known);
    tcase_add_test(records, damaged_repeats_are_found);
    suite_add_tcase(suite, records);
    TCase *times = tcase_create("times");
    tcase_add_checked_fixture(times, setup_engine, teardown_engine);
    tcase_add_test(times, records_wait_for_a_second);
    tcase_add_test(times, many_records_do_not_wait);
    suite_add_tcase(suite, times);
    return test_run(suite);
}
