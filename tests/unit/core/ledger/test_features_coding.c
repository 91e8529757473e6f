/* SPDX-License-Identifier: Apache-2.0
 *
 * The stored form of the new features of an entry; damaged forms are detected.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/feature.h"
#include "core/ledger/features_coding.h"
#include "tests/unit/hex.h"
#include "tests/unit/run.h"

START_TEST(features_with_and_without_texts)
{
    static const unsigned char bytes[NB_KEY_BYTES] = {1};
    static const struct nb_string texts[] = {{"free", 4}, {"subject:free", 12}, {"", 0}};
    struct nb_features_coder *coder = nb_features_coder_new();
    struct nb_key *key = malloc(sizeof *key);
    struct nb_buffer out = {0};
    const uint64_t *ids;
    const struct nb_string *back;
    uint64_t want[3];
    ck_assert(coder != NULL && key != NULL);
    nb_key_restore(key, bytes);
    for (unsigned i = 0; i < 3; i++)
        want[i] =
            nb_feature_id((enum nb_field)i, nb_feature_hash(key, texts[i].bytes, texts[i].length));
    for (int with = 0; with < 2; with++) {
        out.length = 0;
        ck_assert_int_eq(nb_features_encode(coder, want, with ? texts : NULL, 3, &out), 0);
        ck_assert(nb_features_have_texts(nb_buffer_string(&out)) == (with == 1));
        ck_assert_int_eq(
            nb_features_decode(coder, nb_buffer_string(&out), 3, key, &ids, &back, NULL), 0);
        ck_assert((back != NULL) == (with == 1));
        for (unsigned i = 0; i < 3; i++)
            ck_assert_uint_eq(ids[i], want[i]);
        for (unsigned i = 0; with == 1 && i < 3; i++)
            ck_assert(back[i].length == texts[i].length &&
                      memcmp(back[i].bytes, texts[i].bytes, texts[i].length) == 0);
        for (size_t length = 0; length < out.length; length++)
            ck_assert_int_eq(nb_features_decode(coder, (struct nb_string){out.bytes, length}, 3,
                                                key, &ids, &back, NULL),
                             NB_CORRUPT);
        ck_assert_int_eq(
            nb_features_decode(coder, nb_buffer_string(&out), 4, key, &ids, &back, NULL),
            NB_CORRUPT);
    }
    nb_features_coder_free(&coder);
    free(key);
    nb_buffer_deinit(&out);
}
END_TEST

static struct nb_key *new_key(void)
{
    static const unsigned char bytes[NB_KEY_BYTES] = {1};
    struct nb_key *key = malloc(sizeof *key);
    ck_assert_ptr_nonnull(key);
    nb_key_restore(key, bytes);
    return key;
}

/* Encodes `count` texts of the fields, and expects them back. */
static void expect_back(const unsigned *fields, const struct nb_string *texts, size_t count,
                        struct nb_buffer *out)
{
    struct nb_features_coder *coder = nb_features_coder_new();
    struct nb_key *key = new_key();
    uint64_t *want = calloc(count, sizeof *want);
    const uint64_t *ids;
    const struct nb_string *back;
    ck_assert(coder != NULL && want != NULL);
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = nb_feature_hash(key, texts[i].bytes, texts[i].length), number;
        want[i] = nb_feature_id((enum nb_field)fields[i], hash);
        if (fields[i] == NB_FIELD_VALUE) /* its part is some bits of the hash */
            want[i] = nb_decimal_of_feature(texts[i], &number)
                          ? nb_feature_number_id(nb_feature_part(want[i]), number)
                          : nb_feature_value_id(nb_feature_part(want[i]), hash);
    }
    out->length = 0;
    ck_assert_int_eq(nb_features_encode(coder, want, texts, count, out), 0);
    ck_assert_int_eq(
        nb_features_decode(coder, nb_buffer_string(out), count, key, &ids, &back, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(ids[i] == want[i], "feature %zu of %zu", i, count);
        ck_assert(nb_string_same(back[i], texts[i]));
    }
    nb_features_coder_free(&coder);
    free(want);
    free(key);
}

START_TEST(texts_are_stored_without_what_they_share)
{
    static const struct {
        unsigned fields[4];
        const char *texts[4];
        const char *hex;
    } cases[] = {
        {{NB_FIELD_PAIR, NB_FIELD_PAIR, NB_FIELD_PAIR, NB_FIELD_PAIR},
         {"pair:a bc", "pair:bc d", "pair:x d", "pair:d"},
         "01"
         "a961206263" /* a bc */
         "01206400"   /* after bc: a blank and d */
         "a9782064"
         "0100"},
        {{NB_FIELD_NGRAM, NB_FIELD_NGRAM, NB_FIELD_NGRAM, NB_FIELD_NGRAM},
         {"ngram:\xC3\xA4"
          "bc",
          "ngram:bcd", "bcd", "ngram:dx"},
         "01"
         "aac3a46263"
         "016400"     /* after bc */
         "8a62636400" /* without a name */
         "aa647800"},
        {{NB_FIELD_URL, NB_FIELD_BODY, NB_FIELD_CASE, NB_FIELD_PAIR},
         {"url:a", "body:", "case", "pair:case b"},
         "01"
         "a66100"
         "a000"
         "886361736500"
         "a963617365206200"},
        {{NB_FIELD_PAIR, NB_FIELD_PAIR, NB_FIELD_URL, NB_FIELD_BODY},
         {"pair:a b", "pair:b c", "url:a\x01", "d"}, /* the byte of a mark: all have lengths */
         "01"
         "0908706169723a612062"
         "0908706169723a622063"
         "060675726c3a6101"
         "000164"},
        {{NB_FIELD_BODY, NB_FIELD_VALUE, NB_FIELD_PAIR, NB_FIELD_PAIR},
         {"a\x01", "v", "pair:a b", "pair:b c"},
         NULL},
        {{NB_FIELD_BODY, NB_FIELD_PAIR, NB_FIELD_VALUE, NB_FIELD_PAIR},
         {"a", "pair:a b", "", "pair:b c"},
         NULL}, /* the bytes of the part are those of a hash */
        {{NB_FIELD_BODY, NB_FIELD_VALUE, NB_FIELD_VALUE, NB_FIELD_VALUE},
         {"a", "size=12.5", "size=-0.0000000000001", "size=12.5 "},
         NULL},
    };
    struct nb_buffer out = {0};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct nb_string texts[4];
        for (size_t i = 0; i < 4; i++)
            texts[i] = nb_string_of(cases[c].texts[i]);
        expect_back(cases[c].fields, texts, 4, &out);
        if (cases[c].hex != NULL)
            expect_hex(&out, cases[c].hex);
    }
    nb_buffer_deinit(&out);
}
END_TEST

/* Words of few letters share much. Every so often a text is long: its tail is not left out. */
START_TEST(texts_of_any_kind_come_back)
{
    enum { COUNT = 400, MOST = 700 };
    static const unsigned any[] = {NB_FIELD_PAIR, NB_FIELD_NGRAM, NB_FIELD_VALUE, NB_FIELD_URL};
    static const char *const letters[] = {"a", "b", " ", "\xC3\xA4", "\xE2\x82\xAC"};
    char *memory = malloc((size_t)COUNT * MOST);
    unsigned fields[COUNT];
    struct nb_string texts[COUNT];
    struct nb_buffer out = {0};
    uint32_t random = 1;
    ck_assert_ptr_nonnull(memory);
    for (size_t i = 0; i < COUNT; i++) {
        char *text = memory + i * MOST;
        random = random * 1664525 + 1013904223;
        fields[i] = any[random >> 30];
        size_t length = 0;
        if ((random >> 20 & 3) != 0)
            length = (size_t)snprintf(text, MOST, "%s:", nb_field_name((enum nb_field)fields[i]));
        size_t parts = (random >> 10 & 63) == 0 ? 200 : random >> 8 & 7;
        for (size_t k = 0; k < parts; k++) {
            random = random * 1664525 + 1013904223;
            const char *letter = letters[(random >> 16) % 5];
            memcpy(text + length, letter, strlen(letter));
            length += strlen(letter);
        }
        texts[i] = (struct nb_string){text, length};
    }
    for (size_t count = 1; count <= COUNT; count += count < 10 ? 1 : 39)
        expect_back(fields, texts, count, &out);
    free(memory);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(impossible_texts_are_found)
{
    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {
        {"\x01\x80x\x01", 4},       /* nothing goes on */
        {"\x01\x8Ax\x01x\x00", 6},  /* after one without a tail */
        {"\x01\x80xy\x01x\x00", 7}, /* the field's texts have no tails */
        {"\x01\x80xy", 4},          /* without a mark */
        {"\x01\x4A\x01x", 4},       /* a bit without a meaning */
        {"\x01\x0B\x01x", 4},       /* no field */
        {"\x01\x2B\x01x", 4},
        {"\x01\x8Bx\x00", 4},
        {"\x01\x9E\x02\x02x\x00", 6},   /* a value with a mark */
        {"\x04\x00\x01x", 4},           /* no form */
        {"\x01\x1E\x01x", 4},           /* a value without a part */
        {"\x01\x1E\x03\x00\x02x", 6},   /* of a part that there is not */
        {"\x01\x3E\x03\x00\x00x", 6},   /* without a name */
        {"\x01\x1E\x05\x00\x80x=y", 8}, /* a number that is none */
        {"\x01\x1E\x03\x00\x80"
         "1",
         6}, /* without a name */
    };
    struct nb_features_coder *coder = nb_features_coder_new();
    struct nb_key *key = new_key();
    ck_assert_ptr_nonnull(coder);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const uint64_t *ids;
        const struct nb_string *texts;
        struct nb_string stored = {cases[c].bytes, cases[c].length};
        for (size_t count = 1; count <= 2; count++)
            ck_assert_msg(nb_features_decode(coder, stored, count, key, &ids, &texts, NULL) ==
                              NB_CORRUPT,
                          "case %zu", c);
    }
    nb_features_coder_free(&coder);
    free(key);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("features");
    TCase *t = tcase_create("features");
    suite_add_tcase(s, t);
    tcase_add_test(t, features_with_and_without_texts);
    tcase_add_test(t, texts_are_stored_without_what_they_share);
    tcase_add_test(t, texts_of_any_kind_come_back);
    tcase_add_test(t, impossible_texts_are_found);
    return test_run(s);
}
