/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes what the stream delivers. For server/nodes alone, in a build with the library.
 */
#ifndef NB_SERVER_NODES_FOLLOW_H
#define NB_SERVER_NODES_FOLLOW_H

#include <nats/nats.h>
#include <stdint.h>

#include "core/base/error.h"

struct nb_lane;

/* Of the lane's thread. All 0 at the start. */
struct nb_following {
    natsSubscription *subscription;
    uint64_t heard, asked; /* times */
    uint64_t number;       /* of the message in what is delivered */
    uint64_t gap;          /* position after one; so often seen: */
    unsigned gaps;
};

/* Follows the stream, which was joined, until the node stops (0), or something is in the way:
 * NB_STOPPING, it is to join anew, or a code, it must not follow. */
int nb_follow(struct nb_lane *lane, struct nb_following *following, struct nb_error *error);

#endif
