/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/hex.h"

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
