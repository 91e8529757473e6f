/* SPDX-License-Identifier: Apache-2.0
 *
 * A borrowed run of text; its bytes as ASCII, UTF-8 and lines. Pure functions; any thread.
 *
 * Text is always pointer and length: it may hold NUL bytes and is not terminated. `bytes` may be
 * NULL when `length` is 0. The functions ending in _nocase ignore the case of ASCII letters.
 */
#ifndef NB_CORE_BASE_STRING_H
#define NB_CORE_BASE_STRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* The rest of the text after its first `count` bytes; `count` is at most the length. */
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

/* Whether a character is in `set` (a C string); NUL is in no set. If `set` is a literal, this
 * compiles to one comparison for each of its characters, without a call. */
static inline bool nb_string_is_one_of(char c, const char *set)
{
    for (; *set != '\0'; set++)
        if (c == *set)
            return true;
    return false;
}

/* Compares two texts by their bytes; a prefix comes before the longer text. Returns a negative
 * number, 0 or a positive number. */
int nb_string_compare(struct nb_string a, struct nb_string b);
/* Returns a copy of the text with a NUL byte behind it, which the caller frees; NULL: out of
 * memory. strndup would not do: at the end of a mapped file it may read beyond the text. */
char *nb_string_copy(struct nb_string s);
/* Frees `count` C strings and the list of them; NULL is allowed. */
void nb_strings_free(char **list, size_t count);

/* The text without the bytes of `set` (a C string) at its beginning, or at its end. */
struct nb_string nb_string_trim_start(struct nb_string s, const char *set);
struct nb_string nb_string_trim_end(struct nb_string s, const char *set);

/* The text without white space (nb_ascii_is_space) at both ends. */
struct nb_string nb_string_trim(struct nb_string s);

/* Classes of ASCII characters. Pure functions; any thread.
 *
 * They take a char or an unsigned char, and depend on no locale, unlike <ctype.h>. A byte above
 * 0x7F is in no class. */
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

/* Returns a capital as a small letter, and any other byte unchanged. */
static inline char nb_ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Returns a small letter as a capital, and any other byte unchanged. */
static inline char nb_ascii_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c & ~0x20) : c;
}

/* UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF. Pure
 * functions; any thread. */
enum { NB_UTF8_MOST = 4 }; /* bytes of one character */

/* Whether a byte is the second or a later byte of a character. */
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

/* The number of bytes of the character at `at`, which is before `end`; 0 if it is not well formed.
 */
size_t nb_utf8_sequence(const unsigned char *at, const unsigned char *end);

/* Whether all of a text is well formed. */
bool nb_utf8_is_valid(struct nb_string s);

/* The number of bytes of the control character at `at`, which is before `end`: 1 for C0 and DEL, 2
 * for C1; 0 if the character there is no control character. */
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

/* Lines of text as in mail: each ends with LF or CRLF; the last one may have no line end. Pure
 * functions; any thread. */

/* The first byte after the line at `line` and its line end; `end` for the last line. */
static inline const char *nb_lines_next(const char *line, const char *end)
{
    const char *newline = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
    return newline != NULL ? newline + 1 : end;
}

/* Whether the line at `line` is empty: it has only a line end. */
static inline bool nb_lines_is_empty(const char *line, const char *end)
{
    return line < end && (*line == '\n' || (*line == '\r' && end - line > 1 && line[1] == '\n'));
}

/* Whether the line at `line` begins like the separator of an mbox, "From " (RFC 4155). */
static inline bool nb_lines_is_separator(const char *line, const char *end)
{
    return end - line >= 5 && memcmp(line, "From ", 5) == 0;
}

/* The length of the separator line at the beginning of a mail, with its line end; 0 if there is
 * none. Some programs leave that line there when they extract a mail from an mbox. */
static inline size_t nb_lines_separator(struct nb_string mail)
{
    if (mail.length == 0)
        return 0;
    const char *end = mail.bytes + mail.length;
    if (!nb_lines_is_separator(mail.bytes, end))
        return 0;
    const char *next = nb_lines_next(mail.bytes, end);
    return next[-1] == '\n' ? (size_t)(next - mail.bytes) : 0;
}

/* The size limit of one mail. The daemon applies it as the default of [server] body_bytes
 * (option_table.c), also to mails from mail software; bayesc applies it to the mails that it reads.
 */
enum { NB_MAIL_BYTES = 64 * 1024 * 1024 };

#endif
