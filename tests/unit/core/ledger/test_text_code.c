/* SPDX-License-Identifier: Apache-2.0
 *
 * The code of short texts: any sequence of texts reads back, and invalid codes are detected.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/ledger/features_coding.h"
#include "tests/unit/run.h"

static struct nb_text_code *code;

static void set_up(void)
{
    code = nb_text_code_new();
    ck_assert_ptr_nonnull(code);
}

static void tear_down(void)
{
    nb_text_code_free(&code);
}

/* Writes the text after a byte, and expects it back, but not with another length or with a byte
 * less or more. */
static void expect_back(const char *text, size_t length, struct nb_buffer *out)
{
    char *back = malloc(length + 1);
    ck_assert_ptr_nonnull(back);
    out->length = 0;
    ck_assert_int_eq(nb_buffer_append(out, "x", 1), 0);
    ck_assert_int_eq(nb_text_code_write(code, (struct nb_string){text, length}, out), 0);
    struct nb_string stored = {out->bytes + 1, out->length - 1};
    ck_assert(nb_text_code_read(code, stored, back, length));
    ck_assert(memcmp(back, text, length) == 0);
    ck_assert_int_eq(nb_buffer_append(out, "", 1), 0);
    stored = (struct nb_string){out->bytes + 1, out->length - 1};
    ck_assert(!nb_text_code_read(code, stored, back, length));
    if (stored.length > 1) {
        stored.length -= 2;
        ck_assert(!nb_text_code_read(code, stored, back, length));
    }
    free(back);
}

START_TEST(texts_come_back)
{
    static const char *const texts[] = {"",
                                        "a",
                                        "abc",
                                        "abcd",
                                        "pair of words",
                                        "\xFF\xFE\xFD",
                                        "the quick brown fox jumps over the lazy dog"};
    struct nb_buffer out = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_back(texts[i], strlen(texts[i]), &out);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(all_bytes_come_back_behind_all_others)
{
    struct nb_buffer out = {0};
    char text[512];
    for (unsigned first = 0; first < 256; first++) {
        for (unsigned k = 0; k < 256; k++) {
            text[2 * k] = (char)first;
            text[2 * k + 1] = (char)k;
        }
        expect_back(text, sizeof text, &out);
    }
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(words_become_shorter)
{
    static const char text[] = "\xA1"
                               "alternatives\0\xA9the alternatives\1 are";
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_text_code_write(code, (struct nb_string){text, sizeof text}, &out), 0);
    ck_assert_uint_lt(out.length * 4, sizeof text * 3);
    nb_buffer_deinit(&out);
}
END_TEST

/* Bits behind the last code are zeros: a text has one stored form. */
START_TEST(bits_behind_the_end_are_found)
{
    struct nb_buffer out = {0};
    char back[3];
    unsigned refused = 0;
    ck_assert_int_eq(nb_text_code_write(code, (struct nb_string){"abc", 3}, &out), 0);
    for (unsigned bit = 0; bit < 8; bit++) {
        out.bytes[out.length - 1] ^= (char)(1 << bit);
        refused += !nb_text_code_read(code, nb_buffer_string(&out), back, 3);
        out.bytes[out.length - 1] ^= (char)(1 << bit);
    }
    ck_assert_uint_gt(refused, 0);
    ck_assert(nb_text_code_read(code, nb_buffer_string(&out), back, 3));
    nb_buffer_deinit(&out);
}
END_TEST

/* Any bytes are read as some text, within bounds, or refused. */
START_TEST(any_bytes_are_read)
{
    uint32_t random = 1;
    char stored[64], back[600];
    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < sizeof stored; i++) {
            random = random * 1664525 + 1013904223;
            stored[i] = (char)(random >> 24);
        }
        size_t length = random >> 8 & 63;
        char *copy = malloc(length + 1); /* so that a sanitizer sees what is read behind it */
        ck_assert_ptr_nonnull(copy);
        memcpy(copy, stored, length);
        (void)nb_text_code_read(code, (struct nb_string){copy, length}, back, random >> 16 & 511);
        free(copy);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("text_code");
    TCase *t = tcase_create("text_code");
    suite_add_tcase(s, t);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, texts_come_back);
    tcase_add_test(t, all_bytes_come_back_behind_all_others);
    tcase_add_test(t, words_become_shorter);
    tcase_add_test(t, bits_behind_the_end_are_found);
    tcase_add_test(t, any_bytes_are_read);
    return test_run(s);
}
