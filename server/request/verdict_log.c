/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/verdict_log.h"

#include "config/config.h"
#include "server/base/log.h"
#include "server/request/request.h"

bool nb_verdict_log_wants(const struct nb_request *request)
{
    return request->config->log_verdicts && nb_log_wants(NB_LOG_INFO);
}

static struct nb_string without_angles(struct nb_string s)
{
    s = nb_string_trim(s);
    if (s.length >= 2 && s.bytes[0] == '<' && s.bytes[s.length - 1] == '>')
        s = (struct nb_string){s.bytes + 1, s.length - 2};
    return s;
}

struct fields {
    struct nb_log_field list[12];
    size_t count;
};

static void add(struct fields *fields, struct nb_log_field field)
{
    if (field.kind != NB_LOG_TEXT || field.text.length > 0)
        fields->list[fields->count++] = field;
}

void nb_verdict_log(const struct nb_request *request, const struct nb_verdict_note *note)
{
    struct fields fields = {.count = 0};
    char client[NB_ADDRESS_TEXT];
    nb_address_print(&request->peer.address, client);
    add(&fields, nb_log_text("message_id", without_angles(note->message_id)));
    add(&fields, nb_log_text("id", note->id));
    add(&fields, nb_log_text("model", note->model));
    add(&fields, nb_log_text("verdict", note->verdict));
    add(&fields, nb_log_number("probability", note->probability));
    add(&fields, nb_log_number("score", note->score));
    add(&fields, nb_log_text("action", note->action));
    add(&fields, nb_log_count("us", note->nanoseconds / 1000));
    add(&fields, nb_log_text("client", nb_string_of(client)));
    add(&fields, nb_log_text("protocol", nb_string_of(request->route->protocol->door)));
    nb_log_event(NB_LOG_INFO, "verdict", fields.list, fields.count);
}
