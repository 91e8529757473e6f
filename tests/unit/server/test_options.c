/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/base/listen.h"
#include "server/options.h"
#include "tests/unit/run.h"

enum { ARGUMENTS_MOST = 8 };

static const struct {
    const char *arguments[ARGUMENTS_MOST]; /* ends with NULL */
    int rc;
    enum nb_action action;
    const char *config, *data, *listen;
    const char *said;
} lines[] = {
    {{NULL}, 0, NB_ACTION_SERVE, NULL, NULL, NULL, NULL},
    {{"--config", "f", "--data=d", NULL}, 0, NB_ACTION_SERVE, "f", "d", NULL, NULL},
    {{"--listen", "[::1]:0", NULL}, 0, NB_ACTION_SERVE, NULL, NULL, "[::1]:0", NULL},
    {{"--check-config", NULL}, 0, NB_ACTION_CHECK_CONFIG, NULL, NULL, NULL, NULL},
    {{"--print-config", "--data", "d", NULL}, 0, NB_ACTION_PRINT_CONFIG, NULL, "d", NULL, NULL},
    {{"--verify", NULL}, 0, NB_ACTION_VERIFY, NULL, NULL, NULL, NULL},
    {{"--join", "http://127.0.0.1:1", NULL}, 0, NB_ACTION_JOIN, NULL, NULL, NULL, NULL},
    {{"--nodes-init", NULL}, 0, NB_ACTION_NODES_INIT, NULL, NULL, NULL, NULL},
    {{"--join", NULL}, NB_INVALID, 0, NULL, NULL, NULL, "--join needs a value"},
    {{"--version", "--verify", NULL}, 0, NB_ACTION_VERSION, NULL, NULL, NULL, NULL},
    {{"--verify", "--help", NULL}, 0, NB_ACTION_HELP, NULL, NULL, NULL, NULL},
    {{"--config", NULL}, NB_INVALID, 0, NULL, NULL, NULL, "--config needs a value"},
    {{"--nonsense", NULL}, NB_INVALID, 0, NULL, NULL, NULL, "--nonsense is no option"},
    {{"--dta=d", NULL},
     NB_INVALID,
     0,
     NULL,
     NULL,
     NULL,
     "--dta=d is no option: did you mean --data?"},
    {{"--check-confg", NULL}, NB_INVALID, 0, NULL, NULL, NULL, "did you mean --check-config?"},
    {{"--data", "d", "-x", NULL}, NB_INVALID, 0, NULL, NULL, NULL, "-x is no option"},
    {{"--help=me", NULL}, NB_INVALID, 0, NULL, NULL, NULL, "--help=me"},
    {{"stray", NULL}, NB_INVALID, 0, NULL, NULL, NULL, "stray"},
    {{"--new-token", "a", "--role", "train", NULL}, 0, NB_ACTION_NEW_TOKEN, NULL, NULL, NULL, NULL},
    {{"--new-token", "a", "--role", "train", "--models", "b*", NULL},
     0,
     NB_ACTION_NEW_TOKEN,
     NULL,
     NULL,
     NULL,
     NULL},
    {{"--list-tokens", NULL}, 0, NB_ACTION_LIST_TOKENS, NULL, NULL, NULL, NULL},
    {{"--revoke-token", "a", NULL}, 0, NB_ACTION_REVOKE_TOKEN, NULL, NULL, NULL, NULL},
    {{"--new-token", "a", "--help", NULL}, 0, NB_ACTION_HELP, NULL, NULL, NULL, NULL},
    {{"--new-token", "a", NULL}, NB_INVALID, 0, NULL, NULL, NULL, "needs --role"},
    {{"--role", "train", NULL}, NB_INVALID, 0, NULL, NULL, NULL, "--role is for"},
    {{"--list-tokens", "--models", "b*", NULL}, NB_INVALID, 0, NULL, NULL, NULL, "--models is for"},
};

static void check_text(const char *got, const char *expected)
{
    if (expected == NULL)
        ck_assert_ptr_null(got);
    else
        ck_assert_str_eq(got, expected);
}

START_TEST(reads_each_command_line)
{
    char *argv[ARGUMENTS_MOST + 2] = {strdup("bayesd")};
    int argc = 1;
    for (const char *const *a = lines[_i].arguments; *a != NULL; a++)
        argv[argc++] = strdup(*a);
    struct nb_options options;
    struct nb_error error = {0};
    ck_assert_int_eq(nb_options_read(argc, argv, &options, &error), lines[_i].rc);
    if (lines[_i].rc == 0) {
        ck_assert_int_eq(options.action, lines[_i].action);
        check_text(options.config, lines[_i].config);
        check_text(options.data, lines[_i].data);
        check_text(options.listen, lines[_i].listen);
    } else {
        ck_assert_msg(strstr(error.text, lines[_i].said) != NULL, "case %d: %s", _i, error.text);
    }
    for (int i = 0; i < argc; i++)
        free(argv[i]);
}
END_TEST

/* ---- addresses ------------------------------------------------------------------------------- */

static const struct {
    const char *address;
    int rc;
    bool is_loopback;
} addresses[] = {
    {"127.0.0.1:8763", 0, true},
    {"127.1.2.3:0", 0, true},
    {"[::1]:65535", 0, true},
    {"0.0.0.0:8763", 0, false},
    {"[::]:8763", 0, false},
    {"192.0.2.1:80", 0, false},
    {"[::ffff:127.0.0.1]:80", 0, false}, /* is loopback, but does not count as such */
    {"", NB_INVALID, false},
    {":", NB_INVALID, false},
    {":80", NB_INVALID, false},
    {"127.0.0.1", NB_INVALID, false},
    {"127.0.0.1:", NB_INVALID, false},
    {"127.0.0.1:65536", NB_INVALID, false},
    {"127.0.0.1:-1", NB_INVALID, false},
    {"127.0.0.1:8 ", NB_INVALID, false},
    {"127.0.0.1:99999999999999999999", NB_INVALID, false},
    {"::1:80", NB_INVALID, false},
    {"[::1:80", NB_INVALID, false},
    {"[]:80", NB_INVALID, false},
    {"]:80", NB_INVALID, false},
    {"localhost:80", NB_INVALID, false},
};

START_TEST(reads_each_address)
{
    bool is_loopback = false;
    struct nb_error error = {0};
    ck_assert_int_eq(nb_listen_is_loopback(addresses[_i].address, &is_loopback, &error),
                     addresses[_i].rc);
    ck_assert(is_loopback == addresses[_i].is_loopback);
}
END_TEST

START_TEST(takes_a_free_port_and_refuses_one_in_use)
{
    struct nb_listener first, second;
    struct nb_error error = {0};
    ck_assert_int_eq(nb_listen("127.0.0.1:0", &first, &error), 0);
    ck_assert_int_eq(strncmp(first.address, "127.0.0.1:", 10), 0);
    ck_assert_int_gt(atoi(first.address + 10), 0);
    ck_assert_int_eq(nb_listen(first.address, &second, &error), NB_IO);
    ck_assert_ptr_nonnull(strstr(error.text, first.address));
    close(first.socket);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options");
    TCase *tcase = tcase_create("options");
    tcase_add_loop_test(tcase, reads_each_command_line, 0, (int)(sizeof lines / sizeof lines[0]));
    tcase_add_loop_test(tcase, reads_each_address, 0,
                        (int)(sizeof addresses / sizeof addresses[0]));
    tcase_add_test(tcase, takes_a_free_port_and_refuses_one_in_use);
    suite_add_tcase(suite, tcase);
    return test_run(suite);
}
