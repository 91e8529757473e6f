/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue of events, and their signatures.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "server/events/event_queue.h"
#include "server/events/signature.h"
#include "tests/unit/run.h"

static struct nb_event_queue queue;

static void setup(void)
{
    queue = (struct nb_event_queue){.most = 3};
}

static void teardown(void)
{
    nb_event_queue_deinit(&queue);
}

/* ---- signatures ------------------------------------------------------------------------------ */

/* The example of the Standard Webhooks' libraries. */
START_TEST(a_signature_is_that_of_the_standard)
{
    struct nb_event_secret secret;
    char signature[NB_SIGNATURE_TEXT];
    ck_assert_int_eq(
        nb_event_secret_read(nb_string_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), &secret, NULL),
        0);
    nb_event_sign(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                  nb_string_of("{\"test\": 2432232314}"), signature);
    ck_assert_str_eq(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}
END_TEST

static const struct {
    const char *text;
    size_t length; /* 0: refused */
} secrets[] = {
    {"whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB", 24},
    {"whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=", 0},
    {"QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB", 0},
    {"whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUF", 0},
    {"whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUF!", 0},
    {"whsec_", 0},
    {"", 0},
};

START_TEST(a_secret_is_read_or_refused)
{
    struct nb_event_secret secret = {.length = 99};
    struct nb_error error = {0};
    int rc = nb_event_secret_read(nb_string_of(secrets[_i].text), &secret, &error);
    ck_assert_int_eq(rc, secrets[_i].length > 0 ? 0 : NB_INVALID);
    ck_assert_uint_eq(secret.length, secrets[_i].length > 0 ? secrets[_i].length : 99);
    ck_assert(strstr(error.text, "QUFB") == NULL);
}
END_TEST

START_TEST(a_secret_has_64_bytes_at_most)
{
    char text[6 + 88 + 1] = "whsec_";
    struct nb_event_secret secret;
    memset(text + 6, 'Q', 86);
    memcpy(text + 6 + 86, "==", 3);
    ck_assert_int_eq(nb_event_secret_read(nb_string_of(text), &secret, NULL), 0);
    ck_assert_uint_eq(secret.length, 64);
    memcpy(text + 6 + 86, "A=", 3);
    ck_assert_int_eq(nb_event_secret_read(nb_string_of(text), &secret, NULL), NB_INVALID);
}
END_TEST

/* ---- the queue ------------------------------------------------------------------------------- */

static struct nb_event *added(uint64_t due)
{
    struct nb_event *event = nb_event_new(NB_EVENT_DRIFT);
    ck_assert_ptr_nonnull(event);
    event->due = due;
    ck_assert_ptr_null(nb_event_queue_add(&queue, event));
    return event;
}

START_TEST(the_first_due_is_taken_the_oldest_of_equals)
{
    uint64_t until;
    ck_assert_ptr_null(nb_event_queue_take(&queue, 5, &until));
    ck_assert_uint_eq(until, UINT64_MAX);
    struct nb_event *late = added(9), *first = added(4), *second = added(4);
    ck_assert_ptr_null(nb_event_queue_take(&queue, 3, &until));
    ck_assert_uint_eq(until, 4);
    struct nb_event *order[] = {first, second, late};
    for (size_t i = 0; i < 3; i++) {
        struct nb_event *taken = nb_event_queue_take(&queue, 9, &until);
        ck_assert_ptr_eq(taken, order[i]);
        nb_event_free(&taken);
    }
    ck_assert_uint_eq(queue.count, 0);
}
END_TEST

START_TEST(one_more_drops_the_oldest)
{
    struct nb_event *oldest = added(0);
    (void)added(1);
    (void)added(2);
    struct nb_event *fourth = nb_event_new(NB_EVENT_UNSURE);
    struct nb_event *dropped = nb_event_queue_add(&queue, fourth);
    ck_assert_ptr_eq(dropped, oldest);
    nb_event_free(&dropped);
    ck_assert_uint_eq(queue.count, 3);
}
END_TEST

START_TEST(what_is_put_back_is_as_old_as_before)
{
    uint64_t until;
    struct nb_event *oldest = added(0);
    ck_assert_ptr_eq(nb_event_queue_take(&queue, 0, &until), oldest);
    oldest->due = 7;
    for (int i = 0; i < 3; i++)
        (void)added(0);
    ck_assert_ptr_eq(nb_event_queue_add(&queue, oldest), oldest);
    nb_event_free(&oldest);
    ck_assert_uint_eq(queue.count, 3);
}
END_TEST

START_TEST(each_event_has_an_id)
{
    struct nb_event *a = nb_event_new(NB_EVENT_DRIFT), *b = nb_event_new(NB_EVENT_DRIFT);
    ck_assert_uint_eq(strlen(a->id), 36);
    ck_assert_str_ne(a->id, b->id);
    nb_event_free(&a);
    nb_event_free(&b);
    nb_event_free(&b);
}
END_TEST

START_TEST(a_pause_doubles)
{
    static const uint64_t pauses[] = {5, 10, 20, 40, 80, 90, 90};
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++)
        ck_assert_uint_eq(nb_event_pause(i + 1, 5, 90), pauses[i]);
    ck_assert_uint_eq(nb_event_pause(100, 86400, 86400), 86400);
    ck_assert_uint_eq(nb_event_pause(1, 100, 7), 7);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("events");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, a_signature_is_that_of_the_standard);
    tcase_add_loop_test(all, a_secret_is_read_or_refused, 0,
                        (int)(sizeof secrets / sizeof *secrets));
    tcase_add_test(all, a_secret_has_64_bytes_at_most);
    tcase_add_test(all, the_first_due_is_taken_the_oldest_of_equals);
    tcase_add_test(all, one_more_drops_the_oldest);
    tcase_add_test(all, what_is_put_back_is_as_old_as_before);
    tcase_add_test(all, each_event_has_an_id);
    tcase_add_test(all, a_pause_doubles);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
