/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of shared imports that one node keeps: their order, their numbers, and when they are
 * dropped.
 */
#include "core/archive/dump/parts.h"

#include <check.h>
#include <stdlib.h>

#include "core/engine/engine.h"
#include "core/model/live/model_transaction.h"
#include "core/model/live/relay.h"
#include "core/model/live/state.h"
#include "core/model/live/stream_states.h"
#include "core/nodes/digest.h"
#include "tests/unit/folder.h"

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
        nb_stream_states_join(engine, i, 1);
    here = (struct nb_relayed){.position = 0, .time = 1};
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
    here.position++;
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
    ck_assert_int_eq(nb_import_parts_add(engine, &change, NULL), 0);
}

static void expect_parts(const char *id, uint64_t count)
{
    struct nb_import_parts parts;
    int rc = nb_import_parts_find(engine, nb_string_of(id), count, &parts, NULL);
    ck_assert_int_eq(rc, count > 0 ? 0 : NB_CONFLICT);
    free(parts.positions);
    ck_assert_int_eq(nb_import_parts_find(engine, nb_string_of(id), count + 1, &parts, NULL),
                     NB_CONFLICT);
}

START_TEST(ids_are_told_from_others)
{
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        ck_assert(nb_import_is_id(nb_string_of(ids[i])));
    ck_assert(!nb_import_is_id(nb_string_of("")));
    ck_assert(!nb_import_is_id(nb_string_of("000000000000001")));
    ck_assert(!nb_import_is_id(nb_string_of("000000000000000g")));
}
END_TEST

START_TEST(parts_stay_in_the_store)
{
    struct nb_buffer bytes = {0};
    struct nb_import_parts parts;
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
    ck_assert_int_eq(nb_import_parts_find(engine, nb_string_of(ids[0]), 3, &parts, NULL), 0);
    static const char *const expected[] = {"a", "", "c"};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(nb_import_parts_read(engine, &parts, i, &bytes, NULL), 0);
        ck_assert(nb_string_equals(nb_buffer_string(&bytes), expected[i]));
    }
    free(parts.positions);
    nb_buffer_deinit(&bytes);
    next(1);
    ck_assert_int_eq(nb_import_parts_drop(engine, nb_string_of(ids[0]), NULL), 0);
    expect_parts(ids[0], 0);
    expect_parts(ids[1], 1);
}
END_TEST

/* Each part has the numbers of its position in the stream. */
START_TEST(numbers_follow_the_positions)
{
    struct nb_import_parts parts;
    uint64_t last = 0;
    add(ids[0], 0, "a", 1); /* at 1 */
    add(ids[1], 0, "x", 1);
    add(ids[0], 1, "b", 1); /* at 3 */
    ck_assert_int_eq(nb_import_parts_find(engine, nb_string_of(ids[0]), 2, &parts, NULL), 0);
    for (uint64_t i = 0; i < 2 * (uint64_t)NB_PART_ENTRIES; i++) {
        uint64_t number;
        ck_assert_int_eq(nb_import_parts_number(&parts, &number, NULL), 0);
        ck_assert_uint_gt(number, last);
        ck_assert_uint_eq(number >> NB_SERIALS_ENTRY_BITS, i < NB_PART_ENTRIES ? 1 : 3);
        last = number;
    }
    ck_assert_int_eq(nb_import_parts_number(&parts, &last, NULL), NB_TOO_LARGE);
    free(parts.positions);
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
    tcase_add_test(t, ids_are_told_from_others);
    tcase_add_test(t, parts_stay_in_the_store);
    tcase_add_test(t, numbers_follow_the_positions);
    tcase_add_test(t, old_parts_are_dropped);
    tcase_add_test(t, digests_are_of_the_parts_of_one_stream);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
