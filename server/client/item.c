/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/item.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "core/base/error.h"

/* ---- JSON --------------------------------------------------------------------------------------
 */

/* The length of the UTF-8 sequence at `p`, or 0 if it is none (RFC 3629, section 4). */
static size_t sequence_at(const unsigned char *p, size_t left)
{
    if (p[0] < 0x80)
        return 1;
    size_t length = p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (length == 0 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool is_overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool is_beyond = (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f);
    return is_overlong || is_beyond ? 0 : length;
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Appends what is not plain at `p`; returns how many bytes of input that was, 0 without memory. */
static size_t write_special(const unsigned char *p, size_t left, struct nb_buffer *out)
{
    size_t length = sequence_at(p, left);
    if (length > 1)
        return nb_buffer_append(out, p, length) == 0 ? length : 0;
    int rc;
    if (length == 0)
        rc = nb_buffer_puts(out, "\\ufffd");
    else if (*p == '\n')
        rc = nb_buffer_puts(out, "\\n");
    else if (*p == '"' || *p == '\\')
        rc = nb_buffer_printf(out, "\\%c", *p);
    else
        rc = nb_buffer_printf(out, "\\u%04x", *p);
    return rc == 0 ? 1 : 0;
}

static int write_string(struct nb_string text, struct nb_buffer *out)
{
    const unsigned char *p = (const unsigned char *)text.bytes;
    int rc = nb_buffer_puts(out, "\"");
    for (size_t i = 0; i < text.length && rc == 0;) {
        size_t begin = i;
        while (i < text.length && is_plain(p[i]))
            i++;
        rc = nb_buffer_append(out, p + begin, i - begin);
        if (rc != 0 || i == text.length)
            continue;
        size_t taken = write_special(p + i, text.length - i, out);
        i += taken;
        if (taken == 0)
            return NB_NO_MEMORY;
    }
    return rc == 0 ? nb_buffer_puts(out, "\"") : rc;
}

static int write_base64(struct nb_string bytes, struct nb_buffer *out)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)bytes.bytes;
    if (nb_buffer_reserve(out, bytes.length / 3 * 4 + 8) != 0)
        return NB_NO_MEMORY;
    char *to = out->bytes + out->length;
    *to++ = '"';
    for (size_t i = 0; i < bytes.length; i += 3) {
        size_t left = bytes.length - i;
        uint32_t group = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
                         (left > 2 ? p[i + 2] : 0);
        *to++ = DIGITS[group >> 18];
        *to++ = DIGITS[group >> 12 & 63];
        *to++ = left > 1 ? DIGITS[group >> 6 & 63] : '=';
        *to++ = left > 2 ? DIGITS[group & 63] : '=';
    }
    *to++ = '"';
    out->length = (size_t)(to - out->bytes);
    return 0;
}

static int write_member(const char *name, struct nb_string value, struct nb_buffer *out)
{
    if (value.length == 0)
        return 0;
    int rc = nb_buffer_printf(out, ",\"%s\":", name);
    return rc == 0 ? write_string(value, out) : rc;
}

int nb_item_write(const struct nb_item *item, bool with_label, struct nb_buffer *out)
{
    int rc = nb_buffer_puts(out, item->is_mail ? "{\"mail_base64\":" : "{\"text\":");
    if (rc == 0)
        rc = item->is_mail ? write_base64(item->content, out) : write_string(item->content, out);
    if (rc == 0 && with_label)
        rc = write_member("label", item->label, out);
    if (rc == 0)
        rc = write_member("id", item->id, out);
    return rc == 0 ? nb_buffer_puts(out, "}") : rc;
}

/* ---- is it a mail? -----------------------------------------------------------------------------
 */

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

bool nb_item_looks_like_mail(const char *bytes, size_t length)
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
