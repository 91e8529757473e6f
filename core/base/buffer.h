/* SPDX-License-Identifier: Apache-2.0
 *
 * A growable run of bytes. Any thread; one buffer belongs to one thread at a time.
 */
#ifndef NB_CORE_BASE_BUFFER_H
#define NB_CORE_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Text is always pointer and length; it may hold NUL bytes and is not terminated. */
struct nb_string {
    const char *bytes;
    size_t length;
};

/* The text of a C string. */
static inline struct nb_string nb_string_of(const char *text)
{
    return (struct nb_string){text, strlen(text)};
}

/* Whether it is this word of ASCII, in any case. */
static inline bool nb_string_is(struct nb_string s, const char *word)
{
    return s.length == strlen(word) && strncasecmp(s.bytes, word, s.length) == 0;
}

struct nb_buffer {
    char *bytes; /* owned; NULL until the first byte */
    size_t length;
    size_t capacity;
};

/* An empty buffer that owns nothing: also `struct nb_buffer b = {0}`. */
void nb_buffer_init(struct nb_buffer *buffer);

/* Frees the bytes; the buffer is empty and usable again. */
void nb_buffer_deinit(struct nb_buffer *buffer);

/* Makes room for `extra` more bytes. Returns 0 or NB_NO_MEMORY (also on overflow of size_t). */
int nb_buffer_reserve(struct nb_buffer *buffer, size_t extra);

/* Appends bytes; `bytes` may be NULL when `length` is 0. Returns 0 or NB_NO_MEMORY, in which case
 * the buffer is as before. */
int nb_buffer_append(struct nb_buffer *buffer, const void *bytes, size_t length);

/* Appends a C string. */
int nb_buffer_puts(struct nb_buffer *buffer, const char *text);

/* Appends printf-formatted text. */
int nb_buffer_printf(struct nb_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
