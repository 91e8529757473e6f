/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/mail_attached.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/run.h"
#include "tests/unit/tokenizer/cpu_time.h"
#include "tokenizer/mail_decode.h"

#define MIXED "From: b@c\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nplease block\n--b\n"
#define RFC822 "Content-Type: message/rfc822\n\n"

/* The expected attached mails, each in angle brackets. */
static const struct {
    const char *mail, *attached;
} CASES[] = {
    {"", ""},
    {"Subject: a\n\nnothing\n", ""},
    {MIXED RFC822 "Subject: a\n\nspam\n\n--b--\n", "<Subject: a\n\nspam\n>"},
    {MIXED RFC822 "Subject: a\r\n\r\nspam\r\n--b--\r\n", "<Subject: a\r\n\r\nspam>"},
    {MIXED RFC822 "A: a\n\n1\n--b\n" RFC822 "B: b\n\n2\n--b--\n", "<A: a\n\n1><B: b\n\n2>"},
    {MIXED RFC822 "A: a\n\nno end", "<A: a\n\nno end>"},
    {"Content-Type: message/rfc822\n\nA: a\n\n1\n", "<A: a\n\n1\n>"},
    /* What is inside belongs to it, with boundaries of its own. */
    {MIXED RFC822 "Content-Type: multipart/mixed; boundary=c\n\n--c\n" RFC822 "A: a\n\n1\n--c--\n"
                  "--b--\n",
     "<Content-Type: multipart/mixed; boundary=c\n\n--c\n" RFC822 "A: a\n\n1\n--c-->"},
    /* Digests, and digests in a multipart. */
    {"Content-Type: multipart/digest; boundary=d\n\n--d\n\nA: a\n\n1\n--d\n\nB: b\n\n2\n--d\n"
     "Content-Type: text/plain\n\nC: c\n--d--\n",
     "<A: a\n\n1><B: b\n\n2>"},
    {MIXED "Content-Type: multipart/digest; boundary=d\n\n--d\n\nA: a\n\n1\n--d--\n--b\n" RFC822
           "B: b\n\n2\n--b--",
     "<A: a\n\n1><B: b\n\n2>"},
    /* Transfer encodings, of the mail and of a multipart as a whole. */
    {MIXED "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n"
           "QTogYQoKMQo=\n--b--\n",
     "<A: a\n\n1\n>"},
    {"Content-Type: multipart/digest; boundary=d\nContent-Transfer-Encoding: base64\n\n"
     "LS1kCgpBOiBhCgoxCi0tZC0tCg==\n",
     "<A: a\n\n1>"},
    /* Files. */
    {MIXED "Content-Type: application/octet-stream\n"
           "Content-Disposition: attachment; filename=\"Fwd spam.EML\"\n\nA: a\n\n1\n--b--\n",
     "<A: a\n\n1>"},
    {MIXED "Content-Type: text/plain; name=a.eml\n\nA: a\n\n1\n--b--\n", ""},
    {MIXED "Content-Type: application/octet-stream; name=a.eml\n\n\x01\x02\n--b--\n", ""},
    /* Nothing in them; the separator of an mbox. */
    {MIXED RFC822 "\n--b\n" RFC822 "A: a\n\n1\n--b--\n", "<A: a\n\n1>"},
    {MIXED RFC822 "From a@b Thu\nA: a\n\n1\n--b--\n", "<A: a\n\n1>"},
};

START_TEST(finds_each_case)
{
    struct nb_mail_attached attached = {.count = 0};
    struct nb_buffer found = {0};
    struct nb_error error;
    const struct nb_string mail = {CASES[_i].mail, strlen(CASES[_i].mail)};
    ck_assert_int_eq(nb_mail_attached_find(&attached, mail, &error), 0);
    for (size_t i = 0; i < attached.count; i++) {
        struct nb_string one = nb_mail_attached_get(&attached, i);
        ck_assert_int_eq(nb_buffer_puts(&found, "<"), 0);
        ck_assert_int_eq(nb_buffer_append(&found, one.bytes, one.length), 0);
        ck_assert_int_eq(nb_buffer_puts(&found, ">"), 0);
    }
    ck_assert_msg(
        found.length == strlen(CASES[_i].attached) &&
            (found.length == 0 || memcmp(found.bytes, CASES[_i].attached, found.length) == 0),
        "%s: \"%.*s\"", CASES[_i].mail, (int)found.length, found.bytes);
    nb_buffer_deinit(&found);
    nb_mail_attached_deinit(&attached);
}
END_TEST

static void repeat(struct nb_buffer *out, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++)
        ck_assert_int_eq(nb_buffer_puts(out, text), 0);
}

START_TEST(has_a_limit)
{
    struct nb_mail_attached attached = {.count = 0};
    struct nb_buffer mail = {0};
    struct nb_error error;
    repeat(&mail, MIXED, 1);
    repeat(&mail, RFC822 "A: a\n\n1\n--b\n", NB_MAIL_ATTACHED_MOST);
    ck_assert_int_eq(nb_mail_attached_find(&attached, nb_buffer_string(&mail), &error), 0);
    ck_assert_uint_eq(attached.count, NB_MAIL_ATTACHED_MOST);
    repeat(&mail, RFC822 "A: a\n\n1\n--b\n", 1);
    ck_assert_int_eq(nb_mail_attached_find(&attached, nb_buffer_string(&mail), &error),
                     NB_TOO_LARGE);
    nb_buffer_deinit(&mail);
    nb_mail_attached_deinit(&attached);
}
END_TEST

/* As test_linear_time of test_mail. */
START_TEST(takes_linear_time)
{
    static const char *const units[] = {"Content-Type: multipart/mixed; boundary=c\n\n--c\n",
                                        RFC822 "--b\n", "--b\n", "--b\nX: y\n", RFC822};
    struct nb_mail_attached attached = {.count = 0};
    struct nb_buffer mail = {0};
    struct nb_error error;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double seconds[2];
        for (size_t k = 0; k < 2; k++) {
            mail.length = 0;
            repeat(&mail, MIXED, 1);
            repeat(&mail, units[i], ((size_t)1 << (k == 0 ? 16 : 20)) / strlen(units[i]));
            uint64_t begin = cpu_time();
            (void)nb_mail_attached_find(&attached, nb_buffer_string(&mail), &error);
            seconds[k] = (double)(cpu_time() - begin) / 1e9;
        }
        ck_assert_msg(seconds[1] < 64 * seconds[0] + 0.05, "%s: %.4f s, then %.4f s", units[i],
                      seconds[0], seconds[1]);
    }
    nb_buffer_deinit(&mail);
    nb_mail_attached_deinit(&attached);
}
END_TEST

static void teardown(void)
{
    nb_mail_decode_teardown();
}

int main(void)
{
    Suite *suite = suite_create("mail_attached");
    TCase *tcase = tcase_create("mail_attached");
    tcase_add_unchecked_fixture(tcase, nb_mail_decode_setup, teardown);
    tcase_add_loop_test(tcase, finds_each_case, 0, (int)(sizeof CASES / sizeof *CASES));
    tcase_add_test(tcase, has_a_limit);
    tcase_add_test(tcase, takes_linear_time);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
