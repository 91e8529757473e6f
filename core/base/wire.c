/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/wire.h"

#include <string.h>

#include "core/base/error.h"

enum { VARINT_MOST = 10 };

void nb_write_bytes(struct nb_writer *w, const void *bytes, size_t length)
{
    if (w->code == 0)
        w->code = nb_buffer_append(w->out, bytes, length);
}

void nb_write_u8(struct nb_writer *w, uint8_t value)
{
    nb_write_bytes(w, &value, 1);
}

void nb_write_u64(struct nb_writer *w, uint64_t value)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    nb_write_bytes(w, bytes, sizeof bytes);
}

void nb_write_varint(struct nb_writer *w, uint64_t value)
{
    unsigned char bytes[VARINT_MOST];
    size_t n = 0;
    while (value >= 0x80) {
        bytes[n++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    bytes[n++] = (unsigned char)value;
    nb_write_bytes(w, bytes, n);
}

void nb_write_double(struct nb_writer *w, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    nb_write_u64(w, bits);
}

void nb_write_string(struct nb_writer *w, struct nb_string s)
{
    nb_write_varint(w, s.length);
    nb_write_bytes(w, s.bytes, s.length);
}

struct nb_reader nb_reader_of(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    return (struct nb_reader){.at = at, .end = at == NULL ? NULL : at + length, .failed = false};
}

static bool has(struct nb_reader *r, size_t length)
{
    if (r->failed || (size_t)(r->end - r->at) < length)
        r->failed = true;
    return !r->failed;
}

uint8_t nb_read_u8(struct nb_reader *r)
{
    return has(r, 1) ? *r->at++ : 0;
}

uint64_t nb_read_u64(struct nb_reader *r)
{
    if (!has(r, 8))
        return 0;
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)r->at[i] << (8 * i);
    r->at += 8;
    return value;
}

uint64_t nb_read_varint(struct nb_reader *r)
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

uint64_t nb_read_bounded(struct nb_reader *r, uint64_t most)
{
    uint64_t value = nb_read_varint(r);
    if (value <= most)
        return value;
    r->failed = true;
    return 0;
}

double nb_read_double(struct nb_reader *r)
{
    uint64_t bits = nb_read_u64(r);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

struct nb_string nb_read_bytes(struct nb_reader *r, size_t length)
{
    if (!has(r, length))
        return (struct nb_string){"", 0};
    struct nb_string s = {(const char *)r->at, length};
    r->at += length;
    return s;
}

struct nb_string nb_read_string(struct nb_reader *r)
{
    return nb_read_bytes(r, (size_t)nb_read_bounded(r, (uint64_t)(r->end - r->at)));
}

bool nb_reader_done(const struct nb_reader *r)
{
    return !r->failed && r->at == r->end;
}
