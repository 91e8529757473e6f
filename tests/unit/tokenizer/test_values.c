/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of attributes: which features they give.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/feature.h"
#include "tests/unit/run.h"
#include "tokenizer/document.h"
#include "tokenizer/text.h"

static const struct nb_attribute list[] = {{(char[]){"title"}, NB_FIELD_KIND_TEXT},
                                           {(char[]){"land"}, NB_FIELD_KIND_CATEGORY},
                                           {(char[]){"tags"}, NB_FIELD_KIND_SET},
                                           {(char[]){"size"}, NB_FIELD_KIND_NUMBER}};
static struct nb_key key;

static void set_up(void)
{
    const unsigned char bytes[NB_KEY_BYTES] = {7};
    nb_key_restore(&key, bytes);
    ck_assert_int_eq(nb_text_setup(), 0);
}

static void tear_down(void)
{
    nb_text_teardown();
}

/* "part text count;" of each feature. */
static void listing(const struct nb_bag *bag, struct nb_buffer *out)
{
    out->length = 0;
    for (size_t i = 0; i < bag->size; i++) {
        uint64_t id = bag->features[i].id;
        ck_assert_uint_eq(id, nb_feature_id_like(id, nb_feature_hash(&key, bag->texts[i].bytes,
                                                                     bag->texts[i].length)));
        if (nb_feature_field(id) == NB_FIELD_VALUE)
            nb_buffer_printf(out, "%u ", nb_feature_part(id));
        nb_buffer_append(out, bag->texts[i].bytes, bag->texts[i].length);
        nb_buffer_printf(out, " %u;", bag->features[i].count);
    }
    nb_buffer_append(out, "", 1);
}

static void tokenize(const struct nb_value *values, size_t count, size_t tokens, struct nb_bag *bag)
{
    struct nb_tokenizer_limits limits = NB_TOKENIZER_LIMITS_DEFAULT;
    limits.tokens = tokens;
    const struct nb_tokenizer_settings settings = {
        .fields = 1u << NB_FIELD_BODY, .max_count = 2, .attributes = {list, 4, false}};
    const struct nb_document document = {
        .kind = NB_DOCUMENT_TEXT, .bytes = "Free", .length = 4, .values = {values, count}};
    ck_assert_int_eq(nb_document_tokenize(&document, &key, &settings, &limits, bag), 0);
}

START_TEST(each_kind_has_its_features)
{
    static const struct nb_string title = {"Free FREE free, now", 19}, land = {"De ", 3};
    static const struct nb_string tags[] = {{"", 0}, {"b c", 3}};
    const struct nb_value values[] = {{{"land", 4}, false, &land, 1, NB_VALUE_TEXT},
                                      {{"tags", 4}, true, tags, 2, NB_VALUE_TEXT},
                                      {{"title", 5}, false, &title, 1, NB_VALUE_TEXT}};
    struct nb_bag bag = {0};
    struct nb_buffer got = {0};
    tokenize(values, 3, 1000, &bag);
    listing(&bag, &got);
    ck_assert_str_eq(got.bytes, "free 1;2 land=De  1;5 tags 1;4 tags= 1;4 tags=b c 1;"
                                "1 title 1;0 title:free 2;0 title:, 1;0 title:now 1;");
    ck_assert_uint_eq(bag.positions, 1 + 1 + 2 + 4); /* what says that there is one is no token */
    ck_assert(!bag.truncated);
    nb_bag_deinit(&bag);
    nb_buffer_deinit(&got);
}
END_TEST

/* However a number is written it is one feature; of none that says that there is one. */
START_TEST(numbers_are_features)
{
    static const struct nb_string forms[] = {{"12.5", 4}, {"+12.50", 6}, {"125e-1", 6}};
    for (size_t i = 0; i < 3; i++) {
        const struct nb_value value = {{"size", 4}, false, &forms[i], 1, NB_VALUE_TEXT};
        struct nb_bag bag = {0};
        struct nb_buffer got = {0};
        uint64_t number;
        ck_assert(nb_decimal_read(forms[0], &number));
        tokenize(&value, 1, 1000, &bag);
        listing(&bag, &got);
        ck_assert_str_eq(got.bytes, "free 1;6 size=12.5 1;");
        ck_assert_uint_eq(bag.features[1].id, nb_feature_number_id(6, number));
        nb_bag_deinit(&bag);
        nb_buffer_deinit(&got);
    }
}
END_TEST

START_TEST(an_empty_value_is_there)
{
    static const struct nb_string none = {"", 0};
    const struct nb_value values[] = {{{"tags", 4}, true, &none, 0, NB_VALUE_TEXT},
                                      {{"title", 5}, false, &none, 1, NB_VALUE_TEXT}};
    struct nb_bag bag = {0};
    struct nb_buffer got = {0};
    tokenize(values, 2, 1000, &bag);
    listing(&bag, &got);
    ck_assert_str_eq(got.bytes, "free 1;5 tags 1;1 title 1;");
    nb_bag_deinit(&bag);
    nb_buffer_deinit(&got);
}
END_TEST

START_TEST(limits_hold_for_values)
{
    static const struct nb_string title = {"a b c d", 7}, tags[] = {{"x", 1}, {"y", 1}};
    const struct nb_value values[] = {{{"tags", 4}, true, tags, 2, NB_VALUE_TEXT},
                                      {{"title", 5}, false, &title, 1, NB_VALUE_TEXT}};
    enum { ALL = 1 + 3 + 5 };
    for (size_t tokens = 0; tokens <= ALL; tokens++) {
        struct nb_bag bag = {0};
        tokenize(values, 2, tokens, &bag);
        ck_assert_uint_eq(bag.size, tokens);
        ck_assert(bag.truncated == (tokens < ALL));
        for (size_t i = 0; i < bag.size && i < 2; i++) /* no value without the set */
            ck_assert_uint_eq(bag.features[i].id,
                              i == 0
                                  ? nb_feature_id(NB_FIELD_BODY, nb_feature_hash(&key, "free", 4))
                                  : nb_feature_value_id(5, nb_feature_hash(&key, "tags", 4)));
        nb_bag_deinit(&bag);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("values");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, each_kind_has_its_features);
    tcase_add_test(all, numbers_are_features);
    tcase_add_test(all, an_empty_value_is_there);
    tcase_add_test(all, limits_hold_for_values);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
