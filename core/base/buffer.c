/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/buffer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/array.h"
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

/* Returns 0 or an errno value. */
static int read_all(struct nb_buffer *buffer, int file, size_t most)
{
    enum { STEP = 65536 };
    for (size_t length = 0; length <= most;) {
        if (nb_buffer_reserve(buffer, STEP + 1) != 0)
            return ENOMEM;
        ssize_t n = read(file, buffer->bytes + buffer->length, STEP);
        if (n < 0 && errno != EINTR)
            return errno;
        if (n == 0) {
            buffer->bytes[buffer->length] = '\0';
            return 0;
        }
        length += n > 0 ? (size_t)n : 0;
        buffer->length += n > 0 ? (size_t)n : 0;
    }
    return EFBIG;
}

int nb_buffer_read_file(struct nb_buffer *buffer, const char *path, size_t most)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0)
        return errno;
    int failure = read_all(buffer, file, most);
    (void)close(file); /* the file was only read */
    return failure;
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

enum { FIRST_BYTES = 256 };

size_t nb_array_room(size_t room, size_t wanted, size_t size)
{
    assert(size > 0);
    if (wanted <= room)
        return room;
    size_t more = room == 0 ? FIRST_BYTES / size : room <= SIZE_MAX / 2 ? room * 2 : SIZE_MAX;
    return more > wanted ? more : wanted;
}

int nb_array_resize(void *array, size_t room, size_t size)
{
    /* memcpy, because `array` points to a pointer whose type is unknown here. */
    void *items;
    size_t bytes;
    assert(size > 0);
    memcpy(&items, array, sizeof items);
    if (__builtin_mul_overflow(room == 0 ? 1 : room, size, &bytes))
        return NB_NO_MEMORY;
    void *resized = realloc(items, bytes);
    if (resized == NULL)
        return NB_NO_MEMORY;
    memcpy(array, &resized, sizeof resized);
    /* cppcheck-suppress memleak ; the caller's pointer has it */
    return 0;
}

int nb_array_grow(void *array, size_t *room, size_t wanted, size_t size)
{
    assert(wanted > *room);
    size_t more = nb_array_room(*room, wanted, size);
    int rc = nb_array_resize(array, more, size);
    if (rc == 0)
        *room = more;
    return rc;
}

int nb_array_renew(void *array, size_t *room, size_t wanted, size_t size)
{
    void *items;
    size_t more = nb_array_room(*room, wanted, size);
    if (wanted <= *room)
        return 0;
    memcpy(&items, array, sizeof items);
    free(items);
    items = NULL;
    memcpy(array, &items, sizeof items);
    *room = 0;
    int rc = nb_array_resize(array, more, size);
    if (rc == 0)
        *room = more;
    return rc;
}

static char *at(const struct nb_heap *heap, size_t i)
{
    return (char *)heap->items + i * heap->item_size;
}

/* Whether the element at index `i` comes after that at `j`, and so belongs nearer to the root. */
static int is_after(const struct nb_heap *heap, size_t i, size_t j)
{
    return heap->compare(at(heap, i), at(heap, j)) > 0;
}

static void swap(const struct nb_heap *heap, size_t i, size_t j)
{
    char *a = at(heap, i), *b = at(heap, j);
    for (size_t k = 0; k < heap->item_size; k++) {
        char byte = a[k];
        a[k] = b[k];
        b[k] = byte;
    }
}

/* Moves the element at index `i` up as far as needed. */
static void sift_up(struct nb_heap *heap, size_t i)
{
    for (size_t parent; i > 0; i = parent) {
        parent = (i - 1) / 2;
        if (!is_after(heap, i, parent))
            return;
        swap(heap, i, parent);
    }
}

/* Moves the element at the root down as far as needed. */
static void sift_down(struct nb_heap *heap)
{
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < heap->count; i = child) {
        if (child + 1 < heap->count && is_after(heap, child + 1, child))
            child++;
        if (!is_after(heap, child, i))
            return;
        swap(heap, child, i);
    }
}

void nb_heap_add(struct nb_heap *heap, const void *item)
{
    assert(heap->count <= heap->most && heap->item_size > 0);
    if (heap->count < heap->most) {
        memcpy(at(heap, heap->count), item, heap->item_size);
        sift_up(heap, heap->count++);
    } else if (heap->most > 0 && heap->compare(nb_heap_last(heap), item) > 0) {
        memcpy(at(heap, 0), item, heap->item_size);
        sift_down(heap);
    }
}

void nb_heap_sort(struct nb_heap *heap)
{
    if (heap->count > 1)
        qsort(heap->items, heap->count, heap->item_size, heap->compare);
}
