/* SPDX-License-Identifier: Apache-2.0
 *
 * Base64 of documents, compared with libsodium, which decides what is valid base64.
 */
#include <check.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/document_json.h"
#include "tests/unit/run.h"

enum { TEXT_MOST = 240, BYTES_MOST = TEXT_MOST };

/* A seeded generator in this file (splitmix64), so that a failure repeats on every machine. */
static uint64_t seed = 4648;

static uint32_t draw(uint32_t below)
{
    uint64_t z = seed += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return (uint32_t)((z ^ z >> 31) >> 32) % below;
}

/* Expects both decoders to agree; the output has room for `room` bytes. Returns whether the text
 * was base64. */
static bool decodes_alike(struct nb_string text, size_t room)
{
    unsigned char want[BYTES_MOST], got[BYTES_MOST + 1];
    size_t want_length = 0, got_length = 0;
    const char *end = NULL;
    got[room] = 0xA5;
    int rc = sodium_base642bin(want, room, text.bytes, text.length, " \t\r\n", &want_length, &end,
                               sodium_base64_VARIANT_ORIGINAL);
    bool is_right = rc == 0 && end == text.bytes + text.length;
    const char *fault = nb_base64_decode(text, got, room, &got_length);
    ck_assert_msg((fault == NULL) == is_right, "%d for %.*s", is_right, (int)text.length,
                  text.bytes);
    ck_assert_uint_eq(got[room], 0xA5);
    if (is_right) {
        ck_assert_uint_eq(got_length, want_length);
        ck_assert_mem_eq(got, want, want_length);
    } else {
        ck_assert(fault >= text.bytes && fault <= text.bytes + text.length);
        ck_assert_ptr_eq(fault, end);
    }
    return is_right;
}

/* Base64 of random bytes, with white space put in at random places. */
static size_t write_right(char *text)
{
    unsigned char bytes[96];
    char plain[TEXT_MOST];
    size_t size = draw(sizeof bytes + 1), length = 0;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)draw(256);
    sodium_bin2base64(plain, sizeof plain, bytes, size, sodium_base64_VARIANT_ORIGINAL);
    uint32_t often = draw(3) == 0 ? 0 : 1 + draw(60);
    for (size_t i = 0; plain[i] != 0 && length + 2 < TEXT_MOST; i++) {
        if (often != 0 && draw(often) == 0)
            text[length++] = " \t\r\n"[draw(4)];
        text[length++] = plain[i];
    }
    return length;
}

START_TEST(random_texts_are_decoded_as_the_library_does)
{
    static const char strange[] = "=-_%\0\x80\xFF\v.,";
    char text[TEXT_MOST];
    unsigned right = 0, wrong = 0;
    printf("seed %llu\n", (unsigned long long)seed);
    for (unsigned trial = 0; trial < 40000; trial++) {
        size_t length = write_right(text);
        for (uint32_t changes = draw(3); changes > 0 && length > 0; changes--)
            text[draw((uint32_t)length)] = strange[draw(sizeof strange - 1)];
        if (draw(4) == 0 && length > 0)
            length -= draw(4) % length;
        *(decodes_alike((struct nb_string){text, length}, BYTES_MOST) ? &right : &wrong) += 1;
    }
    ck_assert_uint_gt(right, 5000);
    ck_assert_uint_gt(wrong, 5000);
}
END_TEST

START_TEST(nothing_is_written_behind_the_room)
{
    /* 12 bytes; and 36 bytes, which are decoded 16 digits at a time */
    const char *text = "QUJDREVGR0hJSktM";
    const char *longer = "QUJDREVGR0hJSktMQUJDREVGR0hJSktMQUJDREVGR0hJSktM";
    for (size_t room = 0; room <= 40; room++) {
        ck_assert_int_eq(decodes_alike(nb_string_of(text), room), room >= 12);
        ck_assert_int_eq(decodes_alike(nb_string_of(longer), room), room >= 36);
    }
}
END_TEST

int main(void)
{
    if (sodium_init() < 0)
        return EXIT_FAILURE;
    Suite *suite = suite_create("base64");
    TCase *tests = tcase_create("base64");
    tcase_add_test(tests, random_texts_are_decoded_as_the_library_does);
    tcase_add_test(tests, nothing_is_written_behind_the_room);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
