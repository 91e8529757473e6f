/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounded reading and writing of stored bytes. Any thread; one reader or writer belongs to one
 * thread.
 *
 * Every stored format goes through these, never through a cast struct. The first error sticks:
 * later calls do nothing and return zeros, so a format is read in a row and checked once at the
 * end. Numbers are little-endian; varints are LEB128, 7 bits a byte, at most 10 bytes.
 */
#ifndef NB_CORE_BASE_WIRE_H
#define NB_CORE_BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

struct nb_writer {
    struct nb_buffer *out; /* borrowed */
    int code;              /* 0 or the first error (NB_NO_MEMORY) */
};

void nb_write_u8(struct nb_writer *w, uint8_t value);
void nb_write_u64(struct nb_writer *w, uint64_t value);
void nb_write_varint(struct nb_writer *w, uint64_t value);
void nb_write_double(struct nb_writer *w, double value);
void nb_write_bytes(struct nb_writer *w, const void *bytes, size_t length);
/* Length as a varint, then the bytes. */
void nb_write_string(struct nb_writer *w, struct nb_string s);

struct nb_reader {
    const unsigned char *at;
    const unsigned char *end;
    bool failed; /* a read went past the end or met an impossible value */
};

struct nb_reader nb_reader_of(const void *bytes, size_t length);
uint8_t nb_read_u8(struct nb_reader *r);
uint64_t nb_read_u64(struct nb_reader *r);
uint64_t nb_read_varint(struct nb_reader *r);
/* A varint that must be at most `most`; a larger one is an error and 0. */
uint64_t nb_read_bounded(struct nb_reader *r, uint64_t most);
double nb_read_double(struct nb_reader *r);
/* Borrowed from the input; empty on error. */
struct nb_string nb_read_bytes(struct nb_reader *r, size_t length);
struct nb_string nb_read_string(struct nb_reader *r);
/* Nothing failed and everything was read. */
bool nb_reader_done(const struct nb_reader *r);

#endif
