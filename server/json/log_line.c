/* SPDX-License-Identifier: Apache-2.0 */
#include "server/json/log_line.h"

#include "core/base/clock.h"
#include "server/json/emit.h"
#include "server/json/time.h"

static void emit_field(struct nb_emitter *e, const struct nb_log_field *field)
{
    nb_emit_key(e, field->name);
    switch (field->kind) {
    case NB_LOG_NUMBER:
        nb_emit_double(e, field->number);
        break;
    case NB_LOG_COUNT:
        nb_emit_u64(e, field->count);
        break;
    case NB_LOG_TEXT:
    default:
        nb_emit_string(e, field->text);
        break;
    }
}

int nb_json_log_line(struct nb_buffer *out, const char *level, const char *what,
                     const struct nb_log_field *fields, size_t count)
{
    struct nb_emitter e = nb_emit_begin(out);
    char time[NB_JSON_TIME_BYTES];
    nb_json_format_time((int64_t)nb_clock_now(), time);
    e.is_ascii = true;
    nb_emit_open(&e, '{');
    nb_emit_member_text(&e, "time", time);
    nb_emit_member_text(&e, "level", level);
    nb_emit_member_text(&e, "message", what);
    for (size_t i = 0; i < count; i++)
        emit_field(&e, &fields[i]);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}
