/* SPDX-License-Identifier: Apache-2.0
 *
 * The stored form of changes, to the byte: stored changes must stay readable for ever. Every cut
 * and every flipped bit gives an error or another valid change.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ledger/change.h"
#include "tests/unit/run.h"

#define S(text)                                                                                    \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

struct golden {
    const char *name;
    struct nb_change change;
    const char *hex;
};

static const struct golden goldens[] = {
    {"train, all of it",
     {.kind = NB_CHANGE_TRAIN,
      .model = 3,
      .time = 1700000000000,
      .source = S("me"),
      .id = S("d1"),
      .label = 1,
      .truncated = true,
      .replaced = 300,
      .first = 7,
      .tokens = 2,
      .score = S("\x01\x02"),
      .bag = S("\x04\x07"),
      .label_name = S("ham"),
      .first_row = 5,
      .new_count = 1,
      .features = S("\x00zz")},
     "0101"
     "03"
     "80d095ffbc31"
     "026d65"
     "1f"
     "01"
     "0368616d"
     "026431"
     "02"
     "ac02"
     "07"
     "020102"
     "0501"
     "03007a7a"
     "0407"},
    {"train, the least",
     {.kind = NB_CHANGE_TRAIN, .model = 1, .id = S("x")},
     "0101"
     "01"
     "00"
     "00"
     "00"
     "00"
     "0178"
     "00"},
    {"train, unlabelled",
     {.kind = NB_CHANGE_TRAIN, .model = 1, .id = S("x"), .label = NB_NO_LABEL},
     "0101"
     "01"
     "00"
     "00"
     "00"
     "ffff03"
     "0178"
     "00"},
    {"untrain",
     {.kind = NB_CHANGE_UNTRAIN,
      .model = 128,
      .time = 1,
      .id = S("x"),
      .replaced = 9,
      .first = 9,
      .tokens = 200},
     "0102"
     "8001"
     "01"
     "00"
     "08"
     "00"
     "0178"
     "c801"
     "0909"},
    {"features",
     {.kind = NB_CHANGE_FEATURES,
      .model = 1,
      .label = 2,
      .label_name = S("a"),
      .first_row = 1024,
      .new_count = 2,
      .features = S("\x00y")},
     "0103"
     "01"
     "00"
     "00"
     "06"
     "02"
     "0161"
     "800802"
     "020079"},
    {"create",
     {.kind = NB_CHANGE_CREATE,
      .model = 1,
      .source = S("me"),
      .name = S("m"),
      .settings = S("s"),
      .key = S("k")},
     "0104"
     "01"
     "00"
     "026d65"
     "016d"
     "0173"
     "016b"
     "00"
     "00"},
    {"settings",
     {.kind = NB_CHANGE_SETTINGS, .model = 1, .settings = S("s")},
     "0105"
     "01"
     "00"
     "00"
     "00"
     "0173"
     "00"
     "00"
     "00"},
    {"delete",
     {.kind = NB_CHANGE_DELETE, .model = 1, .name = S("m")},
     "0106"
     "01"
     "00"
     "00"
     "016d"
     "00"
     "00"
     "00"
     "00"},
    {"rename label",
     {.kind = NB_CHANGE_RENAME_LABEL, .model = 1, .label = 1, .label_name = S("new")},
     "0107"
     "01"
     "00"
     "00"
     "01"
     "036e6577"},
    {"import",
     {.kind = NB_CHANGE_IMPORT, .model = 1, .name = S("m")},
     "0108"
     "01"
     "00"
     "00"
     "016d"
     "00"
     "00"
     "00"
     "00"},
    {"complete",
     {.kind = NB_CHANGE_COMPLETE,
      .model = 2,
      .name = S("m"),
      .settings = S("s"),
      .weights = S("w"),
      .other = 1},
     "0109"
     "02"
     "00"
     "00"
     "016d"
     "0173"
     "00"
     "0177"
     "01"},
    {"refit",
     {.kind = NB_CHANGE_REFIT, .model = 2},
     "010a"
     "02"
     "00"
     "00"
     "00"
     "00"
     "00"
     "00"
     "00"},
    {"store",
     {.kind = NB_CHANGE_STORE, .time = 1, .key = {"k", 1}, .settings = {"f", 1}},
     "010b"
     "00"
     "01"
     "00"
     "00"
     "0166"
     "016b"
     "00"
     "00"},
    {"features, rows by name",
     {.kind = NB_CHANGE_FEATURES,
      .model = 1,
      .first_row = 5,
      .new_count = 2,
      .features = S("\x01"),
      .new_rows = S("\x0a\x04")},
     "0203"
     "01"
     "00"
     "00"
     "24"
     "00"
     "05"
     "02"
     "0101"
     "020a04"},
    {"reviewed",
     {.kind = NB_CHANGE_TRAIN,
      .model = 1,
      .is_reviewed = true,
      .id = S("x"),
      .label = 2,
      .tokens = 3,
      .replaced = 4},
     "0301"
     "01"
     "00"
     "00"
     "48"
     "02"
     "0178"
     "03"
     "0400"},
    {"undo",
     {.kind = NB_CHANGE_UNDO, .model = 1, .source = S("me"), .settings = S("w"), .other = 300},
     "010c"
     "01"
     "00"
     "026d65"
     "00"
     "0177"
     "00"
     "00"
     "ac02"},
};
enum { GOLDENS = sizeof goldens / sizeof *goldens };

static struct nb_string string_of(const struct nb_buffer *b)
{
    return (struct nb_string){b->bytes, b->length};
}

static void expect_string(struct nb_string got, struct nb_string want, const char *name)
{
    ck_assert_msg(got.length == want.length &&
                      (got.length == 0 || memcmp(got.bytes, want.bytes, got.length) == 0),
                  "%s", name);
}

static void expect_same(const struct nb_change *got, const struct nb_change *want, const char *name)
{
    ck_assert_msg(got->kind == want->kind && got->model == want->model && got->time == want->time &&
                      got->label == want->label && got->truncated == want->truncated &&
                      got->is_reviewed == want->is_reviewed && got->replaced == want->replaced &&
                      got->first == want->first && got->tokens == want->tokens &&
                      got->first_row == want->first_row && got->new_count == want->new_count &&
                      got->other == want->other,
                  "%s", name);
    expect_string(got->source, want->source, name);
    expect_string(got->id, want->id, name);
    expect_string(got->score, want->score, name);
    expect_string(got->bag, want->bag, name);
    expect_string(got->label_name, want->label_name, name);
    expect_string(got->features, want->features, name);
    expect_string(got->new_rows, want->new_rows, name);
    expect_string(got->name, want->name, name);
    expect_string(got->settings, want->settings, name);
    expect_string(got->key, want->key, name);
    expect_string(got->weights, want->weights, name);
}

START_TEST(bytes_are_for_good)
{
    for (int i = 0; i < GOLDENS; i++) {
        const struct golden *g = &goldens[i];
        struct nb_buffer out = {0};
        char hex[512] = "";
        ck_assert_int_eq(nb_change_write(&g->change, &out), 0);
        for (size_t k = 0; k < out.length && k < sizeof hex / 2 - 1; k++)
            sprintf(hex + 2 * k, "%02x", (unsigned char)out.bytes[k]);
        ck_assert_msg(strcmp(hex, g->hex) == 0, "%s: %s, not %s", g->name, hex, g->hex);
        struct nb_change back;
        ck_assert_int_eq(nb_change_read(&back, string_of(&out), NULL), 0);
        expect_same(&back, &g->change, g->name);
        nb_buffer_deinit(&out);
    }
}
END_TEST

/* Every kind has its golden bytes. */
START_TEST(every_kind_is_there)
{
    bool seen[NB_CHANGE_KINDS] = {false};
    for (int i = 0; i < GOLDENS; i++)
        seen[goldens[i].change.kind] = true;
    for (int kind = 1; kind < NB_CHANGE_KINDS; kind++)
        ck_assert_msg(seen[kind], "kind %d", kind);
}
END_TEST

/* Reads a copy of exactly this size, so that a sanitizer detects any read beyond its end. */
static int read_exactly(const char *bytes, size_t length)
{
    char *copy = malloc(length + (length == 0));
    struct nb_change change;
    struct nb_error error = {0};
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, length);
    int rc = nb_change_read(&change, (struct nb_string){copy, length}, &error);
    ck_assert(rc == 0 || rc == NB_CORRUPT || rc == NB_VERSION);
    ck_assert(rc == 0 || (error.code == rc && error.text[0] != '\0'));
    free(copy);
    return rc;
}

/* The bag takes the rest of an entry's bytes: a cut within it is found by its reader. */
START_TEST(cut_bytes_are_found)
{
    for (int i = 0; i < GOLDENS; i++) {
        const struct golden *g = &goldens[i];
        struct nb_buffer out = {0};
        ck_assert_int_eq(nb_change_write(&g->change, &out), 0);
        size_t whole = out.length - g->change.bag.length;
        for (size_t length = 0; length < whole; length++)
            ck_assert_msg(read_exactly(out.bytes, length) == NB_CORRUPT, "%s cut at %zu", g->name,
                          length);
        ck_assert_int_eq(nb_buffer_append(&out, "", 1), 0);
        bool has_rest = g->change.kind <= NB_CHANGE_FEATURES;
        ck_assert_int_eq(read_exactly(out.bytes, out.length), has_rest ? 0 : NB_CORRUPT);
        nb_buffer_deinit(&out);
    }
}
END_TEST

START_TEST(flipped_bits_do_no_harm)
{
    for (int i = 0; i < GOLDENS; i++) {
        struct nb_buffer out = {0};
        ck_assert_int_eq(nb_change_write(&goldens[i].change, &out), 0);
        for (size_t bit = 0; bit < out.length * 8; bit++) {
            out.bytes[bit / 8] = (char)(out.bytes[bit / 8] ^ 1 << bit % 8);
            (void)read_exactly(out.bytes, out.length); /* asserts what it may return */
            out.bytes[bit / 8] = (char)(out.bytes[bit / 8] ^ 1 << bit % 8);
        }
        nb_buffer_deinit(&out);
    }
}
END_TEST

START_TEST(impossible_values_are_found)
{
    static const struct {
        const char *name;
        struct nb_string bytes;
        int code;
    } cases[] = {
        {"kind 0", S("\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00"), NB_CORRUPT},
        {"format 0", S("\x00\x06\x01\x00\x00\x00\x00\x00\x00\x00"), NB_CORRUPT},
        {"a later format", S("\x05\x01\x01"), NB_VERSION},
        {"a later kind", S("\x01\x0d\x01"), NB_VERSION},
        {"no id", S("\x01\x01\x01\x00\x00\x00\x00\x00\x00"), NB_CORRUPT},
        {"unknown flags", S("\x01\x01\x01\x00\x00\x80\x00\x01x\x00"), NB_CORRUPT},
        {"new rows in format 1", S("\x01\x03\x01\x00\x00\x24\x00\x00\x01\x00\x01\x00"), NB_CORRUPT},
        {"format 2 without new rows", S("\x02\x03\x01\x00\x00\x04\x00\x00\x01\x00"), NB_CORRUPT},
        {"no new rows after all", S("\x02\x03\x01\x00\x00\x24\x00\x00\x01\x00\x00"), NB_CORRUPT},
        {"format 2 of another kind", S("\x02\x06\x01\x00\x00\x00\x00\x00\x00\x00"), NB_CORRUPT},
        {"reviewed in format 1", S("\x01\x01\x01\x00\x00\x40\x00\x01x\x00"), NB_CORRUPT},
        {"format 3, not reviewed", S("\x03\x01\x01\x00\x00\x00\x00\x01x\x00"), NB_CORRUPT},
        {"judged in format 3",
         S("\x03\x01\x01\x00\x00\xc0\x00\x01x\x00\x01\x02\x03\x04\x05\x06\x07\x08"), NB_CORRUPT},
        {"format 4, not judged", S("\x04\x01\x01\x00\x00\x00\x00\x01x\x00"), NB_CORRUPT},
        {"reviewed and forgotten", S("\x03\x02\x01\x00\x00\x40\x00\x01x\x00"), NB_CORRUPT},
        {"a label above all", S("\x01\x01\x01\x00\x00\x00\x80\x80\x04\x01x\x00"), NB_CORRUPT},
        {"no new features after all", S("\x01\x03\x01\x00\x00\x04\x00\x00\x00\x00"), NB_CORRUPT},
        {"a model above 32 bits", S("\x01\x06\x80\x80\x80\x80\x10\x00\x00\x00\x00\x00\x00\x00"),
         NB_CORRUPT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(read_exactly(cases[i].bytes.bytes, cases[i].bytes.length) == cases[i].code,
                      "%s", cases[i].name);
}
END_TEST

START_TEST(remnants_keep_what_is_new)
{
    struct nb_change remnant;
    const struct nb_change *all = &goldens[0].change;
    ck_assert(nb_change_remnant(all, &remnant));
    ck_assert_int_eq(remnant.kind, NB_CHANGE_FEATURES);
    ck_assert_uint_eq(remnant.model, all->model);
    ck_assert_uint_eq(remnant.label, all->label);
    expect_string(remnant.label_name, all->label_name, "label");
    ck_assert_uint_eq(remnant.first_row, all->first_row);
    ck_assert_uint_eq(remnant.new_count, all->new_count);
    expect_string(remnant.features, all->features, "features");
    ck_assert_uint_eq(remnant.id.length + remnant.bag.length + remnant.score.length, 0);
    ck_assert_uint_eq(remnant.replaced, 0);
    ck_assert(!nb_change_remnant(&goldens[1].change, &remnant));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("change");
    TCase *t = tcase_create("change");
    suite_add_tcase(s, t);
    tcase_add_test(t, bytes_are_for_good);
    tcase_add_test(t, every_kind_is_there);
    tcase_add_test(t, cut_bytes_are_found);
    tcase_add_test(t, flipped_bits_do_no_harm);
    tcase_add_test(t, impossible_values_are_found);
    tcase_add_test(t, remnants_keep_what_is_new);
    return test_run(s);
}
