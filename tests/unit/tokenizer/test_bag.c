/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/feature.h"
#include "tests/unit/run.h"
#include "tokenizer/bag.h"
#include "tokenizer/bag_private.h"

static struct nb_key key;

static void make_key(void)
{
    const unsigned char bytes[NB_KEY_BYTES] = {1, 2, 3};
    nb_key_restore(&key, bytes);
}

static void add(struct nb_bag *bag, enum nb_field field, const char *text)
{
    ck_assert_int_eq(nb_bag_add(bag, &key, field, text, strlen(text)), 0);
}

static void check_text(const struct nb_bag *bag, size_t i, const char *text)
{
    ck_assert_uint_lt(i, bag->size);
    ck_assert_msg(bag->texts[i].length == strlen(text) &&
                      memcmp(bag->texts[i].bytes, text, strlen(text)) == 0,
                  "feature %zu is \"%.*s\", not \"%s\"", i, (int)bag->texts[i].length,
                  bag->texts[i].bytes, text);
}

START_TEST(counts_in_order_of_first_appearance)
{
    struct nb_bag bag;
    nb_bag_init(&bag);
    const char *const words[] = {"free", "money", "free", "", "now", "free", "", "money"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        add(&bag, NB_FIELD_BODY, words[i]);
    const char *const distinct[] = {"free", "money", "", "now"};
    const uint32_t counts[] = {3, 2, 2, 1};
    ck_assert_uint_eq(bag.size, 4);
    ck_assert_uint_eq(bag.positions, 8);
    for (size_t i = 0; i < 4; i++) {
        check_text(&bag, i, distinct[i]);
        ck_assert_uint_eq(bag.features[i].count, counts[i]);
        ck_assert_uint_eq(
            bag.features[i].id,
            nb_feature_id(NB_FIELD_BODY, nb_feature_hash(&key, distinct[i], strlen(distinct[i]))));
    }
    nb_bag_deinit(&bag);
}
END_TEST

START_TEST(fields_stay_apart_and_only_tokens_are_positions)
{
    struct nb_bag bag = {0};
    for (int field = 0; field < NB_FIELDS; field++)
        add(&bag, (enum nb_field)field, "word");
    ck_assert_uint_eq(bag.size, NB_FIELDS);
    ck_assert_uint_eq(bag.positions, NB_FIELD_CASE);
    for (size_t i = 0; i < bag.size; i++)
        ck_assert_int_eq((int)nb_feature_field(bag.features[i].id), (int)i);
    nb_bag_deinit(&bag);
}
END_TEST

START_TEST(field_names_are_distinct)
{
    for (int a = 0; a < NB_FIELDS; a++)
        for (int b = 0; b < a; b++)
            ck_assert_str_ne(nb_field_name((enum nb_field)a), nb_field_name((enum nb_field)b));
    ck_assert_str_eq(nb_field_name(NB_FIELD_BODY), "body");
    ck_assert_str_eq(nb_field_name(NB_FIELD_NGRAM), "ngram");
}
END_TEST

START_TEST(empty_bags_are_harmless)
{
    struct nb_bag bag = {0};
    nb_bag_reset(&bag);
    nb_bag_deinit(&bag);
    nb_bag_deinit(&bag);
    add(&bag, NB_FIELD_BODY, "again");
    ck_assert_uint_eq(bag.size, 1);
    nb_bag_reset(&bag);
    ck_assert_uint_eq(bag.size, 0);
    ck_assert_uint_eq(bag.positions, 0);
    add(&bag, NB_FIELD_BODY, "again");
    ck_assert_uint_eq(bag.features[0].count, 1);
    nb_bag_deinit(&bag);
}
END_TEST

START_TEST(long_texts_fit)
{
    struct nb_bag bag = {0};
    const size_t sizes[] = {1, 511, 512, 513, 15000, 16384, 20000, 1 << 20, 3 << 20, 100, 7};
    char *text = malloc(3 << 20);
    ck_assert_ptr_nonnull(text);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            memset(text, 'a' + (int)i, sizes[i]);
            for (int twice = 0; twice < 2; twice++)
                ck_assert_int_eq(nb_bag_add(&bag, &key, NB_FIELD_BODY, text, sizes[i]), 0);
        }
        ck_assert_uint_eq(bag.size, sizeof sizes / sizeof *sizes);
        for (size_t i = 0; i < bag.size; i++) {
            ck_assert_uint_eq(bag.texts[i].length, sizes[i]);
            ck_assert_int_eq(bag.texts[i].bytes[0], 'a' + (int)i);
            ck_assert_int_eq(bag.texts[i].bytes[sizes[i] - 1], 'a' + (int)i);
            ck_assert_uint_eq(bag.features[i].count, 2);
        }
        nb_bag_reset(&bag);
    }
    free(text);
    nb_bag_deinit(&bag);
}
END_TEST

/* A bag against the plainest thing that counts: an array of counters by word number. */
START_TEST(agrees_with_plain_counting)
{
    enum { WORDS = 30000, ROUNDS = 14 };
    static uint32_t counts[WORDS];
    static size_t order[WORDS];
    const unsigned seed = 1763;
    printf("agrees_with_plain_counting: seed %u\n", seed);
    srand(seed);
    struct nb_bag bag = {0};
    for (int round = 0; round < ROUNDS; round++) {
        /* Small and large documents in turn: a table that shrinks and grows again. */
        int words = round % 3 == 0 ? 40 : round % 3 == 1 ? 1500 : WORDS;
        int tokens = words * (1 + rand() % 3);
        size_t distinct = 0;
        memset(counts, 0, sizeof counts);
        bool keeps_texts = round % 4 != 3;
        /* With any expectation, right or wrong. */
        static const size_t expected[] = {40, 0, 5000, SIZE_MAX, 600, 1500, 1, 513, 2048};
        if (round % 2 == 0)
            nb_bag_reset(&bag);
        else
            ck_assert_int_eq(
                nb_bag_begin(&bag, expected[(size_t)round % (sizeof expected / sizeof *expected)],
                             keeps_texts),
                0);
        for (int i = 0; i < tokens; i++) {
            int word = rand() % words;
            char text[16];
            snprintf(text, sizeof text, "word%d", word);
            add(&bag, NB_FIELD_BODY, text);
            if (counts[word]++ == 0)
                order[distinct++] = (size_t)word;
        }
        ck_assert_uint_eq(bag.size, distinct);
        ck_assert_uint_eq(bag.positions, (uint64_t)tokens);
        ck_assert_int_eq(bag.texts != NULL, keeps_texts);
        for (size_t i = 0; i < distinct; i++) {
            char text[16];
            snprintf(text, sizeof text, "word%zu", order[i]);
            if (keeps_texts)
                check_text(&bag, i, text);
            ck_assert_uint_eq(bag.features[i].count, counts[order[i]]);
        }
    }
    nb_bag_deinit(&bag);
}
END_TEST

/* Known features are counted, and what is left is what the bag does not have, or has elsewhere. */
START_TEST(known_features_are_counted_at_once)
{
    enum { KNOWN = 300, ASKED = 200 };
    struct nb_bag bag = {0};
    uint64_t ids[ASKED];
    unsigned char rest[ASKED + 1];
    ck_assert_int_eq(nb_bag_begin(&bag, 0, true), 0);
    ck_assert_uint_eq(nb_bag_count_known(&bag, ids, 0, rest), 0);
    for (uint64_t id = 0; id < KNOWN; id++) /* every third one displaces another */
        ck_assert_int_eq(nb_bag_add_id(&bag, id % 3 == 0 ? id + (1 << 20) : id, "x", 1), 0);
    for (size_t i = 0; i < ASKED; i++)
        ids[i] = i % 2 == 0 ? bag.features[i].id : 1u << 30 | i;
    size_t unknown = nb_bag_count_known(&bag, ids, ASKED, rest);
    ck_assert_uint_ge(unknown, ASKED / 2);
    ck_assert_uint_lt(unknown, ASKED);
    ck_assert_uint_eq(bag.size, KNOWN);
    for (size_t i = 0, k = 0; i < ASKED; i++) {
        bool is_left = k < unknown && rest[k] == i;
        k += is_left;
        ck_assert(is_left || i % 2 == 0);
        ck_assert_uint_eq(bag.features[i].count, is_left || i % 2 != 0 ? 1 : 2);
    }
    nb_bag_deinit(&bag);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bag");
    TCase *tcase = tcase_create("bag");
    tcase_set_timeout(tcase, 60);
    tcase_add_unchecked_fixture(tcase, make_key, NULL);
    tcase_add_test(tcase, counts_in_order_of_first_appearance);
    tcase_add_test(tcase, fields_stay_apart_and_only_tokens_are_positions);
    tcase_add_test(tcase, field_names_are_distinct);
    tcase_add_test(tcase, empty_bags_are_harmless);
    tcase_add_test(tcase, long_texts_fit);
    tcase_add_test(tcase, agrees_with_plain_counting);
    tcase_add_test(tcase, known_features_are_counted_at_once);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
