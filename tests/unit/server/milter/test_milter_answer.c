/* SPDX-License-Identifier: Apache-2.0
 *
 * The answers to a mail server about a mail. Stubs in place of libmilter's functions record their
 * arguments.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/log.h"
#include "server/milter/callbacks.h"
#include "tests/unit/run.h"

#define COUNT(table) (int)(sizeof(table) / sizeof(table)[0])

/* ---- stubs of libmilter ---------------------------------------------------------------------- */

static struct nb_buffer calls; /* each as "name arguments|" */
static int fail_at;            /* the call that fails, from 1; 0: none */
static int call_count;

static int note(const char *what, const char *a, int number, const char *b)
{
    ck_assert_int_eq(nb_buffer_printf(&calls, "%s %s", what, a), 0);
    if (number > 0)
        ck_assert_int_eq(nb_buffer_printf(&calls, " %d", number), 0);
    ck_assert_int_eq(nb_buffer_printf(&calls, " %s|", b != NULL ? b : "NULL"), 0);
    return ++call_count == fail_at ? MI_FAILURE : MI_SUCCESS;
}

int smfi_addheader(SMFICTX *ctx, char *name, char *value)
{
    (void)ctx;
    return note("add", name, 0, value);
}

int smfi_chgheader(SMFICTX *ctx, char *name, int place, char *value)
{
    (void)ctx;
    return note("change", name, place, value);
}

int smfi_quarantine(SMFICTX *ctx, char *reason)
{
    (void)ctx;
    return note("quarantine", "", 0, reason);
}

int smfi_setreply(SMFICTX *ctx, char *code, char *status, char *text)
{
    char both[32];
    (void)ctx;
    (void)snprintf(both, sizeof both, "%s %s", code, status);
    return note("reply", both, 0, text);
}

/* ---- carrying out a reply -------------------------------------------------------------------- */

static struct nb_milter_mail mail;
static struct nb_milter_options options;

/* A mail with two fields X-A, a Subject, and a forged status. */
static void setup(void)
{
    nb_log_setup(NB_LOG_ERROR);
    mail = (struct nb_milter_mail){.most = 1000};
    nb_milter_mail_field(&mail, "X-A", "1");
    nb_milter_mail_field(&mail, "Subject", "hello");
    nb_milter_mail_field(&mail, "x-a", "2");
    nb_milter_mail_field(&mail, "X-Bayes-Status", "ham");
    nb_milter_mail_header_end(&mail);
    options = (struct nb_milter_options){.on_reject = NB_MILTER_REJECT};
    fail_at = call_count = 0;
}

static void teardown(void)
{
    nb_milter_mail_reset(&mail);
    nb_buffer_deinit(&calls);
}

static void expect_calls(const char *wanted)
{
    ck_assert_str_eq(calls.bytes != NULL ? calls.bytes : "", wanted);
}

static sfsistat answer(const char *text)
{
    struct nb_milter_reply reply;
    struct nb_error error = {0};
    char *copy = strdup(text);
    for (char *quote = copy; (quote = strchr(quote, '\'')) != NULL;)
        *quote = '"';
    ck_assert_msg(nb_milter_reply_read(json_loads(copy, 0, NULL), &reply, &error) == 0, "%s",
                  error.text);
    sfsistat status = nb_milter_answer(NULL, &options, &mail, &reply);
    nb_milter_reply_deinit(&reply);
    free(copy);
    return status;
}

static const struct {
    const char *reply;
    enum nb_milter_on_reject on_reject;
    sfsistat status;
    const char *calls;
} answers[] = {
    {"{'action': 'no action'}", NB_MILTER_REJECT, SMFIS_CONTINUE, ""},
    {"{'action': 'add header', 'milter': {'add_headers': {'X-B': 'y'}}}", NB_MILTER_REJECT,
     SMFIS_CONTINUE, "add X-B y|"},
    /* The last field is removed first: a mail server may renumber those after a removed field. */
    {"{'action': 'no action', 'milter': {'remove_headers': {'X-A': 0}}}", NB_MILTER_REJECT,
     SMFIS_CONTINUE, "change X-A 2 NULL|change X-A 1 NULL|"},
    {"{'action': 'no action', 'milter': {'remove_headers': {'X-A': 2}}}", NB_MILTER_REJECT,
     SMFIS_CONTINUE, "change X-A 2 NULL|"},
    {"{'action': 'no action', 'milter': {'remove_headers': {'X-A': 3, 'X-Other': 0}}}",
     NB_MILTER_REJECT, SMFIS_CONTINUE, ""},
    {"{'action': 'no action', 'milter': {'remove_headers': {'x-bayes-status': 0}}}",
     NB_MILTER_REJECT, SMFIS_CONTINUE, ""},
    {"{'action': 'no action', 'milter': {'remove_headers': {'X-A': 1},"
     " 'add_headers': {'X-A': 'new'}}}",
     NB_MILTER_REJECT, SMFIS_CONTINUE, "change X-A 1 NULL|add X-A new|"},
    /* The reply removes no X-A, so those in the mail are forged. */
    {"{'action': 'no action', 'milter': {'add_headers': {'X-A': 'new'}}}", NB_MILTER_REJECT,
     SMFIS_CONTINUE, "change X-A 2 NULL|change X-A 1 NULL|add X-A new|"},
    {"{'action': 'rewrite subject', 'subject': '*** hello'}", NB_MILTER_REJECT, SMFIS_CONTINUE,
     "change Subject 1 *** hello|"},
    {"{'action': 'reject', 'milter': {'add_headers': {'X-B': 'y'}}}", NB_MILTER_REJECT,
     SMFIS_REJECT, "add X-B y|reply 550 5.7.1 This message is refused as spam|"},
    {"{'action': 'reject', 'messages': {'smtp_message': '100% sure\\n \xC3\xA4'}}",
     NB_MILTER_REJECT, SMFIS_REJECT, "reply 550 5.7.1 100%% sure    |"},
    {"{'action': 'reject'}", NB_MILTER_DISCARD, SMFIS_DISCARD, ""},
    {"{'action': 'reject', 'milter': {'add_headers': {'X-B': 'y'}}}", NB_MILTER_TAG, SMFIS_CONTINUE,
     "add X-B y|"},
    {"{'action': 'reject'}", NB_MILTER_QUARANTINE, SMFIS_CONTINUE,
     "quarantine  This message is refused as spam|"},
    {"{'action': 'soft reject', 'milter': {'add_headers': {'X-B': 'y'}}}", NB_MILTER_REJECT,
     SMFIS_TEMPFAIL, "reply 451 4.7.1 The mail cannot be checked now, try again later|"},
    {"{'action': 'soft reject', 'messages': {'smtp_message': 'later'}}", NB_MILTER_TAG,
     SMFIS_TEMPFAIL, "reply 451 4.7.1 later|"},
};

START_TEST(a_reply_is_carried_out)
{
    options.on_reject = answers[_i].on_reject;
    ck_assert_int_eq(answer(answers[_i].reply), answers[_i].status);
    expect_calls(answers[_i].calls);
}
END_TEST

START_TEST(a_mail_without_a_subject_gets_one)
{
    nb_milter_mail_reset(&mail);
    ck_assert_int_eq(answer("{'action': 'rewrite subject', 'subject': '*** '}"), SMFIS_CONTINUE);
    expect_calls("add Subject *** |");
}
END_TEST

/* If any change fails, the mail is deferred: it must not pass without its verdict. */
START_TEST(a_change_that_fails_defers_the_mail)
{
    static const char reply[] = "{'action': 'rewrite subject', 'subject': 's', 'milter':"
                                " {'remove_headers': {'X-A': 0}, 'add_headers': {'X-B': 'y'}}}";
    for (fail_at = 1; fail_at <= 4; fail_at++) {
        call_count = 0;
        calls.length = 0;
        ck_assert_int_eq(answer(reply), SMFIS_TEMPFAIL);
        ck_assert_int_eq(call_count, fail_at + 1);
        ck_assert_ptr_nonnull(strstr(calls.bytes, "reply 451 4.7.1 "));
    }
    fail_at = 1;
    call_count = 0;
    options.on_reject = NB_MILTER_QUARANTINE;
    ck_assert_int_eq(answer("{'action': 'reject'}"), SMFIS_TEMPFAIL);
}
END_TEST

START_TEST(a_long_text_fits_a_reply)
{
    char text[3000] = "{'action': 'reject', 'messages': {'smtp_message': '";
    size_t head = strlen(text);
    memset(text + head, '%', 2000);
    strcpy(text + head + 2000, "'}}");
    ck_assert_int_eq(answer(text), SMFIS_REJECT);
    ck_assert_uint_lt(calls.length, 512);
    /* The cut does not split a doubled %. */
    ck_assert_uint_eq(strspn(strchr(calls.bytes, '%'), "%") % 2, 0);
}
END_TEST

START_TEST(forged_fields_are_removed)
{
    ck_assert_int_eq(nb_milter_answer_forged(NULL, &mail), SMFIS_CONTINUE);
    expect_calls("change X-Bayes-Status 1 NULL|");
    fail_at = 2;
    ck_assert_int_eq(nb_milter_answer_forged(NULL, &mail), SMFIS_TEMPFAIL);
}
END_TEST

START_TEST(a_mail_without_a_verdict_passes_or_waits)
{
    const struct nb_error error = {.text = "bayesd cannot be reached"};
    options.on_failure = NB_MILTER_ACCEPT;
    ck_assert_int_eq(nb_milter_answer_unchecked(NULL, &options, &mail, &error), SMFIS_CONTINUE);
    expect_calls("add X-Bayes-Status none, bayesd is away|");
    calls.length = 0;
    fail_at = 2;
    ck_assert_int_eq(nb_milter_answer_unchecked(NULL, &options, &mail, &error), SMFIS_TEMPFAIL);
    calls.length = 0;
    options.on_failure = NB_MILTER_TEMPFAIL;
    ck_assert_int_eq(nb_milter_answer_unchecked(NULL, &options, &mail, &error), SMFIS_TEMPFAIL);
    expect_calls("reply 451 4.7.1 The mail cannot be checked now, try again later|");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("answer");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_loop_test(all, a_reply_is_carried_out, 0, COUNT(answers));
    tcase_add_test(all, a_mail_without_a_subject_gets_one);
    tcase_add_test(all, a_change_that_fails_defers_the_mail);
    tcase_add_test(all, a_long_text_fits_a_reply);
    tcase_add_test(all, forged_fields_are_removed);
    tcase_add_test(all, a_mail_without_a_verdict_passes_or_waits);
    suite_add_tcase(suite, all);
    return test_run(suite);
}
