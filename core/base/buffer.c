/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/buffer.h"

#include <assert.h>
#include <endian.h>
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

void nb_pack_bytes(struct nb_packer *w, const void *bytes, size_t length)
{
    if (w->code == 0)
        w->code = nb_buffer_append(w->out, bytes, length);
}

void nb_pack_u8(struct nb_packer *w, uint8_t value)
{
    nb_pack_bytes(w, &value, 1);
}

void nb_pack_u64(struct nb_packer *w, uint64_t value)
{
    uint64_t little = htole64(value);
    nb_pack_bytes(w, &little, sizeof little);
}

void nb_pack_varint(struct nb_packer *w, uint64_t value)
{
    if (w->code == 0)
        w->code = nb_buffer_reserve(w->out, NB_VARINT_MOST);
    if (w->code != 0)
        return;
    char *end = nb_put_varint(w->out->bytes + w->out->length, value);
    w->out->length = (size_t)(end - w->out->bytes);
}

void nb_pack_double(struct nb_packer *w, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    nb_pack_u64(w, bits);
}

void nb_pack_string(struct nb_packer *w, struct nb_string s)
{
    nb_pack_varint(w, s.length);
    nb_pack_bytes(w, s.bytes, s.length);
}

struct nb_unpacker nb_unpacker_of(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    return (struct nb_unpacker){.at = at, .end = at == NULL ? NULL : at + length, .failed = false};
}

static bool has(struct nb_unpacker *r, size_t length)
{
    assert(r->at <= r->end);
    if (r->failed || (size_t)(r->end - r->at) < length)
        r->failed = true;
    return !r->failed;
}

uint8_t nb_unpack_u8(struct nb_unpacker *r)
{
    return has(r, 1) ? *r->at++ : 0;
}

uint64_t nb_unpack_long_varint(struct nb_unpacker *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (!has(r, 1))
            return 0;
        unsigned char byte = *r->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
    r->failed = true;
    return 0;
}

double nb_unpack_double(struct nb_unpacker *r)
{
    uint64_t bits = nb_unpack_u64(r);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

struct nb_string nb_unpack_bytes(struct nb_unpacker *r, size_t length)
{
    if (!has(r, length))
        return (struct nb_string){"", 0};
    struct nb_string s = {(const char *)r->at, length};
    r->at += length;
    return s;
}

struct nb_string nb_unpack_string(struct nb_unpacker *r)
{
    return nb_unpack_bytes(r, (size_t)nb_unpack_bounded(r, (uint64_t)(r->end - r->at)));
}

bool nb_unpacker_done(const struct nb_unpacker *r)
{
    return !r->failed && r->at == r->end;
}
