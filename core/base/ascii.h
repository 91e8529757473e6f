/* SPDX-License-Identifier: Apache-2.0
 *
 * Classes of ASCII characters. Pure functions; any thread.
 *
 * They take a char or an unsigned char, and depend on no locale, unlike <ctype.h>. A byte above
 * 0x7F is in no class.
 */
#ifndef NB_CORE_BASE_ASCII_H
#define NB_CORE_BASE_ASCII_H

#include <stdbool.h>

static inline bool nb_ascii_is_digit(int c)
{
    return (unsigned)c - '0' < 10;
}

static inline bool nb_ascii_is_letter(int c)
{
    return ((unsigned)c | 0x20) - 'a' < 26;
}

static inline bool nb_ascii_is_alphanumeric(int c)
{
    return nb_ascii_is_letter(c) || nb_ascii_is_digit(c);
}

/* White space: space, tab, line feed, vertical tab, form feed, carriage return. */
static inline bool nb_ascii_is_space(int c)
{
    return c == ' ' || (unsigned)c - '\t' < 5;
}

/* Capitals as small letters, other bytes as they are. */
static inline char nb_ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Small letters as capitals, other bytes as they are. */
static inline char nb_ascii_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c & ~0x20) : c;
}

#endif
