/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/mail_fields.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/lines.h"

/* Whether the line begins one of the fields; RFC 5322, 4.5.8 lets spaces stand before the colon. */
static bool is_listed(const struct nb_fields *fields, const char *line, const char *next)
{
    for (size_t i = 0; i < fields->name_count; i++) {
        struct nb_string name = fields->names[i];
        if ((size_t)(next - line) <= name.length || strncasecmp(line, name.bytes, name.length) != 0)
            continue;
        const char *p = line + name.length;
        while (p < next && (*p == ' ' || *p == '\t'))
            p++;
        if (p < next && *p == ':')
            return true;
    }
    return false;
}

/* Copies the header without the listed fields; returns where the body (its blank line) begins, or
 * NULL without memory. Folded lines go with their field. */
static const char *copy_header(const struct nb_fields *fields, const char *line, const char *end,
                               struct nb_buffer *out)
{
    bool is_dropped = false;
    while (line < end) {
        const char *next = nb_lines_next(line, end);
        if (nb_lines_is_empty(line, next))
            break;
        if (*line != ' ' && *line != '\t')
            is_dropped = is_listed(fields, line, next);
        if (!is_dropped && nb_buffer_append(out, line, (size_t)(next - line)) != 0)
            return NULL;
        line = next;
    }
    return line;
}

static int add_lines(const struct nb_buffer *text, bool is_crlf, struct nb_buffer *out)
{
    if (text->length == 0)
        return 0;
    const char *line = text->bytes, *end = line + text->length;
    while (line < end) {
        const char *next = nb_lines_next(line, end);
        int rc = nb_buffer_append(out, line, (size_t)(next - line) - 1);
        if (rc == 0)
            rc = nb_buffer_puts(out, is_crlf ? "\r\n" : "\n");
        if (rc != 0)
            return rc;
        line = next;
    }
    return 0;
}

int nb_fields_apply(const struct nb_fields *fields, struct nb_string mail, struct nb_buffer *out)
{
    const char *line = mail.bytes, *end = mail.bytes + mail.length;
    const char *next = nb_lines_next(line, end);
    bool is_crlf = next - line >= 2 && next[-1] == '\n' && next[-2] == '\r';
    int rc = 0;
    if (nb_lines_is_separator(line, end)) {
        rc = nb_buffer_append(out, line, (size_t)(next - line));
        line = next;
    }
    if (rc == 0)
        rc = add_lines(&fields->text, is_crlf, out);
    if (rc != 0)
        return rc;
    const char *body = copy_header(fields, line, end, out);
    return body == NULL ? NB_NO_MEMORY : nb_buffer_append(out, body, (size_t)(end - body));
}
