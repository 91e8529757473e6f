/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounded reading and writing of stored bytes. Any thread; one reader or writer belongs to one
 * thread.
 *
 * Every stored format goes through these, never through a cast struct. The first error sticks:
 * later calls do nothing and return zeros, so a format is read in a row and checked once at the
 * end. Numbers are little-endian; varints are LEB128, 7 bits a byte, at most 10 bytes.
 */
#ifndef NB_CORE_BASE_PACK_H
#define NB_CORE_BASE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

struct nb_packer {
    struct nb_buffer *out; /* borrowed */
    int code;              /* 0 or the first error (NB_NO_MEMORY) */
};

void nb_pack_u8(struct nb_packer *w, uint8_t value);
void nb_pack_u64(struct nb_packer *w, uint64_t value);
void nb_pack_varint(struct nb_packer *w, uint64_t value);
void nb_pack_double(struct nb_packer *w, double value);
void nb_pack_bytes(struct nb_packer *w, const void *bytes, size_t length);
/* Length as a varint, then the bytes. */
void nb_pack_string(struct nb_packer *w, struct nb_string s);

struct nb_unpacker {
    const unsigned char *at;
    const unsigned char *end;
    bool failed; /* a read went past the end or met an impossible value */
};

struct nb_unpacker nb_unpacker_of(const void *bytes, size_t length);
uint8_t nb_unpack_u8(struct nb_unpacker *r);
uint64_t nb_unpack_u64(struct nb_unpacker *r);
uint64_t nb_unpack_varint(struct nb_unpacker *r);
/* A varint that must be at most `most`; a larger one is an error and 0. */
uint64_t nb_unpack_bounded(struct nb_unpacker *r, uint64_t most);
double nb_unpack_double(struct nb_unpacker *r);
/* Borrowed from the input; empty on error. */
struct nb_string nb_unpack_bytes(struct nb_unpacker *r, size_t length);
struct nb_string nb_unpack_string(struct nb_unpacker *r);
/* Nothing failed and everything was read. */
bool nb_unpacker_done(const struct nb_unpacker *r);

#endif
