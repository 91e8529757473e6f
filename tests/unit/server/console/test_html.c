/* SPDX-License-Identifier: Apache-2.0 */
#include "server/console/html.h"

#include <check.h>
#include <stdlib.h>

typedef int writer(struct nb_buffer *out, struct nb_string text);

static void assert_written(writer *write, struct nb_string text, const char *wanted)
{
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_buffer_puts(&out, "."), 0);
    ck_assert_int_eq(write(&out, text), 0);
    ck_assert_int_eq(nb_buffer_append(&out, "", 1), 0);
    ck_assert_str_eq(out.bytes + 1, wanted);
    nb_buffer_deinit(&out);
}

START_TEST(text_is_no_markup)
{
    assert_written(nb_html_text, nb_string_of("<b x=\"1\" y='2'>&amp;</b>"),
                   "&lt;b x=&quot;1&quot; y=&#39;2&#39;&gt;&amp;amp;&lt;/b&gt;");
    assert_written(nb_html_text, nb_string_of(""), "");
    assert_written(nb_html_text, nb_string_of("\xC3\xA4 \xF0\x9F\x98\x80"),
                   "\xC3\xA4 \xF0\x9F\x98\x80");
    /* C0, DEL, and C1, which takes two bytes. */
    assert_written(nb_html_text,
                   (struct nb_string){"a\0b\n\x7F\xC2\x9B"
                                      "c",
                                      8},
                   "a b   c");
}
END_TEST

START_TEST(urls_have_unreserved_characters_alone)
{
    assert_written(nb_html_url, nb_string_of("aZ09-._~"), "aZ09-._~");
    assert_written(nb_html_url, nb_string_of("a b/\"?&=%\xC3\xA4"),
                   "a%20b%2F%22%3F%26%3D%25%C3%A4");
    assert_written(nb_html_url, (struct nb_string){"\0", 1}, "%00");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("html");
    TCase *tests = tcase_create("html");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, text_is_no_markup);
    tcase_add_test(tests, urls_have_unreserved_characters_alone);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
