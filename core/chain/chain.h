/* SPDX-License-Identifier: Apache-2.0
 *
 * The chain: a hash of all messages that a node was given, up to a position. Servers of the stream
 * that were cut off may keep a message that the others do not have, and then give what follows
 * them to the nodes at other positions. So nodes tell each other their chains: with each message
 * goes that of its sender (struct nb_witness). Whoever has another one at the same position was
 * given something else, at that position or at any before it.
 */
#ifndef NB_CORE_CHAIN_CHAIN_H
#define NB_CORE_CHAIN_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/string.h"
#include "core/chain/trail.h"

/* Positions that a node remembers. A sender has at most some thousands under way, so that it is no
 * further behind when it sends. */
enum { NB_CHAIN_RECENT = 16384, NB_WITNESS_TEXT = 64 };

/* What the sender of a message had been given. `position` 0: nothing, or it does not say. */
struct nb_witness {
    uint64_t position, chain;
    uint64_t member; /* who says so; each node has another one, also when it starts again */
};

/* The text form, with a NUL. */
void nb_witness_write(const struct nb_witness *witness, char text[NB_WITNESS_TEXT]);
/* What is no such text reads as position 0. */
struct nb_witness nb_witness_read(const char *text);

/* The hash of a message. */
uint64_t nb_chain_hash(const char *id, struct nb_string message);
/* The chain after the message with this hash, at a position. */
uint64_t nb_chain_next(uint64_t chain, uint64_t position, uint64_t hash);

/* The recent ones, in ascending order. */
struct nb_chain {
    size_t first, count;
    struct nb_chained recent[NB_CHAIN_RECENT];
};

/* Adds a higher position than all; the oldest is forgotten if there is no room. */
void nb_chain_add(struct nb_chain *chain, uint64_t position, uint64_t value);
/* The chain at a position; false: it is not remembered. */
bool nb_chain_at(const struct nb_chain *chain, uint64_t position, uint64_t *value);
/* The newest that is not after the position, else the oldest; and the newest. All 0: there is none.
 */
struct nb_chained nb_chain_before(const struct nb_chain *chain, uint64_t position);
struct nb_chained nb_chain_last(const struct nb_chain *chain);

#endif
