/* SPDX-License-Identifier: Apache-2.0
 *
 * A borrowed run of text. Pure functions; any thread.
 *
 * Text is always pointer and length: it may hold NUL bytes and is not terminated. `bytes` may be
 * NULL when `length` is 0. The functions ending in _nocase ignore the case of ASCII letters.
 */
#ifndef NB_CORE_BASE_STRING_H
#define NB_CORE_BASE_STRING_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct nb_string {
    const char *bytes; /* borrowed */
    size_t length;
};

/* The text of a C string; NULL gives the empty text. */
static inline struct nb_string nb_string_of(const char *text)
{
    return (struct nb_string){text, text == NULL ? 0 : strlen(text)};
}

/* The text behind the first `count` bytes; `count` is at most the length. */
static inline struct nb_string nb_string_from(struct nb_string s, size_t count)
{
    return count == 0 ? s : (struct nb_string){s.bytes + count, s.length - count};
}

/* Whether two texts have the same bytes. */
static inline bool nb_string_same(struct nb_string a, struct nb_string b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

static inline bool nb_string_equals(struct nb_string s, const char *text)
{
    return nb_string_same(s, nb_string_of(text));
}

/* Whether `bytes` begins with the first `length` bytes of `text`, ignoring case; both are at least
 * that long. Most texts differ in the first byte, and then no function is called. */
static inline bool nb_string_has_nocase(const char *bytes, const char *text, size_t length)
{
    return length == 0 ||
           (((bytes[0] ^ text[0]) & ~0x20) == 0 && strncasecmp(bytes, text, length) == 0);
}

static inline bool nb_string_equals_nocase(struct nb_string s, const char *text)
{
    return s.length == strlen(text) && nb_string_has_nocase(s.bytes, text, s.length);
}

static inline bool nb_string_starts(struct nb_string s, const char *prefix)
{
    size_t length = strlen(prefix);
    return s.length >= length && (length == 0 || memcmp(s.bytes, prefix, length) == 0);
}

static inline bool nb_string_starts_nocase(struct nb_string s, const char *prefix)
{
    size_t length = strlen(prefix);
    return s.length >= length && nb_string_has_nocase(s.bytes, prefix, length);
}

/* Whether a character is in `set` (a C string); NUL is in none. For a literal this compiles to one
 * comparison a character, without a call. */
static inline bool nb_string_is_one_of(char c, const char *set)
{
    for (; *set != '\0'; set++)
        if (c == *set)
            return true;
    return false;
}

/* Order of two texts by their bytes, a prefix before the longer text: negative, 0 or positive. */
int nb_string_compare(struct nb_string a, struct nb_string b);
/* The text with a NUL byte behind it, the caller's to free; NULL: out of memory. strndup would not
 * do: at the end of a mapped file it may look for a NUL byte behind the text. */
char *nb_string_copy(struct nb_string s);

/* The text without the bytes of `set` (a C string) at its beginning, or at its end. */
struct nb_string nb_string_trim_start(struct nb_string s, const char *set);
struct nb_string nb_string_trim_end(struct nb_string s, const char *set);

/* The text without white space (nb_ascii_is_space) at both ends. */
struct nb_string nb_string_trim(struct nb_string s);

#endif
