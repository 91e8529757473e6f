/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/ask.h"

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

int nb_ask_init(struct nb_ask *ask, const struct nb_call_target *target, struct nb_error *error)
{
    struct nb_call *call;
    *ask = (struct nb_ask){.target = target, .lock = PTHREAD_MUTEX_INITIALIZER};
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

int nb_ask_about(struct nb_ask *ask, const struct nb_milter_mail *mail,
                 struct nb_milter_reply *reply, struct nb_error *error)
{
    struct nb_call *call;
    json_t *json = NULL;
    *reply = (struct nb_milter_reply){0};
    if (mail->is_broken)
        return nb_error_no_memory(error);
    int rc = take_call(ask, &call, error);
    if (rc != 0)
        return rc;
    rc = make_call(call, mail, &json, error);
    put_call(ask, call);
    return rc == 0 ? nb_milter_reply_read(json, reply, error) : rc;
}
