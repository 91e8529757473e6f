/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/string.h"

enum { NUMBER_BYTES = 48 };

bool nb_number_read_whole(struct nb_string text, uint64_t *value)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.length; i++)
        if (!nb_ascii_is_digit(text.bytes[i]) ||
            __builtin_mul_overflow(number, (uint64_t)10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text.bytes[i] - '0'), &number))
            return false;
    if (text.length > 0)
        *value = number;
    return text.length > 0;
}

bool nb_number_read(struct nb_string text, double *value)
{
    static const char DIGITS[] = "0123456789";
    char copy[NUMBER_BYTES];
    if (text.length == 0 || text.length >= sizeof copy)
        return false;
    memcpy(copy, text.bytes, text.length);
    copy[text.length] = '\0';
    const char *at = copy;
    size_t whole = strspn(at, DIGITS), fraction = 0;
    at += whole;
    if (*at == '.') {
        fraction = strspn(at + 1, DIGITS);
        at += 1 + fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '+' || *at == '-';
        size_t exponent = strspn(at, DIGITS);
        if (exponent == 0)
            return false;
        at += exponent;
    }
    if ((size_t)(at - copy) != text.length)
        return false;
    *value = strtod(copy, NULL);
    return true;
}

size_t nb_number_put(char *to, uint64_t value)
{
    char digits[NB_NUMBER_DIGITS];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    memcpy(to, digits + at, sizeof digits - at);
    return sizeof digits - at;
}

int nb_number_print(double value, struct nb_buffer *out)
{
    enum { ENOUGH_DIGITS = 17 }; /* they identify every double */
    char text[NUMBER_BYTES];
    int digits = 6;
    do
        (void)snprintf(text, sizeof text, "%.*g", digits, value); /* fits */
    while (strtod(text, NULL) != value && ++digits <= ENOUGH_DIGITS);
    return nb_buffer_puts(out, text);
}

enum { DIGITS_MOST = 16 };

bool nb_hex_read(struct nb_string text, uint64_t *value)
{
    uint64_t number = 0;
    if (text.length == 0 || text.length > DIGITS_MOST)
        return false;
    for (size_t i = 0; i < text.length; i++) {
        int digit = nb_hex_digit(text.bytes[i]);
        if (digit < 0)
            return false;
        number = number << 4 | (unsigned)digit;
    }
    *value = number;
    return true;
}

enum {
    DIGITS_BITS = 44,
    SCALE_BITS = 4,
    SIGN_SHIFT = DIGITS_BITS + SCALE_BITS,
    SCALE_MOST = (1 << SCALE_BITS) - 1, /* the scale of multiples of 100 */
    TEXT_MOST = 255
};
_Static_assert(SIGN_SHIFT + 1 == NB_DECIMAL_BITS, "a sign is one bit");

static const uint64_t powers_of_10[SCALE_MOST + 1] = {1,
                                                      10,
                                                      100,
                                                      1000,
                                                      10000,
                                                      100000,
                                                      1000000,
                                                      10000000,
                                                      100000000,
                                                      1000000000,
                                                      10000000000,
                                                      100000000000,
                                                      1000000000000,
                                                      10000000000000,
                                                      100000000000000,
                                                      1000000000000000};

/* ---- reading --------------------------------------------------------------------------------- */

/* Returns the number of digits * 10^(scale - 13), in the form with the fewest digits. */
static uint64_t number_of(uint64_t digits, unsigned scale, bool is_negative)
{
    if (digits == 0)
        return (uint64_t)NB_DECIMAL_DECIMALS << DIGITS_BITS;
    for (; digits % 10 == 0 && scale < SCALE_MOST; scale++)
        digits /= 10;
    return digits | (uint64_t)scale << DIGITS_BITS | (uint64_t)is_negative << SIGN_SHIFT;
}

/* Returns the digits of a text before its exponent as a whole number. */
static uint64_t digits_of(const char *text)
{
    uint64_t digits = 0;
    for (; *text != '\0' && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9')
            digits = digits * 10 + (uint64_t)(*text - '0');
    return digits;
}

bool nb_decimal_of_double(double value, uint64_t *number)
{
    char text[32];
    double size = fabs(value);
    if (!(size < 1e15)) /* NaN, too */
        return false;
    if (size < 1) {
        (void)snprintf(text, sizeof text, "%.13f", size);
        *number = number_of(digits_of(text), 0, value < 0);
        return true;
    }
    (void)snprintf(text, sizeof text, "%.12e", size);
    int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent > 14) /* rounded up */
        return false;
    *number = number_of(digits_of(text), (unsigned)(exponent + 1), value < 0);
    return true;
}

static size_t count_digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* Whether the whole text is a decimal; strtod would accept more. */
static bool is_decimal(const char *text)
{
    text += *text == '-' || *text == '+';
    size_t whole = count_digits(text), fraction = 0;
    text += whole;
    if (*text == '.') {
        fraction = count_digits(text + 1);
        text += 1 + fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        text += text[1] == '-' || text[1] == '+' ? 2 : 1;
        size_t exponent = count_digits(text);
        if (exponent == 0)
            return false;
        text += exponent;
    }
    return *text == '\0';
}

bool nb_decimal_read(struct nb_string text, uint64_t *number)
{
    char copy[TEXT_MOST + 1];
    if (text.length == 0 || text.length > TEXT_MOST ||
        memchr(text.bytes, '\0', text.length) != NULL)
        return false;
    memcpy(copy, text.bytes, text.length);
    copy[text.length] = '\0';
    return is_decimal(copy) && nb_decimal_of_double(strtod(copy, NULL), number);
}

bool nb_decimal_of_feature(struct nb_string text, uint64_t *number)
{
    const char *sign = text.length == 0 ? NULL : memchr(text.bytes, '=', text.length);
    return sign != NULL &&
           nb_decimal_read(nb_string_from(text, (size_t)(sign + 1 - text.bytes)), number);
}

/* ---- writing --------------------------------------------------------------------------------- */

static uint64_t digits_in(uint64_t number)
{
    return number & (((uint64_t)1 << DIGITS_BITS) - 1);
}

static unsigned scale_in(uint64_t number)
{
    return (unsigned)(number >> DIGITS_BITS) & SCALE_MOST;
}

static bool is_negative(uint64_t number)
{
    return (number >> SIGN_SHIFT & 1) != 0;
}

nb_int128 nb_decimal_fixed(uint64_t number)
{
    nb_int128 fixed = (nb_int128)digits_in(number) * (nb_int128)powers_of_10[scale_in(number)];
    return is_negative(number) ? -fixed : fixed;
}

size_t nb_decimal_write(uint64_t number, char *out)
{
    uint64_t digits = digits_in(number);
    int decimals = NB_DECIMAL_DECIMALS - (int)scale_in(number);
    const char *sign = is_negative(number) ? "-" : "";
    uint64_t unit = powers_of_10[decimals > 0 ? decimals : -decimals];
    unsigned long long whole = decimals > 0 ? digits / unit : digits * unit;
    int length;
    if (decimals > 0)
        length = snprintf(out, NB_DECIMAL_TEXT, "%s%llu.%0*llu", sign, whole, decimals,
                          (unsigned long long)(digits % unit));
    else
        length = snprintf(out, NB_DECIMAL_TEXT, "%s%llu", sign, whole);
    return (size_t)length;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static nb_uint128 size_of(nb_int128 x)
{
    return x < 0 ? -(nb_uint128)x : (nb_uint128)x;
}

static struct nb_wide square(nb_int128 x)
{
    return nb_wide_product(size_of(x), size_of(x));
}

void nb_moments_add(struct nb_moments *moments, nb_int128 fixed, uint64_t times, int sign)
{
    const struct nb_moments these = {times, (nb_uint128)fixed * times,
                                     nb_wide_times(square(fixed), times)};
    nb_moments_merge(moments, &these, sign);
}

void nb_moments_merge(struct nb_moments *moments, const struct nb_moments *others, int sign)
{
    moments->count += sign > 0 ? others->count : -others->count;
    moments->sum += sign > 0 ? others->sum : -others->sum;
    moments->squares = sign > 0 ? nb_wide_add(moments->squares, others->squares)
                                : nb_wide_subtract(moments->squares, others->squares);
}

double nb_moments_mean(const struct nb_moments *moments)
{
    if (moments->count == 0)
        return 0;
    return nb_int128_double((nb_int128)moments->sum) / (double)moments->count * NB_FIXED_UNIT;
}

/* Computes (n * sum of squares - square of the sum) / n^2; subtracts exact whole numbers. */
double nb_moments_variance(const struct nb_moments *moments)
{
    double n = (double)moments->count;
    if (moments->count == 0)
        return 0;
    struct nb_wide numerator = nb_wide_subtract(nb_wide_times(moments->squares, moments->count),
                                                square((nb_int128)moments->sum));
    return nb_wide_double(numerator) / n / n * (NB_FIXED_UNIT * NB_FIXED_UNIT);
}

double nb_moments_deviation(const struct nb_moments *moments, nb_int128 fixed)
{
    nb_uint128 times_n = (nb_uint128)fixed * moments->count - moments->sum;
    return nb_int128_double((nb_int128)times_n) / (double)moments->count * NB_FIXED_UNIT;
}
