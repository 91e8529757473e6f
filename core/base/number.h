/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as text, decimal and hexadecimal. Pure functions; any thread.
 */
#ifndef NB_CORE_BASE_NUMBER_H
#define NB_CORE_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/string.h"
#include "core/base/wide.h"

/* Reads a text of digits and nothing else: no signs and no blanks, which strtoull accepts. Sets
 * *value and returns true. Returns false for any other text, and for a number of more than 64 bits.
 */
bool nb_number_read_whole(struct nb_string text, uint64_t *value);

/* Reads digits with an optional fraction and exponent, and nothing else: no signs, no "inf", no
 * "nan" and no hexadecimal digits, which strtod accepts. Sets *value and returns true, or returns
 * false. */
bool nb_number_read(struct nb_string text, double *value);

/* The most digits of a whole number. */
enum { NB_NUMBER_DIGITS = 20 };
/* Writes a number in decimal digits, without a zero byte behind them. `to` has room for
 * NB_NUMBER_DIGITS. Returns the number of digits. */
size_t nb_number_put(char *to, uint64_t value);

/* Appends a finite number with the fewest digits that are read back as the same number. Returns 0
 * or NB_NO_MEMORY. */
int nb_number_print(double value, struct nb_buffer *out);

/* Hexadecimal digits, in either case. Pure functions; any thread. */

/* The value of a hexadecimal digit in either case, 0 to 15, or -1 for any other byte. */
static inline int nb_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Reads a text of 1 to 16 hexadecimal digits and nothing else. Sets *value and returns true, or
 * returns false and leaves *value unchanged. */
bool nb_hex_read(struct nb_string text, uint64_t *value);

/* ---- decimals -------------------------------------------------------------------------------- */

/* Decimals: numbers as values of attributes. A decimal fits into the id of a feature, so that
 * counts of features are counts of numbers, and sums of numbers are exact. Pure functions; any
 * thread.
 *
 * A number has a sign, 13 significant digits and at most 13 decimals, and is below 10^15. Its bits
 * are, from the lowest on: the digits as a whole number (44), 13 less the number of decimals (4),
 * the sign (1). A number is stored in its form with the fewest digits, and 0 has no sign: equal
 * numbers have equal bits. */

enum {
    NB_DECIMAL_BITS = 49,
    NB_DECIMAL_DECIMALS = 13,
    NB_DECIMAL_TEXT = 24 /* room for the text of any decimal, such as -0.0000000000001, and a NUL */
};

#define NB_FIXED_UNIT 1e-13

/* Sets *number to the number nearest to `value`. False: `value` is not finite, or not below 10^15.
 */
bool nb_decimal_of_double(double value, uint64_t *number);

/* Reads a decimal: digits with an optional sign, point and exponent. False: the text is no decimal,
 * or the number is out of range. */
bool nb_decimal_read(struct nb_string text, uint64_t *number);

/* Reads the text of a feature, "name=12.5". */
bool nb_decimal_of_feature(struct nb_string text, uint64_t *number);

/* Returns the number in units of 10^-13; its absolute value is below 2^94 whatever the bits are.
 * Ignores the higher bits, so that an id can be passed. */
nb_int128 nb_decimal_fixed(uint64_t number);

/* Writes the number without an exponent, as "-12.5", and a NUL. `out` has room for NB_DECIMAL_TEXT
 * bytes. Returns the length. */
size_t nb_decimal_write(uint64_t number, char *out);

/* Count, sum and sum of squares of numbers in units of 10^-13, from which mean and variance follow.
 * Exact for up to 2^32 numbers; a forged dump may claim more, and then the sums wrap. */
struct nb_moments {
    uint64_t count;
    nb_uint128 sum; /* two's complement */
    struct nb_wide squares;
};

/* Adds a number `times` times; removes it as often if `sign` is -1. */
void nb_moments_add(struct nb_moments *moments, nb_int128 fixed, uint64_t times, int sign);
/* Adds the numbers of `others`; removes them if `sign` is -1. */
void nb_moments_merge(struct nb_moments *moments, const struct nb_moments *others, int sign);
/* Return 0 if there are no numbers. The variance is the mean of the squared differences from the
 * mean. */
double nb_moments_mean(const struct nb_moments *moments);
double nb_moments_variance(const struct nb_moments *moments);
/* Returns a number minus the mean, without the cancellation of two doubles. There must be at least
 * one number. */
double nb_moments_deviation(const struct nb_moments *moments, nb_int128 fixed);

#endif
