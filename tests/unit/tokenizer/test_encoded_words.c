/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/run_with_tokenizer.h"
#include "tokenizer/document.h"
#include "tokenizer/mail_charset.h"

static const struct {
    const char *value, *text;
} cases[] = {
    {"", ""},
    {"plain\r\n text", "plain text"},
    {"=?utf-8?Q?caf=C3=A9_au_lait?=", "café au lait"},
    {"=?UTF-8?b?Y2Fmw6k=?= x", "café x"},
    {"=?iso-8859-1?q?caf=E9?=", "café"},
    {"=?iso-8859-1*fr?q?caf=E9?=", "café"}, /* RFC 2231, section 5 */
    {"=?iso-8859-1?Q?Parhelia=99?=", "Parhelia™"},
    /* RFC 2047, section 8 */
    {"(=?ISO-8859-1?Q?a?=)", "(a)"},
    {"=?ISO-8859-1?Q?a?= b", "a b"},
    {"=?ISO-8859-1?Q?a?= =?ISO-8859-1?Q?b?=", "ab"},
    {"=?ISO-8859-1?Q?a?=\r\n   =?ISO-8859-1?Q?b?=", "ab"},
    {"=?ISO-8859-1?Q?a_b?=", "a b"},
    {"=?ISO-8859-1?Q?a?= =?ISO-8859-2?Q?_b?=", "a b"},
    /* A character begins in one word and ends in the next; base64 that is cut off. */
    {"=?utf-8?b?YcM=?= =?utf-8?q?=A9b?=", "aéb"},
    {"=?UTF-8?Q?=C3?= =?utf-8?Q?=A9?=", "é"},
    {"=?utf-8?B?eHB0bw?=", "xpto"},
    {"=?utf-8?B?esO8?= =?utf-8?B?cnZpYWdyYQ?=", "zürviagra"},
    {"=?utf-8?B?esO8cnZpYWdyYWE?=", "zürviagraa"},
    {"=?utf-8?B?esO8cnZpYWdyYQ=?=", "zürviagra"},
    {"=?utf-8?B?Y2Fmw6kg=bGVkZ2Vy?=", "café ledger"},
    {"=?utf-8?B?0LPQuNC90LAiIg==?=", "гина\"\""},
    {"=?iso-2022-jp?b?GyRCJCI=?= =?iso-2022-jp?b?JCQbKEI=?=", "あい"},
    /* As mail programs write them, against the standard. */
    {"a=?utf-8?q?b?=c", "abc"},
    {"=?utf-8?q?a b?=", "a b"},
    {"\"=?utf-8?q?a?=\"", "\"a\""},
    {"=?utf-8?q?\?=x", "x"},
    {"=?utf-8?q?=4?=", "=4"},
    {"=?utf-8?q?=zz=41?=", "=zzA"},
    /* What is none. */
    {"=?utf-8?x?a?=", "=?utf-8?x?a?="},
    {"=?utf-8?q?a", "=?utf-8?q?a"},
    {"=?\?q?a?=", "=?\?q?a?="},
    {"=?", "=?"},
    {"=?=?utf-8?q?a?=", "=?a"},
    {"=?no-such-charset?q?a=E9?= b", "a\xE9 b"},
    {"=?a-charset-whose-name-has-more-bytes-than-any-that-anybody-knows1?q?a?=",
     "=?a-charset-whose-name-has-more-bytes-than-any-that-anybody-knows1?q?a?="},
    {"caf\xE9 =?utf-8?q?b?=", "caf\xE9 b"},
    {"=?utf-7?q?+2AA-buy?=", "�buy"},
};

START_TEST(decodes_each_case)
{
    struct nb_bag_work work = NB_WORK_UNBOUNDED;
    struct nb_mail_charsets charsets = {.state = {.work = &work}};
    struct nb_buffer out = {0};
    nb_buffer_puts(&out, "<");
    struct nb_string value = {cases[_i].value, strlen(cases[_i].value)};
    ck_assert_int_eq(nb_mail_decode_words(&charsets, value, &out), 0);
    ck_assert_msg(out.length == strlen(cases[_i].text) + 1 &&
                      memcmp(out.bytes + 1, cases[_i].text, out.length - 1) == 0,
                  "%s: \"%.*s\"", cases[_i].value, (int)out.length, out.bytes);
    nb_buffer_deinit(&out);
    nb_mail_charsets_deinit(&charsets);
}
END_TEST

/* Words of surrogates that are alone, of one charset, of charsets that are not known. */
START_TEST(bounds_the_work)
{
    static const char *const units[] = {"=?utf-7?q?+3AA-+3AA-+3AA-?= ", "=?utf-7-imap?q?&3AA-?= ",
                                        "=?shift_jis?q?=81=FF?=", "=?utf-8?q?a?= =?", "=?a?q?"};
    struct nb_bag_work work = NB_WORK_UNBOUNDED;
    struct nb_mail_charsets charsets = {.state = {.work = &work}};
    struct nb_buffer value = {0};
    struct nb_buffer out = {0};
    while (value.length < 60000)
        ck_assert_int_eq(nb_buffer_puts(&value, units[_i]), 0);
    ck_assert_int_eq(
        nb_mail_decode_words(&charsets, (struct nb_string){value.bytes, value.length}, &out), 0);
    ck_assert_uint_le(UINT64_MAX - work.left, NB_CHARSET_OPEN + 16 * value.length);
    nb_buffer_deinit(&value);
    nb_buffer_deinit(&out);
    nb_mail_charsets_deinit(&charsets);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("encoded words");
    TCase *tcase = tcase_create("encoded words");
    tcase_add_loop_test(tcase, decodes_each_case, 0, sizeof cases / sizeof *cases);
    tcase_add_loop_test(tcase, bounds_the_work, 0, 5);
    suite_add_tcase(suite, tcase);
    return test_run_with_tokenizer(suite);
}
