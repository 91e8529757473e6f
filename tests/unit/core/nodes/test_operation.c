/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations: what is written reads back the same; what is cut off, or has other bytes, is refused,
 * or reads back as something within its bounds.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/feature.h"
#include "core/base/pack.h"
#include "core/nodes/operation.h"

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

static struct nb_operation change_with(struct nb_buffer *features, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct nb_operation_feature f = {.id = nb_feature_id(NB_FIELD_BODY, 1000 + i * 7),
                                         .count = (uint32_t)i + 1};
        f.has_text = i % 3 == 0;
        f.text = i % 3 == 0 ? nb_string_of("word") : (struct nb_string){NULL, 0};
        ck_assert_int_eq(nb_operation_feature_write(&f, features), 0);
    }
    return (struct nb_operation){
        .kind = NB_OPERATION_CHANGE,
        .time = 1700000000000,
        .errand = {.model = nb_string_of("mail"), .source = nb_string_of("somebody")},
        .flags = NB_OPERATION_FORGETS | NB_OPERATION_TRUNCATED,
        .born = UINT64_C(7) << 56,
        .creates = 2,
        .last = 12,
        .taken = 9,
        .restored = 4,
        .labelled = UINT64_MAX,
        .note_documents = 3,
        .part = 1,
        .id = nb_string_of("d1"),
        .label = nb_string_of("spam"),
        .released = nb_string_of("stored"),
        .fields = 0x1FF,
        .positions = 321,
        .feature_count = count,
        .features = nb_buffer_string(features)};
}

static struct nb_operation errand_of(enum nb_errand_kind kind)
{
    return (struct nb_operation){.kind =
                                     (enum nb_operation_kind)(NB_OPERATION_ERRAND + (unsigned)kind),
                                 .time = 1,
                                 .errand = {.kind = kind,
                                            .model = nb_string_of("m"),
                                            .from = nb_string_of("000000000000000a"),
                                            .to = nb_string_of("b"),
                                            .settings = nb_string_of("settings"),
                                            .only_new = true,
                                            .last = 300}};
}

static void expect_errand(const struct nb_errand *a, const struct nb_errand *b)
{
    ck_assert(a->kind == b->kind && a->only_new == b->only_new && a->last == b->last);
    ck_assert(nb_string_same(a->model, b->model) && nb_string_same(a->source, b->source));
    ck_assert(nb_string_same(a->from, b->from) && nb_string_same(a->to, b->to));
    ck_assert(nb_string_same(a->settings, b->settings));
}

static void expect_same(const struct nb_operation *a, const struct nb_operation *b)
{
    ck_assert(a->kind == b->kind && a->time == b->time);
    expect_errand(&a->errand, &b->errand);
    ck_assert(a->flags == b->flags && a->born == b->born && a->creates == b->creates);
    ck_assert(a->last == b->last && a->taken == b->taken && a->restored == b->restored);
    ck_assert(a->labelled == b->labelled && a->note_documents == b->note_documents);
    ck_assert(a->part == b->part && a->fields == b->fields && a->positions == b->positions);
    ck_assert(nb_string_same(a->id, b->id) && nb_string_same(a->label, b->label));
    ck_assert(nb_string_same(a->released, b->released));
    ck_assert_uint_eq(a->feature_count, b->feature_count);
    ck_assert(nb_string_same(a->features, b->features));
}

static void expect_round_trip(const struct nb_operation *o)
{
    struct nb_buffer written = {0};
    struct nb_operation read;
    struct nb_error error = {0};
    ck_assert_int_eq(nb_operation_write(o, &written), 0);
    int rc = nb_operation_read(&read, nb_buffer_string(&written), &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    expect_same(o, &read);
    for (size_t length = 0; length < written.length; length++) { /* cut off anywhere */
        rc = nb_operation_read(&read, (struct nb_string){written.bytes, length}, &error);
        ck_assert_msg(rc == NB_CORRUPT, "%zu of %zu: %d", length, written.length, rc);
    }
    ck_assert_int_eq(nb_buffer_append(&written, "x", 1), 0); /* and too long */
    ck_assert_int_eq(nb_operation_read(&read, nb_buffer_string(&written), NULL), NB_CORRUPT);
    nb_buffer_deinit(&written);
}

START_TEST(what_is_written_reads_back)
{
    for (size_t count = 0; count < 40; count += 13) {
        struct nb_buffer features = {0};
        struct nb_operation o = change_with(&features, count);
        expect_round_trip(&o);
        nb_buffer_deinit(&features);
    }
    for (unsigned kind = 0; kind < NB_ERRANDS; kind++) {
        struct nb_operation o = errand_of((enum nb_errand_kind)kind);
        expect_round_trip(&o);
    }
}
END_TEST

START_TEST(the_features_read_back_in_order)
{
    struct nb_buffer features = {0};
    struct nb_operation o = change_with(&features, 5);
    struct nb_unpacker u = nb_unpacker_of(o.features.bytes, o.features.length);
    for (unsigned i = 0; i < 5; i++) {
        struct nb_operation_feature f = nb_operation_next(&u);
        ck_assert_uint_eq(f.count, i + 1);
        ck_assert(f.has_text == (i % 3 == 0));
        ck_assert(nb_string_equals(f.text, i % 3 == 0 ? "word" : ""));
    }
    ck_assert(nb_unpacker_done(&u));
    nb_buffer_deinit(&features);
}
END_TEST

static int read_with(const struct nb_operation *o)
{
    struct nb_buffer written = {0};
    struct nb_operation read;
    ck_assert_int_eq(nb_operation_write(o, &written), 0);
    int rc = nb_operation_read(&read, nb_buffer_string(&written), NULL);
    nb_buffer_deinit(&written);
    return rc;
}

START_TEST(what_no_node_sends_is_refused)
{
    struct nb_buffer features = {0};
    struct nb_buffer twice = {0};
    struct nb_operation o = change_with(&features, 3);
    struct nb_operation bad;
    bad = o, bad.errand.model = nb_string_of("a/b");
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    bad = o, bad.id = nb_string_of("");
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    bad = o, bad.label = nb_string_of("a\nb");
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    bad = o, bad.restored = bad.taken;
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    bad = o, bad.flags = NB_OPERATION_FLAGS;
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    bad = o, bad.creates = 4;
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    bad = o, bad.part = 3;
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    bad = o, bad.time = 0;
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    bad = o, bad.feature_count = UINT32_MAX;
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    (void)change_with(&twice, 3);
    (void)change_with(&twice, 3); /* the same features again, so not in order */
    bad = o, bad.features = nb_buffer_string(&twice), bad.feature_count = 6;
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    bad = errand_of(NB_ERRAND_RENAME_LABEL), bad.errand.to = nb_string_of("");
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    bad = errand_of(NB_ERRAND_STAGE), bad.errand.from = nb_string_of("a");
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    bad = errand_of(NB_ERRAND_IMPORT), bad.errand.last = UINT32_MAX;
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    nb_buffer_deinit(&features);
    nb_buffer_deinit(&twice);
}
END_TEST

START_TEST(another_version_is_named)
{
    static const char *const texts[] = {"messages", "the tokenizer", "applying", "kind of change"};
    struct nb_buffer features = {0};
    struct nb_buffer written = {0};
    struct nb_operation o = change_with(&features, 3);
    struct nb_operation read;
    ck_assert_int_eq(nb_operation_write(&o, &written), 0);
    for (size_t i = 0; i < 4; i++) {
        struct nb_error error = {0};
        char before = written.bytes[i + 2]; /* behind the magic */
        written.bytes[i + 2] = 99;
        ck_assert_int_eq(nb_operation_read(&read, nb_buffer_string(&written), &error), NB_VERSION);
        ck_assert_ptr_nonnull(strstr(error.text, texts[i]));
        written.bytes[i + 2] = before;
    }
    nb_buffer_deinit(&features);
    nb_buffer_deinit(&written);
}
END_TEST

/* Random bytes anywhere: whatever reads back can be walked, and is written as it was read. */
START_TEST(other_bytes_do_no_harm)
{
    uint64_t random = 1;
    struct nb_buffer features = {0};
    struct nb_buffer written = {0};
    struct nb_operation o = change_with(&features, 20);
    ck_assert_int_eq(nb_operation_write(&o, &written), 0);
    char *bytes = malloc(written.length);
    ck_assert_ptr_nonnull(bytes);
    for (int round = 0; round < 20000; round++) {
        struct nb_operation read;
        memcpy(bytes, written.bytes, written.length);
        for (uint64_t n = 1 + next_random(&random) % 3; n > 0; n--)
            bytes[6 + next_random(&random) % (written.length - 6)] = (char)next_random(&random);
        if (nb_operation_read(&read, (struct nb_string){bytes, written.length}, NULL) != 0)
            continue;
        struct nb_unpacker u = nb_unpacker_of(read.features.bytes, read.features.length);
        for (size_t i = 0; i < read.feature_count; i++)
            (void)nb_operation_next(&u);
        ck_assert(nb_unpacker_done(&u));
        expect_round_trip(&read);
        round += 50; /* round trips at all lengths take long */
    }
    free(bytes);
    nb_buffer_deinit(&features);
    nb_buffer_deinit(&written);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("operation");
    TCase *t = tcase_create("operation");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, what_is_written_reads_back);
    tcase_add_test(t, the_features_read_back_in_order);
    tcase_add_test(t, what_no_node_sends_is_refused);
    tcase_add_test(t, another_version_is_named);
    tcase_add_test(t, other_bytes_do_no_harm);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
