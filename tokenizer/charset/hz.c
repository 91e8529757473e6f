/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/charset/hz.h"

#include <stdbool.h>

#include "core/base/error.h"

/* Whether two bytes are a character of GB 2312 in seven bits. */
static bool is_pair(const char *at, const char *end)
{
    return end - at >= 2 && at[0] > ' ' && at[0] < '~' && at[1] > ' ' && at[1] <= '~';
}

int nb_hz_to_gb(const char *bytes, size_t length, struct nb_buffer *out)
{
    if (length == 0)
        return 0;
    if (nb_buffer_reserve(out, length) != 0)
        return NB_NO_MEMORY;
    const char *at = bytes, *end = bytes + length;
    char *to = out->bytes + out->length;
    bool is_chinese = false;
    while (at < end) {
        char next = *at == '~' && end - at > 1 ? at[1] : '\0';
        if (is_chinese ? next == '}' : next == '{' || next == '~' || next == '\n') {
            is_chinese = next == '{';
            if (next == '~')
                *to++ = '~';
            at += 2;
        } else if (is_chinese && is_pair(at, end)) {
            *to++ = (char)(*at++ | 0x80);
            *to++ = (char)(*at++ | 0x80);
        } else {
            is_chinese = is_chinese && *at != '\n'; /* a line begins in ASCII (RFC 1843) */
            *to++ = *at++;
        }
    }
    out->length = (size_t)(to - out->bytes);
    return 0;
}
