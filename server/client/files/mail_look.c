/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/mail_look.h"

#include <string.h>

#include "core/base/string.h"

/* The length of the name of the header field that begins at `line`; 0: none does. */
static size_t field_name(const char *line, const char *end)
{
    const char *p = line;
    while (p<end && * p> 32 && *p < 127 && *p != ':')
        p++;
    return p < end && *p == ':' ? (size_t)(p - line) : 0;
}

static bool is_well_known(struct nb_string name)
{
    static const char *const NAMES[] = {"from",         "to",       "cc",           "subject",
                                        "date",         "received", "return-path",  "message-id",
                                        "mime-version", "reply-to", "delivered-to", "sender"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (nb_string_equals_nocase(name, NAMES[i]))
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
        known += name > 0 && !is_continued && is_well_known((struct nb_string){line, name});
        line = newline != NULL ? newline + 1 : end;
    }
    return known >= 2;
}

/* Neither white space nor backspace, nor a shift or an escape of ISO 2022. */
static bool is_stray(unsigned char byte)
{
    return byte < '\b' || (byte > 0x0f && byte < ' ' && byte != 0x1b) || byte == 0x7f;
}

bool nb_looks_binary(const char *bytes, size_t length)
{
    size_t stray = 0;
    for (size_t i = 0; i < length; i++)
        stray += is_stray((unsigned char)bytes[i]);
    return stray > length / 16;
}

bool nb_looks_like_utf16(const char *bytes, size_t length)
{
    return length >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || memcmp(bytes, "\xfe\xff", 2) == 0);
}
