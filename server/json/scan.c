/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents read where they lie: see scan.h. A string without escapes is not even copied.
 * What is accepted here, jansson accepts too and reads the same from it; the tests compare the two.
 */
#include "server/json/scan.h"

#include <stdint.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/base/utf8.h"
#include "server/json/emit.h"
#include "server/json/plain.h"

const char *const nb_scan_members[NB_MEMBERS] = {
    [NB_MEMBER_TEXT] = "text",   [NB_MEMBER_MAIL] = "mail", [NB_MEMBER_MAIL_BASE64] = "mail_base64",
    [NB_MEMBER_LABEL] = "label", [NB_MEMBER_ID] = "id",     [NB_MEMBER_SOURCE] = "source",
};

static void skip_space(const char **at, const char *end)
{
    while (*at < end && (**at == ' ' || **at == '\t' || **at == '\n' || **at == '\r'))
        (*at)++;
}

/* Skips white space and then, if it comes next, `c`. */
static bool take(const char **at, const char *end, char c)
{
    skip_space(at, end);
    if (*at == end || **at != c)
        return false;
    (*at)++;
    return true;
}

bool nb_scan_end(const char *at, const char *end)
{
    skip_space(&at, end);
    return at == end;
}

/* The first byte of a string that needs attention: a quote, a backslash, a control character or
 * anything that is not ASCII. */
static const char *skip_plain(const char *at, const char *end)
{
    at += nb_json_plain(at, (size_t)(end - at));
    while (at < end && (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x80 && *at != '"' &&
           *at != '\\')
        at++;
    return at;
}

/* The four hexadecimal digits at `at`, or -1. */
static int hex4(const char *at, const char *end)
{
    if (end - at < 4)
        return -1;
    int value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = nb_hex_digit(at[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static bool is_high(int unit)
{
    return unit >= 0xD800 && unit < 0xDC00;
}

static bool is_low(int unit)
{
    return unit >= 0xDC00 && unit < 0xE000;
}

/* The bytes of the escape at `at` (its backslash), or 0 when it is not one. */
static size_t escape_length(const char *at, const char *end)
{
    if (end - at < 2)
        return 0;
    if (at[1] != 'u')
        return at[1] != '\0' && strchr("\"\\/bfnrt", at[1]) != NULL ? 2 : 0;
    int unit = hex4(at + 2, end);
    if (unit < 0 || is_low(unit))
        return 0;
    if (!is_high(unit))
        return 6;
    /* A pair of surrogates is one character; half a pair is none. */
    bool paired = end - at >= 12 && at[6] == '\\' && at[7] == 'u' && is_low(hex4(at + 8, end));
    return paired ? 12 : 0;
}

/* A string, from its opening quote on. */
static bool scan_string(const char **at, const char *end, struct nb_string *raw, bool *escaped)
{
    if (!take(at, end, '"'))
        return false;
    const char *begin = *at, *p = begin;
    *escaped = false;
    for (;;) {
        if (p < end && (unsigned char)*p < 0x80)
            p = skip_plain(p, end);
        if (p == end || (unsigned char)*p < 0x20)
            return false;
        if (*p == '"')
            break;
        size_t length =
            *p == '\\' ? escape_length(p, end)
                       : nb_utf8_sequence((const unsigned char *)p, (const unsigned char *)end);
        if (length == 0)
            return false;
        *escaped = *escaped || *p == '\\';
        p += length;
    }
    *raw = (struct nb_string){begin, (size_t)(p - begin)};
    *at = p + 1;
    return true;
}

/* A whole number as it is written back: of 18 digits at most, which fit 64 bits, and not -0. */
static bool scan_count(const char **at, const char *end, struct nb_string *raw)
{
    enum { DIGITS_MOST = 18 };
    const char *begin = *at, *p = begin + (*begin == '-'), *first = p;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    size_t digits = (size_t)(p - first);
    bool is_zero = digits > 0 && *first == '0';
    if (digits == 0 || digits > DIGITS_MOST || (is_zero && (digits > 1 || first != begin)) ||
        p == end || *p == '.' || *p == 'e' || *p == 'E')
        return false;
    *raw = (struct nb_string){begin, (size_t)(p - begin)};
    *at = p;
    return true;
}

static bool scan_value(const char **at, const char *end, unsigned member, struct nb_string *raw,
                       bool *escaped)
{
    skip_space(at, end);
    bool is_name = member == NB_MEMBER_LABEL || member == NB_MEMBER_ID;
    *escaped = false;
    if (is_name && *at < end && **at != '"')
        return scan_count(at, end, raw);
    return scan_string(at, end, raw, escaped);
}

static bool scan_member(const char **at, const char *end, struct nb_flat_document *document)
{
    struct nb_string name;
    bool escaped;
    if (!scan_string(at, end, &name, &escaped) || !take(at, end, ':'))
        return false;
    unsigned i = 0;
    while (i < NB_MEMBERS && !nb_string_equals(name, nb_scan_members[i]))
        i++;
    if (i == NB_MEMBERS || (document->given >> i & 1u) != 0 ||
        !scan_value(at, end, i, &document->raw[i], &escaped))
        return false;
    document->given |= 1u << i;
    document->escaped |= (unsigned)escaped << i;
    return true;
}

bool nb_scan_document(const char **at, const char *end, struct nb_flat_document *document)
{
    *document = (struct nb_flat_document){0};
    if (!take(at, end, '{'))
        return false;
    if (take(at, end, '}'))
        return true;
    do {
        if (!scan_member(at, end, document))
            return false;
    } while (take(at, end, ','));
    return take(at, end, '}');
}

bool nb_scan_batch_open(const char **at, const char *end)
{
    struct nb_string name;
    bool escaped;
    return take(at, end, '{') && scan_string(at, end, &name, &escaped) &&
           nb_string_equals(name, "documents") && take(at, end, ':') && take(at, end, '[');
}

int nb_scan_batch_next(const char **at, const char *end, bool first)
{
    if (take(at, end, ']'))
        return take(at, end, '}') && nb_scan_end(*at, end) ? 0 : -1;
    return first || take(at, end, ',') ? 1 : -1;
}

/* What the escape at `at` means; its length was found by escape_length. */
static char *put_meaning(char *to, const char *at, const char *end)
{
    static const char from[] = "bfnrt\"\\/";
    static const char as[] = "\b\f\n\r\t\"\\/";
    if (at[1] != 'u') {
        *to++ = as[strchr(from, at[1]) - from];
        return to;
    }
    unsigned c = (unsigned)hex4(at + 2, end);
    if (is_high((int)c))
        c = 0x10000 + ((c - 0xD800) << 10) + ((unsigned)hex4(at + 8, end) - 0xDC00);
    return to + nb_utf8_encode(c, (unsigned char *)to);
}

size_t nb_scan_unescape(struct nb_string raw, char *to)
{
    const char *at = raw.bytes, *end = raw.bytes + raw.length;
    char *begin = to;
    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((slash == NULL ? end : slash) - at);
        memcpy(to, at, plain);
        to += plain;
        at += plain;
        if (at < end) {
            size_t length = escape_length(at, end);
            to = put_meaning(to, at, end);
            at += length;
        }
    }
    return (size_t)(to - begin);
}
