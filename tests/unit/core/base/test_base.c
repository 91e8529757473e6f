/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/attribute.h"
#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/feature.h"
#include "core/base/key.h"
#include "core/base/system.h"
#include "tests/unit/folder.h"
#include "tests/unit/run.h"

/* ---- error ----------------------------------------------------------------------------------- */

START_TEST(an_error_is_its_code_and_a_sentence)
{
    struct nb_error error;
    ck_assert_int_eq(nb_error_set(&error, NB_INVALID, "line %d: %s", 7, "why"), NB_INVALID);
    ck_assert_int_eq(error.code, NB_INVALID);
    ck_assert_str_eq(error.text, "line 7: why");
    ck_assert_int_eq(nb_error_set(NULL, NB_IO, "%d", 1), NB_IO);
    ck_assert_int_eq(nb_error_no_memory(&error), NB_NO_MEMORY);
    ck_assert_int_eq(error.code, NB_NO_MEMORY);
    ck_assert_int_eq(nb_error_no_memory(NULL), NB_NO_MEMORY);
}
END_TEST

START_TEST(a_long_sentence_is_cut_between_characters)
{
    static const char *const characters[] = {"a", "é", "€", "😀"};
    for (size_t c = 0; c < 4; c++) {
        for (size_t before = 0; before < 6; before++) {
            char text[2 * NB_ERROR_TEXT] = "";
            memset(text, 'x', before);
            size_t width = strlen(characters[c]);
            for (size_t i = before; i + width < sizeof text; i += width)
                memcpy(text + i, characters[c], width);
            struct nb_error error;
            nb_error_set(&error, NB_INVALID, "%s", text);
            size_t length = strlen(error.text);
            ck_assert_uint_eq((length - before) % width, 0);
            ck_assert_uint_gt(length + width, NB_ERROR_TEXT - 1);
            ck_assert_mem_eq(error.text, text, length);
        }
    }
}
END_TEST

START_TEST(a_long_sentence_ends_with_a_whole_word)
{
    char text[2 * NB_ERROR_TEXT] = "";
    struct nb_error error;
    for (size_t first = 1; first < 10; first++) {
        memset(text, 'x', first);
        for (size_t i = first; i + 8 < sizeof text; i += 7)
            memcpy(text + i, " seven.", 8);
        nb_error_set(&error, NB_INVALID, "%s", text);
        size_t length = strlen(error.text);
        ck_assert_uint_gt(length, NB_ERROR_TEXT - 12);
        ck_assert_str_eq(error.text + length - 11, " seven. ...");
    }
}
END_TEST

START_TEST(errno_values_have_codes)
{
    static const struct {
        int value, code;
    } cases[] = {
        {ENOSPC, NB_DISK_FULL}, {EDQUOT, NB_DISK_FULL}, {ENOMEM, NB_NO_MEMORY},
        {ENOENT, NB_NOT_FOUND}, {EACCES, NB_IO},        {99999, NB_IO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nb_error error;
        ck_assert_int_eq(nb_error_errno(&error, cases[i].value, "open x"), cases[i].code);
        ck_assert_int_eq(error.code, cases[i].code);
        ck_assert_int_eq(strncmp(error.text, "open x: ", 8), 0);
        ck_assert_uint_gt(strlen(error.text), 8);
    }
}
END_TEST

/* ---- buffer ---------------------------------------------------------------------------------- */

START_TEST(a_buffer_grows_and_keeps)
{
    struct nb_buffer b = {0};
    ck_assert_int_eq(nb_buffer_append(&b, NULL, 0), 0);
    ck_assert_uint_eq(b.length, 0);
    for (unsigned i = 0; i < 5000; i++) {
        unsigned char byte = (unsigned char)(i * 7);
        ck_assert_int_eq(nb_buffer_append(&b, &byte, 1), 0);
        ck_assert_uint_le(b.length, b.capacity);
    }
    ck_assert_uint_eq(b.length, 5000);
    for (unsigned i = 0; i < 5000; i++)
        ck_assert_uint_eq((unsigned char)b.bytes[i], (unsigned char)(i * 7));
    ck_assert_int_eq(nb_buffer_reserve(&b, SIZE_MAX), NB_NO_MEMORY);
    ck_assert_int_eq(nb_buffer_reserve(&b, SIZE_MAX / 2), NB_NO_MEMORY);
    ck_assert_uint_eq(b.length, 5000);
    nb_buffer_deinit(&b);
    ck_assert_ptr_null(b.bytes);
    ck_assert_int_eq(nb_buffer_puts(&b, "again"), 0);
    ck_assert_uint_eq(b.length, 5);
    nb_buffer_deinit(&b);
}
END_TEST

START_TEST(a_file_is_read_whole)
{
    char folder[NB_TEST_FOLDER_SIZE], path[NB_TEST_FOLDER_SIZE + 8];
    struct nb_buffer b = {0};
    test_folder_make(folder);
    (void)snprintf(path, sizeof path, "%s/file", folder);
    ck_assert_int_eq(nb_buffer_read_file(&b, path, 100), ENOENT);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 200000; i++)
        (void)fputc('a' + i % 26, file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(nb_buffer_puts(&b, "0"), 0);
    ck_assert_int_eq(nb_buffer_read_file(&b, path, 200000), 0);
    ck_assert_uint_eq(b.length, 200001);
    ck_assert_int_eq(b.bytes[0], '0');
    for (size_t i = 0; i < 200000; i++)
        ck_assert_int_eq(b.bytes[i + 1], 'a' + (int)(i % 26));
    ck_assert_int_eq(b.bytes[b.length], 0);
    nb_buffer_deinit(&b);
    ck_assert_int_eq(nb_buffer_read_file(&b, path, 199999), EFBIG);
    nb_buffer_deinit(&b);
    ck_assert_int_eq(nb_buffer_read_file(&b, "/dev/null", 0), 0);
    ck_assert_uint_eq(b.length, 0);
    ck_assert_int_eq(b.bytes[0], 0);
    ck_assert_int_eq(nb_buffer_read_file(&b, folder, 100), EISDIR);
    nb_buffer_deinit(&b);
    test_folder_remove(folder);
}
END_TEST

START_TEST(printing_appends)
{
    struct nb_buffer b;
    nb_buffer_init(&b);
    for (int i = 0; i < 300; i++) {
        size_t before = b.length;
        ck_assert_int_eq(nb_buffer_printf(&b, "<%*d>", i, i), 0);
        char want[400];
        int length = snprintf(want, sizeof want, "<%*d>", i, i);
        ck_assert_uint_eq(b.length - before, (size_t)length);
        ck_assert_mem_eq(b.bytes + before, want, (size_t)length);
    }
    nb_buffer_deinit(&b);
}
END_TEST

/* ---- pack ------------------------------------------------------------------------------------ */

static const uint64_t numbers[] = {0,          1,          0x7F,           0x80,
                                   0x3FFF,     0x4000,     UINT32_MAX,     1ull << 32,
                                   1ull << 62, 1ull << 63, UINT64_MAX - 1, UINT64_MAX};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

START_TEST(what_is_written_is_read)
{
    static const double doubles[] = {0.0, -0.0, 1.5, -1e308, 5e-324};
    struct nb_buffer b = {0};
    struct nb_packer w = {.out = &b};
    for (size_t i = 0; i < NUMBERS; i++) {
        nb_pack_varint(&w, numbers[i]);
        nb_pack_u64(&w, numbers[i]);
        nb_pack_u8(&w, (uint8_t)numbers[i]);
    }
    for (size_t i = 0; i < 5; i++)
        nb_pack_double(&w, doubles[i]);
    nb_pack_string(&w, (struct nb_string){"a\0b", 3});
    nb_pack_string(&w, (struct nb_string){NULL, 0});
    ck_assert_int_eq(w.code, 0);
    struct nb_unpacker r = nb_unpacker_of(b.bytes, b.length);
    for (size_t i = 0; i < NUMBERS; i++) {
        ck_assert_uint_eq(nb_unpack_varint(&r), numbers[i]);
        ck_assert_uint_eq(nb_unpack_u64(&r), numbers[i]);
        ck_assert_uint_eq(nb_unpack_u8(&r), (uint8_t)numbers[i]);
    }
    for (size_t i = 0; i < 5; i++) {
        double d = nb_unpack_double(&r);
        ck_assert_mem_eq(&d, &doubles[i], sizeof d);
    }
    struct nb_string s = nb_unpack_string(&r);
    ck_assert_uint_eq(s.length, 3);
    ck_assert_mem_eq(s.bytes, "a\0b", 3);
    ck_assert(!nb_unpacker_done(&r));
    ck_assert_uint_eq(nb_unpack_string(&r).length, 0);
    ck_assert(nb_unpacker_done(&r));
    /* Every shorter input fails somewhere, and reads zeros from there on. */
    for (size_t length = 0; length < b.length; length++) {
        r = nb_unpacker_of(b.bytes, length);
        for (size_t i = 0; i < NUMBERS; i++) {
            (void)nb_unpack_varint(&r);
            (void)nb_unpack_u64(&r);
            (void)nb_unpack_u8(&r);
        }
        for (size_t i = 0; i < 5; i++)
            (void)nb_unpack_double(&r);
        (void)nb_unpack_string(&r);
        (void)nb_unpack_string(&r);
        ck_assert(r.failed && !nb_unpacker_done(&r));
        ck_assert_uint_eq(nb_unpack_u64(&r), 0);
    }
    nb_buffer_deinit(&b);
}
END_TEST

START_TEST(numbers_are_little_endian_and_short)
{
    struct nb_buffer b = {0};
    struct nb_packer w = {.out = &b};
    nb_pack_u64(&w, 0x0102030405060708);
    nb_pack_varint(&w, 300);
    ck_assert_uint_eq(b.length, 10);
    ck_assert_mem_eq(b.bytes, "\x08\x07\x06\x05\x04\x03\x02\x01\xac\x02", 10);
    nb_buffer_deinit(&b);
}
END_TEST

START_TEST(impossible_input_fails)
{
    static const struct {
        const char *bytes;
        size_t length;
    } varints[] = {
        {"", 0},
        {"\x80", 1},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10}, /* more than 64 bits */
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11},
    };
    for (size_t i = 0; i < sizeof varints / sizeof *varints; i++) {
        struct nb_unpacker r = nb_unpacker_of(varints[i].bytes, varints[i].length);
        ck_assert_uint_eq(nb_unpack_varint(&r), 0);
        ck_assert(r.failed);
    }
    struct nb_unpacker r = nb_unpacker_of("\x0a", 1);
    ck_assert_uint_eq(nb_unpack_bounded(&r, 10), 10);
    r = nb_unpacker_of("\x0b", 1);
    ck_assert_uint_eq(nb_unpack_bounded(&r, 10), 0);
    ck_assert(r.failed);
    r = nb_unpacker_of("\x05"
                       "abcd",
                       5); /* a string longer than the input */
    ck_assert_uint_eq(nb_unpack_string(&r).length, 0);
    ck_assert(r.failed);
    r = nb_unpacker_of(NULL, 0);
    ck_assert(nb_unpacker_done(&r));
    ck_assert_uint_eq(nb_unpack_u8(&r), 0);
    ck_assert(!nb_unpacker_done(&r));
}
END_TEST

/* ---- key, feature, clock --------------------------------------------------------------------- */

START_TEST(a_key_decides_every_hash)
{
    struct nb_key a, b, again;
    nb_key_generate(&a);
    nb_key_generate(&b);
    nb_key_restore(&again, a.bytes);
    static const size_t lengths[] = {0, 1, 3, 8, 16, 17, 128, 129, 240, 241, 5000};
    static char text[5000];
    memset(text, 'q', sizeof text);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint64_t hash = nb_key_hash(&a, text, lengths[i]);
        ck_assert_uint_eq(hash, nb_key_hash(&again, text, lengths[i]));
        ck_assert_uint_ne(hash, nb_key_hash(&b, text, lengths[i]));
    }
    char one[NB_CONTENT_ID_LENGTH + 1], two[NB_CONTENT_ID_LENGTH + 1];
    nb_key_content_id(&a, 0, "text", 4, one);
    nb_key_content_id(&again, 0, "text", 4, two);
    ck_assert_str_eq(one, two);
    ck_assert_uint_eq(strlen(one), NB_CONTENT_ID_LENGTH);
    ck_assert_uint_eq(strspn(one, "0123456789abcdef"), NB_CONTENT_ID_LENGTH);
    nb_key_content_id(&a, 1, "text", 4, two);
    ck_assert_str_ne(one, two);
    nb_key_content_id(&b, 0, "text", 4, two);
    ck_assert_str_ne(one, two);
    nb_key_content_id(&a, 0, "Text", 4, two);
    ck_assert_str_ne(one, two);
}
END_TEST

/* Every length and every byte count, zeros at the end too; and the bytes behind do not. */
START_TEST(a_feature_has_a_hash_of_its_text)
{
    enum { MOST = 70 };
    struct nb_key a, b;
    uint64_t seen[MOST + 1];
    char text[MOST + NB_FEATURE_BLOCK] = {0};
    nb_key_generate(&a);
    nb_key_generate(&b);
    for (size_t length = 0; length <= MOST; length++) {
        seen[length] = nb_feature_hash(&a, text, length);
        ck_assert_uint_ne(seen[length], nb_feature_hash(&b, text, length));
        memset(text + length, 'x', sizeof text - length);
        ck_assert_uint_eq(seen[length], nb_feature_hash(&a, text, length));
        ck_assert_uint_eq(seen[length], nb_feature_hash_padded(&a, text, length));
        memset(text + length, 0, sizeof text - length);
        for (size_t i = 0; i < length; i++) {
            ck_assert_uint_ne(seen[i], seen[length]);
            text[i] ^= 1;
            ck_assert_uint_ne(seen[length], nb_feature_hash(&a, text, length));
            text[i] ^= 1;
        }
    }
}
END_TEST

/* Slots of learned weights are the same in every store; the rest of an id is not. */
START_TEST(the_lowest_bits_of_a_hash_need_no_key)
{
    static const char *const texts[] = {"a",
                                        "subject:money",
                                        "more than sixteen bytes",
                                        "much more than thirty-two bytes of text",
                                        "pair:free money",
                                        "pair:more than-sixteen-bytes-of-a-word"};
    enum { TEXTS = sizeof texts / sizeof *texts };
    struct nb_key a, b;
    uint64_t open[TEXTS];
    nb_key_generate(&a);
    nb_key_generate(&b);
    for (size_t i = 0; i < TEXTS; i++) {
        uint64_t one = nb_feature_hash(&a, texts[i], strlen(texts[i]));
        uint64_t other = nb_feature_hash(&b, texts[i], strlen(texts[i]));
        open[i] = one & NB_FEATURE_OPEN;
        ck_assert_uint_eq(open[i], other & NB_FEATURE_OPEN);
        ck_assert_uint_ne(one & ~NB_FEATURE_OPEN, other & ~NB_FEATURE_OPEN);
        for (size_t k = 0; k < i; k++)
            ck_assert_uint_ne(open[k], open[i]);
    }
}
END_TEST

/* 2^16 words in 2^18 slots: by chance 7,550 find theirs taken; so do the words of a text, and half
 * as many that are numbered in a row. */
START_TEST(words_are_spread_over_the_slots)
{
    enum { WORDS = 1 << 16 };
    static unsigned char taken[1 << NB_FEATURE_OPEN_BITS];
    struct nb_key key;
    char word[16];
    unsigned collisions = 0;
    nb_key_generate(&key);
    memset(taken, 0, sizeof taken);
    for (unsigned i = 0; i < WORDS; i++) {
        int length = snprintf(word, sizeof word, "word%u", i);
        uint64_t slot = nb_feature_hash(&key, word, (size_t)length) & NB_FEATURE_OPEN;
        collisions += taken[slot];
        taken[slot] = 1;
    }
    ck_assert_uint_lt(collisions, 8400);
}
END_TEST

START_TEST(a_pair_has_a_hash_of_the_hashes_of_its_words)
{
    struct nb_key key;
    nb_key_generate(&key);
    uint64_t free = nb_feature_hash(&key, "free", 4), money = nb_feature_hash(&key, "money", 5);
    ck_assert_uint_eq(nb_feature_hash(&key, "pair:free money", 15),
                      nb_feature_hash_pair(&key, free, money));
    ck_assert_uint_ne(nb_feature_hash(&key, "pair:money free", 15),
                      nb_feature_hash(&key, "pair:free money", 15));
    ck_assert_uint_eq(nb_feature_hash(&key, "pair:free", 9),
                      nb_feature_hash_padded(&key, "pair:free\0\0\0\0\0\0", 9));
}
END_TEST

/* The stored key must give the same ids for ever: these are those of the key 0, 1, 2 ... */
START_TEST(a_restored_key_never_changes)
{
    unsigned char bytes[NB_KEY_BYTES];
    for (unsigned char i = 0; i < NB_KEY_BYTES; i++)
        bytes[i] = i;
    struct nb_key key;
    nb_key_restore(&key, bytes);
    char id[NB_CONTENT_ID_LENGTH + 1];
    nb_key_content_id(&key, 0, "free", 4, id);
    ck_assert_str_eq(id, "7d2956b4efa3e8dd9127610e680bc56d");
    ck_assert_uint_eq(nb_key_hash(&key, "free", 4), UINT64_C(0x80f9ef5b6218b6e9));
    ck_assert_uint_eq(nb_feature_hash(&key, "free", 4), UINT64_C(0x67c85f14fc28595));
    ck_assert_uint_eq(nb_feature_hash(&key, "received:mail.example.com", 25),
                      UINT64_C(0x6a3937df616863a));
    ck_assert_uint_eq(nb_feature_hash(&key, "pair:free money", 15), UINT64_C(0x1e2366d56cd0b1b));
}
END_TEST

/* The same mail as a Maildir, an mbox, SMTP and IMAP bring it; and what is another mail. */
START_TEST(a_mail_has_one_id_however_it_travelled)
{
    static const struct {
        const char *mail;
        bool is_same;
    } cases[] = {
        {"A: b\n\nFrom here\n\non\n", true},
        {"A: b\r\n\r\nFrom here\r\n\r\non\r\n", true},
        {"A: b\r\n\nFrom here\n\r\non\r\n", true},
        {"From x Thu Jan  1 00:00:00 1970\nA: b\n\nFrom here\n\non\n\n", true},
        {"From x\r\nA: b\r\n\r\nFrom here\r\n\r\non", true},
        {"A: b\r\n\r\nFrom here\r\n\r\non\r\n\r\n\r\n", true},
        {"A: b\n\nFrom here\non\n", false},
        {"A: b\n\nFrom here\n\r\ron\n", false},
        {"A: b\n\nFrom here\r\non \n", false},
        {"From A: b\n\nFrom here\n\non\n", false},
        {"From x\nFrom x\nA: b\n\nFrom here\n\non\n", false},
        {"from x\nA: b\n\nFrom here\n\non\n", false},
        {"From ", false},
        {"From x\n", false},
        {"\r", false},
        {"", false},
    };
    struct nb_key key;
    nb_key_generate(&key);
    char want[NB_CONTENT_ID_LENGTH + 1], got[NB_CONTENT_ID_LENGTH + 1];
    nb_key_content_id(&key, 1, cases[0].mail, strlen(cases[0].mail), want);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nb_key_mail_id(&key, 1, cases[i].mail, strlen(cases[i].mail), got);
        ck_assert_msg((strcmp(got, want) == 0) == cases[i].is_same, "case %zu: %s", i, got);
    }
    /* A CR that ends the bytes, and one whose LF was cut off. */
    nb_key_mail_id(&key, 1, "a\r\nb", 2, want);
    nb_key_mail_id(&key, 1, "a\nb", 2, got);
    ck_assert_str_eq(got, want);
}
END_TEST

START_TEST(a_feature_names_its_field)
{
    for (unsigned f = 0; f < NB_FIELDS; f++) {
        uint64_t id = nb_feature_id((enum nb_field)f, UINT64_MAX);
        ck_assert_uint_eq(nb_feature_field(id), f);
        ck_assert_uint_eq(id & ((UINT64_C(1) << NB_FIELD_SHIFT) - 1),
                          (UINT64_C(1) << NB_FIELD_SHIFT) - 1);
        ck_assert_uint_eq(nb_feature_id((enum nb_field)f, 5) & 0xFF, 5);
        ck_assert_int_eq(nb_field_is_token((enum nb_field)f), f <= NB_FIELD_HIDDEN);
    }
}
END_TEST

START_TEST(fields_are_a_table)
{
    ck_assert_str_eq(nb_field_table[NB_FIELD_BODY].name, "body");
    ck_assert_str_eq(nb_field_table[NB_FIELD_NGRAM].name, "ngram");
    for (unsigned f = 0; f < NB_FIELDS; f++) {
        const struct nb_field_info *info = &nb_field_table[f];
        ck_assert_ptr_eq(nb_field_name((enum nb_field)f), info->name);
        ck_assert_str_eq(nb_field_names[f], info->name);
        ck_assert_int_eq(nb_field_is_token((enum nb_field)f), info->is_token);
    }
    ck_assert_ptr_null(nb_field_names[NB_FIELDS]);
    ck_assert_str_eq(nb_field_name(NB_FIELDS), "unknown");
}
END_TEST

START_TEST(a_value_names_its_part)
{
    for (unsigned part = 0; part < NB_PARTS_MOST; part++) {
        uint64_t id = nb_feature_value_id(part, UINT64_MAX);
        ck_assert_int_eq(nb_feature_field(id), NB_FIELD_VALUE);
        ck_assert_uint_eq(nb_feature_part(id), part);
        ck_assert(nb_feature_is_token(id) == (part % 2 == 0));
        ck_assert(nb_feature_has_field(id));
        ck_assert_uint_eq(nb_feature_id_like(id, 5), nb_feature_value_id(part, 5));
        uint64_t number = nb_feature_number_id(part, UINT64_MAX);
        ck_assert(nb_feature_is_number(number) && !nb_feature_is_number(id));
        ck_assert_uint_eq(nb_feature_part(number), part);
        ck_assert_uint_eq(nb_feature_id_like(number, 5), number);
    }
    uint64_t word = nb_feature_id(NB_FIELD_PAIR, 7);
    ck_assert_uint_eq(nb_feature_id_like(word, 5), nb_feature_id(NB_FIELD_PAIR, 5));
    ck_assert(nb_feature_has_field(word) && !nb_feature_has_field(UINT64_MAX));
    ck_assert(!nb_feature_has_field(nb_feature_id(NB_FIELDS, 1)));
    ck_assert(!nb_feature_is_number(word) && !nb_feature_is_number(UINT64_MAX));
}
END_TEST

START_TEST(values_are_those_of_attributes)
{
    const struct nb_attribute list[] = {{(char[]){"title"}, NB_FIELD_KIND_TEXT},
                                        {(char[]){"land"}, NB_FIELD_KIND_CATEGORY},
                                        {(char[]){"tags"}, NB_FIELD_KIND_SET}};
    const struct nb_attributes attributes = {list, 3, false};
    char bytes[NB_CATEGORY_MOST + 1] = {0};
    memset(bytes, 'x', sizeof bytes);
    const struct nb_string fits = {bytes, NB_CATEGORY_MOST}, longer = {bytes, sizeof bytes};
    const struct {
        const char *name;
        bool is_list;
        const struct nb_string *item;
        int rc;
    } cases[] = {
        {"title", false, &longer, 0},
        {"land", false, &fits, 0},
        {"tags", true, &fits, 0},
        {"land", false, &longer, NB_UNUSABLE},
        {"tags", true, &longer, NB_UNUSABLE},
        {"tags", false, &fits, NB_UNUSABLE},
        {"land", true, &fits, NB_UNUSABLE},
        {"title", true, &fits, NB_UNUSABLE},
        {"Land", false, &fits, NB_UNUSABLE},
        {"", false, &fits, NB_UNUSABLE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct nb_value value = {nb_string_of(cases[i].name), cases[i].is_list, cases[i].item,
                                       1, NB_VALUE_TEXT};
        struct nb_error error = {0};
        int rc = nb_values_check((struct nb_values){&value, 1}, attributes, &error);
        ck_assert_msg(rc == cases[i].rc, "case %zu: %s", i, error.text);
        ck_assert(rc == 0 || strstr(error.text, cases[i].name) != NULL);
    }
    ck_assert_uint_eq(nb_attribute_find(attributes, nb_string_of("tags")), 2);
    ck_assert_uint_eq(nb_attribute_find(attributes, nb_string_of("tag")), 3);
    static const char *const bad[] = {"",    "a=b",  "a:b",
                                      "a\n", "\xFF", "123456789012345678901234567890123"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!nb_attribute_name_is_good(nb_string_of(bad[i])), "%s", bad[i]);
    ck_assert(nb_attribute_name_is_good(nb_string_of("Gr\xC3\xB6\xC3\x9F"
                                                     "e 1")));
}
END_TEST

START_TEST(clocks_go_forward)
{
    int64_t year_2024 = INT64_C(1704067200000);
    ck_assert_int_gt(nb_clock_now(), year_2024);
    uint64_t last = nb_clock_monotonic();
    for (int i = 0; i < 1000; i++) {
        uint64_t now = nb_clock_monotonic();
        ck_assert_uint_ge(now, last);
        last = now;
    }
}
END_TEST

int main(void)
{
    if (sodium_init() < 0)
        return 1;
    Suite *suite = suite_create("base");
    TCase *all = tcase_create("all");
    tcase_add_test(all, an_error_is_its_code_and_a_sentence);
    tcase_add_test(all, a_long_sentence_is_cut_between_characters);
    tcase_add_test(all, a_long_sentence_ends_with_a_whole_word);
    tcase_add_test(all, errno_values_have_codes);
    tcase_add_test(all, a_buffer_grows_and_keeps);
    tcase_add_test(all, a_file_is_read_whole);
    tcase_add_test(all, printing_appends);
    tcase_add_test(all, what_is_written_is_read);
    tcase_add_test(all, numbers_are_little_endian_and_short);
    tcase_add_test(all, impossible_input_fails);
    tcase_add_test(all, a_key_decides_every_hash);
    tcase_add_test(all, a_feature_has_a_hash_of_its_text);
    tcase_add_test(all, the_lowest_bits_of_a_hash_need_no_key);
    tcase_add_test(all, words_are_spread_over_the_slots);
    tcase_add_test(all, a_pair_has_a_hash_of_the_hashes_of_its_words);
    tcase_add_test(all, a_restored_key_never_changes);
    tcase_add_test(all, a_mail_has_one_id_however_it_travelled);
    tcase_add_test(all, a_feature_names_its_field);
    tcase_add_test(all, fields_are_a_table);
    tcase_add_test(all, a_value_names_its_part);
    tcase_add_test(all, values_are_those_of_attributes);
    tcase_add_test(all, clocks_go_forward);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
