/* SPDX-License-Identifier: Apache-2.0 */
#include "server/console/html.h"

#include <string.h>

#include "core/base/utf8.h"

static const char *entity_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

int nb_html_text(struct nb_buffer *out, struct nb_string text)
{
    const char *end = text.bytes + text.length;
    int rc = 0;
    for (const char *at = text.bytes; rc == 0 && at < end;) {
        size_t control = nb_utf8_control((const unsigned char *)at, (const unsigned char *)end);
        const char *entity = control > 0 ? " " : entity_of(*at);
        rc = entity != NULL ? nb_buffer_puts(out, entity) : nb_buffer_append(out, at, 1);
        at += control > 0 ? control : 1;
    }
    return rc;
}

int nb_html_url(struct nb_buffer *out, struct nb_string text)
{
    static const char unreserved[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < text.length; i++) {
        char c = text.bytes[i];
        if (c != '\0' && strchr(unreserved, c) != NULL)
            rc = nb_buffer_append(out, &c, 1);
        else
            rc = nb_buffer_printf(out, "%%%02X", (unsigned)(unsigned char)c);
    }
    return rc;
}
