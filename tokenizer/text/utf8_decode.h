/* SPDX-License-Identifier: Apache-2.0
 *
 * Decodes text that should be UTF-8 but may contain invalid bytes. Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_TEXT_UTF8_DECODE_H
#define NB_TOKENIZER_TEXT_UTF8_DECODE_H

#include "core/base/string.h"

/* Returns the character of a byte in windows-1252, as browsers read it (WHATWG Encoding): the five
 * bytes that windows-1252 leaves undefined are the control characters of ISO 8859-1. */
static inline uint32_t nb_windows_1252(unsigned char byte)
{
    static const uint16_t high[32] = {
        0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
        0x2039, 0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
        0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178};
    return byte >= 0x80 && byte < 0xA0 ? high[byte - 0x80] : byte;
}

/* Returns the character at *at, which is before `end`, and moves *at behind it. A byte that does
 * not begin a well-formed sequence (core/base/string.h) is read alone, as windows-1252: most mail
 * that declares no charset and is not UTF-8 is written in it. */
static inline uint32_t nb_utf8_decode(const unsigned char **at, const unsigned char *end)
{
    const unsigned char *p = *at;
    uint32_t first = *p;
    if (first < 0x80) {
        *at = p + 1;
        return first;
    }
    if (first >= 0xC2 && first < 0xE0 && end - p >= 2 && nb_utf8_is_continuation(p[1])) {
        *at = p + 2;
        return (first & 0x1F) << 6 | (p[1] & 0x3Fu);
    }
    if (first >= 0xE0 && first < 0xF0 && end - p >= 3 && nb_utf8_is_continuation(p[1]) &&
        nb_utf8_is_continuation(p[2])) {
        uint32_t c = (first & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
        if (c >= 0x800 && (c < 0xD800 || c > 0xDFFF)) {
            *at = p + 3;
            return c;
        }
    }
    if (first >= 0xF0 && first < 0xF5 && end - p >= 4 && nb_utf8_is_continuation(p[1]) &&
        nb_utf8_is_continuation(p[2]) && nb_utf8_is_continuation(p[3])) {
        uint32_t c =
            (first & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
        if (c >= 0x10000 && c <= 0x10FFFF) {
            *at = p + 4;
            return c;
        }
    }
    *at = p + 1;
    return nb_windows_1252((unsigned char)first);
}

#endif
