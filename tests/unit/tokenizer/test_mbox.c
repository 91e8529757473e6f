/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "tests/unit/run.h"
#include "tokenizer/mail_file.h"

enum { MOST_MAILS = 4 };

static const struct {
    const char *mbox;
    const char *mails[MOST_MAILS]; /* NULL behind the last */
    int end;                       /* what the call behind the last mail returns */
} cases[] = {
    {"", {NULL}, 0},
    {"\n\r\n\n", {NULL}, 0},
    {"From a\nSubject: x\n\nbody\n", {"Subject: x\n\nbody\n"}, 0},
    {"\nFrom a\nbody", {"body"}, 0},
    {"From a\nbody\n\n", {"body\n"}, 0},
    {"From a\none\n\nFrom b\ntwo\n", {"one\n", "two\n"}, 0},
    {"From a\none\n\n\nFrom b\ntwo\n\n", {"one\n\n", "two\n"}, 0},
    {"From a\r\none\r\n\r\nFrom b\r\ntwo\r\n\r\n", {"one\r\n", "two\r\n"}, 0},
    /* Only a blank line makes "From " a separator. */
    {"From a\nHi\nFrom here on\n", {"Hi\nFrom here on\n"}, 0},
    {"From a\n\nFrom b\n\nFrom c\nx", {"", "", "x"}, 0},
    /* One '>' of each quoted line goes, and only there. */
    {"From a\n>From x\n>>From y\n> From z\n>Fromage\n\n>From w\n",
     {"From x\n>From y\n> From z\n>Fromage\n\nFrom w\n"},
     0},
    {"From a\n>From ", {"From "}, 0},
    {"From a", {""}, 0},
    {"From a\n\nFrom", {"\nFrom"}, 0},
    {"Subject: no mbox\n", {NULL}, NB_INVALID},
    {"From", {NULL}, NB_INVALID},
    {">From a\n", {NULL}, NB_INVALID},
};

START_TEST(reads_each_case)
{
    struct nb_mbox mbox = nb_mbox_of(cases[_i].mbox, strlen(cases[_i].mbox));
    struct nb_buffer mail = {0};
    for (int i = 0; i < MOST_MAILS && cases[_i].mails[i] != NULL; i++) {
        const char *expected = cases[_i].mails[i];
        ck_assert_int_eq(nb_mbox_next(&mbox, &mail), 1);
        ck_assert_msg(mail.length == strlen(expected) &&
                          (mail.length == 0 || memcmp(mail.bytes, expected, mail.length) == 0),
                      "case %d, mail %d: \"%.*s\"", _i, i, (int)mail.length, mail.bytes);
    }
    ck_assert_int_eq(nb_mbox_next(&mbox, &mail), cases[_i].end);
    ck_assert_int_eq(nb_mbox_next(&mbox, &mail), cases[_i].end);
    nb_buffer_deinit(&mail);
}
END_TEST

/* What is written by the rules of mboxrd is read back as it was. */
START_TEST(reads_back_what_was_written)
{
    static const char *const pieces[] = {"From me\n", ">From you\n", ">>From \n", "\n",    "\n\n",
                                         "text\n",    "> From x\n",  "From\n",    "From ", "a"};
    const unsigned seed = 4155;
    printf("reads_back_what_was_written: seed %u\n", seed);
    srand(seed);
    for (int round = 0; round < 300; round++) {
        enum { MAILS = 5 };
        struct nb_buffer written = {0};
        struct nb_buffer mails[MAILS] = {{0}};
        for (int m = 0; m < MAILS; m++) {
            for (int i = rand() % 12; i > 0; i--)
                nb_buffer_puts(&mails[m], pieces[rand() % 10]);
            nb_buffer_puts(&mails[m], ".\n");
            nb_buffer_puts(&written, "From sender Thu Jan  1 00:00:00 1970\n");
            bool at_line_start = true;
            for (size_t i = 0; i < mails[m].length; i++) {
                size_t j = i;
                while (j < mails[m].length && mails[m].bytes[j] == '>')
                    j++;
                if (at_line_start && mails[m].length - j >= 5 &&
                    memcmp(mails[m].bytes + j, "From ", 5) == 0)
                    nb_buffer_puts(&written, ">");
                nb_buffer_append(&written, mails[m].bytes + i, 1);
                at_line_start = mails[m].bytes[i] == '\n';
            }
            nb_buffer_puts(&written, "\n");
        }
        struct nb_mbox mbox = nb_mbox_of(written.bytes, written.length);
        struct nb_buffer mail = {0};
        for (int m = 0; m < MAILS; m++) {
            ck_assert_int_eq(nb_mbox_next(&mbox, &mail), 1);
            ck_assert_uint_eq(mail.length, mails[m].length);
            ck_assert_mem_eq(mail.bytes, mails[m].bytes, mail.length);
            nb_buffer_deinit(&mails[m]);
        }
        ck_assert_int_eq(nb_mbox_next(&mbox, &mail), 0);
        nb_buffer_deinit(&mail);
        nb_buffer_deinit(&written);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mbox");
    TCase *tcase = tcase_create("mbox");
    tcase_add_loop_test(tcase, reads_each_case, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tcase, reads_back_what_was_written);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
