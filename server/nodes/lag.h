/* SPDX-License-Identifier: Apache-2.0
 *
 * How long the oldest message of the stream waits that this node has not applied. Pure functions on
 * a value; the caller locks.
 */
#ifndef NB_SERVER_NODES_LAG_H
#define NB_SERVER_NODES_LAG_H

#include <stdbool.h>
#include <stdint.h>

/* Times in nanoseconds since 1970. All 0 at the start. */
struct nb_lag {
    uint64_t position; /* a message that was not applied when it was noted, */
    int64_t time;      /* when it came into the stream, */
    int64_t age;       /* and how long ago that was then */
};

/* Whether the message that was noted last is applied, so that another one is to be noted. */
bool nb_lag_is_over(const struct nb_lag *lag, uint64_t applied);
/* Notes a message that is not applied yet. */
void nb_lag_note(struct nb_lag *lag, uint64_t position, int64_t time, int64_t now);

/* Nanoseconds; 0 if all up to `last` is applied. While messages are noted and applied, the age of
 * the one that was noted last. */
int64_t nb_lag_of(const struct nb_lag *lag, uint64_t applied, uint64_t last, int64_t now);

#endif
