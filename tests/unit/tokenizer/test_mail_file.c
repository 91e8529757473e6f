/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/run.h"
#include "tokenizer/mail_file.h"

#define BYTES(literal)                                                                             \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }
#define HEAD "Subject: harbour\nFrom: a@b.example\n"
#define TRACE "Received: from c\nSubject: harbour\nFrom: a@b.example\n"
#define BODY "\nledger\n"

/* Files, and the mails in them; NULL: all of the file, as it is. */
static const struct {
    struct nb_string file;
    const char *mail;
} cases[] = {
    {BYTES(""), NULL},
    {BYTES(HEAD BODY), NULL},
    {BYTES("From a\n" HEAD BODY), HEAD BODY},
    /* blanks */
    {BYTES("\n" HEAD BODY), HEAD BODY},
    {BYTES("\r\n \t\r\n\n" HEAD BODY), HEAD BODY},
    {BYTES("      \n" HEAD BODY), HEAD BODY},
    {BYTES("\xC2\xA0 \n" HEAD BODY), HEAD BODY},
    {BYTES(" \t" HEAD BODY), HEAD BODY},
    {BYTES("\xEF\xBB\xBF" HEAD BODY), HEAD BODY},
    {BYTES("\xEF\xBB\xBF\n\xEF\xBB\xBF" HEAD BODY), HEAD BODY},
    {BYTES("\xEF\xBB\xBF"
           "X-One: field\n" BODY),
     "X-One: field\n" BODY},
    /* lines of mboxes and servers */
    {BYTES("\nFrom a@b Sat\n" HEAD BODY), HEAD BODY},
    {BYTES(">From a@b Sat\n\n" HEAD BODY), HEAD BODY},
    {BYTES("+OK 812 octets\r\n" HEAD BODY), HEAD BODY},
    {BYTES("RETR 1\n+OK\n" HEAD BODY), HEAD BODY},
    {BYTES("MAIL FROM:<a@b.example>\n" HEAD BODY), HEAD BODY},
    {BYTES("220 mx ESMTP\nEHLO me\n250-mx\n250-SIZE 1000\n250 HELP\nMAIL FROM:<a@b> SIZE=9\n"
           "250 2.1.0 Ok\nrcpt to:<c@d>\n250 Ok\nDATA\n354 End data with <CR><LF>.<CR><LF>\n" HEAD
               BODY),
     HEAD BODY},
    {BYTES("* 1 FETCH (BODY[] {812}\n" HEAD BODY), HEAD BODY},
    /* one line of anything, before a header that no person writes */
    {BYTES("VGhlIGhhcmJvdXIgbGVkZ2VyIGlzIGF0dGFjaGVkLgo=\n" TRACE BODY), TRACE BODY},
    {BYTES("\n$$ garbage\n" TRACE BODY), TRACE BODY},
    {BYTES("one\ntwo\n" TRACE BODY), NULL},
    {BYTES("Hello Bob,\n" HEAD BODY), NULL},
    {BYTES("See the header:\n\n" TRACE BODY), NULL},
    /* no header there: the mail is all of it */
    {BYTES("\nledger: one\n"), NULL},
    {BYTES("\nFrom: only one\n\nSubject: x\n"), NULL},
    {BYTES(" \n \n"), NULL},
    {BYTES("just a text"), NULL},
    {BYTES("X-One: field\n\n" HEAD BODY), NULL},
    /* lines that end with CR */
    {BYTES("Subject: harbour\rFrom: a@b.example\r\rledger\r"), HEAD BODY},
    {BYTES("\rSubject: harbour\rFrom: a@b.example\r\rledger\r"), HEAD BODY},
    {BYTES(HEAD "\nledger\rb\r"), HEAD "\nledger\nb\n"},
    {BYTES("Subject: harbour\r\r\nFrom: a@b.example\r\r\n\r\r\nledger\r\r\n"), NULL},
    {BYTES(HEAD "\none\rtwo\nthree\r\n"), NULL},
    /* UTF-16 */
    {BYTES("\xFF\xFET\0o\0:\0b\0\n\0D\0a\0t\0e\0:\0\n\0\n\0\xE9\0"), "To:b\nDate:\n\né"},
    {BYTES("\xFE\xFF\0T\0o\0:\0b\0\r\0D\0a\0t\0e\0:\0\r\0\r\0x"), "To:b\nDate:\n\nx"},
    {BYTES("T\0o\0:\0b\0\n\0D\0a\0t\0e\0:\0\n\0\n\0x\0"), "To:b\nDate:\n\nx"},
};

START_TEST(finds_the_header)
{
    struct nb_string file = cases[_i].file, mail;
    struct nb_buffer out = {0};
    char *bytes = malloc(file.length + 1); /* exactly, so that a read behind it is found */
    memcpy(bytes, file.bytes, file.length);
    ck_assert_int_eq(nb_mail_of_file((struct nb_string){bytes, file.length}, &out, &mail), 0);
    struct nb_string expected =
        cases[_i].mail != NULL ? nb_string_of(cases[_i].mail) : cases[_i].file;
    ck_assert_msg(nb_string_same(mail, expected), "case %d: \"%.*s\"", _i, (int)mail.length,
                  mail.bytes);
    nb_buffer_deinit(&out);
    free(bytes);
}
END_TEST

/* The search ends after so many lines and bytes. */
START_TEST(searches_the_first_lines)
{
    struct nb_buffer file = {0}, out = {0};
    struct nb_string mail;
    for (int blanks = NB_MAIL_FILE_LINES - 1; blanks <= NB_MAIL_FILE_LINES; blanks++) {
        file.length = 0;
        for (int i = 0; i < blanks; i++)
            ck_assert_int_eq(nb_buffer_puts(&file, "\n"), 0);
        ck_assert_int_eq(nb_buffer_puts(&file, HEAD BODY), 0);
        ck_assert_int_eq(nb_mail_of_file((struct nb_string){file.bytes, file.length}, &out, &mail),
                         0);
        ck_assert(nb_mail_file_has_head(mail) == (blanks < NB_MAIL_FILE_LINES));
    }
    nb_buffer_deinit(&file);
    nb_buffer_deinit(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mail_file");
    TCase *tcase = tcase_create("mails of files");
    tcase_add_loop_test(tcase, finds_the_header, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tcase, searches_the_first_lines);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
