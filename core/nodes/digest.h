/* SPDX-License-Identifier: Apache-2.0
 *
 * A digest of a node's data of one stream. Two nodes that have applied the same operations of the
 * stream have the same digest, whatever they have of other streams. It covers the stream's models
 * with their names, settings and the numbers of their last entries; labels with their documents;
 * every count of every feature, by id and label; the current documents with their entries' numbers,
 * times, sources and features; the changes in quarantines; networks; and parts of imports. It
 * leaves out the numbers of models and rows, which differ between stores, and weights, which may
 * differ by rounding. Any thread; waits for the writer.
 */
#ifndef NB_CORE_NODES_DIGEST_H
#define NB_CORE_NODES_DIGEST_H

#include "core/model/relayed.h"

struct nb_digest {
    uint64_t number; /* nb_relay_number of the digest's position; 0: the beginning */
    uint64_t half;   /* the first 64 bits of the digest */
    char digits[33];
};

/* Computes the digest of one stream. A store outside of all streams counts as part of the first.
 * Reads all data, one model at a time, on the writer's thread, so that changes wait: about a second
 * for 30 million features of documents. Returns 0; NB_CONFLICT if `want` is not 0 and differs from
 * the present number, which `digest` then has; NB_TOO_LARGE if it takes more than `most`
 * nanoseconds; NB_DAMAGED (a model), NB_IO or NB_NO_MEMORY. */
int nb_digest(struct nb_engine *engine, unsigned stream, uint64_t want, uint64_t most,
              struct nb_digest *digest, struct nb_error *error);

#endif
