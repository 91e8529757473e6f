/* SPDX-License-Identifier: Apache-2.0
 *
 * This node's place among those that share what they learn by tables in a PostgreSQL database:
 * connects, publishes, follows, and says how it stands. Any thread, except where a function says
 * otherwise.
 */
#ifndef NB_SERVER_NODES_NODES_H
#define NB_SERVER_NODES_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/key.h"
#include "server/nodes/latency.h"

struct nb_config;
struct nb_engine;
struct nb_nodes;

/* Reads the key that all nodes have: 64 hexadecimal digits, and white space around them. Returns 0,
 * NB_INVALID, or the code of a file that cannot be read. */
int nb_nodes_read_key(const char *path, unsigned char key[NB_KEY_BYTES], struct nb_error *error);

/* Begins to look for the others, in threads of its own: it does not wait for them. The engine was
 * opened with the setting `shared`; `config` is borrowed and stays. Main thread. */
int nb_nodes_start(struct nb_engine *engine, const struct nb_config *config,
                   struct nb_nodes **nodes, struct nb_error *error);
/* Leaves them. Nobody waits for a change any more. Main thread. */
void nb_nodes_stop(struct nb_nodes **nodes);

/* Whether this node has had all that the others have, once. Until then it has nothing to say. */
bool nb_nodes_have_caught_up(struct nb_nodes *nodes);
/* Whether this node follows the stream of what bears this name. */
bool nb_nodes_follow(struct nb_nodes *nodes, struct nb_string name);

struct nb_nodes_state {
    bool connected;  /* to the database, and it has followed all streams so far */
    bool is_outrun;  /* the stream begins after what it has: it needs the store of another node */
    bool is_refused; /* it must not follow, because: */
    char reason[NB_ERROR_TEXT];
    bool caught_up;                               /* once */
    uint64_t applied, behind;                     /* the sums of all streams that it follows */
    uint64_t lag_nanoseconds;                     /* since it had all of a stream */
    uint64_t put_back;                            /* changes that the database had lost */
    struct nb_latency *publishing;                /* until the database had a change; borrowed */
    bool queues;                                  /* changes while the database is away: */
    uint64_t queued, queued_bytes, queue_refused; /* struct nb_queue_state */
};
void nb_nodes_state(struct nb_nodes *nodes, struct nb_nodes_state *state);

/* How many streams there are, and how one of them stands. */
struct nb_lane_state {
    bool follows;
    bool connected;
    uint64_t applied, behind;
};
unsigned nb_nodes_lanes(struct nb_nodes *nodes);
void nb_nodes_lane(struct nb_nodes *nodes, unsigned which, struct nb_lane_state *state);

#endif
