/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing run of bytes. A buffer belongs to one thread at a time.
 */
#ifndef NB_CORE_BASE_BUFFER_H
#define NB_CORE_BASE_BUFFER_H

#include <assert.h>
#include <stddef.h>

#include "core/base/string.h"

struct nb_buffer {
    char *bytes; /* owned; NULL until the first byte */
    size_t length;
    size_t capacity;
};

/* Makes an empty buffer that owns nothing, as `struct nb_buffer b = {0}` does. */
void nb_buffer_init(struct nb_buffer *buffer);

/* Frees the bytes; the buffer is empty and usable again. */
void nb_buffer_deinit(struct nb_buffer *buffer);

/* The slow path of nb_buffer_reserve: `extra` more bytes do not fit. */
int nb_buffer_grow(struct nb_buffer *buffer, size_t extra);

/* Makes room for `extra` more bytes, and for more than that, so that appending costs constant time
 * a byte on average. Returns 0 or NB_NO_MEMORY, also if the size would overflow. */
static inline int nb_buffer_reserve(struct nb_buffer *buffer, size_t extra)
{
    assert(buffer->length <= buffer->capacity);
    return extra <= buffer->capacity - buffer->length ? 0 : nb_buffer_grow(buffer, extra);
}

/* Appends bytes; `bytes` may be NULL if `length` is 0. Returns 0 or NB_NO_MEMORY, in which case the
 * buffer is as before. */
int nb_buffer_append(struct nb_buffer *buffer, const void *bytes, size_t length);

/* Inserts bytes, which do not lie in the buffer, before its contents. Returns as nb_buffer_append.
 */
int nb_buffer_prepend(struct nb_buffer *buffer, const void *bytes, size_t length);

/* Returns the contents of the buffer; borrowed until the buffer changes. */
static inline struct nb_string nb_buffer_string(const struct nb_buffer *buffer)
{
    return (struct nb_string){buffer->bytes, buffer->length};
}

/* Returns unused room to the system, as far as the allocator does that. */
void nb_buffer_trim(struct nb_buffer *buffer);

/* Appends a C string, without its NUL. Returns as nb_buffer_append. */
int nb_buffer_puts(struct nb_buffer *buffer, const char *text);

/* Appends text formatted as by printf. Returns as nb_buffer_append, or NB_INVALID for a bad format.
 */
int nb_buffer_printf(struct nb_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
