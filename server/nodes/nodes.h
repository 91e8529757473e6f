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
#include "core/base/string.h"
#include "core/nodes/queue.h"

struct nb_config;
struct nb_engine;
struct nb_nodes;

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
    unsigned streams; /* that there are */
    bool connected;   /* to the database, and it has followed all streams so far */
    bool is_outrun;   /* the stream begins after what it has: it needs the store of another node */
    bool is_refused;  /* it must not follow, because: */
    char reason[NB_ERROR_TEXT];
    bool caught_up;           /* once */
    uint64_t applied, behind; /* the sums of all streams that it follows */
    uint64_t lag_nanoseconds; /* since it had all of a stream */
    uint64_t put_back;        /* changes that the database had lost */
    bool queues;              /* changes while the database is away */
    struct nb_queue_state queue;
};
void nb_nodes_state(struct nb_nodes *nodes, struct nb_nodes_state *state);

/* How one of the streams stands; there are as many as [nodes] streams says. */
struct nb_stream_worker_state {
    bool follows;
    bool connected;
    uint64_t applied, behind;
};
void nb_nodes_worker(struct nb_nodes *nodes, unsigned which, struct nb_stream_worker_state *state);

#endif
