/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/milter_ask.h"

#include "core/base/clock.h"
#include "server/base/log.h"

enum { REPLY_MOST = 1 << 20 }; /* bytes; 64 symbols of some hundred bytes fit easily */

/* Takes the idle call that was used last, or opens a new one. */
static int take_call(struct nb_ask *ask, struct nb_call **call, struct nb_error *error)
{
    *call = NULL;
    (void)pthread_mutex_lock(&ask->lock);
    if (ask->idle_count > 0)
        *call = ask->idle[--ask->idle_count];
    (void)pthread_mutex_unlock(&ask->lock);
    return *call != NULL ? 0 : nb_call_open(ask->target, call, error);
}

static void put_call(struct nb_ask *ask, struct nb_call *call)
{
    (void)pthread_mutex_lock(&ask->lock);
    if (ask->idle_count < NB_ASK_IDLE) {
        ask->idle[ask->idle_count++] = call;
        call = NULL;
    }
    (void)pthread_mutex_unlock(&ask->lock);
    nb_call_close(&call);
}

int nb_ask_init(struct nb_ask *ask, const struct nb_call_target *target, uint64_t pause,
                struct nb_error *error)
{
    struct nb_call *call;
    *ask = (struct nb_ask){.target = target,
                           .lock = PTHREAD_MUTEX_INITIALIZER,
                           .breaker.pause = pause * UINT64_C(1000000000)};
    int rc = take_call(ask, &call, error);
    if (rc == 0)
        put_call(ask, call);
    return rc;
}

void nb_ask_deinit(struct nb_ask *ask)
{
    (void)pthread_mutex_lock(&ask->lock);
    while (ask->idle_count > 0)
        nb_call_close(&ask->idle[--ask->idle_count]);
    (void)pthread_mutex_unlock(&ask->lock);
}

static int make_call(struct nb_call *call, const struct nb_milter_mail *mail, json_t **json,
                     struct nb_error *error)
{
    struct nb_buffer lines = {0};
    int rc = nb_milter_mail_lines(mail, &lines);
    if (rc != 0) {
        nb_buffer_deinit(&lines);
        return nb_error_no_memory(error);
    }
    const struct nb_call_request request = {
        .method = "POST",
        .path = "/checkv2",
        .type = "message/rfc822",
        .body = {mail->message.bytes, mail->message.length},
        .headers = {lines.bytes, lines.length},
        .reply_most = REPLY_MOST,
    };
    rc = nb_call_json(call, &request, json, error);
    nb_buffer_deinit(&lines);
    return rc;
}

/* ---- while bayesd hangs ---------------------------------------------------------------------- */

static int may_ask(struct nb_ask *ask, uint64_t now, struct nb_error *error)
{
    (void)pthread_mutex_lock(&ask->lock);
    bool may = nb_breaker_begin(&ask->breaker, now);
    (void)pthread_mutex_unlock(&ask->lock);
    return may ? 0
               : nb_error_set(error, NB_CALL_UNREACHABLE,
                              "bayesd did not answer other mails in time, so it is not asked");
}

/* A refusal is a reply, too: it shows that bayesd does not hang. */
static void end_ask(struct nb_ask *ask, uint64_t start, int rc)
{
    uint64_t now = nb_clock_monotonic();
    (void)pthread_mutex_lock(&ask->lock);
    bool has_changed = nb_breaker_end(&ask->breaker, start, now, rc != NB_CALL_UNREACHABLE);
    bool is_open = ask->breaker.is_open;
    (void)pthread_mutex_unlock(&ask->lock);
    if (has_changed && is_open)
        nb_log(NB_LOG_WARNING, "bayesd hangs: mails are not checked for some seconds seconds=%llu",
               (unsigned long long)(ask->breaker.pause / 1000000000));
    else if (has_changed)
        nb_log(NB_LOG_INFO, "bayesd is asked again");
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int ask_now(struct nb_ask *ask, const struct nb_milter_mail *mail, json_t **json,
                   struct nb_error *error)
{
    struct nb_call *call;
    int rc = take_call(ask, &call, error);
    if (rc != 0)
        return rc;
    rc = make_call(call, mail, json, error);
    put_call(ask, call);
    return rc;
}

int nb_ask_about(struct nb_ask *ask, const struct nb_milter_mail *mail,
                 struct nb_milter_reply *reply, struct nb_error *error)
{
    json_t *json = NULL;
    uint64_t start = nb_clock_monotonic();
    *reply = (struct nb_milter_reply){0};
    if (mail->is_broken)
        return nb_error_no_memory(error);
    int rc = may_ask(ask, start, error);
    if (rc != 0)
        return rc;
    rc = ask_now(ask, mail, &json, error);
    end_ask(ask, start, rc);
    return rc == 0 ? nb_milter_reply_read(json, reply, error) : rc;
}
