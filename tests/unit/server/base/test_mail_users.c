/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts of users whose mail was learned, judged, or both.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/base/metrics.h"

static struct nb_mail_users users;

static void expect(size_t taught, size_t asked, size_t both)
{
    ck_assert_uint_eq(nb_mail_users_count(&users, NB_USER_TAUGHT), taught);
    ck_assert_uint_eq(nb_mail_users_count(&users, NB_USER_ASKED), asked);
    ck_assert_uint_eq(nb_mail_users_count(&users, NB_USER_TAUGHT | NB_USER_ASKED), both);
}

START_TEST(users_are_counted_by_what_was_seen)
{
    const struct nb_string bob = nb_string_of("mail-bob"), ann = nb_string_of("mail-ann");
    nb_mail_users_init(&users);
    expect(0, 0, 0);
    for (int i = 0; i < 2; i++)
        nb_mail_users_note(&users, bob, NB_USER_TAUGHT);
    expect(1, 0, 0);
    nb_mail_users_note(&users, ann, NB_USER_ASKED);
    expect(1, 1, 0);
    for (int i = 0; i < 2; i++)
        nb_mail_users_note(&users, bob, NB_USER_ASKED);
    expect(0, 1, 1);
    nb_mail_users_note(&users, ann, NB_USER_TAUGHT);
    expect(0, 0, 2);
    nb_mail_users_deinit(&users);
}
END_TEST

/* The table stays as large as it is; those who are in it are still counted. */
START_TEST(further_users_are_not_counted)
{
    enum { MORE = 100 };
    char name[32];
    nb_mail_users_init(&users);
    for (int i = 0; i < NB_MAIL_USERS_MOST + MORE; i++) {
        (void)snprintf(name, sizeof name, "mail-%d", i);
        nb_mail_users_note(&users, nb_string_of(name), NB_USER_ASKED);
    }
    expect(0, NB_MAIL_USERS_MOST, 0);
    nb_mail_users_note(&users, nb_string_of("mail-new"), NB_USER_TAUGHT);
    nb_mail_users_note(&users, nb_string_of("mail-7"), NB_USER_TAUGHT);
    expect(0, NB_MAIL_USERS_MOST - 1, 1);
    nb_mail_users_deinit(&users);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mail_users");
    TCase *tests = tcase_create("mail_users");
    tcase_add_test(tests, users_are_counted_by_what_was_seen);
    tcase_add_test(tests, further_users_are_not_counted);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
