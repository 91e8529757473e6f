/* SPDX-License-Identifier: Apache-2.0
 *
 * Stored forms, compared byte for byte.
 */
#ifndef NB_TESTS_UNIT_HEX_H
#define NB_TESTS_UNIT_HEX_H

#include <check.h>
#include <stdio.h>

#include "core/base/buffer.h"

/* Expects the bytes, at most 255 of them, in hexadecimal. */
static inline void expect_hex(const struct nb_buffer *out, const char *want)
{
    char hex[512] = "";
    ck_assert_uint_lt(out->length, sizeof hex / 2);
    for (size_t i = 0; i < out->length; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)out->bytes[i]);
    ck_assert_str_eq(hex, want);
}

#endif
