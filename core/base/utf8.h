/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF. Pure
 * functions; any thread.
 */
#ifndef NB_CORE_BASE_UTF8_H
#define NB_CORE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/string.h"

enum { NB_UTF8_MOST = 4 }; /* bytes of one character */

/* Whether a byte is the second or a later one of a sequence. */
static inline bool nb_utf8_is_continuation(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Returns the highest bits of eight bytes; they are 0 for ASCII. */
static inline uint64_t nb_utf8_high_bits(const unsigned char *at)
{
    uint64_t eight;
    memcpy(&eight, at, sizeof eight);
    return eight & UINT64_C(0x8080808080808080);
}

/* The first byte from `at` on that is not ASCII, or `end`. */
static inline const unsigned char *nb_utf8_ascii_end(const unsigned char *at,
                                                     const unsigned char *end)
{
    while (end - at >= 32 && (nb_utf8_high_bits(at) | nb_utf8_high_bits(at + 8) |
                              nb_utf8_high_bits(at + 16) | nb_utf8_high_bits(at + 24)) == 0)
        at += 32;
    while (end - at >= 8 && nb_utf8_high_bits(at) == 0)
        at += 8;
    while (at < end && *at < 0x80)
        at++;
    return at;
}

/* The bytes of the character at `at`, which is before `end`; 0 when it is not well formed. */
size_t nb_utf8_sequence(const unsigned char *at, const unsigned char *end);

/* Whether all of a text is well formed. */
bool nb_utf8_is_valid(struct nb_string s);

/* The bytes of the control character at `at`, which is before `end`: C0, DEL, or C1, which takes
 * two bytes. 0 when it is none. */
size_t nb_utf8_control(const unsigned char *at, const unsigned char *end);
/* Whether `s` has a control character anywhere. */
bool nb_utf8_has_control(struct nb_string s);

/* The longest beginning of `s` that has at most `most` bytes and does not end inside a sequence. */
struct nb_string nb_utf8_cut(struct nb_string s, size_t most);

/* Writes a character as UTF-8 to `to` (room for NB_UTF8_MOST bytes). Returns how many bytes it
 * took. */
static inline unsigned nb_utf8_encode(uint32_t c, unsigned char *to)
{
    if (c < 0x80) {
        to[0] = (unsigned char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (unsigned char)(0xC0 | c >> 6);
        to[1] = (unsigned char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (unsigned char)(0xE0 | c >> 12);
        to[1] = (unsigned char)(0x80 | (c >> 6 & 0x3F));
        to[2] = (unsigned char)(0x80 | (c & 0x3F));
        return 3;
    }
    to[0] = (unsigned char)(0xF0 | c >> 18);
    to[1] = (unsigned char)(0x80 | (c >> 12 & 0x3F));
    to[2] = (unsigned char)(0x80 | (c >> 6 & 0x3F));
    to[3] = (unsigned char)(0x80 | (c & 0x3F));
    return 4;
}

#endif
