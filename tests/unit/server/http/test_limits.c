/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/http/limits.h"
#include "server/http/tokens.h"
#include "tests/unit/run.h"

static const uint64_t SECOND = 1000000000u;

/* ---- rates ----------------------------------------------------------------------------------- */

START_TEST(rates_that_are_read)
{
    static const struct {
        const char *text;
        double per_second, burst;
    } good[] = {{"0", 0, 0},
                {"0/minute", 0, 0},
                {"10/second", 10, 10},
                {"10/s", 10, 10},
                {"600/minute", 10, 600},
                {"6/m", 0.1, 6},
                {"3600/hour", 1, 3600},
                {"1/h", 1.0 / 3600, 1},
                {"1000000000/s", 1e9, 1e9}};
    static const char *const bad[] = {"",      "10",     "-1/s",  "1.5/s", "10/",          "10/day",
                                      "10 /s", "10/s/s", "ten/s", "/s",    "1000000001/s", "1/S"};
    struct nb_rate rate;
    struct nb_error error;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ck_assert_int_eq(nb_rate_read(good[i].text, "rate", &rate, &error), 0);
        ck_assert_double_eq_tol(rate.per_second, good[i].per_second, 1e-12);
        ck_assert_double_eq(rate.burst, good[i].burst);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(nb_rate_read(bad[i], "[server] rate_x", &rate, &error) == NB_INVALID, "%s",
                      bad[i]);
        ck_assert_ptr_nonnull(strstr(error.text, "[server] rate_x"));
    }
}
END_TEST

/* ---- buckets --------------------------------------------------------------------------------- */

static const struct nb_rate TWO_A_SECOND = {2, 4};

static uint64_t take(struct nb_buckets *buckets, const char *key, double floor, uint64_t now)
{
    struct nb_string keys[] = {nb_string_of(key)};
    return nb_buckets_take(buckets, keys, 1, &TWO_A_SECOND, floor, now);
}

START_TEST(a_bucket_gives_its_burst_and_then_its_rate)
{
    struct nb_buckets *buckets = nb_buckets_new();
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(take(buckets, "a", 0, SECOND), 0);
    ck_assert_uint_eq(take(buckets, "a", 0, SECOND), SECOND / 2);
    ck_assert_uint_eq(take(buckets, "b", 0, SECOND), 0); /* has its own bucket */
    ck_assert_uint_gt(take(buckets, "a", 0, SECOND + SECOND / 4), 0);
    ck_assert_uint_eq(take(buckets, "a", 0, SECOND + SECOND / 2), 0);
    /* The bucket fills up to its burst and no further. */
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(take(buckets, "a", 0, 1000 * SECOND), 0);
    ck_assert_uint_gt(take(buckets, "a", 0, 1000 * SECOND), 0);
    nb_buckets_free(&buckets);
}
END_TEST

START_TEST(debts_are_bounded_and_paid_first)
{
    struct nb_buckets *buckets = nb_buckets_new();
    int taken = 0;
    while (take(buckets, "a", -6, SECOND) == 0)
        taken++;
    ck_assert_int_eq(taken, 10);
    ck_assert_uint_eq(take(buckets, "a", 0, SECOND), 7 * SECOND / 2);
    ck_assert_uint_eq(take(buckets, "a", 0, SECOND + 7 * SECOND / 2), 0);
    nb_buckets_free(&buckets);
}
END_TEST

START_TEST(all_buckets_give_or_none_does)
{
    struct nb_buckets *buckets = nb_buckets_new();
    struct nb_string both[] = {nb_string_of("a"), nb_string_of("b")};
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(take(buckets, "b", 0, SECOND), 0);
    for (int i = 0; i < 10; i++)
        ck_assert_uint_gt(nb_buckets_take(buckets, both, 2, &TWO_A_SECOND, 0, SECOND), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(take(buckets, "a", 0, SECOND), 0);
    nb_buckets_free(&buckets);
}
END_TEST

/* The table does not grow, and it keeps the client that keeps asking. */
START_TEST(a_flood_of_clients)
{
    struct nb_buckets *buckets = nb_buckets_new();
    uint64_t now = SECOND;
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(take(buckets, "the one", 0, now), 0);
    int passed = 0;
    for (unsigned i = 0; i < 100000; i++) {
        char other[32];
        snprintf(other, sizeof other, "%u", i);
        ck_assert_uint_eq(take(buckets, other, 0, ++now), 0);
        if (i % 100 == 0)
            passed += take(buckets, "the one", -1000, ++now) == 0;
    }
    ck_assert_int_eq(passed, 1000); /* all, into debt: never forgotten */
    ck_assert_uint_gt(take(buckets, "the one", 0, ++now), 400 * SECOND);
    nb_buckets_free(&buckets);
}
END_TEST

START_TEST(keys_that_are_noted)
{
    struct nb_buckets *buckets = nb_buckets_new();
    ck_assert(!nb_buckets_knows(buckets, nb_string_of("a"), 1));
    nb_buckets_note(buckets, nb_string_of("a"), 1);
    ck_assert(nb_buckets_knows(buckets, nb_string_of("a"), 2));
    ck_assert(!nb_buckets_knows(buckets, nb_string_of("b"), 2));
    nb_buckets_free(&buckets);
}
END_TEST

/* ---- clients --------------------------------------------------------------------------------- */

static struct nb_peer peer_at(const char *address)
{
    struct nb_peer peer = {.is_proven = true};
    ck_assert_uint_ne(nb_address_read(nb_string_of(address), &peer.address), 0);
    return peer;
}

static const struct nb_token WEAK = {.hash = {1}, .role = NB_ROLE_TRAIN},
                             OTHER = {.hash = {2}, .role = NB_ROLE_TRAIN},
                             MADE = {.hash = {3}, .role = NB_ROLE_TRAIN, .is_made = true};

static struct nb_grant grant_of(const struct nb_token *token)
{
    return (struct nb_grant){.role = token != NULL ? token->role : NB_ROLE_NONE, .token = token};
}

/* So slow that the duration of the test does not matter. */
static const struct nb_rate SLOW = {1e-6, 3};

static bool may(struct nb_limits *limits, const char *address, const struct nb_token *token)
{
    struct nb_peer peer = peer_at(address);
    struct nb_grant grant = grant_of(token);
    return nb_limits_judge(limits, &SLOW, &peer, &grant) == 0;
}

START_TEST(guessing_is_slowed_where_it_comes_from)
{
    struct nb_limits *limits = nb_limits_new();
    ck_assert(may(limits, "192.0.2.1", &WEAK)); /* from now on known at this address */
    for (int i = 0; i < 3; i++)
        ck_assert(may(limits, "192.0.2.1", NULL));
    for (int i = 0; i < 5; i++)
        ck_assert(!may(limits, "192.0.2.1", NULL));
    ck_assert(may(limits, "192.0.2.1", &WEAK));
    ck_assert(!may(limits, "192.0.2.1", &OTHER)); /* may have been guessed */
    ck_assert(may(limits, "192.0.2.1", &MADE));   /* cannot have been guessed */
    ck_assert(may(limits, "192.0.2.2", &OTHER) && may(limits, "192.0.2.2", NULL));
    nb_limits_free(&limits);
}
END_TEST

START_TEST(one_customers_ipv6_addresses_are_one)
{
    struct nb_limits *limits = nb_limits_new();
    ck_assert(may(limits, "2001:db8:0:1::1", NULL) && may(limits, "2001:db8:0:1::2", NULL) &&
              may(limits, "2001:db8:0:1:ffff::3", NULL));
    ck_assert(!may(limits, "2001:db8:0:1::4", NULL));
    ck_assert(may(limits, "2001:db8:0:2::1", NULL));
    ck_assert(may(limits, "::ffff:192.0.2.1", NULL) && may(limits, "192.0.2.2", NULL));
    nb_limits_free(&limits);
}
END_TEST

static bool takes(struct nb_limits *limits, enum nb_limit which, const char *address,
                  const struct nb_token *token, bool is_first)
{
    struct nb_peer peer = peer_at(address);
    struct nb_grant grant = grant_of(token);
    return nb_limits_take(limits, which, &SLOW, &peer, &grant, is_first) == 0;
}

START_TEST(rates_hold_for_addresses_and_for_tokens)
{
    struct nb_limits *limits = nb_limits_new();
    for (int i = 0; i < 3; i++)
        ck_assert(takes(limits, NB_LIMIT_TRAIN, "192.0.2.1", NULL, true));
    ck_assert(!takes(limits, NB_LIMIT_TRAIN, "192.0.2.1", NULL, true));
    ck_assert(!takes(limits, NB_LIMIT_TRAIN, "192.0.2.1", &WEAK, true));
    ck_assert(takes(limits, NB_LIMIT_CLASSIFY, "192.0.2.1", NULL, true)); /* has its own limit */
    for (int i = 2; i < 5; i++) {
        char address[32];
        snprintf(address, sizeof address, "192.0.2.%d", i);
        ck_assert(takes(limits, NB_LIMIT_TRAIN, address, &WEAK, true));
    }
    ck_assert(!takes(limits, NB_LIMIT_TRAIN, "192.0.2.6", &WEAK, true));
    ck_assert(takes(limits, NB_LIMIT_TRAIN, "192.0.2.6", &OTHER, true));
    nb_limits_free(&limits);
}
END_TEST

START_TEST(without_a_rate_nothing_is_counted)
{
    static const struct nb_rate none = {0, 0};
    struct nb_limits *limits = nb_limits_new();
    struct nb_peer peer = peer_at("192.0.2.1");
    struct nb_grant grant = grant_of(NULL);
    for (int i = 0; i < 1000; i++) {
        ck_assert_uint_eq(nb_limits_take(limits, NB_LIMIT_TRAIN, &none, &peer, &grant, true), 0);
        ck_assert_uint_eq(nb_limits_judge(limits, &none, &peer, &grant), 0);
    }
    nb_limits_free(&limits);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("limits");
    TCase *tests = tcase_create("limits");
    tcase_add_test(tests, rates_that_are_read);
    tcase_add_test(tests, a_bucket_gives_its_burst_and_then_its_rate);
    tcase_add_test(tests, debts_are_bounded_and_paid_first);
    tcase_add_test(tests, all_buckets_give_or_none_does);
    tcase_add_test(tests, a_flood_of_clients);
    tcase_add_test(tests, keys_that_are_noted);
    tcase_add_test(tests, guessing_is_slowed_where_it_comes_from);
    tcase_add_test(tests, one_customers_ipv6_addresses_are_one);
    tcase_add_test(tests, rates_hold_for_addresses_and_for_tokens);
    tcase_add_test(tests, without_a_rate_nothing_is_counted);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
