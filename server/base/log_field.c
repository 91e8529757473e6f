/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/log_field.h"

#include <stdbool.h>
#include <stdio.h>

#include "core/base/utf8.h"

struct nb_log_field nb_log_text(const char *name, struct nb_string text)
{
    return (struct nb_log_field){
        .name = name, .kind = NB_LOG_TEXT, .text = nb_utf8_cut(text, NB_LOG_VALUE_MOST)};
}

struct nb_log_field nb_log_number(const char *name, double number)
{
    return (struct nb_log_field){.name = name, .kind = NB_LOG_NUMBER, .number = number};
}

struct nb_log_field nb_log_count(const char *name, uint64_t count)
{
    return (struct nb_log_field){.name = name, .kind = NB_LOG_COUNT, .count = count};
}

static bool is_visible(unsigned char c)
{
    return c > 0x20 && c < 0x7f;
}

static bool is_plain(struct nb_string text)
{
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (!is_visible(c) || c == '=' || c == '"' || c == '\\')
            return false;
    }
    return text.length > 0;
}

static int append_quoted(struct nb_buffer *out, struct nb_string text)
{
    int rc = nb_buffer_puts(out, "\"");
    for (size_t i = 0; i < text.length && rc == 0; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (c == '"' || c == '\\')
            rc = nb_buffer_printf(out, "\\%c", c);
        else if (c == ' ' || is_visible(c))
            rc = nb_buffer_append(out, &text.bytes[i], 1);
        else
            rc = nb_buffer_printf(out, "\\x%02x", c);
    }
    return rc == 0 ? nb_buffer_puts(out, "\"") : rc;
}

static int append_value(struct nb_buffer *out, const struct nb_log_field *field)
{
    switch (field->kind) {
    case NB_LOG_NUMBER:
        return nb_buffer_printf(out, "%.4f", field->number);
    case NB_LOG_COUNT:
        return nb_buffer_printf(out, "%llu", (unsigned long long)field->count);
    case NB_LOG_TEXT:
    default:
        return is_plain(field->text) ? nb_buffer_append(out, field->text.bytes, field->text.length)
                                     : append_quoted(out, field->text);
    }
}

int nb_log_write_text(struct nb_buffer *out, const char *what, const struct nb_log_field *fields,
                      size_t count)
{
    int rc = nb_buffer_puts(out, what);
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = nb_buffer_printf(out, " %s=", fields[i].name);
        if (rc == 0)
            rc = append_value(out, &fields[i]);
    }
    return rc;
}
