/* SPDX-License-Identifier: Apache-2.0
 *
 * A growable run of bytes. Any thread; one buffer belongs to one thread at a time.
 */
#ifndef NB_CORE_BASE_BUFFER_H
#define NB_CORE_BASE_BUFFER_H

#include <stddef.h>

#include "core/base/string.h"

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
