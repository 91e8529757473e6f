/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON text written straight into a buffer: a reply is some hundred bytes of known shape, and a
 * tree of values to hold it would cost more than the classification that it tells of.
 */
#include "server/json/emit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/utf8.h"

struct nb_emitter nb_emit_begin(struct nb_buffer *out)
{
    return (struct nb_emitter){.out = out, .start = out->length};
}

int nb_emit_end(struct nb_emitter *e)
{
    if (e->code != 0)
        e->out->length = e->start;
    return e->code;
}

/* Room for `length` bytes at the end of the buffer; NULL after a failure. */
static char *room(struct nb_emitter *e, size_t length)
{
    if (e->code == 0 && e->out->capacity - e->out->length < length)
        e->code = nb_buffer_reserve(e->out, length);
    return e->code == 0 ? e->out->bytes + e->out->length : NULL;
}

/* The bytes up to `end` are written. */
static void wrote(struct nb_emitter *e, const char *end)
{
    e->out->length = (size_t)(end - e->out->bytes);
}

static void put(struct nb_emitter *e, const char *bytes, size_t length)
{
    char *to = room(e, length);
    if (to == NULL)
        return;
    if (length > 0)
        memcpy(to, bytes, length);
    wrote(e, to + length);
}

/* The text itself tells whether a comma is due: a string or number never ends in these. */
static void comma(struct nb_emitter *e)
{
    if (e->code != 0 || e->out->length == e->start)
        return;
    char last = e->out->bytes[e->out->length - 1];
    if (last != '{' && last != '[' && last != ':')
        put(e, ",", 1);
}

void nb_emit_raw(struct nb_emitter *e, const char *text)
{
    put(e, text, strlen(text));
}

void nb_emit_open(struct nb_emitter *e, char bracket)
{
    comma(e);
    put(e, &bracket, 1);
}

void nb_emit_close(struct nb_emitter *e, char bracket)
{
    put(e, &bracket, 1);
}

void nb_emit_key(struct nb_emitter *e, const char *key)
{
    comma(e);
    put(e, "\"", 1);
    nb_emit_raw(e, key);
    put(e, "\":", 2);
}

void nb_emit_name(struct nb_emitter *e, struct nb_string name)
{
    nb_emit_string(e, name);
    put(e, ":", 1);
}

void nb_emit_text(struct nb_emitter *e, const char *text)
{
    nb_emit_string(e, nb_string_of(text));
}

void nb_emit_bool(struct nb_emitter *e, bool value)
{
    comma(e);
    nb_emit_raw(e, value ? "true" : "false");
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

/* A character of `length` bytes, or one that is not UTF-8 when `length` is 0, as one or two units
 * of UTF-16 (RFC 8259, section 7). */
static char *escape_character(char *to, const unsigned char *at, size_t length)
{
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

static char *copy_escaped(char *to, const unsigned char *at, const unsigned char *end)
{
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

void nb_emit_string(struct nb_emitter *e, struct nb_string s)
{
    enum { LONGEST_ESCAPE = 6, QUOTES = 2 };
    comma(e);
    if (s.length > SIZE_MAX / LONGEST_ESCAPE - QUOTES)
        e->code = NB_NO_MEMORY;
    char *to = room(e, LONGEST_ESCAPE * s.length + QUOTES);
    if (to == NULL)
        return;
    *to++ = '"';
    const unsigned char *bytes = (const unsigned char *)s.bytes;
    if (s.length > 0)
        to = e->is_ascii ? copy_ascii(to, bytes, bytes + s.length)
                         : copy_escaped(to, bytes, bytes + s.length);
    *to++ = '"';
    wrote(e, to);
}

/* ---- numbers --------------------------------------------------------------------------------- */

enum { U64_DIGITS = 20 };

/* Writes the digits of `value` so that they end before `end`; returns where they begin. */
static char *digits_before(char *end, uint64_t value)
{
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    return end;
}

void nb_emit_u64(struct nb_emitter *e, uint64_t value)
{
    char text[U64_DIGITS];
    const char *first = digits_before(text + sizeof text, value);
    comma(e);
    put(e, first, (size_t)(text + sizeof text - first));
}

void nb_emit_i64(struct nb_emitter *e, int64_t value)
{
    char text[U64_DIGITS + 1];
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char *first = digits_before(text + sizeof text, magnitude);
    if (value < 0)
        *--first = '-';
    comma(e);
    put(e, first, (size_t)(text + sizeof text - first));
}

__extension__ typedef unsigned __int128 nb_u128;

enum { DIGITS = 17 }; /* enough for every double (IEEE 754-2008, section 5.12.2) */

static const uint64_t powers_of_5[] = {1,
                                       5,
                                       25,
                                       125,
                                       625,
                                       3125,
                                       15625,
                                       78125,
                                       390625,
                                       1953125,
                                       9765625,
                                       48828125,
                                       244140625,
                                       1220703125,
                                       6103515625,
                                       30517578125,
                                       152587890625,
                                       762939453125,
                                       3814697265625,
                                       19073486328125,
                                       95367431640625,
                                       476837158203125,
                                       2384185791015625,
                                       11920928955078125,
                                       59604644775390625,
                                       298023223876953125,
                                       1490116119384765625,
                                       7450580596923828125};

/* mantissa * 2^exponent * 10^power, rounded to a whole number. 10^power is 5^power * 2^power, and
 * mantissa * 5^32 < 2^53 * 2^75 still fits, so nothing is lost before the one rounding. */
static uint64_t scaled(uint64_t mantissa, int exponent, int power)
{
    const int largest = (int)(sizeof powers_of_5 / sizeof *powers_of_5) - 1;
    nb_u128 product = (nb_u128)mantissa * powers_of_5[power < largest ? power : largest];
    if (power > largest)
        product *= powers_of_5[power - largest];
    int shift = -(exponent + power);
    if (shift <= 0)
        return (uint64_t)(product << -shift);
    return (uint64_t)((product + ((nb_u128)1 << (shift - 1))) >> shift);
}

/* The 17 significant digits of a value in [1e-15, 1e17) as a whole number, and the decimal exponent
 * of the first. printf does the same for any value in six times the time. */
static uint64_t significant(double value, int *exponent10)
{
    const uint64_t limit = 100000000000000000; /* 10^17 */
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t mantissa = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    int exponent = (int)(bits >> 52) - 1075;
    /* log10(2) times the exponent of the first bit: the decimal exponent or one less. */
    int guess = (int)floor((exponent + 52) * 0.30102999566398120);
    uint64_t digits = scaled(mantissa, exponent, DIGITS - 1 - guess);
    if (digits >= limit)
        digits = scaled(mantissa, exponent, DIGITS - 1 - ++guess);
    *exponent10 = guess;
    return digits;
}

/* Lays the digits out as printf's %g does, with a point in any case. Returns the end. */
static char *lay_out(char *to, const char *digits, int count, int exponent)
{
    if (exponent < -5) {
        *to++ = digits[0];
        *to++ = '.';
        memcpy(to, count > 1 ? digits + 1 : "0", (size_t)(count > 1 ? count - 1 : 1));
        to += count > 1 ? count - 1 : 1;
        return to + sprintf(to, "e%03d", exponent);
    }
    if (exponent < 0) {
        memcpy(to, "0.00000", (size_t)(1 - exponent));
        to += 1 - exponent;
        memcpy(to, digits, (size_t)count);
        return to + count;
    }
    for (int i = 0; i < count || i <= exponent + 1; i++) {
        if (i == exponent + 1)
            *to++ = '.';
        *to++ = i < count ? digits[i] : '0';
    }
    return to;
}

/* printf, but with a point whatever the locale says. */
static void print_double(struct nb_emitter *e, double value, int precision)
{
    enum { LONGEST = 32 }; /* sign, 17 digits, point, "e-308" */
    char *to = room(e, LONGEST);
    if (to == NULL)
        return;
    int length = snprintf(to, LONGEST - 2, "%.*g", precision, value);
    char *mark = strchr(to, ',');
    if (mark != NULL)
        *mark = '.';
    if (strpbrk(to, ".e") == NULL) {
        memcpy(to + length, ".0", 2);
        length += 2;
    }
    wrote(e, to + length);
}

void nb_emit_double(struct nb_emitter *e, double value)
{
    enum { LONGEST = 32 };
    double magnitude = fabs(value);
    comma(e);
    if (!isfinite(value)) {
        nb_emit_raw(e, "null");
        return;
    }
    if (!(magnitude >= 1e-15 && magnitude < 1e17)) {
        print_double(e, value, DIGITS);
        return;
    }
    char *to = room(e, LONGEST);
    if (to == NULL)
        return;
    int exponent;
    char digits[U64_DIGITS];
    const char *first = digits_before(digits + sizeof digits, significant(magnitude, &exponent));
    int count = DIGITS;
    while (count > 1 && first[count - 1] == '0')
        count--;
    if (value < 0)
        *to++ = '-';
    wrote(e, lay_out(to, first, count, exponent));
}

enum { UNIT = 10000 }; /* of the numbers that are written as decimals without a search */

/* Sets *units if the value is the double nearest to *units / UNIT, which then has less than 15
 * digits: no other decimal of that many reads as the same double. */
static bool in_units(double value, int64_t *units)
{
    if (!(fabs(value) < 1e9))
        return false;
    *units = (int64_t)(value * UNIT + copysign(0.5, value));
    double nearest = (double)*units / UNIT;
    return memcmp(&nearest, &value, sizeof value) == 0; /* -0 is not */
}

/* A whole number and up to four decimals, at least one. */
static void put_units(struct nb_emitter *e, int64_t units)
{
    char digits[U64_DIGITS];
    char *to = room(e, sizeof digits + sizeof "-.0000");
    if (to == NULL)
        return;
    if (units < 0)
        *to++ = '-';
    uint64_t magnitude = units < 0 ? 0 - (uint64_t)units : (uint64_t)units;
    const char *first = digits_before(digits + sizeof digits, magnitude / UNIT);
    size_t length = (size_t)(digits + sizeof digits - first);
    memcpy(to, first, length);
    to += length;
    *to++ = '.';
    uint64_t rest = magnitude % UNIT;
    do {
        rest *= 10;
        *to++ = (char)('0' + rest / UNIT);
        rest %= UNIT;
    } while (rest != 0);
    wrote(e, to);
}

void nb_emit_short_double(struct nb_emitter *e, double value)
{
    int64_t units;
    comma(e);
    if (!isfinite(value)) {
        nb_emit_raw(e, "null");
        return;
    }
    if (in_units(value, &units)) {
        put_units(e, units);
        return;
    }
    char text[40];
    int precision = 15;
    for (; precision < DIGITS; precision++) {
        snprintf(text, sizeof text, "%.*g", precision, value);
        double again = strtod(text, NULL);
        if (memcmp(&again, &value, sizeof value) == 0)
            break;
    }
    print_double(e, value, precision);
}

int nb_json_string(struct nb_buffer *out, struct nb_string s)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_string(&e, s);
    return nb_emit_end(&e);
}

/* ---- members --------------------------------------------------------------------------------- */

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
    if (!value)
        return;
    nb_emit_key(e, key);
    nb_emit_bool(e, true);
}
