/* SPDX-License-Identifier: Apache-2.0
 *
 * What a store remembers of the chain (core/chain/chain.h) behind its place in the stream: few
 * positions, which lie further apart the older they are. A node that has started again can so read
 * the stream from some way back, and find out whether it was told the same. Pure functions on a
 * value; any thread.
 *
 * For each block size 2^k from 2^NB_TRAIL_LOW to 2^NB_TRAIL_HIGH it keeps the first position in the
 * block of the newest position, and the first one in the block before. So up to 2^NB_TRAIL_HIGH
 * positions back there is, for each distance d, one that is between d and 4d behind, unless the
 * stream has no position there.
 */
#ifndef NB_CORE_CHAIN_TRAIL_H
#define NB_CORE_CHAIN_TRAIL_H

#include <stddef.h>
#include <stdint.h>

struct nb_packer;
struct nb_unpacker;

enum {
    NB_TRAIL_LOW = 6,
    NB_TRAIL_HIGH = 14,
    NB_TRAIL_SIZES = NB_TRAIL_HIGH - NB_TRAIL_LOW + 1,
    NB_TRAIL_POINTS = 2 * NB_TRAIL_SIZES
};

/* The chain at a position. */
struct nb_chained {
    uint64_t position, chain;
};

/* All 0: nothing yet. */
struct nb_trail {
    struct nb_chained first[NB_TRAIL_SIZES];  /* in the block of the newest position */
    struct nb_chained before[NB_TRAIL_SIZES]; /* in the block before that had one */
};

/* Adds the newest position; one that is not above all others changes nothing. */
void nb_trail_add(struct nb_trail *trail, struct nb_chained at);
/* All positions of the trail below `limit`, each once, in ascending order. Returns how many. */
size_t nb_trail_list(const struct nb_trail *trail, uint64_t limit,
                     struct nb_chained points[NB_TRAIL_POINTS]);

/* Stored form: each of `first`, then of `before`: the position, a varint, and the chain, 8 bytes.
 */
void nb_trail_pack(const struct nb_trail *trail, struct nb_packer *out);
/* Reads that, with no check of what the numbers are. */
void nb_trail_unpack(struct nb_trail *trail, struct nb_unpacker *in);

#endif
