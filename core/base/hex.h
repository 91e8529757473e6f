/* SPDX-License-Identifier: Apache-2.0
 *
 * Hexadecimal digits, in either case. Pure functions; any thread.
 */
#ifndef NB_CORE_BASE_HEX_H
#define NB_CORE_BASE_HEX_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/string.h"

/* The value of a digit, 0 to 15, or -1 for any other byte. */
static inline int nb_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Reads a text of 1 to 16 digits and nothing else. Sets *value and returns true, or returns
 * false and leaves *value. */
bool nb_hex_read(struct nb_string text, uint64_t *value);

#endif
