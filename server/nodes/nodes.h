/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes this node one of several that share what they learn through tables in a PostgreSQL
 * database: connects, publishes, follows, and reports its state. Any thread, except where a
 * function says otherwise.
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

/* Begins to connect to the other nodes, in threads of its own, without waiting. The engine was
 * opened with the setting `shared`; `config` is borrowed until the end. Main thread. */
int nb_nodes_start(struct nb_engine *engine, const struct nb_config *config,
                   struct nb_nodes **nodes, struct nb_error *error);
/* Leaves the other nodes. No client may be waiting for a change any more. Main thread. */
void nb_nodes_stop(struct nb_nodes **nodes);

/* Whether this node has caught up with the others once. Until then it does not answer. */
bool nb_nodes_have_caught_up(struct nb_nodes *nodes);
/* Whether this node follows the stream of the model with this name. */
bool nb_nodes_follow(struct nb_nodes *nodes, struct nb_string name);

struct nb_nodes_state {
    unsigned streams; /* number of all streams */
    bool follows;
    bool connected; /* to the database, and the node has reached the ends of the streams */
    bool is_outrun; /* the stream begins after this node's position: the node needs another store */
    bool is_refused; /* the node must not follow; `reason` says why */
    char reason[NB_ERROR_TEXT];
    uint64_t applied, behind;
    uint64_t lag_nanoseconds; /* since this node last had all of a stream; 0: it has all */
    uint64_t put_back;        /* changes that the database had lost and this node restored */
    /* Set only by nb_nodes_state: */
    bool caught_up; /* this node has caught up with the others once */
    struct nb_queue_state queue;
};
/* Get the state of all streams that the node follows (sums, and the worst of each), or the state of
 * one stream. */
void nb_nodes_state(struct nb_nodes *nodes, struct nb_nodes_state *state);
void nb_nodes_stream_state(struct nb_nodes *nodes, unsigned which, struct nb_nodes_state *state);

#endif
