/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/milter_ask.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/system.h"
#include "server/base/log.h"
#include "server/http/call/call.h"

static const struct {
    const char *name;
    enum nb_milter_action action;
} ACTIONS[] = {
    {"no action", NB_MILTER_DO_PASS},
    {"add header", NB_MILTER_DO_PASS},
    {"rewrite subject", NB_MILTER_DO_REWRITE_SUBJECT},
    {"soft reject", NB_MILTER_DO_SOFT_REJECT},
    {"reject", NB_MILTER_DO_REJECT},
};

static int bad(const char *what, struct nb_error *error)
{
    return nb_error_set(error, NB_CALL_PROTOCOL, "bayesd's reply has no usable %s", what);
}

/* Whether `name` can be the name of a header field: printable ASCII without the colon (RFC 5322,
 * 3.6.8). */
static bool is_name(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if (name[i] <= 32 || name[i] >= 127 || name[i] == ':')
            return false;
    return length > 0 && length <= NB_MILTER_REPLY_NAME_BYTES;
}

/* Whether `value` is a text that cannot end its header field: each line end is followed by a blank,
 * and there are no other control characters but tabs. */
static bool is_value(const json_t *value)
{
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);
    if (text == NULL || length > NB_MILTER_REPLY_VALUE_BYTES)
        return false;
    for (size_t i = 0; i < length; i++) {
        bool is_fold = text[i] == '\n' && (text[i + 1] == ' ' || text[i + 1] == '\t');
        if (((unsigned char)text[i] < 32 && text[i] != '\t' && !is_fold) || text[i] == 127)
            return false;
    }
    return true;
}

static int read_text(const json_t *value, const char *what, const char **text,
                     struct nb_error *error)
{
    if (value == NULL)
        return 0;
    if (!is_value(value))
        return bad(what, error);
    *text = json_string_value(value);
    return 0;
}

static int read_action(struct nb_milter_reply *reply, struct nb_error *error)
{
    const char *name = json_string_value(json_object_get(reply->json, "action"));
    for (size_t i = 0; name != NULL && i < sizeof ACTIONS / sizeof ACTIONS[0]; i++) {
        if (strcmp(name, ACTIONS[i].name) != 0)
            continue;
        reply->action = ACTIONS[i].action;
        reply->name = ACTIONS[i].name;
        return 0;
    }
    return bad("action", error);
}

static bool is_header_list(json_t *list, bool (*is_right)(const json_t *value))
{
    const char *name;
    json_t *value;
    if (!json_is_object(list) || json_object_size(list) > NB_MILTER_REPLY_HEADERS)
        return false;
    json_object_foreach(list, name, value)
    {
        if (!is_name(name) || !is_right(value))
            return false;
    }
    return true;
}

static bool is_place(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= INT32_MAX;
}

static int read_changes(struct nb_milter_reply *reply, struct nb_error *error)
{
    json_t *milter = json_object_get(reply->json, "milter");
    if (milter != NULL && !json_is_object(milter))
        return bad("milter", error);
    reply->add = json_object_get(milter, "add_headers");
    reply->remove = json_object_get(milter, "remove_headers");
    if (reply->add != NULL && !is_header_list(reply->add, is_value))
        return bad("milter.add_headers", error);
    if (reply->remove != NULL && !is_header_list(reply->remove, is_place))
        return bad("milter.remove_headers", error);
    return 0;
}

int nb_milter_reply_read(json_t *json, struct nb_milter_reply *reply, struct nb_error *error)
{
    *reply = (struct nb_milter_reply){.json = json};
    const json_t *messages = json_object_get(json, "messages");
    reply->score = json_number_value(json_object_get(json, "score"));
    int rc = read_action(reply, error);
    if (rc == 0)
        rc = read_changes(reply, error);
    if (rc == 0)
        rc = read_text(json_object_get(json, "subject"), "subject", &reply->subject, error);
    if (rc == 0)
        rc = read_text(json_object_get(messages, "smtp_message"), "messages.smtp_message",
                       &reply->text, error);
    if (rc == 0 && reply->action == NB_MILTER_DO_REWRITE_SUBJECT && reply->subject == NULL)
        rc = bad("subject", error);
    return rc;
}

void nb_milter_reply_deinit(struct nb_milter_reply *reply)
{
    json_decref(reply->json);
    *reply = (struct nb_milter_reply){0};
}

enum { REPLY_MOST = 1 << 20 }; /* bytes; 64 symbols of some hundred bytes fit easily */

/* Takes the idle call that was used last, or opens a new one. */
static int take_call(struct nb_ask *ask, struct nb_call **call, struct nb_error *error)
{
    *call = NULL;
    (void)pthread_mutex_lock(&ask->lock);
    assert(ask->idle_count <= NB_ASK_IDLE);
    if (ask->idle_count > 0)
        *call = ask->idle[--ask->idle_count];
    (void)pthread_mutex_unlock(&ask->lock);
    return *call != NULL ? 0 : nb_call_open(ask->target, call, error);
}

static void put_call(struct nb_ask *ask, struct nb_call *call)
{
    assert(call != NULL);
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

/* Notes the end of a request for the breaker. A refusal is a reply, too: it shows that bayesd does
 * not hang. */
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
