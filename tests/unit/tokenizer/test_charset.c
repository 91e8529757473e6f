/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/run.h"
#include "tokenizer/charset.h"

#define BYTES(literal) literal, sizeof(literal) - 1

static const struct {
    const char *charset;
    const char *bytes;
    size_t length;
    const char *utf8;
} cases[] = {
    {"utf-8", BYTES("caf\xC3\xA9"), "café"},
    {"UTF8",
     BYTES("\xEF\xBB\xBF"
           "bom stays"),
     "\xEF\xBB\xBF"
     "bom stays"},
    {"utf-8", BYTES("caf\xE9"), "caf\xE9"}, /* left to the tokenizer */
    {"iso-8859-1", BYTES("caf\xE9 \x93quoted\x94 \x80"), "café “quoted” €"},
    {"US-ASCII", BYTES("caf\xE9"), "café"},
    {" \"iso-8859-1\" ", BYTES("\xE9"), "é"},
    {"windows-1252", BYTES("\x81\x9F"), "\xC2\x81Ÿ"},
    {"iso-8859-2", BYTES("\xB3\xF3\xBC"), "łóź"},
    {"ISO-8859-15", BYTES("\xA4"), "€"},
    {"windows-1251", BYTES("\xEF\xF0\xE8\xE2\xE5\xF2"), "привет"},
    {"koi8-r", BYTES("\xD0\xD2\xC9\xD7\xC5\xD4"), "привет"},
    {"gb2312", BYTES("\xC3\xE2\xB7\xD1"), "免费"},
    {"gb2312", BYTES("\x81\x40"), "丂"}, /* in GBK, not in GB 2312 */
    {"big5", BYTES("\xA7\x4B\xB6\x4F"), "免費"},
    {"shift_jis", BYTES("\x96\xB3\x97\xBF"), "無料"},
    {"x-sjis", BYTES("\x87\x40"), "①"}, /* NEC's row, not in Shift JIS proper */
    {"iso-2022-jp", BYTES("\x1B$B$\"\x1B(B a"), "あ a"},
    {"euc-jp", BYTES("\xA4\xA2"), "あ"},
    {"ks_c_5601-1987", BYTES("\xB9\xAB\xB7\xE1"), "무료"},
    {"euc-kr", BYTES("\x8C\x63"), "똠"}, /* in UHC, not in EUC-KR proper */
    {"unicode-1-1-utf-7", BYTES("caf+AOk-"), "café"},
    {"utf-16",
     BYTES("\xFF\xFE"
           "a\0\xE9\0"),
     "aé"},
    {"utf-16",
     BYTES("\xFE\xFF"
           "\0a\0\xE9"),
     "aé"},
    {"utf-16", BYTES("a\0\xE9\0"), "aé"},
    {"utf-16le",
     BYTES("\xFF\xFE"
           "a\0"),
     "a"},
    {"utf-16be", BYTES("\0a\x20\xAC"), "a€"},
    {"utf-32", BYTES("\0\0\xFE\xFF\0\0\0a"), "a"},
    {"utf-32", BYTES("\xFF\xFE\0\0\x00\xF6\x01\x00"), "😀"},
    /* What is invalid becomes U+FFFD, and the rest is read. */
    {"utf-16le",
     BYTES("a\0\x00\xD8"
           "b\0"),
     "a�b"},
    {"utf-16le", BYTES("a\0b"), "a�"},
    {"gb2312",
     BYTES("a\xFF"
           "b"),
     "a�b"},
    {"shift_jis", BYTES("a\x81"), "a�"},
    {"iso-8859-3",
     BYTES("a\xA5"
           "b"),
     "a�b"},
    {"iso-8859-2", BYTES(""), ""},
    /* RFC 2152, its examples; and what is behind a surrogate that is alone is read. */
    {"utf-7", BYTES("A+ImIDkQ."), "A≢Α."},
    {"utf-7", BYTES("Hi Mom -+Jjo--!"), "Hi Mom -☺-!"},
    {"UTF7", BYTES("+ZeVnLIqe-"), "日本語"},
    {"utf-7", BYTES("Item 3 is +AKM-1."), "Item 3 is £1."},
    {"utf-7", BYTES("1+-1, 1 + 1+"), "1+1, 1 + 1+"},
    {"utf-7", BYTES("+2D3eAA-!+2D3eAA"), "😀!😀"},
    {"utf-7", BYTES("+2AA-buy +2AAAYQ-!"), "�buy �a!"},
    {"utf-7", BYTES("+3AA-buy+3ADYAA now"), "�buy�� now"},
    {"utf-7", BYTES("caf\xE9+"), "caf�+"},
    {"csUnicode11UTF7", BYTES("+2ADYPQ-x"), "��x"},
};

static int convert(const char *charset, const char *bytes, size_t length, size_t most,
                   struct nb_buffer *out, struct nb_error *error)
{
    struct nb_string name = {charset, strlen(charset)};
    return nb_charset_to_utf8(NULL, name, bytes, length, most, out, error);
}

START_TEST(decodes_each_case)
{
    struct nb_buffer out = {0};
    nb_buffer_puts(&out, "<");
    struct nb_error error = {0};
    int rc = convert(cases[_i].charset, cases[_i].bytes, cases[_i].length, 1000, &out, &error);
    ck_assert_msg(rc == 0, "case %d: %s", _i, error.text);
    ck_assert_msg(out.length == strlen(cases[_i].utf8) + 1 && out.bytes[0] == '<' &&
                      memcmp(out.bytes + 1, cases[_i].utf8, out.length - 1) == 0,
                  "case %d (%s): \"%.*s\"", _i, cases[_i].charset, (int)out.length, out.bytes);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(refuses_what_is_no_charset)
{
    static const char *const names[] = {"no-such-charset", "",       " ",       "utf-8//TRANSLIT",
                                        "../../etc",       "char",   "WCHAR_T", "INTERNAL",
                                        "utf 8",           "caf\xE9"};
    struct nb_buffer out = {0};
    struct nb_error error = {0};
    ck_assert_int_eq(convert(names[_i], "x", 1, 100, &out, &error), NB_UNSUPPORTED);
    ck_assert_int_eq(error.code, NB_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "charset"));
    ck_assert_uint_eq(out.length, 0);
    char longest[200];
    memset(longest, 'x', sizeof longest);
    struct nb_string name = {longest, sizeof longest};
    ck_assert_int_eq(nb_charset_to_utf8(NULL, name, "x", 1, 100, &out, NULL), NB_UNSUPPORTED);
    nb_buffer_deinit(&out);
}
END_TEST

/* The limit is exact: as many bytes as come out fit, one less does not. */
START_TEST(keeps_to_the_limit)
{
    struct nb_buffer out = {0};
    size_t full = strlen(cases[_i].utf8);
    if (full == 0)
        return;
    nb_buffer_puts(&out, "before");
    ck_assert_int_eq(
        convert(cases[_i].charset, cases[_i].bytes, cases[_i].length, full, &out, NULL), 0);
    ck_assert_uint_eq(out.length, full + 6);
    nb_buffer_deinit(&out);
    struct nb_error error = {0};
    ck_assert_int_eq(
        convert(cases[_i].charset, cases[_i].bytes, cases[_i].length, full - 1, &out, &error),
        NB_TOO_LARGE);
    ck_assert_int_eq(error.code, NB_TOO_LARGE);
    nb_buffer_deinit(&out);
}
END_TEST

/* Large input grows the output as it comes, valid or not. */
START_TEST(takes_large_input)
{
    enum { LENGTH = 1 << 20 };
    static const char *const charsets[] = {"iso-8859-1", "koi8-r", "gb18030", "utf-16",
                                           "shift_jis",  "utf-7",  "big5",    "euc-kr"};
    char *bytes = malloc(LENGTH);
    ck_assert_ptr_nonnull(bytes);
    for (int fill = 0; fill < 3; fill++) {
        memset(bytes, fill == 0 ? 'a' : fill == 1 ? 0xFF : 0x81, LENGTH);
        struct nb_buffer out = {0};
        ck_assert_int_eq(convert(charsets[_i], bytes, LENGTH, (size_t)LENGTH * 4, &out, NULL), 0);
        ck_assert_uint_ge(out.length, LENGTH / 4);
        ck_assert_uint_le(out.length, (size_t)LENGTH * 3);
        nb_buffer_deinit(&out);
    }
    free(bytes);
}
END_TEST

/* Repeated; in some charset each of them is a surrogate without its partner, a shift or an escape
 * sequence without an end, a character that is cut off, or a byte that means nothing. */
static const struct nb_string hostile[] = {
    {BYTES("+3AA-")}, {BYTES("+2AA-a")},       {BYTES("&3AA-")},        {BYTES("\x1B$B\x1B(B")},
    {BYTES("\x1B$")}, {BYTES("\x0E\xFF\x0F")}, {BYTES("\x81\x30\x81")}, {BYTES("\xD8\x00\x00")},
    {BYTES("\xFF")},  {BYTES("\xA1\xFF")},     {BYTES("\x8E")},         {BYTES("a\x80")},
};
enum { HOSTILE_BYTES = 1 << 14 };

/* Units of work for each byte of `unit`, repeated. */
static uint64_t work_of(struct nb_charset_state *state, const char *charset, struct nb_string unit)
{
    static char bytes[HOSTILE_BYTES];
    struct nb_buffer out = {0};
    struct nb_string name = {charset, strlen(charset)};
    for (size_t i = 0; i < HOSTILE_BYTES; i++)
        bytes[i] = unit.bytes[i % unit.length];
    struct nb_bag_work work = NB_WORK_UNBOUNDED;
    state->work = &work;
    int rc = nb_charset_to_utf8(state, name, bytes, HOSTILE_BYTES, (size_t)4 * HOSTILE_BYTES, &out,
                                NULL);
    ck_assert_msg(rc == 0 || rc == NB_UNSUPPORTED || rc == NB_TOO_LARGE, "%s: %d", charset, rc);
    nb_buffer_deinit(&out);
    uint64_t units = UINT64_MAX - work.left;
    return (units - (units > NB_CHARSET_OPEN ? NB_CHARSET_OPEN : 0)) / HOSTILE_BYTES;
}

/* The work for a byte has a bound in every charset of this machine, whatever the bytes are. */
START_TEST(bounds_the_work_in_every_charset)
{
    char line[4096];
    size_t charsets = 0;
    struct nb_charset_state state = {.name = ""};
    FILE *names = popen("iconv -l", "re");
    ck_assert_ptr_nonnull(names);
    while (fgets(line, sizeof line, names) != NULL) {
        for (char *name = strtok(line, "/, \n"); name != NULL; name = strtok(NULL, "/, \n")) {
            charsets++;
            for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
                uint64_t work = work_of(&state, name, hostile[i]);
                ck_assert_msg(work <= 16, "%s, text %zu: %llu units a byte", name, i,
                              (unsigned long long)work);
            }
        }
    }
    ck_assert_int_eq(pclose(names), 0);
    ck_assert_uint_ge(charsets, 1);
    nb_charset_state_deinit(&state);
}
END_TEST

/* A decoder that was left in the middle of a text begins the next one anew. */
START_TEST(reuses_the_last_charset)
{
    static const struct {
        const char *bytes;
        size_t most;
        int rc;
        const char *utf8;
    } texts[] = {{"\x1B$B$\"", 100, 0, "あ"},
                 {"a", 100, 0, "a"},
                 {"\x1B$B$\"$\"$\"", 3, NB_TOO_LARGE, NULL},
                 {"b$", 100, 0, "b$"}};
    struct nb_bag_work work = NB_WORK_UNBOUNDED;
    struct nb_charset_state state = {.work = &work};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct nb_buffer out = {0};
        struct nb_string name = {"iso-2022-jp", 11};
        int rc = nb_charset_to_utf8(&state, name, texts[i].bytes, strlen(texts[i].bytes),
                                    texts[i].most, &out, NULL);
        ck_assert_int_eq(rc, texts[i].rc);
        if (texts[i].utf8 != NULL)
            ck_assert(out.length == strlen(texts[i].utf8) &&
                      memcmp(out.bytes, texts[i].utf8, out.length) == 0);
        nb_buffer_deinit(&out);
    }
    ck_assert_uint_ge(work.left, UINT64_MAX - 2 * NB_CHARSET_OPEN);
    nb_charset_state_deinit(&state);
}
END_TEST

/* When the work is spent, the rest of a text goes on as windows-1252, and no charset is opened. */
START_TEST(ends_with_the_work)
{
    /* The work for three calls of iconv, the last of which must finish the text. */
    struct nb_bag_work work = {.left = NB_CHARSET_OPEN + 3 * (NB_CHARSET_CALL + 10)};
    struct nb_charset_state state = {.work = &work};
    struct nb_buffer out = {0};
    const char bytes[] = "\xFE\xFE\xFE\xFE"
                         "caf\xE9";
    struct nb_string name = {"shift_jis", 9};
    ck_assert_int_eq(nb_charset_to_utf8(&state, name, bytes, sizeof bytes - 1, 100, &out, NULL), 0);
    ck_assert(work.is_short);
    ck_assert(out.length > 5 && memcmp(out.bytes + out.length - 5, "café", 5) == 0);
    name = (struct nb_string){"koi8-r", 6};
    ck_assert_int_eq(nb_charset_to_utf8(&state, name, "x", 1, 100, &out, NULL), NB_UNSUPPORTED);
    nb_buffer_deinit(&out);
    nb_charset_state_deinit(&state);
}
END_TEST

/* A text that cannot be in its charset goes on as windows-1252. */
START_TEST(gives_up_a_charset_that_is_wrong)
{
    enum { LENGTH = 8000 };
    static char bytes[LENGTH + 4];
    struct nb_buffer out = {0};
    memset(bytes, 0xFF, LENGTH);
    memcpy(bytes + LENGTH, "caf\xE9", 4);
    ck_assert_int_eq(convert("shift_jis", bytes, sizeof bytes, sizeof bytes * 4, &out, NULL), 0);
    ck_assert(memcmp(out.bytes, "\xEF\xBF\xBD", 3) == 0);
    ck_assert(memcmp(out.bytes + out.length - 7, "ÿcafé", 7) == 0);
    nb_buffer_deinit(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("charset");
    TCase *tcase = tcase_create("charset");
    const int count = sizeof cases / sizeof *cases;
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, decodes_each_case, 0, count);
    tcase_add_loop_test(tcase, keeps_to_the_limit, 0, count);
    tcase_add_loop_test(tcase, refuses_what_is_no_charset, 0, 10);
    tcase_add_loop_test(tcase, takes_large_input, 0, 8);
    tcase_add_test(tcase, bounds_the_work_in_every_charset);
    tcase_add_test(tcase, reuses_the_last_charset);
    tcase_add_test(tcase, ends_with_the_work);
    tcase_add_test(tcase, gives_up_a_charset_that_is_wrong);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
