/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/pack.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "core/base/error.h"

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
