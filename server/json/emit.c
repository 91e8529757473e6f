/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON text is written straight into a buffer: a reply has a few hundred bytes in a fixed form, and
 * building a tree of values first would cost more than the classification itself.
 */
#include "server/json/emit.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "server/json/number_text.h"
#include "server/json/scan.h"

struct nb_emitter nb_emit_begin(struct nb_buffer *out)
{
    return (struct nb_emitter){.out = out, .start = out->length};
}

int nb_emit_end(struct nb_emitter *e)
{
    assert(e->out->length >= e->start);
    if (e->code != 0)
        e->out->length = e->start;
    return e->code;
}

static __attribute__((noinline)) char *grow(struct nb_emitter *e, size_t length)
{
    if (e->code == 0)
        e->code = nb_buffer_reserve(e->out, length);
    return e->code == 0 ? e->out->bytes + e->out->length : NULL;
}

/* Returns room for `length` bytes at the end of the buffer; NULL after a failure. */
static inline char *room(struct nb_emitter *e, size_t length)
{
    const struct nb_buffer *out = e->out;
    if (e->code != 0 || out->capacity - out->length < length)
        return grow(e, length);
    return out->bytes + out->length;
}

/* Call it after writing bytes up to `end`. */
static inline void wrote(struct nb_emitter *e, const char *end)
{
    assert(end >= e->out->bytes && (size_t)(end - e->out->bytes) <= e->out->capacity);
    e->out->length = (size_t)(end - e->out->bytes);
}

static inline void put(struct nb_emitter *e, const char *bytes, size_t length)
{
    char *to = room(e, length);
    if (to == NULL)
        return;
    if (length > 0)
        memcpy(to, bytes, length);
    wrote(e, to + length);
}

/* Writes the comma if one is due, and returns room for a value or a key of less than SIZE_MAX bytes
 * behind it. The last byte of the text tells whether a comma is due: no string or number ends in
 * '{', '[' or ':'. */
static inline char *begin(struct nb_emitter *e, size_t length)
{
    char *to = room(e, length + 1);
    if (to == NULL || e->out->length == e->start)
        return to;
    char last = to[-1];
    if (last != '{' && last != '[' && last != ':')
        *to++ = ',';
    return to;
}

void nb_emit_raw(struct nb_emitter *e, const char *text)
{
    put(e, text, strlen(text));
}

void nb_emit_open(struct nb_emitter *e, char bracket)
{
    char *to = begin(e, 1);
    if (to == NULL)
        return;
    *to++ = bracket;
    wrote(e, to);
}

void nb_emit_close(struct nb_emitter *e, char bracket)
{
    put(e, &bracket, 1);
}

void nb_emit_known(struct nb_emitter *e, struct nb_string key)
{
    enum { MARKS = 3 };
    char *to = begin(e, key.length + MARKS);
    if (to == NULL)
        return;
    *to++ = '"';
    memcpy(to, key.bytes, key.length);
    to += key.length;
    *to++ = '"';
    *to++ = ':';
    wrote(e, to);
}

void nb_emit_text(struct nb_emitter *e, const char *text)
{
    nb_emit_string(e, nb_string_of(text));
}

static void emit_literal(struct nb_emitter *e, struct nb_string text)
{
    char *to = begin(e, text.length);
    if (to == NULL)
        return;
    memcpy(to, text.bytes, text.length);
    wrote(e, to + text.length);
}

void nb_emit_bool(struct nb_emitter *e, bool value)
{
    emit_literal(e, nb_string_of(value ? "true" : "false"));
}

/* ---- strings --------------------------------------------------------------------------------- */

static char *escape(char *to, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    static const char from[] = "\"\\\n\r\t\b\f";
    static const char as[] = "\"\\nrtbf";
    const char *found = c == 0 ? NULL : strchr(from, c);
    *to++ = '\\';
    if (found != NULL) {
        *to++ = as[found - from];
        return to;
    }
    memcpy(to, "u00", 3);
    to[3] = digits[c >> 4];
    to[4] = digits[c & 15];
    return to + 5;
}

static char *escape_unit(char *to, uint32_t unit)
{
    static const char digits[] = "0123456789abcdef";
    *to++ = '\\';
    *to++ = 'u';
    for (int shift = 12; shift >= 0; shift -= 4)
        *to++ = digits[unit >> shift & 15];
    return to;
}

/* Writes a character of `length` bytes as one or two units of UTF-16 (RFC 8259, section 7).
 * `length` 0 stands for a byte that is not UTF-8. */
static char *escape_character(char *to, const unsigned char *at, size_t length)
{
    assert(length <= 4);
    uint32_t c = length == 0 ? 0xFFFD : length == 1 ? at[0] : at[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++)
        c = c << 6 | (at[i] & 0x3Fu);
    if (c < 0x10000)
        return escape_unit(to, c);
    to = escape_unit(to, 0xD800 + ((c - 0x10000) >> 10));
    return escape_unit(to, 0xDC00 + ((c - 0x10000) & 0x3FF));
}

static char *copy_ascii(char *to, const unsigned char *at, const unsigned char *end)
{
    while (at < end) {
        size_t length = nb_utf8_sequence(at, end);
        bool is_plain = *at >= 0x20 && *at < 0x7F && *at != '"' && *at != '\\';
        if (is_plain)
            *to++ = (char)*at;
        else if (*at < 0x7F)
            to = escape(to, *at);
        else
            to = escape_character(to, at, length);
        at += length == 0 ? 1 : length;
    }
    return to;
}

#ifdef __SSE2__
/* Copies a text of `half` to 2 * `half` bytes if all of them stand for themselves: its first and
 * its last `half` bytes, which may overlap. `half` is 2, 4 or 8, a constant in every call. */
static inline bool copy_halves(char *to, const unsigned char *at, size_t length, size_t half)
{
    uint64_t first = UINT64_C(0x2020202020202020), last = first;
    memcpy(&first, at, half);
    memcpy(&last, at + length - half, half);
    if (nb_json_odd_of(_mm_set_epi64x((long long)last, (long long)first)) != 0)
        return false;
    memcpy(to, &first, half);
    memcpy(to + length - half, &last, half);
    return true;
}

/* Copies the last `left` bytes (less than 16) of a text of `length` bytes (at least 2) if all of
 * them stand for themselves; it may copy bytes before them again. False: nothing was copied. */
static bool copy_left(char *to, const unsigned char *at, size_t length, size_t left)
{
    assert(length >= 2 && left < 16 && left <= length);
    if (length >= 16)
        return copy_halves(to + left - 16, at + length - 16, 16, 8);
    if (length < 4)
        return copy_halves(to, at, length, 2);
    return length < 8 ? copy_halves(to, at, length, 4) : copy_halves(to, at, length, 8);
}
#else
static bool copy_left(char *to, const unsigned char *at, size_t length, size_t left)
{
    (void)to, (void)at, (void)length, (void)left;
    return false;
}
#endif

static char *copy_escaped(char *to, const unsigned char *at, const unsigned char *end)
{
    size_t whole = (size_t)(end - at), plain = nb_json_plain((const char *)at, whole);
    memcpy(to, at, plain);
    to += plain;
    if (whole >= 2 && whole - plain < 16 && copy_left(to, at, whole, whole - plain))
        return to + (whole - plain);
    at += plain;
    while (at < end) {
        if (*at < 0x80) {
            if (*at >= 0x20 && *at != '"' && *at != '\\')
                *to++ = (char)*at;
            else
                to = escape(to, *at);
            at++;
            continue;
        }
        size_t length = nb_utf8_sequence(at, end);
        memcpy(to, length == 0 ? (const void *)"\xEF\xBF\xBD" : at, length == 0 ? 3 : length);
        to += length == 0 ? 3 : length;
        at += length == 0 ? 1 : length;
    }
    return to;
}

/* Writes a string and the text that follows it at once: ":" or "". */
static void emit_quoted(struct nb_emitter *e, struct nb_string s, const char *after)
{
    enum { LONGEST_ESCAPE = 6, MARKS = 3 };
    if (s.length > SIZE_MAX / LONGEST_ESCAPE - MARKS - 1)
        e->code = NB_NO_MEMORY;
    char *to = begin(e, LONGEST_ESCAPE * s.length + MARKS);
    if (to == NULL)
        return;
    *to++ = '"';
    const unsigned char *bytes = (const unsigned char *)s.bytes;
    if (s.length > 0)
        to = e->is_ascii ? copy_ascii(to, bytes, bytes + s.length)
                         : copy_escaped(to, bytes, bytes + s.length);
    *to++ = '"';
    if (*after != '\0')
        *to++ = *after;
    wrote(e, to);
}

void nb_emit_string(struct nb_emitter *e, struct nb_string s)
{
    emit_quoted(e, s, "");
}

void nb_emit_name(struct nb_emitter *e, struct nb_string name)
{
    emit_quoted(e, name, ":");
}

/* ---- numbers --------------------------------------------------------------------------------- */

void nb_emit_u64(struct nb_emitter *e, uint64_t value)
{
    char *to = begin(e, NB_NUMBER_TEXT);
    if (to != NULL)
        wrote(e, nb_number_text_u64(to, value));
}

void nb_emit_i64(struct nb_emitter *e, int64_t value)
{
    char *to = begin(e, NB_NUMBER_TEXT);
    if (to != NULL)
        wrote(e, nb_number_text_i64(to, value));
}

/* JSON has no infinity and no NaN: they are written as null. */
static void emit_double(struct nb_emitter *e, double value, char *(*write)(char *to, double value))
{
    if (!isfinite(value)) {
        emit_literal(e, nb_string_of("null"));
        return;
    }
    char *to = begin(e, NB_NUMBER_TEXT);
    if (to != NULL)
        wrote(e, write(to, value));
}

void nb_emit_double(struct nb_emitter *e, double value)
{
    emit_double(e, value, nb_number_text_double);
}

void nb_emit_short_double(struct nb_emitter *e, double value)
{
    emit_double(e, value, nb_number_text_short_double);
}

int nb_json_string(struct nb_buffer *out, struct nb_string s)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_string(&e, s);
    return nb_emit_end(&e);
}

/* ---- members --------------------------------------------------------------------------------- */

void nb_emit_member_bool(struct nb_emitter *e, const char *key, bool value)
{
    nb_emit_key(e, key);
    nb_emit_bool(e, value);
}

void nb_emit_member_null(struct nb_emitter *e, const char *key)
{
    nb_emit_key(e, key);
    nb_emit_raw(e, "null");
}

void nb_emit_member_double(struct nb_emitter *e, const char *key, double value)
{
    nb_emit_key(e, key);
    nb_emit_double(e, value);
}

void nb_emit_member_string(struct nb_emitter *e, const char *key, struct nb_string value)
{
    nb_emit_key(e, key);
    nb_emit_string(e, value);
}

void nb_emit_member_text(struct nb_emitter *e, const char *key, const char *value)
{
    nb_emit_key(e, key);
    nb_emit_text(e, value);
}

void nb_emit_member_u64(struct nb_emitter *e, const char *key, uint64_t value)
{
    nb_emit_key(e, key);
    nb_emit_u64(e, value);
}

void nb_emit_member_short_double(struct nb_emitter *e, const char *key, double value)
{
    nb_emit_key(e, key);
    nb_emit_short_double(e, value);
}

void nb_emit_label_documents(struct nb_emitter *e, const char *name, uint64_t documents)
{
    nb_emit_name(e, nb_string_of(name));
    nb_emit_open(e, '{');
    nb_emit_member_u64(e, "documents", documents);
    nb_emit_close(e, '}');
}

void nb_emit_flag(struct nb_emitter *e, const char *key, bool value)
{
    if (value)
        nb_emit_member_bool(e, key, true);
}

void nb_emit_warning(struct nb_emitter *e, const char *warning)
{
    if (warning == NULL)
        return;
    nb_emit_member_open(e, "warnings", '[');
    nb_emit_text(e, warning);
    nb_emit_close(e, ']');
}
