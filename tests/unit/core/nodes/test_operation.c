/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations: a written operation reads back the same. A cut or changed one is refused, or reads
 * back as something within its bounds.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/feature.h"
#include "core/nodes/operation.h"
#include "core/writer/submit_features.h"
#include "tests/unit/run.h"

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

static void put(struct nb_buffer *to, const char *text)
{
    to->length = 0;
    ck_assert_int_eq(nb_buffer_puts(to, text), 0);
}

/* Returns an operation, which the caller frees. */
static struct nb_operation change_with(size_t count)
{
    struct nb_operation o = {
        .relayed_change = {.model = nb_string_of("mail"), .source = nb_string_of("somebody")},
        .change = {.kind = NB_SUBMITTED_TAKE_BACK,
                   .quarantined = true,
                   .truncated = true,
                   .relayed = {.time = 1700000000000,
                               .first_entry = UINT64_C(7) << 56,
                               .creates = 2,
                               .last = 12},
                   .current = 9,
                   .restored = 4,
                   .fields = 0x1FF,
                   .positions = 321}};
    struct nb_submitted *c = &o.change;
    put(&c->id, "d1");
    put(&c->label, "spam");
    put(&c->released, "stored");
    c->others = malloc((count + 1) * sizeof *c->others);
    ck_assert_ptr_nonnull(c->others);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(nb_submitted_add(c, nb_feature_id(NB_FIELD_BODY, 1000 + i * 7),
                                          (uint32_t)i + 1, nb_string_of(i % 3 == 0 ? "word" : "")),
                         0);
    return o;
}

static struct nb_operation relayed_change_of(enum nb_relayed_change_kind kind)
{
    return (struct nb_operation){.change.relayed.time = 1,
                                 .relayed_change = {.kind = kind,
                                                    .model = nb_string_of("m"),
                                                    .from = nb_string_of("000000000000000a"),
                                                    .to = nb_string_of("b"),
                                                    .settings = nb_string_of("settings"),
                                                    .only_new = true,
                                                    .last = 300}};
}

static void expect_relayed_change(const struct nb_relayed_change *a,
                                  const struct nb_relayed_change *b)
{
    ck_assert(a->kind == b->kind && a->only_new == b->only_new && a->last == b->last);
    ck_assert(nb_string_same(a->model, b->model) && nb_string_same(a->source, b->source));
    ck_assert(nb_string_same(a->from, b->from) && nb_string_same(a->to, b->to));
    ck_assert(nb_string_same(a->settings, b->settings));
}

static void expect_same_text(const struct nb_buffer *a, const struct nb_buffer *b)
{
    ck_assert(nb_string_same(nb_buffer_string(a), nb_buffer_string(b)));
}

static void expect_same(const struct nb_operation *o, const struct nb_operation *p)
{
    const struct nb_submitted *a = &o->change, *b = &p->change;
    ck_assert(a->relayed.time == b->relayed.time);
    expect_relayed_change(&o->relayed_change, &p->relayed_change);
    ck_assert(a->kind == b->kind && a->quarantined == b->quarantined);
    ck_assert(a->truncated == b->truncated);
    ck_assert(a->relayed.first_entry == b->relayed.first_entry &&
              a->relayed.creates == b->relayed.creates);
    ck_assert(a->relayed.last == b->relayed.last);
    ck_assert(a->current == b->current && a->fields == b->fields && a->positions == b->positions);
    if (a->kind == NB_SUBMITTED_TAKE_BACK)
        ck_assert_uint_eq(a->restored, b->restored);
    if (a->kind == NB_SUBMITTED_NOTE)
        ck_assert_uint_eq(a->documents, b->documents);
    if (a->kind == NB_SUBMITTED_REFIT)
        ck_assert_int_eq(a->part, b->part);
    expect_same_text(&a->id, &b->id);
    expect_same_text(&a->label, &b->label);
    expect_same_text(&a->released, &b->released);
    ck_assert_uint_eq(a->other_count, b->other_count);
    for (size_t i = 0; i < a->other_count; i++) {
        ck_assert(a->others[i].id == b->others[i].id && a->others[i].count == b->others[i].count);
        ck_assert(nb_string_same(nb_submitted_text(a, i), nb_submitted_text(b, i)));
    }
}

static void expect_round_trip(const struct nb_operation *o)
{
    struct nb_buffer written = {0};
    struct nb_operation read;
    struct nb_error error = {0};
    ck_assert_int_eq(nb_operation_write(o, &written, NULL), 0);
    int rc = nb_operation_read(&read, nb_buffer_string(&written), &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    expect_same(o, &read);
    nb_operation_deinit(&read);
    for (size_t length = 0; length < written.length; length++) { /* cut off anywhere */
        rc = nb_operation_read(&read, (struct nb_string){written.bytes, length}, &error);
        nb_operation_deinit(&read);
        ck_assert_msg(rc == NB_CORRUPT, "%zu of %zu: %d", length, written.length, rc);
    }
    ck_assert_int_eq(nb_buffer_append(&written, "x", 1), 0); /* and too long */
    ck_assert_int_eq(nb_operation_read(&read, nb_buffer_string(&written), NULL), NB_CORRUPT);
    nb_operation_deinit(&read);
    nb_buffer_deinit(&written);
}

START_TEST(what_is_written_reads_back)
{
    for (size_t count = 0; count < 40; count += 13) {
        struct nb_operation o = change_with(count);
        expect_round_trip(&o);
        nb_operation_deinit(&o);
    }
    for (unsigned kind = NB_RELAYED_CHANGE_NONE + 1; kind < NB_RELAYED_CHANGES; kind++) {
        struct nb_operation o = relayed_change_of((enum nb_relayed_change_kind)kind);
        expect_round_trip(&o);
    }
}
END_TEST

/* Those with rows in the counts come without a text; all are in the order of their ids. */
START_TEST(the_features_read_back_in_order)
{
    struct nb_row_count known[2] = {{.row = 1, .count = 7}, {.row = 2, .count = 8}};
    uint64_t ids[2] = {nb_feature_id(NB_FIELD_BODY, 2000), nb_feature_id(NB_FIELD_BODY, 1)};
    struct nb_buffer written = {0};
    struct nb_operation read, o = change_with(5);
    o.change.known = known;
    o.change.known_ids = ids;
    o.change.known_count = 2;
    ck_assert_int_eq(nb_operation_write(&o, &written, NULL), 0);
    o.change.known = NULL;
    o.change.known_ids = NULL;
    ck_assert_int_eq(nb_operation_read(&read, nb_buffer_string(&written), NULL), 0);
    ck_assert_uint_eq(read.change.other_count, 7);
    ck_assert(read.change.others[0].count == 8 && read.change.others[6].count == 7);
    ck_assert_uint_eq(nb_submitted_text(&read.change, 0).length, 0);
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_uint_eq(read.change.others[i + 1].count, i + 1);
        ck_assert(
            nb_string_equals(nb_submitted_text(&read.change, i + 1), i % 3 == 0 ? "word" : ""));
    }
    nb_operation_deinit(&read);
    nb_operation_deinit(&o);
    nb_buffer_deinit(&written);
}
END_TEST

static int read_bytes(const struct nb_buffer *written)
{
    struct nb_operation read;
    int rc = nb_operation_read(&read, nb_buffer_string(written), NULL);
    nb_operation_deinit(&read);
    return rc;
}

static int read_with(const struct nb_operation *o)
{
    struct nb_buffer written = {0};
    ck_assert_int_eq(nb_operation_write(o, &written, NULL), 0);
    int rc = read_bytes(&written);
    nb_buffer_deinit(&written);
    return rc;
}

/* Reads an operation in which one byte is changed. */
static int read_changed(const struct nb_operation *o, size_t at, unsigned byte)
{
    struct nb_buffer written = {0};
    ck_assert_int_eq(nb_operation_write(o, &written, NULL), 0);
    ck_assert_uint_lt(at, written.length);
    written.bytes[at] = (char)byte;
    int rc = read_bytes(&written);
    nb_buffer_deinit(&written);
    return rc;
}

START_TEST(what_no_node_sends_is_refused)
{
    enum { QUARANTINED_AT = 25, COUNT_AT = 60 }; /* as operation.c lists the members */
    struct nb_operation o = change_with(3);
    struct nb_operation bad;
    bad = o, bad.relayed_change.model = nb_string_of("a/b");
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    bad = o, bad.change.id.length = 0;
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    put(&o.change.label, "a\nb");
    ck_assert_int_eq(read_with(&o), NB_CORRUPT);
    put(&o.change.label, "spam");
    bad = o, bad.change.restored = bad.change.current;
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    bad = o, bad.change.relayed.creates = 4;
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    bad = o, bad.change.kind = NB_SUBMITTED_KINDS;
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    bad = o, bad.change.kind = NB_SUBMITTED_REFIT, bad.change.part = (enum nb_refit_part)3;
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    bad = o, bad.change.relayed.time = 0;
    ck_assert_int_eq(read_with(&bad), NB_CORRUPT);
    ck_assert_int_eq(read_changed(&o, QUARANTINED_AT, 0), 0);
    ck_assert_int_eq(read_changed(&o, QUARANTINED_AT, 2), NB_CORRUPT);
    ck_assert_int_eq(read_changed(&o, COUNT_AT, 3), 0);
    ck_assert_int_eq(read_changed(&o, COUNT_AT, 0x7F), NB_CORRUPT);
    o.change.others[1].id = o.change.others[0].id; /* a feature twice */
    ck_assert_int_eq(read_with(&o), NB_CORRUPT);
    nb_operation_deinit(&o);
}
END_TEST

START_TEST(another_version_is_named)
{
    static const char *const texts[] = {"format 99", "kind 99"};
    struct nb_buffer written = {0};
    struct nb_operation o = change_with(3);
    struct nb_operation read;
    ck_assert_int_eq(nb_operation_write(&o, &written, NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        struct nb_error error = {0};
        char before = written.bytes[i + 2]; /* behind the magic */
        written.bytes[i + 2] = 99;
        ck_assert_int_eq(nb_operation_read(&read, nb_buffer_string(&written), &error), NB_VERSION);
        nb_operation_deinit(&read);
        ck_assert_ptr_nonnull(strstr(error.text, texts[i]));
        written.bytes[i + 2] = before;
    }
    nb_operation_deinit(&o);
    nb_buffer_deinit(&written);
}
END_TEST

/* Random bytes anywhere: whatever reads back can be walked, and is written as it was read. */
START_TEST(other_bytes_do_no_harm)
{
    uint64_t random = 1;
    struct nb_buffer written = {0};
    struct nb_operation o = change_with(20);
    ck_assert_int_eq(nb_operation_write(&o, &written, NULL), 0);
    char *bytes = malloc(written.length);
    ck_assert_ptr_nonnull(bytes);
    for (int round = 0; round < 20000; round++) {
        struct nb_operation read;
        memcpy(bytes, written.bytes, written.length);
        for (uint64_t n = 1 + next_random(&random) % 3; n > 0; n--)
            bytes[6 + next_random(&random) % (written.length - 6)] = (char)next_random(&random);
        if (nb_operation_read(&read, (struct nb_string){bytes, written.length}, NULL) == 0) {
            expect_round_trip(&read);
            round += 50; /* round trips at all lengths take long */
        }
        nb_operation_deinit(&read);
    }
    free(bytes);
    nb_operation_deinit(&o);
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
    return test_run(s);
}
