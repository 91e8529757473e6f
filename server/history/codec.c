/* SPDX-License-Identifier: Apache-2.0 */
#include "server/history/codec.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/json/emit.h"
#include "server/json/label.h"
#include "server/json/load.h"
#include "server/json/time.h"

static void emit_optional(struct nb_emitter *e, const char *key, struct nb_string value)
{
    if (value.length > 0)
        nb_emit_member_string(e, key, value);
}

static void emit_row(struct nb_emitter *e, const struct nb_history_row *row)
{
    nb_emit_raw(e, "{");
    nb_emit_member_string(e, "id", row->id);
    nb_emit_member_time(e, "time", row->time);
    nb_emit_member_string(e, "verdict", row->verdict);
    nb_emit_member_short_double(e, "probability", row->probability);
    nb_emit_member_string(e, "source", row->source);
    emit_optional(e, "message_id", row->message_id);
    emit_optional(e, "subject", row->subject);
    nb_emit_member_u64(e, "tokens", row->tokens);
    nb_emit_key(e, "label");
    if (row->label.length > 0)
        nb_emit_string(e, row->label);
    else
        nb_emit_raw(e, "null");
}

int nb_json_history_begin(struct nb_buffer *out)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_key(&e, "history");
    nb_emit_raw(&e, "[");
    return nb_emit_end(&e);
}

int nb_json_history_row(struct nb_buffer *out, size_t count, const struct nb_history_row *row)
{
    struct nb_emitter e = nb_emit_begin(out);
    if (count > 0)
        nb_emit_raw(&e, ",");
    emit_row(&e, row);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

int nb_json_history_end(struct nb_buffer *out, uint64_t next)
{
    char text[24];
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_raw(&e, "]");
    (void)snprintf(text, sizeof text, "%" PRIu64, next); /* fits */
    if (next > 0)
        nb_emit_member_text(&e, "next", text);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

int nb_json_history_open(struct nb_buffer *out, const struct nb_history_row *row)
{
    struct nb_emitter e = nb_emit_begin(out);
    emit_row(&e, row);
    nb_emit_key(&e, "now");
    return nb_emit_end(&e);
}

static void emit_next(struct nb_emitter *e, const struct nb_next_document *d)
{
    nb_emit_open(e, '{');
    nb_emit_member_string(e, "id", nb_buffer_string(&d->id));
    nb_emit_member_text(e, "verdict", d->verdict);
    nb_emit_member_short_double(e, "probability", d->probability);
    nb_emit_member_short_double(e, "margin", d->margin);
    nb_emit_member_time(e, "time", d->time);
    nb_emit_key(e, "remembered");
    nb_emit_bool(e, d->is_remembered);
    emit_optional(e, "message_id", nb_string_of(d->message_id));
    emit_optional(e, "subject", nb_string_of(d->subject));
    nb_emit_member_text(e, "words", d->words);
    nb_emit_close(e, '}');
}

int nb_json_next(struct nb_buffer *out, const struct nb_next *next)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_key(&e, "next");
    nb_emit_open(&e, '[');
    for (size_t i = 0; i < next->count; i++)
        emit_next(&e, &next->documents[i]);
    nb_emit_close(&e, ']');
    nb_emit_member_u64(&e, "looked_at", next->looked_at);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

/* Appends the label in its form. */
static int take_label(const json_t *value, struct nb_buffer *label, struct nb_error *error)
{
    struct nb_buffer digits = {0}, room = {0};
    struct nb_string text;
    int rc = nb_json_name(value, &digits, &text);
    rc = rc == 0 ? nb_label_take(&text, &room, error) : nb_error_no_memory(error);
    if (rc == 0 && nb_buffer_append(label, text.bytes, text.length) != 0)
        rc = nb_error_no_memory(error);
    nb_buffer_deinit(&digits);
    nb_buffer_deinit(&room);
    return rc;
}

int nb_json_label_read(struct nb_string text, struct nb_buffer *label, bool *has_label,
                       struct nb_error *error)
{
    enum { VALUES_MOST = 16 };
    static const struct nb_json_member members[] = {{"label", NB_TYPE_NAME | NB_TYPE_NULL, true}};
    const json_t *value;
    json_t *object;
    int rc = nb_json_load(text, VALUES_MOST, &object, error);
    if (rc != 0)
        return rc;
    rc = nb_json_take(object, "a label", members, 1, &value, error);
    *has_label = rc == 0 && !json_is_null(value);
    if (*has_label)
        rc = take_label(value, label, error);
    json_decref(object);
    return rc;
}
