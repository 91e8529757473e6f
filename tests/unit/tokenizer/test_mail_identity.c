/* SPDX-License-Identifier: Apache-2.0
 *
 * The identity of a mail: it survives the changes by hops, filters and mailboxes, but not those
 * that make it another mail.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "tests/unit/run.h"
#include "tokenizer/mail_decode.h"
#include "tokenizer/mail_identity.h"

static struct nb_key key;

static void setup(void)
{
    nb_mail_decode_setup();
    nb_key_generate(&key);
}

static void teardown(void)
{
    nb_mail_decode_teardown();
}

static void identity(const char *mail, size_t length, char id[NB_CONTENT_ID_LENGTH + 1])
{
    ck_assert_int_eq(nb_mail_identity(&key, (struct nb_string){mail, length}, id), 0);
    ck_assert_uint_eq(strlen(id), NB_CONTENT_ID_LENGTH);
}

static bool are_same(const char *one, const char *other)
{
    char first[NB_CONTENT_ID_LENGTH + 1];
    char second[NB_CONTENT_ID_LENGTH + 1];
    identity(one, strlen(one), first);
    identity(other, strlen(other), second);
    return strcmp(first, second) == 0;
}

#define HEAD                                                                                       \
    "From: Ann <ann@example.org>\nTo: bob@example.org\nSubject: minutes of the board\n"            \
    "Date: Tue, 3 Mar 2026 10:00:00 +0000\nMessage-ID: <m1@example.org>\n"
#define BODY "The minutes.\nFrom here on it is short.\n"
#define MAIL HEAD "\n" BODY

static const char *const SAME[] = {
    /* what a mailbox does */
    "From - Tue Mar  3 10:00:01 2026\n" MAIL,
    "X-Mozilla-Status: 0001\nX-Mozilla-Status2: 00000000\nX-Mozilla-Keys: Junk\n" MAIL,
    HEAD "Status: RO\nX-UID: 17\nX-Keywords: NonJunk\nX-Gmail-Labels: Spam,Unread\n\n" BODY,
    HEAD "\nThe minutes.\n>From here on it is short.\n",
    HEAD "\nThe minutes.\n>>From here on it is short.\n\n\n",
    HEAD "\nThe minutes.\nFrom here on it is short.",
    /* what hops do */
    "Return-Path: <ann@example.org>\nDelivered-To: bob@example.org\nReceived: from a by b;\n\tTue, "
    "3 Mar 2026 10:00:01 +0000\nDKIM-Signature: v=1; a=rsa-sha256\nARC-Seal: i=1\n" MAIL,
    "FROM:  Ann <ann@example.org>\nto: bob@example.org\nSUBJECT: minutes\n of the board\n"
    "DATE: Tue, 3 Mar 2026 10:00:00 +0000\nMessage-Id:\n <m1@example.org>\n\n" BODY,
    "From: Ann <ann@example.org>\r\nSubject: minutes of the board\r\nDate: Tue, 3 Mar 2026 "
    "10:00:00 "
    "+0000\r\nMessage-ID: <m1@example.org>\r\n\r\nThe minutes.\r\nFrom here on it is short.\r\n",
    HEAD "MIME-Version: 1.0\nContent-Type: text/plain; charset=us-ascii\n"
         "Content-Transfer-Encoding: quoted-printable\n\nThe minutes.\nFrom here on =\nit is "
         "short.\n",
    HEAD "Content-Transfer-Encoding: base64\n\n"
         "VGhlIG1pbnV0ZXMuCkZyb20gaGVyZSBvbiBpdCBpcyBzaG9ydC4K\n",
    HEAD "\nThe minutes.  \nFrom here on it is short.\t\n",
    /* what filters do */
    HEAD "X-Spam-Status: Yes, score=9\nX-Bayes-Status: spam, probability=1\nX-Spam: yes\n\n" BODY,
    "From: Ann <ann@example.org>\nSubject: [SPAM] minutes of the board\n"
    "Date: Tue, 3 Mar 2026 10:00:00 +0000\nMessage-ID: <m1@example.org>\n\n" BODY,
    "From: Ann <ann@example.org>\nSubject: ***SPAM*** {Spam?} minutes of the board\n"
    "Date: Tue, 3 Mar 2026 10:00:00 +0000\nMessage-ID: <m1@example.org>\n\n" BODY,
};

static const char *const OTHER[] = {
    /* one Message-ID, forged */
    HEAD "\nBuy pills.\n",
    "From: Eve <eve@example.org>\nSubject: minutes of the board\n"
    "Date: Tue, 3 Mar 2026 10:00:00 +0000\nMessage-ID: <m1@example.org>\n\n" BODY,
    "From: Ann <ann@example.org>\nSubject: minutes of the bored\n"
    "Date: Tue, 3 Mar 2026 10:00:00 +0000\nMessage-ID: <m1@example.org>\n\n" BODY,
    "From: Ann <ann@example.org>\nSubject: minutes of the board\n"
    "Date: Tue, 4 Mar 2026 10:00:00 +0000\nMessage-ID: <m1@example.org>\n\n" BODY,
    /* all the same but the Message-ID; without one */
    "From: Ann <ann@example.org>\nSubject: minutes of the board\n"
    "Date: Tue, 3 Mar 2026 10:00:00 +0000\nMessage-ID: <m2@example.org>\n\n" BODY,
    "From: Ann <ann@example.org>\nSubject: minutes of the board\n"
    "Date: Tue, 3 Mar 2026 10:00:00 +0000\n\n" BODY,
    /* a list's footer */
    HEAD "\n" BODY "-- \nTo unsubscribe write to board-request@example.org\n",
    /* fields do not run into each other, nor into the body */
    "From: Ann <ann@example.org>\nSubject: minutes of the board Tue, 3 Mar 2026 10:00:00 +0000\n"
    "Message-ID: <m1@example.org>\n\n" BODY,
    BODY,
    "",
};

START_TEST(what_travels_stays)
{
    ck_assert_msg(are_same(MAIL, SAME[_i]), "case %d:\n%s", _i, SAME[_i]);
}
END_TEST

START_TEST(another_mail_is_another)
{
    ck_assert_msg(!are_same(MAIL, OTHER[_i]), "case %d:\n%s", _i, OTHER[_i]);
    for (size_t i = 0; i < sizeof OTHER / sizeof *OTHER; i++)
        ck_assert(are_same(OTHER[_i], OTHER[i]) == (i == (size_t)_i));
}
END_TEST

#define PARTS(boundary, encoding, text)                                                            \
    HEAD "Content-Type: multipart/alternative; boundary=" boundary "\n\nThis is MIME.\n"           \
         "--" boundary "\nContent-Type: text/plain\nContent-Transfer-Encoding: " encoding          \
         "\n\n" text "\n--" boundary "\nContent-Type: text/html\n\n<p>hello</p>\n--" boundary      \
         "--\nbehind\n"

START_TEST(parts_count_by_their_text)
{
    const char *mail = PARTS("aa", "7bit", "hello");
    ck_assert(are_same(mail, PARTS("bb", "7bit", "hello")));
    ck_assert(are_same(mail, PARTS("aa", "base64", "aGVsbG8=")));
    ck_assert(are_same(mail, PARTS("aa", "quoted-printable", "hel=\nlo=20")));
    ck_assert(!are_same(mail, PARTS("aa", "7bit", "hullo")));
    ck_assert(!are_same(mail, HEAD "\nhello\n<p>hello</p>\n"));
}
END_TEST

/* Marks are left out in front alone, and a Subject of its own that begins with a sign stays. */
START_TEST(only_marks_are_left_out)
{
    ck_assert(are_same("Subject: [SPAM] a\n\nb", "Subject: a\n\nb"));
    ck_assert(are_same("Subject: [*** SPAM? ***] [Spam] a\n\nb", "Subject: a\n\nb"));
    ck_assert(!are_same("Subject: [board] a\n\nb", "Subject: a\n\nb"));
    ck_assert(!are_same("Subject: spam a\n\nb", "Subject: a\n\nb"));
    ck_assert(!are_same("Subject: [spammers] a\n\nb", "Subject: a\n\nb"));
    ck_assert(!are_same("Subject: a [SPAM]\n\nb", "Subject: a\n\nb"));
}
END_TEST

/* Each byte behind the parts that are looked at still counts. */
START_TEST(many_parts_count_to_the_last)
{
    enum { PARTS_SENT = 2 * NB_MAIL_IDENTITY_PARTS };
    char ids[2][NB_CONTENT_ID_LENGTH + 1];
    for (int last = 0; last < 2; last++) {
        struct nb_buffer mail = {0};
        ck_assert_int_eq(nb_buffer_puts(&mail, "Content-Type: multipart/mixed; boundary=zz\n\n"),
                         0);
        for (int i = 0; i < PARTS_SENT; i++)
            ck_assert_int_eq(
                nb_buffer_printf(&mail, "--zz\n\npart %d\n", i == PARTS_SENT - 1 ? i + last : i),
                0);
        identity(mail.bytes, mail.length, ids[last]);
        nb_buffer_deinit(&mail);
    }
    ck_assert_str_ne(ids[0], ids[1]);
}
END_TEST

START_TEST(each_key_has_ids_of_its_own)
{
    char ids[2][NB_CONTENT_ID_LENGTH + 1];
    identity(MAIL, strlen(MAIL), ids[0]);
    nb_key_generate(&key);
    identity(MAIL, strlen(MAIL), ids[1]);
    ck_assert_str_ne(ids[0], ids[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mail_identity");
    TCase *t = tcase_create("identity");
    tcase_add_unchecked_fixture(t, setup,
                                teardown); /* once: the MIME library cannot be set up again */
    tcase_add_loop_test(t, what_travels_stays, 0, sizeof SAME / sizeof *SAME);
    tcase_add_loop_test(t, another_mail_is_another, 0, sizeof OTHER / sizeof *OTHER);
    tcase_add_test(t, parts_count_by_their_text);
    tcase_add_test(t, only_marks_are_left_out);
    tcase_add_test(t, many_parts_count_to_the_last);
    tcase_add_test(t, each_key_has_ids_of_its_own);
    suite_add_tcase(suite, t);
    return test_run(suite);
}
