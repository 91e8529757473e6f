/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as text, decimal and hexadecimal. Pure functions; any thread.
 */
#ifndef NB_CORE_BASE_NUMBER_H
#define NB_CORE_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/string.h"

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

#endif
