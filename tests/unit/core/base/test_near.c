/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/names.h"
#include "tests/unit/run.h"

static const struct {
    const char *a, *b;
    size_t distance;
    bool is_near;
} pairs[] = {
    {"spam", "spam", 0, false}, /* it is the same */
    {"spam", "Spam", 0, true},
    {"spam", "spma", 1, true}, /* neighbours that change places */
    {"spam", "sam", 1, true},
    {"spam", "spamm", 1, true},
    {"spam", "spem", 1, true},
    {"spam", "ham", 2, false},
    {"spam", "", 4, false},
    {"", "", 0, false},
    {"ab", "ac", 1, false},  /* too short */
    {"abc", "ca", 3, false}, /* nothing is edited twice: unrestricted it would be 2 */
    {"newsletter", "newsleter", 1, true},
    {"newsletter", "enwsletetr", 2, true},
    {"newsletter", "ewsletetr", 2, true},
    {"newsletter", "neusledder", 3, false},
    {"billing", "filing", 2, true},
    {"kitten", "sitting", 3, false},
    {"cluster-1", "cluster-2", 1, false}, /* counted up */
    {"cluster-9", "cluster-10", 2, false},
    {"2025", "2026", 1, false},
    {"q1-spam", "q1-spma", 1, true},
    {"v1", "v12", 1, false},
};

START_TEST(distances_are_of_single_edits)
{
    struct nb_string a = nb_string_of(pairs[_i].a), b = nb_string_of(pairs[_i].b);
    ck_assert_uint_eq(nb_near_distance(a, b), pairs[_i].distance);
    ck_assert_uint_eq(nb_near_distance(b, a), pairs[_i].distance);
    ck_assert_int_eq(nb_near_is(a, b), pairs[_i].is_near);
    ck_assert_int_eq(nb_near_is(b, a), pairs[_i].is_near);
}
END_TEST

START_TEST(long_words_are_compared_in_part)
{
    char a[NB_NEAR_MOST * 2], b[NB_NEAR_MOST * 2];
    memset(a, 'a', sizeof a);
    memset(b, 'a', sizeof b);
    b[sizeof b - 1] = 'b';
    ck_assert_uint_eq(
        nb_near_distance((struct nb_string){a, sizeof a}, (struct nb_string){b, sizeof b}), 0);
    b[NB_NEAR_MOST - 1] = 'b';
    ck_assert_uint_eq(
        nb_near_distance((struct nb_string){a, sizeof a}, (struct nb_string){b, sizeof b}), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("near");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, distances_are_of_single_edits, 0, (int)(sizeof pairs / sizeof *pairs));
    tcase_add_test(all, long_words_are_compared_in_part);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
