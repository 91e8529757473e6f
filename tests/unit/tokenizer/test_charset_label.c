/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/run.h"
#include "tokenizer/charset.h"

#define BYTES(literal) literal, sizeof(literal) - 1

/* A row: labels with a blank between them, and a text in their charset. */
struct row {
    const char *labels;
    const char *bytes;
    size_t length;
    const char *utf8;
};

/* clang-format off */

/* All labels of the Encoding Standard (WHATWG, section 4.2), with the charset that it gives them.
 * Of its "replacement", which browsers refuse to read, mail reads four; what is not read in any
 * charset is windows-1252 here. */
static const struct row standard[] = {
    /* UTF-8 */
    {"unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
     BYTES("caf\xC3\xA9"), "café"},
    /* IBM866 */
    {"866 cp866 csibm866 ibm866",
     BYTES("\xAF\xE0\xA8"), "при"},
    /* ISO-8859-2 */
    {"csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 "
     "latin2",
     BYTES("\xB3\xF3\xBC"), "łóź"},
    /* ISO-8859-3 */
    {"csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 "
     "latin3",
     BYTES("\xE6\xF8"), "ĉĝ"},
    /* ISO-8859-4 */
    {"csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 "
     "latin4",
     BYTES("\xE0\xB9"), "āš"},
    /* ISO-8859-5 */
    {"csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 "
     "iso_8859-5:1988",
     BYTES("\xDF\xE0\xD8"), "при"},
    /* ISO-8859-6 */
    {"arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 "
     "iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
     BYTES("\xE5\xCC"), "مج"},
    /* ISO-8859-7 */
    {"csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 "
     "iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek",
     BYTES("\xE1\xE2\xE3"), "αβγ"},
    /* ISO-8859-8 */
    {"csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 "
     "iso88598 iso_8859-8 iso_8859-8:1988 visual",
     BYTES("\xE0\xE1"), "אב"},
    /* ISO-8859-8-I */
    {"csiso88598i iso-8859-8-i logical",
     BYTES("\xE0\xE1"), "אב"},
    /* ISO-8859-10 */
    {"csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
     BYTES("\xF0\xBA"), "ðš"},
    /* ISO-8859-13 */
    {"iso-8859-13 iso8859-13 iso885913",
     BYTES("\xE0\xF0"), "ąš"},
    /* ISO-8859-14 */
    {"iso-8859-14 iso8859-14 iso885914",
     BYTES("\xF0\xA2"), "ŵḃ"},
    /* ISO-8859-15 */
    {"csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
     BYTES("\xA4\xE9"), "€é"},
    /* ISO-8859-16 */
    {"iso-8859-16",
     BYTES("\xBA\xA4"), "ș€"},
    /* KOI8-R */
    {"cskoi8r koi koi8 koi8-r koi8_r",
     BYTES("\xD0\xD2\xC9"), "при"},
    /* KOI8-U */
    {"koi8-ru koi8-u",
     BYTES("\xD0\xD2\xA6"), "прі"},
    /* macintosh */
    {"csmacintosh mac macintosh x-mac-roman",
     BYTES("\x8E\x9F"), "éü"},
    /* windows-874 */
    {"dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
     BYTES("\xBF\xC3\xD5"), "ฟรี"},
    /* windows-1250 */
    {"cp1250 windows-1250 x-cp1250",
     BYTES("\xB3\xF3\x9F"), "łóź"},
    /* windows-1251 */
    {"cp1251 windows-1251 x-cp1251",
     BYTES("\xEF\xF0\xE8"), "при"},
    /* windows-1252 */
    {"ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 "
     "iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
     BYTES("\xE9\x80"), "é€"},
    /* windows-1253 */
    {"cp1253 windows-1253 x-cp1253",
     BYTES("\xE1\xA2"), "αΆ"},
    /* windows-1254 */
    {"cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 "
     "iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254",
     BYTES("\xFD\x80"), "ı€"},
    /* windows-1255 */
    {"cp1255 windows-1255 x-cp1255",
     BYTES("\xE0\xA4"), "א₪"},
    /* windows-1256 */
    {"cp1256 windows-1256 x-cp1256",
     BYTES("\xE3\xCC"), "مج"},
    /* windows-1257 */
    {"cp1257 windows-1257 x-cp1257",
     BYTES("\xE0\xF0"), "ąš"},
    /* windows-1258 */
    {"cp1258 windows-1258 x-cp1258",
     BYTES("\xFE\xD0"), "₫Đ"},
    /* x-mac-cyrillic */
    {"x-mac-cyrillic x-mac-ukrainian",
     BYTES("\xEF\xF0\xE8"), "при"},
    /* GBK */
    {"chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk",
     BYTES("\xC3\xE2\x81\x40"), "免丂"},
    /* gb18030 */
    {"gb18030",
     BYTES("\xC3\xE2\x81\x40"), "免丂"},
    /* Big5 */
    {"big5 big5-hkscs cn-big5 csbig5 x-x-big5",
     BYTES("\xA7\x4B\xB6\x4F"), "免費"},
    /* EUC-JP */
    {"cseucpkdfmtjapanese euc-jp x-euc-jp",
     BYTES("\xA4\xA2"), "あ"},
    /* ISO-2022-JP */
    {"csiso2022jp iso-2022-jp",
     BYTES("\x1B$B$\"\x1B(B"), "あ"},
    /* Shift_JIS */
    {"csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
     BYTES("\x96\xB3\x87\x40"), "無①"},
    /* EUC-KR */
    {"cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 "
     "ksc_5601 windows-949",
     BYTES("\xB9\xAB\x8C\x63"), "무똠"},
    /* UTF-16BE */
    {"unicodefffe utf-16be",
     BYTES("\0" "a\x20\xAC"), "a€"},
    /* UTF-16LE */
    {"csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
     BYTES("a\0\xAC\x20"), "a€"},
    /* iso-2022-kr */
    {"csiso2022kr iso-2022-kr",
     BYTES("\x1B$)C\x0E" "9+\x0F"), "무"},
    /* hz-gb-2312 */
    {"hz-gb-2312",
     BYTES("~{Cb7Q~} ~~"), "免费 ~"},
    /* iso-2022-cn */
    {"iso-2022-cn iso-2022-cn-ext",
     BYTES("\x1B$)A\x0E\x43\x62\x0F"), "免"},
    /* says nothing */
    {"replacement x-user-defined",
     BYTES("\xE9\x80"), "é€"},
};

/* Names that Java, Python, iconv, mail programs and servers write. */
static const struct row programs[] = {
    {"windows1251 win-1251 WIN1251 win_1251 Cp1251 1251 ibm-1251 x-windows-1251 "
     "\"windows-1251\"; cp-1251 ms-cyrl",
     BYTES("\xEF\xF0\xE8"), "при"},
    {"KOI8_R koi8r KOI8-r",
     BYTES("\xD0\xD2\xC9"), "при"},
    {"EUC_KR ms949 MS949 x-windows-949 uhc euckr KSC5601 cp949 windows949 949",
     BYTES("\xB9\xAB\x8C\x63"), "무똠"},
    {"ms950 x-big5 MS950 Big5_HKSCS cp950 950 x-windows-950 big5-tw",
     BYTES("\xA7\x4B\xB6\x4F"), "免費"},
    {"ms936 GBK cp936 936 euc_cn EUC-CN cn-gb x-mswin-936 GB18030-2000",
     BYTES("\xC3\xE2\x81\x40"), "免丂"},
    {"ms932 x-ms-cp932 cp932 Windows-31J SJIS s_jis 932",
     BYTES("\x96\xB3\x87\x40"), "無①"},
    {"euc_jp ujis EUC-JP-LINUX x-eucJP-Open eucjp",
     BYTES("\xA4\xA2"), "あ"},
    {"iso2022_jp ISO2022JP cp50220 jis",
     BYTES("\x1B$B$\"\x1B(B"), "あ"},
    {"cp-850 850 IBM850 cp850 ibm-850",
     BYTES("\x82\x84"), "éä"},
    {"cp437 IBM437 437 dos-437",
     BYTES("\x82\x84"), "éä"},
    {"ISO8859_1 8859_1 latin-1 Cp1252 windows1252 windows_1252 iso-8859_1",
     BYTES("\xE9\x80"), "é€"},
    {"ISO8859_15 Latin-9 ISO-8859-15-FDIS",
     BYTES("\xA4"), "€"},
    {"ISO8859_2 8859_2 l2",
     BYTES("\xB3\xF3\xBC"), "łóź"},
    {"utf_8 UTF8 u8 cp65001 utf-8-sig x-utf-8",
     BYTES("caf\xC3\xA9"), "café"},
    {"UnicodeLittleUnmarked x-UTF-16LE-BOM utf_16_le",
     BYTES("a\0\xAC\x20"), "a€"},
    {"TIS620 ms874 x-windows-874",
     BYTES("\xBF\xC3\xD5"), "ฟรี"},
    {"x-MacCyrillic mac_cyrillic",
     BYTES("\xEF\xF0\xE8"), "при"},
    {"utf_7 unicode-1-1-utf-7",
     BYTES("caf+AOk-"), "café"},
    {"x-unknown unknown-8bit UNKNOWN ascii 8bit 7bit us-ascii ansi_x3.4-1968 "
     "x-user-defined none default iso-ir-6 646 _autodetect",
     BYTES("caf\xC3\xA9"), "café"},
    {"x-unknown unknown-8bit us-ascii",
     BYTES("caf\xE9"), "café"},
};

/* clang-format on */

static void check_row(const struct row *row)
{
    const char *label = row->labels;
    while (*label != '\0') {
        size_t length = strcspn(label, " ");
        struct nb_buffer out = {0};
        struct nb_error error = {0};
        struct nb_string name = {label, length};
        int rc = nb_charset_to_utf8(NULL, name, row->bytes, row->length, 100, &out, &error);
        ck_assert_msg(rc == 0, "%.*s: %s", (int)length, label, error.text);
        ck_assert_msg(out.length == strlen(row->utf8) &&
                          memcmp(out.bytes, row->utf8, out.length) == 0,
                      "%.*s: \"%.*s\"", (int)length, label, (int)out.length, out.bytes);
        nb_buffer_deinit(&out);
        label += length + strspn(label + length, " ");
    }
}

START_TEST(reads_the_labels_of_the_standard)
{
    check_row(&standard[_i]);
}
END_TEST

START_TEST(reads_the_names_of_programs)
{
    check_row(&programs[_i]);
}
END_TEST

/* The table is searched by halves: every row that was looked for above would not be found in a
 * wrong order, and none may be there twice. */
START_TEST(counts_the_labels_of_the_standard)
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
        for (const char *c = standard[i].labels; c != NULL; c = strchr(c + 1, ' '))
            count++;
    ck_assert_uint_eq(count, 228);
}
END_TEST

START_TEST(tells_labels_that_say_nothing)
{
    static const char *const nothing[] = {"x-unknown",      "unknown-8bit", "us-ascii",
                                          "ASCII",          "8BIT",         "ansi_x3.4-1968",
                                          "x-user-defined", "replacement",  " \"ascii\" "};
    char name[NB_CHARSET_NAME];
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        ck_assert_ptr_eq(nb_charset_of_label(nb_string_of(nothing[i]), name), NB_CHARSET_NONE);
    ck_assert_ptr_eq(nb_charset_of_label(nb_string_of("latin1"), name), NB_CHARSET_WINDOWS_1252);
    ck_assert_ptr_eq(nb_charset_of_label(nb_string_of("utf8"), name), NB_CHARSET_UTF_8);
    ck_assert_str_eq(nb_charset_of_label(nb_string_of("cp-852"), name), "CP852");
    ck_assert_str_eq(nb_charset_of_label(nb_string_of("no-such"), name), "no-such");
    ck_assert_ptr_null(nb_charset_of_label(nb_string_of("wchar_t"), name));
    ck_assert_ptr_null(nb_charset_of_label(nb_string_of("utf-8//IGNORE"), name));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("charset labels");
    TCase *tcase = tcase_create("labels");
    tcase_add_loop_test(tcase, reads_the_labels_of_the_standard, 0,
                        (int)(sizeof standard / sizeof *standard));
    tcase_add_loop_test(tcase, reads_the_names_of_programs, 0,
                        (int)(sizeof programs / sizeof *programs));
    tcase_add_test(tcase, counts_the_labels_of_the_standard);
    tcase_add_test(tcase, tells_labels_that_say_nothing);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
