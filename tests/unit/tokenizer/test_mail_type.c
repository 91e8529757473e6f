/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "tests/unit/run.h"
#include "tokenizer/mail_content.h"

static const struct {
    const char *value;
    const char *type; /* media|charset|boundary|file name; NULL: not plain */
} cases[] = {
    {"text/plain", "text/plain|||"},
    {" TEXT/Html;\n charset=US-ASCII", "text/html|us-ascii||"},
    {"text/plain; charset=\"ISO-8859-1\"; format=flowed", "text/plain|iso-8859-1||"},
    {"multipart/mixed; boundary=\"----=_Next (1) ?=/':,\"",
     "multipart/mixed||----=_Next (1) ?=/':,|"},
    {"a.b/c+d;NAME=x_1.txt", "a.b/c+d|||x_1.txt"},
    {"a/b;filename=y;name=\"x y\"", "a/b|||y"},
    {"", NULL},
    {"text", NULL},
    {"text/", NULL},
    {"/plain", NULL},
    {"text / plain", NULL},
    {"text/plain;", NULL},
    {"text/plain ; charset=x", NULL},
    {"text/plain; charset", NULL},
    {"text/plain; charset=", NULL},
    {"text/plain; charset=\"\"", NULL},
    {"text/plain; charset = x", NULL},
    {"text/plain; charset=x y", NULL},
    {"text/plain; charset=\"x", NULL},
    {"text/plain; charset=x; charset=y", NULL},
    {"text/plain (comment)", NULL},
    {"text/plain; name=\"a\\\"b\"", NULL},
    {"text/plain; name=\"=?utf-8?Q?a?=\"", NULL},
    {"text/plain; name=\"\xC3\xA9\"", NULL},
    {"text/plain; name=\"a\nb\"", NULL},
    {"text/plain; name*=utf-8''a", NULL},
    {"text/plain; name*0=a", NULL},
};

static void print(const struct nb_mail_type *type, struct nb_buffer *out)
{
    out->length = 0;
    nb_buffer_printf(out, "%s|%s|%s|%s", type->media, type->charset, type->boundary,
                     type->file_name);
    nb_buffer_append(out, "", 1);
}

START_TEST(what_is_plain)
{
    struct nb_mail_type type = {.media = "untouched"};
    struct nb_buffer out = {0};
    bool is_plain = nb_mail_plain_type(&type, nb_string_of(cases[_i].value));
    ck_assert_int_eq(is_plain, cases[_i].type != NULL);
    print(&type, &out);
    ck_assert_str_eq(out.bytes, is_plain ? cases[_i].type : "untouched|||");
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(long_values_are_not_plain)
{
    char value[300] = "text/plain; name=";
    struct nb_mail_type type = {.media = ""};
    memset(value + strlen(value), 'x', 256 - strlen(value));
    ck_assert(nb_mail_plain_type(&type, nb_string_of(value)));
    strcat(value, "x");
    ck_assert(!nb_mail_plain_type(&type, nb_string_of(value)));
}
END_TEST

static const char *one_of(const char *const *texts, size_t count)
{
    return texts[(size_t)rand() % count];
}
#define ONE_OF(texts) one_of(texts, sizeof(texts) / sizeof *(texts))

/* Appends a parameter that is mostly well-formed. */
static void put_parameter(struct nb_buffer *value)
{
    static const char *const separators[] = {";", "; ", ";\n ", ";\r\n\t"};
    static const char *const names[] = {"charset", "Boundary", "name", "filename", "x-y", "format"};
    static const char *const tokens[] = {"us-ascii", "UTF-8", "1", "a.b+c_d", "-", "=", "a b", ""};
    nb_buffer_puts(value, ONE_OF(separators));
    nb_buffer_puts(value, ONE_OF(names));
    nb_buffer_puts(value, "=");
    if (rand() % 2 == 0) {
        nb_buffer_puts(value, ONE_OF(tokens));
        return;
    }
    nb_buffer_puts(value, "\"");
    for (int i = rand() % 20; i >= 0; i--) {
        char c = (char)(rand() % 200 == 0 ? 1 + rand() % 250 : ' ' + rand() % 95);
        nb_buffer_append(value, &c, 1);
    }
    nb_buffer_puts(value, "\"");
}

START_TEST(agrees_with_gmime)
{
    static const char *const media[] = {"text/plain", "Text/HTML", "multipart/x-y", "a.b+c/1_2"};
    enum { ROUNDS = 30000 };
    const unsigned seed = 17;
    printf("agrees_with_gmime: seed %u\n", seed);
    srand(seed);
    struct nb_buffer value = {0}, one = {0}, other = {0};
    int plain = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct nb_mail_type fast = {.media = ""}, slow = {.media = ""};
        value.length = 0;
        nb_buffer_puts(&value, ONE_OF(media));
        for (int i = rand() % 4; i > 0; i--)
            put_parameter(&value);
        if (!nb_mail_plain_type(&fast, (struct nb_string){value.bytes, value.length}))
            continue;
        plain++;
        nb_mail_read_type(&slow, (struct nb_string){value.bytes, value.length});
        print(&fast, &one);
        print(&slow, &other);
        ck_assert_msg(strcmp(one.bytes, other.bytes) == 0, "%.*s: %s, GMime %s", (int)value.length,
                      value.bytes, one.bytes, other.bytes);
    }
    ck_assert_int_gt(plain, ROUNDS / 4);
    nb_buffer_deinit(&value);
    nb_buffer_deinit(&one);
    nb_buffer_deinit(&other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mail_type");
    TCase *tcase = tcase_create("mail_type");
    tcase_set_timeout(tcase, 60);
    tcase_add_unchecked_fixture(tcase, nb_mail_decode_setup, nb_mail_decode_teardown);
    tcase_add_loop_test(tcase, what_is_plain, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tcase, long_values_are_not_plain);
    tcase_add_test(tcase, agrees_with_gmime);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
