/* SPDX-License-Identifier: Apache-2.0
 *
 * A digest of what a node knows: two nodes that have applied the same operations have the same, for
 * each stream, whatever they have of others. It covers the stream's models with their names,
 * settings and the numbers of their first and last entries; labels with their documents; every
 * count of every feature, by id and label; the current documents with their entries' numbers,
 * times, sources and features; what waits in quarantines; and networks. Not the numbers of models
 * and of rows, which are each store's own, nor weights, which agree but for rounding. Any thread;
 * waits for the writer.
 */
#ifndef NB_CORE_NODES_DIGEST_H
#define NB_CORE_NODES_DIGEST_H

#include <stdint.h>

#include "core/base/error.h"

struct nb_engine;

enum { NB_DIGEST_DIGITS = 32 };

struct nb_digest {
    uint64_t number; /* nb_relay_number of the position that it is of; 0: at the beginning */
    char digits[NB_DIGEST_DIGITS + 1];
};

/* Computes the digest of what is in one of the streams; of a store that is in none all is in the
 * first. It reads everything, on the writer's thread and a model at a time, so that changes wait
 * meanwhile: about a second for 30 million features of documents. `want`: NB_CONFLICT, with the
 * number in `digest`, if the store is at another one; 0: at whichever it is. Returns 0,
 * NB_CONFLICT, NB_DAMAGED (a model), NB_IO or NB_NO_MEMORY. */
int nb_digest(struct nb_engine *engine, unsigned stream, uint64_t want, struct nb_digest *digest,
              struct nb_error *error);
/* The same in so many nanoseconds; NB_TOO_LARGE: it would take longer. */
int nb_digest_within(struct nb_engine *engine, unsigned stream, uint64_t want, uint64_t most,
                     struct nb_digest *digest, struct nb_error *error);

#endif
