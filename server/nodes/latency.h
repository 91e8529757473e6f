/* SPDX-License-Identifier: Apache-2.0
 *
 * How long something took, counted in the buckets of a histogram. Any thread.
 */
#ifndef NB_SERVER_NODES_LATENCY_H
#define NB_SERVER_NODES_LATENCY_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/buffer.h"

enum { NB_LATENCY_BUCKETS = 14 };

/* All 0 at the start. */
struct nb_latency {
    atomic_uint_fast64_t counts[NB_LATENCY_BUCKETS + 1]; /* the last: above all bounds */
    atomic_uint_fast64_t nanoseconds;                    /* in all */
};

void nb_latency_add(struct nb_latency *latency, uint64_t nanoseconds);
/* Appends a histogram in seconds; `name` is without the "bayesd_" that all names have. Returns 0 or
 * NB_NO_MEMORY. */
int nb_latency_write(struct nb_latency *latency, const char *name, const char *help,
                     struct nb_buffer *out);

#endif
