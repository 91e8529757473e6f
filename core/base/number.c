/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/number.h"

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
