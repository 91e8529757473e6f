/* SPDX-License-Identifier: Apache-2.0
 *
 * The log of the twin's slots, in the store of a running engine: at any moment a start reads back
 * what was in memory; the log stays bounded; missing records are damage.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/archive/dump/export.h"
#include "core/archive/dump/import.h"
#include "core/archive/repair/repair.h"
#include "core/base/random.h"
#include "core/engine/engine.h"
#include "core/model/live.h"
#include "core/model/state.h"
#include "core/stack/stack_private.h"
#include "core/stack/weights.h"
#include "tests/unit/crash.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"

enum { WORDS = 600, DOCUMENT_MOST = 8 * WORDS, VOCABULARY = 20000 };

static char directory[NB_TEST_FOLDER_SIZE], copy[128];
static struct nb_engine_settings settings;
static struct nb_engine *engine;
static struct nb_random words;

static struct nb_string str(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static struct nb_engine *open_at(const char *folder)
{
    struct nb_engine *opened;
    struct nb_error error = {0};
    struct nb_engine_settings there = settings;
    there.directory = folder;
    ck_assert_msg(nb_engine_open(&there, &opened, &error) == 0, "%s", error.text);
    return opened;
}

static void setup(void)
{
    test_folder_make(directory);
    snprintf(copy, sizeof copy, "%s/copy", directory);
    nb_engine_settings_init(&settings);
    settings.directory = directory;
    words = nb_random_of(17, 4);
    engine = open_at(directory);
}

static void teardown(void)
{
    nb_engine_close(&engine);
    test_folder_remove(directory);
}

/* Makes a document whose words do not indicate its label, so that the twin is always wrong. */
static void make_document(char *text)
{
    size_t length = 0;
    for (int i = 0; i < WORDS; i++)
        length += (size_t)snprintf(text + length, DOCUMENT_MOST - length, "w%u ",
                                   (unsigned)nb_random_below(&words, VOCABULARY));
}

/* The writer goes on with a refit by itself. */
static void settle(void)
{
    for (size_t i = 0; i < engine->registry.count; i++)
        while (atomic_load(&engine->registry.models[i]->wants_refit))
            usleep(1000);
}

/* Learns the documents in one commit. */
static void train(int documents)
{
    struct nb_batch *batch;
    static char text[DOCUMENT_MOST];
    static int number;
    ck_assert_int_eq(nb_batch_new(engine, str("m"), true, &batch, NULL), 0);
    for (int i = 0; i < documents; i++) {
        char id[16];
        struct nb_document document = {.kind = NB_DOCUMENT_TEXT, .bytes = text, .length = 0};
        make_document(text);
        document.length = strlen(text);
        snprintf(id, sizeof id, "%d", number++);
        ck_assert_int_eq(nb_batch_train(batch, &document,
                                        str(nb_random_below(&words, 2) ? "spam" : "ham"), str(id),
                                        str(""), NULL),
                         0);
    }
    nb_engine_apply(engine, batch);
    for (int i = 0; i < documents; i++)
        ck_assert_int_eq(nb_batch_receipt(batch, (size_t)i)->code, 0);
    nb_batch_free(&batch);
    settle();
}

static void put_model(const char *name)
{
    struct nb_settings s;
    bool created;
    nb_settings_init(&s, NB_PRESET_TEXT);
    s.decision = NB_DECISION_STACKED;
    s.tokenizer_fields = 1u << NB_FIELD_BODY;
    ck_assert_int_eq(nb_engine_put_model(engine, str(name), &s, true, str(""), &created, NULL), 0);
    nb_settings_deinit(&s);
}

/* ---- what is in memory, and in the store ----------------------------------------------------- */

static int take_stack(void *user, const struct nb_dump_header *header)
{
    struct nb_buffer *stack = user;
    return nb_buffer_append(stack, header->stack.bytes, header->stack.length);
}

static int no_words(void *user, const struct nb_dump_words *dumped)
{
    (void)user;
    (void)dumped;
    return 0;
}

static int no_document(void *user, const struct nb_dump_document *document)
{
    (void)user;
    (void)document;
    return 0;
}

static int no_end(void *user, const struct nb_dump_totals *totals)
{
    (void)user;
    (void)totals;
    return 0;
}

/* Returns the stack as the store of the running engine has it. */
static struct nb_buffer stored_stack(struct nb_engine *of)
{
    struct nb_buffer stack = {0};
    struct nb_error error = {0};
    const struct nb_dump_sink sink = {take_stack, no_words, no_document, no_end, &stack};
    ck_assert_msg(nb_engine_export(of, str("m"), &sink, &error) == 0, "%s", error.text);
    return stack;
}

/* Returns the stack as the running engine has it in memory. */
static struct nb_buffer live_stack(struct nb_engine *of)
{
    struct nb_buffer stack = {0};
    struct nb_packer p = {.out = &stack};
    for (size_t i = 0; i < of->registry.count; i++)
        if (strcmp(of->registry.models[i]->name, "m") == 0)
            nb_stack_weights_write(of->registry.models[i]->published->weights, &p);
    ck_assert_int_eq(p.code, 0);
    return stack;
}

static void expect_same(struct nb_buffer a, struct nb_buffer b)
{
    ck_assert_uint_gt(a.length, 0);
    ck_assert_uint_eq(a.length, b.length);
    ck_assert_mem_eq(a.bytes, b.bytes, a.length);
    nb_buffer_deinit(&a);
    nb_buffer_deinit(&b);
}

struct table {
    unsigned records;
    size_t bytes;
};

static int count_record(void *user, struct nb_string key, struct nb_string value,
                        struct nb_error *error)
{
    struct table *table = user;
    (void)key;
    (void)error;
    table->records++;
    table->bytes += value.length;
    return 0;
}

static struct table read_table(void)
{
    struct table table = {0};
    struct nb_view view;
    ck_assert_int_eq(nb_store_snapshot(engine->store, &view, NULL), 0);
    ck_assert_int_eq(nb_store_scan(&view, NB_TABLE_TWIN, str(""), 0, count_record, &table, NULL),
                     0);
    nb_store_snapshot_end(&view);
    return table;
}

static struct nb_twin_log *log_of(void)
{
    ck_assert_uint_eq(engine->registry.count, 1);
    return &engine->registry.models[0]->checkpoint.twin;
}

/* ---- tests ----------------------------------------------------------------------------------- */

START_TEST(a_start_reads_what_was_in_memory)
{
    bool swept = false;
    put_model("m");
    train(260); /* smaller models begin anew again and again (core/model/refit.h) */
    for (int round = 0; round < 60; round++) {
        train(1 + round % 3);
        swept = swept || log_of()->sweeping;
        expect_same(stored_stack(engine), live_stack(engine));
        if (round % 10 != 9)
            continue;
        test_crash_copy(directory, copy);
        struct nb_engine *after = open_at(copy);
        expect_same(stored_stack(after), stored_stack(engine));
        nb_engine_close(&after);
    }
    ck_assert(swept);
    nb_engine_close(&engine);
    struct nb_error error = {0};
    ck_assert_int_eq(nb_engine_verify(&settings, NULL, NULL, &error), 0);
    engine = open_at(directory);
}
END_TEST

/* What is stored is the table, and a log that is no longer than it; and no commit writes it all. */
START_TEST(the_log_is_bounded)
{
    size_t most = 0;
    unsigned sweeps = 0;
    bool was_sweeping = false;
    put_model("m");
    train(300); /* all words: the table has its size */
    uint32_t ranges = log_of()->stored.ranges;
    size_t slots = (size_t)ranges * NB_SLOTS_RANGE;
    ck_assert_uint_ge(slots, VOCABULARY);
    for (int i = 0; i < 250; i++) {
        uint32_t before = was_sweeping ? log_of()->sweep_next : 0;
        train(1);
        struct table table = read_table();
        most = table.bytes > most ? table.bytes : most;
        sweeps += was_sweeping && !log_of()->sweeping;
        was_sweeping = log_of()->sweeping;
        if (was_sweeping)
            ck_assert_uint_le(log_of()->sweep_next, before + ranges / 4);
        ck_assert_uint_eq(table.records, log_of()->stored.ranges + log_of()->stored.next -
                                             log_of()->stored.oldest);
    }
    ck_assert_uint_eq(log_of()->stored.ranges, ranges);
    ck_assert_uint_ge(sweeps, 3);
    ck_assert_msg(most < 2 * slots * 10, "%zu bytes for %zu slots", most, slots);
}
END_TEST

/* Deletes a record, as if its key were damaged and named another model. */
static void delete_record(uint64_t record)
{
    struct nb_store *store;
    struct nb_view view;
    struct nb_store_key key = nb_store_key_sequence(1, record);
    struct nb_string value;
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    ck_assert_int_eq(nb_store_get(&view, NB_TABLE_TWIN, nb_store_key_string(&key), &value, NULL),
                     0);
    ck_assert_int_eq(nb_store_delete(&view, NB_TABLE_TWIN, nb_store_key_string(&key), NULL), 0);
    ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
    nb_store_close(&store);
}

/* A range, and the first, a middle and the last record of the log. */
START_TEST(a_missing_record_is_damage)
{
    struct nb_verdict verdict;
    struct nb_error error = {0};
    struct nb_document document = {.kind = NB_DOCUMENT_TEXT, .bytes = "w1 w2 w3", .length = 8};
    put_model("m");
    train(20);
    for (int i = 0; i < 4; i++)
        train(1);
    struct nb_twin_stored stored = log_of()->stored;
    ck_assert_uint_ge(stored.next, stored.oldest + 3);
    const uint64_t records[] = {0, 65536 + stored.oldest, 65536 + stored.oldest + 1,
                                65536 + stored.next - 1};
    nb_engine_close(&engine);
    delete_record(records[_i]);
    engine = open_at(directory);
    nb_verdict_init(&verdict);
    ck_assert_int_eq(nb_engine_classify(engine, str("m"), &document, 0, &verdict, &error),
                     NB_DAMAGED);
    ck_assert_ptr_nonnull(strstr(error.text, "twin"));
    nb_verdict_deinit(&verdict);
}
END_TEST

START_TEST(a_deleted_model_leaves_nothing)
{
    put_model("m");
    train(30);
    ck_assert_uint_gt(read_table().records, 0);
    ck_assert_int_eq(nb_engine_delete_model(engine, str("m"), str(""), NULL), 0);
    for (int i = 0; i < 6000 && read_table().records > 0; i++)
        usleep(10000);
    ck_assert_uint_eq(read_table().records, 0);
}
END_TEST

/* The setting off: nothing is learned, stored or held in memory; on again, it goes on. */
START_TEST(the_switch_is_kept_to)
{
    struct nb_settings s;
    bool created;
    nb_settings_init(&s, NB_PRESET_TEXT);
    s.decision = NB_DECISION_STACKED;
    s.twin = false;
    ck_assert_int_eq(nb_engine_put_model(engine, str("m"), &s, true, str(""), &created, NULL), 0);
    train(30);
    ck_assert_uint_eq(read_table().records, 0);
    size_t without = nb_live_memory(engine->registry.models[0]);
    ck_assert_uint_eq(
        nb_slots_memory(nb_stack_twin_slots(engine->registry.models[0]->published->weights)), 0);
    s.twin = true;
    ck_assert_int_eq(nb_engine_put_model(engine, str("m"), &s, false, str(""), &created, NULL), 0);
    train(5);
    ck_assert_uint_gt(read_table().records, 0);
    ck_assert_uint_ge(nb_live_memory(engine->registry.models[0]),
                      without + (8 << NB_SLOTS_LEAST_BITS));
    expect_same(stored_stack(engine), live_stack(engine));
    nb_settings_deinit(&s);
}
END_TEST

static bool never(void *user)
{
    (void)user;
    return false;
}

/* A refit that was asked for: nothing stays of what the twin had learned, in a model of any size.
 */
START_TEST(a_refit_teaches_the_twin_anew)
{
    put_model("m");
    train(_i == 0 ? 40 : 300);
    struct nb_stack_weights *weights = engine->registry.models[0]->published->weights;
    struct nb_weights *twin = nb_stack_vector(weights, NB_STACK_VECTOR_TWIN);
    static const double much = 1e9; /* of a sum that only grows, and is below 100 else */
    twin->values[NB_STACK_SHARPNESS_SQUARES] = much;
    ck_assert_int_eq(nb_engine_refit(engine, str("m"), str(""), never, NULL, NULL), 0);
    settle();
    ck_assert_double_gt(twin->values[NB_STACK_SHARPNESS_SQUARES], 0);
    ck_assert_double_lt(twin->values[NB_STACK_SHARPNESS_SQUARES], much);
    ck_assert_uint_gt(nb_slots_count(nb_stack_twin_slots(weights)), 0);
    expect_same(stored_stack(engine), live_stack(engine));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("twin_log");
    TCase *t = tcase_create("twin_log");
    suite_add_tcase(suite, t);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_start_reads_what_was_in_memory);
    tcase_add_test(t, the_log_is_bounded);
    tcase_add_loop_test(t, a_missing_record_is_damage, 0, 4);
    tcase_add_loop_test(t, a_refit_teaches_the_twin_anew, 0, 2);
    tcase_add_test(t, a_deleted_model_leaves_nothing);
    tcase_add_test(t, the_switch_is_kept_to);
    return test_run_with_tokenizer(suite);
}
