/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/run.h"
#include "tokenizer/transfer_encoding.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

typedef int decoder(struct nb_string body, struct nb_buffer *out);

static const struct {
    decoder *decode;
    const char *body, *text;
} CASES[] = {
    {nb_transfer_base64, "", ""},
    {nb_transfer_base64, "YQ", "a"},
    {nb_transfer_base64, "YWI", "ab"},
    {nb_transfer_base64, "YWJj", "abc"},
    {nb_transfer_base64, "YWJjZA==", "abcd"},
    {nb_transfer_base64, "Y W*J\nj", "abc"},
    {nb_transfer_base64, "YQ==YWI=YWJj", "aababc"},
    {nb_transfer_base64, "Y", ""},
    {nb_transfer_base64_body, "", ""},
    {nb_transfer_base64_body, "aGFyYm91ciBsZWRnZXI=", "harbour ledger"},
    {nb_transfer_base64_body, "aGFyYm91ciBsZWRnZXI", "harbour ledger"},
    {nb_transfer_base64_body, "aGFy\nYm91\nciBs\nZWRn\nZXI\n", "harbour ledger"},
    {nb_transfer_base64_body, "aGFyYm91c\niBsZWRnZX\nI=\n", "harbour ledger"},
    {nb_transfer_base64_body, "aGFyYm91ciBs\n\nZWRnZXIgaXM=\n", "harbour ledger is"},
    {nb_transfer_base64_body, "aGFyYm91ciBsZWRnZXI=\nIGlzIG5v\ndyBvcGVu",
     "harbour ledger is now open"},
    /* Blanks and what is not of the alphabet, in the middle. */
    {nb_transfer_base64_body, "aGFyYm91 ciBsZWRn ZXI=", "harbour ledger"},
    {nb_transfer_base64_body, "aGFyYm91*ciBsZW!RnZXI=", "harbour ledger"},
    {nb_transfer_base64_body, "  aGFyYm91ciBsZWRnZXI=\t\r\n", "harbour ledger"},
    /* Bytes that are no text: a charset that is not UTF-8. */
    {nb_transfer_base64_body, "8PLJ2iDExc7Yx8k=", "\xf0\xf2\xc9\xda \xc4\xc5\xce\xd8\xc7\xc9"},
    {nb_transfer_base64_body, "8PLJ2iDExc7Y", "\xf0\xf2\xc9\xda \xc4\xc5\xce\xd8"},
    /* Text. */
    {nb_transfer_base64_body, "Hello", "Hello"},
    {nb_transfer_base64_body, "Thanks\nAnn\n", "Thanks\nAnn\n"},
    {nb_transfer_base64_body, "the harbour ledger is open", "the harbour ledger is open"},
    {nb_transfer_base64_body, "Hello\n\nthe ledger.\nThanks\n", "Hello\n\nthe ledger.\nThanks\n"},
    {nb_transfer_base64_body, "<p>harbour</p>", "<p>harbour</p>"},
    {nb_transfer_base64_body, "caf\xc3\xa9", "caf\xc3\xa9"},
    {nb_transfer_base64_body, "See https://example.org/aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd\n",
     "See https://example.org/aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd\n"},
    /* Base64 and text. */
    {nb_transfer_base64_body, "aGFyYm91ciBsZWRnZXI=\n\n-- \nlist footer\nunsubscribe\n",
     "harbour ledger\n-- \nlist footer\nunsubscribe\n"},
    {nb_transfer_base64_body, "aGFyYm91ciBsZWRnZXI\nlist footer, at the end\n",
     "harbour ledger\nlist footer, at the end\n"},
    {nb_transfer_base64_body,
     "from the list:\n\ndGhlIGhhcmJvdXIgbGVkZ2VyIGlzIG9wZW4gYXQgbGFzdCwg\nYW5kIG1vcmU=\nthe end\n",
     "from the list:\n\nthe harbour ledger is open at last, and more\nthe end\n"},
    {nb_transfer_quoted_printable, "", ""},
    {nb_transfer_quoted_printable, "har=\nbour led=\r\nger", "harbour ledger"},
    {nb_transfer_quoted_printable, "har= \t\nbour led=  \r\nger=  ", "harbour ledger"},
    {nb_transfer_quoted_printable, "har=\rbour=", "harbour"},
    {nb_transfer_quoted_printable, "caf=c3=A9 a=b =zz =", "caf\xc3\xa9 a=b =zz "},
    {nb_transfer_quoted_printable, "a=  b =4", "a=  b =4"},
};

START_TEST(decodes_each_case)
{
    const struct nb_string body = {CASES[_i].body, strlen(CASES[_i].body)};
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_buffer_puts(&out, "<"), 0);
    ck_assert_int_eq(CASES[_i].decode(body, &out), 0);
    ck_assert_msg(out.length == strlen(CASES[_i].text) + 1 &&
                      memcmp(out.bytes + 1, CASES[_i].text, out.length - 1) == 0,
                  "%s: \"%.*s\"", CASES[_i].body, (int)out.length, out.bytes);
    nb_buffer_deinit(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transfer");
    TCase *tcase = tcase_create("transfer");
    tcase_add_loop_test(tcase, decodes_each_case, 0, (int)(sizeof CASES / sizeof *CASES));
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
