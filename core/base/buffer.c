/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/buffer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

enum { FIRST_CAPACITY = 256 };

void nb_buffer_init(struct nb_buffer *buffer)
{
    *buffer = (struct nb_buffer){0};
}

void nb_buffer_deinit(struct nb_buffer *buffer)
{
    free(buffer->bytes);
    nb_buffer_init(buffer);
}

int nb_buffer_grow(struct nb_buffer *buffer, size_t extra)
{
    assert(buffer->length <= buffer->capacity);
    if (extra > SIZE_MAX / 2 - buffer->length)
        return NB_NO_MEMORY;
    size_t capacity = buffer->capacity < FIRST_CAPACITY ? FIRST_CAPACITY : buffer->capacity;
    while (capacity - buffer->length < extra)
        capacity *= 2;
    char *bytes = realloc(buffer->bytes, capacity);
    if (bytes == NULL)
        return NB_NO_MEMORY;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return 0;
}

int nb_buffer_append(struct nb_buffer *buffer, const void *bytes, size_t length)
{
    int rc = nb_buffer_reserve(buffer, length);
    if (rc != 0 || length == 0)
        return rc;
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    return 0;
}

int nb_buffer_prepend(struct nb_buffer *buffer, const void *bytes, size_t length)
{
    int rc = nb_buffer_reserve(buffer, length);
    if (rc != 0 || length == 0)
        return rc;
    memmove(buffer->bytes + length, buffer->bytes, buffer->length);
    memcpy(buffer->bytes, bytes, length);
    buffer->length += length;
    return 0;
}

void nb_buffer_trim(struct nb_buffer *buffer)
{
    assert(buffer->length <= buffer->capacity);
    if (buffer->length == 0 || buffer->length == buffer->capacity)
        return;
    char *bytes = realloc(buffer->bytes, buffer->length);
    if (bytes == NULL)
        return;
    buffer->bytes = bytes;
    buffer->capacity = buffer->length;
}

int nb_buffer_puts(struct nb_buffer *buffer, const char *text)
{
    return nb_buffer_append(buffer, text, strlen(text));
}

int nb_buffer_printf(struct nb_buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_list again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    int rc = length < 0 ? NB_INVALID : nb_buffer_reserve(buffer, (size_t)length + 1);
    if (rc == 0) {
        vsnprintf(buffer->bytes + buffer->length, (size_t)length + 1, format, again);
        buffer->length += (size_t)length;
    }
    va_end(again);
    return rc;
}
