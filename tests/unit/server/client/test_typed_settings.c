/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "server/client/base/client.h"
#include "tests/unit/run.h"

/* Adds the settings in `text` to {"a":1} and returns the JSON, which the caller frees. */
static char *put(const char *text, bool is_list, int expected)
{
    struct nb_error error = {0};
    json_t *settings = json_pack("{s:i}", "a", 1);
    int rc = is_list ? nb_settings_put_all(settings, text, &error)
                     : nb_settings_put(settings, text, &error);
    ck_assert_msg(rc == expected, "%s: %d, %s", text, rc, error.text);
    char *dump = json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(settings);
    return dump;
}

static const struct {
    const char *text, *settings;
} good[] = {
    {"b=2", "{\"a\":1,\"b\":2}"},
    {"a=0.5", "{\"a\":0.5}"},
    {"a=text", "{\"a\":\"text\"}"},
    {"a=two words", "{\"a\":\"two words\"}"},
    {"a=\"7\"", "{\"a\":\"7\"}"},
    {"a=true", "{\"a\":true}"},
    {"a=b=c", "{\"a\":\"b=c\"}"},
    {"a=", "{\"a\":null}"},
    {"a={\"x\": \"number\"}", "{\"a\":{\"x\":\"number\"}}"},
};

START_TEST(a_value_is_json_or_a_string)
{
    char *got = put(good[_i].text, false, 0);
    ck_assert_str_eq(got, good[_i].settings);
    free(got);
}
END_TEST

START_TEST(several_are_separated_by_spaces)
{
    char *got = put("  b=2 c=x  a=3 ", true, 0);
    ck_assert_str_eq(got, "{\"a\":3,\"b\":2,\"c\":\"x\"}");
    free(got);
    got = put("   ", true, 0);
    ck_assert_str_eq(got, "{\"a\":1}");
    free(got);
}
END_TEST

START_TEST(what_is_no_setting_is_refused)
{
    static const char *const BAD[] = {"", "a", "=1", "a\xff=1", "b=\xff"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        free(put(BAD[i], false, NB_CLIENT_USAGE));
    free(put("b=2 c", true, NB_CLIENT_USAGE));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settings");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, a_value_is_json_or_a_string, 0, (int)(sizeof good / sizeof *good));
    tcase_add_test(all, several_are_separated_by_spaces);
    tcase_add_test(all, what_is_no_setting_is_refused);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
