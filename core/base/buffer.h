/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing run of bytes. A buffer belongs to one thread at a time.
 */
#ifndef NB_CORE_BASE_BUFFER_H
#define NB_CORE_BASE_BUFFER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/platform/byte_order.h"
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

/* Appends the contents of a file of at most `most` bytes, and a NUL, which does not count. Returns
 * 0 or the errno value of what failed, EFBIG if there are more bytes; then the buffer may have some
 * of them. */
int nb_buffer_read_file(struct nb_buffer *buffer, const char *path, size_t most);

/* ---- packing --------------------------------------------------------------------------------- */

/* Packs numbers and texts into bytes for storage, and unpacks them with bounds checks. Any thread;
 * a packer or unpacker belongs to one.
 *
 * Every stored format is read and written with these functions, never by casting a struct. After
 * the first error later calls do nothing, and reading gives zeros. So a caller unpacks all members
 * and checks for errors once, at the end. Numbers are little-endian; varints are LEB128: 7 bits a
 * byte, at most 10 bytes. */

/* To begin: `struct nb_packer w = {.out = &buffer}`. */
struct nb_packer {
    struct nb_buffer *out; /* borrowed */
    int code;              /* 0 or the first error (NB_NO_MEMORY) */
};

/* Each appends one value. */
void nb_pack_u8(struct nb_packer *w, uint8_t value);
void nb_pack_u64(struct nb_packer *w, uint64_t value);
void nb_pack_varint(struct nb_packer *w, uint64_t value);
void nb_pack_double(struct nb_packer *w, double value);
void nb_pack_bytes(struct nb_packer *w, const void *bytes, size_t length);
/* Appends the length as a varint, then the bytes. */
void nb_pack_string(struct nb_packer *w, struct nb_string s);

/* Writes a varint of at most NB_VARINT_MOST bytes at `at`, where there must be room for it, and
 * returns its end. For long runs of varints, whose room is reserved once. */
enum { NB_VARINT_MOST = 10, NB_VARINT_32_MOST = 5 /* bytes of a number below 2^35 */ };
static inline char *nb_put_varint(char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (char)(value | 0x80);
    *at++ = (char)value;
    return at;
}

struct nb_unpacker {
    const unsigned char *at; /* borrowed: the rest to be read */
    const unsigned char *end;
    bool failed; /* a read went past the end, or met an impossible value */
};

/* An unpacker of `length` bytes, which are borrowed; NULL with 0. */
struct nb_unpacker nb_unpacker_of(const void *bytes, size_t length);

/* Each reads one value; 0 after an error. */
uint8_t nb_unpack_u8(struct nb_unpacker *r);
uint64_t nb_unpack_long_varint(struct nb_unpacker *r);

/* The next two functions are inline because a start calls them millions of times. Most varints of a
 * bag have one or two bytes. */
static inline uint64_t nb_unpack_u64(struct nb_unpacker *r)
{
    uint64_t little;
    if (r->failed || (size_t)(r->end - r->at) < sizeof little) {
        r->failed = true;
        return 0;
    }
    memcpy(&little, r->at, sizeof little);
    r->at += sizeof little;
    return le64toh(little);
}

static inline uint64_t nb_unpack_varint(struct nb_unpacker *r)
{
    if (r->failed || r->end - r->at < 2)
        return nb_unpack_long_varint(r);
    unsigned first = *r->at;
    if (first < 0x80) {
        r->at++;
        return first;
    }
    unsigned second = r->at[1];
    if (second >= 0x80)
        return nb_unpack_long_varint(r);
    r->at += 2;
    return (first & 0x7F) | second << 7;
}

/* Reads a varint; a value above `most` is an error. */
static inline uint64_t nb_unpack_bounded(struct nb_unpacker *r, uint64_t most)
{
    uint64_t value = nb_unpack_varint(r);
    if (value <= most)
        return value;
    r->failed = true;
    return 0;
}

double nb_unpack_double(struct nb_unpacker *r);

/* Each reads a text, which is borrowed from the input; empty after an error. */
struct nb_string nb_unpack_bytes(struct nb_unpacker *r, size_t length);
struct nb_string nb_unpack_string(struct nb_unpacker *r);

/* Whether everything was read and nothing failed. */
bool nb_unpacker_done(const struct nb_unpacker *r);

#endif
