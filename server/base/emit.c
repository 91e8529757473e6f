/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON text is written straight into a buffer: a reply has a few hundred bytes in a fixed form, and
 * building a tree of values first would cost more than the classification itself.
 */
#include "server/base/emit.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/label_set.h"
#include "core/base/string.h"
#include "core/base/wide.h"

enum { U64_DIGITS = 20 };

/* Writes the digits of `value` so that they end before `end`. Returns their beginning. */
static char *digits_before(char *end, uint64_t value)
{
    static const char two[] = "00010203040506070809101112131415161718192021222324252627282930313233"
                              "34353637383940414243444546474849505152535455565758596061626364656667"
                              "6869707172737475767778798081828384858687888990919293949596979899";
    for (; value >= 100; value /= 100)
        memcpy(end -= 2, two + 2 * (value % 100), 2);
    if (value >= 10)
        return memcpy(end - 2, two + 2 * value, 2);
    *--end = (char)('0' + value);
    return end;
}

/* Writes eight digits of a value below 10^8. Splits the value into two parts of four digits, then
 * four of two digits, then eight of one digit, side by side in 64 bits. */
static void put_eight(char to[8], uint64_t value)
{
    assert(value < 100000000);
    uint64_t fours = value / 10000 | (value % 10000) << 32;
    uint64_t hundreds = fours * 10486 >> 20 & 0x0000007F0000007F; /* / 100, exact up to 9999 */
    uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
    uint64_t tens = twos * 103 >> 10 & 0x000F000F000F000F; /* / 10, exact up to 99 */
    uint64_t ones = tens | (twos - 10 * tens) << 8 | 0x3030303030303030;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    ones = __builtin_bswap64(ones);
#endif
    memcpy(to, &ones, sizeof ones);
}

static char *copy(char *to, const char *from, const char *end)
{
    memcpy(to, from, (size_t)(end - from));
    return to + (end - from);
}

char *nb_number_text_u64(char *to, uint64_t value)
{
    char text[U64_DIGITS];
    return copy(to, digits_before(text + sizeof text, value), text + sizeof text);
}

char *nb_number_text_i64(char *to, int64_t value)
{
    if (value < 0)
        *to++ = '-';
    return nb_number_text_u64(to, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

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

/* Returns mantissa * 2^exponent * 10^power, rounded to a whole number. 10^power is 5^power *
 * 2^power, and mantissa * 5^32 < 2^53 * 2^75 still fits, so nothing is lost before the one
 * rounding. */
static uint64_t scaled(uint64_t mantissa, int exponent, int power)
{
    const int largest = (int)(sizeof powers_of_5 / sizeof *powers_of_5) - 1;
    assert(power >= 0 && power <= 2 * largest);
    nb_uint128 product = (nb_uint128)mantissa * powers_of_5[power < largest ? power : largest];
    if (power > largest)
        product *= powers_of_5[power - largest];
    int shift = -(exponent + power);
    if (shift <= 0)
        return (uint64_t)(product << -shift);
    return (uint64_t)((product + ((nb_uint128)1 << (shift - 1))) >> shift);
}

/* Returns the 17 significant digits of a value in [1e-15, 1e17) as a whole number, and the decimal
 * exponent of the first digit. printf takes six times as long. */
static uint64_t significant(double value, int *exponent10)
{
    const uint64_t limit = 100000000000000000; /* 10^17 */
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t mantissa = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    int exponent = (int)(bits >> 52) - 1075;
    /* log10(2) times the exponent of the first bit is the decimal exponent or one less. */
    int guess = (int)floor((exponent + 52) * 0.30102999566398120);
    uint64_t digits = scaled(mantissa, exponent, DIGITS - 1 - guess);
    if (digits >= limit)
        digits = scaled(mantissa, exponent, DIGITS - 1 - ++guess);
    *exponent10 = guess;
    return digits;
}

/* Like significant, for a value in [1e-290, 1e-15), whose products do not fit into 128 bits: only
 * the first 128 bits of each product are kept. The error is below LOST units of the last bit.
 * Returns false if the rounding depends on that error, about once in 2^60 values. */
static bool significant_of_small(double value, uint64_t *digits, const int *exponent10)
{
    enum { STEP = 27, LOST = 64 };
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    nb_uint128 product = (nb_uint128)((bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52) << 75;
    int exponent = (int)(bits >> 52) - 1075;
    int power = DIGITS - 1 - *exponent10;
    exponent += power - 75; /* the powers of 2 that the powers of 10 contain */
    for (int left = power; left > 0; left -= STEP) {
        uint64_t factor = powers_of_5[left < STEP ? left : STEP];
        int leading = __builtin_clzll(factor);
        factor <<= leading;
        product = (product >> 64) * factor + ((nb_uint128)(uint64_t)product * factor >> 64);
        exponent += 64 - leading;
        if (product >> 127 == 0) {
            product <<= 1;
            exponent--;
        }
    }
    assert(exponent > -128 && exponent <= -64); /* the digits fit into 64 bits */
    nb_uint128 half = (nb_uint128)1 << (-exponent - 1), rest = product & (2 * half - 1);
    *digits = (uint64_t)(product >> -exponent) + (rest >= half);
    return rest >= half || rest + LOST < half;
}

/* Finds the digits by significant_of_small. Returns false if that does, or if the value has a
 * single digit, after which printf writes no point. */
static bool small_digits(double value, uint64_t *digits, int *exponent10)
{
    const uint64_t limit = 100000000000000000; /* 10^17 */
    int exponent;
    (void)frexp(value, &exponent);
    *exponent10 = (int)floor((exponent - 1) * 0.30102999566398120);
    bool is_known = significant_of_small(value, digits, exponent10);
    if (is_known && *digits >= limit) {
        ++*exponent10;
        is_known = significant_of_small(value, digits, exponent10);
    }
    return is_known && *digits % (limit / 10) != 0;
}

/* Writes the first `count` of DIGITS + 1 digits as printf's %g does, but always with a point. The
 * other digits are 0. Returns the end. */
static char *lay_out(char *to, const char *digits, int count, int exponent)
{
    assert(count >= 1 && count <= DIGITS && exponent < DIGITS);
    if (exponent < -5) {
        *to++ = digits[0];
        *to++ = '.';
        memcpy(to, count > 1 ? digits + 1 : "0", (size_t)(count > 1 ? count - 1 : 1));
        to += count > 1 ? count - 1 : 1;
        *to++ = 'e';
        *to++ = '-';
        if (exponent > -10)
            *to++ = '0';
        return nb_number_text_u64(to, (uint64_t)-exponent);
    }
    if (exponent < 0) {
        memcpy(to, "0.00000", (size_t)(1 - exponent));
        to += 1 - exponent;
        memcpy(to, digits, (size_t)count);
        return to + count;
    }
    int whole = exponent + 1, rest = count > whole ? count - whole : 1;
    memcpy(to, digits, (size_t)whole);
    to += whole;
    *to++ = '.';
    memcpy(to, digits + whole, (size_t)rest);
    return to + rest;
}

/* Writes the value as printf does, but with a point in every locale. */
static char *print_double(char *to, double value, int precision)
{
    int length = snprintf(to, NB_NUMBER_TEXT - 2, "%.*g", precision, value);
    assert(length > 0 && length < NB_NUMBER_TEXT - 2);
    char *mark = strchr(to, ',');
    if (mark != NULL)
        *mark = '.';
    if (strpbrk(to, ".e") == NULL) {
        memcpy(to + length, ".0", 2);
        length += 2;
    }
    return to + length;
}

/* Whether the magnitude is a whole number of at most 15 digits. If so, sets *number to it. */
static bool is_whole(double magnitude, uint64_t *number)
{
    if (!(magnitude < 1e15))
        return false;
    *number = (uint64_t)magnitude;
    return (double)*number >= magnitude;
}

char *nb_number_text_double(char *to, double value)
{
    double magnitude = fabs(value);
    assert(isfinite(value));
    uint64_t whole;
    if (is_whole(magnitude, &whole)) {
        if (signbit(value))
            *to++ = '-';
        to = nb_number_text_u64(to, whole);
        memcpy(to, ".0", 2);
        return to + 2;
    }
    uint64_t number;
    int exponent;
    if (magnitude >= 1e-15 && magnitude < 1e17)
        number = significant(magnitude, &exponent);
    else if (!(magnitude >= 1e-290 && magnitude < 1e-15) ||
             !small_digits(magnitude, &number, &exponent))
        return print_double(to, value, DIGITS);
    const uint64_t eight = 100000000; /* 10^8 */
    char digits[DIGITS + 1];
    digits[0] = (char)('0' + number / (eight * eight));
    put_eight(digits + 1, number / eight % eight);
    put_eight(digits + 1 + 8, number % eight);
    digits[DIGITS] = '0';
    int count = DIGITS;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    if (value < 0)
        *to++ = '-';
    return lay_out(to, digits, count, exponent);
}

/* ---- decimals of few places ------------------------------------------------------------------ */

/* Numbers of decimal places with which a short decimal is tried before the digits are computed. */
static const struct {
    unsigned places;
    double unit;  /* 10^places */
    double least; /* smaller values, except 0, are written with an exponent */
    double most;
} FORMS[] = {{4, 1e4, 1e-4, 1e9}, {9, 1e9, 1e-4, 1e5}};

/* Sets *units if the value is the double nearest to *units / unit. Then the decimal has fewer than
 * 15 digits, so no other decimal of so many digits reads as the same double. */
static bool in_units(double value, size_t form, int64_t *units)
{
    if (!(fabs(value) < FORMS[form].most) || (value != 0 && fabs(value) < FORMS[form].least))
        return false;
    *units = (int64_t)(value * FORMS[form].unit + copysign(0.5, value));
    double nearest = (double)*units / FORMS[form].unit;
    return memcmp(&nearest, &value, sizeof value) == 0; /* false for -0 */
}

/* Writes a number given in units of 10^-places: its whole part and at least `least` decimals. */
static char *write_units(char *to, uint64_t units, unsigned places, unsigned least)
{
    assert(places <= 9 && least <= places);
    uint64_t unit = 1;
    for (unsigned i = 0; i < places; i++)
        unit *= 10;
    to = nb_number_text_u64(to, units / unit);
    if (places > 0)
        *to++ = '.';
    for (unsigned i = 0; i < places && (i < least || units % unit != 0); i++) {
        units = units % unit * 10;
        *to++ = (char)('0' + units / unit);
    }
    return to;
}

/* Returns |value| * 10^decimals, rounded to a whole number, halves to even. For values below 10^9
 * all bits of the product fit. */
static uint64_t rounded(double value, unsigned decimals)
{
    assert(fabs(value) < 1e9 && decimals <= 4); /* so the product fits */
    int exponent;
    uint64_t mantissa = (uint64_t)ldexp(frexp(fabs(value), &exponent), 53);
    int shift = 53 - exponent;
    nb_uint128 product = mantissa;
    for (unsigned i = 0; i < decimals; i++)
        product *= 10;
    if (mantissa == 0 || shift > 100) /* less than a half: the product is below 2^67 */
        return 0;
    nb_uint128 rest = product & (((nb_uint128)1 << shift) - 1), half = (nb_uint128)1 << (shift - 1);
    uint64_t whole = (uint64_t)(product >> shift);
    return whole + (rest > half || (rest == half && (whole & 1) != 0));
}

char *nb_number_text_fixed(char *to, double value, unsigned decimals, bool has_plus)
{
    assert(decimals <= 4);
    if (signbit(value) || has_plus)
        *to++ = signbit(value) ? '-' : '+';
    if (!(fabs(value) < 1e9))
        return to + snprintf(to, NB_NUMBER_TEXT - 1, "%.4g", fabs(value)); /* it fits */
    return write_units(to, rounded(value, decimals), decimals, decimals);
}

char *nb_number_text_short_double(char *to, double value)
{
    int64_t units;
    assert(isfinite(value));
    for (size_t form = 0; form < sizeof FORMS / sizeof *FORMS; form++) {
        if (!in_units(value, form, &units))
            continue;
        if (units < 0)
            *to++ = '-';
        return write_units(to, units < 0 ? 0 - (uint64_t)units : (uint64_t)units,
                           FORMS[form].places, 1);
    }
    char text[40];
    int precision = 15;
    for (; precision < DIGITS; precision++) {
        snprintf(text, sizeof text, "%.*g", precision, value);
        double again = strtod(text, NULL);
        if (memcmp(&again, &value, sizeof value) == 0)
            break;
    }
    return print_double(to, value, precision);
}

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
    assert(bracket == '{' || bracket == '[');
    char *to = begin(e, 1);
    if (to == NULL)
        return;
    *to++ = bracket;
    wrote(e, to);
}

void nb_emit_close(struct nb_emitter *e, char bracket)
{
    assert(bracket == '}' || bracket == ']');
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

static char *copy_escaped(char *to, const unsigned char *at, const unsigned char *end)
{
    size_t whole = (size_t)(end - at), plain = nb_json_plain((const char *)at, whole);
    memcpy(to, at, plain);
    to += plain;
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

void nb_emit_member_labels(struct nb_emitter *e, const char *one, const char *several,
                           struct nb_string label)
{
    struct nb_string each;
    if (!nb_label_is_set(label)) {
        nb_emit_member_string(e, one, label);
        return;
    }
    nb_emit_member_open(e, several, '[');
    while (nb_label_set_next(&label, &each))
        nb_emit_string(e, each);
    nb_emit_close(e, ']');
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
