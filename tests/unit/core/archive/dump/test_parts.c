/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of shared imports that one node keeps: their order, their numbers, and when they are
 * dropped.
 */
#include "core/archive/dump/parts.h"

#include <check.h>
#include <stdlib.h>

#include "core/archive/copy/copy.h"
#include "core/engine/engine.h"
#include "core/ledger/ledger.h"
#include "core/model/model_transaction.h"
#include "core/model/registry.h"
#include "core/model/relayed.h"
#include "core/model/state.h"
#include "core/nodes/digest.h"
#include "tests/unit/folder.h"
#include "tests/unit/run.h"

enum { DAY = 24 * 3600000, STREAMS = 2 };

static char directory[NB_TEST_FOLDER_SIZE];
static struct nb_engine_settings settings;
static struct nb_engine *engine;
static struct nb_relayed here; /* the last place in the stream */
static const char *const ids[] = {"0000000000000001", "0000000000000002", "ffffffffffffffff"};

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
    settings.shared = true;
    settings.streams = STREAMS;
    open_engine();
    for (unsigned i = 0; i < STREAMS; i++)
        engine->stream_states.places[i].made = engine->stream_states.places[i].is_due = 1;
    engine->stream_states.is_known = true;
    engine->stream_states.streams = STREAMS;
    here = (struct nb_relayed){.time = 1};
}

static void teardown(void)
{
    nb_relay_apply(NULL);
    nb_engine_close(&engine);
    test_folder_remove(directory);
}

/* Moves on to the next change of the stream, `later` milliseconds after the last one. */
static void next(int64_t later)
{
    here.one.position++;
    here.time += later;
    nb_relay_apply(&here);
}

static void add(const char *id, uint64_t part, const char *bytes, int64_t later)
{
    const struct nb_relayed_change change = {.kind = NB_RELAYED_CHANGE_PART,
                                             .model = nb_string_of("m"),
                                             .from = nb_string_of(id),
                                             .settings = nb_string_of(bytes),
                                             .last = part};
    next(later);
    ck_assert_int_eq(nb_import_parts_write(engine, change, NULL), 0);
}

static void expect_parts(const char *id, uint64_t count)
{
    struct nb_buffer bytes = {0};
    uint64_t at = 0;
    for (uint64_t i = 0; i < count; i++)
        ck_assert_int_eq(nb_import_parts_read(engine, nb_string_of(id), &at, &bytes, NULL), 0);
    ck_assert_int_eq(nb_import_parts_read(engine, nb_string_of(id), &at, &bytes, NULL),
                     NB_CONFLICT);
    nb_buffer_deinit(&bytes);
}

START_TEST(parts_stay_in_the_store)
{
    struct nb_buffer bytes = {0};
    uint64_t at = 0;
    add(ids[0], 0, "a", 1);
    add(ids[1], 0, "of another", 1);
    add(ids[0], 1, "", 1);
    nb_relay_apply(NULL);
    nb_engine_close(&engine);
    open_engine();
    add(ids[0], 2, "c", 1);
    expect_parts(ids[0], 3);
    expect_parts(ids[1], 1);
    expect_parts(ids[2], 0);
    static const char *const expected[] = {"a", "", "c"};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(nb_import_parts_read(engine, nb_string_of(ids[0]), &at, &bytes, NULL), 0);
        ck_assert(nb_string_equals(nb_buffer_string(&bytes), expected[i]));
    }
    nb_buffer_deinit(&bytes);
    next(1);
    const struct nb_relayed_change refused = {.kind = NB_RELAYED_CHANGE_IMPORT,
                                              .from = nb_string_of(ids[0])};
    ck_assert_int_eq(nb_import_parts_write(engine, refused, NULL), 0);
    expect_parts(ids[0], 0);
    expect_parts(ids[1], 1);
}
END_TEST

/* All entries of an import have the numbers of its position in the stream, above older ones. */
START_TEST(numbers_follow_the_position)
{
    struct nb_relayed_change_done done;
    struct nb_view view;
    struct nb_live *live;
    struct nb_settings text;
    uint64_t first = 0;
    bool created;
    const struct nb_relayed_change copy = {.kind = NB_RELAYED_CHANGE_IMPORT,
                                           .model = nb_string_of("copy"),
                                           .from = nb_string_of(ids[0]),
                                           .to = nb_string_of("m"),
                                           .only_new = true};
    nb_settings_init(&text, NB_PRESET_TEXT);
    next(1);
    ck_assert_int_eq(nb_engine_put_model(engine, nb_string_of("m"), &text, true,
                                         nb_string_of("test"), &created, NULL),
                     0);
    nb_settings_deinit(&text);
    here.stream = 1;
    here.one.position = 0;
    next(1);
    ck_assert_int_eq(nb_import_shared(engine, &copy, &done, NULL), 0);
    ck_assert_int_eq(nb_registry_acquire(engine, nb_string_of("copy"), false, &live, NULL), 0);
    ck_assert_int_eq(nb_store_snapshot(engine->store, &view, NULL), 0);
    ck_assert_int_eq(nb_ledger_first(&view, live->number, &first, NULL), 0);
    nb_store_snapshot_end(&view);
    ck_assert_uint_eq(first, nb_serials_first(1) + (UINT64_C(1) << NB_SERIALS_ENTRY_BITS) + 1);
    ck_assert_uint_gt(live->checkpoint.last, first); /* its name comes last */
    ck_assert_uint_eq(live->checkpoint.last >> NB_SERIALS_ENTRY_BITS,
                      first >> NB_SERIALS_ENTRY_BITS);
    nb_registry_release(engine, &live);
}
END_TEST

/* By the times of the changes, when another import begins. */
START_TEST(old_parts_are_dropped)
{
    add(ids[0], 0, "a", 1);
    add(ids[2], 0, "a", 1);
    add(ids[0], 1, "b", DAY);
    expect_parts(ids[2], 1); /* nobody has looked */
    add(ids[1], 0, "a", 0);  /* a day after that of ids[2] */
    expect_parts(ids[0], 1);
    expect_parts(ids[1], 1);
    expect_parts(ids[2], 1);
    add(ids[2], 0, "again", 2 * DAY);
    expect_parts(ids[0], 0);
    expect_parts(ids[1], 0);
    expect_parts(ids[2], 1);
}
END_TEST

static struct nb_digest digest_of(unsigned stream)
{
    struct nb_digest digest;
    struct nb_error error = {0};
    ck_assert_msg(nb_digest(engine, stream, 0, UINT64_MAX, &digest, &error) == 0, "%s", error.text);
    return digest;
}

/* At one place of a stream nodes have come further in another one or not. */
START_TEST(digests_are_of_the_parts_of_one_stream)
{
    add(ids[1], 0, "a", 1);
    struct nb_digest first = digest_of(0), second = digest_of(1);
    add(ids[1], 1, "b", 1);
    ck_assert_str_ne(digest_of(0).digits, first.digits);
    ck_assert_str_eq(digest_of(1).digits, second.digits);
    first = digest_of(0);
    here = (struct nb_relayed){.stream = 1, .time = here.time};
    add(ids[0], 0, "a", 1);
    add(ids[2], 0, "a", 1);
    ck_assert_str_eq(digest_of(0).digits, first.digits);
    ck_assert_str_ne(digest_of(1).digits, second.digits);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("parts");
    TCase *t = tcase_create("parts");
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, parts_stay_in_the_store);
    tcase_add_test(t, numbers_follow_the_position);
    tcase_add_test(t, old_parts_are_dropped);
    tcase_add_test(t, digests_are_of_the_parts_of_one_stream);
    return test_run(s);
}
