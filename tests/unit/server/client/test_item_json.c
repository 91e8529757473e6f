/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents as JSON, compared with what jansson reads back.
 */
#include <check.h>
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "server/client/files/pipeline.h"
#include "tests/unit/run.h"

#define COUNT(table) (int)(sizeof(table) / sizeof(table)[0])

static json_t *parse(const struct nb_item *item, bool with_label)
{
    struct nb_buffer out = {0};
    json_error_t error;
    ck_assert_int_eq(nb_item_write(item, with_label, &out), 0);
    json_t *object =
        json_loadb(out.bytes, out.length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    ck_assert_msg(object != NULL, "%s: %.*s", error.text, (int)out.length, out.bytes);
    nb_buffer_deinit(&out);
    return object;
}

static struct nb_string member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return (struct nb_string){json_string_value(value), json_string_length(value)};
}

static const struct {
    const char *bytes;
    size_t length;
    const char *read;
    size_t read_length;
} texts[] = {
    {"", 0, "", 0},
    {"a\"b\\c/d", 7, "a\"b\\c/d", 7},
    {"\n\r\t\b\x1F\x7F", 6, "\n\r\t\b\x1F\x7F", 6},
    {"a\0b", 3, "a\0b", 3},
    {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", 9, "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80", 9},
    {"\xFF", 1, "\xEF\xBF\xBD", 3},
    {"a\xC3", 2, "a\xEF\xBF\xBD", 4},
    {"\xC0\x80", 2, "\xEF\xBF\xBD\xEF\xBF\xBD", 6},                 /* overlong */
    {"\xED\xA0\x80", 3, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 9}, /* a surrogate */
    {"\xE2\x82x", 3, "\xEF\xBF\xBD\xEF\xBF\xBDx", 7},
};

START_TEST(a_text_is_read_as_it_was)
{
    char *bytes = malloc(texts[_i].length); /* no spare byte: a read beyond the end is found */
    memcpy(bytes, texts[_i].bytes, texts[_i].length);
    const struct nb_item item = {.content = {bytes, texts[_i].length}};
    json_t *object = parse(&item, true);
    struct nb_string text = member(object, "text");
    ck_assert_uint_eq(json_object_size(object), 2);
    ck_assert(json_is_null(json_object_get(object, "label")));
    ck_assert_uint_eq(text.length, texts[_i].read_length);
    ck_assert_mem_eq(text.bytes, texts[_i].read, text.length);
    json_decref(object);
    free(bytes);
}
END_TEST

START_TEST(values_are_beside_a_text_or_alone)
{
    static const struct {
        struct nb_item item;
        const char *written;
    } items[] = {
        {{.content = {"t", 1}, .values = {"{\"a\":1}", 7}},
         "{\"text\":\"t\",\"values\":{\"a\":1},\"label\":null}"},
        {{.has_no_content = true, .values = {"{}", 2}}, "{\"values\":{},\"label\":null}"},
        {{.has_no_content = true, .values = {"{}", 2}, .label = {"l", 1}, .id = {"i", 1}},
         "{\"values\":{},\"label\":\"l\",\"id\":\"i\"}"},
    };
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        struct nb_buffer out = {0};
        ck_assert_int_eq(nb_item_write(&items[i].item, true, &out), 0);
        ck_assert_int_eq(nb_buffer_append(&out, "", 1), 0);
        ck_assert_str_eq(out.bytes, items[i].written);
        nb_buffer_deinit(&out);
    }
}
END_TEST

START_TEST(a_mail_keeps_its_bytes)
{
    unsigned seed = 1763;
    char mail[100];
    unsigned char decoded[200];
    for (size_t length = 0; length < sizeof mail; length++) {
        size_t got = 0;
        for (size_t i = 0; i < length; i++)
            mail[i] = (char)rand_r(&seed);
        const struct nb_item item = {.is_mail = true, .content = {mail, length}};
        json_t *object = parse(&item, true);
        struct nb_string text = member(object, "mail_base64");
        ck_assert_ptr_nonnull(text.bytes);
        ck_assert_int_eq(sodium_base642bin(decoded, sizeof decoded, text.bytes, text.length, NULL,
                                           &got, NULL, sodium_base64_VARIANT_ORIGINAL),
                         0);
        ck_assert_uint_eq(got, length);
        ck_assert_mem_eq(decoded, mail, length);
        json_decref(object);
    }
}
END_TEST

START_TEST(label_and_id_are_sent)
{
    const struct nb_item item = {
        .content = {"x", 1}, .label = {"a\"\n", 3}, .id = {"7\\", 2}, .name = "not sent"};
    json_t *object = parse(&item, true);
    ck_assert_uint_eq(json_object_size(object), 3);
    ck_assert(nb_string_equals(member(object, "label"), "a\"\n"));
    ck_assert(nb_string_equals(member(object, "id"), "7\\"));
    json_decref(object);
    object = parse(&item, false);
    ck_assert_uint_eq(json_object_size(object), 2);
    ck_assert_ptr_null(json_object_get(object, "label"));
    json_decref(object);
}
END_TEST

START_TEST(random_bytes_are_json)
{
    unsigned seed = 1763;
    for (int round = 0; round < 3000; round++) {
        char bytes[40];
        size_t length = (size_t)rand_r(&seed) % sizeof bytes;
        for (size_t i = 0; i < length; i++)
            bytes[i] = (char)(round % 2 == 0 ? rand_r(&seed) : 0xB0 + rand_r(&seed) % 80);
        const struct nb_item item = {.content = {bytes, length}, .label = {bytes, length}};
        json_decref(parse(&item, true));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("item_json");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, a_text_is_read_as_it_was, 0, COUNT(texts));
    tcase_add_test(all, values_are_beside_a_text_or_alone);
    tcase_add_test(all, a_mail_keeps_its_bytes);
    tcase_add_test(all, label_and_id_are_sent);
    tcase_add_test(all, random_bytes_are_json);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
