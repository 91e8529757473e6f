/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/milter_reply.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "server/call/call.h"

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
