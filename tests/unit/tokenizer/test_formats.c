/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/run.h"
#include "tokenizer/text_formats.h"

typedef int decoder(struct nb_string text, struct nb_buffer *out);

static int rtf(struct nb_string text, struct nb_buffer *out)
{
    struct nb_bag_work work = NB_WORK_UNBOUNDED;
    struct nb_charset_state charset = {.work = &work};
    int rc = nb_rtf_to_text(&charset, text, out);
    nb_charset_state_deinit(&charset);
    return rc;
}

static const struct {
    decoder *decode;
    const char *text, *expected;
} CASES[] = {
    {nb_calendar_to_text, "", ""},
    {nb_calendar_to_text, "A:har\r\n bour\nB:led\n\tger", "A:harbour\nB:ledger"},
    {nb_calendar_to_text, "a\\nb\\Nc\\,d\\;e\\\\n\\x\\", "a\nb\nc,d;e\\n\\x\\"},
    {nb_calendar_to_text, "a\\\r\n nb caf\xc3\r\n \xa9", "a\nb caf\xc3\xa9"},
    {nb_enriched_to_text, "", ""},
    {nb_enriched_to_text, "har<bold>bo</bold>ur <<x> a<b c < d <", "harbour <x> a<b c < d <"},
    {nb_enriched_to_text, "<color><param>red</param>of</color>fer<param>x", "offer"},
    {nb_enriched_to_text, "a<nl>b<lt>c<comment>d<bold></comment>e", "a\nb<ce"},
    {nb_flowed_to_text, "", ""},
    {nb_flowed_to_text, "har \nbour \r\nled  \nger\nend", "harbourled ger\nend"},
    {nb_flowed_to_text, "> quo \n> ted \n>> deep \nout", ">quoted\n>>deep\nout"},
    {nb_flowed_to_text, " From me\na \n-- \nAnn \n", "From me\na\n-- \nAnn"},
    {rtf, "", ""},
    {rtf, "{\\rtf1 har{\\b b}our\\par led\n\\i ger}", "harbour\nledger"},
    {rtf, "{\\rtf1{\\fonttbl{\\f0 Arial;}}{\\*\\x y{z}}{\\info{\\author a}}a{\\v b}c\\v d\\v0 e}",
     "ace"},
    {rtf, "{\\rtf1\\ansicpg1251 \\'ef\\'f0\\'e8\\'e7 caf\xe9}", "приз cafй"},
    {rtf, "{\\rtf1{\\fonttbl{\\f0\\fcharset0 a;}{\\f7\\fcharset204 b;}}\\f7 \\'ef\\f0 \\'e9}",
     "пé"},
    {rtf, "{\\rtf1\\ansicpg936 \\'d6\\'d0\\'ce\\'c4}", "中文"},
    {rtf, "{\\rtf1\\u1087?\\u1088\\'3f\\uc2\\u8364ab{\\uc0\\u955}c \\u-10179 ab\\u-8704 ab}",
     "пр€λc 😀"},
    {rtf, "\\u-10179 x\\u65?\\u-8704?", "A�"},
    {rtf, "\\{a\\}\\\\\\~b\\-c\\_d\\emdash\\bin3 }}}e", "{a}\\ bc-d—e"},
    {rtf, "{\\field{\\*\\fldinst{HYPERLINK \"http://a.example\"}}{\\fldrslt b}}",
     " http://a.example b"},
    {rtf, "}}{{{\\", ""},
    {rtf, "\\bin999999999999 abc", ""},
};

START_TEST(decodes_each_case)
{
    const struct nb_string text = {CASES[_i].text, strlen(CASES[_i].text)};
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_buffer_puts(&out, "<"), 0);
    ck_assert_int_eq(CASES[_i].decode(text, &out), 0);
    ck_assert_msg(out.length == strlen(CASES[_i].expected) + 1 &&
                      memcmp(out.bytes + 1, CASES[_i].expected, out.length - 1) == 0,
                  "%s: \"%.*s\"", CASES[_i].text, (int)out.length, out.bytes);
    nb_buffer_deinit(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("formats");
    TCase *tcase = tcase_create("formats");
    tcase_add_loop_test(tcase, decodes_each_case, 0, (int)(sizeof CASES / sizeof *CASES));
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
