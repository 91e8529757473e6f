/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/run.h"
#include "tokenizer/document.h"

static struct nb_key key;
static struct nb_bag bag;

/* A mail, and the features that it has and has not, with a blank between them. */
static const struct {
    const char *what, *mail, *has, *has_not;
} cases[] = {
    /* clang-format off */
    {"a raw Subject in the charset of the body, windows-1251",
     "From: a@b.example\n"
     "Subject: \xC1\xE5\xF1\xEF\xEB\xE0\xF2\xED\xFB\xE9 \xEF\xF0\xE8\xE7\n"
     "Content-Type: text/plain; charset=windows-1251\n"
     "\n"
     "\xC1\xE5\xF1\xEF\xEB\xE0\xF2\xED\xFB\xE9 \xEF\xF0\xE8\xE7\n",
     "subject:бесплатный бесплатный", "word:mixed-scripts"},
    {"a raw Subject in the charset of the body, koi8-r",
     "From: a@b.example\n"
     "Subject: \xE2\xC5\xD3\xD0\xCC\xC1\xD4\xCE\xD9\xCA \xD0\xD2\xC9\xDA\n"
     "Content-Type: text/plain; charset=koi8-r\n"
     "\n"
     "\xE2\xC5\xD3\xD0\xCC\xC1\xD4\xCE\xD9\xCA \xD0\xD2\xC9\xDA\n",
     "subject:бесплатный бесплатный", "word:mixed-scripts"},
    {"the same, EUC-KR",
     "From: a@b.example\n"
     "Subject: \xB9\xAB\xB7\xE1\n"
     "Content-Type: text/plain; charset=\"euc-kr\"\n"
     "\n"
     "\xB9\xAB\xB7\xE1\n",
     "subject:무료 무료", ""},
    {"the same, Shift JIS in From",
     "From: \x89\xEF\x8B" "c <a@b.example>\n"
     "Content-Type: text/plain; charset=Shift_JIS\n"
     "\n"
     "x\n",
     "from:会議", ""},
    {"escapes in a Subject",
     "From: a@b.example\n"
     "Subject: \x1B$B2q5D\x1B(B\n"
     "Content-Type: text/plain; charset=iso-2022-jp\n"
     "\n"
     "\x1B$B2q5D\x1B(B\n",
     "subject:会議 会議", ""},
    {"escapes where nothing is said",
     "From: a@b.example\n"
     "Subject: \x1B$B2q5D\x1B(B\n"
     "\n"
     "\x1B$B2q5D\x1B(B\n",
     "subject:会議 会議", ""},
    {"the charset of an inner part",
     "From: a@b.example\n"
     "Subject: \xC1\xE5\xF1\xEF\xEB\xE0\xF2\xED\xFB\xE9 \xEF\xF0\xE8\xE7\n"
     "Content-Type: multipart/mixed; boundary=zz\n"
     "\n"
     "--zz\n"
     "Content-Type: text/plain; charset=us-ascii\n"
     "\n"
     "x\n"
     "--zz\n"
     "Content-Type: text/html; charset=windows-1251\n"
     "\n"
     "x\n"
     "--zz--\n",
     "subject:бесплатный", ""},
    {"the charset of another field",
     "From: =?koi8-r?B?8NLJ2g==?= <a@b.example>\n"
     "Subject: \xE2\xC5\xD3\xD0\xCC\xC1\xD4\xCE\xD9\xCA \xD0\xD2\xC9\xDA\n"
     "\n"
     "\xE2\xC5\xD3\xD0\xCC\xC1\xD4\xCE\xD9\xCA \xD0\xD2\xC9\xDA\n",
     "subject:бесплатный from:приз бесплатный", ""},
    {"the charset of the message, after another one in it that was encoded as a whole",
     "From: =?koi8-r?B?8NLJ2g==?= <a@b.example>\n"
     "Content-Type: multipart/mixed; boundary=b\n"
     "\n"
     "--b\n"
     "Content-Type: message/rfc822\n"
     "Content-Transfer-Encoding: base64\n"
     "\n"
     "QTogYQoKMQo=\n"
     "--b\n"
     "\n"
     "\xE2\xC5\xD3\xD0\xCC\xC1\xD4\xCE\xD9\xCA\n"
     "--b--\n",
     "бесплатный", ""},
    {"valid UTF-8 stays so",
     "From: J\xC3\xBCrgen <a@b.example>\n"
     "Subject: \xD0\x91\xD0\xB5\xD1\x81\xD0\xBF\xD0\xBB\xD0\xB0\xD1\x82\xD0\xBD\xD1\x8B\xD0\xB9 \xD0\xBF\xD1\x80\xD0\xB8\xD0\xB7\n"
     "Content-Type: text/plain; charset=koi8-r\n"
     "\n"
     "x\n",
     "subject:бесплатный from:jürgen", ""},
    {"nothing is said anywhere",
     "From: a@b.example\n"
     "Subject: caf\xE9\n"
     "\n"
     "na\xEFve\n",
     "subject:café naïve", ""},
    {"a label that says nothing, x-unknown",
     "From: a@b.example\n"
     "Subject: x\n"
     "Content-Type: text/plain; charset=x-unknown\n"
     "\n"
     "envoy\xC3\xA9 \xC3\xA0 Zo\xC3\xA9\n",
     "envoyé zoé", ""},
    {"a label that says nothing, unknown-8bit",
     "From: a@b.example\n"
     "Subject: x\n"
     "Content-Type: text/plain; charset=unknown-8bit\n"
     "\n"
     "envoy\xC3\xA9 \xC3\xA0 Zo\xC3\xA9\n",
     "envoyé zoé", ""},
    {"a label that says nothing, us-ascii",
     "From: a@b.example\n"
     "Subject: x\n"
     "Content-Type: text/plain; charset=us-ascii\n"
     "\n"
     "envoy\xC3\xA9 \xC3\xA0 Zo\xC3\xA9\n",
     "envoyé zoé", ""},
    {"a label that says nothing, 8bit",
     "From: a@b.example\n"
     "Subject: x\n"
     "Content-Type: text/plain; charset=8bit\n"
     "\n"
     "envoy\xC3\xA9 \xC3\xA0 Zo\xC3\xA9\n",
     "envoyé zoé", ""},
    {"a label that says nothing, ansi_x3.4-1968",
     "From: a@b.example\n"
     "Subject: x\n"
     "Content-Type: text/plain; charset=ansi_x3.4-1968\n"
     "\n"
     "envoy\xC3\xA9 \xC3\xA0 Zo\xC3\xA9\n",
     "envoyé zoé", ""},
    {"a label that says nothing, no-such-charset",
     "From: a@b.example\n"
     "Subject: x\n"
     "Content-Type: text/plain; charset=no-such-charset\n"
     "\n"
     "envoy\xC3\xA9 \xC3\xA0 Zo\xC3\xA9\n",
     "envoyé zoé", ""},
    {"a label that says nothing, \"\"",
     "From: a@b.example\n"
     "Subject: x\n"
     "Content-Type: text/plain; charset=\"\"\n"
     "\n"
     "envoy\xC3\xA9 \xC3\xA0 Zo\xC3\xA9\n",
     "envoyé zoé", ""},
    {"no label; the charset of another part",
     "From: a@b.example\n"
     "Content-Type: multipart/mixed; boundary=zz\n"
     "\n"
     "--zz\n"
     "Content-Type: text/plain; charset=x-unknown\n"
     "\n"
     "\xC1\xE5\xF1\xEF\xEB\xE0\xF2\xED\xFB\xE9 \xEF\xF0\xE8\xE7\n"
     "--zz\n"
     "Content-Type: text/plain; charset=windows-1251\n"
     "\n"
     "x\n"
     "--zz--\n",
     "бесплатный", ""},
    {"an encoded word of us-ascii",
     "From: a@b.example\n"
     "Subject: =?us-ascii?Q?envoy=C3=A9?= =?x-unknown?B?WmnDqQ==?=\n"
     "\n"
     "x\n",
     "subject:envoyézié", ""},
    {"an encoded word that says nothing beside one that does",
     "From: =?koi8-r?B?8NLJ2g==?= <a@b.example>\n"
     "Subject: =?x-unknown?Q?=E2=C5=D3=D0=CC=C1=D4=CE=D9=CA=20=D0=D2=C9=DA?=\n"
     "\n"
     "x\n",
     "subject:бесплатный", ""},
    {"a meta element",
     "From: a@b.example\n"
     "Content-Type: text/html\n"
     "\n"
     "<html><head><meta charset=windows-1251></head><p>\xC1\xE5\xF1\xEF\xEB\xE0\xF2\xED\xFB\xE9 \xEF\xF0\xE8\xE7</p></html>\n",
     "бесплатный", ""},
    {"a meta element",
     "From: a@b.example\n"
     "Content-Type: text/html\n"
     "\n"
     "<html><head><META HTTP-EQUIV=\"Content-Type\" CONTENT=\"text/html; charset=windows-1251\"></head><p>\xC1\xE5\xF1\xEF\xEB\xE0\xF2\xED\xFB\xE9 \xEF\xF0\xE8\xE7</p></html>\n",
     "бесплатный", ""},
    {"a meta element",
     "From: a@b.example\n"
     "Content-Type: text/html\n"
     "\n"
     "<html><head><!-- <meta charset=koi8-r> --><meta name=x content=y><meta charset=\"cp1251\"></head><p>\xC1\xE5\xF1\xEF\xEB\xE0\xF2\xED\xFB\xE9 \xEF\xF0\xE8\xE7</p></html>\n",
     "бесплатный", ""},
    {"an XML declaration",
     "From: a@b.example\n"
     "Content-Type: application/xhtml+xml\n"
     "\n"
     "<?xml version=\"1.0\" encoding=\"windows-1251\"?><html><p>\xC1\xE5\xF1\xEF\xEB\xE0\xF2\xED\xFB\xE9 \xEF\xF0\xE8\xE7</p></html>\n",
     "бесплатный", ""},
    {"the field goes before a meta element",
     "From: a@b.example\n"
     "Content-Type: text/html; charset=windows-1251\n"
     "\n"
     "<meta charset=koi8-r><p>\xC1\xE5\xF1\xEF\xEB\xE0\xF2\xED\xFB\xE9 \xEF\xF0\xE8\xE7</p>\n",
     "бесплатный", ""},
    {"a meta element of UTF-16 in a text of bytes",
     "From: a@b.example\n"
     "Content-Type: text/html; charset=utf-16\n"
     "\n"
     "<meta charset=utf-16><p>\xD0\x91\xD0\xB5\xD1\x81\xD0\xBF\xD0\xBB\xD0\xB0\xD1\x82\xD0\xBD\xD1\x8B\xD0\xB9 \xD0\xBF\xD1\x80\xD0\xB8\xD0\xB7</p>\n",
     "бесплатный", ""},
    {"a byte order mark, utf-16-le",
     "From: a@b.example\n"
     "Content-Type: text/html; charset=koi8-r\n"
     "Content-Transfer-Encoding: base64\n"
     "\n"
     "//48AHAAPgARBDUEQQQ/BDsEMARCBD0ESwQ5BCAAPwRABDgENwQ8AC8AcAA+AA==\n",
     "бесплатный", ""},
    {"a byte order mark, utf-16-be",
     "From: a@b.example\n"
     "Content-Type: text/html; charset=koi8-r\n"
     "Content-Transfer-Encoding: base64\n"
     "\n"
     "/v8APABwAD4EEQQ1BEEEPwQ7BDAEQgQ9BEsEOQAgBD8EQAQ4BDcAPAAvAHAAPg==\n",
     "бесплатный", ""},
    {"a byte order mark, utf-8",
     "From: a@b.example\n"
     "Content-Type: text/html; charset=koi8-r\n"
     "Content-Transfer-Encoding: base64\n"
     "\n"
     "77u/PHA+0JHQtdGB0L/Qu9Cw0YLQvdGL0Lkg0L/RgNC40Lc8L3A+\n",
     "бесплатный", ""},
    {"a byte order mark of a plain text",
     "From: a@b.example\n"
     "Content-Type: text/plain\n"
     "Content-Transfer-Encoding: base64\n"
     "\n"
     "//4RBDUEQQQ/BDsEMARCBD0ESwQ5BCAAPwRABDgENwQ=\n",
     "бесплатный", ""},
    {"no semicolon",
     "From: a@b.example\n"
     "Content-Type: text/html charset=koi8-r\n"
     "\n"
     "<p>\xE2\xC5\xD3\xD0\xCC\xC1\xD4\xCE\xD9\xCA \xD0\xD2\xC9\xDA</p>\n",
     "бесплатный mime:text/html mime:charset=koi8-r", ""},
    {"a comma",
     "From: a@b.example\n"
     "Content-Type: text/plain, charset=\"koi8-r\"\n"
     "\n"
     "\xE2\xC5\xD3\xD0\xCC\xC1\xD4\xCE\xD9\xCA \xD0\xD2\xC9\xDA\n",
     "бесплатный mime:text/plain mime:charset=koi8-r", ""},
    {"no semicolon before a boundary",
     "From: a@b.example\n"
     "Content-Type: multipart/mixed boundary=zz\n"
     "\n"
     "--zz\n"
     "Content-Type: text/plain;\n"
     " format=flowed charset=koi8-r\n"
     "\n"
     "\xE2\xC5\xD3\xD0\xCC\xC1\xD4\xCE\xD9\xCA \xD0\xD2\xC9\xDA\n"
     "--zz--\n",
     "бесплатный mime:multipart/mixed", "zz"},
    {"no semicolon behind a quoted value",
     "From: a@b.example\n"
     "Content-Type: multipart/mixed; boundary=\"zz\" charset=\"koi8-r\"\n"
     "\n"
     "--zz\n"
     "\n"
     "x\n"
     "--zz--\n",
     "x", "zz"},
    {"a name that looks like a parameter",
     "From: a@b.example\n"
     "Content-Type: application/x; name=\"my charset=1.pdf\"\n"
     "\n"
     "x\n",
     "mime:file=.pdf", ""},
    {"a raw name of a file",
     "From: a@b.example\n"
     "Content-Type: multipart/mixed; boundary=zz\n"
     "\n"
     "--zz\n"
     "Content-Type: text/plain; charset=windows-1251\n"
     "\n"
     "x\n"
     "--zz\n"
     "Content-Type: application/pdf; name=\"\xF1\xF7\xB8\xF2.pdf\"\n"
     "\n"
     "x\n"
     "--zz--\n",
     "file:счёт.pdf", ""},
    {"bytes of an unknown charset mix no scripts",
     "From: a@b.example\n"
     "\n"
     "\xCF\xB3\xE4\xF1\xF3\xEC\xEE\xEA \xD6\xB3\xBF \xC2\xB3\xE4\xEF\xEE\xE2\xB3\xE4\xB3 \xB4\xF0\xF3\xED\xF2\xF3\n",
     "", "word:mixed-scripts"},
    {"nor do those of a Korean one",
     "From: a@b.example\n"
     "\n"
     "\xB9\xAB\xB7\xE1 \xB1\xA4\xB0\xED \xC6\xC7\xB8\xC5 \xC3\xD6\xB0\xED\xC0\xC7 \xBB\xF3\xC7\xB0\xC0\xBB \xB8\xB8\xB3\xAA\xBA\xB8\xBC\xBC\xBF\xE4 \xC1\xF6\xB1\xDD \xB9\xD9\xB7\xCE \xC5\xAC\xB8\xAF\n",
     "", "word:mixed-scripts"},
    {"nor Latin text in a Cyrillic charset",
     "From: a@b.example\n"
     "Content-Type: text/plain; charset=windows-1251\n"
     "\n"
     "M\xFCller gr\xFC\xDFt f\xFCr sp\xE4ter, m\xF6glich\n",
     "", "word:mixed-scripts"},
    {"nor the micro sign",
     "From: a@b.example\n"
     "Content-Type: text/plain; charset=windows-1252\n"
     "\n"
     "5 \xB5g 10\xB5m\n",
     "μg", "word:mixed-scripts"},
    {"a disguise is one",
     "From: a@b.example\n"
     "\n"
     "v\xD1\x96\xD0\xB0gr\xD0\xB0 fr\xD0\xB5\xD0\xB5\n",
     "word:mixed-scripts viagra", ""},
    {"in windows-1251, too",
     "From: a@b.example\n"
     "Content-Type: text/plain; charset=windows-1251\n"
     "\n"
     "v\xB3\xE0gr\xE0\n",
     "word:mixed-scripts viagra", ""},
    /* clang-format on */
};

static bool has(const char *text, size_t length)
{
    for (size_t i = 0; i < bag.size; i++)
        if (bag.texts[i].length == length && memcmp(bag.texts[i].bytes, text, length) == 0)
            return true;
    return false;
}

static void check_all(const char *what, const char *features, bool expected)
{
    while (*features != '\0') {
        size_t length = strcspn(features, " ");
        ck_assert_msg(has(features, length) == expected, "%s: %s \"%.*s\"", what,
                      expected ? "lacks" : "has", (int)length, features);
        features += length + strspn(features + length, " ");
    }
}

START_TEST(reads_each_charset)
{
    struct nb_tokenizer_limits limits = NB_TOKENIZER_LIMITS_DEFAULT;
    struct nb_tokenizer_settings settings = {.fields = (1u << NB_FIELDS) - 1};
    struct nb_document mail = {
        .kind = NB_DOCUMENT_MAIL, .bytes = cases[_i].mail, .length = strlen(cases[_i].mail)};
    ck_assert_int_eq(nb_document_tokenize(&mail, &key, &settings, &limits, &bag), 0);
    check_all(cases[_i].what, cases[_i].has, true);
    check_all(cases[_i].what, cases[_i].has_not, false);
}
END_TEST

static void setup(void)
{
    nb_key_restore(&key, (const unsigned char[NB_KEY_BYTES]){1});
    ck_assert_int_eq(nb_tokenizer_setup(NULL), 0);
}

static void teardown(void)
{
    nb_bag_deinit(&bag);
    nb_tokenizer_teardown();
}

int main(void)
{
    Suite *suite = suite_create("mail_charset");
    TCase *tcase = tcase_create("charsets of mails");
    tcase_add_unchecked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, reads_each_charset, 0, (int)(sizeof cases / sizeof *cases));
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
