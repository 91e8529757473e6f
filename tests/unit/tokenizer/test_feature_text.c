/* SPDX-License-Identifier: Apache-2.0
 *
 * The form of each byte in the text of a feature.
 */
#include <check.h>
#include <stdlib.h>

#include "tests/unit/run.h"
#include "tokenizer/bag_private.h"

static struct nb_feature_text text_of(const char *bytes, size_t length)
{
    struct nb_feature_text f;
    nb_feature_begin(&f, "");
    nb_feature_put(&f, bytes, length);
    return f;
}

START_TEST(each_byte_is_small_printable_ascii_or_left_out)
{
    for (int byte = 0; byte < 256; byte++) {
        char c = (char)byte;
        bool is_space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
        struct nb_feature_text f = text_of(&c, 1);
        ck_assert_uint_eq(f.length, is_space ? 0 : 1);
        if (!is_space)
            ck_assert_int_eq(f.bytes[0], byte > ' ' && byte < 0x7f ? nb_ascii_lower(c) : '?');
    }
}
END_TEST

START_TEST(long_texts_are_cut)
{
    char longer[NB_FEATURE_TEXT + 1];
    memset(longer, 'A', sizeof longer);
    struct nb_feature_text f = text_of(longer, sizeof longer);
    ck_assert_uint_eq(f.length, NB_FEATURE_TEXT);
    ck_assert_int_eq(f.bytes[NB_FEATURE_TEXT - 1], 'a');
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("feature_text");
    tcase_add_test(t, each_byte_is_small_printable_ascii_or_left_out);
    tcase_add_test(t, long_texts_are_cut);
    Suite *suite = suite_create("feature_text");
    suite_add_tcase(suite, t);
    return test_run(suite);
}
