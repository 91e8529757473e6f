/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/mail_look.h"

#include <string.h>
#include <strings.h>

/* The length of the field name that begins a line, or 0. */
static size_t field_name(const char *line, const char *end)
{
    const char *p = line;
    while (p<end && * p> 32 && *p < 127 && *p != ':')
        p++;
    return p < end && *p == ':' ? (size_t)(p - line) : 0;
}

static bool is_well_known(const char *name, size_t length)
{
    static const char *const NAMES[] = {"from",         "to",       "cc",           "subject",
                                        "date",         "received", "return-path",  "message-id",
                                        "mime-version", "reply-to", "delivered-to", "sender"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (strlen(NAMES[i]) == length && strncasecmp(NAMES[i], name, length) == 0)
            return true;
    return false;
}

bool nb_looks_like_mail(const char *bytes, size_t length)
{
    const char *line = bytes, *end = bytes + length;
    size_t known = 0;
    while (line < end && *line != '\n' && *line != '\r' && known < 2) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t name = field_name(line, newline != NULL ? newline : end);
        bool is_continued = line > bytes && (*line == ' ' || *line == '\t');
        if (name == 0 && !is_continued)
            return false;
        known += name > 0 && !is_continued && is_well_known(line, name);
        line = newline != NULL ? newline + 1 : end;
    }
    return known >= 2;
}
